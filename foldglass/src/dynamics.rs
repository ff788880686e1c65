//! The two dynamics that the paper compares, on the same exact rewards (paper, section 2.1 and App. G).
//!
//! - [`cavi`]: tabular RLVR. Damped updates of a policy towards softmax(dQ / tau), or the exact policy gradient.
//! - [`chain`]: Monte Carlo on codes. Metropolis, heat bath, parallel tempering.
//! - [`schedule`]: the temperature of every iteration or sweep.

pub mod cavi;
pub mod chain;
pub mod schedule;
