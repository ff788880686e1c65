//! Runs the checks of the workspace in order, in one of three tiers, and stops at the first that fails.
//!
//! The first tier needs Rust and, where there is a Python, two packages. The second is what CI runs. The third needs
//! gigabytes or many minutes. A tier ends with the list of what it leaves to the next.

use crate::{
    Failure, attack, book, cargo, explorer, features, page, publish, python, site, skip,
    skipped_list, tools, wheel, workflows,
};
use std::fs;
use std::time::{Duration, Instant};

/// How much is run; each tier contains the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// `cargo xtask test`: what a contributor runs.
    First,
    /// `cargo xtask test --full`: what `.ci/run` runs.
    Full,
    /// `cargo xtask test --all`: also what needs gigabytes or many minutes.
    All,
}

impl Tier {
    /// Reads what follows `cargo xtask test`.
    pub fn parse(args: &[String]) -> Result<Tier, Failure> {
        match args {
            [] => Ok(Tier::First),
            [flag] if flag == "--full" => Ok(Tier::Full),
            [flag] if flag == "--all" => Ok(Tier::All),
            _ => Err(Failure::Usage(format!(
                "test takes --full or --all, got {:?}",
                args.join(" ")
            ))),
        }
    }

    /// What this tier does not run, and the tier that does.
    fn left(self) -> &'static [(&'static str, &'static str)] {
        const FULL: (&str, &str) = (
            "--full",
            "each feature alone, attacks, documentation, the book, the types of the explorer's page, the explorer in WebAssembly, CUDA kernels on \
             the processor, tests with a browser, Slurm, Ray, JAX, data frames, figures, notebooks and mypy",
        );
        const ALL: (&str, &str) = (
            "--all",
            "licences by cargo-deny, the explorer in Firefox, the site, workflows by zizmor and actionlint, coverage by cargo-llvm-cov, the crates, sdist and wheel as published, the package as \
             pip builds it, Python tests with PyTorch and TRL",
        );
        match self {
            Tier::First => &[FULL, ALL],
            Tier::Full => &[ALL],
            Tier::All => &[],
        }
    }
}

struct Step<'a> {
    name: &'a str,
    args: &'a [&'a str],
    env: &'a [(&'a str, &'a str)],
}

const fn step<'a>(name: &'a str, args: &'a [&'a str]) -> Step<'a> {
    Step {
        name,
        args,
        env: &[],
    }
}

const FORMAT: Step<'static> = step("format", &["fmt", "--all", "--", "--check"]);
const LINTS: Step<'static> = step(
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
const NEXTEST: &[&str] = &[
    "nextest",
    "run",
    "--workspace",
    "--lib",
    "--bins",
    "--tests",
];
const CARGO_TEST: &[&str] = &["test", "--workspace", "--lib", "--bins", "--tests"];
/// Tests that need a large tool or a compiler of C++: those in modules of these names are left to `--full`.
const LEFT_TO_FULL: &[&str] = &["--", "--skip", "full::", "--skip", "emulator::"];
const DOC_TESTS: Step<'static> = step("doc tests", &["test", "--workspace", "--doc"]);
const DOCUMENTATION: Step<'static> = Step {
    name: "documentation",
    args: &["doc", "--workspace", "--no-deps"],
    env: &[("RUSTDOCFLAGS", "-D warnings")],
};
/// Needs the book as built, so no other step of tests runs it.
const BOOK_PAGES: Step<'static> = step(
    "the book in a browser",
    &[
        "test",
        "--package",
        "foldglass-cli",
        "--test",
        "cli",
        "book_page",
        "--",
        "--ignored",
    ],
);

/// Needs the static explorer as built.
const STATIC_PAGE: Step<'static> = step(
    "the static explorer in Node and a browser",
    &[
        "test",
        "--package",
        "foldglass-cli",
        "--test",
        "cli",
        "static_page",
        "--",
        "--ignored",
    ],
);

/// The same page in another browser.
const SECOND_BROWSER: Step<'static> = step(
    "the static explorer in Firefox",
    &[
        "test",
        "--package",
        "foldglass-cli",
        "--test",
        "cli",
        "second_browser",
        "--",
        "--ignored",
    ],
);

/// It takes minutes.
const OBJECTIVES: Step<'static> = step(
    "ascents near traps",
    &[
        "test",
        "--package",
        "foldglass-cli",
        "--test",
        "cli",
        "the_committed_numbers_of_objectives",
        "--",
        "--ignored",
    ],
);

/// The test that compares the schemas writes them where it is asked to.
const SCHEMAS: Step<'static> = Step {
    name: "schemas",
    args: &[
        "test",
        "--package",
        "foldglass-cli",
        "--test",
        "cli",
        "the_committed_schemas",
    ],
    env: &[("FOLDGLASS_WRITE_SCHEMAS", "1")],
};

/// Needs the site as built.
const SITE_PAGES: Step<'static> = step(
    "the site in a browser, from its folder",
    &[
        "test",
        "--package",
        "foldglass-cli",
        "--test",
        "cli",
        "site_page",
        "--",
        "--ignored",
    ],
);

const LICENCES: Step<'static> = step(
    "licences",
    &["deny", "check", "licenses", "sources", "bans"],
);
/// Builds each crate as a registry would hand it out. Nothing is uploaded. What is not committed yet is tested too.
const CRATES: &[&str] = &["publish", "--workspace", "--dry-run", "--allow-dirty"];
/// Of the library alone: to instrument the others would double the time and say little.
const COVERAGE: Step<'static> = step(
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

/// After so long attacks are shorter: CI's limit is 90 minutes.
const PATIENCE: Duration = Duration::from_secs(45 * 60);

/// Runs `cargo xtask test`.
pub fn run(tier: Tier) -> Result<(), Failure> {
    let start = Instant::now();
    let _ = fs::remove_file(skipped_list());
    let packages = match tier {
        Tier::First => python::Packages::Few,
        Tier::Full => python::Packages::Full,
        Tier::All => python::Packages::Large,
    };
    let python = python::prepare(packages);
    FORMAT.run()?;
    LINTS.run()?;
    tests(tier)?;
    // It waits for others' processes most of its time, as attacks do.
    let python =
        std::thread::spawn(|| python::after_tests(python.join().expect("it does not panic")));
    if tier >= Tier::Full {
        let mut options = attack::AttackOptions::default().after_tests();
        if start.elapsed() > PATIENCE {
            options = options.in_haste();
        }
        eprintln!("== attacks: {}", options.line());
        attack::run(&options)?;
    }
    DOC_TESTS.run()?;
    if tier >= Tier::Full {
        DOCUMENTATION.run()?;
        features::run()?;
        page::run()?;
        if explorer::run()?.is_some() {
            STATIC_PAGE.run()?;
            if tier == Tier::All {
                SECOND_BROWSER.run()?;
            }
        }
    }
    python.join().expect("it does not panic")?;
    if tier >= Tier::Full {
        book::run()?;
        BOOK_PAGES.run()?;
    }
    if tier == Tier::All {
        OBJECTIVES.run()?;
        LICENCES.run_with("cargo-deny")?;
        workflows::run()?;
        COVERAGE.run_with("cargo-llvm-cov")?;
        site::run(None)?;
        SITE_PAGES.run()?;
        crates()?;
        wheel::run()?;
        python::run(packages, &[])?;
    }
    let skipped = fs::read_to_string(skipped_list()).unwrap_or_default();
    eprint!(
        "{}",
        conclusion(start.elapsed().as_secs_f64(), &skipped, tier)
    );
    Ok(())
}

/// Runs `cargo xtask schemas`.
pub fn write_schemas() -> Result<(), Failure> {
    SCHEMAS.run()
}

/// The tests of all crates: with nextest where it is present, which nothing requires.
fn tests(tier: Tier) -> Result<(), Failure> {
    let runner = if has("nextest") { NEXTEST } else { CARGO_TEST };
    let filter = match tier {
        Tier::First => LEFT_TO_FULL,
        Tier::Full | Tier::All => &[],
    };
    let args = [runner, filter].concat();
    Step {
        name: "tests",
        args: &args,
        env: &[],
    }
    .run()
}

/// The dry run of publishing, in folders of its own.
fn crates() -> Result<(), Failure> {
    let folders = publish::Folders::fresh().map_err(Failure::Failed)?;
    Step {
        name: "crates as published",
        args: CRATES,
        env: &[
            ("CARGO_HOME", &folders.home),
            ("CARGO_TARGET_DIR", &folders.target),
        ],
    }
    .run()
}

/// The last lines: what was skipped, because the output of a test that passes is hidden, and what was not run.
fn conclusion(seconds: f64, skipped: &str, tier: Tier) -> String {
    let mut text = match skipped.lines().count() {
        0 => format!("== all passed in {seconds:.1} s\n"),
        n => format!("== passed in {seconds:.1} s, but {n} SKIPPED for want of a tool:\n"),
    };
    text.extend(skipped.lines().map(|line| format!("==   {line}\n")));
    for (flag, left) in tier.left() {
        text += &format!("== left to `cargo xtask test {flag}`: {left}\n");
    }
    text
}

/// Whether cargo has this command.
fn has(command: &str) -> bool {
    cargo(&[command, "--version"])
        .output()
        .is_ok_and(|output| output.status.success())
}

impl Step<'_> {
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

    /// The same with a tool that may be missing.
    fn run_with(&self, tool: &str) -> Result<(), Failure> {
        if has(self.args[0]) {
            return self.run();
        }
        skip(
            self.name,
            &format!("{tool} (cargo install --locked {tool})"),
        )
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
        assert!(asked.ends_with("xtask test --full\n"), "{asked}");
    }

    #[test]
    fn what_was_skipped_and_what_is_left_to_the_next_tier_is_listed_at_the_end() {
        assert_eq!(conclusion(2.0, "", Tier::All), "== all passed in 2.0 s\n");
        let skipped = "a_test: no chromium\nanother: no c++\n";
        assert_eq!(
            conclusion(2.0, skipped, Tier::All),
            "== passed in 2.0 s, but 2 SKIPPED for want of a tool:\n==   a_test: no chromium\n==   another: no c++\n"
        );
        for (tier, flags) in [
            (Tier::First, &["--full", "--all"][..]),
            (Tier::Full, &["--all"]),
        ] {
            let said = conclusion(2.0, "", tier);
            assert_eq!(said.lines().count(), 1 + flags.len(), "{said}");
            for (line, flag) in said.lines().skip(1).zip(flags) {
                let left = format!("== left to `cargo xtask test {flag}`: ");
                assert!(line.starts_with(&left), "{line}");
            }
        }
    }

    #[test]
    fn a_tier_is_named_by_its_flag() {
        let parse = |args: &[&str]| {
            let args: Vec<String> = args.iter().map(ToString::to_string).collect();
            Tier::parse(&args)
        };
        assert_eq!(parse(&[]), Ok(Tier::First));
        assert_eq!(parse(&["--full"]), Ok(Tier::Full));
        assert_eq!(parse(&["--all"]), Ok(Tier::All));
        for wrong in [&["--most"][..], &["--full", "--all"]] {
            assert!(matches!(parse(wrong), Err(Failure::Usage(_))), "{wrong:?}");
        }
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
