//! Damages what is kept, and runs several processes on it at once: nothing wrong comes out as right.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::study::{small, tables};
use crate::support::{Run, Scratch, report, words};

/// Flips one bit of a file after the other, at so many places spread over it, and hands every state
/// to `look`; the file is whole again afterwards.
fn flip(path: &Path, places: usize, mut look: impl FnMut(usize)) {
    let whole = fs::read(path).unwrap();
    for place in 0..places {
        let byte = place * whole.len() / places;
        let mut damaged = whole.clone();
        damaged[byte] ^= 1 << (place % 8);
        fs::write(path, damaged).unwrap();
        look(byte);
    }
    fs::write(path, whole).unwrap();
}

/// The library's tests flip every byte; here some of them reach the exit code.
#[test]
fn a_flipped_bit_in_records_fails_and_what_is_damaged_is_done_again() {
    let (scratch, records) = small();
    let whole = tables(&scratch, &["small"]);
    let collect = || scratch.run(&["collect", "small", "--out", "table.jsonl"]);
    for path in [records.clone(), scratch.path().join("small/study.json")] {
        flip(&path, 8, |byte| {
            let run = collect();
            assert!(matches!(run.code, Some(1 | 2)), "byte {byte}: {run:?}");
        });
    }
    flip(&records, 3, |byte| {
        let run = scratch.run(&["run", "s.toml"]);
        assert_eq!(run.code, Some(0), "byte {byte}: {}", run.errors);
        let run = collect();
        assert_eq!(run.code, Some(0), "byte {byte}: {}", run.errors);
        assert_eq!(
            fs::read(scratch.path().join("table.jsonl")).unwrap(),
            whole.lines
        );
    });
}

#[test]
fn a_flipped_bit_in_parts_fails_and_what_is_damaged_is_counted_again() {
    let scratch = Scratch::new();
    let enumerate = "enumerate --task parity --lengths 5 --inputs markov:9/10 --out parts";
    let whole = scratch.report(&words(enumerate));
    for name in ["parts/parts.jsonl", "parts/census.json"] {
        flip(&scratch.path().join(name), 6, |byte| {
            let run = scratch.run(&["collect", "parts", "--json"]);
            assert!(matches!(run.code, Some(1 | 2)), "byte {byte}: {run:?}");
        });
    }
    flip(&scratch.path().join("parts/parts.jsonl"), 3, |byte| {
        let run = scratch.run(&[&words(enumerate)[..], &["--json"]].concat());
        assert_eq!(run.code, Some(0), "byte {byte}: {}", run.errors);
        let found: Value = serde_json::from_str(&run.text).unwrap();
        assert_eq!(report(found), whole, "byte {byte}");
    });
}

/// Begins a command.
fn begin(scratch: &Scratch, args: &[&str]) -> Child {
    let mut command = scratch.command(args);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn end(child: Child) -> Run {
    child.wait_with_output().unwrap().into()
}

#[test]
fn collections_at_once_all_succeed() {
    let (scratch, _) = small();
    let whole = tables(&scratch, &["small"]);
    let all: Vec<Child> = (0..4)
        .map(|_| begin(&scratch, &["collect", "small"]))
        .collect();
    for child in all {
        let run = end(child);
        assert_eq!(run.code, Some(0), "{}", run.errors);
    }
    let read = |name: &str| fs::read(scratch.path().join("small").join(name)).unwrap();
    assert_eq!(read("table.jsonl"), whole.lines);
    assert_eq!(read("table.csv"), whole.csv);
    assert_eq!(read("table.parquet"), whole.parquet);
    let names: Vec<PathBuf> = fs::read_dir(scratch.path().join("small"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    // Two files of the study, three tables, nothing unfinished.
    assert_eq!(names.len(), 5, "{names:?}");
}

#[test]
fn of_enumerations_in_one_directory_one_works_and_the_others_say_so() {
    let scratch = Scratch::new();
    let class = "enumerate --task parity --lengths 7 --inputs markov:9/10";
    let whole = scratch.report(&words(class));
    for round in 0..2 {
        let out = format!("parts-{round}");
        let args = [&words(class)[..], &["--out", &out, "--json"]].concat();
        let all: Vec<Child> = (0..3).map(|_| begin(&scratch, &args)).collect();
        let mut finished = 0;
        for child in all {
            let run = end(child);
            match run.code {
                Some(0) => {
                    let found: Value = serde_json::from_str(&run.text).unwrap();
                    assert_eq!(report(found), whole);
                    finished += 1;
                }
                Some(3) => {
                    assert!(run.errors.contains("another foldglass"), "{}", run.errors);
                    assert!(run.errors.contains(&out), "{}", run.errors);
                }
                other => panic!("{other:?}: {}", run.errors),
            }
        }
        assert!(finished >= 1);
        assert_eq!(scratch.report(&["collect", &out]), whole);
    }
}
