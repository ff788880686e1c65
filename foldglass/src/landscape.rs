//! Maps the landscape of codes: all of them, their local maxima, traps and barriers (paper, App. G.6).
//!
//! - [`census`] visits every code of an untied class.
//! - [`ignored`](mod@ignored) says which positions of the input a code does not use.
//! - [`shelf`] searches what neutral changes lead to from one code, in any class.
//! - [`barrier`] floods what lies around one code, until a way out of its shelf is found.
//! - [`tree`] floods a small class, and says which maxima meet at which reward.

pub mod barrier;
pub mod census;
pub mod ignored;
mod packed;
mod rungs;
pub mod shelf;
pub mod tree;
