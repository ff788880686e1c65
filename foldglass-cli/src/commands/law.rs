//! States the laws of the traps of parity, which are theorems, with an example (docs/theorems.md).

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use dashu_int::UBig;
use foldglass::landscape::law::{Correlated, LawError, Lengths, TrapReward};
use foldglass::model::policy::CodeForm;
use foldglass::model::task::TaskError;
use foldglass::support::exact;
use foldglass::{ClassSpec, Code, ExactWeights, Reward};
use foldglass_study::claims;
use foldglass_study::words;
use schemars::JsonSchema;
use serde::Serialize;

use super::benign::{Counting, codes_of, count_traps};
use crate::cli::GlobalArgs;
use crate::error::Error;
use crate::flags::max_memory;
use crate::output::Report;
use crate::report::{Cell, Column, Format, Table};

/// The largest length whose rewards are listed without --all.
const LISTED: usize = 500;

/// Rows of rewards to print without --all.
const LISTED_ROWS: usize = 20;

/// The most cells of a class for which a census is forecast, and the seconds that one may take.
const CENSUS_CELLS: usize = 50;
const CENSUS_SECONDS: f64 = 2.0;

/// The flags of `law`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  foldglass law traps --lengths 8 --inputs markov:9/10 --out trap.json
      The number of traps of correlated parity, and one trap as a file.
  foldglass law lengths --lengths 2,3,4 --length-weights 4,2,1
      Several lengths: these weights leave no trap.")]
pub struct LawArgs {
    /// traps: parity of one length with correlated inputs, by --lengths and --inputs; lengths: parity of
    /// several lengths with uniform inputs, by --lengths and --length-weights
    #[arg(value_name = "traps|lengths")]
    which: TrapLaw,
    /// The length of the inputs, for traps: 8; the lengths, for lengths: 2,3,4
    #[arg(long, alias = "length", value_name = "T,..", value_parser = lengths)]
    #[arg(allow_negative_numbers = true)]
    lengths: List,
    /// The law of the inputs, for traps: markov:K, a symbol repeats with probability K
    #[arg(long, value_name = "markov:K", required_if_eq("which", "traps"))]
    inputs: Option<String>,
    /// For lengths: an exact weight above 0 for each, such as 1,2,4 or 1/2,1/3 [default: equal]
    #[arg(long, value_name = "W,..", value_parser = words::length_weights, allow_hyphen_values = true)]
    length_weights: Option<ExactWeights>,
    /// List the rewards however many there are
    #[arg(long)]
    all: bool,
    /// Write the example, a code that `certify` certifies as a trap
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TrapLaw {
    Traps,
    Lengths,
}

#[derive(Debug, Clone)]
struct List(Vec<usize>);

/// The longest length.
const LONGEST: usize = 100_000;

fn lengths(text: &str) -> Result<List, String> {
    let list = words::lengths(text)?;
    match list.iter().find(|&&n| n == 0 || n > LONGEST) {
        Some(length) => Err(format!("a length is from 1 to {LONGEST}, not {length}")),
        None => Ok(List(list)),
    }
}

fn usage(error: LawError) -> Error {
    Error::Usage(match &error {
        LawError::Task(TaskError::LengthWeights { .. }) => format!("--length-weights: {error}"),
        _ => error.to_string(),
    })
}

impl LawArgs {
    /// States the law.
    pub fn run(&self, settings: &GlobalArgs) -> Result<LawReport, Error> {
        let mut stated = match (self.which, &self.lengths.0[..]) {
            (TrapLaw::Traps, &[length]) => self.correlated(length)?,
            (TrapLaw::Traps, _) => {
                return Err(Error::Usage(
                    "--lengths: `law traps` takes one length, such as 8; for several use `law lengths`"
                        .to_owned(),
                ));
            }
            (TrapLaw::Lengths, lengths) => self.lengths(lengths)?,
        };
        stated.count(settings)?;
        if self.all {
            stated.shown = usize::MAX;
        }
        if let (Some(out), Some(code)) = (&self.out, &stated.code) {
            claims::write(out, code)?;
        }
        Ok(stated)
    }

    fn correlated(&self, length: usize) -> Result<LawReport, Error> {
        if self.length_weights.is_some() {
            let message =
                "--length-weights: `law traps` has one length; for several use `law lengths`";
            return Err(Error::Usage(message.to_owned()));
        }
        let inputs = self.inputs.as_deref().unwrap_or_default();
        let repeat = inputs.strip_prefix("markov:").ok_or_else(|| {
            Error::Usage(format!(
                "--inputs {inputs}: the law is about correlated inputs, markov:K such as markov:9/10"
            ))
        })?;
        let repeat = exact::parse(repeat)
            .map_err(|error| Error::Usage(format!("--inputs {inputs}: {error}")))?;
        let law = Correlated::new(length, &repeat).map_err(usage)?;
        let listed = self.all || length <= LISTED;
        Ok(LawReport::new(
            law.traps(),
            listed.then(|| law.rewards()),
            law.example(),
            law.spec(),
            4 * length - 2,
        ))
    }

    fn lengths(&self, lengths: &[usize]) -> Result<LawReport, Error> {
        if let Some(inputs) = &self.inputs {
            return Err(Error::Usage(format!(
                "--inputs {inputs}: `law lengths` is about uniform inputs; for correlated ones use `law traps`"
            )));
        }
        let weights = self.length_weights.as_ref();
        let mut sorted = lengths.to_vec();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Error::Usage(format!(
                "--lengths: length {} is given twice",
                pair[0]
            )));
        }
        let law = Lengths::new(lengths, weights).map_err(usage)?;
        let listed = self.all || lengths.len() <= LISTED;
        let rewards = listed.then(|| law.rewards()).transpose().map_err(usage)?;
        let longest = sorted[sorted.len() - 1];
        Ok(LawReport::new(
            law.traps().map_err(usage)?,
            rewards,
            law.example(),
            law.spec(),
            4 * longest - 2,
        ))
    }
}

#[derive(JsonSchema, Serialize)]
struct TrapRewardLine {
    reward: Reward,
    count: String,
    /// Positions, or lengths that are answered wrongly.
    ignored: usize,
    #[serde(rename = "ignored_changes", skip_serializing_if = "Option::is_none")]
    changes: Option<usize>,
}

/// What the law says.
#[derive(JsonSchema, Serialize)]
pub struct LawReport {
    traps: String,
    trap_rewards: Option<Vec<TrapRewardLine>>,
    /// How many a census counts, where the class is small.
    census_traps: Option<String>,
    /// Why they are not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    census_why: Option<String>,
    code: Option<CodeForm>,
    #[serde(skip)]
    spec: ClassSpec,
    #[serde(skip)]
    cells: usize,
    /// Rows to print.
    #[serde(skip)]
    shown: usize,
}

impl LawReport {
    fn new(
        traps: UBig,
        rewards: Option<Vec<TrapReward>>,
        code: Option<Code>,
        spec: ClassSpec,
        cells: usize,
    ) -> LawReport {
        let line = |line: TrapReward| TrapRewardLine {
            reward: line.reward,
            count: line.count.to_string(),
            ignored: line.ignored,
            changes: line.changes,
        };
        LawReport {
            traps: traps.to_string(),
            trap_rewards: rewards.map(|list| list.into_iter().map(line).collect()),
            census_traps: None,
            census_why: None,
            code: code.as_ref().map(CodeForm::from),
            spec,
            cells,
            shown: LISTED_ROWS,
        }
    }

    /// Counts all codes, or says why not.
    fn count(&mut self, settings: &GlobalArgs) -> Result<(), Error> {
        if self.cells > CENSUS_CELLS {
            self.census_why = Some(format!(
                "not counted: the class has {} cells, and a census is tried up to {CENSUS_CELLS}",
                self.cells
            ));
            return Ok(());
        }
        let class = self.spec.lay_out();
        let class = class.map_err(|error| Error::Usage(error.to_string()))?;
        let memory = max_memory::available();
        match count_traps(&class, settings, memory, CENSUS_SECONDS)? {
            Counting::Done { traps, .. } => self.census_traps = Some(traps.to_string()),
            Counting::Skipped { takes } => {
                let codes = codes_of(&class);
                self.census_why = Some(format!("not counted: visiting all {codes} codes {takes}"));
            }
        }
        Ok(())
    }

    /// Whether the traps are those of several lengths, which ignore no position.
    fn by_lengths(&self) -> bool {
        let mut lines = self.trap_rewards.iter().flatten();
        lines.all(|line| line.changes.is_none())
    }

    fn table(&self, shown: usize) -> Table {
        let lines = || self.trap_rewards.iter().flatten();
        let changes = !self.by_lengths();
        let mut columns = vec![
            Column::numbers("reward"),
            Column::numbers("traps"),
            Column::numbers(if changes {
                "positions ignored"
            } else {
                "lengths wrong"
            })
            .key("ignored"),
        ];
        if changes {
            columns.push(Column::numbers("changes ignored").key("ignored_changes"));
        }
        let row = |line: &TrapRewardLine| {
            let count = line.count.parse().expect("digits");
            let mut row = vec![
                Cell::from(&line.reward),
                Cell::Large(count),
                line.ignored.into(),
            ];
            row.extend(line.changes.map(Cell::from));
            row
        };
        Table::new(columns)
            .rows(lines().take(shown).map(row))
            .cut(lines().count(), "--all")
    }
}

impl Report for LawReport {
    fn class(&self) -> Option<ClassSpec> {
        Some(self.spec.clone())
    }

    fn tables(&self, _: Format) -> Vec<Table> {
        vec![self.table(usize::MAX)]
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let traps = Cell::Large(self.traps.parse().expect("digits")).text();
        let rounded = if traps.contains('e') {
            " (rounded; --json has every digit)"
        } else {
            ""
        };
        writeln!(out, "traps    {traps} by the theorem{rounded}")?;
        if let Some(census) = &self.census_traps {
            writeln!(out, "census   {census} counted")?;
        }
        if let Some(why) = &self.census_why {
            writeln!(out, "census   {why}")?;
        }
        match &self.trap_rewards {
            Some(lines) if lines.is_empty() => Ok(()),
            Some(_) => {
                writeln!(out)?;
                let table = self.table(self.shown);
                table.write_text(out)?;
                let ignored = match self.by_lengths() {
                    true => {
                        "lengths wrong: lengths at which every answer is wrong; at the others every answer is right"
                    }
                    false => "positions ignored: symbols that the answer does not depend on",
                };
                writeln!(
                    out,
                    "\n{ignored}\n--out writes a trap of the first row, for `certify`."
                )
            }
            None => writeln!(out, "--all lists them by reward"),
        }
    }
}
