//! Locks what threads share.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a mutex holds, whatever happened to a thread that held it: all of it is valid at any time.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
