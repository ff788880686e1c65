//! Redoes tables and figures of the paper, and compares them number by number.
//!
//! - [`items`]: a module an item: what it needs, what it measures from records, and the paper's
//!   numbers as constants ([`stated`]).
//! - [`Request::run`]: does the studies ([`studies`]), censuses and certificates ([`landscape`]) that
//!   are not done yet, and leaves records in a directory.
//! - [`times`]: what each of these took.
//! - [`work`]: what the items beyond the paper do besides: maps of classes, basins, verdicts on ends.
//! - [`fleets`]: records of networks trained on a GPU, committed in `results/`, which are not run but
//!   laid beside the others.
//! - [`compare`]: reads the records ([`data`]), judges every number ([`judge`], [`detect`]) and draws
//!   the figures; nothing is run. [`tables`] lays the result out, [`chapters`] makes the report of it.

mod ballot;
mod basins;
mod certified;
pub mod chapters;
mod classes;
mod compare;
pub mod data;
mod detect;
mod ends;
pub mod files;
pub mod fleets;
mod item;
pub mod items;
mod judge;
pub mod landscape;
mod listed;
mod manifest;
mod maps;
mod measured;
mod row;
mod run;
mod stated;
pub mod studies;
pub mod tables;
mod times;
mod traps;
mod work;

pub use classes::CLASSES;
pub use compare::{Compared, Comparison, Counts, compare};
pub use files::write_whole;
pub use item::Item;
pub use judge::{LEVEL, Verdict, Why};
pub use listed::{Listed, Measurement, listed};
pub use manifest::Manifest;
pub use row::Row;
pub use run::{Planned, Request};
pub use studies::Scale;

use studies::Source;

/// The studies of items, each once.
fn studies_of(items: &[&Item]) -> Vec<Source> {
    let mut all: Vec<Source> = Vec::new();
    for source in items.iter().flat_map(|item| item.studies) {
        if !all.contains(source) {
            all.push(*source);
        }
    }
    all
}
