//! Trains tables by sampled policy gradients, as RLVR is practised (beyond the paper, whose tables are trained exactly).
//!
//! A run is scored by exact numbers: J of its policy, and the reward of its greedy code.

use std::io::{self, Write};
use std::ops::Not;
use std::path::PathBuf;

use clap::Args;
use foldglass::ClassSpec;
use foldglass_study::method::{Setting, put};
use foldglass_study::methods::reinforce::ReinforceResult;
use foldglass_study::{Fields, Record};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::series::{
    self, FinishedSeries, JsonLines, Reported, read_policies, real, record_every, reported, text,
    write_policies,
};
use crate::cli::GlobalArgs;
use crate::error::Error;
use crate::flags::method::{MethodArgs, MethodFlags};
use crate::flags::{ClassArgs, count};
use crate::output::Report;
use crate::report::{Cell, Column, Format, Table};
use crate::summary;

/// The flags of `reinforce`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  foldglass reinforce --task quasigroup --lengths 2 --estimator rloo:4 --batch 512 --updates 500 --learning-rate 5 --runs 8
      Eight runs of sampled training with a leave-one-out baseline, scored exactly.
  foldglass reinforce --task parity --lengths 1,2,3,4 --curriculum --estimator batch-mean --batch 512 --updates 400 --learning-rate 5
      Lengths that grow as the policy learns.")]
pub struct ReinforceArgs {
    #[command(flatten)]
    method: MethodArgs<SampledRlvr>,
    /// Independent runs
    #[arg(short, long, value_name = "N", default_value = "1", value_parser = count)]
    #[arg(allow_negative_numbers = true)]
    runs: u64,
    /// Write the policies at the end to this file, one policy file per line
    #[arg(long, value_name = "FILE")]
    policies: Option<PathBuf>,
    /// Write the exact J of the policy and of its greedy code before every update, and at the end, to this file as
    /// JSON Lines, one line per run: {"run":..,"every":..,"rewards":[..],"greedy_rewards":[..]}
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    #[command(flatten)]
    class: ClassArgs,
}

/// Kind `reinforce`.
#[derive(Debug, Clone)]
struct SampledRlvr;

impl MethodFlags for SampledRlvr {
    const SETTINGS: &'static [Setting] = foldglass_study::methods::reinforce::SETTINGS;
    // `--policies FILE` keeps them.
    const WITHOUT: &'static [&'static str] = &["keep_policy"];
    const EARLIER: &'static [(&'static str, &'static str)] = &[];
}

impl ReinforceArgs {
    /// Does the runs.
    pub fn run(&self, settings: &GlobalArgs) -> Result<ReinforceReport, Error> {
        let mut fields = self.method.fields();
        let every = record_every(&mut fields, self.record.is_some())?;
        put(&mut fields, "keep_policy", self.policies.is_some());
        // Made before the long part, so that a wrong path is known at once.
        let create = |path: &Option<PathBuf>| path.as_deref().map(JsonLines::create).transpose();
        let (policies, record) = (create(&self.policies)?, create(&self.record)?);
        let class = read_policies(&self.method, &self.class, &mut fields)?;
        let series = series::run(
            "reinforce",
            fields,
            self.runs,
            &class,
            &self.class,
            settings,
        );
        let series = series.map_err(series::without_place)?;
        if let Some(file) = policies {
            write_policies(file, &series)?;
        }
        if let Some(file) = record {
            write_record(file, &series, every)?;
        }
        Ok(ReinforceReport {
            interrupted: series.interrupted,
            series,
            actions: self.method.is_given("keep_code"),
        })
    }
}

fn write_record(file: JsonLines, series: &FinishedSeries, every: u64) -> Result<(), Error> {
    let line = |record: &Record| {
        let with_last = |trace: &str, last: &str| {
            let list = record.result.get(trace).and_then(Value::as_array);
            let mut list = list.cloned().unwrap_or_default();
            list.push(json!(real(record, last)));
            list
        };
        json!({
            "run": record.run,
            "every": every,
            "rewards": with_last("trace", "expected_reward"),
            "greedy_rewards": with_last("greedy_trace", "greedy_reward"),
        })
    };
    file.write(series.records.iter().map(line))
}

/// What the runs came to.
#[derive(JsonSchema, Serialize)]
pub struct ReinforceReport {
    #[serde(rename = "runs", serialize_with = "runs")]
    #[schemars(with = "Vec<ReinforceRun<'_>>")]
    series: FinishedSeries,
    #[serde(skip_serializing_if = "Not::not")]
    interrupted: bool,
    #[serde(skip)]
    actions: bool,
}

/// A run in the JSON: the contract's keys.
#[derive(JsonSchema, Serialize)]
struct ReinforceRun<'a> {
    run: u64,
    #[serde(flatten)]
    #[schemars(with = "ReinforceResult")]
    result: Reported<'a>,
}

/// The runs one by one: there may be many.
fn runs<S: Serializer>(series: &FinishedSeries, serializer: S) -> Result<S::Ok, S::Error> {
    let runs = series.records.iter().map(|record| ReinforceRun {
        run: record.run,
        // These have files of their own.
        result: reported(record, &["rows", "trace", "greedy_trace"]),
    });
    serializer.collect_seq(runs)
}

impl ReinforceReport {
    /// The name of the objective, where it is not J.
    fn objective(&self) -> Option<&str> {
        self.series.settings.get("objective")?.as_str()
    }

    fn table<'a>(&self, runs: impl Iterator<Item = &'a Record>) -> Table {
        let mut heads = vec!["run", "expected J"];
        heads.extend(self.objective());
        heads.extend(["greedy", "exact", "entropy"]);
        let has_objective = self.objective().is_some();
        let row = |record: &Record| {
            let mut row: Vec<Cell> =
                vec![record.run.into(), real(record, "expected_reward").into()];
            if has_objective {
                let value = record.result.get("objective").and_then(Value::as_f64);
                row.push(value.map_or(Cell::Missing, Cell::real));
            }
            row.extend([
                real(record, "greedy_reward").into(),
                Cell::Exact(text(record, "greedy_exact")),
                real(record, "entropy").into(),
            ]);
            row
        };
        let mut table = Table::new(heads.into_iter().map(Column::numbers));
        runs.map(row).for_each(|row| table.push(row));
        table
    }
}

impl Report for ReinforceReport {
    fn class(&self) -> Option<ClassSpec> {
        Some(self.series.class.clone())
    }

    fn settings(&self) -> Fields {
        self.series.settings.clone()
    }

    fn tables(&self, _: Format) -> Vec<Table> {
        vec![self.table(self.series.records.iter())]
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let series = &self.series;
        let mut quantities = vec![
            (
                "expected reward J, exact",
                series.numbers("expected_reward"),
            ),
            ("greedy reward", series.numbers("greedy_reward")),
            ("entropy of all cells, nats", series.numbers("entropy")),
        ];
        let open = series.numbers("lengths_open");
        if !open.is_empty() {
            quantities.push(("lengths opened", open));
        }
        let name = self.objective().map(|name| format!("{name}, exact"));
        let values = series.numbers("objective");
        if let Some(name) = name.as_deref().filter(|_| !values.is_empty()) {
            quantities.insert(1, (name, values));
        }
        summary::write(out, &quantities)?;
        if let Some(name) = self
            .objective()
            .filter(|_| series.numbers("objective").is_empty())
        {
            writeln!(
                out,
                "{name} is not computed: exact sums over the inputs of this class are out of reach; `foldglass eval \
                 --policy FILE --objective {name}` on policies of --policies estimates it"
            )?;
        }
        let (best, count) = (series.at_one("greedy_exact"), series.records.len());
        writeln!(out, "greedy reward exactly 1: {best}/{count}\n")?;
        let shown = series.records.iter().take(summary::LISTED);
        self.table(shown).cut(count, "--json").write_text(out)?;
        if !self.actions {
            return Ok(());
        }
        series::write_codes(out, series)
    }

    fn interrupted(&self) -> bool {
        self.interrupted
    }
}
