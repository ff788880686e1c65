//! Finds how alike independent codes are at a temperature: P(q) (paper, section 2.2 and App. D).
//!
//! Two codes are drawn independently from the Gibbs measure exp(J / tau) / Z. Their overlaps do not
//! change under relabelling ([`gauge::Overlaps`](crate::landscape::gauge::Overlaps)): q_t at every step, the
//! probability of the same answer, and the mean of q_t over the steps ("in all"). P(q) is the
//! distribution of the latter two over the pairs.
//!
//! - `exact`: the sum over all pairs of codes, for classes whose codes can be visited.
//! - [`sample`]: heat-bath chains from random codes. They show the states that chains reach: below a
//!   first-order transition these need not be those of the Gibbs measure, and no replica can know.

mod exact;
mod sample;

pub use exact::{EveryCode, ExactError};
pub use sample::{SampleError, Sampled, Sampling, sample};

use crate::landscape::gauge::Overlap;

/// The intervals of [0, 1] that overlaps are counted in; the last holds 1.
pub const BINS: usize = 50;

/// The observables of a pair, one number behind the other: q_t of every step, the same answer, the
/// mean of all steps, and of the latter two which interval they lie in.
#[derive(Debug, Clone, PartialEq)]
struct Observables(Vec<f64>);

impl Observables {
    fn zeros(steps: usize) -> Observables {
        Observables(vec![0.0; steps + 2 + 2 * BINS])
    }

    fn add(&mut self, overlap: &Overlap, weight: f64) {
        let steps = overlap.steps.len();
        let mut sum = 0.0;
        for (to, part) in self.0.iter_mut().zip(&overlap.steps) {
            *to += weight * part.share();
            sum += part.share();
        }
        let mean = sum / steps as f64;
        self.0[steps] += weight * overlap.answers.share();
        self.0[steps + 1] += weight * mean;
        self.0[steps + 2 + overlap.answers.bin(BINS)] += weight;
        self.0[steps + 2 + BINS + bin(mean)] += weight;
    }

    fn add_all(&mut self, other: &Observables, factor: f64) {
        let terms = self.0.iter_mut().zip(&other.0);
        terms.for_each(|(to, from)| *to += factor * from);
    }
}

/// The interval of a mean of shares; sums of them may fall short of what they are by a rounding.
fn bin(mean: f64) -> usize {
    (((mean + 1e-12) * BINS as f64) as usize).min(BINS - 1)
}

/// A number, and its standard error where it is an estimate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Value {
    /// The number.
    pub mean: f64,
    /// The error; 0 where it is exact.
    pub error: f64,
}

/// The distribution of an overlap over pairs of codes.
#[derive(Debug, Clone, PartialEq)]
pub struct Distribution {
    /// The mean overlap.
    pub mean: Value,
    /// The probability of each of the [`BINS`] intervals.
    pub bins: Vec<Value>,
}

/// How alike codes are at a temperature.
#[derive(Debug, Clone, PartialEq)]
pub struct Alike {
    /// The mean of q_t, t = 1 first.
    pub steps: Vec<Value>,
    /// The probability of the same answer.
    pub answers: Distribution,
    /// The mean of q_t over all steps.
    pub all: Distribution,
}

impl Alike {
    fn new(steps: usize, values: &[Value]) -> Alike {
        let bins = |from: usize| values[from..from + BINS].to_vec();
        Alike {
            steps: values[..steps].to_vec(),
            answers: Distribution {
                mean: values[steps],
                bins: bins(steps + 2),
            },
            all: Distribution {
                mean: values[steps + 1],
                bins: bins(steps + 2 + BINS),
            },
        }
    }
}
