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
        serde_json::from_slice(&self.content)
            .map_err(|problem| self.is_not(expected, plain(&problem)))
    }

    /// Reads the JSON values in it, one after the other, such as JSON Lines.
    pub fn values<T: DeserializeOwned>(&self, expected: &'static str) -> Result<Vec<T>, Error> {
        let values = serde_json::Deserializer::from_slice(&self.content).into_iter();
        values
            .collect::<Result<_, serde_json::Error>>()
            .map_err(|problem| self.is_not(expected, plain(&problem)))
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

/// What serde says, without the types of the program, which a user does not know.
fn plain(problem: &serde_json::Error) -> String {
    let problem = problem.to_string();
    problem
        .replace("expected i64", "expected a whole number")
        .replace("expected f64", "expected a number")
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

const CODES: &str = "a file of codes ({\"actions\":[..]}, {\"codes\":[{\"actions\":[..]},..]}, \
                     what `chain --json` or `cavi --json --actions` prints, records of chains with \
                     keep_code, or lines of these)";

/// What holds one code or several, whatever else it holds.
#[derive(Deserialize)]
struct CodesFile {
    actions: Option<Vec<i64>>,
    codes: Option<Vec<Coded>>,
    chains: Option<Vec<Coded>>,
    runs: Option<Vec<Trained>>,
    /// A record of a study.
    result: Option<Recorded>,
}

#[derive(Deserialize)]
struct Recorded {
    chain: Option<Kept>,
}

#[derive(Deserialize)]
struct Kept {
    actions: Option<Vec<i64>>,
}

#[derive(Deserialize)]
struct Coded {
    actions: Vec<i64>,
}

#[derive(Deserialize)]
struct Trained {
    greedy: Option<Vec<i64>>,
}

/// Reads the codes of the class from the file at `path`, or from stdin where it is `-`.
pub fn codes(path: &Path, class: &Class) -> Result<Vec<Code>, Error> {
    let file = File::at_or_stdin(path)?;
    let mut lists: Vec<Vec<i64>> = Vec::new();
    if file.is_list() {
        return Err(file.is_not(CODES, "it is a list".to_owned()));
    }
    for value in file.values::<CodesFile>(CODES)? {
        let coded = [value.codes, value.chains].into_iter().flatten().flatten();
        lists.extend(
            value
                .actions
                .into_iter()
                .chain(coded.map(|code| code.actions)),
        );
        if let Some(chain) = value.result.and_then(|result| result.chain) {
            let without = || "a chain has no code: its study needs keep_code = true".to_owned();
            lists.push(chain.actions.ok_or_else(|| file.is_not(CODES, without()))?);
        }
        for run in value.runs.into_iter().flatten() {
            let without = || "its runs have no \"greedy\": run `cavi` with --actions".to_owned();
            lists.push(run.greedy.ok_or_else(|| file.is_not(CODES, without()))?);
        }
    }
    if lists.is_empty() {
        return Err(file.is_not(CODES, "it holds no code".to_owned()));
    }
    let code = |actions: &Vec<i64>| {
        Code::new(class, actions).map_err(|source| Error::Table {
            path: file.name.clone(),
            source,
        })
    };
    lists.iter().map(code).collect()
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
