//! Runs the checks of the workspace in order, in one of three tiers, and stops at the first that fails.
//!
//! The first tier needs Rust and, where there is a Python, two packages. The second is what CI runs. The third needs
//! gigabytes or many minutes. A tier ends with the list of what it leaves to the next.

use crate::passed::Programs;
use crate::steps::{
    BOOK_PAGES, CARGO_TEST, COVERAGE, CRATES, DOC_TESTS, DOCUMENTATION, FORMAT, LEFT_TO_FULL,
    LICENCES, LINTS, MINUTES, NEXTEST, SCHEMAS, SECOND_BROWSER, SITE_PAGES, STATIC_PAGE, Step, has,
    step,
};
use crate::{
    Failure, attack, book, explorer, features, page, publish, python, site, skipped_list, wheel,
    workflows,
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
            "tests that take minutes, licences by cargo-deny, the explorer in Firefox, the site, workflows by zizmor and actionlint, coverage by cargo-llvm-cov, the crates, sdist and wheel as published, the package as \
             pip builds it, Python tests with PyTorch and TRL",
        );
        match self {
            Tier::First => &[FULL, ALL],
            Tier::Full => &[ALL],
            Tier::All => &[],
        }
    }
}

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
    let programs = build()?;
    // The first tier runs what a change has reached, the others run everything.
    let reached = programs.as_ref().filter(|_| tier == Tier::First);
    // It waits for others' processes much of its time, as some tests and attacks do.
    let python = std::thread::spawn(|| python::as_built(python.join().expect("it does not panic")));
    if let Err(failure) = tests(tier, reached) {
        let _ = python.join();
        return Err(failure);
    }
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
        MINUTES.run()?;
        LICENCES.run_with("cargo-deny")?;
        workflows::run()?;
        COVERAGE.run_with("cargo-llvm-cov")?;
        site::run(None)?;
        SITE_PAGES.run()?;
        crates()?;
        wheel::run()?;
        python::run(packages, &[])?;
    }
    if let Some(programs) = programs {
        programs.passed()?;
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

/// Builds the tests of all crates, and says which are as they passed: that needs nextest, which nothing requires.
fn build() -> Result<Option<Programs>, Failure> {
    if has("nextest") {
        return Programs::built(NEXTEST);
    }
    let args = [CARGO_TEST, &["--no-run"]].concat();
    step("test programs", &args).run().map(|()| None)
}

/// The tests of all crates, or of those that a change has reached.
fn tests(tier: Tier, reached: Option<&Programs>) -> Result<(), Failure> {
    let runner = if has("nextest") { NEXTEST } else { CARGO_TEST };
    let changed = reached.and_then(|programs| Some((programs.line(), programs.changed()?)));
    let mut args = runner.to_vec();
    if let Some((line, changed)) = &changed {
        eprintln!("== {line}");
        args.extend(["-E", changed]);
    }
    if tier == Tier::First {
        args.extend(LEFT_TO_FULL);
    }
    step("tests", &args).run()
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
}
