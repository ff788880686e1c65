//! Explores the landscape of codes by single-cell changes (paper, App. G.6).

pub mod shelf;
