//! Runs the built `foldglass` and holds it to the command-line contract.

#[path = "cli/cavi.rs"]
mod cavi;
#[path = "cli/cells.rs"]
mod cells;
#[path = "cli/certify.rs"]
mod certify;
#[path = "cli/chain.rs"]
mod chain;
#[path = "cli/check.rs"]
mod check;
#[path = "cli/claims.rs"]
mod claims;
#[path = "cli/contract.rs"]
mod contract;
#[path = "cli/damage.rs"]
mod damage;
#[path = "cli/draw.rs"]
mod draw;
#[path = "cli/enumerate.rs"]
mod enumerate;
#[path = "cli/escape.rs"]
mod escape;
#[path = "cli/eval.rs"]
mod eval;
#[path = "cli/ext.rs"]
mod ext;
#[path = "cli/extremes.rs"]
mod extremes;
#[path = "cli/family.rs"]
mod family;
#[path = "cli/free_energy.rs"]
mod free_energy;
#[path = "cli/gauge.rs"]
mod gauge;
#[path = "cli/inspect.rs"]
mod inspect;
#[path = "cli/mistakes.rs"]
mod mistakes;
#[path = "cli/networks.rs"]
mod networks;
#[path = "cli/outputs.rs"]
mod outputs;
#[path = "cli/plot.rs"]
mod plot;
#[path = "cli/records.rs"]
mod records;
#[path = "cli/report.rs"]
mod report;
#[path = "cli/reproduce.rs"]
mod reproduce;
#[path = "cli/shell.rs"]
mod shell;
#[cfg(unix)]
#[path = "cli/slurm.rs"]
mod slurm;
#[path = "cli/sources.rs"]
mod sources;
#[cfg(target_os = "linux")]
#[path = "cli/stops.rs"]
mod stops;
#[path = "cli/study.rs"]
mod study;
#[path = "cli/summary.rs"]
mod summary;
#[path = "cli/support.rs"]
mod support;
#[path = "cli/tables.rs"]
mod tables;
#[path = "cli/task.rs"]
mod task;
#[path = "cli/terminal.rs"]
mod terminal;
#[path = "../../xtask/src/tools.rs"]
mod tools;
#[path = "cli/train.rs"]
mod train;
#[path = "cli/tree.rs"]
mod tree;
#[path = "cli/verdicts.rs"]
mod verdicts;

use support::Scratch;

#[test]
fn without_arguments_it_prints_its_help() {
    let run = Scratch::new().run(&[]);
    let text = run.success();
    for command in ["task", "cells", "eval", "chain", "cavi", "certify"] {
        assert!(text.contains(&format!("\n  {command} ")), "{text}");
    }
}

#[test]
fn help_and_version_go_to_stdout() {
    let scratch = Scratch::new();
    assert!(
        scratch
            .run(&["--version"])
            .success()
            .starts_with("foldglass ")
    );
    assert!(
        scratch
            .run(&["eval", "--help"])
            .success()
            .contains("--policy")
    );
}

#[test]
fn the_settings_of_every_command_may_stand_before_or_after_it() {
    let scratch = Scratch::new();
    let after = scratch.run(&[
        "task",
        "--task",
        "random:4",
        "--json",
        "--seed",
        "7",
        "--threads",
        "2",
    ]);
    let before = scratch.run(&[
        "--json",
        "--seed",
        "7",
        "--threads",
        "1",
        "task",
        "--task",
        "random:4",
    ]);
    assert_eq!(after.success(), before.success());
    assert_eq!(after.json()["seed"], 7);
}

#[test]
fn a_reader_that_stops_early_ends_it_quietly() {
    let scratch = Scratch::new();
    let flags = [
        "cells",
        "--task",
        "quasigroup",
        "--lengths",
        "7",
        "--window",
        "2,1",
    ];
    for form in ["--json", "--list"] {
        let (code, errors) = scratch.run_and_hang_up(&[&flags[..], &[form]].concat());
        assert_eq!((code, &errors[..]), (Some(0), ""), "{form}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_a_failure_and_no_mistake_of_the_user() {
    let scratch = Scratch::new();
    let run = scratch.run_into("/dev/full", &["task", "--task", "z:3"]);
    assert_eq!(run.code, Some(1));
    assert!(
        run.errors.contains("cannot write to stdout"),
        "{}",
        run.errors
    );
}
