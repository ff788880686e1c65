//! Repeats the command that wrote a file by `--json`, and compares what comes out.
//!
//! The file has the command, its settings, its seed and the sums of the files that it read. Files and directories that the
//! command writes go to a directory that is removed afterwards, so nothing of the user's is overwritten.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use clap::Args;
use foldglass_study::files::{FilesRead, Input};
use foldglass_study::{Fields, StudyError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call;
use crate::cli::{GlobalArgs, Invocation};
use crate::error::Error;
use crate::output::{self, Report};
use crate::sums::sum_of;

/// The flags of `rerun`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  foldglass cavi --task z:5 --lengths 4 --tau 1e-10 --runs 8 --keep-code --json > runs.json
  foldglass rerun runs.json
      The command that wrote runs.json by --json again: exit code 1 if a value differs or an input has changed.
  foldglass rerun runs.json --json
      The same for a program: what differs first, which inputs have changed.")]
pub struct RerunArgs {
    /// What a command wrote by --json; - for stdin. Relative paths of its inputs start where rerun is started
    #[arg(value_name = "FILE.json")]
    file: PathBuf,
}

/// What a rerun needs of an output.
#[derive(Deserialize)]
struct Recorded {
    version: String,
    command: String,
    seed: u64,
    settings: Fields,
    files_read: FilesRead,
    #[serde(default)]
    interrupted: bool,
}

/// What every output has, by the name of its key.
const NEEDED: [&str; 5] = ["version", "command", "seed", "settings", "files_read"];

/// What depends on the machine, on its clock, or on what was done before in a directory.
const NOT_COMPARED: [&str; 8] = [
    "version",
    "threads",
    "memory_bytes",
    "time_limit",
    "at_least",
    "finished",
    "done_before",
    "done_now",
];

/// What a rerun came to.
#[derive(JsonSchema, Serialize)]
pub struct RerunReport {
    file: String,
    /// The words of the call.
    call: String,
    /// The version that wrote the file.
    written_by: String,
    /// Files that the command read and that have changed since.
    changed: Vec<String>,
    /// Files that the command read and that no longer exist.
    missing: Vec<String>,
    /// Whether the same came out; false where an input has changed, and the command was not repeated.
    same: bool,
    /// The first value that differs.
    difference: Option<Difference>,
}

/// A value that differs.
#[derive(Debug, PartialEq, JsonSchema, Serialize)]
pub struct Difference {
    /// Where it is, such as `runs[2].greedy_exact`.
    place: String,
    /// The value in the file, as JSON; nothing where it has none.
    recorded: Option<String>,
    /// The value that came out now.
    repeated: Option<String>,
}

impl RerunArgs {
    /// Repeats the command, compares its result with the file, and writes the comparison.
    pub fn run(&self, invocation: &Invocation, out: &mut dyn Write) -> Result<(), Error> {
        output::write(&self.repeated(invocation)?, invocation, out)
    }

    fn repeated(&self, invocation: &Invocation) -> Result<RerunReport, Error> {
        let file = Input::read(&self.file)?;
        let output: Value = file.object(EXPECTED)?;
        let recorded = recorded(&file, &output)?;
        let refused = |problem| Error::from(file.is_not(EXPECTED, problem));
        let words = |settings: &Fields| {
            call::words(&invocation.program, &recorded.command, settings).map_err(refused)
        };
        let call = format!(
            "foldglass {} --seed {}",
            words(&recorded.settings)?.join(" "),
            recorded.seed
        );
        let mut report = RerunReport {
            file: file.name.clone(),
            call,
            written_by: recorded.version.clone(),
            changed: Vec::new(),
            missing: Vec::new(),
            same: false,
            difference: None,
        };
        report.look_at(&recorded.files_read)?;
        if !report.changed.is_empty() || !report.missing.is_empty() {
            return Ok(report);
        }
        let aside = Aside::new(&recorded)?;
        let one_version = recorded.version == foldglass_study::VERSION;
        let repeated = repeat(words(&aside.settings)?, recorded.seed, &invocation.settings)?;
        report.difference = difference("", &output, &aside.back(repeated), one_version);
        report.same = report.difference.is_none();
        Ok(report)
    }
}

const EXPECTED: &str = "what a command of foldglass writes by --json";

/// What the output has of its call.
fn recorded(file: &Input, output: &Value) -> Result<Recorded, Error> {
    let lacking: Vec<&str> = NEEDED
        .into_iter()
        .filter(|key| output.get(key).is_none())
        .collect();
    if !lacking.is_empty() {
        let problem = format!(
            "it has no `{}`, so the call is not known: outputs of this version have them, those of versions before \
             0.1.0 do not",
            lacking.join("`, `")
        );
        return Err(file.is_not(EXPECTED, problem).into());
    }
    let recorded: Recorded = file.object(EXPECTED)?;
    if recorded.interrupted {
        let problem =
            "the command was stopped before its end, and a rerun does not stop at the same place";
        return Err(file.is_not(EXPECTED, problem.to_owned()).into());
    }
    if recorded.command == "explore" {
        let problem = "`explore` serves a page: there is nothing to compare";
        return Err(file.is_not(EXPECTED, problem.to_owned()).into());
    }
    Ok(recorded)
}

/// Runs the words of a call, and reads what comes out.
fn repeat(words: Vec<String>, seed: u64, settings: &GlobalArgs) -> Result<Value, Error> {
    let mut args = vec!["foldglass".to_owned(), "--json".to_owned()];
    args.push(format!("--seed={seed}"));
    args.extend(
        settings
            .threads
            .map(|threads| format!("--threads={threads}")),
    );
    args.extend(settings.quiet.then(|| "--quiet".to_owned()));
    args.extend(words);
    let mut written = Vec::new();
    let end = crate::run(args.into_iter().map(OsString::from), &mut written);
    match (end, serde_json::from_slice(&written)) {
        // A check that fails has its output, too.
        (Ok(()) | Err(Error::Failed(_)), Ok(repeated)) => Ok(repeated),
        (Err(error), _) => Err(error),
        (Ok(()), Err(error)) => Err(Error::Failed(format!(
            "the output of the command is not JSON: {error}"
        ))),
    }
}

impl RerunReport {
    /// Compares the files that were read with their sums.
    fn look_at(&mut self, files: &FilesRead) -> Result<(), Error> {
        // That of stdin is compared when the command has read it.
        for (file, sum) in files.iter().filter(|(file, _)| *file != "-") {
            let path = Path::new(file);
            let mut content = match File::open(path) {
                Ok(content) => content,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    self.missing.push(file.clone());
                    continue;
                }
                Err(source) => return Err(StudyError::read(path, source).into()),
            };
            let (_, now) = sum_of(&mut content).map_err(|source| StudyError::read(path, source))?;
            if now != *sum {
                self.changed.push(file.clone());
            }
        }
        Ok(())
    }
}

/// A directory for what a repeated command writes, removed at the end.
struct Aside {
    directory: PathBuf,
    /// The settings with paths in it.
    settings: Fields,
    /// Those paths, and what the call names in their place.
    places: Vec<(String, String)>,
}

impl Aside {
    fn new(recorded: &Recorded) -> Result<Aside, Error> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("foldglass-rerun-{}-{number}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        let mut aside = Aside {
            settings: recorded.settings.clone(),
            directory,
            places: Vec::new(),
        };
        for (number, (flag, path)) in
            call::written(&recorded.command, &recorded.settings).enumerate()
        {
            let folder = aside.directory.join(number.to_string());
            fs::create_dir_all(&folder).map_err(|source| StudyError::write(&folder, source))?;
            let place = folder.join(path.file_name().unwrap_or_default());
            let (place, path) = (place.display().to_string(), path.display().to_string());
            aside
                .settings
                .insert(flag.to_owned(), Value::from(place.clone()));
            aside.places.push((place, path));
        }
        Ok(aside)
    }

    /// An output with the paths that the call names.
    fn back(&self, output: Value) -> Value {
        let named = |text: String| {
            let places = self.places.iter();
            places.fold(text, |text, (place, path)| text.replace(place, path))
        };
        match output {
            Value::String(text) => Value::String(named(text)),
            Value::Array(list) => list.into_iter().map(|value| self.back(value)).collect(),
            Value::Object(fields) => {
                let fields = fields.into_iter();
                Value::Object(
                    fields
                        .map(|(key, value)| (named(key), self.back(value)))
                        .collect(),
                )
            }
            other => other,
        }
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Whether a value is not compared.
fn is_left_out(key: &str) -> bool {
    NOT_COMPARED.contains(&key) || key.ends_with("seconds")
}

/// The first value that differs, in the order of the keys. A later version may write keys that the file does not have:
/// they are compared where both are of one version.
fn difference(
    place: &str,
    recorded: &Value,
    repeated: &Value,
    one_version: bool,
) -> Option<Difference> {
    let differs = |recorded: Option<&Value>, repeated: Option<&Value>, place: String| Difference {
        place,
        recorded: recorded.map(Value::to_string),
        repeated: repeated.map(Value::to_string),
    };
    match (recorded, repeated) {
        (Value::Object(one), Value::Object(other)) => {
            let added = other.keys();
            let added = added.filter(|key| one_version && !one.contains_key(*key));
            let keys = one.keys().chain(added).filter(|key| !is_left_out(key));
            keys.map(|key| {
                let place = if place.is_empty() {
                    key.clone()
                } else {
                    format!("{place}.{key}")
                };
                match (one.get(key), other.get(key)) {
                    (Some(recorded), Some(repeated)) => {
                        difference(&place, recorded, repeated, one_version)
                    }
                    (recorded, repeated) => Some(differs(recorded, repeated, place)),
                }
            })
            .find_map(|found| found)
        }
        (Value::Array(one), Value::Array(other)) => (0..one.len().max(other.len()))
            .map(|number| {
                let place = format!("{place}[{number}]");
                match (one.get(number), other.get(number)) {
                    (Some(recorded), Some(repeated)) => {
                        difference(&place, recorded, repeated, one_version)
                    }
                    (recorded, repeated) => Some(differs(recorded, repeated, place)),
                }
            })
            .find_map(|found| found),
        (recorded, repeated) if recorded == repeated => None,
        (recorded, repeated) => Some(differs(Some(recorded), Some(repeated), place.to_owned())),
    }
}

impl Report for RerunReport {
    fn failure(&self) -> Option<String> {
        let file = &self.file;
        let mut problems = Vec::new();
        for (list, problem) in [
            (&self.changed, "has changed since it was read"),
            (
                &self.missing,
                "is missing; relative paths start where rerun is started",
            ),
        ] {
            problems.extend(list.iter().map(|input| format!("{input} {problem}")));
        }
        if let Some(Difference {
            place,
            recorded,
            repeated,
        }) = &self.difference
        {
            let shown = |value: &Option<String>| value.clone().unwrap_or("nothing".to_owned());
            problems.push(format!(
                "{place} is {} in the file, and {} now",
                shown(recorded),
                shown(repeated)
            ));
        }
        if problems.is_empty() {
            return None;
        }
        let version = match self.written_by == foldglass_study::VERSION {
            true => String::new(),
            false => format!(
                " (written by foldglass {}, this is {})",
                self.written_by,
                foldglass_study::VERSION
            ),
        };
        Some(format!("{file}{version}: {}", problems.join("; ")))
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        // What differs goes to stderr.
        if self.same {
            let file = &self.file;
            writeln!(out, "{file}: the same came out again, times aside, of")?;
            writeln!(out, "{}", self.call)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn place(recorded: &Value, repeated: &Value) -> Option<String> {
        difference("", recorded, repeated, true).map(|found| found.place)
    }

    #[test]
    fn the_first_value_that_differs_is_found() {
        let recorded = json!({"runs": [{"j": 0.5, "seconds": 1}, {"j": 1.0}], "seed": 1});
        assert_eq!(place(&recorded, &recorded), None);
        let mut other = recorded.clone();
        other["runs"][1]["j"] = json!(0.9);
        other["seed"] = json!(2);
        let found = difference("", &recorded, &other, true).unwrap();
        assert_eq!(found.place, "runs[1].j");
        let values = (found.recorded.as_deref(), found.repeated.as_deref());
        assert_eq!(values, (Some("1.0"), Some("0.9")));
        let longer = json!({"runs": [{"j": 0.5}, {"j": 1.0}, {"j": 0.1}], "seed": 1});
        assert_eq!(place(&recorded, &longer).as_deref(), Some("runs[2]"));
        let lacking = json!({"runs": [{"j": 0.5}, {}], "seed": 1});
        assert_eq!(place(&recorded, &lacking).as_deref(), Some("runs[1].j"));
        assert_eq!(
            place(&json!({"n": 1}), &json!({"n": 1.0})).as_deref(),
            Some("n")
        );
    }

    #[test]
    fn a_later_version_may_write_keys_of_its_own() {
        let (earlier, later) = (json!({"j": 1}), json!({"j": 1, "k": 2}));
        assert_eq!(place(&earlier, &later).as_deref(), Some("k"));
        assert_eq!(difference("", &earlier, &later, false), None);
        assert!(difference("", &later, &earlier, false).is_some());
    }

    #[test]
    fn times_and_what_a_machine_has_are_not_compared() {
        let recorded =
            json!({"seconds": 1.0, "share_seconds": 2, "threads": 8, "version": "0.0.1"});
        assert_eq!(place(&recorded, &json!({"threads": 2})), None);
    }
}
