//! Reads a study from TOML: classes x dynamics x parameters x run numbers, as data.
//!
//! Unknown keys are refused. What is wrong is said with the line of the key at fault. A `[class.grid]`
//! or `[dynamics.grid]` lists values of a key, and every combination is a class or a point.

mod lines;
mod read;

use std::collections::{HashMap, HashSet};
use std::path::Path;

use foldglass::ClassSpec;
use foldglass::support::memory::TooLarge;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::StudyError;
use crate::files::Input;
use crate::method::setting::find;
use crate::method::{Fields, Registry, Setting, SettingError, number_name, shown};
use crate::words::{ClassWords, is_plain};
pub(crate) use lines::{Lines, Table};

/// Classes x dynamics x parameters x run numbers.
///
/// ```
/// let study = foldglass_study::Study::parse(
///     "name = \"small\"
///      [[class]]
///      task = \"z:3\"
///      lengths = 4
///      [[dynamics]]
///      kind = \"cavi\"
///      tau = { from = 1e-10, to = 1e-2, points = 5 }
///      iterations = 100
///      runs = 8",
///     0,
/// )
/// .unwrap();
/// assert_eq!(study.dynamics[0].axes[0].values.len(), 5);
/// ```
#[derive(Debug, Clone, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// Its name.
    pub name: String,
    /// The seed of all that is random in it.
    pub seed: u64,
    /// The classes, in the order of the table.
    pub classes: Vec<StudyClass>,
    /// What is done on each.
    pub dynamics: Vec<Dynamics>,
    /// Where its keys stand, for messages.
    #[serde(skip)]
    pub(crate) lines: Lines,
}

impl PartialEq for Study {
    fn eq(&self, other: &Study) -> bool {
        let all = |study: &Study| (study.name.clone(), study.seed);
        all(self) == all(other) && self.classes == other.classes && self.dynamics == other.dynamics
    }
}

/// A class of a study.
#[derive(Debug, Clone, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyClass {
    /// Its name in ids.
    pub id: String,
    /// The name of the grid it is one of; its own where it is of none.
    pub of: String,
    /// What it is.
    pub words: ClassWords,
    /// The same without words, where it was not read from a file.
    #[serde(skip)]
    pub(crate) spec: Option<ClassSpec>,
    /// Which `[[class]]` it stands in.
    #[serde(skip)]
    pub(crate) table: usize,
}

impl PartialEq for StudyClass {
    fn eq(&self, other: &StudyClass) -> bool {
        (&self.id, &self.of, &self.words) == (&other.id, &other.of, &other.words)
    }
}

/// A method with its settings, at which points, how often, on which classes.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dynamics {
    /// Its name in ids.
    pub id: String,
    /// The kind of its method.
    pub kind: String,
    /// The ids of its classes, or of their grids; none is all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classes: Option<Vec<String>>,
    /// Runs at each point.
    pub runs: u64,
    /// The seed of its runs; none is the study's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Whether runs of one number draw the same random numbers at every point.
    #[serde(default)]
    pub common_random_numbers: bool,
    /// What is the same at every point.
    pub settings: Fields,
    /// What differs from point to point.
    pub axes: Vec<ParameterAxis>,
}

/// A parameter and its values.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParameterAxis {
    /// The key.
    pub name: String,
    /// Its values.
    pub values: Vec<Value>,
}

/// The value of each parameter at one point, in the order of the axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameters(pub Vec<(String, Value)>);

impl Parameters {
    /// Their part of an id: `tau=1e-10`, `damping=0.1,tau=1e-3`, `-` where there are none.
    pub fn name(&self) -> String {
        let one = |(name, value): &(String, Value)| format!("{name}={}", id_part(value));
        match self.0.is_empty() {
            true => "-".to_owned(),
            false => self.0.iter().map(one).collect::<Vec<_>>().join(","),
        }
    }

    /// As fields.
    pub fn fields(&self) -> Fields {
        self.0.iter().cloned().collect()
    }
}

/// A value in an id, where a slash separates the parts.
fn id_part(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => shown(other),
    };
    text.replace('/', ":")
}

/// What is wrong with a study, and the key at fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub table: Table,
    pub key: Option<String>,
    pub text: String,
    /// The memory that it lacks, where that is what is wrong.
    pub lacks: Option<Box<TooLarge>>,
}

impl Problem {
    /// Of a table, or of one of its keys.
    pub fn new(table: Table, key: Option<&str>, text: String) -> Problem {
        Problem {
            table,
            key: key.map(str::to_owned),
            text,
            lacks: None,
        }
    }

    /// Of a setting.
    pub fn of(table: Table, error: SettingError) -> Problem {
        Problem::new(table, Some(&error.key), error.problem)
    }

    /// Of a table that needs too much memory.
    pub fn lacking(table: Table, source: TooLarge) -> Problem {
        Problem {
            lacks: Some(Box::new(source.clone())),
            ..Problem::new(table, None, source.to_string())
        }
    }
}

/// The longest id; names of files are made of ids.
const LONGEST_ID: usize = 100;

/// The most points of a dynamics and classes of a grid.
pub(crate) const MOST_POINTS: usize = 1 << 20;

/// The most bytes of a study: a person writes it.
const LARGEST: u64 = 1 << 24;

impl Study {
    /// Reads the study in the file at `path`; `seed` is its seed where it states none.
    pub fn read(path: &Path, seed: u64) -> Result<Study, StudyError> {
        let file = Input::read_up_to(path, LARGEST)?;
        let text = file.text()?;
        Study::parse(text, seed).map_err(|problem| StudyError::Study {
            place: path.display().to_string(),
            excerpt: lines::excerpt(text, &problem),
            problem,
        })
    }

    /// Reads a study; what is wrong with it is said with its line. A seed other than 0 must not
    /// contradict the one it states.
    pub fn parse(text: &str, seed: u64) -> Result<Study, String> {
        let (study, stated) = read::study(text)?;
        if let Some(stated) = stated.filter(|&stated| seed != 0 && seed != stated) {
            return Err(format!(
                "it states seed = {stated}, and the seed asked for is {seed}: leave one of them out"
            ));
        }
        let study = Study {
            seed: stated.unwrap_or(seed),
            ..study
        };
        study.check().map_err(|problem| study.explain(&problem))?;
        Ok(study)
    }

    /// A study of one series on a class that is stated in full.
    pub fn of(name: &str, class: ClassSpec, dynamics: Dynamics, seed: u64) -> Study {
        Study {
            name: name.to_owned(),
            seed,
            classes: vec![StudyClass {
                id: name.to_owned(),
                of: name.to_owned(),
                words: ClassWords::new(name, &class.lengths),
                spec: Some(class),
                table: 0,
            }],
            dynamics: vec![dynamics],
            lines: Lines::default(),
        }
    }

    /// A problem with its line and the table it is in.
    pub(crate) fn explain(&self, problem: &Problem) -> String {
        let mut parts = self.place(problem);
        parts.push(problem.text.clone());
        parts.join(": ")
    }

    /// The line of a problem and the table it is in.
    pub(crate) fn place(&self, problem: &Problem) -> Vec<String> {
        let line = self.lines.find(problem.table, problem.key.as_deref());
        let table = match problem.table {
            Table::Study => None,
            Table::Class(n) => {
                let class = self.classes.iter().find(|class| class.table == n);
                class.map(|class| format!("class \"{}\"", class.of))
            }
            Table::Dynamics(n) => {
                let dynamics = self.dynamics.get(n);
                dynamics.map(|dynamics| format!("dynamics \"{}\"", dynamics.id))
            }
        };
        line.map(str::to_owned).into_iter().chain(table).collect()
    }

    /// Refuses a study that makes no sense, as far as can be seen without its classes.
    pub fn checked(&self) -> Result<(), String> {
        self.check().map_err(|problem| self.explain(&problem))
    }

    fn check(&self) -> Result<(), Problem> {
        let study = |text: String| Problem::new(Table::Study, None, text);
        check_name("name", &self.name).map_err(|error| Problem::of(Table::Study, error))?;
        for (list, key) in [
            (self.classes.len(), "class"),
            (self.dynamics.len(), "dynamics"),
        ] {
            if list == 0 {
                return Err(study(format!("a study needs at least one [[{key}]]")));
            }
        }
        let mut seen = HashSet::new();
        for class in &self.classes {
            let refuse = |error| Problem::of(Table::Class(class.table), error);
            check_name("id", &class.id).map_err(refuse)?;
            if !seen.insert(&class.id) {
                return Err(refuse(taken(&class.id, "class")));
            }
        }
        let mut seen = HashSet::new();
        for (n, dynamics) in self.dynamics.iter().enumerate() {
            let refuse = |error| Problem::of(Table::Dynamics(n), error);
            check_name("id", &dynamics.id).map_err(refuse)?;
            if !seen.insert(&dynamics.id) {
                return Err(refuse(taken(&dynamics.id, "dynamics")));
            }
            self.check_dynamics(dynamics).map_err(refuse)?;
        }
        Ok(())
    }

    fn check_dynamics(&self, dynamics: &Dynamics) -> Result<(), SettingError> {
        let known = |id: &String| self.classes.iter().any(|c| c.id == *id || c.of == *id);
        let chosen: Vec<&String> = dynamics.classes.iter().flatten().collect();
        for (n, id) in chosen.iter().enumerate() {
            if !known(id) {
                let ids: Vec<&str> = self.classes.iter().map(|class| &class.id[..]).collect();
                let needed = format!("the id of a class ({})", ids.join(", "));
                return Err(SettingError::needs("classes", format!("\"{id}\""), &needed));
            }
            if chosen[..n].contains(id) {
                let value = format!("\"{id}\" twice");
                return Err(SettingError::needs("classes", value, "every class once"));
            }
        }
        if dynamics.classes.as_ref().is_some_and(Vec::is_empty) {
            return Err(SettingError::needs("classes", "[]", "at least one class"));
        }
        if dynamics.runs == 0 {
            let needed = "a whole number of at least 1";
            return Err(SettingError::needs("runs", 0, needed));
        }
        for ParameterAxis { name, values } in &dynamics.axes {
            if values.is_empty() {
                return Err(SettingError::needs(name, "[]", "at least one value"));
            }
            // By their part of ids: 0 and 0.0 are two values of JSON, and one point.
            let texts: Vec<String> = values.iter().map(id_part).collect();
            for (n, text) in texts.iter().enumerate() {
                if texts[..n].contains(text) {
                    let value = format!("{} twice", shown(&values[n]));
                    return Err(SettingError::needs(name, value, "every value once"));
                }
            }
        }
        let points = dynamics.axes.iter().map(|axis| axis.values.len() as u128);
        if points.product::<u128>() > MOST_POINTS as u128 {
            let needed = format!("a grid of at most {MOST_POINTS} points");
            return Err(SettingError::needs("grid", "more", &needed));
        }
        Ok(())
    }

    /// The study with keys in the spelling of records: two spellings of a study are one, and directories
    /// of before stay what they are.
    pub(crate) fn in_recorded_spelling(&self, registry: &Registry) -> Result<Study, Problem> {
        let mut study = self.clone();
        for (n, dynamics) in study.dynamics.iter_mut().enumerate() {
            // An unknown kind is refused where its runs are planned.
            if let Ok(method) = registry.find(&dynamics.kind) {
                let respelled = dynamics.respell(method.settings());
                respelled.map_err(|error| Problem::of(Table::Dynamics(n), error))?;
            }
        }
        Ok(study)
    }

    /// The classes of a dynamics, by number.
    pub fn classes_of(&self, dynamics: &Dynamics) -> impl Iterator<Item = usize> {
        let chosen = |class: &StudyClass| {
            dynamics
                .classes
                .as_ref()
                .is_none_or(|list| list.contains(&class.id) || list.contains(&class.of))
        };
        let classes = self.classes.iter().enumerate();
        classes
            .filter(move |(_, class)| chosen(class))
            .map(|(n, _)| n)
    }

    /// The pairs of class and dynamics, by number: class by class.
    pub fn pairs(&self) -> Vec<(usize, usize)> {
        let all = self.dynamics.iter().enumerate();
        let mut pairs: Vec<(usize, usize)> = all
            .flat_map(|(n, dynamics)| self.classes_of(dynamics).map(move |class| (class, n)))
            .collect();
        pairs.sort_unstable();
        pairs
    }
}

impl Dynamics {
    /// Spells its keys as records do; one setting under two spellings is refused.
    fn respell(&mut self, table: &'static [Setting]) -> Result<(), SettingError> {
        let recorded = |key: &str| {
            find(table, key)
                .map(Setting::recorded)
                .unwrap_or(key)
                .to_owned()
        };
        let mut seen: HashMap<String, String> = HashMap::new();
        let mut spell = |key: &str| {
            let recorded = recorded(key);
            match seen.insert(recorded.clone(), key.to_owned()) {
                Some(other) if other != key => {
                    let problem =
                        format!("`{key}` and `{other}` are one setting: leave one of them out");
                    Err(SettingError::of(key, problem))
                }
                _ => Ok(recorded),
            }
        };
        let settings = std::mem::take(&mut self.settings);
        for (key, value) in settings {
            self.settings.insert(spell(&key)?, value);
        }
        for axis in &mut self.axes {
            axis.name = spell(&axis.name)?;
        }
        Ok(())
    }

    /// The spelling under which a setting is stated here, of a key in any.
    pub(crate) fn typed<'a>(&'a self, table: &'static [Setting], key: &'a str) -> &'a str {
        let Some(setting) = find(table, key) else {
            return key;
        };
        let keys = self.settings.keys();
        let mut keys = keys.chain(self.axes.iter().map(|axis| &axis.name));
        let typed = keys.find(|typed| setting.spellings().any(|s| s == *typed));
        typed.map_or(setting.name, String::as_str)
    }

    /// Its points: every combination of the values of its axes, the last axis fastest.
    pub fn points(&self) -> Vec<Parameters> {
        let mut points = vec![Parameters(Vec::new())];
        for ParameterAxis { name, values } in &self.axes {
            let with = |point: &Parameters, value: &Value| {
                let mut list = point.0.clone();
                list.push((name.clone(), value.clone()));
                Parameters(list)
            };
            points = points
                .iter()
                .flat_map(|point| values.iter().map(|value| with(point, value)))
                .collect();
        }
        points
    }
}

fn taken(id: &str, what: &str) -> SettingError {
    SettingError {
        key: "id".to_owned(),
        problem: format!("id = \"{id}\": it is taken by another {what}"),
    }
}

fn check_name(key: &str, name: &str) -> Result<(), SettingError> {
    let plain = !name.is_empty() && !name.starts_with('.') && name.chars().all(is_plain);
    if plain && name.len() <= LONGEST_ID {
        return Ok(());
    }
    let needed = "a name of up to 100 letters, digits and . _ + -, no dot first,";
    Err(SettingError::needs(key, format!("\"{name}\""), needed))
}

/// Values evenly spaced from one number to another, on a logarithmic scale or not.
pub(crate) fn spaced(from: f64, to: f64, points: usize, log: bool) -> Vec<Value> {
    let last = points.saturating_sub(1).max(1) as f64;
    let one = |n: usize| {
        let share = n as f64 / last;
        let value = if log {
            from * (to / from).powf(share)
        } else {
            from + (to - from) * share
        };
        // Twelve digits: 1e-11 and not 9.99999999999e-12 for one of 1e-12 to 1e-2.
        let rounded: f64 = format!("{value:.11e}").parse().expect("a number");
        Value::from(rounded)
    };
    (0..points).map(one).collect()
}

/// A number for a message.
pub(crate) fn text_of(value: f64) -> String {
    number_name(value)
}

#[cfg(test)]
mod tests;
