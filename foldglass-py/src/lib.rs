//! Gives Python the engines as arrays, and the command line.
//!
//! What is here is private to the package: its Python side has the words, the types and the docs.
//! The heavy things (classes, policies, evaluation, runs in progress, studies) are objects over the
//! libraries; every other command is called as the command line calls it, and answers in JSON.

mod batch;
mod class;
mod command;
mod error;
mod estimators;
mod evaluate;
mod rollouts;
mod rows;
mod series;
mod stats;
mod study;
mod watch;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::batch::{evaluate_batch, objective_batch};
    #[pymodule_export]
    use crate::class::{Class, describe};
    #[pymodule_export]
    use crate::command::{answer, main};
    #[pymodule_export]
    use crate::error::{FoldglassError, LockedError};
    #[pymodule_export]
    use crate::estimators::{estimator, estimator_slope, objective, per_input};
    #[pymodule_export]
    use crate::evaluate::{Evaluator, Policy, rewards_exact};
    #[pymodule_export]
    use crate::rollouts::{draw_inputs, draw_rollouts};
    #[pymodule_export]
    use crate::series::{Series, settings};
    #[pymodule_export]
    use crate::stats::convergence;
    #[pymodule_export]
    use crate::study::{Handout, Study, gather, redeem, summarize, write_table};
    use pyo3::prelude::*;

    /// The version of the package and of what its files say.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", foldglass_study::VERSION)
    }
}
