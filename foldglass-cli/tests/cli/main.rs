//! Runs the built `foldglass` and holds it to the command-line contract.

mod archive;
mod cavi;
mod cells;
mod certify;
mod chain;
mod check;
mod claims;
mod contract;
mod damage;
mod dataset;
mod draw;
mod enumerate;
mod errata;
mod escape;
mod eval;
mod explore;
mod ext;
mod extremes;
mod family;
mod fixtures;
mod free_energy;
mod full;
mod gauge;
mod inspect;
mod landscape;
mod mistakes;
mod networks;
mod outputs;
mod plot;
mod portable;
mod process;
#[cfg(unix)]
mod readme;
mod records;
mod reference;
mod reinforce;
mod report;
mod reproduce;
mod rerun;
mod sampled;
mod schemas;
mod shell;
#[cfg(unix)]
mod slurm;
mod sources;
#[cfg(target_os = "linux")]
mod stops;
mod study;
mod summary;
mod support;
mod tables;
mod task;
mod terminal;
mod theorems;
#[path = "../../../xtask/src/tools.rs"]
mod tools;
mod train;
mod tree;
mod verdicts;

use support::Scratch;

#[test]
fn without_arguments_it_prints_its_help() {
    let scratch = Scratch::new();
    let (bare, asked) = (scratch.run(&[]), scratch.run(&["--help"]));
    assert_eq!(bare.success(), asked.success());
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
