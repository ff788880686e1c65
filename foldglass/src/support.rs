//! What everything else stands on, none of it about the paper.
//!
//! - [`exact`]: rational numbers and [`Reward`](exact::Reward).
//! - [`stream`]: random numbers addressed by seed, stream and position.
//! - [`stats`]: error bars, intervals, autocorrelation times, tests.
//! - [`context`]: memory, threads and observer of a computation, in one value.
//! - [`memory`]: how much memory an engine may take, asked before it takes it.
//! - [`parallel`]: jobs on several threads, their results in order.
//! - [`watch`]: progress, and how a caller stops an engine.
//! - [`names`]: the words that stand for values in flags and files.

pub mod context;
pub mod exact;
pub mod memory;
pub mod names;
pub mod parallel;
pub mod stats;
pub mod stream;
pub mod watch;
