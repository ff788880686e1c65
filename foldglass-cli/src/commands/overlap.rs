//! Reports how alike independent codes are at a temperature: P(q) (paper, section 2.2 and App. D).
//!
//! Sampled by heat-bath chains from random codes; summed over all pairs of codes where there are few.

mod picture;

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use foldglass::dynamics::chain::Chains;
use foldglass::gibbs::overlap::{
    Alike, BINS, Distribution, EveryCode, ExactError, SampleError, Sampled, Sampling, Value, sample,
};
use foldglass::support::parallel::in_order;
use foldglass::support::stats::Autocorrelation;
use foldglass::{Class, ClassSpec};
use foldglass_study::StudyError;
use foldglass_study::claims::LABEL;
use foldglass_study::disk::Whole;
use foldglass_study::parallel::threads;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::GlobalArgs;
use crate::error::Error;
use crate::flags::{ClassArgs, temperature, whole};
use crate::output::Report;
use crate::progress::Terminal;
use crate::report::{Cell, Column, Digits, Format, Table};
use picture::OverlapPicture;

/// The flags of `overlap`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  foldglass overlap --task parity --lengths 3 --tau 0.05,0.2
      P(q) of a small class, exactly.
  foldglass overlap --task quasigroup --lengths 4 --tau 0.001,0.01 --runs 32
      P(q) from 32 chains.")]
pub struct OverlapArgs {
    /// The temperatures, such as 1e-3,1e-2
    #[arg(short, long, value_name = "A,B", value_parser = temperatures, allow_hyphen_values = true)]
    tau: Temperatures,
    /// Independent chains (replicas), of which all pairs are compared
    #[arg(short, long, alias = "replicas", value_name = "N", value_parser = runs)]
    #[arg(default_value = "16", allow_negative_numbers = true)]
    runs: usize,
    /// Sweeps of each chain before measuring, and the same number again while measuring
    #[arg(short = 'n', long, value_name = "N", value_parser = sweeps, default_value = "2000")]
    #[arg(allow_negative_numbers = true)]
    sweeps: u64,
    /// Draw the distributions to this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    class: ClassArgs,
}

/// What `--tau` holds.
#[derive(Debug, Clone)]
struct Temperatures(Vec<f64>);

fn temperatures(text: &str) -> Result<Temperatures, String> {
    let above = |part: &str| temperature(part).ok().filter(|tau| *tau > 0.0);
    let list: Option<Vec<f64>> = text.split(',').map(above).collect();
    let list = list.ok_or("write temperatures above 0, such as 1e-3,1e-2".to_owned());
    list.map(Temperatures)
}

fn runs(text: &str) -> Result<usize, String> {
    let number = whole(text).filter(|n| (3..=1000).contains(n));
    number
        .ok_or("a whole number from 3 to 1000 is needed: errors leave out one at a time".to_owned())
}

fn sweeps(text: &str) -> Result<u64, String> {
    let number = whole(text).filter(|n| *n >= 2);
    number.ok_or("a whole number of at least 2 is needed".to_owned())
}

impl OverlapArgs {
    /// Samples, and sums over all codes where it can.
    pub fn run(&self, settings: &GlobalArgs) -> Result<OverlapReport, Error> {
        let class = self.class.class()?;
        // Made before the long part, so that a wrong path is known at once.
        let svg = self.svg.as_ref().map(|path| {
            let file = Whole::create(path, LABEL);
            file.map_err(|source| StudyError::write(path, source))
        });
        let svg = svg.transpose()?;
        let observer = Terminal::new();
        let exact = EveryCode::visit(&class, self.class.context(&observer));
        let (exact, no_exact) = match exact {
            Ok(every) => (Some(every), None),
            Err(ExactError::Stopped(_)) => return Err(stopped()),
            Err(ExactError::Overlap(error)) => return Err(Error::Usage(error.to_string())),
            Err(other) => (None, Some(other.to_string())),
        };
        let points = self.points(&class, settings, exact.as_ref(), &observer)?;
        let found = OverlapReport {
            class: class.spec(),
            points,
            functions: exact.as_ref().map(EveryCode::functions),
            no_exact,
        };
        if let (Some(mut file), Some(path)) = (svg, &self.svg) {
            let drawing = OverlapPicture { found: &found }.draw();
            file.write_all(drawing.as_bytes())
                .and_then(|()| file.finish())
                .map_err(|source| StudyError::write(path, source))?;
        }
        Ok(found)
    }

    /// A point for each temperature, on several threads.
    fn points(
        &self,
        class: &Class,
        settings: &GlobalArgs,
        exact: Option<&EveryCode>,
        observer: &Terminal,
    ) -> Result<Vec<OverlapPoint>, Error> {
        let Temperatures(list) = &self.tau;
        let together = Chains::side_by_side(class) as u64;
        let each = (self.runs as u64).next_multiple_of(together);
        let context = self.class.context(observer);
        let mut points = Vec::new();
        let job = |number: usize| -> Result<_, Error> {
            let tau = list[number];
            let sampling = Sampling {
                tau,
                replicas: self.runs,
                sweeps: self.sweeps,
                seed: settings.seed,
                first: number as u64 * each,
            };
            match sample(class, sampling, context) {
                Ok(sampled) => {
                    let alike = exact.map(|every| every.alike(tau, context)).transpose();
                    Ok((alike.ok()).map(|alike| OverlapPoint::new(tau, sampled, exact, alike)))
                }
                Err(SampleError::Stopped(_)) => Ok(None),
                Err(error) => Err(refuse(error)),
            }
        };
        let threads = threads(settings.threads, list.len());
        in_order(
            vec![(); threads],
            list.len(),
            |()| job,
            |point| {
                points.push(point);
                Ok(())
            },
        )?;
        if points.len() < list.len() {
            return Err(stopped());
        }
        Ok(points)
    }
}

fn stopped() -> Error {
    Error::Stopped(
        "interrupted: a distribution needs all sweeps, so nothing is reported".to_owned(),
    )
}

fn refuse(error: SampleError) -> Error {
    match error {
        SampleError::Chain(foldglass::dynamics::chain::ChainError::TooLarge(error)) => error.into(),
        other => Error::Usage(other.to_string()),
    }
}

/// What was found.
#[derive(JsonSchema, Serialize)]
pub struct OverlapReport {
    #[serde(skip)]
    class: ClassSpec,
    points: Vec<OverlapPoint>,
    /// The functions that all codes compute, where they were visited.
    #[serde(skip_serializing_if = "Option::is_none")]
    functions: Option<usize>,
    /// Why there is no exact value.
    #[serde(skip_serializing_if = "Option::is_none")]
    no_exact: Option<String>,
}

/// What was found at one temperature.
#[derive(JsonSchema, Serialize)]
struct OverlapPoint {
    tau: f64,
    answers: Histogram,
    all_steps: Histogram,
    steps: Vec<Measured>,
    mean_reward: Measured,
    /// The integrated autocorrelation time of J in sweeps; none where it is not known.
    autocorrelation_time: Option<f64>,
    /// `known`, `frozen` or `too short`.
    autocorrelation: &'static str,
    stride: u64,
    replicas_agree: bool,
}

/// The distribution of an overlap.
#[derive(JsonSchema, Serialize)]
struct Histogram {
    #[serde(flatten)]
    mean: Measured,
    #[serde(rename = "distribution")]
    bins: Vec<Bin>,
}

#[derive(JsonSchema, Serialize)]
struct Bin {
    from: f64,
    to: f64,
    probability: f64,
    error: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    exact: Option<f64>,
}

/// A mean over pairs of chains, and over all pairs of codes where these were summed.
#[derive(JsonSchema, Serialize)]
struct Measured {
    mean: f64,
    error: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    exact: Option<f64>,
}

impl Measured {
    fn new(value: Value, exact: Option<f64>) -> Measured {
        Measured {
            mean: value.mean,
            error: value.error,
            exact,
        }
    }
}

impl Histogram {
    fn new(sampled: &Distribution, exact: Option<&Distribution>) -> Histogram {
        let edge = |n: usize| n as f64 / BINS as f64;
        let bins = sampled.bins.iter().enumerate().map(|(n, bin)| Bin {
            from: edge(n),
            to: edge(n + 1),
            probability: bin.mean,
            error: bin.error,
            exact: exact.map(|exact| exact.bins[n].mean),
        });
        Histogram {
            mean: Measured::new(sampled.mean, exact.map(|exact| exact.mean.mean)),
            bins: bins.collect(),
        }
    }
}

impl OverlapPoint {
    fn new(
        tau: f64,
        sampled: Sampled,
        every: Option<&EveryCode>,
        exact: Option<Alike>,
    ) -> OverlapPoint {
        let exact = exact.as_ref();
        let steps = sampled.alike.steps.iter().enumerate();
        let (autocorrelation_time, autocorrelation) = match sampled.memory {
            Autocorrelation::Time { tau, .. } => (Some(tau), "known"),
            Autocorrelation::Frozen => (None, "frozen"),
            Autocorrelation::TooShort { .. } => (None, "too short"),
        };
        OverlapPoint {
            tau,
            answers: Histogram::new(&sampled.alike.answers, exact.map(|alike| &alike.answers)),
            all_steps: Histogram::new(&sampled.alike.all, exact.map(|alike| &alike.all)),
            steps: steps
                .map(|(t, &value)| Measured::new(value, exact.map(|alike| alike.steps[t].mean)))
                .collect(),
            mean_reward: Measured::new(
                sampled.mean_reward,
                every.map(|every| every.mean_reward(tau)),
            ),
            autocorrelation_time,
            autocorrelation,
            stride: sampled.stride,
            replicas_agree: sampled.replicas_agree,
        }
    }
}

impl OverlapReport {
    fn table(&self) -> Table {
        let columns = [
            Column::numbers("tau"),
            Column::words("what"),
            Column::numbers("overlap").key("mean"),
            Column::numbers("error"),
            Column::numbers("exact"),
        ];
        let mut table = Table::new(columns);
        for point in &self.points {
            let mut row = |what: String, value: &Measured| {
                let digits = |x: f64| Cell::Real(Digits::Decimals(4).of(x));
                table.push([
                    point.tau.into(),
                    what.into(),
                    digits(value.mean),
                    digits(value.error),
                    value.exact.map_or(Cell::Missing, digits),
                ]);
            };
            row("same answer".to_owned(), &point.answers.mean);
            row("mean of steps".to_owned(), &point.all_steps.mean);
            for (t, value) in (1..).zip(&point.steps) {
                row(format!("step {t}"), value);
            }
            row("mean reward".to_owned(), &point.mean_reward);
        }
        table
    }

    /// How the chains fared.
    fn chains(&self) -> Table {
        let columns = [
            Column::numbers("tau"),
            Column::words("memory of J").unit("sweeps"),
            Column::numbers("measured every").unit("sweeps"),
            Column::words("replicas agree"),
        ];
        Table::new(columns).rows(self.points.iter().map(|point| {
            let time = point.autocorrelation_time.map(|time| format!("{time:.1}"));
            [
                point.tau.into(),
                time.unwrap_or(point.autocorrelation.to_owned()).into(),
                point.stride.into(),
                point.replicas_agree.into(),
            ]
        }))
    }
}

impl Report for OverlapReport {
    fn class(&self) -> Option<ClassSpec> {
        Some(self.class.clone())
    }

    fn tables(&self, _: Format) -> Vec<Table> {
        vec![self.table(), self.chains()]
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        self.table().write_text(out)?;
        writeln!(out)?;
        self.chains().write_text(out)?;
        if let Some(reason) = &self.no_exact {
            writeln!(out, "\nno exact values: {reason}")?;
        }
        writeln!(
            out,
            "\nan overlap is the share of inputs on which two independent codes emit the same token, up to the\n\
             names of tokens before the last step; chains start at random codes; if chains do not\n\
             equilibrate, overlaps describe the states they reached"
        )
    }
}
