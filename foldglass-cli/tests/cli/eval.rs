//! Holds `eval` to its form.

use parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::json;

use crate::support::Scratch;

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-14
}

#[test]
fn the_json_of_a_code_has_the_form_of_the_contract() {
    let scratch = Scratch::new();
    scratch.file("code.json", "{\"actions\":[0,1,0,1,1,1]}");
    let flags = ["--lengths", "2", "--code", "code.json"];
    let found = scratch.report(&[&["eval", "--task", "parity"], &flags[..]].concat());
    assert_eq!(
        found,
        json!({
            "reward": 0.75,
            "reward_exact": "3/4",
            "visits": [0.5, 0.5, 0.25, 0.25, 0.25, 0.25],
            "values": [[0.5, 0.25], [0.0, 0.25], [0.25, 0.0], [0.0, 0.25], [0.0, 0.25], [0.25, 0.0]],
        })
    );
}

/// The policy file with the same row in each of `cells` cells.
fn constant_policy(cells: usize, row: &str) -> String {
    format!("{{\"rows\":[{}]}}", vec![row; cells].join(","))
}

#[test]
fn the_uniform_policy_earns_a_fifth_and_has_no_exact_reward() {
    let scratch = Scratch::new();
    scratch.file("policy.json", &constant_policy(80, "[0.2,0.2,0.2,0.2,0.2]"));
    let flags = ["--lengths", "4", "--policy", "policy.json"];
    let found = scratch.json(&[&["eval", "--task", "quasigroup"], &flags[..]].concat());
    assert!(
        close(found["reward"].as_f64().unwrap(), 0.2),
        "{}",
        found["reward"]
    );
    assert!(found.get("reward_exact").is_none());
    assert_eq!(found["visits"].as_array().unwrap().len(), 80);
    assert_eq!(found["values"][79].as_array().unwrap().len(), 5);
}

#[test]
fn the_policy_of_a_code_has_the_visits_and_values_of_the_code() {
    let scratch = Scratch::new();
    scratch.file("code.json", "{\"actions\":[0,1,0,0,1,0]}");
    scratch.file(
        "policy.json",
        "{\"rows\":[[1,0],[0,1],[1,0],[1,0],[0,1],[1,0.0]]}",
    );
    let flags = [
        "eval",
        "--task",
        "parity",
        "--lengths",
        "2",
        "--inputs",
        "markov:1/3",
    ];
    let code = scratch.json(&[&flags[..], &["--code", "code.json"]].concat());
    let policy = scratch.json(&[&flags[..], &["--policy", "policy.json"]].concat());
    assert_eq!(code["visits"], policy["visits"]);
    assert_eq!(code["values"], policy["values"]);
    assert_eq!(code["reward_exact"], "2/3");
    let [a, b] = [&code, &policy].map(|found| found["reward"].as_f64().unwrap());
    assert!(close(a, b) && close(a, 2.0 / 3.0));
}

#[test]
fn decimals_of_a_product_law_are_read_exactly() {
    let scratch = Scratch::new();
    scratch.file("code.json", "{\"actions\":[0,0]}");
    let flags = ["eval", "--task", "parity", "--lengths", "1"];
    let files = ["--code", "code.json", "--inputs", "product:law.json"];
    for (law, exact) in [
        ("[[\"1/3\",\"2/3\"]]", "1/3"),
        ("[[0.1,0.9]]", "1/10"),
        ("[[1e-3,\"0.999\"]]", "1/1000"),
        (
            "[[0.100000000000000001,0.899999999999999999]]",
            "100000000000000001/1000000000000000000",
        ),
    ] {
        scratch.file("law.json", law);
        let found = scratch.json(&[&flags[..], &files].concat());
        assert_eq!(found["reward_exact"], exact, "{law}");
    }
}

#[test]
fn a_dash_reads_stdin() {
    let scratch = Scratch::new();
    let flags = ["eval", "--task", "parity", "--lengths", "1", "--json"];
    let code = scratch.run_with_stdin(
        &[&flags[..], &["--code", "-"]].concat(),
        "{\"actions\":[0,1]}",
    );
    assert_eq!(code.json()["reward_exact"], "1/1");
    let rows = "{\"rows\":[[1,0],[0.5,0.5]]}\n";
    let policy = scratch.run_with_stdin(&[&flags[..], &["--policy", "-"]].concat(), rows);
    assert_eq!(policy.json()["reward"], json!(0.75));
}

#[test]
fn numbers_are_written_so_that_they_read_back_the_same() {
    let scratch = Scratch::new();
    let p = 0.1 + 0.2;
    scratch.file(
        "policy.json",
        &json!({"rows": [[p, 1.0 - p], [1.0 / 3.0, 2.0 / 3.0]]}).to_string(),
    );
    let found = scratch.json(&[
        "eval",
        "--task",
        "parity",
        "--lengths",
        "1",
        "--policy",
        "policy.json",
    ]);
    assert_eq!(found["reward"].as_f64(), Some(0.5 * p + 0.5 * (2.0 / 3.0)));
}

#[test]
fn a_person_sees_the_reward_and_on_demand_every_cell() {
    let scratch = Scratch::new();
    scratch.file("code.json", "{\"actions\":[0,0,0,1,1,0]}");
    let flags = [
        "eval",
        "--task",
        "parity",
        "--lengths",
        "2",
        "--code",
        "code.json",
    ];
    let summary = "\
reward J        0.5 = 1/2
cells           6, 2 never visited
largest visits  0.5
entropy         0 nats a cell = 0 ln q
";
    assert_eq!(scratch.run(&flags).success(), summary);
    let list = "
cell  t  x    y    action  d            dQ
   0  1  0    SEP  0       0.5          0.5         0
   1  1  1    SEP  0       0.5          0           0.5
   2  2  0    0    0       0.5          0.25        0.25
   3  2  0    1    1       0            0           0
   4  2  1    0    1       0.5          0.25        0.25
   5  2  1    1    0       0            0           0

d: how often the cell is visited; dQ: d times the expected reward after each token; SEP: nothing stands there
";
    let run = scratch.run(&[&flags[..], &["--list"]].concat());
    assert_eq!(run.success(), format!("{summary}{list}"));
    scratch.file("policy.json", &constant_policy(2, "[0.25,0.75]"));
    let run = scratch.run(&[
        "eval",
        "--task",
        "parity",
        "--lengths",
        "1",
        "--policy",
        "policy.json",
        "--list",
    ]);
    assert!(
        run.success().starts_with("reward J        0.5\n"),
        "{}",
        run.text
    );
    assert!(run.text.contains("0.25        0.75"), "{}", run.text);
}

#[test]
fn estimators_objectives_and_single_inputs_have_their_keys_and_their_numbers() {
    let scratch = Scratch::new();
    scratch.file("policy.json", &constant_policy(2, "[0.5,0.5]"));
    let flags = "eval --task parity --lengths 1 --policy policy.json";
    let flags: Vec<&str> = flags.split(' ').collect();
    let more = "--estimator reinforce --batch 4 --objective pass@2 --per-input";
    let more: Vec<&str> = more.split(' ').collect();
    let found = scratch.json(&[&flags[..], &more].concat());
    // The gradient is 1/8 or -1/8 in four components, the variance of one sample 3/64 in each.
    let expected = json!({
        "name": "reinforce", "batch": 4, "signal": 0.0625, "signal_resolved": true, "bias": 0.0,
        "cosine": 1.0, "variance": 3.0 / 64.0, "snr": 4.0 / 3.0,
        "mean_by": "evaluation", "variance_by": "evaluation",
        "slope": [[0.0, 1.0], [0.25, 1.0], [0.5, 1.0], [0.75, 1.0], [1.0, 1.0]],
    });
    assert_eq!(found["estimator"], expected);
    assert_eq!(found["objective"], json!(0.75));
    // The slope 2 (1 - p) = 1 times the probability 1/2 of the input, for its right answer.
    assert_eq!(found["objective_values"], json!([[0.5, 0.0], [0.0, 0.5]]));
    let listed = json!([
        {"x": [0], "probability": "1/2", "success": 0.5},
        {"x": [1], "probability": "1/2", "success": 0.5},
    ]);
    assert_eq!(found["per_input"], listed);
    let error = scratch.run(&[&flags[..], &["--estimator", "rloo:1"]].concat());
    assert_eq!(error.code, Some(2));
    assert!(
        error.errors.contains("write rloo:2 or more"),
        "{}",
        error.errors
    );
    // Of one step, a tied class is an untied one.
    let tied = scratch.json(&[&flags[..], &["--tied"], &more].concat());
    assert_eq!(
        tied["estimator"]["variance"],
        found["estimator"]["variance"]
    );
    assert_eq!(tied["estimator"]["variance_by"], "inputs");
    let run = scratch.run(&[&flags[..], &more].concat());
    let text = run.success();
    assert!(text.contains("snr           1.33333"), "{text}");
}

#[test]
fn the_gradient_by_cell_and_the_weight_of_an_input_are_printed() {
    let scratch = Scratch::new();
    scratch.file("policy.json", &constant_policy(2, "[0.5,0.5]"));
    let flags = "eval --task parity --lengths 1 --policy policy.json --estimator grpo:8,reinforce --batch 1 --components c.csv";
    let flags: Vec<&str> = flags.split(' ').collect();
    let found = scratch.json(&flags);
    let slope = |p: usize| found["estimators"][0]["slope"][p][1].as_f64().unwrap();
    // 7 over the root of 8 at p = 0 (the deviation has ddof 1), less the 1e-4 that is added to it; 1.43 times that at 1/2.
    assert!((slope(0) - 7.0 / 8.0_f64.sqrt()).abs() < 2e-3);
    assert!((slope(0) / slope(2) - 1.4257).abs() < 1e-3, "{}", slope(2));
    assert!((slope(1) - slope(3)).abs() < 1e-9);
    let table = scratch.read("c.csv");
    let rows: Vec<Vec<&str>> = table
        .lines()
        .map(|line| line.split(',').collect())
        .collect();
    let head = [
        "estimator",
        "batch",
        "cell",
        "action",
        "gradient",
        "mean",
        "variance",
    ];
    assert_eq!(rows[0], head);
    assert_eq!(
        (rows.len(), &found["components_table"]["rows"]),
        (9, &json!(8))
    );
    // Of reinforce, 1/8 in the right action of each input and a variance of 3/64, as summed by `variance`.
    for row in &rows[5..] {
        assert_eq!((row[0], row[1]), ("reinforce", "1"));
        let right = row[2] == row[3];
        let [gradient, mean, variance] =
            [4, 5, 6].map(|column| row[column].parse::<f64>().unwrap());
        assert_eq!(gradient, if right { 0.125 } else { -0.125 });
        assert_eq!((mean, variance), (gradient, 3.0 / 64.0));
    }
    let one = [&flags[..7], &["--estimator", "reinforce", "--batch", "1"]].concat();
    let text = scratch.run(&one).success().to_owned();
    assert!(text.contains("reinforce, 1 input\n"), "{text}");
    let unknown = [&flags[..flags.len() - 1], &["c.txt"]].concat();
    assert_eq!(scratch.run(&unknown).code, Some(2));
}

#[test]
fn several_estimators_and_batches_are_a_list_and_a_table() {
    let scratch = Scratch::new();
    scratch.file("policy.json", &constant_policy(398, "[0.25,0.75]"));
    let flags = "eval --task parity --lengths 100 --policy policy.json --estimator rloo:2,grpo:8 --batch 64,512";
    let flags: Vec<&str> = flags.split(' ').collect();
    let found = scratch.json(&flags);
    assert!(found.get("estimator").is_none());
    let lines = found["estimators"].as_array().unwrap();
    let named = |line: &serde_json::Value| (line["name"].clone(), line["batch"].clone());
    let expected = [
        ("rloo:2", 64),
        ("rloo:2", 512),
        ("grpo:8", 64),
        ("grpo:8", 512),
    ];
    let expected = expected.map(|(name, batch)| (json!(name), json!(batch)));
    assert_eq!(lines.iter().map(named).collect::<Vec<_>>(), expected);
    // 2^100 inputs: by replicas where they are few.
    assert_eq!(lines[0]["variance_by"], "replicas");
    let ratio = lines[0]["variance"].as_f64().unwrap() / lines[1]["variance"].as_f64().unwrap();
    assert!(close(ratio, 8.0), "{ratio}");
    let text = scratch.run(&flags);
    assert!(text.success().contains("expectation by"), "{}", text.text);
}

#[test]
fn successes_of_all_inputs_are_written_as_csv_and_as_parquet() {
    let scratch = Scratch::new();
    scratch.file("policy.json", &constant_policy(6, "[0.25,0.75]"));
    let flags = "eval --task parity --lengths 2 --policy policy.json --per-input --table";
    let flags: Vec<&str> = flags.split(' ').collect();
    let found = scratch.json(&[&flags[..], &["inputs.csv"]].concat());
    assert_eq!(
        found["per_input_table"],
        json!({"file": "inputs.csv", "inputs": 4})
    );
    let csv = "x,probability,success\r\n\"[0,0]\",0.25,0.25\r\n\"[0,1]\",0.25,0.75\r\n\"[1,0]\",0.25,0.75\r\n\"[1,1]\",0.25,0.25\r\n";
    assert_eq!(scratch.read("inputs.csv"), csv);
    scratch.json(&[&flags[..], &["inputs.parquet"]].concat());
    let file = std::fs::File::open(scratch.path().join("inputs.parquet")).unwrap();
    let rows = SerializedFileReader::new(file).unwrap();
    let rows = rows.get_row_iter(None).unwrap();
    let rows: Vec<String> = rows.map(|row| row.unwrap().to_string()).collect();
    assert_eq!(rows.len(), 4);
    assert_eq!(rows[1], "{x: [0, 1], probability: 0.25, success: 0.75}");
    let error = scratch.run(&[&flags[..], &["inputs.txt"]].concat());
    assert_eq!(error.code, Some(2));
    assert!(
        error.errors.contains(".csv or .parquet"),
        "{}",
        error.errors
    );
}
