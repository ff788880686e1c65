//! Holds the script of `slurm` to what it promises, by programs that stand for those of Slurm; `full/slurm.rs`
//! runs it on a real one.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

use crate::mistakes::refuses;
use crate::support::{Scratch, words};

const STUDY: &str = "name = \"small\"\n[[class]]\ntask = \"parity\"\nlengths = 4\n\
    [[dynamics]]\nkind = \"chain\"\nkernel = \"metropolis\"\ntau = [0.1, 0.2]\nsweeps = 50\nruns = 24\n";

/// A directory with a study, its script, and a directory of programs.
fn scratch(flags: &str) -> Scratch {
    let scratch = Scratch::new();
    scratch.file("study.toml", STUDY);
    let flags = format!("slurm study.toml {flags}");
    scratch.run(&words(&flags)).success();
    fs::create_dir(scratch.path().join("bin")).unwrap();
    scratch
}

/// A program that stands for one of Slurm.
fn program(scratch: &Scratch, name: &str, body: &str) {
    let path = scratch.path().join("bin").join(name);
    fs::write(&path, format!("#!/bin/bash\n{body}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs the script with these variables, without those of a job that the tests may be run in.
fn script(scratch: &Scratch, args: &[&str], variables: &[(&str, &str)]) -> Output {
    let path = std::env::var("PATH").unwrap();
    let own = scratch.path().join("bin");
    let mut command = Command::new("bash");
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("SLURM_")) {
        command.env_remove(name);
    }
    command
        .arg(scratch.path().join("small.sbatch"))
        .args(args)
        .current_dir(scratch.path())
        .env("PATH", format!("{}:{path}", own.display()))
        .envs(variables.iter().copied());
    command.output().unwrap()
}

/// The variables of a task.
const TASK: [(&str, &str); 3] = [
    ("SLURM_ARRAY_TASK_ID", "2"),
    ("SLURM_ARRAY_JOB_ID", "70"),
    ("SLURM_JOB_ID", "70"),
];

#[test]
fn the_script_states_what_was_asked_for() {
    let flags = "--tasks 3 --cpus 2 --time 1-2 --mem 4G --partition short --account me --sbatch=--qos=long --seed 9";
    let scratch = scratch(flags);
    let script = scratch.read("small.sbatch");
    for line in [
        "#SBATCH --job-name=small",
        "#SBATCH --array=1-3",
        "#SBATCH --cpus-per-task=2",
        "#SBATCH --time=1-02:00:00",
        "#SBATCH --mem=4096M",
        "#SBATCH --partition=short",
        "#SBATCH --account=me",
        "#SBATCH --qos=long",
        "#SBATCH --requeue",
        "#SBATCH --signal=TERM@60",
        "#SBATCH --output=small/slurm-%A_%a.log",
        "shares=3",
        "command=(run study.toml --seed 9)",
    ] {
        assert!(script.lines().any(|own| own == line), "{line}: {script}");
    }
    assert!(scratch.path().join("small").is_dir());
    // The same again is no other script; another number of shares is.
    let again = format!("slurm study.toml {flags}");
    let report = scratch.report(&words(&again));
    assert_eq!(
        (&report["tasks"], &report["pieces"], &report["time_limit"]),
        (&3.into(), &6.into(), &"1-02:00:00".into())
    );
    let other = again.replace("--tasks 3", "--tasks 4");
    refuses(
        &scratch,
        &other,
        &["small.sbatch", "shares must not change"],
    );
    let printed = scratch.run(&words(&format!("{other} --script -")));
    assert!(printed.success().contains("\nshares=4\n"));
}

#[test]
fn a_task_does_its_share_within_its_limits() {
    let scratch = scratch("--tasks 3");
    program(
        &scratch,
        "srun",
        "printf '%s\\n' \"$@\" > srun.txt; shift 2; \"$@\"",
    );
    for (variables, memory) in [
        (&[][..], None),
        (&[("SLURM_MEM_PER_NODE", "0")], None),
        (&[("SLURM_MEM_PER_NODE", "1000")], Some("900MiB")),
        (
            &[("SLURM_MEM_PER_CPU", "500"), ("SLURM_CPUS_PER_TASK", "2")],
            Some("900MiB"),
        ),
    ] {
        let output = script(&scratch, &[], &[&TASK, variables].concat());
        assert!(output.status.success(), "{output:?}");
        let said = scratch.read("srun.txt");
        let said: Vec<&str> = said.lines().collect();
        let after = |flag: &str| {
            let place = said.iter().position(|word| *word == flag)?;
            said.get(place + 1).copied()
        };
        assert_eq!(after("--shard"), Some("2/3"));
        assert_eq!(after("--max-memory"), memory, "{variables:?}");
        let threads = if variables.len() == 2 { "2" } else { "1" };
        assert_eq!(after("--threads"), Some(threads));
        assert_eq!(said[1], format!("--cpus-per-task={threads}"));
    }
    assert_eq!(
        scratch.read("small/records-2-of-3.jsonl").lines().count(),
        16
    );
}

#[test]
fn a_task_that_was_stopped_or_found_its_share_taken_comes_back_and_no_other() {
    let scratch = scratch("--tasks 3");
    program(&scratch, "scontrol", "printf '%s ' \"$@\" > scontrol.txt");
    for (code, comes_back) in [(0, false), (1, false), (2, false), (3, true), (130, true)] {
        program(&scratch, "srun", &format!("exit {code}"));
        let output = script(&scratch, &[], &TASK);
        assert_eq!(output.status.code(), Some(code));
        let asked = scratch.path().join("scontrol.txt");
        assert_eq!(asked.exists(), comes_back, "exit code {code}");
        if comes_back {
            // Not 70 alone, which is the whole array.
            assert_eq!(scratch.read("scontrol.txt"), "requeue 70_2 ");
            fs::remove_file(asked).unwrap();
        }
    }
}

#[test]
fn run_by_hand_it_submits_the_array_and_what_collects_it() {
    let scratch = scratch("--tasks 3");
    let body = "printf '%s ' \"$@\" >> sbatch.txt; echo >> sbatch.txt; echo \"4$(wc -l < sbatch.txt);here\"";
    program(&scratch, "sbatch", body);
    let output = script(&scratch, &["--array=2,3"], &[]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        said,
        "job 41 does the shares, job 42 collects: small/collect-42.log\n"
    );
    let calls = scratch.read("sbatch.txt");
    let calls: Vec<&str> = calls.lines().collect();
    assert_eq!(calls.len(), 2);
    assert!(
        calls[0].starts_with("--parsable --array=2,3 /"),
        "{calls:?}"
    );
    assert!(calls[1].contains("--dependency=afterany:41 "), "{calls:?}");
    assert!(calls[1].ends_with("small.sbatch collect "), "{calls:?}");
    // Nothing is recorded yet: it says so, and makes no table.
    let output = script(&scratch, &["collect"], &TASK);
    assert_eq!(output.status.code(), Some(2));
    scratch.run(&words("run study.toml")).success();
    let output = script(&scratch, &["collect"], &TASK);
    assert!(output.status.success(), "{output:?}");
    assert!(scratch.path().join("small/table.parquet").exists());
    // There is nothing left to write a script for.
    let said = [
        "48 runs, 48 done: all are in small",
        "foldglass collect small",
    ];
    refuses(&scratch, "slurm study.toml --script other", &said);
}

#[test]
fn the_shares_of_an_enumeration_are_put_together() {
    let scratch = Scratch::new();
    let class = "--task parity --lengths 6 --inputs markov:9/10";
    let flags = format!("slurm --json --out small --tasks 2 -- enumerate {class}");
    let report = scratch.run(&words(&flags)).json();
    assert_eq!(
        (&report["name"], &report["tasks"]),
        (&"small".into(), &2.into())
    );
    fs::create_dir(scratch.path().join("bin")).unwrap();
    program(&scratch, "srun", "shift 2; \"$@\"");
    let task = |number| script(&scratch, &[], &[("SLURM_ARRAY_TASK_ID", number)]);
    assert!(task("1").status.success());
    // A share is missing.
    let collected = script(&scratch, &["collect"], &TASK);
    assert!(!collected.status.success(), "{collected:?}");
    assert!(task("2").status.success());
    let collected = script(&scratch, &["collect"], &TASK);
    let whole = scratch.run(&words(&format!("enumerate {class}")));
    assert_eq!(
        String::from_utf8(collected.stdout).unwrap(),
        whole.success()
    );
}

#[test]
fn mistakes_are_named_before_anything_is_written() {
    let scratch = Scratch::new();
    scratch.file("study.toml", STUDY);
    let large = STUDY.replace("lengths = 4", "lengths = 4\nwindow = [3, 3]\nmemory = 4");
    scratch.file("large.toml", &large.replace("parity", "z:5"));
    scratch.file("bad.toml", &STUDY.replace("sweeps", "sweps"));
    for (flags, said) in [
        ("bad.toml", &["line 9", "`sweps` is not a key"][..]),
        ("none.toml", &["none.toml"]),
        (
            "study.toml --tasks 7",
            &["--tasks 7", "6 units", "at most 6"],
        ),
        ("study.toml --tasks 0", &["'0'", "at least 1"]),
        ("study.toml --time 2", &["'2'", "at least 3 minutes"]),
        ("study.toml --time 4h", &["'4h'", "4:00:00"]),
        ("study.toml --mem 4X", &["'4X'", "512M"]),
        ("study.toml --out a\\b", &["--out", "backslashes"]),
        ("large.toml --mem 1M", &["needs", "--mem sets the limit"]),
        ("--out c", &["<STUDY.toml>"]),
        ("study.toml --sbatch=--array=1-9", &["--array itself"]),
        ("study.toml --sbatch -q", &["'-q'", "--qos=long"]),
        ("study.toml --partition a;b", &["'a;b'", "a name of"]),
    ] {
        refuses(&scratch, &format!("slurm {flags}"), said);
    }
    // What stands after -- is not for this command, --json included.
    let class = "enumerate --task parity --lengths 4";
    for (flags, said) in [
        (format!("-- {class}"), "--out DIR"),
        ("--out c -- enumerate --task parity".to_owned(), "--lengths"),
        (
            format!("--out c -- {class} --shard=1/2"),
            "--shard=1/2 after --",
        ),
        (
            format!("--out c --mem 1M -- {class}"),
            "--mem sets the limit",
        ),
        (
            "--out c -- run study.toml".to_owned(),
            "after -- stands enumerate",
        ),
        (
            format!("--out c --tasks 99999 -- {class}"),
            "parts to do, so at most",
        ),
    ] {
        let run = scratch.run(&words(&format!("slurm {flags}")));
        assert_eq!((run.code, &run.text[..]), (Some(2), ""), "{flags}");
        assert!(run.errors.contains(said), "{}", run.errors);
    }
    let files = ["bad.toml", "large.toml", "study.toml"];
    assert_eq!(scratch.files(), files);
}
