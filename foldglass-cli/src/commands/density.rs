//! Counts how many codes of an untied class have which reward (paper, App. F).

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use foldglass::gibbs::bands::log;
use foldglass::gibbs::density::{
    Band, DensityError, DensityForecast, DensityOfStates, DensityPlan,
};
use foldglass::support::exact::UBig;
use foldglass::support::memory::Bytes;
use foldglass::{ClassSpec, Reward};
use foldglass_study::parallel::threads;
use foldglass_study::{DataFile, RecordColumn, Values};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::cli::GlobalArgs;
use crate::error::Error;
use crate::flags::{ClassArgs, data_path};
use crate::output::{Report, number};
use crate::progress::{self, Terminal};
use crate::report::{Cell, Column, Format, StreamedTable, Table};

/// The flags of `density`.
// `--tied` is read, to be refused with the reason, and not offered.
#[derive(Debug, Args)]
#[command(mut_arg("tied", |arg| arg.hide(true)))]
#[command(after_help = "Examples:
  foldglass density --task z:3 --lengths 3
      How many codes have which reward.
  foldglass density --task parity --lengths 8 --inputs markov:9/10 --json
      The same with exact numbers as strings.")]
pub struct DensityArgs {
    /// Print how many different prefixes there are, counted or estimated, and the memory they need
    #[arg(long)]
    dry_run: bool,
    /// Write a row per reward to this file: .csv or .parquet
    #[arg(long, value_name = "FILE", value_parser = data_path)]
    table: Option<PathBuf>,
    #[command(flatten)]
    class: ClassArgs,
}

impl DensityArgs {
    /// Counts.
    pub fn run(&self, settings: &GlobalArgs) -> Result<DensityReport, Error> {
        let class = self.class.class()?;
        let plan = DensityPlan::within(&class, self.class.allowance()).map_err(refuse)?;
        if self.dry_run {
            let DensityForecast {
                prefix_classes,
                counted,
                bytes,
                ..
            } = plan.forecast().clone();
            return Ok(DensityReport::Forecast {
                prefix_classes,
                counted_steps: counted,
                memory_bytes: bytes.to_string(),
                class: class.spec(),
                bytes,
            });
        }
        // Made before the long part, so that a wrong path is known at once.
        let table = self.table.as_deref().map(DataFile::create).transpose()?;
        say(plan.forecast());
        let threads = threads(settings.threads, usize::MAX);
        let observer = Terminal::new();
        let context = self.class.context(&observer).with_threads(threads);
        let density = plan.count(context).map_err(refuse)?;
        if let Some(file) = table {
            file.write(&class.spec(), &columns(&density))?;
        }
        Ok(DensityReport::All {
            cells: class.cells(),
            codes: codes(&density).to_string(),
            density,
        })
    }
}

/// A row per reward.
fn columns(density: &DensityOfStates) -> Vec<RecordColumn> {
    let bands = || density.bands().iter();
    let rewards: Vec<Reward> = bands().map(|band| density.reward(band)).collect();
    let logs = bands().map(|band| Some(log(&band.count))).collect();
    let [exact, float] = RecordColumn::exact("reward", rewards.iter().map(Some));
    let counts = RecordColumn::counts("count", bands().map(|band| Some(&band.count)));
    vec![
        exact,
        float,
        counts,
        RecordColumn::new("ln_count", Values::Number(logs)),
    ]
}

/// Bytes from which on the forecast is worth a line.
const WORTH_SAYING: u128 = 256 << 20;

/// Says what a long count will take, before it starts.
fn say(forecast: &DensityForecast) {
    if forecast.bytes >= WORTH_SAYING {
        let classes = forecast.prefix_classes.iter().copied().fold(1.0, f64::max);
        let (classes, bytes) = (number(classes), Bytes::of(forecast.bytes));
        progress::say(&format!("about {classes} prefix classes, {bytes}"));
    }
}

fn refuse(error: DensityError) -> Error {
    match error {
        DensityError::TooLarge(error) => error.into(),
        DensityError::Stopped(_) => Error::Stopped(
            "interrupted: a density needs all codes, so nothing is reported".to_owned(),
        ),
        other => Error::Usage(other.to_string()),
    }
}

/// What `density` counted or would count.
#[derive(JsonSchema, Serialize)]
#[serde(untagged)]
pub enum DensityReport {
    /// The density of states.
    All {
        /// Cells of the class.
        cells: usize,
        /// Its codes, as digits.
        codes: String,
        /// How many of them have which reward.
        #[serde(rename = "density_of_states", serialize_with = "bands")]
        #[schemars(with = "Vec<BandLine>")]
        density: DensityOfStates,
    },
    /// Nothing yet.
    Forecast {
        /// Step by step: the prefixes that differ.
        prefix_classes: Vec<f64>,
        /// The steps whose prefixes are counted, not estimated.
        counted_steps: usize,
        /// As digits.
        memory_bytes: String,
        /// The class.
        #[serde(skip)]
        class: ClassSpec,
        /// The bytes.
        #[serde(skip)]
        bytes: u128,
    },
}

#[derive(JsonSchema, Serialize)]
struct BandLine {
    reward: Reward,
    count: String,
}

/// The rewards one by one: there may be many.
fn bands<S: Serializer>(density: &DensityOfStates, serializer: S) -> Result<S::Ok, S::Error> {
    let line = |band: &Band| BandLine {
        reward: density.reward(band),
        count: band.count.to_string(),
    };
    serializer.collect_seq(density.bands().iter().map(line))
}

fn codes(density: &DensityOfStates) -> UBig {
    UBig::from(density.class().q()).pow(density.class().cells())
}

impl Report for DensityReport {
    fn class(&self) -> Option<ClassSpec> {
        Some(match self {
            DensityReport::All { density, .. } => density.class().spec(),
            DensityReport::Forecast { class, .. } => class.clone(),
        })
    }

    fn tables(&self, _: Format) -> Vec<Table> {
        match self {
            DensityReport::All { density, .. } => {
                let row = |band: &Band| {
                    let reward = density.reward(band);
                    [Cell::from(&reward), Cell::Large(band.count.clone())]
                };
                let columns = [Column::numbers("reward"), Column::numbers("codes")];
                vec![Table::new(columns).rows(density.bands().iter().map(row))]
            }
            DensityReport::Forecast {
                prefix_classes,
                counted_steps,
                ..
            } => vec![forecast_table(prefix_classes, *counted_steps)],
        }
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            DensityReport::All { density, .. } => write_density(out, density),
            DensityReport::Forecast {
                prefix_classes,
                counted_steps,
                bytes,
                ..
            } => {
                forecast_table(prefix_classes, *counted_steps).write_text(out)?;
                writeln!(out, "\nmemory  about {}", Bytes::of(*bytes))
            }
        }
    }
}

fn write_density(out: &mut dyn Write, density: &DensityOfStates) -> io::Result<()> {
    writeln!(out, "cells    {}", density.class().cells())?;
    writeln!(out, "codes    {}", codes(density))?;
    writeln!(out, "optimal  {}\n", density.optimal())?;
    // Neither a reward nor a number of codes is wider than these.
    let width = |n: &UBig| n.to_string().len();
    let lines = StreamedTable::default()
        .column(
            Column::numbers("reward"),
            2 * width(density.denominator()) + 1,
        )
        .column(Column::numbers("codes"), width(&codes(density)));
    lines.write_head(out)?;
    for band in density.bands() {
        let row = [density.reward(band).to_string(), band.count.to_string()];
        lines.write_row(out, &row.map(Cell::from))?;
    }
    Ok(())
}

fn forecast_table(prefix_classes: &[f64], counted: usize) -> Table {
    let columns = [
        Column::numbers("step"),
        Column::numbers("prefix classes"),
        Column::words("how"),
    ];
    let row = |(i, &classes): (usize, &f64)| {
        let how = if i < counted { "counted" } else { "estimated" };
        [Cell::from(i + 1), classes.into(), how.into()]
    };
    Table::new(columns).rows(prefix_classes.iter().enumerate().map(row))
}
