//! Writes the success of every input of a policy as a table, in parts: there may be 10^7 of them.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::Path;

use foldglass::reward::per_input;
use foldglass::support::watch::{Observer, Progress};
use foldglass::{Policy, Symbol};

use super::columns::{RecordColumn, Values};
use super::{Form, csv_head, csv_rows};
use crate::disk::Whole;
use crate::error::StudyError;

/// The rows of a part.
const PART: usize = 1 << 16;

/// Writes a row for each input that can occur, with the columns `x`, `probability` and `success`, in the order of
/// [`per_input::for_each`]: CSV or Parquet. Gives the number of rows; none where the
/// observer stops it, and then there is no file.
pub fn write_successes(
    policy: &Policy,
    form: Form,
    path: &Path,
    observer: &dyn Observer,
) -> Result<Option<u64>, StudyError> {
    let keep = |source: io::Error| StudyError::keep(path, source);
    let mut file = Whole::create(path, "table").map_err(keep)?;
    let mut parts = RowParts::begin(policy, form, &mut file).map_err(keep)?;
    let (all, mut done) = (per_input::inputs(policy.class()), 0);
    let mut rows = Rows::default();
    let mut failed = None;
    let ended = per_input::try_for_each(policy, |x, probability, success| {
        rows.push(x, probability, success);
        if rows.success.len() < PART {
            return ControlFlow::Continue(());
        }
        done += PART as u64;
        if let Err(error) = parts.append(std::mem::take(&mut rows)) {
            failed = Some(error);
            return ControlFlow::Break(());
        }
        observer.report(Progress {
            unit: "inputs",
            done,
            all,
            share: None,
        })
    });
    if let Some(error) = failed {
        return Err(keep(error));
    }
    if ended.is_break() {
        return Ok(None);
    }
    done += rows.success.len() as u64;
    parts
        .append(rows)
        .and_then(|()| parts.end())
        .map_err(keep)?;
    file.finish().map_err(keep)?;
    Ok(Some(done))
}

#[derive(Default)]
struct Rows {
    x: Vec<Option<Vec<Option<i64>>>>,
    probability: Vec<Option<f64>>,
    success: Vec<Option<f64>>,
}

impl Rows {
    fn push(&mut self, x: &[Symbol], probability: f64, success: f64) {
        self.x
            .push(Some(x.iter().map(|&x| Some(x.into())).collect()));
        self.probability.push(Some(probability));
        self.success.push(Some(success));
    }

    fn columns(self) -> [RecordColumn; 3] {
        let column = |name: &str, values: Values| RecordColumn {
            name: name.to_owned(),
            values,
        };
        [
            column("x", Values::Wholes(self.x)),
            column("probability", Values::Number(self.probability)),
            column("success", Values::Number(self.success)),
        ]
    }
}

/// A file of rows that is being written.
enum RowParts<'a> {
    Csv(&'a mut Whole),
    #[cfg(feature = "parquet")]
    Parquet(super::parquet::ParquetWriter<&'a mut Whole>),
}

impl<'a> RowParts<'a> {
    fn begin(policy: &Policy, form: Form, file: &'a mut Whole) -> io::Result<RowParts<'a>> {
        let columns = Rows::default().columns();
        #[cfg(not(feature = "parquet"))]
        let _ = policy;
        match form {
            Form::Csv => {
                file.write_all(csv_head(&columns).as_bytes())?;
                Ok(RowParts::Csv(file))
            }
            #[cfg(feature = "parquet")]
            Form::Parquet => {
                let writer = super::parquet::ParquetWriter::new(
                    file,
                    "inputs",
                    &columns,
                    &super::metadata::of_class(&policy.class().spec(), &columns),
                );
                writer.map(RowParts::Parquet).map_err(io::Error::other)
            }
            other => Err(io::Error::new(
                io::ErrorKind::Unsupported,
                format!("a table of inputs is not written as {other}"),
            )),
        }
    }

    fn append(&mut self, rows: Rows) -> io::Result<()> {
        if rows.success.is_empty() {
            return Ok(());
        }
        let columns = rows.columns();
        match self {
            RowParts::Csv(file) => file.write_all(csv_rows(&columns).as_bytes()),
            #[cfg(feature = "parquet")]
            RowParts::Parquet(writer) => writer.append(&columns).map_err(io::Error::other),
        }
    }

    fn end(self) -> io::Result<()> {
        match self {
            RowParts::Csv(_) => Ok(()),
            #[cfg(feature = "parquet")]
            RowParts::Parquet(writer) => writer.close().map_err(io::Error::other),
        }
    }
}
