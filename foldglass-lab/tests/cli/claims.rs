//! Holds `claims` to a verdict for every statement, and to those that its documentation has.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::support::{Scratch, words};

fn verdicts(report: &Value) -> BTreeMap<String, String> {
    let list = report["claims"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    list.map(|row| (text(&row["id"]), text(&row["verdict"])))
        .collect()
}

/// The verdicts of the full run, from the table in the documentation.
fn documented() -> BTreeMap<String, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/claims.md");
    let text = fs::read_to_string(path).unwrap();
    let rows = text.lines().filter(|line| line.starts_with("| `"));
    rows.map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let verdict = match cells[3] {
            "shown in part" => "in-part",
            other => other,
        };
        (cells[1].trim_matches('`').to_owned(), verdict.to_owned())
    })
    .collect()
}

/// Statements whose numbers have no chance in them, or next to none: small computations decide them as
/// large ones do.
const EXACT: [&str; 30] = [
    "abs:bound",
    "abs:benign",
    "setting:single-visit",
    "setting:optimum",
    "setting:update",
    "setting:figure",
    "setting:family",
    "mapping:neutral-path",
    "mapping:bound",
    "exact:several-lengths",
    "exact:theorem",
    "exact:one-unused",
    "exact:corollary-2",
    "exact:corollary-3",
    "exact:saddles",
    "exact:dead",
    "exact:no-resets",
    "exact:one-reset",
    "exact:partition",
    "a:gradient",
    "a:tied-gradient",
    "c:identity",
    "c:condition",
    "d:symmetry",
    "d:order",
    "e:one-move",
    "e:product",
    "e:wide",
    "f:product",
    "f:density",
];

#[test]
fn every_statement_has_a_verdict_and_small_computations_make_it_again() {
    let scratch = Scratch::new();
    let report = scratch.json(&words("claims --quick --from records"));
    let found = verdicts(&report);
    let full = documented();
    assert_eq!(found.len(), full.len(), "docs/claims.md has another list");
    for row in report["claims"].as_array().unwrap() {
        for key in ["statement", "command", "evidence", "section"] {
            assert!(!row[key].as_str().unwrap().is_empty(), "{row}");
        }
    }
    for (id, verdict) in &found {
        let pair = (&verdict[..], &full[id][..]);
        let flips = [("shown", "refuted"), ("refuted", "shown")];
        assert!(!flips.contains(&pair), "{id}: {pair:?}");
    }
    for id in EXACT {
        assert_ne!(found[id], "open", "{id}");
        assert_eq!(found[id], full[id], "{id}");
    }
    // From the records alone the same comes out, and in other forms.
    let again = scratch.json(&words("claims --records-only --from records"));
    assert_eq!(verdicts(&again), found);
    let csv = scratch.run(&words("claims --records-only --from records --format csv"));
    let head = csv.success().lines().next().unwrap();
    assert_eq!(head, "id,statement,section,verdict,evidence,command");
    let text = scratch.run(&words("claims --records-only --from records --only e:wide"));
    let text = text.success();
    assert!(text.contains("e:wide: SHOWN") && text.contains("$ foldglass enumerate"));
    let open = scratch.json(&words(
        "claims --records-only --from records --verdict open",
    ));
    assert!(verdicts(&open).values().all(|verdict| verdict == "open"));
}

#[test]
fn what_was_stopped_goes_on_and_what_is_not_there_is_open() {
    let scratch = Scratch::new();
    let args = words("claims --quick --from records --json");
    let run = scratch.run_and_interrupt(&args, Duration::from_millis(300));
    if run.code == Some(130) {
        assert!(run.errors.contains("goes on"), "{}", run.errors);
    }
    // What a killed one was writing is removed by the next, though nothing is left to be done.
    scratch.json(&args[..4]);
    scratch.file("records/claims/windows.json.77-3.reproduce.tmp", "{\"vers");
    scratch.json(&args[..4]);
    let kept = fs::read_dir(scratch.path().join("records/claims")).unwrap();
    let names: Vec<_> = kept.map(|entry| entry.unwrap().file_name()).collect();
    let unfinished = |name: &OsString| name.to_string_lossy().ends_with(".tmp");
    assert!(
        names.len() > 1 && !names.iter().any(unfinished),
        "{names:?}"
    );
    let report = scratch.json(&words("claims --records-only --from nowhere"));
    assert!(verdicts(&report).values().all(|verdict| verdict == "open"));
    let refused = scratch.run(&words("claims --records-only --verdict maybe"));
    assert_eq!(refused.code, Some(2));
    assert!(refused.errors.contains("in-part"), "{}", refused.errors);
}
