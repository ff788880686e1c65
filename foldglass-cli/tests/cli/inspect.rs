//! Holds `inspect` to codes whose anatomy is known.

use serde_json::{Value, json};

use crate::mistakes::refuses;
use crate::support::{Scratch, words};

const CORRELATED: &str = "--task parity --lengths 6 --inputs markov:9/10";

fn inspect(scratch: &Scratch, flags: &str) -> Value {
    scratch.json(&words(&format!("inspect {flags}")))
}

fn numbers(value: &Value) -> Vec<u64> {
    let list = value.as_array().unwrap().iter();
    list.map(|number| number.as_u64().unwrap()).collect()
}

#[test]
fn the_copy_code_is_dead_at_every_step_but_the_first() {
    let scratch = Scratch::new();
    scratch.file("copy.json", r#"{"actions":[0,1,0,0,1,1,0,0,1,1]}"#);
    let found = inspect(&scratch, "--code copy.json --task parity --lengths 3");
    assert_eq!(found["reward_exact"], json!("1/2"));
    assert_eq!(found["product_exact"], json!("1/2"));
    let kinds: Vec<&Value> = found["steps"].as_array().unwrap().iter().collect();
    assert_eq!(kinds[0]["kind"], json!("opens"));
    for step in &kinds[1..] {
        assert_eq!((&step["dead"], &step["mu"]), (&json!(true), &json!("0")));
    }
    assert_eq!(
        found["ignored"],
        json!([{"length": 3, "positions": [1, 2]}])
    );
    assert_eq!(
        (&found["wrong_probability_exact"], &found["sampled"]),
        (&json!("1/2"), &json!(false))
    );
    assert_eq!(
        found["causes"],
        json!([{
            "why": "aliased", "t": 2, "probability": 0.5, "probability_exact": "1/2",
            "low": null, "high": null,
        }])
    );
    assert_eq!(
        found["blame"][0],
        json!({
            "cell": 3, "state": 1, "token": 0, "other_states": [0], "right_tokens": [],
            "probability": 0.25, "probability_exact": "1/4", "low": null, "high": null,
        })
    );
    let run = scratch.run(&words("inspect --code copy.json --task parity --lengths 3"));
    let text = run.success();
    let cell = "  1/4 = 0.25: cell (2, 0, 1) leads to state 1 and emits 0, which also stands for state 0; no \
                token is free for it";
    assert!(
        text.contains("cells to blame, from all 8 inputs that occur:"),
        "{text}"
    );
    assert_eq!(
        text.lines()
            .filter(|line| line.contains("stands for"))
            .count(),
        2
    );
    assert!(text.contains(cell), "{text}");
    // A wrong answer of the last step alone.
    scratch.file("last.json", r#"{"actions":[0,1,0,1,1,0,0,1,1,1]}"#);
    let run = scratch.run(&words("inspect --code last.json --task parity --lengths 3"));
    let blame = "1/4 = 0.25: cell (3, 1, 1) leads to state 0 and emits 1; right would be 0";
    assert!(run.success().contains(blame), "{}", run.success());
    // The fold itself has nothing to mend.
    scratch.file("fold.json", r#"{"actions":[0,1,0,1,1,0,0,1,1,0]}"#);
    let found = inspect(&scratch, "--code fold.json --task parity --lengths 3");
    assert_eq!(
        (&found["wrong_probability_exact"], &found["product_exact"]),
        (&json!("0/1"), &json!("1/1"))
    );
    assert_eq!(numbers(&found["defended"]), (0..10).collect::<Vec<_>>());
}

/// A product law of parity, position by position the probability of symbol 0.
fn product_law(scratch: &Scratch, name: &str, zeros: &[&str]) {
    let rest = |p: &str| match p.split_once('/') {
        Some((a, b)) => {
            let (a, b): (u64, u64) = (a.parse().unwrap(), b.parse().unwrap());
            format!("{}/{b}", b - a)
        }
        None => "0/1".to_owned(),
    };
    let rows: Vec<Value> = zeros.iter().map(|p| json!([p, rest(p)])).collect();
    scratch.file(name, &json!(rows).to_string());
}

/// The code that answers x_T and folds all symbols before it.
fn forgets_at_the_end(scratch: &Scratch, name: &str, flags: &str, length: u64) {
    let found = scratch.json(&words(&format!("cells {flags}")));
    let action = |cell: &Value| {
        let x = cell["x"][0].as_u64().unwrap();
        match cell["y"].as_u64().filter(|_| cell["t"] != json!(length)) {
            Some(y) => x ^ y,
            None => x,
        }
    };
    let cells = found["cells"].as_array().unwrap();
    let actions: Vec<u64> = cells.iter().map(action).collect();
    scratch.file(name, &json!({"actions": actions}).to_string());
}

#[test]
fn of_a_long_law_with_zeros_only_what_occurs_counts() {
    let scratch = Scratch::new();
    let flags = "--task parity --lengths 40 --inputs product:law.json";
    let mut zeros = ["1"; 40];
    (zeros[0], zeros[39]) = ("1/2", "1/2");
    product_law(&scratch, "law.json", &zeros);
    forgets_at_the_end(&scratch, "code.json", flags, 40);
    let found = inspect(&scratch, &format!("--code code.json {flags}"));
    // Four inputs occur, of 2^40.
    assert_eq!(
        (&found["sampled"], &found["inputs"]),
        (&json!(false), &json!(4))
    );
    assert_eq!(found["wrong_probability_exact"], json!("1/2"));
    assert_eq!(found["causes"][0]["probability_exact"], json!("1/2"));
    assert_eq!(
        numbers(&found["ignored"][0]["positions"]),
        (1..=39).collect::<Vec<_>>()
    );
    // A million inputs occur, one in a million of all: none that is drawn is lost.
    for t in (2..40).step_by(2) {
        zeros[t] = "1/2";
    }
    product_law(&scratch, "law.json", &zeros);
    forgets_at_the_end(&scratch, "code.json", flags, 40);
    let drawn = format!("inspect --code code.json --max-inputs 500 {flags}");
    let found = scratch.json(&words(&drawn));
    assert_eq!(
        (&found["sampled"], &found["inputs"]),
        (&json!(true), &json!(500))
    );
    let text = scratch.run(&words(&drawn)).success().to_owned();
    for line in [
        "answered wrongly with probability 1/2 = 0.500000",
        "cells to blame, from 500 inputs drawn from their law, with 95 % intervals:",
    ] {
        assert!(text.contains(line), "{text}");
    }
}

#[test]
fn a_trap_is_wrong_with_the_probability_that_its_reward_lacks() {
    let scratch = Scratch::new();
    let census = format!("enumerate {CORRELATED} --traps traps.json --json");
    scratch.run(&words(&census)).success();
    let found = inspect(&scratch, "--code traps.json#0");
    let text = scratch.run(&words("inspect --code traps.json#0"));
    let fraction = |value: &Value| {
        let (num, den) = value.as_str().unwrap().split_once('/').unwrap();
        (num.parse::<u64>().unwrap(), den.parse::<u64>().unwrap())
    };
    let (right, wrong) = (
        fraction(&found["reward_exact"]),
        fraction(&found["wrong_probability_exact"]),
    );
    assert_eq!((right.0 + wrong.0, right.1), (wrong.1, wrong.1));
    let causes = found["causes"].as_array().unwrap().iter();
    let sum: f64 = causes
        .map(|cause| cause["probability"].as_f64().unwrap())
        .sum();
    assert!((sum - wrong.0 as f64 / wrong.1 as f64).abs() < 1e-12);
    let said = format!(
        "answered wrongly with probability {}/{} = ",
        wrong.0, wrong.1
    );
    assert!(text.success().contains(&said));
    assert!(text.success().contains("from all 64 inputs that occur"));
}

#[test]
fn large_classes_are_sampled_and_small_ones_drawn() {
    let scratch = Scratch::new();
    let code = "chain --task quasigroup --lengths 7 --window 0,3 --tied --kernel metropolis --order cell \
                --tau 1e-6 --sweeps 3 --chains 1 --json";
    scratch.file("wide.json", scratch.run(&words(code)).success());
    let found = inspect(&scratch, "--code wide.json --max-inputs 500");
    assert_eq!(
        (&found["sampled"], &found["inputs"]),
        (&json!(true), &json!(500))
    );
    refuses(
        &scratch,
        "inspect --code wide.json --svg wide.svg",
        &["rows"],
    );
    scratch.file("fold.json", r#"{"actions":[0,1,0,1,1,0,0,1,1,0]}"#);
    let run = scratch.run(&words(
        "inspect --code fold.json --task parity --lengths 3 --svg fold.svg",
    ));
    assert!(run.success().contains("drawn to fold.svg"));
    assert!(scratch.read("fold.svg").starts_with("<svg"));
    let csv = scratch.run(&words(
        "inspect --code fold.json --task parity --lengths 3 --format csv",
    ));
    assert!(csv.success().starts_with("t,cells,windows,"));
}
