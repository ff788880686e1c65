//! Cuts the reward axis into levels and weighs them, so that a chain wanders over all of them.
//!
//! Level k holds the codes with l_k <= J < l_{k+1}. Thresholds are found from below: each leaves the
//! upper share of the codes of the level below it above. Steps are fine where the codes thin out
//! slowly, and where one reward holds nearly all codes of a level the next level begins just above.

use crate::dynamics::chain::Target;
use std::collections::BTreeMap;

/// A new level holds at most this share of the codes of the one it is cut from.
const UPPER: f64 = 0.4;

/// Visits of rewards above a threshold before it is taken.
const ENOUGH: u64 = 64;

/// Visits of the top level between two looks at it.
pub(super) const LOOK: u64 = 1024;

/// No more levels than these are cut.
const MOST: usize = 1000;

/// Levels, and a weight for each.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct WeightedLevels {
    /// The least reward of each level, ascending from 0.
    thresholds: Vec<u128>,
    /// ln of the weight of a code, by level.
    log_weights: Vec<f64>,
    /// The share of the time that each level should have, over the mean.
    shares: Vec<f64>,
}

impl Target for WeightedLevels {
    #[inline]
    fn gain(&self, from: u128, to: u128) -> f64 {
        if from == to {
            return 0.0;
        }
        self.log_weight(to) - self.log_weight(from)
    }

    #[inline]
    fn scale(&self) -> f64 {
        1.0
    }
}

impl WeightedLevels {
    /// One level, which holds everything.
    pub fn new() -> WeightedLevels {
        WeightedLevels {
            thresholds: vec![0],
            log_weights: vec![0.0],
            shares: vec![1.0],
        }
    }

    pub fn len(&self) -> usize {
        self.thresholds.len()
    }

    pub fn top(&self) -> u128 {
        self.thresholds[self.len() - 1]
    }

    #[inline]
    pub fn of(&self, reward: u128) -> usize {
        self.thresholds
            .partition_point(|&threshold| threshold <= reward)
            - 1
    }

    #[inline]
    pub fn log_weight(&self, reward: u128) -> f64 {
        self.log_weights[self.of(reward)]
    }

    /// Lowers the log weight of the level of a reward by `by` over the share of the time that the level should have.
    #[inline]
    pub fn lower_weight(&mut self, reward: u128, by: f64) {
        let level = self.of(reward);
        self.log_weights[level] -= by / self.shares[level];
    }

    /// Cuts the top level where the rewards seen in it allow; says whether it did.
    pub fn cut(&mut self, seen: &BTreeMap<u128, u64>) -> bool {
        let total: u64 = seen.values().sum();
        let mut above = 0;
        let mut cut = None;
        for (&reward, &visits) in seen.iter().rev() {
            above += visits;
            if above as f64 > UPPER * total as f64 || reward <= self.top() {
                break;
            }
            cut = Some((reward, above));
        }
        let Some((threshold, above)) = cut.filter(|&(_, above)| above >= ENOUGH) else {
            return false;
        };
        if self.len() == MOST {
            return false;
        }
        self.part(threshold, above as f64 / total as f64);
        true
    }

    /// Makes a reward a level of its own, none of which was seen in `visits` of the top level.
    pub fn add_top_level(&mut self, reward: u128, visits: u64) {
        self.part(reward, 1.0 / (visits as f64 + 2.0));
    }

    /// Parts the top level; the new one has this share of its codes.
    fn part(&mut self, threshold: u128, share: f64) {
        let weight = self.log_weights[self.len() - 1];
        // A code of a part weighs more by the part's share.
        *self.log_weights.last_mut().expect("there are levels") = weight - (1.0 - share).ln();
        self.log_weights.push(weight - share.ln());
        self.thresholds.push(threshold);
        self.share_time();
    }

    /// Gives a level the more time the harder it is to leave it upwards: 1 + (d / 2)^2, where d is
    /// ln of how many times fewer codes the next one has. The bottleneck of a first-order
    /// transition is one such step.
    fn share_time(&mut self) {
        let gap = |k: usize| match self.log_weights.get(k + 1) {
            Some(next) => (next - self.log_weights[k]).max(0.0),
            None => 0.0,
        };
        let shares: Vec<f64> = (0..self.len())
            .map(|k| 1.0 + (gap(k) / 2.0).powi(2))
            .collect();
        let mean = shares.iter().sum::<f64>() / shares.len() as f64;
        self.shares = shares.into_iter().map(|share| share / mean).collect();
    }
}
