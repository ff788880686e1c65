//! The expected reward J, exactly (paper, section 2.2 and App. A).
//!
//! Read in this order:
//!
//! 1. [`count`]: J of a code as an integer over the task's denominator, also after a change of one cell.
//! 2. [`evaluate`]: J of a policy in f64, with the visits d and the values dQ of every cell.
//! 3. [`per_input`]: the success of every input, by the tree of all inputs.
//! 4. `replicas`: several rollouts on one input as one chain, for long inputs; [`ways`] chooses between the two.
//! 5. [`objectives`]: means of functions of the success, with exact gradients.
//! 6. [`estimators`]: exact bias and variance of sampled policy gradients.
//! 7. `layout`: where tables and messages lie in memory, for vectors of the processor.
//! 8. `kernels`: the loops of `evaluate` on these vectors. All `unsafe` of the crate is here and in `support::vectors`.

pub(crate) mod binomial;
pub mod count;
pub mod estimators;
pub mod evaluate;
#[allow(unsafe_code)]
pub(crate) mod kernels;
pub(crate) mod layout;
pub mod objectives;
pub mod per_input;
pub(crate) mod replicas;
pub mod ways;
