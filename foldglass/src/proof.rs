//! Claims about codes, and their verification (paper, theorem 4.1 and App. G.6).
//!
//! Read in this order:
//!
//! 1. [`claim`]: verdicts and paths as data, and the form they have in files. Searches make them.
//! 2. [`check`]: verifies a claim from its data alone. It shares no code with the searches.

pub mod check;
pub mod claim;
