//! Writes the records of a study as one table: JSON Lines, CSV, or Parquet with a column a field; and the
//! results of a class likewise.

mod columns;
mod data;
#[cfg(feature = "parquet")]
mod metadata;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;
mod successes;
mod units;

use std::path::Path;

use crate::disk::replace;
use crate::error::StudyError;
use crate::record::Record;
use columns::columns;
pub use columns::{Items, RecordColumn, Values};
pub use data::{DataFile, data_form};
pub use successes::write_successes;
pub use units::is_reward;

/// How a table is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A record a line.
    Lines,
    /// Comma-separated values, lists as JSON.
    Csv,
    /// For pandas, polars, DuckDB.
    Parquet,
}

foldglass::named_enum!(Form { "jsonl" => Lines, "csv" => Csv, "parquet" => Parquet });

/// Writes the records to a file, in their order.
pub fn write(records: &[Record], form: Form, path: &Path) -> Result<(), StudyError> {
    let content = match form {
        Form::Lines => lines(records),
        Form::Csv => csv(&columns(records)),
        Form::Parquet => parquet(records)?,
    };
    replace(path, "table", &content).map_err(|source| StudyError::keep(path, source))
}

#[cfg(feature = "parquet")]
fn parquet(records: &[Record]) -> Result<Vec<u8>, StudyError> {
    let columns = columns(records);
    let written = parquet::write(&columns, &metadata::of(records, &columns));
    written.map_err(|error| StudyError::Failed(error.to_string()))
}

#[cfg(not(feature = "parquet"))]
fn parquet(_: &[Record]) -> Result<Vec<u8>, StudyError> {
    without_parquet()
}

#[cfg(not(feature = "parquet"))]
fn without_parquet() -> Result<Vec<u8>, StudyError> {
    Err(StudyError::Failed(
        "a table as Parquet: foldglass-study was built without its feature `parquet`".to_owned(),
    ))
}

fn lines(records: &[Record]) -> Vec<u8> {
    let mut lines = Vec::new();
    for record in records {
        serde_json::to_writer(&mut lines, record).expect("plain data");
        lines.push(b'\n');
    }
    lines
}

fn csv(columns: &[RecordColumn]) -> Vec<u8> {
    let mut text = csv_head(columns);
    text += &csv_rows(columns);
    text.into_bytes()
}

fn csv_head(columns: &[RecordColumn]) -> String {
    let heads: Vec<String> = columns.iter().map(|column| quoted(&column.name)).collect();
    heads.join(",") + "\r\n"
}

fn csv_rows(columns: &[RecordColumn]) -> String {
    let mut text = String::new();
    let rows = columns.first().map_or(0, |column| column.values.len());
    for row in 0..rows {
        let entries: Vec<String> = columns
            .iter()
            .map(|c| quoted(&c.values.text(row)))
            .collect();
        text += &entries.join(",");
        text += "\r\n";
    }
    text
}

/// An entry, in quotes where it needs them (RFC 4180).
fn quoted(entry: &str) -> String {
    if entry.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", entry.replace('"', "\"\""));
    }
    entry.to_owned()
}

impl Values {
    /// An entry as text; nothing where there is none.
    fn text(&self, row: usize) -> String {
        fn list<T>(items: &[Option<T>], text: impl Fn(&T) -> String) -> String {
            let texts = items
                .iter()
                .map(|item| item.as_ref().map_or("null".to_owned(), &text));
            format!("[{}]", texts.collect::<Vec<_>>().join(","))
        }
        let real = |number: &f64| format!("{number:?}");
        let row_of = |row: &Vec<Option<f64>>| list(row, real);
        match self {
            Values::Text(values) => values[row].clone().unwrap_or_default(),
            Values::Whole(values) => values[row].map_or(String::new(), |n| n.to_string()),
            Values::Seed(values) => values[row].map_or(String::new(), |n| n.to_string()),
            Values::Number(values) => values[row].map_or(String::new(), |n| format!("{n:?}")),
            Values::Flag(values) => values[row].map_or(String::new(), |flag| flag.to_string()),
            Values::Wholes(values) => values[row]
                .as_ref()
                .map_or(String::new(), |items| list(items, i64::to_string)),
            Values::Numbers(values) => values[row]
                .as_ref()
                .map_or(String::new(), |items| list(items, real)),
            Values::Rows(values) => values[row]
                .as_ref()
                .map_or(String::new(), |items| list(items, row_of)),
        }
    }
}
