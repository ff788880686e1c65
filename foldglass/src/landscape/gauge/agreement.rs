//! Counts how often two codes give the same answer (paper, App. D: what relabelling leaves alone).

use crate::landscape::walk::{CellVisit, walk};
use crate::model::policy::Code;
use crate::support::context::Context;
use crate::support::memory::TooLarge;
use dashu_int::UBig;
use dashu_ratio::RBig;

/// How often two codes give the same answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agreement {
    /// The probability of it for each length of the task, in their order.
    pub by_length: Vec<RBig>,
    /// The probability of it over all lengths, by their weights.
    pub overall: RBig,
}

/// The probability that two codes give the same answer, right or wrong.
///
/// ```
/// use foldglass::support::exact::lowest_terms;
/// use foldglass::landscape::gauge::agreement;
/// use foldglass::{Context, ClassSpec, Code, Operation, Shape};
/// let spec = ClassSpec::uniform(Operation::cyclic(2).unwrap(), &[3], Shape::untied(0, 0));
/// let class = spec.lay_out().unwrap();
/// let zero = Code::from_fn(&class, |_| 0);
/// let copy = Code::from_fn(&class, |cell| class.key(cell).x[0].unwrap());
/// let found = agreement(&zero, &copy, Context::default()).unwrap();
/// assert_eq!(lowest_terms(&found.overall), "1/2");
/// ```
///
/// # Panics
/// If the codes belong to different classes.
pub fn agreement(a: &Code, b: &Code, context: Context<'_>) -> Result<Agreement, TooLarge> {
    let class = a.class();
    assert!(class == b.class(), "codes of one class");
    let mut sizes = class.groups().iter().map(|group| {
        let pairs = (group.cells as u128).checked_mul(group.histories as u128)?;
        pairs.checked_mul(96 * class.q() as u128)
    });
    let largest = sizes.try_fold(0u128, |most, bytes| Some(most.max(bytes?)));
    context
        .memory
        .check("the rollouts of two codes together", largest)?;
    let mut by_length = Vec::new();
    for (which, &length) in class.task().lengths().iter().enumerate() {
        let mut same = UBig::ZERO;
        walk([a, b], which, false, |visit: CellVisit<'_, 2, UBig>| {
            if visit.t == length && visit.tokens[0] == visit.tokens[1] {
                same += visit.weight;
            }
        });
        same *= class.task().lift(length);
        by_length.push(RBig::from_parts(same.into(), class.task().lift(0)));
    }
    let shares = class.task().length_weights().shares();
    let overall = by_length
        .iter()
        .zip(shares)
        .fold(RBig::ZERO, |sum, (p, share)| sum + p * share);
    Ok(Agreement { by_length, overall })
}
