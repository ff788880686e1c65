//! The two dynamics that the paper compares, on the same exact rewards (paper, section 2.1 and App. G).
//!
//! Read in this order:
//!
//! 1. [`schedule`]: the temperature of every iteration or sweep, which both dynamics take.
//! 2. [`cavi`]: tabular RLVR. Damped updates of a policy towards softmax(dQ / tau), or the exact policy gradient.
//! 3. [`chain`]: Monte Carlo on codes. Metropolis, heat bath, parallel tempering. A sweep over single cells is in `chain::cells`, one over
//!    whole steps in `chain::blocks`.
//! 4. [`rollouts`]: inputs and rollouts of a policy, drawn by the million.
//! 5. [`reinforce`]: policy gradients from such rollouts, as trainers of language models take them.

pub mod cavi;
pub mod chain;
pub mod reinforce;
pub mod rollouts;
pub mod schedule;
