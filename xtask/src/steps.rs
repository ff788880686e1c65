//! Holds the steps of `cargo xtask test`: calls of cargo with their names.

use crate::{Failure, cargo, skip, skipped_list, tools};
use std::time::Instant;

/// One call of cargo.
pub struct Step<'a> {
    pub name: &'a str,
    pub args: &'a [&'a str],
    pub env: &'a [(&'a str, &'a str)],
}

/// A call without variables.
pub const fn step<'a>(name: &'a str, args: &'a [&'a str]) -> Step<'a> {
    Step {
        name,
        args,
        env: &[],
    }
}

pub const FORMAT: Step<'static> = step("format", &["fmt", "--all", "--", "--check"]);
pub const LINTS: Step<'static> = step(
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
/// Examples are not built: the lints compile them.
pub const NEXTEST: &[&str] = &[
    "nextest",
    "run",
    "--workspace",
    "--lib",
    "--bins",
    "--tests",
];
pub const CARGO_TEST: &[&str] = &["test", "--workspace", "--lib", "--bins", "--tests"];
/// Tests that need a large tool or a compiler of C++: those in modules of these names are left to `--full`.
pub const LEFT_TO_FULL: &[&str] = &["--", "--skip", "full::", "--skip", "emulator::"];
pub const DOC_TESTS: Step<'static> = step("doc tests", &["test", "--workspace", "--doc"]);
pub const DOCUMENTATION: Step<'static> = Step {
    name: "documentation",
    args: &["doc", "--workspace", "--no-deps"],
    env: &[("RUSTDOCFLAGS", "-D warnings")],
};
/// Needs the book as built, so no other step of tests runs it.
pub const BOOK_PAGES: Step<'static> = step(
    "the book in a browser",
    &[
        "test",
        "--workspace",
        "--test",
        "cli",
        "book_page",
        "--",
        "--ignored",
    ],
);

/// Needs the static explorer as built.
pub const STATIC_PAGE: Step<'static> = step(
    "the static explorer in Node and a browser",
    &[
        "test",
        "--workspace",
        "--test",
        "cli",
        "static_page",
        "--",
        "--ignored",
    ],
);

/// The same page in another browser.
pub const SECOND_BROWSER: Step<'static> = step(
    "the static explorer in Firefox",
    &[
        "test",
        "--workspace",
        "--test",
        "cli",
        "second_browser",
        "--",
        "--ignored",
    ],
);

/// Those in modules of this name.
pub const MINUTES: Step<'static> = step(
    "tests that take minutes",
    &[
        "test",
        "--workspace",
        "--lib",
        "--tests",
        "minutes::",
        "--",
        "--ignored",
    ],
);

/// The test that compares the schemas writes them where it is asked to.
pub const SCHEMAS: Step<'static> = Step {
    name: "schemas",
    args: &[
        "test",
        "--workspace",
        "--test",
        "cli",
        "the_committed_schemas",
    ],
    env: &[("FOLDGLASS_WRITE_SCHEMAS", "1")],
};

/// Needs the site as built.
pub const SITE_PAGES: Step<'static> = step(
    "the site in a browser, from its folder",
    &[
        "test",
        "--workspace",
        "--test",
        "cli",
        "site_page",
        "--",
        "--ignored",
    ],
);

pub const LICENCES: Step<'static> = step(
    "licences",
    &["deny", "check", "licenses", "sources", "bans"],
);
/// Builds each crate as a registry would hand it out. Nothing is uploaded. What is not committed yet is tested too.
pub const CRATES: &[&str] = &["publish", "--workspace", "--dry-run", "--allow-dirty"];
/// Of the library alone: to instrument the others would double the time and say little.
pub const COVERAGE: Step<'static> = step(
    "coverage",
    &[
        "llvm-cov",
        "test",
        "--package",
        "foldglass",
        "--lib",
        "--tests",
        "--summary-only",
        "--fail-under-lines",
        "97",
    ],
);

/// Whether cargo has this command.
pub fn has(command: &str) -> bool {
    cargo(&[command, "--version"])
        .output()
        .is_ok_and(|output| output.status.success())
}

impl Step<'_> {
    pub fn run(&self) -> Result<(), Failure> {
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

    /// The same with a tool that may be missing.
    pub fn run_with(&self, tool: &str) -> Result<(), Failure> {
        if has(self.args[0]) {
            return self.run();
        }
        skip(
            self.name,
            &format!("{tool} (cargo install --locked {tool})"),
        )
    }

    /// The step as one would type it.
    pub fn line(&self) -> String {
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
