//! Holds what statements are decided from: the comparison of `reproduce`, its records, those of probes.

use std::fmt;

use foldglass::support::stats::{Proportion, Summary};
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
        /// The item, or the study.
        item: String,
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
                item: item.label.to_owned(),
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

/// A number of runs of a kind, of all: a row has it as a share.
pub fn count(row: &Row) -> Result<Proportion, Absent> {
    Ok(Proportion {
        successes: (ours(row)? * row.n as f64).round() as u64,
        trials: row.n,
    })
}

/// What a run found, by the names that methods give it. A record that lacks a field is a mistake of the program, as a
/// number that no item measures is; one whose field is null found nothing there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunField {
    /// The largest distance of a probability from its target.
    Residual,
    /// The entropy of all cells, in nats.
    Entropy,
    /// The exact reward of the greedy code.
    GreedyExact,
    /// The first sweep at reward 1.
    SweepsToOptimum,
    /// The rewards at checkpoints.
    Checkpoints,
    /// Whether a pure state is a trap.
    Standing,
    /// The reward of the trap that chains start at.
    StartReward,
    /// The mean rewards of replicas.
    MeanRewards,
    /// The correlation of cells that move.
    Correlation,
    /// The correlation of permuted draws.
    CorrelationNoise,
}

impl RunField {
    fn name(self) -> &'static str {
        match self {
            RunField::Residual => "residual",
            RunField::Entropy => "entropy",
            RunField::GreedyExact => "greedy_exact",
            RunField::SweepsToOptimum => "sweeps_to_optimum",
            RunField::Checkpoints => "checkpoints",
            RunField::Standing => "standing",
            RunField::StartReward => "start_reward",
            RunField::MeanRewards => "mean_rewards",
            RunField::Correlation => "correlation",
            RunField::CorrelationNoise => "correlation_noise",
        }
    }

    fn absent(self, record: &Record) -> Absent {
        Absent::NotMeasured {
            item: format!("the run {} of the study {}", record.id, record.study),
            number: self.name().to_owned(),
        }
    }

    fn of(self, record: &Record) -> Result<&Value, Absent> {
        let value = record.result.get(self.name());
        value.ok_or_else(|| self.absent(record))
    }

    /// A number that every run has.
    pub fn number(self, record: &Record) -> Result<f64, Absent> {
        let found = self.some_number(record)?;
        found.ok_or_else(|| self.absent(record))
    }

    /// A number that only some runs have.
    pub fn some_number(self, record: &Record) -> Result<Option<f64>, Absent> {
        match self.of(record)? {
            Value::Null => Ok(None),
            value => value.as_f64().map(Some).ok_or_else(|| self.absent(record)),
        }
    }

    /// A word that every run has.
    pub fn word(self, record: &Record) -> Result<&str, Absent> {
        let word = self.of(record)?.as_str();
        word.ok_or_else(|| self.absent(record))
    }

    /// Numbers that every run has.
    pub fn numbers(self, record: &Record) -> Result<Vec<f64>, Absent> {
        let list = self.of(record)?.as_array();
        let list = list.and_then(|list| list.iter().map(Value::as_f64).collect());
        list.ok_or_else(|| self.absent(record))
    }
}

/// The temperature of a run that has one.
pub fn tau(record: &Record) -> Result<f64, Absent> {
    let tau = record.settings.get("tau").and_then(Value::as_f64);
    tau.ok_or_else(|| Absent::NotMeasured {
        item: format!("the run {} of the study {}", record.id, record.study),
        number: "tau".to_owned(),
    })
}

/// The exact reward of a chain after a sweep; none where the chain ends before it.
pub fn reward_at(record: &Record, sweep: u64) -> Result<Option<&str>, Absent> {
    let field = RunField::Checkpoints;
    let sweeps = record.settings.get("sweeps").and_then(Value::as_u64);
    if sweeps.is_some_and(|sweeps| sweeps < sweep) {
        return Ok(None);
    }
    let marks = field.of(record)?.as_array();
    let own = |mark: &&Value| mark.get("sweep").and_then(Value::as_u64) == Some(sweep);
    let mark = marks.into_iter().flatten().find(own);
    let reward = mark.and_then(|mark| mark.get("reward_exact")?.as_str());
    reward.map(Some).ok_or_else(|| field.absent(record))
}
