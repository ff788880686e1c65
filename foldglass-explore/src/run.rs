//! Holds a run in progress: continues it, changes its temperature, reports its state (paper, G).

use std::sync::Arc;

use foldglass::dynamics::cavi::{self, Outcome, Resets, Runs};
use foldglass::dynamics::chain::{Chains, Kernel};
use foldglass::dynamics::schedule::Schedule;
use foldglass::{Allowance, Code, Policy, Reward};
use foldglass_report::error::Error;
use foldglass_report::words::counted;
use serde_json::{Value, json};

use crate::classes::KnownClass;
use crate::command::{self, CODE, POLICY};
use crate::deadline::Deadline;
use crate::numbers::{Exact, Wholes, rounded};
use crate::refusal::Refusal;

/// A run in progress.
pub struct Run {
    known: Arc<KnownClass>,
    start: Option<Code>,
    seed: u64,
    tau: f64,
    /// The temperature it began with, and after how many sweeps that was changed first.
    first_tau: f64,
    changed_after: Option<u64>,
    done: u64,
    engine: Engine,
}

/// What makes its sweeps.
pub enum Engine {
    Chain {
        kernel: Kernel,
        chains: Box<Chains>,
    },
    Cavi {
        settings: cavi::CaviSettings,
        runs: Box<Runs>,
    },
}

/// How the code or the policy of a run is told.
#[derive(Clone, Copy, Default)]
pub struct CodeTable {
    pub digits: Option<u8>,
}

/// J after a sweep.
pub struct SweepPoint {
    sweep: u64,
    reward: f64,
    /// Of a chain.
    numerator: Option<u128>,
}

impl Run {
    /// Begins at a temperature.
    pub fn new(
        known: Arc<KnownClass>,
        start: Option<Code>,
        seed: u64,
        tau: f64,
        engine: Engine,
    ) -> Run {
        Run {
            known,
            start,
            seed,
            tau,
            first_tau: tau,
            changed_after: None,
            done: 0,
            engine,
        }
    }

    /// Goes on at another temperature.
    pub fn set_tau(&mut self, tau: f64, allowance: Allowance) -> Result<(), Refusal> {
        if tau == self.tau {
            return Ok(());
        }
        if let Engine::Cavi { settings, runs } = &mut self.engine {
            settings.tau = Schedule::Constant(tau);
            **runs = taken_up(&self.known, *settings, self.seed, &runs.state(), allowance)?;
        }
        self.tau = tau;
        match self.done {
            0 => self.first_tau = tau,
            done => self.changed_after = self.changed_after.or(Some(done)),
        }
        Ok(())
    }

    /// Goes on until the time is over; J after each sweep.
    pub fn advance(&mut self, sweeps: u64, deadline: &Deadline) -> Vec<SweepPoint> {
        let mut trace = Vec::new();
        while (trace.len() as u64) < sweeps && (trace.is_empty() || !deadline.is_over()) {
            self.done += 1;
            let sweep = self.done;
            match &mut self.engine {
                Engine::Chain { chains, .. } => {
                    chains.sweep(&[self.tau]);
                    let numerator = chains.reward(0);
                    trace.push(SweepPoint {
                        sweep,
                        reward: Reward::new(numerator, chains.denominator()).to_f64(),
                        numerator: Some(numerator),
                    });
                }
                Engine::Cavi { runs, .. } => {
                    runs.advance(1);
                    // The gradient of an iteration has J of the policy before it.
                    if let Some(last) = trace.last_mut() {
                        last.reward = runs.expected_reward(0);
                    }
                    trace.push(SweepPoint {
                        sweep,
                        reward: f64::NAN,
                        numerator: None,
                    });
                }
            }
        }
        trace
    }

    /// How the run stands, and what it did last.
    pub fn tell(
        &mut self,
        mut trace: Vec<SweepPoint>,
        table: Option<CodeTable>,
        allowance: Allowance,
    ) -> Result<Value, Refusal> {
        let mut told = match &mut self.engine {
            Engine::Chain { chains, .. } => {
                let reward = Reward::new(chains.reward(0), chains.denominator());
                let wholes = Wholes::up_to(chains.denominator());
                let numerators = trace.iter().filter_map(|point| point.numerator);
                let numerators: Vec<_> = numerators.map(|n| wholes.of(n as i128)).collect();
                json!({
                    "kind": "chain",
                    "reward": Exact::from(&reward),
                    "denominator": chains.denominator().to_string(),
                    "numerators": numerators,
                    "code": table.map(|_| chains.code(0).actions().to_vec()),
                })
            }
            Engine::Cavi { settings, runs } => {
                let outcome = outcome(&self.known, *settings, self.seed, runs, allowance)?;
                if let Some(last) = trace.last_mut() {
                    last.reward = outcome.expected_reward;
                }
                let class = &self.known.class;
                let rows = |policy: Policy| policy.rows().to_vec();
                json!({
                    "kind": "cavi",
                    "reward": { "text": null, "value": outcome.expected_reward },
                    "greedy_reward": Exact::from(&outcome.greedy_reward),
                    "entropy": outcome.entropy,
                    "most_entropy": class.cells() as f64 * (class.q() as f64).ln(),
                    "residual": outcome.residual,
                    "code": table.map(|_| outcome.greedy.actions().to_vec()),
                    "policy": table.map(|table| rounded(rows(runs.policy(0)), table.digits)),
                })
            }
        };
        let points: Vec<(u64, f64)> = trace.iter().map(|p| (p.sweep, p.reward)).collect();
        told["sweep"] = self.done.into();
        told["tau"] = self.tau.into();
        told["trace"] = json!(points);
        told["command"] = self.command().into();
        told["note"] = json!(self.changed_after.map(|sweep| format!(
            "tau was changed after {}: the command gives the run up to there",
            counted(sweep, "sweep")
        )));
        told["start_file"] = json!(self.start.as_ref().map(|code| match &self.engine {
            Engine::Chain { .. } => command::code_file(code),
            Engine::Cavi { .. } => command::policy_file(&Policy::deterministic(code)),
        }));
        Ok(told)
    }

    /// The line that gives the same trace, as far as one temperature goes.
    fn command(&self) -> String {
        let sweeps = self.changed_after.unwrap_or(self.done).to_string();
        let (tau, seed) = (format!("{:e}", self.first_tau), self.seed.to_string());
        let mut words: Vec<String> = Vec::new();
        let mut put = |list: &[&str]| words.extend(list.iter().map(|word| (*word).to_owned()));
        match &self.engine {
            Engine::Chain { kernel, .. } => {
                let sweeps = if sweeps == "0" { "1" } else { &sweeps[..] };
                put(&[
                    "chain",
                    "--kernel",
                    &kernel.to_string(),
                    "--runs",
                    "1",
                    "--sweeps",
                    sweeps,
                ]);
                if self.start.is_some() {
                    put(&["--start", CODE]);
                }
            }
            Engine::Cavi { settings, .. } => {
                put(&["cavi", "--runs", "1", "--iterations", &sweeps]);
                if let Some(Resets {
                    share,
                    every,
                    cycles,
                }) = settings.resets
                {
                    put(&["--resets", &format!("{share},{every},{cycles}")]);
                }
                if self.start.is_some() {
                    put(&["--start", POLICY]);
                }
            }
        }
        // One file each: both lines are copied and run in one directory.
        let record = match &self.engine {
            Engine::Chain { .. } => "chain-trace.jsonl",
            Engine::Cavi { .. } => "cavi-trace.jsonl",
        };
        put(&["--tau", &tau, "--seed", &seed, "--record", record]);
        if self.start.is_none() {
            words.extend(self.known.flags.iter().cloned());
        }
        command::line(words)
    }
}

fn taken_up(
    known: &KnownClass,
    settings: cavi::CaviSettings,
    seed: u64,
    state: &cavi::CaviState,
    allowance: Allowance,
) -> Result<Runs, Refusal> {
    let runs = Runs::builder(&known.class, settings)
        .seed(seed)
        .within(allowance)
        .resume(state);
    Ok(runs.map_err(Error::from)?)
}

/// How a CAVI run would end now. Ties of the greedy code draw from the run's stream, which then is put
/// back: to look at a run changes nothing of what follows.
fn outcome(
    known: &KnownClass,
    settings: cavi::CaviSettings,
    seed: u64,
    runs: &mut Box<Runs>,
    allowance: Allowance,
) -> Result<Outcome, Refusal> {
    let state = runs.state();
    let outcome = runs.outcomes().swap_remove(0);
    if runs.state().positions != state.positions {
        **runs = taken_up(known, settings, seed, &state, allowance)?;
    }
    Ok(outcome)
}
