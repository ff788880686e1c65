//! Holds `draw`, `overlap` and the regulators of `cavi` to their form, their refusals and known values.

use serde_json::{Value, json};

use crate::mistakes::refuses;
use crate::support::Scratch;

fn args(words: &str) -> Vec<&str> {
    words.split(' ').collect()
}

/// The paper's two codes at T = 5, as files that state their class.
fn codes(scratch: &Scratch) {
    let class = json!({ "square": [[0, 1], [1, 0]], "lengths": [5] });
    let cells = scratch.json(&args("cells --task parity --lengths 5 --list"));
    let class = cells.get("class").cloned().unwrap_or(class);
    let symbol = |value: &Value| value.as_u64();
    let action = |parity: bool| -> Vec<u64> {
        let cells = cells["cells"].as_array().unwrap().iter();
        cells
            .map(|cell| {
                let x = symbol(&cell["x"][0]).unwrap();
                if parity {
                    (x + symbol(&cell["y"]).unwrap_or(0)) % 2
                } else {
                    x
                }
            })
            .collect()
    };
    for (name, parity) in [("parity.json", true), ("copy.json", false)] {
        let code = json!({
            "format": "foldglass-code/1",
            "class": class,
            "actions": action(parity),
        });
        scratch.file(name, &code.to_string());
    }
}

const INPUTS: &str = "--input 0,1,0,1,1 1,1,0,1,1";

#[test]
fn the_papers_two_codes_are_drawn_with_their_rewards_and_answers() {
    let scratch = Scratch::new();
    codes(&scratch);
    let words = format!("draw --code parity.json --code copy.json {INPUTS} --svg both.svg");
    let found = scratch.json(&args(&words));
    let [parity, copy] = [0, 1].map(|n| &found["codes"][n]);
    assert_eq!(
        (&parity["reward_exact"], &copy["reward_exact"]),
        (&json!("1/1"), &json!("1/2"))
    );
    assert_eq!(parity["inputs"][0]["y"], json!([0, 1, 1, 0, 1]));
    assert_eq!(parity["inputs"][1]["y"], json!([1, 0, 0, 1, 0]));
    assert_eq!(copy["inputs"][0]["y"], json!([0, 1, 0, 1, 1]));
    let right = |code: &Value| [0, 1].map(|n| code["inputs"][n]["right"].as_bool().unwrap());
    assert_eq!((right(parity), right(copy)), ([true, true], [true, false]));
    let svg = scratch.read("both.svg");
    for part in [
        "(a) parity: J = 1<",
        "(b) copy: J = 1/2<",
        "t = 5",
        "s₅ = 1, right",
        "s₅ = 0, wrong",
    ] {
        assert!(svg.contains(part), "no {part}");
    }
    // 18 cells a code, and a ring at each of the 5 cells of each input.
    assert_eq!(svg.matches("<circle").count(), 2 * (18 + 2 * 5));
    // An edge for each pair of cells that follow each other: from 2 cells to 4, from what the code
    // reaches to 4, and from the last cells to their answers; the parity code reaches all.
    let edges = |svg: &str| svg.matches("stroke-dasharray").count();
    scratch
        .run(&args("draw --code parity.json --svg parity.svg"))
        .success();
    assert_eq!(edges(&scratch.read("parity.svg")), 2 * 2 + 3 * 4 * 2 + 4);
    scratch
        .run(&args("draw --code copy.json --svg copy.svg"))
        .success();
    assert_eq!(edges(&scratch.read("copy.svg")), 2 * 2 + 3 * 4 * 2 + 4);
}

#[test]
fn a_constant_code_leaves_half_of_its_cells_pale() {
    let scratch = Scratch::new();
    let actions = vec![0; 18];
    scratch.file("zero.json", &json!({ "actions": actions }).to_string());
    let words = "draw --task parity --lengths 5 --code zero.json --svg zero.svg";
    assert_eq!(
        scratch.json(&args(words))["codes"][0]["reward_exact"],
        "1/2"
    );
    let svg = scratch.read("zero.svg");
    // Cells with y = 1 are reached by none; each has a circle, a shaft and a head.
    assert_eq!(svg.matches("#cccccc").count(), 4 * 2 * 3);
}

#[test]
fn other_classes_have_their_own_layout() {
    let scratch = Scratch::new();
    for (class, cells, inputs) in [
        ("--task z:3 --lengths 4", 3 + 3 * 9, "--input 0,1,2,2"),
        (
            "--task parity --lengths 4 --window 1,1",
            4 + 16 + 16 + 8,
            "",
        ),
        (
            "--task parity --lengths 3 --window 0,1 --tied",
            4 + 8 + 4,
            "--input 0,1,1",
        ),
        ("--task parity --lengths 4 --memory 2", 2 + 4 + 8 + 8, ""),
        ("--task parity --lengths 2,3", 6, "--input 0,1 1,0,1"),
    ] {
        let listed = scratch.json(&args(&format!("cells {class} --list")));
        let count = listed["count"].as_u64().unwrap() as usize;
        let code = json!({ "actions": vec![0; count] }).to_string();
        scratch.file("code.json", &code);
        let words = format!("draw {class} --code code.json --svg code.svg {inputs}");
        scratch.run(&args(words.trim())).success();
        let svg = scratch.read("code.svg");
        assert!(svg.matches("<circle").count() >= cells, "{class}");
        assert!(!svg.contains("NaN"), "{class}");
    }
    // Numbers stand for tokens where there are more than two.
    scratch.file("code.json", &json!({ "actions": vec![2; 30] }).to_string());
    scratch
        .run(&args(
            "draw --task z:3 --lengths 4 --code code.json --svg code.svg",
        ))
        .success();
    assert!(scratch.read("code.svg").matches(">2</text>").count() >= 30);
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    let scratch = Scratch::new();
    codes(&scratch);
    let good = "draw --code parity.json --svg out.svg";
    refuses(
        &scratch,
        &format!("{good} --input 0,1"),
        &["0,1", "length 2", "length 5"],
    );
    refuses(
        &scratch,
        &format!("{good} --input 0,1,0,1,2"),
        &["2", "0 to 1"],
    );
    refuses(
        &scratch,
        &format!("{good} --input 0,1,x"),
        &["'x'", "0,1,0,1,1"],
    );
    refuses(&scratch, "draw --code parity.json", &["--svg"]);
    refuses(
        &scratch,
        "draw --code parity.json --svg no/such/file",
        &["no/such/file"],
    );
    let words = "draw --task quasigroup --lengths 4 --window 1,0 --code long.json --svg out.svg \
                 --input 0,1,0,1";
    let count = scratch.json(&args("cells --task quasigroup --lengths 4 --window 1,0"));
    let count = count["count"].as_u64().unwrap() as usize;
    scratch.file(
        "long.json",
        &json!({ "actions": vec![0; count] }).to_string(),
    );
    refuses(&scratch, words, &["125 rows", "64 rows", "16 steps"]);
    let two = "draw --code parity.json --code copy.json --grid --svg out.svg";
    refuses(&scratch, two, &["2 codes", "a map shows one"]);
    assert!(!scratch.files().contains(&"out.svg".to_owned()));
}

/// A class too wide for ways is drawn as a map: a square per cell, a mark where `eval` finds a better token.
#[test]
fn a_wide_code_is_drawn_as_a_map_that_marks_what_can_be_raised() {
    let scratch = Scratch::new();
    let class = "--task quasigroup --lengths 4 --window 1,0";
    let count = scratch.json(&args(&format!("cells {class}")));
    let count = count["count"].as_u64().unwrap() as usize;
    let actions: Vec<usize> = (0..count)
        .map(|cell| (cell + cell / 5 + cell / 25) % 5)
        .collect();
    scratch.file("long.json", &json!({ "actions": actions }).to_string());
    let drawn = format!("draw {class} --code long.json --svg map.svg");
    scratch.run(&args(&drawn)).success();
    let map = scratch.read("map.svg");
    let found = scratch.json(&args(&format!("eval {class} --code long.json")));
    let values = found["values"].as_array().unwrap().iter();
    // dQ of an untied class is the change of J, up to rounding.
    let raised = values.zip(&actions).filter(|(row, action)| {
        let value = |a: usize| row[a].as_f64().unwrap();
        (0..5).any(|a| value(a) > value(**action) + 1e-9)
    });
    let marks = raised.count();
    assert!(marks > 0 && marks < count, "{marks}");
    let (squares, tokens) = (map.matches("<rect").count(), 5);
    // One is the background.
    assert_eq!(squares, 1 + count + marks + tokens);
    scratch.run(&args(&format!("{drawn} --grid"))).success();
    assert_eq!(scratch.read("map.svg"), map);
    // 66 cells could be drawn with their paths, which would hide each other: they are where an input is chosen.
    let class = "--task z:3 --lengths 8";
    let actions = json!({ "actions": vec![0; 66] });
    scratch.file("dense.json", &actions.to_string());
    let drawn = format!("draw {class} --code dense.json --svg dense.svg");
    for (flags, is_map) in [("", true), (" --input 0,1,2,0,1,2,0,1", false)] {
        scratch.run(&args(&format!("{drawn}{flags}"))).success();
        assert_eq!(
            scratch.read("dense.svg").contains("<circle"),
            !is_map,
            "{flags}"
        );
    }
    // As in the explorer, a row is the symbol and a column the token before; the first step has no token before.
    scratch.run(&args(&drawn)).success();
    let map = scratch.read("dense.svg");
    assert!(map.starts_with("<svg role=\"img\"") && map.contains("<title>Map of dense: J = "));
    for (axes, steps) in [(">↓ xₜ<", 1), (">↓ xₜ  → yₜ₋₁<", 7)] {
        assert_eq!(map.matches(axes).count(), steps, "{axes}");
    }
}

#[test]
fn overlaps_of_a_small_class_agree_with_the_sum_over_all_codes() {
    let scratch = Scratch::new();
    let words = "overlap --task parity --lengths 3 --tau 0.1,1 --replicas 12 --sweeps 500";
    let found = scratch.json(&args(&format!("{words} --svg p.svg")));
    for point in found["points"].as_array().unwrap() {
        assert_eq!(point["steps"].as_array().unwrap().len(), 3);
        // With one length the last step is the answer.
        assert_eq!(point["steps"][2], {
            let mut answers = point["answers"].clone();
            answers.as_object_mut().unwrap().remove("distribution");
            answers
        });
        for part in [
            &point["answers"],
            &point["all_steps"],
            &point["mean_reward"],
        ] {
            let number = |key: &str| part[key].as_f64().unwrap();
            let pull = (number("mean") - number("exact")) / number("error");
            assert!(pull.abs() < 5.0, "{part}");
        }
        for part in ["answers", "all_steps"] {
            let bins = point[part]["distribution"].as_array().unwrap();
            for key in ["probability", "exact"] {
                let sum: f64 = bins.iter().map(|bin| bin[key].as_f64().unwrap()).sum();
                assert!((sum - 1.0).abs() < 1e-9, "{part} {key}: {sum}");
            }
        }
    }
    assert!(scratch.read("p.svg").contains("same answer"));
    let with = |threads| {
        scratch
            .run(&args(&format!("{words} --threads {threads}")))
            .text
    };
    assert_eq!(with(1), with(2));
}

#[test]
fn overlaps_of_a_larger_class_are_sampled_alone() {
    let scratch = Scratch::new();
    let words = "overlap --task z:3 --lengths 5 --tau 1e-4 --replicas 4 --sweeps 200";
    let found = scratch.json(&args(words));
    let point = &found["points"][0];
    assert!(point["answers"].get("exact").is_none());
    assert!(found["no_exact"].as_str().unwrap().contains("codes"));
    // Cold chains solve the task, so all of them answer alike.
    assert!(point["answers"]["mean"].as_f64().unwrap() > 0.99);
    let text = scratch.run(&args(words)).success().to_owned();
    assert!(
        text.contains("same answer") && text.contains("no exact values"),
        "{text}"
    );
    for (bad, said) in [
        ("--tau 0", "above 0"),
        ("--tau 1,x", "above 0"),
        ("--tau 1 --replicas 2", "from 3"),
        ("--tau 1 --sweeps 1", "at least 2"),
    ] {
        refuses(
            &scratch,
            &format!("overlap --task parity --lengths 3 {bad}"),
            &[said],
        );
    }
}

#[test]
fn runs_are_regulated_as_asked() {
    let scratch = Scratch::new();
    let words = "cavi --task parity --lengths 4 --iterations 300 --runs 4";
    let runs = |more: &str| scratch.json(&args(&format!("{words} {more}")))["runs"].clone();
    let plain = runs("--tau 0.02");
    assert_eq!(runs("--tau 0.02 --convention uniform"), plain);
    assert!(plain[0].get("regulator").is_none());
    let occupancy = runs("--tau 0.02 --convention occupancy");
    for run in occupancy.as_array().unwrap() {
        // The mean entropy of a token is at most ln 2.
        let regulator = run["regulator"].as_f64().unwrap();
        assert!((0.0..=2f64.ln() + 1e-12).contains(&regulator), "{run}");
    }
    assert_ne!(occupancy[0]["expected_reward"], plain[0]["expected_reward"]);
    // A schedule that stays where it is is none; one that cools is.
    assert_eq!(runs("--anneal linear:0.02,0.02,300"), plain);
    assert_ne!(runs("--anneal geometric:0.2,0.02,300"), plain);
    // Held to a prior when it is hot, runs are it.
    let rows: Vec<[f64; 2]> = (0..14)
        .map(|n| [0.9 - 0.05 * f64::from(n), 0.1 + 0.05 * f64::from(n)])
        .collect();
    scratch.file("prior.json", &json!({ "rows": rows }).to_string());
    let hot = runs("--tau 1e6 --prior prior.json --policies hot.json");
    assert!(hot[0]["regulator"].as_f64().unwrap().abs() < 1e-6, "{hot}");
    let text = scratch.read("hot.json");
    let policy: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    for (row, prior) in policy["rows"].as_array().unwrap().iter().zip(&rows) {
        assert!((row[0].as_f64().unwrap() - prior[0]).abs() < 1e-5);
    }
}

#[test]
fn regulators_that_mean_nothing_are_refused() {
    let scratch = Scratch::new();
    let good = "cavi --task parity --lengths 2 --iterations 5 --runs 1";
    refuses(&scratch, good, &["--tau", "--anneal"]);
    refuses(
        &scratch,
        &format!("{good} --tau 1 --anneal linear:1,0,5"),
        &["--tau", "--anneal"],
    );
    refuses(
        &scratch,
        &format!("{good} --anneal slowly"),
        &["slowly", "geometric:FROM,TO"],
    );
    refuses(
        &scratch,
        &format!("{good} --anneal linear:1e301,0,5"),
        &["--anneal", "1e300"],
    );
    let said = ["visits", "--convention", "uniform, occupancy"];
    refuses(
        &scratch,
        &format!("{good} --tau 1 --convention visits"),
        &said,
    );
    let mut rows = vec![[0.5, 0.5]; 6];
    rows[4] = [0.0, 1.0];
    scratch.file("prior.json", &json!({ "rows": rows }).to_string());
    let said = ["--prior", "action 0 of cell 4"];
    refuses(
        &scratch,
        &format!("{good} --tau 1 --prior prior.json"),
        &said,
    );
}

#[test]
fn studies_have_the_keys_of_the_flags() {
    let scratch = Scratch::new();
    let study = |keys: &str| {
        format!(
            "name = \"s\"\nseed = 0\n[[class]]\ntask = \"parity\"\nlengths = 3\n[[dynamics]]\nkind = \"cavi\"\n\
             runs = 2\niterations = 50\ncommon_random_numbers = true\n{keys}\n"
        )
    };
    for (number, (keys, flags)) in [
        (
            "tau = 0.05\nconvention = \"occupancy\"",
            "--tau 0.05 --convention occupancy",
        ),
        (
            "anneal = \"geometric:0.5,1e-3,50\"",
            "--anneal geometric:0.5,1e-3,50",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        scratch.file("s.toml", &study(keys));
        let out = format!("out{number}");
        scratch.run(&["run", "s.toml", "--out", &out]);
        let records = scratch.read(&format!("{out}/records.jsonl"));
        let record: Value = serde_json::from_str(records.lines().next().unwrap()).unwrap();
        let words = format!("cavi --task parity --lengths 3 --iterations 50 --runs 2 {flags}");
        let runs = scratch.json(&args(&words))["runs"].clone();
        let reward = |value: &Value| value["expected_reward"].as_f64();
        let found = reward(&record).or_else(|| reward(&record["result"]));
        assert_eq!(found, reward(&runs[0]), "{record}");
    }
}
