//! Tells a user's mistakes from other failures and reports either.

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use foldglass::class::ClassError;
use foldglass::gauge::GaugeError;
use foldglass::landscape::census::CensusError;
use foldglass::policy::TableError;
use foldglass::quasigroup::SquareError;
use foldglass::task::TaskError;
use thiserror::Error;

/// Why a command ends without its report.
#[derive(Debug, Error)]
pub enum Error {
    /// The command line cannot be read.
    #[error("{0}")]
    Usage(String),
    /// There is no such task.
    #[error("--task {name}: {source}{file}", file = match .source {
        SquareError::UnknownName { .. } => "; or a table in a file: file:PATH, PATH.json",
        _ => "",
    })]
    TaskName {
        /// The name as typed.
        name: String,
        /// What is wrong with it.
        source: SquareError,
    },
    /// A file's table is not a Latin square.
    #[error("--task {path}: {source}")]
    TaskFile {
        /// The file.
        path: String,
        /// What is wrong with its table.
        source: SquareError,
    },
    /// A flag holds what the task refuses.
    #[error("{flag}: {source}")]
    Task {
        /// The flag as typed.
        flag: String,
        /// What is wrong with its value.
        source: TaskError,
    },
    /// The class is refused.
    #[error("{0}{limit}", limit = match .0 {
        ClassError::TooLarge { .. } => " (--max-memory sets the limit)",
        _ => "",
    })]
    Class(#[from] ClassError),
    /// The codes of a class are not enumerated.
    #[error("{0}{limit}", limit = match .0 {
        CensusError::TooLarge(_) => " (--max-memory sets the limit)",
        _ => "",
    })]
    Census(#[from] CensusError),
    /// A file cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {path}: {source}")]
    Write {
        /// The file.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// A file is not the JSON it should be.
    #[error("{path} is not {expected}: {problem}")]
    Content {
        /// The file.
        path: String,
        /// What it should be, with its form.
        expected: &'static str,
        /// What is wrong, and where.
        problem: String,
    },
    /// A file's table does not fit the class.
    #[error("{path}: {source}")]
    Table {
        /// The file.
        path: String,
        /// What does not fit.
        source: TableError,
    },
    /// A file's permutations are no relabelling of the class.
    #[error("{path}: {source}")]
    Relabelling {
        /// The file.
        path: String,
        /// What does not fit.
        source: GaugeError,
    },
    /// A study, or what is kept of one, is refused.
    #[error("{place}: {problem}")]
    Study {
        /// The file, or the part of it.
        place: String,
        /// What is wrong, and where.
        problem: String,
    },
    /// What was computed cannot be kept.
    #[error(
        "cannot write {path}: {source}; all runs recorded so far are safe, and the same command goes on"
    )]
    Keep {
        /// The file or directory.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// Something that should hold does not.
    #[error("{0}")]
    Failed(String),
    /// The user stopped it; the message says how to go on.
    #[error("{0}")]
    Stopped(String),
    /// The user stopped it; what was done until then is reported.
    #[error("interrupted: only what was finished is reported")]
    Interrupted,
    /// The report cannot be written.
    #[error("cannot write to stdout: {0}")]
    Output(io::Error),
}

impl Error {
    /// Writes the message to stderr, as one line, and gives the exit code: 2 for a user's mistake,
    /// 1 for another failure. A reader that has seen enough (`| head`) is none, and goes unsaid.
    pub fn report(&self) -> ExitCode {
        let code = match self {
            Error::Output(error) if error.kind() == ErrorKind::BrokenPipe => {
                return ExitCode::SUCCESS;
            }
            Error::Output(_) => 1,
            Error::Write { source, .. } if source.kind() == ErrorKind::StorageFull => 1,
            Error::Keep { .. } | Error::Failed(_) => 1,
            Error::Interrupted | Error::Stopped(_) => 130,
            _ => 2,
        };
        let message = self.to_string().replace(['\n', '\r'], " ");
        // Where stderr is gone too, the exit code is all that is left to say it.
        let _ = writeln!(io::stderr(), "foldglass: error: {message}");
        ExitCode::from(code)
    }
}
