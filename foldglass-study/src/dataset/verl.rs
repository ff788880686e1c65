//! Writes rows as the Parquet that verl reads: groups within columns.

use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use super::DatasetRow;
use crate::table::parquet::batch;

const SCHEMA: &str = "message rows {
    OPTIONAL BYTE_ARRAY data_source (STRING);
    REQUIRED group prompt (LIST) { REPEATED group list { REQUIRED group element {
        OPTIONAL BYTE_ARRAY role (STRING);
        OPTIONAL BYTE_ARRAY content (STRING);
    } } }
    OPTIONAL BYTE_ARRAY ability (STRING);
    REQUIRED group reward_model {
        OPTIONAL BYTE_ARRAY style (STRING);
        OPTIONAL BYTE_ARRAY ground_truth (STRING);
    }
    REQUIRED group extra_info {
        OPTIONAL BYTE_ARRAY split (STRING);
        OPTIONAL INT64 index;
        OPTIONAL INT64 length;
        OPTIONAL BYTE_ARRAY input (STRING);
        OPTIONAL BYTE_ARRAY products (STRING);
        OPTIONAL BYTE_ARRAY chance (STRING);
        OPTIONAL INT64 code_answer;
        OPTIONAL BOOLEAN code_correct;
    }
}";

/// The bytes of a file of rows; `name` is the task's.
pub fn write(rows: &[DatasetRow], name: &str) -> Result<Vec<u8>, ParquetError> {
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
    let mut content = Vec::new();
    let mut file = SerializedFileWriter::new(&mut content, schema, Arc::new(properties.build()))?;
    if !rows.is_empty() {
        let mut group = file.next_row_group()?;
        fill(&mut group, rows, name)?;
        group.close()?;
    }
    file.close()?;
    Ok(content)
}

/// Writes the columns of the schema in its order.
fn fill(
    group: &mut SerializedRowGroupWriter<'_, &mut Vec<u8>>,
    rows: &[DatasetRow],
    name: &str,
) -> Result<(), ParquetError> {
    // A level counts what is optional or repeated on the way to a value: of a message two, else one.
    let mut texts = |level: i16, text: &dyn Fn(&DatasetRow) -> String| {
        let values: Vec<ByteArray> = rows.iter().map(|row| text(row).as_str().into()).collect();
        let first = (level > 1).then(|| vec![0; rows.len()]);
        let levels = vec![level; rows.len()];
        batch::<ByteArrayType>(group, &values, &levels, first.as_deref())
    };
    texts(1, &|_| format!("foldglass/{name}"))?;
    texts(2, &|_| "user".to_owned())?;
    texts(2, &|row| row.prompt.clone())?;
    texts(1, &|_| "iterated multiplication".to_owned())?;
    texts(1, &|_| "rule".to_owned())?;
    texts(1, &|row| row.target.to_string())?;
    texts(1, &|row| row.split.to_string())?;
    let present = vec![1; rows.len()];
    let indices: Vec<i64> = rows.iter().map(|row| row.index.cast_signed()).collect();
    batch::<Int64Type>(group, &indices, &present, None)?;
    let lengths: Vec<i64> = rows.iter().map(|row| row.length as i64).collect();
    batch::<Int64Type>(group, &lengths, &present, None)?;
    let mut texts = |text: &dyn Fn(&DatasetRow) -> String| {
        let values: Vec<ByteArray> = rows.iter().map(|row| text(row).as_str().into()).collect();
        batch::<ByteArrayType>(group, &values, &present, None)
    };
    texts(&|row| spaced(&row.input))?;
    texts(&|row| spaced(&row.products))?;
    texts(&|row| row.chance.to_string())?;
    let tagged: Vec<i16> = rows
        .iter()
        .map(|row| row.code_answer.is_some().into())
        .collect();
    let answers: Vec<i64> = rows
        .iter()
        .filter_map(|row| row.code_answer)
        .map(i64::from)
        .collect();
    batch::<Int64Type>(group, &answers, &tagged, None)?;
    let correct: Vec<bool> = rows.iter().filter_map(|row| row.code_correct).collect();
    batch::<BoolType>(group, &correct, &tagged, None)
}

fn spaced(symbols: &[foldglass::Symbol]) -> String {
    let texts: Vec<String> = symbols.iter().map(ToString::to_string).collect();
    texts.join(" ")
}
