//! Gathers the commands: a module each, with its flags and its report.

pub mod cavi;
pub mod cells;
pub mod chain;
pub mod collect;
pub mod eval;
pub mod reproduce;
pub mod run;
pub mod task;
pub mod tree;
