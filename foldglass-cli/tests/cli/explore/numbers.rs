//! Holds what a page is told to what the command line prints.

use std::fs;

use serde_json::{Value, json};

use super::server::Server;
use crate::support::Scratch;

/// A class, and how codes of it are begun with.
struct Case {
    class: &'static [&'static str],
    how: &'static str,
}

const CASES: [Case; 7] = [
    Case {
        class: &["--task", "parity", "--lengths", "4"],
        how: "random",
    },
    Case {
        class: &["--task", "quasigroup", "--lengths", "4"],
        how: "random",
    },
    Case {
        class: &["--task", "z:3", "--lengths", "4", "--window", "0,1"],
        how: "random",
    },
    Case {
        class: &[
            "--task",
            "z:3",
            "--lengths",
            "4",
            "--window",
            "0,1",
            "--tied",
        ],
        how: "trap",
    },
    Case {
        class: &["--task", "parity", "--lengths", "3,5", "--memory", "2"],
        how: "random",
    },
    Case {
        class: &[
            "--task",
            "parity",
            "--lengths",
            "5",
            "--inputs",
            "markov:9/10",
        ],
        how: "trap",
    },
    Case {
        class: &["--task", "s:3", "--lengths", "3", "--window", "1,0"],
        how: "ground",
    },
];

impl Case {
    fn code(&self, server: &Server) -> Vec<u64> {
        let body = json!({"class": self.class, "how": self.how, "seed": 5});
        let code = server.ask("start", &body).good();
        serde_json::from_value(code["code"].clone()).unwrap()
    }
}

/// Runs the line that an answer says, on the file that it says.
fn by_hand(scratch: &Scratch, answer: &Value) -> Value {
    for file in ["code_file", "start_file"] {
        let file = &answer[file];
        if let Some(name) = file["name"].as_str() {
            fs::write(scratch.path().join(name), file["text"].as_str().unwrap()).unwrap();
        }
    }
    let line = answer["command"].as_str().unwrap();
    let line = line.replace('\'', "");
    let mut words: Vec<&str> = line.split(' ').skip(1).collect();
    words.retain(|word| *word != "--list");
    scratch.json(&words)
}

#[test]
fn a_look_has_the_numbers_of_eval_and_of_every_changed_code() {
    let (server, scratch) = (Server::plain(), Scratch::new());
    for case in CASES {
        let code = case.code(&server);
        let asked = |code: &[u64]| json!({"class": case.class, "code": code});
        let look = server.ask("look", &asked(&code)).good();
        let eval = by_hand(&scratch, &look);
        assert_eq!(look["reward"]["text"], eval["reward_exact"]);
        assert_eq!(look["reward"]["value"], eval["reward"]);
        assert_eq!(look["visits"], eval["visits"]);
        let values: Vec<f64> = serde_json::from_value(look["values"].clone()).unwrap();
        let rows: Vec<Vec<f64>> = serde_json::from_value(eval["values"].clone()).unwrap();
        assert_eq!(values, rows.concat());
        let unvisited = look["visits"].as_array().unwrap().iter().enumerate();
        let unvisited = unvisited
            .filter(|(_, d)| d.as_f64() == Some(0.0))
            .map(|(cell, _)| cell);
        assert_eq!(look["unvisited"], json!(unvisited.collect::<Vec<_>>()));
        check_changes(&server, &case, &code, &look);
    }
}

/// Every change of a cell, by a look at the changed code: of many, some.
fn check_changes(server: &Server, case: &Case, code: &[u64], look: &Value) {
    let q = look["delta"].as_array().unwrap().len() / code.len();
    let numerator = |look: &Value| look["numerator"].as_i64().unwrap();
    let mut counts = [0, 0, 0];
    for (place, delta) in look["delta"].as_array().unwrap().iter().enumerate() {
        let (cell, token, delta) = (place / q, (place % q) as u64, delta.as_i64().unwrap());
        if token == code[cell] {
            assert_eq!(delta, 0);
            continue;
        }
        counts[(1 + delta.signum()) as usize] += 1;
        if place % 7 == 0 {
            let mut changed = code.to_vec();
            changed[cell] = token;
            let body = json!({"class": case.class, "code": changed});
            let then = server.ask("look", &body).good();
            assert_eq!(
                numerator(&then),
                numerator(look) + delta,
                "cell {cell} token {token}"
            );
            assert_eq!(then["denominator"], look["denominator"]);
        }
    }
    let [lower, keep, raise] = counts;
    assert_eq!(
        look["changes"],
        json!({"raise": raise, "keep": keep, "lower": lower})
    );
    let kind = match (look["reward"]["text"].as_str(), raise, keep) {
        (Some("1/1"), ..) => "global maximum",
        (_, 0, 0) => "trap",
        (_, 0, _) => "on a shelf",
        _ => "not a maximum",
    };
    assert_eq!(look["status"]["kind"], kind);
}

#[test]
fn a_class_is_that_of_the_command_line() {
    let (server, scratch) = (Server::plain(), Scratch::new());
    for case in CASES {
        let class = server.ask("class", &json!({"class": case.class})).good();
        let cells = by_hand(&scratch, &class);
        assert_eq!(class["cells"], cells["count"]);
        assert_eq!(class["square"], cells["class"]["square"]);
        let mut number = 0;
        for grid in class["grid"].as_array().unwrap() {
            assert_eq!(grid["first_cell"], number);
            for row in grid["rows"].as_array().unwrap() {
                for column in grid["columns"].as_array().unwrap() {
                    let key = &cells["cells"][number];
                    assert_eq!(grid["t"], key["t"]);
                    assert_eq!(
                        [row, column].map(|label| label.as_str().unwrap().to_owned()),
                        [label(&key["x"]), label(&key["y"])]
                    );
                    number += 1;
                }
            }
        }
        assert_eq!(number as u64, cells["count"].as_u64().unwrap());
        assert_eq!(class["cell_names"].as_array().unwrap().len(), number);
    }
}

fn label(symbols: &Value) -> String {
    let one = |symbol: &Value| symbol.as_u64().map_or("SEP".to_owned(), |s| s.to_string());
    match symbols.as_array() {
        Some(list) => list.iter().map(one).collect::<Vec<_>>().join(","),
        None => one(symbols),
    }
}

#[test]
fn wrong_answers_and_rollouts_are_those_of_inspect() {
    let (server, scratch) = (Server::plain(), Scratch::new());
    for case in CASES {
        let code = case.code(&server);
        let wrong = server
            .ask("wrong", &json!({"class": case.class, "code": code}))
            .good();
        let inspect = by_hand(&scratch, &wrong);
        for (told, printed) in [
            ("count", "wrong"),
            ("of", "inputs"),
            ("sampled", "sampled"),
            ("probability", "wrong_probability"),
            ("probability_exact", "wrong_probability_exact"),
            ("causes", "causes"),
            ("ignored", "ignored"),
            ("steps", "steps"),
        ] {
            assert_eq!(wrong[told], inspect[printed], "{told}");
        }
        let list = wrong["list"].as_array().unwrap();
        let all = inspect["wrong_inputs"].as_array().unwrap();
        assert_eq!(list[..], all[..all.len().min(64)]);
        for input in list.iter().take(3) {
            let body = json!({"class": case.class, "code": code, "input": input["x"]});
            let rollout = server.ask("rollout", &body).good();
            let tokens: Vec<Value> = (rollout["steps"].as_array().unwrap().iter())
                .map(|step| step["token"].clone())
                .collect();
            assert_eq!(json!(tokens), input["y"]);
            assert_eq!(
                (&rollout["truth"], &rollout["correct"]),
                (&input["target"], &json!(false))
            );
            if case.class[1] == "parity" {
                let walk = &by_hand(&scratch, &rollout)["codes"][0]["inputs"][0];
                assert_eq!(walk["answer"], rollout["answer"]);
            }
        }
    }
}

#[test]
fn a_drawing_is_that_of_draw() {
    let (server, scratch) = (Server::plain(), Scratch::new());
    let class = ["--task", "parity", "--lengths", "4"];
    let code = CASES[0].code(&server);
    let body = json!({"class": class, "code": code, "inputs": [[0, 1, 1, 0], [1, 1, 1, 1]]});
    let svg = server.ask("svg", &body).good();
    by_hand(&scratch, &svg);
    assert_eq!(svg["svg"].as_str().unwrap(), scratch.read("code.svg"));
    let cells: Vec<u64> = svg["cells"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["cell"].as_u64().unwrap())
        .collect();
    assert_eq!(cells, (0..14).collect::<Vec<_>>());
    // A circle of the drawing is where a cell is said to be.
    let first = &svg["cells"][3];
    let circle = format!("cx=\"{}\" cy=\"{}\"", first["x"], first["y"]).replace(".0\"", "\"");
    assert!(svg["svg"].as_str().unwrap().contains(&circle), "{circle}");
}

#[test]
fn a_run_is_run_0_of_the_command_line() {
    let (server, scratch) = (Server::plain(), Scratch::new());
    for (n, case) in CASES.iter().enumerate() {
        for kind in ["chain", "cavi"] {
            let code = (n % 2 == 0).then(|| case.code(&server));
            let body =
                json!({"class": case.class, "code": code, "kind": kind, "tau": 0.01, "seed": 11});
            let run = server.ask("run/new", &body).good()["run"].clone();
            let mut told = Vec::new();
            let mut last = Value::Null;
            // A look at each step must not change what follows.
            for sweeps in [1, 4, 7] {
                last = server
                    .ask("run/step", &json!({"run": run, "sweeps": sweeps}))
                    .good();
                let key = if kind == "chain" {
                    "numerators"
                } else {
                    "trace"
                };
                told.extend(last[key].as_array().unwrap().clone());
            }
            assert_eq!(last["sweep"], 12);
            let printed = by_hand(&scratch, &last);
            // Both lines are run in one directory, and neither overwrites what the other wrote.
            let trace = scratch.read(&format!("{kind}-trace.jsonl"));
            let line: Value = serde_json::from_str(&trace).unwrap();
            let rewards = line["rewards"].as_array().unwrap();
            if kind == "chain" {
                let told: Vec<String> = told.iter().map(Value::to_string).collect();
                let rewards: Vec<&str> = rewards.iter().map(|r| r.as_str().unwrap()).collect();
                assert_eq!(told, rewards);
                let chain = &printed["chains"][0];
                assert_eq!(last["reward"]["text"], chain["reward_exact"]);
                assert_eq!(last["code"], chain["actions"]);
            } else {
                let told: Vec<Value> = told.iter().map(|point| point[1].clone()).collect();
                assert_eq!(told[..], rewards[1..]);
                let run = &printed["runs"][0];
                assert_eq!(last["greedy_reward"]["text"], run["greedy_exact"]);
                for key in ["entropy", "residual"] {
                    assert_eq!(last[key], run[key]);
                }
                assert_eq!(last["reward"]["value"], run["expected_reward"]);
            }
        }
    }
}

#[test]
fn another_temperature_is_that_of_the_sweeps_that_follow() {
    let server = Server::plain();
    for kind in ["chain", "cavi"] {
        let body =
            json!({"class": CASES[1].class, "code": null, "kind": kind, "tau": 1.0, "seed": 2});
        let begin = || server.ask("run/new", &body).good()["run"].clone();
        let (one, other) = (begin(), begin());
        let step = |run: &Value, more: Value| {
            let mut body = more;
            body["run"] = run.clone();
            server.ask("run/step", &body).good()
        };
        let same = step(&one, json!({"sweeps": 5}));
        let also = step(&other, json!({"sweeps": 5, "tau": 1.0}));
        assert_eq!(
            (&same["trace"], &also["note"]),
            (&also["trace"], &Value::Null)
        );
        let hot = step(&one, json!({"sweeps": 30}));
        let cold = step(&other, json!({"sweeps": 30, "tau": 1e-9}));
        assert!(
            cold["note"].as_str().unwrap().contains("after 5 sweeps"),
            "{cold}"
        );
        let value = |told: &Value| told["reward"]["value"].as_f64().unwrap();
        assert!(value(&cold) > value(&hot), "{kind}");
        // From the same place at the same temperature again, the same sweeps.
        let short = step(&one, json!({"sweeps": 3, "table": false}));
        assert_eq!(
            (&short["code"], short["sweep"].as_u64()),
            (&Value::Null, Some(38))
        );
    }
}

#[test]
fn a_temperature_that_is_not_a_number_is_refused_and_changes_nothing() {
    let server = Server::plain();
    let body =
        json!({"class": CASES[1].class, "code": null, "kind": "chain", "tau": 0.5, "seed": 2});
    let begin = || server.ask("run/new", &body).good()["run"].clone();
    let (run, other) = (begin(), begin());
    // What JSON makes of NaN.
    let wrong = json!({"run": run, "sweeps": 3, "tau": null});
    let words = server.ask("run/step", &wrong).refused(400);
    assert!(words.contains("tau: a number is needed"), "{words}");
    for tau in [json!(-1), json!(1e301)] {
        let wrong = json!({"run": run, "sweeps": 3, "tau": tau});
        server.ask("run/step", &wrong).refused(422);
    }
    let step = |run: &Value| {
        server
            .ask("run/step", &json!({"run": run, "sweeps": 3}))
            .good()
    };
    let (told, expected) = (step(&run), step(&other));
    assert_eq!(
        (&told["sweep"], &told["numerators"]),
        (&json!(3), &expected["numerators"])
    );
}

#[test]
fn classes_that_are_said_to_have_traps_have_them() {
    let server = Server::plain();
    let none = json!({"class": ["--task", "parity", "--lengths", "5"], "how": "trap"});
    let refused = server.ask("start", &none);
    assert!(refused.refused(422).contains("no traps"), "{refused:?}");
    let help = refused.json()["help"].as_str().unwrap().to_owned();
    // The classes of this help, and those that the page offers for their traps.
    for (flags, named) in [
        ("--lengths 4 --inputs markov:9/10", "--inputs markov:9/10"),
        ("--lengths 4 --window 1,0 --tied", "--tied --window 1,0"),
        ("--lengths 5 --window 1,0 --tied", ""),
        ("--lengths 6 --inputs markov:9/10", ""),
    ] {
        assert!(help.contains(named), "{help}");
        let class: Vec<&str> = "--task parity".split(' ').chain(flags.split(' ')).collect();
        let code = server
            .ask("start", &json!({"class": class, "how": "trap"}))
            .good()["code"]
            .clone();
        let verdict = server
            .ask("certify", &json!({"class": class, "code": code}))
            .good();
        assert_eq!(verdict["verdict"], "certified", "{flags}");
    }
}

#[test]
fn one_thing_is_not_told_of_as_several() {
    let server = Server::plain();
    let class = [
        "--task",
        "parity",
        "--lengths",
        "4",
        "--inputs",
        "markov:9/10",
    ];
    let code = server
        .ask("start", &json!({"class": class, "how": "trap"}))
        .good()["code"]
        .clone();
    let verdict = server
        .ask("certify", &json!({"class": class, "code": code}))
        .good();
    assert_eq!(verdict["shelf"], 1);
    let words = verdict["words"].as_str().unwrap();
    assert!(words.contains("alone on its shelf"), "{words}");
    // All solutions but for one cell: one change raises the reward, the change back.
    let class = ["--task", "parity", "--lengths", "2"];
    let ground = server.ask("start", &json!({"class": class, "how": "ground"}));
    let mut code: Vec<u64> = serde_json::from_value(ground.good()["code"].clone()).unwrap();
    code[5] = 1 - code[5];
    let look = server
        .ask("look", &json!({"class": class, "code": code}))
        .good();
    assert_eq!(
        look["status"]["words"],
        "1 change of one cell raises the reward"
    );
}

#[test]
fn ways_out_are_those_of_the_commands() {
    let (server, scratch) = (Server::plain(), Scratch::new());
    let rewards = |moves: &Value, key: &str| -> Vec<[Value; 4]> {
        let moves = moves.as_array().unwrap().iter();
        moves
            .map(|m| {
                let reward = if key.is_empty() {
                    &m["reward"]["text"]
                } else {
                    &m[key]
                };
                [&m["cell"], &m["from"], &m["to"], reward].map(Clone::clone)
            })
            .collect()
    };
    for case in CASES {
        let code = case.code(&server);
        let body = json!({"class": case.class, "code": code});
        let escape = server.ask("escape", &body);
        let proved = !case
            .class
            .iter()
            .any(|word| ["--tied", "--memory", "--inputs"].contains(word));
        assert_eq!(escape.status, if proved { 200 } else { 422 });
        if proved {
            let escape = escape.good();
            let printed = by_hand(&scratch, &escape);
            assert_eq!(
                rewards(&escape["moves"], ""),
                rewards(&printed["moves"], "reward_exact")
            );
            assert_eq!(escape["reward"]["text"], "1/1");
        }
        let body = json!({"class": case.class, "code": code, "cap": 20_000, "barrier": true});
        let certify = server.ask("certify", &body).good();
        let printed = &by_hand(&scratch, &certify)["verdicts"][0];
        for key in [
            "verdict",
            "shelf",
            "depth",
            "neutral_moves",
            "unvisited",
            "barrier",
            "barrier_is",
        ] {
            assert_eq!(certify[key], printed[key], "{key}");
        }
        assert_eq!(certify["stopped"], false);
        for key in ["path", "way_out"] {
            if printed[key].is_array() {
                assert_eq!(
                    rewards(&certify[key], ""),
                    rewards(&printed[key], "reward_exact")
                );
            } else {
                assert_eq!(certify[key], Value::Null);
            }
        }
        if case.how == "trap" {
            assert_eq!(certify["verdict"], "certified");
        }
    }
}

#[test]
fn a_tree_is_that_of_the_command() {
    let (server, scratch) = (Server::plain(), Scratch::new());
    let class = [
        "--task",
        "parity",
        "--lengths",
        "4",
        "--inputs",
        "markov:9/10",
    ];
    let tree = server.ask("tree", &json!({"class": class})).good();
    let printed = by_hand(&scratch, &tree);
    assert_eq!(tree["svg"].as_str().unwrap(), scratch.read("tree.svg"));
    assert_eq!(tree["codes"], printed["codes"]);
    assert_eq!(
        tree["leaf_count"].as_u64().unwrap() as usize,
        printed["leaves"].as_array().unwrap().len()
    );
    for leaf in tree["leaves"].as_array().unwrap() {
        let same = &printed["leaves"][leaf["id"].as_u64().unwrap() as usize];
        assert_eq!(leaf["code"], same["actions"]);
        assert_eq!(
            (&leaf["reward"]["text"], &leaf["size"]),
            (&same["reward"], &same["shelf_size"])
        );
        assert_eq!(leaf["barrier"]["text"], same["barrier"]);
    }
    assert_eq!(
        tree["saddles"].as_array().unwrap().len(),
        printed["saddles"].as_array().unwrap().len()
    );
}

#[test]
fn numbers_beyond_those_of_javascript_are_texts() {
    let server = Server::plain();
    let class = ["--task", "parity", "--lengths", "60"];
    let code = server
        .ask("start", &json!({"class": class, "how": "ground"}))
        .good();
    let look = server
        .ask("look", &json!({"class": class, "code": code["code"]}))
        .good();
    assert_eq!(look["denominator"], (1u64 << 60).to_string());
    assert_eq!(look["numerator"], look["denominator"]);
    assert_eq!(look["delta"][0], "0");
    assert_eq!(look["delta"][1], format!("-{}", 1u64 << 59));
    let rounded = json!({"class": class, "code": code["code"], "digits": 3});
    assert_eq!(server.ask("look", &rounded).good()["visits"][0], 0.5);
    let long = json!({"class": ["--task", "parity", "--lengths", "200"], "how": "ground"});
    let code = server.ask("start", &long).good();
    let body = json!({"class": ["--task", "parity", "--lengths", "200"], "code": code["code"]});
    assert!(server.ask("look", &body).refused(422).contains("126 bits"));
}
