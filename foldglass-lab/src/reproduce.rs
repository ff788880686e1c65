//! Redoes tables and figures of the paper from studies, and compares them number by number.
//!
//! The runs of an item are studies ([`studies`]); what is printed or drawn is read off their
//! records ([`data`], [`items`]); what the paper states ([`paper`]) is read by the comparison alone
//! ([`compare`]).

mod compare;
mod data;
mod figure;
mod items;
mod landscape;
mod paper;
mod row;
mod studies;

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::error::Error;
use crate::study::{self, End, Forecast, Options, Shard};
use data::Data;
use landscape::Landscape;
use studies::Source;

pub use compare::{LEVEL, Verdict};
pub use items::Item;
pub use row::Row;
pub use studies::Scale;

/// What to redo, where.
#[derive(Debug, Clone)]
pub struct Request {
    /// The items.
    pub items: Vec<Item>,
    /// How much is run.
    pub scale: Scale,
    /// The directory of all records and figures.
    pub out: PathBuf,
    /// The seed of all runs.
    pub seed: u64,
}

/// What an item came to.
#[derive(Debug, Serialize)]
pub struct Redone {
    /// The LaTeX label.
    pub item: &'static str,
    /// The scale.
    pub scale: &'static str,
    /// Number by number.
    pub rows: Vec<Row>,
    /// The figure that was drawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub figure: Option<PathBuf>,
}

/// The name of the figure's file.
const FIGURE: &str = "fig-temperature-untied-a.svg";

impl Request {
    /// The studies of the items, each once.
    fn studies(&self) -> Vec<Source> {
        let mut all: Vec<Source> = Vec::new();
        for source in self.items.iter().flat_map(|item| item.studies()) {
            if !all.contains(source) {
                all.push(*source);
            }
        }
        all
    }

    fn options(&self, source: Source, options: &Options) -> Options {
        Options {
            out: self.out.join(source.name),
            base: PathBuf::new(),
            shard: Shard::WHOLE,
            ..options.clone()
        }
    }

    /// What is left to do of each study.
    pub fn forecasts(&self, options: &Options) -> Result<Vec<Forecast>, Error> {
        let forecast = |source: Source| {
            let study = source.study(self.scale, self.seed);
            study::forecast(&study, &self.options(source, options))
        };
        self.studies().into_iter().map(forecast).collect()
    }

    /// Does the runs that are not done yet, `said` beforehand for each study, then compares.
    pub fn execute(&self, options: &Options, said: impl Fn(String)) -> Result<Vec<Redone>, Error> {
        let sources = self.studies();
        let mut data = Data::default();
        for (number, &source) in sources.iter().enumerate() {
            said(format!(
                "study {} of {}: {}",
                number + 1,
                sources.len(),
                source.name
            ));
            let study = source.study(self.scale, self.seed);
            let options = self.options(source, options);
            let summary = study::execute(&study, &options)?;
            if summary.end == End::Stopped {
                return Err(Error::Stopped(format!(
                    "stopped in study {} of {}, {}: {} of its {} runs are recorded in {}, what was under way is \
                     saved; the same command goes on from there",
                    number + 1,
                    sources.len(),
                    source.name,
                    summary.before + summary.now,
                    summary.runs,
                    summary.records.display()
                )));
            }
            data.add(source, study, Some(&options.out))?;
        }
        if self.items.contains(&Item::TrapsExist) {
            said(
                "the landscape of correlated parity, and verdicts on the tied endpoints".to_owned(),
            );
            self.explore(&mut data, options)?;
        }
        let redo = |&item: &Item| redo(item, &data, self.scale, &self.out);
        self.items.iter().map(redo).collect()
    }
}

impl Request {
    /// Does what tab:trapsexist needs beside its chains.
    fn explore(&self, data: &mut Data, options: &Options) -> Result<(), Error> {
        let (threads, allowance) = (options.threads, options.allowance);
        let mut landscape = Landscape::default();
        landscape.enumerate(threads, allowance)?;
        if let Some((class, endpoints)) = data.endpoints(allowance)? {
            let directory = self.out.join("certificates");
            let how = (threads, allowance);
            landscape.certify(&class, &endpoints, self.scale, &directory, how)?;
        }
        data.landscape = landscape;
        Ok(())
    }
}

/// Compares an item, and draws it.
fn redo(item: Item, data: &Data, scale: Scale, out: &Path) -> Result<Redone, Error> {
    let figure = match item {
        Item::Temperature => {
            let path = out.join(FIGURE);
            let write = |source| Error::Write {
                path: path.display().to_string(),
                source,
            };
            std::fs::write(&path, figure::draw(data, scale)).map_err(write)?;
            Some(path)
        }
        _ => None,
    };
    Ok(Redone {
        item: item.label(),
        scale: scale.name(),
        rows: row::rows(item, data),
        figure,
    })
}
