//! Keeps a run of networks on disk so that it goes on, to the same bytes, after any interruption.
//!
//! One file says what the run is, a journal holds its lines so far, `fleet.state` everything that
//! training has made now and then, a last file what it came to. A run is taken up at its last state:
//! lines after that are cut off and computed again.

use std::cell::RefCell;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use foldglass::support::watch::{Observer, Progress};
use foldglass_nn::fleet::{FleetError, Piece};
use foldglass_study::claims::{self, LABEL};
use foldglass_study::disk::{read_hashed, remove_unfinished, replace_hashed};
use foldglass_study::files::Input;
use foldglass_study::{Error as StudyError, Journal};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::pace::Pace;
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
#[derive(Serialize, Deserialize)]
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
pub struct Kept {
    path: PathBuf,
    names: &'static Names,
    lines: Journal,
    saved: Instant,
}

impl Kept {
    /// Opens it, or makes it.
    fn open(path: &Path, names: &'static Names, observer: &Terminal) -> Result<Kept, Error> {
        fs::create_dir_all(path).map_err(|source| StudyError::write(path, source))?;
        let (lines, _) = Journal::open(&path.join(names.lines), observer)?;
        remove_unfinished(path);
        Ok(Kept {
            path: path.to_owned(),
            names,
            lines,
            saved: Instant::now(),
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

    /// A state that is not of the run beside it.
    fn foreign_state(&self) -> Error {
        let path = self.path.join(STATE);
        Error::Usage(format!(
            "{} is the state of another run than {} beside it says: choose another --out",
            path.display(),
            self.names.run
        ))
    }

    /// Saves a state.
    pub fn save(&mut self, state: Vec<u8>) -> Result<(), Error> {
        let path = self.path.join(STATE);
        let saved = replace_hashed(&path, LABEL, state);
        self.saved = Instant::now();
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

    /// Goes on, in pieces as long as `next` says; what is to be recorded now.
    fn advance(&mut self, next: &mut dyn FnMut() -> Piece) -> Result<Vec<Self::Line>, Error>;

    /// Everything that a later call needs to go on.
    fn save(&mut self) -> Result<Vec<u8>, Error>;

    /// Goes on with what an earlier call saved of the same run.
    fn take_up(&mut self, state: &[u8]) -> Result<(), FleetError>;

    /// What they are trained on.
    fn machine(&self) -> Machine;

    /// How far they are, and how they are doing in a few words.
    fn news(&self) -> (Progress<'static>, String);
}

/// Begins a run in a directory, or goes on with the one in it.
pub fn begin_in<T: Trains>(
    path: &Path,
    names: &'static Names,
    description: Value,
    maker: &Maker,
    observer: &Terminal,
    begin: impl Fn(&Maker) -> Result<T, Error>,
) -> Result<(T, Kept), Error> {
    let mut kept = Kept::open(path, names, observer)?;
    let Some(machine) = kept.begun(&description)? else {
        let run = begin(maker)?;
        kept.begin(description, run.machine())?;
        return Ok((run, kept));
    };
    let mut run = begin(&only(maker, machine)?)?;
    if let Some(state) = kept.state(observer)? {
        run.take_up(&state).map_err(|_| kept.foreign_state())?;
    }
    kept.cut(run.step())?;
    Ok((run, kept))
}

/// Trains to the end; says whether it was reached. Stopped in a directory is an error that says how
/// to go on.
pub fn train<T: Trains>(
    run: &mut T,
    mut kept: Option<&mut Kept>,
    every: Duration,
    observer: &Terminal,
) -> Result<bool, Error> {
    let begun = run.step();
    let mut pace = Pace::new();
    while !run.is_finished() {
        let lines = run.advance(&mut || pace.next(observer))?;
        let (progress, remark) = run.news();
        if let Some(kept) = &mut kept
            && !lines.is_empty()
        {
            kept.append(&lines)?;
        }
        observer.remark(remark);
        let stopped = observer.hear(progress).is_break() && !run.is_finished();
        if let Some(kept) = &mut kept
            && (stopped || kept.saved.elapsed() >= every)
        {
            kept.save(run.save()?)?;
        }
        if stopped {
            let Some(kept) = kept else {
                return Ok(false);
            };
            return Err(Error::Stopped(format!(
                "stopped: step {} of {} is saved in {}; the same command goes on from there",
                run.step(),
                run.steps(),
                kept.path.display()
            )));
        }
    }
    if let Some(kept) = kept
        && run.step() > begun
    {
        kept.save(run.save()?)?;
    }
    Ok(true)
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
