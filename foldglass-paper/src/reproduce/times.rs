//! Keeps what the parts of a reproduction took, beside its records.
//!
//! `times.json` has one entry per part (a study, the censuses, the certificates): the sum of the times of all calls that
//! worked on it. The time of a call that was killed is missing.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::files::{read_json, write_json};
use super::item::Item;
use super::need::Need;
use crate::error::Error;

/// What a part took.
#[derive(Debug, Clone, Copy, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Time {
    /// Wall-clock seconds.
    pub seconds: f64,
    /// Seconds of all processors together; none where the system does not tell.
    pub processor_seconds: Option<f64>,
    /// The most threads that worked on it.
    pub threads: usize,
}

impl Time {
    /// Both one after the other.
    pub fn and(self, other: Time) -> Time {
        let sum = |(a, b): (f64, f64)| round(a + b);
        // Nothing has taken no time, known or not.
        let known = |time: &Time| match time.seconds {
            0.0 => Some(0.0),
            _ => time.processor_seconds,
        };
        Time {
            seconds: sum((self.seconds, other.seconds)),
            processor_seconds: known(&self).zip(known(&other)).map(sum),
            threads: self.threads.max(other.threads),
        }
    }
}

/// What the parts of a reproduction took, by their names.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Times {
    format: String,
    parts: BTreeMap<String, Time>,
}

const FILE: &str = "times.json";
const FORMAT: &str = "foldglass-times/1";

impl Times {
    /// Reads those of a directory; none are kept where there is no file.
    pub fn read(directory: &Path) -> Result<Times, Error> {
        let found: Option<Times> = read_json(&directory.join(FILE), "the times of a reproduction")?;
        Ok(found.unwrap_or_default())
    }

    /// What a part took, where it is known.
    pub fn of(&self, part: &str) -> Option<Time> {
        self.parts.get(part).copied()
    }

    /// What the parts of an item took; none where one of them was not measured, or nothing is run.
    pub fn of_item(&self, item: &Item) -> Option<Time> {
        let mut parts: Vec<&str> = item.needs.iter().filter_map(Need::part).collect();
        parts.dedup();
        let known: Option<Vec<Time>> = parts.into_iter().map(|part| self.of(part)).collect();
        known?.into_iter().reduce(Time::and)
    }

    /// Adds to what a part took.
    pub fn add(directory: &Path, part: &str, time: Time) -> Result<(), Error> {
        let mut times = Times::read(directory)?;
        times.format = FORMAT.to_owned();
        let sum = times.of(part).unwrap_or_default().and(time);
        times.parts.insert(part.to_owned(), sum);
        write_json(&directory.join(FILE), &times)
    }
}

/// Measures what is done from its making on.
pub struct Stopwatch {
    begun: Instant,
    processor: Option<f64>,
    threads: usize,
}

impl Stopwatch {
    /// Begins to measure work on so many threads.
    pub fn start(threads: usize) -> Stopwatch {
        Stopwatch {
            begun: Instant::now(),
            processor: processor_seconds(),
            threads,
        }
    }

    /// What was taken until now.
    pub fn time(&self) -> Time {
        let spent = self.processor.zip(processor_seconds());
        Time {
            seconds: round(self.begun.elapsed().as_secs_f64()),
            processor_seconds: spent.map(|(before, now)| round(now - before)),
            threads: self.threads,
        }
    }
}

/// Whole hundredths.
fn round(seconds: f64) -> f64 {
    (100.0 * seconds).round() / 100.0
}

/// What all threads of this process have taken until now.
#[cfg(unix)]
fn processor_seconds() -> Option<f64> {
    // SAFETY: writes nothing but `usage`, which is plain numbers.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        let known = libc::getrusage(libc::RUSAGE_SELF, &mut usage) == 0;
        let seconds = |time: libc::timeval| time.tv_sec as f64 + 1e-6 * time.tv_usec as f64;
        known.then(|| seconds(usage.ru_utime) + seconds(usage.ru_stime))
    }
}

#[cfg(not(unix))]
fn processor_seconds() -> Option<f64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_several_calls_add_up() {
        let time = |seconds, processor_seconds, threads| Time {
            seconds,
            processor_seconds,
            threads,
        };
        let sum = time(1.5, Some(2.0), 2).and(time(0.25, Some(0.2), 1));
        assert_eq!(sum, time(1.75, Some(2.2), 2));
        assert_eq!(Time::default().and(sum), sum);
        let unknown = sum.and(time(1.0, None, 4));
        assert_eq!(unknown.processor_seconds, None);
    }

    #[cfg(unix)]
    #[test]
    fn work_takes_processor_time_and_waiting_does_not() {
        let watch = Stopwatch::start(1);
        std::thread::sleep(std::time::Duration::from_millis(60));
        let waited = watch.time();
        assert!(waited.seconds >= 0.06);
        let mut sum = 0u64;
        while watch.time().processor_seconds.unwrap() < waited.processor_seconds.unwrap() + 0.05 {
            sum = sum.wrapping_mul(3).wrapping_add(1);
        }
        assert!(watch.time().seconds >= waited.seconds, "{sum}");
    }
}
