//! Advances chains, or a ladder of them, and keeps what their records need.

use foldglass::dynamics::chain::{ChainState, Chains, Tempering, TemperingState};
use foldglass::{Code, Reward, Symbol};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::walk::{Checkpoint, Walk};
use super::{ChainPlan, Heat};
use crate::method::{RunOutcome, RunningUnit, fields};

/// Chains in progress.
pub(super) enum Walkers {
    Chains(Box<Chains>),
    Ladder(Box<Tempering>),
}

/// The state of chains in progress.
#[derive(Serialize, Deserialize)]
pub(super) enum WalkerState {
    Chains(ChainState),
    Ladder(TemperingState),
}

/// What a unit needs to resume.
#[derive(Serialize, Deserialize)]
pub(super) struct SavedChains {
    pub state: WalkerState,
    pub walks: Vec<Walk>,
    pub done: u64,
}

impl Walkers {
    /// The numerator of J of a chain, or at a rung.
    pub fn reward(&self, place: usize) -> u128 {
        match self {
            Walkers::Chains(chains) => chains.reward(place),
            Walkers::Ladder(ladder) => ladder.reward(place),
        }
    }

    pub fn denominator(&self) -> u128 {
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

/// Chains in progress, or a ladder of them.
pub(super) struct ChainUnit {
    pub plan: ChainPlan,
    pub walkers: Walkers,
    /// One walk per chain, or per rung of a ladder.
    pub walks: Vec<Walk>,
    pub done: u64,
}

/// What a chain, or the coldest rung of a ladder, came to: the keys of `result` in its record.
#[derive(Debug, JsonSchema, Serialize)]
pub struct ChainResult {
    reward: f64,
    reward_exact: Reward,
    mean_reward: f64,
    sweeps_done: u64,
    last_change: u64,
    sweeps_to_stationary: Option<u64>,
    sweeps_to_optimum: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoints: Option<Vec<Checkpoint>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    denominator: Option<String>,
    /// Numerators of the reward, as digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    marginals: Option<Vec<u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    actions: Option<Vec<Symbol>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    swap_rates: Option<Vec<Option<f64>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    round_trips: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mean_rewards: Option<Vec<f64>>,
}

impl ChainUnit {
    fn sweep(&mut self) {
        match (&mut self.walkers, &self.plan.heat) {
            (Walkers::Chains(chains), Heat::Schedule(schedule)) => {
                chains.sweep(&vec![schedule.tau(self.done); self.walks.len()]);
            }
            (Walkers::Ladder(ladder), _) => ladder.sweep(),
            (Walkers::Chains(_), Heat::Ladder(_)) => unreachable!("a ladder was begun"),
        }
        self.done += 1;
        let denominator = self.walkers.denominator();
        for (place, walk) in self.walks.iter_mut().enumerate() {
            let (reward, code) = (self.walkers.reward(place), self.walkers.code(place));
            walk.note(&self.plan.keeping, reward, denominator, code);
        }
        self.keep_codes();
    }

    /// Keeps the codes of chains that have just stopped: they are swept on as long as a chain beside them is.
    pub fn keep_codes(&mut self) {
        if !self.plan.keeping.code {
            return;
        }
        for (place, walk) in self.walks.iter_mut().enumerate() {
            if walk.stopped() && walk.code.is_none() {
                walk.code = Some(self.walkers.code(place).actions().to_vec());
            }
        }
    }

    fn outcome(&self, walk: &Walk) -> RunOutcome {
        let (keeping, denominator) = (&self.plan.keeping, self.walkers.denominator());
        let reward = walk.reward(denominator);
        let ladder = match &self.walkers {
            Walkers::Ladder(ladder) => Some(ladder),
            Walkers::Chains(_) => None,
        };
        let mean = |walk: &Walk| walk.mean(keeping, denominator);
        let trace = || walk.trace.iter().map(u128::to_string).collect();
        fields(&ChainResult {
            reward: reward.to_f64(),
            reward_exact: reward,
            mean_reward: mean(walk),
            sweeps_done: walk.sweeps,
            last_change: walk.last_change,
            sweeps_to_stationary: walk.stationary(keeping),
            sweeps_to_optimum: walk.optimum,
            checkpoints: (!keeping.checkpoints.is_empty())
                .then(|| walk.marks(keeping, denominator)),
            denominator: keeping.record_every.map(|_| denominator.to_string()),
            trace: keeping.record_every.map(|_| trace()),
            marginals: keeping.marginals.then(|| walk.counts.clone()),
            actions: walk.code.clone(),
            swap_rates: ladder
                .map(|ladder| ladder.swaps().iter().map(|pair| pair.rate()).collect()),
            round_trips: ladder.map(|ladder| ladder.trips().iter().sum()),
            mean_rewards: ladder.map(|_| self.walks.iter().map(mean).collect()),
        })
    }
}

impl RunningUnit for ChainUnit {
    fn done(&self) -> u64 {
        self.done
    }

    fn is_finished(&self) -> bool {
        // Of a ladder the coldest rung is what is asked for.
        let stopped = match self.walkers {
            Walkers::Chains(_) => self.walks.iter().all(Walk::stopped),
            Walkers::Ladder(_) => self.walks[0].stopped(),
        };
        stopped || self.done == self.plan.keeping.sweeps
    }

    fn advance(&mut self, steps: u64) -> Result<(), String> {
        for _ in 0..steps {
            if self.is_finished() {
                break;
            }
            self.sweep();
        }
        Ok(())
    }

    fn save(&mut self) -> Result<Vec<u8>, String> {
        let saved = SavedChains {
            state: match &self.walkers {
                Walkers::Chains(chains) => WalkerState::Chains(chains.state()),
                Walkers::Ladder(ladder) => WalkerState::Ladder(ladder.state()),
            },
            walks: self.walks.clone(),
            done: self.done,
        };
        Ok(postcard::to_stdvec(&saved).expect("plain data"))
    }

    fn outcomes(&mut self) -> Result<Vec<RunOutcome>, String> {
        let walks = match self.walkers {
            Walkers::Chains(_) => &self.walks[..],
            Walkers::Ladder(_) => &self.walks[..1],
        };
        Ok(walks.iter().map(|walk| self.outcome(walk)).collect())
    }

    fn codes(&mut self) -> Vec<Code> {
        let places = match self.walkers {
            Walkers::Chains(_) => self.walks.len(),
            Walkers::Ladder(_) => 1,
        };
        let code = |place: usize| match &self.walks[place].code {
            Some(actions) => Code::from_fn(&self.plan.class, |cell| actions[cell]),
            None => self.walkers.code(place).clone(),
        };
        (0..places).map(code).collect()
    }
}
