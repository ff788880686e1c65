//! Defines what a method of a study is: one file implements [`Method`], the caller registers it.
//!
//! A method reads its settings for a class into a [`Recipe`], which begins units: runs that go
//! together. The engine advances units, saves and resumes them, and records their outcomes; it knows
//! nothing of what they do.

pub mod setting;

use std::ops::Range;

use foldglass::support::watch::Stop;
use foldglass::{Allowance, Class, Code, Policy};
use serde::Serialize;
use serde_json::{Map, Value};

pub use setting::{Accepts, MethodSettings, Setting, SettingError};

/// Settings or results by their keys.
pub type Fields = Map<String, Value>;

/// What a run came to, by the names of its columns.
pub type RunOutcome = Fields;

/// A kind of run.
pub trait Method: Send + Sync {
    /// The word that studies have for it.
    fn kind(&self) -> &'static str;

    /// The result that summaries are made of, and its exact form where it has one.
    fn headline(&self) -> Headline;

    /// Its settings: what flags, study files, Python and JSON are made of.
    fn settings(&self) -> &'static [Setting];

    /// Reads the settings of one point (every parameter has one value) for a class.
    fn recipe(
        &self,
        class: &Class,
        settings: MethodSettings<'_>,
    ) -> Result<Box<dyn Recipe>, SettingError>;
}

/// The columns by which a method's runs are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Headline {
    /// A number, such as `reward`.
    pub value: &'static str,
    /// The same as an exact fraction.
    pub exact: Option<&'static str>,
}

/// What runs of one point do.
pub trait Recipe: Send + Sync {
    /// All settings, those left out included, as records state them.
    fn settings(&self) -> Fields;

    /// How many runs go together: those whose numbers, divided by this, are equal.
    fn together(&self) -> u64;

    /// The steps of a run, at most.
    fn steps(&self) -> u64;

    /// The bytes that a unit takes.
    fn bytes(&self) -> Option<u128>;

    /// How many numbers the outcome of a run keeps, on a class with these numbers of cells and symbols, beside
    /// the few that every outcome has.
    fn kept(&self, cells: u128, q: u128) -> u128 {
        let _ = (cells, q);
        0
    }

    /// Begins the runs with these numbers, all of one unit.
    fn begin(&self, stream: Streams, allowance: Allowance) -> Result<Box<dyn RunningUnit>, String>;

    /// Takes a unit up where [`RunningUnit::save`] left it.
    fn resume(
        &self,
        stream: Streams,
        state: &[u8],
        allowance: Allowance,
    ) -> Result<Box<dyn RunningUnit>, String>;
}

/// Where the runs of a unit draw their random numbers from: run n from stream n of the seed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Streams {
    /// The seed.
    pub seed: u64,
    /// The numbers of the runs.
    pub numbers: Range<u64>,
}

/// Runs in progress.
pub trait RunningUnit: Send {
    /// Steps done.
    fn done(&self) -> u64;

    /// Whether it is at its end.
    fn is_finished(&self) -> bool;

    /// From now on a unit whose single steps may take long asks this within them, and in its outcomes.
    /// Told to stop, a step is left undone, and outcomes fail.
    fn heed(&mut self, stop: Stop) {
        let _ = stop;
    }

    /// Does up to this many steps more. A problem ends the study; its finished runs are kept.
    fn advance(&mut self, steps: u64) -> Result<(), String>;

    /// What [`Recipe::resume`] needs.
    fn save(&mut self) -> Result<Vec<u8>, String>;

    /// What the runs came to, in the order of their numbers.
    fn outcomes(&mut self) -> Result<Vec<RunOutcome>, String>;

    /// The code that each run is at, or the greedy one of its policy; empty where runs have none. Of
    /// a run that stopped before those beside it, the code that it stopped at, where the settings
    /// keep it.
    fn codes(&mut self) -> Vec<Code> {
        Vec::new()
    }

    /// The policy that each run is at; empty where runs have none.
    fn policies(&mut self) -> Vec<Policy> {
        Vec::new()
    }
}

/// A value as a person wrote it.
pub fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => format!("\"{text}\""),
        Value::Number(number) => number.as_f64().map_or(number.to_string(), |n| {
            if number.is_f64() {
                number_name(n)
            } else {
                number.to_string()
            }
        }),
        other => other.to_string(),
    }
}

/// A number as ids have it: `1e-10`, `0`.
pub fn number_name(number: f64) -> String {
    let text = format!("{number:?}");
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}

/// The fields of a structure.
pub fn fields(structure: &impl Serialize) -> Fields {
    match serde_json::to_value(structure) {
        Ok(Value::Object(fields)) => fields,
        _ => unreachable!("only structures of plain data are asked for their fields"),
    }
}

/// Adds a field.
pub fn put(fields: &mut Fields, key: &str, value: impl Serialize) {
    let value = serde_json::to_value(value).expect("plain data");
    fields.insert(key.to_owned(), value);
}

/// Adds a field, if there is a value for it.
pub fn put_some(fields: &mut Fields, key: &str, value: Option<impl Serialize>) {
    if let Some(value) = value {
        put(fields, key, value);
    }
}

/// The methods that studies may name.
pub struct Registry(Vec<Box<dyn Method>>);

impl Registry {
    /// Without any method.
    pub(crate) fn empty() -> Registry {
        Registry(Vec::new())
    }

    /// Adds a method; it takes the place of one of the same kind.
    pub fn register(&mut self, method: impl Method + 'static) {
        self.0.retain(|other| other.kind() != method.kind());
        self.0.push(Box::new(method));
    }

    /// All methods, in the order in which they were registered.
    pub(crate) fn methods(&self) -> impl Iterator<Item = &dyn Method> {
        self.0.iter().map(|method| &**method)
    }

    /// The method of a kind.
    pub fn find(&self, kind: &str) -> Result<&dyn Method, SettingError> {
        let found = self.0.iter().find(|method| method.kind() == kind);
        found.map(|method| &**method).ok_or_else(|| {
            let kinds: Vec<String> = self.0.iter().map(|m| format!("\"{}\"", m.kind())).collect();
            let absent = match kind {
                "train" if !cfg!(feature = "networks") => {
                    " (train: foldglass-study was built without its feature `networks`)"
                }
                _ => "",
            };
            let needed = format!("one of {}{absent}", kinds.join(", "));
            SettingError::needs("kind", format!("\"{kind}\""), &needed)
        })
    }
}
