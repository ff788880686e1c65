//! The two dynamics that the paper compares, on the same exact rewards (paper, section 2.1 and App. G).
//!
//! - [`cavi`]: tabular RLVR. Damped updates of a policy towards softmax(dQ / tau), or the exact policy gradient.
//! - [`chain`]: Monte Carlo on codes. Metropolis, heat bath, schedules of temperatures, parallel tempering.

pub mod cavi;
pub mod chain;
