//! Runs studies: lists of independent runs, whose records outlive any interruption.
//!
//! A [`Study`] is data, read from TOML or built in memory: classes x dynamics x temperatures x run
//! numbers. [`execute`] does what is not done yet: runs that share vectors go together as a unit,
//! long units save their state now and then, and the records of a unit are on disk before the next
//! one begins. [`gather`] reads them back in the order of the study.
//!
//! A directory of a study holds `study.json` (the study), `records.jsonl` or, for a shard,
//! `records-I-of-N.jsonl` (a line a finished run) and `checkpoints/` (units in progress).

mod checkpoint;
pub mod disk;
mod dynamics;
mod execute;
mod forecast;
mod hash;
mod job;
mod journal;
mod manifest;
mod method;
mod pace;
mod plan;
mod record;
mod spec;
mod table;
mod walk;

pub use disk::replace;
pub use execute::{End, Options, Shard, Summary, execute};
pub use forecast::{Forecast, SeriesForecast, forecast};
pub use journal::{Gathered, Journal, gather, whole_lines, write_error};
pub use method::Method;
pub use pace::{say, span};
pub use record::{ChainOutcome, Outcome, Record};
pub use spec::Study;
pub use table::{Form, write as write_table};
