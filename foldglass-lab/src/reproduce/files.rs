//! Reads and writes the JSON files of a reproduction, whole or not at all.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Error;
use crate::files::File;
use crate::study::replace;

/// Reads a file; none where there is none.
pub fn read_json<T: DeserializeOwned>(
    path: &Path,
    expected: &'static str,
) -> Result<Option<T>, Error> {
    match File::at(path) {
        Ok(file) => file.object(expected).map(Some),
        Err(Error::Read { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes a file, and its directory where there is none.
pub fn write_json(path: &Path, content: &impl Serialize) -> Result<(), Error> {
    let mut bytes = serde_json::to_vec(content).expect("numbers and texts");
    bytes.push(b'\n');
    write_whole(path, &bytes)
}

/// The same for any content.
pub fn write_whole(path: &Path, content: &[u8]) -> Result<(), Error> {
    let failed = |source| Error::Write {
        path: path.display().to_string(),
        source,
    };
    if let Some(directory) = path.parent().filter(|parent| *parent != Path::new("")) {
        fs::create_dir_all(directory).map_err(failed)?;
    }
    replace(path, "reproduce", content).map_err(failed)
}
