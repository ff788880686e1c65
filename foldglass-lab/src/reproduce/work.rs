//! Keeps what the items beyond the paper do besides studies and censuses, and reads what it left.

use std::path::{Path, PathBuf};

use super::basins::{self, BasinRecord};
use super::ends::{self, Ends};
use super::files::write_json;
use super::item::Item;
use super::landscape::Means;
use super::maps::{self, MapRecord};
use super::studies::Scale;
use crate::error::Error;
use crate::progress::Terminal;

/// Where and how an item does its work.
pub struct Work<'a> {
    /// The directory of the reproduction.
    pub out: &'a Path,
    /// How much is done.
    pub scale: Scale,
    /// The seed of all runs.
    pub seed: u64,
    /// Threads and memory.
    pub means: Means,
    /// Hears how far it is.
    pub observer: &'a Terminal,
}

/// What an item does.
pub type Does = fn(&Work<'_>) -> Result<(), Error>;

/// What was left.
#[derive(Debug, Default)]
pub struct Worked {
    /// Maps of classes.
    pub maps: Vec<MapRecord>,
    /// Basins of classes.
    pub basins: Vec<BasinRecord>,
    /// Where the runs of studies ended.
    pub ends: Vec<Ends>,
}

impl Worked {
    /// Reads what is in the directory of a reproduction.
    pub fn read(directory: &Path) -> Result<Worked, Error> {
        Ok(Worked {
            maps: maps::read(directory)?,
            basins: basins::read(directory)?,
            ends: ends::read(directory)?,
        })
    }
}

/// The file that says that all of an item's work is done.
fn mark(item: &Item, directory: &Path) -> PathBuf {
    let name = item.label.replace(':', "-");
    directory.join(format!("{name}-done.json"))
}

/// Says that all of an item's work is done.
pub fn mark_done(item: &Item, directory: &Path) -> Result<(), Error> {
    write_json(&mark(item, directory), &VERSION)
}

/// Whether all of an item's work is done.
pub fn is_done(item: &Item, directory: &Path) -> bool {
    mark(item, directory).exists()
}

/// Records of another version are made anew.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
