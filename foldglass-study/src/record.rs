//! Holds what a finished run came to: a line of the records, a row of the table.
//!
//! A record states every choice that made it, and nothing that may differ from one execution to
//! the next. Its class is described in full: a kept code needs no other file.

use foldglass::Symbol;
use foldglass::model::class::ClassSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hash::digest;
use crate::method::{Fields, RunOutcome};

/// The form of records; it grows when their meaning changes.
pub const SCHEMA: u32 = 2;

/// The version that writes records.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A finished run.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
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
    /// class/dynamics/parameters/run.
    pub id: String,
    /// The id of the class.
    pub class_id: String,
    /// Its task, as the study states it.
    pub task: String,
    /// The class.
    pub class: ClassSpec,
    /// Its number of cells.
    pub cells: usize,
    /// The id of the dynamics.
    pub dynamics: String,
    /// The kind of its method.
    pub kind: String,
    /// What differs from point to point.
    pub parameters: Fields,
    /// All settings.
    pub settings: Fields,
    /// The seed of the point's streams.
    pub seed: u64,
    /// The run's number, that of its random stream.
    pub run: u64,
    /// What it came to.
    pub result: RunOutcome,
}

impl Record {
    /// The actions of the code that the run ended at, or of the greedy code of its policy; none where the record keeps
    /// neither.
    pub fn actions(&self) -> Option<Vec<Symbol>> {
        let mut kept = ["actions", "greedy"].into_iter();
        let kept = kept.find_map(|key| self.result.get(key))?;
        serde_json::from_value(kept.clone()).ok()
    }
}

/// What stands before the hash that ends a line.
const SEAL: &[u8] = b",\"check\":\"";

/// The bytes of a seal: the key, 32 digits, a quote and a brace.
const SEALED: usize = SEAL.len() + 32 + 2;

/// A value as a line of JSON with a hash of itself, so that no damage goes unseen.
pub fn seal(value: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(value).expect("plain data");
    assert_eq!(line.pop(), Some(b'}'), "an object");
    let check = digest(&line);
    line.extend(SEAL);
    line.extend(check.as_bytes());
    line.extend(b"\"}");
    line
}

/// What a sealed line holds, without the seal; none where it is damaged.
pub fn unseal(line: &[u8]) -> Option<Vec<u8>> {
    let at = line.len().checked_sub(SEALED)?;
    let (content, end) = line.split_at(at);
    let check = end.strip_prefix(SEAL)?.strip_suffix(b"\"}")?;
    (digest(content).as_bytes() == check).then(|| [content, b"}"].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flipped_bit_breaks_the_seal() {
        let line = seal(&serde_json::json!({"reward": "9/10", "run": 3}));
        assert_eq!(unseal(&line).unwrap(), b"{\"reward\":\"9/10\",\"run\":3}");
        for byte in 0..line.len() {
            for bit in 0..8 {
                let mut damaged = line.clone();
                damaged[byte] ^= 1 << bit;
                assert_eq!(unseal(&damaged), None, "byte {byte}, bit {bit}");
            }
        }
    }
}
