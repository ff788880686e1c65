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
//!
//! # Why there are three searches
//!
//! All of them count rewards by `reward::count`. [`shelf`] and [`barrier`] change one cell of a code at a time and recount
//! its reward (`RewardCounter`); [`census`] and [`tree`] walk one table of flows (`flow::FlowTable`) through all codes. They
//! differ in what a code is to them:
//!
//! - [`shelf`] and [`barrier`] go through any class, tied ones too, and keep every code as a change of an earlier
//!   one: the list is the certificate that a checker reads. They share the list, the threads that look at changes,
//!   and the order; a shelf is a flood whose water does not fall.
//! - [`census`] meets thousands of shelves of one class and wants no certificate. A code is one number of 128 bits,
//!   the same for all codes that differ in the names of their tokens, q!^(T-1) of them, and what is known of one
//!   shelf is kept for the next. Kept as changes of an earlier code, those would all be visited.
//! - [`tree`] wants all shelves and all meetings at once. It sorts every code by reward and joins neighbours from the
//!   highest down, once, where a search from each leaf would flood the same codes again for each of them.
//!
//! The checker of certificates ([`proof`](crate::proof)) has a fourth, on purpose: it shares nothing with what it
//! checks.
//!
//! Prefixes are merged twice, by [`census`] and by the [density of states](crate::gibbs::density), in one table of
//! rows. On correlated parity both find about as many classes, some 750,000 after ten of fourteen steps. But the
//! census keeps every way to come to a class, since a change within the prefix depends on it, so it goes through all
//! actions of a step. The density keeps numbers only and merges after every cell, so it can go through steps that
//! have too many actions to list.

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
