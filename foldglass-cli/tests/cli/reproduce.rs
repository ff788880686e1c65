//! `reproduce`: items by their labels, at the smoke scale; what the headlines run.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{Scratch, contents, report};

#[test]
fn a_dry_run_says_what_would_be_run_and_writes_nothing() {
    let scratch = Scratch::new();
    let args = ["reproduce", "tab:equilibration", "--dry-run"];
    let run = scratch.run(&args);
    let text = run.success();
    for said in [
        "stationarity",
        "564 runs at the short scale, 0 of them done",
        "about",
    ] {
        assert!(text.contains(said), "{text}");
    }
    // Steps besides the runs of studies are listed too, with their time.
    let run = scratch.run(&["reproduce", "ext:sampled", "--smoke", "--dry-run"]);
    let steps = run
        .success()
        .lines()
        .filter(|line| line.starts_with("ext:sampled"));
    let words: Vec<&str> = steps.flat_map(str::split_whitespace).collect();
    assert!(
        matches!(words[..], ["ext:sampled", "-", "-", seconds] if seconds.parse::<f64>().unwrap() > 0.0),
        "{words:?}"
    );
    let plan = scratch.json(&[&args[..], &["--smoke"]].concat());
    assert_eq!(plan["scale"], "smoke");
    assert!(plan["runs"].as_u64().unwrap() < 564 / 2);
    assert!(scratch.files().is_empty());
}

#[test]
fn an_unknown_item_is_refused_with_the_known_ones() {
    let run = Scratch::new().run(&["reproduce", "tab:everything", "--smoke"]);
    assert_eq!(run.code, Some(2));
    assert!(
        run.errors.contains("tab:everything") && run.errors.contains("tab:shortfall"),
        "{}",
        run.errors
    );
}

#[test]
fn the_scales_exclude_each_other_and_the_headlines_take_no_items() {
    for flags in [
        ["--smoke", "--full"],
        ["--quick", "--full"],
        ["--quick", "--smoke"],
        ["--quick", "tab:shortfall"],
    ] {
        let run = Scratch::new().run(&[&["reproduce"], &flags[..]].concat());
        assert_eq!(run.code, Some(2), "{flags:?}");
        assert!(
            run.errors.contains("--quick") || flags[0] == "--smoke",
            "{}",
            run.errors
        );
    }
}

/// Catches a headline that runs more than its own part of a study, such as every temperature of the scan.
#[test]
fn the_headlines_run_their_part_of_four_studies_and_nothing_else() {
    let plan = Scratch::new().json(&["reproduce", "--quick", "--dry-run"]);
    assert_eq!(
        (&plan["scale"], &plan["runs"]),
        (&"quick".into(), &(3 * 60 + 7 * 12).into())
    );
    assert_eq!(plan["out"], "reproduction-quick");
}

/// What `--from` reads is what was run, byte for byte, censuses and verdicts included.
#[test]
fn a_comparison_is_made_from_the_records_alone() {
    let scratch = Scratch::new();
    let run = ["reproduce", "tab:trapsexist", "--smoke", "--out", "here"];
    // On a busy machine the engine says how far it is, on stderr.
    let first = scratch.run(&[&run[..], &["--json"]].concat());
    assert_eq!(first.code, Some(0), "{}", first.errors);
    let item = &serde_json::from_str::<Value>(&first.text).unwrap()["items"][0];
    assert_eq!(item["missing_runs"], 0);
    let row = |quantity: &str, class: &str| {
        let rows = item["rows"].as_array().unwrap().iter();
        let own = |row: &&Value| row["quantity"] == quantity && row["row"] == class;
        rows.clone().find(own).unwrap().clone()
    };
    let maxima = row("local maxima", "parity k=9/10 T=8");
    assert_eq!(
        (&maxima["verdict"], &maxima["exact"][1]),
        (&"differs".into(), &"35294848".into())
    );
    assert_eq!(maxima["detectable"]["kind"], "anything");
    assert_eq!(row("traps", "parity k=9/10 T=8")["verdict"], "agrees");
    let before = contents(&scratch.path().join("here"));
    assert!(
        before
            .keys()
            .any(|name| name.contains("censuses/parity-T8"))
    );
    assert!(before.contains_key("verdicts.json"));
    let again = ["reproduce", "tab:trapsexist", "--from", "here", "--json"];
    let said = |text: &str| {
        let mut object = report(serde_json::from_str(text).unwrap());
        // Only what is run is reported.
        object.as_object_mut().unwrap().remove("report");
        object
    };
    assert_eq!(said(scratch.run(&again).success()), said(&first.text));
    assert_eq!(contents(&scratch.path().join("here")), before);
    every_format(&scratch);
    // Without the records of a census it is not shown, and not compared with less.
    fs::remove_file(
        scratch
            .path()
            .join("here/censuses/parity-T6-k9-10-tolerance0-1.json"),
    )
    .unwrap();
    let run = scratch.run(&again);
    assert_eq!(run.code, Some(2));
    assert!(
        run.errors.contains("the census of parity at T = 6")
            && run.errors.contains("tab:trapsexist"),
        "{}",
        run.errors
    );
    let others = scratch
        .run(&["reproduce", "--from", "here", "--json"])
        .json();
    let items = others["items"].as_array().unwrap();
    assert!(items.iter().all(|item| item["item"] != "tab:trapsexist"));
}

#[test]
fn from_names_what_is_not_there() {
    let scratch = Scratch::new();
    let run = scratch.run(&["reproduce", "--from", "nowhere"]);
    assert_eq!(run.code, Some(2));
    assert!(
        run.errors.contains("nowhere") && run.errors.contains("reproduce.json"),
        "{}",
        run.errors
    );
    fs::create_dir(scratch.path().join("there")).unwrap();
    let manifest = r#"{"format":"foldglass-reproduce/1","version":"0","scale":"smoke","seed":0}"#;
    scratch.file("there/reproduce.json", manifest);
    let run = scratch.run(&["reproduce", "tab:shortfall", "--from", "there"]);
    assert_eq!(run.code, Some(2));
    assert!(
        run.errors.contains("stationarity") && run.errors.contains("tab:shortfall"),
        "{}",
        run.errors
    );
    for flag in ["--quick", "--smoke", "--full", "--dry-run"] {
        let run = scratch.run(&["reproduce", "--from", "there", flag]);
        assert_eq!(run.code, Some(2), "{flag}");
    }
}

/// Writes the table of the records in `here` in every format.
fn every_format(scratch: &Scratch) {
    let from = |more: &[&str]| {
        scratch.run(&[&["reproduce", "tab:trapsexist", "--from", "here"], more].concat())
    };
    from(&["--table", "all.csv"]).success();
    let printed = from(&["--format", "csv"]);
    assert_eq!(printed.success(), scratch.read("all.csv"));
    let mut lines = printed.text.lines();
    let keys = lines.next().unwrap();
    assert!(
        keys.starts_with("item,class,quantity,paper,paper_sd,paper_of,ours,"),
        "{keys}"
    );
    assert_eq!(lines.count(), 45);
    let list: Value = serde_json::from_str(from(&["--format", "json"]).success()).unwrap();
    let fraction = |row: &&Value| row["ours"] == "9/10";
    assert_eq!(list.as_array().unwrap().iter().filter(fraction).count(), 2);
    let differing = from(&["--format", "markdown", "--show", "differing"]);
    assert!(
        differing.success().contains("| differs |") && !differing.text.contains("| agrees |"),
        "{}",
        differing.text
    );
    assert!(
        from(&["--table", "all.tex"]).success().contains("differ"),
        "the summary is printed as well"
    );
    let latex = scratch.read("all.tex");
    for said in ["\\toprule", "\\caption{tab:trapsexist", "\\%"] {
        assert!(latex.contains(said), "{said}: {latex}");
    }
    for bad in ["all.xlsx", "all"] {
        let run = from(&["--table", bad]);
        assert_eq!(run.code, Some(2));
        assert!(
            run.errors.contains(bad) && run.errors.contains(".csv, .md, .tex"),
            "{}",
            run.errors
        );
    }
    assert_eq!(from(&["--format", "html"]).code, Some(2));
}

/// What a GPU made is compared without one, from records that anyone may replace.
#[test]
fn networks_are_compared_from_committed_records() {
    let scratch = Scratch::new();
    let items = ["tab:containment", "tab:escape", "fig:temperature_untied_b"];
    let args = [&["reproduce"], &items[..], &["--smoke", "--out", "here"]].concat();
    let report = scratch.json(&args);
    let rows = |n: usize| report["items"][n]["rows"].as_array().unwrap();
    for (n, item) in items.iter().enumerate() {
        assert_eq!(report["items"][n]["item"], *item);
        let title = report["items"][n]["title"].as_str().unwrap();
        assert!(title.contains("committed records of an H200"), "{title}");
        assert!(rows(n).iter().all(|row| row["n"].as_u64().unwrap() > 0));
    }
    let sizes = [rows(0).len(), rows(1).len(), rows(2).len()];
    assert_eq!(sizes, [26, 25, 47]);
    let path = report["items"][2]["figure"].as_str().unwrap();
    assert_eq!(path, "here/fig-temperature-untied-b.svg");
    let svg = scratch.read(path);
    assert_well_formed(&svg);
    assert!(svg.contains("entropy coefficient") && svg.contains("quasigroup"));
    // Records of one's own take their place, and their faults are named.
    let place = "here/fleets/escape.jsonl";
    assert!(!scratch.path().join(place).exists());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let kept = fs::read_to_string(root.join("results/escape.jsonl")).unwrap();
    let less: Vec<&str> = kept.lines().take(4).collect();
    fs::create_dir(scratch.path().join("here/fleets")).unwrap();
    scratch.file(place, &less.join("\n"));
    let fewer = scratch.json(&args);
    let exact = |report: &Value| {
        let rows = report["items"][1]["rows"].as_array().unwrap().clone();
        let mut own = rows.into_iter();
        own.find(|row| row["quantity"] == "networks exact on all inputs")
            .unwrap()
    };
    assert_eq!(
        (&exact(&report)["n"], &exact(&fewer)["n"]),
        (&189.into(), &63.into())
    );
    assert_eq!(fewer["items"][1]["missing_runs"], 6);
    let twice = [&kept[..], less[1], "\n"].concat();
    scratch.file(place, &twice);
    let run = scratch.run(&args);
    assert_eq!(run.code, Some(2));
    let said = "line 11 repeats a network: class \"(0,0)\", place \"first\"";
    assert!(run.errors.contains(said), "{}", run.errors);
    scratch.file(place, "{\"kind\":\"run\"}\n{\"place\":\"last\"}\n");
    let run = scratch.run(&args);
    assert_eq!(run.code, Some(2));
    let said = run.errors.contains("escape.jsonl") && run.errors.contains("line 2");
    assert!(said, "{}", run.errors);
    // Without them the committed ones are read.
    fs::remove_file(scratch.path().join(place)).unwrap();
    assert_eq!(exact(&scratch.json(&args))["n"], 189);
}

/// Every element is closed in the order it was opened.
pub fn assert_well_formed(xml: &str) {
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
