//! Visits every code of an untied class (paper, App. G.6).

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use foldglass::class::bytes;
use foldglass::exact::{lowest_terms, parse};
use foldglass::landscape::census::Census;
use serde::Serialize;

use crate::census::{Found, Options, execute, grouped_digits};
use crate::cli::Settings;
use crate::error::Error;
use crate::flags::{ClassArgs, positive, shard};
use crate::output::Report;
use crate::progress;
use crate::study::Shard;

/// The flags of `enumerate`.
#[derive(Debug, Args)]
pub struct EnumerateArgs {
    /// Count a change of the reward by up to this as none (exactly: 1e-6, 1/1000); traps are then
    /// not sought
    #[arg(long, value_name = "REWARD", default_value = "0", value_parser = tolerance)]
    #[arg(allow_negative_numbers = true)]
    tolerance: String,
    /// The directory of the finished parts; the same command goes on from there
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Count one share of the parts, such as 2/8; `collect` puts them together
    #[arg(long, value_name = "I/N", default_value = "1/1", value_parser = shard, requires = "out")]
    #[arg(allow_hyphen_values = true)]
    shard: Shard,
    /// Write a code of every trap, up to the names of tokens, for `certify`
    #[arg(long, value_name = "FILE")]
    traps: Option<PathBuf>,
    /// Give a barrier up when this many codes are known
    #[arg(long, value_name = "N", default_value_t = BARRIER_CAP, value_parser = positive)]
    #[arg(allow_negative_numbers = true)]
    barrier_cap: usize,
    /// Say how many codes there are, in how many parts, and the memory they take
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    class: ClassArgs,
}

/// The most codes that are kept to find a barrier.
pub const BARRIER_CAP: usize = 4_000_000;

fn tolerance(text: &str) -> Result<String, String> {
    let number = parse(text).map_err(|error| error.to_string())?;
    let text = lowest_terms(&number);
    match text.starts_with('-') {
        false => Ok(text),
        true => Err("a tolerance is at least 0".to_owned()),
    }
}

impl EnumerateArgs {
    /// Counts.
    pub fn run(&self, settings: &Settings) -> Result<Done, Error> {
        if self.traps.is_some() && self.tolerance != "0/1" {
            return Err(Error::Usage(
                "--traps: with a --tolerance no traps are sought".to_owned(),
            ));
        }
        let class = self.class.class(settings.seed)?;
        let allowance = self.class.allowance();
        let exact = parse(&self.tolerance).expect("it was read");
        let mut census = Census::new(&class, &exact, allowance)?;
        let options = Options {
            out: self.out.clone(),
            shard: self.shard,
            threads: progress::threads(settings.threads, usize::MAX),
            allowance,
            barrier_cap: self.barrier_cap,
        };
        if self.dry_run {
            let threads = options.threads(&census)?;
            return Ok(Done::Forecast {
                cells: class.cells(),
                codes: census.codes().to_string(),
                parts: census.parts(),
                threads,
                memory_bytes: (options.bytes(&census) * threads as u128).to_string(),
            });
        }
        let count = execute(&mut census, &self.tolerance, &options)?;
        match (count, &self.out) {
            (Some(count), _) => {
                let threads = options.threads(&census)?;
                let found = Found::new(&census, count, &self.tolerance, threads, self.barrier_cap)?;
                if let Some(path) = &self.traps {
                    write_traps(path, &census, &found)?;
                }
                Ok(Done::Found(Box::new(found)))
            }
            (None, Some(out)) => Ok(Done::Shard {
                shard: self.shard.label(),
                out: out.clone(),
            }),
            (None, None) => unreachable!("without --out all parts are counted"),
        }
    }
}

#[derive(Serialize)]
struct CodesFile {
    codes: Vec<CodeFile>,
}

#[derive(Serialize)]
struct CodeFile {
    actions: Vec<u16>,
}

fn write_traps(path: &Path, census: &Census, found: &Found) -> Result<(), Error> {
    let traps = found.traps.iter().flat_map(|traps| &traps.list);
    let code = |trap: &foldglass::landscape::census::Trap| CodeFile {
        actions: census.code(trap.code).actions().to_vec(),
    };
    let file = CodesFile {
        codes: traps.map(code).collect(),
    };
    let text = serde_json::to_vec(&file).expect("plain data");
    std::fs::write(path, text).map_err(|source| Error::Write {
        path: path.display().to_string(),
        source,
    })
}

/// What `enumerate` did or would do.
#[derive(Serialize)]
#[serde(untagged)]
pub enum Done {
    /// All codes are counted.
    Found(Box<Found>),
    /// A shard is counted, and others are not.
    Shard {
        /// Which.
        shard: String,
        /// Where.
        out: PathBuf,
    },
    /// Nothing.
    Forecast {
        /// Cells of the class.
        cells: usize,
        /// Codes of the class.
        codes: String,
        /// Parts to count.
        parts: usize,
        /// Threads.
        threads: usize,
        /// The most that all threads take, the traps and their shelves aside.
        memory_bytes: String,
    },
}

impl Report for Done {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Done::Found(found) => found.write_text(out),
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
            } => {
                writeln!(out, "cells    {cells}")?;
                writeln!(out, "codes    {}", grouped_digits(codes))?;
                writeln!(out, "parts    {parts}")?;
                let memory = bytes(memory_bytes.parse().ok());
                writeln!(
                    out,
                    "memory   at most {memory} on {threads} threads, the traps and their shelves aside"
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tolerance_is_exact_and_not_negative() {
        assert_eq!(tolerance("1e-6"), Ok("1/1000000".to_owned()));
        assert_eq!(tolerance("0"), Ok("0/1".to_owned()));
        for bad in ["-1", "", "x", "nan"] {
            assert!(tolerance(bad).is_err(), "{bad}");
        }
    }
}
