//! Puts a measured number beside the stated one.

use serde::Serialize;

use super::compare::{Judgement, LEVEL, Measured, Verdict};
use super::data::Data;
use super::items::{Item, Quantity, name};
use super::paper::{self, Entry, Stated};
use crate::census::grouped_digits;
use foldglass::stats::Summary;

/// One number of an item.
#[derive(Debug, Serialize)]
pub struct Row {
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
    /// What ours does not rule out at 99 %.
    pub interval: Option<[f64; 2]>,
    /// Our runs.
    pub n: u64,
    /// What the comparison says.
    pub verdict: Verdict,
    /// How likely such a difference is by chance.
    pub p: Option<f64>,
    /// The comparison with the independent prototype.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<Reference>,
    /// What a reader should know.
    pub note: String,
    /// The paper's number as a person reads it.
    #[serde(skip)]
    pub paper_text: String,
    /// Ours likewise.
    #[serde(skip)]
    pub ours_text: String,
    /// The interval likewise.
    #[serde(skip)]
    pub interval_text: String,
}

/// A number of the prototype.
#[derive(Debug, Serialize)]
pub struct Reference {
    /// It.
    pub value: Option<f64>,
    /// Its runs.
    pub n: u64,
    /// What the comparison says.
    pub verdict: Verdict,
    /// How likely such a difference is by chance.
    pub p: Option<f64>,
}

/// The rows of an item.
pub fn rows(item: Item, data: &Data) -> Vec<Row> {
    let entries = paper::entries(item.label());
    let mut rows = Vec::new();
    for quantity in item.measure(data) {
        let same =
            |entry: &&Entry| entry.class == quantity.class && entry.quantity == quantity.name;
        let entry = entries.iter().find(same);
        if entry.is_some() || item.shows_all() {
            rows.push(row(quantity, entry));
        }
    }
    rows
}

fn row(quantity: Quantity, entry: Option<&Entry>) -> Row {
    let Quantity {
        class,
        name: what,
        measured,
    } = quantity;
    let needed = entry.map_or(0, |entry| entry.paper.runs().div_ceil(2));
    let judge = |stated: &Stated| measured.judge(stated, needed);
    let judgement = entry.map_or(Judgement::NOT_STATED, |entry| judge(&entry.paper));
    let reference = entry.and_then(|entry| entry.reference).map(|stated| {
        let Judgement { verdict, p } = judge(&stated);
        let reference = Reference {
            value: value(&stated),
            n: stated.runs(),
            verdict,
            p,
        };
        (reference, text(&stated))
    });
    let interval = measured.interval();
    let digits = |value: f64| short(&measured, value);
    Row {
        row: name(class),
        quantity: what,
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
        sd: measured_sd(&measured),
        interval: interval.map(|interval| [interval.low, interval.high]),
        n: measured.runs(),
        verdict: judgement.verdict,
        p: judgement.p,
        note: note(entry, judgement, &reference),
        reference: reference.map(|(reference, _)| reference),
        paper_text: entry.map_or("-".to_owned(), |entry| text(&entry.paper)),
        ours_text: ours_text(&measured),
        interval_text: interval.map_or("-".to_owned(), |interval| {
            format!("{} to {}", digits(interval.low), digits(interval.high))
        }),
    }
}

/// A stated number; a count as a share.
fn value(stated: &Stated) -> Option<f64> {
    match *stated {
        Stated::Mean { text, .. } => text.parse().ok(),
        Stated::Count(count) => count.rate(),
        Stated::Quantile { value, .. } | Stated::Greatest { value, .. } => Some(value),
        Stated::Peak { tau, .. } => tau,
        Stated::Exact(text) => text.parse().ok(),
    }
}

fn sd(stated: &Stated) -> Option<f64> {
    match *stated {
        Stated::Mean { sd, .. } => sd,
        _ => None,
    }
}

fn measured_sd(measured: &Measured) -> Option<f64> {
    match measured {
        Measured::Mean(values) => Summary::of(values)?.sd,
        _ => None,
    }
}

/// A stated number as a person reads it.
fn text(stated: &Stated) -> String {
    match *stated {
        Stated::Mean {
            text, sd: Some(sd), ..
        } => format!("{text} ± {sd}"),
        Stated::Mean { text, .. } => text.to_owned(),
        Stated::Count(count) => format!("{}/{}", count.successes, count.trials),
        Stated::Quantile { value, .. } | Stated::Greatest { value, .. } => value.to_string(),
        Stated::Peak { tau, .. } => tau.map_or("none".to_owned(), |tau| format!("{tau:e}")),
        Stated::Exact(text) => grouped_digits(text),
    }
}

fn ours_text(measured: &Measured) -> String {
    if measured.runs() == 0 {
        return "not run".to_owned();
    }
    let value = measured.value();
    match (measured, value) {
        (Measured::Count(count), _) => format!("{}/{}", count.successes, count.trials),
        (Measured::Exact(Some(text)), _) => grouped_digits(text),
        (_, Some(value)) => match measured_sd(measured) {
            Some(sd) => format!("{} ± {sd:.4}", short(measured, value)),
            None => short(measured, value),
        },
        (_, None) if measured.interval().is_none() => "-".to_owned(),
        (_, None) => "none".to_owned(),
    }
}

fn short(measured: &Measured, value: f64) -> String {
    match measured {
        Measured::Mean(_) => format!("{value:.4}"),
        Measured::Count(_) => format!("{value:.3}"),
        Measured::Quantile { .. } | Measured::Greatest(_) | Measured::Exact(_) => {
            crate::output::number(value)
        }
        Measured::Peak(_) => format!("{value:e}"),
    }
}

fn note(
    entry: Option<&Entry>,
    judgement: Judgement,
    reference: &Option<(Reference, String)>,
) -> String {
    let mut parts: Vec<String> = Vec::new();
    if let (Verdict::Differs, Some(p)) = (judgement.verdict, judgement.p) {
        parts.push(format!("p = {p:.1e}"));
    }
    if let Some(entry) = entry {
        if !entry.note.is_empty() {
            parts.push(entry.note.to_owned());
        }
        let known = judgement.verdict == Verdict::Differs && entry.reason != entry.note;
        if known && !entry.reason.is_empty() {
            parts.push(entry.reason.to_owned());
        }
    }
    if let Some((reference, text)) = reference {
        let said = match (reference.verdict, reference.p) {
            (Verdict::Differs, Some(p)) if p < LEVEL => format!("differs, p = {p:.1e}"),
            (verdict, _) => verdict.words().to_owned(),
        };
        parts.push(format!("reference {text}: {said}"));
    }
    parts.join("; ")
}
