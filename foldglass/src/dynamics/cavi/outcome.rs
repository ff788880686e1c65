//! Says how a run stands: its policy, greedy code, entropies and distance from its targets (paper, G.5).

use super::regulator::Fields;
use super::{GREEDY_TIE, Runs, VALUE_TIE};
use crate::model::operation::Symbol;
use crate::model::policy::{Code, Policy};
use crate::reward::count;
use crate::support::exact::Reward;
use crate::support::stream::Stream;

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Outcome {
    /// The code of the likeliest actions, ties drawn from the run's stream.
    pub greedy: Code,
    /// The number of cells whose greedy action was drawn: several are within 1e-12 of the likeliest.
    pub greedy_ties: usize,
    /// The exact reward of the greedy code.
    pub greedy_reward: Reward,
    /// J of the policy.
    pub expected_reward: f64,
    /// The sum over cells of the entropy of their distributions, in nats.
    pub entropy: f64,
    /// The term that tau multiplies in the objective: the sum of w_c H(pi_c), or of -w_c KL(pi_c || p_c) where
    /// there is a prior. In the uniform convention without one it is the entropy.
    pub regulator: f64,
    /// The largest |target - pi| over all cells and actions.
    pub residual: f64,
    /// The objective of the policy, where it is not J.
    pub objective: Option<f64>,
}

impl Runs {
    /// The policy of a run.
    pub fn policy(&self, run: usize) -> Policy {
        Policy::from_unchecked(&self.table.layout.class, &self.table.rows(run))
    }

    /// Takes the gradient at the present policies, which [`Runs::residual`] and [`Runs::outcome`]
    /// read. It changes nothing of the runs.
    pub fn measure(&mut self) {
        let tau = self.measured_tau();
        self.take_gradient(tau);
    }

    /// How the runs stand now.
    pub fn outcomes(&mut self) -> Vec<Outcome> {
        self.measure();
        (0..self.streams.len())
            .map(|run| self.outcome(run))
            .collect()
    }

    /// The largest |target - pi| of a run, as last measured.
    pub fn residual(&self, run: usize) -> f64 {
        let cells = 0..self.table.layout.class.cells();
        cells
            .map(|cell| self.distance(cell, run))
            .fold(0.0, f64::max)
    }

    /// The temperature of the next iteration, also where a quench comes at once.
    fn measured_tau(&self) -> f64 {
        if self.done == 0 {
            self.settings.tau.tau(0)
        } else {
            self.tau()
        }
    }

    /// The largest |target - pi| over the actions of a cell; a cell without a target stays put.
    fn distance(&self, cell: usize, run: usize) -> f64 {
        let place = self.table.place(cell, run);
        let values: Vec<f64> = (0..self.table.layout.class.q())
            .map(|a| self.passes.values[place.at(a)])
            .collect();
        let (tau, visits) = (self.measured_tau(), self.passes.visits[place.cell]);
        let Some(Fields {
            fields,
            temperature,
        }) = self.regulator.fields(tau, place, &values, visits)
        else {
            return 0.0;
        };
        let row = self.table.row(cell, run);
        let terms = row.iter().zip(target(&fields, temperature));
        terms.fold(0.0, |most, (p, target)| most.max((p - target).abs()))
    }

    /// How a run stands, as last measured. Ties in the greedy code draw from its stream.
    pub fn outcome(&mut self, run: usize) -> Outcome {
        let class = self.table.layout.class.clone();
        let (mut residual, mut entropy, mut regulator) = (0.0f64, 0.0, 0.0);
        let mut actions: Vec<Symbol> = Vec::with_capacity(class.cells());
        let mut greedy_ties = 0;
        for cell in 0..class.cells() {
            let row = self.table.row(cell, run);
            residual = residual.max(self.distance(cell, run));
            let place = self.table.place(cell, run);
            regulator += self
                .regulator
                .term(place, &row, self.passes.visits[place.cell]);
            for p in row.iter().filter(|p| **p > 0.0) {
                entropy -= p * p.ln();
            }
            let best = likeliest(&row);
            greedy_ties += usize::from(best.len() > 1);
            actions.push(one_of(&best, &mut self.streams[run]));
        }
        let greedy = Code::from_fn(&class, |cell| actions[cell]);
        Outcome {
            greedy_reward: count::reward(&greedy),
            greedy,
            greedy_ties,
            expected_reward: self.rewards[run],
            entropy,
            regulator,
            residual,
            objective: self.objectives.get(run).copied(),
        }
    }
}

/// The row that the update of a cell moves to: softmax(fields / temperature), at 0 uniform over the best.
pub(super) fn target(fields: &[f64], temperature: f64) -> Vec<f64> {
    let best = fields.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weigh = |&field: &f64| match temperature {
        0.0 => f64::from(field - best >= -VALUE_TIE),
        temperature => ((field - best) / temperature).exp(),
    };
    let weights: Vec<f64> = fields.iter().map(weigh).collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|w| w / sum).collect()
}

/// The likeliest actions.
pub(in crate::dynamics) fn likeliest(row: &[f64]) -> Vec<usize> {
    let best = row.iter().copied().fold(0.0, f64::max);
    let ties = (0..row.len()).filter(|&a| row[a] >= best - GREEDY_TIE);
    ties.collect()
}

/// The only action, or one of several at random.
pub(in crate::dynamics) fn one_of(actions: &[usize], stream: &mut Stream) -> Symbol {
    match actions {
        [only] => *only as Symbol,
        _ => actions[stream.below(actions.len() as u32) as usize] as Symbol,
    }
}
