//! Holds `cavi` to its form, its refusals and outcomes that are known.

use serde_json::{Value, json};

use crate::mistakes::refuses;
use crate::support::{Scratch, words};

/// The runs that words split at spaces give.
fn runs(scratch: &Scratch, words: &str) -> Vec<Value> {
    let args: Vec<&str> = words.split(' ').collect();
    let found = scratch.report(&[&["cavi"], &args[..]].concat());
    let keys: Vec<&String> = found.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["runs"]);
    found["runs"].as_array().unwrap().clone()
}

fn mean(runs: &[Value], of: &str) -> f64 {
    let values = runs.iter().map(|run| run[of].as_f64().unwrap());
    values.sum::<f64>() / runs.len() as f64
}

const SMALL: &str = "--tau 1e-3 --iterations 40 --runs 11 --task z:3 --lengths 4";

#[test]
fn the_json_has_the_form_of_the_contract() {
    let scratch = Scratch::new();
    let keys = |run: &Value| -> Vec<String> {
        let mut keys: Vec<String> = run.as_object().unwrap().keys().cloned().collect();
        keys.sort_unstable();
        keys
    };
    let plain = runs(&scratch, SMALL);
    assert_eq!(plain.len(), 11);
    let fields = [
        "entropy",
        "expected_reward",
        "greedy_exact",
        "greedy_reward",
        "residual",
        "run",
    ];
    assert!(plain.iter().all(|run| keys(run) == fields));
    assert!((0..).zip(&plain).all(|(n, run)| run["run"] == n));
    assert_ne!(plain[0], plain[1]);
    assert_ne!(plain[0], plain[8]);
    let with_actions = runs(&scratch, &format!("{SMALL} --keep-code"));
    for (mut run, plain) in with_actions.into_iter().zip(plain) {
        let kept = run.as_object_mut().unwrap();
        assert!(kept.remove("greedy_ties").unwrap().is_u64());
        let greedy = kept.remove("greedy").unwrap();
        assert_eq!(run, plain);
        // The greedy code is scored as `eval` scores it.
        let code = json!({ "actions": greedy }).to_string();
        scratch.file("code.json", &code);
        let eval = [
            "eval",
            "--task",
            "z:3",
            "--lengths",
            "4",
            "--code",
            "code.json",
        ];
        let scored = scratch.json(&eval);
        assert_eq!(scored["reward_exact"], run["greedy_exact"]);
        assert_eq!(scored["reward"], run["greedy_reward"]);
    }
}

#[test]
fn the_output_does_not_depend_on_the_number_of_threads() {
    let scratch = Scratch::new();
    for flags in [
        "",
        " --window 0,1 --tied",
        " --rule gradient:1",
        " --resets 0.1,5,4 --quench 10,0",
    ] {
        let with = |threads| runs(&scratch, &format!("{SMALL}{flags} --threads {threads}"));
        assert_eq!(with(1), with(2), "{flags}");
        assert_eq!(with(1), with(5), "{flags}");
    }
}

#[test]
fn a_seed_gives_its_runs_again_and_another_seed_gives_others() {
    let scratch = Scratch::new();
    let seeded = |seed| runs(&scratch, &format!("{SMALL} --seed {seed}"));
    assert_eq!(seeded(1), seeded(1));
    assert_ne!(seeded(1), seeded(2));
    let few = runs(&scratch, &SMALL.replace("--runs 11", "--runs 3"));
    assert_eq!(few[..], runs(&scratch, SMALL)[..3]);
}

#[test]
fn an_ascent_raises_the_reward_and_lowers_the_entropy() {
    let scratch = Scratch::new();
    let words = "--task z:3 --lengths 3 --tau 1e-6 --runs 8 --iterations";
    let first = runs(&scratch, &format!("{words} 0"));
    let start = mean(&first, "expected_reward");
    assert!((0.2..0.5).contains(&start), "{start}");
    for rule in ["cavi", "gradient:5"] {
        let last = runs(&scratch, &format!("{words} 300 --rule {rule}"));
        assert!(mean(&last, "expected_reward") > start + 0.2, "{rule}");
        assert!(mean(&last, "entropy") < mean(&first, "entropy"), "{rule}");
    }
    // A first policy of another law, a quench and another damping all change what comes out.
    let plain = runs(&scratch, &format!("{words} 50"));
    for flags in [
        "--init logit_normal:0.1",
        "--quench 50,1e-13",
        "--damping 1",
        "--share 1",
        "--resets 0.02,10,20",
    ] {
        assert_ne!(
            runs(&scratch, &format!("{words} 50 {flags}")),
            plain,
            "{flags}"
        );
    }
    let defaults = runs(
        &scratch,
        &format!("{words} 50 --damping 0.3 --share 0.3 --init u_norm"),
    );
    assert_eq!(defaults, plain);
}

#[test]
fn a_person_reads_a_summary_and_a_line_for_each_of_the_first_runs() {
    let scratch = Scratch::new();
    let words = format!("cavi {}", SMALL.replace("--runs 11", "--runs 23"));
    let run = scratch.run(&words.split(' ').collect::<Vec<_>>());
    let text = run.success();
    for part in [
        "mean",
        "\ngreedy reward ",
        "\ngreedy reward exactly 1: ",
        "/23\n",
        "\nand 3 more; --json has all\n",
    ] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
}

#[test]
fn what_no_run_can_do_is_refused() {
    let scratch = Scratch::new();
    let good = "cavi --tau 1 --iterations 5 --runs 5 --task parity --lengths 3";
    for tau in ["-0.001", "nan", "inf", "cold"] {
        let said = [tau, "--tau", "at least 0"];
        refuses(
            &scratch,
            &good.replace("--tau 1", &format!("--tau {tau}")),
            &said,
        );
    }
    let said = ["'0'", "--runs", "at least 1"];
    refuses(&scratch, &good.replace("--runs 5", "--runs 0"), &said);
    let said = ["--iterations \"-5\"", "at least 0"];
    refuses(
        &scratch,
        &good.replace("--iterations 5", "--iterations -5"),
        &said,
    );
    for init in ["uniform", "dirichlet:0", "logit_normal"] {
        let said = [init, "--init", "u_norm, dirichlet:A", "logit_normal:S"];
        refuses(&scratch, &format!("{good} --init {init}"), &said);
    }
    for quench in ["50", "50,-1", "-5,1", "a,b", "50,nan", "1,2,3"] {
        let said = [quench, "--quench", "N,TAU", "50,1e-13"];
        refuses(&scratch, &format!("{good} --quench {quench}"), &said);
    }
    for resets in [
        "0.02",
        "0.02,10",
        "2,10,100",
        "-0.1,10,100",
        "0.02,0,5",
        "0.02,10,x",
    ] {
        let said = [resets, "--resets", "SHARE,EVERY,TIMES", "0.02,10,100"];
        refuses(&scratch, &format!("{good} --resets {resets}"), &said);
    }
    for flag in ["--share", "--damping"] {
        for value in ["1.5", "-0.1", "nan", "30%"] {
            let said = [value, flag, "from 0 to 1"];
            refuses(&scratch, &format!("{good} {flag} {value}"), &said);
        }
        let said = [flag, "rule gradient", "rule cavi"];
        refuses(
            &scratch,
            &format!("{good} --rule gradient:2 {flag} 0.5"),
            &said,
        );
    }
    refuses(
        &scratch,
        &format!("{good} --rule gradient"),
        &["--step is missing"],
    );
    refuses(
        &scratch,
        &format!("{good} --step 1"),
        &["--step", "rule cavi"],
    );
    for rule in ["adam", "gradient:0", "gradient:-1"] {
        let said = [rule, "--rule", "gradient:STEP"];
        refuses(&scratch, &format!("{good} --rule {rule}"), &said);
    }
    let said = ["--tau is missing", "--anneal"];
    refuses(&scratch, "cavi --task parity --lengths 3", &said);
}

#[test]
fn a_class_too_large_for_its_runs_is_refused_with_the_size_it_needs() {
    let scratch = Scratch::new();
    let words = "cavi --tau 1 --iterations 5 --runs 5 --task quasigroup --lengths 7 --window 0,3";
    let said = ["10775 cells", "500.0 KiB", "--max-memory"];
    refuses(&scratch, &format!("{words} --max-memory 500KiB"), &said);
}

#[cfg(unix)]
#[test]
fn interrupted_it_reports_the_runs_that_finished() {
    let scratch = Scratch::new();
    let flags = "cavi --tau 1e-3 --iterations 20 --runs 900000 --task parity --lengths 6 --json \
                 --max-memory 99GiB";
    let run = scratch.run_and_interrupt(&words(flags), std::time::Duration::from_millis(3000));
    assert_eq!(run.code, Some(130), "{}", run.errors);
    let found: Value = serde_json::from_str(&run.text).unwrap();
    assert_eq!(found["interrupted"], json!(true));
    let finished = found["runs"].as_array().unwrap().len();
    assert!((1..900_000).contains(&finished));
}

/// The JSON values of a file, a line each.
fn lines(scratch: &Scratch, name: &str) -> Vec<Value> {
    let text = scratch.read(name);
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn the_policies_at_the_end_are_written_and_taken_up_again() {
    let scratch = Scratch::new();
    let ended = runs(&scratch, &format!("{SMALL} --policies ends.jsonl"));
    let policies = lines(&scratch, "ends.jsonl");
    assert_eq!(policies.len(), 11);
    for (n, (policy, run)) in policies.iter().zip(&ended).enumerate() {
        assert_eq!(policy["format"], "foldglass-policy/1");
        assert_eq!(policy["class"]["lengths"], json!([4]));
        let eval = scratch.json(&["eval", "--policy", &format!("ends.jsonl#{n}")]);
        let gap = eval["reward"].as_f64().unwrap() - run["expected_reward"].as_f64().unwrap();
        assert!(gap.abs() < 1e-12, "{gap}");
    }
    // Every run starts there, and the class need not be said again.
    let start = "--start ends.jsonl#4 --tau 1e-3 --runs 3 --iterations";
    for run in runs(&scratch, &format!("{start} 0")) {
        for key in ["expected_reward", "entropy", "residual", "greedy_exact"] {
            assert_eq!(run[key], ended[4][key], "{key}");
        }
    }
    let later = runs(&scratch, &format!("{start} 200"));
    assert!(mean(&later, "residual") < ended[4]["residual"].as_f64().unwrap());
    assert_ne!(later[0], later[1]);
    let cavi = "cavi --tau 1e-3 --runs 3 --iterations 5";
    let said = ["ends.jsonl holds 11", "FILE#N"];
    refuses(&scratch, &format!("{cavi} --start ends.jsonl"), &said);
    let said = ["ends.jsonl", "T=4", "--lengths 3"];
    refuses(
        &scratch,
        &format!("{cavi} --start ends.jsonl#0 --lengths 3"),
        &said,
    );
    scratch.file("code.json", "{\"actions\":[0,1]}");
    let said = ["code.json", "no policy"];
    refuses(
        &scratch,
        &format!("{cavi} --start code.json --task parity --lengths 1"),
        &said,
    );
}

#[test]
fn a_record_has_the_reward_before_every_iteration_and_at_the_end() {
    let scratch = Scratch::new();
    let flags = "--task z:3 --lengths 4 --tau 1e-3 --runs 3";
    let ended = runs(
        &scratch,
        &format!("{flags} --iterations 25 --record all.jsonl"),
    );
    let all = lines(&scratch, "all.jsonl");
    assert_eq!(all.len(), 3);
    let first = runs(&scratch, &format!("{flags} --iterations 0"));
    let tenth = runs(&scratch, &format!("{flags} --iterations 10"));
    for (n, line) in all.iter().enumerate() {
        assert_eq!((&line["run"], &line["every"]), (&json!(n), &json!(1)));
        let rewards = line["rewards"].as_array().unwrap();
        assert_eq!(rewards.len(), 26);
        for (iteration, runs) in [(0, &first), (10, &tenth), (25, &ended)] {
            assert_eq!(
                rewards[iteration], runs[n]["expected_reward"],
                "{iteration}"
            );
        }
    }
    let record = "--record some.jsonl --record-every 10";
    assert_eq!(
        runs(&scratch, &format!("{flags} --iterations 25 {record}")),
        ended
    );
    for (line, every) in lines(&scratch, "some.jsonl").iter().zip(&all) {
        assert_eq!(line["every"], 10);
        let picked = [0, 10, 20, 25].map(|n| every["rewards"][n].clone());
        assert_eq!(line["rewards"], json!(picked));
    }
    let cavi = format!("cavi {flags} --iterations 2");
    refuses(&scratch, &format!("{cavi} --record-every 2"), &["--record"]);
    for flag in ["--record", "--policies"] {
        let said = ["cannot write no/such/file"];
        refuses(&scratch, &format!("{cavi} {flag} no/such/file"), &said);
    }
}

#[test]
fn a_run_that_has_converged_stops() {
    let scratch = Scratch::new();
    let flags = "--task parity --lengths 3 --tau 1e-3 --runs 9";
    let stop = "--stop-at-convergence 1e-9 --policies ends.jsonl";
    let stopped = runs(&scratch, &format!("{flags} --iterations 5000 {stop}"));
    for (n, run) in stopped.iter().enumerate() {
        assert!(run["residual"].as_f64().unwrap() <= 1e-9, "{run}");
        let done = run["iterations_done"].as_u64().unwrap();
        assert!((1..5000).contains(&done), "{done}");
        // It is where it would be after as many iterations, whatever those beside it did.
        let same = runs(&scratch, &format!("{flags} --iterations {done}"));
        for key in ["expected_reward", "entropy", "residual", "greedy_exact"] {
            assert_eq!(same[n][key], run[key], "{key}");
        }
        let before = runs(&scratch, &format!("{flags} --iterations {}", done - 10));
        assert!(before[n]["residual"].as_f64().unwrap() > 1e-9);
        let eval = scratch.json(&["eval", "--policy", &format!("ends.jsonl#{n}")]);
        let gap = eval["reward"].as_f64().unwrap() - run["expected_reward"].as_f64().unwrap();
        assert!(gap.abs() < 1e-12, "{gap}");
    }
    let counts: Vec<&Value> = stopped.iter().map(|run| &run["iterations_done"]).collect();
    assert!(counts.iter().any(|count| *count != counts[0]));
    // What has not converged goes to its end.
    let never = runs(
        &scratch,
        &format!("{flags} --iterations 30 --stop-at-convergence 0"),
    );
    assert!(never.iter().all(|run| run["iterations_done"] == 30));
    for bad in ["-1", "nan", "soon"] {
        let said = [bad, "--stop-at-convergence", "at least 0"];
        let cavi = format!("cavi {flags} --iterations 3 --stop-at-convergence {bad}");
        refuses(&scratch, &cavi, &said);
    }
}

#[test]
fn another_objective_is_ascended_by_the_gradient_alone() {
    let scratch = Scratch::new();
    let flags = "--task parity --lengths 3 --inputs markov:9/10 --tau 0 --iterations 40";
    let gradient = format!("{flags} --rule gradient --step 2 --policies end.json");
    let run = &runs(&scratch, &format!("{gradient} --objective pass@3"))[0];
    let eval = scratch.json(&["eval", "--policy", "end.json", "--objective", "pass@3"]);
    let gap = eval["objective"].as_f64().unwrap() - run["objective"].as_f64().unwrap();
    assert!(gap.abs() < 1e-12, "{gap}");
    let j = &runs(&scratch, &gradient)[0];
    assert!(j.get("objective").is_none());
    assert_ne!(j["expected_reward"], run["expected_reward"]);
    let said = [
        "objective",
        "linear in the row of each cell",
        "rule gradient",
    ];
    refuses(&scratch, &format!("cavi {flags} --objective pass@3"), &said);
    let said = ["objective", "convention uniform"];
    let soft =
        format!("cavi {flags} --rule gradient --step 1 --convention occupancy --objective maxrl:4");
    refuses(&scratch, &soft, &said);
    let said = ["pass@x", "grpo-std"];
    let bad = format!("cavi {flags} --rule gradient --step 1 --objective pass@x");
    refuses(&scratch, &bad, &said);
}
