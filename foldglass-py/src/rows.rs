//! Takes tables of probabilities in f64 or f32 as rows of policies, and divides rows by their sums (paper, section 2.2).

use foldglass::model::policy::{ROW_TOLERANCE, TableError};
use numpy::{PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;
use std::ops::Range;

/// Rows that sum to 1 within this are taken as they are: it is above what rounding does to a sum of f64, so a row that
/// was divided by its sum is never divided again.
const ROUNDING: f64 = 1e-12;

/// A contiguous array of probabilities.
#[derive(FromPyObject)]
pub enum Probabilities<'py> {
    Double(PyReadonlyArrayDyn<'py, f64>),
    Single(PyReadonlyArrayDyn<'py, f32>),
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

/// The entries of such an array, or of a part of it.
#[derive(Clone, Copy)]
pub enum Entries<'a> {
    Double(&'a [f64]),
    Single(&'a [f32]),
}

impl Entries<'_> {
    /// A part of them.
    pub fn part(&self, range: Range<usize>) -> Entries<'_> {
        match self {
            Entries::Double(entries) => Entries::Double(&entries[range]),
            Entries::Single(entries) => Entries::Single(&entries[range]),
        }
    }

    /// J of the policy with these rows, which may miss 1 by `tolerance`; `room` is written over.
    pub fn evaluate(
        self,
        evaluator: &mut foldglass::Evaluator,
        tolerance: f64,
        room: &mut Vec<f64>,
    ) -> Result<f64, String> {
        if let Entries::Double(rows) = self
            && let Ok(reward) = evaluator.evaluate_rows(rows, ROUNDING)
        {
            return Ok(reward);
        }
        self.normalize_into(evaluator.class().q(), tolerance, room)?;
        let reward = evaluator.evaluate_rows(room, ROW_TOLERANCE);
        reward.map_err(|error| error.to_string())
    }

    /// The policy with these rows.
    pub fn policy(
        self,
        class: &foldglass::Class,
        tolerance: f64,
    ) -> Result<foldglass::Policy, String> {
        let mut rows = Vec::new();
        self.normalize_into(class.q(), tolerance, &mut rows)?;
        foldglass::Policy::from_flat(class, &rows).map_err(|error| error.to_string())
    }

    /// Writes the rows in f64, each divided by its sum where that misses 1 by more than rounding.
    fn normalize_into(self, q: usize, tolerance: f64, rows: &mut Vec<f64>) -> Result<(), String> {
        rows.clear();
        match self {
            Entries::Double(entries) => rows.extend_from_slice(entries),
            Entries::Single(entries) => rows.extend(entries.iter().map(|&p| f64::from(p))),
        }
        for (cell, row) in rows.chunks_exact_mut(q).enumerate() {
            let sum: f64 = row.iter().sum();
            let off = (sum - 1.0).abs();
            if off <= ROUNDING && row.iter().all(|&p| p >= 0.0) {
                continue;
            }
            let allowed = 0.0..=1.0 + tolerance;
            if let Some(action) = row.iter().position(|p| !allowed.contains(p)) {
                let value = row[action];
                let error = TableError::NoProbability {
                    cell,
                    action,
                    value,
                };
                return Err(error.to_string());
            }
            if off > tolerance {
                return Err(misses(cell, sum, tolerance));
            }
            row.iter_mut().for_each(|p| *p /= sum);
        }
        Ok(())
    }
}

/// What is wrong with a row that sums to something else than 1, and what to do.
fn misses(cell: usize, sum: f64, tolerance: f64) -> String {
    let side = if sum > 1.0 { "above" } else { "below" };
    let off = (sum - 1.0).abs();
    format!(
        "the row of cell {cell} sums to {sum}, {off:.1e} {side} 1: rows of this dtype may miss 1 by {tolerance:e}; \
         divide each by its sum, rows / rows.sum(-1, keepdims=True)"
    )
}
