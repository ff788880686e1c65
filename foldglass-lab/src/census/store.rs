//! Keeps the finished parts of a census in a directory.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use foldglass::class::Allowance;
use foldglass::exact::parse;
use foldglass::landscape::census::{Census, Count};
use serde::{Deserialize, Serialize};

use super::PartRecord;
use crate::certificate::ClassFile;
use crate::error::Error;
use crate::study::{Journal, Shard, replace, say, whole_lines, write_error};

/// What is counted, and by which version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    foldglass: String,
    class: ClassFile,
    tolerance: String,
    parts: usize,
}

const FILE: &str = "census.json";

impl Manifest {
    /// Of a census of this version.
    pub fn new(census: &Census, tolerance: &str) -> Manifest {
        Manifest {
            foldglass: env!("CARGO_PKG_VERSION").to_owned(),
            class: ClassFile::of(census.class()),
            tolerance: tolerance.to_owned(),
            parts: census.parts(),
        }
    }

    /// Whether a directory holds a census.
    pub fn is_in(directory: &Path) -> bool {
        directory.join(FILE).is_file()
    }

    fn read(directory: &Path) -> Result<Manifest, Error> {
        let path = directory.join(FILE);
        let text = fs::read(&path).map_err(|source| Error::Read {
            path: path.display().to_string(),
            source,
        })?;
        serde_json::from_slice(&text).map_err(|error| Error::Study {
            place: path.display().to_string(),
            problem: format!("it is not what `foldglass enumerate --out` writes: {error}"),
        })
    }

    /// Writes it, or refuses a directory of another census.
    fn claim(&self, directory: &Path, label: &str) -> Result<(), Error> {
        fs::create_dir_all(directory).map_err(|source| write_error(directory, source))?;
        if Manifest::is_in(directory) {
            return self.check(directory);
        }
        let mut text = serde_json::to_vec_pretty(self).expect("plain data");
        text.push(b'\n');
        let path = directory.join(FILE);
        replace(&path, label, &text).map_err(|source| write_error(&path, source))
    }

    fn check(&self, directory: &Path) -> Result<(), Error> {
        let there = Manifest::read(directory)?;
        match there == *self {
            true => Ok(()),
            false if there.foldglass != self.foldglass => Err(refused(
                directory,
                format!(
                    "its census was begun by foldglass {}, and this is {}: choose another --out",
                    there.foldglass, self.foldglass
                ),
            )),
            false => Err(refused(
                directory,
                "it holds the census of another class or tolerance: choose another --out"
                    .to_owned(),
            )),
        }
    }

    /// The census that it describes, and its tolerance.
    pub fn census(
        &self,
        directory: &Path,
        allowance: Allowance,
    ) -> Result<(Census, String), Error> {
        let wrong = |problem: String| refused(directory, problem);
        let class = self.class.class(allowance).map_err(wrong)?;
        let tolerance = parse(&self.tolerance).map_err(|error| wrong(error.to_string()))?;
        let census = Census::new(&class, &tolerance, allowance)?;
        match census.parts() == self.parts {
            true => Ok((census, self.tolerance.clone())),
            false => Err(wrong(format!(
                "it counts {} parts, and this version cuts the class into {}",
                self.parts,
                census.parts()
            ))),
        }
    }
}

fn refused(directory: &Path, problem: String) -> Error {
    Error::Study {
        place: directory.display().to_string(),
        problem,
    }
}

/// Parts by number; the endings have none.
pub type Parts = BTreeMap<Option<usize>, Count>;

/// A directory in which a census, or a shard of one, is recorded.
pub struct Store {
    journal: Journal,
}

impl Store {
    /// Opens it for this process alone, and says which parts any of its files has.
    pub fn open(
        directory: &Path,
        manifest: &Manifest,
        shard: Shard,
    ) -> Result<(Store, Parts), Error> {
        manifest.claim(directory, &shard.label())?;
        let name = match shard {
            Shard::WHOLE => "parts.jsonl".to_owned(),
            _ => format!("parts-{}.jsonl", shard.label()),
        };
        let (journal, _) = Journal::open(&directory.join(name))?;
        let mut parts = Parts::new();
        read(directory, manifest, &mut parts)?;
        Ok((Store { journal }, parts))
    }

    /// Records parts; they are on disk when it returns.
    pub fn keep(&mut self, parts: &[PartRecord]) -> Result<(), Error> {
        self.journal.append(parts)
    }
}

/// Reads all parts in a directory. A damaged line is left out, with a word; its part is counted
/// again. Different records of one part are refused.
fn read(directory: &Path, manifest: &Manifest, parts: &mut Parts) -> Result<(), Error> {
    let failed = |path: &Path, source| Error::Read {
        path: path.display().to_string(),
        source,
    };
    let mut damaged = 0;
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(directory).map_err(|source| failed(directory, source))? {
        let name = entry
            .map_err(|source| failed(directory, source))?
            .file_name();
        let text = name.to_string_lossy();
        if text.starts_with("parts") && text.ends_with(".jsonl") {
            paths.push(directory.join(&name));
        }
    }
    paths.sort();
    for path in paths {
        let content = fs::read(&path).map_err(|source| failed(&path, source))?;
        for line in whole_lines(&content).split(|&byte| byte == b'\n') {
            if line.is_empty() {
                continue;
            }
            let record = serde_json::from_slice::<PartRecord>(line).ok();
            let record = record.filter(|r| r.part.is_none_or(|part| part < manifest.parts));
            let Some((part, count)) = record.and_then(|r| Some((r.part, r.count()?))) else {
                damaged += 1;
                continue;
            };
            if parts.get(&part).is_some_and(|there| *there != count) {
                let what = part.map_or("the endings".to_owned(), |n| format!("part {n}"));
                return Err(Error::Failed(format!(
                    "two records of {what} differ, one of them in {}: keep one",
                    path.display()
                )));
            }
            parts.insert(part, count);
        }
    }
    if damaged > 0 {
        say(&format!(
            "{damaged} damaged lines in {} are left out",
            directory.display()
        ));
    }
    Ok(())
}

/// Puts the parts in several directories of one census together.
pub fn collect(
    directories: &[PathBuf],
    allowance: Allowance,
) -> Result<(Census, String, Count), Error> {
    let manifest = Manifest::read(&directories[0])?;
    let (census, tolerance) = manifest.census(&directories[0], allowance)?;
    let mut parts = Parts::new();
    for directory in directories {
        if Manifest::read(directory)? != manifest {
            let first = directories[0].display();
            return Err(refused(
                directory,
                format!("it holds another census than {first}"),
            ));
        }
        read(directory, &manifest, &mut parts)?;
    }
    let wanted = manifest.parts + 1;
    if parts.len() < wanted {
        return Err(Error::Failed(format!(
            "{} of {wanted} parts are missing: `foldglass enumerate --shard` counts them",
            wanted - parts.len()
        )));
    }
    Ok((census, tolerance, sum(parts)))
}

/// All parts together.
pub fn sum(parts: Parts) -> Count {
    let mut all = Count::default();
    parts.into_values().for_each(|count| all += count);
    all
}
