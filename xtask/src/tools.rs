//! Decides what happens where a tool is missing: in CI that is a failure, elsewhere what needs it is skipped and listed.
//!
//! Tests of several crates include this file by its path, so that all of them follow one rule.
#![allow(dead_code, reason = "each of those who include it uses a part")]

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The variable that `.ci/run` sets: nothing may be skipped.
pub const CI: &str = "FOLDGLASS_CI";

/// The variable with the file that lists what was skipped. `cargo xtask test` prints it at its end, because
/// the output of a test that passes is not shown.
pub const SKIPPED: &str = "FOLDGLASS_SKIPPED";

/// Hands a test the tool that it found. Where none was found the test is to return, having said that it is
/// skipped; in CI it fails here. `lacking` names the tool and the package that contains it.
pub fn need<T>(found: Option<T>, lacking: &str) -> Option<T> {
    if found.is_none() {
        let test = std::thread::current();
        let list = std::env::var_os(SKIPPED).map(PathBuf::from);
        let skipped = skip(test.name().unwrap_or("a test"), lacking, list.as_deref());
        skipped.unwrap_or_else(|failure| panic!("{failure}"));
    }
    found
}

/// Whether a program can be run.
pub fn runs(program: &str, flag: &str) -> bool {
    let output = Command::new(program).arg(flag).output();
    output.is_ok_and(|output| output.status.success())
}

/// Prints that something is skipped and adds it to the list; in CI the error says what is missing.
pub fn skip(what: &str, lacking: &str, list: Option<&Path>) -> Result<(), String> {
    let line = format!("{what}: no {lacking}");
    if std::env::var_os(CI).is_some() {
        return Err(format!("{line}; with {CI} set nothing is skipped"));
    }
    eprintln!("skipped: {line}");
    let Some(list) = list else { return Ok(()) };
    let added = File::options().create(true).append(true).open(list);
    // One write a line: many tests add to it at once.
    added
        .and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()))
        .map_err(|error| format!("{}: {error}", list.display()))
}

/// Runs a test of this binary where no program is found: in CI it must fail and name the tool, elsewhere it must
/// be listed as skipped.
pub fn assert_needed(test: &str, tool: &str) {
    let id = std::process::id();
    let empty = std::env::temp_dir().join(format!("foldglass-without-{tool}-{id}"));
    std::fs::create_dir_all(&empty).unwrap();
    let list = empty.join("skipped");
    let without_tools = |ci: Option<&str>| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", test, "--nocapture"]);
        command.env("PATH", &empty).env("TMPDIR", &empty);
        command.env(SKIPPED, &list).env_remove(CI);
        command.envs(ci.map(|value| (CI, value)));
        command.output().unwrap()
    };
    let (in_ci, elsewhere) = (without_tools(Some("1")), without_tools(None));
    let listed = std::fs::read_to_string(&list).unwrap_or_default();
    let _ = std::fs::remove_dir_all(&empty);
    let name = format!("{test}: no {tool}");
    let said = String::from_utf8_lossy(&in_ci.stderr);
    assert!(
        !in_ci.status.success(),
        "{test} passes in CI without {tool}"
    );
    assert!(said.contains(&name), "{said}");
    assert!(elsewhere.status.success(), "{elsewhere:?}");
    assert!(
        listed.starts_with(&name) && listed.lines().count() == 1,
        "{listed:?}"
    );
}
