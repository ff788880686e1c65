//! Holds runs of one kind and class in progress: advanced together on all cores, read as arrays.
//!
//! The runs are those of the methods of studies, so that a seed gives the same numbers here, in a
//! study and on the command line.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use foldglass::Allowance;
use foldglass::support::watch::{Observer, Progress};
use foldglass_cli::allowance;
use foldglass_study::method::setting::kind_of;
use foldglass_study::method::{MethodSettings, Recipe, RunningUnit, Streams};
use foldglass_study::{Fields, Registry};
use numpy::{PyArray1, PyArray2, PyArray3, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rayon::prelude::*;

use crate::class::Class;
use crate::error;
use crate::evaluate::array_of;
use crate::watch::{Watch, watched};

/// Runs in progress.
#[pyclass(module = "foldglass._native")]
pub struct Series {
    class: foldglass::Class,
    kind: String,
    recipe: Box<dyn Recipe>,
    units: Vec<Mutex<Box<dyn RunningUnit>>>,
    threads: rayon::ThreadPool,
}

/// Steps of a unit between two looks at the observer are doubled up to this time.
const SLICE: std::time::Duration = std::time::Duration::from_millis(50);

/// A setting: name, earlier spellings, default, doc line.
type Listed = (
    &'static str,
    Vec<&'static str>,
    Option<&'static str>,
    &'static str,
);

/// The settings of a kind, as flags and study files have them.
#[pyfunction]
pub fn settings(kind: &str) -> PyResult<Vec<Listed>> {
    let registry = Registry::default();
    let method = registry
        .find(kind)
        .map_err(|e| error::refused(&e.problem))?;
    let listed = method.settings().iter();
    Ok(listed
        .map(|s| (s.name, s.earlier.to_vec(), s.default, s.doc))
        .collect())
}

#[pymethods]
impl Series {
    /// Begins runs, or takes them up where `save` left them.
    #[new]
    #[pyo3(signature = (class_, kind, settings, seed, first, runs, threads=None, states=None))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        class_: &Class,
        kind: &str,
        settings: &str,
        seed: u64,
        first: u64,
        runs: u64,
        threads: Option<usize>,
        states: Option<Vec<Vec<u8>>>,
    ) -> PyResult<Series> {
        let class = class_;
        let mut fields: Fields = serde_json::from_str(settings).map_err(error::refused)?;
        let registry = Registry::default();
        let base = PathBuf::new();
        let planned = kind_of(kind, &mut fields).and_then(|kind| {
            let method = registry.find(&kind)?;
            let settings = MethodSettings::new(method, &fields, &base)?;
            Ok((kind, method.recipe(&class.class, settings)?))
        });
        let (kind, recipe) = planned.map_err(|e| error::refused(&e.problem))?;
        let threads = foldglass_study::parallel::threads(threads, usize::MAX);
        let threads = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let threads = threads.map_err(error::refused)?;
        let allowed = allowance(class.max_memory.as_deref()).map_err(error::refused)?;
        // Before the units are listed: there may be more than anybody can hold.
        let count = u128::from(runs).div_ceil(u128::from(recipe.together())) + 1;
        let all = recipe.bytes().and_then(|bytes| bytes.checked_mul(count));
        allowed
            .check(&format!("{runs} runs at once"), all)
            .map_err(|error| error::too_large(&error))?;
        let streams = streams(recipe.together(), seed, first, runs);
        let units = py.detach(|| begin(&*recipe, streams, states, allowed))?;
        Ok(Series {
            class: class.class.clone(),
            kind,
            recipe,
            units: units.into_iter().map(Mutex::new).collect(),
            threads,
        })
    }

    /// All settings, those left out included, as a JSON object.
    fn settings(&self) -> String {
        serde_json::Value::Object(self.recipe.settings()).to_string()
    }

    /// The kind of the runs, which a rule may name.
    #[getter]
    fn kind(&self) -> &str {
        &self.kind
    }

    /// The steps of a run.
    #[getter]
    fn steps(&self) -> u64 {
        self.recipe.steps()
    }

    /// The steps that all runs have done.
    #[getter]
    fn done(&mut self) -> u64 {
        let done = self.units.iter_mut().map(|unit| of(unit).done());
        done.min().unwrap_or(0)
    }

    /// Whether all runs are at their end.
    #[getter]
    fn finished(&mut self) -> bool {
        self.units.iter_mut().all(|unit| of(unit).is_finished())
    }

    /// Takes every unit that is before step `to` to it, or to its end. What stops it is raised; what
    /// was done stays.
    #[pyo3(signature = (to, progress=None))]
    fn advance(&mut self, py: Python<'_>, to: u64, progress: Option<Py<PyAny>>) -> PyResult<()> {
        let all = self.units.len() as u64 * self.recipe.steps();
        let done: u64 = self.units.iter_mut().map(|unit| of(unit).done()).sum();
        let (units, threads) = (&self.units, &self.threads);
        let (end, stopped) = watched(py, progress, |watch| {
            let tally = Tally {
                watch: &watch,
                done: AtomicU64::new(done),
                all,
            };
            let advance = |unit: &Mutex<Box<dyn RunningUnit>>| {
                let mut unit = unit.lock().expect("no panic while it is held");
                let stop = Arc::clone(&watch);
                unit.heed(Arc::new(move || stop.is_stopped()));
                let advanced = advance_to(&mut **unit, to, &tally);
                // What it came to may be asked for when it was stopped.
                unit.heed(Arc::new(|| false));
                advanced
            };
            threads.install(|| {
                units
                    .par_iter()
                    .map(advance)
                    .collect::<Result<(), String>>()
            })
        });
        match (stopped, end) {
            (Some(error), _) => Err(error),
            (None, Err(problem)) => Err(error::refused(problem)),
            (None, Ok(())) => Ok(()),
        }
    }

    /// What the runs came to so far: a JSON list of objects.
    fn outcomes(&mut self, py: Python<'_>) -> PyResult<String> {
        let units = &mut self.units;
        let outcomes: Result<Vec<_>, String> =
            py.detach(|| units.iter_mut().map(|unit| of(unit).outcomes()).collect());
        let outcomes = outcomes.map_err(error::refused)?.concat();
        Ok(serde_json::to_string(&outcomes).expect("plain data"))
    }

    /// The code of each run, of shape (runs, cells).
    fn codes<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<u16>>> {
        let units = self.units.iter_mut();
        let codes: Vec<foldglass::Code> = units.flat_map(|unit| of(unit).codes()).collect();
        array_of(py, &codes, self.class.cells())
    }

    /// The policy of each run, of shape (runs, cells, q).
    fn policies<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let (cells, q) = (self.class.cells(), self.class.q());
        let units = self.units.iter_mut();
        let policies: Vec<foldglass::Policy> = units.flat_map(|unit| of(unit).policies()).collect();
        let mut rows = vec![0.0; policies.len() * cells * q];
        for (policy, rows) in policies.iter().zip(rows.chunks_exact_mut(cells * q)) {
            policy.rows_into(rows);
        }
        PyArray1::from_vec(py, rows).reshape([policies.len(), cells, q])
    }

    /// The state of every unit, for `states`.
    fn save<'py>(&mut self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let saved = self.units.iter_mut().map(|unit| {
            let state = of(unit).save().map_err(error::refused)?;
            Ok(PyBytes::new(py, &state))
        });
        saved.collect()
    }
}

fn of(unit: &mut Mutex<Box<dyn RunningUnit>>) -> &mut dyn RunningUnit {
    let unit = unit
        .get_mut()
        .unwrap_or_else(|panicked| panicked.into_inner());
    &mut **unit
}

/// The runs of each unit: those whose numbers, divided by `together`, are equal.
fn streams(together: u64, seed: u64, first: u64, runs: u64) -> Vec<Streams> {
    let end = first.saturating_add(runs);
    let mut list = Vec::new();
    let mut from = first;
    while from < end {
        let to = (from / together + 1).saturating_mul(together).min(end);
        list.push(Streams {
            seed,
            numbers: from..to,
        });
        from = to;
    }
    list
}

fn begin(
    recipe: &dyn Recipe,
    streams: Vec<Streams>,
    states: Option<Vec<Vec<u8>>>,
    allowed: Allowance,
) -> PyResult<Vec<Box<dyn RunningUnit>>> {
    let Some(states) = states else {
        let begun = streams.into_iter().map(|own| recipe.begin(own, allowed));
        return begun.collect::<Result<_, String>>().map_err(error::refused);
    };
    if states.len() != streams.len() {
        let (got, want) = (states.len(), streams.len());
        let problem = format!("{got} states: these runs have {want} units");
        return Err(error::refused(problem));
    }
    let both = streams.into_iter().zip(&states);
    let resumed = both.map(|(own, state)| recipe.resume(own, state, allowed));
    resumed
        .collect::<Result<_, String>>()
        .map_err(error::refused)
}

/// The steps of all units.
struct Tally<'a> {
    watch: &'a Watch,
    done: AtomicU64,
    all: u64,
}

impl Tally<'_> {
    fn add(&self, steps: u64) -> bool {
        let done = self.done.fetch_add(steps, Ordering::Relaxed) + steps;
        let progress = Progress {
            unit: "steps",
            done,
            all: Some(self.all),
            share: None,
        };
        self.watch.report(progress).is_continue()
    }
}

fn advance_to(unit: &mut dyn RunningUnit, to: u64, tally: &Tally<'_>) -> Result<(), String> {
    let mut steps = 1;
    while !unit.is_finished() && unit.done() < to {
        let (before, begun) = (unit.done(), std::time::Instant::now());
        unit.advance(steps.min(to - before))?;
        if !tally.add(unit.done() - before) {
            break;
        }
        if begun.elapsed() < SLICE / 2 {
            steps *= 2;
        } else if begun.elapsed() > SLICE * 2 {
            steps = (steps / 2).max(1);
        }
    }
    Ok(())
}
