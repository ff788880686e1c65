//! Keeps the finished parts of a census in a directory.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use foldglass::class::ClassSpec;
use foldglass::landscape::census::{Census, Count, Demands, Survey};
use foldglass::watch::Observer;
use foldglass::{Allowance, Reward};
use serde::{Deserialize, Serialize};

use super::{Part, PartRecord};
use crate::disk::replace;
use crate::error::Error;
use crate::journal::{self, Journal};
use crate::manifest::unsealed;
use crate::plan::Shard;
use crate::record::{VERSION, seal, unseal};

/// What is counted, and by which version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CensusManifest {
    foldglass: String,
    class: ClassSpec,
    tolerance: Reward,
    /// Sets of endings.
    endings: usize,
    /// All parts, the sets of endings included.
    parts: usize,
}

const FILE: &str = "census.json";

impl CensusManifest {
    /// Of a census of this version.
    pub fn new(survey: &Survey, tolerance: &Reward) -> CensusManifest {
        CensusManifest {
            foldglass: VERSION.to_owned(),
            class: survey.class().spec(),
            tolerance: tolerance.clone(),
            endings: survey.endings(),
            parts: survey.endings() + survey.parts(),
        }
    }

    /// All parts, the sets of endings included.
    pub fn parts(&self) -> usize {
        self.parts
    }

    /// Whether a directory holds a census.
    pub fn is_in(directory: &Path) -> bool {
        directory.join(FILE).is_file()
    }

    /// Reads that of a directory.
    pub fn read(directory: &Path) -> Result<CensusManifest, Error> {
        let path = directory.join(FILE);
        let text = fs::read(&path).map_err(|source| Error::read(&path, source))?;
        let Some(content) = unseal(text.trim_ascii_end()) else {
            return Err(Error::study(directory, unsealed(&text, FILE)));
        };
        serde_json::from_slice(&content).map_err(|error| {
            let problem = format!("it is not what `foldglass enumerate --out` writes: {error}");
            Error::study(path, problem)
        })
    }

    /// Writes it, or refuses a directory of another census.
    fn claim(&self, directory: &Path, label: &str) -> Result<(), Error> {
        fs::create_dir_all(directory).map_err(|source| Error::keep(directory, source))?;
        if CensusManifest::is_in(directory) {
            return self.check(directory);
        }
        let mut text = seal(self);
        text.push(b'\n');
        let path = directory.join(FILE);
        replace(&path, label, &text).map_err(|source| Error::keep(&path, source))
    }

    fn check(&self, directory: &Path) -> Result<(), Error> {
        let there = CensusManifest::read(directory)?;
        if there == *self {
            return Ok(());
        }
        let problem = if there.foldglass != self.foldglass {
            format!(
                "its census was begun by foldglass {}, and this is {}: choose another directory",
                there.foldglass, self.foldglass
            )
        } else {
            "it holds the census of another class or tolerance: choose another directory".to_owned()
        };
        Err(Error::study(directory, problem))
    }

    /// The survey that it describes, and its tolerance.
    pub fn survey(
        &self,
        directory: &Path,
        allowance: Allowance,
    ) -> Result<(Survey, Reward), Error> {
        let class = self.class.lay_out(allowance)?;
        let survey = Survey::new(&class, &self.tolerance, allowance)?;
        let parts = survey.endings() + survey.parts();
        if parts != self.parts {
            let problem = format!(
                "it counts {} parts, and this version cuts the class into {parts}",
                self.parts
            );
            return Err(Error::study(directory, problem));
        }
        Ok((survey, self.tolerance.clone()))
    }
}

/// Parts by number.
pub(super) type Parts = BTreeMap<usize, Part>;

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
    ) -> Result<(Store, Parts), Error> {
        manifest.claim(directory, &shard.label())?;
        let (journal, _) = Journal::open(&directory.join(shard.file("parts")))?;
        let mut parts = Parts::new();
        read(directory, manifest, &mut parts, observer)?;
        Ok((Store { journal }, parts))
    }

    /// Records parts; they are on disk when it returns.
    pub fn keep(&mut self, parts: &[PartRecord]) -> Result<(), Error> {
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
) -> Result<(), Error> {
    let mut damaged = 0;
    for path in journal::files(directory, "parts")? {
        damaged += journal::read(&path, |_, record: PartRecord| {
            let known = record.part < manifest.parts;
            let is_ending = record.part < manifest.endings;
            let part = record
                .part()
                .filter(|part| known && part.demands.is_some() == is_ending);
            let Some(part) = part else {
                let problem = format!("a line of {} is of no part of this census", path.display());
                return Err(Error::Failed(problem));
            };
            if parts.get(&record.part).is_some_and(|there| *there != part) {
                return Err(Error::Failed(format!(
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
        let directory = directory.display();
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
    allowance: Allowance,
    observer: &dyn Observer,
) -> Result<(Census, Reward, Count), Error> {
    let manifest = CensusManifest::read(&directories[0])?;
    let (survey, tolerance) = manifest.survey(&directories[0], allowance)?;
    let mut parts = Parts::new();
    for directory in directories {
        if CensusManifest::read(directory)? != manifest {
            let first = directories[0].display();
            let problem = format!("it holds another census than {first}");
            return Err(Error::study(directory, problem));
        }
        read(directory, &manifest, &mut parts, observer)?;
    }
    if parts.len() < manifest.parts {
        return Err(Error::Failed(format!(
            "{} of {} parts are counted: the same `foldglass enumerate --out` goes on, and each \
             shard with its --shard",
            parts.len(),
            manifest.parts
        )));
    }
    let (count, demands) = sum(parts);
    Ok((survey.learned(demands), tolerance, count))
}

/// All parts together.
pub(super) fn sum(parts: Parts) -> (Count, Demands) {
    let (mut count, mut demands) = (Count::default(), Demands::default());
    for part in parts.into_values() {
        count += part.count;
        if let Some(more) = part.demands {
            demands += more;
        }
    }
    (count, demands)
}
