//! Advances work in slices of time, asks whether to continue, and saves it at intervals: the one loop of studies and of
//! commands that train networks.

use std::time::{Duration, Instant};

/// How work ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// All of it is done.
    Finished,
    /// It was stopped; the same call resumes it.
    Stopped,
}

/// Work that advances by steps and can be kept on the way.
pub trait Job {
    /// Why it fails.
    type Error;

    /// Steps done.
    fn done(&self) -> u64;

    /// Whether it is at its end.
    fn is_finished(&self) -> bool;

    /// Whether it is to stop.
    fn is_stopped(&self) -> bool;

    /// Does up to this many steps more.
    fn advance(&mut self, steps: u64) -> Result<(), Self::Error>;

    /// Takes note of steps that were done in this time.
    fn note(&mut self, steps: u64, time: Duration);

    /// Keeps what a later call needs.
    fn keep(&mut self) -> Result<(), Self::Error>;
}

/// The time between two looks at the clock, unless work is kept more often.
const SLICE: Duration = Duration::from_millis(50);

/// Drives a job to its end, and keeps it each time this long has passed. Stopped, it is kept too.
pub fn drive<J: Job>(job: &mut J, every: Duration) -> Result<End, J::Error> {
    let slice = SLICE.min(every);
    let mut kept = Instant::now();
    let mut steps = 1;
    while !job.is_finished() {
        if job.is_stopped() {
            job.keep()?;
            return Ok(End::Stopped);
        }
        if kept.elapsed() >= every {
            job.keep()?;
            kept = Instant::now();
        }
        let (begun, before) = (Instant::now(), job.done());
        job.advance(steps)?;
        let took = begun.elapsed();
        job.note(job.done() - before, took);
        steps = match took {
            took if took < slice / 2 => steps * 2,
            took if took > slice * 2 => (steps / 2).max(1),
            _ => steps,
        };
    }
    Ok(End::Finished)
}
