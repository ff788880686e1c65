//! Does what statements need and is not done yet, and keeps what it finds beside other records.

use std::path::PathBuf;

use foldglass::Allowance;

use super::probes;
use crate::error::Error;
use crate::progress::{Terminal, interrupted};
use crate::reproduce::ReproductionManifest;
use crate::reproduce::studies::Scale;

/// Where and how much is computed.
pub struct Bench {
    /// The directory of records.
    pub directory: PathBuf,
    /// How much.
    pub scale: Scale,
    /// The seed of all that is random.
    pub seed: u64,
    /// Threads.
    pub threads: usize,
    /// The memory that may be taken.
    pub allowance: Allowance,
    /// Receives progress.
    pub observer: Terminal,
}

impl Bench {
    /// Runs the probes that have no records yet.
    pub fn run(&self) -> Result<(), Error> {
        ReproductionManifest::new(self.scale, self.seed).keep(&self.directory)?;
        probes::run(self)
    }

    /// One number or another, by the scale.
    pub fn scaled<T>(&self, full: T, smoke: T) -> T {
        match self.scale {
            Scale::Quick | Scale::Short | Scale::Full => full,
            Scale::Smoke => smoke,
        }
    }

    /// Refuses to go on after Ctrl-C.
    pub fn go_on(&self) -> Result<(), Error> {
        if interrupted() {
            return Err(Error::Stopped(
                "stopped in the claims' own computations: those that are finished are recorded, and \
                 the same command resumes it"
                    .to_owned(),
            ));
        }
        Ok(())
    }
}
