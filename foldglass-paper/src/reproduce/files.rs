//! Reads and writes the JSON files of a reproduction, whole or not at all.
//!
//! A file ends with a hash of itself, as the records of studies do: one that was edited is refused. Those of
//! earlier versions have none; that is said once ([`say_unsealed`]).

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use foldglass_study::files::Input;
use foldglass_study::{Fields, StudyError, seal, unseal};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Error;
use crate::progress::say;

pub use crate::report::files::write_whole;

/// Whether a file without a seal was read.
static UNSEALED: AtomicBool = AtomicBool::new(false);

/// Says once that files without a seal were read of a directory, where some were.
pub fn say_unsealed(directory: &Path) {
    static SAID: Once = Once::new();
    if UNSEALED.load(Ordering::Relaxed) {
        SAID.call_once(|| {
            say(&format!(
                "{}: an earlier version wrote it; its records have no seals, so that edits would not be \
                 found",
                directory.display()
            ));
        });
    }
}

/// Reads a file; none where there is none. One whose seal is broken is refused.
pub fn read_json<T: DeserializeOwned>(
    path: &Path,
    expected: &'static str,
) -> Result<Option<T>, Error> {
    let Some(file) = find(path)? else {
        return Ok(None);
    };
    if let Some(content) = unseal(file.text()?.trim_end().as_bytes()) {
        return Ok(Some(Input::of(&file.name, content).object(expected)?));
    }
    let whole: Option<Fields> = file.object(expected).ok();
    if whole.is_some_and(|fields| fields.contains_key("check")) {
        let problem = "its seal is broken: it was edited or damaged; `foldglass reproduce` and \
                       `foldglass claims` make it again where it is missing";
        return Err(StudyError::study(path, problem.to_owned()).into());
    }
    let found = file.object(expected)?;
    UNSEALED.store(true, Ordering::Relaxed);
    Ok(Some(found))
}

/// A file that was read; none where there is none.
fn find(path: &Path) -> Result<Option<Input>, Error> {
    match Input::read(path) {
        Ok(file) => Ok(Some(file)),
        Err(StudyError::Read { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The seal of a file that has one; none where there is no file. A broken one is refused.
pub fn seal_of(path: &Path) -> Result<Option<String>, Error> {
    read_json::<Fields>(path, "a record")?;
    let Some(file) = find(path)? else {
        return Ok(None);
    };
    let mut fields: Fields = file.object("a record")?;
    let seal = fields.remove("check");
    Ok(seal.map(|seal| seal.as_str().unwrap_or_default().to_owned()))
}

/// A file, or the JSON files of a directory, in the order of their names; none where there is neither.
pub fn json_files(path: &Path) -> Result<Vec<PathBuf>, Error> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut paths = entries(path).map_err(|source| StudyError::read(path, source))?;
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
    paths.sort();
    Ok(paths)
}

/// Reads all files of a directory, in the order of their names; none where there is none.
pub fn read_all<T: DeserializeOwned>(
    directory: &Path,
    expected: &'static str,
) -> Result<Vec<T>, Error> {
    read_named(directory, "", expected)
}

/// The same of those whose names begin so.
pub fn read_named<T: DeserializeOwned>(
    directory: &Path,
    begin: &str,
    expected: &'static str,
) -> Result<Vec<T>, Error> {
    let is_own = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(begin) && name.ends_with(".json")
    };
    let mut paths = entries(directory).map_err(|source| StudyError::read(directory, source))?;
    paths.retain(is_own);
    paths.sort();
    let read = paths.iter().map(|path| read_json(path, expected));
    let found: Vec<Option<T>> = read.collect::<Result<_, _>>()?;
    Ok(found.into_iter().flatten().collect())
}

/// What a directory has; nothing where there is none.
fn entries(directory: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(directory) {
        Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect(),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Writes a file with its seal, and its directory where there is none.
pub fn write_json(path: &Path, content: &impl Serialize) -> Result<(), Error> {
    let mut bytes = seal(content);
    bytes.push(b'\n');
    write_whole(path, &bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edited_file_is_refused_and_one_of_an_earlier_version_is_read() {
        let name = format!("foldglass-sealed-{}.json", std::process::id());
        let path = std::env::temp_dir().join(name);
        let read = || read_json::<Fields>(&path, "a record");
        let content = serde_json::json!({"traps": 8, "length": 4});
        write_json(&path, &content).unwrap();
        assert_eq!(read().unwrap().unwrap()["traps"], 8);
        let sealed = fs::read_to_string(&path).unwrap();
        // Edited by hand, and laid out anew by a program.
        let edited = sealed.replace("8,", "9,");
        let anew: serde_json::Value = serde_json::from_str(&edited).unwrap();
        for text in [edited, serde_json::to_string_pretty(&anew).unwrap()] {
            fs::write(&path, text).unwrap();
            let refused = read().unwrap_err().to_string();
            assert!(refused.contains("seal is broken"), "{refused}");
        }
        fs::write(&path, content.to_string()).unwrap();
        assert_eq!(read().unwrap().unwrap()["traps"], 8);
        assert!(UNSEALED.load(Ordering::Relaxed));
        fs::remove_file(&path).unwrap();
        assert!(read().unwrap().is_none());
    }
}
