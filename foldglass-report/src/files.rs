//! Writes files whole or not at all.

use std::fs;
use std::path::Path;

use foldglass_study::StudyError;
use foldglass_study::disk::replace;

use crate::error::Error;

/// Writes a file, and its directory where there is none.
pub fn write_whole(path: &Path, content: &[u8]) -> Result<(), Error> {
    let failed = |source| StudyError::write(path, source);
    if let Some(directory) = path.parent().filter(|parent| *parent != Path::new("")) {
        fs::create_dir_all(directory).map_err(failed)?;
    }
    Ok(replace(path, "reproduce", content).map_err(failed)?)
}
