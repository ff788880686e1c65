//! Says what an execution would do, and about how long it would take.

use std::time::{Duration, Instant};

use serde::Serialize;

use super::execute::{Options, count, done, threads};
use super::job::Job;
use super::plan::{Plan, Unit};
use super::spec::Study;
use crate::error::Error;

/// What an execution would do.
#[derive(Debug, Serialize)]
pub struct Forecast {
    /// Runs of the shard.
    pub runs: u64,
    /// Those that are done.
    pub finished: u64,
    /// Threads that would work.
    pub threads: usize,
    /// The time it would take, at most where runs may stop early.
    pub seconds: f64,
    /// The memory it would take.
    pub memory_bytes: u64,
    /// Dynamics by dynamics on each class.
    pub series: Vec<SeriesForecast>,
}

/// What would be done of a dynamics on a class.
#[derive(Debug, Serialize)]
pub struct SeriesForecast {
    /// The class.
    pub class: String,
    /// Its cells.
    pub cells: usize,
    /// The dynamics.
    pub dynamics: String,
    /// Its kind.
    pub kind: &'static str,
    /// Temperatures.
    pub temperatures: usize,
    /// Runs of the shard.
    pub runs: u64,
    /// Those that are done.
    pub finished: u64,
    /// Units to do.
    pub units: usize,
    /// The time of one thread for them.
    pub seconds: f64,
}

/// How long a series is tried out.
const TRIAL: Duration = Duration::from_millis(100);

/// Looks at what is left to do and tries every dynamics on every class for a moment. Writes
/// nothing.
pub fn forecast(study: &Study, options: &Options) -> Result<Forecast, Error> {
    let plan = Plan::new(study, &options.base, options.allowance)?;
    let done = done(&plan, &options.out)?;
    let units: Vec<Unit> = options.shard.units(&plan).collect();
    let left: Vec<Unit> = units.iter().filter_map(|unit| unit.left(&done)).collect();
    let (runs, finished) = count(units.iter().cloned(), &done);
    let mut list = Vec::new();
    let mut longest: f64 = 0.0;
    for (number, series) in plan.series.iter().enumerate() {
        let own = |unit: &&Unit| unit.series == number;
        let (runs, finished) = count(units.iter().filter(own).cloned(), &done);
        let units = left.iter().filter(own).count();
        let each = match left.iter().find(own) {
            Some(unit) => trial(&plan, unit, options)?,
            None => 0.0,
        };
        longest = longest.max(each);
        list.push(SeriesForecast {
            class: series.spec.id.clone(),
            cells: series.class.cells(),
            dynamics: series.dynamics.clone(),
            kind: series.method.kind().name(),
            temperatures: series.tau.len(),
            runs,
            finished,
            units,
            seconds: each * units as f64,
        });
    }
    let threads = threads(&plan, &left, options);
    let seconds: f64 = list.iter().map(|series| series.seconds).sum();
    let memory = left
        .iter()
        .map(|unit| plan.of(unit).0.memory)
        .max()
        .unwrap_or(0);
    Ok(Forecast {
        runs,
        finished,
        threads,
        seconds: (seconds / threads as f64).max(longest),
        memory_bytes: u64::try_from(memory * threads as u128).unwrap_or(u64::MAX),
        series: list,
    })
}

/// The seconds of a unit, from those of its first iterations.
fn trial(plan: &Plan, unit: &Unit, options: &Options) -> Result<f64, Error> {
    let (series, tau) = plan.of(unit);
    let refuse = |problem: String| Error::Study {
        place: format!("class \"{}\"", series.spec.id),
        problem,
    };
    let job = Job::begin(series, tau, unit.numbers.clone(), options.allowance);
    let mut job = job.map_err(|error| refuse(error.to_string()))?;
    let begun = Instant::now();
    while begun.elapsed() < TRIAL && !job.is_finished() {
        job.advance(1);
    }
    let each = begun.elapsed().as_secs_f64() / job.done().max(1) as f64;
    Ok(each * series.method.length() as f64)
}
