//! Holds the licences and sources of all dependencies to `deny.toml`.

use crate::{Failure, cargo, root};
use serde_json::Value;
use std::fs;

/// Runs `cargo xtask licences`.
pub fn run() -> Result<(), Failure> {
    let failed = |problem: String| Failure::Failed(format!("licences: {problem}"));
    let rules =
        fs::read_to_string(root().join("deny.toml")).map_err(|error| failed(error.to_string()))?;
    let allowed = allowed(&rules);
    let output = cargo(&["metadata", "--format-version", "1", "--locked"]).output();
    let output = output.map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    let metadata: Value =
        serde_json::from_slice(&output.stdout).map_err(|error| failed(error.to_string()))?;
    let packages = metadata["packages"].as_array().cloned().unwrap_or_default();
    let foreign: Vec<&Value> = packages
        .iter()
        .filter(|package| !package["source"].is_null())
        .collect();
    let problems: Vec<String> = foreign
        .iter()
        .filter_map(|package| problem(package, &allowed))
        .collect();
    if !problems.is_empty() {
        return Err(failed(problems.join("; ")));
    }
    eprintln!(
        "== licences: {} dependencies, all permissive and of a registry",
        foreign.len()
    );
    deny().map_err(failed)
}

/// The same by cargo-deny, where it is installed.
fn deny() -> Result<(), String> {
    let there = cargo(&["deny", "--version"]).output();
    if !there.is_ok_and(|output| output.status.success()) {
        return Ok(());
    }
    let mut check = cargo(&["deny", "--log-level", "error", "check"]);
    let output = check.args(["licenses", "sources", "bans"]).output();
    let output = output.map_err(|error| error.to_string())?;
    if output.status.success() {
        eprintln!("== licences: cargo-deny agrees");
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
}

/// What is wrong with a dependency.
fn problem(package: &Value, allowed: &[String]) -> Option<String> {
    let text = |key: &str| package[key].as_str().unwrap_or_default();
    let name = format!("{} {}", text("name"), text("version"));
    if !text("source").starts_with("registry+") {
        return Some(format!("{name} comes from no registry"));
    }
    match satisfied(text("license"), allowed) {
        Some(true) => None,
        Some(false) => Some(format!(
            "{name} is under {:?}, which deny.toml does not allow",
            text("license")
        )),
        None => Some(format!(
            "{name} has no licence that can be read: {:?}",
            text("license")
        )),
    }
}

/// The licences that `deny.toml` allows.
fn allowed(rules: &str) -> Vec<String> {
    let list = rules.split_once("allow = [").map_or("", |(_, rest)| rest);
    let list = list.split_once(']').map_or("", |(list, _)| list);
    let quoted = list.split('"').skip(1).step_by(2);
    quoted.map(str::to_owned).collect()
}

/// Whether an SPDX expression holds with these licences; none where it is no expression.
fn satisfied(expression: &str, allowed: &[String]) -> Option<bool> {
    let spaced = expression
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut reader = Reader {
        words: &words,
        allowed,
    };
    let holds = reader.any()?;
    reader.words.is_empty().then_some(holds)
}

struct Reader<'a> {
    words: &'a [&'a str],
    allowed: &'a [String],
}

impl Reader<'_> {
    fn take(&mut self, word: &str) -> bool {
        let there = self.words.first() == Some(&word);
        if there {
            self.words = &self.words[1..];
        }
        there
    }

    /// One `OR` another.
    fn any(&mut self) -> Option<bool> {
        let mut holds = self.all()?;
        while self.take("OR") {
            holds |= self.all()?;
        }
        Some(holds)
    }

    /// One `AND` another.
    fn all(&mut self) -> Option<bool> {
        let mut holds = self.one()?;
        while self.take("AND") {
            holds &= self.one()?;
        }
        Some(holds)
    }

    fn one(&mut self) -> Option<bool> {
        if self.take("(") {
            let holds = self.any()?;
            return self.take(")").then_some(holds);
        }
        let (first, rest) = self.words.split_first()?;
        self.words = rest;
        let mut name = (*first).to_owned();
        if self.take("WITH") {
            let (exception, rest) = self.words.split_first()?;
            self.words = rest;
            name = format!("{name} WITH {exception}");
        }
        let is_name = !["OR", "AND", ")", "WITH"].contains(first);
        is_name.then(|| self.allowed.contains(&name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_holds_where_one_of_its_ways_is_allowed() {
        let allowed = allowed(
            "[licenses]\nallow = [\n  \"MIT\",\n  \"Apache-2.0 WITH LLVM-exception\",\n]\n",
        );
        assert_eq!(allowed.len(), 2);
        for (expression, holds) in [
            ("MIT", Some(true)),
            ("GPL-3.0", Some(false)),
            ("GPL-3.0 OR MIT", Some(true)),
            ("MIT/Apache-2.0", Some(true)),
            ("MIT AND GPL-3.0", Some(false)),
            ("(GPL-3.0 OR MIT) AND MIT", Some(true)),
            ("Apache-2.0 WITH LLVM-exception", Some(true)),
            ("Apache-2.0", Some(false)),
            ("", None),
            ("MIT OR", None),
            ("(MIT", None),
            ("MIT MIT", None),
        ] {
            assert_eq!(satisfied(expression, &allowed), holds, "{expression}");
        }
    }

    #[test]
    fn a_dependency_of_another_place_is_refused() {
        let package = serde_json::json!({
            "name": "a", "version": "1.0.0", "license": "MIT", "source": "git+ssh://somewhere"
        });
        let said = problem(&package, &["MIT".to_owned()]).unwrap();
        assert!(said.contains("a 1.0.0 comes from no registry"), "{said}");
    }
}
