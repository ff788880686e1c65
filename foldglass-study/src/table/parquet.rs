//! Writes columns as Parquet, compressed by snappy, with what they are in the file's metadata.

use std::fmt::Write as _;
use std::io::Write;
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use super::columns::{Items, RecordColumn, Values};

type RowGroup<'a, W> = SerializedRowGroupWriter<'a, W>;

/// The bytes of a file with these columns and metadata.
pub fn write(
    columns: &[RecordColumn],
    metadata: &[(&'static str, String)],
) -> Result<Vec<u8>, ParquetError> {
    let mut content = Vec::new();
    let mut writer = ParquetWriter::new(&mut content, "runs", columns, metadata)?;
    if columns
        .first()
        .is_some_and(|column| column.values.len() > 0)
    {
        writer.append(columns)?;
    }
    writer.close()?;
    Ok(content)
}

/// A file that is written in parts.
pub struct ParquetWriter<W: Write + Send>(SerializedFileWriter<W>);

impl<W: Write + Send> ParquetWriter<W> {
    /// Begins a file of rows called so, with the names and types of these columns.
    pub fn new(
        out: W,
        rows: &str,
        columns: &[RecordColumn],
        metadata: &[(&'static str, String)],
    ) -> Result<ParquetWriter<W>, ParquetError> {
        let schema = columns.iter().fold(String::new(), |mut text, column| {
            let _ = writeln!(text, "{};", kind(&column.values, &column.name));
            text
        });
        // A list is a group, which ends without a semicolon.
        let schema = schema.replace("};\n", "}\n");
        let schema = parse_message_type(&format!("message {rows} {{\n{schema}}}"))?;
        let entry = |(key, value): &(&str, String)| KeyValue::new((*key).to_owned(), value.clone());
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_key_value_metadata(Some(metadata.iter().map(entry).collect()))
            .build();
        let file = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))?;
        Ok(ParquetWriter(file))
    }

    /// Appends the rows of these columns.
    pub fn append(&mut self, columns: &[RecordColumn]) -> Result<(), ParquetError> {
        let mut group = self.0.next_row_group()?;
        for column in columns {
            put(&mut group, &column.values)?;
        }
        group.close().map(drop)
    }

    /// Ends the file.
    pub fn close(self) -> Result<(), ParquetError> {
        self.0.close().map(drop)
    }
}

/// The type of a column in the words of a Parquet schema.
fn kind(values: &Values, name: &str) -> String {
    let list = |element: &str| {
        format!(
            "OPTIONAL group {name} (LIST) {{ REPEATED group list {{ OPTIONAL {element} element; }} }}"
        )
    };
    match values {
        Values::Text(_) => format!("OPTIONAL BYTE_ARRAY {name} (STRING)"),
        Values::Whole(_) => format!("OPTIONAL INT64 {name} (INTEGER(64,true))"),
        Values::Seed(_) => format!("OPTIONAL INT64 {name} (INTEGER(64,false))"),
        Values::Number(_) => format!("OPTIONAL DOUBLE {name}"),
        Values::Flag(_) => format!("OPTIONAL BOOLEAN {name}"),
        Values::Wholes(_) => list("INT64"),
        Values::Numbers(_) => list("DOUBLE"),
        Values::Rows(_) => format!(
            "OPTIONAL group {name} (LIST) {{ REPEATED group list {{ OPTIONAL group element (LIST) {{ \
             REPEATED group list {{ OPTIONAL DOUBLE element; }} }} }} }}"
        ),
    }
}

fn put<W: Write + Send>(group: &mut RowGroup<'_, W>, values: &Values) -> Result<(), ParquetError> {
    match values {
        Values::Text(list) => {
            let bytes = |text: &Option<String>| {
                text.as_ref()
                    .map(|text| ByteArray::from(text.as_bytes().to_vec()))
            };
            let list: Vec<Option<ByteArray>> = list.iter().map(bytes).collect();
            scalars::<ByteArrayType>(group, &list)
        }
        Values::Whole(list) => scalars::<Int64Type>(group, list),
        Values::Seed(list) => {
            // Parquet keeps the bits of an unsigned number in a signed one.
            let bits = list.iter().map(|seed| seed.map(u64::cast_signed));
            scalars::<Int64Type>(group, &bits.collect::<Vec<_>>())
        }
        Values::Number(list) => scalars::<DoubleType>(group, list),
        Values::Flag(list) => scalars::<BoolType>(group, list),
        Values::Wholes(list) => lists::<Int64Type>(group, list),
        Values::Numbers(list) => lists::<DoubleType>(group, list),
        Values::Rows(list) => rows(group, list),
    }
}

fn scalars<T: DataType>(
    group: &mut RowGroup<'_, impl Write + Send>,
    list: &[Option<T::T>],
) -> Result<(), ParquetError> {
    let present: Vec<i16> = list.iter().map(|value| value.is_some().into()).collect();
    let values: Vec<T::T> = list.iter().flatten().cloned().collect();
    batch::<T>(group, &values, &present, None)
}

/// Of a list, level 0 is none at all, 1 an empty one, 2 one without a value here, 3 one with.
fn lists<T: DataType>(
    group: &mut RowGroup<'_, impl Write + Send>,
    list: &[Option<Items<T::T>>],
) -> Result<(), ParquetError> {
    let (mut values, mut defined, mut repeated) = (Vec::new(), Vec::new(), Vec::new());
    for row in list {
        let items = row.as_deref().unwrap_or_default();
        if items.is_empty() {
            defined.push(row.is_some().into());
            repeated.push(0);
        }
        for (place, item) in items.iter().enumerate() {
            defined.push(if item.is_some() { 3 } else { 2 });
            repeated.push((place > 0).into());
            values.extend(item.clone());
        }
    }
    batch::<T>(group, &values, &defined, Some(&repeated))
}

/// Of a list of lists, level 0 is none at all, 1 an empty one, 2 one without a row here, 3 an empty row, 4 a
/// row without a value here, 5 one with.
fn rows(
    group: &mut RowGroup<'_, impl Write + Send>,
    list: &[Option<Items<Items<f64>>>],
) -> Result<(), ParquetError> {
    let (mut values, mut defined, mut repeated) = (Vec::new(), Vec::new(), Vec::new());
    for table in list {
        let table_rows = table.as_deref().unwrap_or_default();
        if table_rows.is_empty() {
            defined.push(table.is_some().into());
            repeated.push(0);
        }
        for (place, row) in table_rows.iter().enumerate() {
            let items = row.as_deref().unwrap_or_default();
            if items.is_empty() {
                defined.push(if row.is_some() { 3 } else { 2 });
                repeated.push((place > 0).into());
            }
            for (within, item) in items.iter().enumerate() {
                defined.push(if item.is_some() { 5 } else { 4 });
                repeated.push(if within > 0 { 2 } else { (place > 0).into() });
                values.extend(*item);
            }
        }
    }
    batch::<DoubleType>(group, &values, &defined, Some(&repeated))
}

/// Writes the next column of a group.
pub(crate) fn batch<T: DataType>(
    group: &mut RowGroup<'_, impl Write + Send>,
    values: &[T::T],
    defined: &[i16],
    repeated: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let mut column = group
        .next_column()?
        .expect("a column for each of the schema");
    column
        .typed::<T>()
        .write_batch(values, Some(defined), repeated)?;
    column.close()
}
