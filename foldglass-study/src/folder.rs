//! Reads directories of records: on a disk, or as files that a program without a disk was handed.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::files::read_listed;

/// A directory that is read and never written.
#[derive(Debug, Clone)]
pub struct Folder {
    path: PathBuf,
    /// By path, the contents of files that were handed over; without them the directory is on a disk.
    handed: Option<Arc<BTreeMap<PathBuf, Vec<u8>>>>,
}

impl Folder {
    /// A directory of a disk.
    pub fn on_disk(path: impl Into<PathBuf>) -> Folder {
        Folder {
            path: path.into(),
            handed: None,
        }
    }

    /// A directory of a name whose files were handed over. Their paths begin with the name.
    pub fn handed(name: impl Into<PathBuf>, files: BTreeMap<PathBuf, Vec<u8>>) -> Folder {
        Folder {
            path: name.into(),
            handed: Some(Arc::new(files)),
        }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its name, for a page.
    pub fn name(&self) -> Cow<'_, str> {
        let name = self.path.file_name();
        name.unwrap_or(self.path.as_os_str()).to_string_lossy()
    }

    /// The path of a file in it, for messages.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// A directory in it.
    pub fn folder(&self, name: &str) -> Folder {
        Folder {
            path: self.path.join(name),
            handed: self.handed.clone(),
        }
    }

    /// The content of a file in it.
    pub fn read(&self, name: &str) -> io::Result<Cow<'_, [u8]>> {
        let path = self.file(name);
        let Some(files) = &self.handed else {
            return read_listed(&path).map(Cow::Owned);
        };
        let content = files.get(&path);
        let content = content.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound));
        content.map(|content| Cow::Borrowed(&content[..]))
    }

    /// Whether there is a file of this name in it.
    pub fn has(&self, name: &str) -> bool {
        let path = self.file(name);
        match &self.handed {
            Some(files) => files.contains_key(&path),
            None => path.is_file(),
        }
    }

    /// The names of files and directories in it, in their order.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        if let Some(files) = &self.handed {
            let inside = files
                .keys()
                .filter_map(|path| path.strip_prefix(&self.path).ok());
            let first = inside.filter_map(|path| path.iter().next());
            names.extend(first.map(|name| name.to_string_lossy().into_owned()));
        } else {
            for entry in fs::read_dir(&self.path)? {
                names.push(entry?.file_name().to_string_lossy().into_owned());
            }
            names.sort_unstable();
        }
        names.dedup();
        Ok(names)
    }

    /// The bytes of the files in it, without those of directories in it.
    pub fn bytes(&self) -> u64 {
        if let Some(files) = &self.handed {
            let own = files
                .iter()
                .filter(|(path, _)| path.parent() == Some(&self.path));
            return own.map(|(_, content)| content.len() as u64).sum();
        }
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let sizes = entries.filter_map(|entry| entry.metadata().ok());
        sizes.map(|data| data.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of a directory: names, the bytes beside each other, and two files.
    fn told(folder: &Folder) -> (Vec<String>, u64, Vec<bool>, Option<Vec<u8>>) {
        let has = ["study.json", "cold", "cold/study.json"].map(|name| folder.has(name));
        let cold = folder.folder("cold");
        let content = cold.read("study.json").ok().map(Cow::into_owned);
        assert!(cold.read("records.jsonl").is_err());
        (
            folder.names().unwrap(),
            folder.bytes(),
            has.to_vec(),
            content,
        )
    }

    #[test]
    fn files_handed_over_read_like_those_of_a_disk() {
        let name = format!("foldglass-folder-{}", std::process::id());
        let place = std::env::temp_dir().join(&name);
        fs::create_dir_all(place.join("cold")).unwrap();
        let mut handed = BTreeMap::new();
        for (file, content) in [
            ("a.json", "12"),
            ("b.jsonl", "345"),
            ("cold/study.json", "6789"),
        ] {
            fs::write(place.join(file), content).unwrap();
            handed.insert(Path::new(&name).join(file), content.as_bytes().to_vec());
        }
        let (disk, handed) = (Folder::on_disk(&place), Folder::handed(&name, handed));
        let on_disk = told(&disk);
        fs::remove_dir_all(&place).unwrap();
        // A disk counts the entry of the directory itself.
        assert!(on_disk.1 >= 5);
        let (names, bytes, has, content) = told(&handed);
        assert_eq!(
            (&names, &has, &content),
            (&on_disk.0, &on_disk.2, &on_disk.3)
        );
        assert_eq!(
            (bytes, handed.name(), disk.name()),
            (5, name[..].into(), name[..].into())
        );
        assert_eq!(content.as_deref(), Some(&b"6789"[..]));
    }
}
