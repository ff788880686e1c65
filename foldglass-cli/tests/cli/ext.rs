//! `reproduce ext`: what goes beyond the paper, at the smoke scale.

use std::fs;

use serde_json::Value;

use crate::support::Scratch;

/// The rows of an item.
fn rows<'a>(report: &'a Value, item: &str) -> &'a Vec<Value> {
    let items = report["items"].as_array().unwrap();
    let own = items.iter().find(|other| other["item"] == item);
    own.unwrap()["rows"].as_array().unwrap()
}

fn row<'a>(rows: &'a [Value], class: &str, quantity: &str) -> &'a Value {
    let own = |row: &&Value| row["row"] == class && row["quantity"] == quantity;
    rows.iter()
        .find(own)
        .unwrap_or_else(|| panic!("{class}: {quantity}"))
}

#[test]
fn items_beyond_the_paper_are_planned_only_when_they_are_named() {
    let scratch = Scratch::new();
    let studies = |args: &[&str]| {
        let run = scratch.run(&[&["reproduce", "--smoke", "--dry-run"], args].concat());
        run.success().to_owned()
    };
    let all = studies(&[]);
    assert!(
        all.contains("stationarity") && !all.contains("capture"),
        "{all}"
    );
    let ext = studies(&["ext"]);
    assert!(ext.contains("capture") && ext.contains("lengths"), "{ext}");
    assert!(!ext.contains("stationarity"), "{ext}");
    let help = scratch.run(&["reproduce", "--help"]);
    assert!(help.success().contains("ext:capture"), "{}", help.text);
}

/// Every class that was counted obeys its law; the paper's number of traps comes out.
fn traps(rows: &[Value]) {
    let laws: Vec<&Value> = rows
        .iter()
        .filter(|row| row["quantity"] == "the law")
        .collect();
    let counted = laws.iter().filter(|row| row["n"] == 1).count();
    assert!(counted > 20, "{counted}");
    for class in ["correlated inputs", "several lengths"] {
        let holding = row(rows, class, "classes on which the law holds");
        assert_eq!(holding["ours"], 1.0, "{holding}");
    }
    assert_eq!(row(rows, "parity k=9/10 T=6", "traps")["verdict"], "agrees");
    let ignored = row(rows, "parity k=9/10 T=6", "numbers of positions ignored");
    assert_eq!(
        (&ignored["n"], &ignored["verdict"]),
        (&1.into(), &"not stated".into())
    );
}

fn lengths(rows: &[Value]) {
    let shared = row(rows, "parity T=2,3,4", "traps");
    assert_eq!(
        (&shared["verdict"], &shared["ours"]),
        (&"differs".into(), &2.0.into())
    );
    assert_eq!(row(rows, "parity T=5", "traps")["verdict"], "agrees");
    let chains = row(rows, "parity T=1..8", "certified traps, chain");
    assert_eq!(chains["n"], 2);
}

/// Shares are of all runs, and some quench ends in a trap.
fn capture(rows: &[Value]) {
    let of = |what: &str| {
        let own = |row: &&Value| row["quantity"].as_str().unwrap().starts_with(what);
        rows.iter().filter(own).collect::<Vec<_>>()
    };
    let trapped = of("leads to a trap, Metropolis");
    assert_eq!(trapped.len(), 12 * 6);
    assert!(trapped.iter().all(|row| row["n"] == 8));
    assert!(trapped.iter().any(|row| row["ours"].as_f64() > Some(0.0)));
    for (is, leads) in of("in a trap").iter().zip(of("leads to a trap")) {
        assert!(
            is["ours"].as_f64() <= leads["ours"].as_f64(),
            "{is} {leads}"
        );
    }
    let share = row(rows, "parity k=9/10 T=4", "traps, of all codes");
    let share = share["ours"].as_f64().unwrap();
    assert!((share - 8.0 / 16384.0).abs() < 1e-6, "{share}");
}

/// A batch of 512 has a ratio above 1 at length 1 and below 1 at length 2 of the tasks of five symbols, groups of GRPO
/// below four have J as their objective, rollouts in groups of two have a lower ratio than the same without groups, and
/// stalled starts are followed.
fn sampled(rows: &[Value]) {
    for task in ["Z_5", "quasigroup"] {
        let first = row(rows, task, "first T with a ratio below 1, batch 512");
        assert_eq!(first["ours"], 2.0, "{first}");
    }
    for (group, ratio) in [(2, 1.0), (3, 1.0), (4, 0.933)] {
        let slope = row(rows, "any class", &format!("f'(1/2) / f'(0), grpo:{group}"));
        let ours = slope["ours"].as_f64().unwrap();
        assert!((ours - ratio).abs() < 1e-3, "{slope}");
    }
    let runs = row(rows, "quasigroup T=3", "J, sampled minus exact, batch 32");
    assert_eq!(runs["n"], 8);
    let long = row(rows, "quasigroup T=1..8", "J, sampled, curriculum");
    assert_eq!(long["n"], 8);
    let drawn = row(
        rows,
        "any class",
        "points of signal to noise estimated from drawn inputs",
    );
    assert_eq!((&drawn["ours"], &drawn["n"]), (&0.0.into(), &1.into()));
    let ratio = |estimator: &str| {
        let quantity = format!("signal to noise, 512 rollouts, {estimator}, random policies");
        row(rows, "quasigroup T=3", &quantity)["ours"]
            .as_f64()
            .unwrap()
    };
    assert!(ratio("rloo:2") < 0.7 * ratio("batch-mean"));
    // Advantages of grpo:2 are those of rloo:2 times a constant.
    assert!((ratio("grpo:2") / ratio("rloo:2") - 1.0).abs() < 0.01);
    for class in [
        "quasigroup T=3",
        "quasigroup T=8",
        "Z_5 T=8",
        "parity k=9/10 T=6",
    ] {
        let share = |what: &str| {
            row(
                rows,
                class,
                &format!("end {what} a stalled start, sampled, learning rate 500"),
            )
        };
        let (above, below) = (share("above"), share("below"));
        assert_eq!(above["n"], 2);
        assert!(above["ours"].as_f64().unwrap() + below["ours"].as_f64().unwrap() <= 1.0);
    }
    // Noise of this size destroys what a code of length 8 solves.
    let below = row(
        rows,
        "quasigroup T=8",
        "end below a stalled start, sampled, learning rate 500",
    );
    assert_eq!(below["ours"], 1.0, "{below}");
}

/// J stays at every trap, and the ratio of loss to gain of two traps is that of the page.
fn objectives(rows: &[Value]) {
    for (trap, ratio) in [
        ("parity T=2,3,4", 2.0),
        ("parity k=9/10 T=4, ignores 3 4", 9.0),
    ] {
        let least = row(rows, trap, "least loss over gain of a change");
        assert_eq!(least["ours"], ratio, "{least}");
    }
    let own = |row: &&Value| row["quantity"] == "greedy reward of the trap, J from 98 %";
    let stays: Vec<&Value> = rows.iter().filter(own).collect();
    assert_eq!(stays.len(), 4);
    assert!(
        stays.iter().all(|row| row["ours"] == 1.0 && row["n"] == 2),
        "{stays:?}"
    );
}

/// `check` verifies what the items left, and refuses it when a reward is changed.
fn certificates(scratch: &Scratch) {
    let folder = scratch.path().join("here/certificates");
    let mut files: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|file| format!("here/certificates/{}", file.unwrap().file_name().display()))
        .collect();
    files.sort();
    let starts = |with: &str| files.iter().filter(|file| file.contains(with)).count();
    assert!(
        starts("/map-") >= 8 && starts("/capture-") >= 1 && starts("/near-") == 4,
        "{files:?}"
    );
    for file in &files {
        scratch.run(&["check", file]).success();
    }
    let map = "here/certificates/map-parity-T-2-3-4.json";
    let broken = scratch.read(map).replace("\"2/3\"", "\"3/4\"");
    scratch.file("broken.json", &broken);
    assert_eq!(scratch.run(&["check", "broken.json"]).code, Some(1));
}

/// Ten seconds of a processor.
mod full {
    use super::*;

    #[test]
    fn maps_laws_and_ends_hold_and_their_certificates_are_checked() {
        let scratch = Scratch::new();
        let args = ["reproduce", "ext", "--smoke", "--out", "here"];
        let first = scratch.json(&args);
        traps(rows(&first, "ext:traps"));
        lengths(rows(&first, "ext:lengths"));
        capture(rows(&first, "ext:capture"));
        sampled(rows(&first, "ext:sampled"));
        objectives(rows(&first, "ext:objectives"));
        let row = row(
            rows(&first, "ext:process"),
            "parity (0,1) T=3 uniform, process",
            "traps",
        );
        assert_eq!(row["ours"], 3.0);
        let figures = [
            "ext-traps.svg",
            "ext-lengths.svg",
            "ext-capture.svg",
            "ext-sampled.svg",
        ];
        for figure in figures {
            assert!(scratch.read(&format!("here/{figure}")).starts_with("<svg"));
        }
        certificates(&scratch);
        // What is there is not done again, and reads the same.
        let map = scratch.path().join("here/maps/parity-T-2-3-4.json");
        let before = fs::metadata(&map).unwrap().modified().unwrap();
        assert_eq!(scratch.json(&args), first);
        assert_eq!(fs::metadata(&map).unwrap().modified().unwrap(), before);
    }
}
