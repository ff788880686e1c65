//! Tells how far an execution is: the share of its steps that are done, each at the pace its series
//! has shown; one that has not begun is judged by the size of its tables.

use std::sync::Mutex;
use std::time::Duration;

use foldglass::support::watch::{Observer, Progress};
use std::ops::ControlFlow;

use crate::plan::{Plan, Unit, points};

/// How far an execution is.
pub struct Pace<'a> {
    observer: &'a dyn Observer,
    state: Mutex<State>,
}

struct State {
    series: Vec<Rate>,
    runs: u64,
    all: u64,
    /// Seconds of one thread that are over.
    spent: f64,
}

/// The steps of a series, a unit's counted once.
#[derive(Debug, Clone, Copy)]
struct Rate {
    left: u64,
    done: u64,
    seconds: f64,
    /// What a step costs, in no unit.
    weight: f64,
}

impl Rate {
    fn note(&mut self, steps: u64, seconds: f64) {
        self.left = self.left.saturating_sub(steps);
        self.done += steps;
        self.seconds += seconds;
    }
}

/// The seconds of one thread that the steps left will take; none before any is done.
fn seconds_left(series: &[Rate]) -> Option<f64> {
    let seconds: f64 = series.iter().map(|rate| rate.seconds).sum();
    let weighed = series.iter().map(|rate| rate.done as f64 * rate.weight);
    let weight: f64 = weighed.sum();
    let unseen = (weight > 0.0).then(|| seconds / weight)?;
    let pace = |rate: &Rate| match rate.done {
        0 => unseen * rate.weight,
        done => rate.seconds / done as f64,
    };
    let left = series.iter().map(|rate| rate.left as f64 * pace(rate));
    Some(left.sum())
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
        let rate = |number| Rate {
            left: 0,
            done: 0,
            seconds: 0.0,
            weight: weight(plan, number),
        };
        let mut series: Vec<Rate> = (0..plan.series.len()).map(rate).collect();
        for of_point in points(units) {
            let unit = &of_point[0];
            let steps = plan.of(unit).1.recipe.steps();
            let left = &mut series[unit.series].left;
            *left = left.saturating_add(steps.saturating_mul(of_point.len() as u64));
        }
        Pace {
            observer,
            state: Mutex::new(State {
                series,
                runs: done,
                all,
                spent: 0.0,
            }),
        }
    }

    /// Counts steps of a unit, and the time they took.
    pub fn note(&self, series: usize, steps: u64, time: Duration) -> ControlFlow<()> {
        let mut state = self.state.lock().expect("no panic while it is held");
        state.series[series].note(steps, time.as_secs_f64());
        state.spent += time.as_secs_f64();
        self.tell(state)
    }

    /// Counts steps that need not be done: they were before, or the runs stopped early.
    pub fn skip(&self, series: usize, steps: u64) {
        let mut state = self.state.lock().expect("no panic while it is held");
        let left = &mut state.series[series].left;
        *left = left.saturating_sub(steps);
    }

    /// Asks whether to go on, without news.
    pub fn ask(&self) -> ControlFlow<()> {
        self.tell(self.state.lock().expect("no panic while it is held"))
    }

    /// Counts finished runs.
    pub fn finish(&self, runs: u64) -> ControlFlow<()> {
        let mut state = self.state.lock().expect("no panic while it is held");
        state.runs += runs;
        self.tell(state)
    }

    fn tell(&self, state: std::sync::MutexGuard<'_, State>) -> ControlFlow<()> {
        let share = seconds_left(&state.series).map(|left| state.spent / (state.spent + left));
        let progress = Progress {
            unit: "runs",
            done: state.runs,
            all: Some(state.all),
            share: share.filter(|share| share.is_finite()),
        };
        drop(state);
        self.observer.hear(progress)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_that_has_not_begun_is_judged_by_its_weight() {
        let rate = |left, weight| Rate {
            left,
            done: 0,
            seconds: 0.0,
            weight,
        };
        let mut series = [rate(100, 2.0), rate(10, 6.0)];
        assert_eq!(seconds_left(&series), None);
        series[0].note(50, 25.0);
        assert_eq!(seconds_left(&series), Some(50.0 * 0.5 + 10.0 * 1.5));
        series[1].note(5, 1.0);
        assert_eq!(seconds_left(&series), Some(50.0 * 0.5 + 5.0 * 0.2));
    }
}
