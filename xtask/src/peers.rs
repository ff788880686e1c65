//! Runs the Python peers in a virtual environment of their own.

use crate::venv::{Venv, succeed};
use crate::{Failure, root};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

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

/// The peers of a case that only JAX has, in one style.
pub const JAX: &[Peer] = &[peer("jax", "plain")];

/// The environment of the peers.
pub struct PeerEnvironment(Venv);

impl PeerEnvironment {
    /// Builds the environment, or takes the one at hand. The error says why there are no peers on this
    /// machine.
    pub fn prepare() -> Result<Self, String> {
        Venv::prepare("bench-venv", &[scripts().join("requirements.txt")]).map(PeerEnvironment)
    }

    /// Runs one peer on one case of `bench/peers/TOPIC_PEER.py` and returns its line.
    pub fn run(&self, peer: &Peer, topic: &str, case: &str) -> Result<Value, Failure> {
        let script = format!("{topic}_{}.py", peer.name);
        let what = format!("{script} --style {} --case {case}", peer.style);
        let mut command = Command::new(&self.0.python);
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
