//! Does many jobs on several threads, shows how far they are, and stops them at Ctrl-C.
//!
//! Jobs are begun in order and their results are handed over in order, so that what is made of them
//! does not depend on the number of threads.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, Once};
use std::time::{Duration, Instant};

use foldglass::class::{Allowance, ClassError};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::error::Error;

/// Shorter computations show nothing.
const PATIENCE: Duration = Duration::from_secs(2);

/// Signals within this time are one.
const AT_ONCE: Duration = Duration::from_millis(500);

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Whether Ctrl-C was pressed since a [`Progress`] was made.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// From now on a first Ctrl-C is heard by [`interrupted`]; a second ends the program at once.
pub fn hear_interrupts() {
    static HEARD: Once = Once::new();
    HEARD.call_once(|| {
        let mut first: Option<Instant> = None;
        let handler = move || {
            INTERRUPTED.store(true, Ordering::Relaxed);
            // A terminal that closes, or a scheduler, sends several signals in a row.
            if first.get_or_insert_with(Instant::now).elapsed() > AT_ONCE {
                std::process::exit(130);
            }
        };
        // Without a handler Ctrl-C still ends the program, only without a report.
        keeping_hangups_ignored(|| _ = ctrlc::set_handler(handler));
    });
}

/// A hangup that is ignored, as under `nohup`, stays so: the handler would take it for Ctrl-C.
#[cfg(unix)]
fn keeping_hangups_ignored(install: impl FnOnce()) {
    // SAFETY: reads and sets what a signal does; nothing but `action` is written.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let known = libc::sigaction(libc::SIGHUP, std::ptr::null(), &mut action) == 0;
        install();
        if known && action.sa_sigaction == libc::SIG_IGN {
            libc::signal(libc::SIGHUP, libc::SIG_IGN);
        }
    }
}

#[cfg(not(unix))]
fn keeping_hangups_ignored(install: impl FnOnce()) {
    install();
}

/// A bar on stderr, where that is a terminal and the work takes more than a moment.
pub struct Progress {
    bar: ProgressBar,
    begun: Instant,
    shown: AtomicBool,
}

/// Whether to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Go {
    /// Yes.
    On,
    /// No: the user pressed Ctrl-C.
    Stop,
}

impl Progress {
    /// Work of `total` steps, whose name is `unit`.
    pub fn new(total: u64, unit: &str) -> Progress {
        hear_interrupts();
        let form = format!("{{wide_bar}} {{human_pos}}/{{human_len}} {unit}, {{eta}} left");
        let style = ProgressStyle::with_template(&form).expect("a fixed form");
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        Progress {
            bar: bar.with_style(style),
            begun: Instant::now(),
            shown: AtomicBool::new(false),
        }
    }

    /// Work of which nobody knows how long it takes.
    pub fn open() -> Progress {
        let style = ProgressStyle::with_template("{spinner} {msg}, {elapsed}");
        let progress = Progress::new(0, "");
        let bar = progress.bar.clone();
        bar.set_style(style.expect("a fixed form"));
        progress
    }

    /// Says how far it is.
    pub fn say(&self, message: String) -> Go {
        self.bar.set_message(message);
        self.add(0)
    }

    /// Counts steps done.
    pub fn add(&self, steps: u64) -> Go {
        self.bar.inc(steps);
        if !self.shown.load(Ordering::Relaxed)
            && self.begun.elapsed() > PATIENCE
            && !self.shown.swap(true, Ordering::Relaxed)
        {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        match interrupted() {
            true => Go::Stop,
            false => Go::On,
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// The threads to use: those asked for or all, no more than there are jobs.
pub fn threads(asked: Option<usize>, jobs: usize) -> usize {
    let all = || std::thread::available_parallelism().map_or(1, |n| n.get());
    asked.unwrap_or_else(all).clamp(1, jobs.max(1))
}

/// As many of the threads as memory allows, and what each may take. `probe` builds what one thread
/// needs; when it does not even fit once, it is refused.
pub fn fitting<E>(
    threads: usize,
    allowance: Allowance,
    probe: impl Fn(Allowance) -> Result<(), E>,
    lacks_memory: impl Fn(&E) -> bool,
) -> Result<(usize, Allowance), E> {
    let mut threads = threads;
    loop {
        let each = Allowance(allowance.0 / threads as u128);
        match probe(each) {
            Ok(()) => return Ok((threads, each)),
            Err(error) if threads > 1 && lacks_memory(&error) => threads /= 2,
            Err(error) => return Err(error),
        }
    }
}

/// Whether it is memory that a class lacks.
pub fn is_too_large(error: &ClassError) -> bool {
    matches!(error, ClassError::TooLarge { .. })
}

/// Does the jobs numbered 0 to `jobs`, and hands their results to `take` in the order of the jobs.
/// A job that was stopped gives none; no other is begun after it.
pub fn in_order<T: Send>(
    threads: usize,
    jobs: usize,
    job: impl Fn(usize) -> Result<Option<T>, Error> + Sync,
    take: impl FnMut(T) -> Result<(), Error> + Send,
) -> Result<(), Error> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool =
        pool.map_err(|error| Error::Usage(format!("cannot start {threads} threads: {error}")))?;
    let next = AtomicUsize::new(0);
    let stopped = AtomicBool::new(false);
    let stop = || stopped.store(true, Ordering::Relaxed);
    let queue = Mutex::new(Queue {
        next: 0,
        waiting: BTreeMap::new(),
        take,
    });
    let work = || -> Result<(), Error> {
        while !stopped.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= jobs {
                break;
            }
            match job(number)? {
                Some(result) => queue.lock().expect("no panic").put(number, result)?,
                None => stop(),
            }
        }
        Ok(())
    };
    let ends = pool.broadcast(|_| work().inspect_err(|_| stop()));
    ends.into_iter().collect::<Result<(), Error>>()?;
    queue.into_inner().expect("no panic").drain()
}

/// Results that came before those of earlier jobs.
struct Queue<T, F> {
    next: usize,
    waiting: BTreeMap<usize, T>,
    take: F,
}

impl<T, F: FnMut(T) -> Result<(), Error>> Queue<T, F> {
    fn put(&mut self, number: usize, result: T) -> Result<(), Error> {
        self.waiting.insert(number, result);
        while let Some(result) = self.waiting.remove(&self.next) {
            self.next += 1;
            (self.take)(result)?;
        }
        Ok(())
    }

    /// Hands over what is left, past the gaps that stopped jobs leave.
    fn drain(mut self) -> Result<(), Error> {
        self.waiting.into_values().try_for_each(&mut self.take)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a number of threads makes of ten jobs, some of them slow.
    fn results(threads: usize, job: impl Fn(usize) -> Option<usize> + Sync) -> Vec<usize> {
        let mut taken = Vec::new();
        let slowly = |number: usize| {
            std::thread::sleep(Duration::from_millis(number as u64 * 7 % 5));
            Ok(job(number))
        };
        let take = |result| {
            taken.push(result);
            Ok(())
        };
        in_order(threads, 10, slowly, take).unwrap();
        taken
    }

    #[test]
    fn results_come_in_the_order_of_the_jobs() {
        for threads in [1, 2, 5] {
            let squares: Vec<usize> = (0..10).map(|n| n * n).collect();
            assert_eq!(results(threads, |n| Some(n * n)), squares);
        }
    }

    #[test]
    fn after_a_stopped_job_the_finished_ones_are_handed_over() {
        assert_eq!(
            results(1, |n| (n != 4).then_some(n)),
            (0..4).collect::<Vec<_>>()
        );
        let some = results(3, |n| (n != 4).then_some(n));
        assert!(!some.contains(&4) && some.is_sorted() && some.len() < 10);
    }

    #[test]
    fn an_error_ends_the_work() {
        let fail = |number| match number {
            3 => Err(Error::Usage("three".to_owned())),
            _ => Ok(Some(number)),
        };
        let error = in_order(2, 10, fail, |_| Ok(())).unwrap_err();
        assert_eq!(error.to_string(), "three");
    }

    #[test]
    fn threads_are_given_up_until_each_has_its_memory() {
        let probe = |allowance: Allowance| allowance.check("a job", Some(30));
        let fit = |threads| fitting(threads, Allowance(100), probe, is_too_large);
        assert_eq!(fit(1), Ok((1, Allowance(100))));
        assert_eq!(fit(8), Ok((2, Allowance(50))));
        let probe = |allowance: Allowance| allowance.check("a job", Some(200));
        assert!(fitting(8, Allowance(100), probe, is_too_large).is_err());
    }
}
