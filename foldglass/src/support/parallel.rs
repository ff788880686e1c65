//! Does jobs on several threads and hands their results over in order, so that what is made of them
//! does not depend on the number of threads.
//!
//! Threads follow one rule: an engine that takes a [`Context`](super::context::Context) starts `threads` threads of its own
//! here, and a single evaluation, which takes none, uses the rayon pool that it is called in (`Context::install` makes
//! one), and one thread outside of any. A thread that `in_order` starts is outside of every pool, so an evaluation on it uses that thread
//! alone.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::context::ONE_THREAD;

/// Does the jobs numbered 0 to `jobs` on one thread per tool, the caller's among them, and hands
/// their results to `take` in the order of the jobs. Each thread makes a function of its tool, which
/// does its jobs.
///
/// A job that was stopped gives `None`. After such a job, or an error of a job or of `take`, no
/// other job is begun. Jobs are begun in order, so of several errors that of the first job is
/// returned, and exactly the results of the jobs before it have been taken.
///
/// # Panics
/// If there are jobs but no tools, or a job panics.
pub fn in_order<S: Send, J, T: Send, E: Send>(
    tools: impl IntoIterator<Item = S>,
    jobs: usize,
    worker: impl Fn(S) -> J + Sync,
    take: impl FnMut(T) -> Result<(), E> + Send,
) -> Result<(), E>
where
    J: FnMut(usize) -> Result<Option<T>, E>,
{
    let next = AtomicUsize::new(0);
    let stopped = AtomicBool::new(false);
    let line = Mutex::new(Line {
        next: 0,
        waiting: BTreeMap::new(),
        take,
        failed: None,
    });
    let work = |tool: S| {
        let mut job = worker(tool);
        while !stopped.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= jobs {
                break;
            }
            let result = job(number);
            if !matches!(result, Ok(Some(_))) {
                stopped.store(true, Ordering::Relaxed);
            }
            let mut line = line.lock().expect("no panic while it is held");
            if line.put(number, result).is_err() {
                stopped.store(true, Ordering::Relaxed);
            }
        }
    };
    on_each(tools.into_iter().take(jobs), work);
    assert!(stopped.into_inner() || next.into_inner() >= jobs, "a tool");
    let line = line.into_inner().expect("no panic while it was held");
    line.failed.map_or(Ok(()), Err)
}

/// Does some work with each tool, on one thread per tool; the caller's thread takes the first.
pub(crate) fn on_each<S: Send>(tools: impl IntoIterator<Item = S>, work: impl Fn(S) + Sync) {
    let mut tools = tools.into_iter();
    if ONE_THREAD {
        return tools.for_each(work);
    }
    let Some(first) = tools.next() else { return };
    std::thread::scope(|scope| {
        let work = &work;
        for tool in tools {
            scope.spawn(move || work(tool));
        }
        work(first);
    });
}

/// Results that wait for those of earlier jobs.
struct Line<T, E, F> {
    next: usize,
    waiting: BTreeMap<usize, Result<Option<T>, E>>,
    take: F,
    failed: Option<E>,
}

/// An error was met: no other result is taken.
struct Failed;

impl<T, E, F: FnMut(T) -> Result<(), E>> Line<T, E, F> {
    fn put(&mut self, number: usize, result: Result<Option<T>, E>) -> Result<(), Failed> {
        if self.failed.is_some() {
            return Err(Failed);
        }
        self.waiting.insert(number, result);
        while let Some(result) = self.waiting.remove(&self.next) {
            self.next += 1;
            let taken = result.and_then(|result| result.map_or(Ok(()), &mut self.take));
            if let Err(error) = taken {
                self.failed = Some(error);
                return Err(Failed);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// The results of ten jobs on some threads; some of the jobs are slow.
    fn results(
        threads: usize,
        job: impl Fn(usize) -> Result<Option<usize>, usize> + Sync,
        mut refuse: impl FnMut(usize) -> bool + Send,
    ) -> (Vec<usize>, Result<(), usize>) {
        let mut taken = Vec::new();
        let slowly = |number: usize| {
            std::thread::sleep(Duration::from_millis(number as u64 * 7 % 5));
            job(number)
        };
        let end = in_order(
            vec![(); threads],
            10,
            |()| slowly,
            |result| {
                taken.push(result);
                if refuse(result) { Err(result) } else { Ok(()) }
            },
        );
        (taken, end)
    }

    #[test]
    fn results_come_in_the_order_of_the_jobs_until_one_is_refused() {
        for threads in [1, 2, 5, 20] {
            let squares: Vec<usize> = (0..10).map(|n| n * n).collect();
            let square = |n| Ok(Some(n * n));
            assert_eq!(results(threads, square, |_| false), (squares, Ok(())));
            let (taken, end) = results(threads, square, |square| square >= 16);
            assert_eq!((taken, end), (vec![0, 1, 4, 9, 16], Err(16)), "{threads}");
        }
        let never = |()| |_| -> Result<Option<()>, ()> { unreachable!() };
        assert_eq!(in_order(vec![], 0, never, |()| Ok(())), Ok(()));
    }

    #[test]
    fn after_a_stopped_job_the_finished_ones_are_handed_over() {
        let stop = |n| Ok((n != 4).then_some(n));
        assert_eq!(results(1, stop, |_| false), (vec![0, 1, 2, 3], Ok(())));
        let (some, end) = results(3, stop, |_| false);
        assert!(end.is_ok() && !some.contains(&4) && some.is_sorted() && some.len() < 10);
    }

    #[test]
    fn of_several_errors_that_of_the_first_job_is_returned() {
        for threads in [1, 2, 5] {
            let fail = |n| if n < 3 { Ok(Some(n)) } else { Err(n) };
            assert_eq!(results(threads, fail, |_| false), (vec![0, 1, 2], Err(3)));
        }
    }

    #[test]
    fn each_thread_keeps_its_tool() {
        let mut tools = vec![0; 3];
        in_order(
            &mut tools,
            50,
            |tool| {
                |_| {
                    *tool += 1;
                    Ok::<_, ()>(Some(()))
                }
            },
            |()| Ok(()),
        )
        .unwrap();
        assert_eq!(tools.into_iter().sum::<usize>(), 50);
    }
}
