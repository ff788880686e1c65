//! Writes a report, for a person or for a program.

use std::io::{self, BufWriter, Write};

use foldglass::ClassSpec;
use foldglass_study::Fields;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;

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
    settings: Fields,
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
        let typed = &invocation.typed;
        let mut settings = report.settings().unwrap_or_else(|| typed.clone());
        // The class has the table, not its name.
        if let Some(task) = typed.get("task") {
            settings.insert("task".to_owned(), task.clone());
        }
        let envelope = Envelope {
            class: report.class(),
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
