//! Counts how often two codes give the same answer (paper, App. D: what relabelling leaves alone).
//!
//! The rollouts of both codes on one input form one chain: the symbols that later windows still see
//! and the tokens that each code remembers. Its weights are passed forward, at a cost linear in T.

use crate::model::class::Class;
use crate::model::policy::Code;
use crate::model::quasigroup::Symbol;
use crate::support::memory::{Allowance, TooLarge};
use dashu_int::UBig;
use dashu_ratio::RBig;
use std::collections::HashMap;

/// How often two codes give the same answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agreement {
    /// The probability of it for each length of the task, in their order.
    pub by_length: Vec<RBig>,
    /// The probability of it over all lengths, which count alike.
    pub overall: RBig,
}

/// A pair of rollouts: the window drawn so far, both histories, and the last symbol drawn where the
/// next depends on it.
type Pair = (usize, usize, usize, Symbol);

/// The probability that two codes give the same answer, right or wrong.
///
/// ```
/// use foldglass::support::exact::lowest_terms;
/// use foldglass::landscape::gauge::agreement;
/// use foldglass::{Allowance, ClassSpec, Code, LatinSquare, Shape};
/// let spec = ClassSpec::uniform(LatinSquare::cyclic(2).unwrap(), &[3], Shape::untied(0, 0));
/// let class = spec.lay_out().unwrap();
/// let zero = Code::from_fn(&class, |_| 0);
/// let copy = Code::from_fn(&class, |cell| class.key(cell).x[0].unwrap());
/// let found = agreement(&zero, &copy, Allowance::default()).unwrap();
/// assert_eq!(lowest_terms(&found.overall), "1/2");
/// ```
///
/// # Panics
/// If the codes belong to different classes.
pub fn agreement(a: &Code, b: &Code, allowance: Allowance) -> Result<Agreement, TooLarge> {
    let class = a.class();
    assert!(class == b.class(), "codes of one class");
    let mut sizes = class.groups().iter().map(|group| {
        let pairs = (group.cells as u128).checked_mul(group.histories as u128)?;
        pairs.checked_mul(96 * class.q() as u128)
    });
    let largest = sizes.try_fold(0u128, |most, bytes| Some(most.max(bytes?)));
    allowance.check("the rollouts of two codes together", largest)?;
    let mut by_length = Vec::new();
    for (which, &length) in class.task().lengths().iter().enumerate() {
        let same = weight_of_same(class, which, a, b) * class.task().lift(length);
        let all = class.task().lift(0);
        by_length.push(RBig::from_parts(same.into(), all));
    }
    let sum = by_length.iter().fold(RBig::ZERO, |sum, p| sum + p);
    let overall = sum / RBig::from(by_length.len());
    Ok(Agreement { by_length, overall })
}

/// The weight of the inputs of one length on which two codes give the same answer.
fn weight_of_same(class: &Class, which: usize, a: &Code, b: &Code) -> UBig {
    let (q, length) = (class.q(), class.task().lengths()[which]);
    let shape = class.shape();
    let count = |digits: usize| q.pow(digits as u32);
    let mut pairs = HashMap::from([((0, 0, 0, 0), UBig::ONE)]);
    let ahead = shape.window.future.min(length - 1);
    for position in 1..=ahead {
        pairs = draw(class, pairs, position);
    }
    let mut same = UBig::ZERO;
    for (t, node) in (1..).zip(class.path(which)) {
        if t + ahead <= length {
            pairs = draw(class, pairs, t + ahead);
        }
        let (node, mut next) = (&class.nodes()[node], HashMap::new());
        let group = &class.groups()[node.group];
        let forgets = node.before == shape.window.past;
        let kept = count(node.before + 1 + node.after - usize::from(forgets));
        let remembered = count(node.tokens.min(shape.memory - 1));
        for ((window, ya, yb, last), weight) in pairs {
            let token = |code: &Code, y: usize| code.action(group.cell(window, y)) as usize;
            let (ta, tb) = (token(a, ya), token(b, yb));
            if t == length {
                same += if ta == tb { weight } else { UBig::ZERO };
                continue;
            }
            let then = |y: usize, token: usize| y % remembered * q + token;
            let pair: Pair = (window % kept, then(ya, ta), then(yb, tb), last);
            let sum: &mut UBig = next.entry(pair).or_default();
            *sum += weight;
        }
        pairs = next;
    }
    same
}

/// Lets the symbol of a position follow in every pair.
fn draw(class: &Class, pairs: HashMap<Pair, UBig>, position: usize) -> HashMap<Pair, UBig> {
    let (q, inputs) = (class.q(), class.task().inputs());
    let mut drawn = HashMap::with_capacity(pairs.len() * q);
    for ((window, ya, yb, last), weight) in pairs {
        for symbol in 0..q as Symbol {
            let chance = inputs.weight(position, last, symbol);
            if chance == 0 {
                continue;
            }
            let last = if inputs.is_correlated() { symbol } else { 0 };
            let pair: Pair = (window * q + symbol as usize, ya, yb, last);
            let sum: &mut UBig = drawn.entry(pair).or_default();
            *sum += &weight * chance;
        }
    }
    drawn
}
