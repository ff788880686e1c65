//! Makes virtual environments under `target/` that hold what files of requirements name.

use crate::{root, target_dir};
use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

/// The oldest Python that is of use.
const OLDEST: [u32; 2] = [3, 10];

/// The Python of an environment.
pub struct Venv {
    pub python: PathBuf,
}

impl Venv {
    /// Builds `target/NAME`, or takes the one at hand if its requirements are the present ones. The error
    /// says why there is none on this machine.
    pub fn prepare(name: &str, requirements: &[PathBuf]) -> Result<Venv, String> {
        let folder = target_dir().join(name);
        let python = folder.join(if cfg!(windows) {
            "Scripts/python.exe"
        } else {
            "bin/python"
        });
        let mut wanted = Vec::new();
        for file in requirements {
            let text = fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
            wanted.extend(text);
        }
        // The copy is written after the install has succeeded, so a broken one is made anew.
        let installed = folder.join("requirements.installed.txt");
        let venv = Venv { python };
        let works = Command::new(&venv.python).arg("--version").output();
        let works = works.is_ok_and(|output| output.status.success());
        if works && fs::read(&installed).is_ok_and(|had| had == wanted) {
            return Ok(venv);
        }
        for file in requirements {
            let shown = file.strip_prefix(root()).unwrap_or(file);
            eprintln!("== {name}: installing {}", shown.display());
        }
        let system = std::env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
        check_version(&system)?;
        let mut make = Command::new(&system);
        succeed(
            "python3 -m venv",
            make.args(["-m", "venv", "--clear"]).arg(&folder),
        )?;
        let files = requirements.iter();
        venv.install(files.flat_map(|file| ["--requirement".as_ref(), file.as_os_str()]))?;
        fs::write(&installed, &wanted)
            .map_err(|error| format!("cannot record the install: {error}"))?;
        Ok(venv)
    }

    /// Runs `pip install`.
    pub fn install<'a>(&self, args: impl IntoIterator<Item = &'a OsStr>) -> Result<(), String> {
        let mut pip = Command::new(&self.python);
        pip.args(["-m", "pip", "install", "--quiet"]);
        pip.arg("--disable-pip-version-check").args(args);
        succeed("pip install", &mut pip).map(drop)
    }
}

fn check_version(python: &OsStr) -> Result<(), String> {
    let told = "import sys; print(*sys.version_info[:2])";
    let output = succeed("python3", Command::new(python).args(["-c", told]))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let parts = text.split_whitespace().filter_map(|part| part.parse().ok());
    let version: Vec<u32> = parts.collect();
    if version[..] < OLDEST[..] {
        let (found, [major, minor]) = (text.trim().replace(' ', "."), OLDEST);
        return Err(format!("Python {found} is older than {major}.{minor}"));
    }
    Ok(())
}

/// Runs a command to its end; the error carries what it last said.
pub fn succeed(what: &str, command: &mut Command) -> Result<Output, String> {
    let output = command
        .output()
        .map_err(|error| format!("{what} could not start: {error}"))?;
    if output.status.success() {
        return Ok(output);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said
        .lines()
        .rfind(|line| !line.trim().is_empty())
        .unwrap_or("it said nothing");
    Err(format!("{what} failed ({}): {last}", output.status))
}
