//! Seeks the traps among the local maxima (paper, App. G.6).
//!
//! Local maxima are counted by classes of prefixes, but whether one is a trap depends on its whole
//! shelf. So the ways to come to a class are followed back, as far as the codes are local maxima.
//! Suffixes that neutral changes connect behind one prefix are connected behind every prefix of its
//! class, and make traps with the same prefixes: if one of them makes none, the others are not followed
//! back. After every step back a short walk over the shelf changes the steps behind the prefix only:
//! what it comes to, it comes to for all prefixes of the class.
//!
//! Where a step does not depend on the token before it, all that is before it is on one shelf,
//! whatever it is. An ending, the code from the last such step on, is therefore searched once, behind
//! steps that track the fold.

use super::Trap;
use super::descent::{Descent, namings};
use super::visit::{CodePrefix, Visit};
use super::walker::{ShelfBehind, ShelfOutcome};
use crate::landscape::packed::relabel;
use crate::model::operation::Symbol;
use crate::reward::count::weight::Whole;

/// A code that may be a trap, and the codes it stands for.
#[derive(Clone, Copy)]
struct Candidate<W> {
    reward: W,
    weight: u128,
}

impl<W: Whole> Visit<'_, W> {
    /// Seeks among all solutions of the last step. They are on one shelf.
    pub fn seek_all(&mut self, leaf: &CodePrefix<'_, W>, actions: &mut [Symbol]) {
        let level = self.prefixes.steps();
        let step = &self.flows.steps[self.flows.steps.len() - 1];
        let mut earned = Some(self.last.take_first(actions));
        while let Some(sum) = earned {
            if self.is_stopped() {
                return;
            }
            let reward = leaf.settled + sum;
            step.give_back(&mut self.beginnings.beta, &self.flows.right, actions);
            let is_below = reward != self.flows.whole;
            if is_below
                && self.is_unraised(leaf.alpha, actions, level)
                && self.seek(leaf, actions, reward)
            {
                return;
            }
            earned = self.last.take_next(actions);
        }
    }

    /// Seeks among the prefixes of a class; the rest of the code is not raised, and beta is its own. Says whether it is
    /// known then that nothing on the shelf of the rest makes a trap.
    pub fn seek(&mut self, leaf: &CodePrefix<'_, W>, actions: &mut [Symbol], reward: W) -> bool {
        let level = self.prefixes.steps();
        if self.forgets_after(level, actions) || self.beginnings.count(level, leaf.class) == 0 {
            return false;
        }
        let weight = leaf.weight * self.trapping_fills(leaf.alpha, actions);
        if weight == 0 {
            return false;
        }
        let start = self.prefixes.last();
        let start = (&start.layout, start.weights(leaf.class));
        let mut shelf = Vec::new();
        if level > 0 {
            match self.walker.shelf_behind(level, leaf.class, start, actions) {
                ShelfBehind::Known { free: true } => return true,
                ShelfBehind::Known { free: false } => {}
                ShelfBehind::New(new) => shelf = new,
            }
        }
        let traps = self.count.traps.len();
        self.go_back(level, leaf.class, actions, Candidate { reward, weight });
        // A prefix that makes a trap with one suffix of the shelf makes one with each, and is unraised with each.
        let free = self.count.traps.len() == traps && !self.stopped;
        if !self.stopped {
            self.walker.note_behind(shelf, free);
        }
        free
    }

    /// The ways to fill spare cells so that the last step does not forget; none where one of them
    /// raises the reward, for all of them are on one shelf.
    fn trapping_fills(&self, alpha: &[W], actions: &[Symbol]) -> u128 {
        let fills = self.last.fills(self.given(alpha, actions), false);
        let left_out = if self.census.splits && self.flows.steps.len() > 1 {
            fills.forgetting
        } else {
            0
        };
        if fills.all_are_good {
            fills.good - left_out
        } else {
            0
        }
    }

    /// Follows the ways back from a class; `actions` are those behind it, beta what they earn.
    fn go_back(
        &mut self,
        level: usize,
        class: u32,
        actions: &mut [Symbol],
        candidate: Candidate<W>,
    ) {
        if level == 0 {
            return self.search(actions, candidate);
        }
        let (prefixes, flows) = (self.prefixes, self.flows);
        let (step, before) = (&flows.steps[level - 1], &prefixes.levels[level - 1]);
        for forgetting in &prefixes.levels[level].forgetting {
            if forgetting.class == class {
                let mut code = self.census.tracker.clone();
                code[step.cells.end..].copy_from_slice(&actions[step.cells.end..]);
                let packing = self.census.packing;
                packing.unpack(forgetting.action.into(), &mut code[step.cells.clone()]);
                let ways = namings(step, &code, flows.q) * self.census.codes_before(step);
                let weight = candidate.weight * ways;
                self.search(
                    &code,
                    Candidate {
                        weight,
                        ..candidate
                    },
                );
            }
        }
        let mut last = None;
        for link in prefixes.levels[level].links(class) {
            if self.is_stopped() {
                return;
            }
            if last.replace(link.from) != Some(link.from) {
                self.beginnings.start_from(level, link.from);
            }
            if !self.beginnings.follows(level, link.action) {
                continue;
            }
            let cells = step.cells.clone();
            actions[cells.clone()].copy_from_slice(&self.beginnings.actions[cells]);
            // Before the first step there is one prefix, and its shelf is searched anyway.
            let start = (&before.layout, before.weights(link.from));
            if level > 1 && self.walker.is_free_behind(level - 1, start, actions) {
                continue;
            }
            step.give_back(&mut self.beginnings.beta, &flows.right, actions);
            let weight = candidate.weight * namings(step, actions, flows.q);
            let candidate = Candidate {
                weight,
                ..candidate
            };
            self.go_back(level - 1, link.from, actions, candidate);
        }
    }

    /// Seeks among the endings with these actions from their first step on, up to the last.
    pub fn ending(&mut self, descent: &mut Descent<W>, first: usize, weight: u128) {
        let Descent { alpha, actions, .. } = descent;
        let last = self.flows.steps.len() - 1;
        let weight = weight * self.census.codes_before(&self.flows.steps[first]);
        if first == last {
            let reward = self.flows.reward(alpha);
            return self.search(actions, Candidate { reward, weight });
        }
        // The first step of an ending is changed to all tokens.
        self.last.solve(alpha, actions, last > first + 1);
        let step = &self.flows.steps[last];
        let settled = step.settled(alpha);
        let mut earned = Some(self.last.take_first(actions));
        // All solutions earn the same, and the shelf of the optima may be very large.
        let optimal = earned.map(|sum| settled + sum) == Some(self.flows.whole);
        if optimal || self.is_free(alpha, actions) {
            return;
        }
        while let Some(sum) = earned {
            if self.is_stopped() {
                return;
            }
            step.give_back(&mut self.beginnings.beta, &self.flows.right, actions);
            if self.is_unraised(alpha, actions, first + 1) {
                let weight = weight * self.trapping_fills(alpha, actions);
                let reward = settled + sum;
                self.search(actions, Candidate { reward, weight });
            }
            earned = self.last.take_next(actions);
        }
    }

    /// Searches the shelf of a code.
    fn search(&mut self, actions: &[Symbol], candidate: Candidate<W>) {
        let Candidate { reward, weight } = candidate;
        if weight == 0 || reward == self.flows.whole {
            return;
        }
        let mut named = actions.to_vec();
        let memory = self.census.class.shape().memory;
        relabel(self.flows, memory, &mut named, &mut Vec::new());
        let code = self.census.packing.pack(&named);
        match self.walker.trapped(code) {
            ShelfOutcome::Free => {}
            ShelfOutcome::Stopped => self.stopped = true,
            ShelfOutcome::Trapped(shelf) => self.count.traps.push(Trap {
                reward: reward.to_u128(),
                shelf,
                code,
                weight,
            }),
        }
    }
}
