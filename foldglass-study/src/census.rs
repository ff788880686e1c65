//! Counts all codes of a class, part by part, in memory or with records that survive (App. G.6).
//!
//! A directory of a census holds `census.json` (what is counted) and `parts.jsonl` or, for a shard,
//! `parts-I-of-N.jsonl` (a line a finished part). The first parts are the sets of endings, with what
//! they demand; the others need the demands of all of them.

mod execute;
mod forecast;
mod found;
mod store;

pub use execute::{BARRIER_CAP, CensusOptions, CensusPlan, Counted, count};
pub use forecast::{CensusForecast, forecast};
pub use found::{Found, TrapKind, Traps};
pub use store::{CensusManifest, collect};

use foldglass::landscape::census::{Count, Demands, Trap};
use serde::{Deserialize, Serialize};

/// What was found in one part, as it is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PartRecord {
    /// Its number: sets of endings first.
    part: usize,
    optimal: String,
    local_maxima: String,
    /// Reward, shelf, code and weight of each.
    traps: Vec<[String; 4]>,
    /// What a set of endings demands, in hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    demands: Option<String>,
}

/// What is known of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    count: Count,
    demands: Option<Demands>,
}

impl PartRecord {
    fn new(number: usize, part: &Part) -> PartRecord {
        let trap = |trap: &Trap| {
            [trap.reward, trap.shelf, trap.code, trap.weight].map(|number| number.to_string())
        };
        let hex = |demands: &Demands| {
            let bytes = postcard::to_stdvec(demands).expect("plain data");
            bytes.iter().map(|byte| format!("{byte:02x}")).collect()
        };
        PartRecord {
            part: number,
            optimal: part.count.optimal.to_string(),
            local_maxima: part.count.local_maxima.to_string(),
            traps: part.count.traps.iter().map(trap).collect(),
            demands: part.demands.as_ref().map(hex),
        }
    }

    /// None when it holds what is no number.
    fn part(&self) -> Option<Part> {
        let trap = |numbers: &[String; 4]| {
            let [reward, shelf, code, weight] = numbers;
            Some(Trap {
                reward: reward.parse().ok()?,
                shelf: shelf.parse().ok()?,
                code: code.parse().ok()?,
                weight: weight.parse().ok()?,
            })
        };
        let demands = match &self.demands {
            None => None,
            Some(hex) => {
                let pairs = hex.as_bytes().chunks(2);
                let byte =
                    |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
                let bytes: Vec<u8> = pairs.map(byte).collect::<Option<_>>()?;
                Some(postcard::from_bytes(&bytes).ok()?)
            }
        };
        Some(Part {
            count: Count {
                optimal: self.optimal.parse().ok()?,
                local_maxima: self.local_maxima.parse().ok()?,
                traps: self.traps.iter().map(trap).collect::<Option<_>>()?,
            },
            demands,
        })
    }
}
