//! Trains policies by tabular RLVR: CAVI or exact gradients (paper, sections 2.1, G.4 and G.5).
//!
//! A run is scored by the exact reward of its greedy code; J is the reward of its policy.

use std::io::{self, Write};
use std::ops::Not;
use std::path::PathBuf;

use clap::Args;
use foldglass::{Class, ClassSpec};
use foldglass_study::method::setting::kind_of;
use foldglass_study::method::{Setting, put};
use foldglass_study::methods::cavi::CaviResult;
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
use crate::flags::method::{MethodArgs, MethodFlags, named};
use crate::flags::{ClassArgs, count};
use crate::output::Report;
use crate::report::{Cell, Format, Table};
use crate::summary;

/// The flags of `cavi`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  foldglass cavi --task quasigroup --lengths 8 --tau 1e-10 --iterations 2000 --runs 60
      Tabular RLVR from 60 random policies: where each run stops.
  foldglass cavi --task z:5 --lengths 4 --rule gradient:1 --tau 0 --runs 8 --record trace.jsonl
      Exact policy gradients, with the reward along the way in a file.
  foldglass cavi --task z:5 --lengths 4 --tau 1e-10 --runs 8 --keep-code --json > runs.json
      The codes at which eight runs stop, in a file for `certify`, `escape` and `inspect`.")]
pub struct CaviArgs {
    #[command(flatten)]
    method: MethodArgs<Rlvr>,
    /// Independent runs
    #[arg(short, long, value_name = "N", default_value = "1", value_parser = count)]
    #[arg(allow_negative_numbers = true)]
    runs: u64,
    /// Write the policies at the end to this file, one policy file per line
    #[arg(long, value_name = "FILE")]
    policies: Option<PathBuf>,
    /// Write J of the policy before every iteration, and at the end, to this file as JSON Lines, one
    /// line per run: {"run":..,"every":..,"rewards":[..]}
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    #[command(flatten)]
    class: ClassArgs,
}

/// Kinds `cavi` and `gradient`.
#[derive(Debug, Clone)]
struct Rlvr;

impl MethodFlags for Rlvr {
    const SETTINGS: &'static [Setting] = foldglass_study::methods::cavi::SETTINGS;
    // `--policies FILE` keeps them.
    const WITHOUT: &'static [&'static str] = &["keep_policy"];
    const EARLIER: &'static [(&'static str, &'static str)] = &[("keep_code", "actions")];
}

impl CaviArgs {
    /// Does the runs.
    pub fn run(&self, settings: &GlobalArgs) -> Result<CaviReport, Error> {
        let mut fields = self.method.fields();
        let kind = kind_of("cavi", &mut fields).map_err(|error| named(&error))?;
        let every = record_every(&mut fields, self.record.is_some())?;
        put(&mut fields, "keep_policy", self.policies.is_some());
        // Made before the long part, so that a wrong path is known at once.
        let policies = self
            .policies
            .as_deref()
            .map(JsonLines::create)
            .transpose()?;
        let record = self.record.as_deref().map(JsonLines::create).transpose()?;
        let class = read_policies(&self.method, &self.class, &mut fields)?;
        let series = series::run(&kind, fields, self.runs, &class, &self.class, settings);
        let series = series.map_err(series::without_place)?;
        if let Some(file) = policies {
            write_policies(file, &series)?;
        }
        if let Some(file) = record {
            write_record(file, &series, every)?;
        }
        Ok(CaviReport {
            interrupted: series.interrupted,
            class,
            series,
            actions: self.method.is_given("keep_code"),
        })
    }
}

fn write_record(file: JsonLines, series: &FinishedSeries, every: u64) -> Result<(), Error> {
    let line = |record: &Record| {
        let mut rewards = record.result.get("trace").cloned().unwrap_or(json!([]));
        if let Value::Array(list) = &mut rewards {
            list.push(json!(real(record, "expected_reward")));
        }
        json!({ "run": record.run, "every": every, "rewards": rewards })
    };
    file.write(series.records.iter().map(line))
}

/// What the runs came to.
#[derive(JsonSchema, Serialize)]
pub struct CaviReport {
    #[serde(rename = "runs", serialize_with = "runs")]
    #[schemars(with = "Vec<CaviRun<'_>>")]
    series: FinishedSeries,
    #[serde(skip_serializing_if = "Not::not")]
    interrupted: bool,
    #[serde(skip)]
    class: Class,
    #[serde(skip)]
    actions: bool,
}

/// A run in the JSON: the contract's keys.
#[derive(JsonSchema, Serialize)]
struct CaviRun<'a> {
    run: u64,
    #[serde(flatten)]
    #[schemars(with = "CaviResult")]
    result: Reported<'a>,
}

/// The runs one by one: there may be many.
fn runs<S: Serializer>(series: &FinishedSeries, serializer: S) -> Result<S::Ok, S::Error> {
    let runs = series.records.iter().map(|record| CaviRun {
        run: record.run,
        // These have files or flags of their own.
        result: reported(record, &["rows", "trace"]),
    });
    serializer.collect_seq(runs)
}

impl CaviReport {
    fn table<'a>(&self, runs: impl Iterator<Item = &'a Record>) -> Table {
        let heads = [
            "run",
            "greedy",
            "exact",
            "expected J",
            "entropy",
            "residual",
        ];
        let row = |record: &Record| {
            [
                record.run.into(),
                real(record, "greedy_reward").into(),
                Cell::Exact(text(record, "greedy_exact")),
                real(record, "expected_reward").into(),
                real(record, "entropy").into(),
                real(record, "residual").into(),
            ]
        };
        Table::of_numbers(heads).rows(runs.map(row))
    }
}

impl Report for CaviReport {
    fn class(&self) -> Option<ClassSpec> {
        Some(self.series.class.clone())
    }

    fn settings(&self) -> Fields {
        let mut settings = self.series.settings.clone();
        let rule = if settings.contains_key("step") {
            "gradient"
        } else {
            "cavi"
        };
        put(&mut settings, "rule", rule);
        settings
    }

    fn tables(&self, _: Format) -> Vec<Table> {
        vec![self.table(self.series.records.iter())]
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let series = &self.series;
        let mut quantities = vec![
            ("greedy reward", series.numbers("greedy_reward")),
            ("expected reward J", series.numbers("expected_reward")),
            ("entropy of all cells, nats", series.numbers("entropy")),
            ("residual", series.numbers("residual")),
        ];
        let regulator = series.numbers("regulator");
        if !regulator.is_empty() {
            quantities.insert(3, ("regulator, times tau beside J", regulator));
        }
        summary::write(out, &quantities)?;
        let (best, count) = (series.at_one("greedy_exact"), series.records.len());
        writeln!(out, "greedy reward exactly 1: {best}/{count}")?;
        let most = self.class.cells() as f64 * (self.class.q() as f64).ln();
        writeln!(
            out,
            "greedy is the code of the most probable tokens; entropy is summed over {} cells (at most {:.1});\nthe residual is the distance from a fixed point, \
             the largest |target - pi|\n",
            self.class.cells(),
            most
        )?;
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
