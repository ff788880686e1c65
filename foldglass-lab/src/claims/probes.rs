//! Lists the small computations of statements, and keeps what each finds in a file of its own.
//!
//! In the directory of a reproduction, `claims/` has a file a probe, written when it is finished; one that
//! is there, of the same version, is not done again.

mod census;
mod chains;
mod escape;
mod gauge;
mod parity;
mod theory;
mod tied;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use foldglass::{Allowance, Class, InputLaw, LatinSquare, Shape, Task};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Bench;
use crate::error::Error;
use crate::reproduce::files::{read_json, write_json};

/// A computation with a name.
pub struct Probe {
    /// Its name, and its file's.
    pub id: &'static str,
    run: fn(&Bench) -> Result<Value, Error>,
}

/// All of them, the quick ones first.
pub const ALL: &[Probe] = &[
    Probe {
        id: "identity",
        run: theory::identity,
    },
    Probe {
        id: "gradient",
        run: theory::gradient,
    },
    Probe {
        id: "moves",
        run: theory::moves,
    },
    Probe {
        id: "visits",
        run: theory::visits,
    },
    Probe {
        id: "family",
        run: theory::family,
    },
    Probe {
        id: "parity-codes",
        run: parity::codes,
    },
    Probe {
        id: "parity-heat",
        run: parity::heat,
    },
    Probe {
        id: "dictionary",
        run: parity::dictionary,
    },
    Probe {
        id: "relabelling",
        run: gauge::relabelling,
    },
    Probe {
        id: "escape",
        run: escape::codes,
    },
    Probe {
        id: "escape-product",
        run: escape::product_laws,
    },
    Probe {
        id: "escape-policies",
        run: escape::policies,
    },
    Probe {
        id: "defended",
        run: escape::defended,
    },
    Probe {
        id: "windows",
        run: census::windows,
    },
    Probe {
        id: "lengths",
        run: census::lengths,
    },
    Probe {
        id: "correlated",
        run: census::correlated,
    },
    Probe {
        id: "cold",
        run: chains::cold,
    },
    Probe {
        id: "quench",
        run: chains::quench,
    },
    Probe {
        id: "tied-barriers",
        run: tied::barriers,
    },
];

/// A record of a probe.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    version: String,
    found: Value,
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn path(directory: &Path, id: &str) -> PathBuf {
    directory.join("claims").join(format!("{id}.json"))
}

fn kept(directory: &Path, id: &str) -> Result<Option<Kept>, Error> {
    let kept: Option<Kept> = read_json(&path(directory, id), "a record of `foldglass claims`")?;
    Ok(kept.filter(|kept| kept.version == VERSION))
}

impl Probe {
    /// Runs it, unless its record is there. One that has nothing to look at leaves none.
    pub fn keep(&self, bench: &Bench) -> Result<(), Error> {
        bench.go_on()?;
        if kept(&bench.directory, self.id)?.is_some() {
            return Ok(());
        }
        let found = (self.run)(bench)?;
        bench.go_on()?;
        if found.is_null() {
            return Ok(());
        }
        let version = VERSION.to_owned();
        write_json(&path(&bench.directory, self.id), &Kept { version, found })
    }
}

/// What the probes of a directory found.
pub fn read(directory: &Path) -> Result<BTreeMap<&'static str, Value>, Error> {
    let mut found = BTreeMap::new();
    for probe in ALL {
        if let Some(kept) = kept(directory, probe.id)? {
            found.insert(probe.id, kept.found);
        }
    }
    Ok(found)
}

/// A class of a named task.
fn class(task: &str, law: &InputLaw, lengths: &[usize], shape: Shape) -> Class {
    let square = LatinSquare::named(task).expect("a named task");
    let task = Task::new(square, law, lengths).expect("a task");
    Class::new(task, shape, Allowance::default()).expect("a small class")
}
