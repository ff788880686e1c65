//! Sums up the records of a study point by point: mean with its interval, quantiles, runs at 1.

use foldglass::stats::{Proportion, Summary};
use serde::Serialize;
use serde_json::Value;

use crate::method::{Fields, Registry};
use crate::record::Record;

/// The level of all intervals.
pub const LEVEL: f64 = 0.95;

/// What the runs of one point came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
    /// The ends of the 95 % interval of the mean; none of a single run.
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
        .filter(|headline| headline.value == name)
        .and_then(|headline| headline.exact);
    let value = |record: &Record| record.result.get(name).and_then(Value::as_f64);
    let values: Vec<f64> = runs.iter().filter_map(value).collect();
    let summary = Summary::of(&values)?;
    let interval = summary.interval(LEVEL);
    let quantile = |level| foldglass::stats::quantile(&values, level).unwrap_or(summary.median);
    let one = Value::from("1/1");
    let at_one = exact.map(|exact| {
        let ones = runs
            .iter()
            .filter(|run| run.result.get(exact) == Some(&one));
        Proportion {
            successes: ones.count() as u64,
            trials: values.len() as u64,
        }
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
