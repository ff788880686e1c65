//! Audits the paper: redoes its tables and figures, and decides its statements one by one.
//!
//! - [`reproduce`]: the items of the paper as data (what each needs, what it measures, what the paper states), the
//!   runs they need, and the comparison number by number.
//! - [`claims`]: every statement of the text with a verdict, from the same records and small computations.
//!
//! Records are read once; rows and verdicts are computed from them; only a caller writes.

pub mod claims;
pub mod reproduce;

use foldglass_report::{self as report, error, progress};
