//! Sums over all codes at a temperature (paper, sections 2.2, 3.2 and 4.2, App. F).
//!
//! Z(beta) is the sum over all q^cells codes of exp(beta J), beta = 1 / tau; F = -tau ln Z.
//!
//! - [`bands`]: everything that follows from a density of states.
//! - [`parity`]: the closed form for parity, its transition, and that of RLVR itself.
//! - [`density`]: the exact density of states of any untied class that fits.
//! - [`overlap`]: how alike independent replicas are, whatever their tokens are called.

pub mod bands;
pub mod density;
pub mod overlap;
pub mod parity;
