//! Reports which lines of the library its tests run.
//!
//! The tests are built once more into a directory of their own, the library and they themselves instrumented but
//! nothing they depend on: this program stands between cargo and the compiler and adds the flag (an instrumented
//! proptest or ChaCha takes longer than all else). `llvm-profdata` and `llvm-cov` of the compiler's own LLVM read
//! what they wrote; where those are not installed it is said, and nothing is done.

use crate::{Failure, cargo, root, target_dir};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Mutex;

/// Files of the library that are listed: those with the most lines that no test runs.
const LISTED: usize = 12;

/// Set where this program is to stand before the compiler.
const INSTRUMENTS: &str = "FOLDGLASS_XTASK_INSTRUMENTS";

/// Runs the compiler, instrumenting, where this program was started in its place.
pub fn instrumented_compiler() -> Option<ExitCode> {
    std::env::var_os(INSTRUMENTS)?;
    let mut args = std::env::args_os().skip(1);
    let mut compiler = Command::new(args.next()?);
    let status = compiler
        .args(args)
        .args(["-C", "instrument-coverage"])
        .status();
    let is_good = status.is_ok_and(|status| status.success());
    Some(if is_good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Runs `cargo xtask coverage`.
pub fn run() -> Result<(), Failure> {
    let failed = |why: String| Failure::Failed(format!("coverage: {why}"));
    let tools = match Tools::find() {
        Ok(tools) => tools,
        Err(why) => {
            eprintln!("== coverage: SKIPPED: {why}");
            return Ok(());
        }
    };
    let place = target_dir().join("coverage");
    let profiles = place.join("profiles");
    let _ = fs::remove_dir_all(&profiles);
    let programs = build(&place).map_err(failed)?;
    run_all(&programs, &profiles).map_err(failed)?;
    let files = tools.lines(&programs, &profiles, &place).map_err(failed)?;
    print(files);
    Ok(())
}

/// The lines of a file that tests could run, and those they did.
#[derive(Debug, PartialEq)]
struct File {
    name: String,
    lines: u64,
    run: u64,
}

struct Tools {
    profdata: String,
    cov: String,
}

impl Tools {
    /// Those that read what the compiler's LLVM writes.
    fn find() -> Result<Tools, String> {
        let output = Command::new("rustc").arg("-vV").output();
        let output = output.map_err(|error| format!("rustc: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let version = text.lines().find_map(|l| l.strip_prefix("LLVM version: "));
        let major = version.and_then(|version| version.split('.').next());
        let major = major.ok_or("rustc does not say which LLVM it has")?;
        let works = |name: &str| {
            let said = Command::new(name).arg("--version").output().ok()?;
            let said = String::from_utf8_lossy(&said.stdout).into_owned();
            said.contains(&format!("version {major}.")).then_some(())
        };
        let find = |name: &str| {
            let names = [format!("{name}-{major}"), name.to_owned()];
            let found = names.into_iter().find(|name| works(name).is_some());
            found.ok_or(format!(
                "there is no {name} of LLVM {major} (Debian's package llvm-{major} has it)"
            ))
        };
        Ok(Tools {
            profdata: find("llvm-profdata")?,
            cov: find("llvm-cov")?,
        })
    }

    /// What the tests ran of every file of the library.
    fn lines(
        &self,
        programs: &[PathBuf],
        profiles: &Path,
        place: &Path,
    ) -> Result<Vec<File>, String> {
        let merged = place.join("merged.profdata");
        let written = fs::read_dir(profiles).map_err(|error| error.to_string())?;
        let raw = written.flatten().map(|entry| entry.path());
        let mut merge = Command::new(&self.profdata);
        merge.args(["merge", "-sparse", "-o"]).arg(&merged);
        output(merge.args(raw))?;
        let mut export = Command::new(&self.cov);
        export.args(["export", "-summary-only", "-instr-profile"]);
        export.arg(&merged);
        let (first, others) = programs.split_first().ok_or("no tests were built")?;
        export.arg(first);
        for program in others {
            export.arg("-object").arg(program);
        }
        let text = output(&mut export)?;
        let report: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        Ok(files(&report))
    }
}

/// The files of a report of `llvm-cov export`.
fn files(report: &Value) -> Vec<File> {
    let listed = report["data"][0]["files"].as_array();
    let file = |file: &Value| {
        let name = file["filename"].as_str()?;
        let (_, name) = name.rsplit_once("foldglass/src/")?;
        let lines = &file["summary"]["lines"];
        Some(File {
            name: name.to_owned(),
            lines: lines["count"].as_u64()?,
            run: lines["covered"].as_u64()?,
        })
    };
    listed.into_iter().flatten().filter_map(file).collect()
}

/// Builds the tests of the library, instrumented.
fn build(place: &Path) -> Result<Vec<PathBuf>, String> {
    eprintln!("== coverage: building the tests of foldglass, instrumented");
    let mut build = cargo(&["test", "--package", "foldglass", "--lib", "--tests"]);
    build.args(["--no-run", "--message-format=json-render-diagnostics"]);
    build.env("CARGO_TARGET_DIR", place);
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    build
        .env("RUSTC_WORKSPACE_WRAPPER", this)
        .env(INSTRUMENTS, "1");
    build.env("LLVM_PROFILE_FILE", place.join("build.profraw"));
    let messages = output(&mut build)?;
    let messages = messages
        .lines()
        .filter_map(|l| serde_json::from_str(l).ok());
    let program = |message: Value| message["executable"].as_str().map(PathBuf::from);
    Ok(messages.filter_map(program).collect())
}

/// Runs the tests, as many programs at once as there are processors, each on one thread: two threads would
/// fight for the lines of the cache that their counters lie in.
fn run_all(programs: &[PathBuf], profiles: &Path) -> Result<(), String> {
    eprintln!("== coverage: running {} programs of tests", programs.len());
    let left = Mutex::new(programs.iter());
    let next = || left.lock().expect("no thread panics with it").next();
    let work = || {
        while let Some(program) = next() {
            run_one(program, profiles)?;
        }
        Ok(())
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let mut ends = workers
            .into_iter()
            .map(|worker| worker.join().expect("no panic"));
        ends.find(Result::is_err).unwrap_or(Ok(()))
    })
}

fn run_one(program: &Path, profiles: &Path) -> Result<(), String> {
    let mut test = Command::new(program);
    test.current_dir(root().join("foldglass"))
        .args(["--quiet", "--test-threads=1"]);
    test.env("RAYON_NUM_THREADS", "1");
    // One a process, and as many more as tests start.
    test.env("LLVM_PROFILE_FILE", profiles.join("%m-%p.profraw"));
    output(&mut test).map(drop)
}

/// What a command prints, if it succeeds.
fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output();
    let output = output.map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let status = output.status;
    Err(format!("{command:?}: {status} {}", said.trim()))
}

fn print(mut files: Vec<File>) {
    let share = |run: u64, lines: u64| 100.0 * run as f64 / lines.max(1) as f64;
    let all: u64 = files.iter().map(|file| file.lines).sum();
    let run: u64 = files.iter().map(|file| file.run).sum();
    files.sort_by_key(|file| std::cmp::Reverse(file.lines - file.run));
    for File { name, lines, run } in files.iter().take(LISTED) {
        let (missed, share) = (lines - run, share(*run, *lines));
        eprintln!("   {share:5.1} %  {missed:4} of {lines:4} lines not run  {name}");
    }
    let (count, share) = (files.len(), share(run, all));
    eprintln!("== coverage: {share:.1} % of {all} lines of the library, in {count} files");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_library_are_found_in_a_report() {
        let report = serde_json::json!({"data": [{"files": [
            {"filename": "a/foldglass/src/chain/cells.rs", "summary": {"lines": {"count": 10, "covered": 7}}},
            {"filename": "a/elsewhere/src/lib.rs", "summary": {"lines": {"count": 1, "covered": 1}}},
        ]}]});
        let cells = File {
            name: "chain/cells.rs".to_owned(),
            lines: 10,
            run: 7,
        };
        assert_eq!(files(&report), [cells]);
    }
}
