//! Samples codes from the Gibbs measure by Monte Carlo (paper, section 2.2 and G).
//!
//! J is the exact reward of a code; it is recorded after every sweep.

mod record;
mod walk;

use std::io::{self, Write};
use std::ops::Not;
use std::path::PathBuf;

use clap::Args;
use foldglass::chain::{self, ChainError, Kernel, Order, Schedule, TemperingError};
use foldglass::class::ClassError;
use foldglass::count::CountError;
use foldglass::stats::Summary;
use serde::Serialize;

use crate::cli::Settings;
use crate::error::Error;
use crate::files;
use crate::flags::{ClassArgs, names, positive, temperature};
use crate::output::Report;
use crate::progress::{self, Progress};
use crate::report::{Cell, Table};
use crate::summary;
use record::Record;
use walk::{Heat, Outcome, Plan, Tempered, Walk};

/// The flags of `chain`.
#[derive(Debug, Args)]
pub struct ChainArgs {
    /// How a cell is resampled: metropolis (a proposal uniform over all actions) or heat-bath (a
    /// draw from the conditional)
    #[arg(long, value_name = "KERNEL", value_parser = kernel)]
    kernel: Kernel,
    #[command(flatten)]
    heat: HeatArgs,
    /// Sweeps of each chain
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    sweeps: usize,
    /// Independent chains
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    chains: usize,
    /// A sweep's order: step (random steps, each as a block), forward (first step to last) or cell
    /// (a random permutation of the cells) [default: step, under --tied cell]
    #[arg(long, value_name = "ORDER", value_parser = order)]
    order: Option<Order>,
    /// Start from this code, {"actions":[..]}, in place of random ones; - reads stdin
    #[arg(long, value_name = "FILE", conflicts_with = "ladder")]
    start: Option<PathBuf>,
    /// Write J after every sweep to this file as JSON Lines, a chain a line: {"chain":..,
    /// "denominator":"..","rewards":["..",..]}, the rewards as numerators (of a ladder, the coldest)
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    #[command(flatten)]
    class: ClassArgs,
}

/// Exactly one of them says how hot the chains are.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct HeatArgs {
    /// The temperature, at least 0; at 0 no loss is accepted
    #[arg(long, value_name = "TAU", value_parser = temperature, allow_hyphen_values = true)]
    tau: Option<f64>,
    /// Another temperature each sweep: geometric:FROM,TO,SWEEPS or linear:FROM,TO,SWEEPS, then TO
    #[arg(long, value_name = "SCHEDULE", allow_hyphen_values = true)]
    anneal: Option<Schedule>,
    /// Parallel tempering: each chain a ladder of temperatures, the coldest first, that replicas
    /// swap; what is reported is the coldest
    #[arg(long, value_name = "T1,T2,..", value_parser = ladder, allow_hyphen_values = true)]
    ladder: Option<Ladder>,
}

/// What `--ladder` holds.
#[derive(Debug, Clone)]
struct Ladder(Vec<f64>);

fn ladder(text: &str) -> Result<Ladder, String> {
    let rungs: Result<Vec<f64>, String> = text.split(',').map(temperature).collect();
    match rungs {
        Ok(rungs) if rungs.is_sorted() => Ok(Ladder(rungs)),
        _ => Err("write temperatures of at least 0, the coldest first, such as 0,1e-3,1e-2".into()),
    }
}

impl HeatArgs {
    fn heat(&self) -> Heat {
        match (self.tau, self.anneal, &self.ladder) {
            (Some(tau), ..) => Heat::Schedule(Schedule::Constant(tau)),
            (_, Some(schedule), _) => Heat::Schedule(schedule),
            (_, _, Some(Ladder(ladder))) => Heat::Ladder(ladder.clone()),
            (None, None, None) => unreachable!("clap requires one of the three"),
        }
    }
}

fn kernel(text: &str) -> Result<Kernel, String> {
    names::find(&Kernel::NAMES, text)
}

fn order(text: &str) -> Result<Order, String> {
    names::find(&Order::NAMES, text)
}

impl ChainArgs {
    /// Runs the chains.
    pub fn run(&self, settings: &Settings) -> Result<Sampled, Error> {
        let class = self.class.class(settings.seed)?;
        let start = self.start.as_ref().map(|path| files::code(path, &class));
        let plan = Plan {
            class: &class,
            settings: self.settings(),
            start: start.transpose()?,
            seed: settings.seed,
            heat: self.heat.heat(),
            sweeps: self.sweeps,
            recorded: self.record.is_some(),
        };
        let groups = plan.groups(self.chains);
        let threads = progress::threads(settings.threads, groups.len());
        let probe = |each| plan.begin(groups[0].clone(), each).map(drop);
        let fit = progress::fitting(threads, self.class.allowance(), probe, lacks_memory);
        let (threads, each) = fit.map_err(|error| self.refuse(error))?;
        let mut record = self.record.as_deref().map(Record::create).transpose()?;
        let steps = self.chains as u64 * self.sweeps as u64;
        let progress = Progress::new(steps, "sweeps");
        let mut chains = Vec::with_capacity(self.chains);
        let mut tempered = Vec::new();
        let job = |number: usize| {
            let numbers = groups[number].clone();
            let begun = plan.begin(numbers.clone(), each);
            let chains = begun.map_err(|error| self.refuse(error))?;
            Ok(plan.finish(chains, numbers, &progress))
        };
        let take = |group: Vec<Walk>| {
            for walk in group {
                if let Some(record) = &mut record {
                    record.write(&walk)?;
                }
                chains.push(walk.outcome);
                tempered.extend(walk.tempered);
            }
            Ok(())
        };
        progress::in_order(threads, groups.len(), job, take)?;
        Ok(Sampled {
            interrupted: chains.len() < self.chains,
            chains,
            tempering: self.heat.ladder.clone().map(|Ladder(ladder)| Tempering {
                ladder,
                runs: tempered,
            }),
        })
    }

    fn settings(&self) -> chain::Settings {
        let default = if self.class.tied {
            Order::Cell
        } else {
            Order::Step
        };
        chain::Settings {
            kernel: self.kernel,
            order: self.order.unwrap_or(default),
        }
    }

    fn refuse(&self, error: TemperingError) -> Error {
        match out_of_memory(&error) {
            Some(error) => Error::Class(error.clone()),
            None => {
                let order = names::of(&Order::NAMES, self.settings().order);
                Error::Usage(format!("--order {order}: {error}"))
            }
        }
    }
}

fn out_of_memory(error: &TemperingError) -> Option<&ClassError> {
    match error {
        TemperingError::Chain(
            ChainError::Class(error) | ChainError::Count(CountError::TooLarge(error)),
        ) => Some(error),
        _ => None,
    }
}

fn lacks_memory(error: &TemperingError) -> bool {
    out_of_memory(error).is_some_and(progress::is_too_large)
}

/// What the chains came to.
#[derive(Serialize)]
pub struct Sampled {
    chains: Vec<Outcome>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tempering: Option<Tempering>,
    #[serde(skip_serializing_if = "Not::not")]
    interrupted: bool,
}

/// What a ladder did, a run for each chain.
#[derive(Serialize)]
struct Tempering {
    ladder: Vec<f64>,
    runs: Vec<Tempered>,
}

impl Report for Sampled {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let all = |of: fn(&Outcome) -> f64| self.chains.iter().map(of).collect::<Vec<f64>>();
        let stationary = self.chains.iter().filter_map(|c| c.sweeps_to_stationary);
        let quantities = [
            ("reward J", all(|chain| chain.reward)),
            ("mean J, second half", all(|chain| chain.mean_reward)),
            (
                "sweeps to stationary",
                stationary.map(|n| n as f64).collect(),
            ),
        ];
        summary::write(out, &quantities)?;
        let best = self.chains.iter().filter(|c| c.reward_exact == "1/1");
        writeln!(out, "J exactly 1: {}/{}\n", best.count(), self.chains.len())?;
        let shown = self.chains.iter().take(summary::LISTED);
        let heads = ["chain", "J", "exact", "mean J", "stationary after"];
        let table = Table::of_numbers(heads).rows(shown.map(Outcome::row));
        table.cut(self.chains.len(), "--json").write_text(out)?;
        match &self.tempering {
            Some(tempering) => tempering.write_text(out),
            None => Ok(()),
        }
    }

    fn interrupted(&self) -> bool {
        self.interrupted
    }
}

impl Tempering {
    /// A line for each rung, averaged over the runs.
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let mean = |of: &dyn Fn(&Tempered) -> Option<f64>| {
            let values: Vec<f64> = self.runs.iter().filter_map(of).collect();
            Cell::or_missing(Summary::of(&values).map(|summary| summary.mean))
        };
        let row = |(rung, &tau): (usize, &f64)| {
            [
                rung.into(),
                tau.into(),
                mean(&|run| Some(run.mean_rewards[rung])),
                mean(&|run| run.swap_rates.get(rung).copied().flatten()),
            ]
        };
        writeln!(out)?;
        let table = Table::of_numbers(["rung", "tau", "mean J", "swaps with the next"]);
        let rows = self.ladder.iter().enumerate().map(row);
        table.rows(rows).write_text(out)?;
        let trips: u64 = self.runs.iter().map(|run| run.round_trips).sum();
        writeln!(out, "round trips: {trips}")
    }
}

impl Outcome {
    fn row(&self) -> [Cell; 5] {
        [
            self.number.into(),
            self.reward.into(),
            Cell::Exact(self.reward_exact.clone()),
            self.mean_reward.into(),
            Cell::or_missing(self.sweeps_to_stationary),
        ]
    }
}
