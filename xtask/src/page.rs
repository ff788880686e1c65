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
    npm("typescript", VERSION, "lib/tsc.js")
}

/// A file of a package of npm, of one version, which is put under `target/` if it is not there.
pub fn npm(package: &str, version: &str, file: &str) -> Result<PathBuf, String> {
    let folder = target_dir().join(format!("{package}-{version}"));
    let file = folder.join("node_modules").join(package).join(file);
    succeed("node", Command::new("node").arg("--version"))?;
    // Written last, so a broken installation is made anew.
    let whole = folder.join("installed");
    if whole.exists() && file.exists() {
        return Ok(file);
    }
    eprintln!("== npm: installing {package} {version}");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let mut install = Command::new("npm");
    install.args([
        "install",
        "--no-save",
        "--no-audit",
        "--no-fund",
        "--prefix",
    ]);
    install.arg(&folder).arg(format!("{package}@{version}"));
    succeed("npm install", &mut install)?;
    std::fs::write(&whole, "").map_err(|error| error.to_string())?;
    Ok(file)
}
