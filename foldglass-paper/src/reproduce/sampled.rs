//! Computes exact signal-to-noise ratios of sampled gradients: by length from random policies, and along runs.
//!
//! In the directory of a reproduction `ratios/` has one file per curve. Files that are there are not made again.

use std::path::Path;

use foldglass::dynamics::reinforce::{ReinforceSettings, SampledTraining};
use foldglass::reward::estimators::{Estimator, moments};
use foldglass::support::stats::quantile;
use foldglass::{Class, Context, Policy, Stream};
use foldglass_study::ClassWords;
use serde::{Deserialize, Serialize};

use super::files::{read_all, write_json};
use super::studies::{SAMPLED, Scale};
use super::work::{VERSION, Work};
use crate::error::Error;

/// The rollouts of every run.
pub const ROLLOUTS: u64 = 1 << 19;

/// The learning rate of every run.
const RATE: f64 = 5.0;

/// The estimator of every curve: rewards minus the mean of the batch.
const ESTIMATOR: Estimator = Estimator::BatchMean;

/// Random policies of each length.
const POLICIES: u64 = 15;
const QUICK_POLICIES: u64 = 3;

/// Points of a curve along a run.
const POINTS: u64 = 32;

/// A curve of ratios.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnrCurve {
    /// Of batches of 512, at policies drawn as `u_norm`, over the lengths up to the last.
    Lengths {
        /// The curve's name.
        id: &'static str,
        /// The task.
        task: &'static str,
        /// The last length.
        longest: usize,
    },
    /// Along one run of [`ROLLOUTS`] rollouts.
    Run {
        /// The curve's name.
        id: &'static str,
        /// The task.
        task: &'static str,
        /// T.
        length: usize,
        /// Inputs per update.
        batch: u32,
    },
}

impl SnrCurve {
    /// The curve's name, and its file's.
    pub fn id(&self) -> &'static str {
        match self {
            SnrCurve::Lengths { id, .. } | SnrCurve::Run { id, .. } => id,
        }
    }
}

/// What is recorded of a curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnrRecord {
    version: String,
    /// The curve's name.
    pub id: String,
    /// Its points.
    pub points: Vec<SnrPoint>,
}

/// A point of a curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnrPoint {
    /// T, or the rollouts so far.
    pub at: u64,
    /// Signal over variance, the median over policies; none where the variance is 0.
    pub snr: Option<f64>,
    /// J, the median over policies.
    pub reward: f64,
}

const RATIOS: &str = "ratios";

/// Reads the curves of a directory.
pub fn read(directory: &Path) -> Result<Vec<SnrRecord>, Error> {
    read_all(
        &directory.join(RATIOS),
        "a record of signal-to-noise ratios",
    )
}

/// Computes the curves that are not there yet.
pub fn make(curves: &[SnrCurve], work: &Work<'_>) -> Result<(), Error> {
    let known = read(work.out)?;
    for curve in curves {
        let id = curve.id();
        let is_own = |record: &SnrRecord| record.id == id && record.version == VERSION;
        if known.iter().any(is_own) {
            continue;
        }
        work.observer.stage(format!("signal and noise of {id}"));
        let points = match *curve {
            SnrCurve::Lengths { task, longest, .. } => (1..=longest)
                .map(|length| of_length(task, length, work))
                .collect::<Result<_, _>>()?,
            SnrCurve::Run {
                task,
                length,
                batch,
                ..
            } => along(task, length, batch, work)?,
        };
        let record = SnrRecord {
            version: VERSION.to_owned(),
            id: id.to_owned(),
            points,
        };
        write_json(&work.out.join(RATIOS).join(format!("{id}.json")), &record)?;
    }
    Ok(())
}

/// That of the item's study.
fn seed(work: &Work<'_>) -> u64 {
    SAMPLED.study(work.scale, work.seed).seed
}

fn class(task: &str, length: usize, work: &Work<'_>) -> Result<Class, Error> {
    let spec = ClassWords::new(task, &[length]).spec(Path::new(""))?;
    Ok(spec.lay_out_within(work.means.allowance)?)
}

/// The ratio of a policy's gradient.
fn snr(policy: &Policy, batch: u32, work: &Work<'_>) -> Result<Option<f64>, Error> {
    let context = Context::default()
        .with_memory(work.means.allowance)
        .with_threads(work.means.threads);
    let found = moments(policy, ESTIMATOR, batch, seed(work), context);
    let found = found.map_err(|error| Error::Failed(error.to_string()))?;
    Ok(found.snr())
}

/// A run before its first update, at a policy drawn from its own stream.
fn begin(
    class: &Class,
    batch: u32,
    number: u64,
    work: &Work<'_>,
) -> Result<SampledTraining, Error> {
    let settings = ReinforceSettings::new(ESTIMATOR, batch as usize, RATE);
    let stream = Stream::new(seed(work), number);
    Ok(SampledTraining::new(
        class,
        settings,
        stream,
        None,
        work.means.allowance,
    )?)
}

fn of_length(task: &str, length: usize, work: &Work<'_>) -> Result<SnrPoint, Error> {
    let class = class(task, length, work)?;
    let policies = match work.scale {
        Scale::Quick => QUICK_POLICIES,
        Scale::Short | Scale::Full => POLICIES,
    };
    let (mut ratios, mut rewards) = (Vec::new(), Vec::new());
    for number in 0..policies {
        let mut run = begin(&class, BATCH, number, work)?;
        ratios.extend(snr(&run.policy(), BATCH, work)?);
        rewards.push(run.expected_reward());
    }
    Ok(SnrPoint {
        at: length as u64,
        snr: quantile(&ratios, 0.5),
        reward: quantile(&rewards, 0.5).expect("there are policies"),
    })
}

/// The paper's batch.
pub const BATCH: u32 = 512;

fn along(task: &str, length: usize, batch: u32, work: &Work<'_>) -> Result<Vec<SnrPoint>, Error> {
    let mut run = begin(&class(task, length, work)?, batch, 0, work)?;
    let updates = ROLLOUTS / u64::from(batch);
    let mut points = Vec::new();
    for point in 0..=POINTS {
        let due = updates * point / POINTS;
        run.advance(due - updates * point.saturating_sub(1) / POINTS);
        points.push(SnrPoint {
            at: due * u64::from(batch),
            snr: snr(&run.policy(), batch, work)?,
            reward: run.expected_reward(),
        });
    }
    Ok(points)
}
