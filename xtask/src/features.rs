//! Lints every library crate without its default features, and with each of its features alone.
//!
//! A build of the whole workspace turns on what any crate asks for, and would not show that one cannot be built alone.

use crate::{Failure, cargo};
use serde_json::Value;
use std::time::Instant;

/// Runs `cargo xtask features`.
pub fn run() -> Result<(), Failure> {
    let start = Instant::now();
    let failed = |problem: String| Failure::Failed(format!("features: {problem}"));
    let output = cargo(&["metadata", "--format-version", "1", "--no-deps"]).output();
    let output = output.map_err(|error| failed(error.to_string()))?;
    let metadata: Value =
        serde_json::from_slice(&output.stdout).map_err(|error| failed(error.to_string()))?;
    let builds = builds(&metadata);
    for build in &builds {
        let line = format!("cargo {}", build.join(" "));
        eprintln!("== features: {line}");
        let mut lint = cargo(&[]);
        let status = lint.args(build).args(["--", "-D", "warnings"]).status();
        let status = status.map_err(|error| failed(error.to_string()))?;
        if !status.success() {
            return Err(failed(format!("{line}: {status}")));
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    eprintln!("== features: {} builds, in {seconds:.1} s", builds.len());
    Ok(())
}

/// The arguments of cargo for every build.
fn builds(metadata: &Value) -> Vec<Vec<String>> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let libraries = packages.filter(|package| {
        let mut targets = package["targets"].as_array().into_iter().flatten();
        targets.any(|target| {
            target["kind"]
                .as_array()
                .is_some_and(|kinds| is_library(kinds))
        })
    });
    libraries.flat_map(of_package).collect()
}

fn is_library(kinds: &[Value]) -> bool {
    kinds.iter().any(|kind| kind == "lib" || kind == "rlib")
}

fn of_package(package: &Value) -> Vec<Vec<String>> {
    let name = package["name"].as_str().unwrap_or_default();
    let without = [
        "clippy",
        "--package",
        name,
        "--lib",
        "--no-default-features",
    ];
    let without: Vec<String> = without.map(str::to_owned).into();
    let features = package["features"].as_object().into_iter().flatten();
    let features = features.map(|(feature, _)| feature.clone());
    let alone = features
        .filter(|feature| feature != "default")
        .map(|feature| {
            let mut build = without.clone();
            build.extend(["--features".to_owned(), feature]);
            build
        });
    std::iter::once(without.clone()).chain(alone).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_library_is_built_without_features_and_with_each_alone() {
        let metadata = json!({ "packages": [
            { "name": "a", "targets": [{ "kind": ["lib"] }, { "kind": ["test"] }],
              "features": { "default": ["x"], "x": [], "y": ["dep:y"] } },
            { "name": "b", "targets": [{ "kind": ["cdylib", "rlib"] }], "features": {} },
            { "name": "program", "targets": [{ "kind": ["bin"] }], "features": { "z": [] } },
        ]});
        let lines: Vec<String> = builds(&metadata)
            .iter()
            .map(|build| build.join(" "))
            .collect();
        let without = |name| format!("clippy --package {name} --lib --no-default-features");
        assert_eq!(
            lines,
            [
                without("a"),
                without("a") + " --features x",
                without("a") + " --features y",
                without("b"),
            ]
        );
    }
}
