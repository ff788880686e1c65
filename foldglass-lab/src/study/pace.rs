//! Tells how far an execution is and how long it will take.
//!
//! The time left is that of the iterations left, each series at the pace it has shown; one that has
//! not begun is judged by the size of its tables.

use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::plan::{Plan, Unit};

/// Shorter executions show nothing.
const PATIENCE: Duration = Duration::from_secs(2);

/// Where there is no terminal, a line this often.
const LINES: Duration = Duration::from_secs(60);

/// The bar's resolution.
const FINE: f64 = 1000.0;

/// How far an execution is.
pub struct Pace {
    threads: f64,
    bar: ProgressBar,
    begun: Instant,
    state: Mutex<State>,
}

struct State {
    series: Vec<Rate>,
    runs: u64,
    all: u64,
    shown: bool,
    last_line: Instant,
}

/// The iterations of a series, a unit's counted once.
#[derive(Debug, Clone, Copy)]
pub struct Rate {
    left: u64,
    done: u64,
    seconds: f64,
    /// What an iteration costs, in no unit.
    weight: f64,
}

impl Rate {
    /// Of a series that has not begun.
    fn new(weight: f64) -> Rate {
        Rate {
            left: 0,
            done: 0,
            seconds: 0.0,
            weight,
        }
    }

    /// Notes what iterations took.
    fn note(&mut self, iterations: u64, seconds: f64) {
        self.left = self.left.saturating_sub(iterations);
        self.done += iterations;
        self.seconds += seconds;
    }
}

/// The seconds of one thread that the iterations left will take.
fn seconds_left(series: &[Rate]) -> f64 {
    let seconds: f64 = series.iter().map(|rate| rate.seconds).sum();
    let weight: f64 = series
        .iter()
        .map(|rate| rate.done as f64 * rate.weight)
        .sum();
    let unseen = if weight > 0.0 { seconds / weight } else { 0.0 };
    let pace = |rate: &Rate| match rate.done {
        0 => unseen * rate.weight,
        done => rate.seconds / done as f64,
    };
    series
        .iter()
        .map(|rate| rate.left as f64 * pace(rate))
        .sum()
}

/// What an iteration of a series costs against one of another.
pub fn weight(plan: &Plan, series: usize) -> f64 {
    let series = &plan.series[series];
    (series.class.cells() * series.class.q()) as f64 * series.together as f64
}

impl Pace {
    /// Of an execution of these units, when `done` of `all` runs are done.
    pub fn new(plan: &Plan, units: &[Unit], threads: usize, done: u64, all: u64) -> Pace {
        let mut series: Vec<Rate> = (0..plan.series.len())
            .map(|n| Rate::new(weight(plan, n)))
            .collect();
        for unit in units {
            series[unit.series].left += plan.of(unit).0.method.length() as u64;
        }
        let style = ProgressStyle::with_template("{wide_bar} {percent}%, {msg}");
        let bar = ProgressBar::with_draw_target(Some(FINE as u64), ProgressDrawTarget::hidden());
        let begun = Instant::now();
        Pace {
            threads: threads as f64,
            bar: bar.with_style(style.expect("a fixed form")),
            begun,
            state: Mutex::new(State {
                series,
                runs: done,
                all,
                shown: false,
                last_line: begun,
            }),
        }
    }

    /// Counts iterations of a unit, and the time they took.
    pub fn note(&self, series: usize, iterations: usize, time: Duration) {
        let mut state = self.state.lock().expect("no panic");
        state.series[series].note(iterations as u64, time.as_secs_f64());
        self.show(&mut state);
    }

    /// Counts iterations that need not be done: they were before, or the runs stopped early.
    pub fn skip(&self, series: usize, iterations: usize) {
        let mut state = self.state.lock().expect("no panic");
        state.series[series].left = state.series[series].left.saturating_sub(iterations as u64);
    }

    /// Counts finished runs.
    pub fn finish(&self, runs: usize) {
        let mut state = self.state.lock().expect("no panic");
        state.runs += runs as u64;
        self.show(&mut state);
    }

    fn show(&self, state: &mut State) {
        if self.begun.elapsed() < PATIENCE {
            return;
        }
        let terminal = io::stderr().is_terminal();
        if !state.shown {
            state.shown = true;
            if terminal {
                self.bar.set_draw_target(ProgressDrawTarget::stderr());
            }
        }
        let left = seconds_left(&state.series) / self.threads;
        let passed = self.begun.elapsed().as_secs_f64();
        let said = format!(
            "{}/{} runs, about {} left",
            state.runs,
            state.all,
            span(left)
        );
        if terminal {
            self.bar
                .set_position((FINE * passed / (passed + left)) as u64);
            self.bar.set_message(said);
        } else if state.last_line.elapsed() >= LINES {
            state.last_line = Instant::now();
            say(&said);
        }
    }
}

impl Drop for Pace {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Writes a line to stderr. Where that is gone, so is who would read it, and the work goes on.
pub fn say(line: &str) {
    let _ = writeln!(io::stderr(), "foldglass: {line}");
}

/// Seconds in words: `50 s`, `12 min`, `3 h 5 min`, `2 d 4 h`.
pub fn span(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    let (minutes, hours) = ((whole + 30) / 60, (whole + 1800) / 3600);
    match whole {
        0 => "less than a second".to_owned(),
        1..=90 => format!("{whole} s"),
        91..=5_400 => format!("{minutes} min"),
        5_401..=172_800 => format!("{} h {} min", minutes / 60, minutes % 60),
        _ => format!("{} d {} h", hours / 24, hours % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_that_has_not_begun_is_judged_by_its_weight() {
        let mut series = [Rate::new(2.0), Rate::new(6.0)];
        (series[0].left, series[1].left) = (100, 10);
        assert_eq!(seconds_left(&series), 0.0);
        series[0].note(50, 25.0);
        assert_eq!(seconds_left(&series), 50.0 * 0.5 + 10.0 * 1.5);
        series[1].note(5, 1.0);
        assert_eq!(seconds_left(&series), 50.0 * 0.5 + 5.0 * 0.2);
    }

    #[test]
    fn times_are_said_in_two_units_at_most() {
        for (seconds, said) in [
            (0.2, "less than a second"),
            (50.0, "50 s"),
            (725.0, "12 min"),
            (11_100.0, "3 h 5 min"),
            (187_200.0, "2 d 4 h"),
        ] {
            assert_eq!(span(seconds), said);
        }
    }
}
