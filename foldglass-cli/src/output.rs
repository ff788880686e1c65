//! Writes a report, for a person or for a program.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use foldglass::{ClassSpec, InputLaw, Shape};
use foldglass_study::Fields;
use foldglass_study::files::{self, FilesRead};
use foldglass_study::method::put;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;

use crate::call;
use crate::cli::{GlobalArgs, Invocation};
use crate::error::Error;
use crate::report::Table;

pub use crate::report::Report;
pub use crate::report::words::{counted, number};

/// What every JSON object carries beside its report.
#[derive(JsonSchema, Serialize)]
struct Envelope<'a, R: Serialize> {
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<ClassSpec>,
    seed: u64,
    version: &'static str,
    command: &'a str,
    /// All settings by the names of the flags, with their defaults; null where there is none.
    settings: Fields,
    /// The SHA-256 sum of every file that was read, by its path; - is stdin.
    files_read: FilesRead,
    #[serde(flatten)]
    report: &'a R,
}

/// The schema of the JSON object of a command that reports so.
pub fn schema_by<'a, A, R: Report + 'a>(_: impl Fn(&A, &GlobalArgs) -> Result<R, Error>) -> Schema {
    schema::<R>()
}

/// The schema of the JSON object that has this report.
pub fn schema<'a, R: Report + 'a>() -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings
        .into_generator()
        .into_root_schema_for::<Envelope<'a, R>>()
}

/// Writes the report in the form asked for.
pub fn write(
    report: &impl Report,
    invocation: &Invocation,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let GlobalArgs {
        json, seed, format, ..
    } = invocation.settings;
    let tables = match format {
        Some(format) => {
            let tables = report.tables(format);
            if tables.is_empty() {
                return Err(Error::Usage(format!(
                    "--format {}: this report has no table; --json has all of it",
                    format.name()
                )));
            }
            tables
        }
        None => Vec::new(),
    };
    let mut out = BufWriter::with_capacity(1 << 16, out);
    let written = if json {
        let class = report.class();
        let settings = settings(invocation, &report.settings(), class.as_ref());
        let envelope = Envelope {
            files_read: files_read(&invocation.name, &settings),
            class,
            seed: report.seed().unwrap_or(seed),
            version: foldglass_study::VERSION,
            command: &invocation.name,
            settings,
            report,
        };
        serde_json::to_writer(&mut out, &envelope)
            .map_err(io::Error::from)
            .and_then(|()| writeln!(out))
    } else if let Some(format) = format {
        write_tables(&tables, &mut out, |table, out| table.write(format, out))
    } else {
        report.write_text(&mut out)
    };
    written.and_then(|()| out.flush()).map_err(Error::Output)?;
    match report.failure() {
        Some(failure) => Err(Error::Failed(failure)),
        None if report.interrupted() => Err(Error::Interrupted),
        None => Ok(()),
    }
}

/// The settings as typed; where nothing was, what the report and the class say.
fn settings(invocation: &Invocation, resolved: &Fields, class: Option<&ClassSpec>) -> Fields {
    let mut settings = invocation.typed.clone();
    let is_stated = ["task", "lengths"]
        .iter()
        .all(|flag| settings.get(*flag).is_some_and(|value| !value.is_null()));
    let class = class.filter(|_| is_stated);
    let by_class = class.map_or_else(Fields::new, class_settings);
    for (flag, value) in resolved.iter().chain(&by_class) {
        if let Some(empty) = settings.get_mut(flag).filter(|value| value.is_null()) {
            *empty = value.clone();
        }
    }
    settings
}

/// The flags of a class that need not be given where the task and the lengths are.
fn class_settings(class: &ClassSpec) -> Fields {
    let Shape { window, memory, .. } = &class.shape;
    let mut fields = Fields::new();
    put(&mut fields, "window", [window.past, window.future]);
    put(&mut fields, "memory", memory);
    put(&mut fields, "reward", class.reward.to_string());
    if class.inputs == InputLaw::Uniform {
        put(&mut fields, "inputs", "uniform");
    }
    fields
}

/// The files that were read, but those that the command itself keeps.
fn files_read(command: &str, settings: &Fields) -> FilesRead {
    let own: Vec<PathBuf> = call::written(command, settings)
        .map(|(_, path)| path)
        .collect();
    let mut files = files::files_read();
    files.retain(|file, _| !own.iter().any(|own| Path::new(file).starts_with(own)));
    files
}

fn write_tables(
    tables: &[Table],
    out: &mut dyn Write,
    mut write: impl FnMut(&Table, &mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    for (number, table) in tables.iter().enumerate() {
        if number > 0 {
            writeln!(out)?;
        }
        write(table, out)?;
    }
    Ok(())
}
