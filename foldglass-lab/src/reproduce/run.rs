//! Does what the items need and is not done yet: studies, censuses, verdicts. Leaves records.

use std::path::PathBuf;

use super::data::Data;
use super::item::Item;
use super::landscape::{self, Means, Recipe};
use super::manifest::Manifest;
use super::studies::{CHAINS_TIED, Scale, Source};
use super::times::{self, Stopwatch, Times};
use super::traps;
use super::work::{self, Work};
use crate::error::{Error, stopped_trial};
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

/// A part of the work.
#[derive(Clone, Copy)]
enum Part {
    Study(Source),
    Censuses,
    Certificates,
    /// What an item beyond the paper does besides.
    Work(&'static Item),
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Part::Study(source) => source.name,
            Part::Censuses => times::CENSUSES,
            Part::Certificates => times::CERTIFICATES,
            Part::Work(item) => item.label,
        }
    }

    /// About the processor seconds that it takes; only a progress bar rests on it.
    fn cost(self, scale: Scale) -> f64 {
        match (self, scale) {
            (Part::Study(source), _) => source.cost(scale),
            (Part::Censuses, _) => 1.0,
            (Part::Certificates, Scale::Quick) => 1.0,
            (Part::Certificates, _) => 30.0,
            (Part::Work(_), Scale::Quick) => 5.0,
            (Part::Work(_), _) => 200.0,
        }
    }
}

/// Whether there was anything left to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Worked {
    /// All of it was done before.
    Nothing,
    /// Some of it was done now.
    Something,
}

impl Worked {
    /// Something, where it is true.
    pub fn of(something: bool) -> Worked {
        if something {
            Worked::Something
        } else {
            Worked::Nothing
        }
    }
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

    /// Does what is not done yet, and gives the scale of what is there then: records in full hold
    /// those of the short scale.
    pub fn run(&self, options: &Options) -> Result<Scale, Error> {
        let observer = Terminal::new();
        let scale = Manifest::new(self.scale, self.seed).keep(&self.out)?;
        let own = Request {
            scale,
            ..self.clone()
        };
        let parts = own.parts();
        observer.parts(parts.iter().map(|part| part.cost(scale)).collect());
        for kept in self.items.iter().flat_map(|item| item.fleets) {
            kept.lay(&self.out)?;
        }
        for (number, part) in parts.into_iter().enumerate() {
            observer.part(number, part.name());
            let watch = Stopwatch::start(options.threads);
            let outcome = own.run_part(part, options, &observer);
            let worked = !matches!(outcome, Ok(Worked::Nothing));
            if worked {
                Times::add(&self.out, part.name(), watch.time())?;
            }
            outcome?;
        }
        Ok(scale)
    }

    /// The parts of the work, in their order.
    fn parts(&self) -> Vec<Part> {
        let studies = super::studies_of(&self.items).into_iter().map(Part::Study);
        let mut parts: Vec<Part> = studies.collect();
        if self.items.iter().any(|item| !item.censuses.is_empty()) {
            parts.push(Part::Censuses);
        }
        if self.items.iter().any(|item| item.certificates) {
            parts.push(Part::Certificates);
        }
        let working = self.items.iter().filter(|item| item.work.is_some());
        parts.extend(working.map(|&item| Part::Work(item)));
        parts
    }

    fn run_part(
        &self,
        part: Part,
        options: &Options,
        observer: &Terminal,
    ) -> Result<Worked, Error> {
        let means = Means {
            threads: options.threads,
            allowance: options.allowance,
        };
        match part {
            Part::Study(source) => self.run_study(source, options, observer),
            Part::Censuses => {
                let censuses = self.items.iter().flat_map(|item| item.censuses);
                let censuses: Vec<Recipe> = censuses.copied().collect();
                landscape::enumerate(&censuses, &self.out, means, observer)
            }
            Part::Certificates => self.certify(means, observer),
            Part::Work(item) => {
                let work = Work {
                    out: &self.out,
                    scale: self.scale,
                    seed: self.seed,
                    means,
                    observer,
                };
                let does = item.work.expect("a part of the work");
                let before = work::is_done(item, &self.out);
                does(&work)?;
                work::mark_done(item, &self.out)?;
                Ok(Worked::of(!before))
            }
        }
    }

    fn run_study(
        &self,
        source: Source,
        options: &Options,
        observer: &Terminal,
    ) -> Result<Worked, Error> {
        let study = source.study(self.scale, self.seed);
        traps::write(&study, &self.out, self.scale, self.seed)?;
        let study = traps::fit(study, &self.out)?;
        let options = self.options(source, options);
        let summary = execute(&study, &Registry::default(), &options, observer)?;
        if summary.end != End::Stopped {
            return Ok(Worked::of(summary.done_now > 0));
        }
        Err(Error::Stopped(format!(
            "stopped in {}: {} of its {} runs are recorded in {}, what was under way is saved; the \
             same command goes on from there",
            source.name,
            summary.done_before + summary.done_now,
            summary.runs,
            summary.records.display()
        )))
    }

    fn certify(&self, means: Means, observer: &Terminal) -> Result<Worked, Error> {
        let data = Data::read(&self.out, &[CHAINS_TIED], self.scale, self.seed)?;
        match data.endpoints(means.allowance)? {
            Some((class, codes)) => {
                landscape::certify(&class, &codes, self.scale, &self.out, means, observer)
            }
            None => Ok(Worked::Nothing),
        }
    }
}
