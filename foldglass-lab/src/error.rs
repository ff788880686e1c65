//! Tells a user's mistakes from other failures and reports either.
//!
//! Errors of the libraries know nothing of flags; here they get their names.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use foldglass::class::SpecError;
use foldglass::gauge::GaugeError;
use foldglass::landscape::census::CensusError;
use foldglass::task::TaskError;
use foldglass_study as study;
use thiserror::Error;

/// Why a command ends without its report.
#[derive(Debug, Error)]
pub enum Error {
    /// The command line cannot be read.
    #[error("{0}")]
    Usage(String),
    /// A class, a study or a file is refused or fails.
    #[error("{}", named(.0))]
    Study(Box<study::Error>),
    /// A file's permutations are no relabelling of the class.
    #[error("{path}: {source}")]
    Relabelling {
        /// The file.
        path: String,
        /// What does not fit.
        source: GaugeError,
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

impl<E: Into<study::Error>> From<E> for Error {
    fn from(error: E) -> Error {
        Error::Study(Box::new(error.into()))
    }
}

/// What a library says, with the flag that is meant.
fn named(error: &study::Error) -> String {
    use study::Error as E;
    match error {
        E::Square { .. } | E::Inputs { .. } => format!("--{error}"),
        E::Spec(SpecError::Task(TaskError::Inputs(error))) => format!("--inputs: {error}"),
        E::Spec(SpecError::Task(error)) => format!("--lengths: {error}"),
        E::Spec(SpecError::TooWide(_)) => format!("--window, --memory: {error}"),
        E::Spec(SpecError::TooLarge(error)) | E::TooLarge(error) => limited(error),
        E::PartTooLarge { .. } => limited(error),
        E::Count(error) => format!("--lengths: {error}"),
        E::Several { path, .. } if path == "stdin" => {
            format!("{error} (of stdin as in --code=-#0)")
        }
        E::Census(error @ CensusError::Tied) => format!("--tied: {error}, by `certify`"),
        E::Locked { path } => format!(
            "another foldglass is writing {path}: let it finish, or choose another --out or --shard"
        ),
        other => other.to_string(),
    }
}

fn limited(error: &impl Display) -> String {
    format!("{error} (--max-memory sets the limit)")
}

/// The exit code of a directory that another process works in.
const LOCKED: u8 = 3;

impl Error {
    /// Writes the message to stderr, as one line, and gives the exit code: 2 for a user's mistake,
    /// 1 for another failure. A reader that has seen enough (`| head`) is none, and goes unsaid.
    pub fn report(&self) -> ExitCode {
        use study::Error as E;
        let code = match self {
            Error::Output(error) if error.kind() == ErrorKind::BrokenPipe => {
                return ExitCode::SUCCESS;
            }
            Error::Output(_) | Error::Failed(_) => 1,
            Error::Study(error) => match &**error {
                E::Write { source, .. } if source.kind() == ErrorKind::StorageFull => 1,
                E::Keep { .. } | E::Failed(_) => 1,
                E::Locked { .. } => LOCKED,
                _ => 2,
            },
            Error::Interrupted | Error::Stopped(_) => 130,
            _ => 2,
        };
        let message = self.to_string().replace(['\n', '\r'], " ");
        // Where stderr is gone too, the exit code is all that is left to say it.
        let _ = writeln!(io::stderr(), "foldglass: error: {message}");
        ExitCode::from(code)
    }
}
