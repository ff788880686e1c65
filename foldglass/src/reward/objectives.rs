//! Evaluates objectives of the success of each input, with exact gradients (beyond the paper).
//!
//! p(x) is the success of input x. An objective is E_x f(p(x)); its derivative by the row of a cell is
//! E_x[f'(p(x)) dQ_x(c, a)]. With f(p) = p it is J. For other f it is not linear in the row of a cell, so that its maxima
//! need not be codes.

use super::binomial::Polynomial;
use super::per_input::{self, LeafWeights};
use super::replicas::Replicas;
use super::ways::{self, SummedBy};
use crate::model::class::Class;
use crate::model::policy::Policy;
use crate::support::context::Context;
use crate::support::stats::{Interval, Summary};
use crate::support::watch::Stopped;

/// An objective of a policy and its derivative.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Objective {
    /// E_x f(p(x)).
    pub value: f64,
    /// The derivative by the policy's rows, cell by cell.
    pub values: Vec<f64>,
    /// How the sums over inputs were computed.
    pub by: SummedBy,
    /// The 95 % interval of the value, where inputs were drawn.
    pub interval: Option<Interval>,
}

/// A function f of the success of an input, which an objective averages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Utility {
    /// 1 - (1 - p)^k: the probability that one of k rollouts succeeds.
    PassAt(u32),
    /// The logarithm of p expanded around 1 to k terms: minus the sum of (1 - p)^j / j.
    MaxRl(u32),
    /// 2 arcsin sqrt p: what GRPO with its standard deviation optimises in the limit of large groups.
    GrpoStd,
}

impl Utility {
    /// f(p).
    pub fn at(self, p: f64) -> f64 {
        let failure = 1.0 - p;
        match self {
            Utility::PassAt(k) => 1.0 - failure.powi(k as i32),
            Utility::MaxRl(k) => -(1..=k)
                .map(|j| failure.powi(j as i32) / f64::from(j))
                .sum::<f64>(),
            Utility::GrpoStd => 2.0 * p.sqrt().min(1.0).asin(),
        }
    }

    /// f'(p); infinite for `grpo-std` at 0 and 1.
    pub fn slope(self, p: f64) -> f64 {
        let failure = 1.0 - p;
        match self {
            Utility::PassAt(k) => f64::from(k) * failure.powi(k as i32 - 1),
            Utility::MaxRl(k) => (0..k).map(|j| failure.powi(j as i32)).sum(),
            Utility::GrpoStd => 1.0 / (p * failure).sqrt(),
        }
    }
}

/// The most rollouts for which an objective is written as one of their successes; beyond, replica passes cost too much.
const MOST_REPLICAS: u32 = 12;

impl Utility {
    /// The degree of f; none where f is not a polynomial.
    pub fn degree(self) -> Option<u32> {
        match self {
            Utility::PassAt(k) | Utility::MaxRl(k) => Some(k),
            Utility::GrpoStd => None,
        }
    }

    /// The numbers b_0 .. b_m whose mean over the successes of m rollouts is f'; none where f' is not a polynomial of
    /// degree m or below.
    pub(crate) fn slope_by_successes(self, rollouts: u32) -> Option<Vec<f64>> {
        if self.degree()? > rollouts + 1 {
            return None;
        }
        let value = |successes: u32| match self {
            Utility::PassAt(k) => f64::from(k) * all_fail(rollouts, successes, k - 1),
            Utility::MaxRl(k) => (0..k).map(|j| all_fail(rollouts, successes, j)).sum(),
            Utility::GrpoStd => unreachable!("not a polynomial"),
        };
        Some((0..=rollouts).map(value).collect())
    }

    /// f and f' as means over successes of rollouts; none for what is not a polynomial or has too high a degree.
    fn polynomials(self) -> Option<(Polynomial, Polynomial)> {
        let degree = self.degree().filter(|&k| k <= MOST_REPLICAS)?;
        let slope = self.slope_by_successes(degree - 1)?;
        let value = |successes: u32| match self {
            Utility::MaxRl(k) => -(1..=k)
                .map(|j| all_fail(k, successes, j) / f64::from(j))
                .sum::<f64>(),
            _ => f64::from(u8::from(successes > 0)),
        };
        let value = (0..=degree).map(value).collect();
        Some((Polynomial::new(value), Polynomial::new(slope)))
    }
}

/// The chance that `drawn` of these rollouts, drawn without replacement, are all failures. Its mean is (1 - p)^drawn.
fn all_fail(rollouts: u32, successes: u32, drawn: u32) -> f64 {
    let failures = f64::from(rollouts) - f64::from(successes);
    (0..drawn)
        .map(|i| (failures - f64::from(i)).max(0.0) / f64::from(rollouts - i))
        .product()
}

#[cfg(feature = "serde")]
crate::serde_as_text!(Utility);

impl std::fmt::Display for Utility {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Utility::PassAt(k) => write!(f, "pass@{k}"),
            Utility::MaxRl(k) => write!(f, "maxrl:{k}"),
            Utility::GrpoStd => f.write_str("grpo-std"),
        }
    }
}

impl std::str::FromStr for Utility {
    type Err = String;

    fn from_str(text: &str) -> Result<Utility, String> {
        let count = |number: &str| number.parse().ok().filter(|k| (1..=10_000).contains(k));
        let named = text
            .strip_prefix("pass@")
            .and_then(count)
            .map(Utility::PassAt)
            .or_else(|| {
                text.strip_prefix("maxrl:")
                    .and_then(count)
                    .map(Utility::MaxRl)
            });
        match text {
            "grpo-std" => Ok(Utility::GrpoStd),
            _ => named.ok_or_else(|| {
                format!(
                    "{text:?} is not an objective: pass@K, maxrl:K (K from 1 to 10000) or grpo-std"
                )
            }),
        }
    }
}

/// How [`objective`] sums over inputs for policies of a class.
pub fn way(class: &Class, utility: Utility, context: Context<'_>) -> SummedBy {
    let passes = utility
        .polynomials()
        .map(|(value, slope)| passes(&value, &slope));
    ways::choose(class, passes.as_ref().map(|p| &p[..]), (1, false), context)
}

/// The replicas of the value and of its derivative.
fn passes(value: &Polynomial, slope: &Polynomial) -> [Replicas; 2] {
    let replicas = |tagged: usize, polynomial: &Polynomial| Replicas {
        tagged,
        others: polynomial.degree(),
    };
    [replicas(0, value), replicas(1, slope)]
}

/// E_x f(p(x)) and its derivative by the rows of the policy. Valid for tied classes too.
///
/// Exact by the cheaper of replica passes and the tree of inputs; where both are beyond reach, from inputs drawn by this
/// seed. [`Objective::by`] names the way.
///
/// The derivative of `grpo-std` is infinite where an input has success 0 or 1 and a change of the policy could move
/// it: entries are then infinite or NaN.
pub fn objective(
    policy: &Policy,
    utility: Utility,
    seed: u64,
    context: Context<'_>,
) -> Result<Objective, Stopped> {
    let by = way(policy.class(), utility, context);
    objective_by(policy, utility, by, None, seed, context)
}

/// Successes closer to 0 and 1 than this have the slope of that distance, so that the slope of `grpo-std` is finite.
const LEAST_DISTANCE: f64 = 1e-12;

/// The objective for an ascent, always exact: slopes are finite everywhere.
pub(crate) fn for_ascent(policy: &Policy, utility: Utility, context: Context<'_>) -> Objective {
    let by = match way(policy.class(), utility, context) {
        SummedBy::Sampled => SummedBy::Tree,
        by => by,
    };
    objective_by(policy, utility, by, Some(LEAST_DISTANCE), 0, context).expect("nobody stops it")
}

/// Computes the objective in a given way, with slopes as far as this within 0 and 1.
fn objective_by(
    policy: &Policy,
    utility: Utility,
    by: SummedBy,
    within: Option<f64>,
    seed: u64,
    context: Context<'_>,
) -> Result<Objective, Stopped> {
    match by {
        SummedBy::Replicas => {
            let (value, slope) = utility.polynomials().expect("passes were counted");
            let [all, tagged] = passes(&value, &slope);
            let mean = all.pass(policy, &|_, k| value.value(k), context.observer)?;
            let end = |tagged: usize, k: usize| tagged as f64 * slope.value(k);
            let derivative = tagged.pass(policy, &end, context.observer)?;
            Ok(Objective {
                value: mean.mean,
                values: derivative.values,
                by,
                interval: None,
            })
        }
        SummedBy::Sampled => sampled(policy, utility, seed, context),
        _ => {
            let weigh = |p: f64| LeafWeights {
                value: utility.at(p),
                successes: [utility.slope(within.map_or(p, |d| p.clamp(d, 1.0 - d)))],
                failures: [0.0],
                squares: None,
            };
            let sums = per_input::sums(policy, false, &weigh, context)?;
            let [values] = sums.adjoints;
            Ok(Objective {
                value: sums.value,
                values,
                by,
                interval: None,
            })
        }
    }
}

fn sampled(
    policy: &Policy,
    utility: Utility,
    seed: u64,
    context: Context<'_>,
) -> Result<Objective, Stopped> {
    let q = policy.class().q();
    let entries = policy.rows().len();
    let drawn = ways::draw(
        policy,
        seed,
        context,
        || (0.0, vec![0.0; entries]),
        |input, p, (value, values)| {
            *value += utility.at(p);
            let slope = utility.slope(p);
            input.visits(|cell, mass, next| {
                let values = values[cell * q..][..q].iter_mut().zip(next);
                values.for_each(|(value, n)| *value += slope * mass * n);
            });
        },
    )?;
    let per_block = drawn.per_block as f64;
    let means: Vec<f64> = drawn
        .blocks
        .iter()
        .map(|(sum, _)| sum / per_block)
        .collect();
    let mut values = vec![0.0; entries];
    for (_, block) in &drawn.blocks {
        let all = per_block * drawn.blocks.len() as f64;
        values
            .iter_mut()
            .zip(block)
            .for_each(|(v, b)| *v += b / all);
    }
    let summary = Summary::of(&means).expect("blocks");
    Ok(Objective {
        value: summary.mean,
        values,
        by: SummedBy::Sampled,
        interval: summary.interval(0.95),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reward::estimators::tests::{classes, random_policy};

    #[test]
    fn replica_passes_give_the_objectives_of_the_tree_in_tied_classes_too() {
        for (number, class) in classes(&[false, true]).iter().enumerate() {
            let policy = random_policy(class, number as u64);
            for utility in [
                Utility::PassAt(1),
                Utility::PassAt(3),
                Utility::MaxRl(2),
                Utility::MaxRl(3),
            ] {
                let found =
                    |way| objective_by(&policy, utility, way, None, 0, Context::default()).unwrap();
                let (replicas, tree) = (found(SummedBy::Replicas), found(SummedBy::Tree));
                assert!((replicas.value - tree.value).abs() < 1e-12, "{utility}");
                for (a, b) in replicas.values.iter().zip(&tree.values) {
                    assert!((a - b).abs() < 1e-12, "{utility}: {a} against {b}");
                }
            }
        }
    }

    #[test]
    fn drawn_inputs_have_the_objective_within_their_interval() {
        let class = &classes(&[true])[0];
        let policy = random_policy(class, 5);
        let found = |way| {
            objective_by(&policy, Utility::GrpoStd, way, None, 3, Context::default()).unwrap()
        };
        let (drawn, tree) = (found(SummedBy::Sampled), found(SummedBy::Tree));
        let interval = drawn.interval.unwrap();
        // One interval in twenty misses; the seed is the first that was tried.
        assert!(interval.contains(tree.value), "{interval:?} {}", tree.value);
        assert!(interval.high - interval.low < 0.05);
        let (found, right) = (
            drawn.values.iter().sum::<f64>(),
            tree.values.iter().sum::<f64>(),
        );
        assert!((found - right).abs() < 0.05 * right.abs());
    }
}
