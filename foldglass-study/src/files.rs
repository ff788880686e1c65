//! Reads the JSON files that a user names, within bounds, and lists what was read.

mod unique;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read};
use std::path::Path;

use foldglass::support::memory::Bytes;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

use crate::error::StudyError;
use unique::Unique;

/// The largest file that is read.
pub const LARGEST: u64 = 1 << 32;

/// The most that is read of a pipe or a device, which may be endless.
pub const LARGEST_STREAM: u64 = 1 << 30;

/// Files that were read: the hash of each, by its path as it was named.
pub type FilesRead = BTreeMap<String, String>;

/// The list of a thread, and the hash that it has of each file.
struct ReadList {
    hash: fn(&[u8]) -> String,
    files: FilesRead,
}

thread_local! {
    static READ_LIST: RefCell<Option<ReadList>> = const { RefCell::new(None) };
}

/// Does something and lists the files that this thread reads meanwhile, for [`files_read`]. A list within a list
/// is a list of its own.
pub fn listing<T>(hash: fn(&[u8]) -> String, job: impl FnOnce() -> T) -> T {
    /// Puts the outer list back, also where the job panics.
    struct Outer(Option<ReadList>);
    impl Drop for Outer {
        fn drop(&mut self) {
            READ_LIST.set(self.0.take());
        }
    }
    let files = FilesRead::new();
    let _outer = Outer(READ_LIST.replace(Some(ReadList { hash, files })));
    job()
}

/// The files that this thread has read since [`listing`] began; none outside of it.
pub fn files_read() -> FilesRead {
    READ_LIST.with_borrow(|list| {
        list.as_ref()
            .map_or_else(FilesRead::new, |l| l.files.clone())
    })
}

/// Puts a file that was read on the list, if there is one.
pub fn note_read(path: &Path, content: &[u8]) {
    let hash = READ_LIST.with_borrow(|list| list.as_ref().map(|list| list.hash));
    if let Some(hash) = hash {
        note_sum(path, &hash(content));
    }
}

/// The same with the hash that the list would have of it.
pub fn note_sum(path: &Path, sum: &str) {
    READ_LIST.with_borrow_mut(|list| {
        if let Some(list) = list {
            list.files
                .insert(path.display().to_string(), sum.to_owned());
        }
    });
}

/// Reads a file whole, and puts it on the list.
pub fn read_listed(path: &Path) -> io::Result<Vec<u8>> {
    let content = std::fs::read(path)?;
    note_read(path, &content);
    Ok(content)
}

/// A file that was read and not yet understood.
#[derive(Debug, Clone)]
pub struct Input {
    /// Its name, for messages.
    pub name: String,
    content: Vec<u8>,
}

impl Input {
    /// Reads the file at `path`, or stdin where it is `-`.
    pub fn read(path: &Path) -> Result<Input, StudyError> {
        if path == Path::new("-") {
            let input = Input::from("stdin".to_owned(), std::io::stdin().lock(), LARGEST_STREAM)?;
            note_read(path, &input.content);
            return Ok(input);
        }
        let failed = |source| StudyError::read(path, source);
        let file = std::fs::File::open(path).map_err(failed)?;
        let regular = file.metadata().map_err(failed)?.is_file();
        let most = if regular { LARGEST } else { LARGEST_STREAM };
        let input = Input::from(path.display().to_string(), file, most)?;
        note_read(path, &input.content);
        Ok(input)
    }

    fn from(name: String, from: impl Read, most: u64) -> Result<Input, StudyError> {
        let mut content = Vec::new();
        let read = from.take(most + 1).read_to_end(&mut content);
        match read {
            Ok(_) if content.len() as u64 > most => Err(StudyError::Content {
                path: name,
                expected: "a file that can be read",
                problem: format!("it is larger than {}, or endless", Bytes::of(most.into())),
            }),
            Ok(_) => Ok(Input { name, content }),
            Err(source) => Err(StudyError::Read { path: name, source }),
        }
    }

    /// Reads the file at `path`, which may have up to `most` bytes.
    pub fn read_up_to(path: &Path, most: u64) -> Result<Input, StudyError> {
        let file = std::fs::File::open(path).map_err(|source| StudyError::read(path, source))?;
        let input = Input::from(path.display().to_string(), file, most)?;
        note_read(path, &input.content);
        Ok(input)
    }

    /// A content that is already here.
    pub fn of(name: &str, content: Vec<u8>) -> Input {
        Input {
            name: name.to_owned(),
            content,
        }
    }

    /// Its content as text.
    pub fn text(&self) -> Result<&str, StudyError> {
        std::str::from_utf8(&self.content).map_err(|error| StudyError::Read {
            path: self.name.clone(),
            source: io::Error::new(io::ErrorKind::InvalidData, error),
        })
    }

    /// Whether the JSON in it is a list.
    pub fn is_list(&self) -> bool {
        self.content.trim_ascii_start().first() == Some(&b'[')
    }

    /// Reads the JSON in it; `expected` says what it should be, with its form.
    pub fn json<T: DeserializeOwned>(&self, expected: &'static str) -> Result<T, StudyError> {
        serde_json::from_slice(&self.content)
            .map_err(|problem| self.is_not(expected, plain(&problem)))
    }

    /// Reads the JSON values in it, one after the other, such as JSON Lines. A key that stands twice
    /// in one object is refused.
    pub fn values(&self, expected: &'static str) -> Result<Vec<Value>, StudyError> {
        let values = serde_json::Deserializer::from_slice(&self.content).into_iter();
        values
            .map(|value| value.map(|Unique(value)| value))
            .collect::<Result<_, serde_json::Error>>()
            .map_err(|problem| self.is_not(expected, plain(&problem)))
    }

    /// Reads the JSON object in it. What derives `Deserialize` would take the list of its fields
    /// as well.
    pub fn object<T: DeserializeOwned>(&self, expected: &'static str) -> Result<T, StudyError> {
        if self.is_list() {
            self.json::<HashMap<String, IgnoredAny>>(expected)?;
        }
        self.json(expected)
    }

    /// The error that says what is wrong with the content.
    pub fn is_not(&self, expected: &'static str, problem: String) -> StudyError {
        StudyError::Content {
            path: self.name.clone(),
            expected,
            problem,
        }
    }
}

/// What serde says, without the types of the program, which a user does not know.
pub fn plain(problem: &serde_json::Error) -> String {
    let mut text = problem.to_string();
    for (whole, most) in [("u16", u16::MAX.into()), ("u32", u32::MAX)] {
        let range = format!("expected a whole number from 0 to {most}");
        text = text.replace(&format!("expected {whole}"), &range);
    }
    for whole in ["u64", "usize"] {
        let natural = "expected a whole number of at least 0";
        text = text.replace(&format!("expected {whole}"), natural);
    }
    text.replace("expected i64", "expected a whole number")
        .replace("expected f64", "expected a number")
}
