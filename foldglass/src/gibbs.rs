//! Sums over all codes at a temperature (paper, sections 2.2, 3.2 and 4.2, App. F).
//!
//! Z(beta) is the sum over all q^cells codes of exp(beta J), beta = 1 / tau; F = -tau ln Z.
//!
//! Read in this order; the first five are about Z, the next three about what a chain samples:
//!
//! 1. [`bands`]: everything that follows from a density of states.
//! 2. [`parity`]: the closed form for parity, its transition, and that of RLVR itself.
//! 3. [`density`]: the exact density of states of any untied class that fits.
//! 4. [`free_energy`]: estimates for every other class, with errors, or the reason why there are none.
//! 5. [`variational`]: the RLVR loss beside the free energy, J beside J-tilde.
//! 6. [`overlap`]: how alike independent replicas are, whatever their tokens are called.
//! 7. [`marginals`]: the marginals of the pure state that replicas of a chain are in.
//! 8. [`fixed_points`]: how far its marginals are from a fixed point of tabular RLVR.
//! 9. [`family`]: codes over the complete parameterisation, windows and tying as penalties.

pub mod bands;
pub mod density;
pub mod family;
pub mod fixed_points;
pub mod free_energy;
pub mod marginals;
pub mod overlap;
pub mod parity;
pub mod variational;
