//! Computes the bias and the variance of sampled policy gradients, exactly (beyond the paper).
//!
//! A trainer draws inputs x, rolls the policy out, and averages A_i S_i: S_i the sum over the tokens of a rollout of the
//! derivative of log pi by the logits, A_i its advantage. Rewards are 0 or 1. Everything here is by component (cell c,
//! action a), in the logits.
//!
//! Given x, p is the success, g the gradient of p, and N1, N0 the expected squares of S over rollouts that succeed and
//! fail. In an untied class a rollout consults a cell at most once, so that with dV = sum_b pi(b) dQ(b)
//!
//! - g(c,a) = pi(a) (dQ(a) - dV)
//! - N1(c,a) = pi(a) (1 - 2 pi(a)) dQ(a) + pi(a)^2 dV
//! - N0 + N1 = N(c,a) = d(c) pi(a) (1 - pi(a))
//!
//! These lines are linear in d and dQ, hence hold for one input, for all of them, and for weighted sums over inputs.
//!
//! **Groups.** G rollouts share an input. If K of them succeed, a success has the advantage u_K and a failure v_K. With
//! k drawn from the binomial law of G - 1 or G - 2 trials of success p:
//!
//! - the estimator has the mean g w(p) given x, w(p) = E[u_{k+1} - v_k];
//! - its square has the mean (N1 U + N0 V) / G + (1 - 1/G) g^2 C, with U = E[u_{k+1}^2], V = E[v_k^2] over G - 1 trials and
//!   C = E[u_{k+2}^2 + v_k^2 - 2 u_{k+1} v_{k+1}] over G - 2.
//!
//! An update averages B independent groups. `reinforce` and `batch-mean` have one rollout per input, and need one
//! evaluation of the policy and one pass over its tables (`single`). The others need sums over all inputs of polynomials of p times g, N1, N0 and g^2
//! ([`super::ways`]).
//!
//! In a tied class a rollout may consult a cell more than once, so that N1 and g^2 do not follow from sums over inputs of
//! dQ. They are computed input by input, for all inputs or for drawn ones.

mod kinds;
mod sampled;
mod single;

use super::per_input::{self, LeafWeights, SingleInput};
use super::replicas::Replicas;
use super::ways::{self, SummedBy};
use crate::model::policy::Policy;
use crate::reward::evaluate::Evaluator;
use crate::support::context::Context;
use crate::support::memory::TooLarge;
use crate::support::watch::Stopped;
pub use kinds::Estimator;
pub(crate) use kinds::GRPO_EPSILON;
use kinds::GroupWeights;
use sampled::BlockMeans;
pub use sampled::{SampledMoments, SampledNumber};
use single::{SingleRollouts, VarianceWeights};
use thiserror::Error;

/// Why an estimator's moments are not computed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EstimatorError {
    /// A process reward.
    #[error(
        "the moments of an estimator are derived for rewards of 0 or 1, that of the last token alone: \
         --reward process is not supported here"
    )]
    ProcessReward,
    /// An empty batch.
    #[error("a batch of 0 inputs is refused: it needs at least 1")]
    NoBatch,
    /// More memory than allowed.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// Told to stop.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// The mean and the variance of an estimator on a batch, by component.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct GradientMoments {
    /// The exact gradient of J in the logits, q numbers for each cell.
    pub gradient: Vec<f64>,
    /// The estimator's expectation.
    pub expectation: Expectation,
    /// The estimator's variance.
    pub variance: Vec<f64>,
    /// How the expectation was computed; the gradient is always exact.
    pub mean_by: SummedBy,
    /// How the variance was computed.
    pub variance_by: SummedBy,
    /// Estimates with their intervals, where inputs were drawn.
    pub sampled: Option<SampledMoments>,
}

/// The expectation of an estimator.
#[derive(Debug, Clone, PartialEq)]
pub enum Expectation {
    /// The gradient of J times this.
    Scaled(f64),
    /// Another vector, q numbers for each cell.
    Own(Vec<f64>),
}

/// Below this a squared norm of a gradient in f64 is rounding.
pub const RESOLVED: f64 = 1e-30;

impl GradientMoments {
    /// Moments without components, for [`EstimatorSums::moments_into`] to write to.
    pub fn empty() -> GradientMoments {
        GradientMoments {
            gradient: Vec::new(),
            expectation: Expectation::Scaled(1.0),
            variance: Vec::new(),
            mean_by: SummedBy::Evaluation,
            variance_by: SummedBy::Evaluation,
            sampled: None,
        }
    }

    /// The estimator's expectation, q numbers for each cell.
    pub fn mean(&self) -> Vec<f64> {
        match &self.expectation {
            Expectation::Scaled(scale) => self.gradient.iter().map(|g| scale * g).collect(),
            Expectation::Own(mean) => mean.clone(),
        }
    }

    /// The squared norm of the expectation.
    pub fn signal(&self) -> f64 {
        let sampled = self.sampled.as_ref().and_then(|s| s.signal);
        sampled.map_or_else(
            || match &self.expectation {
                Expectation::Scaled(scale) => scale * scale * square(&self.gradient),
                Expectation::Own(mean) => square(mean),
            },
            |s| s.value,
        )
    }

    /// The squared norm of the difference between the expectation and the gradient of J.
    pub fn bias(&self) -> f64 {
        let sampled = self.sampled.as_ref().and_then(|s| s.bias);
        sampled.map_or_else(
            || match &self.expectation {
                Expectation::Scaled(scale) => (scale - 1.0).powi(2) * square(&self.gradient),
                Expectation::Own(mean) => {
                    let differences = mean.iter().zip(&self.gradient).map(|(m, g)| m - g);
                    differences.map(|d| d * d).sum()
                }
            },
            |s| s.value,
        )
    }

    /// The cosine of the angle between the expectation and the gradient of J; none where one of them is 0.
    pub fn cosine(&self) -> Option<f64> {
        if self.mean_by == SummedBy::Sampled {
            return self.sampled.as_ref()?.cosine.map(|s| s.value);
        }
        let norm = square(&self.gradient);
        let along = match &self.expectation {
            Expectation::Scaled(scale) => scale * norm,
            Expectation::Own(mean) => product(mean, &self.gradient),
        };
        let norms = (self.signal() * norm).sqrt();
        (norms > 0.0).then(|| (along / norms).clamp(-1.0, 1.0))
    }

    /// The trace of the covariance.
    pub fn trace(&self) -> f64 {
        let sampled = self.sampled.as_ref().map(|s| s.variance);
        sampled.map_or_else(|| total(&self.variance), |s| s.value)
    }

    /// Signal over variance; none where the variance is 0.
    pub fn snr(&self) -> Option<f64> {
        let trace = self.trace();
        (trace > 0.0).then(|| self.signal() / trace)
    }
}

fn square(vector: &[f64]) -> f64 {
    product(vector, vector)
}

/// The sum of the products, eight at a time: one behind the other, each addition would wait for the last.
fn product(a: &[f64], b: &[f64]) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut sums = [0.0; 8];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..8 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}

/// The sum, eight numbers at a time.
fn total(vector: &[f64]) -> f64 {
    let (eights, rest) = vector.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for eight in eights {
        for lane in 0..8 {
            sums[lane] += eight[lane];
        }
    }
    sums.iter().sum::<f64>() + rest.iter().sum::<f64>()
}

/// What an estimator's moments are made of, for every size of the batch.
pub struct EstimatorSums {
    estimator: Estimator,
    evaluator: Evaluator,
    /// J.
    reward: f64,
    /// None where the evaluation is enough.
    inputs: Option<GroupSums>,
}

/// Sums over inputs that an evaluation does not give.
struct GroupSums {
    estimator: Estimator,
    gradient: Vec<f64>,
    /// The expectation of one group.
    mean: Expectation,
    /// The mean square of one group; N1 for `batch-mean`.
    squares: Vec<f64>,
    /// N, for `batch-mean`.
    all: Vec<f64>,
    mean_by: SummedBy,
    variance_by: SummedBy,
    blocks: Option<BlockMeans>,
}

/// The moments of an estimator on a batch of this many inputs. Where sums over inputs are beyond reach, inputs are drawn
/// by this seed, and the result says so.
///
/// ```
/// use foldglass::reward::estimators::{Estimator, moments};
/// use foldglass::{ClassSpec, Context, Operation, Policy, Shape};
/// let spec = ClassSpec::uniform(Operation::cyclic(2)?, &[1], Shape::untied(0, 0));
/// let class = spec.lay_out()?;
/// let found = moments(&Policy::uniform(&class), Estimator::Reinforce, 1, 0, Context::default())?;
/// // Each of the four components has the gradient 1/8 or -1/8 and the variance 3/64.
/// assert_eq!((found.signal(), found.trace()), (1.0 / 16.0, 3.0 / 16.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn moments(
    policy: &Policy,
    estimator: Estimator,
    batch: u32,
    seed: u64,
    context: Context<'_>,
) -> Result<GradientMoments, EstimatorError> {
    if batch == 0 {
        return Err(EstimatorError::NoBatch);
    }
    EstimatorSums::of(policy, estimator, seed, context)?.moments(batch)
}

impl EstimatorSums {
    /// Computes them.
    pub fn of(
        policy: &Policy,
        estimator: Estimator,
        seed: u64,
        context: Context<'_>,
    ) -> Result<EstimatorSums, EstimatorError> {
        let mut sums = EstimatorSums::empty(policy, estimator, context)?;
        sums.renew(policy, seed, context)?;
        Ok(sums)
    }

    fn empty(
        policy: &Policy,
        estimator: Estimator,
        context: Context<'_>,
    ) -> Result<EstimatorSums, EstimatorError> {
        Ok(EstimatorSums {
            estimator,
            evaluator: Evaluator::within(policy.class(), context.memory)?,
            reward: 0.0,
            inputs: None,
        })
    }

    /// Computes them of another policy of the class. Where the evaluation is enough, no memory is taken.
    ///
    /// # Panics
    /// If the policy is of another class.
    pub fn renew(
        &mut self,
        policy: &Policy,
        seed: u64,
        context: Context<'_>,
    ) -> Result<(), EstimatorError> {
        let class = policy.class();
        if !class.task().reward().is_final() {
            return Err(EstimatorError::ProcessReward);
        }
        let by = match (class.shape().tied, self.estimator.group()) {
            (true, _) => ways::one_by_one(class),
            (false, 1) => SummedBy::Evaluation,
            _ => {
                let passes = passes(&self.estimator.weights());
                ways::choose(class, Some(&passes), (2, true), context)
            }
        };
        self.renew_by(policy, by, seed, context)
    }

    /// Computes them in this way.
    fn renew_by(
        &mut self,
        policy: &Policy,
        by: SummedBy,
        seed: u64,
        context: Context<'_>,
    ) -> Result<(), EstimatorError> {
        let evaluator = &mut self.evaluator;
        self.reward = match evaluator.uses_threads() {
            true => context.install(|| evaluator.evaluate(policy)),
            false => evaluator.evaluate(policy),
        };
        self.inputs = match by {
            SummedBy::Evaluation => None,
            by => {
                let sums =
                    GroupSums::of(&self.evaluator, policy, self.estimator, by, seed, context);
                Some(sums?)
            }
        };
        Ok(())
    }

    /// The moments of a batch of this many inputs.
    pub fn moments(&self, batch: u32) -> Result<GradientMoments, EstimatorError> {
        let mut found = GradientMoments::empty();
        self.moments_into(batch, &mut found)?;
        Ok(found)
    }

    /// Writes the moments of a batch of this many inputs over earlier ones. Where the evaluation is enough, no memory is
    /// taken if those have as many components: fresh memory may cost more than the moments.
    pub fn moments_into(
        &self,
        batch: u32,
        found: &mut GradientMoments,
    ) -> Result<(), EstimatorError> {
        if batch == 0 {
            return Err(EstimatorError::NoBatch);
        }
        let shrink = match self.estimator {
            Estimator::BatchMean => 1.0 - 1.0 / f64::from(batch),
            _ => 1.0,
        };
        let weights = VarianceWeights::new(self.estimator, self.reward, batch);
        match &self.inputs {
            Some(sums) => *found = sums.moments(&weights, shrink),
            None => {
                let class = self.evaluator.class();
                let entries = class.cells() * class.q();
                let mut of = std::mem::replace(found, GradientMoments::empty());
                of.gradient.resize(entries, 0.0);
                of.variance.resize(entries, 0.0);
                let each = [&mut of.gradient[..], &mut of.variance];
                self.evaluator.gather_with(&SingleRollouts(weights), each);
                *found = GradientMoments {
                    expectation: Expectation::Scaled(shrink),
                    gradient: of.gradient,
                    variance: of.variance,
                    ..GradientMoments::empty()
                };
            }
        }
        Ok(())
    }
}

impl GroupSums {
    fn of(
        evaluator: &Evaluator,
        policy: &Policy,
        estimator: Estimator,
        by: SummedBy,
        seed: u64,
        context: Context<'_>,
    ) -> Result<GroupSums, EstimatorError> {
        let rows = Rows::of(policy);
        let mut values = vec![0.0; rows.entries.len()];
        evaluator.values_into(&mut values);
        let weights = estimator.weights();
        let mut sums = GroupSums {
            estimator,
            // Most means are the gradient times a number.
            mean: Expectation::Scaled(weights.mean.value(0)),
            gradient: rows.gradient(&values),
            squares: Vec::new(),
            all: match estimator {
                Estimator::BatchMean => {
                    let mut visits = vec![0.0; policy.class().cells()];
                    evaluator.visits_into(&mut visits);
                    rows.squares(&visits)
                }
                _ => Vec::new(),
            },
            mean_by: SummedBy::Evaluation,
            variance_by: by,
            blocks: None,
        };
        sums.add_groups(policy, &rows, &weights, seed, context)?;
        Ok(sums)
    }

    /// The mean and the mean square of one group, from sums over inputs.
    fn add_groups(
        &mut self,
        policy: &Policy,
        rows: &Rows<'_>,
        weights: &GroupWeights,
        seed: u64,
        context: Context<'_>,
    ) -> Result<(), EstimatorError> {
        let (class, by) = (policy.class(), self.variance_by);
        if weights.mean.degree() > 0 {
            let (tied, alone) = (class.shape().tied, [mean_pass(weights)]);
            self.mean_by = match by {
                SummedBy::Sampled if !tied && ways::affords(class, &alone, context) => {
                    SummedBy::Replicas
                }
                by => by,
            };
        }
        if self.mean_by == SummedBy::Replicas {
            let end = |tagged: usize, k: usize| tagged as f64 * weights.mean.value(k);
            let passed = mean_pass(weights).pass(policy, &end, context.observer)?;
            self.mean = Expectation::Own(rows.gradient(&passed.values));
        }
        match by {
            SummedBy::Replicas => self.add_by_replicas(policy, rows, weights, context),
            SummedBy::Sampled => self.add_by_drawn_inputs(policy, weights, seed, context),
            SummedBy::Inputs => {
                self.add_by_inputs(policy, rows, weights);
                Ok(())
            }
            SummedBy::Evaluation | SummedBy::Tree => {
                self.add_by_tree(policy, rows, weights, context)
            }
        }
    }

    /// The mean squares, by rollouts that go through the inputs together.
    fn add_by_replicas(
        &mut self,
        policy: &Policy,
        rows: &Rows<'_>,
        weights: &GroupWeights,
        context: Context<'_>,
    ) -> Result<(), EstimatorError> {
        let all = passes(weights);
        let [.., own, pairs] = all[..] else {
            unreachable!("two passes at least")
        };
        let end = |tagged: usize, k: usize| match tagged {
            0 => weights.failures.value(k),
            _ => weights.successes.value(k),
        };
        let own = own.pass(policy, &end, context.observer)?;
        let end = |tagged: usize, k: usize| match tagged {
            2 => weights.pairs.value(k),
            _ => 0.0,
        };
        let pairs = pairs.pass(policy, &end, context.observer)?.values;
        self.add_squares(&rows.squares_of_successes(&own.values), &pairs);
        Ok(())
    }

    /// The mean squares, and the mean where it has no faster way, estimated from drawn inputs.
    fn add_by_drawn_inputs(
        &mut self,
        policy: &Policy,
        weights: &GroupWeights,
        seed: u64,
        context: Context<'_>,
    ) -> Result<(), EstimatorError> {
        let (g, draws_mean) = (self.group(), self.mean_by == SummedBy::Sampled);
        let blocks = BlockMeans::draw(policy, weights, g, draws_mean, seed, context)?;
        if draws_mean {
            self.mean = Expectation::Own(blocks.mean());
        }
        self.squares = blocks.squares();
        self.blocks = Some(blocks);
        Ok(())
    }

    /// The mean and the mean squares, input by input.
    fn add_by_inputs(&mut self, policy: &Policy, rows: &Rows<'_>, weights: &GroupWeights) {
        let mut mean = vec![0.0; rows.entries.len()];
        let mut squares = vec![0.0; rows.entries.len()];
        let mut input = SingleInput::new(policy);
        let lengths = policy.class().task().lengths();
        per_input::for_each(policy, |x, probability, _| {
            let which = lengths.iter().position(|&n| n == x.len());
            let success = input.follow(which.expect("a length of the task"), x);
            let terms = GroupTerms::of(weights, self.group(), success);
            input.scores(|scores| {
                mean[scores.entry] += probability * terms.mean * scores.gradient;
                squares[scores.entry] += probability * terms.square(&scores);
            });
        });
        self.squares = squares;
        if weights.mean.degree() > 0 {
            self.mean = Expectation::Own(mean);
        }
    }

    /// The mean and the mean squares, by the tree of all inputs.
    fn add_by_tree(
        &mut self,
        policy: &Policy,
        rows: &Rows<'_>,
        weights: &GroupWeights,
        context: Context<'_>,
    ) -> Result<(), EstimatorError> {
        let weigh = |p: f64| LeafWeights {
            value: 0.0,
            successes: [weights.mean.at(p), weights.successes.at(p)],
            failures: [0.0, weights.failures.at(p)],
            squares: Some(weights.pairs.at(p)),
        };
        let sums = per_input::sums(policy, true, &weigh, context)?;
        let [mean, own] = &sums.adjoints;
        if weights.mean.degree() > 0 {
            self.mean = Expectation::Own(rows.gradient(mean));
        }
        self.add_squares(&rows.squares_of_successes(own), &sums.squares);
        Ok(())
    }

    /// The mean squares of a group, from those of one of its rollouts and the products of two.
    fn add_squares(&mut self, own: &[f64], pairs: &[f64]) {
        let g = self.group();
        let terms = own.iter().zip(pairs);
        self.squares = terms
            .map(|(own, pair)| own / g + (1.0 - 1.0 / g) * pair)
            .collect();
    }

    /// The rollouts of a group.
    fn group(&self) -> f64 {
        f64::from(self.estimator.group())
    }

    /// The moments of a batch whose variance is made with these weights, and whose expectation is `shrink` times that of
    /// a group.
    fn moments(&self, weights: &VarianceWeights, shrink: f64) -> GradientMoments {
        let expectation = match &self.mean {
            Expectation::Scaled(scale) => Expectation::Scaled(shrink * scale),
            own => own.clone(),
        };
        let mean = |entry: usize| match &self.mean {
            Expectation::Scaled(scale) => scale * self.gradient[entry],
            Expectation::Own(mean) => mean[entry],
        };
        let variance = (0..self.gradient.len()).map(|entry| {
            let all = self.all.get(entry).copied().unwrap_or_default();
            weights.variance(self.squares[entry], mean(entry).powi(2), all)
        });
        let sampled = self.blocks.as_ref().map(|blocks| {
            let all = total(&self.all);
            let variance = |squares: f64, signal: f64| weights.linear(squares, signal, all);
            let is_exact = self.mean_by != SummedBy::Sampled;
            let exact = || {
                (0..self.gradient.len())
                    .map(|entry| mean(entry).powi(2))
                    .sum()
            };
            blocks.moments(&self.gradient, is_exact.then(exact), shrink, &variance)
        });
        GradientMoments {
            gradient: self.gradient.clone(),
            expectation,
            variance: variance.collect(),
            mean_by: self.mean_by,
            variance_by: self.variance_by,
            sampled,
        }
    }
}

/// The replicas of the mean, of the squares of single rollouts and of products of two. The first is left out where the
/// mean is known.
fn passes(weights: &GroupWeights) -> Vec<Replicas> {
    let own = Replicas {
        tagged: 1,
        others: weights.successes.degree(),
    };
    let pairs = Replicas {
        tagged: 2,
        others: weights.pairs.degree(),
    };
    match weights.mean.degree() {
        0 => vec![own, pairs],
        _ => vec![mean_pass(weights), own, pairs],
    }
}

fn mean_pass(weights: &GroupWeights) -> Replicas {
    Replicas {
        tagged: 1,
        others: weights.mean.degree(),
    }
}

/// The polynomials of a group at the success of one input.
struct GroupTerms {
    rollouts: f64,
    mean: f64,
    successes: f64,
    failures: f64,
    pairs: f64,
}

impl GroupTerms {
    fn of(weights: &GroupWeights, rollouts: f64, p: f64) -> GroupTerms {
        GroupTerms {
            rollouts,
            mean: weights.mean.at(p),
            successes: weights.successes.at(p),
            failures: weights.failures.at(p),
            pairs: weights.pairs.at(p),
        }
    }

    /// The mean square of one group.
    fn square(&self, scores: &per_input::Scores) -> f64 {
        let own = scores.successes * self.successes + scores.failures * self.failures;
        let share = 1.0 / self.rollouts;
        share * own + (1.0 - share) * self.pairs * scores.gradient * scores.gradient
    }
}

/// The rows of a policy.
struct Rows<'a> {
    q: usize,
    entries: &'a [f64],
}

impl Rows<'_> {
    fn of(policy: &Policy) -> Rows<'_> {
        Rows {
            q: policy.class().q(),
            entries: policy.rows(),
        }
    }

    /// A number for each entry, from its probability, its value and the mean value of its cell.
    fn each(&self, values: &[f64], of: impl Fn(f64, f64, f64) -> f64) -> Vec<f64> {
        let mut found = Vec::with_capacity(values.len());
        for (row, values) in self
            .entries
            .chunks_exact(self.q)
            .zip(values.chunks_exact(self.q))
        {
            let mean: f64 = row.iter().zip(values).map(|(p, v)| p * v).sum();
            found.extend(row.iter().zip(values).map(|(&p, &v)| of(p, v, mean)));
        }
        found
    }

    /// g from dQ.
    fn gradient(&self, values: &[f64]) -> Vec<f64> {
        self.each(values, |p, value, mean| p * (value - mean))
    }

    /// N1 from dQ.
    fn squares_of_successes(&self, values: &[f64]) -> Vec<f64> {
        self.each(values, |p, value, mean| {
            p * (1.0 - 2.0 * p) * value + p * p * mean
        })
    }

    /// N from d.
    fn squares(&self, visits: &[f64]) -> Vec<f64> {
        let mut found = Vec::with_capacity(self.entries.len());
        for (row, d) in self.entries.chunks_exact(self.q).zip(visits) {
            found.extend(row.iter().map(|p| d * p * (1.0 - p)));
        }
        found
    }
}

#[cfg(test)]
pub(crate) mod tests;
