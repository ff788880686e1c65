//! Decides every statement of the paper from records, and from small computations of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use foldglass_study::disk::remove_unfinished;
use foldglass_study::parallel::threads;
use schemars::JsonSchema;
use serde::Serialize;

use crate::claims::{
    Bench, DecidedStatement, Probes, ReproductionFacts, StatementVerdict, rows, table,
};
use crate::cli::GlobalArgs;
use crate::error::Error;
use crate::flags::max_memory;
use crate::output::Report;
use crate::progress::Terminal;
use crate::report::{Format, Table};
use crate::reproduce::studies::Scale;
use crate::reproduce::{Records, ReproductionManifest, compare, items};

/// The flags of `claims`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  foldglass claims --from reproduction
      Every statement of the paper with its verdict.
  foldglass claims --from reproduction --verdict contradicted
      Only contradicted statements.")]
pub struct ClaimsArgs {
    /// The directory that `reproduce --out` left, whose records are read; the command's own
    /// records are added to it [default: reproduction, or else reproduction-quick or
    /// reproduction-smoke]
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    /// Small computations only, for a smoke test
    #[arg(long)]
    smoke: bool,
    /// Run nothing: decide from existing records
    #[arg(long)]
    records_only: bool,
    /// Only statements whose id or section contains this
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Only statements with this verdict: holds, in-part, contradicted or undecided (the words of
    /// earlier versions, shown, refuted and open, are taken too)
    #[arg(long, value_name = "VERDICT", value_parser = verdict)]
    verdict: Option<StatementVerdict>,
}

fn verdict(text: &str) -> Result<StatementVerdict, String> {
    StatementVerdict::of(text).ok_or_else(|| {
        let words = StatementVerdict::ALL.map(StatementVerdict::word);
        format!("accepted: {}", words.join(", "))
    })
}

impl ClaimsArgs {
    /// Does what is missing, and decides.
    pub fn run(&self, settings: &GlobalArgs) -> Result<Claimed, Error> {
        let (scale, default) = if self.smoke {
            (Scale::Smoke, Scale::Smoke.directory().into())
        } else {
            (Scale::Full, ReproductionManifest::default_directory())
        };
        let directory = self.from.clone().unwrap_or(default);
        // The records of a reproduction say at which scale and seed they are gone on with.
        let (scale, seed) = match ReproductionManifest::find(&directory)? {
            Some(manifest) => (manifest.scale, manifest.seed),
            None if self.from.is_some() => return Err(ReproductionManifest::missing(&directory)),
            None => (scale, settings.seed),
        };
        if !self.records_only {
            let bench = Bench {
                directory: directory.clone(),
                scale,
                seed,
                threads: threads(settings.threads, usize::MAX),
                allowance: max_memory::available(),
                observer: Terminal::new(),
            };
            remove_unfinished(&directory.join("claims"));
            bench.run()?;
        }
        let records = Records::read(&directory, items::all())?;
        let comparison = compare(&records, &[])?;
        let probes = Probes::read(&directory)?;
        let facts = ReproductionFacts {
            records: &records,
            comparison: &comparison,
            probes: &probes,
        };
        let mut rows = rows(&facts)?;
        let lacking: Vec<String> = rows.iter().filter_map(|row| row.made_by.clone()).collect();
        rows.retain(|row| {
            let named = |text: &String| row.id.contains(text) || row.section.contains(text);
            self.only.as_ref().is_none_or(named)
                && self.verdict.is_none_or(|verdict| verdict == row.verdict)
        });
        Ok(Claimed {
            seed,
            scale,
            directory,
            damaged_lines: records.damaged().into_iter().collect(),
            claims: rows,
            lacking,
        })
    }
}

/// The statements, decided.
#[derive(JsonSchema, Serialize)]
pub struct Claimed {
    #[serde(skip)]
    seed: u64,
    scale: Scale,
    directory: PathBuf,
    /// Lines of studies that were damaged, and so left out, by the study.
    damaged_lines: BTreeMap<&'static str, usize>,
    claims: Vec<DecidedStatement>,
    /// What would make the records of each statement that is undecided because they are missing.
    #[serde(skip)]
    lacking: Vec<String>,
}

impl Claimed {
    /// The commands that make all missing records: items beyond the paper are run only when they are named.
    fn remedies(&self) -> Vec<String> {
        let beyond = |made_by: &&String| made_by.starts_with("reproduce ext:");
        let (named, others): (Vec<&String>, Vec<&String>) = self.lacking.iter().partition(beyond);
        let whole = (!others.is_empty()).then(|| "reproduce".to_owned());
        let named: BTreeSet<&String> = named.into_iter().collect();
        let smoke = if self.scale == Scale::Smoke {
            " --smoke"
        } else {
            ""
        };
        let place = self.directory.display();
        let commands = whole.into_iter().chain(named.into_iter().cloned());
        commands
            .map(|command| format!("`foldglass {command}{smoke} --out {place}`"))
            .chain([format!("`foldglass claims --from {place}`")])
            .collect()
    }
}

/// The width of a text.
const WIDTH: usize = 100;

/// Writes a text in lines, each indented.
fn write_wrapped(out: &mut dyn Write, indent: &str, text: &str) -> io::Result<()> {
    let mut line = indent.to_owned();
    for word in text.split(' ') {
        if line.len() > indent.len() && line.len() + 1 + word.len() > WIDTH {
            writeln!(out, "{line}")?;
            line = indent.to_owned();
        }
        if line.len() > indent.len() {
            line.push(' ');
        }
        line += word;
    }
    writeln!(out, "{line}")
}

impl Report for Claimed {
    fn seed(&self) -> Option<u64> {
        Some(self.seed)
    }

    fn tables(&self, _: Format) -> Vec<Table> {
        vec![table::of(&self.claims)]
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut section = "";
        for row in &self.claims {
            if row.section != section {
                section = row.section;
                writeln!(out, "{section}\n")?;
            }
            writeln!(out, "  {}: {}", row.id, row.verdict.words().to_uppercase())?;
            write_wrapped(out, "    ", row.statement)?;
            write_wrapped(out, "    = ", &row.evidence)?;
            writeln!(out, "    $ foldglass {}\n", row.command)?;
        }
        table::summary(&self.claims).write_text(out)?;
        writeln!(
            out,
            "\nfrom the records in {} ({} scale)",
            self.directory.display(),
            self.scale.name()
        )?;
        for (study, lines) in &self.damaged_lines {
            let lines = match lines {
                1 => "1 line is".to_owned(),
                many => format!("{many} lines are"),
            };
            writeln!(
                out,
                "study {study}: {lines} damaged and left out; `foldglass reproduce` makes such runs again"
            )?;
        }
        if !self.lacking.is_empty() {
            let statements = match self.lacking.len() {
                1 => "1 statement is".to_owned(),
                many => format!("{many} statements are"),
            };
            let commands = self.remedies().join(", then ");
            writeln!(
                out,
                "{statements} undecided because records are missing: run {commands}"
            )?;
        }
        Ok(())
    }
}
