//! Decides how many threads work, and stops long work from another thread.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use foldglass::Allowance;
use foldglass::support::memory::TooLarge;

/// The most threads: more than any machine has, few enough that their stacks fit.
pub const MOST_THREADS: usize = 1024;

/// The threads to use: those asked for or all, no more than there are jobs.
pub fn threads(asked: Option<usize>, jobs: usize) -> usize {
    let all = || std::thread::available_parallelism().map_or(1, |n| n.get());
    let threads = asked.unwrap_or_else(all).min(MOST_THREADS);
    threads.clamp(1, jobs.max(1))
}

/// The time between two questions of [`while_asking`].
const BETWEEN_QUESTIONS: Duration = Duration::from_millis(100);

/// Does something of which parts may take long. Meanwhile another thread asks now and then whether to
/// go on, and sets the flag when not.
pub fn while_asking<T>(
    stop: &AtomicBool,
    ask: impl Fn() -> ControlFlow<()> + Sync,
    work: impl FnOnce() -> T,
) -> T {
    std::thread::scope(|scope| {
        let (end, ended) = channel::<()>();
        let ask = &ask;
        scope.spawn(move || {
            while ended.recv_timeout(BETWEEN_QUESTIONS) == Err(RecvTimeoutError::Timeout) {
                if ask().is_break() {
                    stop.store(true, Ordering::Relaxed);
                    return;
                }
            }
        });
        let done = work();
        drop(end);
        done
    })
}

/// As many of the threads as have the memory they need; refused where it does not even fit once.
pub fn fitting(
    threads: usize,
    what: &str,
    each: Option<u128>,
    allowance: Allowance,
) -> Result<usize, TooLarge> {
    allowance.check(what, each)?;
    let room = allowance.0 / each.unwrap_or(0).max(1);
    let fitting = usize::try_from(room).unwrap_or(usize::MAX);
    Ok(threads.min(fitting).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn long_work_is_asked_for_from_another_thread_and_short_work_is_not() {
        let stop = AtomicBool::new(false);
        while_asking(&stop, || panic!("it is over before"), || ());
        let begun = std::time::Instant::now();
        while_asking(
            &stop,
            || ControlFlow::Break(()),
            || {
                while !stop.load(Ordering::Relaxed) {
                    assert!(begun.elapsed() < Duration::from_secs(20));
                    std::thread::sleep(Duration::from_millis(1));
                }
            },
        );
        assert!(begun.elapsed() >= BETWEEN_QUESTIONS);
    }

    #[test]
    fn threads_are_given_up_until_each_has_its_memory() {
        let fit = |threads, each| fitting(threads, "a job", Some(each), Allowance(100));
        assert_eq!((fit(1, 30), fit(8, 30)), (Ok(1), Ok(3)));
        assert!(fit(8, 200).is_err());
        assert_eq!(threads(Some(10_000_000), usize::MAX), MOST_THREADS);
    }
}
