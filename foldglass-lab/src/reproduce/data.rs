//! Reads the numbers of an item off the records of its studies.
//!
//! With [`super::studies`] and [`super::landscape`] this is all of `reproduce` that knows the study
//! engine: items ask for ends, rewards after a sweep, last changes and temperatures.

use std::path::Path;

use foldglass::class::{Allowance, Class};
use foldglass::policy::Code;
use foldglass::stats::Proportion;

use super::item::Quantity;
use super::landscape::Landscape;
use super::measured::Measured;
use super::studies::{CHAINS_TIED, Scale, Source};
use crate::error::Error;
use crate::study::{self, ChainOutcome, Outcome, Record, Study};

/// The records of the items.
#[derive(Debug, Default)]
pub struct Data {
    studies: Vec<Recorded>,
    /// The records of censuses and verdicts.
    pub landscape: Landscape,
}

/// The records of a study.
#[derive(Debug)]
struct Recorded {
    source: Source,
    study: Study,
    records: Vec<Record>,
    /// Runs without a record.
    missing: usize,
}

/// The rewards of runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sample {
    /// J of each.
    pub rewards: Vec<f64>,
    /// How many are exactly 1.
    pub ones: u64,
}

impl Sample {
    /// The mean, as something to compare.
    pub fn mean(&self) -> Measured {
        Measured::Mean(self.rewards.clone())
    }

    /// The runs at 1, as something to compare.
    pub fn at_one(&self) -> Measured {
        Measured::Count(Proportion {
            successes: self.ones,
            trials: self.rewards.len() as u64,
        })
    }

    /// Both, as numbers of a class by the kind of its runs.
    pub fn quantities(&self, class: &'static str, kind: &str) -> [Quantity; 2] {
        [
            Quantity::new(class, format!("J, {kind}"), self.mean()),
            Quantity::new(class, format!("at 1, {kind}"), self.at_one()),
        ]
    }

    /// Both samples together.
    pub fn extend(&mut self, other: &Sample) {
        self.rewards.extend(&other.rewards);
        self.ones += other.ones;
    }

    fn push(&mut self, exact: &str, reward: f64) {
        self.rewards.push(reward);
        self.ones += u64::from(exact == "1/1");
    }
}

impl Data {
    /// Reads the records of studies in the directory of a reproduction; a study of which there are
    /// none is left out.
    pub fn read(
        directory: &Path,
        sources: &[Source],
        scale: Scale,
        seed: u64,
    ) -> Result<Data, Error> {
        let mut data = Data {
            landscape: Landscape::read(directory)?,
            ..Data::default()
        };
        for &source in sources {
            let place = directory.join(source.name);
            if !place.exists() {
                continue;
            }
            let found = study::gather(std::slice::from_ref(&place))?;
            if found.manifest.study != source.study(scale, seed) {
                return Err(Error::Study {
                    place: place.display().to_string(),
                    problem: format!(
                        "it holds another study than the {} that this version runs",
                        source.name
                    ),
                });
            }
            data.studies.push(Recorded {
                source,
                study: found.manifest.study,
                records: found.records,
                missing: found.missing.len(),
            });
        }
        Ok(data)
    }

    /// Studies of which nothing is recorded yet.
    #[cfg(test)]
    pub fn planned(sources: &[Source], scale: Scale) -> Data {
        let recorded = |&source: &Source| Recorded {
            source,
            study: source.study(scale, 0),
            records: Vec::new(),
            missing: 0,
        };
        Data {
            studies: sources.iter().map(recorded).collect(),
            landscape: Landscape::default(),
        }
    }

    /// Whether there are records of a study.
    pub fn has(&self, source: Source) -> bool {
        self.studies.iter().any(|study| study.source == source)
    }

    /// Runs of a study that have no record yet.
    pub fn missing(&self, source: Source) -> usize {
        self.of(source).missing
    }

    fn of(&self, source: Source) -> &Recorded {
        let found = self.studies.iter().find(|study| study.source == source);
        found.expect("a study of the item")
    }

    /// The records of a class; of a chain only those whose dynamics begins with `dynamics`.
    fn records(
        &self,
        source: Source,
        class: &str,
        dynamics: &str,
    ) -> impl Iterator<Item = &Record> {
        let own = move |record: &&Record| {
            record.class.id == class && record.dynamics.starts_with(dynamics)
        };
        self.of(source).records.iter().filter(own)
    }

    /// How the runs of a class ended, at one temperature or at all.
    pub fn ends(&self, source: Source, class: &str, dynamics: &str, tau: Option<f64>) -> Sample {
        let mut sample = Sample::default();
        for record in self.records(source, class, dynamics) {
            if tau.is_some_and(|tau| tau != record.tau) {
                continue;
            }
            match &record.result {
                Outcome::Cavi(end) => sample.push(&end.greedy_exact, end.greedy_reward),
                Outcome::Chain(end) => sample.push(&end.reward_exact, end.reward),
            }
        }
        sample
    }

    /// The tied class and where its chains ended, run by run; none without records.
    pub fn endpoints(&self, allowance: Allowance) -> Result<Option<(Class, Vec<Code>)>, Error> {
        let mut records: Vec<&Record> = self.records(CHAINS_TIED, "qg03-tied", "").collect();
        records.sort_by_key(|record| record.run);
        let Some(first) = records.first() else {
            return Ok(None);
        };
        let wrong =
            |problem: String| Error::Failed(format!("the records of tied chains: {problem}"));
        let class = first.class.class(Path::new(""), first.seed, allowance);
        let class = class.map_err(wrong)?;
        let code = |record: &&Record| {
            let Outcome::Chain(ChainOutcome {
                actions: Some(actions),
                ..
            }) = &record.result
            else {
                return Err(wrong(format!("{} has no code", record.id)));
            };
            let actions: Vec<i64> = actions.iter().map(|&action| action.into()).collect();
            Code::new(&class, &actions).map_err(|error| wrong(error.to_string()))
        };
        let codes = records.iter().map(code).collect::<Result<_, Error>>()?;
        Ok(Some((class, codes)))
    }

    fn chains(
        &self,
        source: Source,
        class: &str,
        dynamics: &str,
    ) -> impl Iterator<Item = &ChainOutcome> {
        self.records(source, class, dynamics)
            .filter_map(|record| match &record.result {
                Outcome::Chain(end) => Some(end),
                Outcome::Cavi(_) => None,
            })
    }

    /// J of the chains of a class after a sweep.
    pub fn after(&self, source: Source, class: &str, dynamics: &str, sweep: usize) -> Sample {
        let mut sample = Sample::default();
        for end in self.chains(source, class, dynamics) {
            if let Some(mark) = end.checkpoints.iter().find(|mark| mark.sweep == sweep) {
                sample.push(&mark.reward_exact, mark.reward);
            }
        }
        sample
    }

    /// The sweeps at which J of the chains of a class last changed.
    pub fn last_changes(&self, source: Source, class: &str, dynamics: &str) -> Vec<f64> {
        let chains = self.chains(source, class, dynamics);
        chains.map(|end| end.last_change as f64).collect()
    }

    /// The temperatures at which a class is run.
    pub fn temperatures(&self, source: Source, class: &str) -> Vec<f64> {
        let study = &self.of(source).study;
        let classes = |dynamics| {
            study
                .classes_of(dynamics)
                .any(|n| study.classes[n].id == class)
        };
        let own = study.dynamics.iter().filter(|dynamics| classes(dynamics));
        own.flat_map(|dynamics| dynamics.tau.iter().copied())
            .collect()
    }
}
