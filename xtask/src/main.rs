//! Runs what developers and CI run: `cargo xtask test`, `python`, `architecture`, `book`, `claims`, `errata`, `process`, `sampled`, `reference`, `bench`, `attack`, `page`, `explorer`, `site`, `links`, `features`, `copies`, `schemas`, `wheel`, `workflows`.

mod architecture;
mod attack;
mod bench;
mod book;
mod claims;
mod copies;
mod explorer;
mod features;
mod links;
mod machine;
mod page;
mod passed;
mod peers;
mod publish;
mod python;
mod section;
mod site;
mod steps;
mod table;
mod test;
mod tools;
mod venv;
mod wasm;
mod wheel;
mod workflows;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const USAGE: &str = "\
usage: cargo xtask <command>

  test                           format, lints, tests, doc tests, the Python tests that need no large package; stops at
                                 the first failure; what is skipped because a tool is missing is listed at the end, and
                                 a failure where FOLDGLASS_CI is set; test programs that no change has reached since
                                 they passed are not run again, and named
  test --full                    what CI runs: also each feature alone, attacks, documentation, the book, the explorer's
                                 page and WebAssembly, CUDA kernels on the processor, a browser, Slurm, Ray, notebooks
  test --all                     also tests that take minutes, licences (cargo-deny), workflows (zizmor, actionlint), coverage (cargo-llvm-cov), the crates as published (a dry run),
                                 the static explorer in Firefox, sdist and wheel as published, the package as pip builds it, PyTorch and TRL
  python [PYTEST ARGUMENT ..]    installs the Python package into target/python with pip and runs its tests
  wheel                          builds the sdist, the wheel from it, and tests the wheel where there is no Rust
  workflows                      checks .github/workflows with zizmor and actionlint
  bench [--rounds N] [--write]   times the library beside its NumPy and JAX peers (default 5 rounds);
                                 --write puts the tables into BENCHMARKS.md
  attack [--seconds N] [--seed N] [--kills N] [--files N] [--bits N] [--flags N] [--signals N]
         [--case KIND:N] [--program FILE]
                                 kills the built program, or FILE, damages its files, flips their bits,
                                 gives it extreme flags and signals, for 40 seconds or as many of each
                                 as said; --case repeats one
  book                           builds docs/ with mdBook into target/book
  page                           checks the types of the explorer's page with TypeScript
  explorer                       builds the explorer as a static page into target/explorer: WebAssembly in place of a
                                 server; scripts are joined by esbuild, which npm puts under target/
  site [DIR]                     builds target/site for any static host: landing page, explorer, book, references, the report
                                 of the reproduction in DIR; checks all links
  links DIR                      checks the links of all HTML pages below a folder
  features                       lints each library that has features without them, and with each alone
  claims DIR [--program FILE]    writes results/claims.json and docs/claims.md from a reproduction at the default scale
  architecture                   writes the tables of modules in docs/architecture.md
  schemas                        writes docs/schemas: the JSON Schema of each command's --json and of each file format
  copies                         writes the copies of licences, records and errata that lie in the crates
  errata [--long]                writes results/errata.json and docs/errata.md: the numbers of docs/templates/errata.md from
                                 commands, records and results/claims.json; --long also runs commands that take minutes again
  reference                      writes docs/reference.md: the help of every command
  sampled DIR [--program FILE]   writes results/sampled.json and the tables of docs/sampled.md from a reproduction of ext:sampled
                                 and ext:objectives at the default scale
  process                        writes the tables of docs/process.md from `reproduce ext:process`; two minutes of processor
                                 time";

/// Why a command did not succeed; decides the exit code.
#[derive(Debug, PartialEq)]
enum Failure {
    /// The command line was wrong: exit code 2.
    Usage(String),
    /// A step or a check failed: exit code 1.
    Failed(String),
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match args.split_first().map(|(name, rest)| (name.as_str(), rest)) {
        Some(("test", rest)) => test::Tier::parse(rest).and_then(test::run),
        Some(("bench", rest)) => {
            bench::BenchOptions::parse(rest).and_then(|options| bench::run(&options))
        }
        Some(("attack", rest)) => {
            attack::AttackOptions::parse(rest).and_then(|options| attack::run(&options))
        }
        Some(("python", rest)) => python::run(python::Packages::Full, rest),
        Some(("architecture", [])) => architecture::run(),
        Some(("book", [])) => book::run(),
        Some(("page", [])) => page::run(),
        Some(("explorer", [])) => explorer::run().map(drop),
        Some(("site", [])) => site::run(None),
        Some(("site", [directory])) => site::run(Some(directory)),
        Some(("links", [folder])) => links::check(Path::new(folder))
            .map(|found| println!("{} pages, {} links", found.pages, found.links))
            .map_err(Failure::Failed),
        Some(("features", [])) => features::run(),
        Some(("errata", rest)) => claims::errata(rest).and_then(|()| copies::run()),
        Some(("process", [])) => claims::process(),
        Some(("sampled", rest)) => claims::sampled(rest),
        Some(("reference", [])) => claims::reference(),
        Some(("copies", [])) => copies::run(),
        Some(("schemas", [])) => test::write_schemas(),
        Some(("wheel", [])) => wheel::run(),
        Some(("workflows", [])) => workflows::run(),
        Some((
            name @ ("architecture" | "book" | "copies" | "explorer" | "features" | "page"
            | "process" | "reference" | "schemas" | "wheel" | "workflows"),
            [extra, ..],
        )) => Err(Failure::Usage(format!(
            "{name} takes no argument, got {extra:?}"
        ))),
        Some(("claims", rest)) => claims::run(rest),
        Some(("help" | "--help" | "-h", _)) => {
            println!("{USAGE}");
            Ok(())
        }
        Some((other, _)) => Err(Failure::Usage(format!("unknown command {other:?}"))),
        None => Err(Failure::Usage("no command".into())),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Usage(message)) => {
            eprintln!("xtask: {message}\n\n{USAGE}");
            ExitCode::from(2)
        }
        Err(Failure::Failed(message)) => {
            eprintln!("xtask: {message}");
            ExitCode::from(1)
        }
    }
}

/// The workspace's root.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask lies in the workspace's root")
}

/// Where build products go.
fn target_dir() -> PathBuf {
    root().join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// Where a call of `cargo xtask test` lists what it skipped.
fn skipped_list() -> PathBuf {
    target_dir().join("skipped.txt")
}

/// Leaves a step out because a tool is missing; in CI that is a failure.
fn skip(step: &str, lacking: &str) -> Result<(), Failure> {
    tools::skip(step, lacking, Some(&skipped_list())).map_err(Failure::Failed)
}

/// The cargo that runs this program, in the workspace's root.
fn cargo(args: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(root());
    command
}
