//! Trains tables by sampled policy gradients, as RLVR is practised (beyond the paper).
//!
//! An update draws a batch of inputs, rolls the policy out on each, turns rewards into advantages A_i, and moves the
//! logits theta(c,a) along the mean over rollouts of A_i sum_t grad log pi(y_t | c_t). With g(c,a) the sum of A_i over
//! the tokens a emitted at cell c, the component of that sum is g(c,a) - pi(a|c) sum_b g(c,b): one addition per token.
//!
//! **Clipping.** With several epochs the same rollouts serve for several steps. A token then counts with the ratio
//! r = pi(y_t | c_t) / pi_old(y_t | c_t), as long as r is below 1 + clip where A_i > 0, or above 1 - clip where A_i < 0:
//! the gradient of min(r A, clamp(r) A).
//!
//! **Objectives.** Another objective of the success of each input than J weighs the advantages of a group (`advantage`).
//!
//! **Entropy and divergence.** tau adds entropies H(pi_c), or -KL(pi_c || prior_c), to the objective: *uniform* the sum
//! over all cells, *occupancy* the mean over the emitted tokens of the batch, the tokens before taken as given. (The
//! occupancy of [`super::cavi`] also counts what a token does to the entropies after it; trainers of models do not.)
//!
//! - `advantage`: turns rewards into advantages.
//! - `settings`: what a run does, as data.

mod advantage;
mod settings;
#[cfg(test)]
mod tests;

use super::cavi::{PriorError, likeliest, one_of};
use super::rollouts::{DrawTable, RolloutBatch};
use crate::model::class::Class;
use crate::model::operation::Symbol;
use crate::model::policy::{Code, Policy};
use crate::reward::count;
use crate::reward::evaluate::{Evaluator, Passes};
use crate::reward::objectives;
use crate::reward::ways::SummedBy;
use crate::support::context::Context;
use crate::support::exact::Reward;
use crate::support::memory::{Allowance, TooLarge};
use crate::support::stream::Stream;
use crate::support::vectors::{VectorWork, on_vectors};

use advantage::Advantages;
pub use advantage::ObjectiveError;
pub use settings::{LengthGate, Optimizer, ReinforceSettings};

/// Logits are held between minus this and this, so that they can be compared after steps of any size.
const LARGEST_LOGIT: f64 = 1e300;

/// All that a run needs to resume, together with the settings and the stream it was started with.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ReinforceState {
    /// Updates done.
    pub done: u64,
    /// The logits, cell by cell.
    pub logits: Vec<f64>,
    /// Adam's means of gradients and of their squares; empty under SGD.
    pub moments: [Vec<f64>; 2],
    /// The lengths that the curriculum has come to.
    pub lengths: usize,
    /// The position of the stream.
    pub position: u128,
}

/// How a sampled run ended.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ReinforceOutcome {
    /// The exact J of the policy.
    pub expected_reward: f64,
    /// The code of the likeliest actions, ties drawn from the run's stream.
    pub greedy: Code,
    /// The number of cells whose greedy action was drawn.
    pub greedy_ties: usize,
    /// The exact reward of the greedy code.
    pub greedy_reward: Reward,
    /// The sum over cells of the entropy of their distributions, in nats.
    pub entropy: f64,
    /// How many of the lengths of the class the curriculum has come to; all without one.
    pub lengths: usize,
    /// The objective of the policy, where it is not J and exact sums over the inputs are within reach.
    pub objective: Option<f64>,
}

/// A run of sampled training.
///
/// ```
/// use foldglass::dynamics::reinforce::{ReinforceSettings, SampledTraining};
/// use foldglass::prelude::*;
/// let class = ClassSpec::uniform(Operation::cyclic(2)?, &[2], Shape::untied(0, 0)).lay_out()?;
/// let settings = ReinforceSettings::new("rloo:4".parse()?, 64, 2.0);
/// let mut run = SampledTraining::new(&class, settings, Stream::new(0, 0), None, Allowance::default())?;
/// let before = run.expected_reward();
/// run.advance(100);
/// assert!(run.expected_reward() > before);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SampledTraining {
    class: Class,
    settings: ReinforceSettings,
    stream: Stream,
    done: u64,
    /// The lengths that inputs are drawn from: the first ones of the task.
    lengths: usize,
    logits: Vec<f64>,
    /// softmax of the logits.
    rows: Vec<f64>,
    table: DrawTable,
    moments: [Vec<f64>; 2],
    /// ln of the prior, where there is one.
    log_prior: Vec<f64>,
    batch: RolloutBatch,
    weighing: Advantages,
    advantages: Vec<f64>,
    /// g(c,a); all 0 between steps.
    slopes: Vec<f64>,
    /// By cell, the tokens of the batch; used in the occupancy convention alone.
    visits: Vec<f64>,
    /// The rows that the rollouts are of; used with several epochs alone.
    old_rows: Vec<f64>,
    evaluator: Evaluator,
}

impl SampledTraining {
    /// Begins a run at a policy, or at one drawn from the initial law of the settings.
    ///
    /// # Panics
    /// If the policy is of another class, or the estimator does not estimate the objective ([`ReinforceSettings::check`]).
    pub fn new(
        class: &Class,
        settings: ReinforceSettings,
        mut stream: Stream,
        start: Option<&Policy>,
        memory: Allowance,
    ) -> Result<SampledTraining, TooLarge> {
        memory.check(
            "a sampled training",
            SampledTraining::bytes(class, &settings),
        )?;
        let (q, cells) = (class.q(), class.cells());
        let entries = cells * q;
        let mut rows = vec![0.0; entries];
        match start {
            Some(policy) => {
                assert!(policy.class() == class, "a policy of another class");
                policy.rows_into(&mut rows);
            }
            None => {
                let each = rows.chunks_exact_mut(q);
                each.for_each(|row| settings.initial.draw(&mut stream, row));
            }
        }
        let weighing = Advantages::new(settings.estimator, settings.objective);
        let weighing = weighing.unwrap_or_else(|refused| panic!("{refused}"));
        let moments = match settings.optimizer {
            Optimizer::Sgd => [Vec::new(), Vec::new()],
            Optimizer::Adam => [vec![0.0; entries], vec![0.0; entries]],
        };
        let visits = settings.counts_visits().then(|| vec![0.0; cells]);
        let old_rows = (settings.epochs > 1).then(|| vec![0.0; entries]);
        let lengths = class.task().lengths().len();
        let mut run = SampledTraining {
            logits: rows.iter().map(|p| p.ln()).collect(),
            rows,
            table: DrawTable::new(q, cells),
            moments,
            log_prior: Vec::new(),
            batch: RolloutBatch::new(class, settings.estimator.group() as usize),
            weighing,
            advantages: Vec::new(),
            slopes: vec![0.0; entries],
            visits: visits.unwrap_or_default(),
            old_rows: old_rows.unwrap_or_default(),
            evaluator: Evaluator::within(class, memory)?,
            lengths: settings.curriculum.map_or(lengths, |_| 1),
            class: class.clone(),
            settings,
            stream,
            done: 0,
        };
        run.soften_all();
        Ok(run)
    }

    /// Takes divergences from a prior in place of entropies.
    ///
    /// # Panics
    /// If the prior is of another class.
    pub fn with_prior(mut self, prior: &Policy) -> Result<SampledTraining, PriorError> {
        assert!(prior.class() == &self.class, "a prior of another class");
        PriorError::check(prior)?;
        self.log_prior = prior.rows().iter().map(|p| p.ln()).collect();
        Ok(self)
    }

    /// Continues from `state`.
    ///
    /// # Panics
    /// If the state is of another run.
    pub fn resume(mut self, state: &ReinforceState) -> SampledTraining {
        assert_eq!(
            state.logits.len(),
            self.logits.len(),
            "a logit for each entry"
        );
        assert_eq!(
            state.moments[0].len(),
            self.moments[0].len(),
            "one optimizer"
        );
        self.done = state.done;
        self.logits.clone_from(&state.logits);
        self.moments.clone_from(&state.moments);
        self.lengths = state.lengths;
        self.stream = self.stream.at(state.position);
        self.soften_all();
        self
    }

    /// The state from which [`SampledTraining::resume`] continues.
    pub fn state(&self) -> ReinforceState {
        ReinforceState {
            done: self.done,
            logits: self.logits.clone(),
            moments: self.moments.clone(),
            lengths: self.lengths,
            position: self.stream.position(),
        }
    }

    /// The bytes that a run takes.
    pub fn bytes(class: &Class, settings: &ReinforceSettings) -> Option<u128> {
        let (q, cells) = (class.q(), class.cells());
        let group = settings.estimator.group() as usize;
        let evaluator = Passes::bytes(Passes::sizes(class, 1))?;
        // Logits, rows, slopes, Adam's means, old rows, a prior, and visits for each cell.
        let tables = (cells as u128).checked_mul(8 * (7 * q as u128 + 1))?;
        let advantages = (settings.batch as u128).checked_mul(8 * group as u128)?;
        [DrawTable::bytes(q, cells)?, tables, advantages]
            .into_iter()
            .chain([RolloutBatch::bytes(class, group, settings.batch)?])
            .try_fold(evaluator, |sum: u128, more| sum.checked_add(more))
    }

    /// Updates done.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// Does this number of further updates.
    pub fn advance(&mut self, updates: u64) {
        (0..updates).for_each(|_| self.update());
    }

    fn update(&mut self) {
        self.open_gate();
        let count = self.settings.batch;
        self.batch
            .draw_inputs(count, self.lengths, &mut self.stream);
        self.batch.roll_out(&self.table, &mut self.stream);
        self.weighing
            .find(self.batch.rewards(), &mut self.advantages);
        if !self.visits.is_empty() {
            self.count_visits();
        }
        let kept = self.old_rows.len();
        self.old_rows.copy_from_slice(&self.rows[..kept]);
        for epoch in 0..self.settings.epochs {
            self.sum_slopes(epoch > 0);
            self.climb(self.done * u64::from(self.settings.epochs) + u64::from(epoch) + 1);
        }
        self.done += 1;
    }

    /// Adds a length when it is time and the greedy code is right often enough on a fresh batch.
    fn open_gate(&mut self) {
        let Some(LengthGate { gate, every }) = self.settings.curriculum else {
            return;
        };
        let all = self.lengths == self.class.task().lengths().len();
        if all || self.done == 0 || !self.done.is_multiple_of(every) {
            return;
        }
        let mut greedy = DrawTable::new(self.class.q(), self.class.cells());
        greedy.set_rows(Policy::deterministic(&self.greedy()).rows());
        let count = self.settings.batch;
        self.batch
            .draw_inputs(count, self.lengths, &mut self.stream);
        self.batch.roll_out(&greedy, &mut self.stream);
        let rewards = self.batch.rewards();
        if rewards.iter().sum::<f64>() > gate * rewards.len() as f64 {
            self.lengths += 1;
        }
    }

    fn count_visits(&mut self) {
        self.visits.fill(0.0);
        for segment in self.batch.segments() {
            let (_, cells) = self.batch.tokens_of(segment);
            cells
                .iter()
                .for_each(|&cell| self.visits[cell as usize] += 1.0);
        }
    }

    /// Finds g(c,a); in a later epoch, tokens count by their ratios.
    fn sum_slopes(&mut self, later: bool) {
        let (q, group) = (self.class.q(), self.settings.estimator.group() as usize);
        for segment in self.batch.segments() {
            let (tokens, cells) = self.batch.tokens_of(segment);
            let lanes = segment.inputs * group;
            let advantages = &self.advantages[segment.first * group..][..lanes];
            for (tokens, cells) in tokens.chunks_exact(lanes).zip(cells.chunks_exact(lanes)) {
                let each = tokens.iter().zip(cells).zip(advantages);
                for ((&token, &cell), &advantage) in each {
                    let entry = cell as usize * q + usize::from(token);
                    self.slopes[entry] += match later {
                        false => advantage,
                        true => {
                            let ratio = self.rows[entry] / self.old_rows[entry];
                            clipped(advantage, ratio, self.settings.clip)
                        }
                    };
                }
            }
        }
    }

    /// Moves the logits along the gradient; `step` counts the optimizer's steps from 1.
    fn climb(&mut self, step: u64) {
        on_vectors(VectorAscent { run: self, step });
    }

    #[inline(always)]
    fn climb_cells(&mut self, q: usize, step: u64) {
        let settings = &self.settings;
        let scale = 1.0 / self.batch.rewards().len() as f64;
        let per_token = settings.tau / self.batch.emitted() as f64;
        let adam = Adam::at(step, settings.learning_rate);
        for cell in 0..self.class.cells() {
            let entries = cell * q..(cell + 1) * q;
            let slopes = &mut self.slopes[entries.clone()];
            let weight = match self.visits.get(cell) {
                Some(visits) => per_token * visits,
                None => settings.tau,
            };
            let is_still = settings.optimizer == Optimizer::Sgd && weight == 0.0;
            if is_still && slopes.iter().all(|&slope| slope == 0.0) {
                continue;
            }
            let row = &mut self.rows[entries.clone()];
            let total: f64 = slopes.iter().sum();
            for (slope, p) in slopes.iter_mut().zip(&*row) {
                *slope = scale * (*slope - p * total);
            }
            if weight > 0.0 {
                let log_prior = self.log_prior.get(entries.clone());
                add_regulator(weight, row, log_prior, slopes);
            }
            let logits = &mut self.logits[entries.clone()];
            for (a, (logit, slope)) in logits.iter_mut().zip(slopes).enumerate() {
                let change = match settings.optimizer {
                    Optimizer::Sgd => settings.learning_rate * *slope,
                    Optimizer::Adam => {
                        let [mean, square] = &mut self.moments;
                        adam.change(*slope, &mut mean[cell * q + a], &mut square[cell * q + a])
                    }
                };
                *logit = (*logit + change).clamp(-LARGEST_LOGIT, LARGEST_LOGIT);
                *slope = 0.0;
            }
            soften(logits, row);
            self.table.set_row(cell, row);
        }
    }

    /// Makes all rows and what draws from them anew.
    fn soften_all(&mut self) {
        let q = self.class.q();
        let rows = self.rows.chunks_exact_mut(q);
        for (row, logits) in rows.zip(self.logits.chunks_exact(q)) {
            soften(logits, row);
        }
        self.table.set_rows(&self.rows);
    }

    /// The policy now.
    pub fn policy(&self) -> Policy {
        Policy::from_unchecked(&self.class, &self.rows)
    }

    /// The exact J of the policy now.
    pub fn expected_reward(&mut self) -> f64 {
        let policy = self.policy();
        self.evaluator.evaluate(&policy)
    }

    /// The code of the likeliest actions now, the first among equals.
    pub fn greedy(&self) -> Code {
        let q = self.class.q();
        let best = |cell: usize| likeliest(&self.rows[cell * q..][..q])[0] as Symbol;
        Code::from_fn(&self.class, best)
    }

    /// How the run stands now. It changes nothing of the run.
    pub fn outcome(&mut self) -> ReinforceOutcome {
        let q = self.class.q();
        let (mut stream, mut greedy_ties) = (self.stream.clone(), 0);
        let greedy = Code::from_fn(&self.class, |cell| {
            let best = likeliest(&self.rows[cell * q..][..q]);
            greedy_ties += usize::from(best.len() > 1);
            one_of(&best, &mut stream)
        });
        ReinforceOutcome {
            expected_reward: self.expected_reward(),
            greedy_reward: count::reward(&greedy),
            greedy,
            greedy_ties,
            entropy: self.policy().entropy(),
            lengths: self.lengths,
            objective: self.objective(),
        }
    }

    /// The objective of the policy now, where it is not J and exact sums over the inputs are within reach.
    fn objective(&self) -> Option<f64> {
        let (utility, context) = (self.settings.objective?, Context::default());
        let by = objectives::way(&self.class, utility, context);
        let found = || objectives::objective(&self.policy(), utility, 0, context);
        (by != SummedBy::Sampled).then(|| found().expect("nobody stops it").value)
    }
}

/// One step of the optimizer, over all cells.
struct VectorAscent<'a> {
    run: &'a mut SampledTraining,
    step: u64,
}

impl VectorWork for VectorAscent<'_> {
    type Found = ();

    #[inline(always)]
    fn run(self) {
        // With the number of actions known where it is compiled, the loops over them are unrolled.
        match self.run.class.q() {
            2 => self.run.climb_cells(2, self.step),
            3 => self.run.climb_cells(3, self.step),
            5 => self.run.climb_cells(5, self.step),
            q => self.run.climb_cells(q, self.step),
        }
    }
}

/// The weight of a token of an old policy: the derivative of min(r A, clamp(r) A) by ln r.
fn clipped(advantage: f64, ratio: f64, clip: Option<f64>) -> f64 {
    let beyond = clip.is_some_and(|clip| match advantage > 0.0 {
        true => ratio > 1.0 + clip,
        false => ratio < 1.0 - clip,
    });
    if beyond { 0.0 } else { advantage * ratio }
}

/// Adds `weight` times the derivative of the entropy of a row by its logits, -pi (ln pi + H), or of -KL from a prior.
fn add_regulator(weight: f64, row: &[f64], log_prior: Option<&[f64]>, slopes: &mut [f64]) {
    let excess = |a: usize| match row[a] {
        p if p > 0.0 => p.ln() - log_prior.map_or(0.0, |prior| prior[a]),
        _ => 0.0,
    };
    let mean: f64 = (0..row.len()).map(|a| row[a] * excess(a)).sum();
    for (a, slope) in slopes.iter_mut().enumerate() {
        *slope -= weight * row[a] * (excess(a) - mean);
    }
}

/// Makes a row the softmax of its logits.
#[inline(always)]
fn soften(logits: &[f64], row: &mut [f64]) {
    let best = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sum = 0.0;
    for (p, logit) in row.iter_mut().zip(logits) {
        *p = (logit - best).exp();
        sum += *p;
    }
    let scale = 1.0 / sum;
    row.iter_mut().for_each(|p| *p *= scale);
}

/// One step of Adam (0.9, 0.999, 1e-8), upwards.
struct Adam {
    rate: f64,
    /// 1 over the square root of 1 - 0.999^step.
    unbiased: f64,
}

impl Adam {
    const MEAN: f64 = 0.9;
    const SQUARE: f64 = 0.999;
    const EPSILON: f64 = 1e-8;

    fn at(step: u64, learning_rate: f64) -> Adam {
        let power = |base: f64| 1.0 - base.powi(i32::try_from(step).unwrap_or(i32::MAX));
        Adam {
            rate: learning_rate / power(Adam::MEAN),
            unbiased: 1.0 / power(Adam::SQUARE).sqrt(),
        }
    }

    #[inline(always)]
    fn change(&self, slope: f64, mean: &mut f64, square: &mut f64) -> f64 {
        *mean = Adam::MEAN * *mean + (1.0 - Adam::MEAN) * slope;
        *square = Adam::SQUARE * *square + (1.0 - Adam::SQUARE) * slope * slope;
        self.rate * *mean / (square.sqrt() * self.unbiased + Adam::EPSILON)
    }
}
