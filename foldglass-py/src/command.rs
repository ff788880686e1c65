//! Calls the command line: as the program, or for its answer.

use std::ffi::OsString;

use pyo3::prelude::*;

use crate::error;
use crate::watch::watched;

/// Runs the program with these arguments, its name first, and gives the exit code.
#[pyfunction]
pub fn main(py: Python<'_>, args: Vec<OsString>) -> u8 {
    py.detach(|| foldglass_cli::run_program(args))
}

/// Runs a command and gives the JSON that `--json` prints. Where it was stopped, what was reported
/// until then, if anything, comes with the error as its `partial`.
#[pyfunction]
#[pyo3(signature = (args, progress=None))]
pub fn answer(
    py: Python<'_>,
    args: Vec<OsString>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let ((written, end), stopped) = watched(py, progress, |watch| {
        let host: std::sync::Arc<dyn foldglass_cli::Host> = watch;
        foldglass_cli::answer(args, host)
    });
    let text = String::from_utf8_lossy(&written).into_owned();
    let error = match (end, stopped) {
        (Ok(()), None) => return Ok(text),
        (_, Some(stopped)) => stopped,
        (Err(error), None) => error::of(error),
    };
    if !text.is_empty() {
        error.value(py).setattr("partial", text)?;
    }
    Err(error)
}
