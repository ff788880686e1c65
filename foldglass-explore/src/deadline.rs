//! Stops a computation when its time is over, its client is gone or the server ends.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use foldglass::support::clock::Instant;
use foldglass::support::watch::{Observer, Progress};

use crate::refusal::Refusal;

/// How far a computation has come; `all` is 0 while that is not known.
#[derive(Debug, Default)]
pub struct Heard {
    pub(crate) done: AtomicU64,
    pub(crate) all: AtomicU64,
}

/// How long a computation may go on.
#[derive(Debug, Clone)]
pub struct Deadline {
    end: Instant,
    /// Set when nobody waits for the answer any more, and when the server ends.
    abandoned: Arc<AtomicBool>,
    closing: Arc<AtomicBool>,
    heard: Arc<Heard>,
    listener: Option<fn(u64, u64)>,
}

impl Deadline {
    /// From now on.
    pub(crate) fn after(
        time: Duration,
        abandoned: Arc<AtomicBool>,
        closing: Arc<AtomicBool>,
    ) -> Deadline {
        Deadline {
            end: Instant::now() + time,
            abandoned,
            closing,
            heard: Arc::default(),
            listener: None,
        }
    }

    /// The same; what is done and what is to be done (0 while that is not known) is handed to this function too, for
    /// callers who cannot ask while they wait.
    pub fn heard_by(self, listener: fn(done: u64, all: u64)) -> Deadline {
        Deadline {
            listener: Some(listener),
            ..self
        }
    }

    /// How far the computation has come.
    pub(crate) fn heard(&self) -> &Arc<Heard> {
        &self.heard
    }

    /// The same, or an earlier one.
    pub(crate) fn within(&self, time: Duration) -> Deadline {
        Deadline {
            end: self.end.min(Instant::now() + time),
            ..self.clone()
        }
    }

    /// Whether it is over.
    pub(crate) fn is_over(&self) -> bool {
        let told = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
        told(&self.abandoned) || told(&self.closing) || Instant::now() >= self.end
    }

    /// Refuses to go on when it is over.
    pub(crate) fn check(&self, what: &str) -> Result<(), Refusal> {
        if self.is_over() {
            return Err(Refusal::new(
                503,
                format!("{what} takes longer than a page may ask for: it was stopped"),
            ));
        }
        Ok(())
    }
}

impl Observer for Deadline {
    fn report(&self, progress: Progress<'_>) -> ControlFlow<()> {
        self.heard.done.store(progress.done, Ordering::Relaxed);
        let all = progress.all.unwrap_or(0);
        self.heard.all.store(all, Ordering::Relaxed);
        if let Some(listener) = self.listener {
            listener(progress.done, all);
        }
        if self.is_over() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}
