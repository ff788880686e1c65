//! Floods classes of correlated parity, and keeps what share of all codes climbs where (paper, App.
//! G.6).
//!
//! In the directory of a reproduction `basins/` has one file per class. Files that are there are not made again.

use foldglass::Context;
use std::path::Path;

use foldglass::landscape::tree::{Leaf, Nodes, Tree, TreeError};
use foldglass_study::ClassWords;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::certified::stopped;
use super::files::{read_all, write_json};
use super::studies::Scale;
use super::work::{VERSION, Work};
use crate::error::Error;

/// A class of correlated parity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flood {
    /// The id of the class in studies, and its file's name.
    pub id: &'static str,
    /// T.
    pub length: usize,
    /// k.
    pub repeat: &'static str,
}

/// The longest length that is flooded at each scale: the work grows eightfold with each.
const LONGEST: usize = 8;
const SMOKE_LONGEST: usize = 5;

/// What is recorded of a class.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BasinRecord {
    version: String,
    /// The id of the class.
    pub id: String,
    /// The traps' share of all codes.
    pub traps: f64,
    /// The shares of codes that random ascent brings to an optimum, into a trap, and to other local
    /// maxima, which have a neutral way out.
    pub random: Shares,
    /// The same under steepest ascent, of codes up to the names of tokens.
    pub steepest: Shares,
}

/// Shares of all codes.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shares {
    /// That end at an optimum.
    pub optimum: f64,
    /// In a trap.
    pub trap: f64,
    /// On other local maxima.
    pub stuck: f64,
}

impl Shares {
    /// Of those that end at an optimum or in a trap, the share in a trap.
    pub fn trapped(&self) -> f64 {
        self.trap / (self.trap + self.optimum)
    }
}

/// The folder of the basins in the directory of a reproduction.
pub const BASINS: &str = "basins";

/// Reads the basins of a directory.
pub fn read(directory: &Path) -> Result<Vec<BasinRecord>, Error> {
    read_all(&directory.join(BASINS), "a record of basins")
}

/// Floods the classes that are not flooded yet.
pub fn make(floods: &[Flood], work: &Work<'_>) -> Result<(), Error> {
    let known = read(work.out)?;
    let longest = match work.scale {
        Scale::Quick | Scale::Short | Scale::Full => LONGEST,
        Scale::Smoke => SMOKE_LONGEST,
    };
    for flood in floods.iter().filter(|flood| flood.length <= longest) {
        let is_own = |record: &BasinRecord| record.id == flood.id && record.version == VERSION;
        if known.iter().any(is_own) {
            continue;
        }
        work.observer.stage(format!("basins of {}", flood.id));
        let record = one(flood, work)?;
        write_json(
            &work.out.join(BASINS).join(format!("{}.json", flood.id)),
            &record,
        )?;
    }
    Ok(())
}

fn one(flood: &Flood, work: &Work<'_>) -> Result<BasinRecord, Error> {
    let words = ClassWords::new("parity", &[flood.length]);
    let words = words.inputs(&format!("markov:{}", flood.repeat));
    let class = words
        .spec(Path::new(""))?
        .lay_out_within(work.means.allowance)?;
    let failed = |error| match error {
        TreeError::Stopped(_) => stopped(),
        error => Error::Failed(error.to_string()),
    };
    let context = Context::default()
        .with_memory(work.means.allowance)
        .with_threads(work.means.threads)
        .with_observer(work.observer);
    let tree = Tree::new(&class, Nodes::Orbits, context).map_err(failed)?;
    Ok(BasinRecord {
        version: VERSION.to_owned(),
        id: flood.id.to_owned(),
        traps: share(&tree, |leaf| leaf.shelf as f64, true),
        random: Shares {
            optimum: share(&tree, |leaf| leaf.random, false),
            trap: share(&tree, |leaf| leaf.random, true),
            stuck: tree.stuck.random / tree.codes as f64,
        },
        steepest: Shares {
            optimum: share(&tree, |leaf| leaf.steepest as f64, false),
            trap: share(&tree, |leaf| leaf.steepest as f64, true),
            stuck: tree.stuck.steepest as f64 / tree.codes as f64,
        },
    })
}

/// The share that leaves have of all codes: the traps, or the optima.
fn share(tree: &Tree, of: impl Fn(&Leaf) -> f64, traps: bool) -> f64 {
    let own = |leaf: &&Leaf| tree.reward(leaf.reward).is_one() != traps;
    tree.leaves.iter().filter(own).map(of).sum::<f64>() / tree.codes as f64
}
