//! Holds `claims` to a verdict for every statement, and to those that its documentation has.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::support::{Scratch, words};

pub fn verdicts(report: &Value) -> BTreeMap<String, String> {
    let list = report["claims"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    list.map(|row| (text(&row["id"]), text(&row["verdict"])))
        .collect()
}

/// A file of the repository.
fn committed(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    fs::read_to_string(root.join(path)).unwrap()
}

/// The full run: what `claims` found at the default scale with seed 0.
fn full() -> Value {
    serde_json::from_str(&committed("results/claims.json")).unwrap()
}

/// Statements whose numbers have no chance in them, or next to none: small computations decide them as
/// large ones do.
const EXACT: &[&str] = &[
    "abs:bound",
    "abs:benign",
    "setting:single-visit",
    "setting:optimum",
    "setting:update",
    "setting:figure",
    "setting:family",
    "mapping:neutral-path",
    "mapping:bound",
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
    "d:overlap",
    "d:links",
    "e:one-move",
    "e:forced-bijection",
    "e:collision",
    "e:finish",
    "e:defended",
    "e:product",
    "e:wide",
    "e:averages",
    "e:bijectivity",
    "f:product",
    "f:density",
    "f:beta-c",
    "f:dominance",
    "f:artefact",
];

/// Holds verdicts of fewer runs to those of the full table: what is decided at all is decided alike.
pub fn assert_no_contradiction(found: &BTreeMap<String, String>) {
    let full = verdicts(&full());
    for (id, verdict) in found {
        assert!(
            verdict == "undecided" || *verdict == full[id],
            "{id}: {verdict}, but {} in the full table",
            full[id]
        );
    }
}

#[test]
fn every_statement_has_a_verdict_and_small_computations_make_it_again() {
    let scratch = Scratch::new();
    let report = scratch.json(&words("claims --smoke"));
    let found = verdicts(&report);
    let full = full();
    let keys = ["id", "section", "statement", "command", "same_as"];
    let said = |report: &Value| {
        let list = report["claims"].as_array().unwrap().iter();
        list.map(|row| keys.map(|key| row[key].clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        said(&report),
        said(&full),
        "results/claims.json is of another version"
    );
    for row in report["claims"].as_array().unwrap() {
        for key in ["id", "section", "statement", "command", "evidence"] {
            assert!(!row[key].as_str().unwrap().is_empty(), "{row}");
        }
        let kind = row["evidence_kind"].as_str().unwrap();
        assert!(
            ["proved", "exhaustive", "sampled", "records"].contains(&kind),
            "{row}"
        );
        assert!(row["n"].is_u64(), "{row}");
        assert_eq!(
            row["verdict"] == "contradicted",
            !row["matters"].is_null(),
            "{row}"
        );
    }
    assert_no_contradiction(&found);
    let verdicts_in_full = verdicts(&full);
    for &id in EXACT {
        assert_eq!(found[id], verdicts_in_full[id], "{id}");
    }
    // A statement has the kind that would decide it, whatever its verdict.
    let basis = |row: &Value| (row["id"].clone(), row["evidence_kind"].clone());
    let rows = report["claims"].as_array().unwrap().iter();
    for (row, in_full) in rows.zip(full["claims"].as_array().unwrap()) {
        assert_eq!(basis(row), basis(in_full));
        if row["id"] == "e:wide-memory" {
            assert_eq!(row["evidence_kind"], "exhaustive");
            assert!(row["n"].as_u64() > Some(0), "{row}");
        }
    }
    // The times that a statement quotes are those that were measured.
    let rows = report["claims"].as_array().unwrap();
    let linear = rows.iter().find(|row| row["id"] == "a:linear").unwrap();
    let evidence = linear["evidence"].as_str().unwrap();
    let (_, growth) = evidence.split_once("by a factor of ").unwrap();
    let growth = growth.strip_suffix(" (BENCHMARKS.md)").unwrap();
    let measured = committed("BENCHMARKS.md");
    let measured = measured.lines().find(|line| line.contains("T = 14 to 700"));
    assert!(measured.unwrap().contains(growth), "{growth}");
    // From the records alone the same comes out, and in other forms.
    let place = "claims --records-only --from reproduction-smoke";
    let again = scratch.json(&words(place));
    assert_eq!(verdicts(&again), found);
    let csv = scratch.run(&words(&format!("{place} --format csv")));
    let head = csv.success().lines().next().unwrap();
    assert_eq!(
        head,
        "id,statement,section,verdict,evidence_kind,n,matters,same_as,evidence,command"
    );
    let text = scratch.run(&words(&format!("{place} --only e:wide")));
    let text = text.success();
    assert!(text.contains("e:wide: HOLDS") && text.contains("$ foldglass enumerate"));
    let flags = "--smoke --out reproduction-smoke`";
    let said = format!(
        "undecided because records are missing: run `foldglass reproduce {flags}, then `foldglass reproduce \
         ext:sampled {flags}, then `foldglass claims --from reproduction-smoke`"
    );
    assert!(text.contains(&said), "{text}");
    for word in ["open", "undecided"] {
        let some = scratch.json(&words(&format!("{place} --verdict {word}")));
        assert!(!verdicts(&some).is_empty());
        assert!(
            verdicts(&some)
                .values()
                .all(|verdict| verdict == "undecided")
        );
    }
}

/// What a killed one was writing is removed by the next, though nothing is left to be done.
#[test]
fn unfinished_files_of_a_killed_one_are_removed() {
    let scratch = Scratch::new();
    let args = words("claims --smoke --only a:");
    scratch.json(&args);
    scratch.file(
        "reproduction-smoke/claims/windows.json.77-3.reproduce.tmp",
        "{\"vers",
    );
    scratch.json(&args);
    let kept = fs::read_dir(scratch.path().join("reproduction-smoke/claims")).unwrap();
    let names: Vec<_> = kept.map(|entry| entry.unwrap().file_name()).collect();
    let unfinished = |name: &OsString| name.to_string_lossy().ends_with(".tmp");
    assert!(
        names.len() > 1 && !names.iter().any(unfinished),
        "{names:?}"
    );
}

#[test]
fn a_directory_that_is_not_there_is_refused_and_not_made() {
    let scratch = Scratch::new();
    for args in [
        "claims --from nowhere",
        "claims --records-only --from nowhere",
        "claims --records-only",
    ] {
        let run = scratch.run(&words(args));
        assert_eq!(run.code, Some(2), "{args}: {}", run.errors);
        assert!(
            run.errors.contains("foldglass reproduce --out"),
            "{args}: {}",
            run.errors
        );
    }
    assert!(scratch.files().is_empty());
    let refused = scratch.run(&words("claims --records-only --verdict maybe"));
    assert_eq!(refused.code, Some(2));
    assert!(refused.errors.contains("in-part"), "{}", refused.errors);
}

#[test]
fn what_was_stopped_goes_on() {
    let scratch = Scratch::new();
    let args = words("claims --smoke --json");
    let run = scratch.run_and_interrupt(&args, Duration::from_millis(300));
    if run.code == Some(130) {
        assert!(run.errors.contains("resumes"), "{}", run.errors);
    }
}

/// A cell of a Markdown table as it was written.
fn unescaped(cell: &str) -> String {
    let mut text = String::new();
    let mut characters = cell.chars();
    while let Some(character) = characters.next() {
        text.push(match character {
            '\\' => characters.next().unwrap_or('\\'),
            other => other,
        });
    }
    text
}

/// The table of the documentation is that of the committed full run, in the words of this version.
#[test]
fn the_documented_table_is_the_committed_one() {
    let docs = committed("docs/claims.md");
    let rows: Vec<Vec<String>> = docs
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| ---"))
        .filter(|line| !line.starts_with("| id "))
        .map(|line| {
            let cells = line.trim_matches('|').split(" | ");
            cells.map(|cell| unescaped(cell.trim())).collect()
        })
        .filter(|cells: &Vec<String>| cells.len() == 10)
        .collect();
    let full = full();
    let claims = full["claims"].as_array().unwrap();
    assert_eq!(
        rows.len(),
        claims.len(),
        "`cargo xtask claims` writes docs/claims.md"
    );
    for (cells, claim) in rows.iter().zip(claims) {
        let keys = [
            "id",
            "statement",
            "section",
            "verdict",
            "evidence_kind",
            "n",
            "matters",
            "same_as",
            "evidence",
            "command",
        ];
        for (cell, key) in cells.iter().zip(keys) {
            let expected = match &claim[key] {
                Value::String(word) if word == "in-part" => "holds in part".to_owned(),
                Value::String(word) => word.clone(),
                Value::Null => "-".to_owned(),
                number => number.to_string(),
            };
            assert_eq!(*cell, expected, "{}: {key}", cells[0]);
        }
    }
    let distinct: Vec<&Value> = claims
        .iter()
        .filter(|claim| claim["same_as"].is_null())
        .collect();
    assert!(distinct.len() < claims.len());
    let count = |verdict: &str| {
        let own = distinct.iter().filter(|claim| claim["verdict"] == verdict);
        own.count()
    };
    let tally = format!(
        "{} hold, {} hold in part, {} are contradicted, {} are undecided",
        count("holds"),
        count("in-part"),
        count("contradicted"),
        count("undecided")
    );
    assert!(docs.contains(&tally), "{tally}");
    let results = distinct.iter();
    let results = results.filter(|claim| claim["matters"] == "result");
    let said = [
        (
            "docs/claims.md",
            format!("makes {} separate statements", claims.len()),
        ),
        (
            "README.md",
            format!(
                "| **{} distinct statements of the paper, decided one by one.** | {} hold, {} hold in part, {} are contradicted ({} of \
                 them results, the rest protocol or wording), {} are undecided. |",
                distinct.len(),
                count("holds"),
                count("in-part"),
                count("contradicted"),
                results.count(),
                count("undecided")
            ),
        ),
        (
            "docs/results.md",
            format!(
                "{} of {} hold, {} hold in part.",
                count("holds"),
                distinct.len(),
                count("in-part")
            ),
        ),
    ];
    for (file, sentence) in said {
        assert!(committed(file).contains(&sentence), "{file}: {sentence}");
    }
}
