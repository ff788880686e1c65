//! Re-verifies what searches claim, from the claim alone (paper, thm. 4.1 and App. G.6).
//!
//! It knows the task, which cell a rollout consults, and nothing of how a claim was found: no code
//! is shared with the searches, nor with the counts that they compare.

mod forward;
pub mod path;
mod rollouts;
pub mod verdict;

use crate::model::class::Class;
use crate::model::operation::Symbol;
use crate::model::policy::Code;
use crate::support::memory::TooLarge;
use dashu_int::UBig;
use std::ops::Sub;
use thiserror::Error;

pub use rollouts::Rollouts;

/// What a code and its neighbours earn, as numerators of J.
trait Earnings: Clone + Send + Sync {
    /// The integers that it is counted in.
    type Number: Clone + Default + Ord + Into<UBig> + Sub<Output = Self::Number> + Send + Sync;

    fn code(&self) -> &Code;

    fn denominator(&self) -> Self::Number;

    fn reward(&self) -> Self::Number;

    /// Writes the numerator of J for every action at a cell, the rest of the code unchanged.
    fn rewards(&mut self, cell: usize, rewards: &mut [Self::Number]);

    fn set(&mut self, cell: usize, action: Symbol);
}

/// Whether all inputs of a class are listed: they are where their rollouts have at most this number of steps.
fn are_listed(class: &Class, most_steps: u128) -> bool {
    let task = class.task();
    let length = task.longest();
    let inputs = u32::try_from(length).ok();
    let inputs = inputs.and_then(|length| (class.q() as u128).checked_pow(length));
    let steps = inputs.and_then(|inputs| inputs.checked_mul(length as u128));
    u128::try_from(task.denominator()).is_ok() && steps.is_some_and(|steps| steps <= most_steps)
}

/// The bytes that checking a verdict on a code of a class takes; none from 2^128 on.
pub fn bytes(class: &Class) -> Option<u128> {
    match are_listed(class, verdict::MOST_STEPS) {
        true => rollouts::bytes(class),
        false => forward::bytes(class),
    }
}

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
