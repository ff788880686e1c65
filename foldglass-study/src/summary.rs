//! Sums up the records of a study point by point: mean with its interval, quantiles, runs at 1.

use foldglass::support::stats::{Proportion, Summary, bounded_mean};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::method::{Fields, Registry};
use crate::record::Record;
use crate::table::is_reward;

/// The level of all intervals.
pub const LEVEL: f64 = 0.95;

/// The quantity that is 1 for a run whose reward is exactly 1 and 0 for any other, so that its mean is
/// the share of such runs. Runs have it whose method states an exact reward.
pub const SOLVED: &str = "solved";

/// What the runs of one point came to.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct PointSummary {
    /// The id of the class.
    pub class: String,
    /// The id of the dynamics.
    pub method: String,
    /// Its kind.
    pub kind: String,
    /// The values of the parameters.
    pub parameters: Fields,
    /// The result that is summed up.
    pub quantity: String,
    /// Runs.
    pub runs: u64,
    /// The mean.
    pub mean: f64,
    /// The standard deviation; none of a single run.
    pub sd: Option<f64>,
    /// The ends of the 95 % interval of the mean. That of a reward is [`bounded_mean`]'s; that of
    /// another quantity is Student's, none of a single run.
    pub low: Option<f64>,
    /// See `low`.
    pub high: Option<f64>,
    /// The least, the quartiles, the 90th percentile and the greatest.
    pub min: f64,
    /// The first quartile.
    pub q25: f64,
    /// The median.
    pub median: f64,
    /// The third quartile.
    pub q75: f64,
    /// The 90th percentile.
    pub p90: f64,
    /// The greatest.
    pub max: f64,
    /// Runs at exactly 1; none where the result has no exact form.
    pub at_one: Option<u64>,
    /// The ends of the 95 % interval of the share of such runs.
    pub at_one_low: Option<f64>,
    /// See `at_one_low`.
    pub at_one_high: Option<f64>,
}

/// Sums up records, in their order, point by point. Records without the result asked for are left
/// out.
pub fn summarize(
    records: &[Record],
    registry: &Registry,
    quantity: Option<&str>,
) -> Vec<PointSummary> {
    let same = |a: &Record, b: &Record| {
        (&a.class_id, &a.dynamics, &a.parameters) == (&b.class_id, &b.dynamics, &b.parameters)
    };
    let points = records.chunk_by(|a, b| same(a, b));
    points
        .filter_map(|runs| point(runs, registry, quantity))
        .collect()
}

fn point(runs: &[Record], registry: &Registry, quantity: Option<&str>) -> Option<PointSummary> {
    let first = runs.first()?;
    let headline = registry
        .find(&first.kind)
        .ok()
        .map(|method| method.headline());
    let name = quantity.or(headline.map(|headline| headline.value))?;
    let exact = headline
        .filter(|headline| headline.value == name || name == SOLVED)
        .and_then(|headline| headline.exact);
    let values: Vec<f64> = runs
        .iter()
        .filter_map(|run| value(run, name, exact))
        .collect();
    let summary = Summary::of(&values)?;
    let interval = match rewards(name, &values) {
        Some(rewards) => bounded_mean(&rewards, LEVEL),
        None => summary.interval(LEVEL),
    };
    let quantile =
        |level| foldglass::support::stats::quantile(&values, level).unwrap_or(summary.median);
    let at_one = exact.map(|exact| Proportion {
        successes: runs.iter().filter(|run| solved(run, exact)).count() as u64,
        trials: values.len() as u64,
    });
    let share = at_one.map(|share| share.interval(LEVEL));
    Some(PointSummary {
        class: first.class_id.clone(),
        method: first.dynamics.clone(),
        kind: first.kind.clone(),
        parameters: first.parameters.clone(),
        quantity: name.to_owned(),
        runs: values.len() as u64,
        mean: summary.mean,
        sd: summary.sd,
        low: interval.map(|interval| interval.low),
        high: interval.map(|interval| interval.high),
        min: summary.min,
        q25: quantile(0.25),
        median: summary.median,
        q75: quantile(0.75),
        p90: summary.p90,
        max: summary.max,
        at_one: at_one.map(|share| share.successes),
        at_one_low: share.map(|interval| interval.low),
        at_one_high: share.map(|interval| interval.high),
    })
}

/// A result of a run as a number; `exact` is the result that states its reward exactly.
fn value(run: &Record, name: &str, exact: Option<&str>) -> Option<f64> {
    match (name, exact) {
        (SOLVED, Some(exact)) if run.result.contains_key(exact) => {
            Some(f64::from(u8::from(solved(run, exact))))
        }
        _ => run.result.get(name).and_then(Value::as_f64),
    }
}

fn solved(run: &Record, exact: &str) -> bool {
    run.result.get(exact).and_then(Value::as_str) == Some("1/1")
}

/// Sums of rounded products may pass 0 and 1 by at most this.
const ROUNDING: f64 = 1e-9;

/// The values between 0 and 1 of a quantity that is a reward or [`SOLVED`].
fn rewards(name: &str, values: &[f64]) -> Option<Vec<f64>> {
    is_bounded(name, values).then(|| values.iter().map(|value| value.clamp(0.0, 1.0)).collect())
}

fn is_bounded(name: &str, values: &[f64]) -> bool {
    let bounds = -ROUNDING..=1.0 + ROUNDING;
    // A method of a user's own may call another number by a reward's name.
    (is_reward(name) || name == SOLVED) && values.iter().all(|value| bounds.contains(value))
}

impl PointSummary {
    /// Whether the quantity lies between 0 and 1: a reward, or the share of runs at 1.
    pub fn is_bounded(&self) -> bool {
        is_bounded(&self.quantity, &[self.min, self.max])
    }
}

/// The results that records have as numbers and [`SOLVED`] where a method states exact rewards, in
/// the order in which they are met: what [`summarize`] takes as a quantity.
pub fn quantities(records: &[Record], registry: &Registry) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut add = |name: &str| {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    };
    for record in records {
        let numbers = record.result.iter().filter(|(_, value)| value.is_number());
        numbers.for_each(|(name, _)| add(name));
        let exact = registry.find(&record.kind).ok();
        let exact = exact.and_then(|method| method.headline().exact);
        if exact.is_some_and(|exact| record.result.contains_key(exact)) {
            add(SOLVED);
        }
    }
    names
}
