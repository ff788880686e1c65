//! Gives moments of sampled gradients, objectives and the successes of single inputs as arrays.

use foldglass::reward::estimators::{Estimator, EstimatorError, SampledNumber, moments};
use foldglass::reward::objectives::{self, Utility};
use foldglass::reward::per_input as successes;
use foldglass::reward::ways::MOST_INPUTS;
use foldglass::{Context, Symbol};
use foldglass_cli::allowance;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error;
use crate::evaluate::Policy;
use crate::watch::watched;

fn stopped() -> PyErr {
    PyKeyboardInterrupt::new_err("interrupted: nothing is reported")
}

/// Refuses rewards of other tokens than the last.
fn check_reward(policy: &foldglass::Policy, what: &str) -> PyResult<()> {
    let reward = policy.class().task().reward();
    match reward.is_final() {
        true => Ok(()),
        false => Err(error::refused(format!(
            "{what} is about the last token of each input: the reward {reward} is not supported here"
        ))),
    }
}

/// Rows as an array (cells, q).
fn rows_of<'py>(
    py: Python<'py>,
    policy: &foldglass::Policy,
    entries: Vec<f64>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let class = policy.class();
    PyArray1::from_vec(py, entries).reshape([class.cells(), class.q()])
}

/// f'(p) of an estimator at successes, where its expectation is the gradient of the mean of f(p(x)).
#[pyfunction]
pub fn estimator_slope(name: &str, successes: Vec<f64>) -> PyResult<Vec<f64>> {
    let estimator: Estimator = name.parse().map_err(error::refused)?;
    Ok(successes.into_iter().map(|p| estimator.slope(p)).collect())
}

/// The moments of an estimator: arrays (cells, q), numbers, intervals where inputs were drawn.
#[pyfunction]
#[pyo3(signature = (policy, name, batch, seed=0, progress=None))]
pub fn estimator<'py>(
    py: Python<'py>,
    policy: &Policy,
    name: &str,
    batch: u32,
    seed: u64,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let estimator: Estimator = name.parse().map_err(error::refused)?;
    let memory = allowance(policy.max_memory(py).as_deref()).map_err(error::refused)?;
    let (found, interrupted) = watched(py, progress, |watch| {
        let context = Context::default().with_memory(memory);
        moments(
            &policy.policy,
            estimator,
            batch,
            seed,
            context.with_observer(&*watch),
        )
    });
    if let Some(error) = interrupted {
        return Err(error);
    }
    let found = found.map_err(|error| match error {
        EstimatorError::TooLarge(error) => error::too_large(&error),
        EstimatorError::Stopped(_) => stopped(),
        other => error::refused(other),
    })?;
    let given = PyDict::new(py);
    given.set_item("signal", found.signal())?;
    given.set_item("bias", found.bias())?;
    given.set_item("cosine", found.cosine())?;
    given.set_item("total_variance", found.trace())?;
    given.set_item("snr", found.snr())?;
    given.set_item("mean_by", found.mean_by.name())?;
    given.set_item("variance_by", found.variance_by.name())?;
    if let Some(sampled) = found.sampled {
        let intervals = PyDict::new(py);
        let numbers = [
            ("signal", sampled.signal),
            ("bias", sampled.bias),
            ("cosine", sampled.cosine),
            ("total_variance", Some(sampled.variance)),
            ("snr", sampled.snr),
        ];
        for (name, number) in numbers {
            if let Some(SampledNumber { interval, .. }) = number {
                intervals.set_item(name, (interval.low, interval.high))?;
            }
        }
        given.set_item("intervals", intervals)?;
        given.set_item("inputs_drawn", sampled.inputs)?;
    }
    given.set_item("mean", rows_of(py, &policy.policy, found.mean())?)?;
    given.set_item("gradient", rows_of(py, &policy.policy, found.gradient)?)?;
    given.set_item("variance", rows_of(py, &policy.policy, found.variance)?)?;
    Ok(given)
}

/// An objective, its derivative by the rows, how it was computed, and its interval where inputs were drawn.
type Objective<'py> = (
    f64,
    Bound<'py, PyArray2<f64>>,
    &'static str,
    Option<(f64, f64)>,
);

/// The mean over inputs of a function of their success.
#[pyfunction]
#[pyo3(signature = (policy, name, seed=0, progress=None))]
pub fn objective<'py>(
    py: Python<'py>,
    policy: &Policy,
    name: &str,
    seed: u64,
    progress: Option<Py<PyAny>>,
) -> PyResult<Objective<'py>> {
    let utility: Utility = name.parse().map_err(error::refused)?;
    check_reward(&policy.policy, "objective")?;
    let memory = allowance(policy.max_memory(py).as_deref()).map_err(error::refused)?;
    let (found, interrupted) = watched(py, progress, |watch| {
        let context = Context::default().with_memory(memory);
        objectives::objective(
            &policy.policy,
            utility,
            seed,
            context.with_observer(&*watch),
        )
    });
    if let Some(error) = interrupted {
        return Err(error);
    }
    let found = found.map_err(|_| stopped())?;
    let interval = found.interval.map(|interval| (interval.low, interval.high));
    let values = rows_of(py, &policy.policy, found.values)?;
    Ok((found.value, values, found.by.name(), interval))
}

/// Inputs, probabilities and successes.
type Successes<'py> = (
    Bound<'py, PyArray2<i16>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
);

/// Every input (inputs, longest length), filled up by -1, its probability and its success.
#[pyfunction]
pub fn per_input<'py>(py: Python<'py>, policy: &Policy) -> PyResult<Successes<'py>> {
    let class = policy.policy.class();
    check_reward(&policy.policy, "per_input")?;
    let count = match successes::inputs(class) {
        Some(count) if count <= MOST_INPUTS => count as usize,
        count => {
            let count = count.map_or("2^64 or more".to_owned(), |n| n.to_string());
            return Err(error::refused(format!(
                "per_input takes every input on its own, and this class has {count}: at most {MOST_INPUTS} are \
                 accepted"
            )));
        }
    };
    let longest = class.task().longest();
    let symbol = |x: &Symbol| i16::try_from(*x).map_err(error::refused);
    symbol(&((class.q() - 1) as Symbol))?;
    let (inputs, probability, success) = py.detach(|| {
        let mut inputs = vec![-1i16; count * longest];
        let (mut probability, mut success) = (Vec::with_capacity(count), Vec::with_capacity(count));
        successes::for_each(&policy.policy, |x, chance, p| {
            let row = &mut inputs[success.len() * longest..][..x.len()];
            row.iter_mut().zip(x).for_each(|(to, x)| *to = *x as i16);
            probability.push(chance);
            success.push(p);
        });
        (inputs, probability, success)
    });
    Ok((
        PyArray1::from_vec(py, inputs).reshape([count, longest])?,
        PyArray1::from_vec(py, probability),
        PyArray1::from_vec(py, success),
    ))
}
