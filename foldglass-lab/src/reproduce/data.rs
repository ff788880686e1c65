//! Reads the numbers of an item off the records of its studies.
//!
//! With [`super::studies`] and [`super::landscape`] this is all of `reproduce` that knows the study
//! engine: items ask for ends, rewards after a sweep, last changes and temperatures.

use std::path::Path;

use foldglass::stats::Proportion;
use foldglass::{Allowance, Class, Code};
use foldglass_study::{Error as StudyError, Fields, Record, Study, gather};
use serde_json::Value;

use super::fleets::Fleets;
use super::item::Quantity;
use super::landscape::Landscape;
use super::measured::Measured;
use super::studies::{CHAINS_TIED, Scale, Source};
use super::traps;
use super::work::Worked;
use crate::error::Error;

/// The records of the items.
#[derive(Debug, Default)]
pub struct Data {
    studies: Vec<Recorded>,
    /// The records of censuses and verdicts.
    pub landscape: Landscape,
    /// The records of networks.
    pub fleets: Fleets,
    /// What the items beyond the paper left.
    pub work: Worked,
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

    /// Adds a reward, if it is there under these names.
    fn push(&mut self, fields: &Fields, reward: &str, exact: &str) {
        if let Some(value) = fields.get(reward).and_then(Value::as_f64) {
            self.rewards.push(value);
            let exact = fields.get(exact).and_then(Value::as_str);
            self.ones += u64::from(exact == Some("1/1"));
        }
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
            fleets: Fleets::read(directory)?,
            work: Worked::read(directory)?,
            ..Data::default()
        };
        for &source in sources {
            let place = directory.join(source.name);
            if !place.exists() {
                continue;
            }
            let found = gather(std::slice::from_ref(&place))?;
            // A directory that goes on from the short scale may not have come to this study yet.
            let scales = [scale, Scale::Short];
            let scales = &scales[..if scale == Scale::Full { 2 } else { 1 }];
            let mut known = false;
            for &scale in scales {
                let study = traps::fit(source.study(scale, seed), directory)?;
                known |= found.manifest.study == study;
            }
            if !known {
                let problem = format!(
                    "it holds another study than the {} that this version runs",
                    source.name
                );
                return Err(StudyError::study(place, problem).into());
            }
            data.studies.push(Recorded {
                source,
                study: found.manifest.study,
                records: found.records,
                missing: usize::try_from(found.missing).unwrap_or(usize::MAX),
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
            ..Data::default()
        }
    }

    /// The committed records of networks, and nothing else.
    #[cfg(test)]
    pub fn committed() -> Data {
        Data {
            fleets: Fleets::committed(),
            ..Data::default()
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
            record.class_id == class && record.dynamics.starts_with(dynamics)
        };
        self.of(source).records.iter().filter(own)
    }

    /// The records of a class, by the numbers of their runs.
    pub fn runs(&self, source: Source, class: &str) -> Vec<&Record> {
        let mut records: Vec<&Record> = self.records(source, class, "").collect();
        records.sort_by_key(|record| record.run);
        records
    }

    /// All records of a study.
    pub fn all(&self, source: Source) -> &[Record] {
        &self.of(source).records
    }

    /// How the runs of a class ended, at one temperature or at all.
    pub fn ends(&self, source: Source, class: &str, dynamics: &str, tau: Option<f64>) -> Sample {
        let mut sample = Sample::default();
        for record in self.records(source, class, dynamics) {
            let own = record.settings.get("tau").and_then(Value::as_f64);
            if tau.is_some_and(|tau| Some(tau) != own) {
                continue;
            }
            sample.push(&record.result, "greedy_reward", "greedy_exact");
            sample.push(&record.result, "reward", "reward_exact");
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
        let class = first.class.lay_out(allowance)?;
        let code = |record: &&Record| {
            let Some(actions) = record.result.get("actions").and_then(Value::as_array) else {
                return Err(wrong(format!("{} has no code", record.id)));
            };
            let actions: Vec<i64> = actions.iter().filter_map(Value::as_i64).collect();
            Code::new(&class, &actions).map_err(|error| wrong(error.to_string()))
        };
        let codes = records.iter().map(code).collect::<Result<_, Error>>()?;
        Ok(Some((class, codes)))
    }

    /// J of the chains of a class after a sweep.
    pub fn after(&self, source: Source, class: &str, dynamics: &str, sweep: usize) -> Sample {
        let mut sample = Sample::default();
        for record in self.records(source, class, dynamics) {
            let marks = record.result.get("checkpoints").and_then(Value::as_array);
            let marks = marks.into_iter().flatten().filter_map(Value::as_object);
            for mark in marks.filter(|mark| mark.get("sweep") == Some(&Value::from(sweep))) {
                sample.push(mark, "reward", "reward_exact");
            }
        }
        sample
    }

    /// The sweeps at which J of the chains of a class last changed.
    pub fn last_changes(&self, source: Source, class: &str, dynamics: &str) -> Vec<f64> {
        let records = self.records(source, class, dynamics);
        let change = |record: &Record| record.result.get("last_change").and_then(Value::as_f64);
        records.filter_map(change).collect()
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
        own.flat_map(|dynamics| &dynamics.axes)
            .filter(|axis| axis.name == "tau")
            .flat_map(|axis| axis.values.iter().filter_map(Value::as_f64))
            .collect()
    }
}
