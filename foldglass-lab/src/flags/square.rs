//! Finds the Latin square that `--task` names.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;
use foldglass::quasigroup::LatinSquare;
use serde::Deserialize;

use crate::error::Error;
use crate::files::File;

/// The flag that names the multiplication table.
#[derive(Debug, Args)]
pub struct SquareArgs {
    /// The multiplication table: parity, z:N, quasigroup, s:N, a:N, d:N, q8, random:Q,
    /// random:Q:SEED, products such as z:2*s:3, or a JSON file, as file:PATH or PATH.json
    #[arg(long, value_name = "TASK")]
    pub task: SquareFlag,
}

/// What `--task` holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SquareFlag {
    /// A name that the library knows.
    Named(String),
    /// A file with a table.
    File(PathBuf),
}

impl FromStr for SquareFlag {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<SquareFlag, Infallible> {
        Ok(match text.strip_prefix("file:") {
            Some(path) => SquareFlag::File(path.into()),
            None if text.ends_with(".json") => SquareFlag::File(text.into()),
            None => SquareFlag::Named(text.to_owned()),
        })
    }
}

impl SquareFlag {
    /// The same, its file found from a directory.
    pub fn under(self, base: &Path) -> SquareFlag {
        match self {
            SquareFlag::File(path) => SquareFlag::File(base.join(path)),
            named => named,
        }
    }
}

const EXPECTED: &str = "a task file ([[..]] or {\"table\":[[..]]}, rows of whole numbers)";

/// A task file that is an object.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TableFile {
    table: Vec<Vec<i64>>,
}

impl SquareArgs {
    /// The task in words that `--task` takes.
    pub fn name(&self) -> String {
        match &self.task {
            SquareFlag::Named(name) => name.clone(),
            SquareFlag::File(path) => format!("file:{}", path.display()),
        }
    }

    /// Builds the square or reads it; `seed` is that of a random one without its own.
    pub fn square(&self, seed: u64) -> Result<LatinSquare, Error> {
        let path = match &self.task {
            SquareFlag::Named(name) => {
                return LatinSquare::named(name, seed).map_err(|source| Error::TaskName {
                    name: name.clone(),
                    source,
                });
            }
            SquareFlag::File(path) => path,
        };
        let file = File::at(path)?;
        let rows = if file.is_list() {
            file.json(EXPECTED)?
        } else {
            file.object::<TableFile>(EXPECTED)?.table
        };
        LatinSquare::from_rows(&rows).map_err(|source| Error::TaskFile {
            path: file.name,
            source,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_its_prefix_or_its_ending() {
        let read = |text: &str| text.parse::<SquareFlag>().unwrap();
        assert_eq!(read("z:5"), SquareFlag::Named("z:5".into()));
        assert_eq!(read("b.json"), SquareFlag::File("b.json".into()));
        assert_eq!(read("file:z:5"), SquareFlag::File("z:5".into()));
    }
}
