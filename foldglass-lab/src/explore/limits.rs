//! Bounds what a page may ask for: bytes, connections, time and memory.

use std::time::Duration;

/// The largest body of a request.
pub const BODY: usize = 1 << 20;
/// The most bytes of a request's head, and of headers in it.
pub const HEAD: usize = 16 << 10;
/// See `HEAD`.
pub const HEADERS: usize = 64;

/// The most connections at once.
pub const CONNECTIONS: usize = 64;
/// The most requests at once that are computed or wait for it.
pub const REQUESTS: usize = 32;
/// The threads that compute them.
pub const THREADS: usize = 8;
/// The most long computations at once: the other threads are left to short ones.
pub const LONG_ONES: usize = 4;

/// One call of a run is stopped after this, with what it has done.
pub const STEPPING: Duration = Duration::from_secs(1);
/// A connection ends after this, once its request is answered or after the pause that follows.
pub const CONNECTED: Duration = Duration::from_secs(900);
/// See `CONNECTED`.
pub const PARTING: Duration = Duration::from_secs(30);

/// The bytes of one computation, where `--max-memory` says no other.
pub const MEMORY: u128 = 512 << 20;
/// The bytes of all runs together.
pub const RUNS_MEMORY: u128 = 1 << 30;

/// The most symbols: a code is written with one digit a cell.
pub const SYMBOLS: u128 = 36;
/// The most cells, steps and lengths.
pub const CELLS: usize = 100_000;
/// See `CELLS`.
pub const STEPS: usize = 1000;
/// See `CELLS`.
pub const LENGTHS: usize = 64;
/// Classes that are kept laid out.
pub const CLASSES: usize = 16;

/// The most pages that are told apart.
pub const PAGES: usize = 64;
/// The most runs of a page; one more, and its oldest is dropped.
pub const RUNS: usize = 8;
/// A run that was not stepped for this long is dropped.
pub const FORGOTTEN: Duration = Duration::from_secs(300);
/// The most sweeps or iterations of one call.
pub const SWEEPS: u64 = 10_000;

/// The wait for a first page.
pub const FIRST_PAGE: Duration = Duration::from_secs(600);
/// A page that has not called for this long is gone.
pub const SILENT: Duration = Duration::from_secs(35);
