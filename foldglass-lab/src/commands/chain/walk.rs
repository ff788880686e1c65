//! Walks chains to their end, alone or on a ladder of temperatures, and keeps what is reported.

use std::ops::Range;

use foldglass::chain::{
    ChainError, Chains, Order, Schedule, Settings, Tempering as Ladder, TemperingError,
};
use foldglass::class::{Allowance, Class, ClassError};
use foldglass::count::{CountError, Exact};
use foldglass::policy::Code;
use foldglass::quasigroup::Symbol;
use serde::Serialize;

use crate::progress::{Go, Progress};

/// A reward that has not changed for this many sweeps is stationary.
const STATIONARY: usize = 5_000;

/// The temperatures of a chain.
#[derive(Debug, Clone)]
pub enum Heat {
    /// One a sweep.
    Schedule(Schedule),
    /// Several at a time, the coldest first, with swaps between them: parallel tempering.
    Ladder(Vec<f64>),
}

/// What every chain does.
pub struct Plan<'a> {
    pub class: &'a Class,
    pub settings: Settings,
    pub heat: Heat,
    /// The first code, where it is not random.
    pub start: Option<Code>,
    pub seed: u64,
    pub sweeps: usize,
    /// Whether J is kept after every sweep.
    pub recorded: bool,
}

/// Chains in progress.
pub enum Walkers {
    Chains(Box<Chains>),
    Ladder(Box<Ladder>),
}

impl Plan<'_> {
    /// The chains that go together: those that share vectors, or single ones where none do.
    pub fn groups(&self, chains: usize) -> Vec<Range<u64>> {
        let together = match (&self.heat, self.settings.order) {
            (Heat::Schedule(_), Order::Step | Order::Forward) => Chains::side_by_side(self.class),
            (Heat::Ladder(_), _) | (_, Order::Cell) => 1,
        };
        let starts = (0..chains as u64).step_by(together);
        let end = |start: u64| (start + together as u64).min(chains as u64);
        starts.map(|start| start..end(start)).collect()
    }

    /// Starts the chains of a group.
    pub fn begin(
        &self,
        numbers: Range<u64>,
        allowance: Allowance,
    ) -> Result<Walkers, TemperingError> {
        let (class, settings, seed) = (self.class, self.settings, self.seed);
        let chains = match (&self.heat, &self.start) {
            (Heat::Ladder(ladder), _) => {
                let parts = match settings.order {
                    Order::Cell => ladder.len(),
                    _ => ladder.len().div_ceil(Chains::side_by_side(class)),
                };
                let each = Allowance(allowance.0 / parts.max(1) as u128);
                let ladder = Ladder::new(class, settings, ladder, seed, numbers.start, each);
                let ladder = ladder.map_err(|error| in_parts(error, parts as u128))?;
                return Ok(Walkers::Ladder(Box::new(ladder)));
            }
            (_, None) => Chains::new(class, settings, seed, numbers, allowance),
            (_, Some(code)) => {
                let codes = numbers.clone().map(|_| code.clone()).collect();
                Chains::starting_at(class, settings, codes, seed, numbers, allowance)
            }
        };
        Ok(Walkers::Chains(Box::new(chains?)))
    }

    /// Sweeps to the end; none when the user stops it before.
    pub fn finish(
        &self,
        mut walkers: Walkers,
        numbers: Range<u64>,
        progress: &Progress,
    ) -> Option<Vec<Walk>> {
        let traced = match &self.heat {
            Heat::Schedule(_) => (numbers.end - numbers.start) as usize,
            Heat::Ladder(ladder) => ladder.len(),
        };
        let trace = |place| Trace::new(walkers.reward(place), self.recorded);
        let mut traces: Vec<Trace> = (0..traced).map(trace).collect();
        let mut tau = vec![0.0; traced];
        for sweep in 1..=self.sweeps {
            match (&mut walkers, &self.heat) {
                (Walkers::Chains(chains), Heat::Schedule(schedule)) => {
                    tau.fill(schedule.tau(sweep as u64 - 1));
                    chains.sweep(&tau);
                }
                (Walkers::Ladder(ladder), _) => ladder.sweep(),
                (Walkers::Chains(_), Heat::Ladder(_)) => unreachable!("a ladder was begun"),
            }
            for (place, trace) in traces.iter_mut().enumerate() {
                trace.note(sweep, walkers.reward(place), sweep > self.sweeps / 2);
            }
            let go = progress.add(numbers.end - numbers.start);
            if go == Go::Stop && sweep < self.sweeps {
                return None;
            }
        }
        Some(self.walks(&walkers, numbers, traces))
    }

    fn walks(&self, walkers: &Walkers, numbers: Range<u64>, traces: Vec<Trace>) -> Vec<Walk> {
        let denominator = walkers.denominator();
        let tempered = match walkers {
            Walkers::Chains(_) => None,
            Walkers::Ladder(ladder) => Some(Tempered {
                swap_rates: ladder.swaps().iter().map(|pair| pair.rate()).collect(),
                round_trips: ladder.trips().iter().sum(),
                mean_rewards: traces.iter().map(|t| t.mean(denominator)).collect(),
            }),
        };
        // Of a ladder, one number, that is the coldest rung alone.
        let walks = numbers.zip(traces).enumerate();
        walks
            .map(|(place, (number, trace))| Walk {
                denominator,
                outcome: Outcome {
                    number,
                    ..trace.outcome(self.sweeps, denominator, walkers.code(place))
                },
                tempered: tempered.clone(),
                rewards: trace.rewards.unwrap_or_default(),
            })
            .collect()
    }
}

/// Says of memory that falls short for one part of a ladder what all parts need.
fn in_parts(error: TemperingError, parts: u128) -> TemperingError {
    match error {
        TemperingError::Chain(
            ChainError::Class(ClassError::TooLarge {
                what,
                needed,
                allowed,
            })
            | ChainError::Count(CountError::TooLarge(ClassError::TooLarge {
                what,
                needed,
                allowed,
            })),
        ) => TemperingError::Chain(ChainError::Class(ClassError::TooLarge {
            what: format!("a ladder, {parts} times {what},"),
            needed: needed.and_then(|needed| needed.checked_mul(parts)),
            allowed: allowed * parts,
        })),
        error => error,
    }
}

impl Walkers {
    /// The numerator of J of a chain, or at a rung.
    fn reward(&self, place: usize) -> u128 {
        match self {
            Walkers::Chains(chains) => chains.reward(place),
            Walkers::Ladder(ladder) => ladder.reward(place),
        }
    }

    fn denominator(&self) -> u128 {
        match self {
            Walkers::Chains(chains) => chains.denominator(),
            Walkers::Ladder(ladder) => ladder.denominator(),
        }
    }

    fn code(&self, place: usize) -> &Code {
        match self {
            Walkers::Chains(chains) => chains.code(place),
            Walkers::Ladder(ladder) => ladder.code(place),
        }
    }
}

/// What the numerators of a chain's J have been.
struct Trace {
    last: u128,
    /// The sweep that changed J last, 0 when none did.
    changed: usize,
    /// The sum over the sweeps averaged, and their number.
    late: (Exact, usize),
    rewards: Option<Vec<u128>>,
}

impl Trace {
    fn new(reward: u128, recorded: bool) -> Trace {
        let nothing = exact(0, 1);
        Trace {
            last: reward,
            changed: 0,
            late: (nothing, 0),
            rewards: recorded.then(Vec::new),
        }
    }

    fn note(&mut self, sweep: usize, reward: u128, late: bool) {
        if reward != self.last {
            (self.last, self.changed) = (reward, sweep);
        }
        if late {
            // Unbounded: numerators of up to 127 bits leave a machine integer no room for sums.
            self.late.0.num += reward;
            self.late.1 += 1;
        }
        if let Some(rewards) = &mut self.rewards {
            rewards.push(reward);
        }
    }

    fn outcome(&self, sweeps: usize, denominator: u128, code: &Code) -> Outcome {
        let reward = exact(self.last, denominator);
        Outcome {
            number: 0,
            reward: reward.to_f64(),
            reward_exact: reward.to_string(),
            mean_reward: self.mean(denominator),
            sweeps_to_stationary: (sweeps - self.changed >= STATIONARY).then_some(self.changed),
            actions: code.actions().to_vec(),
        }
    }

    /// The mean of J over the second half.
    fn mean(&self, denominator: u128) -> f64 {
        let (sum, count) = &self.late;
        let mean = Exact {
            num: sum.num.clone(),
            den: exact(*count as u128, 1).num * denominator,
        };
        mean.to_f64()
    }
}

fn exact(num: u128, den: u128) -> Exact {
    Exact {
        num: num.into(),
        den: den.into(),
    }
}

/// A chain at its end; of a ladder, its coldest rung.
pub struct Walk {
    pub denominator: u128,
    pub outcome: Outcome,
    pub tempered: Option<Tempered>,
    /// J after each sweep, where that is recorded.
    pub rewards: Vec<u128>,
}

/// How a chain ended.
#[derive(Serialize)]
pub struct Outcome {
    /// The chain's number; where some were interrupted it is not its place in the list.
    #[serde(skip)]
    pub number: u64,
    pub reward: f64,
    pub reward_exact: String,
    pub mean_reward: f64,
    pub sweeps_to_stationary: Option<usize>,
    pub actions: Vec<Symbol>,
}

/// How replicas moved on a ladder.
#[derive(Debug, Clone, Serialize)]
pub struct Tempered {
    /// The share of swaps made between rungs k and k + 1; none where none was tried.
    pub swap_rates: Vec<Option<f64>>,
    /// From the coldest rung to the hottest and back, of all replicas.
    pub round_trips: u64,
    /// The mean of J at each rung over the second half of the sweeps.
    pub mean_rewards: Vec<f64>,
}
