//! Samples codes from the Gibbs measure by Monte Carlo (paper, section 2.2 and G).
//!
//! J is the exact reward of a code; it is recorded after every sweep.

mod convergence;

use std::io::{self, Write};
use std::ops::Not;
use std::path::PathBuf;

use clap::Args;
use foldglass::dynamics::chain::Order;
use foldglass::model::policy::PolicyForm;
use foldglass::support::stats::Summary;
use foldglass::{Class, ClassSpec, Policy};
use foldglass_study::method::setting::find;
use foldglass_study::method::{Setting, put};
use foldglass_study::methods::chain::ChainResult;
use foldglass_study::tables::Source;
use foldglass_study::{Fields, Record};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::series::{
    self, FinishedSeries, JsonLines, Reported, real, record_every, reported, text,
};
use crate::cli::GlobalArgs;
use crate::error::Error;
use crate::flags::method::{MethodArgs, MethodFlags};
use crate::flags::table::one_code;
use crate::flags::{ClassArgs, count};
use crate::output::Report;
use crate::progress::say;
use crate::report::{Cell, Format, Table};
use crate::summary;
use convergence::{ChainMemory, Convergence, spacing};

/// The flags of `chain`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  foldglass chain --task quasigroup --lengths 8 --tau 1e-13 --sweeps 6000 --runs 60
      Monte Carlo near zero temperature: 60 chains, all of which reach reward 1.
  foldglass chain --task parity --lengths 6 --inputs markov:9/10 --tau 0 --runs 128 --json > chains.json
      Quenches whose codes `certify` takes.")]
pub struct ChainArgs {
    #[command(flatten)]
    method: MethodArgs<MonteCarlo>,
    /// Independent chains
    #[arg(short, long, alias = "chains", value_name = "N", default_value = "1", value_parser = count)]
    #[arg(allow_negative_numbers = true)]
    runs: u64,
    /// Write J after every sweep to this file as JSON Lines, one line per chain: {"chain":..,
    /// "denominator":"..","rewards":["..",..]}, the rewards as numerators (of a ladder, the coldest)
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Write how often each cell had each action, over the second half of the sweeps of all chains,
    /// to this file, as a policy
    #[arg(long, value_name = "FILE")]
    marginals: Option<PathBuf>,
    #[command(flatten)]
    class: ClassArgs,
}

/// Kind `chain`.
#[derive(Debug, Clone)]
struct MonteCarlo;

impl MethodFlags for MonteCarlo {
    const SETTINGS: &'static [Setting] = foldglass_study::methods::chain::SETTINGS;
    // Codes are always reported, marginals by `--marginals FILE`; the others make chains of several
    // lengths, whose draws are not compared.
    const WITHOUT: &'static [&'static str] = &[
        "keep_code",
        "keep_marginals",
        "stop_when_stationary",
        "stop_at_optimum",
        "checkpoints",
    ];
    const EARLIER: &'static [(&'static str, &'static str)] = &[];
}

impl ChainArgs {
    /// Runs the chains.
    pub fn run(&self, settings: &GlobalArgs) -> Result<ChainReport, Error> {
        let mut fields = self.method.fields();
        let every = self.spacing(&mut fields)?;
        // Made before the long part, so that a wrong path is known at once.
        let record = self.record.as_deref().map(JsonLines::create).transpose()?;
        let marginals = self
            .marginals
            .as_deref()
            .map(JsonLines::create)
            .transpose()?;
        let class = match self.method.text("start").map(Source::from) {
            None => self.class.class()?,
            Some(source) => {
                let (class, code) = one_code(&source, &self.class)?;
                put(&mut fields, "start", json!({ "actions": code.actions() }));
                class
            }
        };
        self.explain_order(&class);
        let series = series::run("chain", fields, self.runs, &class, &self.class, settings);
        let series = series.map_err(series::without_place)?;
        let found = Convergence::of(&series, every);
        let (convergence, memories) = found.unzip();
        if let Some(file) = record {
            write_record(file, &series, every)?;
        }
        if let Some(file) = marginals {
            write_marginals(file, &class, &series)?;
        }
        Ok(ChainReport {
            convergence,
            tempering: Tempering::of(&series),
            interrupted: series.interrupted,
            chains: Chains {
                series,
                memories: memories.unwrap_or_default(),
            },
        })
    }

    /// Puts among the settings what is kept, and gives every how many sweeps J is.
    fn spacing(&self, fields: &mut Fields) -> Result<u64, Error> {
        put(fields, "keep_marginals", self.marginals.is_some());
        put(fields, "keep_code", true);
        let recorded = record_every(fields, self.record.is_some())?;
        if self.record.is_some() {
            return Ok(recorded);
        }
        let sweeps = find(MonteCarlo::SETTINGS, "sweeps");
        let default = sweeps.and_then(|setting| setting.default?.parse().ok());
        let sweeps = fields.get("sweeps").map_or(default, Value::as_u64);
        let every = spacing(
            sweeps.unwrap_or(1).max(1),
            self.runs,
            self.class.allowance().0,
        );
        // While temperatures change, no draw is like another: nothing is made of them.
        if !self.method.is_given("anneal") {
            put(fields, "record_every", every);
        }
        Ok(every)
    }

    /// Says when the order is not the usual one, and why.
    fn explain_order(&self, class: &Class) {
        if !self.method.is_given("order") && Order::of(class) == Order::Cell && !class.shape().tied
        {
            say(
                "step blocks are not exact at this length (rewards are finer than 52 bits): \
                 sweeps go by cells, as with --order cell",
            );
        }
    }
}

fn write_record(file: JsonLines, series: &FinishedSeries, every: u64) -> Result<(), Error> {
    let line = |record: &Record| {
        json!({
            "chain": record.run,
            "every": every,
            "denominator": record.result.get("denominator"),
            "rewards": record.result.get("trace"),
        })
    };
    file.write(series.records.iter().map(line))
}

/// Writes the share of each action at each cell, over all chains, as a policy.
fn write_marginals(file: JsonLines, class: &Class, series: &FinishedSeries) -> Result<(), Error> {
    let mut counts = vec![0u64; class.cells() * class.q()];
    for record in &series.records {
        let own = record.result.get("marginals").and_then(Value::as_array);
        let own = own.into_iter().flatten().filter_map(Value::as_u64);
        counts.iter_mut().zip(own).for_each(|(sum, n)| *sum += n);
    }
    let share = |row: &[u64]| -> Vec<f64> {
        let sum: u64 = row.iter().sum();
        row.iter().map(|&n| n as f64 / sum.max(1) as f64).collect()
    };
    let rows: Vec<Vec<f64>> = counts.chunks_exact(class.q()).map(share).collect();
    let policy = Policy::from_rows(class, &rows).map_err(|error| {
        Error::Failed(format!(
            "no chain was finished, so there are no marginals: {error}"
        ))
    })?;
    file.write([json!(PolicyForm::from(&policy))])
}

/// What the chains came to.
#[derive(JsonSchema, Serialize)]
pub struct ChainReport {
    #[serde(serialize_with = "listed")]
    #[schemars(with = "Vec<Chain<'_>>")]
    chains: Chains,
    #[serde(skip_serializing_if = "Option::is_none")]
    convergence: Option<Convergence>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tempering: Option<Tempering>,
    #[serde(skip_serializing_if = "Not::not")]
    interrupted: bool,
}

/// The chains, and how long each remembers, where that is known.
struct Chains {
    series: FinishedSeries,
    memories: Vec<ChainMemory>,
}

/// A chain in the JSON: the contract's keys.
#[derive(JsonSchema, Serialize)]
struct Chain<'a> {
    chain: u64,
    #[serde(flatten)]
    #[schemars(with = "ChainResult")]
    result: Reported<'a>,
    #[serde(flatten)]
    memory: Option<ChainMemory>,
}

/// Results that have files of their own, or stand under `tempering`.
const NOT_REPORTED: [&str; 6] = [
    "trace",
    "denominator",
    "marginals",
    "swap_rates",
    "round_trips",
    "mean_rewards",
];

/// The chains one by one: there may be many.
fn listed<S: Serializer>(chains: &Chains, serializer: S) -> Result<S::Ok, S::Error> {
    let list = chains.series.records.iter().enumerate();
    let list = list.map(|(number, record)| Chain {
        chain: record.run,
        result: reported(record, &NOT_REPORTED),
        memory: chains.memories.get(number).copied(),
    });
    serializer.collect_seq(list)
}

/// What the rungs of a ladder did.
#[derive(JsonSchema, Serialize)]
struct Tempering {
    ladder: Value,
    runs: Vec<Rungs>,
}

/// What they did in one run.
#[derive(JsonSchema, Serialize)]
struct Rungs {
    mean_rewards: Option<Value>,
    round_trips: Option<Value>,
    swap_rates: Option<Value>,
}

impl Tempering {
    fn of(series: &FinishedSeries) -> Option<Tempering> {
        let ladder = series.settings.get("ladder")?.clone();
        let run = |record: &Record| {
            let part = |key| record.result.get(key).cloned();
            Rungs {
                mean_rewards: part("mean_rewards"),
                round_trips: part("round_trips"),
                swap_rates: part("swap_rates"),
            }
        };
        Some(Tempering {
            ladder,
            runs: series.records.iter().map(run).collect(),
        })
    }

    /// A line for each rung, averaged over the runs; and the round trips of all.
    fn table(&self) -> Option<(Table, u64)> {
        let ladder = self.ladder.as_array()?;
        let mean = |of: fn(&Rungs) -> &Option<Value>, rung: usize| {
            let of = |run: &Rungs| of(run).as_ref()?.as_array()?.get(rung)?.as_f64();
            let values: Vec<f64> = self.runs.iter().filter_map(of).collect();
            Cell::or_missing(Summary::of(&values).map(|summary| summary.mean))
        };
        let row = |(rung, tau): (usize, &Value)| {
            [
                rung.into(),
                tau.as_f64().unwrap_or(f64::NAN).into(),
                mean(|run| &run.mean_rewards, rung),
                mean(|run| &run.swap_rates, rung),
            ]
        };
        let table = Table::of_numbers(["rung", "tau", "mean J", "swaps with the next"]);
        let trips = self.runs.iter();
        let trips = trips.filter_map(|run| run.round_trips.as_ref()?.as_u64());
        Some((table.rows(ladder.iter().enumerate().map(row)), trips.sum()))
    }
}

impl ChainReport {
    /// A line for each chain, up to so many.
    fn table(&self, most: usize) -> Table {
        let heads = [
            "chain",
            "J",
            "exact",
            "mean J",
            "stationary after",
            "autocorrelation",
            "effective",
        ];
        let row = |(number, record): (usize, &Record)| {
            let stationary = record.result.get("sweeps_to_stationary");
            let memory = self.chains.memories.get(number);
            [
                record.run.into(),
                real(record, "reward").into(),
                Cell::Exact(text(record, "reward_exact")),
                real(record, "mean_reward").into(),
                Cell::or_missing(stationary.and_then(Value::as_u64)),
                Cell::or_missing(memory.and_then(|memory| memory.time)),
                Cell::or_missing(memory.and_then(|memory| memory.size)),
            ]
        };
        let chains = self.chains.series.records.iter().enumerate().take(most);
        Table::of_numbers(heads).rows(chains.map(row))
    }
}

impl Report for ChainReport {
    fn class(&self) -> Option<ClassSpec> {
        Some(self.chains.series.class.clone())
    }

    fn settings(&self) -> Fields {
        self.chains.series.settings.clone()
    }

    fn tables(&self, _: Format) -> Vec<Table> {
        let mut tables = vec![self.table(usize::MAX)];
        let tempering = self.tempering.as_ref().and_then(Tempering::table);
        tables.extend(tempering.map(|(table, _)| table));
        tables
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Chains { series, memories } = &self.chains;
        let times = memories.iter().filter_map(|memory| memory.time).collect();
        let quantities = [
            ("reward J", series.numbers("reward")),
            ("mean J, second half", series.numbers("mean_reward")),
            (
                "sweeps to stationary",
                series.numbers("sweeps_to_stationary"),
            ),
            ("autocorrelation time", times),
        ];
        let known = quantities
            .into_iter()
            .filter(|(_, values)| !values.is_empty());
        summary::write(out, &known.collect::<Vec<_>>())?;
        let count = series.records.len();
        writeln!(
            out,
            "J exactly 1: {}/{count}",
            series.at_one("reward_exact")
        )?;
        let after = series
            .settings
            .get("stationary_after")
            .and_then(Value::as_u64);
        let after = after.unwrap_or_default();
        writeln!(
            out,
            "a chain is stationary once J has not changed for {after} sweeps"
        )?;
        if let Some(convergence) = &self.convergence {
            convergence.write_text(out)?;
        }
        writeln!(out)?;
        self.table(summary::LISTED)
            .cut(count, "--json")
            .write_text(out)?;
        if let Some((table, trips)) = self.tempering.as_ref().and_then(Tempering::table) {
            writeln!(out)?;
            table.write_text(out)?;
            writeln!(out, "round trips: {trips}")?;
        }
        Ok(())
    }

    fn interrupted(&self) -> bool {
        self.interrupted
    }
}
