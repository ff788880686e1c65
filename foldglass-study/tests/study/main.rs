//! The tests of the library from outside, in one program.

mod damage;
mod features;
mod method;
mod parsers;
#[cfg(all(feature = "networks", feature = "parquet"))]
mod train;
