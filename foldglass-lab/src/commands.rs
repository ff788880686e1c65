//! Gathers the commands: a module each, with its flags and its report.

pub mod cells;
pub mod eval;
pub mod task;
