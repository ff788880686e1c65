//! Writes files so that a crash, a full disk or a kill at any moment leaves the old one or the new
//! one, whole.
//!
//! A link is followed, and what it leads to is replaced. What is not a regular file (a device, a pipe)
//! is written to as it is: there is nothing to keep whole. A directory is refused.
//!
//! A process that is killed leaves its unfinished file. The next one that writes to the directory
//! removes it: a living writer holds a lock on its file, which the system frees when the writer dies.

use std::collections::HashSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::hash::fnv;

/// What the names of files being written end with.
const UNFINISHED: &str = ".tmp";

/// Numbers the files that this process writes, so that two threads never share a name.
static WRITTEN: AtomicU64 = AtomicU64::new(0);

/// The directories from which this process has removed what dead ones left.
static TIDIED: Mutex<Option<HashSet<PathBuf>>> = Mutex::new(None);

/// A file that takes its name only when it is finished.
pub struct Whole {
    /// Where it will be; links are followed.
    path: PathBuf,
    /// Where it is meanwhile; none where it is written in place.
    unfinished: Option<PathBuf>,
    file: Option<BufWriter<File>>,
}

impl Whole {
    /// Begins a file; `label` tells the processes apart that may write the same one.
    pub fn create(path: &Path, label: &str) -> io::Result<Whole> {
        // Before links are followed: those to open pipes, such as /dev/stdout, lead to no name.
        let in_place = match fs::metadata(path) {
            Ok(there) if there.is_dir() => {
                return Err(io::Error::new(
                    io::ErrorKind::IsADirectory,
                    "it is a directory: name a file",
                ));
            }
            Ok(there) => !there.is_file(),
            Err(_) => false,
        };
        let path = if in_place {
            path.to_owned()
        } else {
            follow(path)?
        };
        if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return Err(io::Error::new(
                io::ErrorKind::IsADirectory,
                "it names a directory: name a file in it",
            ));
        }
        let (unfinished, file) = if in_place {
            (None, File::options().write(true).open(&path)?)
        } else {
            tidy_once(directory_of(&path));
            let (unfinished, file) = create_locked(&path, label)?;
            (Some(unfinished), file)
        };
        Ok(Whole {
            path,
            unfinished,
            file: Some(BufWriter::with_capacity(1 << 16, file)),
        })
    }

    /// Gives it its name; it is on disk when this returns.
    pub fn finish(mut self) -> io::Result<()> {
        let mut file = self.file.take().expect("it is open until here");
        file.flush()?;
        let Some(unfinished) = self.unfinished.clone() else {
            return Ok(());
        };
        file.get_ref().sync_all()?;
        // Its lock is held until it has its name, so that it is not taken for a leftover of a dead process.
        fs::rename(&unfinished, &self.path)?;
        drop(file);
        self.unfinished = None;
        sync_directory(directory_of(&self.path));
        Ok(())
    }
}

impl Write for Whole {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.as_mut().expect("it is open").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().expect("it is open").flush()
    }
}

impl Drop for Whole {
    /// What was not finished leaves nothing behind.
    fn drop(&mut self) {
        if let Some(unfinished) = &self.unfinished {
            let _ = fs::remove_file(unfinished);
        }
    }
}

/// Writes a file whole or not at all.
pub fn replace(path: &Path, label: &str, content: &[u8]) -> io::Result<()> {
    let mut file = Whole::create(path, label)?;
    file.write_all(content)?;
    file.finish()
}

/// The bytes of the hash that ends a file.
const HASH: usize = size_of::<u128>();

/// Writes a file, its hash behind it, whole or not at all.
pub fn replace_hashed(path: &Path, label: &str, mut content: Vec<u8>) -> io::Result<()> {
    content.extend(fnv(&content).to_le_bytes());
    replace(path, label, &content)
}

/// The content of a file that [`replace_hashed`] wrote; none where it is damaged.
pub fn read_hashed(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let mut content = fs::read(path)?;
    let Some((bytes, hash)) = content.split_last_chunk::<HASH>() else {
        return Ok(None);
    };
    if fnv(bytes) != u128::from_le_bytes(*hash) {
        return Ok(None);
    }
    content.truncate(content.len() - HASH);
    Ok(Some(content))
}

/// Where a path leads when it is a link, also to nothing yet.
fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..40 {
        match fs::symlink_metadata(&path) {
            Ok(there) if there.is_symlink() => {
                let to = fs::read_link(&path)?;
                path = directory_of(&path).join(to);
            }
            _ => return Ok(path),
        }
    }
    Err(io::Error::other("too many links"))
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

fn unfinished(path: &Path, label: &str) -> PathBuf {
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    let process = std::process::id();
    // Long names stay within what file systems take.
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name: String = name.chars().take(40).collect();
    path.with_file_name(format!("{name}.{process}-{number}.{label}{UNFINISHED}"))
}

/// Begins an unfinished file, and locks it where the file system has locks.
fn create_locked(path: &Path, label: &str) -> io::Result<(PathBuf, File)> {
    loop {
        let unfinished = unfinished(path, label);
        let file = File::create(&unfinished)?;
        let is_locked = !matches!(file.try_lock(), Err(TryLockError::WouldBlock));
        // Before it was locked, another process may have removed it.
        if is_locked && unfinished.exists() {
            return Ok((unfinished, file));
        }
    }
}

/// Whether a file has a name that [`unfinished`] gives: `NAME.PROCESS-NUMBER.LABEL.tmp`.
fn is_unfinished(name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let Some(stem) = name.strip_suffix(UNFINISHED) else {
        return false;
    };
    let mut parts = stem.rsplit('.').skip(1);
    let numbers = parts.next().and_then(|part| part.split_once('-'));
    numbers.is_some_and(|(process, number)| is_number(process) && is_number(number))
        && parts.next().is_some()
}

/// Removes the files in a directory that dead processes did not finish.
pub fn remove_unfinished(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if !is_unfinished(&entry.file_name().to_string_lossy()) {
            continue;
        }
        // On a file system without locks it is not known whether its writer lives.
        let Ok(file) = File::options().write(true).open(entry.path()) else {
            continue;
        };
        // Locked until it is gone: one that has just begun it sees that, and begins another.
        if file.try_lock().is_ok() {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The same, when this process first writes to the directory.
fn tidy_once(directory: &Path) {
    let place = fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
    let mut tidied = TIDIED.lock().expect("no panic while it is held");
    if tidied.get_or_insert_default().insert(place) {
        remove_unfinished(directory);
    }
}

/// Makes new names in a directory survive a power cut, where the system can.
pub fn sync_directory(directory: &Path) {
    if let Ok(directory) = File::open(directory) {
        let _ = directory.sync_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_dead_processes_left_is_removed_and_nothing_else() {
        let directory = std::env::temp_dir().join(format!("foldglass-tidy-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let file = |name: &str| directory.join(name);
        let of_the_user = [
            "notes.tmp",
            "a.out.tmp",
            "a.12-3.tmp",
            "a.x-3.out.tmp",
            "a.json",
        ];
        for name in of_the_user {
            fs::write(file(name), "kept").unwrap();
        }
        for name in ["a.json.12-3.out.tmp", "table.csv.12345-0.reproduce.tmp"] {
            fs::write(file(name), "half").unwrap();
        }
        // One that is being written, by this process or another.
        let mut living = Whole::create(&file("b.json"), "out").unwrap();
        living.write_all(b"whole").unwrap();
        let names = || -> HashSet<String> {
            let entries = fs::read_dir(&directory).unwrap().flatten();
            entries
                .map(|entry| entry.file_name().to_string_lossy().into_owned())
                .collect()
        };
        // Beginning it has tidied the directory already.
        assert_eq!(names().len(), of_the_user.len() + 1, "{:?}", names());
        remove_unfinished(&directory);
        assert_eq!(names().len(), of_the_user.len() + 1, "{:?}", names());
        living.finish().unwrap();
        assert_eq!(fs::read(file("b.json")).unwrap(), b"whole");
        assert!(of_the_user.iter().all(|&name| names().contains(name)));
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn a_flipped_bit_of_a_hashed_file_is_seen() {
        let path = std::env::temp_dir().join(format!("foldglass-hashed-{}", std::process::id()));
        replace_hashed(&path, "test", b"state".to_vec()).unwrap();
        assert_eq!(read_hashed(&path).unwrap().as_deref(), Some(&b"state"[..]));
        let whole = fs::read(&path).unwrap();
        for byte in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[byte] ^= 4;
            fs::write(&path, damaged).unwrap();
            assert_eq!(read_hashed(&path).unwrap(), None, "byte {byte}");
        }
        fs::write(&path, b"short").unwrap();
        assert_eq!(read_hashed(&path).unwrap(), None);
        fs::remove_file(&path).unwrap();
    }
}
