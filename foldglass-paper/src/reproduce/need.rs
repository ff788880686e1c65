//! Names what an item needs: records of studies, censuses, certificates, further steps, networks.
//!
//! All that walks over needs asks here: what is run, what is missing, whose time is kept, what is listed.

use super::fleets::Kept;
use super::landscape::CensusRecipe;
use super::records::Records;
use super::studies::{Scale, StudyText};
use super::work::Work;
use crate::error::Error;

/// Records that an item needs.
#[derive(Clone, Copy)]
pub enum Need {
    /// Those of a study.
    Study(StudyText),
    /// That of a census.
    Census(CensusRecipe),
    /// The certificates of the tied endpoints.
    Certificates,
    /// What a further step leaves.
    Work(Step),
    /// Those of networks, trained on a GPU and committed.
    Fleet(Kept),
}

/// A step after the studies and censuses of an item.
#[derive(Clone, Copy)]
pub struct Step {
    /// Its name: the label of its item.
    pub name: &'static str,
    /// About the processor seconds that it takes in full, for progress bars and dry runs.
    pub seconds: u32,
    /// The files that it leaves, or folders of them.
    pub leaves: &'static [&'static str],
    /// Does what is not done yet.
    pub run: fn(&Work<'_>) -> Result<(), Error>,
}

/// The censuses, and the certificates, as parts of the work.
const CENSUSES: &str = "censuses";
const CERTIFICATES: &str = "certificates";

impl Need {
    /// The part of the work that makes these records, under which its time is kept; none where nothing
    /// is run for them.
    pub fn part(&self) -> Option<&'static str> {
        match self {
            Need::Study(source) => Some(source.name),
            Need::Census(_) => Some(CENSUSES),
            Need::Certificates => Some(CERTIFICATES),
            Need::Work(step) => Some(step.name),
            Need::Fleet(_) => None,
        }
    }

    /// Its place in the order of the work: what later needs read is made first.
    pub fn rank(&self) -> u8 {
        match self {
            Need::Fleet(_) => 0,
            Need::Study(_) => 1,
            Need::Census(_) => 2,
            Need::Certificates => 3,
            Need::Work(_) => 4,
        }
    }

    /// About the processor seconds that its part takes, for progress bars and dry runs.
    pub fn cost(&self, scale: Scale) -> f64 {
        match (self, scale) {
            (Need::Study(source), _) => source.cost(scale),
            (Need::Fleet(_), _) => 0.0,
            (Need::Census(_), _) | (Need::Certificates, Scale::Smoke) => 1.0,
            (Need::Certificates, _) => 30.0,
            (Need::Work(step), Scale::Smoke | Scale::Quick) => f64::from(step.seconds.min(5)),
            (Need::Work(step), _) => f64::from(step.seconds),
        }
    }

    /// What is missing where the records are not there.
    pub fn lacking(&self, records: &Records) -> Option<String> {
        match self {
            Need::Study(source) => {
                let name = format!("the study {}", source.name);
                (!records.has(*source)).then_some(name)
            }
            Need::Census(recipe) => {
                let found = records.landscape.census(recipe);
                found.is_none().then(|| format!("the census of {recipe}"))
            }
            Need::Certificates => {
                let name = "the certificates of the tied endpoints".to_owned();
                records.landscape.endpoints.is_empty().then_some(name)
            }
            Need::Work(step) => {
                let name = format!("the further steps of {}", step.name);
                (!records.work.done.contains(&step.name)).then_some(name)
            }
            // They are committed, and read from the program where a directory has none of its own.
            Need::Fleet(_) => None,
        }
    }

    /// Runs of it that have no record yet.
    pub fn missing_runs(&self, records: &Records) -> usize {
        match self {
            Need::Study(source) => records.missing(*source),
            Need::Fleet(kept) => records.fleets.missing(kept),
            _ => 0,
        }
    }

    /// The study, where it is one.
    pub fn study(&self) -> Option<StudyText> {
        match self {
            Need::Study(source) => Some(*source),
            _ => None,
        }
    }

    /// The records of networks, where it is some.
    pub fn fleet(&self) -> Option<Kept> {
        match self {
            Need::Fleet(kept) => Some(*kept),
            _ => None,
        }
    }

    /// The census, where it is one.
    pub fn census(&self) -> Option<CensusRecipe> {
        match self {
            Need::Census(recipe) => Some(*recipe),
            _ => None,
        }
    }
}
