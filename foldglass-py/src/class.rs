//! Lays out classes in the words of the command line, or of plain data.

use std::path::PathBuf;
use std::sync::Mutex;

use foldglass::model::class::ClassSpec;
use foldglass::model::operation::Symbol;
use foldglass::support::exact;
use foldglass::{InputLaw, Operation};
use foldglass_cli::allowance;
use foldglass_study::ClassWords;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;

use crate::error;

/// What a policy may depend on, its cells numbered.
#[pyclass(frozen, module = "foldglass._native")]
pub struct Class {
    pub class: foldglass::Class,
    pub max_memory: Option<String>,
    /// Evaluators that no thread uses: to make one costs as much as many evaluations.
    spare: Mutex<Vec<foldglass::Evaluator>>,
}

/// The bytes of an evaluator that is kept for the next batch.
const KEPT_BYTES: usize = 64 << 20;

impl Class {
    /// Does something with an evaluator of the class.
    pub fn with_evaluator<T>(
        &self,
        work: impl FnOnce(&mut foldglass::Evaluator) -> PyResult<T>,
    ) -> PyResult<T> {
        // Another thread may have held the lock when the process was forked: nobody waits for it.
        let spare = self.spare.try_lock().ok().and_then(|mut all| all.pop());
        let mut evaluator = match spare {
            Some(evaluator) => evaluator,
            None => {
                let allowed = allowance(self.max_memory.as_deref()).map_err(error::refused)?;
                let made = foldglass::Evaluator::within(&self.class, allowed);
                made.map_err(|error| error::too_large(&error))?
            }
        };
        let done = work(&mut evaluator);
        // A policy, its values and the messages, in f64.
        let bytes = 4 * 8 * self.class.cells() * self.class.q();
        if bytes <= KEPT_BYTES
            && let Ok(mut all) = self.spare.try_lock()
        {
            all.push(evaluator);
        }
        done
    }
}

/// The steps, windows and tokens of all cells.
type Keys<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray2<i64>>,
    Bound<'py, PyArray2<i64>>,
);

/// The description of a class as JSON: words for what has them, tables for what has none.
#[pyfunction]
#[pyo3(signature = (words, base, table=None, probabilities=None))]
pub fn describe(
    words: &str,
    base: PathBuf,
    table: Option<Vec<Vec<i64>>>,
    probabilities: Option<Vec<Vec<String>>>,
) -> PyResult<String> {
    let words: ClassWords = serde_json::from_str(words).map_err(error::refused)?;
    let mut spec = words.spec(&base).map_err(error::from)?;
    if let Some(table) = table {
        let square = Operation::from_rows(&table);
        spec.square = square.map_err(|error| error::refused(format!("task: {error}")))?;
    }
    if let Some(rows) = probabilities {
        let mut law = Vec::with_capacity(rows.len());
        for row in rows {
            let row: Result<Vec<_>, _> = row.iter().map(|text| exact::parse(text)).collect();
            law.push(row.map_err(|error| error::refused(format!("inputs: {error}")))?);
        }
        spec.inputs = InputLaw::Product(law);
    }
    Ok(serde_json::to_string(&spec).expect("plain data"))
}

#[pymethods]
impl Class {
    /// Lays a class out that `describe` or a file describes.
    #[new]
    #[pyo3(signature = (spec, max_memory=None))]
    fn new(spec: &str, max_memory: Option<String>) -> PyResult<Class> {
        let spec: ClassSpec = serde_json::from_str(spec).map_err(error::refused)?;
        let allowed = allowance(max_memory.as_deref()).map_err(error::refused)?;
        let class = spec.lay_out_within(allowed).map_err(error::spec)?;
        Ok(Class {
            class,
            max_memory,
            spare: Mutex::default(),
        })
    }

    /// The number of cells.
    #[getter]
    fn cells(&self) -> usize {
        self.class.cells()
    }

    /// The number of symbols.
    #[getter]
    fn q(&self) -> usize {
        self.class.q()
    }

    /// The denominator of exact rewards.
    #[getter]
    fn denominator(&self) -> String {
        self.class.task().denominator().to_string()
    }

    /// The description as a JSON object.
    fn spec(&self) -> String {
        serde_json::to_string(&self.class.spec()).expect("plain data")
    }

    /// The description in words.
    fn words(&self) -> String {
        self.class.spec().to_string()
    }

    /// The products b_1 .. b_T of an input.
    fn fold(&self, x: Vec<Symbol>) -> PyResult<Vec<Symbol>> {
        let q = self.class.q();
        if let Some(bad) = x.iter().find(|&&symbol| usize::from(symbol) >= q) {
            return Err(not_a_symbol(*bad, q));
        }
        let square = self.class.task().square();
        let mut folds: Vec<Symbol> = Vec::with_capacity(x.len());
        for symbol in x {
            let next = folds
                .last()
                .map_or(symbol, |&last| square.multiply(last, symbol));
            folds.push(next);
        }
        Ok(folds)
    }

    /// What each cell stands for: t, x and y as arrays, -1 for what there is not.
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Keys<'py>> {
        let cells = self.class.cells();
        let shape = self.class.shape();
        let (width, memory) = (shape.window.past + 1 + shape.window.future, shape.memory);
        let mut t = Vec::with_capacity(cells);
        let mut x = Vec::with_capacity(cells * width);
        let mut y = Vec::with_capacity(cells * memory);
        let entry = |symbol: Option<Symbol>| symbol.map_or(-1, i64::from);
        for cell in 0..cells {
            let key = self.class.key(cell);
            t.push(key.t.map_or(-1, |t| t as i64));
            x.extend(key.x.into_iter().map(entry));
            y.extend(key.y.into_iter().map(entry));
        }
        Ok((
            PyArray1::from_vec(py, t),
            PyArray1::from_vec(py, x).reshape([cells, width])?,
            PyArray1::from_vec(py, y).reshape([cells, memory])?,
        ))
    }

    /// The cell that a rollout consults at step t (from 1) of an input, the tokens before it known.
    fn route(&self, x: Vec<Symbol>, t: usize, y: Vec<Symbol>) -> PyResult<usize> {
        let lengths = self.class.task().lengths();
        if !lengths.contains(&x.len()) || t == 0 || t > x.len() || y.len() + 1 < t {
            return Err(error::refused(format!(
                "step {t} of an input of length {} with {} tokens before it: lengths are {lengths:?}",
                x.len(),
                y.len()
            )));
        }
        let q = self.class.q();
        if let Some(bad) = x.iter().chain(&y).find(|&&s| usize::from(s) >= q) {
            return Err(not_a_symbol(*bad, q));
        }
        Ok(self.class.route(&x, t, &y))
    }

    fn __reduce__(slf: &Bound<'_, Class>) -> (Py<PyAny>, (String, Option<String>)) {
        let class = slf.get();
        let kind = slf.get_type().into_any().unbind();
        (kind, (class.spec(), class.max_memory.clone()))
    }

    fn __eq__(&self, other: &Class) -> bool {
        self.class == other.class
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        self.spec().hash(&mut hasher);
        hasher.finish()
    }
}

fn not_a_symbol(bad: Symbol, q: usize) -> PyErr {
    let most = q - 1;
    error::refused(format!("{bad} is not a symbol of the task: 0 to {most}"))
}
