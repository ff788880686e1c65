//! Reads and writes claims as JSON files that stand alone: class, code, exact numbers.
//!
//! Every file names its format and its version, such as "foldglass-path/1". A reader knows all of
//! a file or refuses it.

mod class;
mod path;
mod verdict;

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::files::File;
use crate::study::disk;

pub use class::ClassFile;
pub use path::{MoveFile, PathFile};
pub use verdict::{VerdictFile, VerdictWriter};

/// What a claim file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A path that never lowers J.
    Path,
    /// What is said of the shelves of codes.
    Verdict,
}

/// The formats by their names.
const FORMATS: [(&str, Format); 2] = [
    (path::FORMAT, Format::Path),
    (verdict::FORMAT, Format::Verdict),
];

const EXPECTED: &str = "a claim file ({\"format\":\"foldglass-path/1\",..} or \
                        {\"format\":\"foldglass-verdict/1\",..})";

#[derive(Deserialize)]
struct Opening {
    format: String,
}

impl Format {
    /// The format that a file names.
    pub fn of(file: &File) -> Result<Format, Error> {
        let Opening { format } = file.object(EXPECTED)?;
        let known = FORMATS.iter().find(|(name, _)| *name == format);
        known.map(|&(_, format)| format).ok_or_else(|| {
            let names: Vec<&str> = FORMATS.iter().map(|&(name, _)| name).collect();
            let problem = format!("its format is `{format}`: accepted: {}", names.join(", "));
            file.is_not(EXPECTED, problem)
        })
    }
}

/// Writes a claim to a file, whole or not at all.
pub fn write(path: &Path, claim: &impl Serialize) -> Result<(), Error> {
    let refuse = |source| Error::Write {
        path: path.display().to_string(),
        source,
    };
    let mut content = serde_json::to_vec(claim).map_err(|error| refuse(error.into()))?;
    content.push(b'\n');
    disk::replace(path, &std::process::id().to_string(), &content).map_err(refuse)
}
