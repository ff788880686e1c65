//! Appends records to a file, whole lines only, and reads them back.
//!
//! A line is on disk before the next unit begins. What a crash leaves of a line is dropped when the
//! file is opened again; its run is simply done again.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::disk::sync_directory;
use super::manifest::{Header, Key, Manifest};
use super::record::Record;
use crate::error::Error;

/// A file of records that this process alone writes.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    length: u64,
}

impl Journal {
    /// Opens a file for this process alone, and drops a line that was not finished; says how many
    /// bytes it dropped.
    pub fn open(path: &Path) -> Result<(Journal, u64), Error> {
        let failed = |source| write_error(path, source);
        let new = !path.exists();
        let mut file = File::options()
            .read(true)
            .append(true)
            .create(true)
            .open(path)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::Failed(format!(
                    "another foldglass is writing {}: let it finish, or choose another --out or --shard",
                    path.display()
                )));
            }
            // A file system without locks: two processes are then the user's own care.
            Err(TryLockError::Error(_)) => {}
        }
        if new {
            sync_directory(path.parent().unwrap_or(Path::new(".")));
        }
        let mut content = Vec::new();
        file.read_to_end(&mut content).map_err(failed)?;
        let length = whole_lines(&content).len() as u64;
        let dropped = content.len() as u64 - length;
        if dropped > 0 {
            file.set_len(length)
                .and_then(|()| file.sync_all())
                .map_err(failed)?;
        }
        file.seek(SeekFrom::End(0)).map_err(failed)?;
        let path = path.to_owned();
        Ok((Journal { path, file, length }, dropped))
    }

    /// Appends records; they are on disk when it returns.
    pub fn append<'a, T: Serialize + 'a>(
        &mut self,
        records: impl IntoIterator<Item = &'a T>,
    ) -> Result<(), Error> {
        let mut lines = Vec::new();
        for record in records {
            serde_json::to_writer(&mut lines, record).expect("plain data");
            lines.push(b'\n');
        }
        let written = self
            .file
            .write_all(&lines)
            .and_then(|()| self.file.sync_data());
        if let Err(source) = written {
            // What was written of them would stand in the way of the next ones.
            let _ = self.file.set_len(self.length);
            return Err(write_error(&self.path, source));
        }
        self.length += lines.len() as u64;
        Ok(())
    }
}

/// The error of a file that keeps results.
pub fn write_error(path: &Path, source: io::Error) -> Error {
    Error::Keep {
        path: path.display().to_string(),
        source,
    }
}

/// A content without the line it ends in the middle of.
pub fn whole_lines(content: &[u8]) -> &[u8] {
    let end = content.iter().rposition(|&byte| byte == b'\n');
    &content[..end.map_or(0, |end| end + 1)]
}

/// The files of records in a directory, by name.
pub fn files(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |source| Error::Read {
        path: directory.display().to_string(),
        source,
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        let text = name.to_string_lossy();
        if text.starts_with("records") && text.ends_with(".jsonl") {
            files.push(directory.join(name));
        }
    }
    files.sort();
    Ok(files)
}

/// Hands every record of a file to `take`, with its run; says how many lines it could not read. A
/// record of another study or version is refused.
pub fn read(
    path: &Path,
    manifest: &Manifest,
    mut take: impl FnMut(Key, Record) -> Result<(), Error>,
) -> Result<usize, Error> {
    let content = fs::read(path).map_err(|source| Error::Read {
        path: path.display().to_string(),
        source,
    })?;
    let mut unreadable = 0;
    let lines = whole_lines(&content)
        .split(|&byte| byte == b'\n')
        .enumerate();
    for (number, line) in lines.filter(|(_, line)| !line.is_empty()) {
        let refused = |problem: String| Error::Study {
            place: format!("{} line {}", path.display(), number + 1),
            problem,
        };
        let Ok(header) = serde_json::from_slice::<Header>(line) else {
            unreadable += 1;
            continue;
        };
        let key = manifest.place(&header).map_err(refused)?;
        match serde_json::from_slice(line) {
            Ok(record) => take(key, record)?,
            Err(_) => unreadable += 1,
        }
    }
    Ok(unreadable)
}

/// What was found of a study.
#[derive(Debug)]
pub struct Gathered {
    /// The study.
    pub manifest: Manifest,
    /// The records, in the order of the study.
    pub records: Vec<Record>,
    /// The ids of the runs that have none.
    pub missing: Vec<String>,
    /// Lines that could not be read.
    pub unreadable: usize,
}

/// Reads the records of a study from its directories. Equal ones count once; different ones of the
/// same run are refused.
pub fn gather(directories: &[PathBuf]) -> Result<Gathered, Error> {
    let mut all: BTreeMap<Key, (Record, PathBuf)> = BTreeMap::new();
    let mut unreadable = 0;
    let manifest = same_manifest(directories)?;
    for directory in directories {
        for path in files(directory)? {
            unreadable += read(&path, &manifest, |key, record| {
                let (first, place) = all
                    .entry(key)
                    .or_insert_with(|| (record.clone(), path.clone()));
                match *first == record {
                    true => Ok(()),
                    false => Err(Error::Failed(format!(
                        "two records of {} differ, one in {} and one in {}: keep one",
                        record.id,
                        place.display(),
                        path.display()
                    ))),
                }
            })?;
        }
    }
    let missing = manifest.keys().filter(|key| !all.contains_key(key));
    Ok(Gathered {
        missing: missing.map(|key| manifest.id(key)).collect(),
        records: all.into_values().map(|(record, _)| record).collect(),
        manifest,
        unreadable,
    })
}

fn same_manifest(directories: &[PathBuf]) -> Result<Manifest, Error> {
    let manifest = Manifest::read(&directories[0])?;
    for directory in &directories[1..] {
        if Manifest::read(directory)? != manifest {
            let place = directory.display().to_string();
            let first = directories[0].display();
            let problem = format!("it holds another study than {first}, or another state of it");
            return Err(Error::Study { place, problem });
        }
    }
    Ok(manifest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_was_not_finished_is_no_part_of_the_content() {
        for (content, whole) in [
            ("", ""),
            ("{\"a\":", ""),
            ("{}\n{}\n", "{}\n{}\n"),
            ("{}\n{\"a\"", "{}\n"),
            ("{}\n\0\0\0", "{}\n"),
        ] {
            assert_eq!(whole_lines(content.as_bytes()), whole.as_bytes());
        }
    }
}
