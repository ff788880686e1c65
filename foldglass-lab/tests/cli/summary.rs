//! Holds `summary` to the records it sums up, and its tables to their forms.

use std::fs;

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
        // Student's t at 97.5 % for 11 and 6 degrees of freedom.
        let t = if values.len() == 12 {
            2.200_985
        } else {
            2.446_912
        };
        let half = t * sd / n.sqrt();
        let ends = [&point["low"], &point["high"]].map(|end| end.as_f64().unwrap());
        assert!((ends[0] - (mean - half)).abs() < 1e-5, "{point}");
        assert!((ends[1] - (mean + half)).abs() < 1e-5, "{point}");
        let own = records.iter().filter(|record| {
            record["dynamics"] == method && record["parameters"]["tau"].as_f64() == Some(tau)
        });
        let ones = own
            .filter(|record| record["result"][exact] == "1/1")
            .count();
        assert_eq!(point["at_one"], ones);
        let share = ones as f64 / n;
        let ends = ["at_one_low", "at_one_high"].map(|key| point[key].as_f64().unwrap());
        assert!(ends[0] <= share && share <= ends[1], "{point}");
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
    close(&points[1]["mean"], values.iter().sum::<f64>() / 12.0);
    assert_eq!(points[1]["at_one"], Value::Null);
    let said = ["--of energy", "entropy", "greedy_reward", "residual"];
    refuses(&scratch, "summary both --of energy", &said);
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
        let said = ["--out", bad, ".txt, .json, .csv, .md, .tex"];
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
