//! Holds the extension that Python loads: that it is built, and has what Python looks for.
//!
//! `cargo xtask test` takes it from where this test finds it; what it does is tested from Python.

use std::fs;
use std::path::PathBuf;

/// Where cargo puts the extension: beside the tests.
fn extension() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    let directory = test.parent().expect("target/PROFILE/deps/test");
    let (before, after) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    directory.join(format!("{before}_native{after}"))
}

#[test]
fn the_extension_has_the_function_that_python_calls() {
    let path = extension();
    let content = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let name = b"PyInit__native";
    assert!(content.windows(name.len()).any(|part| part == name));
}
