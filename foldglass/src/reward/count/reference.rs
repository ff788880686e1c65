//! Rewards a code by the definition, one rollout after the other (paper, section 2.2).
//!
//! This is what the fast counts, and every certificate, are checked against. It knows the task, the
//! inputs' weights and which cell a rollout consults, and nothing else of this crate.

use crate::model::class::Class;
use crate::model::policy::Code;
use crate::model::quasigroup::Symbol;
use crate::support::exact::Reward;
use dashu_int::UBig;

/// J of a code: the weight of all inputs whose rollout ends on the fold. Takes q^T rollouts.
pub fn reward_by_rollouts(code: &Code) -> Reward {
    let class = code.class();
    let task = class.task();
    let mut num = UBig::ZERO;
    for &length in task.lengths() {
        for x in sequences(class.q(), length) {
            let weight = weight(class, &x);
            if weight != UBig::ZERO && last_token(class, code, &x) == task.fold(&x) {
                num += weight * task.lift(length);
            }
        }
    }
    Reward::new(num, task.denominator())
}

/// Every sequence of q symbols of a length, in ascending order.
fn sequences(q: usize, length: usize) -> impl Iterator<Item = Vec<Symbol>> {
    let first = vec![0; length];
    std::iter::successors(Some(first), move |x| {
        let mut next = x.clone();
        let place = next
            .iter()
            .rposition(|&symbol| usize::from(symbol) + 1 < q)?;
        next[place] += 1;
        next[place + 1..].fill(0);
        Some(next)
    })
}

fn weight(class: &Class, x: &[Symbol]) -> UBig {
    class.task().inputs().weights(x).map(UBig::from).product()
}

fn last_token(class: &Class, code: &Code, x: &[Symbol]) -> Symbol {
    let mut y = Vec::with_capacity(x.len());
    for t in 1..=x.len() {
        y.push(code.action(class.route(x, t, &y)));
    }
    y[x.len() - 1]
}
