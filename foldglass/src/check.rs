//! Re-verifies what searches claim, from the claim alone (paper, thm. 4.1 and App. G.6).
//!
//! It knows the task, which cell a rollout consults, and nothing of how a claim was found: no code
//! is shared with the searches, nor with the counts that they compare.

pub mod path;
