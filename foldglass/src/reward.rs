//! The expected reward J, exactly (paper, section 2.2 and App. A).
//!
//! Read in this order:
//!
//! 1. [`count`]: J of a code as an integer over the task's denominator, also after a change of one cell.
//! 2. [`evaluate`]: J of a policy in f64, with the visits d and the values dQ of every cell.
//! 3. [`per_input`]: the success of every input, and objectives of it.
//! 4. [`estimators`]: exact bias and variance of sampled policy gradients.
//! 5. `layout`: where tables and messages lie in memory, for vectors of the processor.
//! 6. `kernels`: the loops of `evaluate` on these vectors. All `unsafe` of the crate is here.

pub mod count;
pub mod estimators;
pub mod evaluate;
#[allow(unsafe_code)]
pub(crate) mod kernels;
pub(crate) mod layout;
pub mod per_input;
