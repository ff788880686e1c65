//! Runs work with the interpreter free, shows its progress and hears Ctrl-C.
//!
//! Only Python's main thread may look for signals, so it waits here while another thread works.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use foldglass::support::watch::{Observer, Progress};
use foldglass_cli::Host;
use pyo3::prelude::*;

/// How long a signal may wait.
const LOOK: Duration = Duration::from_millis(50);

/// Hears of the work, and stops it.
#[derive(Default)]
pub struct Watch {
    stop: AtomicBool,
    news: Mutex<News>,
}

/// What is to be shown.
#[derive(Default)]
struct News {
    unit: String,
    done: u64,
    all: Option<u64>,
    share: Option<f64>,
    stage: String,
    notices: Vec<String>,
    fresh: bool,
}

impl Watch {
    fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether the work is to end.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Tells Python what is new.
    fn tell(&self, py: Python<'_>, progress: Option<&Py<PyAny>>) -> PyResult<()> {
        let Some(progress) = progress else {
            return Ok(());
        };
        let (call, notices) = {
            let mut news = self.news.lock().expect("no panic while it is held");
            let notices = std::mem::take(&mut news.notices);
            let fresh = std::mem::take(&mut news.fresh);
            let call = (
                news.stage.clone(),
                news.unit.clone(),
                news.done,
                news.all,
                news.share,
            );
            (fresh.then_some(call), notices)
        };
        for notice in notices {
            progress.call_method1(py, "notice", (notice,))?;
        }
        if let Some(call) = call {
            progress.call_method1(py, "hear", call)?;
        }
        Ok(())
    }
}

impl Observer for Watch {
    fn report(&self, progress: Progress<'_>) -> ControlFlow<()> {
        if !progress.unit.is_empty()
            && let Ok(mut news) = self.news.try_lock()
        {
            if news.unit != progress.unit {
                news.unit = progress.unit.to_owned();
            }
            (news.done, news.all, news.share) = (progress.done, progress.all, progress.share);
            news.fresh = true;
        }
        if self.is_stopped() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    fn notice(&self, text: &str) {
        let mut news = self.news.lock().expect("no panic while it is held");
        news.notices.push(text.to_owned());
    }
}

impl Host for Watch {
    fn stage(&self, stage: &str) {
        let mut news = self.news.lock().expect("no panic while it is held");
        news.stage = stage.to_owned();
    }
}

/// Does the work on a thread of its own and gives what it came to, with what stopped it: a signal, or
/// an error of `progress`.
pub fn watched<T: Send>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(Arc<Watch>) -> T + Send,
) -> (T, Option<PyErr>) {
    let watch = Arc::new(Watch::default());
    py.detach(|| {
        std::thread::scope(|scope| {
            let (sender, receiver) = channel();
            let heard = Arc::clone(&watch);
            let worker = scope.spawn(move || {
                // Nobody is gone who would hear it: the receiver lives until it did.
                let _ = sender.send(work(heard));
            });
            let mut stopped = None;
            let result = loop {
                match receiver.recv_timeout(LOOK) {
                    Ok(result) => break result,
                    Err(RecvTimeoutError::Timeout) if stopped.is_none() => {
                        let looked = Python::attach(|py| {
                            py.check_signals()?;
                            watch.tell(py, progress.as_ref())
                        });
                        if let Err(error) = looked {
                            stopped = Some(error);
                            watch.stop();
                        }
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => {
                        match worker.join() {
                            Err(panic) => std::panic::resume_unwind(panic),
                            Ok(()) => unreachable!("it sends before it ends"),
                        };
                    }
                }
            };
            // The last news, where the work was long enough for some.
            if stopped.is_none() {
                let told = Python::attach(|py| watch.tell(py, progress.as_ref()));
                stopped = told.err();
            }
            (result, stopped)
        })
    })
}
