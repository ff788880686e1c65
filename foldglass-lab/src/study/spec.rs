//! Reads a study from TOML and refuses what it cannot mean.
//!
//! Unknown keys are refused. A class takes the words of the class flags; files that it names are
//! found from the study's own directory.

use std::collections::HashSet;
use std::path::Path;

use foldglass::class::{Allowance, Class};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::dynamics::Dynamics;
use super::method::{need, need_tau, tau_name};
use crate::error::Error;
use crate::flags::ClassArgs;
use crate::flags::inputs::InputsFlag;
use crate::flags::shape::{self, Lengths};
use crate::flags::square::{SquareArgs, SquareFlag};

/// Classes x dynamics x temperatures x run numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// Its name.
    pub name: String,
    /// The seed of all that is random in it.
    pub seed: u64,
    /// The classes, in the order of the table.
    pub classes: Vec<ClassSpec>,
    /// What is done on each.
    pub dynamics: Vec<Dynamics>,
}

/// A class in the words of the class flags.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassSpec {
    /// Its name in ids; empty is one made from what follows.
    #[serde(default)]
    pub id: String,
    /// `--task`.
    pub task: String,
    /// `--lengths`.
    pub lengths: Vec<usize>,
    /// `--window`.
    #[serde(default)]
    pub window: [usize; 2],
    /// `--tied`.
    #[serde(default)]
    pub tied: bool,
    /// `--memory`.
    #[serde(default = "one")]
    pub memory: usize,
    /// `--inputs`.
    #[serde(default = "uniform")]
    pub inputs: String,
}

fn one() -> usize {
    1
}

fn uniform() -> String {
    "uniform".to_owned()
}

/// A study as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    seed: Option<u64>,
    #[serde(default)]
    class: Vec<ClassSpec>,
    #[serde(default)]
    dynamics: Vec<Dynamics>,
}

/// Where its tables stand.
#[derive(Deserialize)]
struct Tables {
    #[serde(default)]
    class: Vec<Spanned<IgnoredAny>>,
    #[serde(default)]
    dynamics: Vec<Spanned<IgnoredAny>>,
}

/// What is wrong with a study.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    place: Place,
    text: String,
}

/// The table that a problem is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Study,
    Class(usize),
    Dynamics(usize),
}

impl Study {
    /// Reads the study in the file at `path`; `seed` is its seed where it states none.
    pub fn read(path: &Path, seed: u64) -> Result<Study, Error> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|source| Error::Read {
            path: name.clone(),
            source,
        })?;
        Study::parse(&text, seed).map_err(|problem| Error::Study {
            place: name,
            problem,
        })
    }

    /// Reads a study; what is wrong with it is said with its line. A seed other than 0 must not
    /// contradict the one it states.
    pub fn parse(text: &str, seed: u64) -> Result<Study, String> {
        let file: File = toml::from_str(text).map_err(|error| {
            let message = error.message().replace("field", "key");
            match error.span() {
                Some(span) => format!("{}: {message}", position(text, span.start)),
                None => message,
            }
        })?;
        if let Some(stated) = file.seed.filter(|&stated| seed != 0 && seed != stated) {
            return Err(format!(
                "it states seed = {stated}, and --seed is {seed}: leave one of them out"
            ));
        }
        let mut study = Study {
            name: file.name,
            seed: file.seed.unwrap_or(seed),
            classes: file.class,
            dynamics: file.dynamics,
        };
        study.fill_ids();
        study.check().map_err(|problem| match problem.line(text) {
            Some(line) => format!("{line}: {}", study.explain(&problem)),
            None => study.explain(&problem),
        })?;
        Ok(study)
    }

    /// Names the classes that have no name.
    fn fill_ids(&mut self) {
        for class in &mut self.classes {
            if class.id.is_empty() {
                class.id = class.default_id();
            }
        }
    }

    /// A problem with the table it is in.
    fn explain(&self, problem: &Problem) -> String {
        let text = &problem.text;
        match problem.place {
            Place::Study => text.clone(),
            Place::Class(n) => format!("class \"{}\": {text}", self.classes[n].id),
            Place::Dynamics(n) => format!("dynamics \"{}\": {text}", self.dynamics[n].id),
        }
    }

    /// Refuses a study that makes no sense, as far as can be seen without its classes.
    pub fn checked(&self) -> Result<(), String> {
        self.check().map_err(|problem| self.explain(&problem))
    }

    fn check(&self) -> Result<(), Problem> {
        let study = |text: String| Problem {
            place: Place::Study,
            text,
        };
        check_name("name", &self.name).map_err(study)?;
        for (list, key) in [
            (self.classes.len(), "class"),
            (self.dynamics.len(), "dynamics"),
        ] {
            if list == 0 {
                return Err(study(format!("a study needs at least one [[{key}]]")));
            }
        }
        let mut seen = HashSet::new();
        for (n, class) in self.classes.iter().enumerate() {
            let problem = |text| Problem {
                place: Place::Class(n),
                text,
            };
            check_name("id", &class.id).map_err(problem)?;
            if !seen.insert(&class.id) {
                return Err(problem("the id is taken by another class".to_owned()));
            }
        }
        let mut seen = HashSet::new();
        for (n, dynamics) in self.dynamics.iter().enumerate() {
            let problem = |text| Problem {
                place: Place::Dynamics(n),
                text,
            };
            check_name("id", &dynamics.id).map_err(problem)?;
            if !seen.insert(&dynamics.id) {
                return Err(problem("the id is taken by another dynamics".to_owned()));
            }
            self.check_dynamics(dynamics).map_err(problem)?;
        }
        Ok(())
    }

    fn check_dynamics(&self, dynamics: &Dynamics) -> Result<(), String> {
        let known = |id: &String| self.classes.iter().any(|class| class.id == *id);
        for (n, id) in dynamics.classes.iter().flatten().enumerate() {
            let ids: Vec<&str> = self.classes.iter().map(|class| &class.id[..]).collect();
            let needed = format!("the id of a class ({})", ids.join(", "));
            need(known(id), "classes", format!("\"{id}\""), &needed)?;
            let twice = dynamics
                .classes
                .iter()
                .flatten()
                .take(n)
                .any(|other| other == id);
            need(
                !twice,
                "classes",
                format!("\"{id}\" twice"),
                "every class once",
            )?;
        }
        if dynamics.classes.as_ref().is_some_and(Vec::is_empty) {
            return Err("classes = []: at least one is needed".to_owned());
        }
        need(
            !dynamics.tau.is_empty(),
            "tau",
            "[]",
            "at least one temperature",
        )?;
        for (n, &tau) in dynamics.tau.iter().enumerate() {
            need_tau("tau", tau)?;
            let twice = dynamics.tau[..n].contains(&tau);
            need(
                !twice,
                "tau",
                format!("{} twice", tau_name(tau)),
                "every temperature once",
            )?;
        }
        need(
            dynamics.runs > 0,
            "runs",
            dynamics.runs,
            "a whole number of at least 1",
        )?;
        dynamics.method.check()
    }

    /// The classes of a dynamics, by number.
    pub fn classes_of(&self, dynamics: &Dynamics) -> impl Iterator<Item = usize> {
        let chosen = |id: &String| {
            dynamics
                .classes
                .as_ref()
                .is_none_or(|list| list.contains(id))
        };
        let classes = self.classes.iter().enumerate();
        classes
            .filter(move |(_, class)| chosen(&class.id))
            .map(|(n, _)| n)
    }
}

impl Problem {
    /// The line of its table.
    fn line(&self, text: &str) -> Option<String> {
        let tables: Tables = toml::from_str(text).ok()?;
        let table = match self.place {
            Place::Study => None,
            Place::Class(n) => tables.class.get(n),
            Place::Dynamics(n) => tables.dynamics.get(n),
        };
        table.map(|table| position(text, table.span().start))
    }
}

/// Line and column of a place in a text.
fn position(text: &str, at: usize) -> String {
    let before = &text[..at];
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
    format!("line {line}, column {column}")
}

/// Whether a character may stand in an id, and so in the name of a file.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "._+-".contains(c)
}

fn check_name(key: &str, name: &str) -> Result<(), String> {
    let met = !name.is_empty() && !name.starts_with('.') && name.chars().all(is_plain);
    let needed = "a name of letters, digits and . _ + -, no dot first,";
    need(met, key, format!("\"{name}\""), needed)
}

impl ClassSpec {
    /// A name made from the task and the shape: `z-5_T8_w0-0`.
    fn default_id(&self) -> String {
        let lengths: Vec<String> = self.lengths.iter().map(usize::to_string).collect();
        let mut id = format!(
            "{}_T{}_w{}-{}",
            self.task,
            lengths.join("-"),
            self.window[0],
            self.window[1]
        );
        if self.memory != 1 {
            id += &format!("_m{}", self.memory);
        }
        if self.tied {
            id += "_tied";
        }
        if self.inputs != uniform() {
            id += &format!("_{}", self.inputs);
        }
        id.chars()
            .map(|c| if is_plain(c) { c } else { '-' })
            .collect()
    }

    /// Lays out the class. Files are found from `base`; `seed` is that of a random square.
    pub fn class(&self, base: &Path, seed: u64, allowance: Allowance) -> Result<Class, String> {
        let [past, future] = self.window;
        let window = shape::window(&format!("{past},{future}"));
        let inputs = self.inputs.parse::<InputsFlag>();
        let Ok(task) = self.task.parse::<SquareFlag>();
        let args = ClassArgs {
            square: SquareArgs {
                task: task.under(base),
            },
            lengths: Lengths(self.lengths.clone()),
            window: window.map_err(|error| format!("window = [{past}, {future}]: {error}"))?,
            tied: self.tied,
            memory: shape::memory(&self.memory.to_string())
                .map_err(|error| format!("memory = {}: {error}", self.memory))?,
            inputs: inputs
                .map_err(|error| format!("inputs = \"{}\": {error}", self.inputs))?
                .under(base),
            max_memory: Some(allowance),
        };
        // A study's keys are the flags without their dashes.
        let class = args.class(seed).map_err(|error| error.to_string());
        class.map_err(|error| error.strip_prefix("--").unwrap_or(&error).to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STUDY: &str = "\
name = \"small\"
[[class]]
task = \"z:3\"
lengths = [3, 4]
[[class]]
id = \"tied\"
task = \"parity\"
lengths = [4]
window = [0, 1]
tied = true
inputs = \"markov:9/10\"
[[dynamics]]
kind = \"cavi\"
tau = [1e-10, 0]
runs = 3
iterations = 40
initial = \"logit_normal:0.1\"
quench = { iterations = 5, tau = 1e-13 }
[[dynamics]]
id = \"mc\"
kind = \"chain\"
classes = [\"tied\"]
kernel = \"heat-bath\"
tau = [1e-13]
runs = 3
sweeps = 40
";

    #[test]
    fn a_study_is_what_its_file_says() {
        let study = Study::parse(STUDY, 7).unwrap();
        assert_eq!((study.seed, &study.classes[0].id[..]), (7, "z-3_T3-4_w0-0"));
        assert_eq!(study.classes[0].memory, 1);
        assert_eq!(study.dynamics[0].id, "cavi");
        assert_eq!(study.dynamics[0].tau, [1e-10, 0.0]);
        let classes = |n: usize| study.classes_of(&study.dynamics[n]).collect::<Vec<_>>();
        assert_eq!((classes(0), classes(1)), (vec![0, 1], vec![1]));
    }

    #[test]
    fn a_study_survives_json() {
        let study = Study::parse(STUDY, 7).unwrap();
        let text = serde_json::to_string(&study).unwrap();
        assert_eq!(serde_json::from_str::<Study>(&text).unwrap(), study);
    }

    #[test]
    fn what_a_study_cannot_mean_is_refused_with_its_line() {
        for (old, new, said) in [
            (
                "tied = true",
                "knots = true",
                "line 10, column 1: unknown key `knots`",
            ),
            (
                "lengths = [4]",
                "lengths = \"4\"",
                "line 8, column 11: invalid type",
            ),
            (
                "runs = 3\n",
                "",
                "line 12, column 1: the key `runs` is missing",
            ),
            (
                "iterations = 40",
                "sweeps = 40",
                "`sweeps` is no key of kind \"cavi\"",
            ),
            (
                "\"logit_normal:0.1\"",
                "\"normal\"",
                "line 17, column 11: `normal` names no",
            ),
            (
                "kind = \"chain\"",
                "kind = \"dance\"",
                "line 21, column 8: unknown variant `dance`",
            ),
            (
                "[1e-10, 0]",
                "[1e-10, -1]",
                "line 12, column 1: dynamics \"cavi\": tau = -1",
            ),
            ("[1e-10, 0]", "[1e-10, 1e-10]", "1e-10 twice"),
            ("[\"tied\"]", "[\"untied\"]", "classes = \"untied\""),
            (
                "id = \"tied\"",
                "id = \"a/b\"",
                "line 5, column 1: class \"a/b\": id",
            ),
            ("name = \"small\"", "name = \"..\"", "name = \"..\""),
            (
                "sweeps = 40",
                "sweeps = 40\ncheckpoints = [50]",
                "checkpoints = [50]",
            ),
            ("sweeps = 40", "sweeps = 0", "sweeps = 0"),
            ("name = \"small\"", "name = small", "line 1, column 8"),
        ] {
            assert!(STUDY.contains(old), "{old}");
            let problem = Study::parse(&STUDY.replacen(old, new, 1), 0).unwrap_err();
            assert!(problem.contains(said), "{new}: no {said:?} in {problem:?}");
        }
    }

    #[test]
    fn the_words_of_a_class_are_those_of_the_flags() {
        let study = Study::parse(STUDY, 0).unwrap();
        let allowance = Allowance::default();
        let lay = |spec: &ClassSpec| spec.class(Path::new(""), 0, allowance);
        assert_eq!(lay(&study.classes[1]).unwrap().q(), 2);
        let bad = ClassSpec {
            task: "z:many".to_owned(),
            ..study.classes[0].clone()
        };
        let problem = lay(&bad).unwrap_err();
        assert!(problem.starts_with("task z:many: "), "{problem}");
    }
}
