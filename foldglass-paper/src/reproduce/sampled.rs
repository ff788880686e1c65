//! Computes exact signal-to-noise ratios of sampled gradients: by length from random policies, along runs, and by the
//! size of groups at one number of rollouts.
//!
//! In the directory of a reproduction `ratios/` has one file per curve. Files that are there are not made again.

use std::path::Path;

use foldglass::dynamics::reinforce::{ReinforceSettings, SampledTraining};
use foldglass::reward::estimators::{Estimator, moments};
use foldglass::support::parallel::in_order;
use foldglass::support::stats::quantile;
use foldglass::{Class, Context, Policy, Stream};
use foldglass_study::ClassWords;
use schemars::JsonSchema;
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
const SMOKE_POLICIES: u64 = 3;

/// Runs of a curve along runs.
pub const RUNS: u64 = 8;
const SMOKE_RUNS: u64 = 2;

/// Points of a curve along runs.
const POINTS: u64 = 32;

/// The sizes of groups of a curve; 1 is the estimator without groups, [`ESTIMATOR`].
pub const GROUPS: [u32; 6] = [1, 2, 4, 8, 16, 32];

/// A curve of ratios.
#[derive(Debug, Clone, Copy)]
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
    /// Along runs of [`ROLLOUTS`] rollouts.
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
    /// Of 512 rollouts in groups, at policies after so many updates of 512.
    Groups {
        /// The curve's name.
        id: &'static str,
        /// The task.
        task: &'static str,
        /// T.
        length: usize,
        /// The updates before.
        updates: u64,
        /// The estimator with groups of a size.
        estimator: fn(u32) -> Estimator,
    },
}

impl SnrCurve {
    /// The curve's name, and its file's.
    pub fn id(&self) -> &'static str {
        match self {
            SnrCurve::Lengths { id, .. }
            | SnrCurve::Run { id, .. }
            | SnrCurve::Groups { id, .. } => id,
        }
    }
}

/// What is recorded of a curve.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnrRecord {
    version: String,
    /// The curve's name.
    pub id: String,
    /// Its points.
    pub points: Vec<SnrPoint>,
}

/// A point of a curve.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnrPoint {
    /// T, the rollouts so far, or the size of groups.
    pub at: u64,
    /// Signal over variance at each policy, in order; without those whose variance is 0.
    pub ratios: Vec<f64>,
    /// Whether one of them is an estimate from drawn inputs.
    pub drawn: bool,
    /// J, the median over policies.
    pub reward: f64,
}

impl SnrPoint {
    /// The median over policies; none where all variances are 0.
    pub fn median(&self) -> Option<f64> {
        quantile(&self.ratios, 0.5)
    }

    /// The least and the largest.
    pub fn range(&self) -> Option<[f64; 2]> {
        let [low, high] = [0.0, 1.0].map(|level| quantile(&self.ratios, level));
        Some([low?, high?])
    }
}

/// The folder of the ratios in the directory of a reproduction.
pub const RATIOS: &str = "ratios";

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
            SnrCurve::Groups {
                task,
                length,
                updates,
                estimator,
                ..
            } => of_groups(&class(task, length, work)?, updates, estimator, work)?,
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
#[derive(Debug, Clone, Copy)]
struct Ratio {
    /// None where the variance is 0.
    value: Option<f64>,
    /// Whether inputs were drawn for it.
    drawn: bool,
}

fn snr(policy: &Policy, estimator: Estimator, batch: u32, work: &Work<'_>) -> Result<Ratio, Error> {
    let context = Context::default().with_memory(work.means.allowance);
    let found = moments(policy, estimator, batch, seed(work), context);
    let found = found.map_err(|error| Error::Failed(error.to_string()))?;
    Ok(Ratio {
        value: found.snr(),
        drawn: found.sampled.is_some(),
    })
}

/// What the policies of one point came to.
#[derive(Debug, Default)]
struct Policies {
    ratios: Vec<f64>,
    drawn: bool,
    rewards: Vec<f64>,
}

impl Policies {
    fn add(&mut self, ratio: Ratio, reward: f64) {
        self.ratios.extend(ratio.value);
        self.drawn |= ratio.drawn;
        self.rewards.push(reward);
    }

    fn point(self, at: u64) -> SnrPoint {
        SnrPoint {
            at,
            reward: quantile(&self.rewards, 0.5).expect("there are policies"),
            ratios: self.ratios,
            drawn: self.drawn,
        }
    }
}

/// Does the same for the policies numbered from 0, and hands over what comes of each, in order.
fn each<T: Send>(
    policies: u64,
    work: &Work<'_>,
    one: impl Fn(u64) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    let mut all = Vec::new();
    let tools = vec![(); work.means.threads.max(1)];
    let job = |()| |number: usize| one(number as u64).map(Some);
    in_order(tools, policies as usize, job, |found| {
        all.push(found);
        Ok(())
    })?;
    Ok(all)
}

/// How many policies a point has at the scale.
fn policies(work: &Work<'_>, full: u64, smoke: u64) -> u64 {
    match work.scale {
        Scale::Smoke => smoke,
        Scale::Quick | Scale::Short | Scale::Full => full,
    }
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
    let found = each(policies(work, POLICIES, SMOKE_POLICIES), work, |number| {
        let mut run = begin(&class, BATCH, number, work)?;
        let ratio = snr(&run.policy(), ESTIMATOR, BATCH, work)?;
        Ok((ratio, run.expected_reward()))
    })?;
    let mut all = Policies::default();
    found
        .into_iter()
        .for_each(|(ratio, reward)| all.add(ratio, reward));
    Ok(all.point(length as u64))
}

/// The paper's batch.
pub const BATCH: u32 = 512;

fn along(task: &str, length: usize, batch: u32, work: &Work<'_>) -> Result<Vec<SnrPoint>, Error> {
    let class = class(task, length, work)?;
    let updates = ROLLOUTS / u64::from(batch);
    let due = |point: u64| updates * point / POINTS;
    let runs = each(policies(work, RUNS, SMOKE_RUNS), work, |number| {
        let mut run = begin(&class, batch, number, work)?;
        let mut points = Vec::new();
        for point in 0..=POINTS {
            run.advance(due(point) - due(point.saturating_sub(1)));
            let ratio = snr(&run.policy(), ESTIMATOR, batch, work)?;
            points.push((ratio, run.expected_reward()));
        }
        Ok(points)
    })?;
    let points = (0..=POINTS).map(|point| {
        let mut all = Policies::default();
        for run in &runs {
            let (ratio, reward) = run[point as usize];
            all.add(ratio, reward);
        }
        all.point(due(point) * u64::from(batch))
    });
    Ok(points.collect())
}

fn of_groups(
    class: &Class,
    updates: u64,
    estimator: fn(u32) -> Estimator,
    work: &Work<'_>,
) -> Result<Vec<SnrPoint>, Error> {
    let number = policies(work, POLICIES, SMOKE_POLICIES);
    let runs = each(number, work, |number| {
        let mut run = begin(class, BATCH, number, work)?;
        run.advance(updates);
        let ratios = GROUPS.map(|group| {
            let kind = match group {
                1 => ESTIMATOR,
                _ => estimator(group),
            };
            snr(&run.policy(), kind, BATCH / group, work)
        });
        let ratios: Result<Vec<_>, Error> = ratios.into_iter().collect();
        Ok((ratios?, run.expected_reward()))
    })?;
    let points = GROUPS.into_iter().enumerate().map(|(which, group)| {
        let mut all = Policies::default();
        for (ratios, reward) in &runs {
            all.add(ratios[which], *reward);
        }
        all.point(u64::from(group))
    });
    Ok(points.collect())
}
