//! The foldglass command.
fn main() {}
