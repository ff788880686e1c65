//! Describes the files of studies, codes and claims by JSON Schema, from the types that are written and read.

mod study;

use foldglass::model::policy::{CodeForm, PolicyForm};
use foldglass::proof::claim::{PathForm, VerdictsForm};
use foldglass::{ClassSpec, Operation};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, json_schema};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::census::{CensusManifest, PartRecord};
use crate::dataset::DatasetRow;
use crate::manifest::Manifest;
use crate::record::{Record, VERSION};

/// What a file contains, or a line of it.
#[derive(Debug)]
pub struct FileSchema {
    /// The name of the format.
    pub name: &'static str,
    /// Its schema.
    pub schema: Schema,
}

/// What ends in a hash of itself.
#[derive(JsonSchema, Serialize)]
pub struct Sealed<T> {
    #[serde(flatten)]
    content: T,
    /// 32 hexadecimal digits: the hash of all that stands before.
    #[schemars(regex(pattern = "^[0-9a-f]{32}$"))]
    check: String,
}

/// The schema of what is written as `T`. `part` and `name` say what it is: `format` and `code`.
pub fn written<T: JsonSchema>(part: &str, name: &str, title: &str) -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    named(
        settings.into_generator().into_root_schema_for::<T>(),
        part,
        name,
        title,
    )
}

/// The schema of what is read as `T` and written by others.
pub fn read<T: JsonSchema>(part: &str, name: &str, title: &str) -> Schema {
    let settings = SchemaSettings::draft2020_12();
    named(
        settings.into_generator().into_root_schema_for::<T>(),
        part,
        name,
        title,
    )
}

/// A schema with its title, and an id with the versions that it holds for.
pub fn named(mut schema: Schema, part: &str, name: &str, title: &str) -> Schema {
    let minor = VERSION.rsplit_once('.').map_or(VERSION, |(minor, _)| minor);
    schema.insert(
        "$id".to_owned(),
        format!("urn:foldglass:{minor}:{part}:{name}").into(),
    );
    schema.insert("title".to_owned(), title.into());
    without_examples(schema.as_object_mut());
    schema
}

/// Cuts the examples in Rust from descriptions, which are the documentation of types.
fn without_examples(fields: Option<&mut Map<String, Value>>) {
    for (key, value) in fields.into_iter().flatten() {
        match value {
            Value::String(text) if key == "description" => {
                let end = text.find("```").unwrap_or(text.len());
                *text = text[..end].trim_end().to_owned();
            }
            Value::Array(all) => {
                for one in all {
                    without_examples(one.as_object_mut());
                }
            }
            value => without_examples(value.as_object_mut()),
        }
    }
}

fn file<T: JsonSchema>(name: &'static str, title: &str) -> FileSchema {
    let schema = written::<T>("format", name, title);
    FileSchema { name, schema }
}

/// The formats of this crate and of the mathematics below it.
pub fn formats() -> Vec<FileSchema> {
    let other = |name, title, schema: Schema| FileSchema {
        name,
        schema: named(schema, "format", name, title),
    };
    vec![
        file::<Operation>("task", "The table of a task, for --task FILE"),
        other(
            "inputs",
            "An input law, for --inputs product:FILE",
            inputs(),
        ),
        file::<ClassSpec>("class", "The object `class` of files and of --json"),
        file::<CodeForm>("code", "A code, for --code FILE"),
        file::<PolicyForm>("policy", "A policy, for --policy FILE"),
        file::<VerdictsForm>("verdict", "Verdicts of certify --out, which check verifies"),
        file::<PathForm>("path", "A path of escape --out, which check verifies"),
        other(
            "study",
            "A study file of run, as JSON has the TOML",
            study::schema(),
        ),
        file::<Sealed<Manifest>>("study-manifest", "study.json of a directory of records"),
        file::<Sealed<Record>>("record", "A line of records.jsonl"),
        file::<Record>("table-line", "A line of table.jsonl, which collect writes"),
        file::<Sealed<CensusManifest>>("census-manifest", "census.json of enumerate --out"),
        file::<Sealed<PartRecord>>("census-line", "A line of parts.jsonl of enumerate --out"),
        file::<DatasetRow>(
            "dataset-line",
            "A row of dataset --out, without the columns of one trainer",
        ),
    ]
}

/// A row of q probabilities for each position.
fn inputs() -> Schema {
    json_schema!({
        "type": "array",
        "minItems": 1,
        "items": {
            "type": "array",
            "minItems": 2,
            "items": { "anyOf": [
                { "type": "number", "minimum": 0 },
                { "type": "string", "description": "An exact number, such as 1/3." }
            ] }
        }
    })
}
