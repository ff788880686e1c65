//! Does what the items need and is not done yet: studies, censuses, verdicts. Leaves records.

use std::path::PathBuf;

use super::data::Data;
use super::item::Item;
use super::landscape::{self, Means, Recipe};
use super::manifest::Manifest;
use super::studies::{CHAINS_TIED, Scale, Source};
use super::traps;
use super::work::Work;
use crate::commands::run::stopped_trial;
use crate::error::Error;
use crate::progress::Terminal;
use foldglass_study::{End, Forecast, Options, Registry, Shard, execute, forecast};

/// What to run, where.
#[derive(Clone)]
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
            base: self.out.clone(),
            shard: Shard::WHOLE,
            ..options.clone()
        }
    }

    /// What is left to do of each study.
    pub fn forecasts(&self, options: &Options) -> Result<Vec<Planned>, Error> {
        let (registry, observer) = (Registry::default(), Terminal::new());
        let planned = |source: Source| {
            let study = traps::fit(source.study(self.scale, self.seed), &self.out)?;
            let forecast = forecast(&study, &registry, &self.options(source, options), &observer)?;
            Ok(Planned {
                study: source.name,
                forecast: forecast.ok_or_else(stopped_trial)?,
            })
        };
        let sources = super::studies_of(&self.items);
        sources.into_iter().map(planned).collect()
    }

    /// Does what is not done yet.
    pub fn run(&self, options: &Options) -> Result<(), Error> {
        let observer = Terminal::new();
        Manifest::new(self.scale, self.seed).keep(&self.out)?;
        let sources = super::studies_of(&self.items);
        for (number, &source) in sources.iter().enumerate() {
            let place = format!("study {} of {}", number + 1, sources.len());
            observer.stage(format!("{place}, {}", source.name));
            self.run_study(source, options, &place, &observer)?;
        }
        for kept in self.items.iter().flat_map(|item| item.fleets) {
            kept.lay(&self.out)?;
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
            observer.stage("the landscape of correlated parity");
            landscape::enumerate(&censuses, &self.out, means, &observer)?;
        }
        if self.items.iter().any(|item| item.certificates) {
            self.certify(means, &observer)?;
        }
        let work = Work {
            out: &self.out,
            scale: self.scale,
            seed: self.seed,
            means,
            observer: &observer,
        };
        for item in &self.items {
            if let Some(does) = item.work {
                observer.stage(item.title);
                does(&work)?;
            }
        }
        Ok(())
    }

    fn run_study(
        &self,
        source: Source,
        options: &Options,
        place: &str,
        observer: &Terminal,
    ) -> Result<(), Error> {
        let study = source.study(self.scale, self.seed);
        traps::write(&study, &self.out, self.scale, self.seed)?;
        let study = traps::fit(study, &self.out)?;
        let options = self.options(source, options);
        let summary = execute(&study, &Registry::default(), &options, observer)?;
        if summary.end != End::Stopped {
            return Ok(());
        }
        Err(Error::Stopped(format!(
            "stopped in {place}, {}: {} of its {} runs are recorded in {}, what was under way is \
             saved; the same command goes on from there",
            source.name,
            summary.done_before + summary.done_now,
            summary.runs,
            summary.records.display()
        )))
    }

    fn certify(&self, means: Means, observer: &Terminal) -> Result<(), Error> {
        let data = Data::read(&self.out, &[CHAINS_TIED], self.scale, self.seed)?;
        match data.endpoints(means.allowance)? {
            Some((class, codes)) => {
                landscape::certify(&class, &codes, self.scale, &self.out, means, observer)
            }
            None => Ok(()),
        }
    }
}
