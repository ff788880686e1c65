//! Crates that will be compiled for other places than a computer with a terminal stay free of what those lack.

use std::path::Path;
use std::process::Command;

/// The crates that a member needs without its features, as `cargo tree` lists them.
fn needed(member: &str) -> Vec<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["tree", "--offline", "--locked", "--no-default-features"])
        .args(["--edges", "normal", "--prefix", "none", "--package", member])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")))
        .output()
        .expect("cargo runs");
    let problem = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{problem}");
    let text = String::from_utf8(output.stdout).expect("names of crates");
    let name = |line: &str| line.split(' ').next().map(str::to_owned);
    text.lines().filter_map(name).collect()
}

#[test]
fn the_explorers_questions_need_no_network_no_terminal_no_flags_and_no_transformer() {
    let needed = needed("foldglass-explore");
    let has = |name: &str| needed.iter().any(|other| other == name);
    // What it has to need: else the list would be of something else.
    assert!(has("foldglass-study") && has("serde_json"), "{needed:?}");
    let others = [
        "hyper",
        "tokio",
        "getrandom",
        "ctrlc",
        "indicatif",
        "terminal_size",
        "clap",
        "parquet",
        "foldglass-nn",
        "foldglass-cli",
    ];
    let found: Vec<&str> = others.into_iter().filter(|name| has(name)).collect();
    assert!(found.is_empty(), "foldglass-explore needs {found:?}");
}
