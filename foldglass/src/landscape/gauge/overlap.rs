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
//! lengths the inputs of a step are those of all lengths that reach it, alike.

use super::Freedom;
use crate::model::class::Class;
use crate::model::policy::Code;
use crate::model::quasigroup::Symbol;
use crate::support::memory::{Allowance, TooLarge};
use dashu_int::ops::BitTest;
use thiserror::Error;

/// Overlaps that cannot be counted.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
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

    /// In which of so many equal intervals of [0, 1] the share lies; the last holds 1.
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
/// use foldglass::{ClassSpec, Code, LatinSquare, Shape, Stream};
/// let spec = ClassSpec::uniform(LatinSquare::paper(), &[4], Shape::untied(0, 0));
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
    /// By number of positions, what a weight of so many is multiplied by.
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
        let pairs = |group: &crate::model::class::Group| {
            let pairs = (group.cells as u128).checked_mul(group.histories as u128)?;
            pairs.checked_mul(2 * 16 * class.q() as u128)
        };
        let mut sizes = class.groups().iter().map(pairs);
        let largest = sizes.try_fold(0u128, |most, bytes| Some(most.max(bytes?)));
        memory.check("the rollouts of two codes together", largest)?;
        let lift = |n| u128::try_from(task.lift(n)).expect("it was just measured");
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
            all: self.lifts[0] * lengths.len() as u128,
        };
        for (which, &length) in lengths.iter().enumerate() {
            let walk = self.walk(which, a, b);
            for (sum, pairs) in joint.iter_mut().zip(&walk) {
                sum.iter_mut().zip(pairs).for_each(|(sum, n)| *sum += n);
            }
            answers.some += (0..q).map(|y| walk[length - 1][y * q + y]).sum::<u128>();
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

    /// By step, the weight of each pair of tokens on inputs of one length, over the weight of all.
    fn walk(&self, which: usize, a: &Code, b: &Code) -> Vec<Vec<u128>> {
        let class = &self.class;
        let (q, length, shape) = (class.q(), class.task().lengths()[which], class.shape());
        let count = |digits: usize| q.pow(digits as u32);
        let mut pairs = Pairs::start(class);
        let ahead = shape.window.future.min(length - 1);
        for position in 1..=ahead {
            pairs = pairs.draw(class, position);
        }
        let mut joint = Vec::with_capacity(length);
        for (t, node) in (1..).zip(class.path(which)) {
            if t + ahead <= length {
                pairs = pairs.draw(class, t + ahead);
            }
            let lift = self.lifts[(t + ahead).min(length)];
            let node = &class.nodes()[node];
            let group = &class.groups()[node.group];
            let forgets = node.before == shape.window.past;
            let windows = count(node.before + 1 + node.after - usize::from(forgets));
            let remembered = count(node.tokens.min(shape.memory - 1));
            let mut next = Pairs::zeros(windows, remembered * q, pairs.lasts);
            let mut here = vec![0; q * q];
            for (place, weight) in pairs.iter() {
                let token = |code: &Code, y| code.action(group.cell(place.window, y)) as usize;
                let (ta, tb) = (token(a, place.ya), token(b, place.yb));
                here[ta * q + tb] += weight * lift;
                let to = Place {
                    window: place.window % windows,
                    ya: place.ya % remembered * q + ta,
                    yb: place.yb % remembered * q + tb,
                    last: place.last,
                };
                next.add(to, weight);
            }
            joint.push(here);
            pairs = next;
        }
        joint
    }
}

/// The weights of the rollouts of two codes on one input, dense.
struct Pairs {
    weights: Vec<u128>,
    histories: usize,
    /// Values of the last symbol drawn: q where the next depends on it, else 1.
    lasts: usize,
}

/// The window drawn so far, the tokens that each code remembers, and the last symbol.
#[derive(Clone, Copy)]
struct Place {
    window: usize,
    ya: usize,
    yb: usize,
    last: usize,
}

impl Pairs {
    fn zeros(windows: usize, histories: usize, lasts: usize) -> Pairs {
        Pairs {
            weights: vec![0; windows * histories * histories * lasts],
            histories,
            lasts,
        }
    }

    /// Before anything is drawn.
    fn start(class: &Class) -> Pairs {
        let correlated = class.task().inputs().is_correlated();
        let mut pairs = Pairs::zeros(1, 1, if correlated { class.q() } else { 1 });
        pairs.weights[0] = 1;
        pairs
    }

    fn add(&mut self, place: Place, weight: u128) {
        let Place {
            window,
            ya,
            yb,
            last,
        } = place;
        let history = (window * self.histories + ya) * self.histories + yb;
        self.weights[history * self.lasts + last] += weight;
    }

    /// What has a weight.
    fn iter(&self) -> impl Iterator<Item = (Place, u128)> + '_ {
        let weights = self.weights.iter().enumerate();
        weights
            .filter(|(_, weight)| **weight > 0)
            .map(|(n, &weight)| {
                let (last, history) = (n % self.lasts, n / self.lasts);
                let place = Place {
                    window: history / (self.histories * self.histories),
                    ya: history / self.histories % self.histories,
                    yb: history % self.histories,
                    last,
                };
                (place, weight)
            })
    }

    /// Lets the symbol of a position follow in every pair.
    fn draw(&self, class: &Class, position: usize) -> Pairs {
        let (q, inputs) = (class.q(), class.task().inputs());
        let windows = self.weights.len() / (self.histories * self.histories * self.lasts);
        let mut drawn = Pairs::zeros(windows * q, self.histories, self.lasts);
        for (place, weight) in self.iter() {
            for symbol in 0..q {
                let chance = inputs.weight(position, place.last as Symbol, symbol as Symbol);
                let to = Place {
                    window: place.window * q + symbol,
                    last: symbol % self.lasts,
                    ..place
                };
                drawn.add(to, weight * u128::from(chance));
            }
        }
        drawn
    }
}

/// The largest sum of q entries of a q x q table, one in each row and column: the assignment problem,
/// by shortest augmenting paths with potentials (Kuhn and Munkres).
pub(crate) fn best_matching(q: usize, table: &[u128]) -> u128 {
    if let [a, b, c, d] = *table {
        return (a + d).max(b + c);
    }
    let most = table.iter().copied().max().unwrap_or(0);
    // Costs to be made small, none negative; number 0 of rows and columns is nobody.
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
