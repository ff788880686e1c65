//! Does what the items need and is not done yet: studies, censuses, verdicts. Leaves records.

use std::path::PathBuf;

use super::data::Data;
use super::item::Item;
use super::landscape::{self, Means, Recipe};
use super::manifest::Manifest;
use super::studies::{CHAINS_TIED, Scale, Source};
use crate::error::Error;
use crate::study::{self, End, Forecast, Options, Shard};

/// What to run, where.
#[derive(Debug, Clone)]
pub struct Request {
    /// The items.
    pub items: Vec<&'static Item>,
    /// How much is run.
    pub scale: Scale,
    /// The directory of all records and figures.
    pub out: PathBuf,
    /// The seed of all runs.
    pub seed: u64,
}

/// What is left to do of a study.
pub struct Planned {
    /// Its name.
    pub study: &'static str,
    /// What would be done.
    pub forecast: Forecast,
}

impl Request {
    fn options(&self, source: Source, options: &Options) -> Options {
        Options {
            out: self.out.join(source.name),
            base: PathBuf::new(),
            shard: Shard::WHOLE,
            ..options.clone()
        }
    }

    /// What is left to do of each study.
    pub fn forecasts(&self, options: &Options) -> Result<Vec<Planned>, Error> {
        let forecast = |source: Source| {
            let study = source.study(self.scale, self.seed);
            Ok(Planned {
                study: source.name,
                forecast: study::forecast(&study, &self.options(source, options))?,
            })
        };
        let sources = super::studies_of(&self.items);
        sources.into_iter().map(forecast).collect()
    }

    /// Does what is not done yet, `said` beforehand for each study.
    pub fn run(&self, options: &Options, said: impl Fn(String)) -> Result<(), Error> {
        Manifest::new(self.scale, self.seed).keep(&self.out)?;
        let sources = super::studies_of(&self.items);
        for (number, &source) in sources.iter().enumerate() {
            let place = format!("study {} of {}", number + 1, sources.len());
            said(format!("{place}: {}", source.name));
            self.run_study(source, options, &place)?;
        }
        let means = Means {
            threads: options.threads,
            allowance: options.allowance,
        };
        let censuses: Vec<Recipe> = self
            .items
            .iter()
            .flat_map(|item| item.censuses)
            .copied()
            .collect();
        if !censuses.is_empty() {
            said("the landscape of correlated parity".to_owned());
            landscape::enumerate(&censuses, &self.out, means)?;
        }
        if self.items.iter().any(|item| item.certificates) {
            said("verdicts on the tied endpoints".to_owned());
            self.certify(means)?;
        }
        Ok(())
    }

    fn run_study(&self, source: Source, options: &Options, place: &str) -> Result<(), Error> {
        let study = source.study(self.scale, self.seed);
        let summary = study::execute(&study, &self.options(source, options))?;
        if summary.end != End::Stopped {
            return Ok(());
        }
        Err(Error::Stopped(format!(
            "stopped in {place}, {}: {} of its {} runs are recorded in {}, what was under way is \
             saved; the same command goes on from there",
            source.name,
            summary.before + summary.now,
            summary.runs,
            summary.records.display()
        )))
    }

    fn certify(&self, means: Means) -> Result<(), Error> {
        let data = Data::read(&self.out, &[CHAINS_TIED], self.scale, self.seed)?;
        match data.endpoints(means.allowance)? {
            Some((class, codes)) => {
                landscape::certify(&class, &codes, self.scale, &self.out, means)
            }
            None => Ok(()),
        }
    }
}
