//! Estimates moments from drawn inputs, with intervals.
//!
//! What an input contributes is exact; the mean over inputs is estimated from blocks of independent draws. The squared
//! norm of a mean is estimated without bias, from products of different blocks. Intervals are by the jackknife over
//! blocks, with Student's quantile.

use super::{GroupTerms, GroupWeights, product, square};
use crate::model::policy::Policy;
use crate::reward::ways::{self, Drawn};
use crate::support::context::Context;
use crate::support::stats::{Interval, Summary};
use crate::support::watch::Stopped;

/// An estimate and its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SampledNumber {
    /// The estimate.
    pub value: f64,
    /// Its interval.
    pub interval: Interval,
}

/// What drawn inputs give; none where a number is exact, or where the draws do not resolve it.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct SampledMoments {
    /// The inputs drawn.
    pub inputs: u64,
    /// The squared norm of the expectation.
    pub signal: Option<SampledNumber>,
    /// The squared norm of its difference from the gradient.
    pub bias: Option<SampledNumber>,
    /// The cosine between the two.
    pub cosine: Option<SampledNumber>,
    /// The trace of the covariance.
    pub variance: SampledNumber,
    /// Signal over variance.
    pub snr: Option<SampledNumber>,
}

/// Means over blocks of drawn inputs.
#[derive(Debug, Clone)]
pub(super) struct BlockMeans {
    per_block: u64,
    /// By block, the mean of a group, where it is wanted.
    means: Vec<Vec<f64>>,
    /// By block, its mean square summed over all components.
    sums: Vec<f64>,
    /// The mean square by component, over all blocks.
    squares: Vec<f64>,
}

impl BlockMeans {
    pub fn draw(
        policy: &Policy,
        weights: &GroupWeights,
        rollouts: f64,
        with_means: bool,
        seed: u64,
        context: Context<'_>,
    ) -> Result<BlockMeans, Stopped> {
        let entries = policy.rows().len();
        let Drawn { per_block, blocks } = ways::draw(
            policy,
            seed,
            context,
            || {
                let mean = vec![0.0; if with_means { entries } else { 0 }];
                (mean, vec![0.0; entries])
            },
            |input, success, (mean, squares)| {
                let terms = GroupTerms::of(weights, rollouts, success);
                input.scores(|scores| {
                    if with_means {
                        mean[scores.entry] += terms.mean * scores.gradient;
                    }
                    squares[scores.entry] += terms.square(&scores);
                });
            },
        )?;
        let n = per_block as f64;
        let mut squares = vec![0.0; entries];
        let (mut means, mut sums) = (Vec::new(), Vec::new());
        for (mut mean, block) in blocks {
            mean.iter_mut().for_each(|m| *m /= n);
            means.push(mean);
            sums.push(block.iter().sum::<f64>() / n);
            squares
                .iter_mut()
                .zip(&block)
                .for_each(|(s, b)| *s += b / n);
        }
        let count = sums.len() as f64;
        squares.iter_mut().for_each(|s| *s /= count);
        Ok(BlockMeans {
            per_block,
            means,
            sums,
            squares,
        })
    }

    /// The mean over all blocks.
    pub fn mean(&self) -> Vec<f64> {
        let mut mean = vec![0.0; self.means[0].len()];
        for block in &self.means {
            mean.iter_mut().zip(block).for_each(|(m, b)| *m += b);
        }
        mean.iter_mut().for_each(|m| *m /= self.means.len() as f64);
        mean
    }

    /// The mean square by component.
    pub fn squares(&self) -> Vec<f64> {
        self.squares.clone()
    }

    /// The moments, from the gradient, the exact squared mean where it is known, the factor that a batch has on the mean,
    /// and the variance as a function of mean square and squared mean.
    pub fn moments(
        &self,
        gradient: &[f64],
        exact: Option<f64>,
        shrink: f64,
        variance: &dyn Fn(f64, f64) -> f64,
    ) -> SampledMoments {
        let n = self.sums.len();
        let products: Vec<Vec<f64>> = match exact {
            Some(_) => Vec::new(),
            None => (0..n)
                .map(|i| {
                    self.means
                        .iter()
                        .map(|m| product(&self.means[i], m))
                        .collect()
                })
                .collect(),
        };
        let along: Vec<f64> = self.means.iter().map(|m| product(m, gradient)).collect();
        let norm = square(gradient);
        // Signal, bias, cosine, variance and ratio without one of the blocks, or with all.
        let without = |left_out: usize| {
            let rest = || (0..n).filter(|i| *i != left_out);
            let count = rest().count() as f64;
            let squares = rest().map(|i| self.sums[i]).sum::<f64>() / count;
            let mean = exact.unwrap_or_else(|| {
                let different = |i: usize| {
                    rest()
                        .filter(|j| *j != i)
                        .map(|j| products[i][j])
                        .sum::<f64>()
                };
                rest().map(different).sum::<f64>() / (count * (count - 1.0))
            });
            let signal = shrink * shrink * mean;
            let along = shrink * rest().map(|i| along[i]).sum::<f64>() / count;
            let variance = variance(squares, mean);
            let cosine = along / (signal * norm).sqrt();
            [
                signal,
                signal - 2.0 * along + norm,
                cosine,
                variance,
                signal / variance,
            ]
        };
        let all = without(n);
        let each: Vec<[f64; 5]> = (0..n).map(without).collect();
        let estimate = |number: usize| {
            let value = all[number];
            let pseudo = |one: &[f64; 5]| n as f64 * value - (n as f64 - 1.0) * one[number];
            let pseudo: Vec<f64> = each.iter().map(pseudo).collect();
            if !value.is_finite() || pseudo.iter().any(|p| !p.is_finite()) {
                return None;
            }
            let around = Summary::of(&pseudo)?.interval(0.95)?;
            let reach = (around.high - around.low) / 2.0;
            Some(SampledNumber {
                value,
                interval: Interval {
                    low: value - reach,
                    high: value + reach,
                },
            })
        };
        let of_mean = |number: usize| estimate(number).filter(|_| exact.is_none());
        SampledMoments {
            inputs: self.per_block * n as u64,
            signal: of_mean(0),
            bias: of_mean(1),
            cosine: of_mean(2),
            variance: estimate(3).expect("sums of finite numbers"),
            snr: estimate(4),
        }
    }
}
