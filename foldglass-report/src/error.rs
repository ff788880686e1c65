//! Tells a user's mistakes from other failures and reports either.
//!
//! Errors of the libraries know nothing of flags; here they get their names.

use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal, Write};

use foldglass::landscape::census::CensusError;
use foldglass::landscape::gauge::GaugeError;
use foldglass::model::class::SpecError;
use foldglass::model::task::TaskError;
use foldglass_study as study;
use thiserror::Error;

/// Why a command ends without its report.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The command line cannot be read.
    #[error("{0}")]
    Usage(String),
    /// A class, a study or a file is refused or fails.
    #[error("{}", named(.0))]
    Study(Box<study::StudyError>),
    /// A file's permutations are not a relabelling of the class.
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
    /// The user stopped it; the message says how to resume.
    #[error("{0}")]
    Stopped(String),
    /// The user stopped it; what was done until then is reported.
    #[error("interrupted: only what was finished is reported")]
    Interrupted,
    /// The report cannot be written.
    #[error("cannot write to stdout: {0}")]
    Output(io::Error),
}

/// The user stopped the forecast of a study.
pub fn stopped_trial() -> Error {
    Error::Stopped("stopped while the dynamics were tried out".to_owned())
}

impl<E: Into<study::StudyError>> From<E> for Error {
    fn from(error: E) -> Error {
        Error::Study(Box::new(error.into()))
    }
}

/// What a library says, with the flag that is meant.
fn named(error: &study::StudyError) -> String {
    use study::StudyError as E;
    match error {
        E::Square { .. } | E::Inputs { .. } => format!("--{error}"),
        E::Spec(SpecError::Task(TaskError::Inputs(error))) => format!("--inputs: {error}"),
        E::Spec(SpecError::Task(error @ TaskError::LengthWeights { .. })) => {
            format!("--length-weights: {error}")
        }
        E::Spec(SpecError::Task(
            error @ (TaskError::ProcessLengths(_) | TaskError::StepWeights { .. }),
        )) => format!("--reward: {error}"),
        E::Spec(SpecError::Task(error)) => format!("--lengths: {error}"),
        E::Spec(SpecError::TooWide(_)) => format!("--window, --memory: {error}"),
        E::Spec(SpecError::TooLarge(error)) | E::TooLarge(error) => limited(error),
        E::PartTooLarge { .. } => limited(error),
        E::Count(error) => format!("--lengths: {error}"),
        E::Several { path, .. } if path == "stdin" => {
            format!("{error} (of stdin as in --code=-#0)")
        }
        E::Census(error @ CensusError::Tied) => {
            format!(
                "--tied: {error}; `tree` visits all codes of small ones, `certify` decides single codes"
            )
        }
        E::Census(error @ CensusError::TooMany { .. }) => {
            format!(
                "{error}; `benign` answers whether there are traps, `certify` decides single codes"
            )
        }
        E::Locked { path } => format!(
            "another foldglass is writing {path}: let it finish, or choose another --out or --shard"
        ),
        other => other.to_string(),
    }
}

fn limited(error: &impl Display) -> String {
    format!("{error} (--max-memory sets the limit)")
}

/// What kind of failure an error is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A mistake in what was asked.
    Mistake,
    /// It needs more memory than is allowed: a mistake, too.
    TooLarge,
    /// A check failed, or the machine did.
    Failure,
    /// Another process works in the directory.
    Locked,
    /// The user stopped it.
    Stopped,
    /// The reader has seen enough (`| head`): none.
    Unread,
}

impl Fault {
    /// The exit code.
    fn code(self) -> u8 {
        match self {
            Fault::Unread => 0,
            Fault::Failure => 1,
            Fault::Mistake | Fault::TooLarge => 2,
            Fault::Locked => 3,
            Fault::Stopped => 130,
        }
    }
}

impl Error {
    /// What kind of failure it is.
    pub fn fault(&self) -> Fault {
        use study::StudyError as E;
        match self {
            Error::Output(error) if error.kind() == ErrorKind::BrokenPipe => Fault::Unread,
            Error::Output(_) | Error::Failed(_) => Fault::Failure,
            Error::Study(error) => match &**error {
                E::Write { source, .. } if source.kind() == ErrorKind::StorageFull => {
                    Fault::Failure
                }
                E::Keep { .. } | E::Failed(_) => Fault::Failure,
                E::Locked { .. } => Fault::Locked,
                E::TooLarge(_) | E::PartTooLarge { .. } | E::Spec(SpecError::TooLarge(_)) => {
                    Fault::TooLarge
                }
                _ => Fault::Mistake,
            },
            Error::Interrupted | Error::Stopped(_) => Fault::Stopped,
            _ => Fault::Mistake,
        }
    }

    /// The line of a study's file that is meant, with a caret.
    fn excerpt(&self) -> Option<&str> {
        match self {
            Error::Study(error) => match &**error {
                study::StudyError::Study { excerpt, .. } => excerpt.as_deref(),
                _ => None,
            },
            _ => None,
        }
    }

    /// Writes the message to stderr, as one line, and gives the exit code. On a terminal the line of a study's file
    /// follows, with a caret below the mistake.
    pub fn report(&self) -> u8 {
        let fault = self.fault();
        if fault != Fault::Unread {
            let message = self.to_string().replace(['\n', '\r'], " ");
            // Where stderr is gone too, the exit code is all that is left to say it.
            let _ = writeln!(io::stderr(), "foldglass: error: {message}");
            if let (Some(excerpt), true) = (self.excerpt(), io::stderr().is_terminal()) {
                let _ = writeln!(io::stderr(), "{excerpt}");
            }
        }
        fault.code()
    }
}
