//! Rewards a code by the definition, one rollout after the other (paper, section 2.2).
//!
//! This is what the fast counts, and every certificate, are checked against. It knows the task, the
//! inputs' weights and which cell a rollout consults, and nothing else of this crate.

use crate::model::class::Class;
use crate::model::operation::Symbol;
use crate::model::policy::Code;
use crate::support::exact::Reward;
use dashu_int::UBig;

/// J of a code: over all inputs, the weight of the steps whose token is the state. Takes q^T rollouts.
pub fn reward_by_rollouts(code: &Code) -> Reward {
    let class = code.class();
    let task = class.task();
    let mut num = UBig::ZERO;
    for (which, &length) in task.lengths().iter().enumerate() {
        for x in sequences(class.q(), length) {
            let weight = weight(class, &x);
            if weight == UBig::ZERO {
                continue;
            }
            let y = tokens(class, code, &x);
            let right = (1..=length).filter(|&t| y[t - 1] == task.fold(&x[..t]));
            let earned: UBig = right.map(|t| task.step_weight(which, t)).sum();
            num += weight * task.lift(length) * earned;
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

fn tokens(class: &Class, code: &Code, x: &[Symbol]) -> Vec<Symbol> {
    let mut y = Vec::with_capacity(x.len());
    for t in 1..=x.len() {
        y.push(code.action(class.route(x, t, &y)));
    }
    y
}
