//! Walks from code to code by single changes: shelves and barriers (paper, App. G.6).
//!
//! Codes that differ in the names of their tokens only are one code here: relabelling keeps all
//! rewards, so a path from one is a path from the other.

use super::seen::SeenLayout;
use super::{Frame, KEPT, LeastCost};
use crate::landscape::packed::{Packed, relabel};
use crate::model::operation::Symbol;
use crate::reward::count::flow::{FlowTable, StepFlows};
use crate::reward::count::weight::Whole;
use crate::support::watch::{Stopped, Tally};
use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, HashMap, HashSet};

/// What a search of a shelf came to.
pub(super) enum ShelfOutcome {
    /// A code of it can be raised.
    Free,
    /// None can; the least code met.
    Trapped(Packed),
    /// It was stopped.
    Stopped,
}

/// What is known of a suffix behind a class of prefixes.
pub(super) enum ShelfBehind {
    /// Whether none of their codes is a trap.
    Known { free: bool },
    /// Nothing. It is on one shelf with these suffixes, behind whatever prefix of the class.
    New(Vec<Packed>),
}

/// Why a search of a shelf ended.
enum FloodEnd {
    /// A code of it can be raised.
    Raised,
    /// It came to a code that is known.
    Met(Packed),
    /// All of it is found.
    Whole,
    /// As much of it as was asked for is found.
    Capped,
    /// It was stopped.
    Stopped,
}

/// What a way out of a shelf costs: the most over its changes.
#[derive(Debug, Clone, Copy)]
pub(super) enum WayOutCost {
    /// How far the reward is below that of the shelf.
    Depth,
    /// The reward lost by a single change.
    LargestLoss,
}

/// How many codes are looked at between two questions whether to stop.
const STOP_EVERY: usize = 1024;

/// The most suffixes that are sought at once on a shelf behind a class of prefixes.
const FLOODED_BEHIND: usize = 1 << 12;

/// Suffixes that a walker keeps in mind behind a class of prefixes, and about the bytes of one.
pub(super) const KEPT_BEHIND: usize = 1 << 18;
pub(super) const BYTES_BEHIND: usize = 100;

/// Passes over all steps before a shelf is searched in earnest, and over those behind a class of
/// prefixes before it is taken apart.
const WALK_PASSES: usize = 32;
const WALK_PASSES_BEHIND: usize = 3;

/// Walks from code to code, up to the names of tokens.
pub(super) struct Walker<'a, W> {
    census: &'a Frame,
    flows: &'a FlowTable<W>,
    tally: &'a Tally<'a>,
    alpha: Vec<W>,
    beta: Vec<W>,
    actions: Vec<Symbol>,
    changed: Vec<Symbol>,
    buffer: Vec<Symbol>,
    /// Codes known to be no traps.
    free: HashSet<Packed>,
    /// Traps, with the least code of their shelf.
    trapped: HashMap<Packed, Packed>,
    /// The class of prefixes of which `behind` tells.
    class: u32,
    /// By suffix: whether it makes no trap with any prefix of the class.
    behind: HashMap<Packed, bool>,
}

impl<'a, W: Whole> Walker<'a, W> {
    pub fn new(census: &'a Frame, flows: &'a FlowTable<W>, tally: &'a Tally<'a>) -> Walker<'a, W> {
        let cells = census.class.cells();
        Walker {
            census,
            flows,
            tally,
            alpha: flows.alpha(),
            beta: flows.beta(),
            actions: vec![0; cells],
            changed: vec![0; cells],
            buffer: Vec::new(),
            free: HashSet::new(),
            trapped: HashMap::new(),
            class: 0,
            behind: HashMap::new(),
        }
    }

    /// Goes to a code: from the step `first` on, alpha and beta are its own then. Says its reward, if that is all of it.
    fn go(&mut self, first: usize, code: Packed) -> W {
        self.census.packing.unpack(code, &mut self.actions);
        self.flows
            .pass_forward(&mut self.alpha, &self.actions, first);
        for step in self.flows.steps[first..].iter().rev() {
            step.give_back(&mut self.beta, &self.flows.right, &self.actions);
        }
        self.beta[0]
    }

    /// Hands over every single change, from the step `first` on, of the code that was gone to: by how much it changes
    /// the reward, and the code it leads to, which is made only when asked for.
    fn changes(
        &mut self,
        first: usize,
        mut take: impl FnMut(W, &mut dyn FnMut() -> Packed) -> bool,
    ) {
        for step in &self.flows.steps[first..] {
            for cell in step.cells.clone() {
                let old = self.actions[cell];
                let now = step.earned(&self.alpha, &self.beta, cell, old);
                for action in (0..self.flows.q as Symbol).filter(|&action| action != old) {
                    let change = step.earned(&self.alpha, &self.beta, cell, action) - now;
                    let mut make = || {
                        self.changed.copy_from_slice(&self.actions);
                        self.changed[cell] = action;
                        let memory = self.census.class.shape().memory;
                        relabel(self.flows, memory, &mut self.changed, &mut self.buffer);
                        self.census.packing.pack(&self.changed)
                    };
                    if !take(change, &mut make) {
                        return;
                    }
                }
            }
        }
    }

    /// Whether a short walk over the shelf of a code, that changes no step before `first`, comes to
    /// a code that can be raised. Alpha at the level `first` is that of the code, and the actions
    /// from there on are.
    ///
    /// The cells of a step earn apart from each other, so that all of them may take another of their
    /// best actions: these are as many neutral changes in a row. A pass from the first step to the
    /// last takes the action of the code that tracks the fold where it can, to show later steps what
    /// there is to know; one back takes any by chance.
    fn neutral_walk_escapes(&mut self, first: usize, passes: usize) -> bool {
        // Any numbers will do; those of a code are always the same.
        let code = self.census.packing.pack(&self.actions);
        let mut chance = code as u64 ^ (code >> 64) as u64 ^ 0x9e37_79b9_7f4a_7c15;
        let flows = self.flows;
        flows.pass_forward(&mut self.alpha, &self.actions, first);
        let walked = &flows.steps[first..];
        for step in walked.iter().rev() {
            step.give_back(&mut self.beta, &flows.right, &self.actions);
        }
        for _ in 0..passes {
            let mut is_free = false;
            for step in walked {
                step.clear(&mut self.alpha, flows.q);
                for cell in step.cells.clone() {
                    let tracking = self.census.tracker[cell];
                    let equals = self.best(step, cell, |action, _| action == tracking);
                    let Some(equals) = equals else { return true };
                    is_free |= equals > 1;
                    step.send(&mut self.alpha, cell, self.actions[cell]);
                }
            }
            for step in walked.iter().rev() {
                for cell in step.cells.clone() {
                    let equals = self.best(step, cell, |_, equals| {
                        chance ^= chance << 13;
                        chance ^= chance >> 7;
                        chance ^= chance << 17;
                        chance.is_multiple_of(equals)
                    });
                    let Some(equals) = equals else { return true };
                    is_free |= equals > 1;
                }
                step.give_back(&mut self.beta, &flows.right, &self.actions);
            }
            if !is_free {
                return false;
            }
        }
        false
    }

    /// Gives a cell one of the actions that earn as much as its own, the last that `accept`
    /// returns true for; says how many there are, or none if another earns more.
    #[inline]
    fn best(
        &mut self,
        step: &StepFlows<W>,
        cell: usize,
        mut accept: impl FnMut(Symbol, u64) -> bool,
    ) -> Option<u64> {
        let old = self.actions[cell];
        let now = step.earned(&self.alpha, &self.beta, cell, old);
        let mut equals = 1;
        for action in (0..self.flows.q as Symbol).filter(|&action| action != old) {
            match step.earned(&self.alpha, &self.beta, cell, action).cmp(&now) {
                Ordering::Less => {}
                Ordering::Greater => return None,
                Ordering::Equal => {
                    equals += 1;
                    if accept(action, equals) {
                        self.actions[cell] = action;
                    }
                }
            }
        }
        Some(equals)
    }

    /// Whether a short walk that changes the steps from `first` on comes to a code that can be
    /// raised. They have these actions, behind a prefix of these weights.
    pub fn is_free_behind(
        &mut self,
        first: usize,
        (layout, weights): (&SeenLayout, &[W]),
        actions: &[Symbol],
    ) -> bool {
        let start = self.flows.steps[first].cells.start;
        self.actions[..start].fill(0);
        self.actions[start..].copy_from_slice(&actions[start..]);
        layout.write(weights, &mut self.alpha);
        self.neutral_walk_escapes(first, WALK_PASSES_BEHIND)
    }

    /// Whether no code of the shelf can be raised.
    pub fn trapped(&mut self, code: Packed) -> ShelfOutcome {
        if let Some(&shelf) = self.trapped.get(&code) {
            return ShelfOutcome::Trapped(shelf);
        }
        self.census.packing.unpack(code, &mut self.actions);
        self.alpha[0] = W::of_i128(1);
        if self.neutral_walk_escapes(0, WALK_PASSES) {
            return ShelfOutcome::Free;
        }
        let free = std::mem::take(&mut self.free);
        let (shelf, end) = self.flood(0, code, usize::MAX, |to| free.contains(&to));
        self.free = free;
        match end {
            FloodEnd::Stopped | FloodEnd::Capped => return ShelfOutcome::Stopped,
            FloodEnd::Raised | FloodEnd::Met(_) => {
                // All that was found is on the same shelf.
                if self.free.len() + shelf.len() > KEPT {
                    self.free.clear();
                }
                self.free.extend(shelf.into_iter().take(KEPT));
                return ShelfOutcome::Free;
            }
            FloodEnd::Whole => {}
        }
        let least = shelf.iter().copied().min().expect("the code itself");
        self.trapped
            .extend(shelf.into_iter().map(|code| (code, least)));
        ShelfOutcome::Trapped(least)
    }

    /// Finds the shelf of a code by changes of the steps from `first` on, until it comes to a code that can be raised,
    /// to one that is known, or to as many as the cap.
    fn flood(
        &mut self,
        first: usize,
        code: Packed,
        cap: usize,
        known: impl Fn(Packed) -> bool,
    ) -> (Vec<Packed>, FloodEnd) {
        let mut shelf = vec![code];
        let mut found = HashSet::from([code]);
        let mut next = 0;
        while next < shelf.len() {
            if next.is_multiple_of(STOP_EVERY) && self.tally.add(0).is_break() {
                return (shelf, FloodEnd::Stopped);
            }
            self.go(first, shelf[next]);
            next += 1;
            let mut end = None;
            self.changes(first, |change, make| {
                match change.cmp(&W::zero()) {
                    Ordering::Less => {}
                    Ordering::Greater => end = Some(FloodEnd::Raised),
                    Ordering::Equal => {
                        let to = make();
                        if known(to) {
                            end = Some(FloodEnd::Met(to));
                        } else if found.insert(to) {
                            shelf.push(to);
                        }
                    }
                }
                end.is_none()
            });
            if let Some(end) = end {
                return (shelf, end);
            }
            if shelf.len() >= cap {
                return (shelf, FloodEnd::Capped);
            }
        }
        (shelf, FloodEnd::Whole)
    }

    /// What is known of a suffix behind a class of prefixes of these weights. Changes of the suffix alone earn the same
    /// behind every prefix of the class, so that suffixes on one shelf behind one of them are so behind all. If one of
    /// these suffixes can be raised, all their codes are free.
    pub fn shelf_behind(
        &mut self,
        first: usize,
        class: u32,
        (layout, weights): (&SeenLayout, &[W]),
        actions: &[Symbol],
    ) -> ShelfBehind {
        if class != self.class || self.behind.len() > KEPT_BEHIND {
            self.behind.clear();
            self.class = class;
        }
        self.changed.copy_from_slice(actions);
        self.changed[..self.flows.steps[first].cells.start].fill(0);
        let code = self.census.packing.pack(&self.changed);
        if let Some(&free) = self.behind.get(&code) {
            return ShelfBehind::Known { free };
        }
        layout.write(weights, &mut self.alpha);
        let behind = std::mem::take(&mut self.behind);
        let (shelf, end) = self.flood(first, code, FLOODED_BEHIND, |to| behind.contains_key(&to));
        self.behind = behind;
        let free = match end {
            FloodEnd::Raised => true,
            FloodEnd::Met(to) => self.behind[&to],
            FloodEnd::Whole | FloodEnd::Capped | FloodEnd::Stopped => {
                return ShelfBehind::New(shelf);
            }
        };
        self.note_behind(shelf, free);
        ShelfBehind::Known { free }
    }

    /// Notes whether suffixes on one shelf make no trap with any prefix of the class last asked for.
    pub fn note_behind(&mut self, shelf: Vec<Packed>, free: bool) {
        self.behind
            .extend(shelf.into_iter().map(|code| (code, free)));
    }

    /// Visits codes from a shelf on, those of the least cost first, until one has a higher reward,
    /// and says the cost of the way to it.
    pub fn escape(
        &mut self,
        shelf: Packed,
        cap: usize,
        by: WayOutCost,
    ) -> Result<LeastCost, Stopped> {
        let start = self.go(0, shelf).to_u128();
        let mut waiting = BinaryHeap::from([(Reverse(0), start, shelf)]);
        let mut cheapest = HashMap::from([(shelf, 0)]);
        let mut steps = 0usize;
        while let Some((Reverse(spent), reward, code)) = waiting.pop() {
            if reward > start {
                return Ok(LeastCost::Of(spent));
            }
            steps += 1;
            if steps.is_multiple_of(STOP_EVERY) && self.tally.add(0).is_break() {
                return Err(Stopped);
            }
            if cheapest.len() > cap {
                return Ok(LeastCost::BeyondCap);
            }
            if cheapest[&code] < spent {
                continue;
            }
            let here = self.go(0, code);
            self.changes(0, |change, make| {
                let there = (here + change).to_u128();
                let lost = here.to_u128().saturating_sub(there);
                let cost = spent.max(match by {
                    WayOutCost::Depth => start.saturating_sub(there),
                    WayOutCost::LargestLoss => lost,
                });
                let to = make();
                let known = cheapest.entry(to).or_insert(u128::MAX);
                if cost < *known {
                    *known = cost;
                    waiting.push((Reverse(cost), there, to));
                }
                true
            });
        }
        Ok(LeastCost::Highest)
    }
}
