//! Writes the traps of fig:trapsfixed, where chains of other studies ended, as files of codes that
//! its studies start from, and fits those studies to their number (paper, G.2).
//!
//! In the directory of a reproduction `traps/` has one file per class. A study starts from one by its
//! setting `starts`; it has as many runs as there are traps, or fewer where its text says so.

use std::path::Path;

use foldglass::ClassSpec;
use foldglass_study::{Record, Study};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::files::{read_json, write_json};
use super::records::Recorded;
use super::studies::{CHAINS_TIED, QUENCH_CORRELATED, Scale, StudyText};
use crate::error::Error;

/// Ends of chains at this reward or above are not traps.
pub const BELOW: f64 = 0.99;

/// Where traps of a class come from.
struct Origin {
    file: &'static str,
    source: StudyText,
    class: &'static str,
    /// The paper's number of them, for what is planned before they are known.
    paper: u64,
}

const ORIGINS: [Origin; 3] = [
    Origin {
        file: "traps/parity-6.json",
        source: QUENCH_CORRELATED,
        class: "parity-6",
        paper: 13,
    },
    Origin {
        file: "traps/parity-8.json",
        source: QUENCH_CORRELATED,
        class: "parity-8",
        paper: 14,
    },
    Origin {
        file: "traps/qg03-tied.json",
        source: CHAINS_TIED,
        class: "qg03-tied",
        paper: 12,
    },
];

/// A file of codes of one class.
#[derive(JsonSchema, Serialize, Deserialize)]
pub(super) struct CodesFile {
    class: ClassSpec,
    codes: Vec<Actions>,
}

#[derive(JsonSchema, Serialize, Deserialize)]
struct Actions {
    actions: Vec<u16>,
}

/// The setting by which a dynamics names its file.
const STARTS: &str = "starts";

/// Writes the traps that a study starts from, unless they are there.
pub fn write(study: &Study, directory: &Path, scale: Scale, seed: u64) -> Result<(), Error> {
    for origin in ORIGINS.iter().filter(|origin| needs(study, origin)) {
        let path = directory.join(origin.file);
        if path.exists() {
            continue;
        }
        let chains = Recorded::read(directory, origin.source, scale, seed)?;
        let chains = chains.as_ref();
        let records = chains.map(|chains| chains.runs(origin.class));
        let records = records.unwrap_or_default();
        let Some(first) = records.first() else {
            return Err(Error::Failed(format!(
                "{} has no chains of {} to find traps among",
                origin.source.name, origin.class
            )));
        };
        let traps = records.iter().filter(|record| is_trapped(record));
        let codes = traps
            .map(|record| actions(record))
            .collect::<Result<_, _>>()?;
        let class = first.class.clone();
        write_json(&path, &CodesFile { class, codes })?;
    }
    Ok(())
}

fn needs(study: &Study, origin: &Origin) -> bool {
    let mut files = study.dynamics.iter().filter_map(|d| d.settings.get(STARTS));
    files.any(|file| file == origin.file)
}

/// Whether a chain ended in a trap.
pub fn is_trapped(record: &Record) -> bool {
    let reward = record.result.get("reward").and_then(Value::as_f64);
    reward.is_some_and(|reward| reward < BELOW)
}

fn actions(record: &Record) -> Result<Actions, Error> {
    let actions = record.actions().map(|actions| Actions { actions });
    actions.ok_or_else(|| Error::Failed(format!("{} has no code", record.id)))
}

/// Fits a study that starts from traps to those that are there: as many runs as traps, and no runs
/// where there is none. Before they are known it starts at random codes, as many as in the paper.
pub fn fit(mut study: Study, directory: &Path) -> Result<Study, Error> {
    for dynamics in &mut study.dynamics {
        let file = dynamics.settings.get(STARTS).and_then(Value::as_str);
        let Some(origin) = file.and_then(|f| ORIGINS.iter().find(|origin| origin.file == f)) else {
            continue;
        };
        let path = directory.join(origin.file);
        let known: Option<CodesFile> = read_json(&path, "a file of traps")?;
        let traps = match known {
            Some(codes) => codes.codes.len() as u64,
            None => {
                dynamics.settings.remove(STARTS);
                origin.paper
            }
        };
        dynamics.runs = dynamics.runs.min(traps);
    }
    study.dynamics.retain(|dynamics| dynamics.runs > 0);
    if study.dynamics.is_empty() {
        return Err(Error::Failed(format!(
            "{}: no chain ended in a trap; another seed has some",
            study.name
        )));
    }
    Ok(study)
}
