//! Checks the types in the comments of the explorer's page with TypeScript, which npm puts under `target/`.
//!
//! Where there is no npm, or nothing can be installed, the check is skipped and it is said why; with
//! `FOLDGLASS_CI` set that is a failure.

use crate::venv::succeed;
use crate::{Failure, root, skip, target_dir};
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

/// The TypeScript that the page is checked with; it runs on any Node since 14.17.
const VERSION: &str = "5.9.3";

/// Runs `cargo xtask page`.
pub fn run() -> Result<(), Failure> {
    let start = Instant::now();
    let failed = |why: String| Failure::Failed(format!("page: {why}"));
    let compiler = match compiler() {
        Ok(compiler) => compiler,
        Err(why) => return skip("page", &format!("TypeScript: {why}")),
    };
    eprintln!("== page: tsc -p foldglass-explore/src/page");
    let mut check = Command::new("node");
    check.arg(compiler).args(["--pretty", "false", "-p"]);
    let status = check
        .arg(root().join("foldglass-explore/src/page"))
        .status();
    match status.map_err(|error| failed(error.to_string()))? {
        status if status.success() => {}
        status => return Err(failed(format!("the types do not hold: {status}"))),
    }
    eprintln!("== page passed in {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// The compiler's script, installed if it is not the one wanted.
fn compiler() -> Result<PathBuf, String> {
    let folder = target_dir().join(format!("typescript-{VERSION}"));
    let script = folder.join("node_modules/typescript/lib/tsc.js");
    let runs = || succeed("tsc", Command::new("node").arg(&script).arg("--version"));
    if script.exists() && runs().is_ok() {
        return Ok(script);
    }
    eprintln!("== page: installing TypeScript {VERSION}");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let mut install = Command::new("npm");
    install.args([
        "install",
        "--no-save",
        "--no-audit",
        "--no-fund",
        "--prefix",
    ]);
    install.arg(&folder).arg(format!("typescript@{VERSION}"));
    succeed("npm install", &mut install)?;
    runs().map(|_| script.clone())
}
