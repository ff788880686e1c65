//! Walks from code to code by single changes: shelves and barriers (paper, App. G.6).
//!
//! Codes that differ in the names of their tokens only are one code here: relabelling keeps all
//! rewards, so a path from one is a path from the other.

use super::{Census, KEPT};
use crate::count::weight::Whole;
use crate::landscape::packed::{Packed, relabel};
use crate::landscape::rungs::Rungs;
use crate::quasigroup::Symbol;
use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, HashMap, HashSet};

/// Walks from code to code, up to the names of tokens.
pub(super) struct Walker<'a, W> {
    census: &'a Census,
    rungs: &'a Rungs<W>,
    alpha: Vec<W>,
    beta: Vec<W>,
    actions: Vec<Symbol>,
    changed: Vec<Symbol>,
    room: Vec<Symbol>,
    /// Codes known to be no traps.
    free: HashSet<Packed>,
    /// Traps, with the least code of their shelf.
    trapped: HashMap<Packed, Packed>,
}

impl<'a, W: Whole + Ord> Walker<'a, W> {
    pub fn new(census: &'a Census, rungs: &'a Rungs<W>) -> Walker<'a, W> {
        let cells = census.class.cells();
        Walker {
            census,
            rungs,
            alpha: rungs.alpha(),
            beta: rungs.beta(),
            actions: vec![0; cells],
            changed: vec![0; cells],
            room: Vec::new(),
            free: HashSet::new(),
            trapped: HashMap::new(),
        }
    }

    /// Goes to a code: alpha and beta are its own then. Says its reward.
    fn go(&mut self, code: Packed) -> W {
        self.census.packing.unpack(code, &mut self.actions);
        self.rungs.pass_forward(&mut self.alpha, &self.actions, 0);
        for rung in self.rungs.rungs.iter().rev() {
            rung.give_back(&mut self.beta, &self.rungs.right, &self.actions);
        }
        self.beta[0]
    }

    /// Hands over every single change of the code that was gone to: by how much it changes the
    /// reward, and the code it leads to, which is made only when asked for.
    fn changes(&mut self, mut take: impl FnMut(W, &mut dyn FnMut() -> Packed) -> bool) -> bool {
        for rung in &self.rungs.rungs {
            for cell in rung.cells.clone() {
                let old = self.actions[cell];
                let now = rung.earned(&self.alpha, &self.beta, cell, old);
                for action in (0..self.rungs.q as Symbol).filter(|&action| action != old) {
                    let change = rung.earned(&self.alpha, &self.beta, cell, action) - now;
                    let mut make = || {
                        self.changed.copy_from_slice(&self.actions);
                        self.changed[cell] = action;
                        let memory = self.census.class.shape().memory;
                        relabel(self.rungs, memory, &mut self.changed, &mut self.room);
                        self.census.packing.pack(&self.changed)
                    };
                    if !take(change, &mut make) {
                        return false;
                    }
                }
            }
        }
        true
    }

    /// The least code met of the shelf, if no code of it can be raised.
    pub fn trapped(&mut self, code: Packed) -> Option<Packed> {
        if let Some(&shelf) = self.trapped.get(&code) {
            return Some(shelf);
        }
        let mut shelf = vec![code];
        let mut known = HashSet::from([code]);
        let mut next = 0;
        while next < shelf.len() {
            self.go(shelf[next]);
            next += 1;
            let free = std::mem::take(&mut self.free);
            let closed = self.changes(|change, make| match change.cmp(&W::zero()) {
                Ordering::Less => true,
                Ordering::Greater => false,
                Ordering::Equal => {
                    let to = make();
                    if known.insert(to) {
                        shelf.push(to);
                    }
                    !free.contains(&to)
                }
            });
            self.free = free;
            if !closed {
                if self.free.len() + next > KEPT {
                    self.free.clear();
                }
                self.free.extend(&shelf[..next]);
                return None;
            }
        }
        let least = shelf.iter().copied().min();
        for code in shelf {
            self.trapped.insert(code, least?);
        }
        least
    }

    /// Visits codes from a shelf on, those of the least cost first, until one has a higher reward,
    /// and says the cost of the way to it. `cost` is that of a way, from its cost so far, the reward
    /// lost at its last change, and the reward lost in all.
    fn flood(
        &mut self,
        shelf: Packed,
        cap: usize,
        cost: impl Fn(u128, u128, u128) -> u128,
    ) -> Option<u128> {
        let start = self.go(shelf).to_u128();
        let mut waiting = BinaryHeap::from([(Reverse(0), start, shelf)]);
        let mut cheapest = HashMap::from([(shelf, 0)]);
        while let Some((Reverse(spent), reward, code)) = waiting.pop() {
            if reward > start {
                return Some(spent);
            }
            if cheapest.len() > cap {
                return None;
            }
            if cheapest[&code] < spent {
                continue;
            }
            let here = self.go(code);
            self.changes(|change, make| {
                let there = (here + change).to_u128();
                let lost = here.to_u128().saturating_sub(there);
                let cost = cost(spent, lost, start.saturating_sub(there));
                let to = make();
                let known = cheapest.entry(to).or_insert(u128::MAX);
                if cost < *known {
                    *known = cost;
                    waiting.push((Reverse(cost), there, to));
                }
                true
            });
        }
        None
    }

    pub fn barrier(&mut self, shelf: Packed, cap: usize) -> Option<u128> {
        self.flood(shelf, cap, |spent, _, deep| spent.max(deep))
    }

    pub fn largest_loss(&mut self, shelf: Packed, cap: usize) -> Option<u128> {
        self.flood(shelf, cap, |spent, lost, _| spent.max(lost))
    }
}
