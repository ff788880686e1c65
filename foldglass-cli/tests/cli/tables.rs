//! Holds studies to their files, and the tables of `collect` to the records.

use std::fs;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use serde_json::{Value, json};

use crate::study::{RUNS, SMALL, fails, small, tables, undisturbed};
use crate::support::{Scratch, words};

#[test]
fn what_cannot_be_run_is_refused_and_leaves_nothing() {
    let scratch = Scratch::new();
    for (old, new, said) in [
        (
            "runs = 3",
            "rnus = 3",
            "s.toml: line 7, column 1: the key `runs` is missing: there are kind, tau, rnus, iterations",
        ),
        (
            "task = \"parity\"",
            "task = \"party\"",
            "line 5, column 1: class \"p\": task party",
        ),
        (
            "lengths = [4]",
            "lengths = [4, 4]",
            "line 6, column 1: class \"p\": lengths: length 4 is given twice",
        ),
        (
            "lengths = [4]",
            "lengths = [4]\ninputs = \"markov:2\"",
            "inputs markov:2",
        ),
        (
            "lengths = [4]",
            "lengths = [4]\ninputs = \"product:law\"",
            "cannot read law",
        ),
        (
            "lengths = [4]",
            "lengths = [4]\nwindow = [9999, 0]",
            "line 7, column 1: class \"p\": window, memory: the window (9999,0)",
        ),
        (
            "sweeps = 20",
            "sweeps = 20\norder = \"step\"\n[[class]]\ntask = \"parity\"\nlengths = [3]\ntied = true",
            "step blocks",
        ),
        (
            "lengths = [4]",
            "lengths = [60]\nwindow = [20, 20]",
            "cells",
        ),
        (
            "tau = [1e-10]",
            "tau = [0, 0.0]",
            "line 9, column 1: dynamics \"cavi\": tau = 0 twice",
        ),
        (
            "iterations = 20",
            "iterations = 20\ninitial = \"u_norm\"",
            "line 12, column 1: dynamics \"cavi\": `initial` is not a key",
        ),
        (
            "iterations = 20",
            "iterations = 20\ncheckpoints = [1]",
            "line 12, column 1: dynamics \"cavi\": `checkpoints` is not a key",
        ),
    ] {
        assert!(SMALL.contains(old), "{old}");
        scratch.file("s.toml", &SMALL.replacen(old, new, 1));
        fails(&scratch.run(&["run", "s.toml"]), 2, &[said]);
        fails(
            &scratch.run(&["run", "s.toml", "--dry-run", "--json"]),
            2,
            &[said],
        );
        assert_eq!(scratch.files(), ["s.toml"]);
    }
    fails(
        &scratch.run(&["run", "none.toml"]),
        2,
        &["cannot read none.toml"],
    );
    scratch.file("s.toml", SMALL);
    fails(
        &scratch.run(&["run", "s.toml", "--shard", "3/2"]),
        2,
        &["'3/2'", "I/N"],
    );
    fails(
        &scratch.run(&["collect", "nowhere"]),
        2,
        &["nowhere", "study.json"],
    );
    fails(&scratch.run(&["collect"]), 2, &["DIR"]);
}

/// Weights of lengths and rewards in studies: the class of each record, its columns, and messages that name the key.
#[test]
fn weights_and_rewards_are_keys_of_a_study_and_columns_of_its_table() {
    let scratch = Scratch::new();
    let class =
        |id: &str, keys: &str| format!("[[class]]\nid = \"{id}\"\ntask = \"max:2\"\n{keys}\n");
    let dynamics = "[[dynamics]]\nkind = \"cavi\"\ntau = [1e-3]\nruns = 1\niterations = 20\n";
    let study = |classes: &[String]| format!("name = \"rewards\"\n{}{dynamics}", classes.concat());
    let plain = class("plain", "lengths = [3]");
    let weighted = class(
        "weighted",
        "lengths = [2, 3]\nlength_weights = [1, \"1/2\"]",
    );
    let process = class("process", "lengths = [3]\nreward = \"process:1,2,1\"");
    scratch.file("s.toml", &study(&[plain.clone(), weighted, process]));
    scratch.run(&["run", "s.toml"]).success();
    scratch
        .run(&["collect", "rewards", "--table", "t"])
        .success();
    let text = scratch.read("t.csv");
    let mut lines = text.lines().map(split);
    let heads = lines.next().unwrap();
    let place = |head: &str| heads.iter().position(|other| other == head).expect(head);
    let [id, weights, rule] = ["class", "length_weights", "reward_rule"].map(place);
    let found: Vec<[String; 3]> = lines
        .map(|line| [id, weights, rule].map(|column| line[column].clone()))
        .collect();
    assert_eq!(
        found,
        [
            ["plain", "", ""],
            ["weighted", "2/3,1/3", ""],
            ["process", "", "process:1/4,1/2,1/4"],
        ]
    );
    // The manifest of a study without the keys has neither: directories of versions that did not know them are resumed.
    let only = study(&[plain]).replace("\"rewards\"", "\"plain\"");
    scratch.file("p.toml", &only);
    scratch.run(&["run", "p.toml"]).success();
    let manifest = scratch.read("plain/study.json");
    assert!(
        !manifest.contains("length_weights") && !manifest.contains("\"reward\""),
        "{manifest}"
    );
    // Nor has its table, which is that of versions before.
    scratch.run(&["collect", "plain", "--table", "p"]).success();
    let heads = split(scratch.read("p.csv").lines().next().unwrap());
    for name in ["length_weights", "reward_rule"] {
        assert!(!heads.iter().any(|head| head == name), "{heads:?}");
    }
    scratch.file("p.toml", &only.replace("[3]", "[3]\nreward = \"final\""));
    let resumed = scratch.json(&["run", "p.toml", "--dry-run"]);
    assert_eq!(resumed["finished"], 1, "{resumed}");
    for (keys, said) in [
        (
            "lengths = [2, 3]\nlength_weights = [1]",
            "length_weights: there are 1 weights for 2 lengths",
        ),
        (
            "lengths = [2, 3]\nlength_weights = [1, 0]",
            "weight 0 is refused",
        ),
        (
            "lengths = [2, 3]\nlength_weights = [1, -2]",
            "weight -2 is refused",
        ),
        (
            "lengths = [2, 3]\nreward = \"process\"",
            "reward: a process reward needs inputs of one length",
        ),
        (
            "lengths = [3]\nreward = \"process:1,2\"",
            "reward: the process reward has 2 weights",
        ),
        (
            "lengths = [3]\nreward = \"outcome\"",
            "'outcome' is not a reward",
        ),
        ("lengths = [3, 3]", "length 3 is given twice"),
    ] {
        scratch.file("s.toml", &study(&[class("p", keys)]));
        fails(
            &scratch.run(&["run", "s.toml", "--dry-run"]),
            2,
            &["line ", said],
        );
    }
    let train = study(&[class("p", "lengths = [3]\nreward = \"process\"")]).replace(
        dynamics,
        "[[dynamics]]\nkind = \"train\"\nbackend = \"cpu\"\nsteps = 1\nruns = 1\n",
    );
    scratch.file("s.toml", &train);
    fails(
        &scratch.run(&["run", "s.toml", "--dry-run"]),
        2,
        &["reward = \"final\" is needed"],
    );
}

#[test]
fn a_dry_run_counts_and_writes_nothing() {
    let scratch = Scratch::new();
    scratch.file("s.toml", SMALL);
    let plan = scratch.json(&["run", "s.toml", "--dry-run"]);
    assert_eq!(
        (&plan["study"], &plan["runs"], &plan["finished"]),
        (&"small".into(), &5.into(), &0.into())
    );
    assert_eq!(plan["series"].as_array().unwrap().len(), 2);
    assert_eq!(
        (&plan["series"][0]["class"], &plan["series"][0]["runs"]),
        (&"p".into(), &3.into())
    );
    assert!(plan["seconds"].as_f64().unwrap() >= 0.0 && plan["memory_bytes"].as_u64().unwrap() > 0);
    let text = scratch.run(&["run", "s.toml", "--dry-run"]);
    assert!(text.success().contains("5 runs, 0 done"), "{}", text.text);
    assert_eq!(scratch.files(), ["s.toml"]);
    scratch.run(&["run", "s.toml"]).success();
    assert_eq!(scratch.json(&["run", "s.toml", "--dry-run"])["finished"], 5);
}

#[test]
fn files_that_a_study_names_are_found_beside_it() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.path().join("studies")).unwrap();
    let study = SMALL
        .replace("\"parity\"", "\"square.json\"")
        .replace("[4]", "[1, 2]\ninputs = \"product:law.json\"");
    scratch.file("studies/s.toml", &study);
    scratch.file("studies/square.json", "[[1,0],[0,1]]");
    scratch.file("studies/law.json", "[[\"1/3\",\"2/3\"],[0.5,0.5]]");
    scratch.run(&["run", "studies/s.toml"]).success();
    // Another square behind the same name is another study.
    scratch.file("studies/square.json", "[[0,1],[1,0]]");
    fails(
        &scratch.run(&["run", "studies/s.toml"]),
        2,
        &["another class, method or seed"],
    );
}

/// A command prints the settings of a record, beside its other flags, with the name of the task.
fn agree(record: &Value, printed: &Value) {
    assert_eq!(printed["settings"]["task"], record["task"]);
    let settings = record["settings"].as_object().unwrap();
    // These two settings of a record are not flags of `chain`.
    let flags = settings
        .iter()
        .filter(|(key, _)| !["stationary_after", "stop_at_optimum"].contains(&&key[..]));
    assert!(flags.clone().count() > 3);
    for (key, value) in flags {
        let own = &printed["settings"][key];
        // A temperature of 0 is written 0 and 0.0.
        let numbers = own.as_f64().zip(value.as_f64());
        assert!(
            own == value || numbers.is_some_and(|(own, value)| own == value),
            "{key}: {own} and {value}"
        );
    }
}

#[test]
fn a_study_agrees_with_the_commands() {
    let scratch = Scratch::new();
    let common = "kind = \"cavi\"\ncommon_random_numbers = true";
    let common = SMALL.replace("kind = \"cavi\"", common);
    let same = "kind = \"chain\"\ncommon_random_numbers = true";
    scratch.file("s.toml", &common.replace("kind = \"chain\"", same));
    scratch.run(&["run", "s.toml"]).success();
    let lines = String::from_utf8(tables(&scratch, &["small"]).lines).unwrap();
    let rows: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let ids: Vec<&str> = rows.iter().map(|row| row["id"].as_str().unwrap()).collect();
    let expected = [
        "p/cavi/tau=1e-10/0",
        "p/cavi/tau=1e-10/1",
        "p/cavi/tau=1e-10/2",
        "p/chain/tau=0/0",
        "p/chain/tau=0/1",
    ];
    assert_eq!(ids, expected);
    let class = ["--task", "parity", "--lengths", "4"];
    let cavi = [
        "cavi",
        "--tau",
        "1e-10",
        "--iterations",
        "20",
        "--runs",
        "3",
    ];
    let cavi = scratch.json(&[&cavi[..], &class].concat());
    for run in 0..3 {
        let (ours, theirs) = (&rows[run]["result"], &cavi["runs"][run]);
        agree(&rows[run], &cavi);
        for key in [
            "greedy_exact",
            "greedy_reward",
            "expected_reward",
            "entropy",
            "residual",
        ] {
            assert_eq!(ours[key], theirs[key], "{key}");
        }
    }
    let chain = [
        "chain",
        "--kernel",
        "heat-bath",
        "--tau",
        "0",
        "--sweeps",
        "20",
        "--chains",
        "2",
    ];
    let chain = scratch.json(&[&chain[..], &class].concat());
    for run in 0..2 {
        let (ours, theirs) = (&rows[3 + run]["result"], &chain["chains"][run]);
        agree(&rows[3 + run], &chain);
        for key in [
            "reward_exact",
            "reward",
            "mean_reward",
            "sweeps_to_stationary",
        ] {
            assert_eq!(ours[key], theirs[key], "{key}");
        }
    }
    // Without that key every point has streams of its own.
    let (scratch, _) = small();
    let lines = String::from_utf8(tables(&scratch, &["small"]).lines).unwrap();
    let own: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!((&rows[0]["seed"], &rows[3]["seed"]), (&json!(0), &json!(0)));
    assert_ne!(own["seed"], rows[0]["seed"]);
    assert_ne!(own["result"], rows[0]["result"]);
}

const GRID: &str = r#"
name = "grid"
[[class]]
id = "parity"
task = "parity"
[class.grid]
k = ["7/10", 0.9]
lengths = [3, [2, 3]]
[[class]]
id = "z3"
task = "z:3"
lengths = 2
[[dynamics]]
kind = "cavi"
classes = ["parity"]
iterations = 8
runs = 2
tau = { from = 1e-6, to = 1e-2, points = 3 }
[dynamics.grid]
damping = [0.1, 1.0]
[[dynamics]]
id = "warm"
kind = "chain"
classes = ["z3"]
kernel = "heat-bath"
sweeps = 6
runs = 2
trace_every = 2
keep_code = true
keep_marginals = true
[dynamics.grid]
anneal = ["geometric:1e-1,1e-3,5", "1e-2"]
[[dynamics]]
id = "ladder"
kind = "chain"
classes = ["z3"]
kernel = "metropolis"
ladder = [0, 1e-2]
sweeps = 6
runs = 1
"#;

#[test]
fn a_grid_runs_every_combination() {
    let scratch = Scratch::new();
    scratch.file("grid.toml", GRID);
    scratch.run(&["run", "grid.toml"]).success();
    let records = records(&tables(&scratch, &["grid"]).lines);
    let classes = [
        ("parity_k-7-10-lengths-3", "7/10", json!([3])),
        ("parity_k-7-10-lengths--2-3-", "7/10", json!([2, 3])),
        ("parity_k-0.9-lengths-3", "9/10", json!([3])),
        ("parity_k-0.9-lengths--2-3-", "9/10", json!([2, 3])),
    ];
    let mut ids = Vec::new();
    for (class, k, lengths) in classes {
        for damping in [0.1, 1.0] {
            for (tau, name) in [(1e-6, "1e-6"), (1e-4, "0.0001"), (1e-2, "0.01")] {
                for run in 0..2 {
                    let own = &records[ids.len()];
                    let damped = if damping == 1.0 { "1" } else { "0.1" };
                    ids.push(format!("{class}/cavi/damping={damped},tau={name}/{run}"));
                    assert_eq!(own["id"], ids[ids.len() - 1]);
                    assert_eq!(own["class"]["inputs"], json!({"markov": k}));
                    assert_eq!(own["class"]["lengths"], lengths);
                    let parameters = json!({"damping": damping, "tau": tau});
                    assert_eq!(own["parameters"], parameters);
                    assert_eq!(own["settings"]["damping"], damping);
                    assert_eq!(own["settings"]["tau"], tau);
                }
            }
        }
    }
    // No two points share their streams.
    let mut seeds: Vec<u64> = records
        .iter()
        .map(|r| r["seed"].as_u64().unwrap())
        .collect();
    seeds.dedup();
    let points = seeds.len();
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!((points, seeds.len()), (24 + 2 + 1, 24 + 2 + 1));
    let [a, b, c, d, ladder] = &records[48..] else {
        panic!("{} records", records.len())
    };
    for (record, anneal) in [
        (a, "geometric:1e-1,1e-3,5"),
        (b, "geometric:1e-1,1e-3,5"),
        (c, "1e-2"),
        (d, "1e-2"),
    ] {
        assert_eq!(record["parameters"], json!({"anneal": anneal}));
        assert_eq!(record["result"]["trace"].as_array().unwrap().len(), 3);
        assert_eq!(record["result"]["actions"].as_array().unwrap().len(), 12);
        let counts = record["result"]["marginals"].as_array().unwrap();
        let all: u64 = counts.iter().map(|n| n.as_u64().unwrap()).sum();
        assert_eq!((counts.len(), all), (36, 12 * 3));
    }
    assert_eq!(ladder["id"], "z3/ladder/-/0");
    assert_eq!(ladder["settings"]["ladder"], json!([0.0, 0.01]));
    assert_eq!(ladder["result"]["swap_rates"].as_array().unwrap().len(), 1);
}

#[test]
fn a_start_is_of_the_class_of_its_runs() {
    let scratch = Scratch::new();
    let printed =
        "chain --kernel heat-bath --tau 0 --sweeps 50 --chains 2 --task parity --lengths 3";
    let printed = scratch.json(&words(printed));
    scratch.file("codes.json", &printed.to_string());
    let study = |lengths: usize, start: &str| {
        format!(
            "name = \"s\"\n[[class]]\nid = \"p\"\ntask = \"parity\"\nlengths = {lengths}\n\
             [[dynamics]]\nkind = \"chain\"\nkernel = \"metropolis\"\ntau = 0\nsweeps = 5\n\
             runs = 2\nstart = \"{start}\"\n"
        )
    };
    scratch.file("s.toml", &study(3, "codes.json#1"));
    scratch.run(&["run", "s.toml"]).success();
    for record in records(&tables(&scratch, &["s"]).lines) {
        let begun = &printed["chains"][1]["reward_exact"];
        assert_eq!(record["result"]["reward_exact"], *begun);
        assert_eq!(record["result"]["last_change"], 0);
    }
    // Another code behind the same name is another study.
    scratch.file("s.toml", &study(3, "codes.json#0"));
    fails(
        &scratch.run(&["run", "s.toml"]),
        2,
        &["another class, method or seed"],
    );
    for (text, said) in [
        (study(3, "codes.json"), "codes.json holds 2: FILE#N"),
        (study(4, "codes.json#1"), "codes.json is of q=2 T=3"),
        (study(3, "codes.json#2"), "there is no #2"),
        (study(3, "none.json"), "cannot read none.json"),
    ] {
        scratch.file("t.toml", &text);
        let said = ["line 12, column 1: dynamics \"chain\": start: ", said];
        fails(&scratch.run(&["run", "t.toml", "--out", "t"]), 2, &said);
    }
}

/// The records in a table of lines.
fn records(lines: &[u8]) -> Vec<Value> {
    let lines = std::str::from_utf8(lines).unwrap().lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// What a table has of a record, by column.
fn expected(record: &Value) -> Vec<(&'static str, Value)> {
    let (class, settings, result) = (&record["class"], &record["settings"], &record["result"]);
    let mut entries = vec![
        ("class", record["class_id"].clone()),
        ("q", json!(class["square"].as_array().unwrap().len())),
        ("lengths", class["lengths"].clone()),
        ("window_past", class["window"][0].clone()),
        ("tied", class["tied"].clone()),
        ("quench_tau", settings["quench"]["tau"].clone()),
        ("reward_at_10", result["checkpoints"][0]["reward"].clone()),
        (
            "reward_exact_at_3000",
            result["checkpoints"][1]["reward_exact"].clone(),
        ),
    ];
    let own = [
        "id", "study", "task", "cells", "dynamics", "kind", "seed", "run",
    ];
    entries.extend(own.map(|key| (key, record[key].clone())));
    let own = ["order", "tau", "iterations", "kernel", "step"];
    entries.extend(own.map(|key| (key, settings[key].clone())));
    let own = [
        "greedy_reward",
        "entropy",
        "reward_exact",
        "mean_reward",
        "sweeps_done",
        "sweeps_to_optimum",
    ];
    entries.extend(own.map(|key| (key, result[key].clone())));
    entries
}

#[test]
fn the_parquet_table_holds_what_the_lines_hold() {
    let scratch = Scratch::new();
    let path = scratch.path().join("t.parquet");
    fs::write(&path, &undisturbed().parquet).unwrap();
    let reader = SerializedFileReader::new(fs::File::open(path).unwrap()).unwrap();
    let rows: Vec<Value> = reader
        .get_row_iter(None)
        .unwrap()
        .map(|row| flat(&row.unwrap()))
        .collect();
    let records = records(&undisturbed().lines);
    assert_eq!((rows.len(), records.len()), (RUNS, RUNS));
    for (row, record) in rows.iter().zip(&records) {
        for (column, value) in expected(record) {
            assert_eq!(row[column], value, "{column}");
        }
    }
}

#[test]
fn the_csv_table_holds_what_the_lines_hold() {
    let text = std::str::from_utf8(&undisturbed().csv).unwrap();
    let mut lines = text.split_terminator("\r\n").map(split);
    let heads = lines.next().unwrap();
    let records = records(&undisturbed().lines);
    let rows: Vec<Vec<String>> = lines.collect();
    assert_eq!(rows.len(), RUNS);
    for (row, record) in rows.iter().zip(&records) {
        assert_eq!(row.len(), heads.len());
        for (column, value) in expected(record) {
            let place = heads.iter().position(|head| head == column).unwrap();
            let read = match (&value, &row[place][..]) {
                (Value::Null, "") => Value::Null,
                (Value::String(_), text) => Value::from(text),
                (_, text) => serde_json::from_str(text).unwrap(),
            };
            assert_eq!(read, value, "{column}");
        }
    }
}

const KEPT: &str = r#"
name = "kept"
[[class]]
id = "p"
task = "parity"
lengths = 2
[[dynamics]]
id = "warm"
kind = "chain"
kernel = "heat-bath"
tau = 0.1
sweeps = 6
runs = 2
trace_every = 2
keep_code = true
[[dynamics]]
id = "rlvr"
kind = "cavi"
tau = 1e-3
iterations = 5
runs = 1
keep_policy = true
[[dynamics]]
id = "net"
kind = "train"
c = 0.3
steps = 2
batch = 4
runs = 1
"#;

#[test]
fn what_runs_keep_is_in_the_parquet_table_as_lists() {
    let scratch = Scratch::new();
    scratch.file("kept.toml", KEPT);
    scratch.run(&["run", "kept.toml", "--quiet"]).success();
    let tables = tables(&scratch, &["kept"]);
    let records = records(&tables.lines);
    let path = scratch.path().join("t.parquet");
    fs::write(&path, &tables.parquet).unwrap();
    let file = fs::File::open(path).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let rows: Vec<Value> = reader
        .get_row_iter(None)
        .unwrap()
        .map(|row| flat(&row.unwrap()))
        .collect();
    assert_eq!((rows.len(), records.len()), (4, 4));
    for (row, record) in rows.iter().zip(&records) {
        let result = &record["result"];
        for key in ["actions", "rows", "reward", "sweeps_done", "entropy"] {
            assert_eq!(row[key], result[key], "{key}");
        }
        let trace: Value = match result["trace"].as_array() {
            None => Value::Null,
            Some(trace) => {
                let number = |value: &Value| value.as_str().unwrap().parse::<f64>().unwrap();
                let all = number(&result["denominator"]);
                trace.iter().map(|value| number(value) / all).collect()
            }
        };
        assert_eq!(row["trace"], trace);
    }
    assert!(rows[0]["actions"].is_array() && rows[2]["rows"][0].is_array());
    // No two columns have one name: training has a setting and a result of the name `entropy`.
    assert_eq!(
        rows[3]["setting_entropy"],
        records[3]["settings"]["entropy"]
    );
    let schema = reader.metadata().file_metadata();
    let mut names: Vec<&str> = schema
        .schema()
        .get_fields()
        .iter()
        .map(|f| f.name())
        .collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
    // What made the file, and what its numbers are in.
    let entries = schema.key_value_metadata().unwrap();
    let entry = |key: &str| {
        entries
            .iter()
            .find(|entry| entry.key == key)
            .unwrap()
            .value
            .clone()
            .unwrap()
    };
    let object = |key: &str| -> Value { serde_json::from_str(&entry(key)).unwrap() };
    assert_eq!(entry("foldglass"), env!("CARGO_PKG_VERSION"));
    assert_eq!(object("foldglass.studies"), json!(["kept"]));
    assert_eq!(object("foldglass.recipes")["p/warm"], records[0]["recipe"]);
    let units = object("foldglass.units");
    assert_eq!(
        (&units["tau"], &units["sweeps"]),
        (&"reward per nat".into(), &"sweeps".into())
    );
    assert!(units.get("reward_exact").is_none());
    // Chains have sweeps, the others none: pandas is told not to make floats of them.
    let notes = object("pandas");
    let notes = notes["columns"].as_array().unwrap();
    let note = |name: &str| notes.iter().find(|note| note["name"] == name);
    assert_eq!(note("sweeps").unwrap()["numpy_type"], "Int64");
    assert_eq!(note("stop_at_optimum").unwrap()["numpy_type"], "boolean");
    assert!(note("run").is_none());
}

/// The entries of a line of CSV.
pub fn split(line: &str) -> Vec<String> {
    let mut entries = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => entries.push(String::new()),
            c => entries.last_mut().unwrap().push(c),
        }
    }
    entries
}

/// A row as an object.
pub fn flat(row: &parquet::record::Row) -> Value {
    let fields = row
        .get_column_iter()
        .map(|(name, field)| (name.clone(), value(field)));
    Value::Object(fields.collect())
}

fn value(field: &Field) -> Value {
    match field {
        Field::Null => Value::Null,
        Field::Str(text) => Value::from(&text[..]),
        Field::Long(number) => Value::from(*number),
        // Seeds have no sign.
        Field::ULong(number) => Value::from(*number),
        Field::Double(number) => Value::from(*number),
        Field::Bool(flag) => Value::from(*flag),
        Field::ListInternal(list) => list.elements().iter().map(value).collect(),
        other => panic!("{other}"),
    }
}
