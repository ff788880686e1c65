//! Looks for what keeps people out of a page, with axe-core, which npm puts under `target/`.
//!
//! Where there is no npm, or nothing can be installed, the test that asks is skipped; in CI it fails.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::chromium::Chromium;
use crate::tools::need;

/// The axe-core that pages are checked with.
const VERSION: &str = "4.14.0";

/// Its script, installed where it is not there.
pub fn script() -> Option<String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("axe-core-{VERSION}"));
    let found = read(&folder).or_else(|| install(&folder));
    need(found, "axe-core (install the package npm)")
}

fn read(folder: &Path) -> Option<String> {
    fs::read_to_string(folder.join("node_modules/axe-core/axe.min.js")).ok()
}

/// Installs it beside its place first: another test may do the same at this moment.
fn install(folder: &Path) -> Option<String> {
    let mut own = folder.to_path_buf().into_os_string();
    own.push(format!("-{}", std::process::id()));
    let own = PathBuf::from(own);
    fs::create_dir_all(&own).ok()?;
    let mut npm = Command::new("npm");
    npm.args([
        "install",
        "--no-save",
        "--no-audit",
        "--no-fund",
        "--prefix",
    ]);
    npm.arg(&own).arg(format!("axe-core@{VERSION}"));
    let installed = npm.output().is_ok_and(|done| done.status.success());
    if !installed || fs::rename(&own, folder).is_err() {
        let _ = fs::remove_dir_all(&own);
    }
    read(folder)
}

/// Fails where axe finds something serious or critical in what the page shows now.
pub fn check(browser: &mut Chromium, script: &str, state: &str) {
    // Without its last value, which is not one that can be handed over.
    browser.evaluate(&format!("{script}\n;0"));
    let found = browser.evaluate(
        "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations \
         .filter(({ impact }) => impact === 'serious' || impact === 'critical') \
         .map(({ id, impact, nodes }) => [id, impact, nodes.slice(0, 4).map(({ target }) => target.join(' '))]))",
    );
    assert_eq!(found, Value::Array(Vec::new()), "{state}");
}
