//! Types the numbers that the paper states, and those of the independent prototype (the
//! specification, "Reference values"). The numbers themselves stand beside each item; only
//! the comparison reads them.

use foldglass::support::stats::Proportion;
use schemars::JsonSchema;
use serde::Serialize;

use super::classes::ClassId;
use super::item::Key;
use super::items::Quantity;

/// A number as it is stated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Stated {
    /// A mean over n runs, as printed: its digits say how far it is rounded.
    Mean {
        /// The digits.
        text: &'static str,
        /// The standard deviation over the runs, where it is stated.
        sd: Option<f64>,
        /// The runs.
        n: u64,
        /// How many of them are at exactly 1, where it is stated.
        ones: Option<u64>,
    },
    /// Runs at exactly 1, or others of a kind.
    Count(Proportion),
    /// A quantile over n runs.
    Quantile {
        /// Its value.
        value: f64,
        /// The runs.
        n: u64,
    },
    /// The largest value over n runs.
    Greatest {
        /// The value.
        value: f64,
        /// The runs.
        n: u64,
    },
    /// A deterministic number, or several, compared for equality, as exact as the paper has it.
    Exact(&'static str),
    /// The difference of two means over n runs each, as printed.
    Effect {
        /// The digits.
        text: &'static str,
        /// The standard deviations of both, added in quadrature.
        sd: f64,
        /// The runs of each.
        n: u64,
    },
    /// The temperature with the largest mean; none where no temperature beats the coldest.
    Peak {
        /// The temperature.
        tau: Option<f64>,
        /// The runs at each temperature.
        n: u64,
    },
}

impl Stated {
    /// The runs it rests on.
    pub fn runs(&self) -> u64 {
        match *self {
            Stated::Mean { n, .. }
            | Stated::Effect { n, .. }
            | Stated::Quantile { n, .. }
            | Stated::Greatest { n, .. }
            | Stated::Peak { n, .. } => n,
            Stated::Count(count) => count.trials,
            Stated::Exact(_) => 1,
        }
    }
}

/// A mean, its standard deviation not stated.
pub const fn mean(text: &'static str, n: u64) -> Stated {
    Stated::Mean {
        text,
        sd: None,
        n,
        ones: None,
    }
}

/// A mean with its standard deviation.
pub const fn spread(text: &'static str, sd: f64, n: u64) -> Stated {
    Stated::Mean {
        text,
        sd: Some(sd),
        n,
        ones: None,
    }
}

/// A mean next to the number of runs at exactly 1.
pub const fn beside(text: &'static str, ones: u64, n: u64) -> Stated {
    Stated::Mean {
        text,
        sd: None,
        n,
        ones: Some(ones),
    }
}

/// So many of n runs.
pub const fn count(successes: u64, trials: u64) -> Stated {
    Stated::Count(Proportion { successes, trials })
}

/// A quantile over n runs.
pub const fn quantile(value: f64, n: u64) -> Stated {
    Stated::Quantile { value, n }
}

/// The largest of n.
pub const fn greatest(value: f64, n: u64) -> Stated {
    Stated::Greatest { value, n }
}

/// The best temperature.
pub const fn peak(tau: Option<f64>, n: u64) -> Stated {
    Stated::Peak { tau, n }
}

/// What is stated about one quantity of one class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Entry {
    /// The number.
    pub key: Key,
    /// The paper's number.
    pub paper: Stated,
    /// The prototype's.
    pub reference: Option<Stated>,
    /// Whether the number is the paper's.
    pub source: NumberSource,
    /// What a difference would touch.
    pub touches: Touches,
    /// What a reader should know in any case.
    pub note: &'static str,
    /// Why ours may differ, where the specification knows it.
    pub reason: &'static str,
}

/// Where a number that ours is compared with comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberSource {
    /// The paper states it of this quantity.
    Paper,
    /// A part of it, such as the number of runs, is our assumption.
    Assumed,
    /// The paper states it, but of another quantity: it is read as this one to see how far that goes.
    Reading,
}

/// What a difference touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Touches {
    /// A number of the paper.
    Result,
    /// A choice that the paper leaves open, and that we made.
    Protocol,
}

/// What the paper states of a quantity.
pub fn entry(class: ClassId, quantity: impl Into<Quantity>, paper: Stated) -> Entry {
    Entry {
        key: Key::new(class, quantity),
        paper,
        reference: None,
        source: NumberSource::Paper,
        touches: Touches::Result,
        note: "",
        reason: "",
    }
}

impl Entry {
    /// The entry beside the prototype's number.
    pub fn reference(self, stated: Stated) -> Entry {
        Entry {
            reference: Some(stated),
            ..self
        }
    }

    /// The entry, a part of which is our assumption.
    pub fn assumed(self) -> Entry {
        Entry {
            source: NumberSource::Assumed,
            ..self
        }
    }

    /// The entry as a reading: the paper states the number of another quantity.
    pub fn reading(self) -> Entry {
        Entry {
            source: NumberSource::Reading,
            ..self
        }
    }

    /// The entry of a number that depends on a choice which the paper leaves open.
    pub fn protocol(self) -> Entry {
        Entry {
            touches: Touches::Protocol,
            ..self
        }
    }

    /// The entry with what a reader should know.
    pub fn note(self, note: &'static str) -> Entry {
        Entry { note, ..self }
    }

    /// The entry with why ours may differ.
    pub fn reason(self, reason: &'static str) -> Entry {
        Entry { reason, ..self }
    }
}
