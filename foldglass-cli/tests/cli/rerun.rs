//! Repeats commands by `rerun` from what they printed under `--json`.

use serde_json::{Value, json};

use crate::contract::{RUNS, scratch};
use crate::mistakes::refuses;
use crate::support::{Scratch, words};

/// Runs of every family of commands: they read files, write files, have defaults that depend on other flags.
const REPEATED: [&str; 14] = [
    "task --task random:4",
    "gauge --code code.json --task parity --lengths 4 --inputs markov:9/10 --out coded.json",
    "eval --code coded.json",
    "cavi --task z:3 --lengths 3 --tau 0.1 --iterations 5 --runs 2 --rule gradient:1 --policies policies.jsonl",
    "reinforce --estimator grpo:2 --batch 8 --updates 3 --learning-rate 1 --task parity --lengths 2,3 --curriculum",
    "cavi --start policies.jsonl#1 --tau 0 --iterations 5 --quench 2,1e-3 --seed 7",
    "chain --task parity --lengths 4 --window 1,0 --kernel heat-bath --tau 0.1 --sweeps 40 --runs 2 --seed 3",
    "certify --code coded.json --code trap.json --barrier --out verdict.json",
    "law lengths --lengths 2,3,4 --length-weights 1,2,4",
    "free-energy --task parity --lengths 3 --tau 0.1,0.2 --learning 2000 --sweeps 2000 --runs 2",
    "train --task parity --init 02 --backend cpu --width 16 --heads 2 --mlp 16 --vocabulary 3 --longest 2 \
     --gate-samples 32 --test-inputs 50 --batch 32 --steps 20 --weights nets",
    "run study.toml",
    "collect done",
    "summary done",
];

/// Runs a command, keeps what it prints as `out.json`, and gives what `rerun` says of that.
fn rerun(scratch: &Scratch, run: &str) -> Value {
    let printed = scratch.run(&[&words(run)[..], &["--json"]].concat());
    scratch.file("out.json", printed.success());
    scratch.json(&words("rerun out.json"))
}

fn repeats(scratch: &Scratch, run: &str) {
    let again = rerun(scratch, run);
    assert_eq!(again["same"], true, "{run}: {}", again["difference"]);
    assert_eq!(again["files_read"].as_object().unwrap().len(), 1);
}

#[test]
fn the_same_comes_out_again() {
    let scratch = scratch();
    for run in REPEATED {
        repeats(&scratch, run);
    }
}

mod full {
    use super::*;

    #[test]
    fn every_output_of_the_contract_comes_out_again() {
        let scratch = scratch();
        for run in RUNS {
            repeats(&scratch, run);
        }
    }
}

/// A chain's output as a program reads it.
fn chain(scratch: &Scratch) -> Value {
    scratch.json(&words(
        "chain --task z:3 --lengths 3 --tau 0.1 --sweeps 20 --runs 2",
    ))
}

#[test]
fn a_forged_number_is_found() {
    let scratch = Scratch::new();
    let mut output = chain(&scratch);
    let last = output["chains"][1]["actions"].as_array().unwrap().len() - 1;
    output["chains"][1]["actions"][last] = json!(7);
    scratch.file("out.json", &output.to_string());
    let run = scratch.run(&words("rerun out.json"));
    assert_eq!((run.code, &run.text[..]), (Some(1), ""));
    let place = format!("chains[1].actions[{last}] is 7 in the file, and ");
    assert!(run.errors.contains(&place), "{}", run.errors);
    let said = scratch.run(&words("rerun out.json --json"));
    let said: Value = serde_json::from_str(&said.text).unwrap();
    assert_eq!(said["difference"]["recorded"], "7");
    // Another seed: the first number that differs is named.
    let mut output = chain(&scratch);
    output["seed"] = json!(1);
    scratch.file("out.json", &output.to_string());
    let run = scratch.run(&words("rerun out.json"));
    assert_eq!(run.code, Some(1));
    assert!(run.errors.contains("chains[0]."), "{}", run.errors);
}

#[test]
fn a_changed_input_is_named_and_so_is_a_missing_one() {
    let scratch = scratch();
    let call = "certify --code trap.json --code coded.json --json";
    let make =
        "gauge --code code.json --task parity --lengths 4 --inputs markov:9/10 --out coded.json";
    scratch.run(&words(make)).success();
    let printed = scratch.run(&words(call));
    scratch.file("out.json", printed.success());
    let output: Value = serde_json::from_str(&printed.text).unwrap();
    let read: Vec<&String> = output["files_read"].as_object().unwrap().keys().collect();
    assert_eq!(read, ["coded.json", "trap.json"]);
    // One byte more, which no number depends on.
    scratch.file("coded.json", &format!("{}\n", scratch.read("coded.json")));
    let run = scratch.run(&words("rerun out.json"));
    assert_eq!(run.code, Some(1));
    assert!(
        run.errors.contains("coded.json has changed"),
        "{}",
        run.errors
    );
    assert!(!run.errors.contains("trap.json"), "{}", run.errors);
    std::fs::remove_file(scratch.path().join("trap.json")).unwrap();
    let run = scratch.run(&words("rerun out.json"));
    assert_eq!(run.code, Some(1));
    assert!(
        run.errors.contains("trap.json is missing"),
        "{}",
        run.errors
    );
}

#[test]
fn what_a_command_wrote_stays_as_it_is() {
    let scratch = scratch();
    let before = std::env::temp_dir().read_dir().unwrap().count();
    let run = "law traps --lengths 6 --inputs markov:9/10 --out law.json";
    scratch.file(
        "out.json",
        scratch.run(&words(&format!("{run} --json"))).success(),
    );
    scratch.file("law.json", "mine");
    assert_eq!(scratch.json(&words("rerun out.json"))["same"], true);
    assert_eq!(scratch.read("law.json"), "mine");
    let run = "run study.toml --out here/records";
    repeats(&scratch, run);
    std::fs::remove_dir_all(scratch.path().join("here")).unwrap();
    assert_eq!(scratch.json(&words("rerun out.json"))["same"], true);
    assert!(!scratch.path().join("here").exists());
    let left = std::env::temp_dir().read_dir().unwrap().flatten();
    let own = |name: String| name.starts_with("foldglass-rerun-");
    let left = left.filter(|entry| own(entry.file_name().to_string_lossy().into_owned()));
    assert!(left.count() <= before, "a directory was left behind");
}

#[test]
fn stdin_is_repeated_where_it_is_given_again() {
    let scratch = scratch();
    let code = scratch.read("trap.json");
    let printed = scratch.run_with_stdin(&words("certify --code - --json"), &code);
    scratch.file("out.json", printed.success());
    let again = scratch.run_with_stdin(&words("rerun out.json --json"), &code);
    assert_eq!(again.json()["same"], true);
    let other = scratch.run_with_stdin(&words("rerun out.json"), &format!("{code} "));
    assert_eq!(other.code, Some(1));
    assert!(other.errors.contains("files_read.-"), "{}", other.errors);
}

#[test]
fn a_file_without_its_call_is_refused_with_what_is_missing() {
    let scratch = Scratch::new();
    let mut output = chain(&scratch);
    output.as_object_mut().unwrap().remove("files_read");
    scratch.file("old.json", &output.to_string());
    refuses(
        &scratch,
        "rerun old.json",
        &["old.json", "`files_read`", "--json"],
    );
    scratch.file("code.json", "{\"actions\":[0]}");
    refuses(&scratch, "rerun code.json", &["`command`", "`settings`"]);
    scratch.file("text", "hello");
    refuses(&scratch, "rerun text", &["text"]);
    refuses(&scratch, "rerun none.json", &["none.json"]);
    let mut output = chain(&scratch);
    output["settings"]["colour"] = json!("red");
    scratch.file("later.json", &output.to_string());
    refuses(&scratch, "rerun later.json", &["`colour`", "`chain`"]);
    let mut output = chain(&scratch);
    output["interrupted"] = json!(true);
    scratch.file("half.json", &output.to_string());
    refuses(&scratch, "rerun half.json", &["stopped"]);
}
