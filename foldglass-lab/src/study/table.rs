//! Writes the records of a study as one table: JSON Lines, or Parquet with a column a field.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use foldglass::cavi::Rule;
use parquet::basic::Compression;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use super::disk::replace;
use super::journal::write_error;
use super::method::{Cavi, Chain, Method};
use super::record::{CaviOutcome, ChainOutcome, Outcome, Record};
use crate::error::Error;

/// How a table is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A record a line.
    Lines,
    /// For pandas, polars, DuckDB.
    Parquet,
}

/// Writes the records to a file, in their order.
pub fn write(records: &[Record], form: Form, path: &Path) -> Result<(), Error> {
    let content = match form {
        Form::Lines => lines(records),
        Form::Parquet => parquet(records).map_err(|error| Error::Failed(error.to_string()))?,
    };
    replace(path, "table", &content).map_err(|source| write_error(path, source))
}

fn lines(records: &[Record]) -> Vec<u8> {
    let mut lines = Vec::new();
    for record in records {
        serde_json::to_writer(&mut lines, record).expect("plain data");
        lines.push(b'\n');
    }
    lines
}

/// A column of the table; what a row has no value for is null.
struct Column {
    name: String,
    values: Values,
}

enum Values {
    Text(Vec<Option<String>>),
    Whole(Vec<Option<u64>>),
    Number(Vec<Option<f64>>),
    Flag(Vec<Option<bool>>),
}

impl Values {
    /// Its type in the words of a Parquet schema.
    fn kind(&self, name: &str) -> String {
        match self {
            Values::Text(_) => format!("OPTIONAL BYTE_ARRAY {name} (STRING)"),
            Values::Whole(_) => format!("OPTIONAL INT64 {name} (INTEGER(64,false))"),
            Values::Number(_) => format!("OPTIONAL DOUBLE {name}"),
            Values::Flag(_) => format!("OPTIONAL BOOLEAN {name}"),
        }
    }
}

/// Rows in one group; readers take a group at a time.
const GROUP: usize = 1 << 20;

fn parquet(records: &[Record]) -> Result<Vec<u8>, ParquetError> {
    let schema = columns(&[], records)
        .iter()
        .fold(String::new(), |mut text, column| {
            let _ = writeln!(text, "{};", column.values.kind(&column.name));
            text
        });
    let schema = Arc::new(parse_message_type(&format!("message runs {{\n{schema}}}"))?);
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .build();
    let mut content = Vec::new();
    let mut file = SerializedFileWriter::new(&mut content, schema, Arc::new(properties))?;
    for rows in records.chunks(GROUP) {
        let mut group = file.next_row_group()?;
        for column in columns(rows, records) {
            match column.values {
                Values::Text(list) => {
                    let bytes = |text: String| ByteArray::from(text.into_bytes());
                    let list = list.into_iter().map(|text| text.map(bytes)).collect();
                    put::<ByteArrayType>(&mut group, list)?;
                }
                // A column of unsigned numbers keeps their bits.
                Values::Whole(list) => {
                    let list = list.into_iter().map(|n| n.map(|n| n as i64)).collect();
                    put::<Int64Type>(&mut group, list)?;
                }
                Values::Number(list) => put::<DoubleType>(&mut group, list)?,
                Values::Flag(list) => put::<BoolType>(&mut group, list)?,
            }
        }
        group.close()?;
    }
    file.close()?;
    Ok(content)
}

fn put<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, &mut Vec<u8>>,
    list: Vec<Option<T::T>>,
) -> Result<(), ParquetError> {
    let present: Vec<i16> = list.iter().map(|value| value.is_some().into()).collect();
    let values: Vec<T::T> = list.into_iter().flatten().collect();
    let mut column = group
        .next_column()?
        .expect("a column for each of the schema");
    column
        .typed::<T>()
        .write_batch(&values, Some(&present), None)?;
    column.close()
}

/// The columns of some rows. Which there are depends on all records.
fn columns(rows: &[Record], all: &[Record]) -> Vec<Column> {
    let mut columns = of_runs(rows);
    columns.extend(of_methods(rows));
    columns.extend(of_results(rows));
    let sweeps: BTreeSet<usize> = all.iter().flat_map(marks).collect();
    for sweep in sweeps {
        let mark = |end: &ChainOutcome| {
            let mark = end.checkpoints.iter().find(|mark| mark.sweep == sweep)?;
            Some((mark.reward, mark.reward_exact.clone()))
        };
        let of = |row: &Record| chain_end(row).and_then(mark);
        columns.push(number(&format!("reward_at_{sweep}"), rows, |row| {
            Some(of(row)?.0)
        }));
        columns.push(text(&format!("reward_exact_at_{sweep}"), rows, |row| {
            Some(of(row)?.1)
        }));
    }
    columns
}

/// The sweeps after which a record has J.
fn marks(record: &Record) -> Vec<usize> {
    let marks = |end: &ChainOutcome| end.checkpoints.iter().map(|mark| mark.sweep).collect();
    chain_end(record).map(marks).unwrap_or_default()
}

fn of_runs(rows: &[Record]) -> Vec<Column> {
    let join = |list: &[usize]| {
        let list: Vec<String> = list.iter().map(usize::to_string).collect();
        list.join(",")
    };
    vec![
        text("study", rows, |row| Some(row.study.clone())),
        text("id", rows, |row| Some(row.id.clone())),
        text("class", rows, |row| Some(row.class.id.clone())),
        text("task", rows, |row| Some(row.class.task.clone())),
        text("lengths", rows, |row| Some(join(&row.class.lengths))),
        whole("window_past", rows, |row| Some(row.class.window[0])),
        whole("window_future", rows, |row| Some(row.class.window[1])),
        flag("tied", rows, |row| Some(row.class.tied)),
        whole("memory", rows, |row| Some(row.class.memory)),
        text("inputs", rows, |row| Some(row.class.inputs.clone())),
        whole("q", rows, |row| Some(row.q)),
        whole("cells", rows, |row| Some(row.cells)),
        text("dynamics", rows, |row| Some(row.dynamics.clone())),
        text("kind", rows, |row| {
            Some(row.method.kind().name().to_owned())
        }),
        number("tau", rows, |row| Some(row.tau)),
        count("seed", rows, |row| Some(row.seed)),
        count("run", rows, |row| Some(row.run)),
    ]
}

fn of_methods(rows: &[Record]) -> Vec<Column> {
    let quench = |row: &Record| cavi(row)?.quench;
    let resets = |row: &Record| cavi(row)?.resets;
    let rule = |row: &Record| match cavi(row)?.rule {
        Rule::Cavi { damping, share } => Some((Some(damping), Some(share), None)),
        Rule::Gradient { step } => Some((None, None, Some(step))),
    };
    // The words of a study.
    let word = |row: &Record, key: &str| {
        let method = serde_json::to_value(&row.method).expect("plain data");
        method.get(key)?.as_str().map(str::to_owned)
    };
    vec![
        whole("iterations", rows, |row| Some(cavi(row)?.iterations)),
        text("initial", rows, |row| Some(cavi(row)?.initial.to_string())),
        number("damping", rows, |row| rule(row)?.0),
        number("share", rows, |row| rule(row)?.1),
        number("step", rows, |row| rule(row)?.2),
        whole("quench_iterations", rows, |row| {
            Some(quench(row)?.iterations)
        }),
        number("quench_tau", rows, |row| Some(quench(row)?.tau)),
        number("reset_share", rows, |row| Some(resets(row)?.share)),
        whole("reset_every", rows, |row| Some(resets(row)?.every)),
        whole("reset_cycles", rows, |row| Some(resets(row)?.cycles)),
        text("kernel", rows, |row| word(row, "kernel")),
        text("order", rows, |row| word(row, "order")),
        whole("max_sweeps", rows, |row| Some(chain(row)?.sweeps)),
        whole("stop_when_stationary", rows, |row| {
            chain(row)?.stop_when_stationary
        }),
        flag("stop_at_optimum", rows, |row| {
            Some(chain(row)?.stop_at_optimum)
        }),
    ]
}

fn of_results(rows: &[Record]) -> Vec<Column> {
    vec![
        text("greedy_exact", rows, |row| {
            Some(cavi_end(row)?.greedy_exact.clone())
        }),
        number("greedy_reward", rows, |row| {
            Some(cavi_end(row)?.greedy_reward)
        }),
        number("expected_reward", rows, |row| {
            Some(cavi_end(row)?.expected_reward)
        }),
        number("entropy", rows, |row| Some(cavi_end(row)?.entropy)),
        number("residual", rows, |row| Some(cavi_end(row)?.residual)),
        text("reward_exact", rows, |row| {
            Some(chain_end(row)?.reward_exact.clone())
        }),
        number("reward", rows, |row| Some(chain_end(row)?.reward)),
        number("mean_reward", rows, |row| Some(chain_end(row)?.mean_reward)),
        whole("sweeps", rows, |row| Some(chain_end(row)?.sweeps)),
        whole("last_change", rows, |row| Some(chain_end(row)?.last_change)),
        whole("sweeps_to_stationary", rows, |row| {
            chain_end(row)?.sweeps_to_stationary
        }),
        whole("sweeps_to_optimum", rows, |row| {
            chain_end(row)?.sweeps_to_optimum
        }),
    ]
}

fn cavi(row: &Record) -> Option<&Cavi> {
    match &row.method {
        Method::Cavi(cavi) => Some(cavi),
        Method::Chain(_) => None,
    }
}

fn chain(row: &Record) -> Option<&Chain> {
    match &row.method {
        Method::Cavi(_) => None,
        Method::Chain(chain) => Some(chain),
    }
}

fn cavi_end(row: &Record) -> Option<&CaviOutcome> {
    match &row.result {
        Outcome::Cavi(end) => Some(end),
        Outcome::Chain(_) => None,
    }
}

fn chain_end(row: &Record) -> Option<&ChainOutcome> {
    match &row.result {
        Outcome::Cavi(_) => None,
        Outcome::Chain(end) => Some(end),
    }
}

fn text(name: &str, rows: &[Record], of: impl Fn(&Record) -> Option<String>) -> Column {
    let values = Values::Text(rows.iter().map(of).collect());
    Column {
        name: name.to_owned(),
        values,
    }
}

fn count(name: &str, rows: &[Record], of: impl Fn(&Record) -> Option<u64>) -> Column {
    let values = Values::Whole(rows.iter().map(of).collect());
    Column {
        name: name.to_owned(),
        values,
    }
}

fn whole(name: &str, rows: &[Record], of: impl Fn(&Record) -> Option<usize>) -> Column {
    count(name, rows, |row| of(row).map(|n| n as u64))
}

fn number(name: &str, rows: &[Record], of: impl Fn(&Record) -> Option<f64>) -> Column {
    let values = Values::Number(rows.iter().map(of).collect());
    Column {
        name: name.to_owned(),
        values,
    }
}

fn flag(name: &str, rows: &[Record], of: impl Fn(&Record) -> Option<bool>) -> Column {
    let values = Values::Flag(rows.iter().map(of).collect());
    Column {
        name: name.to_owned(),
        values,
    }
}
