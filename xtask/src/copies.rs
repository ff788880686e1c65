//! Copies into each crate what a published crate has to contain and the repository keeps elsewhere.
//!
//! A crate on a registry is its own folder and nothing else. Licences lie in each; records and errata that are part of the
//! program lie in `foldglass-paper/embedded`. `cargo xtask copies` writes the copies, and a test compares them.

use crate::{Failure, root};
use std::fs;
use std::path::PathBuf;

/// The crates that are published, in the order of their dependencies, and the Python packages.
const CRATES: [&str; 9] = [
    "foldglass",
    "foldglass-nn",
    "foldglass-study",
    "foldglass-report",
    "foldglass-explore",
    "foldglass-paper",
    "foldglass-cli",
    "foldglass-py",
    "foldglass-py/environments/foldglass_fold",
];

const LICENCES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// What `foldglass-paper` compiles in.
const EMBEDDED: [&str; 8] = [
    "docs/errata.md",
    "results/containment.jsonl",
    "results/correlated-parity.jsonl",
    "results/cures.jsonl",
    "results/escape.jsonl",
    "results/relabelling.jsonl",
    "results/screen-options.jsonl",
    "results/temperature-untied-b.jsonl",
];

/// Every source with its copy.
fn copies() -> Vec<(PathBuf, PathBuf)> {
    let licences = CRATES
        .iter()
        .flat_map(|name| LICENCES.map(|file| (root().join(file), root().join(name).join(file))));
    let embedded = EMBEDDED.iter().map(|file| {
        let source = root().join(file);
        let name = source.file_name().expect("each is a file");
        let copy = root().join("foldglass-paper/embedded").join(name);
        (source, copy)
    });
    licences.chain(embedded).collect()
}

/// Runs `cargo xtask copies`.
pub fn run() -> Result<(), Failure> {
    for (source, copy) in copies() {
        fs::copy(&source, &copy).map_err(|error| {
            let (from, to) = (source.display(), copy.display());
            Failure::Failed(format!("cannot copy {from} to {to}: {error}"))
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_in_crates_are_what_they_are_copies_of() {
        for (source, copy) in copies() {
            let same = fs::read(&source).unwrap() == fs::read(&copy).unwrap_or_default();
            let (source, copy) = (source.display(), copy.display());
            assert!(same, "{copy} is not {source}: run `cargo xtask copies`");
        }
    }

    #[test]
    fn nothing_else_lies_among_the_embedded_files() {
        let folder = root().join("foldglass-paper/embedded");
        assert_eq!(fs::read_dir(folder).unwrap().count(), EMBEDDED.len());
    }

    #[test]
    fn members_ask_for_the_version_they_have() {
        let text = fs::read_to_string(root().join("Cargo.toml")).unwrap();
        let version = text
            .lines()
            .find_map(|line| line.strip_prefix("version = "))
            .unwrap()
            .trim_matches('"');
        let wanted = format!("version = \"={version}\"");
        let members = text.lines().filter(|line| line.contains("path = \"fold"));
        let members: Vec<&str> = members.collect();
        assert_eq!(members.len(), 7, "{members:?}");
        for member in members {
            assert!(member.contains(&wanted), "{member}: not {wanted}");
        }
    }
}
