//! Bounds what a client may take: bytes, connections, time.

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

/// A connection ends after this, once its request is answered or after the pause that follows.
pub const CONNECTED: Duration = Duration::from_secs(900);
/// See `CONNECTED`.
pub const PARTING: Duration = Duration::from_secs(30);

/// The wait for a first page.
pub const FIRST_PAGE: Duration = Duration::from_secs(600);
