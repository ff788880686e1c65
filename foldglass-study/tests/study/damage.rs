//! Flips every bit position of every file of a study and of a census: nothing wrong comes out as right.

use std::fs;
use std::path::{Path, PathBuf};

use foldglass::model::class::{Class, Shape};
use foldglass::model::inputs::InputLaw;
use foldglass::model::operation::Operation;
use foldglass::model::task::Task;
use foldglass::support::exact::{Reward, parse};
use foldglass::{Context, Unwatched};
use foldglass_study::census::{self, CensusOptions, CensusPlan, Counted};
use foldglass_study::{Options, Registry, Study, execute, gather};

const STUDY: &str = r#"
name = "small"
[[class]]
id = "p"
task = "parity"
lengths = [4]
[[dynamics]]
kind = "cavi"
tau = [1e-10]
runs = 3
iterations = 20
[[dynamics]]
kind = "chain"
kernel = "heat-bath"
tau = [0]
runs = 2
sweeps = 20
"#;

fn directory(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("foldglass-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    path
}

/// Flips one bit of each byte of a file and requires that a reader notices; the file is whole again afterwards.
fn flip(path: &Path, notices: impl Fn() -> bool) {
    let whole = fs::read(path).unwrap();
    assert!(!notices(), "{} is whole", path.display());
    for byte in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[byte] ^= 1 << (byte % 8);
        fs::write(path, damaged).unwrap();
        assert!(notices(), "byte {byte} of {}", path.display());
    }
    fs::write(path, whole).unwrap();
}

#[test]
fn a_flipped_bit_in_records_gives_no_other_table() {
    let out = directory("damaged-records");
    let mut options = Options::new(out.clone());
    options.threads = 1;
    let study = Study::parse(STUDY, 0).unwrap();
    execute(&study, &Registry::default(), &options, &Unwatched).unwrap();
    for file in ["records.jsonl", "study.json"] {
        flip(&out.join(file), || {
            gather(std::slice::from_ref(&out)).map_or(true, |found| found.missing > 0)
        });
    }
    fs::remove_dir_all(out).unwrap();
}

#[test]
fn a_flipped_bit_in_parts_gives_no_other_count() {
    let out = directory("damaged-parts");
    let inputs = InputLaw::Markov(parse("9/10").unwrap());
    let task = Task::new(Operation::named("parity").unwrap(), &inputs, &[4]).unwrap();
    let class = Class::new(task, Shape::untied(0, 0)).unwrap();
    let mut options = CensusOptions::default();
    options.out = Some(out.clone());
    options.threads = 1;
    let plan = CensusPlan::new(&class, &Reward::ZERO, &options).unwrap();
    let Ok(Counted::Whole(..)) = census::count(plan, &options, &Unwatched) else {
        panic!("it counts all codes");
    };
    for file in ["parts.jsonl", "census.json"] {
        flip(&out.join(file), || {
            let found = census::collect(std::slice::from_ref(&out), Context::default());
            found.is_err()
        });
    }
    fs::remove_dir_all(out).unwrap();
}
