//! Remembers the test programs that passed, so that the first tier runs those that a change has reached.
//!
//! Cargo writes a test program anew when anything changes that it is compiled from. A program that is still the file that
//! passed would do what it did then, if it looks at nothing else. In every doubt it is run again.

use crate::{Failure, cargo, machine, root, target_dir};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// The packages whose tests look at nothing but what is compiled into them. Those of the others read files of the
/// repository or run the `foldglass` program, so they are always run.
const ALONE: [&str; 7] = [
    "foldglass",
    "foldglass-nn",
    "foldglass-study",
    "foldglass-report",
    "foldglass-explore",
    "foldglass-web",
    "foldglass-paper",
];

/// The test programs as built, and which of them are those that passed before.
pub struct Programs {
    record: BTreeMap<String, String>,
    unchanged: Vec<String>,
}

impl Programs {
    /// Builds what `runner`, a call of `cargo nextest`, would run, and looks at it. None where that cannot be known.
    pub fn built(runner: &[&str]) -> Result<Option<Programs>, Failure> {
        let list = ["nextest", "list", "--list-type", "binaries-only"];
        let json = ["--message-format", "json"];
        let args = [&list[..], &json, &runner[2..]].concat();
        let output = cargo(&args)
            .stderr(std::process::Stdio::inherit())
            .output()
            .map_err(|error| Failure::Failed(format!("the tests could not be built: {error}")))?;
        if !output.status.success() {
            return Err(Failure::Failed(format!(
                "the tests cannot be built: {}",
                output.status
            )));
        }
        let listed: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let before = fs::read(place()).unwrap_or_default();
        let before = serde_json::from_slice(&before).unwrap_or_default();
        Ok(record(&listed, circumstances()).map(|record| Programs::compare(record, &before)))
    }

    fn compare(record: BTreeMap<String, String>, before: &BTreeMap<String, String>) -> Programs {
        let same = |name: &&String| before.get(*name) == record.get(*name);
        let unchanged = if same(&&CIRCUMSTANCES.to_owned()) {
            let alone = |name: &&String| ALONE.contains(&package(name));
            record.keys().filter(alone).filter(same).cloned().collect()
        } else {
            Vec::new()
        };
        Programs { record, unchanged }
    }

    /// The tests of programs that changed, as nextest selects them; None where that is all of them.
    pub fn changed(&self) -> Option<String> {
        let named = self
            .unchanged
            .iter()
            .map(|name| format!("binary_id(={name})"));
        let named: Vec<String> = named.collect();
        (!named.is_empty()).then(|| format!("not ({})", named.join(" + ")))
    }

    /// What is not run.
    pub fn line(&self) -> String {
        format!(
            "not run again, since they have passed as they are: {} (`cargo nextest run --workspace` runs all tests)",
            self.unchanged.join(", ")
        )
    }

    /// Records that all of them have passed.
    pub fn passed(&self) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(&self.record).expect("strings have a JSON form");
        let written = fs::write(place(), text);
        written.map_err(|error| Failure::Failed(format!("{}: {error}", place().display())))
    }
}

/// The entry of the record for what all programs depend on besides themselves: the machine, variables of the
/// environment, the cases that proptest keeps.
const CIRCUMSTANCES: &str = "circumstances";

fn place() -> PathBuf {
    target_dir().join("passed.json")
}

/// The package of a program's name, such as `foldglass::core`.
fn package(name: &str) -> &str {
    name.split("::").next().unwrap_or(name)
}

/// The machine, whose processor decides which kernels run, the variables that programs read, and the cases that property
/// tests keep.
fn circumstances() -> String {
    let own = |name: &str| name.starts_with("FOLDGLASS_") || name.starts_with("RAYON_");
    let set = std::env::vars_os().map(|(name, value)| format!("{name:?}={value:?}"));
    let set = set.filter(|pair| own(&pair[1..]));
    let kept = ALONE.iter().flat_map(|name| {
        let folder = root().join(name).join("tests/proptest-regressions");
        fs::read_dir(folder).into_iter().flatten().flatten()
    });
    let kept = kept.filter_map(|entry| stamp(&entry.path()));
    let mut parts: Vec<String> = set.chain(kept).collect();
    parts.sort();
    format!("{}; {}", machine::describe(), parts.join("; "))
}

/// The file of each program that nextest lists, with its size and the time it was written.
fn record(listed: &Value, circumstances: String) -> Option<BTreeMap<String, String>> {
    let mut record = BTreeMap::from([(CIRCUMSTANCES.to_owned(), circumstances)]);
    for (name, program) in listed.get("rust-binaries")?.as_object()? {
        let path = program.get("binary-path")?.as_str()?;
        record.insert(name.clone(), stamp(Path::new(path))?);
    }
    Some(record)
}

fn stamp(path: &Path) -> Option<String> {
    let about = fs::metadata(path).ok()?;
    let written = about.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(format!(
        "{} {} {}",
        path.display(),
        about.len(),
        written.as_nanos()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn programs(core: &str, place: &str) -> BTreeMap<String, String> {
        let all = [
            ("foldglass", core),
            ("foldglass::core", core),
            ("foldglass-study", "s"),
            ("foldglass-cli::cli", "c"),
            ("xtask::workspace", "x"),
            (CIRCUMSTANCES, place),
        ];
        all.map(|(name, stamp)| (name.into(), stamp.into())).into()
    }

    #[test]
    fn only_programs_that_are_as_they_passed_and_look_at_nothing_else_are_left_out() {
        let before = programs("1", "here");
        let same = Programs::compare(before.clone(), &before);
        assert_eq!(
            same.changed().unwrap(),
            "not (binary_id(=foldglass) + binary_id(=foldglass-study) + binary_id(=foldglass::core))"
        );
        let edited = Programs::compare(programs("2", "here"), &before);
        assert_eq!(
            edited.changed().unwrap(),
            "not (binary_id(=foldglass-study))"
        );
        let elsewhere = Programs::compare(programs("1", "there"), &before);
        let first = Programs::compare(before, &BTreeMap::new());
        for all in [elsewhere, first] {
            assert_eq!(all.changed(), None);
        }
    }

    #[test]
    fn a_program_that_was_written_anew_has_another_stamp() {
        let file = std::env::temp_dir().join(format!("foldglass-stamp-{}", std::process::id()));
        fs::write(&file, "one").unwrap();
        let first = stamp(&file).unwrap();
        assert_eq!(stamp(&file), Some(first.clone()));
        let listed = serde_json::json!({"rust-binaries": {"a::b": {"binary-path": file}}});
        let found = record(&listed, "here".into()).unwrap();
        assert_eq!(found["a::b"], first);
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(1);
        let written = fs::File::options().write(true).open(&file).unwrap();
        written.set_modified(later).unwrap();
        assert_ne!(stamp(&file), Some(first));
        fs::remove_file(&file).unwrap();
        // From a list of another form no record is made, so all tests run.
        assert_eq!(record(&listed, "here".into()), None);
        assert_eq!(record(&Value::Null, "here".into()), None);
    }

    /// Catches a test that would not be run again although a file that it reads has changed.
    #[test]
    fn the_packages_that_are_left_out_name_no_file_of_the_repository_and_no_program() {
        let mut files = 0;
        let mut folders: Vec<PathBuf> = ALONE.map(|name| root().join(name)).into();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|kind| kind == "rs") {
                    let text = fs::read_to_string(&path).unwrap();
                    for word in ["CARGO_MANIFEST_DIR", "CARGO_BIN_EXE", "current_dir"] {
                        assert!(!text.contains(word), "{}: {word}", path.display());
                    }
                    files += 1;
                }
            }
        }
        assert!(files > 100, "{files}");
    }
}
