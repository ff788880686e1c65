//! Maps classes whole: a census, what each trap ignores or answers wrongly, and a certificate of each
//! (paper, App. G.6).
//!
//! In the directory of a reproduction `maps/` has one file per class, and `certificates/map-NAME.json` a
//! verdict on a trap of each shelf, up to the names of tokens. What is there is not done again.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use foldglass::landscape::ignored::ignored;
use foldglass::{Class, Code, Reward, reward::count};
use foldglass_study::ClassWords;
use foldglass_study::census::{TrapKind, Traps};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::certified::certify;
use super::files::{read_all, write_json};
use super::studies::Scale;
use super::work::{VERSION, Work};
use crate::error::Error;

/// A class to map.
#[derive(Debug, Clone, Copy)]
pub struct Map {
    /// Its name in tables and files.
    pub name: &'static str,
    /// The multiplication table.
    pub task: &'static str,
    /// The lengths, ascending.
    pub lengths: &'static [usize],
    /// Symbols read before and after x_t.
    pub window: [usize; 2],
    /// Tokens remembered.
    pub memory: usize,
    /// The law of the inputs.
    pub inputs: &'static str,
    /// Which tokens are rewarded: `final`, `process` or `process:W1,W2,..`.
    pub reward: &'static str,
    /// Whether the smoke scale maps it too.
    pub smoke: bool,
    /// Whether the headline results need it.
    pub quick: bool,
}

impl Map {
    /// A class of parity with window (0,0) and uniform inputs.
    pub const fn parity(name: &'static str, lengths: &'static [usize]) -> Map {
        Map {
            name,
            task: "parity",
            lengths,
            window: [0, 0],
            memory: 1,
            inputs: "uniform",
            reward: "final",
            smoke: false,
            quick: false,
        }
    }

    /// The same, mapped at the smoke scale too.
    pub const fn smoke(self) -> Map {
        Map {
            smoke: true,
            ..self
        }
    }

    fn class(&self, work: &Work<'_>) -> Result<Class, Error> {
        let mut words = ClassWords::new(self.task, self.lengths).inputs(self.inputs);
        (words.window, words.memory) = (self.window, self.memory);
        words.reward = self.reward.parse().map_err(|problem| {
            Error::Failed(format!("the reward of the map {}: {problem}", self.name))
        })?;
        Ok(words
            .spec(Path::new(""))?
            .lay_out_within(work.means.allowance)?)
    }

    fn is_at(&self, scale: Scale) -> bool {
        match scale {
            Scale::Smoke => self.smoke,
            Scale::Quick => self.quick,
            Scale::Short | Scale::Full => true,
        }
    }
}

/// What a map says.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MapRecord {
    version: String,
    /// The name of the class.
    pub name: String,
    /// Its cells.
    pub cells: usize,
    /// Its codes.
    pub codes: String,
    /// Codes of reward 1.
    pub optimal: String,
    /// Codes below that no single change raises.
    pub local_maxima: String,
    /// Traps by reward, barrier and largest loss, the highest first.
    pub traps: Vec<TrapKind>,
    /// Traps up to the names of tokens, by what they miss.
    pub misses: Vec<Misses>,
}

/// Traps that miss the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Misses {
    /// Their reward.
    pub reward: Reward,
    /// The positions ignored at the longest length.
    pub ignored: Vec<usize>,
    /// The lengths at which every input is answered wrongly.
    pub wrong: Vec<usize>,
    /// How many, up to the names of tokens; the shelf of each has a certificate that was checked.
    pub certified: usize,
}

impl MapRecord {
    /// How many codes are traps.
    pub fn count(&self) -> u128 {
        self.traps.iter().map(|kind| kind.count).sum()
    }
}

/// The folder of the maps in the directory of a reproduction.
pub const MAPS: &str = "maps";

/// The most codes of the shelf of a trap: censuses have exhausted it before.
const CAP: usize = 1_000_000;

/// Reads the maps of a directory.
pub fn read(directory: &Path) -> Result<Vec<MapRecord>, Error> {
    read_all(&directory.join(MAPS), "a map of a class")
}

/// Maps the classes that are not mapped yet, and checks the certificates of their traps.
pub fn make(maps: &[Map], work: &Work<'_>) -> Result<(), Error> {
    let known = read(work.out)?;
    for map in maps.iter().filter(|map| map.is_at(work.scale)) {
        let is_own = |record: &&MapRecord| record.name == map.name && record.version == VERSION;
        if known.iter().any(|record| is_own(&record)) {
            continue;
        }
        work.observer.stage(format!("map of {}", map.name));
        let file = map.name.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        let record = one(map, &file, work)?;
        write_json(&work.out.join(MAPS).join(format!("{file}.json")), &record)?;
    }
    Ok(())
}

fn one(map: &Map, file: &str, work: &Work<'_>) -> Result<MapRecord, Error> {
    let class = map.class(work)?;
    let parts: PathBuf = work.out.join(MAPS).join(format!("{file}-parts"));
    let exact = Reward::ZERO;
    let census = super::landscape::census(
        &class,
        &exact,
        Some(parts.clone()),
        work.means,
        work.observer,
    );
    let found = census?;
    let traps = found.traps.as_ref();
    let codes: Vec<Code> = traps.map(|traps| traps.codes.clone()).unwrap_or_default();
    let mut shelves = HashSet::new();
    let shelf_of = traps.into_iter().flat_map(|traps| &traps.shelf_of);
    let alone: Vec<Code> = codes
        .iter()
        .zip(shelf_of)
        .filter(|(_, shelf)| shelves.insert(*shelf))
        .map(|(code, _)| code.clone())
        .collect();
    if !alone.is_empty() {
        let path = work
            .out
            .join("certificates")
            .join(format!("map-{file}.json"));
        certify(&path, &class, &alone, CAP, work.means, work.observer)?;
    }
    // The record holds all that the parts were kept for.
    let _ = fs::remove_dir_all(&parts);
    Ok(MapRecord {
        version: VERSION.to_owned(),
        name: map.name.to_owned(),
        cells: found.cells,
        codes: found.codes.clone(),
        optimal: found.optimal.to_string(),
        local_maxima: found.local_maxima.to_string(),
        traps: traps
            .map(|Traps { kinds, .. }| kinds.clone())
            .unwrap_or_default(),
        misses: misses(&codes),
    })
}

/// What codes miss, the highest rewards first.
fn misses(codes: &[Code]) -> Vec<Misses> {
    let mut kinds: Vec<Misses> = Vec::new();
    for code in codes {
        let task = code.class().task();
        let lengths = task.lengths().iter().copied();
        let own = Misses {
            reward: count::reward(code),
            ignored: ignored(code, task.longest()),
            wrong: lengths
                .filter(|&length| !answers_any(code, length))
                .collect(),
            certified: 0,
        };
        let same = |kind: &Misses| {
            (&kind.reward, &kind.ignored, &kind.wrong) == (&own.reward, &own.ignored, &own.wrong)
        };
        match kinds.iter_mut().find(|kind| same(kind)) {
            Some(kind) => kind.certified += 1,
            None => kinds.push(Misses {
                certified: 1,
                ..own
            }),
        }
    }
    kinds.sort_by(|a, b| b.cmp(a));
    kinds
}

/// Whether a code answers any input of a length rightly.
fn answers_any(code: &Code, length: usize) -> bool {
    let class = code.class();
    class
        .task()
        .all_inputs(length)
        .any(|x| code.roll_out(&x)[length - 1] == class.task().fold(&x))
}
