//! Says how far the draws of chains are to be trusted: autocorrelation times, effective sizes, R-hat (paper,
//! G.2).
//!
//! Of J after the sweeps of the second half, as `mean_reward` is: the first half is the way there.

use std::io::{self, Write};

use foldglass::support::stats::{
    Autocorrelation, effective_size_bulk, effective_size_mean, effective_size_tail,
    integrated_time, r_hat,
};
use foldglass_study::Record;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::super::series::FinishedSeries;
use crate::output::number;

/// The most values of J that are kept for it, over all chains.
const TRACED: u128 = 1 << 19;

/// What a kept value may take of the memory that is allowed, as a part of it.
const PART: u128 = 1000;

/// Every how many sweeps J is kept, so that neither the values nor their bytes are too many.
pub fn spacing(sweeps: u64, chains: u64, allowed: u128) -> u64 {
    let all = u128::from(sweeps) * u128::from(chains);
    let most = TRACED.min(allowed / PART).max(1);
    u64::try_from(all.div_ceil(most)).unwrap_or(u64::MAX)
}

/// What several chains say of each other.
#[derive(JsonSchema, Serialize)]
pub struct Convergence {
    /// Every how many sweeps a draw is taken.
    every: u64,
    /// Draws of each chain.
    draws: usize,
    /// Rank-normalised and split; none where no chain moves.
    r_hat: Option<f64>,
    ess_bulk: Option<f64>,
    ess_tail: Option<f64>,
    ess_mean: Option<f64>,
    #[serde(skip)]
    chains: usize,
}

/// How long a chain remembers.
#[derive(Clone, Copy, JsonSchema, Serialize)]
pub struct ChainMemory {
    /// The integrated autocorrelation time in sweeps: 1/2 where all draws are independent.
    #[serde(rename = "autocorrelation_time")]
    pub time: Option<f64>,
    /// How many independent draws it is worth.
    #[serde(rename = "effective_size")]
    pub size: Option<f64>,
}

impl Convergence {
    /// Of chains at one temperature whose J was kept every so many sweeps; none where it was not, or
    /// where temperatures change. With what each chain remembers.
    pub fn of(series: &FinishedSeries, every: u64) -> Option<(Convergence, Vec<ChainMemory>)> {
        if series.settings.contains_key("anneal") {
            return None;
        }
        let draws: Vec<Vec<f64>> = series
            .records
            .iter()
            .map(second_half)
            .collect::<Option<_>>()?;
        let length = draws.first()?.len();
        let alike = draws.iter().all(|chain| chain.len() == length);
        let memory = |chain: &Vec<f64>| {
            let found = integrated_time(chain);
            let time = match found {
                Autocorrelation::Time { tau, .. } => Some(tau * every as f64),
                Autocorrelation::Frozen | Autocorrelation::TooShort { .. } => None,
            };
            let size = found.effective_size(chain.len());
            ChainMemory { time, size }
        };
        let convergence = || Convergence {
            every,
            draws: length,
            r_hat: r_hat(&draws),
            ess_bulk: effective_size_bulk(&draws),
            ess_tail: effective_size_tail(&draws),
            ess_mean: effective_size_mean(&draws),
            chains: draws.len(),
        };
        (alike && length > 0).then(|| (convergence(), draws.iter().map(memory).collect()))
    }

    /// Writes what holds of all chains.
    pub fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let all = self.draws * self.chains;
        let (Some(hat), Some(bulk)) = (self.r_hat, self.ess_bulk) else {
            return writeln!(
                out,
                "R-hat and effective sample sizes are not known: no chain moves in its second half"
            );
        };
        // Fewer than one in twenty draws differ from the rest.
        let tail = self.ess_tail.map_or("unknown".to_owned(), number);
        let (hat, bulk) = (number(hat), number(bulk));
        let thinned = match self.every {
            1 => String::new(),
            every => format!(", one in {every} sweeps"),
        };
        writeln!(
            out,
            "R-hat {hat}; {all} draws of the second half{thinned} are worth {bulk} (bulk) and {tail} (tails)"
        )
    }
}

/// J over the second half of the sweeps.
fn second_half(record: &Record) -> Option<Vec<f64>> {
    let denominator: f64 = record.result.get("denominator")?.as_str()?.parse().ok()?;
    let trace = record.result.get("trace")?.as_array()?;
    let value = |value: &Value| Some(value.as_str()?.parse::<f64>().ok()? / denominator);
    trace[trace.len() / 2..].iter().map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_sweeps_are_kept_as_memory_and_time_allow() {
        assert_eq!(spacing(6_000, 60, 8 << 30), 1);
        assert_eq!(spacing(1 << 20, 1, 8 << 30), 2);
        assert_eq!(spacing(1000, 10, 1_000_000), 10);
        assert_eq!(spacing(1000, 10, 0), 10_000);
        assert_eq!(spacing(u64::MAX, u64::MAX, u128::MAX), u64::MAX);
    }
}
