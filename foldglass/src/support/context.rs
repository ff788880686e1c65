//! Holds the memory, the threads and the observer of a computation: one value for every engine.

use super::memory::Allowance;
use super::watch::{Observer, Unwatched};

/// WebAssembly of a page has one thread; what would start others is not compiled for it.
pub(crate) const ONE_THREAD: bool = cfg!(all(target_family = "wasm", target_os = "unknown"));
use std::fmt;

/// The memory and the threads that a computation may take, and the observer that it reports to.
///
/// A function that may take long has a context as its last argument. The default is 8 GiB, all threads of the
/// machine and no observer.
///
/// ```
/// use foldglass::{Allowance, Context};
/// use std::ops::ControlFlow;
/// let stop = |_: foldglass::Progress<'_>| ControlFlow::Break(());
/// let context = Context::default()
///     .with_memory(Allowance(1 << 30))
///     .with_threads(2)
///     .with_observer(&stop);
/// assert_eq!(context.each().memory, Allowance(1 << 29));
/// ```
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Context<'a> {
    /// The memory that all its threads may take together.
    pub memory: Allowance,
    /// The number of threads, at least 1. No result depends on it.
    pub threads: usize,
    /// Receives progress, and may stop the computation.
    pub observer: &'a dyn Observer,
}

impl Default for Context<'_> {
    fn default() -> Self {
        Context {
            memory: Allowance::default(),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            observer: &Unwatched,
        }
    }
}

impl<'a> Context<'a> {
    /// Limits the memory.
    pub fn with_memory(self, memory: Allowance) -> Context<'a> {
        Context { memory, ..self }
    }

    /// Uses this number of threads; 0 stands for 1.
    pub fn with_threads(self, threads: usize) -> Context<'a> {
        let threads = threads.max(1);
        Context { threads, ..self }
    }

    /// Reports to this observer.
    pub fn with_observer(self, observer: &dyn Observer) -> Context<'_> {
        Context { observer, ..self }
    }

    /// The share of each thread: one thread and its part of the memory.
    pub fn each(self) -> Context<'a> {
        let memory = self.memory.shared(self.threads);
        self.with_memory(memory).with_threads(1)
    }

    /// Does something without a context of its own on these threads: the evaluation of a policy whose class is
    /// wide ([`crate::Evaluator::uses_threads`]), and the dynamics on such classes. Elsewhere they use the caller's
    /// thread alone. The bits are the same.
    pub fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        if ONE_THREAD || self.threads < 2 {
            return work();
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.threads);
        match pool.build() {
            Ok(pool) => pool.install(work),
            // The system has no more threads: the work is done on this one.
            Err(_) => work(),
        }
    }
}

impl fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("memory", &self.memory)
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}
