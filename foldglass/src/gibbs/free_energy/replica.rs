//! Runs one replica: learns the weights of the levels, then samples with them fixed.
//!
//! With w(J) the fixed weight, the chain visits a code with probability w(J) / W. Then
//! Z(beta) / Z(0) = <exp(beta J) / w> / <1 / w>, and Z(0) is the number of codes, whatever w is.

use super::levels::{LOOK, WeightedLevels};
use super::{EstimateError, FreeEnergySettings, Start};
use crate::dynamics::chain::{CellChain, Kernel, random_code};
use crate::model::class::Class;
use crate::model::policy::Code;
use crate::support::memory::Allowance;
use crate::support::stream::Stream;
use crate::support::watch::{Asking, Stopped};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// Streams of replicas are numbered from here.
const STREAMS: u64 = 1 << 61;

/// Sweeps between two reports.
const BETWEEN_REPORTS: u64 = 256;

/// The most that a sweep lowers the ln weight of a level. Larger steps move the weights faster than a chain leaves a
/// level.
const LARGEST_STEP: f64 = 0.05;

/// The first 1 / BURN_IN of the samples is left out.
const BURN_IN: u64 = 10;

/// ln of a sum of exponentials, and the mean of J under their weights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Weighted {
    top: f64,
    sum: f64,
    rewards: f64,
}

impl Weighted {
    pub const NONE: Weighted = Weighted {
        top: f64::NEG_INFINITY,
        sum: 0.0,
        rewards: 0.0,
    };

    #[inline]
    pub fn add(&mut self, log_weight: f64, reward: f64) {
        if log_weight > self.top {
            let factor = (self.top - log_weight).exp();
            self.sum *= factor;
            self.rewards *= factor;
            self.top = log_weight;
        }
        let weight = (log_weight - self.top).exp();
        self.sum += weight;
        self.rewards += weight * reward;
    }

    pub fn join(&mut self, other: &Weighted) {
        if other.sum == 0.0 {
            return;
        }
        let top = self.top.max(other.top);
        let (ours, theirs) = ((self.top - top).exp(), (other.top - top).exp());
        self.sum = self.sum * ours + other.sum * theirs;
        self.rewards = self.rewards * ours + other.rewards * theirs;
        self.top = top;
    }

    pub fn log(&self) -> f64 {
        self.top + self.sum.ln()
    }

    pub fn mean(&self) -> f64 {
        self.rewards / self.sum
    }
}

/// A number that one replica found, with its variance by leaving out one batch at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Within {
    pub value: f64,
    pub variance: f64,
}

/// Batches that the samples of a replica are cut into.
pub(super) const BATCHES: usize = 16;

/// The sums of each batch: of 1 / w, and of exp(beta J) / w.
struct Batches {
    all: [Weighted; BATCHES],
    gibbs: [Weighted; BATCHES],
}

impl Batches {
    /// f of all batches, and its jackknife variance.
    fn jackknife(&self, f: impl Fn(&Weighted, &Weighted) -> f64) -> Within {
        let without = |left_out: Option<usize>| {
            let kept = |sums: &[Weighted; BATCHES]| {
                let kept = (0..BATCHES).filter(|&batch| Some(batch) != left_out);
                total(kept.map(|batch| &sums[batch]))
            };
            f(&kept(&self.all), &kept(&self.gibbs))
        };
        let values: Vec<f64> = (0..BATCHES).map(|batch| without(Some(batch))).collect();
        let n = BATCHES as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Within {
            value: without(None),
            variance: squares * (n - 1.0) / n,
        }
    }
}

/// The outcome of one replica.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ReplicaOutcome {
    pub start: Start,
    /// The largest reward seen, over the denominator.
    pub highest: u128,
    /// By level: how often the replica went from the lowest level to it and back.
    pub trips: Vec<u64>,
    /// By inverse temperature: at most which level matters.
    pub needed: Vec<usize>,
    /// By inverse temperature: ln(Z / q^cells) and the mean reward.
    pub log_z: Vec<Within>,
    pub mean_reward: Vec<Within>,
    /// ln of the share of codes above the largest reward seen, at most.
    pub log_unseen: f64,
}

impl ReplicaOutcome {
    /// The least number of bytes of one outcome at this number of temperatures.
    pub fn bytes(temperatures: usize) -> u128 {
        let each = 2 * size_of::<Within>() + size_of::<usize>();
        (size_of::<ReplicaOutcome>() + temperatures * each) as u128
    }
}

/// A level matters at a temperature when it and those above it hold this share of the Gibbs weight.
const MATTERS: f64 = 1e-3;

/// Runs replica `number`.
pub(super) fn run(
    class: &Class,
    settings: &FreeEnergySettings,
    number: u64,
    cold: &Code,
    betas: &[f64],
    memory: Allowance,
    report: &dyn Fn(u64) -> ControlFlow<()>,
) -> Result<ReplicaOutcome, EstimateError> {
    let mut stream = Stream::new(settings.seed, STREAMS + number);
    let code = random_code(class, &mut stream);
    let chain = CellChain::within(Kernel::HeatBath, code, memory)?;
    let start = if number.is_multiple_of(2) {
        Start::Warm
    } else {
        Start::Cold
    };
    let mut replica = Replica {
        cells: class.cells(),
        highest: chain.reward(),
        chain,
        stream,
        levels: WeightedLevels::new(),
    };
    replica.learn(settings.learning, report)?;
    match start {
        Start::Warm => {
            let code = random_code(class, &mut replica.stream);
            replica.chain.go_to(&code);
        }
        Start::Cold => replica.chain.go_to(cold),
    }
    Ok(replica.sample(settings.sweeps, betas, start, report)?)
}

struct Replica {
    cells: usize,
    chain: CellChain,
    stream: Stream,
    levels: WeightedLevels,
    highest: u128,
}

impl Replica {
    /// Finds levels up to reward 1, each weighed by the share of the codes it was cut with; then
    /// improves the weights: each visit lowers the weight of its level, by steps that fall as 1 / t (Wang
    /// and Landau). Where reward 1 is not found from below in half of the time it is made a
    /// level all the same, since every class has such codes.
    fn learn(
        &mut self,
        sweeps: u64,
        report: &dyn Fn(u64) -> ControlFlow<()>,
    ) -> Result<(), Stopped> {
        let question = || report(0);
        let mut asking = Asking::new(&question);
        let mut seen: BTreeMap<u128, u64> = BTreeMap::new();
        let (denominator, mut in_top) = (self.chain.denominator(), 0);
        for sweep in 0..sweeps {
            let mut seeks = self.levels.top() < denominator;
            if seeks && 2 * sweep >= sweeps {
                self.levels.add_top_level(denominator, seen.values().sum());
                seeks = false;
            }
            let step = (self.levels.len() as f64 / (sweep + 1) as f64).min(LARGEST_STEP);
            let step = step / self.cells as f64;
            self.chain.shuffle(&mut self.stream);
            for i in 0..self.cells {
                asking.go_on()?;
                self.chain.visit(i, &self.levels, &mut self.stream);
                let reward = self.chain.reward();
                self.highest = self.highest.max(reward);
                if !seeks {
                    self.levels.lower_weight(reward, step);
                } else if reward >= self.levels.top() {
                    *seen.entry(reward).or_default() += 1;
                    in_top += 1;
                    if in_top % LOOK == 0 && self.levels.cut(&seen) {
                        seen.clear();
                    }
                }
            }
            if (sweep + 1) % BETWEEN_REPORTS == 0 && report(BETWEEN_REPORTS).is_break() {
                return Err(Stopped);
            }
        }
        match report(sweeps % BETWEEN_REPORTS) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Stopped),
        }
    }

    /// Samples with the weights as they are.
    fn sample(
        mut self,
        sweeps: u64,
        betas: &[f64],
        start: Start,
        report: &dyn Fn(u64) -> ControlFlow<()>,
    ) -> Result<ReplicaOutcome, Stopped> {
        let levels = self.levels.len();
        let denominator = self.chain.denominator() as f64;
        // By level, the weight of all codes, and by temperature theirs times exp(beta J).
        let mut all = vec![Weighted::NONE; levels];
        let mut gibbs = vec![vec![Weighted::NONE; levels]; betas.len()];
        let mut batches_all = [Weighted::NONE; BATCHES];
        let mut batches_gibbs = vec![[Weighted::NONE; BATCHES]; betas.len()];
        let (burnt, kept) = (sweeps / BURN_IN, sweeps - sweeps / BURN_IN);
        let mut trips = Trips::new(levels);
        let question = || report(0);
        let mut asking = Asking::new(&question);
        for sweep in 0..sweeps {
            self.chain.shuffle(&mut self.stream);
            for i in 0..self.cells {
                asking.go_on()?;
                self.chain.visit(i, &self.levels, &mut self.stream);
            }
            if (sweep + 1) % BETWEEN_REPORTS == 0 && report(BETWEEN_REPORTS).is_break() {
                return Err(Stopped);
            }
            if sweep < burnt {
                continue;
            }
            let batch = ((sweep - burnt) as u128 * BATCHES as u128 / u128::from(kept)) as usize;
            let reward = self.chain.reward();
            self.highest = self.highest.max(reward);
            let (level, j) = (self.levels.of(reward), reward as f64 / denominator);
            trips.note(level);
            let unweighted = -self.levels.log_weight(reward);
            all[level].add(unweighted, j);
            batches_all[batch].add(unweighted, j);
            for (i, beta) in betas.iter().enumerate() {
                gibbs[i][level].add(unweighted + beta * j, j);
                batches_gibbs[i][batch].add(unweighted + beta * j, j);
            }
        }
        let whole = total(&all).log();
        let batches: Vec<Batches> = batches_gibbs
            .into_iter()
            .map(|gibbs| Batches {
                all: batches_all,
                gibbs,
            })
            .collect();
        // Had the codes above the highest reward a larger share of the samples than 3 in all those
        // of the highest level seen, one would have been seen but for a case in 20.
        let visited = (0..levels).rfind(|&level| trips.visits[level] > 0);
        let visited = visited.expect("there are samples");
        let share = all[visited].log() - whole;
        let log_unseen = share + (3.0 / trips.visits[visited] as f64).ln();
        Ok(ReplicaOutcome {
            start,
            highest: self.highest,
            needed: gibbs.iter().map(|gibbs| needed(gibbs)).collect(),
            log_z: batches
                .iter()
                .map(|batches| batches.jackknife(|all, gibbs| gibbs.log() - all.log()))
                .collect(),
            mean_reward: batches
                .iter()
                .map(|batches| batches.jackknife(|_, gibbs| gibbs.mean()))
                .collect(),
            trips: trips.made,
            log_unseen,
        })
    }
}

fn total<'a>(sums: impl IntoIterator<Item = &'a Weighted>) -> Weighted {
    sums.into_iter().fold(Weighted::NONE, |mut sum, part| {
        sum.join(part);
        sum
    })
}

/// The highest level that matters.
fn needed(levels: &[Weighted]) -> usize {
    let whole = total(levels).log();
    let mut above = Weighted::NONE;
    for (level, sum) in levels.iter().enumerate().rev() {
        above.join(sum);
        if above.sum > 0.0 && above.log() - whole >= MATTERS.ln() {
            return level;
        }
    }
    0
}

/// Ways from the lowest level up and back.
struct Trips {
    /// By level.
    made: Vec<u64>,
    visits: Vec<u64>,
    /// The highest level since the lowest; none before the lowest was seen.
    reached: Option<usize>,
}

impl Trips {
    fn new(levels: usize) -> Trips {
        Trips {
            made: vec![0; levels],
            visits: vec![0; levels],
            reached: None,
        }
    }

    fn note(&mut self, level: usize) {
        self.visits[level] += 1;
        if level > 0 {
            self.reached = self.reached.map(|reached| reached.max(level));
            return;
        }
        if let Some(reached) = self.reached {
            self.made[..=reached].iter_mut().for_each(|made| *made += 1);
        }
        self.reached = Some(0);
    }
}
