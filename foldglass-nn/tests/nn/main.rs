//! The tests of the library from outside, in one program.

mod cpu;
mod dense;
mod distill;
