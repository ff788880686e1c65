//! Makes everything at the smoke scale once: all tests that need the records of long items read these.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use super::{axe, chromium};
use crate::claims::{assert_no_contradiction, verdicts};
use crate::reproduce::assert_well_formed;
#[cfg(unix)]
use crate::support::contents;
use crate::support::{Scratch, words};

/// A reproduction at the smoke scale decides nothing that its runs cannot carry; and every number that a
/// statement asks for is there.
#[test]
fn a_complete_reproduction_compares_draws_and_contradicts_no_verdict_of_the_full_table() {
    let scratch = Scratch::new();
    scratch.run(&words("reproduce --smoke --quiet")).success();
    table(&scratch);
    figure(&scratch);
    list(&scratch);
    // What goes beyond the paper is run only when it is named. A statement that needs it says so by its command.
    let report = scratch.json(&words("claims --smoke --quiet"));
    let lacking = without_records(&report);
    assert!(!lacking.is_empty());
    for row in lacking {
        let command = row["command"].as_str().unwrap();
        assert_eq!(command, "reproduce ext:sampled", "{row}");
    }
    assert_no_contradiction(&verdicts(&report));
    scratch
        .run(&words("reproduce ext:sampled --smoke --quiet"))
        .success();
    let report = scratch.json(&words("claims --smoke --quiet"));
    let found = verdicts(&report);
    assert_no_contradiction(&found);
    assert!(without_records(&report).is_empty());
    read_only(&scratch, &found);
    edited(&scratch);
    lost(&scratch);
}

/// The statements whose records are not there.
fn without_records(report: &Value) -> Vec<&Value> {
    let lacks = |row: &&Value| {
        let evidence = row["evidence"].as_str().unwrap();
        evidence.contains("there are no records of")
    };
    let rows = report["claims"].as_array().unwrap();
    rows.iter().filter(lacks).collect()
}

/// Catches a headline that its runs cannot judge, a verdict that is not the full scale's, a result without a figure or
/// a chapter, and a first command that takes longer than a newcomer waits.
#[test]
fn the_headline_results_are_all_judged_and_each_has_a_figure() {
    let scratch = Scratch::new();
    let report = scratch.json(&words("reproduce --quick --quiet"));
    assert_eq!(
        (&report["scale"], &report["out"], &report["cannot_tell"]),
        (&"quick".into(), &"reproduction-quick".into(), &0.into())
    );
    let items = report["items"].as_array().unwrap();
    let names: Vec<&str> = items
        .iter()
        .map(|item| item["item"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "gap",
            "escape",
            "resets",
            "temperature",
            "transition",
            "traps",
            "law",
            "transformers"
        ]
    );
    let page = scratch.read("reproduction-quick/report/index.html");
    for item in items {
        let rows = item["rows"].as_array().unwrap();
        assert!((2..=4).contains(&rows.len()), "{item}");
        let judged =
            |row: &Value| ["agrees", "differs"].contains(&row["verdict"].as_str().unwrap());
        assert!(rows.iter().all(judged), "{rows:#?}");
        assert_well_formed(&scratch.read(item["figure"].as_str().unwrap()));
        let name = item["item"].as_str().unwrap();
        assert!(page.contains(&format!("<section id=\"{name}\"")), "{name}");
        // All hold, the counts of traps in part, but the one that networks of a GPU do not show.
        let expected = if name == "transformers" {
            "differs"
        } else {
            "agrees"
        };
        assert_eq!(rows[0]["verdict"], expected, "{name}");
    }
    let text = scratch.run(&words("reproduce --quick --quiet"));
    for said in [
        "HOLDS",
        "HOLDS IN PART",
        "NOT REPRODUCED",
        "(Theorem 4.1)",
        "60/60",
        "reproduction-quick/report/index.html",
    ] {
        assert!(text.success().contains(said), "{said}: {}", text.text);
    }
    assert_eq!(text.text.matches("HOLDS").count(), 7, "{}", text.text);
    assert!(!text.text.contains("cannot tell"), "{}", text.text);
    legible(&scratch);
    // A report of it is made again from its records alone.
    let again = scratch.json(&words("report reproduction-quick"));
    assert_eq!(again["agree"], report["agree"]);
    assert_eq!(scratch.read("reproduction-quick/report/index.html"), page);
    // Statements are decided from the same directory, which is the only one here, as far as its runs carry them.
    let claims = scratch.json(&words("claims --records-only --quiet"));
    assert_eq!(
        (&claims["scale"], &claims["directory"]),
        (&"quick".into(), &"reproduction-quick".into())
    );
    assert_no_contradiction(&verdicts(&claims));
}

/// Nothing serious for axe in the report of the headlines, folded and unfolded, on a desk and on a phone.
fn legible(scratch: &Scratch) {
    let (Some(browser), Some(script)) = (chromium::installed(), axe::script()) else {
        return;
    };
    let page = scratch.path().join("reproduction-quick/report/index.html");
    let page = fs::canonicalize(page).unwrap();
    let mut chromium = chromium::Chromium::start(browser, scratch.path());
    for (width, scheme) in [(1280, "light"), (390, "dark")] {
        chromium.size(width, 900);
        chromium.prefer(&[("prefers-color-scheme", scheme)]);
        chromium.open(&format!("file://{}", page.display()));
        axe::check(&mut chromium, &script, &format!("the headlines at {width}"));
        chromium.evaluate(
            "document.querySelectorAll('details').forEach((one) => { one.open = true; })",
        );
        axe::check(
            &mut chromium,
            &script,
            &format!("the headlines unfolded at {width}"),
        );
    }
}

/// What is decided does not depend on whether the directory can be written to.
#[cfg(unix)]
fn read_only(scratch: &Scratch, found: &BTreeMap<String, String>) {
    let before = contents(&scratch.path().join("reproduction-smoke"));
    let locked = |mode: u32| {
        use std::os::unix::fs::PermissionsExt;
        let place = scratch.path().join("reproduction-smoke");
        fs::set_permissions(place, fs::Permissions::from_mode(mode)).unwrap();
    };
    locked(0o555);
    let again = scratch.json(&words("claims --records-only --from reproduction-smoke"));
    locked(0o755);
    assert_eq!(verdicts(&again), *found);
    assert!(before == contents(&scratch.path().join("reproduction-smoke")));
}

#[cfg(not(unix))]
fn read_only(_: &Scratch, _: &BTreeMap<String, String>) {}

/// An edited number is found in every record that has a seal; a directory without seals is read, and said
/// to be such once.
fn edited(scratch: &Scratch) {
    let decide = words("claims --records-only --from reproduction-smoke");
    let sealed = [
        "reproduce.json",
        "times.json",
        "verdicts.json",
        "claims/moves.json",
        "traps/parity-8.json",
        "censuses/parity-T8-k9-10-tolerance0-1.json",
    ];
    let sealed = sealed.map(|file| format!("reproduction-smoke/{file}"));
    let kept = sealed.each_ref().map(|path| scratch.read(path));
    for (path, kept) in sealed.iter().zip(&kept) {
        let (content, seal) = kept.rsplit_once(",\"check\"").unwrap();
        let digit = content.rfind(['0', '2', '4', '6', '8']).unwrap();
        let mut text = content.as_bytes().to_vec();
        text[digit] += 1;
        let text = String::from_utf8(text).unwrap();
        scratch.file(path, &format!("{text},\"check\"{seal}"));
        let run = scratch.run(&decide);
        assert_eq!(run.code, Some(2), "{path}: {}", run.errors);
        let named = run.errors.contains(&path[..]) && run.errors.contains("seal");
        assert!(named, "{path}: {}", run.errors);
        scratch.file(path, kept);
    }
    // As an earlier version wrote them.
    for (path, kept) in sealed.iter().zip(&kept) {
        let (content, _) = kept.rsplit_once(",\"check\"").unwrap();
        scratch.file(path, &format!("{content}}}\n"));
    }
    let run = scratch.run(&decide);
    assert_eq!(run.code, Some(0), "{}", run.errors);
    let warned = run.errors.matches("earlier version").count();
    assert_eq!(warned, 1, "{}", run.errors);
    for (path, kept) in sealed.iter().zip(&kept) {
        scratch.file(path, kept);
    }
}

/// A step that is marked as done is not believed without its record, and a damaged line of a study is counted.
fn lost(scratch: &Scratch) {
    let place = scratch.path().join("reproduction-smoke");
    let kept = scratch.read("reproduction-smoke/paths.json");
    fs::remove_file(place.join("paths.json")).unwrap();
    for read in [
        "reproduce thm:escape --from reproduction-smoke",
        "claims --records-only --from reproduction-smoke",
    ] {
        let run = scratch.run(&words(read));
        assert_eq!(run.code, Some(2), "{read}: {}", run.errors);
        let named = run.errors.contains("paths.json") && run.errors.contains("thm:escape");
        assert!(named, "{read}: {}", run.errors);
    }
    scratch
        .run(&words("reproduce thm:escape --smoke --quiet"))
        .success();
    assert_eq!(scratch.read("reproduction-smoke/paths.json"), kept);
    let file = "reproduction-smoke/plain/records.jsonl";
    let kept = scratch.read(file);
    scratch.file(file, &kept.replacen("\"run\":0", "\"run\":1", 1));
    let report = scratch.json(&words("claims --records-only --from reproduction-smoke"));
    assert_eq!(report["damaged_lines"], serde_json::json!({"plain": 1}));
    scratch.file(file, &kept);
}

/// A table is compared row by row, and what is recorded is not computed again.
fn table(scratch: &Scratch) {
    let args = ["reproduce", "tab:equilibration", "--smoke"];
    let first = scratch.json(&args);
    assert_eq!(
        (&first["scale"], &first["differ"]),
        (&"smoke".into(), &0.into())
    );
    let items = first["items"].as_array().unwrap();
    assert_eq!(
        (items.len(), &items[0]["item"]),
        (1, &"tab:equilibration".into())
    );
    let rows = items[0]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 10 + 2 + 18 + 9);
    let keys = [
        "row", "quantity", "paper", "ours", "interval", "n", "verdict", "note",
    ];
    assert!(
        rows.iter()
            .all(|row| keys.iter().all(|&key| row.get(key).is_some()))
    );
    // Chains of the smoke scale end before the later sweeps.
    let few = |row: &&Value| row["why"] == "not enough seeds";
    let untold = |row: &Value| row["verdict"] == "cannot tell" && (few(&row) || row["n"] == 0);
    assert!(rows.iter().all(untold), "{rows:#?}");
    assert_eq!(
        (&first["agree"], &first["cannot_tell"]),
        (&0.into(), &rows.len().into())
    );
    let few = rows.iter().filter(few).count();
    assert_eq!(first["not_enough_seeds"], few);
    let last = rows
        .iter()
        .find(|row| row["quantity"] == "J at sweep 1000" && row["n"] == 8)
        .unwrap();
    assert_eq!((&last["ours"], &last["paper"]), (&1.0.into(), &1.0.into()));
    let records = scratch
        .path()
        .join("reproduction-smoke/stationarity/records.jsonl");
    let before = (
        fs::read(&records).unwrap(),
        fs::metadata(&records).unwrap().modified().unwrap(),
    );
    assert_eq!(scratch.json(&args), first);
    assert_eq!(
        (
            fs::read(&records).unwrap(),
            fs::metadata(&records).unwrap().modified().unwrap()
        ),
        before
    );
    let text = scratch.run(&args);
    let text = text.success();
    for said in [
        "SMOKE SCALE",
        "tab:equilibration",
        "39 more cannot tell",
        "Rule:",
    ] {
        assert!(text.contains(said), "{text}");
    }
    assert!(text.lines().count() < 24, "{text}");
    let all = scratch.run(&[&args[..], &["--show", "all"]].concat());
    for said in ["parity (0,0) T=10", "0.747 ± 0.241", "95 % interval"] {
        assert!(all.success().contains(said), "{}", all.text);
    }
    // Records of another seed are not mixed in.
    let other = scratch.run(&[&args[..], &["--seed", "1"]].concat());
    assert_eq!(other.code, Some(2));
    assert!(other.errors.contains("seed"), "{}", other.errors);
}

/// The figure is drawn from the records.
fn figure(scratch: &Scratch) {
    let report = scratch.json(&["reproduce", "fig:temperature_untied", "--smoke"]);
    let item = &report["items"][0];
    let path = item["figure"].as_str().unwrap();
    assert_eq!(path, "reproduction-smoke/fig-temperature-untied-a.svg");
    let svg = scratch.read(path);
    assert_well_formed(&svg);
    for said in [
        "(1,1) T = 3,4,5,6",
        "10⁻¹²",
        "crosses: the paper’s means",
        "SMOKE SCALE",
    ] {
        assert!(svg.contains(said), "{said}");
    }
    let points = item["rows"].as_array().unwrap().iter();
    let points = points.filter(|row| row["quantity"].as_str().unwrap().starts_with("J at tau"));
    let rewards: Vec<f64> = points.map(|row| row["ours"].as_f64().unwrap()).collect();
    assert_eq!(rewards.len(), 14 + 2 * 6 + 3 * 21 + 7);
    assert!(rewards.iter().all(|reward| (0.0..=1.0).contains(reward)));
    let unstated = |row: &&Value| row["verdict"] == "not stated";
    assert!(
        item["rows"]
            .as_array()
            .unwrap()
            .iter()
            .any(|row| unstated(&row) && row["paper"].is_null())
    );
}

/// What was run is measured.
fn list(scratch: &Scratch) {
    let list = scratch.json(&["list", "reproduction-smoke"]);
    let items = list["items"].as_array().unwrap();
    let own = |item: &&Value| item["item"] == "tab:equilibration";
    let own = items.iter().find(own).unwrap();
    assert!(own["measured"]["seconds"].as_f64().unwrap() > 0.0, "{own}");
    let text = scratch.run(&["list", "reproduction-smoke"]);
    assert!(text.success().contains("measured"), "{}", text.text);
}
