//! Reads the JSON files that flags name.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use foldglass::class::Class;
use foldglass::policy::{Code, Policy};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// A file that was read and not yet understood.
pub struct File {
    /// Its name, for messages.
    pub name: String,
    content: Vec<u8>,
}

impl File {
    /// Reads the file at `path`.
    pub fn at(path: &Path) -> Result<File, Error> {
        let name = path.display().to_string();
        match std::fs::read(path) {
            Ok(content) => Ok(File { name, content }),
            Err(source) => Err(Error::Read { path: name, source }),
        }
    }

    /// Reads the file at `path`, or stdin where it is `-`.
    pub fn at_or_stdin(path: &Path) -> Result<File, Error> {
        if path != Path::new("-") {
            return File::at(path);
        }
        let (name, mut content) = ("stdin".to_owned(), Vec::new());
        match std::io::stdin().lock().read_to_end(&mut content) {
            Ok(_) => Ok(File { name, content }),
            Err(source) => Err(Error::Read { path: name, source }),
        }
    }

    /// Whether the JSON in it is a list.
    pub fn is_list(&self) -> bool {
        self.content.trim_ascii_start().first() == Some(&b'[')
    }

    /// Reads the JSON in it; `expected` says what it should be, with its form.
    pub fn json<T: DeserializeOwned>(&self, expected: &'static str) -> Result<T, Error> {
        serde_json::from_slice(&self.content).map_err(|problem| {
            // serde names the types of the program, which a user does not know.
            let problem = problem
                .to_string()
                .replace("expected i64", "expected a whole number")
                .replace("expected f64", "expected a number");
            self.is_not(expected, problem)
        })
    }

    /// Reads the JSON object in it. What derives `Deserialize` would take the list of its fields
    /// as well.
    pub fn object<T: DeserializeOwned>(&self, expected: &'static str) -> Result<T, Error> {
        if self.is_list() {
            self.json::<HashMap<String, IgnoredAny>>(expected)?;
        }
        self.json(expected)
    }

    /// The error that says what is wrong with the content.
    pub fn is_not(&self, expected: &'static str, problem: String) -> Error {
        Error::Content {
            path: self.name.clone(),
            expected,
            problem,
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CodeFile {
    actions: Vec<i64>,
}

/// The content of a file that holds a code.
pub fn of_code(code: &Code) -> impl Serialize {
    CodeFile {
        actions: code.actions().iter().map(|&a| a.into()).collect(),
    }
}

/// Reads a code of the class from the file at `path`, or from stdin where it is `-`.
pub fn code(path: &Path, class: &Class) -> Result<Code, Error> {
    let file = File::at_or_stdin(path)?;
    let CodeFile { actions } = file.object("a code file ({\"actions\":[..]})")?;
    Code::new(class, &actions).map_err(|source| Error::Table {
        path: file.name,
        source,
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyFile {
    rows: Vec<Vec<f64>>,
}

/// Reads a policy of the class from the file at `path`, or from stdin where it is `-`.
pub fn policy(path: &Path, class: &Class) -> Result<Policy, Error> {
    let file = File::at_or_stdin(path)?;
    let PolicyFile { rows } = file.object("a policy file ({\"rows\":[[..]]})")?;
    Policy::from_rows(class, &rows).map_err(|source| Error::Table {
        path: file.name,
        source,
    })
}
