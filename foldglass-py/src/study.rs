//! Runs studies: here, or unit by unit elsewhere; reads their records and writes their tables.

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use foldglass::Unwatched;
use foldglass_cli::allowance;
use foldglass_study::handout::{self, Ticket};
use foldglass_study::{End, Executed, Form, Options, Registry, Shard, execute};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error;
use crate::watch::watched;

/// Many runs: classes x dynamics x parameters x run numbers.
#[pyclass(frozen, module = "foldglass._native")]
pub struct Study {
    study: foldglass_study::Study,
    text: String,
    seed: u64,
    base: PathBuf,
}

#[pymethods]
impl Study {
    /// Reads the text of a study file; files that it names are found from `base`.
    #[new]
    fn new(text: String, seed: u64, base: PathBuf) -> PyResult<Study> {
        let study = foldglass_study::Study::parse(&text, seed).map_err(error::refused)?;
        Ok(Study {
            study,
            text,
            seed,
            base,
        })
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.study.name
    }

    /// The text it was read from.
    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    /// Does what is not done: (runs, done before, done now, whether it is finished). What stops it
    /// is raised; finished runs and states are on disk.
    #[pyo3(signature = (out, shard, threads, checkpoint_every, max_memory, progress=None))]
    #[allow(clippy::too_many_arguments)]
    fn run(
        &self,
        py: Python<'_>,
        out: PathBuf,
        shard: (usize, usize),
        threads: Option<usize>,
        checkpoint_every: f64,
        max_memory: Option<&str>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(u64, u64, u64, bool)> {
        let mut options = self.options(out, threads, max_memory)?;
        if shard.0 == 0 || shard.0 > shard.1 {
            let (number, of) = shard;
            let problem = format!("shard ({number}, {of}): part I of N, from (1, N) to (N, N)");
            return Err(error::refused(problem));
        }
        options.shard = Shard {
            number: shard.0,
            of: shard.1,
        };
        let every = Duration::try_from_secs_f64(checkpoint_every).ok();
        let every = every.filter(|every| !every.is_zero());
        options.checkpoint_every = every.ok_or_else(|| {
            let problem =
                format!("checkpoint_every={checkpoint_every}: seconds above 0 are needed");
            error::refused(problem)
        })?;
        let registry = Registry::default();
        let (executed, stopped) = watched(py, progress, |watch| {
            execute(&self.study, &registry, &options, &*watch)
        });
        let Executed {
            runs,
            done_before,
            done_now,
            end,
            ..
        } = executed.map_err(error::from)?;
        match stopped {
            Some(error) => Err(error),
            None => Ok((runs, done_before, done_now, end == End::Finished)),
        }
    }

    fn __reduce__(slf: &Bound<'_, Study>) -> (Py<PyAny>, (String, u64, PathBuf)) {
        let study = slf.get();
        let kind = slf.get_type().into_any().unbind();
        (kind, (study.text.clone(), study.seed, study.base.clone()))
    }
}

impl Study {
    fn options(
        &self,
        out: PathBuf,
        threads: Option<usize>,
        max_memory: Option<&str>,
    ) -> PyResult<Options> {
        let mut options = Options::new(out);
        options.base = self.base.clone();
        options.threads = foldglass_study::parallel::threads(threads, usize::MAX);
        options.allowance = allowance(max_memory).map_err(error::refused)?;
        Ok(options)
    }
}

/// A study whose units are done elsewhere; locks its directory until it is closed.
#[pyclass(frozen, module = "foldglass._native")]
pub struct Handout(Mutex<Option<handout::Handout>>);

#[pymethods]
impl Handout {
    #[new]
    #[pyo3(signature = (study, out, max_memory=None))]
    fn new(study: &Study, out: PathBuf, max_memory: Option<&str>) -> PyResult<Handout> {
        let options = study.options(out, None, max_memory)?;
        let registry = Registry::default();
        let opened = handout::Handout::open(&study.study, &registry, &options, &Unwatched);
        Ok(Handout(Mutex::new(Some(opened.map_err(error::from)?))))
    }

    /// What is not done: (series, point, first run, run after the last).
    fn tickets(&self) -> PyResult<Vec<(usize, usize, u64, u64)>> {
        let tickets = |open: &mut handout::Handout| {
            let numbers = |t: &Ticket| (t.series, t.point, t.first, t.end);
            Ok(open.tickets().iter().map(numbers).collect())
        };
        self.with(tickets)
    }

    /// The runs that are recorded.
    fn finished(&self) -> PyResult<u64> {
        self.with(|open| Ok(open.finished()))
    }

    /// All runs of the study.
    fn runs(&self) -> PyResult<u64> {
        self.with(|open| Ok(u64::try_from(open.runs()).unwrap_or(u64::MAX)))
    }

    /// Records the lines that came back for a ticket; says how many runs are new.
    fn record(&self, lines: &[u8]) -> PyResult<u64> {
        self.with(|open| open.record(lines).map_err(error::from))
    }

    /// Frees the directory.
    fn close(&self) {
        let open = self.0.lock().expect("no panic while it is held").take();
        if let Some(open) = open {
            open.close();
        }
    }
}

impl Handout {
    fn with<T>(&self, f: impl FnOnce(&mut handout::Handout) -> PyResult<T>) -> PyResult<T> {
        let mut open = self.0.lock().expect("no panic while it is held");
        match &mut *open {
            Some(open) => f(open),
            None => Err(error::refused("it is closed")),
        }
    }
}

/// Does a ticket of a study and gives the lines of its records; touches no file.
#[pyfunction]
#[pyo3(signature = (study, ticket, max_memory=None, progress=None))]
pub fn redeem<'py>(
    py: Python<'py>,
    study: &Study,
    ticket: (usize, usize, u64, u64),
    max_memory: Option<&str>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let options = study.options(PathBuf::new(), Some(1), max_memory)?;
    let (series, point, first, end) = ticket;
    let ticket = Ticket {
        series,
        point,
        first,
        end,
    };
    let registry = Registry::default();
    let (lines, stopped) = watched(py, progress, |watch| {
        handout::redeem(&study.study, &registry, ticket, &options, &*watch)
    });
    match (lines.map_err(error::from)?, stopped) {
        (Some(lines), None) => Ok(PyBytes::new(py, &lines)),
        (_, Some(error)) => Err(error),
        (None, None) => unreachable!("nothing but a signal stops it"),
    }
}

/// The records of directories of one study, in its order, as JSON lines, and how many runs have none.
#[pyfunction]
pub fn gather(py: Python<'_>, directories: Vec<PathBuf>) -> PyResult<(String, String)> {
    let gathered = py.detach(|| foldglass_study::gather(&directories));
    let gathered = gathered.map_err(error::from)?;
    let lines = gathered.records.iter().map(|record| {
        let mut line = serde_json::to_string(record).expect("plain data");
        line.push('\n');
        line
    });
    Ok((lines.collect(), gathered.missing.to_string()))
}

/// Writes the records of directories of one study as a table, by the end of the file's name.
#[pyfunction]
pub fn write_table(py: Python<'_>, directories: Vec<PathBuf>, path: PathBuf) -> PyResult<()> {
    let end = path.extension().and_then(|end| end.to_str());
    let known = Form::NAMES.iter().find(|(name, _)| Some(*name) == end);
    let Some(&(_, form)) = known else {
        let problem = format!("{}: write .parquet, .csv or .jsonl", path.display());
        return Err(error::refused(problem));
    };
    let written = py.detach(|| {
        let gathered = foldglass_study::gather(&directories)?;
        foldglass_study::write_table(&gathered.records, form, &path)
    });
    written.map_err(error::from)
}

/// A summary of the records of directories: a JSON list, a point each.
#[pyfunction]
#[pyo3(signature = (directories, quantity=None))]
pub fn summarize(
    py: Python<'_>,
    directories: Vec<PathBuf>,
    quantity: Option<&str>,
) -> PyResult<String> {
    let gathered = py.detach(|| foldglass_study::gather(&directories));
    let records = gathered.map_err(error::from)?.records;
    let points = foldglass_study::summarize(&records, &Registry::default(), quantity);
    serde_json::to_string(&points).map_err(error::refused)
}
