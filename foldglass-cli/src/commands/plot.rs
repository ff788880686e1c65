//! Draws what `summary` prints: a quantity against a parameter, with intervals, by class and method.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use foldglass_study::method::put;
use foldglass_study::{Fields, gather};
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::GlobalArgs;
use crate::error::Error;
use crate::output::{Report, counted};
use crate::report::files::write_whole;
use crate::report::plot::draw;

/// The flags of `plot`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  foldglass plot runs/mine --svg mine.svg
      The reward against the temperature, with intervals.
  foldglass plot runs/mine --of solved --svg solved.svg
      The share of runs at reward 1.")]
pub struct PlotArgs {
    /// The directories that `run` wrote, of one study
    #[arg(value_name = "DIR", required = true)]
    directories: Vec<PathBuf>,
    /// The result to draw, such as entropy, or solved, the share of runs at exactly 1 [default: the
    /// reward by which a method is judged]
    #[arg(long, value_name = "RESULT")]
    of: Option<String>,
    /// The parameter along the axis [default: the one with the most values]
    #[arg(long, value_name = "PARAMETER")]
    against: Option<String>,
    /// Only these classes, by their ids
    #[arg(long, value_name = "ID")]
    class: Vec<String>,
    /// Draw to this file [default: RESULT.svg in the first DIR]
    #[arg(long, alias = "out", short_alias = 'o', value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// What was drawn.
#[derive(Debug, JsonSchema, Serialize)]
pub struct Plotted {
    svg: PathBuf,
    /// Of all curves; `reward` where they are of several rewards, `result` of several results.
    quantity: String,
    /// By curve, the result it is of.
    quantities: Vec<String>,
    against: String,
    curves: usize,
    points: usize,
    #[serde(skip)]
    seed: u64,
}

impl PlotArgs {
    /// Reads the records and draws them.
    pub fn run(&self, _: &GlobalArgs) -> Result<Plotted, Error> {
        let found = gather(&self.directories)?;
        let of = self.of.as_deref();
        let drawn = draw(&found, of, self.against.as_deref(), &self.class)?;
        let beside = || self.directories[0].join(format!("{}.svg", drawn.quantity));
        let svg = self.svg.clone().unwrap_or_else(beside);
        write_whole(&svg, drawn.svg.as_bytes())?;
        Ok(Plotted {
            svg,
            quantities: drawn.curves.iter().map(|curve| curve.quantity()).collect(),
            curves: drawn.curves.len(),
            points: drawn.curves.iter().map(|curve| curve.points.len()).sum(),
            against: drawn.against,
            quantity: drawn.quantity,
            seed: found.manifest.study.seed,
        })
    }
}

impl Report for Plotted {
    fn seed(&self) -> Option<u64> {
        Some(self.seed)
    }

    fn settings(&self) -> Fields {
        let mut fields = Fields::new();
        put(&mut fields, "svg", &self.svg);
        fields
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Plotted {
            quantity,
            quantities,
            against,
            curves,
            points,
            ..
        } = self;
        let (curves, points) = (counted(*curves, "curve"), counted(*points, "point"));
        let mut own: Vec<&str> = quantities.iter().map(|name| &name[..]).collect();
        own.sort_unstable();
        own.dedup();
        let own = match own.len() {
            0 | 1 => String::new(),
            _ => format!(" ({})", own.join(", ")),
        };
        writeln!(out, "{quantity}{own} against {against}: {curves}, {points}")?;
        writeln!(out, "{}", self.svg.display())
    }
}
