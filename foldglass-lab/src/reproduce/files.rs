//! Reads and writes the JSON files of a reproduction, whole or not at all.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use foldglass_study::Error as StudyError;
use foldglass_study::files::Input;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Error;

pub use crate::report::files::write_whole;

/// Reads a file; none where there is none.
pub fn read_json<T: DeserializeOwned>(
    path: &Path,
    expected: &'static str,
) -> Result<Option<T>, Error> {
    match Input::read(path) {
        Ok(file) => Ok(Some(file.object(expected)?)),
        Err(StudyError::Read { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Reads all files of a directory, in the order of their names; none where there is none.
pub fn read_all<T: DeserializeOwned>(
    directory: &Path,
    expected: &'static str,
) -> Result<Vec<T>, Error> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let is_json = |path: &PathBuf| path.extension().is_some_and(|end| end == "json");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_json).collect();
    paths.sort();
    let read = paths.iter().map(|path| read_json(path, expected));
    let found: Vec<Option<T>> = read.collect::<Result<_, _>>()?;
    Ok(found.into_iter().flatten().collect())
}

/// Writes a file, and its directory where there is none.
pub fn write_json(path: &Path, content: &impl Serialize) -> Result<(), Error> {
    let mut bytes = serde_json::to_vec(content).expect("numbers and texts");
    bytes.push(b'\n');
    write_whole(path, &bytes)
}
