//! Holds `dataset` to its forms: rows that any trainer reads, and a tokenizer of the symbols.

use std::fs::File;

use parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::{Value, json};

use crate::study::fails;
use crate::support::{Scratch, words};

const SMALL: &str = "dataset --task z:3 --lengths 1,2,3";

fn lines(scratch: &Scratch, file: &str) -> Vec<Value> {
    let text = scratch.read(file);
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn a_row_depends_on_the_seed_and_its_number_alone() {
    let scratch = Scratch::new();
    let rows = |flags: &str| {
        let report = scratch.json(&words(&format!("{SMALL} {flags}")));
        report["dataset"].as_array().unwrap().clone()
    };
    let ten = rows("--rows 10");
    assert_eq!(ten[..4], rows("--rows 4")[..]);
    assert_eq!(ten[6..], rows("--rows 4 --first 6")[..]);
    assert_ne!(ten, rows("--rows 10 --seed 1"));
    let both = rows("--rows 10 --test-rows 10");
    assert_eq!(ten, both[..10]);
    let inputs =
        |rows: &[Value]| -> Vec<Value> { rows.iter().map(|row| row["input"].clone()).collect() };
    assert_ne!(inputs(&ten), inputs(&both[10..]));
    assert_eq!(
        ten[0],
        json!({
            "index": 0, "split": "train", "length": 2, "input": [2, 2], "products": [2, 1], "target": 1,
            "chance": "1/3", "prompt": "2 2 <sep>",
        })
    );
}

#[test]
fn chance_levels_are_those_of_the_law() {
    let report = Scratch::new().json(&words(
        "dataset --task parity --lengths 3,4 --inputs markov:9/10 --rows 20",
    ));
    // At length 4 the target is 0 with probability 41/50, at length 3 each with 1/2.
    assert_eq!(report["chance"], "33/50");
    for row in report["dataset"].as_array().unwrap() {
        let chance = if row["length"] == 3 { "1/2" } else { "41/50" };
        assert_eq!(row["chance"], chance);
    }
}

#[test]
fn each_trainer_has_its_columns() {
    let scratch = Scratch::new();
    for (trainer, keys) in [
        ("trl", &["prompt", "target", "length"][..]),
        ("openrlhf", &["prompt", "label"]),
        ("reasoning-gym", &["question", "answer", "metadata"]),
        (
            "any",
            &["input", "products", "target", "chance", "table", "inputs"],
        ),
    ] {
        let flags = format!(
            "{SMALL} --rows 5 --test-rows 2 --rendering words --trainer {trainer} --out {trainer}"
        );
        let report = scratch.json(&words(&flags));
        assert!(
            report["dataset"].is_null(),
            "rows are in files or in the report"
        );
        assert_eq!(lines(&scratch, &format!("{trainer}/test.jsonl")).len(), 2);
        for row in lines(&scratch, &format!("{trainer}/train.jsonl")) {
            for key in keys {
                assert!(!row[*key].is_null(), "{trainer}: no {key} in {row}");
            }
        }
    }
    let asked = &lines(&scratch, "reasoning-gym/train.jsonl")[0];
    assert_eq!(asked["answer"], asked["metadata"]["target"].to_string());
    assert_eq!(
        asked["metadata"]["table"],
        json!([[0, 1, 2], [1, 2, 0], [2, 0, 1]])
    );
    assert_eq!(asked["metadata"]["difficulty"], json!({ "length": [1, 3] }));
    let spoken = &lines(&scratch, "trl/train.jsonl")[0]["prompt"][0];
    assert_eq!(spoken["role"], "user");
    let question = spoken["content"].as_str().unwrap();
    assert!(
        question.contains("* | 0 1 2\n") && question.contains("2 * 2"),
        "{question}"
    );
    let symbols = format!("{SMALL} --rows 1 --trainer trl --out plain");
    scratch.run(&words(&symbols)).success();
    assert_eq!(
        lines(&scratch, "plain/train.jsonl")[0]["prompt"],
        "2 2 <sep>"
    );
}

#[test]
fn the_table_is_hidden_where_it_is_asked_for() {
    let hidden = Scratch::new().json(&words(&format!(
        "{SMALL} --rows 1 --rendering words-hidden"
    )));
    let prompt = hidden["dataset"][0]["prompt"].as_str().unwrap().to_owned();
    assert!(
        prompt.contains("not shown") && !prompt.contains('|'),
        "{prompt}"
    );
}

#[test]
fn verl_reads_groups_within_columns() {
    let scratch = Scratch::new();
    scratch
        .run(&words(&format!("{SMALL} --rows 4 --trainer verl --out v")))
        .success();
    let file = File::open(scratch.path().join("v/train.parquet")).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let rows: Vec<String> = reader
        .get_row_iter(None)
        .unwrap()
        .map(|row| row.unwrap().to_string())
        .collect();
    assert_eq!(rows.len(), 4);
    for part in [
        "data_source: \"foldglass/z:3\"",
        "prompt: [{role: \"user\", content: \"2 2 <sep>\"}]",
        "reward_model: {style: \"rule\", ground_truth: \"1\"}",
        "extra_info: {split: \"train\", index: 0, length: 2, input: \"2 2\", products: \"2 1\", chance: \"1/3\"",
    ] {
        assert!(rows[0].contains(part), "{part} in {}", rows[0]);
    }
}

#[test]
fn rows_are_tagged_by_what_a_code_gets_wrong() {
    let scratch = Scratch::new();
    // Always 0: right where the target is.
    scratch.file("zero.json", "{\"actions\":[0,0,0,0,0,0]}");
    let report = scratch.json(&words(
        "dataset --code zero.json --task parity --lengths 2 --rows 50",
    ));
    let rows = report["dataset"].as_array().unwrap();
    let mut correct = 0;
    for row in rows {
        assert_eq!(row["code_answer"], 0);
        assert_eq!(row["code_correct"], row["target"] == 0);
        correct += usize::from(row["target"] == 0);
    }
    assert_eq!(report["code_correct_rows"], correct);
    assert!(correct > 0 && correct < 50);
}

#[test]
fn a_tokenizer_of_the_symbols_comes_with_them() {
    let scratch = Scratch::new();
    scratch
        .run(&words(&format!("{SMALL} --rows 1 --out rows")))
        .success();
    let text = scratch.read("rows/tokenizer/tokenizer.json");
    let tokenizer: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        tokenizer["model"]["vocab"],
        json!({ "0": 0, "1": 1, "2": 2, "<pad>": 3, "<eos>": 4, "<sep>": 5, "<unk>": 6 })
    );
    let config: Value =
        serde_json::from_str(&scratch.read("rows/tokenizer/tokenizer_config.json")).unwrap();
    assert!(config["chat_template"].is_string());
}

#[test]
fn mistakes_are_refused_with_what_is_accepted() {
    let scratch = Scratch::new();
    for (flags, said) in [
        (
            "--trainer trll --out x",
            "any, trl, verl, openrlhf, reasoning-gym",
        ),
        ("--rendering word", "symbols, words, words-hidden"),
        ("--rows -1", "a whole number of at least 0"),
        ("--rows 10000001", "at most 10000000"),
        ("--first 9223372036854775808", "2^63"),
        ("--trainer trl", "--out"),
        (
            "--lengths 2 --reward process",
            "--reward process rewards single steps: a row has one target",
        ),
    ] {
        // A flag that is given twice is another mistake.
        let small = SMALL.split(" --lengths").next().unwrap();
        let rest = if flags.contains("--lengths") {
            small
        } else {
            SMALL
        };
        let run = scratch.run(&words(&format!("{rest} {flags}")));
        fails(&run, 2, &[said]);
    }
    assert!(scratch.files().is_empty());
}

#[test]
fn files_of_an_earlier_dataset_are_never_left_beside_those_of_another() {
    let scratch = Scratch::new();
    let run = |flags: &str| scratch.run(&words(&format!("{SMALL} --out rows {flags}")));
    run("--rows 3 --test-rows 2").success();
    for (flags, named) in [
        ("--rows 3", "test.jsonl"),
        (
            "--rows 3 --test-rows 2 --trainer verl",
            "train.jsonl, test.jsonl",
        ),
        ("--rows 3 --test-rows 2 --rendering words", "tokenizer"),
        ("--rows 0 --test-rows 2", "train.jsonl"),
    ] {
        let said = format!("--out rows: it has {named} of an earlier dataset");
        fails(&run(flags), 2, &[&said, "another directory"]);
    }
    assert_eq!(lines(&scratch, "rows/train.jsonl").len(), 3);
    // What it would replace is no obstacle, nor is what no dataset writes.
    scratch.file("rows/notes.txt", "mine");
    run("--rows 5 --test-rows 1 --trainer trl").success();
    assert_eq!(lines(&scratch, "rows/train.jsonl").len(), 5);
    assert_eq!(lines(&scratch, "rows/test.jsonl").len(), 1);
}
