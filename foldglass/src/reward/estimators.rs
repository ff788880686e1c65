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
//! evaluation of the policy. The others need sums over all inputs ([`per_input`]).

use super::per_input::{self, LeafWeights, Wanted};
use crate::model::policy::Policy;
use crate::reward::evaluate::Evaluator;
use crate::support::context::Context;
use crate::support::memory::TooLarge;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// The largest group that is accepted.
const LARGEST_GROUP: u32 = 512;

/// What GRPO adds to a group's standard deviation.
const GRPO_EPSILON: f64 = 1e-4;

/// How rollouts are turned into a gradient.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Estimator {
    /// The reward is the advantage.
    Reinforce,
    /// The reward minus the mean over the batch, the sample itself included.
    BatchMean,
    /// The reward minus the mean of the other rollouts on the same input; the size of a group.
    Rloo(u32),
    /// The reward minus the group's mean, divided by the group's standard deviation (G - 1 in its denominator) plus
    /// 1e-4; a group of equal rewards has the advantage 0.
    Grpo(u32),
    /// The reward minus the group's mean.
    DrGrpo(u32),
}

impl Estimator {
    /// Rollouts per input.
    pub fn group(self) -> u32 {
        match self {
            Estimator::Reinforce | Estimator::BatchMean => 1,
            Estimator::Rloo(group) | Estimator::Grpo(group) | Estimator::DrGrpo(group) => group,
        }
    }

    /// The advantages of successes and of failures, by the number of successes in a group, from 0 to G.
    fn advantages(self) -> (Vec<f64>, Vec<f64>) {
        let group = self.group();
        let g = f64::from(group);
        let pair = |successes: u32| {
            let k = f64::from(successes);
            let mean = k / g;
            match self {
                Estimator::Reinforce => (1.0, 0.0),
                Estimator::BatchMean | Estimator::DrGrpo(_) => (1.0 - mean, -mean),
                Estimator::Rloo(_) => ((g - k) / (g - 1.0), -k / (g - 1.0)),
                Estimator::Grpo(_) if successes == 0 || successes == group => (0.0, 0.0),
                Estimator::Grpo(_) => {
                    let deviation = (k * (g - k) / (g * (g - 1.0))).sqrt() + GRPO_EPSILON;
                    ((1.0 - mean) / deviation, -mean / deviation)
                }
            }
        };
        (0..=group).map(pair).unzip()
    }
}

impl fmt::Display for Estimator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Estimator::Reinforce => f.write_str("reinforce"),
            Estimator::BatchMean => f.write_str("batch-mean"),
            Estimator::Rloo(group) => write!(f, "rloo:{group}"),
            Estimator::Grpo(group) => write!(f, "grpo:{group}"),
            Estimator::DrGrpo(group) => write!(f, "dr-grpo:{group}"),
        }
    }
}

impl FromStr for Estimator {
    type Err = String;

    fn from_str(text: &str) -> Result<Estimator, String> {
        let accepted = "reinforce, batch-mean, rloo:G, grpo:G or dr-grpo:G, G rollouts per input";
        let (name, group) = match text.split_once(':') {
            None => (text, None),
            Some((name, group)) => (name, Some(group)),
        };
        let kind = match (name, group) {
            ("reinforce", None) => return Ok(Estimator::Reinforce),
            ("batch-mean", None) => return Ok(Estimator::BatchMean),
            ("rloo", Some(_)) => Estimator::Rloo,
            ("grpo", Some(_)) => Estimator::Grpo,
            ("dr-grpo", Some(_)) => Estimator::DrGrpo,
            _ => return Err(format!("{text:?} is not an estimator: {accepted}")),
        };
        match group.and_then(|group| group.parse().ok()) {
            Some(group @ 2..=LARGEST_GROUP) => Ok(kind(group)),
            Some(1) => Err(format!(
                "{text} is refused: the advantage of a group of one rollout is always 0; write {name}:2 or more"
            )),
            _ => Err(format!(
                "{text:?} is not an estimator: the size of a group is from 2 to {LARGEST_GROUP}"
            )),
        }
    }
}

/// Why an estimator's moments are not computed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EstimatorError {
    /// A tied class.
    #[error(
        "the variance of an estimator is computed for untied classes only: in a tied class a rollout consults a cell \
         more than once, and products of its scores do not follow from d and dQ"
    )]
    Tied,
    /// An empty batch.
    #[error("a batch of 0 inputs is refused: it needs at least 1")]
    NoBatch,
    /// More inputs than are summed one by one.
    #[error(
        "the moments of {estimator} are sums over all inputs, and this class has {inputs}: at most {most} are summed \
         (reinforce and batch-mean need none of them)"
    )]
    TooManyInputs {
        /// The estimator.
        estimator: String,
        /// The inputs of the class.
        inputs: String,
        /// The most that are summed.
        most: u64,
    },
    /// More memory than allowed.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
}

/// The exact mean and variance of an estimator, by component.
#[derive(Debug, Clone, PartialEq)]
pub struct Moments {
    /// The exact gradient of J in the logits, q numbers for each cell.
    pub gradient: Vec<f64>,
    /// The estimator's expectation.
    pub mean: Vec<f64>,
    /// The estimator's variance.
    pub variance: Vec<f64>,
}

/// Below this a squared norm of a gradient in f64 is rounding.
pub const RESOLVED: f64 = 1e-30;

impl Moments {
    /// The squared norm of the expectation.
    pub fn signal(&self) -> f64 {
        square(&self.mean)
    }

    /// The squared norm of the difference between the expectation and the gradient of J.
    pub fn bias(&self) -> f64 {
        let differences = self.mean.iter().zip(&self.gradient).map(|(m, g)| m - g);
        differences.map(|d| d * d).sum()
    }

    /// The cosine of the angle between the expectation and the gradient of J; none where one of them is 0.
    pub fn cosine(&self) -> Option<f64> {
        let product: f64 = self
            .mean
            .iter()
            .zip(&self.gradient)
            .map(|(m, g)| m * g)
            .sum();
        let norm = (self.signal() * square(&self.gradient)).sqrt();
        (norm > 0.0).then(|| (product / norm).clamp(-1.0, 1.0))
    }

    /// The trace of the covariance.
    pub fn trace(&self) -> f64 {
        self.variance.iter().sum()
    }

    /// Signal over variance; none where the variance is 0.
    pub fn snr(&self) -> Option<f64> {
        let trace = self.trace();
        (trace > 0.0).then(|| self.signal() / trace)
    }
}

fn square(vector: &[f64]) -> f64 {
    vector.iter().map(|v| v * v).sum()
}

/// The most inputs that are summed one by one.
pub const MOST_INPUTS: u64 = 10_000_000;

/// The exact moments of an estimator on a batch of this many inputs.
///
/// ```
/// use foldglass::reward::estimators::{Estimator, moments};
/// use foldglass::{ClassSpec, Context, LatinSquare, Policy, Shape};
/// let spec = ClassSpec::uniform(LatinSquare::cyclic(2)?, &[1], Shape::untied(0, 0));
/// let class = spec.lay_out()?;
/// let found = moments(&Policy::uniform(&class), Estimator::Reinforce, 1, Context::default())?;
/// // Each of the four components has the gradient 1/8 or -1/8 and the variance 3/64.
/// assert_eq!((found.signal(), found.trace()), (1.0 / 16.0, 3.0 / 16.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn moments(
    policy: &Policy,
    estimator: Estimator,
    batch: u32,
    context: Context<'_>,
) -> Result<Moments, EstimatorError> {
    let class = policy.class();
    if class.shape().tied {
        return Err(EstimatorError::Tied);
    }
    if batch == 0 {
        return Err(EstimatorError::NoBatch);
    }
    let mut evaluator = Evaluator::within(class, context.memory)?;
    let reward = context.install(|| evaluator.evaluate(policy));
    let rows = Rows::of(policy);
    let mut values = vec![0.0; rows.entries.len()];
    let mut visits = vec![0.0; class.cells()];
    evaluator.values_into(&mut values);
    evaluator.visits_into(&mut visits);
    let gradient = rows.gradient(&values);
    match estimator {
        Estimator::Reinforce => {
            let squares = rows.squares_of_successes(&values);
            Ok(by_batch(gradient.clone(), gradient, &squares, batch))
        }
        Estimator::BatchMean => {
            let successes = rows.squares_of_successes(&values);
            let all = rows.squares(&visits);
            Ok(batch_mean(gradient, &successes, &all, reward, batch))
        }
        _ => {
            let inputs = per_input::inputs(class);
            if inputs.is_none_or(|inputs| inputs > MOST_INPUTS) {
                return Err(EstimatorError::TooManyInputs {
                    estimator: estimator.to_string(),
                    inputs: inputs.map_or("2^64 or more".to_owned(), |n| n.to_string()),
                    most: MOST_INPUTS,
                });
            }
            let (mean, squares) = of_groups(policy, &rows, estimator, context);
            Ok(by_batch(gradient, mean, &squares, batch))
        }
    }
}

/// The moments of the mean of independent groups, from the mean and the mean square of one.
fn by_batch(gradient: Vec<f64>, mean: Vec<f64>, squares: &[f64], batch: u32) -> Moments {
    let one = |(square, mean): (&f64, &f64)| (square - mean * mean).max(0.0) / f64::from(batch);
    let variance = squares.iter().zip(&mean).map(one).collect();
    Moments {
        gradient,
        mean,
        variance,
    }
}

/// The mean of all rewards as the baseline: the whole batch is one group, whose rollouts have inputs of their own.
fn batch_mean(
    gradient: Vec<f64>,
    successes: &[f64],
    all: &[f64],
    reward: f64,
    batch: u32,
) -> Moments {
    let b = f64::from(batch);
    let shrink = 1.0 - 1.0 / b;
    let mean: Vec<f64> = gradient.iter().map(|g| shrink * g).collect();
    let variance = gradient.iter().zip(successes).zip(all).map(|((g, n1), n)| {
        if batch == 1 {
            return 0.0;
        }
        let failures = n - n1;
        let own = n1 * (1.0 - reward).powi(2)
            + failures * reward.powi(2)
            + n * reward * (1.0 - reward) / (b - 1.0);
        let pairs = shrink * (1.0 + 1.0 / (b - 1.0).powi(2)) * g * g;
        (shrink * shrink * (own / b + pairs - g * g)).max(0.0)
    });
    Moments {
        variance: variance.collect(),
        mean,
        gradient,
    }
}

/// The mean and the mean square of one group, from sums over all inputs.
fn of_groups(
    policy: &Policy,
    rows: &Rows<'_>,
    estimator: Estimator,
    context: Context<'_>,
) -> (Vec<f64>, Vec<f64>) {
    let group = estimator.group();
    let (u, v) = estimator.advantages();
    let one_less = Binomial::new(group - 1);
    let two_less = Binomial::new(group - 2);
    let weigh = |p: f64| {
        let (mut w, mut successes, mut failures, mut pairs) = (0.0, 0.0, 0.0, 0.0);
        one_less.each(p, |k, chance| {
            w += chance * (u[k + 1] - v[k]);
            successes += chance * u[k + 1] * u[k + 1];
            failures += chance * v[k] * v[k];
        });
        two_less.each(p, |k, chance| {
            let both = u[k + 2] * u[k + 2] + v[k] * v[k] - 2.0 * u[k + 1] * v[k + 1];
            pairs += chance * both;
        });
        LeafWeights {
            value: 0.0,
            adjoints: [w, successes, failures],
            visits: failures,
            squares: pairs,
        }
    };
    let wanted = Wanted {
        visits: true,
        squares: true,
    };
    let sums = per_input::sums(policy, wanted, &weigh, context);
    let [w, u, v] = &sums.adjoints;
    let mean = rows.gradient(w);
    let successes = rows.squares_of_successes(u);
    let failures = rows.squares_of_successes(v);
    let all = rows.squares(&sums.visits);
    let g = f64::from(group);
    let squares = (0..mean.len()).map(|i| {
        let own = successes[i] + (all[i] - failures[i]).max(0.0);
        own / g + (1.0 - 1.0 / g) * sums.squares[i]
    });
    (mean, squares.collect())
}

/// The binomial law of a number of trials.
struct Binomial {
    coefficients: Vec<f64>,
}

impl Binomial {
    fn new(trials: u32) -> Binomial {
        let mut coefficients = vec![1.0];
        for k in 0..trials {
            let last = coefficients[k as usize];
            coefficients.push(last * f64::from(trials - k) / f64::from(k + 1));
        }
        Binomial { coefficients }
    }

    /// Calls `each` with every number of successes and its probability.
    fn each(&self, p: f64, mut each: impl FnMut(usize, f64)) {
        let trials = self.coefficients.len() - 1;
        // Powers underflow to 0 where the probability is below what sums of f64 keep.
        for (k, coefficient) in self.coefficients.iter().enumerate() {
            let chance = p.powi(k as i32) * (1.0 - p).powi((trials - k) as i32);
            each(k, coefficient * chance);
        }
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
        let cells = self.entries.chunks(self.q).zip(values.chunks(self.q));
        let cell = |(row, values): (&[f64], &[f64])| {
            let mean: f64 = row.iter().zip(values).map(|(p, v)| p * v).sum();
            let entries = row.iter().zip(values).map(|(&p, &v)| of(p, v, mean));
            entries.collect::<Vec<f64>>()
        };
        cells.flat_map(cell).collect()
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
        let cells = self.entries.chunks(self.q).zip(visits);
        let cell = |(row, d): (&[f64], &f64)| {
            let d = *d;
            row.iter()
                .map(move |p| d * p * (1.0 - p))
                .collect::<Vec<f64>>()
        };
        cells.flat_map(cell).collect()
    }
}
