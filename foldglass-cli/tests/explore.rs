//! Asks `foldglass explore` as a page does, and as nobody should.

#[path = "explore/attack.rs"]
mod attack;
#[path = "explore/life.rs"]
mod life;
#[path = "explore/numbers.rs"]
mod numbers;
#[path = "explore/records.rs"]
mod records;
#[path = "explore/server.rs"]
mod server;
// The tests of the command line need more of it.
#[allow(dead_code)]
#[path = "cli/support.rs"]
mod support;
