//! Holds every command that takes a code to all the places where one may stand.

use serde_json::{Value, json};

use crate::escape::code;
use crate::mistakes::refuses;
use crate::support::{Scratch, report, words};

/// The commands that take a code, each with the flag that names it.
const TAKERS: [&str; 5] = [
    "eval --code",
    "escape --code",
    "gauge --code",
    "certify --code",
    "chain --kernel metropolis --tau 0 --sweeps 30 --chains 3 --start",
];

/// A class of 21 cells, and what its codes earn.
const CLASS: &str = "--task z:3 --lengths 3";

/// Writes three codes of [`CLASS`], as `chain --json` prints them, and returns what it printed.
fn chains(scratch: &Scratch) -> Value {
    let chain = format!("chain --kernel heat-bath --tau 0.05 --sweeps 20 --chains 3 {CLASS}");
    let printed = scratch.json(&words(&chain));
    scratch.file("chains.json", &printed.to_string());
    printed
}

#[test]
fn a_file_that_has_its_class_needs_no_class_flags() {
    let scratch = Scratch::new();
    scratch.file("bare.json", &code(21, 3, 1));
    let gauge = format!("gauge --code bare.json --relabel same.json --out own.json {CLASS}");
    scratch.file("same.json", "[[0,1,2],[0,1,2],[0,1,2]]");
    scratch.run(&words(&gauge)).success();
    let own: Value = serde_json::from_str(&scratch.read("own.json")).unwrap();
    let bare: Value = serde_json::from_str(&scratch.read("bare.json")).unwrap();
    assert_eq!(own["format"], "foldglass-code/1");
    assert_eq!(own["actions"], bare["actions"]);
    for taker in TAKERS {
        let with_flags = scratch.json(&words(&format!("{taker} bare.json {CLASS}")));
        let alone = scratch.json(&words(&format!("{taker} own.json")));
        assert_eq!(alone["class"], own["class"], "{taker}");
        assert_eq!(with_flags["class"], own["class"], "{taker}");
        assert_eq!(report(alone), report(with_flags), "{taker}");
        // Flags that say the same are no contradiction, whatever their words.
        scratch.file("z3.json", "[[0,1,2],[1,2,0],[2,0,1]]");
        for same in [
            CLASS,
            "--task z3.json --window 0,0 --memory 1",
            "--lengths 3",
        ] {
            let run = scratch.run(&words(&format!("{taker} own.json {same}")));
            run.success();
        }
        let said = [
            "bare.json",
            "does not state its class",
            "--task and --lengths",
        ];
        refuses(&scratch, &format!("{taker} bare.json"), &said);
        let said = ["bare.json", "--lengths is needed"];
        refuses(&scratch, &format!("{taker} bare.json --task z:3"), &said);
    }
}

#[test]
fn one_of_several_codes_is_taken_by_its_number() {
    let scratch = Scratch::new();
    let printed = chains(&scratch);
    for (number, chain) in printed["chains"].as_array().unwrap().iter().enumerate() {
        let eval = scratch.json(&words(&format!("eval --code chains.json#{number}")));
        assert_eq!(eval["reward_exact"], chain["reward_exact"]);
        let certify = scratch.json(&words(&format!("certify --code chains.json#{number}")));
        assert_eq!(certify["verdicts"].as_array().unwrap().len(), 1);
        assert_eq!(certify["verdicts"][0]["actions"], chain["actions"]);
    }
    for taker in TAKERS {
        scratch
            .run(&words(&format!("{taker} chains.json#2")))
            .success();
        let said = ["chains.json", "there is no #3: they are #0 to #2"];
        refuses(&scratch, &format!("{taker} chains.json#3"), &said);
        if !taker.starts_with("certify") {
            let said = ["chains.json holds 3", "FILE#N", "#0 to #2"];
            refuses(&scratch, &format!("{taker} chains.json"), &said);
        }
    }
    // A file whose name ends so is that file.
    let second = json!({"class": printed["class"], "actions": printed["chains"][1]["actions"]});
    scratch.file("code#0", &second.to_string());
    let eval = scratch.json(&["eval", "--code", "code#0"]);
    assert_eq!(eval["reward_exact"], printed["chains"][1]["reward_exact"]);
}

#[test]
fn codes_come_from_stdin() {
    let scratch = Scratch::new();
    let printed = chains(&scratch);
    let text = printed.to_string();
    let second = &printed["chains"][1];
    let eval = scratch.run_with_stdin(&["eval", "--code=-#1", "--json"], &text);
    assert_eq!(eval.json()["reward_exact"], second["reward_exact"]);
    let several = scratch.run_with_stdin(&["eval", "--code", "-"], &text);
    assert_eq!(several.code, Some(2));
    assert!(
        several.errors.contains("stdin holds 3") && several.errors.contains("--code=-#0"),
        "{}",
        several.errors
    );
    let one = json!({"class": printed["class"], "actions": second["actions"]}).to_string();
    scratch.file("one.json", &one);
    for taker in TAKERS {
        let args = words(taker);
        let piped = scratch.run_with_stdin(&[&args[..], &["-", "--json"]].concat(), &one);
        let named = scratch.json(&[&args[..], &["one.json"]].concat());
        assert_eq!(report(piped.json()), report(named), "{taker}");
    }
}

#[test]
fn whatever_holds_codes_is_taken_with_its_class() {
    let scratch = Scratch::new();
    let class = "--task parity --lengths 5 --inputs markov:9/10";
    let write = |name: &str, command: &str| {
        let printed = scratch.json(&words(&format!("{command} {class}")));
        scratch.file(name, &printed.to_string());
    };
    let cavi = "cavi --tau 1e-6 --iterations 20 --runs 2";
    write("runs.json", &format!("{cavi} --keep-code"));
    write("tree.json", "tree --orbits");
    write("census.json", "enumerate --traps traps.json");
    scratch.file("bare.json", &code(18, 2, 1));
    write(
        "verdicts.json",
        "certify --code bare.json --max-codes 9 --out claims.json",
    );
    write(
        "path.json",
        "escape --search --code bare.json --out claim.json",
    );
    let study = "name = \"kept\"\n[[class]]\ntask = \"parity\"\nlengths = 5\nk = \"9/10\"\n\
                 [[dynamics]]\nkind = \"cavi\"\ntau = 1e-6\niterations = 9\nruns = 2\n\
                 keep_code = true\nkeep_policy = true\n";
    scratch.file("kept.toml", study);
    scratch.run(&["run", "kept.toml"]).success();
    scratch.run(&["collect", "kept"]).success();
    for name in [
        "runs.json",
        "tree.json",
        "traps.json",
        "verdicts.json",
        "claims.json",
        "claim.json",
        "kept/records.jsonl",
        "kept/table.jsonl",
    ] {
        let eval = scratch.json(&words(&format!("eval --code {name}#0")));
        assert_eq!(eval["class"]["inputs"], json!({"markov": "9/10"}), "{name}");
        assert!(eval["reward_exact"].is_string(), "{name}");
    }
    for name in ["kept/records.jsonl#1", "kept/table.jsonl#1"] {
        let policy = scratch.json(&["eval", "--policy", name]);
        assert_eq!(policy["class"]["lengths"], json!([5]));
    }
    // What holds none says so, and how it would hold some.
    refuses(
        &scratch,
        "eval --code census.json",
        &["no code", "keep_code"],
    );
    // A class without traps has an empty list of them.
    let none = "enumerate --task parity --lengths 3 --traps none.json";
    scratch.run(&words(none)).success();
    let said = ["none.json", "no code: its `codes` is an empty list"];
    refuses(&scratch, "certify --code none.json", &said);
    write("bare-runs.json", cavi);
    let said = ["bare-runs.json", "no code", "--keep-code"];
    refuses(&scratch, "eval --code bare-runs.json", &said);
    let said = ["runs.json", "no policy", "keep_policy"];
    refuses(&scratch, "eval --policy runs.json", &said);
}

#[test]
fn a_class_flag_that_contradicts_the_file_is_refused_naming_both() {
    let scratch = Scratch::new();
    let enumerate = "enumerate --task parity --lengths 4 --inputs markov:9/10 --traps traps.json";
    scratch.run(&words(enumerate)).success();
    let said = ["traps.json", "inputs markov:9/10", "--inputs markov:8/10"];
    refuses(
        &scratch,
        "certify --code traps.json --inputs markov:8/10",
        &said,
    );
    let study = "name = \"z3\"\n[[class]]\ntask = \"z:3\"\nlengths = 3\n\
                 [[dynamics]]\nkind = \"chain\"\nkernel = \"metropolis\"\ntau = 1e-9\nsweeps = 9\n\
                 runs = 2\nkeep_code = true\n";
    scratch.file("z3.toml", study);
    scratch.run(&["run", "z3.toml"]).success();
    let certify = "certify --code z3/records.jsonl";
    let said = ["z3/records.jsonl", "012 120 201", "--task random:3:5"];
    refuses(
        &scratch,
        &format!("{certify} --task random:3:5 --lengths 3"),
        &said,
    );
    scratch.run(&words(&format!("{certify} {CLASS}"))).success();
    chains(&scratch);
    for taker in TAKERS {
        for flags in [
            "--lengths 4",
            "--window 1,0",
            "--tied",
            "--memory 2",
            "--inputs markov:9/10",
            "--task parity",
        ] {
            let said = ["chains.json", "q=3 T=3 window (0,0)", flags];
            refuses(&scratch, &format!("{taker} chains.json#0 {flags}"), &said);
        }
    }
}

#[test]
fn codes_of_two_classes_are_not_mixed() {
    let scratch = Scratch::new();
    let printed = chains(&scratch);
    let one = &printed["chains"][0]["actions"];
    let mut other = printed["class"].clone();
    other["inputs"] = json!({"markov": "1/2"});
    let own = json!({"class": printed["class"], "actions": one}).to_string();
    let foreign = json!({"class": other, "actions": one}).to_string();
    scratch.file("own.json", &own);
    scratch.file("foreign.json", &foreign);
    scratch.file("both.jsonl", &format!("{own}\n{foreign}\n"));
    let said = ["foreign.json", "inputs markov:1/2", "q=3 T=3 window (0,0):"];
    refuses(
        &scratch,
        "certify --code own.json --code foreign.json",
        &said,
    );
    let said = ["both.jsonl", "several", "FILE#N"];
    refuses(&scratch, "certify --code both.jsonl", &said);
    scratch
        .run(&["certify", "--code", "both.jsonl#1"])
        .success();
    let said = ["--other foreign.json", "inputs markov:1/2", "--code of q=3"];
    refuses(
        &scratch,
        "gauge --code own.json --other foreign.json",
        &said,
    );
    // A class that is none.
    scratch.file("none.json", &own.replace("[1,2,0]", "[1,2,3]"));
    refuses(
        &scratch,
        "eval --code none.json",
        &["none.json", "its class", "row 1"],
    );
}

/// The settings that are neither null nor false.
fn given(output: &Value) -> Value {
    let all = output["settings"].as_object().unwrap().iter();
    let given = all.filter(|(_, value)| !value.is_null() && **value != json!(false));
    Value::Object(
        given
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect(),
    )
}

#[test]
fn what_is_printed_says_what_made_it() {
    let scratch = Scratch::new();
    let printed = chains(&scratch);
    assert_eq!(printed["command"], "chain");
    assert_eq!(printed["seed"], 0);
    let settings = &printed["settings"];
    assert_eq!(
        (&settings["tau"], &settings["kernel"], &settings["order"]),
        (&json!(0.05), &json!("heat-bath"), &json!("step"))
    );
    let found = scratch.json(&words(
        "certify --code chains.json --max-codes 7 --seed 5 --threads 2",
    ));
    assert_eq!(
        (&found["command"], &found["seed"], given(&found)),
        (
            &json!("certify"),
            &json!(5),
            json!({"code": "chains.json", "max_codes": 7})
        )
    );
    let found = scratch.json(&words("gauge --code chains.json#0 --relabel random"));
    let settings = json!({"code": "chains.json#0", "relabel": "random"});
    assert_eq!(given(&found), settings);
    // The class has its defaults where the flags state it.
    let found = scratch.json(&words("tree --task z:2 --lengths 2 --orbits"));
    let settings = json!({"task": "z:2", "lengths": 2, "orbits": true, "max_leaves": 200,
        "inputs": "uniform", "memory": 1, "reward": "final", "window": [0, 0]});
    assert_eq!(given(&found), settings);
    assert_eq!(found["settings"]["svg"], Value::Null);
    assert_eq!(found["settings"]["tied"], false);
    let found = scratch.json(&words("task --task z:3"));
    assert_eq!(found["settings"], json!({"task": "z:3"}));
    // A study has its own seed.
    let study = "name = \"s\"\nseed = 9\n[[class]]\ntask = \"z:3\"\nlengths = 2\n\
                 [[dynamics]]\nkind = \"cavi\"\ntau = 0.1\niterations = 2\nruns = 2\n";
    scratch.file("s.toml", study);
    for command in [
        "run s.toml --dry-run",
        "run s.toml",
        "collect s",
        "summary s",
    ] {
        assert_eq!(scratch.json(&words(command))["seed"], 9, "{command}");
    }
}
