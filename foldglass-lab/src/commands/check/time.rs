//! Says how long a check takes, before it does, where that is long.

use std::ops::ControlFlow;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use foldglass::watch::{Observer, Progress};

use crate::progress::span;

/// The pace is known this long after the first code.
const KNOWN: Duration = Duration::from_secs(3);

/// Shorter checks go without a word.
const LONG: f64 = 60.0;

/// An observer that says, once the first codes are checked, how long all will take.
pub struct Forewarned<'a> {
    observer: &'a dyn Observer,
    /// When the first codes were checked, and how many: all changes of the first are looked at,
    /// so it takes longer than others.
    first: OnceLock<(Instant, u64)>,
    /// Codes of verdicts that are checked, of all.
    before: u64,
    all: u64,
    said: AtomicBool,
}

impl<'a> Forewarned<'a> {
    /// Of a check of so many codes.
    pub fn new(observer: &'a dyn Observer, all: u64) -> Forewarned<'a> {
        Forewarned {
            observer,
            first: OnceLock::new(),
            before: 0,
            all,
            said: AtomicBool::new(false),
        }
    }

    /// A verdict on so many codes is checked.
    pub fn went_on(&mut self, codes: u64) {
        self.before += codes;
    }
}

/// The seconds of a whole check, of which some codes took so long; none where it is short.
fn long(done: u64, all: u64, passed: f64) -> Option<f64> {
    let seconds = passed * all as f64 / done.max(1) as f64;
    (done > 0 && seconds > LONG).then_some(seconds)
}

impl Observer for Forewarned<'_> {
    fn hear(&self, progress: Progress<'_>) -> ControlFlow<()> {
        let done = self.before + progress.done;
        if done == 0 {
            return self.observer.hear(progress);
        }
        let (begun, before) = *self.first.get_or_init(|| (Instant::now(), done));
        let (passed, since) = (begun.elapsed(), done.saturating_sub(before));
        let is_known = passed >= KNOWN && since > 0;
        if is_known
            && !self.said.swap(true, Ordering::Relaxed)
            && let Some(seconds) = long(since, self.all, passed.as_secs_f64())
        {
            let (all, time) = (self.all, span(seconds));
            self.notice(&format!("checking {all} codes takes about {time}"));
        }
        self.observer.hear(progress)
    }

    fn notice(&self, text: &str) {
        self.observer.notice(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_takes_more_than_a_minute_is_said_before() {
        assert_eq!(long(10, 1000, 2.0), Some(200.0));
        assert_eq!(long(100, 1000, 2.0), None);
        assert_eq!(long(0, 1000, 2.0), None);
    }
}
