//! Runs every check of the workspace in order and stops at the first that fails.

use crate::{Failure, api, attack, book, cargo, licences, page, python};
use std::time::{Duration, Instant};

struct Step {
    name: &'static str,
    args: &'static [&'static str],
    env: &'static [(&'static str, &'static str)],
}

const fn step(name: &'static str, args: &'static [&'static str]) -> Step {
    Step {
        name,
        args,
        env: &[],
    }
}

const FORMAT: Step = step("format", &["fmt", "--all", "--", "--check"]);
const LINTS: Step = step(
    "lints",
    &[
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ],
);
const NEXTEST: Step = step("tests", &["nextest", "run", "--workspace"]);
const CARGO_TEST: Step = step(
    "tests",
    &["test", "--workspace", "--lib", "--bins", "--tests"],
);
const DOC_TESTS: Step = step("doc tests", &["test", "--workspace", "--doc"]);
const DOCUMENTATION: Step = Step {
    name: "documentation",
    args: &["doc", "--workspace", "--no-deps"],
    env: &[("RUSTDOCFLAGS", "-D warnings")],
};

/// After so long attacks are shorter, and the book is left to `cargo xtask book`.
const PATIENCE: Duration = Duration::from_secs(15 * 60);

/// Runs `cargo xtask test`.
pub fn run() -> Result<(), Failure> {
    let start = Instant::now();
    let python = python::prepare();
    let tests = if has_nextest() { NEXTEST } else { CARGO_TEST };
    FORMAT.run()?;
    licences::run()?;
    for step in [LINTS, tests] {
        step.run()?;
    }
    // It waits for others' processes most of its time, as attacks do.
    let python =
        std::thread::spawn(|| python::after_tests(python.join().expect("it does not panic")));
    let mut options = attack::Options::default().after_tests();
    if start.elapsed() > PATIENCE {
        options = options.in_haste();
    }
    eprintln!("== attacks: {}", options.line());
    attack::run(&options)?;
    for step in [DOC_TESTS, DOCUMENTATION] {
        step.run()?;
    }
    api::compare(false)?;
    page::run()?;
    python.join().expect("it does not panic")?;
    // The one step that needs a tool compiled: on a slow machine it would be what goes beyond CI's limit.
    if start.elapsed() < PATIENCE {
        book::run()?;
    } else {
        let minutes = start.elapsed().as_secs() / 60;
        eprintln!("== book: LEFT OUT: {minutes} minutes have passed; `cargo xtask book` builds it");
    }
    eprintln!("== all passed in {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// nextest is used where it is present; nothing requires it.
fn has_nextest() -> bool {
    cargo(&["nextest", "--version"])
        .output()
        .is_ok_and(|output| output.status.success())
}

impl Step {
    fn run(&self) -> Result<(), Failure> {
        let line = self.line();
        eprintln!("== {}: {line}", self.name);
        let start = Instant::now();
        let status = cargo(self.args)
            .envs(self.env.iter().copied())
            .status()
            .map_err(|error| {
                Failure::Failed(format!("{} could not start ({line}): {error}", self.name))
            })?;
        let seconds = start.elapsed().as_secs_f64();
        if !status.success() {
            return Err(Failure::Failed(format!(
                "{} FAILED after {seconds:.1} s ({line}): {status}",
                self.name
            )));
        }
        eprintln!("== {} passed in {seconds:.1} s", self.name);
        Ok(())
    }

    /// The step as one would type it.
    fn line(&self) -> String {
        let env = self
            .env
            .iter()
            .map(|(name, value)| format!("{name}=\"{value}\" "));
        format!("{}cargo {}", env.collect::<String>(), self.args.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_reads_as_one_would_type_it() {
        assert_eq!(FORMAT.line(), "cargo fmt --all -- --check");
        assert_eq!(
            DOCUMENTATION.line(),
            "RUSTDOCFLAGS=\"-D warnings\" cargo doc --workspace --no-deps"
        );
    }
}
