//! Runs every check of the workspace in order and stops at the first that fails.

use crate::{Failure, attack, book, cargo, features, licences, page, python, skipped_list, tools};
use std::fs;
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

/// After so long attacks are shorter, and the book is left to `cargo xtask book`: CI's limit is 90 minutes.
const PATIENCE: Duration = Duration::from_secs(45 * 60);

/// Runs `cargo xtask test`.
pub fn run() -> Result<(), Failure> {
    let start = Instant::now();
    let _ = fs::remove_file(skipped_list());
    let python = python::prepare();
    let tests = if has_nextest() { NEXTEST } else { CARGO_TEST };
    FORMAT.run()?;
    licences::run()?;
    LINTS.run()?;
    features::run()?;
    tests.run()?;
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
    page::run()?;
    python.join().expect("it does not panic")?;
    // The one step that needs a tool compiled: on a slow machine it would be what goes beyond CI's limit.
    if start.elapsed() < PATIENCE {
        book::run()?;
    } else {
        let minutes = start.elapsed().as_secs() / 60;
        eprintln!("== book: LEFT OUT: {minutes} minutes have passed; `cargo xtask book` builds it");
    }
    let skipped = fs::read_to_string(skipped_list()).unwrap_or_default();
    eprint!("{}", conclusion(start.elapsed().as_secs_f64(), &skipped));
    Ok(())
}

/// The last words: the output of a test that passes is hidden, so what was skipped is listed here.
fn conclusion(seconds: f64, skipped: &str) -> String {
    let lines: String = skipped
        .lines()
        .map(|line| format!("==   {line}\n"))
        .collect();
    match skipped.lines().count() {
        0 => format!("== all passed in {seconds:.1} s\n"),
        n => format!("== passed in {seconds:.1} s, but {n} SKIPPED for want of a tool:\n{lines}"),
    }
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
            .env(tools::SKIPPED, skipped_list())
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

    /// `.ci/run` where nothing is installed, `apt-get` is the given script and `cargo` writes down what it is asked.
    #[cfg(unix)]
    fn ci_with(name: &str, apt_get: &str) -> (Option<i32>, String, String) {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let name = format!("foldglass-ci-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        let script = |name: &str, text: &str| {
            let file = folder.join(name);
            fs::write(&file, format!("#!/bin/sh\n{text}\n")).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        };
        script("apt-get", apt_get);
        script("cargo", "echo \"$@\" >> \"$ASKED\"");
        let paths = std::env::var_os("PATH").unwrap();
        for tool in ["bash", "dirname"] {
            let mut places = std::env::split_paths(&paths).map(|place| place.join(tool));
            let found = places.find(|file| file.exists()).unwrap();
            symlink(found, folder.join(tool)).unwrap();
        }
        let asked = folder.join("asked");
        let output = std::process::Command::new(folder.join("bash"))
            .arg(crate::root().join(".ci/run"))
            .env("PATH", &folder)
            .env("ASKED", &asked)
            .output()
            .unwrap();
        let asked = fs::read_to_string(asked).unwrap_or_default();
        fs::remove_dir_all(&folder).unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), asked, errors)
    }

    #[cfg(unix)]
    #[test]
    fn ci_fails_where_a_package_cannot_be_installed() {
        let (code, asked, errors) = ci_with("lacking", "echo no such package >&2; exit 100");
        assert_eq!(code, Some(1), "{errors}");
        let said = "chromium is missing and could not be installed (apt-get install chromium): no such package";
        assert!(errors.contains(said), "{errors}");
        assert!(!asked.contains("xtask"), "{asked}");
        let (code, asked, errors) = ci_with("whole", "exit 0");
        assert_eq!((code, &errors[..]), (Some(0), ""));
        assert!(asked.ends_with("xtask test\n"), "{asked}");
    }

    #[test]
    fn what_was_skipped_is_listed_at_the_end() {
        assert_eq!(conclusion(2.0, ""), "== all passed in 2.0 s\n");
        let said = conclusion(2.0, "a_test: no chromium\nanother: no c++\n");
        assert_eq!(
            said,
            "== passed in 2.0 s, but 2 SKIPPED for want of a tool:\n==   a_test: no chromium\n==   another: no c++\n"
        );
    }

    #[test]
    fn a_step_reads_as_one_would_type_it() {
        assert_eq!(FORMAT.line(), "cargo fmt --all -- --check");
        assert_eq!(
            DOCUMENTATION.line(),
            "RUSTDOCFLAGS=\"-D warnings\" cargo doc --workspace --no-deps"
        );
    }
}
