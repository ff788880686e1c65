//! Writes a report, for a person or for a program.

use std::io::{self, BufWriter, Write};

use foldglass::ClassSpec;
use foldglass_study::Fields;
use serde::{Serialize, Serializer};

use crate::cli::{Invocation, Settings};
use crate::error::Error;
use crate::report::{Format, Table};

/// What a command found: it serialises to the JSON object of the contract, and has a text form.
pub trait Report: Serialize {
    /// Writes the form a person reads.
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()>;

    /// The class it is about, where there is one.
    fn class(&self) -> Option<ClassSpec> {
        None
    }

    /// The seed that made it, where it is not the one asked for.
    fn seed(&self) -> Option<u64> {
        None
    }

    /// The settings that made it; none are those of the command line as typed.
    fn settings(&self) -> Option<Fields> {
        None
    }

    /// What it holds as tables, for `--format`.
    fn tables(&self, _: Format) -> Vec<Table> {
        Vec::new()
    }

    /// What it reports that should hold and does not.
    fn failure(&self) -> Option<String> {
        None
    }

    /// Whether the user stopped what it reports, so that it holds only a part.
    fn interrupted(&self) -> bool {
        false
    }
}

/// What every JSON object carries beside its report.
#[derive(Serialize)]
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

/// Writes the report in the form asked for.
pub fn write(
    report: &impl Report,
    invocation: &Invocation,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let Settings {
        json, seed, format, ..
    } = invocation.settings;
    let tables = match format {
        Some(format) => {
            let tables = report.tables(format);
            if tables.is_empty() {
                return Err(Error::Usage(format!(
                    "--format {}: this report is no table; --json has all of it",
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

/// Serialises as the list an iterator yields, one element at a time.
pub struct Stream<F>(pub F);

impl<F, I> Serialize for Stream<F>
where
    F: Fn() -> I,
    I: IntoIterator<Item: Serialize>,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

/// So many of something: `1 run`, `12 runs`.
pub fn counted(count: impl TryInto<u128>, one: &str) -> String {
    match count.try_into() {
        Ok(1) => format!("1 {one}"),
        Ok(count) => format!("{count} {one}s"),
        Err(_) => format!("countless {one}s"),
    }
}

/// Six significant digits, trailing zeros dropped; powers of ten outside 0.0001 to 1,000,000.
pub fn number(value: f64) -> String {
    let rounded: f64 = format!("{value:.5e}").parse().unwrap_or(value);
    match rounded.abs() {
        0.0 => "0".to_owned(),
        size if (1e-4..1e6).contains(&size) => rounded.to_string(),
        _ => format!("{rounded:e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_a_person_have_six_significant_digits() {
        for (value, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (0.1 + 0.2, "0.3"),
            (5f64.ln(), "1.60944"),
            (1.0 / 3.0, "0.333333"),
            (2.56e-6, "2.56e-6"),
            (-0.25, "-0.25"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn one_is_no_plural() {
        let said = [0usize, 1, 12].map(|n| counted(n, "damaged line"));
        assert_eq!(
            said,
            ["0 damaged lines", "1 damaged line", "12 damaged lines"]
        );
    }

    #[test]
    fn a_stream_serialises_as_a_list() {
        let list = Stream(|| (0..3).map(|n| n * n));
        assert_eq!(serde_json::to_string(&list).unwrap(), "[0,1,4]");
    }
}
