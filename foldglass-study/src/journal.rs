//! Appends sealed lines to a file, whole ones only, and reads them back.
//!
//! A line is on disk before the next unit begins. What a crash leaves of a line is dropped when the
//! file is opened again, and a line whose seal is broken is left out; their runs are simply done
//! again.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use foldglass::support::watch::{Observer, Progress};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::disk::sync_directory;
use crate::error::StudyError;
use crate::folder::Folder;
use crate::manifest::{Index, Manifest, RunKey};
use crate::record::{Record, seal, unseal};

/// A file of lines that this process alone writes.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    length: u64,
}

/// After this the observer receives a notice of what is waited for.
const PATIENCE: Duration = Duration::from_secs(1);

/// The longest wait for another process.
const LONGEST_WAIT: Duration = Duration::from_secs(if cfg!(test) { 3 } else { 10 });

/// Between two tries.
const BETWEEN_TRIES: Duration = Duration::from_millis(50);

/// Locks a file for this process alone. A process that was killed a moment ago may still hold it, so
/// this waits, up to [`LONGEST_WAIT`] or until it is stopped.
fn lock(file: &File, path: &Path, observer: &dyn Observer) -> Result<(), StudyError> {
    let begun = Instant::now();
    let mut told = false;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) => {}
            // A file system without locks: two processes are then the user's own care.
            Err(TryLockError::Error(_)) => return Ok(()),
        }
        let waited = begun.elapsed();
        let progress = Progress {
            unit: "seconds of waiting",
            done: waited.as_secs(),
            all: Some(LONGEST_WAIT.as_secs()),
            share: None,
        };
        if waited >= LONGEST_WAIT || observer.report(progress).is_break() {
            let path = path.display().to_string();
            return Err(StudyError::Locked { path });
        }
        if waited >= PATIENCE && !told {
            told = true;
            observer.notice(&format!(
                "waiting for another foldglass that is writing {}, for up to {} seconds",
                path.display(),
                LONGEST_WAIT.as_secs()
            ));
        }
        std::thread::sleep(BETWEEN_TRIES);
    }
}

impl Journal {
    /// Opens a file for this process alone, and drops a line that was not finished; says how many
    /// bytes it dropped. It waits some seconds for another process that has it open.
    pub fn open(path: &Path, observer: &dyn Observer) -> Result<(Journal, u64), StudyError> {
        let failed = |source| StudyError::keep(path, source);
        let new = !path.exists();
        let mut file = File::options()
            .read(true)
            .append(true)
            .create(true)
            .open(path)
            .map_err(failed)?;
        lock(&file, path, observer)?;
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

    /// Appends values as sealed lines; they are on disk when it returns.
    pub fn append<'a, T: Serialize + 'a>(
        &mut self,
        values: impl IntoIterator<Item = &'a T>,
    ) -> Result<(), StudyError> {
        let mut lines = Vec::new();
        for value in values {
            lines.extend(seal(value));
            lines.push(b'\n');
        }
        let written = self
            .file
            .write_all(&lines)
            .and_then(|()| self.file.sync_data());
        if let Err(source) = written {
            // What was written of them would stand in the way of the next ones.
            let _ = self.file.set_len(self.length);
            return Err(StudyError::keep(&self.path, source));
        }
        self.length += lines.len() as u64;
        Ok(())
    }

    /// Keeps the lines up to the first that is not to be kept. A damaged one before it is refused.
    pub fn cut<T: DeserializeOwned>(&mut self, keep: impl Fn(T) -> bool) -> Result<(), StudyError> {
        let content =
            fs::read(&self.path).map_err(|source| StudyError::read(&self.path, source))?;
        let mut length = 0;
        for (number, line) in (1..).zip(whole_lines(&content).split_inclusive(|&b| b == b'\n')) {
            let value = unseal(line.strip_suffix(b"\n").unwrap_or(line))
                .and_then(|content| serde_json::from_slice(&content).ok());
            let Some(value) = value else {
                return Err(StudyError::Content {
                    path: format!("{} line {number}", self.path.display()),
                    expected: "a record as it was written",
                    problem: "its hash does not fit; begin again in another directory".to_owned(),
                });
            };
            if !keep(value) {
                break;
            }
            length += line.len() as u64;
        }
        let cut = self.file.set_len(length);
        cut.and_then(|()| self.file.sync_all())
            .map_err(|source| StudyError::keep(&self.path, source))?;
        self.length = length;
        Ok(())
    }
}

/// A content without the line it ends in the middle of.
fn whole_lines(content: &[u8]) -> &[u8] {
    let end = content.iter().rposition(|&byte| byte == b'\n');
    &content[..end.map_or(0, |end| end + 1)]
}

/// The names of the files of a directory that begin and end so, in their order.
pub fn files(directory: &Folder, begin: &str) -> Result<Vec<String>, StudyError> {
    let names = directory.names();
    let mut names = names.map_err(|source| StudyError::read(directory.path(), source))?;
    names.retain(|name| name.starts_with(begin) && name.ends_with(".jsonl"));
    Ok(names)
}

/// Hands every whole line of a file to `take`, with its number from 1; says how many were damaged.
pub fn read<T: DeserializeOwned>(
    directory: &Folder,
    file: &str,
    mut take: impl FnMut(usize, T) -> Result<(), StudyError>,
) -> Result<usize, StudyError> {
    let content = directory.read(file);
    let content = content.map_err(|source| StudyError::read(&directory.file(file), source))?;
    let mut damaged = 0;
    let lines = whole_lines(&content).split(|&byte| byte == b'\n');
    for (number, line) in (1..).zip(lines).filter(|(_, line)| !line.is_empty()) {
        let value = unseal(line).and_then(|content| serde_json::from_slice(&content).ok());
        match value {
            Some(value) => take(number, value)?,
            None => damaged += 1,
        }
    }
    Ok(damaged)
}

/// Hands every record of a file to `take`, with its run. A record of another study or version is
/// refused.
pub fn read_records(
    directory: &Folder,
    file: &str,
    manifest: &Manifest,
    index: &Index,
    mut take: impl FnMut(RunKey, Record) -> Result<(), StudyError>,
) -> Result<usize, StudyError> {
    read(directory, file, |number, record: Record| {
        let key = manifest
            .place(index, &record)
            .map_err(|problem| StudyError::Study {
                place: format!("{} line {number}", directory.file(file).display()),
                problem,
                excerpt: None,
            })?;
        take(key, record)
    })
}

/// What was found of a study.
#[derive(Debug)]
pub struct Gathered {
    /// The study.
    pub manifest: Manifest,
    /// The records, in the order of the study.
    pub records: Vec<Record>,
    /// The runs that have none.
    pub missing: u128,
    /// The ids of the first of them.
    pub missing_ids: Vec<String>,
    /// Lines that were damaged.
    pub damaged: usize,
}

/// Missing runs that are named.
const NAMED: usize = 1000;

/// Reads the records of a study from its directories. Equal ones count once; different ones of the
/// same run are refused.
pub fn gather(directories: &[PathBuf]) -> Result<Gathered, StudyError> {
    let folders: Vec<Folder> = directories.iter().map(Folder::on_disk).collect();
    gather_folders(&folders)
}

/// The same, also where the files were handed over.
pub fn gather_folders(directories: &[Folder]) -> Result<Gathered, StudyError> {
    let mut all: BTreeMap<RunKey, (Record, PathBuf)> = BTreeMap::new();
    let mut damaged = 0;
    let manifest = same_manifest(directories)?;
    let index = Index::new(&manifest.study);
    for directory in directories {
        for file in files(directory, "records")? {
            let path = directory.file(&file);
            damaged += read_records(directory, &file, &manifest, &index, |key, record| {
                let (first, place) = all
                    .entry(key)
                    .or_insert_with(|| (record.clone(), path.clone()));
                if *first == record {
                    return Ok(());
                }
                Err(StudyError::Failed(format!(
                    "two records of {} differ, one in {} and one in {}: keep one",
                    record.id,
                    place.display(),
                    path.display()
                )))
            })?;
        }
    }
    let missing = index.keys().filter(|key| !all.contains_key(key));
    Ok(Gathered {
        missing_ids: missing.take(NAMED).map(|key| index.id(key)).collect(),
        missing: index.runs() - all.len() as u128,
        records: all.into_values().map(|(record, _)| record).collect(),
        manifest,
        damaged,
    })
}

fn same_manifest(directories: &[Folder]) -> Result<Manifest, StudyError> {
    let manifest = Manifest::read(&directories[0])?;
    for directory in &directories[1..] {
        if Manifest::read(directory)? != manifest {
            let first = directories[0].path().display();
            let problem = format!("it holds another study than {first}, or another state of it");
            return Err(StudyError::study(directory.path(), problem));
        }
    }
    Ok(manifest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use foldglass::Unwatched;
    use std::ops::ControlFlow;
    use std::sync::Mutex;

    /// Keeps notices, and stops after this number of calls.
    struct Waiting {
        notices: Mutex<Vec<String>>,
        looks: Mutex<usize>,
    }

    impl Observer for Waiting {
        fn report(&self, _: Progress<'_>) -> ControlFlow<()> {
            let mut looks = self.looks.lock().unwrap();
            *looks = looks.saturating_sub(1);
            match *looks {
                0 => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }

        fn notice(&self, text: &str) {
            self.notices.lock().unwrap().push(text.to_owned());
        }
    }

    #[test]
    fn a_file_that_another_has_open_is_waited_for() {
        let path = std::env::temp_dir().join(format!("foldglass-wait-{}", std::process::id()));
        let waiting = |looks| Waiting {
            notices: Mutex::default(),
            looks: Mutex::new(looks),
        };
        // Freed in time.
        let (first, _) = Journal::open(&path, &Unwatched).unwrap();
        let patient = waiting(usize::MAX);
        let begun = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(PATIENCE + Duration::from_millis(300));
                drop(first);
            });
            Journal::open(&path, &patient).unwrap();
        });
        assert!(begun.elapsed() < LONGEST_WAIT);
        let notices = patient.notices.into_inner().unwrap();
        assert_eq!(notices.len(), 1, "{notices:?}");
        assert!(notices[0].contains("foldglass-wait"), "{notices:?}");
        // Stopped while it waits.
        let _held = Journal::open(&path, &Unwatched).unwrap();
        let stopped = Journal::open(&path, &waiting(2)).unwrap_err();
        assert!(matches!(stopped, StudyError::Locked { .. }), "{stopped}");
        // Never freed.
        let begun = Instant::now();
        let refused = Journal::open(&path, &Unwatched).unwrap_err();
        assert!(matches!(refused, StudyError::Locked { .. }), "{refused}");
        assert!(begun.elapsed() >= LONGEST_WAIT);
        fs::remove_file(&path).unwrap();
    }

    #[derive(Debug, Serialize, serde::Deserialize)]
    struct Line {
        step: u64,
    }

    #[test]
    fn a_file_is_cut_behind_the_lines_to_keep() {
        let path = std::env::temp_dir().join(format!("foldglass-cut-{}", std::process::id()));
        let _ = fs::remove_file(&path);
        let (mut journal, _) = Journal::open(&path, &Unwatched).unwrap();
        let line = |step| Line { step };
        journal.append(&[line(1), line(2), line(3)]).unwrap();
        let whole = fs::read(&path).unwrap();
        journal.cut(|line: Line| line.step <= 1).unwrap();
        journal.append(&[line(2), line(3)]).unwrap();
        assert_eq!(fs::read(&path).unwrap(), whole);
        let mut damaged = whole.clone();
        damaged[8] ^= 1;
        fs::write(&path, damaged).unwrap();
        let refused = journal.cut(|line: Line| line.step <= 2).unwrap_err();
        assert!(refused.to_string().contains("line 1"), "{refused}");
        fs::remove_file(&path).unwrap();
    }

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
