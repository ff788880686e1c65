//! Sums over all codes at a temperature (paper, sections 2.2, 3.2 and 4.2, App. F).
//!
//! - [`overlap`]: how alike independent replicas are, whatever their tokens are called.

pub mod overlap;
