//! Lints every library that has features without its default ones, and with each feature alone.
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

/// The arguments of cargo for every build. A crate without features has nothing that could be left out.
fn builds(metadata: &Value) -> Vec<Vec<String>> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    packages.flat_map(of_package).collect()
}

fn of_package(package: &Value) -> Vec<Vec<String>> {
    let features = package["features"].as_object().into_iter().flatten();
    let features: Vec<&String> = features.map(|(feature, _)| feature).collect();
    if features.is_empty() {
        return Vec::new();
    }
    let name = package["name"].as_str().unwrap_or_default();
    let line = format!("clippy --package {name} --lib --no-default-features");
    let alone = features.into_iter().filter(|feature| *feature != "default");
    let alone = alone.map(|feature| format!("{line} --features {feature}"));
    let lines = std::iter::once(line.clone()).chain(alone);
    lines
        .map(|line| line.split(' ').map(str::to_owned).collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_crate_with_features_is_built_without_them_and_with_each_alone() {
        let metadata = json!({ "packages": [
            { "name": "a", "features": { "default": ["x"], "x": [], "y": ["dep:y"] } },
            { "name": "b", "features": {} },
            { "name": "c", "features": { "z": [] } },
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
                without("c"),
                without("c") + " --features z",
            ]
        );
    }
}
