//! Keeps what items do besides studies and censuses, and reads what it left.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use super::basins::{self, BasinRecord};
use super::certified::Resources;
use super::ends::{self, Ends};
use super::files::write_json;
use super::items;
use super::items::theorem::{self, PathsRecord};
use super::items::transition::{self, TransitionRecord};
use super::maps::{self, MapRecord};
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
        let done = steps.filter_map(|need| match need {
            Need::Work(step) if is_done(step, directory) => Some(step.name),
            _ => None,
        });
        Ok(Worked {
            maps: maps::read(directory)?,
            basins: basins::read(directory)?,
            ratios: sampled::read(directory)?,
            stalled: stalled::read(directory)?,
            transition: transition::read(directory)?,
            paths: theorem::read(directory)?,
            ends: ends::read(directory)?,
            done: done.collect(),
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
    let before = is_done(step, work.out);
    (step.run)(work)?;
    write_json(&mark(step, work.out), &StepMark::new(step))?;
    Ok(Done::of(!before))
}

fn is_done(step: &Step, directory: &Path) -> bool {
    mark(step, directory).exists()
}

/// Records of another version are made anew.
pub const VERSION: &str = foldglass_study::VERSION;

/// What the file of a finished step says.
#[derive(JsonSchema, Serialize)]
struct StepMark {
    version: &'static str,
    step: &'static str,
}

impl StepMark {
    fn new(step: &Step) -> StepMark {
        StepMark {
            version: VERSION,
            step: step.name,
        }
    }
}
