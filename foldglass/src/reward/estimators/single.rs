//! Computes gradient and variance of estimators with one rollout per input in one pass over the tables of an evaluation.

use super::Estimator;
use crate::reward::layout::{CellTables, CellWork};

/// The variance of a component on a batch is the sum of its mean square, of N and of its squared mean of one group, each
/// times one of these.
#[derive(Debug, Clone, Copy)]
pub(super) struct VarianceWeights {
    squares: f64,
    all: f64,
    mean: f64,
}

impl VarianceWeights {
    /// For a policy of this reward. With `batch-mean` the whole batch is one group, whose rollouts have inputs of their
    /// own: of N1, N and g^2 the variance is, with s = 1 - 1/B,
    ///
    /// > s^2 [N1 (1 - J)^2 + (N - N1) J^2 + N J (1 - J) / (B - 1)] / B + s^2 [s (1 + 1 / (B - 1)^2) - 1] g^2.
    pub fn new(estimator: Estimator, reward: f64, batch: u32) -> VarianceWeights {
        let (j, b) = (reward, f64::from(batch));
        let (squares, all, mean) = match estimator {
            Estimator::BatchMean if batch == 1 => (0.0, 0.0, 0.0),
            Estimator::BatchMean => {
                let shrink = 1.0 - 1.0 / b;
                let share = shrink * shrink / b;
                let pairs = shrink * (1.0 + 1.0 / (b - 1.0).powi(2));
                (
                    share * (1.0 - 2.0 * j),
                    share * (j * j + j * (1.0 - j) / (b - 1.0)),
                    shrink * shrink * (pairs - 1.0),
                )
            }
            _ => (1.0 / b, 0.0, -1.0 / b),
        };
        VarianceWeights { squares, all, mean }
    }

    /// The sum: of one component, or of all where the arguments are sums over components.
    #[inline(always)]
    pub fn linear(&self, squares: f64, mean: f64, all: f64) -> f64 {
        self.squares * squares + self.all * all + self.mean * mean
    }

    /// The same where rounding may not make it negative.
    #[inline(always)]
    pub fn variance(&self, squares: f64, mean: f64, all: f64) -> f64 {
        self.linear(squares, mean, all).max(0.0)
    }
}

/// Writes g and the variance of the components of cells.
pub(super) struct SingleRollouts(pub VarianceWeights);

impl CellWork for SingleRollouts {
    #[inline(always)]
    fn run<const W: usize>(
        &self,
        given: CellTables<'_, W>,
        [gradient, variance]: [&mut [[f64; W]]; 2],
    ) {
        let VarianceWeights { squares, all, mean } = self.0;
        // dV of each cell.
        let mut means = [0.0; W];
        for (p, value) in given.rows.iter().zip(given.values) {
            for lane in 0..W {
                means[lane] += p[lane] * value[lane];
            }
        }
        let entries = given.rows.iter().zip(given.values);
        for ((p, value), (g, v)) in entries.zip(gradient.iter_mut().zip(variance)) {
            // What is written last is found in arrays of its own, so that the lanes become vectors.
            let (mut gradient, mut variance) = ([0.0; W], [0.0; W]);
            for lane in 0..W {
                let (p, value) = (p[lane], value[lane]);
                let above = value - means[lane];
                gradient[lane] = p * above;
                // N1, N and g^2, each divided by p.
                let own = value - p * (value + above);
                let any = given.visits[lane] * (1.0 - p);
                let sum = p * (squares * own + all * any + mean * gradient[lane] * above);
                variance[lane] = if sum > 0.0 { sum } else { 0.0 };
            }
            (*g, *v) = (gradient, variance);
        }
    }
}
