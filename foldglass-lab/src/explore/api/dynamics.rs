//! Steps a chain or a CAVI run at the temperature of the moment (paper, sections 2.1, 2.2 and G).
//!
//! A run at one temperature is run 0 of its seed: the trace of `foldglass chain` or `foldglass cavi`.

use std::sync::Arc;

use foldglass::cavi::{self, HOTTEST, Outcome, Resets, Runs as CaviRuns};
use foldglass::chain::{self, Chains, Kernel, Order, Schedule};
use foldglass::{Allowance, Code, Policy, Reward};
use serde::Deserialize;
use serde_json::{Value, json};

use super::command::{self, CODE, POLICY};
use super::{Ask, Exact, Wholes, code_of, rounded};
use crate::error::Error;
use crate::explore::classes::Known;
use crate::explore::deadline::Deadline;
use crate::explore::limits;
use crate::explore::refusal::Refusal;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewAsked {
    class: Vec<String>,
    /// The start; none is one drawn by the seed.
    code: Option<Vec<i64>>,
    kind: Kind,
    tau: f64,
    #[serde(default)]
    seed: u64,
    /// Of a chain.
    kernel: Option<Kernel>,
    /// Of a CAVI run.
    resets: Option<Resets>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Chain,
    Cavi,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepAsked {
    run: u64,
    #[serde(default = "one")]
    sweeps: u64,
    /// The temperature from now on; none is the one before.
    tau: Option<f64>,
    /// Whether the code or the policy is told too.
    #[serde(default = "yes")]
    table: bool,
    /// The significant digits of the policy; none are all.
    digits: Option<u8>,
}

fn one() -> u64 {
    1
}

fn yes() -> bool {
    true
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DropAsked {
    run: u64,
}

/// A run in progress.
pub struct Run {
    known: Arc<Known>,
    start: Option<Code>,
    seed: u64,
    tau: f64,
    /// The temperature it began with, and after how many sweeps that was changed first.
    first_tau: f64,
    changed_after: Option<u64>,
    done: u64,
    engine: Engine,
}

enum Engine {
    Chain {
        kernel: Kernel,
        chains: Box<Chains>,
    },
    Cavi {
        settings: cavi::Settings,
        runs: Box<CaviRuns>,
    },
}

fn check_tau(tau: f64) -> Result<(), Refusal> {
    if (0.0..=HOTTEST).contains(&tau) {
        return Ok(());
    }
    Err(Refusal::unable(format!(
        "tau {tau}: a number of at least 0 and at most {HOTTEST:e} is needed, such as 1e-10"
    )))
}

/// Begins a run.
pub fn begin(ask: &Ask<'_>, asked: &NewAsked) -> Result<Value, Refusal> {
    let known = ask.class(&asked.class)?;
    check_tau(asked.tau)?;
    let start = asked
        .code
        .as_ref()
        .map(|code| code_of(&known, code))
        .transpose()?;
    let allowance = ask.explorer.allowance;
    let (engine, bytes) = match asked.kind {
        Kind::Chain => chain(&known, start.as_ref(), asked, allowance)?,
        Kind::Cavi => cavi(&known, start.as_ref(), asked, allowance)?,
    };
    let mut run = Run {
        known,
        start,
        seed: asked.seed,
        tau: asked.tau,
        first_tau: asked.tau,
        changed_after: None,
        done: 0,
        engine,
    };
    let mut told = run.tell(Vec::new(), Some(Table::default()), allowance)?;
    told["run"] = ask.explorer.runs.keep(ask.page, run, bytes)?.into();
    Ok(told)
}

fn chain(
    known: &Known,
    start: Option<&Code>,
    asked: &NewAsked,
    allowance: Allowance,
) -> Result<(Engine, u128), Refusal> {
    if asked.resets.is_some() {
        return Err(Refusal::unable("resets: only a run of cavi has them"));
    }
    let kernel = asked.kernel.unwrap_or(Kernel::Metropolis);
    let settings = chain::Settings {
        kernel,
        order: Order::of(&known.class),
    };
    let chains = match start {
        None => Chains::new(&known.class, settings, asked.seed, 0..1, allowance),
        Some(code) => {
            Chains::starting_at(settings, vec![code.clone()], asked.seed, 0..1, allowance)
        }
    };
    let chains = chains.map_err(|error| Refusal::unable(error.to_string()))?;
    let (_, bytes) = Chains::needs(&known.class, settings.order);
    let chains = Box::new(chains);
    Ok((Engine::Chain { kernel, chains }, bytes.unwrap_or(u128::MAX)))
}

/// A page goes on for as long as it likes.
const NO_END: usize = usize::MAX / 2;

fn cavi(
    known: &Known,
    start: Option<&Code>,
    asked: &NewAsked,
    allowance: Allowance,
) -> Result<(Engine, u128), Refusal> {
    if asked.kernel.is_some() {
        return Err(Refusal::unable("kernel: only a chain has one"));
    }
    if let Some(Resets { share, every, .. }) = asked.resets
        && !((0.0..=1.0).contains(&share) && every > 0)
    {
        return Err(Refusal::unable(
            "resets: a share from 0 to 1 and at least 1 iteration between two are needed",
        ));
    }
    let settings = cavi::Settings {
        resets: asked.resets,
        ..cavi::Settings::plain(asked.tau, NO_END)
    };
    let runs = match start {
        None => CaviRuns::new(&known.class, settings, asked.seed, 0..1, allowance),
        Some(code) => {
            let policy = Policy::deterministic(code);
            CaviRuns::starting_at(&policy, settings, asked.seed, 0..1, allowance)
        }
    };
    let runs = Box::new(runs.map_err(Error::from)?);
    let bytes = CaviRuns::bytes(&known.class, settings.rule);
    Ok((Engine::Cavi { settings, runs }, bytes.unwrap_or(u128::MAX)))
}

/// Goes on with a run.
pub fn step(ask: &Ask<'_>, asked: &StepAsked) -> Result<Value, Refusal> {
    if !(1..=limits::SWEEPS).contains(&asked.sweeps) {
        return Err(Refusal::unable(format!(
            "sweeps {}: 1 to {} are made at once",
            asked.sweeps,
            limits::SWEEPS
        )));
    }
    asked.tau.map(check_tau).transpose()?;
    let found = ask.explorer.runs.find(ask.page, asked.run)?;
    let mut run = found
        .try_lock()
        .map_err(|_| Refusal::new(503, format!("run {} is still at its last step", asked.run)))?;
    let allowance = ask.explorer.allowance;
    if let Some(tau) = asked.tau {
        run.set_tau(tau, allowance)?;
    }
    let trace = run.advance(asked.sweeps, &ask.deadline.within(limits::STEPPING));
    let digits = asked.digits;
    let table = asked.table.then_some(Table { digits });
    let mut told = run.tell(trace, table, allowance)?;
    told["run"] = asked.run.into();
    Ok(told)
}

/// Ends a run.
pub fn end(ask: &Ask<'_>, asked: &DropAsked) -> Result<Value, Refusal> {
    ask.explorer.runs.drop(ask.page, asked.run);
    Ok(json!({}))
}

/// How the code or the policy of a run is told.
#[derive(Clone, Copy, Default)]
struct Table {
    digits: Option<u8>,
}

/// J after a sweep.
struct Point {
    sweep: u64,
    reward: f64,
    /// Of a chain.
    numerator: Option<u128>,
}

impl Run {
    fn set_tau(&mut self, tau: f64, allowance: Allowance) -> Result<(), Refusal> {
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
    fn advance(&mut self, sweeps: u64, deadline: &Deadline) -> Vec<Point> {
        let mut trace = Vec::new();
        while (trace.len() as u64) < sweeps && (trace.is_empty() || !deadline.is_over()) {
            self.done += 1;
            let sweep = self.done;
            match &mut self.engine {
                Engine::Chain { chains, .. } => {
                    chains.sweep(&[self.tau]);
                    let numerator = chains.reward(0);
                    trace.push(Point {
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
                    trace.push(Point {
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
    fn tell(
        &mut self,
        mut trace: Vec<Point>,
        table: Option<Table>,
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
                let rows = |policy: Policy| -> Vec<f64> {
                    (0..class.cells())
                        .flat_map(|cell| policy.row(cell))
                        .collect()
                };
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
            "tau was changed after {sweep} sweeps: the command gives the run up to there"
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
                    "--chains",
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
        put(&["--tau", &tau, "--seed", &seed, "--record", "trace.jsonl"]);
        if self.start.is_none() {
            words.extend(self.known.flags.iter().cloned());
        }
        command::line(words)
    }
}

fn taken_up(
    known: &Known,
    settings: cavi::Settings,
    seed: u64,
    state: &cavi::State,
    allowance: Allowance,
) -> Result<CaviRuns, Refusal> {
    let runs = CaviRuns::resume(&known.class, settings, seed, 0..1, state, allowance);
    Ok(runs.map_err(Error::from)?)
}

/// How a CAVI run would end now. Ties of the greedy code draw from the run's stream, which then is put
/// back: to look at a run changes nothing of what follows.
fn outcome(
    known: &Known,
    settings: cavi::Settings,
    seed: u64,
    runs: &mut Box<CaviRuns>,
    allowance: Allowance,
) -> Result<Outcome, Refusal> {
    let state = runs.state();
    let outcome = runs.outcomes().swap_remove(0);
    if runs.state().positions != state.positions {
        **runs = taken_up(known, settings, seed, &state, allowance)?;
    }
    Ok(outcome)
}
