//! Holds `check` to its word: a path as it was written passes, one with anything changed does not.

use serde_json::{Value, json};

use crate::escape::code;
use crate::mistakes::refuses;
use crate::support::Scratch;

/// Writes path.json, a path of the paper's square at T = 3, and returns it.
fn written(scratch: &Scratch) -> Value {
    scratch.file("code.json", &code(55, 5, 4));
    let words = "escape --task quasigroup --lengths 3 --code code.json --out path.json";
    scratch.run(&words.split(' ').collect::<Vec<_>>()).success();
    serde_json::from_str(&scratch.read("path.json")).unwrap()
}

/// Requires exit 1, nothing on stdout but the JSON where it is asked for, and one line that names the
/// file and holds `said`.
fn fails(scratch: &Scratch, file: &Value, said: &str) {
    scratch.file("path.json", &file.to_string());
    for form in [
        &["check", "path.json"][..],
        &["check", "path.json", "--json"],
    ] {
        let run = scratch.run(form);
        assert_eq!(run.code, Some(1), "{said}: {}", run.errors);
        let json = serde_json::from_str::<Value>(&run.text);
        match form.contains(&"--json") {
            true => assert_eq!(json.unwrap()["checked"][0]["holds"], false),
            false => assert_eq!(run.text, ""),
        }
        assert!(
            run.errors
                .starts_with("foldglass: error: path.json does not hold: ")
        );
        assert!(run.errors.contains(said), "no {said:?} in {}", run.errors);
        assert_eq!(run.errors.matches('\n').count(), 1);
    }
}

#[test]
fn a_path_as_it_was_written_holds() {
    let scratch = Scratch::new();
    let path = written(&scratch);
    assert_eq!(path["format"], "foldglass-path/1");
    assert_eq!(path["class"]["lengths"], json!([3]));
    let run = scratch.run(&["check", "path.json", "path.json"]);
    assert_eq!(run.success().matches("to 1/1, none lowers J").count(), 2);
    let found = scratch.json(&["check", "path.json"]);
    let moves = path["moves"].as_array().unwrap().len();
    let expected = json!([{
        "file": "path.json",
        "holds": true,
        "moves": moves,
        "start_exact": path["start_exact"],
        "reward_exact": "1/1",
    }]);
    assert_eq!(found["checked"], expected);
}

#[test]
fn of_several_files_each_is_reported() {
    let scratch = Scratch::new();
    scratch.file("code.json", &code(10, 2, 1));
    let class = ["--task", "parity", "--lengths", "3"];
    let escape = ["escape", "--code", "code.json", "--out", "path.json"];
    scratch.run(&[&escape[..], &class].concat()).success();
    let text = scratch.read("path.json");
    let end = text.rfind("\"1/1\"").unwrap();
    let other = format!("{}\"1/2\"{}", &text[..end], &text[end + 5..]);
    scratch.file("other.json", &other);
    let run = scratch.run(&["check", "path.json", "other.json", "--json"]);
    assert_eq!(run.code, Some(1));
    assert!(
        run.errors.contains("other.json does not hold"),
        "{}",
        run.errors
    );
    let found: serde_json::Value = serde_json::from_str(&run.text).unwrap();
    let holds = |n: usize| found["checked"][n]["holds"].as_bool();
    assert_eq!((holds(0), holds(1)), (Some(true), Some(false)));
    assert!(found["checked"][1]["problem"].is_string());
}

#[test]
fn a_file_that_cannot_be_read_does_not_keep_the_others_from_being_checked() {
    let scratch = Scratch::new();
    written(&scratch);
    scratch.file("torn.json", "{\"format\":\"foldglass-path/1\",");
    let files = ["check", "none.json", "path.json", "torn.json", "path.json"];
    let run = scratch.run(&files);
    assert_eq!(run.code, Some(1), "{}", run.errors);
    assert_eq!(
        run.text.matches("path.json holds: ").count(),
        2,
        "{}",
        run.text
    );
    for name in ["none.json", "torn.json"] {
        let said = format!("{name} is not checked: ");
        assert!(run.errors.contains(&said), "{}", run.errors);
    }
    assert_eq!(run.errors.matches('\n').count(), 1, "{}", run.errors);
    let run = scratch.run(&[&files[..], &["--json"]].concat());
    assert_eq!(run.code, Some(1));
    let found: Value = serde_json::from_str(&run.text).unwrap();
    let holds: Vec<bool> = (0..4)
        .map(|n| found["checked"][n]["holds"].as_bool().unwrap())
        .collect();
    assert_eq!(holds, [false, true, false, true]);
    assert!(found["checked"][0]["error"].is_string());
    // One that is alone is the user's mistake.
    refuses(&scratch, "check torn.json", &["torn.json", "line 1 column"]);
}

#[test]
fn a_path_with_one_number_changed_does_not_hold() {
    let scratch = Scratch::new();
    let path = written(&scratch);
    let moves = path["moves"].as_array().unwrap().len();
    let with = |change: &dyn Fn(&mut Value)| {
        let mut changed = path.clone();
        change(&mut changed);
        changed
    };
    let plus = |value: &Value| json!((value.as_u64().unwrap() + 1) % 5);
    for n in [0, moves / 2, moves - 1] {
        let number = format!("ove {}", n + 1);
        let at = |field: &'static str, value: Value| {
            with(&|path| path["moves"][n][field] = value.clone())
        };
        fails(
            &scratch,
            &at("from", plus(&path["moves"][n]["from"])),
            &number,
        );
        fails(&scratch, &at("reward_exact", json!("1/7")), &number);
        fails(
            &scratch,
            &at("to", path["moves"][n]["from"].clone()),
            &number,
        );
        // A cell of the first step, which holds something else or leads elsewhere.
        let cell = (0..5)
            .find(|&cell| path["moves"][n]["cell"] != cell)
            .unwrap();
        fails(&scratch, &at("cell", json!(cell)), "ove ");
    }
    let last = moves - 1;
    let to = plus(&path["moves"][last]["to"]);
    let to = with(&|path| path["moves"][last]["to"] = to.clone());
    fails(&scratch, &to, "move ");
    fails(
        &scratch,
        &with(&|path| path["start_exact"] = json!("1/7")),
        "first code earns",
    );
    fails(
        &scratch,
        &with(&|path| path["reward_exact"] = json!("124/125")),
        "last code earns 1/1",
    );
    let action = plus(&path["actions"][0]);
    fails(
        &scratch,
        &with(&|path| path["actions"][0] = action.clone()),
        "",
    );
    let cut = |path: &mut Value| _ = path["moves"].as_array_mut().unwrap().pop();
    fails(&scratch, &with(&cut), "last code earns");
    // Another class of as many cells: another square, another law.
    let rows: Vec<Value> = (0..5)
        .map(|s| json!([s, (s + 1) % 5, (s + 2) % 5, (s + 3) % 5, (s + 4) % 5]))
        .collect();
    fails(
        &scratch,
        &with(&|path| path["class"]["square"] = json!(rows)),
        "earns",
    );
    let law = json!({"markov": "9/10"});
    fails(
        &scratch,
        &with(&|path| path["class"]["inputs"] = law.clone()),
        "earns",
    );
    let kind = |path: &mut Value| path["moves"][last]["kind"] = json!("neutral");
    fails(&scratch, &with(&kind), "no neutral: J rises");
    let kind = |path: &mut Value| path["moves"][last]["kind"] = json!("prepare");
    fails(
        &scratch,
        &with(&kind),
        "no prepare: an input consults the cell",
    );
}

#[test]
fn a_file_that_is_no_path_is_refused_with_its_place() {
    let scratch = Scratch::new();
    let path = written(&scratch);
    let text = path.to_string();
    let with = |pointer: &str, value: Value| {
        let mut changed = path.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        changed.to_string()
    };
    let mut extra = path.clone();
    extra["note"] = json!("x");
    for (content, said) in [
        (text[..text.len() / 2].to_owned(), "line 1 column"),
        (String::new(), "line 1 column 0"),
        ("[]".to_owned(), "not a claim file"),
        ("{}".to_owned(), "missing field `format`"),
        (
            with("/format", json!("foldglass-path/2")),
            "`foldglass-path/2`: accepted: foldglass-path/1",
        ),
        (extra.to_string(), "unknown field `note`"),
        (
            with("/class/memory", json!(2)),
            "actions: the table has 55 entries",
        ),
        (
            with("/class/lengths", json!([4])),
            "actions: the table has 55 entries",
        ),
        (
            with("/class/square/0/0", json!(9)),
            "its class: row 0 (counting from 0) holds 9",
        ),
        (with("/class/inputs", json!("gauss")), "gauss"),
        (with("/actions/3", json!(5)), "cell 3 has the action 5"),
        (
            with("/moves/1/cell", json!(55)),
            "move 2: there is no cell 55",
        ),
        (
            with("/moves/1/cell", json!(-1)),
            "`-1`, expected a whole number of at least 0 at line 1 column",
        ),
        (
            with("/moves/1/to", json!(5)),
            "move 2: there is no action 5",
        ),
        (with("/moves/1/kind", json!("jump")), "jump"),
        (
            with("/moves/1/reward_exact", json!("x")),
            "`x` is not a number: write a fraction such as 9/10 or a decimal such as 0.9 at line 1",
        ),
        (with("/start_exact", json!("1/0")), "`1/0`"),
    ] {
        scratch.file("path.json", &content);
        refuses(&scratch, "check path.json", &["path.json", said]);
    }
    refuses(&scratch, "check none.json", &["none.json"]);
    refuses(&scratch, "check", &["FILE"]);
    scratch.file("path.json", &text);
    refuses(
        &scratch,
        "check path.json --max-memory 1KiB",
        &["--max-memory"],
    );
}
