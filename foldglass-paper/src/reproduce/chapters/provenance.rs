//! Says where the numbers of an item come from: command, records, settings, time, version.

use foldglass_study::method::shown;
use foldglass_study::{Dynamics, Fields, Study};
use serde_json::Value;

use super::super::compare::Compared;
use super::super::item::Item;
use super::super::need::Need;
use super::super::records::Records;
use super::super::studies::Scale;
use super::super::times::Time;
use crate::progress::span;
use crate::report::page::{Block, Fact, Sheet};
use crate::report::words::counted;
use crate::report::{Cell, Column, Table};

/// The command that makes an item.
pub fn command(label: &str, scale: Scale, seed: u64) -> String {
    let scale = match scale {
        Scale::Smoke => " --smoke",
        // All of them at once: they share runs.
        Scale::Quick => return with_seed("foldglass reproduce --quick".to_owned(), seed),
        Scale::Short => "",
        Scale::Full => " --full",
    };
    with_seed(format!("foldglass reproduce {label}{scale}"), seed)
}

fn with_seed(command: String, seed: u64) -> String {
    if seed == 0 {
        command
    } else {
        format!("{command} --seed {seed}")
    }
}

/// A time in words: `4 min of processor time, 3 min on 2 threads`.
pub fn said(time: &Time) -> String {
    let threads = counted(time.threads, "thread");
    let wall = format!("{} on {threads}", span(time.seconds));
    match time.processor_seconds {
        Some(seconds) => format!("{} of processor time, {wall}", span(seconds)),
        None => wall,
    }
}

/// What a reader needs to make the item again.
pub fn facts(item: &Item, compared: &Compared, records: &Records) -> Vec<Fact> {
    let manifest = &records.manifest;
    let fact = |name, value| Fact { name, value };
    let command = command(item.label, manifest.scale, manifest.seed);
    let mut facts = vec![fact("command", format!("`{command}`"))];
    for kept in item.fleets() {
        let Some(run) = records.fleets.run(&kept) else {
            continue;
        };
        facts.push(fact("records", committed(kept.name, run)));
        facts.push(fact("time it took", seconds(run)));
        let version = run
            .get("version")
            .and_then(Value::as_str)
            .unwrap_or("of unknown version");
        facts.push(fact("trained by", format!("foldglass {version}")));
    }
    if item.fleets().next().is_none() {
        let made = if compared.missing_runs > 0 {
            format!(
                "made here, {} not yet",
                counted(compared.missing_runs, "run")
            )
        } else {
            "made here, complete".to_owned()
        };
        facts.push(fact("records", made));
        let time = records.times.of_item(item);
        let value = time.map_or("not measured".to_owned(), |time| said(&time));
        facts.push(fact("time it took", value));
    }
    facts.push(fact("independent runs", seeds(compared)));
    facts
}

/// How many runs the numbers rest on.
fn seeds(compared: &Compared) -> String {
    let counts = compared.rows.iter().map(|row| row.n).filter(|&n| n > 0);
    match (counts.clone().min(), counts.max()) {
        (Some(least), Some(most)) if least < most => format!("{least} to {most} a number"),
        (Some(all), _) => format!("{all} a number"),
        (None, _) => "none yet".to_owned(),
    }
}

fn committed(name: &str, run: &Fields) -> String {
    let word = |key: &str| run.get(key).and_then(Value::as_str).unwrap_or("unknown");
    format!(
        "committed: `results/{name}.jsonl`, made on one {} on {}, driver {}, CUDA {}; nothing was trained here",
        word("gpu"),
        word("date"),
        word("driver"),
        word("cuda")
    )
}

/// What training took, as its records say.
fn seconds(run: &Fields) -> String {
    let known = ["seconds", "train_seconds"]
        .into_iter()
        .find_map(|key| run.get(key)?.as_f64());
    known.map_or("not recorded".to_owned(), |seconds| {
        format!("{} on the GPU", span(seconds))
    })
}

/// The settings of all runs.
pub fn settings(item: &Item, records: &Records) -> Vec<Block> {
    let mut blocks = Vec::new();
    let manifest = &records.manifest;
    let studies = item
        .studies()
        .map(|source| source.study(manifest.scale, manifest.seed));
    let studies: Vec<Study> = studies.collect();
    if !studies.is_empty() {
        let table = of_studies(&studies);
        blocks.push(Block::Sheet(Sheet::new(
            format!("{}-settings", super::id_of(item.label)),
            table,
        )));
    }
    let censuses: Vec<_> = item.needs.iter().filter_map(Need::census).collect();
    if !censuses.is_empty() {
        let lengths: Vec<String> = (censuses.iter())
            .map(|recipe| {
                format!(
                    "T = {} (k = {}, tolerance {})",
                    recipe.length, recipe.repeat, recipe.tolerance
                )
            })
            .collect();
        blocks.push(Block::Prose(format!(
            "Censuses of parity, window (0,0): {}.",
            lengths.join("; ")
        )));
    }
    for kept in item.fleets() {
        if let Some(run) = records.fleets.run(&kept) {
            let settings = run.get("settings").cloned().unwrap_or_default();
            let text = serde_json::to_string_pretty(&settings).expect("plain data");
            blocks.push(Block::Prose(format!("```json\n{text}\n```")));
        }
    }
    blocks
}

fn of_studies(studies: &[Study]) -> Table {
    let columns = [
        Column::words("study"),
        Column::words("classes"),
        Column::words("method"),
        Column::numbers("runs a point").key("runs"),
        Column::words("parameters"),
        Column::words("settings"),
    ];
    let mut table = Table::new(columns);
    for study in studies {
        for dynamics in &study.dynamics {
            let classes = study
                .classes_of(dynamics)
                .map(|n| study.classes[n].id.clone());
            let classes: Vec<String> = classes.collect();
            table.push([
                study.name.clone().into(),
                classes.join(", ").into(),
                dynamics.kind.clone().into(),
                dynamics.runs.into(),
                axes(dynamics).into(),
                named(&dynamics.settings).into(),
            ] as [Cell; 6]);
        }
    }
    table
}

/// `tau from 1e-15 to 1e-2, 14 values`.
fn axes(dynamics: &Dynamics) -> String {
    let axes = dynamics.axes.iter().map(|axis| match &axis.values[..] {
        [one] => format!("{} = {}", axis.name, shown(one)),
        [first, .., last] => {
            let count = axis.values.len();
            format!(
                "{} from {} to {}, {count} values",
                axis.name,
                shown(first),
                shown(last)
            )
        }
        [] => axis.name.clone(),
    });
    axes.collect::<Vec<_>>().join("; ")
}

fn named(fields: &Fields) -> String {
    let one = |(name, value): (&String, &Value)| format!("{name} = {}", shown(value));
    fields.iter().map(one).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_says_what_is_no_default() {
        assert_eq!(
            command("tab:x", Scale::Short, 0),
            "foldglass reproduce tab:x"
        );
        assert_eq!(
            command("tab:x", Scale::Full, 3),
            "foldglass reproduce tab:x --full --seed 3"
        );
    }

    #[test]
    fn a_time_names_processors_and_threads() {
        let time = Time {
            seconds: 100.0,
            processor_seconds: Some(240.0),
            threads: 2,
        };
        assert_eq!(said(&time), "4 min of processor time, 2 min on 2 threads");
        let alone = Time {
            threads: 1,
            processor_seconds: None,
            ..time
        };
        assert_eq!(said(&alone), "2 min on 1 thread");
    }
}
