//! `family`: complete codes with penalties, and `fig:trapsfixed` at the smoke scale.

use serde_json::Value;

use crate::support::Scratch;

const PARITY: [&str; 9] = [
    "family", "--task", "parity", "--length", "2", "--tau", "0.1", "--gwin", "0,1,100",
];

#[test]
fn the_crossover_ends_in_the_class_and_agrees_with_all_codes() {
    let scratch = Scratch::new();
    let args = [&PARITY[..], &["--sweeps", "4000", "--svg", "family.svg"]].concat();
    let report = scratch.json(&args);
    assert_eq!(
        (&report["histories"], &report["cells"]),
        (&12.into(), &6.into())
    );
    let points = report["points"].as_array().unwrap();
    assert_eq!(points.len(), 3);
    for point in points {
        for key in ["reward", "e_win", "windowed"] {
            let mean = point[key]["mean"].as_f64().unwrap();
            let exact = point["exact"][key].as_f64().unwrap();
            let allowed = match &point[key]["error"] {
                // All walks agree, which says nothing of the error.
                Value::Null => 1e-3,
                error => 6.0 * error.as_f64().unwrap(),
            };
            assert!((mean - exact).abs() <= allowed + 1e-9, "{key}: {point}");
        }
    }
    let close = |a: &Value, b: &Value| (a.as_f64().unwrap() - b.as_f64().unwrap()).abs() < 1e-9;
    assert!(close(&points[0]["exact"]["reward"], &report["complete"]));
    assert!(close(&points[2]["exact"]["reward"], &report["windowed"]));
    assert_eq!(points[2]["windowed"]["mean"], 1.0);
    assert_eq!(points[2]["windowed"]["error"], Value::Null);
    let text = scratch.run(&args[..args.len() - 2]);
    assert!(!text.success().contains("± 0.00000"), "{}", text.text);
    assert!(
        text.text.contains("not known where all walks"),
        "{}",
        text.text
    );
    let svg = scratch.read("family.svg");
    for said in ["mean reward", "E_win", "E_tie", "untied class", "g_tie = 0"] {
        assert!(svg.contains(said), "{said}");
    }
}

#[test]
fn the_output_does_not_depend_on_the_threads() {
    let scratch = Scratch::new();
    let args = [
        "family", "--task", "parity", "--length", "3", "--gwin", "0,1,100", "--gtie", "0,2",
        "--sweeps", "50",
    ];
    let with = |threads| scratch.json(&[&args[..], &["--threads", threads]].concat());
    let one = with("1");
    assert_eq!(one["points"].as_array().unwrap().len(), 6);
    assert_eq!(one, with("3"));
    let text = scratch.run(&args);
    for said in [
        "56 histories, 10 cells, 6 when tied",
        "g_win",
        "untied class",
    ] {
        assert!(text.success().contains(said), "{}", text.text);
    }
}

#[test]
fn what_makes_no_family_is_refused_by_name() {
    let scratch = Scratch::new();
    for (bad, said) in [
        (["--tau", "0"], "above 0"),
        (["--gwin", "-1"], "at least 0"),
        (["--runs", "1"], "at least 2"),
        (["--window", "1"], "P,F"),
    ] {
        let args = [&["family", "--task", "parity", "--length", "2"], &bad[..]].concat();
        let run = scratch.run(&args);
        assert_eq!(run.code, Some(2), "{bad:?}");
        assert!(run.errors.contains(said), "{}", run.errors);
    }
    let run = scratch.run(&["family", "--task", "z:5", "--length", "30"]);
    assert_eq!(run.code, Some(2));
    assert!(
        run.errors.contains("memory") || run.errors.contains("GiB"),
        "{}",
        run.errors
    );
}

/// Runs that are stopped and taken up again are in `study.rs`; here the method itself.
#[test]
fn pure_states_are_runs_of_a_study() {
    let scratch = Scratch::new();
    scratch.file(
        "study.toml",
        "name = \"states\"
        [[class]]
        task = \"parity\"
        lengths = 4
        k = \"9/10\"
        [[dynamics]]
        kind = \"pure-state\"
        tau = [0.01, 0.3]
        runs = 2
        replicas = 3
        sweeps = 300
        iterations = 200",
    );
    let run = |out: &str, threads: &str| {
        let done = scratch.run(&["run", "study.toml", "--out", out, "--threads", threads]);
        assert_eq!(done.code, Some(0), "{}", done.errors);
        let table = scratch.run(&["collect", out]);
        assert_eq!(table.code, Some(0), "{}", table.errors);
        scratch.read(&format!("{out}/table.jsonl"))
    };
    let table = run("a", "1");
    assert_eq!(table, run("b", "2"));
    let rows: Vec<Value> = table
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(rows.len(), 4);
    for row in &rows {
        let reward = row["result"]["mean_reward"].as_f64().unwrap();
        assert!((0.4..=1.0).contains(&reward), "{row}");
        if row["result"]["standing"] == "trap" {
            let likeness = row["result"]["bhattacharyya"].as_f64().unwrap();
            assert!((0.5..=1.0 + 1e-12).contains(&likeness), "{row}");
        } else {
            assert!(row["result"]["bhattacharyya"].is_null(), "{row}");
        }
    }
    let refused = scratch.file(
        "bad.toml",
        "name = \"bad\"
        [[class]]
        task = \"parity\"
        lengths = 4
        [[dynamics]]
        kind = \"pure-state\"
        tau = 0.01
        runs = 1
        sweeps = 10
        iterations = 10
        active = \"hot\"",
    );
    let refused = scratch.run(&["run", refused, "--out", "c"]);
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.errors.contains("hot") && refused.errors.contains("mixed"),
        "{}",
        refused.errors
    );
}
