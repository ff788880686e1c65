//! Keeps what a reproduction is beside its records: its scale and seed.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::files::{read_json, write_json};
use super::studies::Scale;
use crate::error::Error;
use foldglass_study::StudyError;

/// What a directory of records reproduces.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReproductionManifest {
    format: String,
    /// The version that wrote it.
    pub version: String,
    /// How much was run.
    pub scale: Scale,
    /// The seed of all runs.
    pub seed: u64,
}

/// The file's name, and the form of its content.
const FILE: &str = "reproduce.json";
const FORMAT: &str = "foldglass-reproduce/1";

impl Default for ReproductionManifest {
    /// That of nothing: the smoke scale.
    fn default() -> ReproductionManifest {
        ReproductionManifest::new(Scale::Smoke, 0)
    }
}

impl ReproductionManifest {
    /// Of a reproduction by this version.
    pub fn new(scale: Scale, seed: u64) -> ReproductionManifest {
        ReproductionManifest {
            format: FORMAT.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            scale,
            seed,
        }
    }

    /// The directory of a reproduction where none is named; that of a smaller scale where only it is there.
    pub fn default_directory() -> PathBuf {
        let places = [Scale::Full, Scale::Quick, Scale::Smoke].map(Scale::directory);
        let found = places.iter().find(|place| Path::new(place).exists());
        found.unwrap_or(&places[0]).into()
    }

    /// Reads that of a directory.
    pub fn read(directory: &Path) -> Result<ReproductionManifest, Error> {
        ReproductionManifest::find(directory)?
            .ok_or_else(|| ReproductionManifest::missing(directory))
    }

    /// Why a directory without one is refused.
    pub fn missing(directory: &Path) -> Error {
        let problem = format!(
            "it does not hold a reproduction ({FILE} is missing); `foldglass reproduce --out {}` makes \
             one, or resumes one of an earlier version",
            directory.display()
        );
        refused(directory, problem)
    }

    /// That of a directory, if it has one.
    pub fn find(directory: &Path) -> Result<Option<ReproductionManifest>, Error> {
        let path = directory.join(FILE);
        let found: Option<ReproductionManifest> =
            read_json(&path, "what `foldglass reproduce` keeps")?;
        match found {
            Some(other) if other.format != FORMAT => {
                let problem = format!("{:?} is another format than {FORMAT}", other.format);
                Err(refused(&path, problem))
            }
            found => Ok(found),
        }
    }

    /// Writes it into a directory, unless another reproduction is there. Records at the short scale
    /// are a part of those in full: gives the larger of the two scales where one of them is there.
    pub fn keep(&self, directory: &Path) -> Result<Scale, Error> {
        let Some(other) = ReproductionManifest::find(directory)? else {
            write_json(&directory.join(FILE), self)?;
            return Ok(self.scale);
        };
        let same_seed = other.seed == self.seed;
        match (other.scale, self.scale) {
            (known, asked) if same_seed && known == asked => Ok(asked),
            (Scale::Short, Scale::Full) if same_seed => {
                write_json(&directory.join(FILE), self)?;
                Ok(Scale::Full)
            }
            (Scale::Full, Scale::Short) if same_seed => Ok(Scale::Full),
            _ => Err(refused(directory, other.is_not(self))),
        }
    }

    fn is_not(&self, asked: &ReproductionManifest) -> String {
        let said = |manifest: &ReproductionManifest| {
            let (scale, seed) = (manifest.scale.name(), manifest.seed);
            format!("the {scale} scale with seed {seed}")
        };
        format!(
            "it holds a reproduction at {}, not at {}: choose another --out",
            said(self),
            said(asked)
        )
    }
}

fn refused(place: &Path, problem: String) -> Error {
    StudyError::study(place, problem).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_in_full_go_on_from_those_of_the_short_scale() {
        let name = format!("foldglass-manifest-{}", std::process::id());
        let place = std::env::temp_dir().join(name);
        let keep = |scale, seed| ReproductionManifest::new(scale, seed).keep(&place);
        assert_eq!(keep(Scale::Short, 3).unwrap(), Scale::Short);
        assert_eq!(keep(Scale::Full, 3).unwrap(), Scale::Full);
        // What is there in full stays so.
        assert_eq!(keep(Scale::Short, 3).unwrap(), Scale::Full);
        assert_eq!(
            ReproductionManifest::read(&place).unwrap().scale,
            Scale::Full
        );
        for (scale, seed) in [(Scale::Smoke, 3), (Scale::Full, 4)] {
            let refused = keep(scale, seed).unwrap_err().to_string();
            assert!(refused.contains("the full scale with seed 3"), "{refused}");
        }
        std::fs::remove_dir_all(&place).unwrap();
    }
}
