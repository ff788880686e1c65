//! Trains policies by tabular RLVR: CAVI or exact gradients (paper, sections 2.1, G.4 and G.5).
//!
//! A run is scored by the exact reward of its greedy code; J is the reward of its policy.

use std::io::{self, Write};
use std::ops::Not;
use std::path::PathBuf;

use clap::Args;
use foldglass::model::policy::POLICY_FORMAT;
use foldglass::{Class, ClassSpec};
use foldglass_study::method::setting::kind_of;
use foldglass_study::method::{Setting, put};
use foldglass_study::tables::Source;
use foldglass_study::{Fields, Record};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::series::{self, Lines, Reported, Series, real, record_every, reported, text};
use crate::cli::Settings;
use crate::error::Error;
use crate::flags::method::{MethodArgs, MethodFlags, named};
use crate::flags::table::one_policy;
use crate::flags::{ClassArgs, count};
use crate::output::Report;
use crate::report::{Cell, Format, Table};
use crate::summary;

/// The flags of `cavi`.
#[derive(Debug, Args)]
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
    pub fn run(&self, settings: &Settings) -> Result<Trained, Error> {
        let mut fields = self.method.fields();
        let kind = kind_of("cavi", &mut fields).map_err(|error| named(&error))?;
        let every = record_every(&mut fields, self.record.is_some())?;
        put(&mut fields, "keep_policy", self.policies.is_some());
        // Made before the long part, so that a wrong path is known at once.
        let policies = self.policies.as_deref().map(Lines::create).transpose()?;
        let record = self.record.as_deref().map(Lines::create).transpose()?;
        let class = self.read_policies(&mut fields)?;
        let series = series::run(&kind, fields, self.runs, &class, &self.class, settings);
        let series = series.map_err(series::without_place)?;
        if let Some(file) = policies {
            write_policies(file, &series)?;
        }
        if let Some(file) = record {
            write_record(file, &series, every)?;
        }
        Ok(Trained {
            interrupted: series.interrupted,
            class,
            series,
            actions: self.method.is_given("keep_code"),
        })
    }

    /// Puts the policies of files among the settings; the class is theirs, or that of the flags.
    fn read_policies(&self, fields: &mut Fields) -> Result<Class, Error> {
        let mut known: Option<Class> = None;
        for key in ["start", "prior"] {
            let Some(source) = self.method.text(key).map(Source::from) else {
                continue;
            };
            let (class, policy) = one_policy(&source, &self.class)?;
            if let Some(known) = known.as_ref().filter(|known| **known != class) {
                return Err(Error::Usage(format!(
                    "--{key} is of {}, --start of {}: both are of one class",
                    class.spec(),
                    known.spec()
                )));
            }
            let rows: Vec<&[f64]> = (0..class.cells()).map(|c| policy.row(c)).collect();
            put(fields, key, json!({ "rows": rows }));
            known = Some(class);
        }
        known.map_or_else(|| self.class.class(), Ok)
    }
}

fn write_record(file: Lines, series: &Series, every: u64) -> Result<(), Error> {
    let line = |record: &Record| {
        let mut rewards = record.result.get("trace").cloned().unwrap_or(json!([]));
        if let Value::Array(list) = &mut rewards {
            list.push(json!(real(record, "expected_reward")));
        }
        json!({ "run": record.run, "every": every, "rewards": rewards })
    };
    file.write(series.records.iter().map(line))
}

fn write_policies(file: Lines, series: &Series) -> Result<(), Error> {
    let line = |record: &Record| {
        json!({
            "format": POLICY_FORMAT,
            "class": series.class,
            "rows": record.result.get("rows"),
        })
    };
    file.write(series.records.iter().map(line))
}

/// What the runs came to.
#[derive(Serialize)]
pub struct Trained {
    #[serde(rename = "runs", serialize_with = "runs")]
    series: Series,
    #[serde(skip_serializing_if = "Not::not")]
    interrupted: bool,
    #[serde(skip)]
    class: Class,
    #[serde(skip)]
    actions: bool,
}

/// A run in the JSON: the contract's keys.
#[derive(Serialize)]
struct Run<'a> {
    run: u64,
    #[serde(flatten)]
    result: Reported<'a>,
}

/// The runs one by one: there may be many.
fn runs<S: Serializer>(series: &Series, serializer: S) -> Result<S::Ok, S::Error> {
    let runs = series.records.iter().map(|record| Run {
        run: record.run,
        // These have files or flags of their own.
        result: reported(record, &["rows", "trace"]),
    });
    serializer.collect_seq(runs)
}

impl Trained {
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

impl Report for Trained {
    fn class(&self) -> Option<ClassSpec> {
        Some(self.series.class.clone())
    }

    fn settings(&self) -> Option<Fields> {
        Some(self.series.settings.clone())
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
            "entropy is summed over {} cells (at most {:.1}); the residual is the largest |target - pi|\n",
            self.class.cells(),
            most
        )?;
        let shown = series.records.iter().take(summary::LISTED);
        self.table(shown).cut(count, "--json").write_text(out)?;
        if !self.actions {
            return Ok(());
        }
        series.records.iter().try_for_each(|record| {
            let code = record.result.get("greedy").and_then(Value::as_array);
            let actions: Vec<String> = code.into_iter().flatten().map(Value::to_string).collect();
            writeln!(out, "\nrun {}: {}", record.run, actions.join(" "))
        })
    }

    fn interrupted(&self) -> bool {
        self.interrupted
    }
}
