//! Does a unit: begins it or takes it up again, and advances it in slices.

use std::ops::Range;

use foldglass::cavi::{self, Runs};
use foldglass::chain::{self, ChainError, Chains};
use foldglass::class::{Allowance, ClassError};
use foldglass::count::CountError;
use serde::{Deserialize, Serialize};

use super::method::{Chain, Method};
use super::plan::Series;
use super::record::{CaviOutcome, Outcome};
use super::walk::Walk;

/// A unit in progress.
pub struct Job {
    engine: Engine,
    length: usize,
    done: usize,
}

enum Engine {
    Cavi(Box<Runs>),
    Chain(Box<Walks>),
}

struct Walks {
    method: Chain,
    tau: Vec<f64>,
    chains: Chains,
    walks: Vec<Walk>,
}

/// What a unit needs to go on later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Saved {
    /// Of [`Runs`].
    Cavi(#[serde(with = "CaviState")] cavi::State),
    /// Of [`Chains`], and their paths.
    Chain(#[serde(with = "ChainState")] chain::State, Vec<Walk>, usize),
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "cavi::State")]
struct CaviState {
    done: usize,
    rows: Vec<Vec<f64>>,
    logits: Option<Vec<Vec<f64>>>,
    positions: Vec<u128>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "chain::State")]
struct ChainState {
    actions: Vec<Vec<u16>>,
    positions: Vec<u128>,
    order_position: u128,
}

impl Job {
    /// Begins the runs with these numbers.
    pub fn begin(
        series: &Series,
        tau: f64,
        numbers: Range<u64>,
        allowance: Allowance,
    ) -> Result<Job, ChainError> {
        let (class, seed) = (&series.class, series.seed);
        let engine = match &series.method {
            Method::Cavi(method) => {
                let runs = Runs::new(class, method.at(tau), seed, numbers, allowance)?;
                Engine::Cavi(Box::new(runs))
            }
            Method::Chain(method) => {
                let settings = settings(method);
                let chains = Chains::new(class, settings, seed, numbers.clone(), allowance)?;
                let (count, of) = ((numbers.end - numbers.start) as usize, chains.denominator());
                let walk = |chain| Walk::new(method, chains.reward(chain), of);
                let walks = (0..count).map(walk).collect();
                let mut walks = Walks {
                    method: method.clone(),
                    tau: vec![tau; count],
                    chains,
                    walks,
                };
                walks.keep_codes();
                Engine::Chain(Box::new(walks))
            }
        };
        Ok(Job {
            engine,
            length: series.method.length(),
            done: 0,
        })
    }

    /// Takes up a unit where it was saved.
    pub fn resume(
        series: &Series,
        tau: f64,
        numbers: Range<u64>,
        saved: Saved,
        allowance: Allowance,
    ) -> Result<Job, ChainError> {
        let (class, seed) = (&series.class, series.seed);
        let (engine, done) = match (&series.method, saved) {
            (Method::Cavi(method), Saved::Cavi(state)) => {
                let runs = Runs::resume(class, method.at(tau), seed, numbers, &state, allowance)?;
                (Engine::Cavi(Box::new(runs)), state.done)
            }
            (Method::Chain(method), Saved::Chain(state, walks, done)) => {
                let settings = settings(method);
                let chains = Chains::resume(class, settings, seed, numbers, &state, allowance)?;
                let walks = Walks {
                    method: method.clone(),
                    tau: vec![tau; walks.len()],
                    chains,
                    walks,
                };
                (Engine::Chain(Box::new(walks)), done)
            }
            _ => unreachable!("a state is saved with the recipe of its method"),
        };
        Ok(Job {
            engine,
            length: series.method.length(),
            done,
        })
    }

    /// What [`Job::resume`] needs.
    pub fn save(&self) -> Saved {
        match &self.engine {
            Engine::Cavi(runs) => Saved::Cavi(runs.state()),
            Engine::Chain(walks) => {
                Saved::Chain(walks.chains.state(), walks.walks.clone(), self.done)
            }
        }
    }

    /// Iterations or sweeps done.
    pub fn done(&self) -> usize {
        self.done
    }

    /// Whether it is at its end.
    pub fn is_finished(&self) -> bool {
        let stopped = match &self.engine {
            Engine::Cavi(_) => false,
            Engine::Chain(walks) => walks.walks.iter().all(Walk::stopped),
        };
        stopped || self.done == self.length
    }

    /// Does up to this many iterations or sweeps more.
    pub fn advance(&mut self, steps: usize) {
        for _ in 0..steps {
            if self.is_finished() {
                return;
            }
            match &mut self.engine {
                Engine::Cavi(runs) => {
                    runs.advance(1);
                }
                Engine::Chain(walks) => walks.sweep(),
            }
            self.done += 1;
        }
    }

    /// What the runs came to.
    pub fn outcomes(self) -> Vec<Outcome> {
        match self.engine {
            Engine::Cavi(mut runs) => {
                let outcomes = runs.outcomes().into_iter();
                outcomes
                    .map(|end| Outcome::Cavi(cavi_outcome(end)))
                    .collect()
            }
            Engine::Chain(walks) => {
                let of = walks.chains.denominator();
                let outcome = |walk: &Walk| Outcome::Chain(walk.outcome(&walks.method, of));
                walks.walks.iter().map(outcome).collect()
            }
        }
    }
}

impl Walks {
    fn sweep(&mut self) {
        self.chains.sweep(&self.tau);
        let of = self.chains.denominator();
        for (chain, walk) in self.walks.iter_mut().enumerate() {
            walk.note(&self.method, self.chains.reward(chain), of);
        }
        self.keep_codes();
    }

    /// Keeps the codes of chains that have just stopped: those beside them may go on, and they with
    /// them.
    fn keep_codes(&mut self) {
        for (chain, walk) in self.walks.iter_mut().enumerate() {
            if self.method.keep_code {
                walk.keep(|| self.chains.code(chain).actions().to_vec());
            }
        }
    }
}

fn settings(method: &Chain) -> chain::Settings {
    chain::Settings {
        kernel: method.kernel,
        order: method.order.expect("resolved for the class"),
    }
}

fn cavi_outcome(end: cavi::Outcome) -> CaviOutcome {
    CaviOutcome {
        greedy_exact: end.greedy_reward.to_string(),
        greedy_reward: end.greedy_reward.to_f64(),
        expected_reward: end.expected_reward,
        entropy: end.entropy,
        residual: end.residual,
    }
}

/// The bytes that were needed and not allowed.
pub fn lacking(error: &ChainError) -> Option<u128> {
    match error {
        ChainError::Class(ClassError::TooLarge { needed, .. })
        | ChainError::Count(CountError::TooLarge(ClassError::TooLarge { needed, .. })) => *needed,
        _ => None,
    }
}
