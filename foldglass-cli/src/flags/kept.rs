//! Reads the flags that keep a run of networks on disk.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::seconds;

/// Where a run is kept, and how often.
#[derive(Debug, Clone, Args)]
pub struct KeptArgs {
    /// Keep the run here: what it is, sealed lines as they come, everything that training has made
    /// now and then, what it came to; the same command goes on with what was interrupted
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Save the whole state each time so many seconds have passed
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    #[arg(allow_negative_numbers = true)]
    pub checkpoint_every: Duration,
}
