//! Bounds what a page may ask for: time, memory, sizes.

use std::time::Duration;

/// One call of a run is stopped after this, with what it has done.
pub const STEPPING: Duration = Duration::from_secs(1);

/// The bytes of one computation, where the user sets no other limit and the machine has as many.
pub const MEMORY: u128 = 512 << 20;
/// The bytes of all runs together.
pub const RUNS_MEMORY: u128 = 1 << 30;

/// The most symbols: a code is written with one digit a cell.
pub const SYMBOLS: usize = 36;
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

/// A page that has not called for this long is gone.
pub const SILENT: Duration = Duration::from_secs(35);
