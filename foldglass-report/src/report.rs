//! Says what every finding offers: data for programs, text and tables for people.

use std::io::{self, Write};

use foldglass::ClassSpec;
use foldglass_study::Fields;
use schemars::JsonSchema;
use serde::Serialize;

use crate::table::{Format, Table};

/// What a command found: it serialises to the JSON object of the contract, whose schema it has, and has a text form.
pub trait Report: JsonSchema + Serialize {
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

    /// Settings that made it where the command line did not state them, by the names of the flags.
    fn settings(&self) -> Fields {
        Fields::new()
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
