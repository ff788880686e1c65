//! Holds the tables that `enumerate`, `density` and `tree` write to what they print, and every command to any
//! table of a task.

use std::fs::File;

use parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::{Value, json};

use crate::mistakes::refuses;
use crate::support::{Scratch, words};
use crate::tables::{flat, split};

/// The rows of a Parquet file, which contain what the lines of a CSV file of the same command contain, and
/// the class of the file.
fn rows(scratch: &Scratch, command: &str) -> (Vec<Value>, Value, Value) {
    let printed = scratch.json(&words(&format!("{command} --table t.parquet")));
    let csv = scratch.json(&words(&format!("{command} --table t.csv")));
    assert_eq!(csv["settings"]["table"], "t.csv");
    let file = File::open(scratch.path().join("t.parquet")).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let notes = reader.metadata().file_metadata().key_value_metadata();
    let class = notes
        .unwrap()
        .iter()
        .find(|note| note.key == "foldglass.class");
    let class = serde_json::from_str(class.unwrap().value.as_ref().unwrap()).unwrap();
    let list: Vec<Value> = reader.into_iter().map(|row| flat(&row.unwrap())).collect();
    let text = scratch.read("t.csv");
    let mut lines = text.lines().map(split);
    let heads = lines.next().unwrap();
    let lines: Vec<Vec<String>> = lines.collect();
    assert_eq!(lines.len(), list.len());
    for (line, row) in lines.iter().zip(&list) {
        assert_eq!(row.as_object().unwrap().len(), heads.len());
        for (head, entry) in heads.iter().zip(line) {
            let found = match &row[head] {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            assert_eq!(*entry, found, "{head}");
        }
    }
    (list, class, printed)
}

#[test]
fn a_table_of_traps_has_a_row_per_trap_up_to_names() {
    let scratch = Scratch::new();
    let command = "enumerate --task parity --inputs markov:9/10 --lengths 6 --traps traps.json";
    let (rows, class, printed) = rows(&scratch, command);
    let traps: Value = serde_json::from_str(&scratch.read("traps.json")).unwrap();
    assert_eq!(class, traps["class"]);
    let codes = traps["codes"].as_array().unwrap();
    assert_eq!(rows.len(), codes.len());
    let mut kinds = std::collections::BTreeMap::new();
    for (row, code) in rows.iter().zip(codes) {
        assert_eq!(row["actions"], code["actions"]);
        let kind = ["reward_exact", "barrier_exact", "largest_loss_exact"];
        let kind = kind.map(|key| row[key].as_str().unwrap().to_owned());
        let count: u64 = row["count"].as_str().unwrap().parse().unwrap();
        *kinds.entry(kind).or_insert(0) += count;
    }
    for kind in printed["kinds"].as_array().unwrap() {
        let key = ["reward", "barrier", "loss"].map(|key| kind[key].as_str().unwrap().to_owned());
        assert_eq!(kind["count"], kinds[&key].to_string());
    }
    assert_eq!(rows[0]["reward"], json!(0.82));
    let refused = "enumerate --task parity --lengths 3 --table traps.xlsx";
    refuses(&scratch, refused, &["traps.xlsx", ".csv or .parquet"]);
    let tolerant = "enumerate --task parity --lengths 3 --tolerance 1/10 --table t.csv";
    refuses(&scratch, tolerant, &["--table", "--tolerance"]);
}

#[test]
fn a_table_of_a_density_has_a_row_per_reward() {
    let scratch = Scratch::new();
    let (rows, class, printed) = rows(&scratch, "density --task max:2 --lengths 3");
    assert_eq!(class["square"], json!([[0, 1], [1, 1]]));
    let bands = printed["density_of_states"].as_array().unwrap();
    assert_eq!(rows.len(), bands.len());
    for (row, band) in rows.iter().zip(bands) {
        assert_eq!(row["reward_exact"], band["reward"]);
        assert_eq!(row["count"], band["count"]);
        let count: f64 = row["count"].as_str().unwrap().parse().unwrap();
        assert!((row["ln_count"].as_f64().unwrap() - count.ln()).abs() < 1e-12);
    }
}

#[test]
fn a_table_of_a_tree_has_leaves_saddles_and_where_ascents_are_stuck() {
    let scratch = Scratch::new();
    let command = "tree --task parity --inputs markov:9/10 --lengths 4";
    let (rows, _, printed) = rows(&scratch, command);
    let (leaves, saddles) = (&printed["leaves"], &printed["saddles"]);
    let (leaves, saddles) = (leaves.as_array().unwrap(), saddles.as_array().unwrap());
    assert_eq!(rows.len(), leaves.len() + saddles.len() + 1);
    for (row, node) in rows.iter().zip(leaves.iter().chain(saddles)) {
        assert_eq!(
            (&row["id"], &row["reward_exact"]),
            (&node["id"], &node["reward"])
        );
        for (column, key) in [
            ("barrier_exact", "barrier"),
            ("shelf_size", "shelf_size"),
            ("steepest", "steepest"),
            ("random", "random"),
            ("actions", "actions"),
        ] {
            assert_eq!(row[column], node[key], "{column}");
        }
    }
    for saddle in saddles {
        for child in saddle["children"].as_array().unwrap() {
            let row = &rows[child.as_u64().unwrap() as usize];
            assert_eq!(row["parent"], saddle["id"]);
        }
    }
    assert!(
        rows[rows.len() - 2]["parent"].is_null(),
        "the lowest saddle"
    );
    let stuck = &rows[rows.len() - 1];
    assert_eq!(
        (&stuck["kind"], &stuck["id"]),
        (&json!("stuck"), &Value::Null)
    );
    assert_eq!(stuck["steepest"], printed["stuck"]["steepest"]);
}

/// One run of each command over a table whose columns are not permutations. Catches a command that refuses
/// such a table, or reads another from the class that files contain.
#[test]
fn every_command_takes_a_table_that_is_not_a_latin_square() {
    let scratch = Scratch::new();
    scratch.file("or.json", "[[0,1],[1,1]]");
    let class = "--task or.json --lengths 3";
    let run = |text: &str| scratch.run(&words(text)).success().to_owned();
    let wrong = run(&format!(
        "chain {class} --kernel metropolis --tau 0 --sweeps 1 --runs 1 --json"
    ));
    scratch.file("start.json", &wrong);
    for command in [
        "cells",
        "enumerate",
        "tree",
        "density",
        "benign",
        "cavi --tau 1e-3 --iterations 20 --runs 2",
        "free-energy --tau 0.5 --learning 500 --sweeps 1000",
        "overlap --tau 0.3 --sweeps 50",
        "tree --orbits",
        "reinforce --estimator rloo:2 --batch 4 --updates 3 --learning-rate 1",
        "dataset --rows 4",
    ] {
        run(&format!("{command} {class}"));
    }
    for command in ["eval", "inspect", "gauge", "draw --svg code.svg"] {
        run(&format!("{command} --code start.json"));
    }
    scratch.file(
        "study.toml",
        "name = \"or\"\n[[class]]\ntask = \"or.json\"\nlengths = [3]\n[[dynamics]]\nkind = \"chain\"\n\
         kernel = \"metropolis\"\ntau = [0]\nruns = 1\nsweeps = 5\n",
    );
    run("run study.toml");
    run("certify --code start.json --out verdicts.json");
    run("check verdicts.json");
    run("escape --code start.json --out path.json");
    run("check path.json");
    let path: Value = serde_json::from_str(&scratch.read("path.json")).unwrap();
    assert_eq!(path["class"]["square"], json!([[0, 1], [1, 1]]));
    assert_eq!(path["reward_exact"], "1/1");
    run("family --task or.json --lengths 2 --tau 0.5 --sweeps 50");
    let answer = scratch.json(&words(&format!("benign {class}")));
    assert_eq!(
        (&answer["answer"], &answer["theorem"]),
        (&json!("benign"), &json!("C"))
    );
    // Two lengths at (0,0): no theorem covers it, and the census counts.
    let answer = scratch.json(&words("benign --task or.json --lengths 2,3"));
    assert_eq!(answer["theorem"], Value::Null);
}
