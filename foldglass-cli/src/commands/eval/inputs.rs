//! Evaluates a policy input by input: successes, objectives of them, and exact statistics of sampled gradients.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use foldglass::reward::estimators::{
    Estimator, EstimatorError, EstimatorSums, GradientMoments, RESOLVED, SampledNumber,
};
use foldglass::reward::objectives::{self, Objective, Utility};
use foldglass::reward::per_input;
use foldglass::reward::ways::MOST_INPUTS;
use foldglass::support::stats::Interval;
use foldglass::{Context, Policy, Reward, Symbol};
use foldglass_study::{DataFile, RecordColumn, Values, data_form, write_successes};
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::Error;
use crate::flags::data_path;
use crate::output::number;
use crate::report::{Cell, Column, Table};

/// The most inputs that JSON lists.
const MOST_LISTED: u64 = 100_000;

/// The flags that ask for it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Sampled gradients and single inputs")]
pub struct InputArgs {
    /// Add the exact bias and variance of a sampled policy gradient: reinforce, batch-mean, rloo:G,
    /// grpo:G or dr-grpo:G, with G rollouts per input; several, separated by commas, give a table
    #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
    estimator: Vec<Estimator>,
    /// The number of inputs in an update of --estimator, or several [default: 512]
    #[arg(
        short,
        long,
        value_name = "B,..",
        value_delimiter = ',',
        requires = "estimator"
    )]
    batch: Vec<u32>,
    /// Write the gradient of J, and the mean and the variance of each --estimator and --batch, by cell and action to
    /// this file, FILE.parquet or FILE.csv
    #[arg(long, value_name = "FILE", requires = "estimator", value_parser = data_path)]
    components: Option<PathBuf>,
    /// Add an objective of the success p(x) of each input, and its derivative by the policy's rows:
    /// pass@K, maxrl:K or grpo-std
    #[arg(long, value_name = "NAME")]
    objective: Option<Utility>,
    /// List the success p(x) of every input (to 100,000 inputs; to 10 million with --table)
    #[arg(long)]
    per_input: bool,
    /// Write the list of --per-input to this file instead: .csv or .parquet
    #[arg(long, value_name = "FILE", requires = "per_input")]
    table: Option<PathBuf>,
}

/// What was asked for, computed.
#[derive(JsonSchema, Serialize)]
pub struct ByInput {
    #[serde(skip_serializing_if = "Option::is_none")]
    estimator: Option<EstimatorStatistics>,
    /// Where several estimators or batches were given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    estimators: Vec<EstimatorStatistics>,
    #[serde(skip_serializing_if = "Option::is_none")]
    components_table: Option<ComponentTable>,
    #[serde(skip_serializing_if = "Option::is_none")]
    objective: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    objective_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    objective_by: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    objective_95: Option<[f64; 2]>,
    /// Infinite derivatives are null.
    #[serde(skip_serializing_if = "Option::is_none")]
    objective_values: Option<Vec<Vec<f64>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    per_input: Option<Vec<InputSuccess>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    per_input_table: Option<InputTable>,
}

/// Where the successes were written.
#[derive(JsonSchema, Serialize)]
struct InputTable {
    file: String,
    inputs: u64,
}

/// Where the components of gradients were written.
#[derive(JsonSchema, Serialize)]
struct ComponentTable {
    file: String,
    rows: usize,
}

/// Gradients by cell and action, a row for each component of each estimator and batch.
#[derive(Default)]
struct Components {
    estimator: Vec<Option<String>>,
    batch: Vec<Option<i64>>,
    cell: Vec<Option<i64>>,
    action: Vec<Option<i64>>,
    gradient: Vec<Option<f64>>,
    mean: Vec<Option<f64>>,
    variance: Vec<Option<f64>>,
}

impl Components {
    fn add(&mut self, estimator: Estimator, batch: u32, q: usize, found: &GradientMoments) {
        let numbers = found.gradient.iter().zip(found.mean()).zip(&found.variance);
        for (entry, ((&gradient, mean), &variance)) in numbers.enumerate() {
            self.estimator.push(Some(estimator.to_string()));
            self.batch.push(Some(batch.into()));
            self.cell.push(Some((entry / q) as i64));
            self.action.push(Some((entry % q) as i64));
            self.gradient.push(Some(gradient));
            self.mean.push(Some(mean));
            self.variance.push(Some(variance));
        }
    }

    fn columns(self) -> [RecordColumn; 7] {
        let column = |name: &str, values: Values| RecordColumn {
            name: name.to_owned(),
            values,
        };
        [
            column("estimator", Values::Text(self.estimator)),
            column("batch", Values::Whole(self.batch)),
            column("cell", Values::Whole(self.cell)),
            column("action", Values::Whole(self.action)),
            column("gradient", Values::Number(self.gradient)),
            column("mean", Values::Number(self.mean)),
            column("variance", Values::Number(self.variance)),
        ]
    }
}

/// Successes at which f' is listed.
const SLOPES_AT: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

/// The statistics of a sampled gradient, in the logits of all visited cells.
#[derive(JsonSchema, Serialize)]
struct EstimatorStatistics {
    name: String,
    batch: u32,
    signal: f64,
    /// Whether doubles resolve the signal.
    signal_resolved: bool,
    bias: f64,
    cosine: Option<f64>,
    variance: f64,
    snr: Option<f64>,
    /// How signal, bias and cosine were computed.
    mean_by: &'static str,
    /// How the variance was computed.
    variance_by: &'static str,
    /// p and f'(p), where the expectation is the gradient of E_x f(p(x)) (of `batch-mean`: times 1 - 1/B).
    slope: [[f64; 2]; 5],
    #[serde(flatten)]
    sampled: Option<Intervals>,
}

/// 95 % intervals where inputs were drawn; null where a number is exact or the draws do not resolve it.
#[derive(JsonSchema, Serialize)]
struct Intervals {
    inputs_drawn: u64,
    signal_95: Option<[f64; 2]>,
    bias_95: Option<[f64; 2]>,
    cosine_95: Option<[f64; 2]>,
    variance_95: [f64; 2],
    snr_95: Option<[f64; 2]>,
}

fn ends(interval: Interval) -> [f64; 2] {
    [interval.low, interval.high]
}

impl EstimatorStatistics {
    fn new(estimator: Estimator, batch: u32, found: &GradientMoments) -> EstimatorStatistics {
        let signal = found.signal();
        let of = |sampled: Option<SampledNumber>| sampled.map(|s| ends(s.interval));
        EstimatorStatistics {
            name: estimator.to_string(),
            batch,
            signal,
            signal_resolved: signal == 0.0 || signal >= RESOLVED,
            bias: found.bias(),
            cosine: found.cosine(),
            variance: found.trace(),
            snr: found.snr(),
            mean_by: found.mean_by.name(),
            variance_by: found.variance_by.name(),
            slope: SLOPES_AT.map(|p| [p, estimator.slope(p)]),
            sampled: found.sampled.map(|sampled| Intervals {
                inputs_drawn: sampled.inputs,
                signal_95: of(sampled.signal),
                bias_95: of(sampled.bias),
                cosine_95: of(sampled.cosine),
                variance_95: ends(sampled.variance.interval),
                snr_95: of(sampled.snr),
            }),
        }
    }
}

/// One input and its success.
#[derive(JsonSchema, Serialize)]
struct InputSuccess {
    x: Vec<Symbol>,
    probability: Reward,
    success: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    success_exact: Option<&'static str>,
}

fn refuse(error: EstimatorError) -> Error {
    match error {
        EstimatorError::TooLarge(error) => error.into(),
        EstimatorError::Stopped(_) => stopped(),
        other => Error::Usage(other.to_string()),
    }
}

fn stopped() -> Error {
    Error::Stopped("interrupted: nothing is reported".to_owned())
}

impl InputArgs {
    /// Computes what the flags ask for.
    pub fn run(
        &self,
        policy: &Policy,
        is_code: bool,
        seed: u64,
        context: Context<'_>,
    ) -> Result<ByInput, Error> {
        let class = policy.class();
        if self.objective.is_some() {
            check_reward(policy, "--objective")?;
        }
        if self.per_input {
            check_reward(policy, "--per-input")?;
        }
        let file = self
            .components
            .as_deref()
            .map(DataFile::create)
            .transpose()?;
        let (mut estimators, components) = self.estimators(policy, seed, context)?;
        let components_table = match (&self.components, file) {
            (Some(path), Some(file)) => {
                let rows = components.cell.len();
                file.write(&class.spec(), &components.columns())?;
                Some(ComponentTable {
                    file: path.display().to_string(),
                    rows,
                })
            }
            _ => None,
        };
        let objective = self
            .objective
            .map(|utility| objectives::objective(policy, utility, seed, context))
            .transpose()
            .map_err(|_| stopped())?;
        let (per_input, per_input_table) = match (&self.table, self.per_input) {
            (Some(path), _) => (None, Some(write_table(policy, path, context)?)),
            (None, true) => {
                let remedy = " (--table FILE writes up to 10000000)";
                check_inputs(policy, MOST_LISTED, remedy)?;
                (Some(successes(policy, is_code)), None)
            }
            (None, false) => (None, None),
        };
        let rows = |found: &Objective| {
            found
                .values
                .chunks(class.q())
                .map(<[f64]>::to_vec)
                .collect()
        };
        Ok(ByInput {
            estimator: match estimators.len() {
                1 => estimators.pop(),
                _ => None,
            },
            estimators,
            components_table,
            objective: objective.as_ref().map(|found| found.value),
            objective_name: self.objective.map(|utility| utility.to_string()),
            objective_by: objective.as_ref().map(|found| found.by.name()),
            objective_95: objective
                .as_ref()
                .and_then(|found| found.interval.map(ends)),
            objective_values: objective.as_ref().map(rows),
            per_input,
            per_input_table,
        })
    }

    /// A line for each estimator and size of the batch, and their components where these are written.
    fn estimators(
        &self,
        policy: &Policy,
        seed: u64,
        context: Context<'_>,
    ) -> Result<(Vec<EstimatorStatistics>, Components), Error> {
        let batches = match &self.batch[..] {
            [] => &[512],
            batches => batches,
        };
        if batches.contains(&0) {
            return Err(refuse(EstimatorError::NoBatch));
        }
        let (mut lines, mut components) = (Vec::new(), Components::default());
        for &estimator in &self.estimator {
            let sums = EstimatorSums::of(policy, estimator, seed, context).map_err(refuse)?;
            for &batch in batches {
                let found = sums.moments(batch).map_err(refuse)?;
                lines.push(EstimatorStatistics::new(estimator, batch, &found));
                if self.components.is_some() {
                    components.add(estimator, batch, policy.class().q(), &found);
                }
            }
        }
        Ok((lines, components))
    }
}

/// Refuses rewards of other tokens than the last.
fn check_reward(policy: &Policy, flag: &str) -> Result<(), Error> {
    let reward = policy.class().task().reward();
    match reward.is_final() {
        true => Ok(()),
        false => Err(Error::Usage(format!(
            "{flag} is about the last token of each input: --reward {reward} is not supported here"
        ))),
    }
}

/// Refuses a class with more inputs than are taken one by one.
fn check_inputs(policy: &Policy, most: u64, remedy: &str) -> Result<(), Error> {
    match per_input::inputs(policy.class()) {
        Some(inputs) if inputs <= most => Ok(()),
        inputs => {
            let count = inputs.map_or("2^64 or more".to_owned(), |n| n.to_string());
            Err(Error::Usage(format!(
                "--per-input takes every input on its own, and this class has {count}: at most {most} are \
                 accepted{remedy}"
            )))
        }
    }
}

fn write_table(policy: &Policy, path: &Path, context: Context<'_>) -> Result<InputTable, Error> {
    let form = data_form(path).map_err(|problem| Error::Usage(format!("--table {problem}")))?;
    check_inputs(policy, MOST_INPUTS, "")?;
    let inputs = write_successes(policy, form, path, context.observer)?.ok_or_else(stopped)?;
    Ok(InputTable {
        file: path.display().to_string(),
        inputs,
    })
}

fn successes(policy: &Policy, is_code: bool) -> Vec<InputSuccess> {
    let task = policy.class().task();
    let denominator = task.denominator();
    let mut list = Vec::new();
    per_input::for_each(policy, |x, _, success| {
        list.push(InputSuccess {
            x: x.to_vec(),
            probability: Reward::new(task.weight(x), denominator.clone()),
            success,
            success_exact: is_code.then_some(if success == 1.0 { "1/1" } else { "0/1" }),
        });
    });
    list
}

/// A way of computing, for a person.
fn way(name: &str) -> &str {
    match name {
        "evaluation" => "exact, by one evaluation",
        "replicas" => "exact, by replica passes",
        "tree" => "exact, by the tree of all inputs",
        "inputs" => "exact, from all inputs one by one",
        _ => "estimated from drawn inputs",
    }
}

impl ByInput {
    /// What was found, for a person.
    pub fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        if let Some(found) = &self.estimator {
            found.write_text(out)?;
        }
        if !self.estimators.is_empty() {
            writeln!(out)?;
            comparison(&self.estimators).write_text(out)?;
        }
        if let Some(table) = &self.components_table {
            writeln!(
                out,
                "components      {} rows, written to {}",
                table.rows, table.file
            )?;
        }
        if let (Some(name), Some(value)) = (&self.objective_name, self.objective) {
            let interval = shown_interval(self.objective_95);
            writeln!(out, "{name:<15} {}{interval}", number(value))?;
        }
        if let Some(table) = &self.per_input_table {
            writeln!(
                out,
                "inputs          {}, written to {}",
                table.inputs, table.file
            )?;
        }
        if let Some(list) = &self.per_input {
            writeln!(out, "\nsuccess     probability  input")?;
            for InputSuccess {
                x,
                probability,
                success,
                ..
            } in list
            {
                let x: Vec<String> = x.iter().map(Symbol::to_string).collect();
                let (success, probability) = (number(*success), probability.to_string());
                writeln!(out, "{success:<11} {probability:<12} {}", x.join(" "))?;
            }
        }
        Ok(())
    }
}

fn shown_interval(interval: Option<[f64; 2]>) -> String {
    interval.map_or(String::new(), |[low, high]| {
        format!(" ({} to {}, 95 %)", number(low), number(high))
    })
}

impl EstimatorStatistics {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let shown = |value: Option<f64>| value.map_or("none".to_owned(), number);
        let rounding = match self.signal_resolved {
            true => "",
            false => " (below what doubles resolve)",
        };
        let of = |interval: fn(&Intervals) -> Option<[f64; 2]>| {
            shown_interval(self.sampled.as_ref().and_then(interval))
        };
        let signal = format!("{}{}{rounding}", number(self.signal), of(|i| i.signal_95));
        let variance = format!("{}{}", number(self.variance), of(|i| Some(i.variance_95)));
        let inputs = match self.batch {
            1 => "1 input".to_owned(),
            batch => format!("{batch} inputs"),
        };
        writeln!(out, "estimator       {}, {inputs}", self.name)?;
        writeln!(out, "  signal        {signal}")?;
        writeln!(out, "  variance      {variance}")?;
        writeln!(
            out,
            "  snr           {}{}",
            shown(self.snr),
            of(|i| i.snr_95)
        )?;
        writeln!(
            out,
            "  bias          {}{}",
            number(self.bias),
            of(|i| i.bias_95)
        )?;
        writeln!(
            out,
            "  cosine        {}{}",
            shown(self.cosine),
            of(|i| i.cosine_95)
        )?;
        let (mean_by, variance_by) = (way(self.mean_by), way(self.variance_by));
        let slopes: Vec<String> = self.slope.iter().map(|[_, slope]| number(*slope)).collect();
        let at: Vec<String> = SLOPES_AT.iter().map(f64::to_string).collect();
        writeln!(
            out,
            "  f'(p)         {} at p = {}",
            slopes.join(", "),
            at.join(", ")
        )?;
        writeln!(out, "  expectation   {mean_by}")?;
        writeln!(out, "  its variance  {variance_by}")?;
        if let Some(sampled) = &self.sampled {
            writeln!(out, "  inputs drawn  {}", sampled.inputs_drawn)?;
        }
        Ok(())
    }
}

/// Several estimators or batches side by side.
fn comparison(lines: &[EstimatorStatistics]) -> Table {
    let mut table = Table::new([
        Column::words("estimator"),
        Column::numbers("batch"),
        Column::numbers("snr"),
        Column::numbers("signal"),
        Column::numbers("variance"),
        Column::numbers("bias"),
        Column::numbers("cosine"),
        Column::words("expectation by"),
        Column::words("variance by"),
    ]);
    for line in lines {
        let maybe = |value: Option<f64>| value.map_or(Cell::Missing, Cell::real);
        table.push([
            line.name.clone().into(),
            Cell::whole(line.batch),
            maybe(line.snr),
            Cell::real(line.signal),
            Cell::real(line.variance),
            Cell::real(line.bias),
            maybe(line.cosine),
            line.mean_by.to_owned().into(),
            line.variance_by.to_owned().into(),
        ]);
    }
    table
}
