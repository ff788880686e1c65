//! Holds what several tests need: a real browser, driven without a window.
#![allow(dead_code, reason = "each test uses a part")]

pub mod chromium;
#[path = "../../../xtask/src/tools.rs"]
pub mod tools;

use std::fs;
use std::path::PathBuf;

/// A directory that vanishes with the test.
pub struct Scratch(pub PathBuf);

impl Scratch {
    /// An empty one.
    pub fn new(name: &str) -> Scratch {
        let name = format!("foldglass-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
