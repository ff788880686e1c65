//! The tests of the library from outside, in one program.

mod features;
mod method;
mod parsers;
#[cfg(all(feature = "networks", feature = "parquet"))]
mod train;
