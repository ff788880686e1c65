//! Runs a study, or resumes it (paper, section 4 and App. G: many runs per setting).

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use foldglass::Allowance;
use foldglass::support::memory::Bytes;
use foldglass_study::method::put;
use foldglass_study::parallel::threads;
use foldglass_study::{
    End, Executed, Fields, Forecast, Options, Registry, SeriesForecast, Shard, Study, execute,
    forecast,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::GlobalArgs;
use crate::error::{Error, stopped_trial};
use crate::flags::{max_memory, seconds, shard};
use crate::output::{Report, counted};
use crate::progress::{Terminal, about, span};
use crate::report::{Cell, Column, Format, Table};

/// The flags of `run`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  foldglass run study.toml --out runs/mine
      All runs of a study; rerun the command to resume.
  foldglass run study.toml --out runs/mine --shard 3/16
      One of 16 shares, for a cluster.")]
pub struct RunArgs {
    /// The study: classes, dynamics, temperatures and numbers of runs, in TOML (docs/tutorial.md has one)
    #[arg(value_name = "STUDY.toml")]
    study: PathBuf,
    /// The directory of the records; finished runs in it are not repeated [default: the study's
    /// name]
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Do one part of several, such as 2/8; `collect` puts them together
    #[arg(long, value_name = "I/N", default_value = "1/1", value_parser = shard)]
    #[arg(allow_hyphen_values = true)]
    shard: Shard,
    /// Seconds between two checkpoints of a run that takes longer than this
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    #[arg(allow_negative_numbers = true)]
    checkpoint_every: Duration,
    /// Print the planned runs, their time and memory, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Refuse to start what needs more memory than this, such as 4GiB [default: the available memory]
    #[arg(long, value_name = "SIZE", value_parser = max_memory::allowance)]
    #[arg(allow_negative_numbers = true)]
    max_memory: Option<Allowance>,
}

impl RunArgs {
    /// Runs the study, or says what that would do.
    pub fn run(&self, settings: &GlobalArgs) -> Result<RunReport, Error> {
        let study = Study::read(&self.study, settings.seed)?;
        let mut options = Options::new(
            self.out
                .clone()
                .unwrap_or_else(|| PathBuf::from(&study.name)),
        );
        options.base = self.study.parent().unwrap_or(Path::new("")).to_owned();
        options.shard = self.shard;
        options.threads = threads(settings.threads, usize::MAX);
        options.checkpoint_every = self.checkpoint_every;
        options.allowance = self.max_memory.unwrap_or_else(max_memory::available);
        let (name, seed) = (study.name.clone(), study.seed);
        let (registry, observer) = (Registry::default(), Terminal::new());
        if self.dry_run {
            let forecast = forecast(&study, &registry, &options, &observer)?;
            let forecast = forecast.ok_or_else(stopped_trial)?;
            return Ok(RunReport::Forecast {
                seed,
                study: name,
                forecast,
            });
        }
        let summary = execute(&study, &registry, &options, &observer)?;
        match summary.end {
            End::Finished => Ok(RunReport::Summary {
                seed,
                study: name,
                out: options.out,
                summary,
            }),
            End::Stopped => Err(Error::Stopped(format!(
                "stopped: {} of {} runs are recorded in {}, what was under way is saved; the same \
                 command resumes it",
                summary.done_before + summary.done_now,
                summary.runs,
                summary.records.display()
            ))),
        }
    }
}

/// What `run` did or would do.
#[derive(JsonSchema, Serialize)]
#[serde(untagged)]
pub enum RunReport {
    /// All runs are recorded.
    Summary {
        /// Its seed.
        #[serde(skip)]
        seed: u64,
        /// The study.
        study: String,
        /// The directory of its records.
        out: PathBuf,
        /// The rest.
        #[serde(flatten)]
        summary: Executed,
    },
    /// Nothing.
    Forecast {
        /// Its seed.
        #[serde(skip)]
        seed: u64,
        /// The study.
        study: String,
        /// What would be done.
        #[serde(flatten)]
        forecast: Forecast,
    },
}

impl Report for RunReport {
    fn seed(&self) -> Option<u64> {
        let (RunReport::Summary { seed, .. } | RunReport::Forecast { seed, .. }) = self;
        Some(*seed)
    }

    fn settings(&self) -> Fields {
        let mut fields = Fields::new();
        if let RunReport::Summary { out, .. } = self {
            put(&mut fields, "out", out);
        }
        fields
    }

    fn tables(&self, _: Format) -> Vec<Table> {
        vec![match self {
            RunReport::Summary { summary, .. } => executed(summary),
            RunReport::Forecast { forecast, .. } => forecast_table(forecast),
        }]
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            RunReport::Summary {
                out: directory,
                summary,
                ..
            } => {
                let Executed {
                    records,
                    runs,
                    done_before,
                    done_now,
                    ..
                } = summary;
                let records = records.display();
                writeln!(
                    out,
                    "{runs} runs in {records}: {done_now} done now, {done_before} before"
                )?;
                writeln!(
                    out,
                    "foldglass collect {} makes the table (of shards, all their directories)",
                    directory.display()
                )
            }
            RunReport::Forecast { forecast, .. } => write_forecast(forecast, out),
        }
    }
}

fn executed(summary: &Executed) -> Table {
    let columns = [
        Column::words("records"),
        Column::numbers("runs"),
        Column::numbers("done before").key("done_before"),
        Column::numbers("done now").key("done_now"),
    ];
    let row: [Cell; 4] = [
        summary.records.display().to_string().into(),
        summary.runs.into(),
        summary.done_before.into(),
        summary.done_now.into(),
    ];
    Table::new(columns).rows([row])
}

fn forecast_table(forecast: &Forecast) -> Table {
    let row = |series: &SeriesForecast| -> [Cell; 8] {
        [
            series.class.clone().into(),
            series.cells.into(),
            series.dynamics.clone().into(),
            series.kind.into(),
            series.points.into(),
            Cell::Large(series.runs.into()),
            series.units.into(),
            span(series.seconds).into(),
        ]
    };
    let columns = [
        Column::words("class"),
        Column::numbers("cells"),
        Column::words("dynamics"),
        Column::words("kind"),
        Column::numbers("points"),
        Column::numbers("runs"),
        Column::numbers("units left"),
        Column::numbers("time of one thread"),
    ];
    let rows = forecast.series.iter().map(row);
    Table::new(columns).rows(rows)
}

fn write_forecast(forecast: &Forecast, out: &mut dyn Write) -> io::Result<()> {
    forecast_table(forecast).write_text(out)?;
    let Forecast {
        runs,
        finished,
        threads,
        seconds,
        memory_bytes,
        ..
    } = forecast;
    let memory = Bytes::of(u128::from(*memory_bytes));
    let time = about(*seconds);
    writeln!(
        out,
        "\n{}, {finished} done; the rest takes {time} on {}",
        counted(*runs, "run"),
        counted(*threads, "thread")
    )?;
    writeln!(out, "and {memory} of memory")
}
