//! Holds the commands, a module each: its flags, and what it reports.

pub mod barrier;
pub mod cavi;
pub mod cells;
pub mod certify;
pub mod chain;
pub mod check;
pub mod collect;
pub mod density;
pub mod distill;
pub mod draw;
pub mod enumerate;
pub mod escape;
pub mod eval;
pub mod family;
pub mod free_energy;
pub mod gauge;
pub mod overlap;
pub mod parity;
pub mod read_back;
pub mod reproduce;
pub mod run;
mod series;
pub mod shell;
pub mod summary;
pub mod task;
pub mod train;
pub mod tree;
