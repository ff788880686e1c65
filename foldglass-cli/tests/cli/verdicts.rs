//! Holds `check` to its word on verdicts: as they were written they pass, with anything changed
//! they do not.

use serde_json::{Value, json};

use crate::support::Scratch;

/// Tied parity, on which a quarter of cold chains freezes below 1.
const TIED: &str = "--task parity --lengths 5 --window 0,1 --tied";

fn words(text: &str) -> Vec<&str> {
    text.split(' ').collect()
}

/// The endpoints of cold chains, and the verdicts on them.
fn endpoints(scratch: &Scratch) -> (Vec<Value>, Vec<Value>) {
    let chain = "chain --kernel metropolis --order cell --tau 1e-9 --sweeps 200 --chains 64";
    let ends = scratch.json(&words(&format!("{chain} {TIED}")));
    scratch.file("ends.json", &ends.to_string());
    let certify = format!("certify --code ends.json --out all.json {TIED}");
    let found = scratch.json(&words(&certify));
    let list = |value: &Value| value.as_array().unwrap().clone();
    (list(&ends["chains"]), list(&found["verdicts"]))
}

/// A code with a shelf of 24, none of them an exit.
fn trapped(scratch: &Scratch) -> Value {
    let (ends, verdicts) = endpoints(scratch);
    let is_it = |line: &Value| line["verdict"] == "certified" && line["shelf"] == 24;
    let place = verdicts.iter().position(is_it).unwrap();
    json!({"actions": ends[place]["actions"]})
}

/// The verdict file on a code.
fn verdict(scratch: &Scratch, code: &Value, flags: &str) -> Value {
    scratch.file("code.json", &code.to_string());
    let certify = format!("certify --code code.json --out v.json {flags}");
    scratch.run(&words(&certify)).success();
    serde_json::from_str(&scratch.read("v.json")).unwrap()
}

/// Ten of the files that differ from this one in one number, name or truth, spread over all of them: the library's tests
/// try every change, and here each is a process.
fn changed(value: &Value) -> Vec<Value> {
    let all = every_change(value);
    all.iter().step_by(all.len() / 10).cloned().collect()
}

/// Every file that differs from this one in one number, name or truth.
fn every_change(value: &Value) -> Vec<Value> {
    match value {
        Value::Number(number) => {
            let n = number.as_i64().unwrap();
            vec![json!(n + 1), json!(n - 1), json!(n + 1000)]
        }
        Value::Bool(truth) => vec![json!(!truth)],
        Value::String(text) => match &text[..] {
            "optimal" | "certified" | "bounded" | "escapes" => {
                let kinds = ["optimal", "certified", "bounded", "escapes", "lost"];
                let others = kinds.into_iter().filter(|kind| kind != text);
                others.map(|kind| json!(kind)).collect()
            }
            "neutral" => vec![json!("raise"), json!("jump")],
            "raise" => vec![json!("neutral"), json!("prepare"), json!("jump")],
            "uniform" => vec![json!({"markov": "3/5"}), json!("even")],
            _ => vec![json!("1/7"), json!("2/1"), json!(""), json!("x")],
        },
        Value::Array(list) => {
            let with = |i: usize, new: Value| {
                let mut list = list.clone();
                list[i] = new;
                Value::Array(list)
            };
            let all = list.iter().enumerate();
            let mut others: Vec<Value> = all
                .flat_map(|(i, value)| every_change(value).into_iter().map(move |new| with(i, new)))
                .collect();
            for i in 0..list.len() {
                let (mut fewer, mut more) = (list.clone(), list.clone());
                fewer.remove(i);
                more.insert(i, list[i].clone());
                others.push(Value::Array(fewer));
                // A verdict twice is as true as once.
                if !list[i].is_object() {
                    others.push(Value::Array(more));
                }
            }
            others
        }
        Value::Object(map) => {
            let mut others = Vec::new();
            for (key, value) in map {
                for new in every_change(value) {
                    let mut map = map.clone();
                    map.insert(key.clone(), new);
                    others.push(Value::Object(map));
                }
                let mut fewer = map.clone();
                fewer.remove(key);
                others.push(Value::Object(fewer));
            }
            let mut more = map.clone();
            more.insert("note".to_owned(), json!(1));
            others.push(Value::Object(more));
            others
        }
        Value::Null => Vec::new(),
    }
}

/// Requires that a file is refused, as no claim or as a false one, in one line that names it.
fn refused(scratch: &Scratch, content: &str) {
    scratch.file("bad.json", content);
    let run = scratch.run(&["check", "bad.json", "--json"]);
    assert!(
        matches!(run.code, Some(1 | 2)) && !run.text.contains("\"holds\":true"),
        "{content}: {}",
        run.errors
    );
    assert!(
        run.errors.starts_with("foldglass: error: ") && run.errors.contains("bad.json"),
        "{}",
        run.errors
    );
    assert_eq!(run.errors.matches('\n').count(), 1, "{}", run.errors);
}

#[test]
fn verdicts_as_they_were_written_hold() {
    let scratch = Scratch::new();
    let (_, verdicts) = endpoints(&scratch);
    let found = scratch.json(&["check", "all.json"]);
    let checked = found["checked"][0]["verdicts"].as_array().unwrap();
    assert_eq!(checked.len(), verdicts.len());
    for (line, verdict) in checked.iter().zip(&verdicts) {
        assert_eq!(line["verdict"], verdict["verdict"]);
        assert_eq!(line["codes"], verdict["shelf"]);
    }
    let run = scratch.run(&["check", "all.json", "--threads", "3"]);
    assert!(
        run.success()
            .contains(" certified, every single-cell change of "),
        "{}",
        run.text
    );
    assert!(run.text.contains("; "), "{}", run.text);
}

#[test]
fn a_certified_verdict_with_anything_changed_is_refused() {
    let scratch = Scratch::new();
    let file = verdict(&scratch, &trapped(&scratch), TIED);
    assert_eq!(file["verdicts"][0]["verdict"], "certified");
    scratch.run(&["check", "v.json"]).success();
    for other in changed(&file) {
        refused(&scratch, &other.to_string());
    }
}

#[test]
fn a_bounded_verdict_with_anything_changed_is_refused() {
    let scratch = Scratch::new();
    let file = verdict(
        &scratch,
        &trapped(&scratch),
        &format!("{TIED} --max-codes 12"),
    );
    assert_eq!(file["verdicts"][0]["verdict"], "bounded");
    assert_eq!(file["verdicts"][0]["cap"], 12);
    let run = scratch.run(&["check", "v.json", "--sample", "5"]);
    let said = "1 bounded, every single-cell change looked at for 5 of 12 codes (sampled: --all \
                looks at every one)";
    assert!(run.success().contains(said), "{}", run.text);
    let run = scratch.run(&["check", "v.json", "--all"]);
    assert!(
        run.success().contains("for 12 of 12 codes\n"),
        "{}",
        run.text
    );
    for other in changed(&file) {
        refused(&scratch, &other.to_string());
    }
}

#[test]
fn an_escape_with_anything_changed_is_refused() {
    let scratch = Scratch::new();
    let class = "--task parity --lengths 4 --inputs markov:9/10";
    let zero = json!({"actions": vec![0; 14]});
    let file = verdict(&scratch, &zero, class);
    assert_eq!(file["verdicts"][0]["verdict"], "escapes");
    scratch.run(&["check", "v.json"]).success();
    let original = &file["verdicts"][0]["actions"];
    let kinds = |file: &Value| -> usize {
        let moves = file["verdicts"][0]["moves"]
            .as_array()
            .into_iter()
            .flatten();
        moves.filter(|m| m.get("kind").is_some()).count()
    };
    for other in changed(&file) {
        // A file without the kind of a move says less, and nothing false.
        let moves = |file: &Value| file["verdicts"][0]["moves"].as_array().map(Vec::len);
        if moves(&other) == Some(2) && kinds(&other) < kinds(&file) {
            scratch.file("less.json", &other.to_string());
            scratch.run(&["check", "less.json"]).success();
            continue;
        }
        // From other codes the same moves may lead up as well: the library's tests tell.
        let actions = &other["verdicts"][0]["actions"];
        if actions == original || actions.as_array().is_none_or(|list| list.len() != 14) {
            refused(&scratch, &other.to_string());
        }
    }
}

#[test]
fn an_optimal_verdict_with_anything_changed_is_refused() {
    let scratch = Scratch::new();
    let file = verdict(
        &scratch,
        &json!({"actions": [0, 1]}),
        "--task parity --lengths 1",
    );
    assert_eq!(file["verdicts"][0]["verdict"], "optimal");
    scratch.run(&["check", "v.json"]).success();
    let two_cells = |other: &Value| {
        // At length 1 a policy sees no more for a wider window, and tied or not is the same.
        let class = &other["class"];
        [&class["window"], &class["memory"], &class["tied"]]
            == [&json!([0, 0]), &json!(1), &json!(false)]
            && class["inputs"] == "uniform"
            // Nor does the table matter there: another of two symbols is as true.
            && class["square"].as_array().is_none_or(|rows| {
                rows.len() != 2 || *rows == [json!([0, 1]), json!([1, 0])] || rows.iter().any(|row| {
                    row.as_array().is_none_or(|row| row.len() != 2 || row.iter().any(|x| !matches!(x.as_u64(), Some(0 | 1))))
                })
            })
    };
    for other in changed(&file).into_iter().filter(two_cells) {
        refused(&scratch, &other.to_string());
    }
}

#[test]
fn a_file_cut_short_is_refused() {
    let scratch = Scratch::new();
    verdict(&scratch, &trapped(&scratch), TIED);
    let whole = scratch.read("v.json");
    for length in (0..whole.trim_end().len()).step_by(173) {
        refused(&scratch, &whole[..length]);
    }
    scratch.file("bad.json", &whole.replace("verdict/1", "verdict/2"));
    let run = scratch.run(&["check", "bad.json"]);
    assert_eq!(run.code, Some(2));
    assert!(
        run.errors.contains("foldglass-verdict/2") && run.errors.contains("foldglass-verdict/1"),
        "{}",
        run.errors
    );
}
