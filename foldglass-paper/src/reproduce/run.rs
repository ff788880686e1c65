//! Does what the items need and is not done yet: studies, censuses, verdicts. Leaves records.

use std::path::PathBuf;

use super::certified::Resources;
use super::item::Item;
use super::landscape::{self, CensusRecipe, Landscape};
use super::manifest::ReproductionManifest;
use super::need::Need;
use super::records::Recorded;
use super::studies::{CHAINS_TIED, Scale, StudyText};
use super::times::{Stopwatch, Times};
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

/// A part of the work, and what is left of it.
pub struct Planned {
    /// Its name: that of a study or of an item, or what all items have in common.
    pub part: &'static str,
    /// What would be done.
    pub work: PlannedWork,
}

/// What would be done of a part.
pub enum PlannedWork {
    /// Runs of a study.
    Runs(Forecast),
    /// Censuses, certificates or a step of an item, in about so many seconds; 0 where all of it is done.
    Step(f64),
}

impl PlannedWork {
    /// About the seconds it takes.
    pub fn seconds(&self) -> f64 {
        match self {
            PlannedWork::Runs(forecast) => forecast.seconds,
            PlannedWork::Step(seconds) => *seconds,
        }
    }

    /// The runs of a study.
    pub fn runs(&self) -> Option<&Forecast> {
        match self {
            PlannedWork::Runs(forecast) => Some(forecast),
            PlannedWork::Step(_) => None,
        }
    }
}

/// A part of the work: needs whose time is kept together.
struct Part {
    name: &'static str,
    needs: Vec<Need>,
}

impl Part {
    /// About the processor seconds that it takes.
    fn cost(&self, scale: Scale) -> f64 {
        self.needs[0].cost(scale)
    }
}

/// Whether there was anything left to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// All of it was done before.
    Nothing,
    /// Some of it was done now.
    Something,
}

impl Done {
    /// Something, where it is true.
    pub fn of(something: bool) -> Done {
        if something {
            Done::Something
        } else {
            Done::Nothing
        }
    }
}

impl Request {
    fn options(&self, source: StudyText, options: &Options) -> Options {
        let mut options = options.clone();
        options.out = self.out.join(source.name);
        options.base = self.out.clone();
        options.shard = Shard::WHOLE;
        options.shard = Shard::WHOLE;
        options
    }

    /// What is left to do of each part.
    pub fn forecasts(&self, options: &Options) -> Result<Vec<Planned>, Error> {
        let (registry, observer) = (Registry::default(), Terminal::new());
        let runs = |source: StudyText| -> Result<PlannedWork, Error> {
            let study = traps::fit(source.study(self.scale, self.seed), &self.out)?;
            let forecast = forecast(&study, &registry, &self.options(source, options), &observer)?;
            Ok(PlannedWork::Runs(forecast.ok_or_else(stopped_trial)?))
        };
        let threads = options.threads.max(1) as f64;
        let landscape = Landscape::read(&self.out)?;
        let planned = |part: &Part| {
            let work = match part.needs[0] {
                Need::Study(source) => runs(source)?,
                _ if self.is_done(part, &landscape)? => PlannedWork::Step(0.0),
                _ => PlannedWork::Step(part.cost(self.scale) / threads),
            };
            Ok(Planned {
                part: part.name,
                work,
            })
        };
        self.parts().iter().map(planned).collect()
    }

    /// Whether all of a part that is not a study is there.
    fn is_done(&self, part: &Part, landscape: &Landscape) -> Result<bool, Error> {
        Ok(match part.needs[0] {
            Need::Work(step) => work::is_done(&step, &self.out)?,
            Need::Certificates => !landscape.endpoints.is_empty(),
            _ => {
                let mut recipes = part.needs.iter().filter_map(Need::census);
                recipes.all(|recipe| landscape.census(&recipe).is_some())
            }
        })
    }

    /// Does what is not done yet, and gives the scale of what is there then: records in full hold
    /// those of the short scale.
    pub fn run(&self, options: &Options) -> Result<Scale, Error> {
        let observer = Terminal::new();
        let scale = ReproductionManifest::new(self.scale, self.seed).keep(&self.out)?;
        let own = Request {
            scale,
            ..self.clone()
        };
        let parts = own.parts();
        observer.parts(parts.iter().map(|part| part.cost(scale)).collect());
        for (number, part) in parts.into_iter().enumerate() {
            observer.part(number, part.name);
            let watch = Stopwatch::start(options.threads);
            let outcome = own.run_part(&part, options, &observer);
            let worked = !matches!(outcome, Ok(Done::Nothing));
            if worked {
                Times::add(&self.out, part.name, watch.time())?;
            }
            outcome?;
        }
        Ok(scale)
    }

    /// The parts of the work, in their order, each once.
    fn parts(&self) -> Vec<Part> {
        let mut needs: Vec<&Need> = self.items.iter().flat_map(|item| item.needs).collect();
        needs.sort_by_key(|need| need.rank());
        let mut parts: Vec<Part> = Vec::new();
        for &need in needs {
            let Some(name) = need.part() else {
                continue;
            };
            match parts.iter_mut().find(|part| part.name == name) {
                Some(part) => part.needs.push(need),
                None => parts.push(Part {
                    name,
                    needs: vec![need],
                }),
            }
        }
        parts
    }

    fn run_part(&self, part: &Part, options: &Options, observer: &Terminal) -> Result<Done, Error> {
        let means = Resources {
            threads: options.threads,
            allowance: options.allowance,
        };
        match part.needs[0] {
            Need::Fleet(_) => Ok(Done::Nothing),
            Need::Study(source) => self.run_study(source, options, observer),
            Need::Census(_) => {
                let censuses: Vec<CensusRecipe> =
                    part.needs.iter().filter_map(Need::census).collect();
                landscape::enumerate(&censuses, &self.out, means, observer)
            }
            Need::Certificates => self.certify(means, observer),
            Need::Work(step) => {
                let work = Work {
                    out: &self.out,
                    scale: self.scale,
                    seed: self.seed,
                    means,
                    observer,
                };
                work::run(&step, &work)
            }
        }
    }

    fn run_study(
        &self,
        source: StudyText,
        options: &Options,
        observer: &Terminal,
    ) -> Result<Done, Error> {
        let study = source.study(self.scale, self.seed);
        traps::write(&study, &self.out, self.scale, self.seed)?;
        let study = traps::fit(study, &self.out)?;
        let options = self.options(source, options);
        let summary = execute(&study, &Registry::default(), &options, observer)?;
        if summary.end != End::Stopped {
            return Ok(Done::of(summary.done_now > 0));
        }
        Err(Error::Stopped(format!(
            "stopped in {}: {} of its {} runs are recorded in {}, what was under way is saved; the \
             same command resumes it",
            source.name,
            summary.done_before + summary.done_now,
            summary.runs,
            summary.records.display()
        )))
    }

    fn certify(&self, means: Resources, observer: &Terminal) -> Result<Done, Error> {
        let chains = Recorded::read(&self.out, CHAINS_TIED, self.scale, self.seed)?;
        let ends = chains.map(|chains| chains.endpoints(means.allowance));
        match ends.transpose()?.flatten() {
            Some((class, codes)) => {
                landscape::certify(&class, &codes, self.scale, &self.out, means, observer)
            }
            None => Ok(Done::Nothing),
        }
    }
}
