//! Sweeps untied chains step by step, all cells of a step at once, several chains side by side.
//!
//! The weights of rollouts are integers over the task's denominator, carried exactly in f64 (it is
//! below 2^53), through the same passes that evaluate policies. Only messages that a change has
//! made stale are renewed.

use super::{
    ChainError, ChainSettings, HOTTEST_SCALE, Kernel, MOST_BITS, Order, accepts, resample,
};
use crate::model::class::Class;
use crate::model::policy::Code;
use crate::reward::evaluate::{Passes, PolicyTable, Scale, Wants};
use crate::support::memory::Allowance;
use crate::support::stream::Stream;
use dashu_int::ops::BitTest;
use std::ops::Range;
use std::sync::Arc;

pub(super) struct Blocks {
    settings: ChainSettings,
    q: usize,
    denominator: f64,
    passes: Passes,
    /// The codes as one-hot policies.
    table: PolicyTable,
    codes: Vec<Code>,
    rewards: Vec<f64>,
    steps: Vec<BlockStep>,
    /// The place of action 0 of each cell for replica 0, and the distance between actions.
    places: Vec<(u32, u32)>,
    /// Messages sent are valid for this many first steps.
    sent: usize,
    /// Messages returned are valid to the steps from this one on, counted from 0.
    returned: usize,
    order: Vec<usize>,
    /// The actions that Metropolis proposes to the cells of a step.
    proposals: Vec<u8>,
    /// ln p of every cell and action, where there is a prior.
    log_prior: Option<Arc<[f64]>>,
}

/// The nodes of a step and their cells.
struct BlockStep {
    nodes: Vec<usize>,
    cells: Range<usize>,
}

impl Blocks {
    pub fn new(
        class: &Class,
        settings: ChainSettings,
        codes: Vec<Code>,
        memory: Allowance,
    ) -> Result<Blocks, ChainError> {
        if class.shape().tied {
            return Err(ChainError::BlocksUnderTying);
        }
        let denominator = class.task().denominator();
        if denominator.bit_len() > MOST_BITS {
            return Err(ChainError::TooFine {
                bits: denominator.bit_len(),
            });
        }
        let replicas = super::Chains::side_by_side(class);
        let mut passes = Passes::new(class, replicas, Scale::Integer, memory)?;
        let mut table = PolicyTable::zeros(passes.layout.clone());
        for (replica, code) in codes.iter().enumerate() {
            for (cell, &action) in code.actions().iter().enumerate() {
                let place = table.place(cell, replica).at(action as usize);
                table.entries[place] = 1.0;
            }
        }
        passes.run(&table.entries, Wants::GRADIENT);
        let places = passes.layout.places(0).map(|place| {
            let first = place.at(0);
            (first as u32, (place.at(1) - first) as u32)
        });
        let places = places.collect();
        let longest = class.task().longest();
        Ok(Blocks {
            settings,
            q: class.q(),
            denominator: denominator.to_f64().value(),
            rewards: (0..codes.len())
                .map(|replica| passes.reward(replica))
                .collect(),
            steps: (1..=longest).map(|t| step(class, t)).collect(),
            sent: longest,
            returned: 0,
            order: (0..longest).collect(),
            proposals: Vec::new(),
            log_prior: None,
            places,
            passes,
            table,
            codes,
        })
    }

    pub fn with_log_prior(self, log_prior: Option<Arc<[f64]>>) -> Blocks {
        Blocks { log_prior, ..self }
    }

    pub fn sweep(&mut self, tau: &[f64], streams: &mut [Stream], order: &mut Stream) {
        if self.settings.order == Order::Step {
            self.order.sort_unstable();
            order.shuffle(&mut self.order);
        }
        for i in 0..self.order.len() {
            self.block(self.order[i], tau, streams);
        }
    }

    fn block(&mut self, step: usize, tau: &[f64], streams: &mut [Stream]) {
        while self.sent < step {
            for &node in &self.steps[self.sent].nodes {
                self.passes.renew_sent(node, &self.table.entries);
            }
            self.sent += 1;
        }
        while self.returned > step {
            for &node in self.steps[self.returned].nodes.iter().rev() {
                self.passes
                    .renew_back(node, &self.table.entries, Wants::MESSAGE);
            }
            self.returned -= 1;
        }
        for &node in &self.steps[step].nodes {
            self.passes
                .renew_back(node, &self.table.entries, Wants::VALUES);
        }
        let mut changed = false;
        for (replica, (stream, &tau)) in streams.iter_mut().zip(tau).enumerate() {
            changed |= self.resample(step, replica, tau, stream);
        }
        if changed {
            self.sent = self.sent.min(step);
            self.returned = self.returned.max(step);
        }
    }

    fn resample(&mut self, step: usize, replica: usize, tau: f64, stream: &mut Stream) -> bool {
        let (values, kernel, q) = (&self.passes.values, self.settings.kernel, self.q);
        let code = &mut self.codes[replica];
        // Gains are compared as whole numbers; the temperature is put on their scale.
        let tau = match &self.log_prior {
            None => tau * self.denominator,
            Some(_) => (tau * self.denominator).min(HOTTEST_SCALE),
        };
        let mut gained = 0.0;
        let mut changed = false;
        let cells = self.steps[step].cells.clone();
        let together = kernel == Kernel::Metropolis && q <= 256;
        if together {
            self.proposals.resize(cells.len(), 0);
            stream.below_all(q as u32, &mut self.proposals);
        }
        for (i, cell) in cells.enumerate() {
            let (first, stride) = self.places[cell];
            let at = |action: u16| first as usize + replica + action as usize * stride as usize;
            let present = code.action(cell);
            let prior = self.log_prior.as_ref().map(|log| &log[cell * q..][..q]);
            let gain = |action: u16| {
                let gain = values[at(action)] - values[at(present)];
                match prior {
                    None => gain,
                    Some(log) => gain + tau * (log[action as usize] - log[present as usize]),
                }
            };
            let action = if together {
                let proposal = self.proposals[i].into();
                if proposal != present && accepts(tau, gain(proposal), stream) {
                    proposal
                } else {
                    present
                }
            } else {
                resample(kernel, tau, q, present, stream, gain)
            };
            if action != present {
                let here = values[at(present)];
                gained += values[at(action)] - here;
                self.table.entries[at(present)] = 0.0;
                self.table.entries[at(action)] = 1.0;
                code.set(cell, action);
                changed = true;
            }
        }
        self.rewards[replica] += gained;
        changed
    }

    pub fn reward(&self, chain: usize) -> u128 {
        self.rewards[chain] as u128
    }

    pub fn denominator(&self) -> u128 {
        self.denominator as u128
    }

    pub fn code(&self, chain: usize) -> &Code {
        &self.codes[chain]
    }
}

fn step(class: &Class, t: usize) -> BlockStep {
    BlockStep {
        nodes: class.step_nodes(t).to_vec(),
        cells: class.step_cells(t).expect("an untied class"),
    }
}
