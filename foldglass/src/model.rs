//! What the paper studies, as data: tasks, classes of policies, codes (paper, section 2).
//!
//! Read in this order:
//!
//! 1. [`operation`]: the multiplication table B, by name, from rows, or at random.
//! 2. [`inputs`]: the law of x_1 .. x_T, as exact integer weights.
//! 3. [`rewarded`]: weights of lengths, and which tokens are rewarded.
//! 4. [`task`]: table, law, lengths and reward; the fold s_t = B[s_{t-1}, x_t]; the denominator of all rewards.
//! 5. [`class`]: what a policy may depend on. Its cells, their order, and the steps of a rollout.
//! 6. [`policy`]: codes (one action per cell) and policies (one distribution per cell).

pub mod class;
pub mod inputs;
pub mod operation;
pub mod policy;
pub mod rewarded;
pub mod task;
