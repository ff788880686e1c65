//! Records J after every sweep as JSON Lines, a chain a line.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde::Serialize;

use super::walk::Walk;
use crate::error::Error;

/// The file that J is recorded in.
pub struct Record {
    path: String,
    file: BufWriter<fs::File>,
}

/// A line of it.
#[derive(Serialize)]
struct Line {
    chain: u64,
    denominator: String,
    rewards: Vec<String>,
}

impl Record {
    /// Makes the file, or empties it.
    pub fn create(path: &Path) -> Result<Record, Error> {
        let name = path.display().to_string();
        match fs::File::create(path) {
            Ok(file) => Ok(Record {
                path: name,
                file: BufWriter::with_capacity(1 << 16, file),
            }),
            Err(source) => Err(Error::Write { path: name, source }),
        }
    }

    /// Writes a chain's line, through to the file.
    pub fn write(&mut self, walk: &Walk) -> Result<(), Error> {
        let rewards = walk.rewards.iter();
        let line = Line {
            chain: walk.outcome.number,
            denominator: walk.denominator.to_string(),
            rewards: rewards.map(u128::to_string).collect(),
        };
        serde_json::to_writer(&mut self.file, &line)
            .map_err(io::Error::from)
            .and_then(|()| writeln!(self.file))
            .and_then(|()| self.file.flush())
            .map_err(|source| Error::Write {
                path: self.path.clone(),
                source,
            })
    }
}
