//! Shows a study's records and a fleet's curves as the commands that read them do.

use serde_json::{Value, json};

use super::server::Server;
use crate::support::{Scratch, words};

const STUDY: &str = r#"
name = "small"
seed = 5

[[class]]
id = "p"
task = "parity"
lengths = 4
inputs = "markov:9/10"

[[dynamics]]
kind = "chain"
kernel = "metropolis"
tau = [0.001, 0.01, 0.1]
runs = 6
sweeps = 50
keep_code = true
"#;

#[test]
fn a_study_is_plotted_and_its_runs_opened() {
    let scratch = Scratch::new();
    scratch.file("s.toml", STUDY);
    scratch.run(&["run", "s.toml"]);
    let server = Server::begin(scratch.path(), &["small"]);
    let hello = server.ask("hello", &json!({})).good();
    assert_eq!(
        hello["directory"],
        json!({"name": "small", "kind": "study"})
    );
    let records = server.ask("records", &json!({})).good();
    let summary = scratch.json(&["summary", "small"]);
    assert_eq!(records["points"], summary["points"]);
    assert_eq!(
        (&records["done"], &records["missing"]),
        (&json!(18), &json!("0"))
    );
    let plot = server
        .ask(
            "records/plot",
            &json!({"quantity": "mean_reward", "against": "tau"}),
        )
        .good();
    let line = plot["command"].as_str().unwrap().to_owned();
    scratch.run(&[&words(&line)[1..], &["--out", "here.svg"]].concat());
    assert_eq!(plot["svg"].as_str().unwrap(), scratch.read("here.svg"));
    let points = plot["points"].as_array().unwrap();
    assert_eq!(points.len(), 3);
    for point in points {
        check_point(&server, point);
    }
    check_places(&plot);
    let wrong = server
        .ask("records/plot", &json!({"quantity": "reword"}))
        .refused(422);
    assert!(wrong.contains("is reward meant"), "{wrong}");
    for id in ["", "p/chain/tau=1/0", "../../etc/passwd"] {
        server.ask("records/run", &json!({"id": id})).refused(422);
    }
}

fn check_point(server: &Server, point: &Value) {
    let runs = server.ask("records/point", &point["point"]).good();
    assert_eq!((&runs["count"], &point["n"]), (&json!(6), &json!(6)));
    let values = runs["runs"].as_array().unwrap().iter();
    let values: Vec<f64> = values
        .map(|run| run["values"]["mean_reward"].as_f64().unwrap())
        .collect();
    let mean = values.iter().sum::<f64>() / 6.0;
    assert!((mean - point["y"].as_f64().unwrap()).abs() < 1e-12);
    let one = &runs["runs"][2];
    assert_eq!(one["has_code"], true);
    let run = server.ask("records/run", &json!({"id": one["id"]})).good();
    let look = server
        .ask("look", &json!({"class": run["class"], "code": run["code"]}))
        .good();
    assert_eq!(look["reward"]["text"], one["values"]["reward_exact"]);
}

#[test]
fn a_reproduction_lists_its_studies_and_each_can_be_opened() {
    let scratch = Scratch::new();
    let manifest =
        r#"{"format":"foldglass-reproduce/1","version":"0.1.0","scale":"smoke","seed":0}"#;
    std::fs::create_dir_all(scratch.path().join("again/report")).unwrap();
    scratch.file("again/reproduce.json", manifest);
    scratch.file("s.toml", STUDY);
    for name in ["second", "first"] {
        scratch.run(&["run", "s.toml", "--out", &format!("again/{name}")]);
    }
    let server = Server::begin(scratch.path(), &["again"]);
    let hello = server.ask("hello", &json!({})).good();
    assert_eq!(
        hello["directory"],
        json!({"name": "again", "kind": "reproduction"})
    );
    let list = server.ask("records", &json!({})).good();
    assert_eq!(
        (&list["kind"], &list["studies"]),
        (&json!("reproduction"), &json!(["first", "second"]))
    );
    let records = server.ask("records", &json!({"study": "second"})).good();
    let summary = scratch.json(&["summary", "again/second"]);
    assert_eq!(records["points"], summary["points"]);
    let plot = server
        .ask("records/plot", &json!({"study": "second"}))
        .good();
    let line = plot["command"].as_str().unwrap().to_owned();
    assert!(line.contains("again/second"), "{line}");
    scratch.run(&[&words(&line)[1..], &["--out", "here.svg"]].concat());
    assert_eq!(plot["svg"].as_str().unwrap(), scratch.read("here.svg"));
    let mut point = plot["points"][0]["point"].clone();
    point["study"] = "second".into();
    let runs = server.ask("records/point", &point).good();
    let run = json!({"id": runs["runs"][0]["id"], "study": "second"});
    assert!(server.ask("records/run", &run).good()["code"].is_array());
    for wrong in ["", "third", "../again/first", "report", "first/"] {
        let words = server
            .ask("records", &json!({ "study": wrong }))
            .refused(422);
        assert!(words.contains("first, second"), "{words}");
    }
    // Which study is meant must be said.
    server.ask("records/plot", &json!({})).refused(422);
}

/// The markers of the drawing are where the points are said to be.
fn check_places(plot: &Value) {
    let svg = plot["svg"].as_str().unwrap();
    for point in plot["points"].as_array().unwrap() {
        let at = [&point["at"][0], &point["at"][1]].map(|at| at.as_f64().unwrap());
        let numbers = |key: &str| -> Vec<f64> {
            let mark = format!(" {key}=\"");
            let parts = svg.split(&mark).skip(1);
            parts
                .filter_map(|part| part.split('"').next()?.parse().ok())
                .collect()
        };
        let near = |list: Vec<f64>, value: f64| list.iter().any(|x| (x - value).abs() < 0.6);
        assert!(
            near(numbers("cx"), at[0]) && near(numbers("cy"), at[1]),
            "{at:?}: {svg}"
        );
    }
}

#[test]
fn a_fleet_shows_its_curves_as_far_as_they_have_come() {
    let scratch = Scratch::new();
    let train = "train --task parity --backend cpu --width 16 --heads 2 --mlp 16 --vocabulary 3 --cap 2 \
                 --gate-samples 32 --test-inputs 50 --batch 32 --steps 60 --record-every 10 --runs 2 \
                 --out runs/fleet(1)";
    scratch.run(&words(train)).success();
    let server = Server::begin(scratch.path(), &["runs/fleet(1)"]);
    let told = server.ask("records", &json!({})).good();
    assert_eq!(
        (&told["kind"], &told["finished"]),
        (&json!("fleet"), &json!(true))
    );
    let curves = told["curves"].as_array().unwrap();
    assert_eq!(curves.len(), 2);
    let lines = scratch.read("runs/fleet(1)/curves.jsonl");
    let line = told["command"].as_str().unwrap();
    let mut shell = std::process::Command::new("sh");
    let shown = shell.args(["-c", line]).current_dir(scratch.path());
    let shown = shown.output().unwrap();
    assert_eq!(String::from_utf8(shown.stdout).unwrap(), lines, "{line}");
    let lines: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for (model, curve) in curves.iter().enumerate() {
        let own: Vec<&Value> = lines.iter().filter(|line| line["model"] == model).collect();
        let points = curve["points"].as_array().unwrap();
        assert!(points.len() == own.len() && !own.is_empty());
        for (point, line) in points.iter().zip(own) {
            assert_eq!((&point[0], &point[1]), (&line["step"], &line["gate"]));
        }
        assert_eq!(curve["task"], "parity");
    }
    // While it is trained, the last line may be half there.
    let path = scratch.path().join("runs/fleet(1)/curves.jsonl");
    let half = scratch.read("runs/fleet(1)/curves.jsonl");
    std::fs::write(&path, &half[..half.len() - 20]).unwrap();
    std::fs::remove_file(scratch.path().join("runs/fleet(1)/models.json")).unwrap();
    let told = server.ask("records", &json!({})).good();
    assert_eq!(
        (&told["finished"], &told["damaged"]),
        (&json!(false), &json!(0))
    );
    assert!(
        server
            .ask("records/plot", &json!({}))
            .refused(422)
            .contains("of a study")
    );
}
