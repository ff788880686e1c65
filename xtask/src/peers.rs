//! Installs the Python peers into their own virtual environment and runs them.

use crate::{Failure, root, target_dir};
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output};

/// One way to do a case in Python.
pub struct Peer {
    pub name: &'static str,
    /// `plain`, what a user writes first, or `expert`, the fastest formulation found.
    pub style: &'static str,
}

const fn peer(name: &'static str, style: &'static str) -> Peer {
    Peer { name, style }
}

/// The peers of a case that all have, in the order of the table.
pub const ALL: &[Peer] = &[
    peer("numpy", "plain"),
    peer("numpy", "expert"),
    peer("jax", "plain"),
    peer("jax", "expert"),
];

/// The peers of a case that only NumPy has.
pub const NUMPY: &[Peer] = &[peer("numpy", "plain"), peer("numpy", "expert")];

/// A virtual environment that holds what `requirements.txt` names.
pub struct Environment {
    python: PathBuf,
}

impl Environment {
    /// Builds the environment, or takes the one at hand if its requirements are the present ones.
    /// The error says why there are no peers on this machine.
    pub fn prepare() -> Result<Self, String> {
        let folder = target_dir().join("bench-venv");
        let python = folder.join(if cfg!(windows) {
            "Scripts/python.exe"
        } else {
            "bin/python"
        });
        let requirements = scripts().join("requirements.txt");
        let wanted = std::fs::read(&requirements)
            .map_err(|error| format!("no requirements.txt: {error}"))?;
        // The copy is written after the install has succeeded, so a broken one is made anew.
        let installed = folder.join("requirements.installed.txt");
        let works = Command::new(&python)
            .arg("--version")
            .output()
            .is_ok_and(|output| output.status.success());
        if works && std::fs::read(&installed).is_ok_and(|had| had == wanted) {
            return Ok(Self { python });
        }
        eprintln!(
            "== peers: installing {}",
            requirements
                .strip_prefix(root())
                .unwrap_or(&requirements)
                .display()
        );
        succeed(
            "python3 -m venv",
            Command::new("python3")
                .args(["-m", "venv", "--clear"])
                .arg(&folder),
        )?;
        let pip = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--requirement",
        ];
        succeed(
            "pip install",
            Command::new(&python).args(pip).arg(&requirements),
        )?;
        std::fs::write(&installed, &wanted)
            .map_err(|error| format!("cannot record the install: {error}"))?;
        Ok(Self { python })
    }

    /// Runs one peer on one case of `bench/peers/TOPIC_PEER.py` and returns its line.
    pub fn run(&self, peer: &Peer, topic: &str, case: &str) -> Result<Value, Failure> {
        let script = format!("{topic}_{}.py", peer.name);
        let what = format!("{script} --style {} --case {case}", peer.style);
        let mut command = Command::new(&self.python);
        command.arg(scripts().join(&script)).args([
            "--style",
            peer.style,
            "--case",
            case,
            "--rounds",
            "9",
            "--seconds",
            "0.1",
        ]);
        let output =
            succeed(&what, command.env("PYTHONDONTWRITEBYTECODE", "1")).map_err(Failure::Failed)?;
        let line = String::from_utf8_lossy(&output.stdout);
        serde_json::from_str(line.trim()).map_err(|error| {
            Failure::Failed(format!(
                "{what} printed {line:?}, not one JSON line: {error}"
            ))
        })
    }
}

fn scripts() -> PathBuf {
    root().join("bench/peers")
}

/// Runs a command to its end; the error carries what it last said.
fn succeed(what: &str, command: &mut Command) -> Result<Output, String> {
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
