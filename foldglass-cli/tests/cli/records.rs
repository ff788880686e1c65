//! Holds the records of studies to what a record is: whole, of this study and version, written by one.

use std::fs;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::study::{ENDLESS, SMALL, STUDY, fails, small, spawn, states, tables, wait};
use crate::support::{Run, Scratch, seal};

#[test]
fn a_half_written_line_is_dropped_and_its_run_done_again() {
    let (scratch, records) = small();
    let before = tables(&scratch, &["small"]);
    let whole = fs::read(&records).unwrap();
    let start = whole[..whole.len() - 1]
        .iter()
        .rposition(|&b| b == b'\n')
        .unwrap()
        + 1;
    for end in [start + 1, (start + whole.len()) / 2, whole.len() - 1] {
        fs::write(&records, &whole[..end]).unwrap();
        let run = scratch.run(&["run", "s.toml"]);
        assert_eq!(run.code, Some(0), "{}", run.errors);
        assert!(run.errors.contains("half-written"), "{}", run.errors);
        assert!(
            run.text.contains("5 runs") && run.text.contains("1 done now"),
            "{}",
            run.text
        );
        assert_eq!(tables(&scratch, &["small"]), before);
    }
    // A damaged line further up, as a failing disk may leave it.
    let mut damaged = fs::read(&records).unwrap();
    damaged[2] = 0;
    fs::write(&records, damaged).unwrap();
    let run = scratch.run(&["run", "s.toml"]);
    assert!(
        run.code == Some(0) && run.errors.contains("1 damaged line"),
        "{}",
        run.errors
    );
    let run = scratch.run(&["collect", "small", "--out", "table"]);
    assert_eq!(run.code, Some(0), "{}", run.errors);
    assert_eq!(
        fs::read(scratch.path().join("table.jsonl")).unwrap(),
        before.lines
    );
}

#[test]
fn a_record_of_another_study_or_version_is_refused() {
    let (scratch, records) = small();
    let whole = fs::read_to_string(&records).unwrap();
    for (old, new, said) in [
        (
            "\"foldglass\":\"",
            "\"foldglass\":\"0.0.",
            "made by foldglass 0.0.",
        ),
        ("\"schema\":2", "\"schema\":7", "form 7"),
        (
            "\"study\":\"small\"",
            "\"study\":\"large\"",
            "of the study \"large\"",
        ),
        (
            "\"recipe\":\"",
            "\"recipe\":\"0",
            "another class, method or seed",
        ),
        ("\"id\":\"p/", "\"id\":\"r/", "no run r/"),
        ("\"run\":0", "\"run\":1", "says that its run is 1"),
    ] {
        let (first, others) = whole.split_once('\n').unwrap();
        let other = first.replacen(old, new, 1);
        assert_ne!(first, other);
        let foreign = format!("{}\n{others}", seal(&other));
        fs::write(&records, &foreign).unwrap();
        let said = ["records.jsonl line 1", said];
        fails(&scratch.run(&["run", "s.toml"]), 2, &said);
        fails(&scratch.run(&["collect", "small"]), 2, &said);
        assert_eq!(fs::read_to_string(&records).unwrap(), foreign);
    }
    fs::write(&records, &whole).unwrap();
    scratch.file(
        "s.toml",
        &SMALL.replace("iterations = 20", "iterations = 21"),
    );
    fails(
        &scratch.run(&["run", "s.toml"]),
        2,
        &["another class, method or seed"],
    );
    // The same words, but another seed.
    scratch.file("s.toml", SMALL);
    fails(
        &scratch.run(&["run", "s.toml", "--seed", "1"]),
        2,
        &["another class"],
    );
    // A seed that the study contradicts.
    scratch.file("s.toml", STUDY);
    fails(
        &scratch.run(&["run", "s.toml", "--seed", "1"]),
        2,
        &["states seed = 3", "asked for is 1"],
    );
}

#[test]
fn a_study_that_has_grown_keeps_its_finished_runs() {
    let (scratch, _) = small();
    let grown = SMALL
        .replace("runs = 3", "runs = 12")
        .replace("tau = [0]", "tau = [1e-3, 0]");
    scratch.file("s.toml", &grown);
    let run = scratch.json(&["run", "s.toml"]);
    assert_eq!(
        (&run["runs"], &run["done_before"], &run["done_now"]),
        (&16.into(), &5.into(), &11.into())
    );
    scratch.run(&["run", "s.toml", "--out", "afresh"]).success();
    assert_eq!(tables(&scratch, &["small"]), tables(&scratch, &["afresh"]));
}

#[test]
fn a_directory_that_cannot_be_written_is_a_failure() {
    let scratch = Scratch::new();
    scratch.file("s.toml", SMALL);
    scratch.file("small", "in the way");
    fails(&scratch.run(&["run", "s.toml"]), 1, &["cannot write small"]);
    fails(
        &scratch.run(&["run", "s.toml", "--out", "small/deeper"]),
        1,
        &["small/deeper"],
    );
    assert_eq!(
        fs::read_to_string(scratch.path().join("small")).unwrap(),
        "in the way"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_said_and_loses_no_finished_run() {
    let scratch = Scratch::new();
    scratch.file("s.toml", &SMALL.replace("runs = 2", "runs = 40"));
    // A file of more than 8 KiB cannot be written, as if the disk were full.
    let line = "trap '' XFSZ; ulimit -f 16; exec \"$0\" run s.toml --threads 1";
    let limited = |scratch: &Scratch| -> Run {
        let mut command = Command::new("sh");
        command
            .args(["-c", line, env!("CARGO_BIN_EXE_foldglass")])
            .current_dir(scratch.path());
        command.output().unwrap().into()
    };
    fails(
        &limited(&scratch),
        1,
        &["cannot write small/records.jsonl", "safe"],
    );
    let records = scratch.path().join("small/records.jsonl");
    let kept = fs::read_to_string(&records).unwrap();
    assert!(kept.ends_with('\n') && kept.lines().count() >= 3, "{kept}");
    fails(&limited(&scratch), 1, &["cannot write small/records.jsonl"]);
    assert!(fs::read_to_string(&records).unwrap().starts_with(&kept));
    scratch.run(&["run", "s.toml"]).success();
    assert!(fs::read_to_string(&records).unwrap().starts_with(&kept));
    scratch.run(&["collect", "small"]).success();
}

#[test]
fn missing_runs_are_named_and_differing_records_refused() {
    let (scratch, records) = small();
    let whole = fs::read_to_string(&records).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    fs::write(&records, format!("{}\n", lines[1..].join("\n"))).unwrap();
    let missing = serde_json::from_str::<Value>(lines[0]).unwrap()["id"].clone();
    let missing = missing.as_str().unwrap();
    fails(
        &scratch.run(&["collect", "small"]),
        1,
        &["1 of 5 runs", missing, "--partial"],
    );
    assert!(!scratch.path().join("small/table.jsonl").exists());
    let part = scratch.json(&["collect", "small", "--partial", "--out", "part.jsonl"]);
    assert_eq!(
        (&part["runs"], &part["missing"], &part["missing_ids"]),
        (&4.into(), &"1".into(), &json!([missing]))
    );
    assert!(
        scratch.path().join("part.jsonl").exists() && !scratch.path().join("part.parquet").exists()
    );
    // Twice the same is once.
    fs::write(&records, format!("{whole}{}\n", lines[2])).unwrap();
    let table = tables(&scratch, &["small", "small"]).lines;
    assert_eq!(table.split(|&b| b == b'\n').count(), 6);
    let other = lines[2].replace("\"result\":{", "\"result\":{\"a\":0,");
    assert_ne!(other, lines[2]);
    fs::write(&records, format!("{whole}{}\n", seal(&other))).unwrap();
    fails(
        &scratch.run(&["collect", "small"]),
        1,
        &["differ", "records.jsonl"],
    );
}

/// Ten seconds of waiting.
mod full {
    use super::*;

    #[test]
    fn two_processes_do_not_write_the_same_records() {
        let scratch = Scratch::new();
        scratch.file("s.toml", ENDLESS);
        let mut first = spawn(&scratch, &["run", "s.toml", "--checkpoint-every", "1000"]);
        wait("the first process", || {
            scratch.path().join("endless/study.json").exists()
        });
        let begun = Instant::now();
        let mut second = spawn(&scratch, &["run", "s.toml"]);
        while begun.elapsed() < Duration::from_secs(40) && second.try_wait().unwrap().is_none() {
            sleep(Duration::from_millis(5));
        }
        assert!(begun.elapsed() >= Duration::from_secs(10));
        second.kill().unwrap();
        let second = Run::from(second.wait_with_output().unwrap());
        // After a second it prints what it waits for, at the end that it gave up.
        let (waiting, gave_up) = second.errors.split_once('\n').unwrap();
        assert!(
            waiting.contains("waiting for another foldglass")
                && waiting.contains("endless/records"),
            "{waiting}"
        );
        let last = Run {
            errors: gave_up.to_owned(),
            ..second
        };
        fails(&last, 3, &["another foldglass", "endless/records.jsonl"]);
        // What a killed process held is free again, also for one that has begun before.
        let third = ["run", "s.toml", "--checkpoint-every", "0.01", "--quiet"];
        let mut third = spawn(&scratch, &third);
        sleep(Duration::from_millis(1500));
        assert!(states(&scratch, "endless").is_empty());
        first.kill().unwrap();
        first.wait().unwrap();
        wait("a checkpoint", || !states(&scratch, "endless").is_empty());
        third.kill().unwrap();
        third.wait().unwrap();
    }
}
