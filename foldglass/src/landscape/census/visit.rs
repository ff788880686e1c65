//! Visits the codes of the parts of a census, and counts.

use super::demands::{Compiled, Demands};
use super::descent::{Descent, forgets};
use super::walker::{Search, Walker};
use super::{Aim, Count, Frame, Part, Trap};
use crate::count::weight::Whole;
use crate::landscape::packed::relabel;
use crate::landscape::rungs::{Rung, Rungs};
use crate::quasigroup::Symbol;
use crate::watch::Tally;
use dashu_int::UBig;
use std::mem::take;

/// What is known of the last rung, given all others.
struct Last<W> {
    /// By cell: its allowed actions, and what each earns.
    allowed: Vec<Vec<(Symbol, W)>>,
    /// Tokens that no cell of the rung before emits, and that are left out of the visit: their cells
    /// matter only to a change of that rung to one of them, and to each of them alike.
    spare: Vec<Symbol>,
}

pub(super) struct Visit<'a, W> {
    census: &'a Frame,
    /// What all endings demand; none while they are visited.
    learned: Option<&'a Demands>,
    rungs: &'a Rungs<W>,
    tally: &'a Tally<'a>,
    stopped: bool,
    solved: u64,
    beta: Vec<W>,
    tolerance: W,
    last: Last<W>,
    walker: Walker<'a, W>,
    /// By rung: what the endings there demand.
    compiled: Vec<Option<Compiled<W>>>,
    count: Count,
    demands: Demands,
}

impl<'a, W: Whole + Ord> Visit<'a, W> {
    pub fn new(
        census: &'a Frame,
        learned: Option<&'a Demands>,
        rungs: &'a Rungs<W>,
        tally: &'a Tally<'a>,
    ) -> Visit<'a, W> {
        let last = rungs.rungs.last().map_or(0, |rung| rung.cells.len());
        Visit {
            census,
            learned,
            rungs,
            tally,
            stopped: false,
            solved: 0,
            beta: rungs.beta(),
            tolerance: W::of(&UBig::from(census.tolerance)),
            last: Last {
                allowed: vec![Vec::new(); last],
                spare: Vec::new(),
            },
            walker: Walker::new(census, rungs, tally),
            compiled: rungs.rungs.iter().map(|_| None).collect(),
            count: Count::default(),
            demands: Demands::default(),
        }
    }

    /// None when it was stopped.
    pub fn part(&mut self, part: &Part) -> Option<(Count, Demands)> {
        let (mut descent, weight) = self.census.descent(self.rungs, part);
        self.stopped = false;
        match part.aim {
            Aim::Beginnings => {
                let (first, end) = (part.stretch.first, part.stretch.end);
                let rung = &self.rungs.rungs[end];
                let demands = self.learned.expect("beginnings are visited after endings");
                let compiled = self.compiled[end].get_or_insert_with(|| demands.compile(end));
                // What is before a forgetting rung may be anything.
                let weight = weight * self.census.codes_before(self.rungs, first);
                let mut met = 0;
                descent.descend(part.begun, weight, &mut |descent, weight| {
                    self.solved += 1;
                    if self.solved.is_multiple_of(STOP_EVERY) && self.tally.add(0).is_break() {
                        self.stopped = true;
                    }
                    if self.stopped {
                        return;
                    }
                    met += weight * compiled.met(rung, &descent.alpha, self.tolerance);
                });
                self.count.local_maxima += met;
            }
            Aim::Codes | Aim::Endings => {
                descent.descend(part.begun, weight, &mut |descent, weight| {
                    if !self.stopped {
                        self.solve(part, descent, weight);
                    }
                });
            }
        }
        self.count.traps.sort();
        let found = (take(&mut self.count), take(&mut self.demands));
        (!self.stopped).then_some(found)
    }

    /// Tries the best actions of the last rung.
    fn solve(&mut self, part: &Part, descent: &mut Descent<W>, weight: u128) {
        let Descent { alpha, actions, .. } = descent;
        let last = self.rungs.rungs.len() - 1;
        self.last.spare.clear();
        if part.stretch.end > last {
            let reward = self.rungs.reward(alpha);
            return self.conclude(part, alpha, actions, reward, weight);
        }
        // The demands of an ending are those of its first rung on all tokens.
        if last > part.stretch.first + usize::from(part.aim == Aim::Endings) {
            let before = &actions[self.rungs.rungs[last - 1].cells.clone()];
            let tokens = 0..self.rungs.q as Symbol;
            let spare = tokens.filter(|token| !before.contains(token));
            self.last.spare.extend(spare);
        }
        let (rung, tolerance) = (&self.rungs.rungs[last], self.tolerance);
        for (cell, allowed) in rung.cells.clone().zip(&mut self.last.allowed) {
            allowed.clear();
            if self.last.spare.contains(&newest(rung, cell, self.rungs.q)) {
                allowed.push((0, W::zero()));
                continue;
            }
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
        let first = self.rungs.rungs[self.rungs.rungs.len() - 1].cells.start;
        if i == self.last.allowed.len() {
            return self.conclude(part, alpha, actions, reward, weight);
        }
        for n in 0..self.last.allowed[i].len() {
            if self.stopped {
                return;
            }
            let (action, earned) = self.last.allowed[i][n];
            actions[first + i] = action;
            self.vary(part, alpha, actions, i + 1, reward + earned, weight);
        }
    }

    /// Counts a code, or an ending, whose last step is not raised.
    fn conclude(&mut self, part: &Part, alpha: &[W], actions: &[Symbol], reward: W, weight: u128) {
        self.solved += 1;
        if self.solved.is_multiple_of(STOP_EVERY) && self.tally.add(0).is_break() {
            self.stopped = true;
            return;
        }
        let first = part.stretch.first;
        // The first rung of an ending is not raised where its demand is met.
        let checked = match part.aim {
            Aim::Endings => first + 1,
            _ => 0,
        };
        let optimal = reward == self.rungs.whole;
        if !optimal && !self.is_local_maximum(alpha, actions, checked) {
            return;
        }
        let fills = self.fills(part, alpha, actions, optimal);
        let before = self.census.codes_before(self.rungs, first);
        let weight = weight * fills.good;
        match part.aim {
            _ if weight == 0 => return,
            _ if optimal => {
                self.count.optimal += weight * before;
                return;
            }
            Aim::Endings => {
                let rung = (first, &self.rungs.rungs[first]);
                let exact = self.tolerance == W::zero();
                self.demands
                    .add(rung, &self.beta, actions, self.rungs.q, exact, weight);
            }
            _ => self.count.local_maxima += weight,
        }
        // All fills are on one shelf: if one of them can be raised, all are free.
        if self.tolerance == W::zero() && fills.all_are_good {
            let mut named = actions.to_vec();
            let memory = self.census.class.shape().memory;
            relabel(self.rungs, memory, &mut named, &mut Vec::new());
            let code = self.census.packing.pack(&named);
            match self.walker.trapped(code) {
                Search::Free => {}
                Search::Stopped => self.stopped = true,
                Search::Trapped(shelf) => self.count.traps.push(Trap {
                    reward: reward.to_u128(),
                    shelf,
                    code,
                    weight: weight * before,
                }),
            }
        }
    }

    /// Counts the ways to fill the cells of the spare tokens so that no change of the rung before
    /// to one of them raises the reward (any way, where it is 1 already). A last rung that forgets
    /// is no part of a stretch that tells forgetting codes apart.
    fn fills(&self, part: &Part, alpha: &[W], actions: &[Symbol], optimal: bool) -> Fills {
        let (q, last) = (self.rungs.q, self.rungs.rungs.len() - 1);
        let rung = &self.rungs.rungs[last];
        let splits = part.stretch.splits && last > 0 && part.stretch.first < last;
        let spare = &self.last.spare;
        if spare.is_empty() {
            return Fills {
                good: (!(splits && forgets(rung, actions))).into(),
                all_are_good: true,
            };
        }
        let kept = |cell: &usize| !spare.contains(&newest(rung, *cell, q));
        // Whether the cells of all other tokens forget, and what they emit by window.
        let mut column: Vec<Symbol> = Vec::new();
        let mut forgetting = splits;
        for window in 0..rung.cells.len() / rung.histories {
            let first = rung.cells.start + window * rung.histories;
            let mut cells = (first..first + rung.histories).filter(kept);
            let action = actions[cells.next().expect("the rung before emits a token")];
            forgetting &= cells.all(|cell| actions[cell] == action);
            column.push(action);
        }
        let token = spare[0];
        let cells: Vec<usize> = rung
            .cells
            .clone()
            .filter(|&c| newest(rung, c, q) == token)
            .collect();
        let (all, good, same) = match optimal {
            true => {
                let all = (q as u128).pow(cells.len() as u32);
                (all, all, true)
            }
            false => self.filled(alpha, actions, token, &cells, &column),
        };
        let power = |n: u128| n.pow(spare.len() as u32);
        Fills {
            good: power(good) - u128::from(forgetting && same),
            all_are_good: good == all,
        }
    }

    /// All ways to fill the cells of one token, the good ones, and whether `column` is one.
    fn filled(
        &self,
        alpha: &[W],
        actions: &[Symbol],
        token: Symbol,
        cells: &[usize],
        column: &[Symbol],
    ) -> (u128, u128, bool) {
        let (q, last) = (self.rungs.q, self.rungs.rungs.len() - 1);
        let (before, rung) = (&self.rungs.rungs[last - 1], &self.rungs.rungs[last]);
        let gain = |cell, beta: &[W]| {
            let now = before.earned(alpha, &self.beta, cell, actions[cell]) + self.tolerance;
            before.earned(alpha, beta, cell, token) - now
        };
        // By cell of the rung before: what it gains with no cell of the token filled, which is what
        // ends there; and by filled cell and action, how much more.
        let mut beta = self.rungs.right.clone();
        let base: Vec<W> = before.cells.clone().map(|cell| gain(cell, &beta)).collect();
        let mut more: Vec<Vec<Vec<W>>> = Vec::new();
        for &cell in cells {
            let mut by_action = Vec::new();
            for action in 0..q as Symbol {
                rung.give_back_one(&mut beta, cell, action);
                let gains = before.cells.clone().map(|cell| gain(cell, &beta));
                by_action.push(gains.zip(&base).map(|(gain, &base)| gain - base).collect());
                rung.take_back_one(&mut beta, cell, action);
            }
            more.push(by_action);
        }
        let windows = cells.len() / column.len();
        let same = base.iter().enumerate().all(|(n, &base)| {
            let sum = more.iter().enumerate().fold(base, |sum, (i, by_action)| {
                sum + by_action[column[i / windows] as usize][n]
            });
            sum <= W::zero()
        });
        let all = (q as u128).pow(cells.len() as u32);
        (all, good_ways(&more, base), same)
    }

    /// Whether no change of the rungs from `first` on, but the last, raises the reward; changes to
    /// spare tokens are left out. Beta is that of the code then, after rung `first` - 1.
    fn is_local_maximum(&mut self, alpha: &[W], actions: &[Symbol], first: usize) -> bool {
        let last = self.rungs.rungs.len() - 1;
        for r in (first..=last).rev() {
            let rung = &self.rungs.rungs[r];
            for cell in rung.cells.clone().filter(|_| r < last) {
                let now = rung.earned(alpha, &self.beta, cell, actions[cell]) + self.tolerance;
                for action in (0..self.rungs.q as Symbol).filter(|&a| a != actions[cell]) {
                    let is_spare = r + 1 == last && self.last.spare.contains(&action);
                    if !is_spare && rung.earned(alpha, &self.beta, cell, action) > now {
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

/// How many beginnings, or solutions of the last rung, are counted between two questions whether to stop.
const STOP_EVERY: u64 = 4096;

/// Ways to fill the cells of spare tokens.
struct Fills {
    good: u128,
    /// Whether no way at all raises the reward.
    all_are_good: bool,
}

/// The last token that a cell remembers.
fn newest<W: Whole>(rung: &Rung<W>, cell: usize, q: usize) -> Symbol {
    ((cell - rung.cells.start) % rung.histories % q) as Symbol
}

/// In how many ways one row of each list can be added to `sums` so that none of them is above zero.
/// No number in a row is negative.
fn good_ways<W: Whole + Ord>(lists: &[Vec<Vec<W>>], sums: Vec<W>) -> u128 {
    if sums.iter().any(|sum| *sum > W::zero()) {
        return 0;
    }
    let Some((rows, rest)) = lists.split_first() else {
        return 1;
    };
    let with = |row: &Vec<W>| {
        sums.iter()
            .zip(row)
            .map(|(&sum, &more)| sum + more)
            .collect()
    };
    rows.iter().map(|row| good_ways(rest, with(row))).sum()
}
