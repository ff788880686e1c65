//! Merges the records of a study into one table (DESIGN, "Beyond one machine").

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use foldglass::{ClassSpec, Context, support::names};
use foldglass_study::census::{self, BARRIER_CAP, CensusFindings, CensusManifest};
use foldglass_study::method::put;
use foldglass_study::parallel::threads;
use foldglass_study::{DataFile, Fields, Form, Gathered, data_form, gather, write_table};
use schemars::JsonSchema;
use serde::Serialize;

use super::enumerate::{trap_columns, write_found};
use crate::cli::GlobalArgs;
use crate::error::Error;
use crate::flags::max_memory;
use crate::output::{Report, counted};
use crate::progress::{Terminal, say};

/// The flags of `collect`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  foldglass collect runs/mine
      Merge the records into one table.
  foldglass collect runs/a runs/b --table both.parquet
      Merge two directories of one study.")]
pub struct CollectArgs {
    /// The directories that `run` wrote, of one study, or `enumerate`, of one class
    #[arg(value_name = "DIR", required = true)]
    directories: Vec<PathBuf>,
    /// The table: NAME.jsonl, NAME.csv, NAME.parquet, or NAME for all three [default: table in the
    /// first DIR]; of an enumeration a row per trap, up to the names of tokens: .csv or .parquet
    /// [default: none]
    #[arg(long, alias = "out", short_alias = 'o', value_name = "FILE")]
    table: Option<PathBuf>,
    /// Make the table of the finished runs although some are missing
    #[arg(long)]
    partial: bool,
}

/// Missing runs named in a message.
const NAMED: usize = 5;

impl CollectArgs {
    /// Writes the table.
    pub fn run(&self, settings: &GlobalArgs) -> Result<Merged, Error> {
        if CensusManifest::is_in(&self.directories[0]) {
            return self.census(settings);
        }
        let tables = self.tables()?;
        let found = gather(&self.directories)?;
        if found.damaged > 0 {
            let lines = counted(found.damaged, "damaged line");
            say(&format!("left out: {lines} of records"));
        }
        if found.missing > 0 && !self.partial {
            return Err(Error::Failed(incomplete(&found)));
        }
        for (form, path) in &tables {
            write_table(&found.records, *form, path)?;
        }
        Ok(Merged::Study(Collected {
            seed: found.manifest.study.seed,
            study: found.manifest.study.name,
            runs: found.records.len(),
            missing: found.missing.to_string(),
            missing_ids: found.missing_ids,
            tables: tables.into_iter().map(|(_, path)| path).collect(),
        }))
    }

    /// Puts the shards of an enumeration together.
    fn census(&self, settings: &GlobalArgs) -> Result<Merged, Error> {
        if self.partial {
            return Err(Error::Usage(
                "--partial: an enumeration is merged only when all of its parts are counted; leave the flag out"
                    .to_owned(),
            ));
        }
        if let Some(table) = &self.table {
            data_form(table)
                .map_err(|error| Error::Usage(format!("--table {}: {error}", table.display())))?;
        }
        let observer = Terminal::new();
        let context = Context::default()
            .with_memory(max_memory::available())
            .with_observer(&observer);
        let (census, tolerance, count) = census::collect(&self.directories, context)?;
        let threads = threads(settings.threads, usize::MAX);
        let found =
            CensusFindings::new(&census, count, &tolerance, threads, BARRIER_CAP, &observer)?;
        let stopped = || Error::Stopped("stopped while the barriers were measured".to_owned());
        let found = found.ok_or_else(stopped)?;
        let class = census.class().spec();
        if let Some(table) = &self.table {
            let Some(traps) = &found.traps else {
                return Err(Error::Usage(
                    "--table: with a --tolerance no traps are sought".to_owned(),
                ));
            };
            DataFile::create(table)?.write(&class, &trap_columns(traps))?;
        }
        Ok(Merged::Census {
            class,
            found: Box::new(found),
        })
    }

    /// The files to write.
    fn tables(&self) -> Result<Vec<(Form, PathBuf)>, Error> {
        let default = || self.directories[0].join("table");
        let out = self.table.clone().unwrap_or_else(default);
        match out.extension().and_then(|end| end.to_str()) {
            Some(end) => {
                let form = names::find(&Form::NAMES, end).map_err(|error| {
                    let path = out.display();
                    Error::Usage(format!("--table {path}: the extension {error}"))
                })?;
                Ok(vec![(form, out)])
            }
            None => Ok(Form::NAMES
                .map(|(end, form)| (form, out.with_extension(end)))
                .to_vec()),
        }
    }
}

fn incomplete(found: &Gathered) -> String {
    let ids = &found.missing_ids;
    let mut named = ids[..ids.len().min(NAMED)].join(", ");
    if ids.len() > NAMED {
        named += ", ..";
    }
    format!(
        "{} of {} runs are missing: {named}; `foldglass run` does them, --partial leaves them out",
        found.missing,
        found.missing + found.records.len() as u128
    )
}

/// What was merged.
#[derive(JsonSchema, Serialize)]
#[serde(untagged)]
pub enum Merged {
    /// A study.
    Study(Collected),
    /// An enumeration.
    Census {
        /// Of which class.
        #[serde(skip)]
        class: ClassSpec,
        /// What was found.
        #[serde(flatten)]
        found: Box<CensusFindings>,
    },
}

impl Report for Merged {
    fn class(&self) -> Option<ClassSpec> {
        match self {
            Merged::Study(_) => None,
            Merged::Census { class, .. } => Some(class.clone()),
        }
    }

    fn seed(&self) -> Option<u64> {
        match self {
            Merged::Study(collected) => Some(collected.seed),
            Merged::Census { .. } => None,
        }
    }

    fn settings(&self) -> Fields {
        let mut fields = Fields::new();
        if let Merged::Study(Collected { tables, .. }) = self {
            // Where no name is given, all forms are written, and differ in the extension.
            put(&mut fields, "table", tables[0].with_extension(""));
        }
        fields
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Merged::Study(collected) => collected.write_text(out),
            Merged::Census { found, .. } => write_found(found, out),
        }
    }
}

/// What was merged of a study.
#[derive(JsonSchema, Serialize)]
pub struct Collected {
    #[serde(skip)]
    seed: u64,
    study: String,
    runs: usize,
    /// How many runs are missing, and the first of them.
    missing: String,
    missing_ids: Vec<String>,
    tables: Vec<PathBuf>,
}

impl Collected {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "{} of {}",
            counted(self.runs as u128, "run"),
            self.study
        )?;
        if self.missing != "0" {
            writeln!(out, "{} missing (--json names the first)", self.missing)?;
        }
        let mut tables = self.tables.iter();
        tables.try_for_each(|path| writeln!(out, "{}", path.display()))
    }
}
