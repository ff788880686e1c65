//! Draws inputs and rollouts as arrays (paper, section 2).

use foldglass::Context;
use foldglass::dynamics::rollouts::{
    RolloutError, RolloutInputs, SampledRollouts, sample_groups, sample_inputs,
};
use foldglass_cli::allowance;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::class::Class;
use crate::error;
use crate::evaluate::Policy;

/// Inputs, tokens, cells, log-probabilities, rewards and lengths.
type Drawn<'py> = (
    Bound<'py, PyArray2<i32>>,
    Bound<'py, PyArray2<i32>>,
    Bound<'py, PyArray2<i32>>,
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<i32>>,
);

/// What a draw for a class may take.
fn context(max_memory: Option<&str>, threads: Option<usize>) -> PyResult<Context<'static>> {
    let memory = allowance(max_memory).map_err(error::refused)?;
    let context = Context::default().with_memory(memory);
    Ok(match threads {
        None => context,
        Some(threads) => context.with_threads(threads),
    })
}

/// Inputs from the law of a class, a row for each, on all cores or on so many threads.
#[pyfunction]
#[pyo3(signature = (class_, count, seed, threads=None))]
pub fn draw_inputs<'py>(
    py: Python<'py>,
    class_: &Class,
    count: usize,
    seed: u64,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyArray2<i32>>> {
    let context = context(class_.max_memory.as_deref(), threads)?;
    let drawn = py.detach(|| sample_inputs(&class_.class, count, seed, context));
    let drawn = drawn.map_err(|error| error::too_large(&error))?;
    let longest = class_.class.task().longest();
    drawn.into_pyarray(py).reshape([count, longest])
}

/// Rollouts of a policy, a row for each and `group` on each input, on all cores or on so many threads. Inputs are given,
/// or so many are drawn.
#[pyfunction]
#[pyo3(signature = (policy, count, seed, threads=None, group=1, inputs=None))]
pub fn draw_rollouts<'py>(
    py: Python<'py>,
    policy: &Policy,
    count: usize,
    seed: u64,
    threads: Option<usize>,
    group: usize,
    inputs: Option<PyReadonlyArray2<'py, i32>>,
) -> PyResult<Drawn<'py>> {
    let class = policy.class_(py);
    let context = context(class.bind(py).get().max_memory.as_deref(), threads)?;
    let given: Option<Vec<i32>> = inputs.map(|rows| rows.as_array().iter().copied().collect());
    let drawn = py.detach(|| {
        let inputs = match &given {
            None => RolloutInputs::Drawn(count),
            Some(rows) => RolloutInputs::Given(rows),
        };
        sample_groups(&policy.policy, inputs, group, seed, context)
    });
    let SampledRollouts {
        longest,
        inputs,
        tokens,
        cells,
        log_probs,
        rewards,
        lengths,
        ..
    } = drawn.map_err(|error| match &error {
        RolloutError::TooLarge(too_large) => error::too_large(too_large),
        _ => error::refused(error.to_string()),
    })?;
    let shape = [rewards.len(), longest];
    Ok((
        inputs.into_pyarray(py).reshape(shape)?,
        tokens.into_pyarray(py).reshape(shape)?,
        cells.into_pyarray(py).reshape(shape)?,
        log_probs.into_pyarray(py).reshape(shape)?,
        rewards.into_pyarray(py),
        lengths.into_pyarray(py),
    ))
}
