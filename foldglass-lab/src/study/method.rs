//! States what a run does, as keys of a study and as fields of a record.
//!
//! In both a method is one flat list of keys, told apart by `kind`; a key of another kind is
//! refused.

use foldglass::cavi::{self, Rule};
use foldglass::chain::{Kernel, Order};
use foldglass::policy::InitialLaw;
use serde::{Deserialize, Serialize};

use super::dynamics::Flat;

/// What a run does at its temperature.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Flat", into = "Flat")]
pub enum Method {
    /// Tabular RLVR.
    Cavi(Cavi),
    /// Monte Carlo.
    Chain(Chain),
}

/// What a study's `kind` says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Damped coordinate ascent.
    #[default]
    Cavi,
    /// The exact policy gradient.
    Gradient,
    /// Monte Carlo.
    Chain,
}

impl Kind {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Cavi => "cavi",
            Kind::Gradient => "gradient",
            Kind::Chain => "chain",
        }
    }
}

/// Tabular RLVR, all choices but the temperature.
#[derive(Debug, Clone, PartialEq)]
pub struct Cavi {
    /// How cells move.
    pub rule: Rule,
    /// Iterations at tau.
    pub iterations: usize,
    /// The law of the first policy.
    pub initial: InitialLaw,
    /// A last stretch at another temperature.
    pub quench: Option<cavi::Quench>,
    /// Disturbances.
    pub resets: Option<cavi::Resets>,
}

/// A Monte Carlo chain, all choices but the temperature.
#[derive(Debug, Clone, PartialEq)]
pub struct Chain {
    /// How a cell is resampled.
    pub kernel: Kernel,
    /// In which order; none is by steps, in a tied class by cells.
    pub order: Option<Order>,
    /// The most sweeps.
    pub sweeps: usize,
    /// The sweeps, ascending, after which J is recorded.
    pub checkpoints: Vec<usize>,
    /// Stop once J has not changed for this many sweeps.
    pub stop_when_stationary: Option<usize>,
    /// Stop once J is 1.
    pub stop_at_optimum: bool,
    /// Record the last code.
    pub keep_code: bool,
}

/// J that has not changed for this many sweeps is stationary, where the study does not say another.
const STATIONARY: usize = 5_000;

impl Cavi {
    /// The same at a temperature.
    pub fn at(&self, tau: f64) -> cavi::Settings {
        cavi::Settings {
            initial: self.initial,
            rule: self.rule,
            tau,
            iterations: self.iterations,
            quench: self.quench,
            resets: self.resets,
        }
    }
}

impl Chain {
    /// The sweeps for which J must not change to be stationary.
    pub fn stationary(&self) -> usize {
        self.stop_when_stationary.unwrap_or(STATIONARY)
    }
}

impl Method {
    /// With the order that a class takes where none was chosen.
    pub fn resolved(&self, tied: bool) -> Method {
        let mut method = self.clone();
        if let Method::Chain(chain) = &mut method {
            let default = if tied { Order::Cell } else { Order::Step };
            chain.order.get_or_insert(default);
        }
        method
    }

    /// Its kind.
    pub fn kind(&self) -> Kind {
        match self {
            Method::Cavi(Cavi {
                rule: Rule::Cavi { .. },
                ..
            }) => Kind::Cavi,
            Method::Cavi(_) => Kind::Gradient,
            Method::Chain(_) => Kind::Chain,
        }
    }

    /// The iterations or sweeps of a run, at most.
    pub fn length(&self) -> usize {
        match self {
            Method::Cavi(cavi) => cavi.at(0.0).length(),
            Method::Chain(chain) => chain.sweeps,
        }
    }

    /// What is wrong with it.
    pub fn check(&self) -> Result<(), String> {
        match self {
            Method::Cavi(cavi) => cavi.check(),
            Method::Chain(chain) => chain.check(),
        }
    }
}

/// Refuses a value unless it is what is needed.
pub fn need(
    met: bool,
    key: &str,
    value: impl std::fmt::Display,
    needed: &str,
) -> Result<(), String> {
    match met {
        true => Ok(()),
        false => Err(format!("{key} = {value}: {needed} is needed")),
    }
}

/// A temperature as ids have it.
pub fn tau_name(tau: f64) -> String {
    let text = format!("{tau:?}");
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}

/// Refuses what is no temperature.
pub fn need_tau(key: &str, tau: f64) -> Result<(), String> {
    let met = tau.is_finite() && tau >= 0.0;
    need(met, key, tau_name(tau), "a number of at least 0")
}

fn need_share(key: &str, share: f64) -> Result<(), String> {
    need(
        (0.0..=1.0).contains(&share),
        key,
        share,
        "a number from 0 to 1",
    )
}

fn need_positive(key: &str, number: usize) -> Result<(), String> {
    need(number > 0, key, number, "a whole number of at least 1")
}

impl Cavi {
    fn check(&self) -> Result<(), String> {
        match self.rule {
            Rule::Cavi { damping, share } => {
                need_share("damping", damping)?;
                need_share("share", share)?;
            }
            Rule::Gradient { step } => {
                let met = step.is_finite() && step > 0.0;
                need(met, "step", step, "a number above 0")?;
            }
        }
        if let Some(quench) = self.quench {
            need_tau("quench.tau", quench.tau)?;
        }
        if let Some(resets) = self.resets {
            need_share("resets.share", resets.share)?;
            need_positive("resets.every", resets.every)?;
        }
        Ok(())
    }
}

impl Chain {
    fn check(&self) -> Result<(), String> {
        need_positive("sweeps", self.sweeps)?;
        if let Some(sweeps) = self.stop_when_stationary {
            need_positive("stop_when_stationary", sweeps)?;
        }
        let ascending = self.checkpoints.windows(2).all(|pair| pair[0] < pair[1]);
        let within = self
            .checkpoints
            .iter()
            .all(|s| (1..=self.sweeps).contains(s));
        let needed = format!("sweeps in ascending order, each from 1 to {}", self.sweeps);
        let given = format!("{:?}", self.checkpoints);
        need(ascending && within, "checkpoints", given, &needed)
    }
}
