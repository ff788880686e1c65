//! Builds the book of `docs/` with mdBook, which is installed into `target/` where it is not there.

use crate::{Failure, cargo, root, skip, target_dir};
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

/// The mdBook that the book is for.
const VERSION: &str = "0.5";

/// Runs `cargo xtask book`.
pub fn run() -> Result<(), Failure> {
    let failed = |why: String| Failure::Failed(format!("book: {why}"));
    let start = Instant::now();
    let mdbook = match mdbook() {
        Ok(mdbook) => mdbook,
        Err(why) => return skip("book", &format!("mdBook: {why}")),
    };
    eprintln!("== book: mdbook build docs");
    let out = target_dir().join("book");
    let mut build = Command::new(mdbook);
    build.arg("build").arg(root().join("docs"));
    let output = build.arg("--dest-dir").arg(&out).output();
    let output = output.map_err(|error| failed(error.to_string()))?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    // What it cannot find it only warns of.
    if !output.status.success() || said.contains("WARN") || said.contains("ERROR") {
        return Err(failed(said));
    }
    let (place, seconds) = (out.display(), start.elapsed().as_secs_f64());
    eprintln!("== book: {place}/index.html, in {seconds:.1} s");
    Ok(())
}

/// The program, of this machine or installed without what only a server needs.
fn mdbook() -> Result<PathBuf, String> {
    let tools = target_dir().join("tools");
    for program in [PathBuf::from("mdbook"), tools.join("bin/mdbook")] {
        let said = Command::new(&program).arg("--version").output();
        let wanted = format!("mdbook v{VERSION}.");
        if said.is_ok_and(|said| String::from_utf8_lossy(&said.stdout).starts_with(&wanted)) {
            return Ok(program);
        }
    }
    eprintln!("== book: installing mdBook {VERSION}");
    let mut install = cargo(&["install", "mdbook", "--version", &format!("^{VERSION}")]);
    install.args(["--locked", "--no-default-features", "--quiet", "--root"]);
    // A directory of its own keeps its libraries apart, and a release build would take twice as long.
    install.arg(&tools).arg("--debug");
    install.env("CARGO_TARGET_DIR", tools.join("build"));
    install.env("CARGO_PROFILE_DEV_DEBUG", "0");
    let output = install.output();
    let output = output.map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    Ok(tools.join("bin/mdbook"))
}
