//! Keeps a study beside its records, and knows every run by its id.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::disk::replace;
use super::method::tau_name;
use super::record::{SCHEMA, VERSION};
use super::spec::Study;
use crate::error::Error;

/// A study and what its classes and methods are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The form of the records.
    pub schema: u32,
    /// The version that writes them.
    pub foldglass: String,
    /// The study.
    pub study: Study,
    /// A hash of class, method and seed, for each pair of [`pairs`].
    pub recipes: Vec<String>,
}

/// A run, in the order of the study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The number of the pair of class and dynamics.
    pub series: usize,
    /// The number of the temperature.
    pub tau: usize,
    /// The run.
    pub run: u64,
}

/// The pairs of class and dynamics, by number: class by class.
pub fn pairs(study: &Study) -> Vec<(usize, usize)> {
    let all = study.dynamics.iter().enumerate();
    let mut pairs: Vec<(usize, usize)> = all
        .flat_map(|(n, dynamics)| study.classes_of(dynamics).map(move |class| (class, n)))
        .collect();
    pairs.sort_unstable();
    pairs
}

/// The fields by which a record is told from those of another study or version.
#[derive(Debug, Deserialize)]
pub struct Header {
    schema: u32,
    foldglass: String,
    study: String,
    recipe: String,
    id: String,
}

impl Manifest {
    /// Of a study that this version runs.
    pub fn new(study: Study, recipes: Vec<String>) -> Manifest {
        Manifest {
            schema: SCHEMA,
            foldglass: VERSION.to_owned(),
            study,
            recipes,
        }
    }

    /// The file's name in a directory.
    pub const FILE: &str = "study.json";

    /// Reads that of a directory.
    pub fn read(directory: &Path) -> Result<Manifest, Error> {
        let path = directory.join(Manifest::FILE);
        let failed = |problem: String| Error::Study {
            place: directory.display().to_string(),
            problem,
        };
        let text = fs::read(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => failed(format!(
                "there is no {}: a directory that `foldglass run` or `foldglass enumerate` wrote is needed",
                Manifest::FILE
            )),
            _ => failed(format!("cannot read {}: {error}", Manifest::FILE)),
        })?;
        serde_json::from_slice(&text)
            .map_err(|error| failed(format!("{} is not a study: {error}", Manifest::FILE)))
    }

    /// Writes it, unless it is there already.
    pub fn write(&self, directory: &Path, label: &str) -> io::Result<()> {
        let path = directory.join(Manifest::FILE);
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        match fs::read(&path) {
            Ok(old) if old == text => Ok(()),
            _ => replace(&path, label, &text),
        }
    }

    /// All runs, in order.
    pub fn keys(&self) -> impl Iterator<Item = Key> {
        let study = &self.study;
        let pairs = pairs(study).into_iter().enumerate();
        pairs.flat_map(move |(series, (_, dynamics))| {
            let dynamics = &study.dynamics[dynamics];
            (0..dynamics.tau.len())
                .flat_map(move |tau| (0..dynamics.runs).map(move |run| Key { series, tau, run }))
        })
    }

    /// The id of a run.
    pub fn id(&self, key: Key) -> String {
        let (class, dynamics) = pairs(&self.study)[key.series];
        let dynamics = &self.study.dynamics[dynamics];
        let (class, tau) = (
            &self.study.classes[class].id,
            tau_name(dynamics.tau[key.tau]),
        );
        format!("{class}/{}/tau={tau}/{}", dynamics.id, key.run)
    }

    /// The run of an id.
    pub fn find(&self, id: &str) -> Option<Key> {
        let [class, dynamics, tau, run] = id.split('/').collect::<Vec<_>>().try_into().ok()?;
        let of_pair = |&(c, d): &(usize, usize)| {
            self.study.classes[c].id == class && self.study.dynamics[d].id == dynamics
        };
        let pairs = pairs(&self.study);
        let series = pairs.iter().position(of_pair)?;
        let dynamics = &self.study.dynamics[pairs[series].1];
        let tau: f64 = tau.strip_prefix("tau=")?.parse().ok()?;
        let tau = dynamics.tau.iter().position(|&t| t == tau)?;
        let run = run.parse().ok().filter(|&run| run < dynamics.runs)?;
        Some(Key { series, tau, run })
    }

    /// The run of a record, or why it is not of this study and version.
    pub fn place(&self, header: &Header) -> Result<Key, String> {
        let Header {
            schema,
            foldglass,
            study,
            recipe,
            id,
        } = header;
        let name = &self.study.name;
        if (*schema, foldglass) != (self.schema, &self.foldglass) {
            return Err(format!(
                "the record of {id} was made by foldglass {foldglass} (form {schema}), and this is \
                 {} (form {})",
                self.foldglass, self.schema
            ));
        }
        if study != name {
            return Err(format!(
                "the record of {id} is of the study \"{study}\", not of \"{name}\""
            ));
        }
        let Some(key) = self.find(id) else {
            return Err(format!("the study \"{name}\" has no run {id}"));
        };
        match self.recipes.get(key.series) == Some(recipe) {
            true => Ok(key),
            false => Err(format!(
                "the record of {id} was made with another class, method or seed than the study \
                 \"{name}\" now states"
            )),
        }
    }
}
