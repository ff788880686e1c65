//! Counts the prefixes of a class that a suffix leaves unraised (paper, App. G.6).
//!
//! Let N(C, beta) be the number of prefixes of class C none of whose steps is raised by a single
//! change, where what follows earns beta. The last step of a prefix is not raised where that holds of
//! the weights before it and beta; the others are not raised where it holds of the rest and of the
//! beta that the last step gives back. So N(C, beta) is a sum over the links of C, and it is known
//! for all beta that earlier steps cannot tell apart, where the last step alone is rewarded: for all
//! multiples of beta too.

use super::Frame;
use super::descent::namings;
use super::prefixes::Prefixes;
use crate::model::operation::Symbol;
use crate::reward::count::flow::FlowTable;
use crate::reward::count::weight::Whole;
use crate::support::exact::gcd;
use std::collections::HashMap;

/// Of a count that is known: level, class, and what earlier steps see of beta.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Asked<W> {
    level: u32,
    class: u32,
    seen: Vec<W>,
}

/// Counts that are kept.
pub(super) const KEPT: usize = 1 << 20;

/// About the bytes of one.
pub(super) const KEPT_BYTES: usize = 160;

/// Counts, and remembers.
pub(super) struct Beginnings<'a, W> {
    census: &'a Frame,
    flows: &'a FlowTable<W>,
    prefixes: &'a Prefixes<W>,
    tolerance: W,
    /// At the places of every level: of the class last gone on from.
    alpha: Vec<W>,
    /// By level, and by cell of the step after it as far as one was asked for: a bit for each action with which the
    /// cell is not raised. The cells of a step earn apart from each other, so that all links from a class share them.
    allowed: Vec<Vec<u128>>,
    /// A buffer: by action, what a cell earns.
    earned: Vec<W>,
    /// At the places of every level from the asked one on: what the suffix earns.
    pub beta: Vec<W>,
    /// Those of the step that was gone back by.
    pub actions: Vec<Symbol>,
    known: HashMap<Asked<W>, u128>,
    /// Rungs gone back by: most of the work.
    pub followed: u64,
}

impl<'a, W: Whole> Beginnings<'a, W> {
    pub fn new(census: &'a Frame, flows: &'a FlowTable<W>, prefixes: &'a Prefixes<W>) -> Self {
        Beginnings {
            census,
            flows,
            prefixes,
            tolerance: census.margin(),
            alpha: vec![W::zero(); flows.right.len()],
            beta: flows.beta(),
            actions: vec![0; census.class.cells()],
            allowed: vec![Vec::new(); prefixes.levels.len()],
            earned: Vec::new(),
            known: HashMap::new(),
            followed: 0,
        }
    }

    /// What earlier steps see of beta; none where they see nothing, and nothing ended before.
    fn seen(&self, level: usize) -> Option<Vec<W>> {
        let level = &self.prefixes.levels[level];
        let see = |sight| level.layout.product(sight, &self.beta);
        let mut seen: Vec<W> = level.sights.iter().map(see).collect();
        let one_step = self.census.class.task().rewards_one_step();
        if one_step && seen.iter().all(|number| *number == W::zero()) {
            return None;
        }
        if one_step && self.tolerance == W::zero() {
            let common = seen.iter().fold(0, |common, number| {
                gcd(common, number.to_i128().unsigned_abs())
            });
            for number in &mut seen {
                *number = W::of_i128(number.to_i128() / common as i128);
            }
        }
        Some(seen)
    }

    /// The number of prefixes of a class that beta leaves unraised.
    pub fn count(&mut self, level: usize, class: u32) -> u128 {
        if level == 0 {
            return 1;
        }
        let Some(seen) = self.seen(level) else {
            return self.prefixes.levels[level].multiplicities[class as usize];
        };
        let asked = Asked {
            level: level as u32,
            class,
            seen,
        };
        if let Some(&count) = self.known.get(&asked) {
            return count;
        }
        let count = self.by_links(level, class) + self.by_forgetting(level, class);
        if self.known.len() >= KEPT {
            self.known.clear();
        }
        self.known.insert(asked, count);
        count
    }

    /// Those that come by links.
    fn by_links(&mut self, level: usize, class: u32) -> u128 {
        let (prefixes, flows) = (self.prefixes, self.flows);
        let step = &flows.steps[level - 1];
        let mut sum = 0;
        let mut last = None;
        for link in prefixes.levels[level].links(class) {
            if last.replace(link.from) != Some(link.from) {
                self.start_from(level, link.from);
            }
            if !self.follows(level, link.action) {
                continue;
            }
            let ways = namings(step, &self.actions, flows.q);
            step.give_back(&mut self.beta, &flows.right, &self.actions);
            sum += ways * self.count(level - 1, link.from);
        }
        sum
    }

    /// Those whose last step forgets: what is before it may be anything that leaves it unraised.
    fn by_forgetting(&mut self, level: usize, class: u32) -> u128 {
        let (prefixes, flows) = (self.prefixes, self.flows);
        let mut sum = 0;
        for forgetting in &prefixes.levels[level].forgetting {
            if forgetting.class != class {
                continue;
            }
            let before = &prefixes.levels[level - 1];
            let mut unraised = 0;
            for from in 0..before.classes() as u32 {
                self.start_from(level, from);
                if self.follows(level, forgetting.action) {
                    unraised += before.multiplicities[from as usize];
                }
            }
            sum += unraised * namings(&flows.steps[level - 1], &self.actions, flows.q);
        }
        sum
    }

    /// Prepares to go back by the step before a level to a class.
    pub fn start_from(&mut self, level: usize, from: u32) {
        let before = &self.prefixes.levels[level - 1];
        before.layout.write(before.weights(from), &mut self.alpha);
        self.allowed[level - 1].clear();
    }

    /// Goes back by the step before a level to the class last started from: whether the step is not raised. Its
    /// actions are unpacked then.
    pub fn follows(&mut self, level: usize, action: u32) -> bool {
        let (step, packing) = (&self.flows.steps[level - 1], self.census.packing);
        let allowed = &mut self.allowed[level - 1];
        self.followed += 1;
        for (i, cell) in step.cells.clone().enumerate() {
            if i == allowed.len() {
                let earned = (0..self.flows.q as Symbol)
                    .map(|action| step.earned(&self.alpha, &self.beta, cell, action));
                self.earned.clear();
                self.earned.extend(earned);
                let best = *self.earned.iter().max().expect("an action");
                let unraised = |&earned: &W| u128::from(earned + self.tolerance >= best);
                let bits = self.earned.iter().rev().map(unraised);
                allowed.push(bits.fold(0, |bits, bit| bits << 1 | bit));
            }
            if allowed[i] >> packing.digit(action.into(), i) & 1 == 0 {
                return false;
            }
        }
        packing.unpack(action.into(), &mut self.actions[step.cells.clone()]);
        true
    }
}
