//! Says why a study, a file or a census is refused or fails.

use std::io;
use std::path::{Path, PathBuf};

use foldglass::landscape::census::CensusError;
use foldglass::model::class::{ClassSpec, SpecError};
use foldglass::model::operation::OperationError;
use foldglass::model::policy::TableError;
use foldglass::proof::check::CheckError;
use foldglass::proof::claim::ClaimError;
use foldglass::reward::count::CountError;
use foldglass::support::memory::TooLarge;
use thiserror::Error;

/// Why something is refused or fails.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StudyError {
    /// No such task.
    #[error("task {name}: {source}{file}", file = match .source {
        OperationError::UnknownName { .. } => "; or a table in a file: file:PATH, PATH.json",
        _ => "",
    })]
    Square {
        /// The name or the file.
        name: String,
        /// What is wrong with it.
        source: OperationError,
    },
    /// No law of the inputs.
    #[error("inputs {given}: {problem}")]
    Inputs {
        /// What was given.
        given: String,
        /// What is accepted.
        problem: String,
    },
    /// No class.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// More memory than allowed.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// The codes of a class are not enumerated.
    #[error(transparent)]
    Census(CensusError),
    /// Rewards that are not counted.
    #[error(transparent)]
    Count(CountError),
    /// A file that cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// A file that cannot be written.
    #[error("cannot write {path}: {source}")]
    Write {
        /// The file.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// What was computed cannot be kept.
    #[error(
        "cannot write {path}: {source}; all runs recorded so far are safe, and the same command resumes"
    )]
    Keep {
        /// The file or directory.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// A content that is not what it should be.
    #[error("{path} is not {expected}: {problem}")]
    Content {
        /// The file.
        path: String,
        /// What it should be, with its form.
        expected: &'static str,
        /// What is wrong, and where.
        problem: String,
    },
    /// A table that does not fit the class.
    #[error("{path}: {source}")]
    Table {
        /// The file.
        path: String,
        /// What does not fit.
        source: TableError,
    },
    /// A file of several tables where one is needed.
    #[error("{path} holds {count}: FILE#N takes one of them, #0 to #{}", count - 1)]
    Several {
        /// The file.
        path: String,
        /// How many it holds.
        count: usize,
    },
    /// Tables of another class than the one they are needed for.
    #[error("{path} is of {own}, and what is needed is of {needed}")]
    OtherClass {
        /// The file.
        path: String,
        /// Its class.
        own: Box<ClassSpec>,
        /// The class that is needed.
        needed: Box<ClassSpec>,
    },
    /// A claim that is none.
    #[error("{path} is not a claim: {source}")]
    Claim {
        /// The file.
        path: String,
        /// What is wrong.
        source: Box<ClaimError>,
    },
    /// A claim that cannot be checked here.
    #[error("{path}: {source}")]
    Check {
        /// The file.
        path: String,
        /// Why.
        source: CheckError,
    },
    /// A study, or what is kept of one, is refused.
    #[error("{place}: {problem}")]
    Study {
        /// The file, or the part of it.
        place: String,
        /// What is wrong, and where.
        problem: String,
        /// The line of the file, with a caret below the place, where the problem has one.
        excerpt: Option<String>,
    },
    /// A part of a study or of a file that needs more memory than allowed.
    #[error("{place}: {source}")]
    PartTooLarge {
        /// The file, or the study, the line and the table.
        place: String,
        /// How much.
        source: TooLarge,
    },
    /// Another process works on the same file.
    #[error(
        "another foldglass is writing {path}: let it finish, or choose another directory or shard"
    )]
    Locked {
        /// The file.
        path: String,
    },
    /// Something that should hold does not.
    #[error("{0}")]
    Failed(String),
}

impl From<CensusError> for StudyError {
    fn from(error: CensusError) -> StudyError {
        match error {
            CensusError::TooLarge(error) => StudyError::TooLarge(error),
            other => StudyError::Census(other),
        }
    }
}

impl From<CountError> for StudyError {
    fn from(error: CountError) -> StudyError {
        match error {
            CountError::TooLarge(error) => StudyError::TooLarge(error),
            other => StudyError::Count(other),
        }
    }
}

impl StudyError {
    /// Of a file that cannot be read.
    pub fn read(path: &Path, source: io::Error) -> StudyError {
        StudyError::Read {
            path: path.display().to_string(),
            source,
        }
    }

    /// Of a file that cannot be written.
    pub fn write(path: &Path, source: io::Error) -> StudyError {
        StudyError::Write {
            path: path.display().to_string(),
            source,
        }
    }

    /// Of a file that keeps results.
    pub fn keep(path: &Path, source: io::Error) -> StudyError {
        StudyError::Keep {
            path: path.display().to_string(),
            source,
        }
    }

    /// Of a directory or a file of a study.
    pub fn study(place: impl Into<PathBuf>, problem: String) -> StudyError {
        StudyError::Study {
            place: place.into().display().to_string(),
            problem,
            excerpt: None,
        }
    }
}
