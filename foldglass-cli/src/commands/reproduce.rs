//! Redoes the paper's tables and figures, and says number by number whether they agree.

mod written;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use foldglass_study::Options;
use foldglass_study::parallel::threads;

use crate::cli::GlobalArgs;
use crate::commands::report;
use crate::error::Error;
use crate::flags::{max_memory, nearest};
use crate::report::Format;
use crate::reproduce::tables::Rows;
use crate::reproduce::{Comparison, Item, Records, Request, Scale, compare, items, write_whole};

pub use written::{ReproduceReport, Reproduced};

/// The flags of `reproduce`.
#[derive(Args)]
#[command(after_help = "Examples:
  foldglass reproduce --quick
      The paper's eight headline results, each judged, within half a minute on two cores.
  foldglass reproduce
      Every table and figure of the paper, some minutes on two cores; rerun the command to resume.
  foldglass reproduce tab:trapsexist ext:traps
      Two items alone.")]
pub struct ReproduceArgs {
    /// The items to run, by LaTeX label: thm:escape, eq:parityZ, tab:equilibration,
    /// tab:shortfall, tab:regulator,
    /// fig:temperature_untied, tab:trapsexist, fig:trapsfixed, and from committed records of a GPU
    /// tab:containment, tab:escape, fig:temperature_untied_b, text:relabelling, text:cures
    /// [default: all of these]; beyond the paper, run only if named: ext:lengths, ext:traps,
    /// ext:capture, ext:sampled, ext:objectives, ext:process, ext:networks-traps, or ext for the
    /// seven
    #[arg(value_name = "ITEM", value_parser = item)]
    items: Vec<&'static [&'static Item]>,
    /// Only the eight headline results, each with as many runs as in the paper: half a
    /// minute on two cores
    #[arg(long, conflicts_with_all = ["full", "smoke", "items"])]
    quick: bool,
    /// A smoke test of everything, for developers: few seeds and short chains, not enough
    /// to judge the paper
    #[arg(long, conflicts_with = "full")]
    smoke: bool,
    /// All traps of fig:trapsfixed [default: half of them, which is enough for a verdict];
    /// everything else always has the paper's seeds, sweeps and iterations. Resumes from
    /// existing records
    #[arg(long)]
    full: bool,
    /// The directory of records and figures; finished runs in it are not repeated [default:
    /// reproduction, or reproduction-quick, or reproduction-smoke]
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Run nothing: compare the records that an earlier `reproduce --out DIR` left
    #[arg(long, value_name = "DIR", conflicts_with_all = ["quick", "smoke", "full", "out", "dry_run"])]
    from: Option<PathBuf>,
    /// Print the planned runs and the time they need
    #[arg(long)]
    dry_run: bool,
    /// The numbers to print [default: differing; all with --format]
    #[arg(long, alias = "rows", value_name = "WHICH")]
    show: Option<ShownRows>,
    /// Write the table of all numbers to this file: .txt, .json, .csv, .md or .tex
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
}

/// The numbers to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ShownRows {
    /// Those that differ from the paper's
    Differing,
    /// All
    All,
}

impl From<ShownRows> for Rows {
    fn from(which: ShownRows) -> Rows {
        match which {
            ShownRows::Differing => Rows::Differing,
            ShownRows::All => Rows::All,
        }
    }
}

impl std::fmt::Debug for ReproduceArgs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let labels: Vec<&str> = self.named().iter().map(|item| item.label).collect();
        f.debug_tuple("ReproduceArgs").field(&labels).finish()
    }
}

fn item(text: &str) -> Result<&'static [&'static Item], String> {
    let labels = items::labels();
    items::labelled(text).ok_or_else(|| match nearest(text, labels.iter().copied()) {
        Some(near) => format!("is {near} meant? accepted: {}", labels.join(", ")),
        None => format!("accepted: {}", labels.join(", ")),
    })
}

/// Units that take longer are saved this often.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(30);

impl ReproduceArgs {
    /// Redoes the items.
    pub fn run(&self, settings: &GlobalArgs) -> Result<ReproduceReport, Error> {
        // A name that cannot be written is better refused before the work than after.
        let table = self.table.as_deref().map(table_format).transpose()?;
        let mut options = Options::new("");
        options.threads = threads(settings.threads, usize::MAX);
        options.checkpoint_every = CHECKPOINT_EVERY;
        options.allowance = max_memory::available();
        let named = self.named();
        let mut ran = false;
        let directory = match &self.from {
            Some(directory) => directory.clone(),
            None => {
                ran = true;
                let request = self.request(&named, settings);
                if self.dry_run {
                    let planned = request.forecasts(&options)?;
                    return Ok(ReproduceReport::planned(&request, &planned));
                }
                request.run(&options)?;
                request.out
            }
        };
        // A report is of all that there are records of, whichever items were asked for.
        let read: Vec<&'static Item> = if ran || named.is_empty() {
            items::all().collect()
        } else {
            named.clone()
        };
        let records = Records::read(&directory, read)?;
        let mut compared = compare(&records, if ran { &[] } else { &named })?;
        compared.draw(&records);
        write_figures(&mut compared, &directory)?;
        let report = if ran {
            Some(report::write(&compared, &records, None)?)
        } else {
            None
        };
        let asked = |item: &str| named.is_empty() || named.iter().any(|own| own.label == item);
        compared.only(asked);
        let all = settings.format.is_some();
        let rows = self.show.map(Rows::from);
        let rows = rows.unwrap_or(if all { Rows::All } else { Rows::Differing });
        let reproduced = Reproduced::new(compared, directory, rows);
        let reproduced = reproduced.reported(report.map(|written| written.page));
        if let (Some(path), Some(format)) = (&self.table, table) {
            let mut content = Vec::new();
            let written = reproduced.write_rows(format, Rows::All, &mut content);
            written.map_err(Error::Output)?;
            write_whole(path, &content)?;
        }
        Ok(ReproduceReport::Compared(Box::new(reproduced)))
    }

    /// The items that are named, each once.
    fn named(&self) -> Vec<&'static Item> {
        let mut named: Vec<&'static Item> = Vec::new();
        for &item in self.items.iter().copied().flatten() {
            if !named.iter().any(|other| other.label == item.label) {
                named.push(item);
            }
        }
        named
    }

    fn request(&self, named: &[&'static Item], settings: &GlobalArgs) -> Request {
        let scale = match (self.quick, self.smoke, self.full) {
            (true, ..) => Scale::Quick,
            (_, true, _) => Scale::Smoke,
            (.., true) => Scale::Full,
            _ => Scale::Short,
        };
        let out = self.out.clone();
        Request {
            items: match scale {
                Scale::Quick => items::at(scale),
                _ if named.is_empty() => items::ALL.to_vec(),
                _ => named.to_vec(),
            },
            scale,
            out: out.unwrap_or_else(|| scale.directory().into()),
            seed: settings.seed,
        }
    }
}

/// Writes the figures that were drawn beside the records.
fn write_figures(comparison: &mut Comparison, directory: &Path) -> Result<(), Error> {
    for compared in &mut comparison.items {
        let figure = items::one(compared.item).and_then(|item| item.figure.as_ref());
        if let (Some(figure), Some(svg)) = (figure, &compared.svg) {
            let path = directory.join(figure.file);
            write_whole(&path, svg.as_bytes())?;
            compared.figure = Some(path);
        }
    }
    Ok(())
}

fn table_format(path: &Path) -> Result<Format, Error> {
    Format::of_path(path).map_err(|problem| Error::Usage(format!("--table {problem}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_is_named_by_its_label() {
        for expected in items::ALL {
            assert_eq!(item(expected.label).unwrap()[0].label, expected.label);
        }
        assert_eq!(item("ext").unwrap().len(), items::BEYOND.len());
        assert_eq!(item("ext:traps").unwrap()[0].label, "ext:traps");
        let Err(refused) = item("tab:all") else {
            panic!("there is no such item");
        };
        assert!(refused.contains("tab:shortfall"));
        let Err(refused) = item("tab:shortfal") else {
            panic!("there is no such item");
        };
        assert!(refused.contains("is tab:shortfall meant?"), "{refused}");
    }
}
