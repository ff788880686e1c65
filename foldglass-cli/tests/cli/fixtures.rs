//! Reads the files that 0.1.0 wrote, in `tests/fixtures/0.1.0`. They stay as they are: a later version that cannot read
//! them breaks its promise.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::schemas::Schemas;
use crate::support::{Scratch, words};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/0.1.0")
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        match path.is_dir() {
            true => copy(&path, &to),
            false => drop(fs::copy(&path, &to).unwrap()),
        }
    }
}

/// What a command says of a fixture: its words, a place in its JSON, the value there.
fn known() -> Vec<(&'static str, &'static str, Value)> {
    let product = "eval --task z:2 --lengths 2 --inputs product:inputs.json --code plain.json";
    let network = "read-back --task parity --lengths 2 --backend cpu --weights network.safetensors";
    vec![
        ("task --task table.json", "/column_group_order", json!("2")),
        (product, "/reward_exact", json!("1/2")),
        ("eval --code code.json", "/reward_exact", json!("1/1")),
        ("eval --code codes.json#0", "/reward_exact", json!("9/10")),
        (
            "eval --policy policies.jsonl#1",
            "/reward",
            json!(0.500_034_894_600_8),
        ),
        (
            "check verdict.json",
            "/checked/0/verdicts/0/verdict",
            json!("certified"),
        ),
        ("rerun output.json", "/same", json!(true)),
        ("check path.json", "/checked/0/start_exact", json!("5/8")),
        ("run study.toml --dry-run", "/runs", json!(5)),
        ("collect study", "/runs", json!(5)),
        ("summary study", "/points/0/mean", json!(4.0 / 9.0)),
        (
            "certify --code study/records.jsonl",
            "/verdicts/0/reward_exact",
            json!("2/9"),
        ),
        ("collect census", "/local_maxima", json!("648")),
        (
            "reproduce tab:trapsexist --from reproduction",
            "/items/0/rows/2/ours",
            json!(648.0),
        ),
        (network, "/reward_exact", json!("1/2")),
    ]
}

/// Files with their formats.
const FILES: [(&str, &str); 16] = [
    ("task", "table.json"),
    ("inputs", "inputs.json"),
    ("code", "code.json"),
    ("codes", "codes.json"),
    ("policy", "policies.jsonl"),
    ("verdict", "verdict.json"),
    ("path", "path.json"),
    ("study-manifest", "study/study.json"),
    ("record", "study/records.jsonl"),
    ("table-line", "table.jsonl"),
    ("census-manifest", "census/census.json"),
    ("census-line", "census/parts.jsonl"),
    ("reproduction", "reproduction/reproduce.json"),
    (
        "reproduction-census",
        "reproduction/censuses/parity-T4-k9-10-tolerance0-1.json",
    ),
    ("reproduction-verdicts", "reproduction/verdicts.json"),
    ("reproduction-times", "reproduction/times.json"),
];

#[test]
fn files_of_0_1_0_are_read_and_say_what_they_said() {
    let scratch = Scratch::new();
    copy(&fixtures(), scratch.path());
    let mut wrong = String::new();
    for (line, place, value) in known() {
        let said = scratch.json(&words(line));
        let found = said.pointer(place);
        let near = match (found.and_then(Value::as_f64), value.as_f64()) {
            (Some(found), Some(value)) => (found - value).abs() < 1e-12,
            _ => found == Some(&value),
        };
        if !near {
            wrong += &format!("{line}: {place} is {:?}, not {value}\n", found);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn files_of_0_1_0_fit_the_schemas_of_this_version() {
    let schemas = Schemas::new();
    let wrong = FILES.map(|(format, file)| schemas.check_file(format, &fixtures().join(file)));
    assert!(wrong.concat().is_empty(), "{}", wrong.concat());
}
