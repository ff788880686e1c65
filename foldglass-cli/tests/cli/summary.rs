//! Holds `summary` to the records it sums up, and its tables to their forms.

use std::fs;

use foldglass::support::stats::{Proportion, bounded_mean};
use serde_json::{Value, json};

use crate::mistakes::refuses;
use crate::support::{Scratch, words};

const STUDY: &str = r#"
name = "both"
seed = 4
[[class]]
id = "p"
task = "parity"
lengths = 4
inputs = "markov:9/10"
[[dynamics]]
kind = "cavi"
tau = [1e-10, 1e-2]
runs = 12
iterations = 60
[[dynamics]]
id = "mc"
kind = "chain"
kernel = "metropolis"
tau = 1e-13
runs = 7
sweeps = 3
"#;

fn study() -> (Scratch, Vec<Value>) {
    let scratch = Scratch::new();
    scratch.file("s.toml", STUDY);
    scratch.run(&["run", "s.toml"]).success();
    let text = scratch.read("both/records.jsonl");
    let records = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let records = records.collect();
    (scratch, records)
}

/// A result of the runs of a point, ascending.
fn results(records: &[Value], dynamics: &str, tau: f64, key: &str) -> Vec<f64> {
    let own = |record: &&Value| {
        record["dynamics"] == dynamics && record["parameters"]["tau"].as_f64() == Some(tau)
    };
    let own = records.iter().filter(own);
    let mut values: Vec<f64> = own.map(|r| r["result"][key].as_f64().unwrap()).collect();
    values.sort_by(f64::total_cmp);
    values
}

fn close(a: &Value, b: f64) {
    assert!((a.as_f64().unwrap() - b).abs() < 1e-12, "{a}, not {b}");
}

#[test]
fn the_numbers_are_those_of_the_records() {
    let (scratch, records) = study();
    let found = scratch.json(&["summary", "both"]);
    assert_eq!(
        (&found["study"], &found["seed"]),
        (&json!("both"), &json!(4))
    );
    let points = found["points"].as_array().unwrap();
    let expected = [
        ("cavi", "cavi", 1e-10, "greedy_reward", "greedy_exact"),
        ("cavi", "cavi", 1e-2, "greedy_reward", "greedy_exact"),
        ("mc", "chain", 1e-13, "reward", "reward_exact"),
    ];
    assert_eq!(points.len(), 3);
    for (point, (method, kind, tau, key, exact)) in points.iter().zip(expected) {
        assert_eq!(point["class"], "p");
        assert_eq!(
            (&point["method"], &point["kind"]),
            (&json!(method), &json!(kind))
        );
        assert_eq!(point["parameters"], json!({"tau": tau}));
        assert_eq!(point["quantity"], key);
        let values = results(&records, method, tau, key);
        let n = values.len() as f64;
        assert_eq!(point["runs"], values.len());
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
        let sd = (squares / (n - 1.0)).sqrt();
        close(&point["mean"], mean);
        close(&point["sd"], sd);
        close(&point["min"], values[0]);
        close(&point["max"], values[values.len() - 1]);
        let middle = (values[(values.len() - 1) / 2] + values[values.len() / 2]) / 2.0;
        close(&point["median"], middle);
        let interval = bounded_mean(&values, 0.95).unwrap();
        close(&point["low"], interval.low);
        close(&point["high"], interval.high);
        assert!(0.0 <= interval.low && interval.high <= 1.0, "{point}");
        let own = records.iter().filter(|record| {
            record["dynamics"] == method && record["parameters"]["tau"].as_f64() == Some(tau)
        });
        let ones = own
            .filter(|record| record["result"][exact] == "1/1")
            .count();
        assert_eq!(point["at_one"], ones);
        let share = Proportion {
            successes: ones as u64,
            trials: values.len() as u64,
        };
        close(&point["at_one_low"], share.interval(0.95).low);
        close(&point["at_one_high"], share.interval(0.95).high);
    }
    // A cold and a hot point differ, so the sums are of the right runs.
    assert_ne!(points[0]["mean"], points[1]["mean"]);
}

#[test]
fn another_result_is_summed_up_by_its_name() {
    let (scratch, records) = study();
    let found = scratch.json(&["summary", "both", "--of", "entropy"]);
    let points = found["points"].as_array().unwrap();
    // Chains have none.
    assert_eq!(points.len(), 2);
    let values = results(&records, "cavi", 1e-2, "entropy");
    let mean = values.iter().sum::<f64>() / 12.0;
    close(&points[1]["mean"], mean);
    // Student's interval, with t at 97.5 % for 11 degrees of freedom: entropies have no bound of 1.
    let half = 2.200_985 * points[1]["sd"].as_f64().unwrap() / 12f64.sqrt();
    let low = points[1]["low"].as_f64().unwrap();
    assert!((low - (mean - half)).abs() < 1e-5, "{}", points[1]);
    assert_eq!(points[1]["at_one"], Value::Null);
    // The numbers of all dynamics, those of the chain among them, and none that is not a number.
    let said = [
        "--of energy",
        "entropy",
        "greedy_reward",
        "residual",
        "mean_reward",
        "solved",
    ];
    refuses(&scratch, "summary both --of energy", &said);
    let run = scratch.run(&words("summary both --of energy"));
    assert!(!run.errors.contains("greedy_exact"), "{}", run.errors);
}

#[test]
fn sixty_of_sixty_at_1_leave_room_for_a_run_that_fails() {
    let scratch = Scratch::new();
    let study = "name = \"sure\"\n[[class]]\nid = \"p\"\ntask = \"parity\"\nlengths = 2\n\
        [[dynamics]]\nid = \"mc\"\nkind = \"chain\"\nkernel = \"metropolis\"\ntau = 1e-13\n\
        runs = 60\nsweeps = 200\n";
    scratch.file("sure.toml", study);
    scratch.run(&["run", "sure.toml"]).success();
    let point = &scratch.json(&["summary", "sure"])["points"][0];
    assert_eq!(
        (&point["at_one"], &point["mean"]),
        (&json!(60), &json!(1.0))
    );
    let low = 0.025f64.powf(1.0 / 60.0);
    for [end, other] in [["low", "high"], ["at_one_low", "at_one_high"]] {
        close(&point[end], low);
        close(&point[other], 1.0);
    }
    let text = scratch.run(&["summary", "sure"]);
    let said = text.success().matches("0.940371 to 1").count();
    assert_eq!(said, 2, "{}", text.text);
    // The share of runs at 1 is a quantity of its own.
    let solved = &scratch.json(&["summary", "sure", "--of", "solved"])["points"][0];
    assert_eq!(solved["quantity"], "solved");
    for key in ["mean", "low", "high", "at_one", "at_one_low"] {
        assert_eq!(solved[key], point[key], "{key}");
    }
}

#[test]
fn a_table_is_written_in_the_form_of_its_extension() {
    let (scratch, _) = study();
    for (name, format, said) in [
        ("s.txt", "text", "class  method"),
        (
            "s.csv",
            "csv",
            "class,method,parameters,quantity,runs,mean,mean_sd,",
        ),
        ("s.md", "markdown", "| class | method |"),
        ("s.tex", "latex", "\\toprule"),
        ("s.json", "json", "\"at_1\":{\"count\":"),
    ] {
        scratch.run(&["summary", "both", "--out", name]).success();
        let printed = scratch.run(&["summary", "both", "--format", format]);
        assert_eq!(printed.success(), scratch.read(name), "{name}");
        assert!(printed.text.contains(said), "{}", printed.text);
    }
    let csv = scratch.read("s.csv");
    let rows: Vec<Vec<&str>> = csv
        .split_terminator("\r\n")
        .map(|line| line.split(',').collect())
        .collect();
    assert_eq!(rows.len(), 4);
    assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{csv}");
    let found = scratch.json(&["summary", "both"]);
    let mean = rows[0].iter().position(|head| *head == "mean").unwrap();
    close(&found["points"][1]["mean"], rows[2][mean].parse().unwrap());
    for bad in ["s.xlsx", "s", "s.CSV"] {
        let said = ["--table", bad, ".txt, .json, .csv, .md, .tex"];
        refuses(&scratch, &format!("summary both --out {bad}"), &said);
    }
    refuses(
        &scratch,
        "summary both --out no/where.csv",
        &["cannot write no/where.csv"],
    );
    let said = ["'xlsx'", "--format", "text, json, csv, markdown, latex"];
    let run = scratch.run(&words("summary both --format xlsx"));
    assert_eq!(run.code, Some(2));
    for part in said {
        assert!(run.errors.contains(part), "{}", run.errors);
    }
}

#[test]
fn runs_that_are_missing_are_told() {
    let (scratch, _) = study();
    let path = scratch.path().join("both/records.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let fewer: Vec<&str> = text.lines().skip(3).collect();
    fs::write(&path, format!("{}\n", fewer.join("\n"))).unwrap();
    let run = scratch.run(&["summary", "both", "--json"]);
    assert_eq!(run.code, Some(0));
    assert!(
        run.errors.contains("not done yet: 3 runs"),
        "{}",
        run.errors
    );
    refuses(&scratch, "summary nowhere", &["nowhere", "study.json"]);
}
