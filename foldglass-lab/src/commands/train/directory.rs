//! Keeps a training run on disk so that it goes on, to the same bytes, after any interruption.
//!
//! `train.json` says what the run is, `curves.jsonl` holds its points so far, `fleet.state` the whole
//! fleet now and then, `models.json` what it came to. A run is taken up at its last state: points
//! after that are cut off and computed again.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use foldglass::LatinSquare;
use foldglass::watch::Observer;
use foldglass_nn::fleet::Fleet;
use foldglass_nn::settings::Settings;
use foldglass_study::claims::{self, LABEL};
use foldglass_study::disk::{read_hashed, remove_unfinished, replace_hashed};
use foldglass_study::files::Input;
use foldglass_study::{Error as StudyError, Journal, VERSION};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{CurveLine, Name, Trained, Training};
use crate::error::Error;
use crate::flags::fleet::{Machine, Maker, named};
use crate::progress::Terminal;

const FORMAT: &str = "foldglass-train/1";

/// What a run is.
#[derive(Serialize)]
struct Run<'a> {
    format: &'static str,
    version: &'static str,
    record_every: u64,
    settings: &'a Settings,
    models: Vec<RunModel<'a>>,
}

#[derive(Serialize)]
struct RunModel<'a> {
    #[serde(flatten)]
    name: &'a Name,
    square: &'a LatinSquare,
}

/// A run's file: what it is, and where it was begun.
#[derive(Serialize, Deserialize)]
struct RunFile {
    back_end: Machine,
    run: Value,
}

/// The part of a recorded point by which it is found.
#[derive(Deserialize)]
struct Placed {
    step: u64,
}

/// The directory of a run, which this process alone writes.
pub struct Directory {
    path: PathBuf,
    curves: Journal,
}

impl Directory {
    /// Opens it, or makes it.
    pub fn open(path: &Path) -> Result<Directory, Error> {
        fs::create_dir_all(path).map_err(|source| StudyError::write(path, source))?;
        let (curves, _) = Journal::open(&path.join("curves.jsonl"))?;
        remove_unfinished(path, LABEL);
        let path = path.to_owned();
        Ok(Directory { path, curves })
    }

    fn file(&self) -> PathBuf {
        self.path.join("train.json")
    }

    fn state(&self) -> PathBuf {
        self.path.join("fleet.state")
    }

    /// On which back end the run was begun, if it was; another run is refused.
    pub fn begun(&self, training: &Training) -> Result<Option<Machine>, Error> {
        if !self.file().exists() {
            return Ok(None);
        }
        let file = Input::read(&self.file())?;
        let found: RunFile = file.json("the file of a training run")?;
        let mut different = Vec::new();
        differences("", &found.run, &description(training), &mut different);
        if different.is_empty() {
            return Ok(Some(found.back_end));
        }
        Err(Error::Usage(format!(
            "--out {} holds another run, with {}: choose another directory, or ask for the same",
            self.path.display(),
            different.join(", ")
        )))
    }

    /// Says what the run is, before its first step.
    pub fn begin(&mut self, training: &Training, back_end: Machine) -> Result<(), Error> {
        self.cut(0)?;
        let run = description(training);
        Ok(claims::write(&self.file(), &RunFile { back_end, run })?)
    }

    /// The fleet as it was last saved.
    pub fn saved(
        &self,
        training: &Training,
        maker: &Maker,
        observer: &Terminal,
    ) -> Result<Option<Fleet>, Error> {
        let path = self.state();
        let bytes = match read_hashed(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(StudyError::read(&path, source).into()),
        };
        let Some(bytes) = bytes else {
            observer.notice(&format!(
                "{} is damaged: the run is done again from its first step",
                path.display()
            ));
            return Ok(None);
        };
        let make = |settings: &_, models: &_| maker.make(settings, models);
        let fleet = Fleet::load(&bytes[..], &make).map_err(named)?;
        if fleet.settings() == &training.settings && fleet.models() == training.models {
            return Ok(Some(fleet));
        }
        Err(Error::Usage(format!(
            "{} is the state of another run than train.json beside it says: choose another --out",
            path.display()
        )))
    }

    /// Saves the whole fleet.
    pub fn save(&self, fleet: &mut Fleet) -> Result<(), Error> {
        let mut bytes = Vec::new();
        fleet.save(&mut bytes).map_err(named)?;
        let path = self.state();
        let saved = replace_hashed(&path, LABEL, bytes);
        Ok(saved.map_err(|source| StudyError::keep(&path, source))?)
    }

    /// Drops the points after a step.
    pub fn cut(&mut self, step: u64) -> Result<(), Error> {
        Ok(self.curves.cut(|point: Placed| point.step <= step)?)
    }

    /// Records points of curves; they are on disk when it returns.
    pub(super) fn append(&mut self, lines: &[CurveLine]) -> Result<(), Error> {
        Ok(self.curves.append(lines)?)
    }

    /// Writes what the run came to.
    pub fn finish(&self, trained: &Trained) -> Result<(), Error> {
        Ok(claims::write(&self.path.join("models.json"), trained)?)
    }
}

/// What a run is, as its file has it.
fn description(training: &Training) -> Value {
    let model = |name| RunModel {
        name,
        square: &training.models[name.model].square,
    };
    let run = Run {
        format: FORMAT,
        version: VERSION,
        record_every: training.record_every,
        settings: &training.settings,
        models: training.names.iter().map(model).collect(),
    };
    serde_json::to_value(run).expect("plain data")
}

/// More are not listed.
const NAMED: usize = 4;

/// Where two descriptions differ: `settings.batch 64 (asked for: 128)`.
fn differences(place: &str, found: &Value, asked: &Value, list: &mut Vec<String>) {
    if found == asked || list.len() == NAMED {
        return;
    }
    let (Value::Object(one), Value::Object(other)) = (found, asked) else {
        let text = |value: &Value| match value {
            Value::Array(values) => format!("{} entries", values.len()),
            value => value.to_string(),
        };
        let (found_text, asked_text) = (text(found), text(asked));
        list.push(if found_text == asked_text {
            format!("other {place}")
        } else {
            format!("{place} {found_text} (asked for: {asked_text})")
        });
        return;
    };
    let keys = one
        .keys()
        .chain(other.keys().filter(|k| !one.contains_key(*k)));
    for key in keys {
        let place = match place {
            "" | "settings" => key.clone(),
            place => format!("{place}.{key}"),
        };
        let null = Value::Null;
        let (found, asked) = (
            one.get(key).unwrap_or(&null),
            other.get(key).unwrap_or(&null),
        );
        differences(&place, found, asked, list);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_differs_is_named_with_both_values() {
        let mut list = Vec::new();
        let found = json!({"settings": {"batch": 64, "gate": {"period": 20}}, "models": [1]});
        let asked = json!({"settings": {"batch": 128, "gate": {"period": 10}}, "models": [2]});
        differences("", &found, &asked, &mut list);
        list.sort();
        assert_eq!(
            list,
            [
                "batch 64 (asked for: 128)",
                "gate.period 20 (asked for: 10)",
                "other models"
            ]
        );
        list.clear();
        differences("", &found, &found, &mut list);
        assert!(list.is_empty());
    }
}
