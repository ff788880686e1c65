//! Holds what a run of sampled training does, all choices explicit, and the words for them.

use super::advantage::{Advantages, ObjectiveError};
use crate::dynamics::cavi::Convention;
use crate::model::policy::InitialLaw;
use crate::reward::estimators::Estimator;
use crate::reward::objectives::Utility;

/// How logits move along a gradient.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Optimizer {
    /// The learning rate times the gradient.
    #[default]
    Sgd,
    /// Adam with 0.9, 0.999 and 1e-8.
    Adam,
}

crate::named_enum!(Optimizer { "sgd" => Sgd, "adam" => Adam });

#[cfg(feature = "serde")]
crate::serde_as_text!(Optimizer);

/// Begins with the shortest length of the class and adds the next when the greedy code is right often enough.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LengthGate {
    /// The next length is added when the share of a fresh batch that the greedy code has right is above this.
    pub gate: f64,
    /// Updates between two looks.
    pub every: u64,
}

/// The settings of a sampled run. [`ReinforceSettings::new`] is plain SGD without a bonus; the fields change it.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct ReinforceSettings {
    /// How rollouts are turned into a gradient.
    pub estimator: Estimator,
    /// The objective in place of J. [`ReinforceSettings::check`] refuses one that the estimator does not estimate.
    pub objective: Option<Utility>,
    /// Inputs per update, at least 1.
    pub batch: usize,
    /// The learning rate, above 0.
    pub learning_rate: f64,
    /// How logits move.
    pub optimizer: Optimizer,
    /// How far from 1 a ratio of probabilities may be for its token to count.
    pub clip: Option<f64>,
    /// Steps on each batch, at least 1.
    pub epochs: u32,
    /// The coefficient of entropies, or of divergences from a prior, at least 0.
    pub tau: f64,
    /// Whose entropies count how much.
    pub convention: Convention,
    /// The law of the first policy.
    pub initial: InitialLaw,
    /// How lengths are added.
    pub curriculum: Option<LengthGate>,
}

impl ReinforceSettings {
    /// SGD on the gradient of J alone, from `u_norm`, all lengths at once.
    pub fn new(estimator: Estimator, batch: usize, learning_rate: f64) -> ReinforceSettings {
        ReinforceSettings {
            estimator,
            objective: None,
            batch,
            learning_rate,
            optimizer: Optimizer::Sgd,
            clip: None,
            epochs: 1,
            tau: 0.0,
            convention: Convention::Uniform,
            initial: InitialLaw::UNorm,
            curriculum: None,
        }
    }

    /// Refuses an objective that the estimator does not estimate.
    pub fn check(&self) -> Result<(), ObjectiveError> {
        Advantages::new(self.estimator, self.objective).map(drop)
    }

    /// Whether a cell's entropy counts by its tokens.
    pub(super) fn counts_visits(&self) -> bool {
        self.tau > 0.0 && self.convention == Convention::Occupancy
    }
}
