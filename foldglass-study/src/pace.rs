//! Reports how far an execution is, and which share of its time is over.

use std::ops::ControlFlow;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use foldglass::support::watch::{Observer, Progress};

use crate::estimate::TimeEstimate;
use crate::plan::{Plan, Unit, points};

/// How far an execution is: finished runs, and the steps of each series.
pub struct Pace<'a> {
    observer: &'a dyn Observer,
    all: u64,
    state: Mutex<State>,
}

struct State {
    runs: u64,
    steps: TimeEstimate,
}

/// What a step of a unit costs against one of another.
pub fn weight(plan: &Plan, series: usize) -> f64 {
    let series = &plan.series[series];
    let together = series.points.first().map_or(1, |p| p.recipe.together());
    (series.class.cells() * series.class.q()) as f64 * together as f64
}

impl<'a> Pace<'a> {
    /// Of an execution of these units, when `done` of `all` runs are done.
    pub fn new(
        plan: &Plan,
        units: &[Unit],
        done: u64,
        all: u64,
        observer: &'a dyn Observer,
    ) -> Pace<'a> {
        let mut steps = vec![0.0; plan.series.len()];
        for of_point in points(units) {
            let unit = &of_point[0];
            steps[unit.series] += plan.of(unit).1.recipe.steps() as f64 * of_point.len() as f64;
        }
        let groups = (steps.into_iter().enumerate()).map(|(n, steps)| (steps, weight(plan, n)));
        Pace {
            observer,
            all,
            state: Mutex::new(State {
                runs: done,
                steps: TimeEstimate::new(groups),
            }),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic while it is held")
    }

    /// Counts steps of a unit, and the time they took.
    pub fn note(&self, series: usize, steps: u64, time: Duration) -> ControlFlow<()> {
        let mut state = self.state();
        state.steps.note(series, steps as f64, time.as_secs_f64());
        self.tell(state)
    }

    /// Counts steps that need not be done: they were before, or the runs stopped early.
    pub fn skip(&self, series: usize, steps: u64) {
        self.state().steps.skip(series, steps as f64);
    }

    /// Asks whether to continue, without reporting progress.
    pub fn ask(&self) -> ControlFlow<()> {
        self.tell(self.state())
    }

    /// Counts finished runs.
    pub fn finish(&self, runs: u64) -> ControlFlow<()> {
        let mut state = self.state();
        state.runs += runs;
        self.tell(state)
    }

    fn tell(&self, state: MutexGuard<'_, State>) -> ControlFlow<()> {
        let progress = Progress {
            unit: "runs",
            done: state.runs,
            all: Some(self.all),
            share: state.steps.share(),
        };
        drop(state);
        self.observer.report(progress)
    }
}
