//! Puts a measured number beside the stated one.

use foldglass::support::stats::Interval;
use schemars::JsonSchema;
use serde::Serialize;

use super::detect::Detectable;
use super::item::{Item, Key, Number};
use super::judge::{ComparisonVerdict, Judgement, LEVEL, Why, enough, judge};
use super::measured::Measured;
use super::records::Records;
use super::stated::{Entry, Stated, Touches};
use crate::report::{Cell, Digits};

/// One number of an item.
#[derive(Debug, JsonSchema, Serialize)]
pub struct Row {
    /// Which number it is.
    #[serde(skip)]
    pub key: Key,
    /// The class.
    pub row: &'static str,
    /// What of it.
    pub quantity: String,
    /// The paper's number; a number of runs at 1 as a share.
    pub paper: Option<f64>,
    /// The paper's standard deviation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paper_sd: Option<f64>,
    /// The paper's runs.
    pub paper_n: Option<u64>,
    /// Ours.
    pub ours: Option<f64>,
    /// The paper's and ours as they are compared, where no chance is in them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact: Option<[String; 2]>,
    /// Our standard deviation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sd: Option<f64>,
    /// What ours does not rule out at 95 %.
    pub interval: Option<[f64; 2]>,
    /// Our runs.
    pub n: u64,
    /// The runs of ours that a verdict needs.
    #[serde(skip)]
    pub needs: u64,
    /// What the comparison says.
    pub verdict: ComparisonVerdict,
    /// Why it cannot tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<Why>,
    /// What a difference touches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub touches: Option<Touches>,
    /// The item that shows the same runs first, where another does: they count there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same_as: Option<&'static str>,
    /// How likely such a difference is by chance.
    pub p: Option<f64>,
    /// What of ours would have differed.
    pub detectable: Option<Detectable>,
    /// The comparison with the independent prototype.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<Reference>,
    /// What a reader should know.
    pub note: String,
    /// The paper's number in tables.
    #[serde(skip)]
    pub paper_cell: Cell,
    /// Ours likewise.
    #[serde(skip)]
    pub ours_cell: Cell,
    /// The interval likewise.
    #[serde(skip)]
    pub interval_cell: Cell,
}

/// A number of the prototype.
#[derive(Debug, JsonSchema, Serialize)]
pub struct Reference {
    /// The number.
    pub value: Option<f64>,
    /// Its runs.
    pub n: u64,
    /// What the comparison says.
    pub verdict: ComparisonVerdict,
    /// How likely such a difference is by chance.
    pub p: Option<f64>,
    /// The number in words.
    #[serde(skip)]
    text: String,
}

impl Row {
    /// The words a reader should know, that another item counts it among them.
    pub fn said(&self) -> String {
        let same = self
            .same_as
            .map(|item| format!("the same runs as in {item}"));
        let note = Some(self.note.clone()).filter(|note| !note.is_empty());
        same.into_iter().chain(note).collect::<Vec<_>>().join("; ")
    }
}

/// The rows of an item.
pub fn rows(item: &Item, records: &Records) -> Vec<Row> {
    let entries = (item.paper)();
    let mut rows = Vec::new();
    for number in (item.measure)(records) {
        let entry = entries.iter().find(|entry| entry.key == number.key);
        if entry.is_some() || item.shows_all {
            rows.push(row(number, entry));
        }
    }
    rows
}

fn row(number: Number, entry: Option<&Entry>) -> Row {
    let Number { key, measured } = number;
    let judged = |stated: &Stated| {
        let needed = entry.map_or(0, |entry| enough(&entry.paper));
        judge(&measured, stated, needed)
    };
    let judgement = entry.map_or(Judgement::NOT_STATED, |entry| {
        judged(&entry.paper).of(entry.source)
    });
    let stated = entry.and_then(|entry| entry.reference);
    let reference = stated.map(|stated| Reference::new(&stated, judged(&stated)));
    let interval = measured.interval();
    Row {
        key,
        row: key.class.name,
        quantity: key.quantity.to_string(),
        paper: entry.and_then(|entry| value(&entry.paper)),
        paper_sd: entry.and_then(|entry| sd(&entry.paper)),
        paper_n: entry.map(|entry| entry.paper.runs()),
        ours: measured.value(),
        exact: match (entry.map(|entry| &entry.paper), &measured) {
            (Some(Stated::Exact(paper)), Measured::Exact(Some(ours))) => {
                Some([(*paper).to_owned(), ours.clone()])
            }
            _ => None,
        },
        sd: measured.sd(),
        interval: interval.map(|interval| [interval.low, interval.high]),
        n: measured.runs(),
        needs: entry.map_or(1, |entry| enough(&entry.paper)),
        note: note(entry, &judgement, reference.as_ref()),
        verdict: judgement.verdict,
        why: judgement.why,
        touches: entry
            .filter(|_| judgement.verdict == ComparisonVerdict::Differs)
            .map(|entry| entry.touches),
        same_as: None,
        p: judgement.p,
        detectable: judgement.detectable,
        reference,
        paper_cell: entry.map_or(Cell::Missing, |entry| stated_cell(&entry.paper)),
        ours_cell: measured_cell(&measured),
        interval_cell: interval_cell(&measured, interval),
    }
}

impl Reference {
    fn new(stated: &Stated, judgement: Judgement) -> Reference {
        Reference {
            value: value(stated),
            n: stated.runs(),
            verdict: judgement.verdict,
            p: judgement.p,
            text: stated_cell(stated).text(),
        }
    }
}

/// A stated number; a count as a share.
pub fn value(stated: &Stated) -> Option<f64> {
    match *stated {
        Stated::Mean { text, .. } | Stated::Effect { text, .. } => text.parse().ok(),
        Stated::Count(count) => count.rate(),
        Stated::Quantile { value, .. } | Stated::Greatest { value, .. } => Some(value),
        Stated::Peak { tau, .. } => tau,
        Stated::Exact(text) => text.parse().ok(),
    }
}

fn sd(stated: &Stated) -> Option<f64> {
    match *stated {
        Stated::Mean { sd, .. } => sd,
        Stated::Effect { sd, .. } => Some(sd),
        _ => None,
    }
}

/// A stated number, with the digits it is stated with.
fn stated_cell(stated: &Stated) -> Cell {
    match *stated {
        Stated::Mean { text, sd, .. } => mean_cell(text, sd),
        Stated::Effect { text, .. } => mean_cell(text, None),
        Stated::Count(count) => Cell::CountOf(count),
        Stated::Quantile { value, .. } | Stated::Greatest { value, .. } => Cell::real(value),
        Stated::Peak { tau, .. } => tau_cell(tau),
        Stated::Exact(text) => exact_cell(text),
    }
}

fn mean_cell(text: &str, sd: Option<f64>) -> Cell {
    let decimals = text.split_once('.').map_or(0, |(_, digits)| digits.len());
    Cell::MeanSd {
        mean: Digits::Decimals(decimals).of(text.parse().expect("a number as printed")),
        sd: sd.map(|sd| Digits::Short.of(sd)),
    }
}

/// A temperature, or none of them.
fn tau_cell(tau: Option<f64>) -> Cell {
    tau.map_or(Cell::from("none"), |tau| Cell::Real(Digits::Power.of(tau)))
}

/// A count, a fraction, or a line of several.
fn exact_cell(text: &str) -> Cell {
    match text.parse() {
        Ok(count) => Cell::Large(count),
        Err(_) if text.contains('/') && !text.contains(',') => Cell::Exact(text.to_owned()),
        Err(_) => Cell::from(text),
    }
}

fn measured_cell(measured: &Measured) -> Cell {
    if measured.runs() == 0 {
        return Cell::Missing;
    }
    match (measured, measured.value()) {
        (Measured::Count(count), _) => Cell::CountOf(*count),
        (Measured::Exact(Some(text)), _) => exact_cell(text),
        (Measured::Mean(_), Some(mean)) => Cell::MeanSd {
            mean: Digits::Decimals(4).of(mean),
            sd: measured.sd().map(|sd| Digits::Decimals(4).of(sd)),
        },
        (Measured::Effect { .. }, Some(mean)) => Cell::MeanSd {
            mean: Digits::Decimals(4).of(mean),
            sd: None,
        },
        // One run a temperature says of none whether it is the best.
        (Measured::Peak(_), None) if measured.interval().is_none() => Cell::Missing,
        (Measured::Peak(_), tau) => tau_cell(tau),
        (_, value) => Cell::or_missing(value),
    }
}

fn interval_cell(measured: &Measured, interval: Option<Interval>) -> Cell {
    let digits = match measured {
        Measured::Mean(_) | Measured::Effect { .. } => Digits::Decimals(4),
        Measured::Count(_) => Digits::Decimals(3),
        Measured::Peak(_) => Digits::Power,
        _ => Digits::Short,
    };
    interval.map_or(Cell::Missing, |interval| Cell::Interval {
        interval,
        digits,
    })
}

fn note(entry: Option<&Entry>, judgement: &Judgement, reference: Option<&Reference>) -> String {
    let mut parts: Vec<String> = Vec::new();
    if let Some(why) = judgement.why {
        parts.push(why.words().to_owned());
    }
    if let Some(entry) = entry {
        if !entry.note.is_empty() {
            parts.push(entry.note.to_owned());
        }
        let known = judgement.verdict == ComparisonVerdict::Differs && entry.reason != entry.note;
        if known && !entry.reason.is_empty() {
            parts.push(entry.reason.to_owned());
        }
    }
    if let Some(Reference {
        text, verdict, p, ..
    }) = reference
    {
        let said = match (verdict, p) {
            (ComparisonVerdict::Differs, Some(p)) if *p < LEVEL => format!("differs, p = {p:.1e}"),
            (verdict, _) => verdict.words().to_owned(),
        };
        parts.push(format!("reference {text}: {said}"));
    }
    parts.join("; ")
}
