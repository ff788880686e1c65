//! Says what the draws of chains are worth (paper, G.2).

use foldglass::support::stats::{
    Autocorrelation, effective_size_bulk, effective_size_mean, effective_size_tail,
    integrated_time, r_hat,
};
use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

/// R-hat, the effective sizes of bulk, tails and mean, and the autocorrelation time of each chain; none
/// where no chain moves or where they are too short.
type Convergence = (
    Option<f64>,
    Option<f64>,
    Option<f64>,
    Option<f64>,
    Vec<Option<f64>>,
);

/// Judges chains, of shape (chains, draws), by each other.
#[pyfunction]
pub fn convergence(draws: PyReadonlyArray2<'_, f64>) -> PyResult<Convergence> {
    let chains: Vec<&[f64]> = match draws.shape()[1] {
        0 => Vec::new(),
        length => draws.as_slice()?.chunks_exact(length).collect(),
    };
    let time = |chain: &&[f64]| match integrated_time(chain) {
        Autocorrelation::Time { tau, .. } => Some(tau),
        Autocorrelation::Frozen | Autocorrelation::TooShort { .. } => None,
    };
    Ok((
        r_hat(&chains),
        effective_size_bulk(&chains),
        effective_size_tail(&chains),
        effective_size_mean(&chains),
        chains.iter().map(time).collect(),
    ))
}
