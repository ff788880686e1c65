//! Turns the rewards of a batch into advantages, as trainers write them.

use crate::reward::estimators::{Estimator, GRPO_EPSILON};

/// Finds the advantage of every rollout; rollouts on one input lie one behind the other.
pub(super) fn find(estimator: Estimator, rewards: &[f64], advantages: &mut Vec<f64>) {
    advantages.clear();
    advantages.extend_from_slice(rewards);
    let group = match estimator {
        Estimator::Reinforce => return,
        Estimator::BatchMean => rewards.len(),
        Estimator::Rloo(group) | Estimator::Grpo(group) | Estimator::DrGrpo(group) => {
            group as usize
        }
    };
    for rewards in advantages.chunks_exact_mut(group) {
        let n = rewards.len() as f64;
        let mean = rewards.iter().sum::<f64>() / n;
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
        rewards.iter_mut().for_each(|r| *r = (*r - mean) * scale);
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
                find(estimator, &[&rewards[..], &rewards].concat(), &mut found);
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
        find(Estimator::BatchMean, &[1.0, 0.0, 0.0, 0.0], &mut found);
        assert_eq!(found, [0.75, -0.25, -0.25, -0.25]);
    }
}
