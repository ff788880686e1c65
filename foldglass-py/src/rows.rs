//! Takes tables of probabilities in f64 or f32 as rows of policies (paper, section 2.2).

use foldglass::model::policy::{Entries, TableError};
use numpy::{PyArrayDescrMethods, PyReadonlyArrayDyn, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;

/// A contiguous array of probabilities.
pub enum Probabilities<'py> {
    Double(PyReadonlyArrayDyn<'py, f64>),
    Single(PyReadonlyArrayDyn<'py, f32>),
}

impl<'a, 'py> FromPyObject<'a, 'py> for Probabilities<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Probabilities<'py>> {
        // The type decides: to try one and then the other would make an exception, which takes 6 µs.
        let is_single = object
            .cast::<PyUntypedArray>()
            .is_ok_and(|array| array.dtype().is_equiv_to(&numpy::dtype::<f32>(object.py())));
        Ok(match is_single {
            true => Probabilities::Single(object.extract()?),
            false => Probabilities::Double(object.extract()?),
        })
    }
}

impl Probabilities<'_> {
    /// Its shape.
    pub fn shape(&self) -> &[usize] {
        match self {
            Probabilities::Double(array) => array.shape(),
            Probabilities::Single(array) => array.shape(),
        }
    }

    /// Its entries.
    pub fn entries(&self) -> PyResult<Entries<'_>> {
        Ok(match self {
            Probabilities::Double(array) => Entries::Double(array.as_slice()?),
            Probabilities::Single(array) => Entries::Single(array.as_slice()?),
        })
    }
}

/// J of the policy with these rows, whose sums may miss 1 by `tolerance`.
pub fn evaluate(
    rows: Entries<'_>,
    evaluator: &mut foldglass::Evaluator,
    tolerance: f64,
) -> Result<f64, String> {
    let reward = evaluator.evaluate_rows(rows, tolerance);
    reward.map_err(|error| told(&error))
}

/// The policy with these rows, whose sums may miss 1 by `tolerance`.
pub fn policy(
    rows: Entries<'_>,
    class: &foldglass::Class,
    tolerance: f64,
) -> Result<foldglass::Policy, String> {
    foldglass::Policy::normalized(class, rows, tolerance).map_err(|error| told(&error))
}

/// What is wrong with rows; of a sum that misses 1, also what to do.
fn told(error: &TableError) -> String {
    let &TableError::RowSum {
        cell,
        sum,
        tolerance,
    } = error
    else {
        return error.to_string();
    };
    let side = if sum > 1.0 { "above" } else { "below" };
    let off = (sum - 1.0).abs();
    format!(
        "the row of cell {cell} sums to {sum}, {off:.1e} {side} 1: rows of this dtype may miss 1 by {tolerance:e}; \
         divide each by its sum, rows / rows.sum(-1, keepdims=True)"
    )
}
