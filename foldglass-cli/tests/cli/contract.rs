//! Runs every command with `--json` on a small input: a key has one type, whatever command prints it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::schemas::Schemas;
use crate::shell::{commands, examples};
use crate::support::{Scratch, words};

/// Tiny runs of commands that print a report, in an order in which files are there when they are read. Some
/// commands have several forms. Of a command without a line here the examples of its help are run.
pub const RUNS: [&str; 61] = [
    "task --task quasigroup",
    "task --task random:4",
    "cells --task parity --lengths 3",
    "cells --task parity --lengths 3 --tied --memory 2",
    "gauge --code code.json --task parity --lengths 4 --inputs markov:9/10 --out coded.json",
    "gauge --code coded.json --other coded.json",
    "eval --code coded.json",
    "cavi --task parity --lengths 4 --tau 0.1 --iterations 5 --runs 2 --policies policies.jsonl",
    "cavi --task parity --lengths 4 --tau 0.1 --iterations 5 --runs 2 --keep-code",
    "cavi --task parity --lengths 3,4 --tau 0.1 --iterations 5 --runs 2 --quench 2,1e-3",
    "reinforce --estimator grpo:2 --batch 8 --updates 3 --learning-rate 1 --task parity --lengths 2,3 --curriculum",
    "eval --policy policies.jsonl#0",
    "chain --task parity --lengths 4 --kernel metropolis --tau 0.1 --sweeps 40 --chains 2",
    "chain --task parity --lengths 4 --kernel heat-bath --tau 0 --sweeps 40 --chains 2 --window 1,0",
    "enumerate --task parity --lengths 4 --inputs markov:9/10",
    "enumerate --task parity --lengths 4 --inputs markov:9/10 --dry-run",
    "enumerate --task parity --lengths 3 --reward process:1,2,4",
    "enumerate --task parity --lengths 2,3 --length-weights 1,2",
    "tree --task parity --lengths 4 --inputs markov:9/10",
    "certify --code coded.json --barrier --out verdict.json",
    "certify --code trap.json --barrier",
    "escape --code plain.json --task parity --lengths 4 --out path.json",
    "escape --code plain.json --task parity --lengths 4 --search",
    "escape --policy policies.jsonl#0",
    "benign --task parity --lengths 4 --inputs markov:9/10",
    "benign --task parity --lengths 3 --tied",
    "benign --task parity --lengths 2,3 --window 1,0",
    "law traps --lengths 6 --inputs markov:9/10",
    "law lengths --lengths 2,3,4 --length-weights 1,2,4",
    "check verdict.json",
    "check path.json",
    "inspect --code coded.json",
    "parity --length 4 --tau 0.1",
    "parity --length 4 --tau 0.1,0.2 --density",
    "free-energy --task parity --lengths 3 --tau 0.1 --learning 2000 --sweeps 2000 --runs 2",
    "free-energy --task parity --lengths 3 --tau 0.1,0.2 --learning 2000 --sweeps 2000 --runs 2",
    "draw --code coded.json --svg drawn.svg",
    "overlap --task parity --lengths 2 --sweeps 100 --tau 0.1",
    "overlap --task parity --lengths 2 --sweeps 100 --tau 0.1,0.2",
    "family --task parity --length 2 --sweeps 40",
    "train --task parity --backend cpu --width 16 --heads 2 --mlp 16 --vocabulary 3 --cap 2 \
     --gate-samples 32 --test-inputs 50 --batch 32 --steps 40 --weights nets",
    "distill --task parity --lengths 2 --runs 2 --compare-every 50 --held-out 100 --steps 50 \
     --backend cpu --width 16 --mlp 16 --vocabulary 4 --batch 16 --weights nets",
    "barrier --task parity --lengths 2 --backend cpu --width 64 --mlp 128 --vocabulary 4 --batch 64 \
     --learning-rate 1e-3 --compare-every 20 --points 3 --codes 2",
    "read-back --task parity --lengths 2 --backend cpu --weights nets/distilled_s0.safetensors",
    "slurm study.toml",
    "run study.toml --dry-run",
    "run study.toml",
    "collect done",
    "certify --code done/records.jsonl",
    "summary done",
    "summary done --of entropy",
    "plot done",
    "dataset --task z:3 --lengths 1,2 --rows 3 --test-rows 2",
    "dataset --code coded.json --rows 3 --rendering words",
    "dataset --task z:3 --lengths 2 --rows 3 --trainer verl --out rows",
    "list",
    "reproduce tab:trapsexist --smoke --out here",
    "report here",
    "archive here --out here.tar",
    "archive --check here.tar",
    "rerun task.json",
];

/// What these runs write, by format.
const FILES: [(&str, &str); 10] = [
    ("code", "coded.json"),
    ("codes", "trap.json"),
    ("policy", "policies.jsonl"),
    ("verdict", "verdict.json"),
    ("path", "path.json"),
    ("study-manifest", "done/study.json"),
    ("record", "done/records.jsonl"),
    ("table-line", "done/table.jsonl"),
    ("reproduction", "here/reproduce.json"),
    ("reproduction-times", "here/times.json"),
];

/// Commands without a report: one serves a page, the others write for a shell.
const WITHOUT_REPORT: [&str; 3] = ["explore", "completions", "man"];

/// Slower ones, which have tests of their own.
const ELSEWHERE: [&str; 1] = ["claims"];

const STUDY: &str = "name = \"done\"\n\
    [[class]]\ntask = \"random:3\"\nlengths = 2\n\
    [[dynamics]]\nkind = \"cavi\"\niterations = 5\nruns = 2\nkeep_code = true\ntau = [0.1, 1.0]\n\
    [[dynamics]]\nkind = \"chain\"\nkernel = \"metropolis\"\nsweeps = 5\nruns = 2\ntau = [0.1, 1.0]\n";

/// Keys with several types, by the reason.
const EXCEPTIONS: [(&str, &[&str]); 10] = [
    (
        "`parity` has a list of each quantity, with a number for each temperature (the contract's form)",
        &[
            "tau",
            "log_z",
            "mean_reward",
            "free_energy",
            "entropy",
            "rlvr_loss",
            "rlvr_reward",
        ],
    ),
    (
        "an estimate of `family` and `overlap` is an object with its error, the exact value a number; \
         `reproduce` has exact values as texts",
        &["e_win", "e_tie", "windowed", "tied", "exact"],
    ),
    (
        "exact fractions and counts of codes are strings, floats and small counts are numbers: the \
         contract's forms of `eval` and `density`, `cells` and `enumerate`; barriers of networks and losses \
         of training are floats",
        &["reward", "count", "optimal", "barrier", "loss"],
    ),
    (
        "the things themselves where a report is about them, how many there are elsewhere",
        &[
            "cells", "codes", "runs", "moves", "networks", "points", "rows", "steps", "windows",
        ],
    ),
    (
        "`certify` numbers its codes, `law` and `benign` print one (the contract's form); `law` counts what is \
         ignored, `inspect` lists it",
        &["code", "ignored"],
    ),
    (
        "a move of a code is between tokens, of a policy between rows",
        &["from", "to"],
    ),
    (
        "the leaves of a tree are numbered, the id of a study's run is that of its record",
        &["id"],
    ),
    (
        "the class of a report is an object, the classes of a study have ids; a law is a word or an object",
        &["class", "class.inputs"],
    ),
    (
        "`check` and `inspect` answer yes or no; `train` has the longest length that holds and the sampled \
         accuracy, as committed records have",
        &["holds", "sampled"],
    ),
    (
        "one remembered token is itself, several are a list (the contract's form)",
        &["y"],
    ),
];

/// The type of a value; none of null and of an empty list, which fit every type.
fn kind(value: &Value) -> Option<String> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(_) => "flag".to_owned(),
        Value::Number(_) => "number".to_owned(),
        Value::String(_) => "text".to_owned(),
        Value::Object(_) => "object".to_owned(),
        Value::Array(items) => {
            let kinds: BTreeSet<String> = items.iter().filter_map(kind).collect();
            let kinds: Vec<String> = kinds.into_iter().collect();
            match kinds.is_empty() {
                true => return None,
                false => format!("[{}]", kinds.join("|")),
            }
        }
    })
}

/// By key and type: the runs that have it.
type Found = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

/// Objects whose keys are names of their own: flags, and the class as files have it. `within` is the one
/// that a value is in, or nothing.
const NAMESPACES: [&str; 2] = ["settings", "class"];

fn collect(value: &Value, within: &str, run: &str, found: &mut Found) {
    match value {
        Value::Array(items) => {
            for item in items {
                collect(item, within, run, found);
            }
        }
        Value::Object(fields) => {
            for (key, value) in fields {
                let mut kind = kind(value);
                if within == "settings" {
                    // A setting is one value, or a list of several.
                    kind = kind.map(|kind| kind.trim_matches(['[', ']']).to_owned());
                }
                let name = match within {
                    "" => key.clone(),
                    within => format!("{within}.{key}"),
                };
                if let Some(kind) = kind {
                    let kinds = found.entry(name).or_default();
                    kinds.entry(kind).or_default().insert(run.to_owned());
                }
                let inner = NAMESPACES.iter().find(|name| *name == key);
                let inner = if within.is_empty() {
                    inner.copied()
                } else {
                    None
                };
                collect(value, inner.unwrap_or(within), run, found);
            }
        }
        _ => {}
    }
}

/// A directory with the files that the runs read.
pub fn scratch() -> Scratch {
    let scratch = Scratch::new();
    let task = scratch.run(&words("task --task z:3 --json"));
    scratch.file("task.json", task.success());
    scratch.file("study.toml", STUDY);
    scratch.file("code.json", "{\"actions\":[0,1,0,1,1,0,0,1,1,0,0,1,1,0]}");
    scratch.file("plain.json", "{\"actions\":[0,1,0,0,1,0,0,1,1,0,1,1,1,0]}");
    let traps = "enumerate --task parity --lengths 4 --inputs markov:9/10 --traps trap.json";
    scratch.run(&words(traps)).success();
    scratch
}

/// The runs above, and the examples of all other commands.
fn runs(scratch: &Scratch) -> Vec<String> {
    let mut runs: Vec<String> = RUNS.map(str::to_owned).into();
    let commands = commands(scratch);
    assert!(commands.len() > 30, "{commands:?}");
    for command in &commands {
        let listed = RUNS.iter().any(|run| words(run)[0] == command);
        let name = &command[..];
        if !listed && !WITHOUT_REPORT.contains(&name) && !ELSEWHERE.contains(&name) {
            let calls = examples(scratch, name);
            let calls = calls.iter().map(|call| call.trim_end_matches(" --json"));
            let own: Vec<&str> = calls
                .filter_map(|call| call.strip_prefix("foldglass "))
                .collect();
            assert!(!own.is_empty(), "{command} has no example to run");
            runs.extend(own.into_iter().map(str::to_owned));
        }
    }
    runs
}

#[test]
fn a_key_has_one_type_in_all_commands_and_outputs_fit_their_schemas() {
    let scratch = scratch();
    let (schemas, mut unfit) = (Schemas::new(), String::new());
    let mut found = Found::new();
    for run in &runs(&scratch) {
        let report = scratch.json(&words(run));
        for key in ["seed", "version", "command", "settings"] {
            assert!(!report[key].is_null(), "{run}: no {key}");
        }
        unfit += &schemas.check_command(words(run)[0], &report);
        collect(&report, "", run, &mut found);
    }
    for (format, file) in FILES {
        unfit += &schemas.check_file(format, &scratch.path().join(file));
    }
    assert!(unfit.is_empty(), "not as docs/schemas says:\n{unfit}");
    let mixed = found.iter().filter(|(_, kinds)| kinds.len() > 1);
    let exceptions = || EXCEPTIONS.iter().flat_map(|(_, keys)| *keys);
    let excepted = |key: &str| exceptions().any(|name| *name == key);
    let mut told = String::new();
    for (key, kinds) in mixed.filter(|(key, _)| !excepted(key)) {
        told += &format!("{key}:\n");
        for (kind, runs) in kinds {
            let runs: Vec<&str> = runs.iter().map(|run| &run[..]).collect();
            told += &format!("  {kind} in {}\n", runs.join("; "));
        }
    }
    assert!(told.is_empty(), "keys of several types:\n{told}");
    for key in exceptions() {
        assert!(
            found.get(*key).is_some_and(|kinds| kinds.len() > 1),
            "{key} has one type: it is not an exception"
        );
    }
}
