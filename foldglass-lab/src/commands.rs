//! Gathers the commands: a module each, with its flags and its report.

pub mod cavi;
pub mod cells;
pub mod chain;
pub mod eval;
pub mod task;
