//! Holds `escape` to its form and to the theorem, by `eval` of every code on the way.

use serde_json::{Value, json};

use crate::mistakes::refuses;
use crate::support::{Scratch, words};

/// A code of `cells` cells that looks random.
pub fn code(cells: usize, q: usize, salt: usize) -> String {
    let action = |c: usize| (c * c * 7 + c * (salt + 3) + c / 3 + salt) % q;
    let actions: Vec<usize> = (0..cells).map(action).collect();
    json!({ "actions": actions }).to_string()
}

fn value(exact: &Value) -> f64 {
    let (num, den) = exact.as_str().unwrap().split_once('/').unwrap();
    num.parse::<f64>().unwrap() / den.parse::<f64>().unwrap()
}

#[test]
fn the_json_has_the_form_of_the_contract() {
    let scratch = Scratch::new();
    scratch.file("code.json", "{\"actions\":[0,0,0,0,0,0]}");
    let flags = ["--lengths", "2", "--code", "code.json"];
    let found = scratch.report(&[&["escape", "--task", "parity"], &flags[..]].concat());
    assert_eq!(
        found,
        json!({
            "moves": [
                {"cell": 1, "from": 0, "to": 1, "kind": "consolidate", "reward_exact": "1/2"},
                {"cell": 4, "from": 0, "to": 1, "kind": "finish", "reward_exact": "3/4"},
                {"cell": 3, "from": 0, "to": 1, "kind": "finish", "reward_exact": "1/1"},
            ],
            "reward_exact": "1/1",
        })
    );
}

#[test]
fn every_move_earns_what_eval_says() {
    let scratch = Scratch::new();
    scratch.file(
        "law.json",
        "[[0.5,0.25,0.25],[\"1/3\",\"1/3\",\"1/3\"],[0.1,0.1,0.8]]",
    );
    let class = "--task z:3 --lengths 3 --inputs product:law.json";
    let class: Vec<&str> = class.split(' ').collect();
    let text = code(21, 3, 1);
    scratch.file("code.json", &text);
    let found = scratch.json(&[&["escape", "--code", "code.json"], &class[..]].concat());
    let mut actions = serde_json::from_str::<Value>(&text).unwrap()["actions"].clone();
    let moves = found["moves"].as_array().unwrap();
    assert!(!moves.is_empty());
    let mut before = 0.0;
    for m in moves {
        let cell = m["cell"].as_u64().unwrap() as usize;
        assert_eq!(actions[cell], m["from"]);
        actions[cell] = m["to"].clone();
        scratch.file("now.json", &json!({ "actions": actions }).to_string());
        let eval = scratch.json(&[&["eval", "--code", "now.json"], &class[..]].concat());
        assert_eq!(eval["reward_exact"], m["reward_exact"], "{m}");
        assert!(value(&m["reward_exact"]) >= before);
        before = value(&m["reward_exact"]);
    }
    assert_eq!(found["reward_exact"], "1/1");
    assert_eq!(moves.last().unwrap()["reward_exact"], "1/1");
}

#[test]
fn a_person_sees_the_kinds_and_the_moves() {
    let scratch = Scratch::new();
    scratch.file("code.json", &code(180, 5, 2));
    let words = "escape --task quasigroup --lengths 8 --code code.json";
    let words: Vec<&str> = words.split(' ').collect();
    let run = scratch.run(&words);
    let text = run.success();
    for part in [
        "to 1/1, never lowered",
        "of at most 540",
        "consolidate",
        "finish",
        "--list",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let all = scratch.run(&[&words[..], &["--list"]].concat());
    assert!(all.success().lines().count() > text.lines().count());
}

#[test]
fn the_bound_is_that_of_the_theorem_that_applies() {
    let scratch = Scratch::new();
    scratch.file("code.json", &code(10, 2, 0));
    for (rule, bound) in [
        ("final", "of at most 30"),
        ("process:4,2,1", "of at most 10"),
    ] {
        let flags = format!("escape --task parity --lengths 3 --reward {rule} --code code.json");
        let run = scratch.run(&words(&flags));
        assert!(run.success().contains(bound), "{rule}");
    }
}

#[test]
fn an_assumption_that_fails_is_named_and_the_search_is_offered() {
    let scratch = Scratch::new();
    for (class, said) in [
        ("--lengths 3 --tied", "untied"),
        (
            "--lengths 3 --memory 2",
            "memory of 1 token: here the memory is 2",
        ),
        ("--lengths 2,3", "one length or the window 0,1"),
        ("--lengths 2,3 --window 2,0", "one length or the window 2,1"),
        ("--lengths 3 --inputs markov:9/10", "independent"),
        (
            "--lengths 2,3 --inputs markov:9/10",
            "It holds with either one length or the window 0,1 and uniform or product inputs",
        ),
        (
            "--lengths 3 --memory 2 --reward process",
            "It holds with --reward final and memory 1, or with a process reward in which every step weighs",
        ),
    ] {
        let cells = scratch.json(&words(&format!("cells --task parity {class}")))["count"].as_u64();
        scratch.file("code.json", &code(cells.unwrap() as usize, 2, 0));
        let escape = format!("escape --task parity {class} --code code.json --out path.json");
        refuses(&scratch, &escape, &[said, "--search"]);
    }
}

#[test]
fn wider_windows_and_laws_with_zeros_have_paths_that_check_accepts() {
    let scratch = Scratch::new();
    scratch.file("law.json", "[[0.5,0.5],[0.5,0.5],[0,1]]");
    for class in [
        "--lengths 3 --window 1,0",
        "--lengths 3 --inputs product:law.json",
        "--lengths 2,3 --window 0,1",
    ] {
        let cells = scratch.json(&words(&format!("cells --task parity {class}")))["count"].as_u64();
        scratch.file("code.json", &code(cells.unwrap() as usize, 2, 0));
        let escape = format!("escape --task parity {class} --code code.json --out path.json");
        assert_eq!(scratch.json(&words(&escape))["reward_exact"], "1/1");
        scratch.run(&["check", "path.json"]).success();
    }
}

#[test]
fn a_policy_of_any_untied_class_collapses_to_a_code() {
    let scratch = Scratch::new();
    scratch.file(
        "policy.json",
        &json!({ "rows": vec![[0.25, 0.75]; 10] }).to_string(),
    );
    let words = words("escape --task parity --lengths 3 --inputs markov:9/10 --policy policy.json");
    let found = scratch.json(&words);
    assert_eq!(found["segments"].as_array().unwrap().len(), 10);
    assert!(
        found["stops"]
            .as_str()
            .unwrap()
            .contains("independent symbols")
    );
    assert_eq!(found["moves"], json!([]));
    let run = scratch.run(&words);
    let text = run.success();
    assert!(
        text.contains("No path leads on: the theorem needs independent symbols"),
        "{text}"
    );
    let text = scratch.run(&[&words[..], &["--list"]].concat());
    let rows = text.success().matches("0.25 0.75").count();
    assert_eq!(rows, 10, "{}", text.success());
    // A policy that is the fold has nothing left to raise.
    let fold = [[1, 0], [0, 1], [1, 0], [0, 1], [0, 1], [1, 0]];
    let rows = [&fold[..], &fold[2..]].concat();
    scratch.file("policy.json", &json!({ "rows": rows }).to_string());
    let found = scratch.json(&words);
    assert_eq!(
        (&found["stops"], &found["reward_exact"]),
        (&Value::Null, &json!("1/1"))
    );
    let run = scratch.run(&words);
    assert!(
        run.success()
            .contains("reward J  1/1 to 1/1, never lowered")
    );
    scratch.file(
        "policy.json",
        &json!({ "rows": vec![[0.25, 0.75]; 6] }).to_string(),
    );
    refuses(
        &scratch,
        "escape --task parity --lengths 3 --tied --policy policy.json",
        &["untied"],
    );
}

#[test]
fn a_search_depends_on_the_seed_alone_and_says_how_it_went() {
    let scratch = Scratch::new();
    scratch.file("code.json", "{\"actions\":[0,0,0,0,0,0,0,0,0,0]}");
    let words = "escape --task parity --lengths 3 --inputs markov:9/10 --code code.json --search";
    let words: Vec<&str> = words.split(' ').collect();
    let found = scratch.json(&words);
    assert_eq!(found["search"]["outcome"], "optimum");
    assert_eq!(found["reward_exact"], "1/1");
    assert_eq!(
        scratch.json(&[&words[..], &["--threads", "1"]].concat()),
        found
    );
    let kinds = ["neutral", "raise"];
    for m in found["moves"].as_array().unwrap() {
        assert!(kinds.contains(&m["kind"].as_str().unwrap()));
    }
    let none = scratch.json(&[&words[..], &["--max-proposals", "0"]].concat());
    assert_eq!(none["search"], json!({"outcome": "stuck", "proposals": 0}));
    assert_eq!(none["moves"], json!([]));
    let run = scratch.run(&[&words[..], &["--max-proposals", "0"]].concat());
    let text = run.success();
    assert!(
        text.contains("Found no change that raises J. `certify --code FILE --barrier`"),
        "{text}"
    );
}

#[test]
fn a_policy_collapses_and_then_escapes() {
    let scratch = Scratch::new();
    scratch.file(
        "policy.json",
        &json!({ "rows": vec![[0.25, 0.75]; 10] }).to_string(),
    );
    let words = "escape --task parity --lengths 3 --policy policy.json --out path.json";
    let words: Vec<&str> = words.split(' ').collect();
    let found = scratch.json(&words);
    assert_eq!(found["standing"], "saddle");
    assert!(scratch.run(&words).success().contains("a saddle"));
    let segments = found["segments"].as_array().unwrap();
    assert_eq!(segments.len(), 10);
    assert_eq!(segments[0]["from"], json!([0.25, 0.75]));
    assert_eq!(segments[0]["to"].as_array().unwrap().len(), 2);
    assert_eq!(found["reward_exact"], "1/1");
    assert!(
        scratch
            .run(&["check", "path.json"])
            .success()
            .contains("holds")
    );
    // A code is a policy that has collapsed.
    let fold = [[1, 0], [0, 1], [1, 0], [0, 1], [0, 1], [1, 0]];
    let rows = [&fold[..], &fold[2..]].concat();
    scratch.file("policy.json", &json!({ "rows": rows }).to_string());
    let found = scratch.json(&words);
    assert_eq!(found["standing"], "level");
    assert_eq!(
        (&found["ascent"], &found["segments"]),
        (&Value::Null, &json!([]))
    );
    assert!(scratch.run(&words).success().contains("level"));
    let rows: Vec<[f64; 2]> = (1..11)
        .map(|n| [1.0 / f64::from(n + 1), f64::from(n) / f64::from(n + 1)])
        .collect();
    scratch.file("policy.json", &json!({ "rows": rows }).to_string());
    let found = scratch.json(&words);
    assert_eq!(found["standing"], "ascends");
    assert!(found["ascent"]["gain"].as_f64().unwrap() > 0.0);
    assert!(scratch.run(&words).success().contains("no local maximum"));
}

#[test]
fn values_that_are_none_are_refused() {
    let scratch = Scratch::new();
    scratch.file("code.json", "{\"actions\":[0,1]}");
    let escape = "escape --task parity --lengths 1";
    refuses(&scratch, escape, &["--code <FILE>", "--policy <FILE>"]);
    let escape = format!("{escape} --code code.json");
    refuses(
        &scratch,
        &format!("{escape} --search --max-proposals -1"),
        &["'-1'", "--max-proposals"],
    );
    refuses(
        &scratch,
        &format!("{escape} --max-proposals 3"),
        &["--search"],
    );
    refuses(
        &scratch,
        &format!("{escape} --tolerance -1"),
        &["'-1'", "1e-12"],
    );
    refuses(
        &scratch,
        &format!("{escape} --out none/path.json"),
        &["cannot write none/path.json"],
    );
}

#[test]
fn a_policy_of_a_wider_class_collapses_and_is_searched_from() {
    let scratch = Scratch::new();
    let class: Vec<&str> = "--task parity --lengths 3 --window 1,1"
        .split(' ')
        .collect();
    let cells = scratch.json(&[&["cells"], &class[..]].concat())["count"].as_u64();
    let row = |n: u64| [1.0 / (n + 2) as f64, (n + 1) as f64 / (n + 2) as f64];
    let rows: Vec<[f64; 2]> = (0..cells.unwrap()).map(row).collect();
    scratch.file("policy.json", &json!({ "rows": rows }).to_string());
    let words = [
        "escape",
        "--policy",
        "policy.json",
        "--search",
        "--out",
        "path.json",
    ];
    let found = scratch.json(&[&words[..], &class].concat());
    assert_eq!(found["segments"].as_array().map(Vec::len), Some(rows.len()));
    assert_eq!(found["reward_exact"], "1/1");
    scratch.run(&["check", "path.json"]).success();
    let tied = "escape --task parity --lengths 3 --tied --policy policy.json --search";
    scratch.file(
        "policy.json",
        &json!({ "rows": vec![[0.5, 0.5]; 6] }).to_string(),
    );
    refuses(&scratch, tied, &["untied", "--code FILE --search"]);
}
