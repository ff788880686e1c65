//! `reproduce`: items by their labels, at the smoke scale.

use std::fs;

use serde_json::Value;

use crate::support::Scratch;

#[test]
fn without_a_scale_it_says_what_each_would_take() {
    let run = Scratch::new().run(&["reproduce", "tab:equilibration"]);
    assert_eq!(run.code, Some(2));
    for said in ["--quick", "--full", "runs", "564 runs", "about"] {
        assert!(run.errors.contains(said), "{}", run.errors);
    }
    assert_eq!(run.errors.lines().count(), 1);
}

#[test]
fn an_unknown_item_is_refused_with_the_known_ones() {
    let run = Scratch::new().run(&["reproduce", "tab:everything", "--quick"]);
    assert_eq!(run.code, Some(2));
    assert!(
        run.errors.contains("tab:everything") && run.errors.contains("tab:shortfall"),
        "{}",
        run.errors
    );
}

#[test]
fn the_two_scales_exclude_each_other() {
    let run = Scratch::new().run(&["reproduce", "--quick", "--full"]);
    assert_eq!(run.code, Some(2));
}

#[test]
fn a_table_is_compared_row_by_row_and_gone_on_with_without_recomputing() {
    let scratch = Scratch::new();
    let args = ["reproduce", "tab:equilibration", "--quick"];
    let first = scratch.json(&args);
    assert_eq!(
        (&first["scale"], &first["differ"]),
        (&"quick".into(), &0.into())
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
    assert!(
        rows.iter().all(|row| row["verdict"] == "not enough seeds"),
        "{rows:#?}"
    );
    let last = rows
        .iter()
        .find(|row| row["quantity"] == "J at sweep 1000" && row["n"] == 8)
        .unwrap();
    assert_eq!((&last["ours"], &last["paper"]), (&1.0.into(), &1.0.into()));
    let records = scratch
        .path()
        .join("reproduce-quick/stationarity/records.jsonl");
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
    for said in ["SMOKE SCALE", "parity (0,0) T=10", "0.747 ± 0.241", "Rule:"] {
        assert!(text.contains(said), "{text}");
    }
    // Records of another seed are not mixed in.
    let other = scratch.run(&[&args[..], &["--seed", "1"]].concat());
    assert_eq!(other.code, Some(2));
    assert!(other.errors.contains("seed"), "{}", other.errors);
}

#[test]
fn the_figure_is_drawn_from_the_records() {
    let scratch = Scratch::new();
    // On a busy machine the engine says how far it is, on stderr.
    let run = scratch.run(&[
        "reproduce",
        "fig:temperature_untied",
        "--quick",
        "--out",
        "here",
        "--json",
    ]);
    assert_eq!(run.code, Some(0), "{}", run.errors);
    let report: Value = serde_json::from_str(&run.text).unwrap();
    let item = &report["items"][0];
    let path = item["figure"].as_str().unwrap();
    assert_eq!(path, "here/fig-temperature-untied-a.svg");
    let svg = scratch.read(path);
    assert_well_formed(&svg);
    for said in [
        "quasigroup (1,1) T=3,4,5,6",
        "10⁻¹³",
        "with resets",
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

/// Every element is closed in the order it was opened.
fn assert_well_formed(xml: &str) {
    let mut open: Vec<&str> = Vec::new();
    for part in xml.split('<').skip(1) {
        let (tag, rest) = part.split_once('>').unwrap();
        assert!(!rest.contains('>') || part.starts_with("!--"), "{part}");
        let name = tag.split_whitespace().next().unwrap();
        match name.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name)),
            None if tag.ends_with('/') || name.starts_with('!') || name.starts_with('?') => {}
            None => open.push(name),
        }
    }
    assert!(open.is_empty(), "{open:?}");
}
