//! Trains the paper's one-block transformer by the hundred (paper, section 5 and app. G.4, G.5).

pub mod dense;
pub mod layout;
pub mod shape;
pub mod weights;
