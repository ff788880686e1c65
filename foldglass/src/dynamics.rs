//! The two dynamics that the paper compares, on the same exact rewards (paper, section 2.1 and App. G).
//!
//! - [`cavi`]: tabular RLVR. Damped updates of a policy towards softmax(dQ / tau), or the exact policy gradient.
//! - [`chain`]: Monte Carlo on codes. Metropolis, heat bath, parallel tempering.
//! - [`reinforce`]: sampled policy gradients on tables, as trainers of models take them.
//! - [`rollouts`]: inputs and rollouts of a policy, drawn by the million.
//! - [`schedule`]: the temperature of every iteration or sweep.

pub mod cavi;
pub mod chain;
pub mod reinforce;
pub mod rollouts;
pub mod schedule;
