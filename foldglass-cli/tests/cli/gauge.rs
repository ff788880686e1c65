//! Holds `gauge` to its form, and relabelled codes to the reward they had.

use serde_json::{Value, json};

use crate::escape::code;
use crate::mistakes::refuses;
use crate::support::Scratch;

#[test]
fn the_json_has_its_form() {
    let scratch = Scratch::new();
    scratch.file("code.json", "{\"actions\":[1,0,0,1,1,0]}");
    let words = "gauge --task parity --lengths 2 --code code.json";
    let found = scratch.report(&words.split(' ').collect::<Vec<_>>());
    let first = json!(
        {"t": 1, "windows": [0, 1], "maps": [[1], [0]], "reference": null, "holonomies": null}
    );
    let second = json!({
        "t": 2, "windows": [0, 1], "maps": [[0, 1], [1, 0]], "reference": 0,
        "holonomies": [[0, 1], [1, 0]],
    });
    assert_eq!(
        found,
        json!({
            "reward_exact": "0/1", "free_steps": 1, "relabellings": "2", "orbit": "2",
            "stabiliser": "1", "canonical": [0, 1, 1, 0, 0, 1], "to_canonical": [[1, 0], [0, 1]],
            "links": [first, second],
        })
    );
    let text = scratch.run(&words.split(' ').collect::<Vec<_>>());
    for said in ["canonical     0 1 1 0 0 1\n", "reached by    1 0 | 0 1\n"] {
        assert!(text.success().contains(said), "{}", text.text);
    }
}

#[test]
fn a_relabelled_code_computes_the_same_and_is_known_again() {
    let scratch = Scratch::new();
    scratch.file("code.json", &code(180, 5, 3));
    let class = ["--task", "quasigroup", "--lengths", "8"];
    let gauge = |more: &[&str]| {
        scratch.json(&[&["gauge", "--code", "code.json"], &class[..], more].concat())
    };
    let found = gauge(&["--relabel", "random", "--seed", "5", "--out", "new.json"]);
    let new: Value = serde_json::from_str(&scratch.read("new.json")).unwrap();
    assert_eq!(new["actions"], found["relabelled"]["actions"]);
    let eval = scratch.json(&[&["eval", "--code", "new.json"], &class[..]].concat());
    assert_eq!(eval["reward_exact"], found["reward_exact"]);
    let both = gauge(&["--other", "new.json"]);
    assert_eq!(both["other"]["agreement_exact"], "1/1");
    assert!(both["other"]["cells_alike"].as_u64().unwrap() < 180);
    // What it finds makes the one of the other: as a file, it is what --relabel reads.
    let between = both["other"]["relabelling"].to_string();
    let again = gauge(&["--relabel", scratch.file("g.json", &between)]);
    assert_eq!(again["relabelled"]["actions"], new["actions"]);
    gauge(&["--out", "least.json"]);
    let least: Value = serde_json::from_str(&scratch.read("least.json")).unwrap();
    assert_eq!(least["actions"], found["canonical"]);
    let text = scratch.run(
        &[
            &["gauge", "--code", "code.json", "--other", "new.json"],
            &class[..],
        ]
        .concat(),
    );
    assert!(text.success().contains("the other is a relabelling"));
    let mut other = new;
    other["actions"][179] = json!((other["actions"][179].as_u64().unwrap() + 1) % 5);
    scratch.file("other.json", &other.to_string());
    let both = gauge(&["--other", "other.json"]);
    assert_eq!(both["other"]["relabelling"], Value::Null);
}

#[test]
fn a_tied_class_has_the_freedom_its_window_leaves() {
    let scratch = Scratch::new();
    scratch.file("code.json", &code(6, 2, 0));
    let words = "gauge --task parity --lengths 4 --tied --code code.json";
    let found = scratch.json(&words.split(' ').collect::<Vec<_>>());
    assert_eq!(
        (&found["free_steps"], &found["orbit"]),
        (&json!(0), &json!("1"))
    );
    let words = "cells --task parity --lengths 4 --tied --window 0,1";
    let cells = scratch.json(&words.split(' ').collect::<Vec<_>>())["count"].as_u64();
    scratch.file("code.json", &code(cells.unwrap() as usize, 2, 0));
    let words = "gauge --task parity --lengths 4 --tied --window 0,1 --code code.json";
    let found = scratch.json(&words.split(' ').collect::<Vec<_>>());
    assert_eq!(found["free_steps"], json!(1));
}

#[test]
fn a_relabelling_that_does_not_fit_is_refused() {
    let scratch = Scratch::new();
    scratch.file("code.json", "{\"actions\":[1,0,0,1,1,0]}");
    for (content, said) in [
        ("[[0,1]]", "1 permutations"),
        ("[[0,0],[0,1]]", "step 1"),
        ("[[0,1],[1,0]]", "step 2 renames tokens"),
        ("[[0,1],[1,2]]", "a permutation of 0 to 1"),
        ("{\"g\":1}", "not a relabelling"),
        ("[[0,1],[1", "line 1 column"),
    ] {
        scratch.file("g.json", content);
        let words = "gauge --task parity --lengths 2 --code code.json --relabel g.json";
        refuses(&scratch, words, &["g.json", said]);
    }
    refuses(&scratch, "gauge --task parity --lengths 2", &["--code"]);
    let words = "gauge --task parity --lengths 2 --code code.json --other none.json";
    refuses(&scratch, words, &["none.json"]);
}
