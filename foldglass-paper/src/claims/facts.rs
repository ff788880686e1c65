//! Holds what statements are decided from: the comparison of `reproduce`, its records, those of probes.

use std::fmt;

use foldglass::support::stats::Summary;
use foldglass_study::Record;
use serde_json::Value;

use super::Probes;
use crate::reproduce::items::{self, Quantity};
use crate::reproduce::studies::StudyText;
use crate::reproduce::{ClassId, Comparison, Item, Key, Records, Row, Sample};

/// All that is known of a reproduction.
#[derive(Clone, Copy)]
pub struct ReproductionFacts<'a> {
    /// The records of studies, censuses and networks.
    pub records: &'a Records,
    /// The comparison of its items with the paper.
    pub comparison: &'a Comparison,
    /// What probes found.
    pub probes: &'a Probes,
}

/// Why a statement cannot be decided from what is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Absent {
    /// Records are not there.
    Records {
        /// Whose.
        of: String,
        /// The command that makes them, without the directory.
        made_by: String,
    },
    /// There are records, but none of a run for this.
    Runs(String),
    /// The item does not measure this: a mistake of the program.
    NotMeasured {
        /// The item.
        item: &'static str,
        /// The number.
        number: String,
    },
}

impl fmt::Display for Absent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Absent::Records { of, made_by } => {
                write!(
                    f,
                    "there are no records of {of}: `foldglass {made_by}` makes them"
                )
            }
            Absent::Runs(what) => write!(f, "there are no runs for {what}"),
            Absent::NotMeasured { item, number } => {
                write!(f, "{item} does not measure {number}")
            }
        }
    }
}

impl<'a> ReproductionFacts<'a> {
    /// The numbers of an item.
    pub fn rows(&self, item: &'static Item) -> Result<&'a [Row], Absent> {
        let compared = self.comparison.item(item);
        compared.map(|compared| &compared.rows[..]).ok_or_else(|| {
            let lacking = item.lacking(self.records);
            Absent::Records {
                of: lacking.unwrap_or_else(|| item.label.to_owned()),
                made_by: format!("reproduce {}", item.label),
            }
        })
    }

    /// A number of an item.
    pub fn row(
        &self,
        item: &'static Item,
        class: ClassId,
        quantity: impl Into<Quantity>,
    ) -> Result<&'a Row, Absent> {
        self.at(item, Key::new(class, quantity))
    }

    /// The same by its key.
    pub fn at(&self, item: &'static Item, key: Key) -> Result<&'a Row, Absent> {
        let mut rows = self.rows(item)?.iter();
        rows.find(|row| row.key == key)
            .ok_or_else(|| Absent::NotMeasured {
                item: item.label,
                number: format!("{}, {}", key.class, key.quantity),
            })
    }

    /// The value of a number that has one.
    pub fn value(
        &self,
        item: &'static Item,
        class: ClassId,
        quantity: impl Into<Quantity>,
    ) -> Result<f64, Absent> {
        ours(self.row(item, class, quantity)?)
    }

    /// The records of a class in a study, run by run; at least one.
    pub fn runs(&self, source: StudyText, class: ClassId) -> Result<Vec<&'a Record>, Absent> {
        self.has(source)?;
        let runs = self.records.runs(source, class.id);
        if runs.is_empty() {
            return Err(Absent::Runs(format!("{class} in {}", source.name)));
        }
        Ok(runs)
    }

    /// How the runs of a class ended, at one temperature or at all; at least one.
    pub fn ends(
        &self,
        source: StudyText,
        class: ClassId,
        tau: Option<f64>,
    ) -> Result<Sample, Absent> {
        self.has(source)?;
        let sample = self.records.ends(source, class.id, "", tau);
        if sample.rewards.is_empty() {
            let at = tau.map_or(String::new(), |tau| format!(" at {tau:e}"));
            return Err(Absent::Runs(format!("{class}{at} in {}", source.name)));
        }
        Ok(sample)
    }

    /// The mean, spread and number of the rewards of a class at a temperature.
    pub fn summary(
        &self,
        source: StudyText,
        class: ClassId,
        tau: Option<f64>,
    ) -> Result<Summary, Absent> {
        let sample = self.ends(source, class, tau)?;
        Ok(Summary::of(&sample.rewards).expect("at least one"))
    }

    /// The verdicts on the endpoints of the tied chains; at least one.
    pub fn endpoints(&self) -> Result<&'a [crate::reproduce::landscape::Endpoint], Absent> {
        self.rows(&items::trapsexist::ITEM)?;
        Ok(&self.records.landscape.endpoints)
    }

    fn has(&self, source: StudyText) -> Result<(), Absent> {
        if self.records.has(source) {
            return Ok(());
        }
        let item = items::all().find(|item| item.studies().any(|study| study == source));
        Err(Absent::Records {
            of: format!("the study {}", source.name),
            made_by: item.map_or("reproduce".to_owned(), |item| {
                format!("reproduce {}", item.label)
            }),
        })
    }
}

/// The value of a number that has one.
pub fn ours(row: &Row) -> Result<f64, Absent> {
    let none = || Absent::Runs(format!("{}, {}", row.row, row.quantity));
    row.ours.ok_or_else(none)
}

/// A number of a record's result.
pub fn result(record: &Record, key: &str) -> Option<f64> {
    record.result.get(key).and_then(Value::as_f64)
}

/// The exact reward of a chain after a sweep, where it is a checkpoint.
pub fn reward_at(record: &Record, sweep: u64) -> Option<&str> {
    let marks = record.result.get("checkpoints").and_then(Value::as_array);
    let own = |mark: &&Value| mark.get("sweep").and_then(Value::as_u64) == Some(sweep);
    let mark = marks.into_iter().flatten().find(own)?;
    mark.get("reward_exact")?.as_str()
}
