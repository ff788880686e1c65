//! Presses Ctrl-C in the middle of every command: each ends within a second.
//!
//! A busy machine gives a program little of its second, so what is held to it is the processor time
//! from the signal to the end, on one thread; the clock is held to a generous limit. The signal is sent
//! when the program has used some processor time, which is past its start wherever it runs.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::shell::commands;
use crate::support::{Scratch, words};

/// How a command of the table ends.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Ends {
    /// It computes for many seconds and is stopped after so many of them.
    Stopped(&'static str, f64),
    /// Its work is bounded by what it reads or writes, and it takes no signal of its own: the signal
    /// ends it as it ends any program.
    Short,
    /// It waits for requests, and has a test of its own (`explore/life.rs`).
    Serves,
}

use Ends::{Serves, Short, Stopped};

/// Every command, with work that lasts; several where its parts differ.
const TABLE: &[(&str, Ends)] = &[
    ("task", Stopped("--task random:1000", 0.5)),
    (
        "cells",
        Stopped("--task z:5 --lengths 300 --window 0,6 --json", 0.5),
    ),
    ("eval", Short),
    (
        "chain",
        Stopped(
            "--kernel metropolis --tau 1e-3 --sweeps 1000000000 --chains 2 --task parity --lengths 9",
            0.5,
        ),
    ),
    (
        "cavi",
        Stopped(
            "--tau 1e-3 --iterations 1000000000 --runs 2 --task parity --lengths 9",
            0.5,
        ),
    ),
    (
        "reinforce",
        Stopped(
            "--estimator rloo:4 --learning-rate 0.1 --updates 1000000000 --runs 2 --task parity --lengths 9",
            0.5,
        ),
    ),
    ("enumerate", Stopped("--task z:3 --lengths 4", 0.5)),
    (
        "enumerate",
        Stopped("--task z:3 --lengths 4 --dry-run", 0.5),
    ),
    ("tree", Stopped("--task parity --lengths 8 --orbits", 0.5)),
    ("certify", Stopped("--code narrow.json --cap 90000000", 1.0)),
    // A look at the changes of a single code, then the flood's first bound, take half a minute each.
    (
        "certify",
        Stopped("--code tied.json --barrier --cap 1000000", 1.0),
    ),
    (
        "certify",
        Stopped("--code window.json --barrier --cap 1000000", 1.0),
    ),
    (
        "certify",
        Stopped("--code tied.json --barrier --cap 2", 2.0),
    ),
    (
        "escape",
        Stopped("--code tied.json --search --cap 100000000", 0.5),
    ),
    ("benign", Stopped("--task z:5 --lengths 6 --memory 2", 0.5)),
    ("law", Short),
    ("rerun", Stopped("long.json", 0.5)),
    ("check", Stopped("verdict.json --all", 0.5)),
    (
        "inspect",
        Stopped("--code tied.json --max-inputs 100000000", 0.5),
    ),
    ("gauge", Short),
    ("parity", Stopped("--length 3000000 --density", 0.5)),
    (
        "dataset",
        Stopped("--rows 10000000 --task z:5 --lengths 8", 0.5),
    ),
    ("density", Stopped("--task z:3 --lengths 6", 0.3)),
    (
        "free-energy",
        Stopped(
            "--task parity --lengths 3 --tau 0.1 --replicas 1000000 --learning 10 --sweeps 100",
            1.0,
        ),
    ),
    (
        "free-energy",
        Stopped("--task z:5 --lengths 6 --window 0,2 --tied --tau 0.1", 0.5),
    ),
    (
        "free-energy",
        Stopped(
            "--task parity --lengths 8 --window 0,3 --tau 0.01 --sweeps 10 --learning 10 --iterations 10000000",
            1.0,
        ),
    ),
    ("draw", Short),
    (
        "overlap",
        Stopped("--task z:3 --lengths 6 --tau 0.01 --sweeps 1000000", 0.5),
    ),
    (
        "overlap",
        Stopped("--task parity --lengths 5 --tau 0.1,0.2,0.3", 2.0),
    ),
    (
        "family",
        Stopped("--task z:3 --length 3 --sweeps 1000000000 --runs 2", 0.5),
    ),
    ("train", Stopped("--task z:5 --runs 2 --backend cpu", 1.0)),
    (
        "train",
        Stopped("--task z:5 --runs 2 --backend cpu --out trained", 1.0),
    ),
    (
        "distill",
        Stopped(
            "--task z:5 --lengths 6 --runs 2 --backend cpu --batch 4096",
            1.0,
        ),
    ),
    (
        "barrier",
        Stopped("--task parity --lengths 6 --backend cpu --batch 4096", 1.5),
    ),
    (
        "barrier",
        Stopped(
            "--task z:3 --lengths 7 --backend cpu --proposals 1000000000 --tau 1",
            0.5,
        ),
    ),
    (
        "read-back",
        Stopped(
            "--weights weights/000_z-5_c0_s0.safetensors --task z:5 --lengths 9 --cap 9 --backend cpu",
            0.7,
        ),
    ),
    ("run", Stopped("chains.toml", 0.5)),
    ("run", Stopped("networks.toml", 1.0)),
    ("run", Stopped("networks.toml --dry-run", 0.2)),
    ("collect", Short),
    ("slurm", Short),
    ("summary", Short),
    ("plot", Short),
    ("explore", Serves),
    ("list", Short),
    (
        "reproduce",
        Stopped("--smoke tab:trapsexist --out reproduced", 0.5),
    ),
    ("report", Short),
    ("archive", Short),
    ("claims", Stopped("", 0.5)),
    ("completions", Short),
    ("man", Short),
];

/// The processor time from the signal to the end, in seconds. What a program needs to write and to
/// end is in it, so it is less than the second that is promised.
const MOST_PROCESSOR_TIME: f64 = 1.0;

/// The time by the clock, on a machine that is busy with everything else.
const MOST_TIME: Duration = Duration::from_secs(30);

/// The most that is waited for a program to get its processor time.
const LONGEST_WAIT: Duration = Duration::from_secs(300);

/// Files that the table names.
fn files(scratch: &Scratch) {
    for (name, class) in [
        ("narrow.json", "--task z:3 --lengths 12"),
        (
            "tied.json",
            "--task z:5 --lengths 40 --window 0,2 --memory 2 --tied",
        ),
        ("window.json", "--task z:2 --lengths 60 --window 5,5 --tied"),
    ] {
        let cells = scratch.json(&[&["cells"], &words(class)[..]].concat());
        let zeros = vec![0; cells["count"].as_u64().unwrap() as usize];
        let code = serde_json::json!({
            "format": "foldglass-code/1", "class": cells["class"], "actions": zeros,
        });
        scratch.file(name, &code.to_string());
    }
    let study = |class: &str, dynamics: &str| {
        format!("name = \"s\"\n[[class]]\n{class}\n[[dynamics]]\n{dynamics}\nruns = 2\n")
    };
    let chains = "kind = \"chain\"\nkernel = \"metropolis\"\ntau = 1e-3\nsweeps = 1000000000";
    scratch.file(
        "chains.toml",
        &study("task = \"parity\"\nlengths = 9", chains),
    );
    let networks = "kind = \"train\"\nc = 0.3\nsteps = 1000\nbatch = 4096";
    scratch.file(
        "networks.toml",
        &study("task = \"z:5\"\nlengths = 9", networks),
    );
}

/// The processor time that a program has used, in seconds; none when it is gone.
fn used(child: &Child) -> Option<f64> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).ok()?;
    // Its name, which stands in brackets, may contain anything.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    // SAFETY: it only asks for a number.
    let second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as f64;
    Some((ticks()? + ticks()?) / second)
}

/// Waits for the end of a program; its status, and all the processor time it has used.
fn wait(child: &Child, until: Instant) -> Option<(ExitStatus, f64)> {
    let (mut status, mut usage) = (0, std::mem::MaybeUninit::<libc::rusage>::zeroed());
    while Instant::now() < until {
        // SAFETY: both places are valid for writing, and the child is ours.
        let ended = unsafe {
            libc::wait4(
                child.id() as i32,
                &mut status,
                libc::WNOHANG,
                usage.as_mut_ptr(),
            )
        };
        if ended != 0 {
            // SAFETY: zeros are a valid value, and it was written.
            let usage = unsafe { usage.assume_init() };
            let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
            let used = seconds(usage.ru_utime) + seconds(usage.ru_stime);
            return Some((ExitStatus::from_raw(status), used));
        }
        sleep(Duration::from_millis(10));
    }
    None
}

/// What is wrong with how a command ends.
fn fault(scratch: &Scratch, command: &str, after: f64) -> Option<String> {
    let args = [&words(command)[..], &["--threads", "1"]].concat();
    let errors = fs::File::create(scratch.path().join("errors")).unwrap();
    let mut child = scratch
        .command(&args)
        .stdout(Stdio::null())
        .stderr(errors)
        .spawn()
        .unwrap();
    let begun = Instant::now();
    let before = loop {
        if let Some(status) = child.try_wait().unwrap() {
            let errors = scratch.read("errors");
            return Some(format!("it ended by itself, {status}: {errors}"));
        }
        match used(&child) {
            Some(used) if used >= after => break used,
            _ if begun.elapsed() > LONGEST_WAIT => break 0.0,
            _ => sleep(Duration::from_millis(10)),
        }
    };
    // SAFETY: it sends a signal to a child that was not waited for.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    let sent = Instant::now();
    let Some((status, used)) = wait(&child, sent + MOST_TIME) else {
        child.kill().unwrap();
        child.wait().unwrap();
        return Some(format!("it goes on after {MOST_TIME:?}"));
    };
    if status.code() != Some(130) && status.signal() != Some(libc::SIGINT) {
        return Some(format!("{status}: {}", scratch.read("errors")));
    }
    let late = used - before;
    (late > MOST_PROCESSOR_TIME).then(|| {
        format!(
            "{late:.2} s of processor time, {:?} by the clock",
            sent.elapsed()
        )
    })
}

#[test]
fn every_command_is_in_the_table() {
    let mut listed: Vec<&str> = TABLE.iter().map(|(name, _)| *name).collect();
    listed.dedup();
    let mut commands = commands(&Scratch::new());
    commands.sort();
    listed.sort_unstable();
    assert_eq!(listed, commands, "a command that no entry of TABLE stops");
}

/// Half a minute of a processor.
mod full {
    use super::*;

    #[test]
    fn ctrl_c_ends_every_command_within_a_second() {
        let scratch = Scratch::new();
        files(&scratch);
        // What read-back reads, and what check checks.
        let weights = "train --task z:5 --backend cpu --steps 1 --batch 4 --cap 9 --test-inputs 4 \
                   --weights weights --quiet";
        scratch.run(&words(weights)).success();
        let verdict = "certify --code narrow.json --cap 20000 --out verdict.json --quiet";
        scratch.run(&words(verdict)).success();
        let mut chain = scratch.json(&words(
            "chain --tau 1e-3 --sweeps 5 --task parity --lengths 9",
        ));
        chain["settings"]["sweeps"] = 1_000_000_000.into();
        scratch.file("long.json", &chain.to_string());
        let mut faults = Vec::new();
        for &(name, ends) in TABLE {
            if let Stopped(flags, after) = ends {
                let command = format!("{name} {flags}");
                if let Some(fault) = fault(&scratch, &command, after) {
                    faults.push(format!("{command}: {fault}"));
                }
            }
        }
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }
}
