//! What everything else stands on, none of it about the paper.
//!
//! Read the first four before an engine, the others when you meet them:
//!
//! 1. [`exact`]: rational numbers and [`Reward`](exact::Reward).
//! 2. [`stream`]: random numbers addressed by seed, stream and position.
//! 3. [`context`]: memory, threads and observer of a computation, in one value.
//! 4. [`watch`]: progress, and how a caller stops an engine.
//! 5. [`memory`]: how much memory an engine may take, asked before it takes it.
//! 6. [`parallel`]: jobs on several threads, their results in order.
//! 7. [`stats`]: error bars, intervals, autocorrelation times, tests.
//! 8. [`names`]: the words that stand for values in flags and files.
//! 9. [`clock`]: the time, for limits and progress.
//! 10. `vectors`: loops compiled for each kind of vectors of the processor, with the calls to them that are `unsafe`.

pub mod clock;
pub mod context;
pub mod exact;
pub mod memory;
pub mod names;
pub mod parallel;
pub mod stats;
pub mod stream;
#[allow(unsafe_code)]
pub(crate) mod vectors;
pub mod watch;
