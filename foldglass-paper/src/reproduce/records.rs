//! Reads the records of a reproduction, once, and the numbers of items off them.
//!
//! With [`super::studies`] and [`super::landscape`] this is all of `reproduce` that knows the study
//! engine: items ask for ends, rewards after a sweep, last changes and temperatures.

use std::path::{Path, PathBuf};

use foldglass::support::stats::Proportion;
use foldglass::{Allowance, Class, Code, Reward};
use foldglass_study::{Fields, Record, StudyError, gather};
use serde_json::Value;

use super::classes::TIED;
use super::files::say_unsealed;
use super::fleets::Fleets;
use super::item::Item;
use super::landscape::Landscape;
use super::manifest::ReproductionManifest;
use super::measured::Measured;
use super::studies::{CHAIN, PURE_STATE, Scale, StudyText};
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
    /// Lines that were damaged.
    damaged: usize,
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

    /// Adds a reward; `fields` were found complete when they were read.
    fn push(&mut self, fields: &Fields) {
        let (reward, exact) = end_of(fields).expect("it was checked when it was read");
        self.rewards.push(reward);
        self.ones += u64::from(exact.is_one());
    }
}

/// The reward of a run, or of a checkpoint, as a number and exactly: that of its greedy code where it is a policy. Else
/// the field that is not there.
fn end_of(fields: &Fields) -> Result<(f64, Reward), &'static str> {
    let [reward, exact] = match fields.contains_key("greedy_reward") {
        true => ["greedy_reward", "greedy_exact"],
        false => ["reward", "reward_exact"],
    };
    let number = fields.get(reward).and_then(Value::as_f64).ok_or(reward)?;
    let fraction = fields.get(exact).and_then(Value::as_str);
    let fraction = fraction.and_then(|text| text.parse().ok());
    Ok((number, fraction.ok_or(exact)?))
}

/// What a run found at its checkpoints, where it has some.
fn marks(record: &Record) -> impl Iterator<Item = &Fields> {
    let marks = record.result.get("checkpoints").and_then(Value::as_array);
    marks.into_iter().flatten().filter_map(Value::as_object)
}

/// What is read of every pure state; null where it found nothing there.
const PURE_STATE_FIELDS: [&str; 12] = [
    "bhattacharyya",
    "bhattacharyya_null",
    "cavi_reward",
    "cavi_unstable",
    "correlation",
    "correlation_noise",
    "draws",
    "entropy",
    "mean_reward",
    "mean_rewards",
    "standing",
    "start_reward",
];

/// Whether a record has what is read of it; else the field that it lacks.
fn complete(record: &Record) -> Result<(), &'static str> {
    let has = |field: &'static str| match record.result.contains_key(field) {
        true => Ok(()),
        false => Err(field),
    };
    if record.kind == PURE_STATE {
        return PURE_STATE_FIELDS.into_iter().try_for_each(has);
    }
    end_of(&record.result)?;
    if record.kind == CHAIN {
        let change = record.result.get("last_change").and_then(Value::as_f64);
        change.ok_or("last_change")?;
    }
    for mark in marks(record) {
        end_of(mark)?;
        mark.get("sweep").and_then(Value::as_u64).ok_or("sweep")?;
    }
    Ok(())
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
        for record in &found.records {
            complete(record).map_err(|field| {
                let file = Some(place.join("records.jsonl")).filter(|file| file.exists());
                let problem = format!("the record {} lacks the field `{field}`", record.id);
                StudyError::study(file.unwrap_or_else(|| place.clone()), problem)
            })?;
        }
        Ok(Some(Recorded {
            source,
            records: found.records,
            missing: usize::try_from(found.missing).unwrap_or(usize::MAX),
            damaged: found.damaged,
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

    /// Whether there are records of a study.
    pub fn has(&self, source: StudyText) -> bool {
        self.of(source).is_some()
    }

    /// Runs of a study that have no record yet.
    pub fn missing(&self, source: StudyText) -> usize {
        self.of(source).map_or(0, |study| study.missing)
    }

    /// The studies with damaged lines, which count as runs without a record, and how many lines.
    pub fn damaged(&self) -> Vec<(&'static str, usize)> {
        let studies = self.studies.iter();
        let counts = studies.map(|study| (study.source.name, study.damaged));
        counts.filter(|(_, lines)| *lines > 0).collect()
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
            sample.push(&record.result);
        }
        sample
    }

    /// J of the chains of a class after a sweep.
    pub fn after(&self, source: StudyText, class: &str, dynamics: &str, sweep: usize) -> Sample {
        let mut sample = Sample::default();
        for record in self.records(source, class, dynamics) {
            let own = |mark: &&Fields| mark.get("sweep") == Some(&Value::from(sweep));
            for mark in marks(record).filter(own) {
                sample.push(mark);
            }
        }
        sample
    }

    /// The sweeps at which J of the chains of a class last changed.
    pub fn last_changes(&self, source: StudyText, class: &str, dynamics: &str) -> Vec<f64> {
        let records = self.records(source, class, dynamics);
        let change = |record: &Record| record.result.get("last_change").and_then(Value::as_f64);
        let changes =
            records.map(|record| change(record).expect("it was checked when it was read"));
        changes.collect()
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

#[cfg(test)]
mod made_up;
