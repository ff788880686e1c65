//! Says in a table's own file what made it and what its numbers are in: version, study, recipes, units.

use std::collections::BTreeMap;

use foldglass::ClassSpec;
use serde_json::{Value, json};

use super::columns::{RecordColumn, Values};
use super::units::unit;
use crate::record::{Record, VERSION};

/// What stands in the metadata of a Parquet file, by key; all but the version as JSON.
pub fn of(records: &[Record], columns: &[RecordColumn]) -> Vec<(&'static str, String)> {
    let mut studies: Vec<&str> = records.iter().map(|record| &record.study[..]).collect();
    studies.dedup();
    let recipes: BTreeMap<String, &str> = records.iter().map(recipe).collect();
    vec![
        ("foldglass", VERSION.to_owned()),
        ("foldglass.studies", json!(studies).to_string()),
        ("foldglass.recipes", json!(recipes).to_string()),
        ("foldglass.units", units(columns).to_string()),
        ("pandas", pandas(columns).to_string()),
    ]
}

/// The same for results of one class.
pub fn of_class(class: &ClassSpec, columns: &[RecordColumn]) -> Vec<(&'static str, String)> {
    vec![
        ("foldglass", VERSION.to_owned()),
        ("foldglass.class", json!(class).to_string()),
        ("foldglass.units", units(columns).to_string()),
        ("pandas", pandas(columns).to_string()),
    ]
}

/// What the columns are in, by name.
fn units(columns: &[RecordColumn]) -> Value {
    let units: BTreeMap<&str, &str> = columns
        .iter()
        .filter_map(|column| Some((&column.name[..], unit(&column.name)?)))
        .collect();
    json!(units)
}

/// A pair of class and dynamics, and the hash of what makes its runs.
fn recipe(record: &Record) -> (String, &str) {
    let pair = format!("{}/{}", record.class_id, record.dynamics);
    (pair, &record.recipe)
}

/// The note from which pandas takes its types. Without it a column of whole numbers or flags that lacks
/// one would become floats or objects.
fn pandas(columns: &[RecordColumn]) -> Value {
    let note = |column: &RecordColumn| {
        let (kind, nullable) = match &column.values {
            Values::Whole(list) if list.iter().any(Option::is_none) => ("int64", "Int64"),
            Values::Flag(list) if list.iter().any(Option::is_none) => ("bool", "boolean"),
            _ => return None,
        };
        Some(json!({
            "name": column.name,
            "field_name": column.name,
            "pandas_type": kind,
            "numpy_type": nullable,
            "metadata": null,
        }))
    };
    let notes: Vec<Value> = columns.iter().filter_map(note).collect();
    json!({
        "index_columns": [],
        "column_indexes": [],
        "columns": notes,
        "creator": {"library": "foldglass", "version": VERSION},
    })
}
