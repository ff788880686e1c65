//! Estimates ln Z and the mean reward of any class, tied ones too (paper, sections 2.2 and 3.2).
//!
//! A first-order transition parts the codes at chance from the optimal ones by rewards that hardly
//! any code has; chains at fixed temperatures, swapped or not, do not cross. Here chains wander over
//! all rewards instead, each reward weighed so that all are seen (a flat histogram), and one run
//! serves every temperature. Replicas are independent from the learning of the weights on; half of
//! them start at random codes, half at a code of reward 1. Their spread is the error, and a number
//! on which the two ends disagree, or between whose ends the replicas did not travel, is refused.

mod levels;
mod replica;

use crate::model::class::Class;
use crate::model::policy::Code;
use crate::reward::count::CountError;
use crate::support::context::Context;
use crate::support::parallel::in_order;
use crate::support::stats::{Summary, miss, student_quantile, welch};
use crate::support::watch::{Stopped, Tally};
use replica::{BATCHES, ReplicaOutcome, Within};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use thiserror::Error;

/// How long to sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct FreeEnergySettings {
    /// The seed of everything random.
    pub seed: u64,
    /// Independent replicas; at least 4.
    pub replicas: usize,
    /// Sweeps of each replica that learn the weights.
    pub learning: u64,
    /// Sweeps of each replica with fixed weights.
    pub sweeps: u64,
}

impl Default for FreeEnergySettings {
    /// Eight replicas of 50,000 and 100,000 sweeps.
    fn default() -> FreeEnergySettings {
        FreeEnergySettings {
            seed: 0,
            replicas: 8,
            learning: 50_000,
            sweeps: 100_000,
        }
    }
}

impl FreeEnergySettings {
    /// Uses this seed.
    pub fn with_seed(self, seed: u64) -> FreeEnergySettings {
        FreeEnergySettings { seed, ..self }
    }

    /// Uses this number of replicas.
    pub fn with_replicas(self, replicas: usize) -> FreeEnergySettings {
        FreeEnergySettings { replicas, ..self }
    }

    /// Learns for this number of sweeps.
    pub fn with_learning(self, learning: u64) -> FreeEnergySettings {
        FreeEnergySettings { learning, ..self }
    }

    /// Samples for this number of sweeps.
    pub fn with_sweeps(self, sweeps: u64) -> FreeEnergySettings {
        FreeEnergySettings { sweeps, ..self }
    }
}

/// The code at which a replica starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// At a random code: infinite temperature.
    Warm,
    /// At the code that tracks the fold, of reward 1: temperature zero.
    Cold,
}

/// Why an estimate is refused.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
#[non_exhaustive]
pub enum FreeEnergyRefusal {
    /// A replica hardly went from one end to the other.
    #[error(
        "a replica went only {trips} times from chance to the rewards that matter here and back, and \
         at least {MIN_TRIPS} times are needed: more sweeps help, in learning too"
    )]
    FewTrips {
        /// The fewest of a replica.
        trips: u64,
    },
    /// Both ends are not the same phase.
    #[error(
        "the two ends disagree: ln Z is {warm} by replicas started at random codes and {cold} by \
         replicas started at reward 1 (p = {p:.1e}): more sweeps help, in learning too"
    )]
    EndsDisagree {
        /// The mean of those that started warm.
        warm: f64,
        /// The mean of those that started cold.
        cold: f64,
        /// Welch's.
        p: f64,
    },
    /// The replicas spread too far for their mean to be one.
    #[error(
        "the replicas disagree: the standard deviation of their ln Z is {sd:.3}, and at most \
         {MOST_SPREAD} is accepted: more sweeps help, in learning too"
    )]
    ReplicasDisagree {
        /// Their standard deviation.
        sd: f64,
    },
    /// Codes that no replica saw may matter.
    #[error(
        "no replica started at random codes came above a reward of {highest}: codes above it may \
         hold most of the weight here; more sweeps help, in learning too"
    )]
    NotReached {
        /// The highest reward that all warm replicas saw.
        highest: f64,
    },
}

/// Fewer round trips of a replica give no number.
pub const MIN_TRIPS: u64 = 4;

/// A larger standard deviation of ln Z between replicas gives no number.
pub const MOST_SPREAD: f64 = 1.0;

/// Ends that differ with a smaller p-value disagree.
const ENDS_DIFFER: f64 = 1e-4;

/// The level of the error bars.
const LEVEL: f64 = 0.95;

/// A number with half the width of its 95 % interval: the wider of Student's over the replicas and
/// the one of the batches within them. The replicas alone are too few to know their own spread, and
/// the batches alone do not know what a whole replica missed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReplicaEstimate {
    /// The mean over the replicas.
    pub value: f64,
    /// Half the width of the interval.
    pub error: f64,
}

impl ReplicaEstimate {
    fn of(found: &[Within], shift: f64) -> ReplicaEstimate {
        let values: Vec<f64> = found.iter().map(|found| found.value).collect();
        let summary = Summary::of(&values).expect("there are replicas");
        let interval = summary.interval(LEVEL).expect("there are several replicas");
        let between = (interval.high - interval.low) / 2.0;
        let variance: f64 = found.iter().map(|found| found.variance).sum();
        let freedom = (found.len() * (BATCHES - 1)) as f64;
        let within = student_quantile(miss(LEVEL), freedom) * variance.sqrt() / found.len() as f64;
        ReplicaEstimate {
            value: summary.mean + shift,
            error: between.max(within),
        }
    }

    /// Whether `value` lies within the bars.
    pub fn covers(&self, value: f64) -> bool {
        (value - self.value).abs() <= self.error
    }
}

/// The estimates at one temperature.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Held {
    /// ln Z over all codes.
    pub log_z: ReplicaEstimate,
    /// The mean of J.
    pub mean_reward: ReplicaEstimate,
}

/// One temperature.
#[derive(Debug, Clone, PartialEq)]
pub struct FreeEnergyPoint {
    /// tau.
    pub tau: f64,
    /// The fewest round trips of a replica between chance and the rewards that matter here.
    pub trips: u64,
    /// The numbers, or why there are none.
    pub outcome: Result<Held, FreeEnergyRefusal>,
}

/// An estimate that was not made.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EstimateError {
    /// Rewards that cannot be counted.
    #[error(transparent)]
    Count(#[from] CountError),
    /// The observer stopped it.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// Estimates ln Z and the mean reward at every temperature. The result does not depend on the number of
/// threads.
///
/// # Panics
/// If there are fewer than 4 replicas, no sweeps, or a temperature that is not positive.
pub fn estimate(
    class: &Class,
    taus: &[f64],
    settings: &FreeEnergySettings,
    context: Context<'_>,
) -> Result<Vec<FreeEnergyPoint>, EstimateError> {
    assert!(
        settings.replicas >= 4 && settings.sweeps > 0,
        "{settings:?} is refused: at least 4 replicas and 1 sweep are needed"
    );
    assert!(
        taus.iter().all(|&tau| tau > 0.0),
        "temperatures are positive: {taus:?}"
    );
    let betas: Vec<f64> = taus.iter().map(|tau| 1.0 / tau).collect();
    let kept = (settings.replicas as u128).checked_mul(ReplicaOutcome::bytes(taus.len()));
    let what = format!("keeping {} replicas", settings.replicas);
    let fits = context.memory.check(&what, kept);
    fits.map_err(CountError::from)?;
    let found = replicas(class, &betas, settings, context)?;
    let points = taus.iter().enumerate();
    let point = |(i, &tau)| point(class, &found, i, tau);
    Ok(points.map(point).collect())
}

/// Runs every replica; the outcomes are in their order.
fn replicas(
    class: &Class,
    betas: &[f64],
    settings: &FreeEnergySettings,
    context: Context<'_>,
) -> Result<Vec<ReplicaOutcome>, EstimateError> {
    let cold = Code::fold(class);
    let stop = AtomicBool::new(false);
    let each_sweeps = settings.learning.saturating_add(settings.sweeps);
    let all = (settings.replicas as u64).saturating_mul(each_sweeps);
    let tally = Tally::new(context.observer, "sweeps", Some(all));
    let report = |sweeps: u64| {
        if stop.load(Ordering::Relaxed) || tally.add(sweeps).is_break() {
            stop.store(true, Ordering::Relaxed);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    };
    let memory = context.each().memory;
    let run = |number: usize| {
        let number = number as u64;
        replica::run(class, settings, number, &cold, betas, memory, &report).map(Some)
    };
    let mut found = Vec::with_capacity(settings.replicas);
    let threads = vec![(); context.threads];
    in_order(
        threads,
        settings.replicas,
        |()| run,
        |one| {
            found.push(one);
            Ok(())
        },
    )?;
    Ok(found)
}

/// Joins what the replicas found at one temperature.
fn point(class: &Class, found: &[ReplicaOutcome], i: usize, tau: f64) -> FreeEnergyPoint {
    let codes = class.cells() as f64 * (class.q() as f64).ln();
    let trips = found.iter().map(|found| found.trips[found.needed[i]]);
    let trips = trips.min().expect("there are replicas");
    let log_z: Vec<Within> = found.iter().map(|found| found.log_z[i]).collect();
    let mean: Vec<Within> = found.iter().map(|found| found.mean_reward[i]).collect();
    let held = Held {
        log_z: ReplicaEstimate::of(&log_z, codes),
        mean_reward: ReplicaEstimate::of(&mean, 0.0),
    };
    let refusal = refusal(class, found, i, tau, trips, codes);
    FreeEnergyPoint {
        tau,
        trips,
        outcome: refusal.map_or(Ok(held), Err),
    }
}

fn refusal(
    class: &Class,
    found: &[ReplicaOutcome],
    i: usize,
    tau: f64,
    trips: u64,
    codes: f64,
) -> Option<FreeEnergyRefusal> {
    let of = |start: Start| -> Vec<f64> {
        let found = found.iter().filter(|found| found.start == start);
        found.map(|found| found.log_z[i].value + codes).collect()
    };
    let summary = |values: &[f64]| Summary::of(values).expect("each end has replicas");
    let (warm, cold) = (summary(&of(Start::Warm)), summary(&of(Start::Cold)));
    let moments = |summary: &Summary| summary.moments().expect("each end has several replicas");
    let p = welch(&moments(&warm), &moments(&cold));
    if p < ENDS_DIFFER && (warm.mean - cold.mean).abs() > 1e-9 {
        let (warm, cold) = (warm.mean, cold.mean);
        return Some(FreeEnergyRefusal::EndsDisagree { warm, cold, p });
    }
    let all: Vec<f64> = found.iter().map(|found| found.log_z[i].value).collect();
    let sd = summary(&all).sd.expect("there are several replicas");
    if sd > MOST_SPREAD {
        return Some(FreeEnergyRefusal::ReplicasDisagree { sd });
    }
    if trips < MIN_TRIPS {
        return Some(FreeEnergyRefusal::FewTrips { trips });
    }
    let denominator = crate::support::exact::Reward::new(class.task().denominator(), 1u8).to_f64();
    // All unseen codes at reward 1 would add exp(beta) times their share to Z / q^cells.
    let harmless =
        |found: &ReplicaOutcome| found.log_unseen + 1.0 / tau < found.log_z[i].value + UNSEEN.ln();
    let unseen = found
        .iter()
        .filter(|found| found.start == Start::Warm)
        .filter(|found| (found.highest as f64) < denominator && !harmless(found))
        .map(|found| found.highest)
        .min()?;
    Some(FreeEnergyRefusal::NotReached {
        highest: unseen as f64 / denominator,
    })
}

/// Codes that were not seen may add this share to Z.
const UNSEEN: f64 = 1e-2;
