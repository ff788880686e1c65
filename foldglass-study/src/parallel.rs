//! Does many jobs on several threads and hands their results over in order, so that what is made of
//! them does not depend on the number of threads.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use foldglass::Allowance;
use foldglass::support::memory::TooLarge;

use crate::error::Error;

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

/// Does the jobs numbered 0 to `jobs`, and hands their results to `take` in the order of the jobs.
/// A job that was stopped gives none; no other is begun after it.
pub fn in_order<T: Send>(
    threads: usize,
    jobs: usize,
    job: impl Fn(usize) -> Result<Option<T>, Error> + Sync,
    take: impl FnMut(T) -> Result<(), Error> + Send,
) -> Result<(), Error> {
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
    let ends: Vec<Result<(), Error>> = std::thread::scope(|scope| {
        let failing = || work().inspect_err(|_| stop());
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(failing)).collect();
        let join = |worker: std::thread::ScopedJoinHandle<'_, _>| worker.join().expect("no panic");
        workers.into_iter().map(join).collect()
    });
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
            3 => Err(Error::Failed("three".to_owned())),
            _ => Ok(Some(number)),
        };
        let error = in_order(2, 10, fail, |_| Ok(())).unwrap_err();
        assert_eq!(error.to_string(), "three");
    }

    #[test]
    fn threads_are_given_up_until_each_has_its_memory() {
        let fit = |threads, each| fitting(threads, "a job", Some(each), Allowance(100));
        assert_eq!((fit(1, 30), fit(8, 30)), (Ok(1), Ok(3)));
        assert!(fit(8, 200).is_err());
        assert_eq!(threads(Some(10_000_000), usize::MAX), MOST_THREADS);
    }
}
