//! Saves units in progress and finds them again.

use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::disk::{read_hashed, remove_unfinished, replace_hashed};
use crate::hash::digest;
use crate::manifest::RunKey;
use crate::plan::{Plan, Unit};

/// The directory of saved units, for one process.
pub struct Checkpoints {
    directory: PathBuf,
    label: String,
}

/// A saved unit, with all that its state only fits.
#[derive(Serialize, Deserialize)]
struct Content {
    schema: u32,
    foldglass: String,
    recipe: String,
    point: String,
    numbers: Range<u64>,
    state: Vec<u8>,
}

/// What is found of a unit.
pub enum StoredUnit {
    /// Nothing.
    Nothing,
    /// The state of runs with these numbers, all of the unit's among them.
    State(Range<u64>, Vec<u8>),
    /// A file that is damaged or of something else.
    Useless(PathBuf),
}

impl Checkpoints {
    /// Those of a study's directory; `label` tells the processes apart that work there.
    pub fn new(out: &Path, label: &str) -> Checkpoints {
        Checkpoints {
            directory: out.join("checkpoints"),
            label: label.to_owned(),
        }
    }

    /// Ids may be longer than the names of files.
    fn path(&self, plan: &Plan, unit: &Unit) -> PathBuf {
        let name = digest(plan.index.id(group(plan, unit)).as_bytes());
        self.directory.join(format!("{name}.state"))
    }

    /// Removes what dead processes left unfinished.
    pub fn tidy(&self) {
        remove_unfinished(&self.directory);
    }

    /// Saves a unit.
    pub fn save(&self, plan: &Plan, unit: &Unit, state: Vec<u8>) -> io::Result<()> {
        let content = Content {
            schema: plan.manifest.schema,
            foldglass: plan.manifest.foldglass.clone(),
            recipe: plan.manifest.recipes[unit.series].clone(),
            point: plan.of(unit).1.parameters.name(),
            numbers: unit.numbers.clone(),
            state,
        };
        let bytes = postcard::to_stdvec(&content).map_err(io::Error::other)?;
        let write = || replace_hashed(&self.path(plan, unit), &self.label, bytes.clone());
        match write() {
            // Not there yet, or another process has just closed it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(&self.directory)?;
                write()
            }
            written => written,
        }
    }

    /// Finds a unit.
    pub fn find(&self, plan: &Plan, unit: &Unit) -> StoredUnit {
        let path = self.path(plan, unit);
        let Ok(bytes) = read_hashed(&path) else {
            return StoredUnit::Nothing;
        };
        let content = bytes.map(|bytes| postcard::from_bytes::<Content>(&bytes));
        match content {
            Some(Ok(content)) if content.fits(plan, unit) => {
                StoredUnit::State(content.numbers, content.state)
            }
            _ => StoredUnit::Useless(path),
        }
    }

    /// Forgets a unit, whose runs are recorded.
    pub fn forget(&self, plan: &Plan, unit: &Unit) {
        let _ = fs::remove_file(self.path(plan, unit));
    }

    /// Removes the directory if nothing is left in it.
    pub fn close(&self) {
        let _ = fs::remove_dir(&self.directory);
    }
}

/// The first run of the group that a unit lies in, whatever part of it is left.
fn group(plan: &Plan, unit: &Unit) -> RunKey {
    let together = plan.of(unit).1.recipe.together();
    RunKey {
        series: unit.series,
        point: unit.point,
        run: unit.numbers.start / together * together,
    }
}

impl Content {
    fn fits(&self, plan: &Plan, unit: &Unit) -> bool {
        let point = plan.of(unit).1;
        let together = point.recipe.together();
        let group = |number: u64| number / together;
        let numbers = &self.numbers;
        let manifest = &plan.manifest;
        (self.schema, &self.foldglass) == (manifest.schema, &manifest.foldglass)
            && self.recipe == manifest.recipes[unit.series]
            && self.point == point.parameters.name()
            && numbers.start <= unit.numbers.start
            && unit.numbers.end <= numbers.end
            && group(numbers.start) == group(numbers.end - 1)
    }
}
