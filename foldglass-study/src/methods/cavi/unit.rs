//! Advances runs of tabular RLVR and keeps what their records need.

use foldglass::dynamics::cavi::{Outcome, Runs};
use foldglass::{Code, Policy, Reward, Symbol};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::CaviPlan;
use crate::method::{Recipe, RunOutcome, RunningUnit, fields};

/// What is kept of a run while those beside it continue.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct KeptRun {
    /// J of the policies so far, each before its iteration.
    trace: Vec<f64>,
    /// How it ended, where it converged before its last iteration.
    end: Option<RunEnd>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct RunEnd {
    iterations: u64,
    greedy: Vec<u16>,
    greedy_ties: u64,
    greedy_exact: Reward,
    expected_reward: f64,
    entropy: f64,
    regulator: f64,
    residual: f64,
    policy: Option<Vec<Vec<f64>>>,
    objective: Option<f64>,
}

/// Runs look whether they have converged this often.
const LOOK_EVERY: u64 = 10;

/// Runs in progress, side by side.
pub(super) struct CaviUnit {
    pub plan: CaviPlan,
    pub runs: Runs,
    pub kept: Vec<KeptRun>,
}

impl CaviUnit {
    /// Keeps the outcomes of runs that have just converged: they are iterated on as long as a run beside them
    /// is.
    pub fn look(&mut self) {
        let Some(residual) = self.plan.stop_at_convergence else {
            return;
        };
        if !self.done().is_multiple_of(LOOK_EVERY) {
            return;
        }
        self.runs.measure();
        for run in 0..self.kept.len() {
            if self.kept[run].end.is_none() && self.runs.residual(run) <= residual {
                self.kept[run].end = Some(self.end(run));
            }
        }
    }

    /// How a run stands, as last measured.
    fn end(&mut self, run: usize) -> RunEnd {
        let Outcome {
            greedy,
            greedy_ties,
            greedy_reward,
            expected_reward,
            entropy,
            regulator,
            residual,
            objective,
            ..
        } = self.runs.outcome(run);
        let policy = || {
            let policy = self.runs.policy(run);
            let rows = policy.rows().chunks_exact(policy.class().q());
            rows.map(<[f64]>::to_vec).collect()
        };
        RunEnd {
            iterations: self.runs.done() as u64,
            greedy: greedy.actions().to_vec(),
            greedy_ties: greedy_ties as u64,
            greedy_exact: greedy_reward,
            expected_reward,
            entropy,
            regulator,
            residual,
            policy: self.plan.keep_policy.then(policy),
            objective,
        }
    }

    /// Notes J of the policies before the iteration that was just done.
    fn trace(&mut self) {
        let Some(every) = self.plan.record_every else {
            return;
        };
        let before = self.runs.done() as u64 - 1;
        if !before.is_multiple_of(every) {
            return;
        }
        for (run, kept) in self.kept.iter_mut().enumerate() {
            if kept.end.is_none() {
                kept.trace.push(self.runs.expected_reward(run));
            }
        }
    }
}

impl RunningUnit for CaviUnit {
    fn done(&self) -> u64 {
        self.runs.done() as u64
    }

    fn is_finished(&self) -> bool {
        self.done() == self.plan.steps() || self.kept.iter().all(|kept| kept.end.is_some())
    }

    fn advance(&mut self, steps: u64) -> Result<(), String> {
        for _ in 0..steps {
            if self.is_finished() {
                break;
            }
            self.runs.advance(1);
            self.trace();
            self.look();
        }
        Ok(())
    }

    fn save(&mut self) -> Result<Vec<u8>, String> {
        Ok(postcard::to_stdvec(&(self.runs.state(), &self.kept)).expect("plain data"))
    }

    fn outcomes(&mut self) -> Result<Vec<RunOutcome>, String> {
        self.runs.measure();
        let count = self.kept.len();
        let one = |run: usize| {
            let end = match self.kept[run].end.clone() {
                Some(end) => end,
                None => self.end(run),
            };
            outcome(&self.plan, end, &self.kept[run].trace)
        };
        Ok((0..count).map(one).collect())
    }

    fn codes(&mut self) -> Vec<Code> {
        self.runs.measure();
        let code = |run: usize| match &self.kept[run].end {
            Some(end) => Code::from_fn(&self.plan.class, |cell| end.greedy[cell]),
            None => self.runs.outcome(run).greedy,
        };
        (0..self.kept.len()).map(code).collect()
    }

    fn policies(&mut self) -> Vec<Policy> {
        let policy = |run: usize| {
            let kept = self.kept[run]
                .end
                .as_ref()
                .and_then(|end| end.policy.as_ref());
            match kept {
                Some(rows) => Policy::from_rows(&self.plan.class, rows)
                    .expect("rows of a policy of the class"),
                None => self.runs.policy(run),
            }
        };
        (0..self.kept.len()).map(policy).collect()
    }
}

/// What a run came to: the keys of `result` in its record.
#[derive(Debug, JsonSchema, Serialize)]
pub struct CaviResult {
    greedy_reward: f64,
    greedy_exact: Reward,
    expected_reward: f64,
    entropy: f64,
    /// Where the loss has another regulator than the entropy.
    #[serde(skip_serializing_if = "Option::is_none")]
    regulator: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    objective: Option<f64>,
    residual: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    iterations_done: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    greedy: Option<Vec<Symbol>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    greedy_ties: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<Vec<Vec<f64>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<Vec<f64>>,
}

fn outcome(plan: &CaviPlan, end: RunEnd, trace: &[f64]) -> RunOutcome {
    fields(&CaviResult {
        greedy_reward: end.greedy_exact.to_f64(),
        greedy_exact: end.greedy_exact,
        expected_reward: end.expected_reward,
        entropy: end.entropy,
        regulator: plan.is_regulated_otherwise().then_some(end.regulator),
        objective: end.objective,
        residual: end.residual,
        iterations_done: plan.stop_at_convergence.map(|_| end.iterations),
        greedy: plan.keep_code.then_some(end.greedy),
        greedy_ties: plan.keep_code.then_some(end.greedy_ties),
        rows: end.policy,
        trace: plan.record_every.map(|_| trace.to_vec()),
    })
}
