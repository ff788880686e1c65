//! Measures how alike two codes are at every step, whatever their tokens are called (paper, App. D).
//!
//! Let y_t(x) be the token that a code emits at step t on input x: a function of the input, and with it
//! a partition of the inputs. A relabelling renames the tokens of a step and leaves the partition
//! alone. The overlap of codes sigma and sigma' at step t is
//!
//! > q_t = max over permutations g of P_x[g(y_t(x)) = y'_t(x)],
//!
//! the weight of the best matching of the tokens of one to the tokens of the other. Where the verifier
//! reads the token (where a length ends, and at the steps of a tied class that share its
//! permutation) nothing may be renamed, and g is the identity. So q_T is the probability that both
//! give the same answer, [`agreement`](super::agreement()), and no q_t changes under a relabelling of
//! either code. q_t = 1 means that both codes tell the same inputs apart at step t. With several
//! lengths the inputs of a step are those of all lengths that reach it, by their weights.

use super::Freedom;
use crate::landscape::walk::{CellVisit, walk};
use crate::model::class::{Class, Group};
use crate::model::policy::Code;
use crate::support::memory::{Allowance, TooLarge};
use dashu_int::UBig;
use dashu_int::ops::BitTest;
use thiserror::Error;

/// Overlaps that cannot be counted.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OverlapError {
    /// Weights that no machine integer holds.
    #[error("the inputs' weights have {bits} bits: overlaps are counted up to {MOST_BITS}")]
    TooFine {
        /// The size of their sum.
        bits: usize,
    },
    /// Too much memory.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
}

/// The most bits of the weights of all inputs together.
pub const MOST_BITS: usize = 110;

/// The weight of some inputs, of that of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// That of some.
    pub some: u128,
    /// That of all.
    pub all: u128,
}

impl Part {
    /// The share.
    pub fn share(&self) -> f64 {
        self.some as f64 / self.all as f64
    }

    /// The index of the share among `bins` equal intervals of [0, 1]; the last includes 1.
    pub fn bin(&self, bins: usize) -> usize {
        let place = self.some * bins as u128 / self.all;
        (place as usize).min(bins - 1)
    }
}

/// How alike two codes are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlap {
    /// q_t, t = 1 first.
    pub steps: Vec<Part>,
    /// The probability of the same answer, over all lengths.
    pub answers: Part,
}

/// Counts overlaps of codes of one class.
///
/// ```
/// use foldglass::landscape::gauge::{Overlaps, Relabelling};
/// use foldglass::{ClassSpec, Code, Operation, Shape, Stream};
/// let spec = ClassSpec::uniform(Operation::paper(), &[4], Shape::untied(0, 0));
/// let class = spec.lay_out().unwrap();
/// let copy = Code::from_fn(&class, |cell| class.key(cell).x[0].unwrap());
/// let other = Relabelling::random(&class, &mut Stream::new(1, 0)).apply(&copy);
/// let overlaps = Overlaps::new(&class).unwrap();
/// assert!(overlaps.of(&copy, &other).steps.iter().all(|part| part.share() == 1.0));
/// ```
#[derive(Debug, Clone)]
pub struct Overlaps {
    class: Class,
    /// By step, whether tokens keep their names.
    fixed: Vec<bool>,
    /// By number of positions, the factor of a weight of inputs of that length.
    lifts: Vec<u128>,
}

impl Overlaps {
    /// Refuses what cannot be counted.
    pub fn new(class: &Class) -> Result<Overlaps, OverlapError> {
        Overlaps::within(class, Allowance::default())
    }

    /// Refuses what cannot be counted within this memory.
    pub fn within(class: &Class, memory: Allowance) -> Result<Overlaps, OverlapError> {
        let task = class.task();
        let bits = task.denominator().bit_len();
        if bits > MOST_BITS {
            return Err(OverlapError::TooFine { bits });
        }
        let pairs = |group: &Group| {
            let pairs = (group.cells as u128).checked_mul(group.histories as u128)?;
            pairs.checked_mul(2 * 16 * class.q() as u128)
        };
        let mut sizes = class.groups().iter().map(pairs);
        let largest = sizes.try_fold(0u128, |most, bytes| Some(most.max(bytes?)));
        memory.check("the rollouts of two codes together", largest)?;
        let lift = |n| number(task.lift(n));
        // Positions that are multiplied in are a length's first, so their weights divide the rest.
        let lifts = (0..=task.longest()).map(lift).collect();
        Ok(Overlaps {
            class: class.clone(),
            fixed: Freedom::of(class).fixed,
            lifts,
        })
    }

    /// The overlap of two codes.
    ///
    /// # Panics
    /// If one is of another class.
    pub fn of(&self, a: &Code, b: &Code) -> Overlap {
        let class = &self.class;
        assert!(
            a.class() == class && b.class() == class,
            "codes of the class"
        );
        let (q, lengths) = (class.q(), class.task().lengths());
        let mut joint = vec![vec![0u128; q * q]; class.task().longest()];
        let mut answers = Part {
            some: 0,
            all: self.lifts[0] * number(class.task().total_weight()),
        };
        for (which, &length) in lengths.iter().enumerate() {
            let share = number(class.task().length_weight(which));
            walk([a, b], which, false, |visit: CellVisit<'_, 2, u128>| {
                let [ta, tb] = visit.tokens.map(usize::from);
                let weight = visit.weight * self.lifts[visit.drawn] * share;
                joint[visit.t - 1][ta * q + tb] += weight;
                if visit.t == length && ta == tb {
                    answers.some += weight;
                }
            });
        }
        Overlap {
            steps: (0..joint.len()).map(|t| self.step(t, &joint[t])).collect(),
            answers,
        }
    }

    /// The overlap at a step, counted from 0, whose pairs of tokens have these weights.
    pub(crate) fn step(&self, t: usize, joint: &[u128]) -> Part {
        let q = self.class.q();
        let some = if self.fixed[t] {
            (0..q).map(|y| joint[y * q + y]).sum()
        } else {
            best_matching(q, joint)
        };
        Part {
            some,
            all: joint.iter().sum(),
        }
    }

    /// Whether tokens of a step, counted from 0, keep their names.
    pub(crate) fn is_fixed(&self, t: usize) -> bool {
        self.fixed[t]
    }
}

/// A weight of no more than the denominator, which was measured.
fn number(weight: UBig) -> u128 {
    weight.try_into().expect("it was just measured")
}

/// The largest sum of q entries of a q x q table, one in each row and column: the assignment problem,
/// by shortest augmenting paths with potentials (Kuhn and Munkres).
pub(crate) fn best_matching(q: usize, table: &[u128]) -> u128 {
    if let [a, b, c, d] = *table {
        return (a + d).max(b + c);
    }
    let most = table.iter().copied().max().unwrap_or(0);
    // Costs to be minimised, none negative; index 0 of rows and columns means "unassigned".
    let cost = |row: usize, column: usize| (most - table[(row - 1) * q + column - 1]) as i128;
    let (mut of_row, mut of_column) = (vec![0i128; q + 1], vec![0i128; q + 1]);
    let mut row_of = vec![0usize; q + 1];
    for row in 1..=q {
        let mut reached = vec![false; q + 1];
        let (mut least, mut from) = (vec![i128::MAX; q + 1], vec![0usize; q + 1]);
        let mut column = 0;
        row_of[0] = row;
        while row_of[column] != 0 {
            reached[column] = true;
            let here = row_of[column];
            let (mut step, mut next) = (i128::MAX, 0);
            for other in (1..=q).filter(|&other| !reached[other]) {
                let slack = cost(here, other) - of_row[here] - of_column[other];
                if slack < least[other] {
                    (least[other], from[other]) = (slack, column);
                }
                if least[other] < step {
                    (step, next) = (least[other], other);
                }
            }
            for other in 0..=q {
                if reached[other] {
                    of_row[row_of[other]] += step;
                    of_column[other] -= step;
                } else if least[other] < i128::MAX {
                    least[other] -= step;
                }
            }
            column = next;
        }
        while column != 0 {
            row_of[column] = row_of[from[column]];
            column = from[column];
        }
    }
    let entry = |column: usize| table[(row_of[column] - 1) * q + column - 1];
    (1..=q).map(entry).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::stream::Stream;

    fn by_permutations(q: usize, table: &[u128], row: usize, used: &mut Vec<bool>) -> u128 {
        if row == q {
            return 0;
        }
        let mut best = 0;
        for column in 0..q {
            if !used[column] {
                used[column] = true;
                let rest = by_permutations(q, table, row + 1, used);
                used[column] = false;
                best = best.max(table[row * q + column] + rest);
            }
        }
        best
    }

    #[test]
    fn the_best_matching_is_the_best_of_all_permutations() {
        let mut stream = Stream::new(3, 0);
        for q in 1..=6 {
            for largest in [2, 5, 1000] {
                for _ in 0..50 {
                    let table: Vec<u128> =
                        (0..q * q).map(|_| stream.below(largest).into()).collect();
                    let slow = by_permutations(q, &table, 0, &mut vec![false; q]);
                    assert_eq!(best_matching(q, &table), slow, "{table:?}");
                }
            }
        }
    }

    #[test]
    fn a_part_falls_into_its_interval_exactly() {
        let part = |some| Part { some, all: 10 };
        let bins: Vec<usize> = (0..=10).map(|some| part(some).bin(5)).collect();
        assert_eq!(bins, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4]);
        assert_eq!(part(3).share(), 0.3);
    }
}
