//! Reads the records of a reproduction, once, and the numbers of items off them.
//!
//! With [`super::studies`] and [`super::landscape`] this is all of `reproduce` that knows the study
//! engine: items ask for ends, rewards after a sweep, last changes and temperatures.

use std::path::{Path, PathBuf};

use foldglass::support::stats::Proportion;
use foldglass::{Allowance, Class, Code};
use foldglass_study::{Fields, Record, StudyError, gather};
use serde_json::Value;

use super::classes::TIED;
use super::files::say_unsealed;
use super::fleets::Fleets;
use super::item::Item;
use super::landscape::Landscape;
use super::manifest::ReproductionManifest;
use super::measured::Measured;
use super::studies::{Scale, StudyText};
use super::times::Times;
use super::traps;
use super::work::Worked;
use crate::error::Error;

/// All records of a reproduction that items need.
#[derive(Debug, Default)]
pub struct Records {
    /// Where they were read.
    pub directory: PathBuf,
    /// Their scale and seed.
    pub manifest: ReproductionManifest,
    studies: Vec<Recorded>,
    /// The records of censuses and verdicts.
    pub landscape: Landscape,
    /// The records of networks.
    pub fleets: Fleets,
    /// What further steps of items left.
    pub work: Worked,
    /// What the parts took.
    pub times: Times,
}

/// The records of a study.
#[derive(Debug)]
pub struct Recorded {
    source: StudyText,
    /// One a finished run.
    pub records: Vec<Record>,
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
        Measured::Count(self.count())
    }

    /// The runs at 1, of all.
    pub fn count(&self) -> Proportion {
        Proportion {
            successes: self.ones,
            trials: self.rewards.len() as u64,
        }
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

impl Recorded {
    /// Reads the records of a study in the directory of a reproduction; none where there are none.
    pub fn read(
        directory: &Path,
        source: StudyText,
        scale: Scale,
        seed: u64,
    ) -> Result<Option<Recorded>, Error> {
        let place = directory.join(source.name);
        if !place.exists() {
            return Ok(None);
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
        Ok(Some(Recorded {
            source,
            records: found.records,
            missing: usize::try_from(found.missing).unwrap_or(usize::MAX),
        }))
    }

    /// The records of a class, by the numbers of their runs.
    pub fn runs(&self, class: &str) -> Vec<&Record> {
        let own = |record: &&Record| record.class_id == class;
        let mut records: Vec<&Record> = self.records.iter().filter(own).collect();
        records.sort_by_key(|record| record.run);
        records
    }

    /// The class of tied chains and where they ended, run by run; none without records.
    pub fn endpoints(&self, allowance: Allowance) -> Result<Option<(Class, Vec<Code>)>, Error> {
        let records = self.runs(TIED.id);
        let Some(first) = records.first() else {
            return Ok(None);
        };
        let wrong =
            |problem: String| Error::Failed(format!("the records of tied chains: {problem}"));
        let class = first.class.lay_out_within(allowance)?;
        let code = |record: &&Record| {
            let actions = record.actions();
            let actions = actions.ok_or_else(|| wrong(format!("{} has no code", record.id)))?;
            Code::new(&class, &actions).map_err(|error| wrong(error.to_string()))
        };
        let codes = records.iter().map(code).collect::<Result<_, Error>>()?;
        Ok(Some((class, codes)))
    }
}

impl Records {
    /// Reads what the items need of the directory of a reproduction; a study of which there are no
    /// records is left out.
    pub fn read(
        directory: &Path,
        items: impl IntoIterator<Item = &'static Item>,
    ) -> Result<Records, Error> {
        let manifest = ReproductionManifest::read(directory)?;
        let mut sources: Vec<StudyText> = Vec::new();
        for source in items.into_iter().flat_map(Item::studies) {
            if !sources.contains(&source) {
                sources.push(source);
            }
        }
        let mut studies = Vec::new();
        for source in sources {
            let recorded = Recorded::read(directory, source, manifest.scale, manifest.seed)?;
            studies.extend(recorded);
        }
        let records = Records {
            directory: directory.to_owned(),
            manifest,
            studies,
            landscape: Landscape::read(directory)?,
            fleets: Fleets::read(directory)?,
            work: Worked::read(directory)?,
            times: Times::read(directory)?,
        };
        say_unsealed(directory);
        Ok(records)
    }

    /// All studies without a record of any, and the committed networks.
    #[cfg(test)]
    pub fn planned(scale: Scale) -> Records {
        let recorded = |source: StudyText| Recorded {
            source,
            records: Vec::new(),
            missing: 0,
        };
        Records {
            manifest: ReproductionManifest::new(scale, 0),
            studies: super::studies::ALL.map(recorded).into(),
            fleets: Fleets::committed(),
            ..Records::default()
        }
    }

    /// All studies with a record of every run, which found what its number and temperature say; and the committed
    /// networks.
    #[cfg(test)]
    pub fn made_up(scale: Scale, found: &dyn Fn(u64, Option<f64>) -> Value) -> Records {
        let mut records = Records::planned(scale);
        let task = foldglass::Task::new(
            foldglass::Operation::paper(),
            &foldglass::InputLaw::Uniform,
            &[2],
        );
        let class = Class::new(task.unwrap(), foldglass::Shape::untied(0, 0)).unwrap();
        for recorded in &mut records.studies {
            let study = recorded.source.study(scale, 0);
            for dynamics in &study.dynamics {
                for own in study.classes_of(dynamics) {
                    for point in dynamics.points() {
                        let mut settings = dynamics.settings.clone();
                        settings.extend(point.fields());
                        let tau = settings.get("tau").and_then(Value::as_f64);
                        for run in 0..dynamics.runs {
                            let id = &study.classes[own].id;
                            recorded.records.push(Record {
                                schema: 0,
                                foldglass: String::new(),
                                study: study.name.clone(),
                                recipe: String::new(),
                                id: format!("{id}/{}/{}/{run}", dynamics.id, point.name()),
                                class_id: id.clone(),
                                task: String::new(),
                                class: class.spec(),
                                cells: class.cells(),
                                dynamics: dynamics.id.clone(),
                                kind: dynamics.kind.clone(),
                                parameters: point.fields(),
                                settings: settings.clone(),
                                seed: study.seed,
                                run,
                                result: found(run, tau).as_object().unwrap().clone(),
                            });
                        }
                    }
                }
            }
        }
        records
    }

    /// The committed networks, and nothing else.
    #[cfg(test)]
    pub fn committed() -> Records {
        Records {
            fleets: Fleets::committed(),
            ..Records::default()
        }
    }

    /// Whether there are records of a study.
    pub fn has(&self, source: StudyText) -> bool {
        self.of(source).is_some()
    }

    /// Runs of a study that have no record yet.
    pub fn missing(&self, source: StudyText) -> usize {
        self.of(source).map_or(0, |study| study.missing)
    }

    /// The records of a study.
    pub fn of(&self, source: StudyText) -> Option<&Recorded> {
        self.studies.iter().find(|study| study.source == source)
    }

    /// The records of a class; of a chain only those whose dynamics begins with `dynamics`.
    fn records(
        &self,
        source: StudyText,
        class: &str,
        dynamics: &str,
    ) -> impl Iterator<Item = &Record> {
        let own = move |record: &&Record| {
            record.class_id == class && record.dynamics.starts_with(dynamics)
        };
        let records = self.of(source).into_iter();
        records.flat_map(|study| &study.records).filter(own)
    }

    /// The records of a class, by the numbers of their runs.
    pub fn runs(&self, source: StudyText, class: &str) -> Vec<&Record> {
        let study = self.of(source);
        study.map(|study| study.runs(class)).unwrap_or_default()
    }

    /// How the runs of a class ended, at one temperature or at all.
    pub fn ends(&self, source: StudyText, class: &str, dynamics: &str, tau: Option<f64>) -> Sample {
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

    /// J of the chains of a class after a sweep.
    pub fn after(&self, source: StudyText, class: &str, dynamics: &str, sweep: usize) -> Sample {
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
    pub fn last_changes(&self, source: StudyText, class: &str, dynamics: &str) -> Vec<f64> {
        let records = self.records(source, class, dynamics);
        let change = |record: &Record| record.result.get("last_change").and_then(Value::as_f64);
        records.filter_map(change).collect()
    }

    /// The temperatures at which a class is run, whether or not there are records.
    pub fn temperatures(&self, source: StudyText, class: &str) -> Vec<f64> {
        let ReproductionManifest { scale, seed, .. } = self.manifest;
        let study = source.study(scale, seed);
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
