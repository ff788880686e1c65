//! Keeps the finished parts of a census in a directory.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use foldglass::landscape::census::{Census, Count, Survey};
use foldglass::model::class::ClassSpec;
use foldglass::support::watch::{Observer, Tally, Unwatched};
use foldglass::{Allowance, Context, Reward};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::PartRecord;
use crate::disk::replace;
use crate::error::StudyError;
use crate::files::read_listed;
use crate::folder::Folder;
use crate::journal::{self, Journal};
use crate::manifest::unsealed;
use crate::plan::Shard;
use crate::record::{VERSION, seal, unseal};

/// What is counted, and by which version.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CensusManifest {
    foldglass: String,
    class: ClassSpec,
    tolerance: Reward,
    /// The steps whose prefixes are merged.
    merged: usize,
    /// All parts.
    parts: usize,
}

const FILE: &str = "census.json";

impl CensusManifest {
    /// Of a census of this version.
    pub fn new(census: &Census, tolerance: &Reward) -> CensusManifest {
        CensusManifest {
            foldglass: VERSION.to_owned(),
            class: census.class().spec(),
            tolerance: tolerance.clone(),
            merged: census.merged_steps(),
            parts: census.parts(),
        }
    }

    /// The steps whose prefixes are merged.
    pub fn merged(&self) -> usize {
        self.merged
    }

    /// All parts.
    pub fn parts(&self) -> usize {
        self.parts
    }

    /// Whether a directory holds a census.
    pub fn is_in(directory: &Path) -> bool {
        directory.join(FILE).is_file()
    }

    /// Reads that of a directory.
    pub fn read(directory: &Path) -> Result<CensusManifest, StudyError> {
        let path = directory.join(FILE);
        let text = read_listed(&path).map_err(|source| StudyError::read(&path, source))?;
        let Some(content) = unseal(text.trim_ascii_end()) else {
            return Err(StudyError::study(directory, unsealed(&text, FILE)));
        };
        serde_json::from_slice(&content).map_err(|error| {
            let problem = format!("it is not what `foldglass enumerate --out` writes: {error}");
            StudyError::study(path, problem)
        })
    }

    /// Writes it, or refuses a directory of another census.
    fn claim(&self, directory: &Path, label: &str) -> Result<(), StudyError> {
        fs::create_dir_all(directory).map_err(|source| StudyError::keep(directory, source))?;
        if CensusManifest::is_in(directory) {
            return self.check(directory);
        }
        let mut text = seal(self);
        text.push(b'\n');
        let path = directory.join(FILE);
        replace(&path, label, &text).map_err(|source| StudyError::keep(&path, source))
    }

    fn check(&self, directory: &Path) -> Result<(), StudyError> {
        let there = CensusManifest::read(directory)?;
        if there == *self {
            return Ok(());
        }
        let problem = if there.foldglass != self.foldglass {
            format!(
                "its census was begun by foldglass {}, and this is {}: choose another directory",
                there.foldglass, self.foldglass
            )
        } else if (&there.class, &there.tolerance) != (&self.class, &self.tolerance) {
            "it holds the census of another class or tolerance: choose another directory".to_owned()
        } else {
            format!(
                "its census was begun with the prefixes of {} steps merged, and there is memory for \
                 those of {}: allow as much as then, or choose another directory",
                there.merged, self.merged
            )
        };
        Err(StudyError::study(directory, problem))
    }

    /// The census that it describes, to measure barriers: its own parts are not needed for that.
    fn census(&self, allowance: Allowance) -> Result<Census, StudyError> {
        let class = self.class.lay_out_within(allowance)?;
        let survey = Survey::within(&class, &self.tolerance, allowance)?;
        let tally = Tally::new(&Unwatched, "parts", None);
        let census = survey.at_most(0).merged(allowance, &tally);
        Ok(census.expect("nobody stops it"))
    }
}

/// Parts by number.
pub(super) type Parts = BTreeMap<usize, Count>;

/// A directory in which a census, or a shard of one, is recorded.
pub(super) struct Store {
    journal: Journal,
}

impl Store {
    /// Opens it for this process alone, and says which parts any of its files has.
    pub fn open(
        directory: &Path,
        manifest: &CensusManifest,
        shard: Shard,
        observer: &dyn Observer,
    ) -> Result<(Store, Parts), StudyError> {
        manifest.claim(directory, &shard.label())?;
        let (journal, _) = Journal::open(&directory.join(shard.file("parts")), observer)?;
        let mut parts = Parts::new();
        read(directory, manifest, &mut parts, observer)?;
        Ok((Store { journal }, parts))
    }

    /// Records parts; they are on disk when it returns.
    pub fn keep(&mut self, parts: &[PartRecord]) -> Result<(), StudyError> {
        self.journal.append(parts)
    }
}

/// Reads all parts in a directory. A damaged line is left out, with a word; its part is counted
/// again. Different records of one part are refused.
fn read(
    directory: &Path,
    manifest: &CensusManifest,
    parts: &mut Parts,
    observer: &dyn Observer,
) -> Result<(), StudyError> {
    let mut damaged = 0;
    let directory = Folder::on_disk(directory);
    for file in journal::files(&directory, "parts")? {
        let path = directory.file(&file);
        damaged += journal::read(&directory, &file, |_, record: PartRecord| {
            let known = record.part < manifest.parts;
            let Some(part) = record.count().filter(|_| known) else {
                let problem = format!("a line of {} is of no part of this census", path.display());
                return Err(StudyError::Failed(problem));
            };
            if parts.get(&record.part).is_some_and(|there| *there != part) {
                return Err(StudyError::Failed(format!(
                    "two records of part {} differ, one of them in {}: keep one",
                    record.part,
                    path.display()
                )));
            }
            parts.insert(record.part, part);
            Ok(())
        })?;
    }
    if damaged > 0 {
        let directory = directory.path().display();
        let lines = if damaged == 1 { "line" } else { "lines" };
        observer.notice(&format!(
            "{damaged} damaged {lines} in {directory} left out"
        ));
    }
    Ok(())
}

/// Puts the parts in several directories of one census together.
pub fn collect(
    directories: &[PathBuf],
    context: Context<'_>,
) -> Result<(Census, Reward, Count), StudyError> {
    let manifest = CensusManifest::read(&directories[0])?;
    let census = manifest.census(context.memory)?;
    let mut parts = Parts::new();
    for directory in directories {
        if CensusManifest::read(directory)? != manifest {
            let first = directories[0].display();
            let problem = format!("it holds another census than {first}");
            return Err(StudyError::study(directory, problem));
        }
        read(directory, &manifest, &mut parts, context.observer)?;
    }
    if parts.len() < manifest.parts {
        return Err(StudyError::Failed(format!(
            "{} of {} parts are counted: the same `foldglass enumerate --out` resumes the count, and each \
             shard with its --shard",
            parts.len(),
            manifest.parts
        )));
    }
    Ok((census, manifest.tolerance, sum(parts)))
}

/// All parts together.
pub(super) fn sum(parts: Parts) -> Count {
    let mut sum = Count::default();
    for count in parts.into_values() {
        sum += count;
    }
    sum
}
