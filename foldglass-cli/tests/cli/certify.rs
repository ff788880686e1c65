//! Holds `certify` to its form, its refusals and verdicts that are known.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::mistakes::refuses;
use crate::support::{Scratch, report};

/// Correlated parity at T = 4: 14 cells, 8 traps.
const CORRELATED: &str = "--task parity --lengths 4 --inputs markov:9/10";

/// One of them, of reward 9/10.
const TRAP: [u8; 14] = [0, 1, 1, 0, 0, 1, 1, 0, 1, 0, 0, 1, 0, 1];

/// Tied parity, on which a quarter of cold chains freezes below 1.
const TIED: &str = "--task parity --lengths 5 --window 0,1 --tied";

fn certify(scratch: &Scratch, words: &str) -> Value {
    let args: Vec<&str> = words.split(' ').collect();
    scratch.report(&[&["certify"], &args[..]].concat())
}

fn code_file(actions: &[u8]) -> String {
    json!({ "actions": actions }).to_string()
}

fn keys(object: &Value) -> Vec<&str> {
    object.as_object().unwrap().keys().map(|k| &k[..]).collect()
}

fn list(object: &Value) -> &Vec<Value> {
    object.as_array().unwrap()
}

/// The endpoints of cold chains, as `chain --json` prints them.
fn chains(scratch: &Scratch, class: &str) -> String {
    let words = "chain --kernel metropolis --order cell --tau 1e-9 --sweeps 200 --chains 64 --json";
    let args: Vec<&str> = words.split(' ').chain(class.split(' ')).collect();
    scratch.run(&args).success().to_owned()
}

#[test]
fn a_verdict_on_one_code_has_the_form_of_the_contract() {
    let scratch = Scratch::new();
    scratch.file("trap.json", &code_file(&TRAP));
    scratch.file("zero.json", &code_file(&[0; 14]));
    let found = certify(&scratch, &format!("--code trap.json {CORRELATED}"));
    let expected = json!({
        "code": 0, "verdict": "certified", "shelf": 1, "reward_exact": "9/10", "depth": 0,
        "neutral_moves": 0, "unvisited": 0, "actions": TRAP,
    });
    assert_eq!(found, json!({"verdicts": [expected]}));
    let found = certify(&scratch, &format!("--code zero.json {CORRELATED}"));
    let expected = json!({
        "code": 0, "verdict": "escapes", "shelf": 64, "reward_exact": "41/50", "depth": 2,
        "neutral_moves": 12, "unvisited": 6, "actions": vec![0; 14],
        "path": [
            {"cell": 6, "from": 0, "to": 1, "kind": "neutral", "reward_exact": "41/50"},
            {"cell": 10, "from": 0, "to": 1, "kind": "raise", "reward_exact": "43/50"},
        ],
    });
    assert_eq!(found, json!({"verdicts": [expected]}));
    let found = certify(
        &scratch,
        &format!("--code zero.json --max-codes 1 {CORRELATED}"),
    );
    let found = &found["verdicts"][0];
    assert_eq!(
        (&found["verdict"], &found["shelf"]),
        (&json!("bounded"), &json!(1))
    );
}

#[test]
fn the_endpoints_of_chains_are_certified_as_they_are_printed() {
    let scratch = Scratch::new();
    let printed = chains(&scratch, TIED);
    let ends: Value = serde_json::from_str(&printed).unwrap();
    let args: Vec<&str> = "certify --json --code -".split(' ').collect();
    let args = [args, TIED.split(' ').collect()].concat();
    let mut found = report(scratch.run_with_stdin(&args, &printed).json());
    assert_eq!(keys(&found), ["points", "verdicts"]);
    assert_eq!(found["points"][0]["codes"], json!(64));
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for (number, (line, end)) in list(&found["verdicts"])
        .iter()
        .zip(list(&ends["chains"]))
        .enumerate()
    {
        assert_eq!(line["code"], json!(number));
        assert_eq!(line["reward_exact"], end["reward_exact"]);
        let word = line["verdict"].as_str().unwrap().to_owned();
        *kinds.entry(word).or_default() += 1;
    }
    assert_eq!(kinds.values().sum::<usize>(), 64);
    assert_eq!(
        kinds.into_keys().collect::<Vec<_>>(),
        ["certified", "optimal"]
    );
    // The same codes in other forms, which state no run, and on other numbers of threads.
    found.as_object_mut().unwrap().remove("points");
    for line in found["verdicts"].as_array_mut().unwrap() {
        let line = line.as_object_mut().unwrap();
        assert_eq!(line["run"], line["code"]);
        assert_eq!(line["method"], json!("chain"));
        for key in [
            "run",
            "method",
            "kind",
            "tau",
            "parameters",
            "is_greedy",
            "greedy_ties",
        ] {
            assert!(line.remove(key).is_some(), "{key}");
        }
    }
    let all = list(&ends["chains"]).iter();
    let bare = all.map(|end| json!({"actions": end["actions"]}));
    let bare: Vec<Value> = bare.collect();
    let lines: Vec<String> = bare.iter().map(Value::to_string).collect();
    let listed = json!({"codes": bare}).to_string();
    let spread = lines[1..].join("\n");
    scratch.file("listed.json", &listed);
    scratch.file("first.json", &lines[0]);
    scratch.file("others.jsonl", &spread);
    for words in [
        "--code listed.json --threads 1",
        "--code listed.json --threads 3",
        "--code first.json --code others.jsonl",
    ] {
        assert_eq!(certify(&scratch, &format!("{words} {TIED}")), found);
    }
}

#[test]
fn the_greedy_codes_of_training_are_certified_too() {
    let scratch = Scratch::new();
    let words = format!("cavi --tau 1e-6 --iterations 50 --runs 3 --json {CORRELATED}");
    let train = |more: &str| {
        let words = format!("{words}{more}");
        let run = scratch.run(&words.split(' ').collect::<Vec<_>>());
        run.success().to_owned()
    };
    scratch.file("runs.json", &train(" --keep-code"));
    let found = certify(&scratch, &format!("--code runs.json {CORRELATED}"));
    assert_eq!(list(&found["verdicts"]).len(), 3);
    for (number, line) in list(&found["verdicts"]).iter().enumerate() {
        assert_eq!(line["run"], json!(number));
        let said = (&line["method"], &line["tau"], &line["is_greedy"]);
        assert_eq!(said, (&json!("cavi"), &json!(1e-6), &json!(true)));
        assert_eq!(line["greedy_ties"], json!(0));
    }
    let text = scratch.run(&["certify", "--code", "runs.json"]);
    let said = "3 of these codes are greedy codes of policies, in which no cell was tied\n";
    assert!(text.success().contains(said), "{}", text.success());
    scratch.file("bare.json", &train(""));
    let words = format!("certify --code bare.json {CORRELATED}");
    refuses(&scratch, &words, &["bare.json", "no code", "--keep-code"]);
}

/// The uniform policy ties in every cell, and two actions of a cell that no rollout consults are tied for ever.
#[test]
fn the_verdict_on_a_policy_is_said_to_be_of_one_draw_of_its_ties() {
    let scratch = Scratch::new();
    let first = "--task parity --lengths 4 --inputs markov:9/10";
    let uniform: Vec<[f64; 2]> = vec![[0.5, 0.5]; 14];
    scratch.file("uniform.json", &json!({"rows": uniform}).to_string());
    let train = |seed: u64| {
        let words = format!(
            "cavi --tau 1 --iterations 0 --runs 1 --start uniform.json --keep-code --seed {seed} --json {first}"
        );
        let args: Vec<&str> = words.split(' ').collect();
        scratch.run(&args).success().to_owned()
    };
    let mut rewards: BTreeMap<String, usize> = BTreeMap::new();
    for seed in 0..12 {
        scratch.file("end.json", &train(seed));
        let found = certify(&scratch, "--code end.json");
        let line = &found["verdicts"][0];
        assert_eq!(
            (&line["is_greedy"], &line["greedy_ties"]),
            (&json!(true), &json!(14))
        );
        let reward = line["reward_exact"].to_string();
        *rewards.entry(reward).or_default() += 1;
    }
    assert!(
        rewards.len() > 1,
        "other draws are other codes: {rewards:?}"
    );
    let text = scratch.run(&["certify", "--code", "end.json"]);
    let text = text.success();
    for said in [
        "1 of these codes are greedy codes of policies, with ties drawn at random",
        "another draw may have another verdict (14 cells were tied in each)",
    ] {
        assert!(text.contains(said), "{text}");
    }
    // A code file is the code itself: nothing was drawn.
    scratch.file("trap.json", &code_file(&TRAP));
    let words = format!("certify --code trap.json {CORRELATED}");
    let text = scratch.run(&words.split(' ').collect::<Vec<_>>());
    assert!(!text.success().contains("greedy"));
}

#[test]
fn rows_of_records_carry_their_run_method_and_temperature() {
    let scratch = Scratch::new();
    let study = r#"
name = "both"
[[class]]
task = "parity"
lengths = [4]
inputs = "markov:9/10"
[[dynamics]]
id = "mc"
kind = "chain"
kernel = "metropolis"
tau = [1e-13, 1e-3]
runs = 8
sweeps = 300
keep_code = true
[[dynamics]]
id = "rl"
kind = "cavi"
tau = [1e-13]
iterations = 60
runs = 9
keep_code = true
"#;
    scratch.file("both.toml", study);
    scratch.run(&["run", "both.toml"]).success();
    let found = scratch.json(&["certify", "--code", "both/records.jsonl"]);
    let records = scratch.read("both/records.jsonl");
    let records = records.lines().map(|line| {
        let record: Value = serde_json::from_str(line).unwrap();
        record
    });
    let verdicts = list(&found["verdicts"]);
    assert_eq!(verdicts.len(), 25);
    let mut by_point: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for (verdict, record) in verdicts.iter().zip(records) {
        for key in ["id", "run", "kind", "parameters"] {
            assert_eq!(verdict[key], record[key], "{key}");
        }
        assert_eq!(verdict["method"], record["dynamics"]);
        assert_eq!(verdict["tau"], record["settings"]["tau"]);
        assert_eq!(verdict["is_greedy"], json!(record["kind"] == "cavi"));
        assert_eq!(verdict["greedy_ties"], record["result"]["greedy_ties"]);
        let point = (verdict["method"].to_string(), verdict["tau"].to_string());
        let word = verdict["verdict"].as_str().unwrap().to_owned();
        by_point.entry(point).or_default().push(word);
    }
    let points = list(&found["points"]);
    assert_eq!((points.len(), by_point.len()), (3, 3));
    for point in points {
        let words = &by_point[&(point["method"].to_string(), point["tau"].to_string())];
        assert_eq!(point["codes"], json!(words.len()));
        for kind in ["optimal", "certified", "bounded", "escapes"] {
            let count = words.iter().filter(|word| *word == kind).count();
            assert_eq!(point[kind], json!(count), "{kind}");
        }
        let end = |key: &str| point[key].as_f64().unwrap();
        let share = end("certified") / end("codes");
        assert!(end("certified_low") <= share && share <= end("certified_high"));
        assert!(end("certified_low") < end("certified_high"));
    }
    let text = |more: &str| {
        let words = format!("certify --code both/records.jsonl{more}");
        let args: Vec<&str> = words.split(' ').collect();
        scratch.run(&args).success().to_owned()
    };
    let rows = |text: &str| text.lines().filter(|line| line.contains("_w0-0")).count();
    let short = text("");
    assert_eq!(rows(&short), 20, "{short}");
    assert!(short.contains("and 5 more; --list has all"), "{short}");
    assert_eq!(rows(&text(" --list")), 25);
    let csv = text(" --format csv");
    assert!(
        csv.starts_with("code,run,method,tau,ties,verdict,"),
        "{csv}"
    );
    assert_eq!(csv.lines().count(), 26);
}

#[test]
fn the_text_is_a_table_with_a_row_for_each_code() {
    let scratch = Scratch::new();
    scratch.file("trap.json", &code_file(&TRAP));
    scratch.file("zero.json", &code_file(&[0; 14]));
    let run = |words: &str| {
        let words = format!("certify {words} {CORRELATED}");
        let args: Vec<&str> = words.split(' ').collect();
        scratch.run(&args).success().to_owned()
    };
    let hinted = run("--code trap.json");
    assert!(hinted.contains("\n--barrier prints"), "{hinted}");
    assert!(!run("--code trap.json --barrier").contains("--barrier prints"));
    let hinted = run("--code zero.json --code zero.json");
    assert!(hinted.contains("\n--code FILE#N"), "{hinted}");
    assert_eq!(
        run("--code zero.json"),
        "\
code  verdict     J  exact  shelf  depth  neutral  unvisited  path
   0  escapes  0.82  41/50     64      2       12          6     2

0 optimal, 0 certified, 0 bounded, 1 escapes
(certified: a trap; escapes: changes that never lower J lead to a higher reward; bounded: not decided.
 shelf: codes of this J that such changes reach; depth: changes to the furthest; neutral: single changes that keep J;
 unvisited: cells that no input consults; path: changes to the higher J)

A path to a higher reward that never lowers J:
  cell (t, x, y): token before → after, then the reward
  (3, 0, 0): 0 → 1, J = 41/50 = 0.82
  (4, 0, 0): 0 → 1, J = 43/50 = 0.86
"
    );
    let text = run("--code trap.json --barrier");
    let way = text.split("\nThe way out:\n").nth(1).expect("a way out");
    let lines: Vec<&str> = way.lines().collect();
    assert_eq!(
        lines[0],
        "  cell (t, x, y): token before → after, then the reward"
    );
    let json = format!("certify --code trap.json --barrier {CORRELATED}");
    let found = scratch.json(&json.split(' ').collect::<Vec<_>>());
    let moves = found["verdicts"][0]["way_out"].as_array().unwrap();
    assert!(moves.len() > 1 && lines.len() == moves.len() + 1);
    for (line, m) in lines[1..].iter().zip(moves) {
        let (from, to) = (m["from"].as_u64().unwrap(), m["to"].as_u64().unwrap());
        let exact = m["reward_exact"].as_str().unwrap();
        assert!(
            line.contains(&format!("): {from} → {to}, J = {exact} = 0.")),
            "{line}"
        );
    }
    let text = run("--code trap.json --code zero.json --max-codes 5");
    assert!(
        text.contains("\n   0  certified   0.9   9/10      1 "),
        "{text}"
    );
    assert!(
        text.contains("\n   1    bounded  0.82  41/50      5 "),
        "{text}"
    );
    assert!(
        text.contains("6 of them alone make a shelf of 2^6 codes"),
        "{text}"
    );
}

#[test]
fn mistakes_are_refused_with_what_is_accepted() {
    let scratch = Scratch::new();
    scratch.file("trap.json", &code_file(&TRAP));
    for (flags, said) in [
        (
            "--code trap.json --max-codes 0",
            &["'0'", "--max-codes", "from 1"][..],
        ),
        ("--code trap.json --max-codes -5", &["'-5'", "--max-codes"]),
        (
            "--code trap.json --max-codes 9999999999",
            &["'9999999999'", "4294967295"],
        ),
        (
            "--code trap.json --max-memory 1MiB",
            &["a shelf of 100000 codes", "--max-memory"],
        ),
        ("--code none.json", &["none.json"]),
        (
            "--code trap.json --out no/where.json",
            &["cannot write no/where.json"],
        ),
        ("--max-codes 5", &["--code"]),
    ] {
        refuses(&scratch, &format!("certify {flags} {CORRELATED}"), said);
    }
    for (content, said) in [
        ("{}", "no code"),
        ("", "no code"),
        ("[]", "a list"),
        ("{\"codes\":[]}", "no code"),
        ("{\"codes\":[{}]}", "no code"),
        ("{\"codes\":[{\"actions\":[0]},{}]}", "entry 1 of `codes`"),
        ("{\"actions\":[0,1]}", "2 entries"),
        ("{\"actions\":[0.5]}", "a whole number"),
        ("{\"actions\":[0", "line 1 column"),
    ] {
        scratch.file("bad.json", content);
        let words = format!("certify --code bad.json {CORRELATED}");
        refuses(&scratch, &words, &["bad.json", said]);
    }
}

#[cfg(unix)]
#[test]
fn interrupted_it_reports_what_it_found_so_far() {
    let scratch = Scratch::new();
    let class = "--task z:3 --lengths 12";
    scratch.file("zero.json", &code_file(&[0; 102]));
    let words =
        format!("certify --code zero.json --max-codes 90000000 --out v.json --json {class}");
    let args: Vec<&str> = words.split(' ').collect();
    let run = scratch.run_and_interrupt(&args, std::time::Duration::from_millis(2500));
    assert_eq!(run.code, Some(130), "{}", run.errors);
    let found: Value = serde_json::from_str(&run.text).unwrap();
    assert_eq!(found["interrupted"], json!(true));
    let found = &found["verdicts"][0];
    assert_eq!(
        (&found["verdict"], &found["interrupted"]),
        (&json!("bounded"), &json!(true))
    );
    let file: Value = serde_json::from_str(&scratch.read("v.json")).unwrap();
    let verdict = &file["verdicts"][0];
    assert_eq!(verdict["cap"], found["shelf"]);
    let nodes = list(&verdict["nodes"]).len() as u64;
    assert_eq!(json!(nodes + 1), found["shelf"]);
}

#[test]
fn chains_of_a_study_that_keeps_codes_are_certified() {
    let scratch = Scratch::new();
    let study = r#"
name = "kept"
[[class]]
task = "parity"
lengths = [4]
inputs = "markov:9/10"
[[dynamics]]
kind = "chain"
kernel = "metropolis"
tau = [1e-13]
runs = 9
sweeps = 400
stop_at_optimum = true
keep_code = true
"#;
    scratch.file("kept.toml", study);
    scratch.run(&["run", "kept.toml"]).success();
    let class = [
        "--task",
        "parity",
        "--lengths",
        "4",
        "--inputs",
        "markov:9/10",
    ];
    let certify = ["certify", "--code", "kept/records.jsonl"];
    let found = scratch.json(&[&certify[..], &class].concat());
    let verdicts = found["verdicts"].as_array().unwrap();
    let records = scratch.read("kept/records.jsonl");
    assert_eq!(verdicts.len(), 9);
    for (verdict, record) in verdicts.iter().zip(records.lines()) {
        // The code is the one whose reward was recorded.
        let record: serde_json::Value = serde_json::from_str(record).unwrap();
        assert_eq!(verdict["reward_exact"], record["result"]["reward_exact"]);
        assert_eq!(verdict["actions"], record["result"]["actions"]);
        assert_ne!(verdict["verdict"], "escapes");
    }
    scratch.file(
        "without.toml",
        &study
            .replace("keep_code = true", "")
            .replace("kept", "lost"),
    );
    scratch.run(&["run", "without.toml"]).success();
    let certify = ["certify", "--code", "lost/records.jsonl"];
    let refused = scratch.run(&[&certify[..], &class].concat());
    assert_eq!(refused.code, Some(2));
    assert!(refused.errors.contains("keep_code"), "{}", refused.errors);
}

#[test]
fn a_barrier_is_exact_or_a_bound_and_check_follows_both() {
    let scratch = Scratch::new();
    scratch.file("trap.json", &code_file(&TRAP));
    let found = certify(
        &scratch,
        &format!("--code trap.json --barrier {CORRELATED}"),
    );
    let line = &found["verdicts"][0];
    assert_eq!(
        (&line["barrier"], &line["barrier_is"]),
        (&json!("1/25"), &json!("exact"))
    );
    // The census of the class has the same barrier for all of its eight traps.
    let words = format!("enumerate {CORRELATED}");
    let census = scratch.json(&words.split(' ').collect::<Vec<_>>());
    assert_eq!(
        census["barriers"],
        json!([{"barrier": "1/25", "count": "8"}])
    );
    // The shelf of this code has an exit, which a flood of one code does not come to.
    scratch.file("zero.json", &code_file(&[0; 14]));
    let words = format!("--code zero.json --barrier --max-codes 1 --out bound.json {CORRELATED}");
    let bound = certify(&scratch, &words);
    let line = &bound["verdicts"][0];
    assert_eq!(line["barrier_is"], json!("bound"));
    assert!(!list(&line["way_out"]).is_empty(), "{line}");
    let whole = certify(
        &scratch,
        &format!("--code zero.json --barrier {CORRELATED}"),
    );
    assert_eq!(whole["verdicts"][0]["barrier"], json!("0/1"));
    scratch.file("ends.json", &chains(&scratch, TIED));
    let words = "--code ends.json --barrier --out ends-verdicts.json";
    let ends = certify(&scratch, words);
    for line in list(&ends["verdicts"]) {
        assert_eq!(line["barrier_is"], json!("exact"));
        let is_optimal = line["verdict"] == json!("optimal");
        assert_eq!(line["barrier"].is_null(), is_optimal);
        assert_ne!(line["barrier"], json!("0/1"), "no certified code escapes");
    }
    let run = scratch.run(&["check", "bound.json", "ends-verdicts.json"]);
    let text = run.success();
    assert!(text.contains("1 bounds"), "{text}");
    // A barrier of another height is refused.
    let held = scratch.read("bound.json");
    let wrong = held.replace("\"barrier\":\"", "\"barrier\":\"1");
    assert_ne!(wrong, held);
    scratch.file("wrong.json", &wrong);
    let run = scratch.run(&["check", "wrong.json"]);
    assert_eq!(run.code, Some(1));
    assert!(run.errors.contains("below the start"), "{}", run.errors);
}
