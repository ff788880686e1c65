//! `foldglass enumerate` and the collection of its shards.

use std::fs;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Scratch, report, seal};

/// Correlated parity of a length.
fn parity<'a>(length: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let class = ["enumerate", "--task", "parity", "--inputs", "markov:9/10"];
    [&class[..], &["--lengths", length], more].concat()
}

/// SPEC, sections 1 and 4; the paper's tab:trapsexist.
#[test]
fn correlated_parity_of_length_8_has_the_known_landscape() {
    let scratch = Scratch::new();
    let found = scratch.json(&parity("8", &[]));
    assert_eq!(found["cells"], 30);
    for (key, value) in [
        ("codes", "1073741824"),
        ("optimal", "128"),
        ("local_maxima", "35294848"),
        ("traps", "2432"),
    ] {
        assert_eq!(found[key], value, "{key}");
    }
    assert_eq!(
        found["trap_rewards"],
        json!([
            {"reward": "9/10", "count": "640"},
            {"reward": "41/50", "count": "1152"},
            {"reward": "189/250", "count": "640"},
        ])
    );
    // The paper's barriers are those of single changes.
    assert_eq!(
        found["largest_losses"],
        json!([
            {"loss": "1/25", "count": "640"},
            {"loss": "4/125", "count": "1152"},
            {"loss": "16/625", "count": "640"},
        ])
    );
    let barriers: Vec<&str> = list(&found["barriers"], "barrier");
    for barrier in ["1/25", "4/125", "16/625", "9/125", "36/625", "61/625"] {
        assert!(barriers.contains(&barrier), "{barriers:?}");
    }
    // The paper's number of local maxima comes with a tolerance.
    let loose = scratch.json(&parity("8", &["--tolerance", "1e-6"]));
    assert_eq!(loose["local_maxima"], "35307392");
    assert_eq!(loose["traps"], Value::Null);
    let text = scratch.run(&parity("8", &[]));
    for said in ["35,294,848", "189/250 = 0.756", "2,432 (19 shelves"] {
        assert!(text.success().contains(said), "{}", text.text);
    }
}

#[test]
fn every_trap_is_certified_and_its_verdict_checked() {
    let scratch = Scratch::new();
    let found = scratch.json(&parity("6", &["--traps", "traps.json"]));
    assert_eq!(found["shelves"], 5);
    let class = [
        "--task",
        "parity",
        "--inputs",
        "markov:9/10",
        "--lengths",
        "6",
    ];
    let certify = ["certify", "--code", "traps.json", "--out", "verdicts.json"];
    let verdicts = scratch.json(&[&certify[..], &class].concat());
    let verdicts = verdicts["verdicts"].as_array().unwrap();
    assert_eq!(verdicts.len(), 5);
    for verdict in verdicts {
        assert_eq!(verdict["verdict"], "certified");
    }
    scratch.run(&["check", "verdicts.json"]).success();
    let text = scratch.read("verdicts.json");
    let other = text.replacen("\"9/10\",\"verdict\"", "\"41/50\",\"verdict\"", 1);
    assert_ne!(text, other);
    scratch.file("other.json", &other);
    assert_eq!(scratch.run(&["check", "other.json"]).code, Some(1));
}

fn list<'a>(kinds: &'a Value, key: &str) -> Vec<&'a str> {
    let kinds = kinds.as_array().unwrap().iter();
    kinds.map(|kind| kind[key].as_str().unwrap()).collect()
}

#[test]
fn shards_together_are_the_whole_on_any_number_of_threads() {
    let scratch = Scratch::new();
    let whole = scratch.report(&parity("7", &["--threads", "1"]));
    for shard in ["1/3", "2/3", "3/3"] {
        if shard == "3/3" {
            let early = scratch.run(&["collect", "parts", "other"]);
            assert_eq!(early.code, Some(1), "{}", early.errors);
            assert!(
                early.errors.contains("parts are counted: the same"),
                "{}",
                early.errors
            );
        }
        let out = if shard == "2/3" { "other" } else { "parts" };
        let args = ["--out", out, "--shard", shard, "--threads", "2"];
        scratch.run(&parity("7", &args)).success();
    }
    let together = scratch.json(&["collect", "parts", "other"]);
    assert_eq!(together["class"]["inputs"], json!({"markov": "9/10"}));
    assert_eq!(report(together), whole);
    // A share of it has no table of its own.
    let share = parity(
        "7",
        &["--out", "third", "--shard", "1/3", "--table", "t.csv"],
    );
    let refused = scratch.run(&share);
    assert_eq!(refused.code, Some(2), "{}", refused.errors);
    assert!(
        refused.errors.contains("collect DIR --table FILE"),
        "{}",
        refused.errors
    );
    // The table of the traps is that of the whole census.
    let table = |args: &[&str], out: &str| {
        scratch.run(&[args, &["--table", out]].concat()).success();
        std::fs::read(scratch.path().join(out)).unwrap()
    };
    for form in ["csv", "parquet"] {
        let [own, merged] = ["own", "merged"].map(|name| format!("{name}.{form}"));
        let own = table(&parity("7", &[]), &own);
        assert_eq!(
            own,
            table(&["collect", "parts", "other"], &merged),
            "{form}"
        );
    }
    for (flags, said) in [
        (["--table", "t.jsonl"], "--table t.jsonl: "),
        (["--partial", "--quiet"], "--partial: an enumeration"),
    ] {
        let refused = scratch.run(&[&["collect", "parts", "other"], &flags[..]].concat());
        assert_eq!(refused.code, Some(2));
        assert!(refused.errors.contains(said), "{}", refused.errors);
    }
    // All parts of a directory count, whoever recorded them.
    assert_eq!(scratch.report(&parity("7", &["--out", "whole"])), whole);
    assert_eq!(scratch.report(&["collect", "whole"]), whole);
}

#[test]
fn an_enumeration_killed_at_any_moment_goes_on() {
    let scratch = Scratch::new();
    let args = parity("11", &["--out", "parts", "--json"]);
    let path = scratch.path().join("parts/parts.jsonl");
    let size = || fs::metadata(&path).map_or(0, |data| data.len());
    for kill in 0..4 {
        let before = size();
        let mut command = scratch.command(&args);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        // It has recorded something.
        while size() < before + 1000 && child.try_wait().unwrap().is_none() {
            sleep(Duration::from_millis(1));
        }
        sleep(Duration::from_millis(37 * kill));
        let ended = child.try_wait().unwrap().is_some();
        assert!(kill > 0 || !ended, "it was too fast to be killed");
        child.kill().unwrap();
        child.wait().unwrap();
        // What a crash leaves of a line is dropped.
        let mut content = fs::read(&path).unwrap();
        content.extend(b"{\"part\":1,\"opt");
        fs::write(&path, content).unwrap();
    }
    let found = scratch.json(&parity("11", &["--out", "parts"]));
    assert_eq!(found["local_maxima"], "236206695424");
    assert_eq!(found["traps"], "128000");
}

#[test]
fn the_memory_allowed_shows_in_the_parts_and_in_nothing_else() {
    let scratch = Scratch::new();
    let whole = scratch.report(&parity("9", &[]));
    let out = ["--out", "parts", "--shard", "1/2"];
    // The least that the command says a thread needs: few steps are merged.
    let too_little = ["--max-memory", "1MiB", "--max-codes", "1000"];
    let refused = scratch.run(&parity("9", &[&too_little[..], &out].concat()));
    let (_, needs) = refused.errors.split_once("needs ").expect("a refusal");
    let (mebibytes, _) = needs.split_once(" MiB").expect("a size");
    let least = format!("{}MiB", mebibytes.parse::<f64>().unwrap().ceil());
    let little = ["--max-memory", &least, "--max-codes", "1000"];
    scratch
        .run(&parity("9", &[&little[..], &out].concat()))
        .success();
    // With more memory, what was begun goes on as it was begun.
    let found = scratch.report(&parity("9", &["--out", "parts"]));
    assert_eq!(found, whole);
    scratch.run(&parity("9", &["--out", "merged"])).success();
    let less = scratch.run(&parity("9", &[&little[..], &["--out", "merged"]].concat()));
    assert_eq!(less.code, Some(2));
    assert!(
        less.errors.contains("allow as much as then"),
        "{}",
        less.errors
    );
}

#[test]
fn records_that_do_not_fit_are_refused_or_counted_again() {
    let scratch = Scratch::new();
    let whole = scratch.json(&parity("6", &["--out", "parts"]));
    let other = scratch.run(&parity("5", &["--out", "parts"]));
    assert_eq!(other.code, Some(2));
    assert!(other.errors.contains("another class"), "{}", other.errors);
    // A damaged line, and one that says something else.
    let lines = scratch.read("parts/parts.jsonl");
    let damaged: String = lines.replacen("{\"part\":3,", "{\"part\":3?", 1);
    scratch.file("parts/parts.jsonl", &damaged);
    let again = scratch.run(&parity("6", &["--out", "parts", "--json"]));
    assert!(again.errors.contains("1 damaged line "), "{}", again.errors);
    assert_eq!(serde_json::from_str::<Value>(&again.text).unwrap(), whole);
    let line = lines
        .lines()
        .find(|line| line.contains("\"part\":3,"))
        .unwrap();
    let false_line = line.replace("\"optimal\":\"", "\"optimal\":\"1");
    assert_ne!(line, false_line);
    scratch.file("parts/parts-9.jsonl", &format!("{}\n", seal(&false_line)));
    let refused = scratch.run(&["collect", "parts"]);
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.errors.contains("part 3 differ"),
        "{}",
        refused.errors
    );
}

#[test]
fn what_cannot_be_enumerated_is_refused_at_once() {
    let scratch = Scratch::new();
    for (args, said) in [
        (vec!["--task", "parity", "--lengths", "4", "--tied"], "tied"),
        (
            vec!["--task", "quasigroup", "--lengths", "8"],
            "180 cells of 5 actions",
        ),
        (
            vec!["--task", "parity", "--lengths", "4", "--shard", "1/2"],
            "--out",
        ),
        (
            vec!["--task", "parity", "--lengths", "4", "--tolerance", "-1"],
            "at least 0",
        ),
    ] {
        let run = scratch.run(&[&["enumerate"], &args[..]].concat());
        assert_eq!(run.code, Some(2), "{args:?}");
        assert!(run.errors.contains(said), "{}", run.errors);
    }
    let forecast = scratch.json(&parity("12", &["--dry-run", "--threads", "2"]));
    assert_eq!(forecast["codes"], "70368744177664");
}

#[test]
fn ctrl_c_says_how_to_go_on() {
    let scratch = Scratch::new();
    let wait = Duration::from_millis(1500);
    let run = scratch.run_and_interrupt(&parity("12", &["--out", "parts"]), wait);
    assert_eq!(run.code, Some(130));
    assert!(
        run.errors.contains("the same command resumes"),
        "{}",
        run.errors
    );
}
