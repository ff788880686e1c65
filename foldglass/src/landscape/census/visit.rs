//! Visits the codes of the parts of a census, and counts.

use super::beginnings::Beginnings;
use super::descent::{Descent, forgets};
use super::last::{BeforeLast, Column, LastStep};
use super::parts::{Aim, CensusPart};
use super::prefixes::Prefixes;
use super::walker::{ShelfOutcome, Walker};
use super::{AnyVisit, Count, Frame};
use crate::landscape::packed::Packed;
use crate::model::operation::Symbol;
use crate::reward::count::flow::FlowTable;
use crate::reward::count::weight::Whole;
use crate::support::watch::Tally;
use std::collections::HashMap;
use std::mem::take;
use std::ops::ControlFlow;

pub(super) struct Visit<'a, W> {
    pub census: &'a Frame,
    pub flows: &'a FlowTable<W>,
    pub prefixes: &'a Prefixes<W>,
    tally: &'a Tally<'a>,
    pub stopped: bool,
    /// The steps gone back by at which it asks again.
    ask_again: u64,
    solved: u64,
    pub tolerance: W,
    pub last: LastStep<'a, W>,
    pub beginnings: Beginnings<'a, W>,
    pub walker: Walker<'a, W>,
    /// By last step that forgets, the rest tracking the fold: whether it is not a trap.
    free_endings: HashMap<Packed, bool>,
    pub count: Count,
}

/// How many solutions of the last step are counted between two questions whether to stop.
const STOP_EVERY: u64 = 4096;

/// Rungs gone back by between them, a hundredth of a second of work.
const FOLLOWED_EVERY: u64 = 1 << 15;

/// A code up to the last step but one.
pub(super) struct CodePrefix<'a, W> {
    /// The class of prefixes that it begins with.
    pub class: u32,
    pub alpha: &'a [W],
    /// What has ended before the last step, and is right.
    pub settled: W,
    /// The number of names of its tokens behind the prefix.
    pub weight: u128,
}

impl<W: Whole> AnyVisit for Visit<'_, W> {
    fn part(&mut self, part: &CensusPart) -> Option<Count> {
        self.stopped = false;
        match part.aim {
            Aim::Codes => self.codes(part),
            Aim::Endings => {
                let (mut descent, weight) = self.census.ending(self.flows, part);
                let (first, mut number) = (part.stretch.first, 0);
                let _ = descent.descend(part.begun, weight, &mut |descent, weight| {
                    if part.has(&mut number) && !self.stopped {
                        self.ending(descent, first, weight);
                    }
                    self.goes_on()
                });
            }
        }
        self.count.traps.sort();
        let count = take(&mut self.count);
        (!self.stopped).then_some(count)
    }
}

impl<'a, W: Whole> Visit<'a, W> {
    pub fn new(
        census: &'a Frame,
        flows: &'a FlowTable<W>,
        prefixes: &'a Prefixes<W>,
        tally: &'a Tally<'a>,
    ) -> Visit<'a, W> {
        let tolerance = census.margin();
        Visit {
            census,
            flows,
            prefixes,
            tally,
            stopped: false,
            ask_again: FOLLOWED_EVERY,
            solved: 0,
            tolerance,
            last: LastStep::new(flows, tolerance),
            beginnings: Beginnings::new(census, flows, prefixes),
            walker: Walker::new(census, flows, tally),
            free_endings: HashMap::new(),
            count: Count::default(),
        }
    }

    /// Goes on from classes of prefixes.
    fn codes(&mut self, part: &CensusPart) {
        let (prefixes, flows) = (self.prefixes, self.flows);
        let level = prefixes.last();
        let mut actions = vec![0; self.census.class.cells()];
        self.census.packing.unpack(part.code, &mut actions);
        let nothing = vec![W::zero(); flows.right.len()];
        for class in part.classes.clone() {
            let mut descent = Descent::new(self.census, flows, part.stretch, &actions, &nothing);
            descent.start_from(&level.layout, level.weights(class));
            let weight = descent.begin(part.begun);
            let mut number = 0;
            let _ = descent.descend(part.begun, weight, &mut |descent, weight| {
                if part.has(&mut number) && !self.stopped {
                    self.leaf(class, descent, weight);
                }
                self.goes_on()
            });
        }
    }

    fn goes_on(&mut self) -> ControlFlow<()> {
        if self.is_stopped() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    /// Now and then asks whether to stop.
    pub fn is_stopped(&mut self) -> bool {
        self.solved += 1;
        let followed = self.beginnings.followed;
        let is_time = self.solved.is_multiple_of(STOP_EVERY) || followed >= self.ask_again;
        if is_time && self.tally.add(0).is_break() {
            self.stopped = true;
        }
        if is_time {
            self.ask_again = followed + FOLLOWED_EVERY;
        }
        self.stopped
    }

    /// Solves the last step for all prefixes of a class at once.
    fn leaf(&mut self, class: u32, descent: &mut Descent<W>, weight: u128) {
        let Descent { alpha, actions, .. } = descent;
        self.last.solve(alpha, actions, true);
        let step = &self.flows.steps[self.flows.steps.len() - 1];
        let leaf = CodePrefix {
            class,
            alpha,
            settled: step.settled(alpha) + self.prefixes.last().earned(class),
            weight,
        };
        if !self.last.is_single() {
            let columns = self.last.columns();
            let maxima = self.choose(&leaf, actions, &columns, leaf.settled, weight);
            if maxima && self.tolerance == W::zero() && !self.is_free(leaf.alpha, actions) {
                self.seek_all(&leaf, actions);
            }
            return;
        }
        let reward = leaf.settled + self.last.take_first(actions);
        step.give_back(&mut self.beginnings.beta, &self.flows.right, actions);
        let maxima = self.conclude(&leaf, actions, reward, weight);
        if maxima && self.tolerance == W::zero() {
            self.seek(&leaf, actions, reward);
        }
    }

    /// Goes through the columns of the last step; says whether there are local maxima.
    fn choose(
        &mut self,
        leaf: &CodePrefix<'_, W>,
        actions: &[Symbol],
        columns: &[(Symbol, Vec<Column<W>>)],
        reward: W,
        weight: u128,
    ) -> bool {
        let Some(((token, choices), rest)) = columns.split_first() else {
            return !self.is_stopped() && self.conclude(leaf, actions, reward, weight);
        };
        let mut maxima = false;
        for column in choices {
            self.last.write(*token, column, &mut self.beginnings.beta);
            let (reward, weight) = (reward + column.earned, weight * column.ways);
            maxima |= self.choose(leaf, actions, rest, reward, weight);
        }
        maxima
    }

    /// Counts the codes of a class of prefixes whose last step is not raised; beta is that of the
    /// last step. Says whether there are local maxima among them.
    fn conclude(
        &mut self,
        leaf: &CodePrefix<'_, W>,
        actions: &[Symbol],
        reward: W,
        weight: u128,
    ) -> bool {
        let level = self.prefixes.steps();
        let optimal = reward == self.flows.whole;
        let prefixes = if optimal {
            self.prefixes.last().multiplicities[leaf.class as usize]
        } else if self.is_unraised(leaf.alpha, actions, level) {
            self.beginnings.count(level, leaf.class)
        } else {
            0
        };
        if prefixes == 0 {
            return false;
        }
        let fills = self.last.fills(self.given(leaf.alpha, actions), optimal);
        let codes = weight * prefixes * fills.good;
        if optimal {
            self.count.optimal += codes;
        } else {
            self.count.local_maxima += codes;
        }
        !optimal && codes > 0
    }

    pub fn given<'b>(&'b self, alpha: &'b [W], actions: &'b [Symbol]) -> BeforeLast<'b, W> {
        BeforeLast {
            alpha,
            beta: &self.beginnings.beta,
            actions,
        }
    }

    /// Whether no change of the steps from `first` on, but the last, raises the reward; changes to
    /// spare tokens are left out. Beta is that of the code then, down to the level `first`.
    pub fn is_unraised(&mut self, alpha: &[W], actions: &[Symbol], first: usize) -> bool {
        let last = self.flows.steps.len() - 1;
        let beta = &mut self.beginnings.beta;
        for r in (first..last).rev() {
            let step = &self.flows.steps[r];
            let spare: &[Symbol] = if r + 1 == last { &self.last.spare } else { &[] };
            if !step.is_unraised(alpha, beta, actions, self.tolerance, self.flows.q, spare) {
                return false;
            }
            if r > 0 {
                step.give_back(beta, &self.flows.right, actions);
            }
        }
        true
    }

    /// Whether it is known at once that no code with these actions before the last step, solved in
    /// whatever way, is a trap. Ways to solve it are on one shelf: all are free if a change of the
    /// step before raises one of them, or if in one of them the last step forgets, so that all before
    /// it may as well track the fold, and that is free.
    pub fn is_free(&mut self, alpha: &[W], actions: &[Symbol]) -> bool {
        if self.last.can_be_raised(alpha, actions) {
            return true;
        }
        let mut code = self.census.tracker.clone();
        if !self.census.splits || !self.last.forget(&mut code) {
            return false;
        }
        let code = self.census.packing.pack(&code);
        if let Some(&free) = self.free_endings.get(&code) {
            return free;
        }
        let found = self.walker.trapped(code);
        self.stopped |= matches!(found, ShelfOutcome::Stopped);
        let free = matches!(found, ShelfOutcome::Free);
        self.free_endings.insert(code, free);
        free
    }

    /// Whether a step after the first `level` forgets, but for the last.
    pub fn forgets_after(&self, level: usize, actions: &[Symbol]) -> bool {
        let last = self.flows.steps.len() - 1;
        let flows = &self.flows.steps[level.max(1).min(last)..last];
        self.census.splits && flows.iter().any(|step| forgets(step, actions))
    }
}
