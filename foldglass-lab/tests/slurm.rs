//! Runs a study on a real Slurm of two nodes by the script that `foldglass slurm` writes: one share is told to
//! stop, the node of another loses its power, and the table is still that of one machine.
//!
//! Needs the packages `slurm-wlm` and `munge` of Debian, which `.ci/run` installs, and root, as Slurm does;
//! without them the test says that it is skipped.

#![cfg(target_os = "linux")]

#[path = "slurm/cluster.rs"]
mod cluster;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use cluster::{Cluster, lacking, wait_for};

/// Some seconds of work in many units.
const STUDY: &str = r#"
name = "shared"
seed = 5

[[class]]
id = "q"
task = "quasigroup"
lengths = 8

[[dynamics]]
kind = "cavi"
tau = [1e-10, 1e-7, 1e-4]
runs = 96
iterations = 6000

[[dynamics]]
kind = "chain"
kernel = "metropolis"
tau = [1e-3, 1e-2]
runs = 48
sweeps = 6000
keep_code = true
"#;

/// Shares: one more than nodes, so that one waits.
const SHARES: usize = 3;

/// A directory that vanishes with the test, unless it fails: the logs say why.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("logs are in {}", self.0.display());
        } else {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output();
    output.is_ok_and(|output| output.stdout == b"0\n")
}

fn done(output: &Output) {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
}

/// Runs in a share's file of records.
fn recorded(directory: &Path, share: usize) -> usize {
    let file = directory.join(format!("records-{share}-of-{SHARES}.jsonl"));
    let content = fs::read(file).unwrap_or_default();
    content.iter().filter(|&&byte| byte == b'\n').count()
}

/// The share that is under way on a node.
fn share_on(cluster: &Cluster, node: usize) -> Option<usize> {
    let name = &cluster.nodes[node];
    let tasks = cluster.ask("squeue", &["-h", "-t", "R", "-w", name, "-o", "%K"]);
    tasks.trim().parse().ok()
}

#[test]
fn a_study_on_a_slurm_that_loses_a_node_has_the_table_of_one_machine() {
    if let Some(program) = lacking() {
        eprintln!("skipped: no {program}; install slurm-wlm and munge to run this test");
        return;
    }
    if !is_root() {
        eprintln!("skipped: the daemons of Slurm need root");
        return;
    }
    let name = format!("foldglass-slurm-{}", std::process::id());
    let scratch = Scratch(std::env::temp_dir().join(name));
    fs::create_dir_all(&scratch.0).unwrap();
    fs::write(scratch.0.join("study.toml"), STUDY).unwrap();
    let foldglass = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_foldglass"));
        let output = command.args(args).current_dir(&scratch.0).output();
        done(&output.unwrap());
    };
    foldglass(&["run", "study.toml", "--out", "here", "--quiet"]);
    foldglass(&["collect", "here"]);
    let shares = SHARES.to_string();
    foldglass(&[
        "slurm",
        "study.toml",
        "--out",
        "there",
        "--tasks",
        &shares,
        "--mem",
        "500M",
        "--time",
        "10",
    ]);

    let mut cluster = Cluster::start(&scratch.0.join("cluster"));
    let submitted = cluster
        .command("bash")
        .arg(scratch.0.join("shared.sbatch"))
        .output();
    let submitted = submitted.unwrap();
    done(&submitted);
    let said = String::from_utf8(submitted.stdout).unwrap();
    let array = said.split(' ').nth(1).unwrap();
    let there = scratch.0.join("there");

    // Both shares have begun and neither is done.
    let [stopped, lost] = [0, 1].map(|node| {
        let share = wait_for("a share on each node", || share_on(&cluster, node));
        wait_for("a record of it", || {
            (recorded(&there, share) > 0).then_some(())
        });
        share
    });
    let task = format!("{array}_{stopped}");
    cluster.ask("scancel", &["--signal=TERM", &task]);
    cluster.cut_power(1);
    let before = [stopped, lost].map(|share| recorded(&there, share));

    let logs = || {
        let entries = fs::read_dir(&there)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let logs = entries.filter(|path| path.extension().is_some_and(|end| end == "log"));
        let text = |path: PathBuf| {
            let text = fs::read_to_string(&path).unwrap_or_default();
            format!("{}\n{text}", path.display())
        };
        logs.map(text).collect::<String>()
    };
    wait_for("the end of all jobs", || {
        cluster.ask("squeue", &["-h"]).is_empty().then_some(())
    });
    let log = |share: usize| {
        let file = there.join(format!("slurm-{array}_{share}.log"));
        fs::read_to_string(file).unwrap()
    };
    assert!(log(stopped).contains("stopped: "), "{}", logs());
    for (share, before) in [stopped, lost].into_iter().zip(before) {
        let last = log(share);
        let (_, last) = last.rsplit_once(" done now, ").expect("a share that ended");
        let (taken_up, _) = last.split_once(" before").unwrap();
        let taken_up: usize = taken_up.parse().unwrap();
        assert!(before > 0 && taken_up >= before, "{}", logs());
    }
    let failure = format!("due to failure of node {}", cluster.nodes[1]);
    assert!(cluster.log().contains(&failure), "{}", cluster.log());
    for table in ["table.csv", "table.jsonl", "table.parquet"] {
        let read = |directory: &str| fs::read(scratch.0.join(directory).join(table)).ok();
        assert!(
            read("here").is_some() && read("here") == read("there"),
            "{table}\n{}",
            logs()
        );
    }
    cluster.stop();
    assert!(cluster.is_gone());
}
