//! Lists the items of the paper: what each shows, what it needs, how long it takes here.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use foldglass_study::Options;
use foldglass_study::parallel::threads;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::GlobalArgs;
use crate::error::Error;
use crate::flags::max_memory;
use crate::output::Report;
use crate::progress::span;
use crate::report::{Cell, Column, Digits, Format, Table};
use crate::reproduce::{
    Item, Listed, Measurement, ReproductionManifest, Request, Scale, items, listed,
};

/// The flags of `list`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  foldglass list
      The items, and how long they take here.
  foldglass list reproduction
      Which of it is done in a directory.")]
pub struct ListArgs {
    /// The directory that `reproduce` wrote, for the times that were measured [default: reproduction]
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
}

/// The items.
#[derive(Debug, JsonSchema, Serialize)]
pub struct ItemList {
    items: Vec<Listed>,
}

impl ListArgs {
    /// Lists them; a short trial estimates what was never run.
    pub fn run(&self, settings: &GlobalArgs) -> Result<ItemList, Error> {
        let directory = self
            .directory
            .clone()
            .unwrap_or_else(ReproductionManifest::default_directory);
        let mut options = Options::new("");
        options.threads = threads(settings.threads, usize::MAX);
        options.checkpoint_every = Duration::MAX;
        options.allowance = max_memory::available();
        let mut list = Vec::new();
        for item in items::ALL {
            let forecast = || forecast(item, settings.seed, &options);
            list.push(listed(item, &directory, forecast)?);
        }
        Ok(ItemList { items: list })
    }
}

/// The seconds that an item takes at most, all threads at work.
fn forecast(item: &'static Item, seed: u64, options: &Options) -> Result<f64, Error> {
    let request = Request {
        items: vec![item],
        scale: Scale::Short,
        // No directory has this name: nothing counts as done.
        out: PathBuf::from("foldglass-list-of-nothing"),
        seed,
    };
    let planned = request.forecasts(options)?;
    Ok(planned.iter().map(|planned| planned.work.seconds()).sum())
}

impl ItemList {
    fn table(&self) -> Table {
        let columns = [
            Column::words("item"),
            Column::words("needs"),
            Column::words("takes"),
            Column::words("shows").key("title"),
        ];
        let row = |item: &Listed| -> [Cell; 4] {
            let takes = match item.measured {
                Some(measured) => said(&measured),
                None => item
                    .at_most_seconds
                    .map_or("not measured".to_owned(), at_most),
            };
            [
                item.item.into(),
                item.needs.into(),
                takes.into(),
                item.title.into(),
            ]
        };
        let mut table = Table::new(columns).rows(self.items.iter().map(row));
        let notes = [
            "Measured times are of all processors together; records of a GPU are committed in results/.",
            "`foldglass reproduce ITEM ..` runs the named items, or all; shared runs are made once.",
        ];
        table.notes.extend(notes.map(str::to_owned));
        table
    }
}

/// `4 min, measured`.
fn said(measured: &Measurement) -> String {
    let seconds = measured.processor_seconds.unwrap_or(measured.seconds);
    format!("{}, measured", span(seconds))
}

fn at_most(seconds: f64) -> String {
    let rounded: f64 = Digits::Significant(1)
        .text(seconds)
        .parse()
        .unwrap_or(seconds);
    format!("at most {}", span(rounded))
}

impl Report for ItemList {
    fn tables(&self, _: Format) -> Vec<Table> {
        vec![self.table()]
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        self.table().write_text(out)
    }
}
