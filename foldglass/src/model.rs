//! What the paper studies, as data: tasks, classes of policies, codes (paper, section 2).
//!
//! Read in this order:
//!
//! 1. [`quasigroup`]: the multiplication table B, by name, from a group, or at random.
//! 2. [`inputs`]: the law of x_1 .. x_T, as exact integer weights.
//! 3. [`task`]: table, law and lengths; the fold s_t = B[s_{t-1}, x_t]; the denominator of all rewards.
//! 4. [`class`]: what a policy may depend on. Its cells, their order, and the steps of a rollout.
//! 5. [`policy`]: codes (one action per cell) and policies (one distribution per cell).

pub mod class;
pub mod inputs;
pub mod policy;
pub mod quasigroup;
pub mod task;
