//! Turns the rewards of a batch into advantages, as trainers write them.
//!
//! **Objectives.** The gradient of E_x f(p(x)) is E_x[f'(p) grad p]. If f' is a polynomial of degree G - 1 or below, then
//! f'(p) = E[b_k], k the successes of G - 1 rollouts on the input. So the advantage of `rloo:G` times b_k, k the successes
//! of the *other* rollouts of the group, is an unbiased estimate: the others are independent of the rollout that they
//! weigh. `dr-grpo:G` is 1 - 1/G times that, as it is for J. With order K, pass@K and maxrl:K need groups of K at least.

use crate::reward::estimators::{Estimator, GRPO_EPSILON};
use crate::reward::objectives::Utility;
use thiserror::Error;

/// Why rollouts are not turned into the gradient of an objective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ObjectiveError {
    /// Fewer rollouts on an input than the objective's order.
    #[error(
        "{objective} needs groups of {order} rollouts or more: with {group} on an input no estimate of its gradient \
         is unbiased, and {estimator} has {group}; write rloo:{order} or a larger group"
    )]
    SmallGroup {
        /// The objective.
        objective: Utility,
        /// The order of the objective.
        order: u32,
        /// The estimator.
        estimator: Estimator,
        /// The rollouts of its groups.
        group: u32,
    },
    /// An advantage that is divided by the standard deviation of its group.
    #[error(
        "{estimator} divides by the standard deviation of a group, which leads to an objective of its own (that of \
         grpo-std in the limit of large groups), not to {objective}; write rloo:G, or leave the objective out"
    )]
    OwnObjective {
        /// The objective.
        objective: Utility,
        /// The estimator.
        estimator: Estimator,
    },
    /// An objective that no finite group estimates.
    #[error(
        "{objective} is not a polynomial of the success, so that no finite group estimates its gradient without bias; \
         write grpo:G, which has it in the limit of large groups, or cavi with rule gradient, which ascends it exactly"
    )]
    NotAPolynomial {
        /// The objective.
        objective: Utility,
    },
}

/// How rewards become advantages.
#[derive(Debug, Clone)]
pub(super) struct Advantages {
    estimator: Estimator,
    /// By the successes of the other rollouts on the input, what multiplies the advantage; empty for J.
    slopes: Vec<f64>,
}

impl Advantages {
    /// For an objective, or for J.
    pub fn new(
        estimator: Estimator,
        objective: Option<Utility>,
    ) -> Result<Advantages, ObjectiveError> {
        let of = |slopes| Advantages { estimator, slopes };
        let Some(objective) = objective else {
            return Ok(of(Vec::new()));
        };
        let group = estimator.group();
        match (estimator, objective.degree()) {
            (_, Some(1)) | (Estimator::Grpo(_), None) => Ok(of(Vec::new())),
            (_, None) => Err(ObjectiveError::NotAPolynomial { objective }),
            (Estimator::Grpo(_), Some(_)) => Err(ObjectiveError::OwnObjective {
                objective,
                estimator,
            }),
            (_, Some(order)) => {
                let slopes = objective.slope_by_successes(group - 1);
                slopes.map(of).ok_or(ObjectiveError::SmallGroup {
                    objective,
                    order,
                    estimator,
                    group,
                })
            }
        }
    }

    /// Finds the advantage of every rollout; rollouts on one input lie one behind the other.
    pub fn find(&self, rewards: &[f64], advantages: &mut Vec<f64>) {
        advantages.clear();
        advantages.extend_from_slice(rewards);
        let estimator = self.estimator;
        let group = match estimator {
            Estimator::Reinforce => return,
            Estimator::BatchMean => rewards.len(),
            Estimator::Rloo(group) | Estimator::Grpo(group) | Estimator::DrGrpo(group) => {
                group as usize
            }
        };
        for rewards in advantages.chunks_exact_mut(group) {
            let n = rewards.len() as f64;
            let sum = rewards.iter().sum::<f64>();
            let mean = sum / n;
            let scale = match estimator {
                // r - (n mean - r) / (n - 1): what the others earn, without the rollout itself.
                Estimator::Rloo(_) => n / (n - 1.0),
                Estimator::Grpo(_) if rewards.iter().all(|&r| r == rewards[0]) => 0.0,
                Estimator::Grpo(_) => {
                    let squares: f64 = rewards.iter().map(|r| (r - mean).powi(2)).sum();
                    1.0 / ((squares / (n - 1.0)).sqrt() + GRPO_EPSILON)
                }
                _ => 1.0,
            };
            // Rewards are 0 or 1 wherever an objective other than J is accepted.
            let slope = |r: f64| self.slopes.get((sum - r) as usize).copied();
            for r in rewards {
                *r = (*r - mean) * scale * slope(*r).unwrap_or(1.0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the tables u_K and v_K that exact moments are computed from.
    #[test]
    fn advantages_are_those_of_the_tables_by_the_number_of_successes() {
        for estimator in [
            "reinforce",
            "rloo:2",
            "rloo:5",
            "grpo:2",
            "grpo:7",
            "dr-grpo:4",
        ] {
            let estimator: Estimator = estimator.parse().unwrap();
            let (u, v) = estimator.advantages();
            let group = estimator.group() as usize;
            for successes in 0..=group {
                let rewards: Vec<f64> = (0..group)
                    .map(|i| f64::from(u8::from(i < successes)))
                    .collect();
                let mut found = Vec::new();
                let advantages = Advantages::new(estimator, None).unwrap();
                advantages.find(&[&rewards[..], &rewards].concat(), &mut found);
                for (i, advantage) in found.iter().enumerate() {
                    let expected = if i % group < successes {
                        u[successes]
                    } else {
                        v[successes]
                    };
                    assert!(
                        (advantage - expected).abs() < 1e-12,
                        "{estimator}, {successes}: {advantage}"
                    );
                }
            }
        }
        let mut found = Vec::new();
        let advantages = Advantages::new(Estimator::BatchMean, None).unwrap();
        advantages.find(&[1.0, 0.0, 0.0, 0.0], &mut found);
        assert_eq!(found, [0.75, -0.25, -0.25, -0.25]);
    }
}
