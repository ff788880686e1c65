//! The landscape of codes: local maxima, traps, barriers, and ways out (paper, section 4, App. B, D, E and G.6).
//!
//! Read in this order:
//!
//! 1. [`gauge`]: relabelling of tokens, orbits, holonomies, agreement of codes.
//! 2. [`anatomy`]: one code taken apart. Its steps, aliasing, factors and wrong answers.
//! 3. [`ignored`](mod@ignored): the positions of the input that a code does not use.
//! 4. [`shelf`]: what neutral changes lead to from one code, in any class.
//! 5. [`barrier`]: how far the reward must fall on the way from one code to a higher one.
//! 6. [`census`]: every code of an untied class, counted.
//! 7. [`tree`]: which maxima of a small class merge at which reward.
//! 8. [`escape`]: the paper's theorems as procedures. Paths out of local maxima, collapse of a policy to a code.
//! 9. [`law`]: the laws of the traps of parity in closed form, and what theorems say of a class.

pub mod anatomy;
pub mod barrier;
pub mod census;
pub mod escape;
pub mod gauge;
pub mod ignored;
pub mod law;
mod packed;
pub mod shelf;
pub mod tree;
mod walk;
