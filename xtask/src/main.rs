//! The entry of developers and CI.
fn main() {}
