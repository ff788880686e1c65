//! Keeps what a reproduction is beside its records: its scale and seed.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::files::{read_json, write_json};
use super::studies::Scale;
use crate::error::Error;
use foldglass_study::Error as StudyError;

/// What a directory of records reproduces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    format: String,
    /// The version that wrote it.
    version: String,
    /// How much was run.
    pub scale: Scale,
    /// The seed of all runs.
    pub seed: u64,
}

/// The file's name, and the form of its content.
const FILE: &str = "reproduce.json";
const FORMAT: &str = "foldglass-reproduce/1";

impl Manifest {
    /// Of a reproduction by this version.
    pub fn new(scale: Scale, seed: u64) -> Manifest {
        Manifest {
            format: FORMAT.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            scale,
            seed,
        }
    }

    /// Reads that of a directory.
    pub fn read(directory: &Path) -> Result<Manifest, Error> {
        let problem = format!(
            "it holds no reproduction ({FILE} is missing); `foldglass reproduce --out` makes one, \
             or goes on with one of an earlier version"
        );
        Manifest::find(directory)?.ok_or_else(|| refused(directory, problem))
    }

    /// That of a directory, if it has one.
    pub fn find(directory: &Path) -> Result<Option<Manifest>, Error> {
        let path = directory.join(FILE);
        let found: Option<Manifest> = read_json(&path, "what `foldglass reproduce` keeps")?;
        match found {
            Some(other) if other.format != FORMAT => {
                let problem = format!("{:?} is another format than {FORMAT}", other.format);
                Err(refused(&path, problem))
            }
            found => Ok(found),
        }
    }

    /// Writes it into a directory, unless another reproduction is there.
    pub fn keep(&self, directory: &Path) -> Result<(), Error> {
        let Some(other) = Manifest::find(directory)? else {
            return write_json(&directory.join(FILE), self);
        };
        if (other.scale, other.seed) == (self.scale, self.seed) {
            return Ok(());
        }
        let said = |manifest: &Manifest| {
            let (scale, seed) = (manifest.scale.name(), manifest.seed);
            format!("the {scale} scale with seed {seed}")
        };
        let problem = format!(
            "it holds a reproduction at {}, not at {}: choose another --out",
            said(&other),
            said(self)
        );
        Err(refused(directory, problem))
    }
}

fn refused(place: &Path, problem: String) -> Error {
    StudyError::study(place, problem).into()
}
