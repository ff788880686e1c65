//! Distils codes, follows a path, and reads networks back as codes that other commands take.

use std::time::Duration;

use serde_json::Value;

use crate::support::{Scratch, words};

/// A network that learns tiny codes in a second.
const SMALL: &str = "--backend cpu --width 64 --mlp 128 --vocabulary 4 --batch 64 \
                     --learning-rate 1e-3";

fn flags<'a>(command: &'a str, more: &'a str) -> Vec<&'a str> {
    [words(command), words(SMALL), words(more)].concat()
}

const DISTILL: &str = "distill --task parity --lengths 2 --runs 2 --compare-every 50 --target 1 \
                       --held-out 100 --steps 4000 --weights nets";

#[test]
fn a_distilled_code_is_read_back_and_taken_by_other_commands() {
    let scratch = Scratch::new();
    let report = scratch.json(&flags(DISTILL, ""));
    let networks = report["networks"].as_array().unwrap();
    assert_eq!((networks.len(), &report["cells"]), (2, &6.into()));
    for network in networks {
        let curve = network["curve"].as_array().unwrap();
        assert_eq!(
            (&network["done"], &network["agreement"]),
            (&true.into(), &1.0.into())
        );
        assert_eq!(curve.len() as u64 * 50, network["steps"].as_u64().unwrap());
        let file = network["weights"].as_str().unwrap();
        let class = "--task parity --lengths 2 --backend cpu --out code.json --weights";
        let read = scratch.json(&[&["read-back"], &words(class)[..], &[file]].concat());
        // On the windows of its teacher the network is a code, and earns what the teacher does.
        assert_eq!(read["agreement"], 1.0);
        assert_eq!(read["reward_exact"], network["reward_exact"]);
        assert_eq!(read["network_reward_exact"], network["reward_exact"]);
        assert_eq!(read["trained_steps"], network["steps"]);
        let eval = scratch.json(&words("eval --code code.json"));
        assert_eq!(eval["reward_exact"], network["reward_exact"]);
        let certified = scratch.json(&words("certify --code code.json"));
        assert_eq!(
            certified["verdicts"][0]["reward_exact"],
            network["reward_exact"]
        );
        // The report itself is a code file.
        scratch.file("report.json", &read.to_string());
        let again = scratch.json(&words("eval --code report.json"));
        assert_eq!(again["reward_exact"], network["reward_exact"]);
    }
}

/// Catches a network that takes the table for a Latin square: its reward would not be that of the code.
#[test]
fn networks_learn_tables_that_are_not_latin_squares() {
    let scratch = Scratch::new();
    scratch.file("own.json", "{\"actions\":[0,1,0,1,1,1]}");
    let distill = DISTILL
        .replace("parity", "max:2")
        .replace("--runs 2", "--code own.json");
    let taught = scratch.json(&flags(&distill, ""));
    let network = &taught["networks"][0];
    assert_eq!(
        (&network["agreement"], &network["reward_exact"]),
        (&1.0.into(), &"1/1".into())
    );
    let train = "train --task max:2 --steps 20 --longest 2 --gate-samples 32 --test-inputs 20 \
                 --weights trained";
    let trained = scratch.json(&flags(train, "--layout causal"));
    let files = [network, &trained["models"][0]].map(|model| model["weights"].as_str().unwrap());
    for (file, window) in files.iter().zip(["0,0", "1,1"]) {
        let class = format!("--task max:2 --lengths 2 --window {window} --backend cpu --weights");
        let read = scratch.json(&[&["read-back"], &words(&class)[..], &[file]].concat());
        assert_eq!(read["agreement"], 1.0);
        assert_eq!(read["network_reward_exact"], read["reward_exact"]);
    }
    let parity = "read-back --task parity --lengths 2 --backend cpu --weights";
    let refused = scratch.run(&[&words(parity)[..], &[files[0]]].concat());
    assert!(
        refused.errors.contains("another multiplication table"),
        "{}",
        refused.errors
    );
    let barrier = "barrier --task max:2 --lengths 2 --compare-every 20 --points 3 --codes 2";
    scratch.run(&flags(barrier, "")).success();
}

/// Inputs that teach are uniform whatever the law: the networks are those of the uniform law.
#[test]
fn a_code_of_correlated_inputs_is_taught_as_one_of_uniform_inputs() {
    let scratch = Scratch::new();
    scratch.file("own.json", "{\"actions\":[0,1,0,1,0,0]}");
    let little = DISTILL
        .replace("4000", "50")
        .replace("--target 1", "--target 0")
        .replace(" --weights nets", "");
    let plain = scratch.json(&flags(&little, "--code own.json"));
    let skewed = scratch.json(&flags(&little, "--code own.json --inputs markov:9/10"));
    for (plain, skewed) in
        (plain["networks"].as_array().unwrap().iter()).zip(skewed["networks"].as_array().unwrap())
    {
        assert_eq!(plain["curve"], skewed["curve"]);
        assert_eq!(
            (&plain["reward_exact"], &skewed["reward_exact"]),
            // Wrong on 0,1 alone, whose probability is 1/4 and 1/2 * 1/10.
            (&"3/4".into(), &"19/20".into())
        );
    }
    let refused = scratch.run(&flags(&little, "--window 1,0 --inputs markov:0"));
    assert_eq!(refused.code, Some(2));
    let said = "the window 0,0 of step 2 never occurs";
    assert!(refused.errors.contains(said), "{}", refused.errors);
    let refused = scratch.run(&flags(BARRIER, "--inputs markov:9/10"));
    assert_eq!(refused.code, Some(2));
    let said = "--inputs: escape paths are followed under uniform inputs";
    assert!(refused.errors.contains(said), "{}", refused.errors);
}

#[test]
fn a_code_of_a_file_teaches_all_networks() {
    let scratch = Scratch::new();
    scratch.file("own.json", "{\"actions\":[0,1,0,1,1,0]}");
    let little = DISTILL
        .replace("4000", "50")
        .replace("--target 1", "--target 0");
    let report = scratch.json(&flags(&little, "--code own.json"));
    for network in report["networks"].as_array().unwrap() {
        assert_eq!(network["reward_exact"], "1/1");
        assert_eq!(
            (&network["steps"], &network["done"]),
            (&50.into(), &true.into())
        );
    }
}

#[test]
fn a_trained_network_is_read_back() {
    let scratch = Scratch::new();
    let train = "train --task parity --steps 20 --longest 3 --gate-samples 32 --test-inputs 20 \
                 --weights nets";
    let trained = scratch.json(&flags(train, "--layout causal"));
    let file = trained["models"][0]["weights"].as_str().unwrap();
    let read =
        |more: &str| scratch.run(&[&["read-back", "--weights", file], &words(more)[..]].concat());
    let wide = read("--task parity --lengths 2 --window 1,1 --json").json();
    // A window over everything that the network sees explains all of it; a narrow one less.
    assert_eq!(wide["agreement"], 1.0);
    assert_eq!(
        (&wide["inputs"], &wide["agreement_exact"]),
        (&4.into(), &"1/1".into())
    );
    let narrow = read("--task parity --lengths 2,3 --tied --json").json();
    assert!(narrow["agreement"].as_f64().unwrap() <= 1.0);
    assert!(narrow["network_reward_exact"].is_string());
    // Under another law network and code have another reward, and still the same one.
    let skewed = read("--task parity --lengths 2 --window 1,1 --inputs markov:9/10 --json").json();
    assert_eq!(skewed["actions"], wide["actions"]);
    assert_eq!(skewed["agreement_exact"], "1/1");
    assert_eq!(skewed["network_reward_exact"], skewed["reward_exact"]);
    for (more, said) in [
        ("--task parity --lengths 4", "lengths up to 3"),
        ("--task z:3 --lengths 2", "another multiplication table"),
        (
            "--task parity --lengths 2 --width 16",
            "needed: F32 of sizes",
        ),
        (
            "--task parity --lengths 2 --window 1,0 --inputs markov:1",
            "--inputs: the window 0,1 of step 2 never occurs",
        ),
        ("--lengths 2", "--task"),
    ] {
        let refused = read(more);
        assert_eq!(refused.code, Some(2), "{more}: {}", refused.errors);
        assert!(refused.errors.contains(said), "{more}: {}", refused.errors);
    }
    scratch.file("text.json", "no network");
    let refused = scratch.run(&words(
        "read-back --task parity --lengths 2 --weights text.json",
    ));
    assert!(refused.errors.contains("safetensors"), "{}", refused.errors);
}

/// The reading of tab:escape (docs/errata.md) is 65 points a line.
#[test]
fn a_line_between_networks_has_the_points_of_the_papers_table() {
    let help = Scratch::new().run(&["barrier", "--help"]);
    let (_, points) = help.success().split_once("--points <N>").unwrap();
    let (points, _) = points.split_once("--max-proposals").unwrap();
    let points: Vec<&str> = points.split_whitespace().collect();
    assert!(points.ends_with(&["[default:", "65]"]), "{points:?}");
}

const BARRIER: &str = "barrier --task parity --lengths 3 --codes 3 --points 9 --compare-every 20";

#[test]
fn a_path_is_followed_and_its_lines_are_counted() {
    let scratch = Scratch::new();
    let report = scratch.json(&flags(BARRIER, ""));
    assert_eq!(
        (&report["inputs"], &report["points"]),
        (&8.into(), &9.into())
    );
    let stretches = report["stretches"].as_array().unwrap();
    assert_eq!(stretches.len(), 3);
    let right = |line: &Value| -> Vec<u64> {
        let counts = line["right"].as_array().unwrap();
        counts.iter().map(|n| n.as_u64().unwrap()).collect()
    };
    for stretch in stretches {
        let lines = stretch["lines"].as_array().unwrap();
        assert_eq!((lines.len(), &stretch["networks"]), (2, &3.into()));
        for line in lines {
            let counts = right(line);
            let lower = counts[0].min(counts[8]);
            let least = *counts.iter().min().unwrap();
            assert_eq!(line["barrier"], lower - least, "{counts:?}");
        }
    }
    // The path ends at reward 1, and its last network reproduces the last code on every input.
    assert_eq!(right(&stretches[2]["lines"][1])[8], 8);
    let many = BARRIER.replace("--codes 3", "--codes 1000");
    for (command, more, code, said) in [
        (BARRIER, "--tied", 2, "untied"),
        (&many, "", 2, "--codes 1000"),
        (BARRIER, "--proposals 1 --chains 2", 1, "none of 2 chains"),
        (BARRIER, "--steps 20", 1, "more --steps"),
    ] {
        let refused = scratch.run(&flags(command, more));
        assert_eq!(refused.code, Some(code), "{more}: {}", refused.errors);
        assert!(refused.errors.contains(said), "{more}: {}", refused.errors);
    }
}

mod full {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn networks_that_were_stopped_go_on_to_the_same_bytes() {
        // A target that is never met, and exactness asked seldom: stops fall between two looks.
        let distill = "distill --task parity --lengths 3 --runs 2 --compare-every 400 --target 1 \
                   --held-out 100 --steps 800 --checkpoint-every 0.001 --out run";
        let barrier = "--checkpoint-every 0.001 --out run";
        for (flags, lines, result) in [
            (flags(distill, ""), "run/curves.jsonl", "run/networks.json"),
            (
                flags(BARRIER, barrier),
                "run/networks.jsonl",
                "run/barriers.json",
            ),
        ] {
            let whole = Scratch::new();
            whole.json(&flags);
            let scratch = Scratch::new();
            let mut stops = 0;
            for pause in [150, 250, 400] {
                let run = scratch.run_and_interrupt(&flags, Duration::from_millis(pause));
                stops += usize::from(run.code == Some(130));
            }
            assert!(stops > 0, "{result}: it was stopped before its end");
            scratch.json(&flags);
            for file in [lines, result] {
                assert_eq!(scratch.read(file), whole.read(file), "{file}");
            }
            // What is done is not done again, and nothing else is taken for it.
            scratch.json(&flags);
            assert_eq!(scratch.read(result), whole.read(result));
            let other = [flags.clone(), words("--seed 9")].concat();
            let refused = scratch.run(&other);
            assert_eq!(refused.code, Some(2), "{}", refused.errors);
            assert!(refused.errors.contains("another run"), "{}", refused.errors);
        }
    }
}
