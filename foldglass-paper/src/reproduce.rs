//! Redoes tables and figures of the paper, and compares them number by number.
//!
//! - [`items`]: a module an item: what it needs (`need`), what it measures from records, and the
//!   paper's numbers (`stated`). A number has a typed key ([`Key`]).
//! - [`Request::run`]: does the studies ([`studies`]), censuses and certificates ([`landscape`]) that
//!   are not done yet, and leaves records in a directory.
//! - `times`: what each of these took.
//! - `work`: what items do besides: maps of classes, basins, verdicts on ends, escape paths.
//! - [`headlines`]: the eight results that a reader of the paper came for, from numbers of the items.
//! - [`fleets`]: records of networks trained on a GPU, committed in `results/`, which are not run.
//! - [`Records::read`]: reads all of these once.
//! - [`compare()`]: judges every number of records (`judge`, `detect`); nothing is run or written.
//!   [`tables`] lays the result out, [`chapters`] makes the report of it.

mod basins;
pub mod certified;
pub mod chapters;
pub mod classes;
mod compare;
mod detect;
mod ends;
pub mod files;
pub mod fleets;
pub mod headlines;
mod item;
pub mod items;
mod judge;
pub mod landscape;
mod listed;
mod manifest;
mod maps;
mod measured;
mod near_traps;
mod need;
mod records;
mod row;
mod run;
mod sampled;
mod schema;
mod stalled;
mod stated;
pub mod studies;
pub mod tables;
mod times;
mod traps;
mod work;

pub use classes::ClassId;
pub use compare::{Compared, Comparison, JudgementCounts, compare};
pub use files::write_whole;
pub use item::{Item, Key};
pub use judge::{ComparisonVerdict, LEVEL, Why};
pub use listed::{Listed, Measurement, listed};
pub use manifest::ReproductionManifest;
pub use records::{Recorded, Records, Sample};
pub use row::Row;
pub use run::{Planned, PlannedWork, Request};
pub use schema::formats;
pub use studies::Scale;
