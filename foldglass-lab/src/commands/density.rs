//! Counts how many codes of an untied class have which reward (paper, App. F).

use std::io::{self, Write};
use std::ops::ControlFlow;

use clap::Args;
use dashu_int::UBig;
use foldglass::class::bytes;
use foldglass::thermo::density::{Band, DensityError, DensityOfStates, Done, Forecast, Plan};
use serde::{Serialize, Serializer};

use crate::cli::Settings;
use crate::columns::{Align, Columns};
use crate::error::Error;
use crate::flags::ClassArgs;
use crate::output::{Report, Stream, number};
use crate::progress::{self, Go, Progress};

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
        let class = self.class.class(settings.seed)?;
        let plan = Plan::new(&class, self.class.allowance()).map_err(refuse)?;
        if self.dry_run {
            return Ok(Counted::Forecast(plan.forecast().clone()));
        }
        say(plan.forecast());
        let threads = progress::threads(settings.threads, usize::MAX);
        let progress = Progress::open();
        let density = plan.count(threads, &|done: Done| {
            let Done { step, done, of } = done;
            match progress.say(format!("step {step}: {done} of {of} prefix classes")) {
                Go::On => ControlFlow::Continue(()),
                Go::Stop => ControlFlow::Break(()),
            }
        });
        Ok(Counted::All(density.map_err(refuse)?))
    }
}

/// Bytes from which on the forecast is worth a line.
const WORTH_SAYING: u128 = 256 << 20;

/// Says what a long count will take, before it starts.
fn say(forecast: &Forecast) {
    if forecast.bytes >= WORTH_SAYING {
        let classes = forecast.prefix_classes.iter().copied().fold(1.0, f64::max);
        // A reader who has closed stderr has lost nothing but this line.
        let _ = writeln!(
            io::stderr(),
            "about {} prefix classes, {}",
            number(classes),
            bytes(Some(forecast.bytes))
        );
    }
}

fn refuse(error: DensityError) -> Error {
    match error {
        DensityError::TooLarge(error) => Error::Class(error),
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
    Forecast(Forecast),
}

#[derive(Serialize)]
struct BandFields {
    reward: String,
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
                    reward: density.fraction(band),
                    count: band.count.to_string(),
                };
                Fields {
                    cells: density.class().cells(),
                    codes: codes(density).to_string(),
                    density_of_states: Stream(|| density.bands().iter().map(band)),
                }
                .serialize(serializer)
            }
            Counted::Forecast(forecast) => ForecastFields {
                prefix_classes: &forecast.prefix_classes,
                counted_steps: forecast.counted,
                memory_bytes: forecast.bytes.to_string(),
            }
            .serialize(serializer),
        }
    }
}

impl Report for Counted {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Counted::All(density) => write_density(out, density),
            Counted::Forecast(forecast) => write_forecast(out, forecast),
        }
    }
}

fn write_density(out: &mut dyn Write, density: &DensityOfStates) -> io::Result<()> {
    writeln!(out, "cells    {}", density.class().cells())?;
    writeln!(out, "codes    {}", codes(density))?;
    writeln!(out, "optimal  {}\n", density.optimal())?;
    // Neither a reward nor a number of codes is wider than these.
    let width = |n: &UBig| n.to_string().len();
    let columns = Columns::default()
        .add("reward", Align::Right, 2 * width(density.denominator()) + 1)
        .add("codes", Align::Right, width(&codes(density)));
    columns.write_head(out)?;
    for band in density.bands() {
        columns.write_row(out, &[density.fraction(band), band.count.to_string()])?;
    }
    Ok(())
}

fn write_forecast(out: &mut dyn Write, forecast: &Forecast) -> io::Result<()> {
    let columns = Columns::default()
        .add("step", Align::Right, 4)
        .add("prefix classes", Align::Right, 14)
        .add("", Align::Left, 9);
    columns.write_head(out)?;
    for (i, &classes) in forecast.prefix_classes.iter().enumerate() {
        let how = if i < forecast.counted {
            "counted"
        } else {
            "estimated"
        };
        let entries = [(i + 1).to_string(), number(classes), how.to_owned()];
        columns.write_row(out, &entries)?;
    }
    writeln!(out, "\nmemory  about {}", bytes(Some(forecast.bytes)))
}
