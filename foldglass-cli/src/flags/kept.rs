//! Reads the flags that keep a run of networks on disk.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::seconds;

/// Where a run is kept, and how often.
#[derive(Debug, Clone, Args)]
pub struct KeptArgs {
    /// Directory for settings, curves, checkpoints and results; run the same command again to resume
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Seconds between two checkpoints
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    #[arg(allow_negative_numbers = true)]
    pub checkpoint_every: Duration,
}
