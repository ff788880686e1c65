//! Writes files so that a crash at any moment leaves the old one or the new one, whole.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What the names of files being written end with.
const UNFINISHED: &str = ".tmp";

/// Writes a file under another name and renames it. Of several processes that write the same file,
/// each has its own `label`.
pub fn replace(path: &Path, label: &str, content: &[u8]) -> io::Result<()> {
    let unfinished = unfinished(path, label);
    let written = File::create(&unfinished).and_then(|mut file| {
        file.write_all(content)?;
        file.sync_all()
    });
    let renamed = written.and_then(|()| fs::rename(&unfinished, path));
    if renamed.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    renamed?;
    sync_directory(path.parent().unwrap_or(Path::new(".")));
    Ok(())
}

fn unfinished(path: &Path, label: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{label}{UNFINISHED}"));
    path.with_file_name(name)
}

/// Removes what a process with this label did not finish in a directory.
pub fn remove_unfinished(directory: &Path, label: &str) {
    let end = format!(".{label}{UNFINISHED}");
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().ends_with(&end) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Makes new names in a directory survive a power cut, where the system can.
pub fn sync_directory(directory: &Path) {
    if let Ok(directory) = File::open(directory) {
        let _ = directory.sync_all();
    }
}
