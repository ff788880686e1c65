//! Asks `foldglass explore` as a page does, and as nobody should.

mod attack;
mod life;
mod numbers;
mod records;
mod server;
