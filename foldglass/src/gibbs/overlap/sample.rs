//! Samples overlaps of independent replicas by heat-bath chains (paper, G.2 and App. D).

use super::{Alike, Observables, Value};
use crate::dynamics::chain::{ChainError, ChainSettings, Chains};
use crate::landscape::gauge::{OverlapError, Overlaps};
use crate::model::class::Class;
use crate::support::context::Context;
use crate::support::memory::Allowance;
use crate::support::stats::{Autocorrelation, chi_square_tail, integrated_time, mean_with_error};
use crate::support::watch::{Progress, Stopped};
use std::ops::ControlFlow;
use thiserror::Error;

/// How much is sampled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampling {
    /// The temperature.
    pub tau: f64,
    /// Chains, at least 2, each from a random code.
    pub replicas: usize,
    /// Sweeps before anything is measured, and as many while it is; at least 2.
    pub sweeps: u64,
    /// The seed.
    pub seed: u64,
    /// The number of the first replica's stream; groups of chains begin at multiples of
    /// [`Chains::side_by_side`].
    pub first: u64,
}

/// Why nothing is sampled.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SampleError {
    /// No chains.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// No overlaps.
    #[error(transparent)]
    Overlap(#[from] OverlapError),
    /// The observer stopped it.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// The overlaps of replicas.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Sampled {
    /// How alike they are; errors are those of a jackknife over the replicas.
    pub alike: Alike,
    /// The mean of J over the sweeps that were measured.
    pub mean_reward: Value,
    /// How long the slowest replica's J remembers, from the second half of the sweeps before.
    pub memory: Autocorrelation,
    /// Sweeps between two measurements: twice that, where it is known.
    pub stride: u64,
    /// Whether the replicas' mean rewards agree within their errors (a chi-square test at 1 %).
    pub replicas_agree: bool,
}

/// The number of measurements where the memory of a chain is not known.
const FEW: u64 = 16;

/// A chi-square test that fails this rarely when all is well says that replicas disagree.
const LEVEL: f64 = 0.01;

/// Samples overlaps: every replica does its sweeps once to forget its start, and once more while all
/// pairs are compared at intervals of sweeps after which the codes are nearly independent.
///
/// # Panics
/// If there are fewer than 2 replicas or sweeps, or the temperature is negative.
pub fn sample(
    class: &Class,
    sampling: Sampling,
    context: Context<'_>,
) -> Result<Sampled, SampleError> {
    assert!(sampling.replicas >= 2, "2 replicas or more");
    assert!(sampling.sweeps >= 2, "2 sweeps or more");
    let numbers = u128::from(sampling.sweeps)
        .checked_mul(2 * sampling.replicas as u128 * size_of::<f64>() as u128);
    let what = format!("the rewards of {} sweeps", sampling.sweeps);
    let fits = context.memory.check(&what, numbers);
    fits.map_err(ChainError::from)?;
    let overlaps = Overlaps::within(class, context.memory)?;
    let mut replicas = ReplicaGroups::new(class, sampling, context.memory)?;
    let all = 2 * sampling.sweeps;
    let go_on = |done: u64| {
        let progress = Progress {
            unit: "sweeps",
            done,
            all: Some(all),
            share: None,
        };
        match context.observer.report(progress) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Stopped),
        }
    };
    let mut before = vec![Vec::new(); sampling.replicas];
    for sweep in 0..sampling.sweeps {
        go_on(sweep)?;
        replicas.sweep(&mut before);
    }
    let half = sampling.sweeps as usize / 2;
    let memory = slowest(before.iter().map(|series| integrated_time(&series[half..])));
    let stride = match memory {
        Autocorrelation::Time { tau, .. } => ((2.0 * tau).ceil() as u64).clamp(1, sampling.sweeps),
        Autocorrelation::Frozen | Autocorrelation::TooShort { .. } => sampling.sweeps.div_ceil(FEW),
    };
    let mut during = vec![Vec::new(); sampling.replicas];
    let mut pairs = PairSums::new(class, sampling.replicas);
    for sweep in 0..sampling.sweeps {
        go_on(sampling.sweeps + sweep)?;
        replicas.sweep(&mut during);
        if (sweep + 1).is_multiple_of(stride) {
            pairs.measure(&overlaps, &replicas);
        }
    }
    let means: Vec<f64> = during.iter().map(|series| mean(series)).collect();
    Ok(Sampled {
        alike: pairs.alike(),
        mean_reward: Value {
            mean: mean(&means),
            error: error_of_mean(&means),
        },
        memory,
        stride,
        replicas_agree: agree(&during),
    })
}

/// The longest memory; a replica whose memory is not known is the slowest.
fn slowest(times: impl Iterator<Item = Autocorrelation>) -> Autocorrelation {
    let rank = |time: &Autocorrelation| match *time {
        Autocorrelation::Frozen => (0, 0.0),
        Autocorrelation::Time { tau, .. } => (1, tau),
        Autocorrelation::TooShort { .. } => (2, 0.0),
    };
    times
        .max_by(|a, b| rank(a).partial_cmp(&rank(b)).expect("times are numbers"))
        .expect("there are replicas")
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The standard error of the mean of independent numbers.
fn error_of_mean(values: &[f64]) -> f64 {
    let (n, centre) = (values.len() as f64, mean(values));
    let square: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    (square / (n * (n - 1.0))).sqrt()
}

/// Whether the means of J agree within their errors. Replicas that never move agree if they are alike;
/// one that remembers all its sweeps agrees with none.
fn agree(series: &[Vec<f64>]) -> bool {
    let estimates: Vec<_> = series.iter().map(|one| mean_with_error(one)).collect();
    if estimates.iter().all(|e| e.time == Autocorrelation::Frozen) {
        return estimates.iter().all(|e| e.mean == estimates[0].mean);
    }
    let weights: Option<Vec<f64>> = estimates
        .iter()
        .map(|e| {
            e.error
                .filter(|error| *error > 0.0)
                .map(|error| error.powi(-2))
        })
        .collect();
    let Some(weights) = weights else {
        return false;
    };
    let sum: f64 = weights.iter().sum();
    let terms = estimates.iter().zip(&weights);
    let centre = terms.clone().map(|(e, w)| e.mean * w).sum::<f64>() / sum;
    let square: f64 = terms.map(|(e, w)| (e.mean - centre).powi(2) * w).sum();
    chi_square_tail(square, estimates.len() - 1) > LEVEL
}

/// Chains in their groups.
struct ReplicaGroups {
    groups: Vec<Chains>,
    /// By replica, its group and place there.
    places: Vec<(usize, usize)>,
    tau: f64,
}

impl ReplicaGroups {
    fn new(class: &Class, sampling: Sampling, memory: Allowance) -> Result<Self, SampleError> {
        let builder = Chains::builder(class, ChainSettings::of(class))
            .seed(sampling.seed)
            .numbers(sampling.first..sampling.first + sampling.replicas as u64)
            .within(memory);
        let (mut groups, mut places) = (Vec::new(), Vec::new());
        for group in builder.groups() {
            let chains = group.start()?;
            places.extend((0..chains.count()).map(|place| (groups.len(), place)));
            groups.push(chains);
        }
        Ok(ReplicaGroups {
            groups,
            places,
            tau: sampling.tau,
        })
    }

    /// Sweeps all once and notes J.
    fn sweep(&mut self, series: &mut [Vec<f64>]) {
        for (number, chains) in self.groups.iter_mut().enumerate() {
            let count = self.places.iter().filter(|place| place.0 == number).count();
            chains.sweep(&vec![self.tau; count]);
        }
        for (series, &(group, place)) in series.iter_mut().zip(&self.places) {
            let chains = &self.groups[group];
            series.push(chains.reward(place) as f64 / chains.denominator() as f64);
        }
    }
}

/// Sums over the measurements of each pair of replicas.
struct PairSums {
    steps: usize,
    replicas: usize,
    /// By pair (i, j), j < i, at i (i - 1) / 2 + j.
    sums: Vec<Observables>,
    count: u64,
}

impl PairSums {
    fn new(class: &Class, replicas: usize) -> PairSums {
        let steps = class.task().longest();
        PairSums {
            steps,
            replicas,
            sums: vec![Observables::zeros(steps); replicas * (replicas - 1) / 2],
            count: 0,
        }
    }

    fn measure(&mut self, overlaps: &Overlaps, replicas: &ReplicaGroups) {
        let code = |replica: usize| {
            let (group, place) = replicas.places[replica];
            replicas.groups[group].code(place)
        };
        let pairs = (1..self.replicas).flat_map(|i| (0..i).map(move |j| (i, j)));
        for ((i, j), sum) in pairs.zip(&mut self.sums) {
            sum.add(&overlaps.of(code(i), code(j)), 1.0);
        }
        self.count += 1;
    }

    /// The means over all pairs and measurements; their errors by leaving out one replica at a time,
    /// which takes the correlations between the measurements of a replica into account.
    fn alike(&self) -> Alike {
        let replicas = self.replicas as f64;
        let mut all = Observables::zeros(self.steps);
        let mut with = vec![Observables::zeros(self.steps); self.replicas];
        let pairs = (1..self.replicas).flat_map(|i| (0..i).map(move |j| (i, j)));
        for ((i, j), sum) in pairs.zip(&self.sums) {
            for to in [&mut all, &mut with[i]] {
                to.add_all(sum, 1.0 / self.count as f64);
            }
            with[j].add_all(sum, 1.0 / self.count as f64);
        }
        let count = replicas * (replicas - 1.0) / 2.0;
        let value = |k: usize| {
            let error = if self.replicas > 2 {
                let without = |own: &Observables| (all.0[k] - own.0[k]) / (count - replicas + 1.0);
                let left: Vec<f64> = with.iter().map(without).collect();
                error_of_mean(&left) * (replicas - 1.0)
            } else {
                f64::INFINITY
            };
            Value {
                mean: all.0[k] / count,
                error,
            }
        };
        let values: Vec<Value> = (0..all.0.len()).map(value).collect();
        Alike::new(self.steps, &values)
    }
}
