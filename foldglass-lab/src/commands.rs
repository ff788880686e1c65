//! Gathers the commands: a module each, with its flags and its report.

pub mod cavi;
pub mod cells;
pub mod certify;
pub mod chain;
pub mod check;
pub mod collect;
pub mod density;
pub mod enumerate;
pub mod escape;
pub mod eval;
pub mod free_energy;
pub mod gauge;
pub mod parity;
pub mod reproduce;
pub mod run;
pub mod task;
pub mod tree;
