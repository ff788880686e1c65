//! Counts how many codes of an untied class have which reward (paper, App. F).

use std::io::{self, Write};

use clap::Args;
use dashu_int::UBig;
use foldglass::memory::Bytes;
use foldglass::thermo::density::{Band, DensityError, DensityOfStates, Forecast, Plan};
use foldglass::{ClassSpec, Reward};
use foldglass_study::parallel::threads;
use serde::{Serialize, Serializer};

use crate::cli::Settings;
use crate::error::Error;
use crate::flags::ClassArgs;
use crate::output::{Report, Stream, number};
use crate::progress::{self, Terminal};
use crate::report::{Cell, Column, Format, Lines, Table};

/// The flags of `density`.
#[derive(Debug, Args)]
pub struct DensityArgs {
    /// Say how many different prefixes there are, counted or estimated, and the memory they take
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    class: ClassArgs,
}

impl DensityArgs {
    /// Counts.
    pub fn run(&self, settings: &Settings) -> Result<Counted, Error> {
        let class = self.class.class()?;
        let plan = Plan::new(&class, self.class.allowance()).map_err(refuse)?;
        if self.dry_run {
            return Ok(Counted::Forecast(class.spec(), plan.forecast().clone()));
        }
        say(plan.forecast());
        let threads = threads(settings.threads, usize::MAX);
        let density = plan.count(threads, &Terminal::new());
        Ok(Counted::All(density.map_err(refuse)?))
    }
}

/// Bytes from which on the forecast is worth a line.
const WORTH_SAYING: u128 = 256 << 20;

/// Says what a long count will take, before it starts.
fn say(forecast: &Forecast) {
    if forecast.bytes >= WORTH_SAYING {
        let classes = forecast.prefix_classes.iter().copied().fold(1.0, f64::max);
        let (classes, bytes) = (number(classes), Bytes::of(forecast.bytes));
        progress::say(&format!("about {classes} prefix classes, {bytes}"));
    }
}

fn refuse(error: DensityError) -> Error {
    match error {
        DensityError::TooLarge(error) => error.into(),
        DensityError::Stopped => Error::Stopped(
            "interrupted: a density needs all codes, so nothing is reported".to_owned(),
        ),
        other => Error::Usage(other.to_string()),
    }
}

/// What `density` counted or would count.
pub enum Counted {
    /// The density of states.
    All(DensityOfStates),
    /// Nothing yet.
    Forecast(ClassSpec, Forecast),
}

#[derive(Serialize)]
struct BandFields {
    reward: Reward,
    count: String,
}

#[derive(Serialize)]
struct Fields<D: Serialize> {
    cells: usize,
    codes: String,
    density_of_states: D,
}

#[derive(Serialize)]
struct ForecastFields<'a> {
    prefix_classes: &'a [f64],
    counted_steps: usize,
    memory_bytes: String,
}

fn codes(density: &DensityOfStates) -> UBig {
    UBig::from(density.class().q()).pow(density.class().cells())
}

impl Serialize for Counted {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Counted::All(density) => {
                let band = |band: &Band| BandFields {
                    reward: density.reward(band),
                    count: band.count.to_string(),
                };
                Fields {
                    cells: density.class().cells(),
                    codes: codes(density).to_string(),
                    density_of_states: Stream(|| density.bands().iter().map(band)),
                }
                .serialize(serializer)
            }
            Counted::Forecast(_, forecast) => ForecastFields {
                prefix_classes: &forecast.prefix_classes,
                counted_steps: forecast.counted,
                memory_bytes: forecast.bytes.to_string(),
            }
            .serialize(serializer),
        }
    }
}

impl Report for Counted {
    fn class(&self) -> Option<ClassSpec> {
        Some(match self {
            Counted::All(density) => density.class().spec(),
            Counted::Forecast(class, _) => class.clone(),
        })
    }

    fn tables(&self, _: Format) -> Vec<Table> {
        match self {
            Counted::All(density) => {
                let row = |band: &Band| {
                    let reward = density.reward(band);
                    [Cell::from(&reward), Cell::Large(band.count.clone())]
                };
                let columns = [Column::numbers("reward"), Column::numbers("codes")];
                vec![Table::new(columns).rows(density.bands().iter().map(row))]
            }
            Counted::Forecast(_, forecast) => vec![forecast_table(forecast)],
        }
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Counted::All(density) => write_density(out, density),
            Counted::Forecast(_, forecast) => write_forecast(out, forecast),
        }
    }
}

fn write_density(out: &mut dyn Write, density: &DensityOfStates) -> io::Result<()> {
    writeln!(out, "cells    {}", density.class().cells())?;
    writeln!(out, "codes    {}", codes(density))?;
    writeln!(out, "optimal  {}\n", density.optimal())?;
    // Neither a reward nor a number of codes is wider than these.
    let width = |n: &UBig| n.to_string().len();
    let lines = Lines::default()
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

fn forecast_table(forecast: &Forecast) -> Table {
    let columns = [
        Column::numbers("step"),
        Column::numbers("prefix classes"),
        Column::words("how"),
    ];
    let row = |(i, &classes): (usize, &f64)| {
        let how = if i < forecast.counted {
            "counted"
        } else {
            "estimated"
        };
        [Cell::from(i + 1), classes.into(), how.into()]
    };
    Table::new(columns).rows(forecast.prefix_classes.iter().enumerate().map(row))
}

fn write_forecast(out: &mut dyn Write, forecast: &Forecast) -> io::Result<()> {
    forecast_table(forecast).write_text(out)?;
    writeln!(out, "\nmemory  about {}", Bytes::of(forecast.bytes))
}
