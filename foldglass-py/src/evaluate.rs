//! Evaluates policies and counts codes that come as arrays (paper, App. A and section 2.2).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldglass::model::operation::Symbol;
use foldglass::reward::count;
use foldglass_cli::allowance;
use numpy::{
    PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2, PyReadwriteArray1, PyReadwriteArray2,
    PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::class::Class;
use crate::error;
use crate::rows::{self, Probabilities};

/// A policy. Evaluating it again at once, unchanged, costs no conversion.
#[pyclass(frozen, module = "foldglass._native")]
pub struct Policy {
    class: Py<Class>,
    pub policy: foldglass::Policy,
}

#[pymethods]
impl Policy {
    /// Takes a table of one row per cell, whose sums may miss 1 by `tolerance`.
    #[new]
    fn new(
        py: Python<'_>,
        class_: Py<Class>,
        rows: Probabilities<'_>,
        tolerance: f64,
    ) -> PyResult<Policy> {
        let class = &class_.bind(py).get().class;
        check_shape("a policy", rows.shape(), &[class.cells(), class.q()])?;
        let policy = rows::policy(rows.entries()?, class, tolerance);
        let policy = policy.map_err(error::refused)?;
        Ok(Policy {
            class: class_,
            policy,
        })
    }

    /// The class.
    #[getter]
    pub fn class_(&self, py: Python<'_>) -> Py<Class> {
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
        self.run(py, |evaluator| Ok(evaluator.evaluate(&policy.policy)))
    }

    /// The same of a table of one row per cell, whose sums may miss 1 by `tolerance`.
    fn evaluate_rows(
        &self,
        py: Python<'_>,
        rows: Probabilities<'_>,
        tolerance: f64,
    ) -> PyResult<f64> {
        let want = [self.class.cells(), self.class.q()];
        check_shape("a policy", rows.shape(), &want)?;
        let entries = rows.entries()?;
        self.run(py, |evaluator| {
            let reward = rows::evaluate(entries, evaluator, tolerance);
            reward.map_err(error::refused)
        })
    }

    /// Writes the rows of the policy evaluated last.
    fn rows_into(&self, mut rows: PyReadwriteArray2<'_, f64>) -> PyResult<()> {
        let want = [self.class.cells(), self.class.q()];
        check_shape("rows", rows.shape(), &want)?;
        lock(&self.evaluator).rows_into(rows.as_slice_mut()?);
        Ok(())
    }

    /// Writes d(c) of the policy evaluated last.
    fn visits_into(&self, mut visits: PyReadwriteArray1<'_, f64>) -> PyResult<()> {
        let want = [self.class.cells()];
        check_shape("visits", visits.shape(), &want)?;
        lock(&self.evaluator).visits_into(visits.as_slice_mut()?);
        Ok(())
    }

    /// Writes d(c)Q(c,a) of the policy evaluated last.
    fn values_into(&self, mut values: PyReadwriteArray2<'_, f64>) -> PyResult<()> {
        let want = [self.class.cells(), self.class.q()];
        check_shape("values", values.shape(), &want)?;
        lock(&self.evaluator).values_into(values.as_slice_mut()?);
        Ok(())
    }
}

impl Policy {
    /// The memory that its class allows.
    pub fn max_memory(&self, py: Python<'_>) -> Option<String> {
        self.class.bind(py).get().max_memory.clone()
    }
}

impl Evaluator {
    /// Works with the evaluator, on all threads where the class is wide.
    fn run(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut foldglass::Evaluator) -> PyResult<f64> + Send,
    ) -> PyResult<f64> {
        py.detach(|| {
            let evaluator = &mut *lock(&self.evaluator);
            if evaluator.uses_threads() {
                pool()?.install(|| work(evaluator))
            } else {
                work(evaluator)
            }
        })
    }
}

/// Takes a lock. A panic in an evaluation leaves numbers that the next one overwrites.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Refuses an array of another shape.
pub fn check_shape(what: &str, shape: &[usize], want: &[usize]) -> PyResult<()> {
    if shape == want {
        return Ok(());
    }
    Err(error::refused(format!(
        "{what} of shape {shape:?}: this class needs {want:?}"
    )))
}

/// The threads of this process. A fork has none of its parent's, and waiting for them would never end.
pub fn pool() -> PyResult<Arc<rayon::ThreadPool>> {
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
