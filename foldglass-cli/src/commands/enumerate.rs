//! Visits every code of an untied class (paper, App. G.6).

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use foldglass::support::exact;
use foldglass::support::memory::Bytes;
use foldglass::{Allowance, ClassSpec, Reward};
use foldglass_study::census::{
    BARRIER_CAP, CensusFindings, CensusOptions, CensusPlan, Counted, TrapKind, Traps, count,
    forecast,
};
use foldglass_study::parallel::threads;
use foldglass_study::{DataFile, RecordColumn, Shard, Values};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::series::JsonLines;
use crate::cli::GlobalArgs;
use crate::error::Error;
use crate::flags::{ClassArgs, data_path, positive, shard};
use crate::output::{Report, number};
use crate::progress::{Terminal, about};
use crate::report::{Cell, Column, Format, Table};

/// The flags of `enumerate`.
// `--tied` is read, to be refused with the reason, and not offered.
#[derive(Debug, Args)]
#[command(mut_arg("tied", |arg| arg.hide(true)))]
#[command(after_help = "Examples:
  foldglass enumerate --task parity --lengths 6 --inputs markov:9/10
      All 4,194,304 codes: optima, local maxima, traps and their barriers.
  foldglass enumerate --task z:3 --lengths 3 --dry-run
      Time and memory of a count, without starting it.")]
pub struct EnumerateArgs {
    /// Count a change of the reward by up to this as none (exactly: 1e-6, 1/1000); traps are then
    /// not sought
    #[arg(long, value_name = "REWARD", default_value = "0", value_parser = tolerance)]
    #[arg(allow_negative_numbers = true)]
    tolerance: Reward,
    /// The directory of the finished parts; the same command resumes it
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Count one share of the parts, such as 2/8; `collect` puts them together
    #[arg(long, value_name = "I/N", default_value = "1/1", value_parser = shard, requires = "out")]
    #[arg(allow_hyphen_values = true)]
    shard: Shard,
    /// Write a code of every trap, up to the names of tokens, for `certify`
    #[arg(long, value_name = "FILE")]
    traps: Option<PathBuf>,
    /// Write a row per trap, up to the names of tokens, to this file: .csv or .parquet
    #[arg(long, value_name = "FILE", value_parser = data_path)]
    table: Option<PathBuf>,
    /// The most codes that the search of a barrier visits
    #[arg(long, alias = "barrier-cap", value_name = "N", default_value_t = BARRIER_CAP)]
    #[arg(value_parser = positive, allow_negative_numbers = true)]
    max_codes: usize,
    /// Print how many codes there are, in how many parts, and the memory and time that a count needs
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    class: ClassArgs,
}

fn tolerance(text: &str) -> Result<Reward, String> {
    let number = exact::parse(text).map_err(|error| error.to_string())?;
    if exact::lowest_terms(&number).starts_with('-') {
        return Err("a tolerance is at least 0".to_owned());
    }
    Ok(number.into())
}

impl EnumerateArgs {
    /// Counts.
    pub fn run(&self, settings: &GlobalArgs) -> Result<Enumerated, Error> {
        for (flag, asked) in [("--traps", &self.traps), ("--table", &self.table)] {
            if asked.is_some() && !self.tolerance.is_zero() {
                return Err(Error::Usage(format!(
                    "{flag}: with a --tolerance no traps are sought"
                )));
            }
            if asked.is_some() && self.shard.of > 1 {
                return Err(Error::Usage(format!(
                    "{flag}: share {} knows the traps of its own parts alone; once all are counted, `foldglass \
                     collect DIR --table FILE` writes those of all",
                    self.shard.label()
                )));
            }
        }
        let class = self.class.class()?;
        let mut options = CensusOptions::default();
        options.out = self.out.clone();
        options.shard = self.shard;
        options.threads = threads(settings.threads, usize::MAX);
        options.allowance = self.class.allowance();
        options.barrier_cap = self.max_codes;
        let plan = CensusPlan::new(&class, &self.tolerance, &options)?;
        let done = if self.dry_run {
            self.forecast(plan)?
        } else {
            // Made before the long part, so that a wrong path is known at once.
            let traps = self.traps.as_deref().map(JsonLines::create).transpose()?;
            let table = self.table.as_deref().map(DataFile::create).transpose()?;
            let done = self.count(plan, &options)?;
            if let Done::Found(found) = &done {
                if let Some(file) = traps {
                    write_traps(file, &class.spec(), found)?;
                }
                if let (Some(file), Some(traps)) = (table, &found.traps) {
                    file.write(&class.spec(), &trap_columns(traps))?;
                }
            }
            done
        };
        Ok(Enumerated {
            class: class.spec(),
            done,
        })
    }

    /// What a share of it would take, one of so many, on so many threads and within so much memory.
    pub fn shares(
        &self,
        threads: usize,
        allowance: Allowance,
        of: usize,
    ) -> Result<EnumerationShare, Error> {
        let class = self.class.class()?;
        let shard = Shard { number: 1, of };
        let mut options = CensusOptions::default();
        options.shard = shard;
        options.threads = threads;
        options.allowance = allowance;
        options.barrier_cap = self.max_codes;
        let plan = CensusPlan::new(&class, &self.tolerance, &options)?;
        let said = forecast(plan, shard, f64::INFINITY, &Terminal::new());
        let said = said.ok_or_else(stopped_trial)?;
        Ok(EnumerationShare {
            parts: said.parts,
            seconds: said.seconds,
            memory_bytes: u64::try_from(said.bytes).unwrap_or(u64::MAX),
        })
    }

    /// Tries some parts out.
    fn forecast(&self, plan: CensusPlan) -> Result<Done, Error> {
        let (cells, codes) = (plan.survey().class().cells(), plan.survey().codes());
        let threads = plan.threads;
        let said = forecast(plan, self.shard, f64::INFINITY, &Terminal::new());
        let said = said.ok_or_else(stopped_trial)?;
        Ok(Done::Forecast {
            cells,
            codes: codes.to_string(),
            parts: said.parts,
            threads,
            memory_bytes: u64::try_from(said.bytes).unwrap_or(u64::MAX),
            seconds: said.seconds,
            at_least: said.at_least,
        })
    }

    fn count(&self, plan: CensusPlan, options: &CensusOptions) -> Result<Done, Error> {
        let observer = Terminal::new();
        let threads = plan.threads;
        match count(plan, options, &observer)? {
            Counted::Whole(census, count) => {
                let cap = self.max_codes;
                let found = CensusFindings::new(&census, count, &self.tolerance, threads, cap, &observer)?;
                found
                    .map(|found| Done::Found(Box::new(found)))
                    .ok_or_else(|| {
                        let said =
                            "stopped while the barriers were measured: all parts are counted";
                        Error::Stopped(said.to_owned())
                    })
            }
            Counted::Shard => Ok(Done::Shard {
                shard: self.shard.label(),
                out: self.out.clone().unwrap_or_default(),
            }),
            Counted::Unbegun => Err(Error::Stopped(
                "stopped while prefixes were merged, before anything was counted: the same command \
                 resumes from the beginning"
                    .to_owned(),
            )),
            Counted::Stopped { parts, of } => Err(Error::Stopped(match &self.out {
                Some(out) => format!(
                    "stopped: {parts} of {of} parts are recorded in {}; the same command \
                     resumes the count",
                    out.display()
                ),
                None => format!(
                    "stopped after {parts} of {of} parts, which are not kept: with --out DIR they \
                     are, and the same command resumes the count"
                ),
            })),
        }
    }
}

fn stopped_trial() -> Error {
    Error::Stopped("stopped while some parts were tried out".to_owned())
}

/// A share of an enumeration.
pub struct EnumerationShare {
    /// The parts of all shares.
    pub parts: usize,
    /// About the time that it takes, the barriers of the traps aside.
    pub seconds: f64,
    /// The most that all threads take.
    pub memory_bytes: u64,
}

/// Writes the codes with their class, as `certify` reads them.
fn write_traps(file: JsonLines, class: &ClassSpec, found: &CensusFindings) -> Result<(), Error> {
    let codes = found.traps.iter().flat_map(|traps| &traps.codes);
    let codes: Vec<Value> = codes
        .map(|code| json!({ "actions": code.actions() }))
        .collect();
    file.write([json!({ "class": class, "codes": codes })])
}

/// A row per trap, up to the names of tokens.
pub(super) fn trap_columns(traps: &Traps) -> Vec<RecordColumn> {
    let kinds = || traps.kind_of.iter();
    let shelves = traps
        .shelf_of
        .iter()
        .map(|&shelf| i64::try_from(shelf).ok());
    let mut columns = vec![RecordColumn::new("shelf", Values::Whole(shelves.collect()))];
    let of = |kind: &'_ TrapKind| Some(kind.count);
    columns.extend(RecordColumn::exact(
        "reward",
        kinds().map(|kind| Some(&kind.reward)),
    ));
    columns.extend(RecordColumn::exact(
        "barrier",
        kinds().map(|kind| kind.barrier.as_ref()),
    ));
    columns.extend(RecordColumn::exact(
        "largest_loss",
        kinds().map(|kind| kind.loss.as_ref()),
    ));
    columns.push(RecordColumn::counts("count", kinds().map(of)));
    let codes = traps.codes.iter().map(|code| Some(code.actions()));
    columns.push(RecordColumn::codes("actions", codes));
    columns
}

/// What `enumerate` did or would do, on which class.
#[derive(JsonSchema, Serialize)]
pub struct Enumerated {
    #[serde(skip)]
    class: ClassSpec,
    #[serde(flatten)]
    done: Done,
}

/// What `enumerate` did or would do.
#[derive(JsonSchema, Serialize)]
#[serde(untagged)]
enum Done {
    /// All codes are counted.
    Found(Box<CensusFindings>),
    /// A shard is counted, and others are not.
    Shard { shard: String, out: PathBuf },
    /// Nothing.
    Forecast {
        cells: usize,
        codes: String,
        /// Parts to count.
        parts: usize,
        threads: usize,
        /// The most that all threads take, the traps and their shelves aside.
        memory_bytes: u64,
        /// About the time that all threads take, the barriers of the traps aside.
        seconds: f64,
        /// Whether it may well be longer: not enough parts could be tried out.
        at_least: bool,
    },
}

impl Report for Enumerated {
    fn class(&self) -> Option<ClassSpec> {
        Some(self.class.clone())
    }

    fn tables(&self, _: Format) -> Vec<Table> {
        match &self.done {
            Done::Found(found) => found.traps.iter().map(traps_table).collect(),
            _ => Vec::new(),
        }
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        match &self.done {
            Done::Found(found) => write_found(found, out),
            Done::Shard {
                shard,
                out: directory,
            } => {
                let directory = directory.display();
                writeln!(out, "shard {shard} is counted in {directory}")?;
                writeln!(
                    out,
                    "when all are, `foldglass collect {directory} ..`, with the directories of all \
                     shards, puts them together"
                )
            }
            Done::Forecast {
                cells,
                codes,
                parts,
                threads,
                memory_bytes,
                seconds,
                at_least,
            } => {
                writeln!(out, "cells    {cells}")?;
                writeln!(out, "codes    {}", grouped(codes))?;
                writeln!(out, "parts    {parts}")?;
                let memory = Bytes::of(u128::from(*memory_bytes));
                writeln!(
                    out,
                    "memory   at most {memory} on {threads} threads, the traps and their shelves aside"
                )?;
                let least = if *at_least { "at least " } else { "" };
                let time = about(*seconds);
                writeln!(
                    out,
                    "time     {least}{time}, the barriers of the traps aside"
                )
            }
        }
    }
}

/// A count as a person reads it.
pub fn grouped(digits: &str) -> String {
    let number = digits.parse::<foldglass::support::exact::UBig>();
    number.map_or(digits.to_owned(), |number| Cell::Large(number).text())
}

/// Writes what a census found.
pub fn write_found(found: &CensusFindings, out: &mut dyn Write) -> io::Result<()> {
    let large = |count: u128| Cell::Large(count.into()).text();
    writeln!(out, "cells         {}", found.cells)?;
    writeln!(out, "codes         {}", grouped(&found.codes))?;
    writeln!(out, "optimal       {}", large(found.optimal))?;
    let tolerance = match found.tolerance.is_zero() {
        true => String::new(),
        false => format!(" (changes up to {} count as none)", found.tolerance),
    };
    writeln!(
        out,
        "local maxima  {}{tolerance}",
        large(found.local_maxima)
    )?;
    let Some(traps) = &found.traps else {
        return writeln!(out, "traps         not sought: a tolerance is set");
    };
    let shelves = match traps.shelves {
        0 => String::new(),
        1 => " (1 shelf, up to the names of tokens)".to_owned(),
        n => format!(" ({n} shelves, up to the names of tokens)"),
    };
    writeln!(out, "traps         {}{shelves}", large(traps.count()))?;
    if traps.kinds.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    traps_table(traps).write_text(out)
}

fn traps_table(traps: &Traps) -> Table {
    let value = |value: Option<&Reward>| match value {
        Some(value) => Cell::from(format!("{value} = {}", number(value.to_f64()))),
        None => Cell::from("unknown: --max-codes reached"),
    };
    let columns = [
        Column::numbers("traps"),
        Column::words("reward"),
        Column::words("barrier"),
        Column::words("largest single loss on the best way out").key("largest_loss"),
    ];
    let rows = traps.kinds.iter().map(|kind| {
        [
            Cell::Large(kind.count.into()),
            value(Some(&kind.reward)),
            value(kind.barrier.as_ref()),
            value(kind.loss.as_ref()),
        ]
    });
    Table::new(columns).rows(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tolerance_is_exact_and_not_negative() {
        let text = |given: &str| tolerance(given).map(|number| number.to_string());
        assert_eq!(text("1e-6"), Ok("1/1000000".to_owned()));
        assert_eq!(text("0"), Ok("0/1".to_owned()));
        for bad in ["-1", "", "x", "nan"] {
            assert!(tolerance(bad).is_err(), "{bad}");
        }
    }
}
