//! Counts all codes of a class, part by part, in memory or with records that survive (App. G.6).
//!
//! A directory of a census holds `census.json` (what is counted, and in which parts) and `parts.jsonl`
//! or, for a shard, `parts-I-of-N.jsonl` (a line a finished part).

mod execute;
mod forecast;
mod found;
mod store;

pub use execute::{BARRIER_CAP, CensusOptions, CensusPlan, Counted, count};
pub use forecast::{CensusForecast, forecast};
pub use found::{CensusFindings, TrapKind, Traps};
pub use store::{CensusManifest, collect};

use foldglass::landscape::census::{Count, Trap};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was found in one part, as it is recorded.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PartRecord {
    /// Its number.
    part: usize,
    optimal: String,
    local_maxima: String,
    /// Reward, shelf, code and weight of each.
    traps: Vec<[String; 4]>,
}

impl PartRecord {
    fn new(number: usize, count: &Count) -> PartRecord {
        let trap = |trap: &Trap| {
            [trap.reward, trap.shelf, trap.code, trap.weight].map(|number| number.to_string())
        };
        PartRecord {
            part: number,
            optimal: count.optimal.to_string(),
            local_maxima: count.local_maxima.to_string(),
            traps: count.traps.iter().map(trap).collect(),
        }
    }

    /// None when it contains something that is not a number.
    fn count(&self) -> Option<Count> {
        let trap = |numbers: &[String; 4]| {
            let [reward, shelf, code, weight] = numbers;
            Some(Trap {
                reward: reward.parse().ok()?,
                shelf: shelf.parse().ok()?,
                code: code.parse().ok()?,
                weight: weight.parse().ok()?,
            })
        };
        Some(Count {
            optimal: self.optimal.parse().ok()?,
            local_maxima: self.local_maxima.parse().ok()?,
            traps: self.traps.iter().map(trap).collect::<Option<_>>()?,
        })
    }
}
