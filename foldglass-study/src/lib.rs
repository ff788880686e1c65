//! Runs studies of RLVR landscapes: many runs, recorded so that they outlive any interruption.
//!
//! A [`Study`] is data, read from TOML or built in memory: classes x dynamics x parameters x run
//! numbers. A dynamics names a [`Method`], which the caller registers. [`execute`] does what is not
//! done yet: runs that go together are a unit, long units save their state now and then, and the
//! records of a unit are on disk before the next one begins. [`gather`] reads them back in the order
//! of the study, [`write_table`] makes a table of them, [`summarize`] sums them up. [`census`] counts
//! all codes of a class in the same way.
//!
//! A directory of a study holds `study.json` (the study), `records.jsonl` or, for a shard,
//! `records-I-of-N.jsonl` (a sealed line a finished run) and `checkpoints/` (units in progress).
//!
//! No terminal here: progress and stopping go through a [`foldglass::Observer`], errors are types.
//!
//! ```
//! use foldglass::Unwatched;
//! use foldglass_study::{Options, Registry, Study, execute, gather, summarize};
//!
//! let text = "name = \"example\"
//!     [[class]]
//!     task = \"parity\"
//!     lengths = 4
//!     [[dynamics]]
//!     kind = \"chain\"
//!     kernel = \"metropolis\"
//!     tau = 1e-13
//!     sweeps = 200
//!     runs = 4";
//! let study = Study::parse(text, 0).unwrap();
//! let out = std::env::temp_dir().join(format!("foldglass-example-{}", std::process::id()));
//! let mut options = Options::new(out.clone());
//! options.threads = 1;
//! let registry = Registry::default();
//! execute(&study, &registry, &options, &Unwatched)?;
//! let records = gather(&[out.clone()])?.records;
//! assert_eq!(summarize(&records, &registry, None)[0].at_one, Some(4));
//! # std::fs::remove_dir_all(out).unwrap();
//! # Ok::<(), foldglass_study::StudyError>(())
//! ```

pub mod census;
mod checkpoint;
pub mod claims;
pub mod dataset;
pub mod disk;
pub mod drive;
mod error;
pub mod estimate;
mod execute;
pub mod files;
mod folder;
mod forecast;
pub mod handout;
mod hash;
mod journal;
mod manifest;
pub mod method;
pub mod methods;
mod pace;
pub mod parallel;
mod plan;
mod record;
pub mod schema;
mod spec;
mod summary;
mod table;
pub mod tables;
pub mod words;

pub use drive::End;
pub use error::StudyError;
pub use execute::{Executed, Options, execute, execute_in_memory};
pub use folder::Folder;
pub use forecast::{Forecast, SeriesForecast, forecast};
pub use journal::{Gathered, Journal, gather, gather_folders, read as read_lines};
pub use manifest::Manifest;
pub use method::{Fields, Method, Registry, RunOutcome};
pub use plan::Shard;
pub use record::{Record, SCHEMA, VERSION, seal, unseal};
pub use spec::{Dynamics, ParameterAxis, Parameters, Study, StudyClass};
pub use summary::{LEVEL, PointSummary, SOLVED, quantities, summarize};
pub use table::{
    DataFile, Form, Items, RecordColumn, Values, data_form, write as write_table, write_successes,
};
pub use words::ClassWords;
