//! Holds what a finished run came to: a line of the records, a row of the table.
//!
//! A record states every choice that made it, and nothing that may differ from one execution to
//! the next.

use serde::{Deserialize, Serialize};

use super::method::Method;
use super::spec::ClassSpec;

/// The form of records; it grows when their meaning changes.
pub const SCHEMA: u32 = 1;

/// The version that writes records.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A finished run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The form of this record.
    pub schema: u32,
    /// The version of foldglass that made it.
    pub foldglass: String,
    /// The name of the study.
    pub study: String,
    /// The hash of the class, the method and the seed.
    pub recipe: String,
    /// class/dynamics/tau=TAU/run.
    pub id: String,
    /// The class, as the study states it.
    pub class: ClassSpec,
    /// Its number of symbols.
    pub q: usize,
    /// Its number of cells.
    pub cells: usize,
    /// The id of the dynamics.
    pub dynamics: String,
    /// What the run did.
    pub method: Method,
    /// Its temperature.
    pub tau: f64,
    /// The seed.
    pub seed: u64,
    /// The run's number, that of its random stream.
    pub run: u64,
    /// What it came to.
    pub result: Outcome,
}

/// What a run came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Of tabular RLVR.
    Cavi(CaviOutcome),
    /// Of Monte Carlo.
    Chain(ChainOutcome),
}

/// How a policy ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaviOutcome {
    /// J of the greedy code, as a fraction.
    pub greedy_exact: String,
    /// J of the greedy code.
    pub greedy_reward: f64,
    /// J of the policy.
    pub expected_reward: f64,
    /// The sum over cells of the entropies, in nats.
    pub entropy: f64,
    /// The largest |target - pi|.
    pub residual: f64,
}

/// How a chain ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChainOutcome {
    /// J of the last code, as a fraction.
    pub reward_exact: String,
    /// J of the last code.
    pub reward: f64,
    /// The mean of J over the second half of the sweeps. A chain that stopped keeps its last J for
    /// those it did not do.
    pub mean_reward: f64,
    /// Sweeps done.
    pub sweeps: usize,
    /// The sweep that changed J last; 0 when none did.
    pub last_change: usize,
    /// The same, where J then was stationary.
    pub sweeps_to_stationary: Option<usize>,
    /// The first sweep after which J was 1; 0 when the first code had it.
    pub sweeps_to_optimum: Option<usize>,
    /// J after the sweeps asked for.
    pub checkpoints: Vec<Checkpoint>,
    /// The last code, where the study keeps it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actions: Option<Vec<u16>>,
}

/// J after a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// The sweep.
    pub sweep: usize,
    /// J as a fraction.
    pub reward_exact: String,
    /// J.
    pub reward: f64,
}
