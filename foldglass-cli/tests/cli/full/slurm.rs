//! Runs a study on a real Slurm of two nodes by the script that `foldglass slurm` writes: one share is told to
//! stop, the node of another loses its power, and the table is still that of one machine.
//!
//! Needs the packages `slurm-wlm` and `munge` of Debian, which `.ci/run` installs, and root, as Slurm does;
//! without them the test is skipped, and fails in CI.

mod cluster;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use crate::tools;
use cluster::{Cluster, wait_for};

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
iterations = 3000

[[dynamics]]
kind = "chain"
kernel = "metropolis"
tau = [1e-3, 1e-2]
runs = 48
sweeps = 3000
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

fn done(output: &Output) {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
}

/// The directories of a study that is done twice: here by one process, and there by Slurm.
struct Twice {
    scratch: Scratch,
    there: PathBuf,
}

impl Twice {
    /// Does it here, and writes the script for there.
    fn begin() -> Twice {
        let name = format!("foldglass-slurm-{}", std::process::id());
        let scratch = Scratch(std::env::temp_dir().join(name));
        let there = scratch.0.join("there");
        fs::create_dir_all(&scratch.0).unwrap();
        fs::write(scratch.0.join("study.toml"), STUDY).unwrap();
        for words in [
            "run study.toml --out here --quiet".to_owned(),
            "collect here".to_owned(),
            format!("slurm study.toml --out there --tasks {SHARES} --mem 500M --time 10"),
        ] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_foldglass"));
            command.args(words.split(' ')).current_dir(&scratch.0);
            done(&command.output().unwrap());
        }
        Twice { scratch, there }
    }

    /// Runs that Slurm has recorded of a share.
    fn recorded(&self, share: usize) -> usize {
        let file = format!("records-{share}-of-{SHARES}.jsonl");
        let content = fs::read(self.there.join(file)).unwrap_or_default();
        content.iter().filter(|&&byte| byte == b'\n').count()
    }

    /// The log of a share.
    fn log(&self, array: &str, share: usize) -> String {
        let file = self.there.join(format!("slurm-{array}_{share}.log"));
        fs::read_to_string(file).unwrap_or_default()
    }

    /// How many runs a share found recorded when it was done for the last time.
    fn taken_up(&self, array: &str, share: usize) -> usize {
        let log = self.log(array, share);
        let last = log.rsplit_once(" done now, ").map(|(_, last)| last);
        let number = last.and_then(|last| last.split_once(" before")?.0.parse().ok());
        number.unwrap_or_else(|| panic!("share {share} did not end: {log}"))
    }
}

/// The share that is under way on a node.
fn share_on(cluster: &Cluster, node: usize) -> Option<usize> {
    let name = &cluster.nodes[node];
    let tasks = cluster.ask("squeue", &["-h", "-t", "R", "-w", name, "-o", "%K"])?;
    tasks.trim().parse().ok()
}

#[test]
fn a_study_on_a_slurm_that_loses_a_node_has_the_table_of_one_machine() {
    if cluster::installed().is_none() {
        return;
    }
    let study = Twice::begin();
    let mut cluster = Cluster::start(&study.scratch.0.join("cluster"));
    let mut submit = cluster.command("bash");
    let submitted = submit.arg(study.scratch.0.join("shared.sbatch")).output();
    let submitted = submitted.unwrap();
    done(&submitted);
    let said = String::from_utf8(submitted.stdout).unwrap();
    let array = said.split(' ').nth(1).unwrap();

    // Both shares have begun and neither is done.
    let [stopped, lost] = [0, 1].map(|node| {
        let share = wait_for("a share on each node", || share_on(&cluster, node));
        let begun = || (study.recorded(share) > 0).then_some(());
        wait_for("a record of it", begun);
        share
    });
    let task = format!("{array}_{stopped}");
    let stop = ["--signal=TERM", &task];
    wait_for("scancel", || cluster.ask("scancel", &stop));
    cluster.cut_power(1);
    let before = [stopped, lost].map(|share| study.recorded(share));
    wait_for("the end of all jobs", || {
        let left = cluster.ask("squeue", &["-h"])?;
        left.is_empty().then_some(())
    });

    let log = study.log(array, stopped);
    assert!(log.contains("stopped: "), "{log}");
    for (share, before) in [stopped, lost].into_iter().zip(before) {
        assert!(study.taken_up(array, share) >= before && before > 0);
    }
    let failure = format!("due to failure of node {}", cluster.nodes[1]);
    assert!(cluster.log().contains(&failure), "{}", cluster.log());
    for table in ["table.csv", "table.jsonl", "table.parquet"] {
        let here = fs::read(study.scratch.0.join("here").join(table)).unwrap();
        let there = fs::read(study.there.join(table)).unwrap();
        assert!(here == there, "{table} differs");
    }
    cluster.stop();
    assert!(cluster.is_gone());
}

#[test]
fn without_slurm_the_test_fails_in_ci_and_is_listed_elsewhere() {
    let test = "full::slurm::a_study_on_a_slurm_that_loses_a_node_has_the_table_of_one_machine";
    tools::assert_needed(test, "slurmctld");
}
