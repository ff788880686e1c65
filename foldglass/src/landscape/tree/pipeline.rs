//! Does jobs on several threads, and takes their results in order on one at a time.
//!
//! What is made of the results therefore does not depend on the number of threads.

use super::TreeError;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Does the jobs numbered 0 to `jobs`, each thread with tools of its own, and hands the results to
/// `take` in the order of the jobs, until one is refused.
pub(super) fn in_order<S, T: Send>(
    threads: usize,
    jobs: usize,
    tools: impl Fn() -> S + Sync,
    job: impl Fn(&mut S, usize) -> T + Sync,
    take: impl FnMut(T) -> Result<(), TreeError> + Send,
) -> Result<(), TreeError> {
    let next = AtomicUsize::new(0);
    let refused = AtomicBool::new(false);
    let queue = Mutex::new(Queue {
        next: 0,
        waiting: BTreeMap::new(),
        take,
    });
    let work = || -> Result<(), TreeError> {
        let mut tools = tools();
        while !refused.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= jobs {
                break;
            }
            let result = job(&mut tools, number);
            let mut queue = queue.lock().expect("no panic while it is held");
            queue.put(number, result).inspect_err(|_| {
                refused.store(true, Ordering::Relaxed);
            })?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(jobs)).map(|_| scope.spawn(work)).collect();
        let mut ended = work();
        for other in others {
            ended = ended.and(other.join().expect("no panic"));
        }
        ended
    })
}

/// Results that came before those of earlier jobs.
struct Queue<T, F> {
    next: usize,
    waiting: BTreeMap<usize, T>,
    take: F,
}

impl<T, F: FnMut(T) -> Result<(), TreeError>> Queue<T, F> {
    fn put(&mut self, number: usize, result: T) -> Result<(), TreeError> {
        self.waiting.insert(number, result);
        while let Some(result) = self.waiting.remove(&self.next) {
            self.next += 1;
            (self.take)(result)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_taken_in_order_until_one_is_refused() {
        for threads in [1, 2, 5] {
            let mut taken = Vec::new();
            let ended = in_order(
                threads,
                100,
                || (),
                |(), number| number * number,
                |square| {
                    taken.push(square);
                    Ok(())
                },
            );
            assert_eq!(ended, Ok(()));
            assert!(taken.into_iter().eq((0..100).map(|n| n * n)), "{threads}");
            let mut taken = 0;
            let ended = in_order(
                threads,
                100,
                || (),
                |(), number| number,
                |number| {
                    taken += 1;
                    if number < 7 {
                        Ok(())
                    } else {
                        Err(TreeError::Stopped)
                    }
                },
            );
            assert_eq!((ended, taken), (Err(TreeError::Stopped), 8), "{threads}");
        }
    }
}
