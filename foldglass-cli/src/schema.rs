//! Gathers the JSON Schemas of everything that foldglass writes for programs: `--json` of each command, and files.

use foldglass_paper::reproduce;
use foldglass_study::schema::{FileSchema, Sealed, formats, named, written};
use schemars::Schema;
use serde_json::Value;

use crate::call;
use crate::commands::Command;
use crate::commands::archive::ArchiveManifest;
use crate::commands::explore::Address;
use crate::commands::rerun::RerunReport;
use crate::commands::shell::{Completions, Pages};
use crate::output::schema;
use crate::program::definition;

/// All schemas, by the path of their file: `commands/eval.json`, `formats/code.json`.
pub fn schemas() -> Vec<(String, Schema)> {
    let by_themselves = [
        ("Explore", schema::<Address>()),
        ("Completions", schema::<Completions>()),
        ("Man", schema::<Pages>()),
        ("Rerun", schema::<RerunReport>()),
    ];
    let commands = Command::schemas().into_iter().chain(by_themselves);
    let program = definition();
    let commands = commands.map(|(variant, mut schema)| {
        let name = words(variant);
        let settings = call::settings_schema(&program, &name);
        let fields = schema.get_mut("properties").and_then(Value::as_object_mut);
        fields
            .expect("of every output")
            .insert("settings".to_owned(), settings);
        let title = format!("foldglass {name} --json");
        (
            format!("commands/{name}.json"),
            named(schema, "command", &name, &title),
        )
    });
    let files = formats()
        .into_iter()
        .chain(reproduce::formats())
        .chain([archive()]);
    let files = files.map(|FileSchema { name, schema }| (format!("formats/{name}.json"), schema));
    commands.chain(files).collect()
}

fn archive() -> FileSchema {
    let name = "archive-manifest";
    let schema = written::<Sealed<ArchiveManifest>>("format", name, "manifest.json of an archive");
    FileSchema { name, schema }
}

/// The name of a command from that of its variant: `read-back` from `ReadBack`.
fn words(variant: &str) -> String {
    let mut name = String::new();
    for letter in variant.chars() {
        if letter.is_uppercase() && !name.is_empty() {
            name.push('-');
        }
        name.extend(letter.to_lowercase());
    }
    name
}
