//! Keeps what items do besides studies and censuses, and reads what it left.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use foldglass_study::StudyError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::basins::{self, BasinRecord};
use super::certified::Resources;
use super::ends::{self, Ends};
use super::files::{json_files, read_json, seal_of, write_json};
use super::items;
use super::items::theorem::{self, PathsRecord};
use super::items::transition::{self, TransitionRecord};
use super::maps::{self, MapRecord};
use super::near_traps::{self, NearTrapRecord};
use super::need::{Need, Step};
use super::run::Done;
use super::sampled::{self, SnrRecord};
use super::stalled::{self, StalledRecord};
use super::studies::{Scale, StudyText};
use crate::error::Error;
use crate::progress::Terminal;

/// Where and how an item does its work.
pub struct Work<'a> {
    /// The directory of the reproduction.
    pub out: &'a Path,
    /// How much is done.
    pub scale: Scale,
    /// The seed of all runs.
    pub seed: u64,
    /// Threads and memory.
    pub means: Resources,
    /// Hears how far it is.
    pub observer: &'a Terminal,
}

/// What further steps of items left.
#[derive(Debug, Default)]
pub struct Worked {
    /// Maps of classes.
    pub maps: Vec<MapRecord>,
    /// Basins of classes.
    pub basins: Vec<BasinRecord>,
    /// Signal-to-noise ratios of sampled gradients.
    pub ratios: Vec<SnrRecord>,
    /// What came of starts at which exact RLVR stalls.
    pub stalled: Vec<StalledRecord>,
    /// Ascents of objectives from policies near traps.
    pub near_traps: Vec<NearTrapRecord>,
    /// The transition of parity.
    pub transition: Option<TransitionRecord>,
    /// Paths from where RLVR stops.
    pub paths: Option<PathsRecord>,
    /// Where the runs of studies ended.
    ends: Vec<Ends>,
    /// The steps that are done, by their names.
    pub done: Vec<&'static str>,
}

impl Worked {
    /// Reads what is in the directory of a reproduction.
    pub fn read(directory: &Path) -> Result<Worked, Error> {
        let steps = items::all().flat_map(|item| item.needs);
        let mut done = Vec::new();
        for need in steps {
            if let Need::Work(step) = need
                && is_done(step, directory)?
            {
                done.push(step.name);
            }
        }
        Ok(Worked {
            maps: maps::read(directory)?,
            basins: basins::read(directory)?,
            ratios: sampled::read(directory)?,
            stalled: stalled::read(directory)?,
            near_traps: near_traps::read(directory)?,
            transition: transition::read(directory)?,
            paths: theorem::read(directory)?,
            ends: ends::read(directory)?,
            done,
        })
    }

    /// The map of a class, by its name.
    pub fn map(&self, name: &str) -> Option<&MapRecord> {
        self.maps.iter().find(|record| record.name == name)
    }

    /// Where the runs of a study ended.
    pub fn ends(&self, source: StudyText) -> Option<&Ends> {
        self.ends.iter().find(|ends| ends.study == source.name)
    }
}

/// The file that says that all of a step is done.
fn mark(step: &Step, directory: &Path) -> PathBuf {
    let name = step.name.replace(':', "-");
    directory.join(format!("{name}-done.json"))
}

/// Does a step, and says so in its file.
pub fn run(step: &Step, work: &Work<'_>) -> Result<Done, Error> {
    let before = matches!(state(step, work.out)?, StepState::Done);
    (step.run)(work)?;
    let mark = StepMark {
        version: VERSION.to_owned(),
        step: step.name.to_owned(),
        records: Some(left(step, work.out)?),
    };
    write_json(&self::mark(step, work.out), &mark)?;
    Ok(Done::of(!before))
}

/// Records of another version are made anew.
pub const VERSION: &str = foldglass_study::VERSION;

/// What the file of a finished step says.
#[derive(JsonSchema, Serialize, Deserialize)]
struct StepMark {
    version: String,
    step: String,
    /// The seal of each file that the step left, by its name; earlier versions did not say.
    #[serde(default)]
    records: Option<BTreeMap<String, String>>,
}

/// How far a step is.
enum StepState {
    /// It was not run, or by another version.
    Open,
    /// Its file is missing or is another than the step left.
    Broken(String),
    /// All of it is there.
    Done,
}

fn state(step: &Step, directory: &Path) -> Result<StepState, Error> {
    let found: Option<StepMark> = read_json(&mark(step, directory), "the mark of a step")?;
    let own = |mark: &StepMark| (&mark.version[..], &mark.step[..]) == (VERSION, step.name);
    let Some(found) = found.filter(own) else {
        return Ok(StepState::Open);
    };
    let there = left(step, directory)?;
    let lost = match found.records {
        Some(records) => records
            .into_iter()
            .find(|(file, seal)| there.get(file) != Some(seal))
            .map(|(file, _)| file),
        None => {
            let is_there = |leaf: &&&str| there.keys().any(|file| file.starts_with(**leaf));
            let mut leaves = step.leaves.iter();
            leaves
                .find(|leaf| !is_there(leaf))
                .map(|leaf| (*leaf).to_owned())
        }
    };
    Ok(lost.map_or(StepState::Done, StepState::Broken))
}

/// Whether a step is done. A record of it that is missing or changed is an error.
pub fn is_done(step: &Step, directory: &Path) -> Result<bool, Error> {
    match state(step, directory)? {
        StepState::Open => Ok(false),
        StepState::Done => Ok(true),
        StepState::Broken(file) => {
            let problem = format!(
                "it is missing, or is another than the step {} ended with; the `foldglass reproduce` that made the \
                 directory makes it again",
                step.name
            );
            Err(StudyError::study(directory.join(file), problem).into())
        }
    }
}

/// The seals of the files that a step leaves, by their names in the directory.
fn left(step: &Step, directory: &Path) -> Result<BTreeMap<String, String>, Error> {
    let mut left = BTreeMap::new();
    for leaf in step.leaves {
        for path in json_files(&directory.join(leaf))? {
            let Some(seal) = seal_of(&path)? else {
                continue;
            };
            let name = path.strip_prefix(directory).unwrap_or(&path);
            left.insert(name.to_string_lossy().replace('\\', "/"), seal);
        }
    }
    Ok(left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use foldglass::Allowance;
    use serde_json::json;
    use std::fs;

    /// Catches a mark that is believed without what it stands for.
    #[test]
    fn a_step_without_its_record_is_not_done() {
        let name = format!("foldglass-step-{}", std::process::id());
        let place = std::env::temp_dir().join(name);
        let file = place.join("found.json");
        let step = Step {
            name: "thm:test",
            seconds: 1,
            leaves: &["found.json"],
            run: |work| write_json(&work.out.join("found.json"), &json!({"found": work.seed})),
        };
        let observer = Terminal::new();
        let work = |seed| Work {
            out: &place,
            scale: Scale::Smoke,
            seed,
            means: Resources {
                threads: 1,
                allowance: Allowance::default(),
            },
            observer: &observer,
        };
        assert!(!is_done(&step, &place).unwrap());
        assert_eq!(run(&step, &work(0)).unwrap(), Done::Something);
        assert!(is_done(&step, &place).unwrap());
        assert_eq!(run(&step, &work(0)).unwrap(), Done::Nothing);
        let lost = || is_done(&step, &place).unwrap_err().to_string();
        fs::remove_file(&file).unwrap();
        assert!(lost().contains("found.json"), "{}", lost());
        // Another record, sealed as it should be.
        write_json(&file, &json!({"found": 1})).unwrap();
        assert!(lost().contains("thm:test"), "{}", lost());
        // What makes the record again makes the mark again.
        assert_eq!(run(&step, &work(0)).unwrap(), Done::Something);
        assert!(is_done(&step, &place).unwrap());
        // A mark of an earlier version names no records.
        let earlier = json!({"version": VERSION, "step": step.name});
        write_json(&mark(&step, &place), &earlier).unwrap();
        assert!(is_done(&step, &place).unwrap());
        fs::remove_file(&file).unwrap();
        assert!(lost().contains("found.json"), "{}", lost());
        let other = json!({"version": "0.0.0", "step": step.name});
        write_json(&mark(&step, &place), &other).unwrap();
        assert!(!is_done(&step, &place).unwrap());
        fs::remove_dir_all(&place).unwrap();
    }
}
