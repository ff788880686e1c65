//! Maps the landscape of codes: all of them, their local maxima, traps and barriers (paper, App. G.6).
//!
//! - [`census`] visits every code of an untied class.
//! - [`shelf`] searches what neutral changes lead to from one code, in any class.

pub mod census;
mod packed;
mod rungs;
pub mod shelf;
