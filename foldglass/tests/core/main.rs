//! The tests of the library from outside, in one program: each module has its own slow way to the same numbers.

mod common;

mod anatomy;
mod barrier;
mod chain;
mod check;
mod count;
mod density;
mod escape;
mod estimators;
mod evaluate;
mod family;
mod files;
mod free_energy;
mod gauge;
mod ignored;
mod landscape;
mod overlap;
mod parity;
mod pure_states;
mod regulator;
mod shelf;
mod tree;
mod verdict;
