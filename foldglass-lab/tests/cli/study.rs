//! Interrupts `run` in every way and holds what `collect` makes of it to an undisturbed run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::Value;

use crate::support::{Run, Scratch};

/// Every kind of dynamics, on classes whose runs go together and on ones whose do not.
const STUDY: &str = r#"
name = "trial"
seed = 3

[[class]]
id = "z5"
task = "z:5"
lengths = [8]

[[class]]
id = "wide"
task = "z:3"
lengths = [4, 5]
window = [1, 1]

[[class]]
id = "tied"
task = "z:3"
lengths = [5]
tied = true
inputs = "markov:9/10"

[[dynamics]]
id = "rlvr"
kind = "cavi"
classes = ["z5", "wide"]
tau = [1e-10]
runs = 10
iterations = 2000
quench = { iterations = 50, tau = 1e-13 }
resets = { share = 0.02, every = 10, cycles = 20 }

[[dynamics]]
id = "mc"
kind = "chain"
kernel = "metropolis"
tau = [1e-13, 2e-3]
runs = 3
sweeps = 3000
checkpoints = [10, 3000]
stop_when_stationary = 2000

[[dynamics]]
id = "pg"
kind = "gradient"
classes = ["tied"]
step = 5
tau = [1e-3]
runs = 3
iterations = 1000
"#;

const RUNS: usize = 41;

/// A study of a moment.
const SMALL: &str = r#"
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

/// Without an end in sight.
const ENDLESS: &str = r#"
name = "endless"
[[class]]
task = "z:5"
lengths = [8]
[[dynamics]]
kind = "cavi"
tau = [1e-10]
runs = 1
iterations = 1000000000
"#;

/// The two tables of directories.
type Tables = (Vec<u8>, Vec<u8>);

fn tables(scratch: &Scratch, directories: &[&str]) -> Tables {
    scratch
        .run(&[&["collect", "--out", "table"], directories].concat())
        .success();
    let read = |name: &str| fs::read(scratch.path().join(name)).unwrap();
    (read("table.jsonl"), read("table.parquet"))
}

/// Those of an undisturbed run on one thread.
fn undisturbed() -> &'static Tables {
    static TABLES: OnceLock<Tables> = OnceLock::new();
    TABLES.get_or_init(|| {
        let scratch = Scratch::new();
        scratch.file("s.toml", STUDY);
        scratch.run(&["run", "s.toml", "--threads", "1"]).success();
        assert_eq!(scratch.files(), ["s.toml", "trial"]);
        let files = fs::read_dir(scratch.path().join("trial")).unwrap();
        assert_eq!(files.count(), 2, "no checkpoint is left");
        tables(&scratch, &["trial"])
    })
}

fn assert_undisturbed(tables: &Tables) {
    let (lines, parquet) = undisturbed();
    assert_eq!(tables.0.split(|&b| b == b'\n').count(), RUNS + 1);
    assert!(tables.0 == *lines, "the lines differ");
    assert!(tables.1 == *parquet, "the Parquet differs");
}

fn spawn(scratch: &Scratch, args: &[&str]) -> Child {
    let mut command = scratch.command(args);
    command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[cfg(unix)]
fn send(signal: &str, child: &Child) {
    let id = child.id().to_string();
    // It may have ended by an earlier one.
    let _ = Command::new("kill").args([signal, &id]).status();
}

/// Waits until something holds.
fn wait(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "{what} never came"
        );
        sleep(Duration::from_millis(5));
    }
}

fn states(scratch: &Scratch, out: &str) -> Vec<PathBuf> {
    let files = fs::read_dir(scratch.path().join(out).join("checkpoints"));
    let paths = files
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.extension().is_some_and(|end| end == "state"))
        .collect()
}

/// When a unit was saved last.
fn newest(scratch: &Scratch) -> Option<SystemTime> {
    let saved = |path: &PathBuf| fs::metadata(path).and_then(|data| data.modified()).ok();
    states(scratch, "trial").iter().filter_map(saved).max()
}

#[test]
fn a_study_killed_at_any_moment_ends_as_if_undisturbed() {
    let scratch = Scratch::new();
    scratch.file("s.toml", STUDY);
    let args = [
        "run",
        "s.toml",
        "--threads",
        "2",
        "--checkpoint-every",
        "0.02",
    ];
    let mut random = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .subsec_nanos();
    let (mut kills, mut saved) = (0, 0);
    loop {
        let mut child = spawn(&scratch, &args);
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let mut ended = || child.try_wait().unwrap().is_some();
        if kills < 3 {
            let before = newest(&scratch);
            wait("a checkpoint", || newest(&scratch) > before || ended());
        }
        // Longer each time, for machines that take their time to begin.
        let patience = Duration::from_millis(u64::from(random >> 25) + 10 * kills);
        let begun = Instant::now();
        while begun.elapsed() < patience && !ended() {
            sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        let output = child.wait_with_output().unwrap();
        if output.status.success() {
            break;
        }
        assert_eq!(
            output.status.code(),
            None,
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        saved += usize::from(!states(&scratch, "trial").is_empty());
        kills += 1;
        assert!(kills < 100, "it never ends");
    }
    assert!(
        kills >= 3 && saved >= 1,
        "{kills} kills, {saved} in the middle of a unit"
    );
    assert_undisturbed(&tables(&scratch, &["trial"]));
}

#[test]
fn a_unit_longer_than_any_attempt_still_ends() {
    let scratch = Scratch::new();
    // Every kind of state, each in a single unit of its own.
    for (name, kind) in [
        ("cavi", "kind = \"cavi\"\niterations = 10000"),
        (
            "gradient",
            "kind = \"gradient\"\nstep = 5\niterations = 8000",
        ),
        (
            "step",
            "kind = \"chain\"\nkernel = \"metropolis\"\nsweeps = 25000",
        ),
        (
            "cell",
            "kind = \"chain\"\nkernel = \"heat-bath\"\norder = \"cell\"\nsweeps = 15000",
        ),
    ] {
        let study = format!(
            "name = \"trial\"\n[[class]]\ntask = \"z:5\"\nlengths = [8]\n\
             [[dynamics]]\ntau = [1e-4]\nruns = 1\n{kind}\n"
        );
        scratch.file("s.toml", &study);
        scratch.run(&["run", "s.toml", "--out", name]).success();
        let args = ["run", "s.toml", "--checkpoint-every", "0.02"];
        let mut kills = 0;
        loop {
            let before = newest(&scratch);
            let mut child = spawn(&scratch, &args);
            wait("a checkpoint or the end", || {
                newest(&scratch) > before || child.try_wait().unwrap().is_some()
            });
            child.kill().unwrap();
            if child.wait().unwrap().success() {
                break;
            }
            kills += 1;
            assert!(kills < 300, "{name}: it begins anew each time");
        }
        assert!(kills > 0, "{name} is too short to be killed");
        assert!(
            tables(&scratch, &["trial"]) == tables(&scratch, &[name]),
            "{name}"
        );
        fs::remove_dir_all(scratch.path().join("trial")).unwrap();
    }
}

#[test]
fn threads_and_shards_leave_the_table_as_it_is() {
    let scratch = Scratch::new();
    scratch.file("s.toml", STUDY);
    let shard = |shard: &str, out: &str| {
        let args = [
            "run",
            "s.toml",
            "--threads",
            "2",
            "--shard",
            shard,
            "--out",
            out,
        ];
        scratch.run(&args).success();
    };
    shard("2/3", "together");
    shard("3/3", "apart");
    // The shards of another number do what is left.
    shard("1/2", "together");
    shard("2/2", "together");
    assert_undisturbed(&tables(&scratch, &["together"]));
    assert_undisturbed(&tables(&scratch, &["apart", "together"]));
}

#[cfg(unix)]
#[test]
fn a_study_stopped_by_a_signal_says_how_to_go_on_and_does() {
    let scratch = Scratch::new();
    scratch.file("s.toml", STUDY);
    let args = ["run", "s.toml", "--checkpoint-every", "0.02"];
    // A terminal that closes sends a second one at once.
    for signals in [["-INT", "-HUP"], ["-TERM", "-TERM"]] {
        let before = newest(&scratch);
        let child = spawn(&scratch, &args);
        wait("a checkpoint", || newest(&scratch) > before);
        signals.iter().for_each(|signal| send(signal, &child));
        let run = Run::from(child.wait_with_output().unwrap());
        assert_eq!(run.code, Some(130), "{}", run.errors);
        assert!(
            run.errors.contains("the same command goes on"),
            "{}",
            run.errors
        );
        assert_eq!(run.errors.lines().count(), 1);
        assert!(!states(&scratch, "trial").is_empty());
    }
    // What of a state is damaged is done again.
    let state = states(&scratch, "trial").swap_remove(0);
    let mut bytes = fs::read(&state).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(state, bytes).unwrap();
    let run = scratch.run(&["run", "s.toml"]);
    assert_eq!(run.code, Some(0));
    assert!(run.errors.contains("is damaged"), "{}", run.errors);
    assert_undisturbed(&tables(&scratch, &["trial"]));
}

#[cfg(unix)]
#[test]
fn a_hangup_that_is_ignored_does_not_stop_a_study() {
    let scratch = Scratch::new();
    scratch.file("s.toml", ENDLESS);
    let mut command = Command::new("sh");
    let line = "trap '' HUP; exec \"$0\" run s.toml --checkpoint-every 0.01";
    command
        .args(["-c", line, env!("CARGO_BIN_EXE_foldglass")])
        .current_dir(scratch.path());
    let child = command
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    wait("a checkpoint", || !states(&scratch, "endless").is_empty());
    send("-HUP", &child);
    let saved = || {
        fs::metadata(&states(&scratch, "endless")[0])
            .unwrap()
            .modified()
            .unwrap()
    };
    let before = saved();
    sleep(Duration::from_millis(200));
    wait("another checkpoint", || saved() > before);
    send("-TERM", &child);
    assert_eq!(Run::from(child.wait_with_output().unwrap()).code, Some(130));
}

/// Runs the small study in a directory of its own.
fn small() -> (Scratch, PathBuf) {
    let scratch = Scratch::new();
    scratch.file("s.toml", SMALL);
    scratch.run(&["run", "s.toml"]).success();
    let records = scratch.path().join("small/records.jsonl");
    (scratch, records)
}

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
        before.0
    );
}

/// Requires a failure with this code, nothing on stdout and one line that holds all of `said`.
fn fails(run: &Run, code: i32, said: &[&str]) {
    assert_eq!(
        (run.code, &run.text[..]),
        (Some(code), ""),
        "{}",
        run.errors
    );
    assert!(
        run.errors.starts_with("foldglass: error: "),
        "{}",
        run.errors
    );
    assert_eq!(run.errors.lines().count(), 1, "{}", run.errors);
    for part in said {
        assert!(run.errors.contains(part), "no {part:?} in {}", run.errors);
    }
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
        ("\"schema\":1", "\"schema\":7", "form 7"),
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
    ] {
        let foreign = whole.replacen(old, new, 1);
        assert_ne!(foreign, whole);
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
        &["states seed = 3", "--seed is 1"],
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
fn what_cannot_be_run_is_refused_and_leaves_nothing() {
    let scratch = Scratch::new();
    for (old, new, said) in [
        (
            "runs = 3",
            "rnus = 3",
            "s.toml: line 10, column 1: unknown key `rnus`",
        ),
        (
            "task = \"parity\"",
            "task = \"party\"",
            "class \"p\": task party",
        ),
        (
            "lengths = [4]",
            "lengths = [4, 4]",
            "class \"p\": lengths: length 4 is given twice",
        ),
        (
            "lengths = [4]",
            "lengths = [4]\ninputs = \"markov:2\"",
            "inputs markov:2",
        ),
        (
            "lengths = [4]",
            "lengths = [4]\ninputs = \"product:law\"",
            "cannot read law",
        ),
        (
            "lengths = [4]",
            "lengths = [4]\nwindow = [9999, 0]",
            "window = [9999, 0]",
        ),
        (
            "sweeps = 20",
            "sweeps = 20\norder = \"step\"\n[[class]]\ntask = \"parity\"\nlengths = [3]\ntied = true",
            "step blocks",
        ),
        (
            "lengths = [4]",
            "lengths = [60]\nwindow = [20, 20]",
            "cells",
        ),
    ] {
        assert!(SMALL.contains(old), "{old}");
        scratch.file("s.toml", &SMALL.replacen(old, new, 1));
        fails(&scratch.run(&["run", "s.toml"]), 2, &[said]);
        fails(
            &scratch.run(&["run", "s.toml", "--dry-run", "--json"]),
            2,
            &[said],
        );
        assert_eq!(scratch.files(), ["s.toml"]);
    }
    fails(
        &scratch.run(&["run", "none.toml"]),
        2,
        &["cannot read none.toml"],
    );
    scratch.file("s.toml", SMALL);
    fails(
        &scratch.run(&["run", "s.toml", "--shard", "3/2"]),
        2,
        &["'3/2'", "I/N"],
    );
    fails(
        &scratch.run(&["collect", "nowhere"]),
        2,
        &["nowhere", "study.json"],
    );
    fails(&scratch.run(&["collect"]), 2, &["DIR"]);
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
fn two_processes_do_not_write_the_same_records() {
    let scratch = Scratch::new();
    scratch.file("s.toml", ENDLESS);
    let mut first = spawn(&scratch, &["run", "s.toml"]);
    wait("the first process", || {
        scratch.path().join("endless/study.json").exists()
    });
    let mut second = spawn(&scratch, &["run", "s.toml"]);
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(10) && second.try_wait().unwrap().is_none() {
        sleep(Duration::from_millis(5));
    }
    second.kill().unwrap();
    first.kill().unwrap();
    first.wait().unwrap();
    let second = Run::from(second.wait_with_output().unwrap());
    fails(&second, 1, &["another foldglass", "endless/records.jsonl"]);
    // What a killed process held is free again.
    let mut third = spawn(&scratch, &["run", "s.toml", "--checkpoint-every", "0.01"]);
    wait("a checkpoint", || !states(&scratch, "endless").is_empty());
    third.kill().unwrap();
    third.wait().unwrap();
}

#[test]
fn a_dry_run_counts_and_writes_nothing() {
    let scratch = Scratch::new();
    scratch.file("s.toml", SMALL);
    let plan = scratch.json(&["run", "s.toml", "--dry-run"]);
    assert_eq!(
        (&plan["study"], &plan["runs"], &plan["finished"]),
        (&"small".into(), &5.into(), &0.into())
    );
    assert_eq!(plan["series"].as_array().unwrap().len(), 2);
    assert_eq!(
        (&plan["series"][0]["class"], &plan["series"][0]["runs"]),
        (&"p".into(), &3.into())
    );
    assert!(plan["seconds"].as_f64().unwrap() >= 0.0 && plan["memory_bytes"].as_u64().unwrap() > 0);
    let text = scratch.run(&["run", "s.toml", "--dry-run"]);
    assert!(text.success().contains("5 runs, 0 done"), "{}", text.text);
    assert_eq!(scratch.files(), ["s.toml"]);
    scratch.run(&["run", "s.toml"]).success();
    assert_eq!(scratch.json(&["run", "s.toml", "--dry-run"])["finished"], 5);
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
        (&part["runs"], &part["missing"][0]),
        (&4.into(), &missing.into())
    );
    assert!(
        scratch.path().join("part.jsonl").exists() && !scratch.path().join("part.parquet").exists()
    );
    // Twice the same is once.
    fs::write(&records, format!("{whole}{}\n", lines[2])).unwrap();
    let (table, _) = tables(&scratch, &["small", "small"]);
    assert_eq!(table.split(|&b| b == b'\n').count(), 6);
    let other = lines[2].replace("\"run\":", "\"run\":1");
    fs::write(&records, format!("{whole}{other}\n")).unwrap();
    fails(
        &scratch.run(&["collect", "small"]),
        1,
        &["differ", "records.jsonl"],
    );
}

#[test]
fn files_that_a_study_names_are_found_beside_it() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.path().join("studies")).unwrap();
    let study = SMALL
        .replace("\"parity\"", "\"square.json\"")
        .replace("[4]", "[1, 2]\ninputs = \"product:law.json\"");
    scratch.file("studies/s.toml", &study);
    scratch.file("studies/square.json", "[[1,0],[0,1]]");
    scratch.file("studies/law.json", "[[\"1/3\",\"2/3\"],[0.5,0.5]]");
    scratch.run(&["run", "studies/s.toml"]).success();
    // Another square behind the same name is another study.
    scratch.file("studies/square.json", "[[0,1],[1,0]]");
    fails(
        &scratch.run(&["run", "studies/s.toml"]),
        2,
        &["another class, method or seed"],
    );
}

#[test]
fn a_study_agrees_with_the_commands() {
    let (scratch, _) = small();
    let (lines, _) = tables(&scratch, &["small"]);
    let lines = String::from_utf8(lines).unwrap();
    let rows: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let ids: Vec<&str> = rows.iter().map(|row| row["id"].as_str().unwrap()).collect();
    let expected = [
        "p/cavi/tau=1e-10/0",
        "p/cavi/tau=1e-10/1",
        "p/cavi/tau=1e-10/2",
        "p/chain/tau=0/0",
        "p/chain/tau=0/1",
    ];
    assert_eq!(ids, expected);
    let class = ["--task", "parity", "--lengths", "4"];
    let cavi = [
        "cavi",
        "--tau",
        "1e-10",
        "--iterations",
        "20",
        "--runs",
        "3",
    ];
    let cavi = scratch.json(&[&cavi[..], &class].concat());
    for run in 0..3 {
        let (ours, theirs) = (&rows[run]["result"]["cavi"], &cavi["runs"][run]);
        for key in [
            "greedy_exact",
            "greedy_reward",
            "expected_reward",
            "entropy",
            "residual",
        ] {
            assert_eq!(ours[key], theirs[key], "{key}");
        }
    }
    let chain = [
        "chain",
        "--kernel",
        "heat-bath",
        "--tau",
        "0",
        "--sweeps",
        "20",
        "--chains",
        "2",
    ];
    let chain = scratch.json(&[&chain[..], &class].concat());
    for run in 0..2 {
        let (ours, theirs) = (&rows[3 + run]["result"]["chain"], &chain["chains"][run]);
        for key in [
            "reward_exact",
            "reward",
            "mean_reward",
            "sweeps_to_stationary",
        ] {
            assert_eq!(ours[key], theirs[key], "{key}");
        }
    }
}

#[test]
fn the_parquet_table_holds_what_the_lines_hold() {
    let (lines, _) = undisturbed();
    let scratch = Scratch::new();
    let path = Path::new(&scratch.path()).join("t.parquet");
    fs::write(&path, &undisturbed().1).unwrap();
    let reader = SerializedFileReader::new(fs::File::open(path).unwrap()).unwrap();
    let rows: Vec<Value> = reader
        .get_row_iter(None)
        .unwrap()
        .map(|row| flat(&row.unwrap()))
        .collect();
    let lines = std::str::from_utf8(lines).unwrap().lines();
    let records: Vec<Value> = lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!((rows.len(), records.len()), (RUNS, RUNS));
    for (row, record) in rows.iter().zip(&records) {
        for key in [
            "id", "study", "q", "cells", "dynamics", "tau", "seed", "run",
        ] {
            assert_eq!(row[key], record[key], "{key}");
        }
        assert_eq!(row["class"], record["class"]["id"]);
        assert_eq!(row["kind"], record["method"]["kind"]);
        assert_eq!(row["order"], record["method"]["order"]);
        let result = record["result"]
            .as_object()
            .unwrap()
            .values()
            .next()
            .unwrap();
        let keys = [
            "greedy_reward",
            "entropy",
            "reward_exact",
            "mean_reward",
            "sweeps",
            "sweeps_to_optimum",
        ];
        for key in keys {
            assert_eq!(row[key], result[key], "{key}");
        }
        assert_eq!(row["reward_at_10"], result["checkpoints"][0]["reward"]);
        assert_eq!(
            row["reward_exact_at_3000"],
            result["checkpoints"][1]["reward_exact"]
        );
    }
}

/// A row as an object; numbers that JSON would round are compared as text.
fn flat(row: &parquet::record::Row) -> Value {
    use parquet::record::Field;
    let value = |field: &Field| match field {
        Field::Null => Value::Null,
        Field::Str(text) => Value::from(&text[..]),
        Field::ULong(number) => Value::from(*number),
        Field::Double(number) => Value::from(*number),
        Field::Bool(flag) => Value::from(*flag),
        other => panic!("{other}"),
    };
    let fields = row
        .get_column_iter()
        .map(|(name, field)| (name.clone(), value(field)));
    Value::Object(fields.collect())
}
