//! Merges the records of a study into one table (DESIGN, "Beyond one machine").

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use super::enumerate::BARRIER_CAP;
use crate::census::{self, Found};
use crate::cli::Settings;
use crate::error::Error;
use crate::flags::max_memory;
use crate::output::Report;
use crate::progress;
use crate::study::{self, Form, Gathered, say};

/// The flags of `collect`.
#[derive(Debug, Args)]
pub struct CollectArgs {
    /// The directories that `run` wrote, of one study, or `enumerate`, of one class
    #[arg(value_name = "DIR", required = true)]
    directories: Vec<PathBuf>,
    /// The table: NAME.jsonl, NAME.parquet, or NAME for both [default: table in the first DIR]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Make the table of the finished runs although some are missing
    #[arg(long)]
    partial: bool,
}

/// Missing runs named in a message.
const NAMED: usize = 5;

impl CollectArgs {
    /// Writes the table.
    pub fn run(&self, settings: &Settings) -> Result<Merged, Error> {
        if census::Manifest::is_in(&self.directories[0]) {
            return self.census(settings);
        }
        let found = study::gather(&self.directories)?;
        if found.unreadable > 0 {
            let lines = found.unreadable;
            say(&format!("{lines} damaged lines of records are left out"));
        }
        if !found.missing.is_empty() && !self.partial {
            return Err(Error::Failed(incomplete(&found)));
        }
        let mut tables = Vec::new();
        for (form, path) in self.tables() {
            study::write_table(&found.records, form, &path)?;
            tables.push(path);
        }
        Ok(Merged::Study(Collected {
            study: found.manifest.study.name,
            runs: found.records.len(),
            missing: found.missing,
            tables,
        }))
    }

    /// Puts the shards of an enumeration together.
    fn census(&self, settings: &Settings) -> Result<Merged, Error> {
        if self.out.is_some() || self.partial {
            return Err(Error::Usage(
                "--out and --partial are for studies: an enumeration is printed, and only whole"
                    .to_owned(),
            ));
        }
        let (census, tolerance, count) =
            census::collect(&self.directories, max_memory::available())?;
        let threads = progress::threads(settings.threads, usize::MAX);
        let found = Found::new(&census, count, &tolerance, threads, BARRIER_CAP)?;
        Ok(Merged::Census(Box::new(found)))
    }

    /// The files to write.
    fn tables(&self) -> Vec<(Form, PathBuf)> {
        let out = self
            .out
            .clone()
            .unwrap_or_else(|| self.directories[0].join("table"));
        let with = |end: &str| {
            let mut name = out.clone().into_os_string();
            name.push(end);
            name.into()
        };
        match out.extension().and_then(|end| end.to_str()) {
            Some("jsonl") => vec![(Form::Lines, out)],
            Some("parquet") => vec![(Form::Parquet, out)],
            _ => vec![
                (Form::Lines, with(".jsonl")),
                (Form::Parquet, with(".parquet")),
            ],
        }
    }
}

fn incomplete(found: &Gathered) -> String {
    let (missing, there) = (found.missing.len(), found.records.len());
    let mut named = found.missing[..missing.min(NAMED)].join(", ");
    if missing > NAMED {
        named += ", ..";
    }
    format!(
        "{missing} of {} runs are missing: {named}; `foldglass run` does them, --partial leaves them out",
        missing + there
    )
}

/// What was merged.
#[derive(Serialize)]
#[serde(untagged)]
pub enum Merged {
    /// A study.
    Study(Collected),
    /// An enumeration.
    Census(Box<Found>),
}

impl Report for Merged {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Merged::Study(collected) => collected.write_text(out),
            Merged::Census(found) => found.write_text(out),
        }
    }
}

/// What was merged of a study.
#[derive(Serialize)]
pub struct Collected {
    study: String,
    runs: usize,
    missing: Vec<String>,
    tables: Vec<PathBuf>,
}

impl Report for Collected {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{} runs of {}", self.runs, self.study)?;
        if !self.missing.is_empty() {
            writeln!(out, "{} missing (--json names them)", self.missing.len())?;
        }
        let mut tables = self.tables.iter();
        tables.try_for_each(|path| writeln!(out, "{}", path.display()))
    }
}
