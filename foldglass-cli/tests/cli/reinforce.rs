//! Holds `reinforce` to its form, its refusals and outcomes that are known.

use std::time::Duration;

use serde_json::{Value, json};

use crate::mistakes::refuses;
use crate::support::{Scratch, words};

const SMALL: &str = "reinforce --estimator rloo:3 --batch 20 --updates 30 --learning-rate 1 --runs 5 --task z:3 --lengths 3";

fn runs(scratch: &Scratch, line: &str) -> Vec<Value> {
    let found = scratch.report(&words(line));
    found["runs"].as_array().unwrap().clone()
}

#[test]
fn the_json_has_the_form_of_the_contract_and_exact_rewards() {
    let scratch = Scratch::new();
    let line = format!(
        "{SMALL} --keep-code --policies reached.jsonl --record curve.jsonl --record-every 10"
    );
    let found = scratch.json(&words(&line));
    for (key, value) in [
        ("estimator", json!("rloo:3")),
        ("batch", json!(20)),
        ("optimizer", json!("sgd")),
    ] {
        assert_eq!(found["settings"][key], value, "{key}");
    }
    let runs = found["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 5);
    let curve = scratch.read("curve.jsonl");
    for ((n, run), line) in (0..).zip(runs).zip(curve.lines()) {
        assert_eq!(run["run"], n);
        // J of the policy that was written, and of its greedy code, by `eval`.
        let reached = scratch.json(&words(&format!("eval --policy reached.jsonl#{n}")));
        assert_eq!(reached["reward"], run["expected_reward"]);
        scratch.file(
            "code.json",
            &json!({ "actions": run["greedy"] }).to_string(),
        );
        let greedy = scratch.json(&words("eval --code code.json --task z:3 --lengths 3"));
        assert_eq!(greedy["reward_exact"], run["greedy_exact"]);
        assert_eq!(greedy["reward"], run["greedy_reward"]);
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!((&line["run"], &line["every"]), (&json!(n), &json!(10)));
        for (list, last) in [
            ("rewards", "expected_reward"),
            ("greedy_rewards", "greedy_reward"),
        ] {
            let list = line[list].as_array().unwrap();
            assert_eq!((list.len(), &list[3]), (4, &run[last]));
        }
    }
}

#[test]
fn the_output_depends_on_the_seed_and_not_on_threads_or_other_runs() {
    let scratch = Scratch::new();
    let hot = " --tau 0.1 --convention occupancy --optimizer adam --epochs 2 --clip 0.1";
    for flags in ["", hot, " --window 1,1 --tied"] {
        let on = |rest: &str| runs(&scratch, &format!("{SMALL}{flags}{rest}"));
        let one = on(" --threads 1");
        assert_eq!(one, on(" --threads 3"), "{flags}");
        assert_ne!(one, on(" --seed 1"), "{flags}");
        let few = runs(
            &scratch,
            &format!("{SMALL}{flags}").replace("--runs 5", "--runs 2"),
        );
        assert_eq!(few[..], one[..2], "{flags}");
    }
}

#[test]
fn sampled_training_solves_short_parity_and_a_curriculum_longer_ones() {
    let scratch = Scratch::new();
    let solved = |line: &str| {
        let all = runs(&scratch, line);
        all.iter()
            .filter(|run| run["greedy_exact"] == "1/1")
            .count()
    };
    let short = "reinforce --estimator batch-mean --batch 256 --updates 400 --learning-rate 5 --runs 6 --task parity";
    assert_eq!(solved(&format!("{short} --lengths 2")), 6);
    let steps = format!("{short} --lengths 1,2,3,4 --curriculum --gate-every 5");
    assert_eq!(solved(&steps), 6);
    assert!(
        runs(&scratch, &steps)
            .iter()
            .all(|run| run["lengths_open"] == 4)
    );
}

/// One number of a seed, so that a change of the draws is seen.
#[test]
fn a_seed_gives_the_number_it_gave() {
    let scratch = Scratch::new();
    let found = runs(&scratch, SMALL);
    let rewards: Vec<String> = found
        .iter()
        .map(|run| format!("{:.9}", run["expected_reward"].as_f64().unwrap()))
        .collect();
    assert_eq!(rewards, GOLDEN);
}

const GOLDEN: [&str; 5] = [
    "0.334054753",
    "0.327959662",
    "0.337771510",
    "0.332740359",
    "0.334721481",
];

#[test]
fn a_study_of_it_killed_and_resumed_ends_as_if_undisturbed() {
    let scratch = Scratch::new();
    let study = |name: &str| {
        format!(
            "name = \"{name}\"\n[[class]]\ntask = \"quasigroup\"\nlengths = [2, 4]\n[[dynamics]]\nkind = \"reinforce\"\n\
             estimator = \"grpo:4\"\nlearning_rate = 0.1\noptimizer = \"adam\"\nbatch = 64\nupdates = 1500\nruns = 2\n\
             record_every = 50\nkeep_policy = true\ncurriculum = true\n[dynamics.grid]\ntau = [0.0, 0.01]\n"
        )
    };
    scratch.file("whole.toml", &study("same"));
    let lines = |out: &str| {
        let collect = ["collect", out, "--table", "t.jsonl"];
        scratch.run(&collect).success();
        scratch.read("t.jsonl")
    };
    scratch
        .run(&words("run whole.toml --out whole --threads 1"))
        .success();
    let whole = lines("whole");
    let line = words("run whole.toml --out parts --threads 2 --checkpoint-every 0.05");
    for after in [150, 300, 450] {
        let stopped = scratch.run_and_interrupt(&line, Duration::from_millis(after));
        assert!(
            [Some(0), Some(130)].contains(&stopped.code),
            "{}",
            stopped.errors
        );
    }
    scratch.run(&line).success();
    assert_eq!(lines("parts"), whole);
    for part in ["1/2", "2/2"] {
        let line = format!("run whole.toml --out shard-{} --shard {part}", &part[..1]);
        scratch.run(&words(&line)).success();
    }
    scratch
        .run(&words("collect shard-1 shard-2 --table t.jsonl"))
        .success();
    assert_eq!(scratch.read("t.jsonl"), whole);
}

#[test]
fn a_prior_holds_policies_and_a_start_is_where_runs_begin() {
    let scratch = Scratch::new();
    let cells = scratch.json(&words("cells --task parity --lengths 2"))["count"]
        .as_u64()
        .unwrap();
    let rows = vec![[0.9, 0.1]; cells as usize];
    scratch.file("prior.json", &json!({ "rows": rows }).to_string());
    let class = "--task parity --lengths 2";
    let line =
        format!("reinforce --estimator batch-mean --learning-rate 0.1 {class} --policies p.jsonl");
    scratch
        .run(&words(&format!("{line} --updates 0 --start prior.json")))
        .success();
    let start: Value = serde_json::from_str(&scratch.read("p.jsonl")).unwrap();
    let first = |policy: &Value| policy["rows"][0][0].as_f64().unwrap();
    assert!((first(&start) - 0.9).abs() < 1e-12);
    scratch
        .run(&words(&format!(
            "{line} --updates 500 --tau 20 --prior prior.json"
        )))
        .success();
    let held: Value = serde_json::from_str(&scratch.read("p.jsonl")).unwrap();
    assert!((first(&held) - 0.9).abs() < 0.03, "{held}");
}

#[test]
fn an_objective_is_ascended_and_its_exact_value_reported() {
    let scratch = Scratch::new();
    let line = format!("{SMALL} --objective maxrl:3 --policies reached.jsonl");
    let found = scratch.json(&words(&line));
    assert_eq!(found["settings"]["objective"], "maxrl:3");
    let eval = "eval --policy reached.jsonl#4 --objective maxrl:3";
    let exact = scratch.json(&words(eval));
    assert_eq!(found["runs"][4]["objective"], exact["objective"]);
    // maxrl:1 is J, and the estimate of grpo-std is grpo:G itself.
    let plain = runs(&scratch, SMALL);
    assert_ne!(
        found["runs"][4]["expected_reward"],
        plain[4]["expected_reward"]
    );
    let first = runs(&scratch, &format!("{SMALL} --objective maxrl:1"));
    assert_eq!(first[4]["expected_reward"], plain[4]["expected_reward"]);
    let group = SMALL.replace("rloo:3", "grpo:3");
    let (with, without) = (format!("{group} --objective grpo-std"), &group);
    let reward = |line: &str| runs(&scratch, line)[0]["expected_reward"].clone();
    assert_eq!(reward(&with), reward(without));
}

#[test]
fn mistakes_are_refused_by_name() {
    let scratch = Scratch::new();
    let class = "--task parity --lengths 2";
    let good = format!("reinforce --estimator rloo:2 --learning-rate 1 --updates 2 {class}");
    scratch.run(&words(&good)).success();
    for (flags, said) in [
        ("--batch 0", &["--batch 0", "at least 1"][..]),
        ("--batch 2.5", &["--batch"]),
        ("--updates -1", &["--updates"]),
        ("--optimizer lbfgs", &["--optimizer", "sgd"]),
        ("--epochs 0", &["--epochs 0"]),
        ("--clip 0.2", &["clip", "epochs", "2 or more"]),
        ("--clip 0", &["--clip 0", "above 0"]),
        ("--tau -1", &["--tau -1"]),
        ("--convention both", &["--convention", "occupancy"]),
        ("--init normal", &["--init"]),
        (
            "--convention occupancy",
            &["--convention", "--tau 0", "larger than 0"],
        ),
        ("--curriculum", &["--curriculum", "one length"]),
        ("--gate-every 5", &["--gate-every", "--curriculum"]),
        ("--record-every 5", &["--record-every", "--record"]),
        ("--start none.json", &["none.json"]),
        ("--objective pass@3", &["--objective", "rloo:2", "rloo:3"]),
        ("--objective grpo-std", &["--objective", "grpo:G"]),
        ("--objective pass", &["--objective", "pass@K"]),
    ] {
        refuses(&scratch, &format!("{good} {flags}"), said);
    }
    // What would have no part in the run, or would train nothing.
    scratch.file(
        "start.json",
        &json!({ "rows": vec![[0.5, 0.5]; 6] }).to_string(),
    );
    let both = format!("{good} --start start.json --init dirichlet:1");
    refuses(&scratch, &both, &["--init", "--start"]);
    let alone = good.replace("rloo:2", "batch-mean") + " --batch 1";
    refuses(&scratch, &alone, &["batch-mean", "advantage is 0"]);
    for name in ["rloo:1", "grpo:1", "dr-grpo:1"] {
        let line = good.replace("rloo:2", name);
        refuses(
            &scratch,
            &line,
            &["--estimator", name, "group of one rollout"],
        );
    }
    refuses(
        &scratch,
        &good.replace("rloo:2", "ppo"),
        &["--estimator", "rloo:G"],
    );
    refuses(
        &scratch,
        &good.replace("rate 1", "rate 0"),
        &["--learning-rate 0", "above 0"],
    );
    refuses(
        &scratch,
        &format!("reinforce --learning-rate 1 {class}"),
        &["--estimator is missing"],
    );
    refuses(
        &scratch,
        &format!("reinforce --estimator reinforce {class}"),
        &["--learning-rate is missing"],
    );
    refuses(
        &scratch,
        &format!("{good} --batch 4000000000"),
        &["needs", "are allowed"],
    );
}

#[test]
fn a_prior_without_a_coefficient_is_refused() {
    let scratch = Scratch::new();
    let rows = vec![[0.5, 0.25, 0.25]; 21];
    scratch.file("prior.json", &json!({ "rows": rows }).to_string());
    let line = "reinforce --estimator rloo:3 --learning-rate 1 --task z:3 --lengths 3 --updates 1 --prior prior.json";
    let run = scratch.run(&words(line));
    assert_eq!(run.code, Some(2));
    assert!(
        run.errors.contains("prior") && run.errors.contains("tau"),
        "{}",
        run.errors
    );
    scratch.run(&words(&format!("{line} --tau 0.1"))).success();
}

#[test]
fn the_objective_stands_in_text_and_tables_or_is_said_to_be_out_of_reach() {
    let scratch = Scratch::new();
    let line = "reinforce --estimator rloo:3 --objective pass@3 --batch 20 --updates 30 --learning-rate 1 --runs 2 \
                --task z:3 --lengths 3";
    let found = scratch.json(&words(line));
    let value = found["runs"][1]["objective"].as_f64().unwrap();
    let text = scratch.run(&words(line)).success().to_owned();
    assert!(text.contains("pass@3, exact"), "{text}");
    let csv = scratch
        .run(&words(&format!("{line} --format csv")))
        .success()
        .to_owned();
    let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines[0][2], "pass_3");
    let listed: f64 = lines[2][2].parse().unwrap();
    assert!((listed - value).abs() < 1e-12, "{csv} {value}");
    let long = "reinforce --estimator rloo:30 --objective pass@30 --batch 2 --updates 1 --learning-rate 1 --task quasigroup \
                --lengths 40";
    let found = scratch.json(&words(long));
    assert_eq!(found["runs"][0].get("objective"), Some(&Value::Null));
    let text = scratch.run(&words(long)).success().to_owned();
    assert!(text.contains("pass@30 is not computed"), "{text}");
}
