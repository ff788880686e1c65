//! Evaluates policies and counts codes that come as arrays (paper, App. A and section 2.2).

use std::sync::{Arc, Mutex};

use foldglass::model::quasigroup::Symbol;
use foldglass::reward::count;
use foldglass_cli::allowance;
use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyArray3, PyArrayMethods, PyReadonlyArray2, PyReadonlyArray3,
    PyReadwriteArray1, PyReadwriteArray2, PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::class::Class;
use crate::error;

/// A policy. Evaluating it again at once, unchanged, costs no conversion.
#[pyclass(frozen, module = "foldglass._native")]
pub struct Policy {
    class: Py<Class>,
    pub policy: foldglass::Policy,
}

#[pymethods]
impl Policy {
    /// Takes a table of a row a cell.
    #[new]
    fn new(py: Python<'_>, class_: Py<Class>, rows: PyReadonlyArray2<'_, f64>) -> PyResult<Policy> {
        let policy = policy_of(&class_.bind(py).get().class, rows.as_slice()?, rows.shape())?;
        Ok(Policy {
            class: class_,
            policy,
        })
    }

    /// The class.
    #[getter]
    fn class_(&self, py: Python<'_>) -> Py<Class> {
        self.class.clone_ref(py)
    }

    /// The table.
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let class = self.policy.class();
        let array = PyArray2::zeros(py, [class.cells(), class.q()], false);
        self.policy.rows_into(array.readwrite().as_slice_mut()?);
        Ok(array)
    }

    /// The sum of the entropies of its rows, in nats.
    fn entropy(&self) -> f64 {
        self.policy.entropy()
    }
}

fn policy_of(
    class: &foldglass::Class,
    rows: &[f64],
    shape: &[usize],
) -> PyResult<foldglass::Policy> {
    let want = [class.cells(), class.q()];
    if shape != want {
        return Err(error::refused(format!(
            "a policy of shape {shape:?}: this class needs {want:?}, a row a cell"
        )));
    }
    foldglass::Policy::from_flat(class, rows).map_err(error::refused)
}

/// Evaluates policies of a class; takes its memory once.
#[pyclass(frozen, module = "foldglass._native")]
pub struct Evaluator {
    class: Arc<foldglass::Class>,
    evaluator: Mutex<foldglass::Evaluator>,
}

#[pymethods]
impl Evaluator {
    #[new]
    fn new(class_: &Class) -> PyResult<Evaluator> {
        let allowed = allowance(class_.max_memory.as_deref()).map_err(error::refused)?;
        let evaluator = foldglass::Evaluator::within(&class_.class, allowed);
        Ok(Evaluator {
            class: Arc::new(class_.class.clone()),
            evaluator: Mutex::new(evaluator.map_err(|error| error::too_large(&error))?),
        })
    }

    /// J of a policy; what else it came to is then read by `visits_into` and `values_into`.
    fn evaluate(&self, py: Python<'_>, policy: &Policy) -> PyResult<f64> {
        if *policy.policy.class() != *self.class {
            return Err(error::refused("the policy is of another class"));
        }
        let pool = if self.lock().uses_threads() {
            Some(pool()?)
        } else {
            None
        };
        let evaluate = || self.lock().evaluate(&policy.policy);
        Ok(py.detach(|| match pool {
            Some(pool) => pool.install(evaluate),
            None => evaluate(),
        }))
    }

    /// Writes d(c) of the policy evaluated last.
    fn visits_into(&self, mut visits: PyReadwriteArray1<'_, f64>) -> PyResult<()> {
        let want = [self.class.cells()];
        check_shape("visits", visits.shape(), &want)?;
        self.lock().visits_into(visits.as_slice_mut()?);
        Ok(())
    }

    /// Writes d(c)Q(c,a) of the policy evaluated last.
    fn values_into(&self, mut values: PyReadwriteArray2<'_, f64>) -> PyResult<()> {
        let want = [self.class.cells(), self.class.q()];
        check_shape("values", values.shape(), &want)?;
        self.lock().values_into(values.as_slice_mut()?);
        Ok(())
    }
}

impl Evaluator {
    fn lock(&self) -> std::sync::MutexGuard<'_, foldglass::Evaluator> {
        // A panic in an evaluation leaves numbers that the next one overwrites.
        self.evaluator
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

fn check_shape(what: &str, shape: &[usize], want: &[usize]) -> PyResult<()> {
    if shape == want {
        return Ok(());
    }
    Err(error::refused(format!(
        "{what} of shape {shape:?}: this class needs {want:?}"
    )))
}

/// The threads of this process. A fork has none of its parent's, and waiting for them would never end.
fn pool() -> PyResult<Arc<rayon::ThreadPool>> {
    static POOL: Mutex<Option<(u32, Arc<rayon::ThreadPool>)>> = Mutex::new(None);
    let mut pool = POOL.lock().expect("no panic while it is held");
    let here = std::process::id();
    if let Some((process, pool)) = &*pool
        && *process == here
    {
        return Ok(Arc::clone(pool));
    }
    let made = rayon::ThreadPoolBuilder::new().build();
    let made = Arc::new(made.map_err(error::refused)?);
    // What is replaced belongs to the parent: dropping it would wait for its threads.
    std::mem::forget(pool.replace((here, Arc::clone(&made))));
    Ok(made)
}

/// Policies of a batch that one evaluator does in a row.
const TOGETHER: usize = 16;

/// Rewards, visits and values of a batch.
type Evaluated<'py> = (
    Bound<'py, PyArray1<f64>>,
    Option<Bound<'py, PyArray2<f64>>>,
    Option<Bound<'py, PyArray3<f64>>>,
);

/// J of every policy of a batch, of shape (policies, cells, q), on all cores; with `full` visits and
/// values too.
#[pyfunction]
#[pyo3(signature = (class_, batch, full=false))]
pub fn evaluate_batch<'py>(
    py: Python<'py>,
    class_: &Class,
    batch: PyReadonlyArray3<'py, f64>,
    full: bool,
) -> PyResult<Evaluated<'py>> {
    let (cells, q) = (class_.class.cells(), class_.class.q());
    let shape = batch.shape();
    if shape[1..] != [cells, q] {
        return Err(error::refused(format!(
            "a batch of shape {shape:?}: this class needs (policies, {cells}, {q})"
        )));
    }
    let (entries, one, count) = (batch.as_slice()?, cells * q, shape[0]);
    let mut rewards = vec![0.0; count];
    let kept = if full { count } else { 0 };
    let mut visits = vec![0.0; kept * cells];
    let mut values = vec![0.0; kept * one];
    let allowed = allowance(class_.max_memory.as_deref()).map_err(error::refused)?;
    py.detach(|| {
        pool()?.install(|| {
            // Where nothing is kept these are empty, and their chunks too.
            let visits: Vec<&mut [f64]> = pieces(&mut visits, cells * TOGETHER, full, count);
            let values: Vec<&mut [f64]> = pieces(&mut values, one * TOGETHER, full, count);
            entries
                .par_chunks(one * TOGETHER)
                .zip(rewards.par_chunks_mut(TOGETHER))
                .zip(visits)
                .zip(values)
                .try_for_each(|(((entries, rewards), visits), values)| {
                    let evaluator = foldglass::Evaluator::within(&class_.class, allowed);
                    let mut evaluator = evaluator.map_err(|error| error::too_large(&error))?;
                    for (number, rows) in entries.chunks_exact(one).enumerate() {
                        let policy = foldglass::Policy::from_flat(&class_.class, rows);
                        rewards[number] = evaluator.evaluate(&policy.map_err(error::refused)?);
                        if full {
                            evaluator.visits_into(&mut visits[number * cells..][..cells]);
                            evaluator.values_into(&mut values[number * one..][..one]);
                        }
                    }
                    Ok::<(), PyErr>(())
                })
        })
    })?;
    let rewards = rewards.into_pyarray(py);
    if !full {
        return Ok((rewards, None, None));
    }
    let visits = PyArray1::from_vec(py, visits).reshape([count, cells])?;
    let values = PyArray1::from_vec(py, values).reshape([count, cells, q])?;
    Ok((rewards, Some(visits), Some(values)))
}

/// A piece of the output for each piece of the batch; empty ones where nothing is kept.
fn pieces(whole: &mut [f64], size: usize, full: bool, count: usize) -> Vec<&mut [f64]> {
    if full {
        whole.chunks_mut(size).collect()
    } else {
        (0..count.div_ceil(TOGETHER)).map(|_| &mut [][..]).collect()
    }
}

/// The exact rewards of codes, of shape (codes, cells): fractions in lowest terms, as text.
#[pyfunction]
pub fn rewards_exact(
    py: Python<'_>,
    class_: &Class,
    codes: PyReadonlyArray2<'_, i64>,
) -> PyResult<Vec<String>> {
    let codes = codes_of(&class_.class, codes.as_slice()?, codes.shape())?;
    let exact = |code: &foldglass::Code| count::reward(code).to_string();
    py.detach(|| Ok(pool()?.install(|| codes.par_iter().map(exact).collect())))
}

fn codes_of(
    class: &foldglass::Class,
    actions: &[i64],
    shape: &[usize],
) -> PyResult<Vec<foldglass::Code>> {
    if shape[1] != class.cells() {
        return Err(error::refused(format!(
            "codes of shape {shape:?}: this class needs (codes, {})",
            class.cells()
        )));
    }
    let code = |actions: &[i64]| foldglass::Code::new(class, actions).map_err(error::refused);
    actions.chunks_exact(class.cells()).map(code).collect()
}

/// Codes as an array of shape (codes, cells), in the smallest type that holds a symbol.
pub fn array_of<'py>(
    py: Python<'py>,
    codes: &[foldglass::Code],
    cells: usize,
) -> PyResult<Bound<'py, PyArray2<Symbol>>> {
    let actions: Vec<Symbol> = codes
        .iter()
        .flat_map(|code| code.actions())
        .copied()
        .collect();
    PyArray1::from_vec(py, actions).reshape([codes.len(), cells])
}
