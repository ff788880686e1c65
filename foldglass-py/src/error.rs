//! Turns errors into Python's, with the messages of the command line.

use foldglass::model::class::SpecError;
use foldglass::support::memory::TooLarge;
use foldglass_cli::Fault;
use pyo3::PyErr;
use pyo3::create_exception;
use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyRuntimeError, PyValueError};

create_exception!(
    foldglass,
    FoldglassError,
    PyRuntimeError,
    "Something that should hold does not, or the machine failed: a check that found a false claim, \
     a damaged file, a full disk."
);
create_exception!(
    foldglass,
    LockedError,
    FoldglassError,
    "Another process works in the directory."
);

/// An error of the command line.
pub fn of(error: foldglass_cli::Error) -> PyErr {
    let message = error.to_string();
    match error.fault() {
        Fault::Mistake | Fault::Unread => PyValueError::new_err(message),
        Fault::TooLarge => PyMemoryError::new_err(message),
        Fault::Failure => FoldglassError::new_err(message),
        Fault::Locked => LockedError::new_err(message),
        Fault::Stopped => PyKeyboardInterrupt::new_err(message),
    }
}

/// An error of the libraries.
pub fn from(error: impl Into<foldglass_study::StudyError>) -> PyErr {
    of(foldglass_cli::Error::from(error.into()))
}

/// A value that is not accepted.
pub fn refused(message: impl ToString) -> PyErr {
    PyValueError::new_err(message.to_string())
}

/// More memory than is allowed.
pub fn too_large(error: &TooLarge) -> PyErr {
    PyMemoryError::new_err(format!("{error} (max_memory sets the limit)"))
}

/// No class.
pub fn spec(error: SpecError) -> PyErr {
    match error {
        SpecError::TooLarge(error) => too_large(&error),
        other => refused(other),
    }
}
