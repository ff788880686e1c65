//! Writes columns of results, such as the traps of a class, as CSV or Parquet.

use std::io::Write;
use std::path::{Path, PathBuf};

use foldglass::{ClassSpec, Reward};

use super::columns::{RecordColumn, Values};
use super::{Form, csv};
use crate::disk::Whole;
use crate::error::StudyError;

/// The form of a table of results, by the extension of its file; else what is accepted.
pub fn data_form(path: &Path) -> Result<Form, String> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("csv") => Ok(Form::Csv),
        Some("parquet") => Ok(Form::Parquet),
        _ => Err(format!(
            "{} does not end in .csv or .parquet",
            path.display()
        )),
    }
}

/// A table of results of one class, being written: its file takes its name when it is complete.
pub struct DataFile {
    form: Form,
    path: PathBuf,
    file: Whole,
}

impl DataFile {
    /// Begins a file whose name ends in `.csv` or `.parquet`.
    pub fn create(path: &Path) -> Result<DataFile, StudyError> {
        let form = data_form(path).map_err(StudyError::Failed)?;
        let file = Whole::create(path, "table").map_err(|error| StudyError::write(path, error))?;
        let path = path.to_owned();
        Ok(DataFile { form, path, file })
    }

    /// Writes the columns, which have equally many entries. The metadata of Parquet contain the class.
    pub fn write(mut self, class: &ClassSpec, columns: &[RecordColumn]) -> Result<(), StudyError> {
        let content = match self.form {
            Form::Parquet => parquet(class, columns)?,
            _ => csv(columns),
        };
        let written = self.file.write_all(&content);
        let written = written.and_then(|()| self.file.finish());
        written.map_err(|error| StudyError::write(&self.path, error))
    }
}

#[cfg(feature = "parquet")]
fn parquet(class: &ClassSpec, columns: &[RecordColumn]) -> Result<Vec<u8>, StudyError> {
    let written = super::parquet::write(columns, &super::metadata::of_class(class, columns));
    written.map_err(|error| StudyError::Failed(error.to_string()))
}

#[cfg(not(feature = "parquet"))]
fn parquet(_: &ClassSpec, _: &[RecordColumn]) -> Result<Vec<u8>, StudyError> {
    super::without_parquet()
}

impl RecordColumn {
    /// A column of this name.
    pub fn new(name: &str, values: Values) -> RecordColumn {
        RecordColumn {
            name: name.to_owned(),
            values,
        }
    }

    /// Counts that may pass 2^53: their digits as text.
    pub fn counts<N: ToString>(
        name: &str,
        counts: impl Iterator<Item = Option<N>>,
    ) -> RecordColumn {
        let text = |count: Option<N>| count.map(|count| count.to_string());
        RecordColumn::new(name, Values::Text(counts.map(text).collect()))
    }

    /// Codes as lists of actions, in the order of the cells.
    pub fn codes<'a>(name: &str, codes: impl Iterator<Item = Option<&'a [u16]>>) -> RecordColumn {
        let list = |actions: &[u16]| actions.iter().map(|&a| Some(a.into())).collect();
        let lists = codes.map(|code| code.map(list));
        RecordColumn::new(name, Values::Wholes(lists.collect()))
    }

    /// Two columns of one quantity: `NAME_exact`, fractions as text, and `NAME`, floats.
    pub fn exact<'a>(
        name: &str,
        values: impl Iterator<Item = Option<&'a Reward>> + Clone,
    ) -> [RecordColumn; 2] {
        let text = |value: Option<&Reward>| value.map(Reward::to_string);
        let float = |value: Option<&Reward>| value.map(Reward::to_f64);
        [
            RecordColumn::new(
                &format!("{name}_exact"),
                Values::Text(values.clone().map(text).collect()),
            ),
            RecordColumn::new(name, Values::Number(values.map(float).collect())),
        ]
    }
}
