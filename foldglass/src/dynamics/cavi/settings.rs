//! Holds what a run of tabular RLVR does, all choices explicit, and the words for them (paper, G.5).

use super::{Convention, HOTTEST};
use crate::dynamics::schedule::Schedule;
use crate::model::policy::InitialLaw;
use crate::reward::objectives::Utility;
use std::str::FromStr;
use thiserror::Error;

/// How a cell moves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rule {
    /// Damped coordinate ascent: pi += damping (target - pi) on a random share of the cells.
    Cavi {
        /// How far a cell moves towards its target.
        damping: f64,
        /// The share of cells that move.
        share: f64,
    },
    /// Exact softmax policy gradient: the logits of every cell move by `step` times the gradient of
    /// the objective, J + tau sum H in the uniform convention.
    Gradient {
        /// The step size.
        step: f64,
    },
}

impl Rule {
    /// The paper's: 30 % of the cells, 30 % of the way.
    pub const PAPER: Rule = Rule::Cavi {
        damping: 0.3,
        share: 0.3,
    };
}

/// Cells redrawn from the initial law now and then.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(schemars::JsonSchema, serde::Serialize, serde::Deserialize)
)]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Resets {
    /// The share of the cells redrawn each time.
    pub share: f64,
    /// After how many iterations each time.
    pub every: usize,
    /// How many times.
    pub cycles: usize,
}

/// A last stretch at another temperature.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(schemars::JsonSchema, serde::Serialize, serde::Deserialize)
)]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Quench {
    /// The number of iterations, after those at tau.
    pub iterations: usize,
    /// The temperature of the quench.
    pub tau: f64,
}

/// A text that names no quench or resets.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum UnknownSetting {
    /// No quench.
    #[error(
        "`{0}` is not a quench: write N,TAU, a number of iterations and a temperature of at least 0, \
         such as 50,1e-13"
    )]
    Quench(String),
    /// No resets.
    #[error(
        "`{0}` is not a series of resets: write SHARE,EVERY,TIMES, a share of the cells from 0 to 1, \
         iterations between two resets and how often, such as 0.02,10,100"
    )]
    Resets(String),
}

impl FromStr for Quench {
    type Err = UnknownSetting;

    fn from_str(text: &str) -> Result<Quench, UnknownSetting> {
        let read = || {
            let (iterations, tau) = text.split_once(',')?;
            Some(Quench {
                iterations: whole(iterations)?,
                tau: real(tau).filter(|tau| (0.0..=HOTTEST).contains(tau))?,
            })
        };
        read().ok_or_else(|| UnknownSetting::Quench(text.to_owned()))
    }
}

impl FromStr for Resets {
    type Err = UnknownSetting;

    fn from_str(text: &str) -> Result<Resets, UnknownSetting> {
        let read = || {
            let [share, every, cycles] = text.split(',').collect::<Vec<_>>().try_into().ok()?;
            Some(Resets {
                share: real(share).filter(|share| (0.0..=1.0).contains(share))?,
                every: whole(every).filter(|&every| every > 0)?,
                cycles: whole(cycles)?,
            })
        };
        read().ok_or_else(|| UnknownSetting::Resets(text.to_owned()))
    }
}

fn whole(text: &str) -> Option<usize> {
    let digits = text.trim();
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten()
}

fn real(text: &str) -> Option<f64> {
    text.trim().parse().ok()
}

/// The settings of a run, all choices explicit. [`CaviSettings::plain`] is the paper's update; the `with_` methods change it.
///
/// ```
/// use foldglass::dynamics::cavi::{Quench, Rule, CaviSettings};
/// let settings = CaviSettings::plain(0.05, 1000)
///     .with_rule(Rule::Gradient { step: 0.5 })
///     .with_quench(Quench { iterations: 50, tau: 1e-13 });
/// assert_eq!(settings.length(), 1050);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct CaviSettings {
    /// The law of the first policy, and of what resets draw.
    pub initial: InitialLaw,
    /// How cells move.
    pub rule: Rule,
    /// Whose entropies count how much.
    pub convention: Convention,
    /// The temperature of every iteration, at least 0.
    pub tau: Schedule,
    /// Iterations before the quench.
    pub iterations: usize,
    /// A last stretch.
    pub quench: Option<Quench>,
    /// Disturbances.
    pub resets: Option<Resets>,
    /// The objective in place of J, under the gradient rule and the uniform convention alone.
    pub objective: Option<Utility>,
}

impl CaviSettings {
    /// The paper's update from `u_norm`, undisturbed (preset A of the specification).
    pub fn plain(tau: f64, iterations: usize) -> CaviSettings {
        CaviSettings {
            initial: InitialLaw::UNorm,
            rule: Rule::PAPER,
            convention: Convention::Uniform,
            tau: Schedule::Constant(tau),
            iterations,
            quench: None,
            resets: None,
            objective: None,
        }
    }

    /// Starts from policies of this law.
    pub fn with_initial(self, initial: InitialLaw) -> CaviSettings {
        CaviSettings { initial, ..self }
    }

    /// Updates by this rule.
    pub fn with_rule(self, rule: Rule) -> CaviSettings {
        CaviSettings { rule, ..self }
    }

    /// Weighs the entropies in this convention.
    pub fn with_convention(self, convention: Convention) -> CaviSettings {
        CaviSettings { convention, ..self }
    }

    /// Runs at the temperatures of a schedule.
    pub fn with_tau(self, tau: Schedule) -> CaviSettings {
        CaviSettings { tau, ..self }
    }

    /// Ends with this quench, or with none.
    pub fn with_quench(self, quench: impl Into<Option<Quench>>) -> CaviSettings {
        let quench = quench.into();
        CaviSettings { quench, ..self }
    }

    /// Resets cells in this way, or never.
    pub fn with_resets(self, resets: impl Into<Option<Resets>>) -> CaviSettings {
        let resets = resets.into();
        CaviSettings { resets, ..self }
    }

    /// Maximises the mean of a function of each input's success in place of J, or J.
    pub fn with_objective(self, objective: impl Into<Option<Utility>>) -> CaviSettings {
        let objective = objective.into();
        CaviSettings { objective, ..self }
    }

    /// The temperature of an iteration, counted from 0; past the end, that of the last stretch.
    pub fn tau_at(&self, iteration: usize) -> f64 {
        match self.quench {
            Some(quench) if iteration >= self.iterations => quench.tau,
            _ => self.tau.tau(iteration as u64),
        }
    }

    /// All iterations, the quench included.
    pub fn length(&self) -> usize {
        self.iterations + self.quench.map_or(0, |quench| quench.iterations)
    }
}
