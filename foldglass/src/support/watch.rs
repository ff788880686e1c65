//! Reports the progress of a computation to an observer, which may stop it.
//!
//! One observer serves every engine, whatever shows the progress: a terminal, a notebook, a page.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::clock::Instant;

/// How far a computation is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress<'a> {
    /// The unit that is counted, such as `sweeps` or `codes`.
    pub unit: &'a str,
    /// How many are done.
    pub done: u64,
    /// The total, where it is known.
    pub all: Option<u64>,
    /// The share of all work that is done, where it is better known than by these numbers.
    pub share: Option<f64>,
}

/// Receives progress from any thread and returns whether to continue. An engine asks several times a
/// second; it stops soon after the first `Break` and says in its result that it was stopped.
pub trait Observer: Sync {
    /// Receives how far the computation is, and answers whether it continues.
    fn report(&self, progress: Progress<'_>) -> ControlFlow<()>;

    /// Takes note of something that a person should know, such as a damaged file left out.
    fn notice(&self, text: &str) {
        let _ = text;
    }
}

impl<F: Fn(Progress<'_>) -> ControlFlow<()> + Sync> Observer for F {
    fn report(&self, progress: Progress<'_>) -> ControlFlow<()> {
        self(progress)
    }
}

/// Listens to nothing and never stops anything.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unwatched;

impl Observer for Unwatched {
    fn report(&self, _: Progress<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Answers whether what is being computed is to be left undone; asked often, from any thread.
pub type Stop = Arc<dyn Fn() -> bool + Send + Sync>;

/// Told to stop before there was anything to report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("stopped before there was anything to report")]
pub struct Stopped;

/// Asks the observer whether to continue, from within work that has no progress to report yet. It may be called as often
/// as one likes: the question is put about twenty times a second.
pub struct Asking<'a> {
    question: &'a dyn Fn() -> ControlFlow<()>,
    asked: Instant,
    /// Calls until the clock is read again.
    calls: u32,
    read: Instant,
}

/// The time between two questions.
const BETWEEN_QUESTIONS: Duration = Duration::from_millis(50);

/// The most calls between two looks at the clock, and the time within which they are that many.
const MOST_CALLS: u32 = 16;
const SHORT_CALLS: Duration = Duration::from_millis(1);

impl<'a> Asking<'a> {
    /// Puts this question, for the first time after a while: what takes a moment is never stopped.
    pub fn new(question: &'a dyn Fn() -> ControlFlow<()>) -> Asking<'a> {
        let now = Instant::now();
        Asking {
            question,
            asked: now,
            calls: 0,
            read: now,
        }
    }

    /// Whether to continue.
    pub fn go_on(&mut self) -> Result<(), Stopped> {
        if self.calls > 0 {
            self.calls -= 1;
            return Ok(());
        }
        let now = Instant::now();
        // Calls that take long are timed one by one.
        if now - self.read < SHORT_CALLS {
            self.calls = MOST_CALLS;
        }
        self.read = now;
        if now - self.asked < BETWEEN_QUESTIONS {
            return Ok(());
        }
        self.asked = now;
        match (self.question)() {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Stopped),
        }
    }
}

/// Adds up what several threads have done, for an observer that receives the sum.
pub struct Tally<'a> {
    observer: &'a dyn Observer,
    unit: &'a str,
    all: Option<u64>,
    done: Mutex<u64>,
}

impl<'a> Tally<'a> {
    /// Counts from nothing.
    pub fn new(observer: &'a dyn Observer, unit: &'a str, all: Option<u64>) -> Tally<'a> {
        Tally {
            observer,
            unit,
            all,
            done: Mutex::new(0),
        }
    }

    /// Goes on counting from what was done before.
    pub fn since(self, before: u64) -> Tally<'a> {
        Tally {
            done: Mutex::new(before),
            ..self
        }
    }

    /// Adds what was just done, which may be nothing, and returns whether to continue.
    pub fn add(&self, more: u64) -> ControlFlow<()> {
        let done = {
            let mut done = self.done.lock().expect("no panic while it is held");
            *done += more;
            *done
        };
        self.observer.report(Progress {
            unit: self.unit,
            done,
            all: self.all,
            share: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tally_of_several_threads_tells_of_every_sum_once() {
        let heard = Mutex::new(Vec::new());
        let observer = |progress: Progress<'_>| {
            assert_eq!((progress.unit, progress.all), ("parts", Some(400)));
            heard.lock().unwrap().push(progress.done);
            ControlFlow::Continue(())
        };
        let tally = Tally::new(&observer, "parts", Some(400));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..100).for_each(|_| assert!(tally.add(1).is_continue())));
            }
        });
        let mut heard = heard.into_inner().unwrap();
        heard.sort_unstable();
        assert!(heard.into_iter().eq(1..=400));
    }

    #[test]
    fn asking_leaves_short_work_alone_and_stops_long_work_soon() {
        let stop = || ControlFlow::Break(());
        let mut short = Asking::new(&stop);
        assert!((0..100).all(|_| short.go_on().is_ok()));
        for pause in [0, 5] {
            let mut asking = Asking::new(&stop);
            let begun = Instant::now();
            while asking.go_on().is_ok() {
                std::thread::sleep(Duration::from_millis(pause));
                assert!(begun.elapsed() < Duration::from_secs(20));
            }
            assert!(begun.elapsed() >= BETWEEN_QUESTIONS);
        }
        let mut going_on = Asking::new(&|| ControlFlow::Continue(()));
        std::thread::sleep(2 * BETWEEN_QUESTIONS);
        assert!((0..100).all(|_| going_on.go_on().is_ok()));
    }

    #[test]
    fn a_tally_passes_on_what_its_observer_answers() {
        let stop = |progress: Progress<'_>| {
            if progress.done < 7 {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        };
        let tally = Tally::new(&stop, "codes", None);
        assert!(tally.add(0).is_continue() && tally.add(6).is_continue());
        assert!(tally.add(1).is_break() && tally.add(0).is_break());
        let later = Tally::new(&stop, "codes", None).since(5);
        assert!(later.add(1).is_continue() && later.add(1).is_break());
        assert!(
            Tally::new(&Unwatched, "codes", None)
                .add(u64::MAX)
                .is_continue()
        );
    }
}
