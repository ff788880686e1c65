//! Keeps a run of networks on disk so that it resumes, to the same bytes, after any interruption.
//!
//! One file describes the run, a journal holds its lines so far, `fleet.state` is a checkpoint, a last file holds the
//! results. A run resumes from its checkpoint: later lines are cut off and computed again. The loop is that of studies.

use std::cell::RefCell;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use foldglass::support::watch::{Observer, Progress};
use foldglass_nn::fleet::FleetError;
use foldglass_study::claims::{self, LABEL};
use foldglass_study::disk::{read_hashed, remove_unfinished, replace_hashed};
use foldglass_study::drive::{Job, drive};
use foldglass_study::files::Input;
use foldglass_study::{End, Journal, StudyError};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::Error;
use crate::flags::fleet::{Machine, Maker, only};
use crate::progress::Terminal;

/// The names of a command's files.
#[derive(Debug)]
pub struct Names {
    /// What the run is.
    pub run: &'static str,
    /// Its lines so far.
    pub lines: &'static str,
    /// What it came to.
    pub result: &'static str,
}

const STATE: &str = "fleet.state";

/// A run's file: what it is, and where it was begun.
#[derive(JsonSchema, Serialize, Deserialize)]
struct RunFile {
    back_end: Machine,
    run: Value,
}

/// The part of a line by which it is found.
#[derive(Deserialize)]
struct Placed {
    step: u64,
}

/// The directory of a run, which this process alone writes.
pub struct RunDirectory {
    path: PathBuf,
    names: &'static Names,
    lines: Journal,
}

impl RunDirectory {
    /// Opens it, or makes it.
    fn open(
        path: &Path,
        names: &'static Names,
        observer: &Terminal,
    ) -> Result<RunDirectory, Error> {
        fs::create_dir_all(path).map_err(|source| StudyError::write(path, source))?;
        let (lines, _) = Journal::open(&path.join(names.lines), observer)?;
        remove_unfinished(path);
        Ok(RunDirectory {
            path: path.to_owned(),
            names,
            lines,
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// On which back end the run was begun, if it was; another run is refused.
    fn begun(&self, asked: &Value) -> Result<Option<Machine>, Error> {
        let path = self.path.join(self.names.run);
        if !path.exists() {
            return Ok(None);
        }
        let found: RunFile = Input::read(&path)?.json("the file of a run")?;
        let mut different = Vec::new();
        differences("", &found.run, asked, &mut different);
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
    fn begin(&mut self, run: Value, back_end: Machine) -> Result<(), Error> {
        self.cut(0)?;
        let path = self.path.join(self.names.run);
        Ok(claims::write(&path, &RunFile { back_end, run })?)
    }

    /// The state that was last saved.
    fn state(&self, observer: &Terminal) -> Result<Option<Vec<u8>>, Error> {
        let path = self.path.join(STATE);
        let bytes = match read_hashed(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(StudyError::read(&path, source).into()),
        };
        if bytes.is_none() {
            observer.notice(&format!(
                "{} is damaged: the run is done again from its first step",
                path.display()
            ));
        }
        Ok(bytes)
    }

    /// A state that this run cannot resume from.
    fn foreign_state(&self, error: &FleetError) -> Error {
        let path = self.path.join(STATE);
        Error::Usage(format!(
            "{} is the state of another run than {} beside it describes, or of another version of foldglass \
             ({error}): choose another --out, or finish the run with the version that began it",
            path.display(),
            self.names.run
        ))
    }

    /// Saves a state.
    fn save(&self, state: Vec<u8>) -> Result<(), Error> {
        let path = self.path.join(STATE);
        let saved = replace_hashed(&path, LABEL, state);
        Ok(saved.map_err(|source| StudyError::keep(&path, source))?)
    }

    /// Drops the lines after a step.
    fn cut(&mut self, step: u64) -> Result<(), Error> {
        Ok(self.lines.cut(|line: Placed| line.step <= step)?)
    }

    /// Adds lines; they are on disk when it returns.
    pub fn append<T: Serialize>(&mut self, lines: &[T]) -> Result<(), Error> {
        Ok(self.lines.append(lines)?)
    }

    /// All lines so far.
    pub fn read<T: DeserializeOwned>(&mut self) -> Result<Vec<T>, Error> {
        let read = RefCell::new(Vec::new());
        self.lines.cut(|line: T| {
            read.borrow_mut().push(line);
            true
        })?;
        Ok(read.into_inner())
    }

    /// Writes what the run came to.
    pub fn finish(&self, result: &impl Serialize) -> Result<(), Error> {
        Ok(claims::write(&self.path.join(self.names.result), result)?)
    }
}

/// Networks that are trained in pieces.
pub trait Trains {
    /// What is recorded of them; has a `step`.
    type Line: Serialize;

    /// Steps made.
    fn step(&self) -> u64;

    /// The most steps.
    fn steps(&self) -> u64;

    /// Whether they are at their end.
    fn is_finished(&self) -> bool;

    /// Makes up to so many steps, none where it is told to stop; what is to be recorded now.
    fn advance(&mut self, steps: u64) -> Result<Vec<Self::Line>, Error>;

    /// Everything that a later call needs to resume.
    fn save(&mut self) -> Result<Vec<u8>, Error>;

    /// Goes on with what an earlier call saved of the same run.
    fn take_up(&mut self, state: &[u8]) -> Result<(), FleetError>;

    /// What they are trained on.
    fn machine(&self) -> Machine;

    /// How far they are, and how they are doing in a few words.
    fn news(&self) -> (Progress<'static>, String);
}

/// Begins a run in a directory, or resumes the one in it.
pub fn begin_in<T: Trains>(
    path: &Path,
    names: &'static Names,
    description: Value,
    maker: &Maker,
    observer: &Terminal,
    begin: impl Fn(&Maker) -> Result<T, Error>,
) -> Result<(T, RunDirectory), Error> {
    let mut kept = RunDirectory::open(path, names, observer)?;
    let Some(machine) = kept.begun(&description)? else {
        let run = begin(maker)?;
        kept.begin(description, run.machine())?;
        return Ok((run, kept));
    };
    let mut run = begin(&only(maker, machine)?)?;
    if let Some(state) = kept.state(observer)? {
        run.take_up(&state)
            .map_err(|error| kept.foreign_state(&error))?;
    }
    kept.cut(run.step())?;
    Ok((run, kept))
}

/// Trains to the end; says whether it was reached. Stopped in a directory is an error that says how to resume.
pub fn train<T: Trains>(
    run: &mut T,
    kept: Option<&mut RunDirectory>,
    every: Duration,
    observer: &Terminal,
) -> Result<bool, Error> {
    let begun = run.step();
    let mut running = Running {
        run,
        kept,
        observer,
        stopped: false,
    };
    if drive(&mut running, every)? == End::Finished {
        if running.run.step() > begun {
            running.keep()?;
        }
        return Ok(true);
    }
    let (step, steps) = (running.run.step(), running.run.steps());
    let Some(kept) = running.kept else {
        return Ok(false);
    };
    Err(Error::Stopped(format!(
        "stopped: step {step} of {steps} is saved in {}; the same command resumes it",
        kept.path.display()
    )))
}

/// Networks in training, and where they are kept.
struct Running<'a, T> {
    run: &'a mut T,
    kept: Option<&'a mut RunDirectory>,
    observer: &'a Terminal,
    stopped: bool,
}

impl<T: Trains> Job for Running<'_, T> {
    type Error = Error;

    fn done(&self) -> u64 {
        self.run.step()
    }

    fn is_finished(&self) -> bool {
        self.run.is_finished()
    }

    fn is_stopped(&self) -> bool {
        self.stopped
    }

    fn advance(&mut self, steps: u64) -> Result<(), Error> {
        let end = self.done().saturating_add(steps);
        while !self.is_finished() && self.done() < end {
            let before = self.done();
            let lines = self.run.advance(end - before)?;
            if let Some(kept) = &mut self.kept
                && !lines.is_empty()
            {
                kept.append(&lines)?;
            }
            if self.done() == before {
                break;
            }
        }
        Ok(())
    }

    fn note(&mut self, _: u64, _: Duration) {
        let (progress, remark) = self.run.news();
        self.observer.remark(remark);
        self.stopped = self.observer.report(progress).is_break();
    }

    fn keep(&mut self) -> Result<(), Error> {
        match &mut self.kept {
            Some(kept) => kept.save(self.run.save()?),
            None => Ok(()),
        }
    }
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
