//! Sums up the records of a study, point by point.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use foldglass::support::stats::{Interval, Proportion};
use foldglass_study::disk::replace;
use foldglass_study::method::shown;
use foldglass_study::{PointSummary, Registry, StudyError, claims, gather, summarize};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::cli::GlobalArgs;
use crate::error::Error;
use crate::output::{Report, counted};
use crate::progress::say;
use crate::report::plot::unknown_result;
use crate::report::{Cell, Column, Digits, Format, Table};

/// The flags of `summary`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  foldglass summary runs/mine
      Means with intervals, and the runs at reward 1.
  foldglass summary runs/mine --of solved
      The share of runs at exactly 1, with its interval.")]
pub struct SummaryArgs {
    /// The directories that `run` wrote, of one study
    #[arg(value_name = "DIR", required = true)]
    directories: Vec<PathBuf>,
    /// The result to sum up, such as entropy, or solved, the share of runs at exactly 1 [default: the
    /// reward by which a method is judged]
    #[arg(long, value_name = "RESULT")]
    of: Option<String>,
    /// Write the table to this file: .txt, .json, .csv, .md or .tex
    #[arg(long, alias = "out", short_alias = 'o', value_name = "FILE")]
    table: Option<PathBuf>,
}

impl SummaryArgs {
    /// Reads the records and sums them up.
    pub fn run(&self, _: &GlobalArgs) -> Result<Summed, Error> {
        let format = match &self.table {
            Some(path) => Some(
                Format::of_path(path).map_err(|error| Error::Usage(format!("--table {error}")))?,
            ),
            None => None,
        };
        let found = gather(&self.directories)?;
        if found.damaged > 0 {
            say(&format!(
                "left out: {} of records",
                counted(found.damaged, "damaged line")
            ));
        }
        if found.missing > 0 {
            say(&format!("not done yet: {}", counted(found.missing, "run")));
        }
        let registry = Registry::default();
        let points = summarize(&found.records, &registry, self.of.as_deref());
        if points.is_empty() && !found.records.is_empty() {
            return Err(unknown_result(&found.records, self.of.as_deref()));
        }
        let summed = Summed {
            seed: found.manifest.study.seed,
            study: found.manifest.study.name,
            points,
        };
        if let (Some(path), Some(format)) = (&self.table, format) {
            write(&summed.table(), format, path)?;
        }
        Ok(summed)
    }
}

/// Writes a table to a file, whole or not at all.
pub fn write(table: &Table, format: Format, path: &Path) -> Result<(), Error> {
    let mut content = Vec::new();
    table.write(format, &mut content).map_err(Error::Output)?;
    let written = replace(path, claims::LABEL, &content);
    Ok(written.map_err(|source| StudyError::write(path, source))?)
}

/// The points of a study.
#[derive(JsonSchema, Serialize)]
pub struct Summed {
    #[serde(skip)]
    seed: u64,
    study: String,
    points: Vec<PointSummary>,
}

impl Summed {
    fn table(&self) -> Table {
        let columns = [
            Column::words("class"),
            Column::words("method"),
            Column::words("parameters"),
            Column::words("quantity"),
            Column::numbers("runs"),
            Column::numbers("mean"),
            Column::numbers("95 % interval").key("interval"),
            Column::numbers("at 1"),
            Column::numbers("95 % interval").key("at_1_interval"),
            Column::numbers("min"),
            Column::numbers("median"),
            Column::numbers("p90"),
            Column::numbers("max"),
        ];
        Table::new(columns)
            .titled(self.study.clone())
            .rows(self.points.iter().map(row))
    }
}

fn row(point: &PointSummary) -> [Cell; 13] {
    let one = |(name, value): (&String, &Value)| format!("{name}={}", shown(value));
    let parameters: Vec<String> = point.parameters.iter().map(one).collect();
    let digits = Digits::Short;
    let interval = |low: Option<f64>, high: Option<f64>| {
        let interval = low.zip(high).map(|(low, high)| Cell::Interval {
            interval: Interval { low, high },
            digits,
        });
        interval.unwrap_or(Cell::Missing)
    };
    let at_one = point.at_one.map(|successes| Proportion {
        successes,
        trials: point.runs,
    });
    [
        point.class.clone().into(),
        point.method.clone().into(),
        parameters.join(" ").into(),
        point.quantity.clone().into(),
        point.runs.into(),
        Cell::MeanSd {
            mean: digits.of(point.mean),
            sd: point.sd.map(|sd| Digits::Significant(3).of(sd)),
        },
        interval(point.low, point.high),
        Cell::or_missing(at_one),
        interval(point.at_one_low, point.at_one_high),
        point.min.into(),
        point.median.into(),
        point.p90.into(),
        point.max.into(),
    ]
}

impl Report for Summed {
    fn seed(&self) -> Option<u64> {
        Some(self.seed)
    }

    fn tables(&self, _: Format) -> Vec<Table> {
        vec![self.table()]
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        self.table().write_text(out)
    }
}
