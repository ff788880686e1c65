//! Visits the codes of the parts of a census, and counts.

use super::demands::{Compiled, Demands};
use super::descent::{Descent, forgets};
use super::walker::Walker;
use super::{Aim, Census, Count, Part, Trap};
use crate::count::weight::Whole;
use crate::landscape::packed::relabel;
use crate::landscape::rungs::Rungs;
use crate::quasigroup::Symbol;
use dashu_int::UBig;
use std::mem::take;

pub(super) struct Visit<'a, W> {
    census: &'a Census,
    rungs: &'a Rungs<W>,
    beta: Vec<W>,
    tolerance: W,
    /// By cell of the last rung: its allowed actions, and what each earns.
    allowed: Vec<Vec<(Symbol, W)>>,
    walker: Walker<'a, W>,
    /// By rung: what the endings there demand.
    compiled: Vec<Option<Compiled<W>>>,
    count: Count,
    demands: Demands,
}

impl<'a, W: Whole + Ord> Visit<'a, W> {
    pub fn new(census: &'a Census, rungs: &'a Rungs<W>) -> Visit<'a, W> {
        let last = rungs.rungs.last().map_or(0, |rung| rung.cells.len());
        Visit {
            census,
            rungs,
            beta: rungs.beta(),
            tolerance: W::of(&UBig::from(census.tolerance)),
            allowed: vec![Vec::new(); last],
            walker: Walker::new(census, rungs),
            compiled: rungs.rungs.iter().map(|_| None).collect(),
            count: Count::default(),
            demands: Demands::default(),
        }
    }

    pub fn part(&mut self, part: &Part) -> (Count, Demands) {
        let (mut descent, weight) = self.census.descent(self.rungs, part);
        match part.aim {
            Aim::Beginnings => {
                let (first, end) = (part.stretch.first, part.stretch.end);
                let rung = &self.rungs.rungs[end];
                let demands = &self.census.demands;
                let compiled = self.compiled[end].get_or_insert_with(|| demands.compile(end));
                // What is before a forgetting rung may be anything.
                let weight = weight * self.census.codes_before(self.rungs, first);
                let mut met = 0;
                descent.descend(part.begun, weight, &mut |descent, weight| {
                    met += weight * compiled.met(rung, &descent.alpha, self.tolerance);
                });
                self.count.local_maxima += met;
            }
            Aim::Codes | Aim::Endings => {
                descent.descend(part.begun, weight, &mut |descent, weight| {
                    self.solve(part, descent, weight);
                });
            }
        }
        self.count.traps.sort();
        (take(&mut self.count), take(&mut self.demands))
    }

    /// Tries the best actions of the last rung.
    fn solve(&mut self, part: &Part, descent: &mut Descent<W>, weight: u128) {
        let Descent { alpha, actions, .. } = descent;
        let last = self.rungs.rungs.len() - 1;
        if part.stretch.end > last {
            let reward = self.rungs.reward(alpha);
            return self.conclude(part, alpha, actions, reward, weight);
        }
        let (rung, tolerance) = (&self.rungs.rungs[last], self.tolerance);
        for (cell, allowed) in rung.cells.clone().zip(&mut self.allowed) {
            allowed.clear();
            let mut best = W::zero();
            for action in 0..self.rungs.q as Symbol {
                let earned = rung.earned(alpha, &self.rungs.right, cell, action);
                if earned > best {
                    best = earned;
                    allowed.retain(|&(_, less)| less + tolerance >= best);
                }
                if earned + tolerance >= best {
                    allowed.push((action, earned));
                }
            }
        }
        let settled = rung.settled(alpha);
        self.vary(part, alpha, actions, 0, settled, weight);
    }

    /// Goes through the allowed actions of the cells of the last rung.
    fn vary(
        &mut self,
        part: &Part,
        alpha: &[W],
        actions: &mut [Symbol],
        i: usize,
        reward: W,
        weight: u128,
    ) {
        let rung = &self.rungs.rungs[self.rungs.rungs.len() - 1];
        if i < self.allowed.len() {
            for n in 0..self.allowed[i].len() {
                let (action, earned) = self.allowed[i][n];
                actions[rung.cells.start + i] = action;
                self.vary(part, alpha, actions, i + 1, reward + earned, weight);
            }
        } else if !(part.stretch.splits && self.rungs.rungs.len() > 1 && forgets(rung, actions)) {
            self.conclude(part, alpha, actions, reward, weight);
        }
    }

    /// Counts a code, or an ending, whose last step is not raised.
    fn conclude(&mut self, part: &Part, alpha: &[W], actions: &[Symbol], reward: W, weight: u128) {
        let first = part.stretch.first;
        let before = self.census.codes_before(self.rungs, first);
        if reward == self.rungs.whole {
            self.count.optimal += weight * before;
            return;
        }
        // The first rung of an ending is not raised where its demand is met.
        let checked = if part.aim == Aim::Endings {
            first + 1
        } else {
            0
        };
        if !self.is_local_maximum(alpha, actions, checked) {
            return;
        }
        match part.aim {
            Aim::Endings => {
                let rung = (first, &self.rungs.rungs[first]);
                let exact = self.tolerance == W::zero();
                self.demands
                    .add(rung, &self.beta, actions, self.rungs.q, exact, weight);
            }
            _ => self.count.local_maxima += weight,
        }
        if self.tolerance == W::zero() {
            let mut named = actions.to_vec();
            relabel(
                self.rungs,
                self.census.class.shape().memory,
                &mut named,
                &mut Vec::new(),
            );
            let code = self.census.packing.pack(&named);
            if let Some(shelf) = self.walker.trapped(code) {
                self.count.traps.push(Trap {
                    reward: reward.to_u128(),
                    shelf,
                    code,
                    weight: weight * before,
                });
            }
        }
    }

    /// Whether no change of the rungs from `first` on, but the last, raises the reward. Beta is that
    /// of the code then, after rung `first` - 1.
    fn is_local_maximum(&mut self, alpha: &[W], actions: &[Symbol], first: usize) -> bool {
        let last = self.rungs.rungs.len() - 1;
        for r in (first..=last).rev() {
            let rung = &self.rungs.rungs[r];
            for cell in rung.cells.clone().filter(|_| r < last) {
                let now = rung.earned(alpha, &self.beta, cell, actions[cell]) + self.tolerance;
                for action in (0..self.rungs.q as Symbol).filter(|&a| a != actions[cell]) {
                    if rung.earned(alpha, &self.beta, cell, action) > now {
                        return false;
                    }
                }
            }
            if r > 0 {
                rung.give_back(&mut self.beta, &self.rungs.right, actions);
            }
        }
        true
    }
}
