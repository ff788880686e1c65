//! Hands damaged files to every command that reads them: no panic, no signal, no other result.
//!
//! Where a damaged file is still taken, the result must be the right one of what it now says. The
//! same JSON written anew must give the same; a claim that holds must be what a new search finds;
//! what the program keeps itself must give the undisturbed result, or be left out with a word.

use super::corpus::{CENSUS, Corpus};
use super::mutate::mutate;
use super::process::{Call, End};
use super::stream::Stream;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Longer work gets Ctrl-C, which it must hear.
const PATIENCE: Duration = Duration::from_secs(10);

/// A file that a user writes or hands on, and the commands that read it as `F`.
struct Handed {
    file: &'static str,
    commands: &'static [&'static str],
}

const fn handed_on(file: &'static str, commands: &'static [&'static str]) -> Handed {
    Handed { file, commands }
}

const HANDED: [Handed; 11] = [
    handed_on(
        "code.json",
        &[
            "eval --code F",
            "gauge --code F",
            "certify --code F --cap 50",
            "escape --code F",
            "draw --code F --svg code.svg",
        ],
    ),
    handed_on("bare.json", &["eval --code F --task z:3 --lengths 4"]),
    handed_on(
        "codes.json",
        &["certify --code F --cap 20", "eval --code F#3"],
    ),
    handed_on("policy.json", &["eval --policy F", "escape --policy F"]),
    handed_on("certified.json", &["check F", "check --all F"]),
    handed_on("bounded.json", &["check F", "check --sample 2 F"]),
    handed_on("escapes.json", &["check F"]),
    handed_on("path.json", &["check F"]),
    handed_on(
        "square.json",
        &["task --task F", "cells --task F --lengths 2"],
    ),
    handed_on(
        "inputs.json",
        &["eval --code bare.json --task z:3 --lengths 4 --inputs product:F"],
    ),
    handed_on("relabel.json", &["gauge --code code.json --relabel F"]),
];

/// Files that the program keeps, by folder.
const KEPT: [(&str, &str); 6] = [
    ("study", "records.jsonl"),
    ("study", "study.json"),
    ("census", "parts.jsonl"),
    ("census", "census.json"),
    ("begun", "records.jsonl"),
    ("begun", "checkpoints"),
];

/// Damages one file; gives 1.
pub fn attack(
    corpus: &Corpus,
    folder: &Path,
    number: u64,
    stream: &mut Stream,
) -> Result<u64, String> {
    let number = number as usize % (HANDED.len() + KEPT.len() + 2);
    match number.checked_sub(2) {
        None => study(corpus, folder, stream)?,
        Some(number) => match HANDED.get(number) {
            Some(Handed { file, commands }) => {
                handed(corpus, folder, file, stream.pick::<&str>(commands), stream)?;
            }
            None => {
                let (directory, file) = KEPT[number - HANDED.len()];
                kept(corpus, folder, directory, file, stream)?;
            }
        },
    }
    Ok(1)
}

fn no_fault(call: &Call, end: &End) -> Result<(), String> {
    match end.fault() {
        Some(fault) => Err(format!("{fault}\n  {call}")),
        None => Ok(()),
    }
}

/// A study that is still one is tried out; a short one is run.
fn study(corpus: &Corpus, folder: &Path, stream: &mut Stream) -> Result<(), String> {
    let damaged = mutate(&corpus.read("study.toml"), stream);
    fs::write(folder.join("study.toml"), damaged).map_err(|error| error.to_string())?;
    let call = |args: &str| Call::new(&corpus.program, folder, args);
    let dry = call("run study.toml --dry-run --json --max-memory 1GiB");
    let end = dry.run(PATIENCE);
    no_fault(&dry, &end)?;
    if end.code() != Some(0) {
        return Ok(());
    }
    let forecast: Value = serde_json::from_slice(&end.stdout)
        .map_err(|error| format!("no JSON on stdout: {error}\n  {dry}"))?;
    let seconds = forecast["seconds"].as_f64();
    if seconds.is_none_or(|seconds| seconds > 1.0) || forecast["runs"].as_u64() > Some(200) {
        return Ok(());
    }
    let run = call("run study.toml --out out --max-memory 1GiB");
    let end = run.run(PATIENCE);
    no_fault(&run, &end)?;
    if end.code() == Some(0) {
        call("collect out").succeed(PATIENCE)?;
        call("summary out").succeed(PATIENCE)?;
    }
    Ok(())
}

fn handed(
    corpus: &Corpus,
    folder: &Path,
    file: &str,
    command: &str,
    stream: &mut Stream,
) -> Result<(), String> {
    corpus.copy(&["code.json", "bare.json"], folder)?;
    let whole = corpus.read(file);
    let damaged = mutate(&whole, stream);
    let path = folder.join(file);
    let write = |content: &[u8]| fs::write(&path, content).map_err(|error| error.to_string());
    write(&damaged)?;
    let named = command.replace('F', file);
    let mut call = Call::new(&corpus.program, folder, &named).arg("--json");
    if !command.starts_with("task") {
        call = call.args("--max-memory 1GiB");
    }
    let end = call.run(PATIENCE);
    no_fault(&call, &end)?;
    if end.code() != Some(0) {
        return Ok(());
    }
    // JSON that the same command takes in another spelling gives the same.
    let Ok(value) = serde_json::from_slice::<Value>(&damaged) else {
        return Ok(());
    };
    write(value.to_string().as_bytes())?;
    let again = call.run(PATIENCE);
    if (again.code(), again.found()) != (Some(0), end.found()) {
        return Err(format!(
            "the same JSON written anew gives another result\n  {call}"
        ));
    }
    let same = serde_json::from_slice(&whole).is_ok_and(|whole: Value| whole == value);
    if command.starts_with("check") && !same {
        claim_is_true(corpus, folder, file, &value)?;
    }
    write(&damaged)
}

/// Whether a changed claim that `check` takes is what a search finds.
fn claim_is_true(corpus: &Corpus, folder: &Path, file: &str, claim: &Value) -> Result<(), String> {
    let args = format!("certify --code {file} --json --max-memory 1GiB");
    let call = Call::new(&corpus.program, folder, &args);
    let found: Value = serde_json::from_slice(&call.succeed(PATIENCE)?.stdout)
        .map_err(|error| format!("no JSON on stdout: {error}\n  {call}"))?;
    let found = found["verdicts"].as_array().cloned().unwrap_or_default();
    let fault = |what: &str| Err(format!("`check` takes {file}, and {what}\n  {call}"));
    let Some(claimed) = claim["verdicts"].as_array() else {
        // A path: J at its start.
        let start = found.first().map(|verdict| &verdict["reward_exact"]);
        if start != Some(&claim["start_exact"]) {
            return fault("its start has another reward");
        }
        return Ok(());
    };
    if claimed.len() != found.len() {
        return fault("it holds another number of verdicts");
    }
    for (claimed, found) in claimed.iter().zip(&found) {
        // A bounded shelf says only that a smaller search found nothing.
        let bounded = claimed["verdict"] == "bounded";
        if claimed["reward_exact"] != found["reward_exact"] {
            return fault("a code has another reward");
        }
        if !bounded && claimed["verdict"] != found["verdict"] {
            return fault("a search comes to another verdict");
        }
    }
    Ok(())
}

/// Damages what the program keeps: it is refused, or left out with a word, or seen not to matter;
/// and a run that goes on from there comes to the undisturbed result.
fn kept(
    corpus: &Corpus,
    folder: &Path,
    directory: &str,
    file: &str,
    stream: &mut Stream,
) -> Result<(), String> {
    corpus.copy(&["study.toml", directory], folder)?;
    let mut path = folder.join(directory).join(file);
    if path.is_dir() {
        let files = fs::read_dir(&path).map_err(|error| error.to_string())?;
        let mut files: Vec<_> = files.flatten().map(|entry| entry.path()).collect();
        files.sort();
        path = stream.pick(&files).clone();
    }
    let whole = fs::read(&path).map_err(|error| error.to_string())?;
    fs::write(&path, mutate(&whole, stream)).map_err(|error| error.to_string())?;
    if directory == "begun" {
        go_on(corpus, folder, directory)
    } else {
        collected(corpus, folder, directory)
    }
}

/// A study goes on to the undisturbed tables, or says why it does not.
pub fn go_on(corpus: &Corpus, folder: &Path, directory: &str) -> Result<(), String> {
    let run = Call::new(
        &corpus.program,
        folder,
        &format!("run study.toml --out {directory}"),
    );
    let end = run.run(Duration::from_secs(60));
    no_fault(&run, &end)?;
    if end.code() != Some(0) {
        return Ok(());
    }
    let collect = Call::new(&corpus.program, folder, &format!("collect {directory}"));
    collect.succeed(PATIENCE)?;
    let same = corpus.same_tables(&folder.join(directory));
    same.map_err(|fault| format!("{fault}\n  {run}"))
}

/// What is collected is the undisturbed result, or lines are said to be left out.
pub fn collected(corpus: &Corpus, folder: &Path, directory: &str) -> Result<(), String> {
    let call = |args: &str| Call::new(&corpus.program, folder, args);
    let said = |end: &End| end.stderr.contains("left out") || end.stderr.contains("not done yet");
    let collect = call(&format!("collect {directory} --json"));
    let end = collect.run(PATIENCE);
    no_fault(&collect, &end)?;
    if directory == "census" {
        if end.code() == Some(0) && end.found() != corpus.census {
            return Err(format!("the counts differ\n  {collect}"));
        }
        let census = call("enumerate").args(CENSUS);
        let again = census.args("--out census --traps traps.json");
        let end = again.run(Duration::from_secs(60));
        no_fault(&again, &end)?;
        if end.code() == Some(0) {
            let recollected = collect.succeed(PATIENCE)?;
            let traps = fs::read(folder.join("traps.json")).ok();
            if recollected.found() != corpus.census || traps != Some(corpus.read("traps.json")) {
                return Err(format!("the counts differ when it went on\n  {again}"));
            }
        }
        return Ok(());
    }
    if end.code() == Some(0) {
        corpus
            .same_tables(&folder.join(directory))
            .map_err(|fault| format!("{fault}\n  {collect}"))?;
    }
    let summary = call(&format!("summary {directory} --json"));
    let end = summary.run(PATIENCE);
    no_fault(&summary, &end)?;
    if end.code() == Some(0) && end.found() != corpus.summary && !said(&end) {
        return Err(format!(
            "the summary differs, and nothing is said\n  {summary}"
        ));
    }
    let partial = call(&format!(
        "collect {directory} --partial --json --out partial.jsonl"
    ));
    let end = partial.run(PATIENCE);
    no_fault(&partial, &end)?;
    let table = fs::read(folder.join("partial.jsonl")).ok();
    let same = table == Some(corpus.read("study/table.jsonl"));
    let counted: Value = serde_json::from_slice(&end.stdout).unwrap_or_default();
    let short = counted["missing"]
        .as_str()
        .is_some_and(|missing| missing != "0");
    if end.code() == Some(0) && !same && !said(&end) && !short {
        return Err(format!(
            "the table differs, and nothing is said\n  {partial}"
        ));
    }
    Ok(())
}
