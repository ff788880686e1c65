//! Measures codes and policies at a temperature (paper, sections 2.2, 3.3 and G.2).
//!
//! - [`marginals`]: what replicas of a chain say of the pure state they are in.
//! - [`fixed_points`]: how far its marginals are from a fixed point of tabular RLVR.
//! - [`family`]: codes over the complete parameterisation, windows and tying as penalties.

pub mod family;
pub mod fixed_points;
pub mod marginals;
