//! Forecasts what an execution would do and how long it would take.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use foldglass::support::watch::{Observer, Tally};
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::StudyError;
use crate::estimate::TimeEstimate;
use crate::execute::{Options, Work, done, threads};
use crate::method::Registry;
use crate::parallel::while_asking;
use crate::plan::{Plan, Unit};
use crate::spec::Study;

/// What an execution would do.
#[derive(Debug, JsonSchema, Serialize)]
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
#[derive(Debug, JsonSchema, Serialize)]
pub struct SeriesForecast {
    /// The class.
    pub class: String,
    /// Its cells.
    pub cells: usize,
    /// The dynamics.
    pub dynamics: String,
    /// Its kind.
    pub kind: &'static str,
    /// Points.
    pub points: usize,
    /// Runs of the study.
    pub runs: u128,
    /// Units of the shard that are to do.
    pub units: usize,
    /// The time of one thread for them.
    pub seconds: f64,
}

/// How long a series is tried out.
const TRIAL: Duration = Duration::from_millis(100);

/// Looks at what is left to do and tries every dynamics on every class for a moment. Writes
/// nothing. None when it was stopped.
pub fn forecast(
    study: &Study,
    registry: &Registry,
    options: &Options,
    observer: &dyn Observer,
) -> Result<Option<Forecast>, StudyError> {
    let plan = Plan::new(study, registry, &options.base, options.allowance)?;
    let done = done(&plan, &options.out, observer)?;
    let work = Work::of(&plan, &done, options, observer)?;
    let Some(work) = work else {
        return Ok(None);
    };
    let tally = Tally::new(observer, "dynamics tried out", None);
    let mut units = vec![0; plan.series.len()];
    work.units.iter().for_each(|unit| units[unit.series] += 1);
    let mut estimate = TimeEstimate::new(units.iter().map(|&units| (f64::from(units), 1.0)));
    let mut list = Vec::new();
    let mut longest: f64 = 0.0;
    for (number, series) in plan.series.iter().enumerate() {
        if tally.add(1).is_break() {
            return Ok(None);
        }
        if let Some(unit) = work.units.iter().find(|unit| unit.series == number) {
            let Some((done, seconds)) = trial(&plan, unit, options, || tally.add(0))? else {
                return Ok(None);
            };
            estimate.note(number, done, seconds);
            longest = longest.max(seconds / done);
        }
        let seconds = if units[number] == 0 {
            0.0
        } else {
            estimate.share_seconds(number, 1.0).unwrap_or(0.0)
        };
        list.push(SeriesForecast {
            class: series.class_id.clone(),
            cells: series.class.cells(),
            dynamics: series.dynamics.clone(),
            kind: series.kind,
            points: series.points.len(),
            runs: u128::from(series.runs) * series.points.len() as u128,
            units: units[number] as usize,
            seconds,
        });
    }
    let threads = threads(&plan, &work.units, options);
    let seconds: f64 = list.iter().map(|series| series.seconds).sum();
    let needed = |unit: &Unit| plan.of(unit).1.recipe.bytes().unwrap_or(u128::MAX);
    let memory = work.units.iter().map(needed).max().unwrap_or(0);
    let list_bytes = (work.units.len() * size_of::<Unit>()) as u128;
    let memory = memory
        .saturating_mul(threads as u128)
        .saturating_add(list_bytes);
    Ok(Some(Forecast {
        runs: work.runs,
        finished: work.finished,
        threads,
        seconds: (seconds / threads as f64).max(longest),
        memory_bytes: u64::try_from(memory).unwrap_or(u64::MAX),
        series: list,
    }))
}

/// Tries the first steps of a unit: the part of its steps that were done, and their seconds. None when it was stopped.
fn trial(
    plan: &Plan,
    unit: &Unit,
    options: &Options,
    ask: impl Fn() -> ControlFlow<()> + Sync,
) -> Result<Option<(f64, f64)>, StudyError> {
    let point = plan.of(unit).1;
    let refuse = |problem: String| plan.problem(unit, problem);
    let begun = point.recipe.begin(plan.streams(unit), options.allowance);
    let mut job = begun.map_err(refuse)?;
    let stopped: Arc<AtomicBool> = Arc::default();
    let stop = Arc::clone(&stopped);
    job.heed(Arc::new(move || stop.load(Ordering::Relaxed)));
    let begun = Instant::now();
    let steps = || {
        while begun.elapsed() < TRIAL && !job.is_finished() {
            job.advance(1)?;
        }
        Ok(())
    };
    while_asking(&stopped, ask, steps).map_err(refuse)?;
    if stopped.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let done = job.done().max(1) as f64 / point.recipe.steps().max(1) as f64;
    Ok(Some((done, begun.elapsed().as_secs_f64())))
}
