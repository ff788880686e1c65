//! Types the numbers that the paper states, and those of the independent prototype (the
//! specification, "Reference values"). The numbers themselves are constants beside each item; only
//! the comparison reads them.

use foldglass::stats::Proportion;

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
        /// It.
        value: f64,
        /// The runs.
        n: u64,
    },
    /// A number, or several, without any chance in it, as exact as the paper has it.
    Exact(&'static str),
    /// The temperature with the largest mean; none where no temperature beats the coldest.
    Peak {
        /// It.
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
    /// The class, by its id in the studies.
    pub class: &'static str,
    /// The quantity, as the item's measurement names it.
    pub quantity: &'static str,
    /// The paper's number.
    pub paper: Stated,
    /// The prototype's.
    pub reference: Option<Stated>,
    /// What a reader should know in any case.
    pub note: &'static str,
    /// Why ours may differ, where the specification knows it.
    pub reason: &'static str,
}

/// What the paper states of a quantity.
pub const fn entry(class: &'static str, quantity: &'static str, paper: Stated) -> Entry {
    Entry {
        class,
        quantity,
        paper,
        reference: None,
        note: "",
        reason: "",
    }
}

impl Entry {
    /// The entry beside the prototype's number.
    pub const fn reference(self, stated: Stated) -> Entry {
        Entry {
            reference: Some(stated),
            ..self
        }
    }

    /// The entry with what a reader should know.
    pub const fn note(self, note: &'static str) -> Entry {
        Entry { note, ..self }
    }

    /// The entry with why ours may differ.
    pub const fn reason(self, reason: &'static str) -> Entry {
        Entry { reason, ..self }
    }

    /// The entry for the same number under another name.
    pub const fn named(self, quantity: &'static str) -> Entry {
        Entry { quantity, ..self }
    }
}
