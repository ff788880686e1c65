//! Writes a report to stdout, for a person or for a program.

use std::io::{self, BufWriter, Write};

use serde::{Serialize, Serializer};

use crate::cli::Settings;
use crate::error::Error;

/// What a command found: it serialises to the JSON object of the contract, and has a text form.
pub trait Report: Serialize {
    /// Writes the form a person reads.
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()>;

    /// What it reports that should hold and does not.
    fn failure(&self) -> Option<String> {
        None
    }

    /// Whether the user stopped what it reports, so that it holds only a part.
    fn interrupted(&self) -> bool {
        false
    }
}

/// Writes the report in the form asked for.
pub fn write(report: &impl Report, settings: &Settings) -> Result<(), Error> {
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let written = if settings.json {
        serde_json::to_writer(&mut out, report)
            .map_err(io::Error::from)
            .and_then(|()| writeln!(out))
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
    fn a_stream_serialises_as_a_list() {
        let list = Stream(|| (0..3).map(|n| n * n));
        assert_eq!(serde_json::to_string(&list).unwrap(), "[0,1,4]");
    }
}
