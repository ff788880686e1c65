//! Re-verifies what searches claim, from the claim alone (paper, thm. 4.1 and App. G.6).
//!
//! It knows the task, which cell a rollout consults, and nothing of how a claim was found: no code
//! is shared with the searches, nor with the counts that they compare.

mod forward;
pub mod path;
mod rollouts;
pub mod verdict;

use crate::support::memory::TooLarge;
use thiserror::Error;

pub use rollouts::{Rollouts, bytes};

/// A claim that cannot be checked here.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CheckError {
    /// A denominator of 2^128 or more.
    #[error(
        "the rewards of this task have a denominator of {bits} bits: rollouts are weighed in 128"
    )]
    TooFine {
        /// The denominator's size.
        bits: usize,
    },
    /// More memory than allowed.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
}

#[cfg(test)]
mod tests;
