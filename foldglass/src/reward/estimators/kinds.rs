//! Names the estimators, and weighs the rollouts of a group.

use crate::reward::binomial::Polynomial;
use std::fmt;
use std::str::FromStr;

/// The largest group that is accepted.
const LARGEST_GROUP: u32 = 512;

/// What GRPO adds to a group's standard deviation.
pub(crate) const GRPO_EPSILON: f64 = 1e-4;

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

    /// f'(p), where the expectation of the estimator is the gradient of the mean of f(p(x)) over inputs, p(x) the
    /// success of an input, up to a factor. It is constant where the objective is J: for all but GRPO with groups of four
    /// and more.
    pub fn slope(self, p: f64) -> f64 {
        self.weights().mean.at(p)
    }

    /// The advantages of successes and of failures, by the number of successes in a group, from 0 to G.
    pub(crate) fn advantages(self) -> (Vec<f64>, Vec<f64>) {
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

    /// What a group has, given the success of its input.
    pub(super) fn weights(self) -> GroupWeights {
        let polynomial = |values: &[f64]| Polynomial::new(values.to_vec());
        match self {
            Estimator::Reinforce | Estimator::BatchMean => GroupWeights {
                mean: polynomial(&[1.0]),
                successes: polynomial(&[1.0]),
                failures: polynomial(&[0.0]),
                pairs: polynomial(&[1.0]),
            },
            // w = 1, U = (1 - p)^2 + p (1 - p) / (G - 1), V = p^2 + p (1 - p) / (G - 1), C = 1 + 1 / (G - 1)^2; with two
            // rollouts U = 1 - p and V = p. Dr. GRPO is RLOO times 1 - 1/G.
            Estimator::Rloo(group) | Estimator::DrGrpo(group) => {
                let g = f64::from(group);
                let shrink = match self {
                    Estimator::Rloo(_) => 1.0,
                    _ => 1.0 - 1.0 / g,
                };
                let own = |values: &[f64]| {
                    Polynomial::new(values.iter().map(|v| shrink * shrink * v).collect())
                };
                let middle = 0.5 / (g - 1.0);
                let (successes, failures) = match group {
                    2 => (own(&[1.0, 0.0]), own(&[0.0, 1.0])),
                    _ => (own(&[1.0, middle, 0.0]), own(&[0.0, middle, 1.0])),
                };
                GroupWeights {
                    mean: polynomial(&[shrink]),
                    successes,
                    failures,
                    pairs: own(&[1.0 + 1.0 / (g - 1.0).powi(2)]),
                }
            }
            Estimator::Grpo(group) => {
                let (u, v) = self.advantages();
                let of = |trials: usize, value: &dyn Fn(usize) -> f64| {
                    Polynomial::new((0..=trials).map(value).collect())
                };
                let others = group as usize - 1;
                GroupWeights {
                    mean: of(others, &|k| u[k + 1] - v[k]).reduced(),
                    successes: of(others, &|k| u[k + 1] * u[k + 1]),
                    failures: of(others, &|k| v[k] * v[k]),
                    pairs: of(others - 1, &|k| {
                        u[k + 2] * u[k + 2] + v[k] * v[k] - 2.0 * u[k + 1] * v[k + 1]
                    })
                    .reduced(),
                }
            }
        }
    }
}

/// Polynomials of the success p of the input of a group: its mean is g w, its mean square
/// (N1 U + N0 V) / G + (1 - 1/G) g^2 C.
pub(super) struct GroupWeights {
    /// w.
    pub mean: Polynomial,
    /// U.
    pub successes: Polynomial,
    /// V, of the degree of U.
    pub failures: Polynomial,
    /// C.
    pub pairs: Polynomial,
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

#[cfg(feature = "serde")]
crate::serde_as_text!(Estimator);

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
