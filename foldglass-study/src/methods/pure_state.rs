//! Samples a pure state at a temperature and runs tabular RLVR from its marginals, as a method of
//! studies (paper, section 3.3 and G.2).
//!
//! A run is one trap at one temperature: replicas of a chain from its code, then, where they make a
//! finite-temperature trap, CAVI seeded at their marginals.

mod recipe;

use foldglass::dynamics::cavi::{self, Rule, Runs};
use foldglass::dynamics::chain::{self, Chains};
use foldglass::gibbs::fixed_points::{Likeness, likeness, residuals};
use foldglass::gibbs::marginals::{PureState, Rules, Trajectories, TrapStanding};
use foldglass::{Allowance, Code, Evaluator, Policy, Stream};
use serde::{Deserialize, Serialize};

use crate::method::{Fields, RunOutcome, RunningUnit, Streams, put};
use recipe::PureStatePlan;
pub use recipe::PureStates;

/// Streams of CAVI and of partitions are numbered from here, far from those of chains.
const CAVI_STREAMS: u64 = 1 << 62;
const PARTITION_STREAMS: u64 = 1 << 61;

/// The most pairs of cells whose correlation is measured.
const PAIRS: usize = 2_000;

/// A cell this far from its target is not at a fixed point to machine precision.
const UNSTABLE: f64 = 1e-9;

/// What a unit needs to resume.
#[derive(Serialize, Deserialize)]
struct SavedPureState {
    chains: Vec<chain::ChainState>,
    trajectories: Trajectories,
    cavi: Option<cavi::CaviState>,
}

/// A run in progress.
struct PureStateUnit {
    plan: PureStatePlan,
    streams: Streams,
    allowance: Allowance,
    start_reward: f64,
    groups: Vec<ReplicaGroup>,
    trajectories: Trajectories,
    /// What the replicas say, once all sweeps are done.
    found: Option<ReadState>,
}

/// Replicas that share vectors.
struct ReplicaGroup {
    chains: Chains,
    replicas: usize,
}

/// A state that was read off the replicas.
struct ReadState {
    state: PureState,
    seed: Policy,
    /// CAVI from the seed, where the replicas make a trap.
    runs: Option<Runs>,
}

impl PureStateUnit {
    fn begin(
        plan: &PureStatePlan,
        streams: Streams,
        allowance: Allowance,
    ) -> Result<PureStateUnit, String> {
        let number = streams.numbers.start;
        let code = plan.start(streams.seed, number)?;
        let mut groups = Vec::new();
        for numbers in plan.groups(number) {
            let codes: Vec<Code> = numbers.clone().map(|_| code.clone()).collect();
            let replicas = codes.len();
            let begun = Chains::builder(&plan.class, plan.chain)
                .seed(streams.seed)
                .numbers(numbers)
                .within(allowance)
                .start_at(codes);
            let chains = begun.map_err(|error| error.to_string())?;
            groups.push(ReplicaGroup { chains, replicas });
        }
        let trajectories = Trajectories::new(plan.class.q(), plan.class.cells(), plan.replicas);
        Ok(PureStateUnit {
            start_reward: foldglass::reward::count::reward(&code).to_f64(),
            plan: plan.clone(),
            streams,
            allowance,
            groups,
            trajectories,
            found: None,
        })
    }

    fn resume(
        plan: &PureStatePlan,
        streams: Streams,
        state: &[u8],
        allowance: Allowance,
    ) -> Result<PureStateUnit, String> {
        let saved: SavedPureState =
            postcard::from_bytes(state).map_err(|error| error.to_string())?;
        let mut progress = PureStateUnit::begin(plan, streams, allowance)?;
        let (seed, number) = (progress.streams.seed, progress.streams.numbers.start);
        let groups = progress.groups.iter_mut();
        for ((numbers, group), state) in plan.groups(number).zip(groups).zip(&saved.chains) {
            let resumed = Chains::builder(&plan.class, plan.chain)
                .seed(seed)
                .numbers(numbers)
                .within(allowance)
                .resume(state);
            group.chains = resumed.map_err(|error| error.to_string())?;
        }
        progress.trajectories = saved.trajectories;
        progress.read_off(saved.cavi.as_ref());
        Ok(progress)
    }

    fn sweep(&mut self) {
        let mut replica = 0;
        for ReplicaGroup { chains, replicas } in &mut self.groups {
            chains.sweep(&vec![self.plan.tau; *replicas]);
            let denominator = chains.denominator() as f64;
            for chain in 0..*replicas {
                let reward = chains.reward(chain) as f64 / denominator;
                self.trajectories.push(replica, reward, chains.code(chain));
                replica += 1;
            }
        }
        self.read_off(None);
    }

    /// Reads the state off the replicas once all sweeps are done, and begins CAVI or takes it up.
    fn read_off(&mut self, cavi: Option<&cavi::CaviState>) {
        if (self.trajectories.sweeps() as u64) < self.plan.sweeps {
            return;
        }
        let number = self.streams.numbers.start;
        let mut stream = Stream::new(self.streams.seed, PARTITION_STREAMS + number);
        let state = PureState::of(&self.trajectories, &Rules::PAPER, &mut stream);
        let seed = state.draws.policy(&self.plan.class);
        let is_trap = state.standing == TrapStanding::Trap;
        let runs = is_trap.then(|| self.begin_cavi(&seed, cavi));
        self.found = Some(ReadState { state, seed, runs });
    }

    fn begin_cavi(&self, policy: &Policy, state: Option<&cavi::CaviState>) -> Runs {
        let settings =
            cavi::CaviSettings::plain(self.plan.tau, self.plan.iterations).with_rule(Rule::PAPER);
        let number = CAVI_STREAMS + self.streams.numbers.start;
        let (numbers, seed) = (number..number + 1, self.streams.seed);
        let runs = Runs::builder(&self.plan.class, settings)
            .seed(seed)
            .numbers(numbers)
            .within(self.allowance);
        let begun = match state {
            Some(state) => runs.resume(state),
            None => runs.start_at(policy),
        };
        begun.expect("the unit's memory was checked before it began")
    }

    fn outcome(&mut self) -> RunOutcome {
        let found = self.found.as_mut().expect("it is finished");
        let state = &found.state;
        let mut fields = Fields::new();
        put(&mut fields, "standing", state.standing.name());
        put(&mut fields, "start_reward", self.start_reward);
        let mean = state.rewards.iter().sum::<f64>() / state.rewards.len() as f64;
        put(&mut fields, "mean_reward", mean);
        put(&mut fields, "mean_rewards", &state.rewards);
        put(&mut fields, "kept_replicas", state.kept.len());
        put(&mut fields, "equilibration", state.equilibration);
        let moving = state.moving.iter().filter(|moving| **moving).count();
        put(&mut fields, "moving_cells", moving);
        put(&mut fields, "unresolved_cells", state.unresolved);
        put(&mut fields, "slowest_time", state.slowest);
        put(&mut fields, "thinning", state.thinning);
        put(&mut fields, "draws", state.draws.len());
        put(
            &mut fields,
            "agreement",
            state.agreement.map(|a| a.replicas),
        );
        put(
            &mut fields,
            "agreement_random",
            state.agreement.map(|a| a.random),
        );
        put(&mut fields, "entropy", found.seed.entropy());
        let number = PARTITION_STREAMS + self.streams.numbers.start;
        // Partitions are drawn from the start of this stream; pairs from far behind them.
        let mut stream = Stream::new(self.streams.seed, number).at(1 << 40);
        let correlations = state.draws.correlations(PAIRS, &mut stream);
        put(
            &mut fields,
            "correlation",
            correlations.map(|c| c.root_mean_square),
        );
        put(
            &mut fields,
            "correlation_noise",
            correlations.map(|c| c.noise),
        );
        put(
            &mut fields,
            "correlation_largest",
            correlations.map(|c| c.largest),
        );
        put(
            &mut fields,
            "correlation_pairs",
            correlations.map(|c| c.pairs),
        );
        let ended = found.ended(&self.plan, self.allowance);
        let of = |of: fn(&Ended) -> f64| ended.as_ref().map(of);
        put(
            &mut fields,
            "active_cells",
            ended.as_ref().map(|ended| ended.likeness.active),
        );
        put(
            &mut fields,
            "bhattacharyya",
            of(|ended| ended.likeness.coefficient),
        );
        put(
            &mut fields,
            "bhattacharyya_null",
            of(|ended| ended.likeness.null),
        );
        put(&mut fields, "cavi_reward", of(|ended| ended.reward));
        put(&mut fields, "cavi_entropy", of(|ended| ended.entropy));
        put(&mut fields, "cavi_residual", of(|ended| ended.residual));
        put(
            &mut fields,
            "cavi_unstable",
            ended.as_ref().map(|ended| ended.unstable),
        );
        fields
    }
}

/// Where CAVI ended.
struct Ended {
    likeness: Likeness,
    reward: f64,
    entropy: f64,
    /// The largest |target - pi| of a cell.
    residual: f64,
    /// Cells that still move.
    unstable: usize,
}

impl ReadState {
    fn ended(&self, plan: &PureStatePlan, allowance: Allowance) -> Option<Ended> {
        let endpoint = self.runs.as_ref()?.policy(0);
        let mut evaluator = Evaluator::within(&plan.class, allowance)
            .expect("the unit's memory was checked before it began");
        let residuals = residuals(&mut evaluator, &endpoint, plan.tau);
        Some(Ended {
            likeness: likeness(&self.state, &self.seed, &endpoint, plan.activity),
            reward: evaluator.evaluate(&endpoint),
            entropy: endpoint.entropy(),
            residual: residuals.iter().copied().fold(0.0, f64::max),
            unstable: residuals.iter().filter(|r| **r > UNSTABLE).count(),
        })
    }
}

impl RunningUnit for PureStateUnit {
    fn done(&self) -> u64 {
        let runs = self.found.as_ref().and_then(|found| found.runs.as_ref());
        self.trajectories.sweeps() as u64 + runs.map_or(0, |runs| runs.done() as u64)
    }

    fn is_finished(&self) -> bool {
        let Some(found) = &self.found else {
            return false;
        };
        let runs = found.runs.as_ref();
        runs.is_none_or(|runs| runs.done() == self.plan.iterations)
    }

    fn advance(&mut self, steps: u64) -> Result<(), String> {
        for _ in 0..steps {
            if self.is_finished() {
                break;
            }
            match &mut self.found {
                None => self.sweep(),
                Some(found) => {
                    let runs = found.runs.as_mut().expect("it is not finished");
                    runs.advance(1);
                }
            }
        }
        Ok(())
    }

    fn save(&mut self) -> Result<Vec<u8>, String> {
        let runs = self.found.as_ref().and_then(|found| found.runs.as_ref());
        let saved = SavedPureState {
            chains: self
                .groups
                .iter()
                .map(|group| group.chains.state())
                .collect(),
            trajectories: self.trajectories.clone(),
            cavi: runs.map(Runs::state),
        };
        Ok(postcard::to_stdvec(&saved).expect("plain data"))
    }

    fn outcomes(&mut self) -> Result<Vec<RunOutcome>, String> {
        Ok(vec![self.outcome()])
    }
}
