//! Moves the cells of runs: one iteration of damped ascent, or of exact gradients (paper, section 2.1).

use super::regulator::PanelLanes;
use super::{Resets, Rule, Runs, VALUE_TIE};
use crate::model::policy::LEAST_PROBABILITY;
use crate::reward::evaluate::Wants;
use crate::reward::kernels::Soften;
use crate::reward::objectives;
use crate::support::context::Context;
use crate::support::stream::Coin;

/// The most that a logit moves in one step of the gradient.
const LARGEST_STEP: f64 = 1e300;

/// Runs that share vectors, where several do.
const TOGETHER: usize = 8;

/// The bytes that hold the tosses of one run: whole words.
pub(super) fn toss_row(cells: usize) -> usize {
    cells.next_multiple_of(TOGETHER)
}

/// Transposes eight rows of eight bytes: blocks of four bytes by four rows change places, then of two, then of one.
fn transposed(rows: [[u8; TOGETHER]; TOGETHER]) -> [[u8; TOGETHER]; TOGETHER] {
    let mut words = rows.map(u64::from_le_bytes);
    for (size, low) in [
        (4, 0x0000_0000_ffff_ffff),
        (2, 0x0000_ffff_0000_ffff),
        (1, 0x00ff_00ff_00ff_00ff),
    ] {
        for row in (0..TOGETHER).filter(|row| row & size == 0) {
            let (a, b) = (words[row], words[row + size]);
            let changed = ((a >> (8 * size)) ^ b) & low;
            words[row] = a ^ (changed << (8 * size));
            words[row + size] = b ^ changed;
        }
    }
    words.map(u64::to_le_bytes)
}

impl Runs {
    pub(super) fn iterate(&mut self) {
        self.disturb();
        match self.settings.rule {
            Rule::Cavi { damping, share } => {
                self.choose(Coin::new(share));
                self.ascend(damping);
            }
            Rule::Gradient { step } => {
                let tau = self.tau();
                self.take_gradient(tau);
                self.climb(step, tau);
            }
        }
        self.done += 1;
    }

    /// Redraws some cells when it is time.
    fn disturb(&mut self) {
        let Some(Resets {
            share,
            every,
            cycles,
        }) = self.settings.resets
        else {
            return;
        };
        let due = self.done > 0 && self.done.is_multiple_of(every) && self.done / every <= cycles;
        if !due {
            return;
        }
        let coin = Coin::new(share);
        for replica in 0..self.streams.len() {
            let mut bytes = vec![0; self.table.layout.class.cells()];
            self.streams[replica].fill(&mut bytes);
            for (cell, &byte) in bytes.iter().enumerate() {
                if coin.toss(byte, &mut self.streams[replica]) {
                    self.redraw(cell, replica);
                }
            }
        }
    }

    /// Draws the mask, each run's from its own stream in the order of the cells.
    fn choose(&mut self, coin: Coin) {
        let cells = self.table.layout.class.cells();
        let row = toss_row(cells);
        for (bytes, stream) in self.bytes.chunks_exact_mut(row).zip(&mut self.streams) {
            let bytes = &mut bytes[..cells];
            stream.fill(bytes);
            coin.toss_all(bytes, stream);
        }
        if self.bytes.len() == row {
            for (&place, &toss) in self.cell_places.iter().zip(&self.bytes) {
                self.mask[place as usize] = toss;
            }
            return;
        }
        for (n, places) in self.cell_places.chunks(TOGETHER).enumerate() {
            let eight = |run: usize| self.bytes[run * row + n * TOGETHER..].first_chunk();
            let runs = std::array::from_fn(|run| *eight(run).expect("rows of whole words"));
            for (&place, of_cell) in places.iter().zip(transposed(runs)) {
                self.mask[place as usize..][..TOGETHER].copy_from_slice(&of_cell);
            }
        }
    }

    /// Sends all messages forwards. Where entropies will come back with the rewards, the rewards
    /// alone come back first, for J.
    fn send(&mut self, tau: f64) {
        let nodes = self.table.layout.class.nodes().len();
        for n in 0..nodes {
            self.passes.renew_sent(n, &self.table.entries);
        }
        if self.regulator.is_soft(tau) {
            self.regulator.renew_bonus(tau, &self.table);
            for n in (0..nodes).rev() {
                self.passes
                    .renew_back(n, &self.table.entries, Wants::MESSAGE);
            }
            self.keep_rewards();
        }
    }

    /// Brings the values of a node back: dQ, or the soft ones and the visits.
    fn bring_back(&mut self, n: usize, tau: f64) {
        let (policy, passes) = (&self.table.entries, &mut self.passes);
        if self.regulator.is_soft(tau) {
            passes.renew_back_with(n, policy, Wants::ALL, &self.regulator.bonus);
        } else {
            passes.renew_back(n, policy, self.regulator.wants());
        }
    }

    fn keep_rewards(&mut self) {
        for (run, reward) in self.rewards.iter_mut().enumerate() {
            *reward = self.passes.reward(run);
        }
    }

    /// Takes the whole gradient at the present policies.
    pub(super) fn take_gradient(&mut self, tau: f64) {
        self.send(tau);
        for n in (0..self.table.layout.class.nodes().len()).rev() {
            self.bring_back(n, tau);
        }
        if !self.regulator.is_soft(tau) {
            self.keep_rewards();
        }
        self.take_objective();
    }

    /// Puts the slopes of another objective in the place of those of J.
    fn take_objective(&mut self) {
        let Some(utility) = self.settings.objective else {
            return;
        };
        let (class, q) = (self.table.layout.class.clone(), self.table.layout.class.q());
        let context = Context::default().with_memory(self.memory).with_threads(1);
        for run in 0..self.streams.len() {
            let found = objectives::for_ascent(&self.policy(run), utility, context);
            self.objectives[run] = found.value;
            for cell in 0..class.cells() {
                let place = self.table.place(cell, run);
                for a in 0..q {
                    self.passes.values[place.at(a)] = found.values[cell * q + a];
                }
            }
        }
    }

    /// Takes the gradient, from the last step to the first, and moves the masked cells of a group as
    /// soon as no step needs its old policy any more: its values are still close at hand then.
    fn ascend(&mut self, damping: f64) {
        let (class, tau) = (self.table.layout.class.clone(), self.tau());
        self.send(tau);
        self.passes.values_in_turn = class.nodes().len() == class.groups().len();
        for (n, node) in class.nodes().iter().enumerate().rev() {
            self.bring_back(n, tau);
            if self.first_nodes[node.group] == n {
                self.soften(node.group, damping, tau);
            }
        }
        self.passes.values_in_turn = false;
        if !self.regulator.is_soft(tau) {
            self.keep_rewards();
        }
    }

    /// Moves the masked cells of a group.
    fn soften(&mut self, number: usize, damping: f64, tau: f64) {
        let (q, layout) = (self.table.layout.class.q(), self.passes.layout.clone());
        let group = &layout.groups[number];
        let ahead = if self.passes.values_in_turn {
            group.entries.start
        } else {
            0
        };
        for panels in group.panels(q) {
            let (entries, cells) = (panels.entries, panels.cells);
            let values = entries.start - ahead..entries.end - ahead;
            if !self.regulator.is_plain(tau) {
                let lanes = PanelLanes {
                    width: panels.width,
                    first_entry: entries.start,
                    values: &mut self.passes.values[values.clone()],
                    visits: &self.passes.visits[cells.clone()],
                    mask: &mut self.mask[cells.clone()],
                };
                self.regulator.make_fields(tau, q, lanes);
            }
            let work = Soften {
                q,
                width: panels.width,
                tau: self.regulator.temperature(tau),
                damping,
                tie: VALUE_TIE,
                least: LEAST_PROBABILITY,
            };
            self.kernels.soften(
                &work,
                &self.passes.values[values],
                &self.mask[cells],
                &mut self.table.entries[entries],
            );
        }
    }

    /// One step of the exact softmax policy gradient on the objective, for every cell.
    fn climb(&mut self, step: f64, tau: f64) {
        let q = self.table.layout.class.q();
        for replica in 0..self.streams.len() {
            for cell in 0..self.table.layout.class.cells() {
                let place = self.table.place(cell, replica);
                let row: Vec<f64> = (0..q).map(|a| self.table.entries[place.at(a)]).collect();
                let weight = self.regulator.weight(tau, self.passes.visits[place.cell]);
                let slope = |a: usize| {
                    let entropy = if row[a] > 0.0 {
                        -weight * (row[a].ln() - self.regulator.log_prior(place.at(a)))
                    } else {
                        0.0
                    };
                    self.passes.values[place.at(a)] + entropy
                };
                let slopes: Vec<f64> = (0..q).map(slope).collect();
                let mean: f64 = row.iter().zip(&slopes).map(|(p, s)| p * s).sum();
                for a in 0..q {
                    // A step of any size leaves logits that can be compared.
                    let change = step * row[a] * (slopes[a] - mean);
                    self.logits[place.at(a)] += change.clamp(-LARGEST_STEP, LARGEST_STEP);
                }
                let best = (0..q)
                    .map(|a| self.logits[place.at(a)])
                    .fold(f64::NEG_INFINITY, f64::max);
                let weights: Vec<f64> = (0..q)
                    .map(|a| (self.logits[place.at(a)] - best).exp())
                    .collect();
                let sum: f64 = weights.iter().sum();
                for (a, weight) in weights.iter().enumerate() {
                    self.table.entries[place.at(a)] = weight / sum;
                }
            }
        }
    }
}
