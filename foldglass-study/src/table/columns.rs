//! Makes typed columns of records: what a row has no value for is null.
//!
//! A setting that is a table gives a column a key (`quench_tau`); J after sweeps gives `reward_at_N`. A trace of
//! numerators becomes one of J, as `reward` is beside `reward_exact`. A setting that has the name of a result
//! has another column, `setting_NAME`.
//! Whole numbers are signed, so that differences of columns do not wrap; seeds, which may be too large
//! for that, are unsigned.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::method::Fields;
use crate::record::Record;

/// A column of the table.
pub struct RecordColumn {
    /// Its name.
    pub name: String,
    /// Its entries.
    pub values: Values,
}

/// The entries of a column.
pub enum Values {
    /// Texts.
    Text(Vec<Option<String>>),
    /// Whole numbers.
    Whole(Vec<Option<i64>>),
    /// Seeds.
    Seed(Vec<Option<u64>>),
    /// Real numbers.
    Number(Vec<Option<f64>>),
    /// Yes or no.
    Flag(Vec<Option<bool>>),
    /// Lists of whole numbers.
    Wholes(Vec<Option<Items<i64>>>),
    /// Lists of real numbers.
    Numbers(Vec<Option<Items<f64>>>),
    /// Lists of lists of real numbers.
    Rows(Vec<Option<Items<Items<f64>>>>),
}

/// The entries of a list, which may lack some.
pub type Items<T> = Vec<Option<T>>;

impl Values {
    pub(super) fn len(&self) -> usize {
        match self {
            Values::Text(list) => list.len(),
            Values::Whole(list) => list.len(),
            Values::Seed(list) => list.len(),
            Values::Number(list) => list.len(),
            Values::Flag(list) => list.len(),
            Values::Wholes(list) => list.len(),
            Values::Numbers(list) => list.len(),
            Values::Rows(list) => list.len(),
        }
    }
}

const SEED: &str = "seed";

/// Columns only where some class states them, so that tables of others stay as they were.
const STATED: [&str; 2] = ["length_weights", "reward_rule"];

/// What stands in every table, in this order, with [`STATED`] where they belong.
const FIRST: [&str; 19] = [
    "study",
    "id",
    "class",
    "task",
    "lengths",
    "length_weights",
    "reward_rule",
    "window_past",
    "window_future",
    "tied",
    "memory",
    "inputs",
    "q",
    "cells",
    "dynamics",
    "kind",
    SEED,
    "run",
    "recipe",
];

/// The columns of records: those of every table, then settings, then results, by name.
pub fn columns(records: &[Record]) -> Vec<RecordColumn> {
    let rows: Vec<[BTreeMap<String, Value>; 3]> = records.iter().map(row).collect();
    let mut list = Vec::new();
    for name in FIRST {
        let of = |row: &[BTreeMap<String, Value>; 3]| row[0].get(name).cloned();
        let entries: Vec<Option<Value>> = rows.iter().map(of).collect();
        if entries.iter().any(Option::is_some) || !STATED.contains(&name) {
            list.extend(column(name, entries));
        }
    }
    let names = |part: usize| {
        let mut names: Vec<&String> = rows.iter().flat_map(|row| row[part].keys()).collect();
        names.sort_by_key(|name| natural(name));
        names.dedup();
        names
    };
    let results = names(2);
    for (part, prefix) in [(1, "setting_"), (2, "result_")] {
        for name in names(part) {
            let of = |row: &[BTreeMap<String, Value>; 3]| row[part].get(name).cloned();
            // Most programs refuse a table in which two columns have one name.
            let taken = FIRST.contains(&&name[..]) || (part == 1 && results.contains(&name));
            let head = if taken {
                format!("{prefix}{name}")
            } else {
                name.clone()
            };
            list.extend(column(&head, rows.iter().map(of).collect()));
        }
    }
    list
}

/// `reward_at_20` before `reward_at_100`.
fn natural(name: &str) -> (String, u64) {
    let digits = name.rsplit('_').next().and_then(|end| end.parse().ok());
    match digits {
        Some(number) => (
            name.trim_end_matches(|c: char| c.is_ascii_digit())
                .to_owned(),
            number,
        ),
        None => (name.to_owned(), 0),
    }
}

/// The entries of a record: what every table has, settings, results.
fn row(record: &Record) -> [BTreeMap<String, Value>; 3] {
    let spec = &record.class;
    let window = spec.shape.window;
    let every = [
        ("study", Value::from(&record.study[..])),
        ("id", Value::from(&record.id[..])),
        ("class", Value::from(&record.class_id[..])),
        ("task", Value::from(&record.task[..])),
        ("lengths", Value::from(spec.lengths.clone())),
        ("window_past", Value::from(window.past)),
        ("window_future", Value::from(window.future)),
        ("tied", Value::from(spec.shape.tied)),
        ("memory", Value::from(spec.shape.memory)),
        ("inputs", Value::from(spec.inputs.to_string())),
        ("q", Value::from(spec.square.q())),
        ("cells", Value::from(record.cells)),
        ("dynamics", Value::from(&record.dynamics[..])),
        ("kind", Value::from(&record.kind[..])),
        (SEED, Value::from(record.seed)),
        ("run", Value::from(record.run)),
        ("recipe", Value::from(&record.recipe[..])),
    ];
    let weights = spec.length_weights.as_ref();
    let stated = [
        ("length_weights", weights.map(ToString::to_string)),
        (
            "reward_rule",
            (!spec.reward.is_final()).then(|| spec.reward.to_string()),
        ),
    ];
    let stated = stated
        .into_iter()
        .filter_map(|(name, text)| Some((name, Value::from(text?))));
    let every = every.into_iter().chain(stated);
    let every = every.map(|(name, value)| (name.to_owned(), value));
    let (mut settings, mut results) = (BTreeMap::new(), BTreeMap::new());
    flatten(&record.settings, "", &mut settings);
    flatten(&record.result, "", &mut results);
    if let Some(trace) = rewards(&results) {
        results.insert("trace".to_owned(), trace);
    }
    [every.collect(), settings, results]
}

/// A trace of numerators as rewards.
fn rewards(results: &BTreeMap<String, Value>) -> Option<Value> {
    let number = |value: &Value| value.as_str()?.parse::<f64>().ok();
    let denominator = number(results.get("denominator")?)?;
    let trace = results.get("trace")?.as_array()?.iter();
    let rewards: Option<Vec<f64>> = trace
        .map(|value| Some(number(value)? / denominator))
        .collect();
    rewards.map(Value::from)
}

/// Puts the fields of tables beside each other.
fn flatten(fields: &Fields, prefix: &str, into: &mut BTreeMap<String, Value>) {
    for (key, value) in fields {
        let name = format!("{prefix}{key}");
        match value {
            Value::Object(inner) => flatten(inner, &format!("{name}_"), into),
            Value::Array(marks) if key == "checkpoints" => {
                for mark in marks.iter().filter_map(Value::as_object) {
                    let sweep = mark.get("sweep").cloned().unwrap_or_default();
                    for (quantity, value) in mark.iter().filter(|(key, _)| *key != "sweep") {
                        into.insert(format!("{quantity}_at_{sweep}"), value.clone());
                    }
                }
            }
            value => _ = into.insert(name, value.clone()),
        }
    }
}

/// A column of the type that all its entries have.
fn column(name: &str, entries: Vec<Option<Value>>) -> Option<RecordColumn> {
    let present: Vec<&Value> = entries.iter().flatten().filter(|v| !v.is_null()).collect();
    let whole = |value: &Value| value.as_i64().is_some();
    let items = || {
        present
            .iter()
            .flat_map(|value| value.as_array().into_iter().flatten())
    };
    let values = if name == SEED {
        Values::Seed(of(&entries, Value::as_u64))
    } else if present.iter().all(|value| whole(value)) {
        Values::Whole(of(&entries, Value::as_i64))
    } else if present
        .iter()
        .all(|value| value.is_number() && !is_too_large(value))
    {
        Values::Number(of(&entries, Value::as_f64))
    } else if present.iter().all(|value| value.is_boolean()) {
        Values::Flag(of(&entries, Value::as_bool))
    } else if present.iter().all(|value| value.is_array()) {
        if items().all(|item| whole(item) || item.is_null()) {
            Values::Wholes(of(&entries, |value| lists(value, Value::as_i64)))
        } else if items().all(|item| item.is_number() || item.is_null()) {
            Values::Numbers(of(&entries, |value| lists(value, Value::as_f64)))
        } else if items().all(is_row) {
            let row = |value: &Value| lists(value, Value::as_f64);
            Values::Rows(of(&entries, |value| lists(value, row)))
        } else {
            Values::Text(of(&entries, |value| Some(value.to_string())))
        }
    } else {
        Values::Text(of(&entries, |value| match value {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        }))
    };
    Some(RecordColumn {
        name: name.to_owned(),
        values,
    })
}

/// Whether an entry is a list of numbers.
fn is_row(value: &Value) -> bool {
    let numbers = |list: &Vec<Value>| list.iter().all(|item| item.is_number() || item.is_null());
    value.as_array().is_some_and(numbers)
}

/// Whether a whole number is one that neither a signed integer nor a float holds.
fn is_too_large(value: &Value) -> bool {
    value.is_u64() && value.as_i64().is_none()
}

fn of<T>(entries: &[Option<Value>], read: impl Fn(&Value) -> Option<T>) -> Vec<Option<T>> {
    entries
        .iter()
        .map(|value| value.as_ref().and_then(&read))
        .collect()
}

fn lists<T>(value: &Value, read: impl Fn(&Value) -> Option<T>) -> Option<Items<T>> {
    Some(value.as_array()?.iter().map(read).collect())
}
