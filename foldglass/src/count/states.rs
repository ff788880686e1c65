//! Keeps the reward of a code by messages between the steps of its rollouts (paper, App. A).
//!
//! `sent` holds alpha, the weight of the rollouts that reach (e, k, h) after a step; `returned`
//! holds beta, the weight with which they still earn the reward. No alpha times beta exceeds the
//! denominator, nor does a sum of them over the states of one step: alpha sums to the product D of
//! the denominators of the positions seen, and beta is at most (lengths) * (common denominator) / D.
//! A difference of two such numbers, in part or whole, stays within the same bound. So the integers
//! chosen by the denominator never overflow, and tests run with overflow checks.
//!
//! **A changed cell** changes blocks of the message its node writes (forward) and of the one it
//! reads (backward). The changes wait there, and travel on, as differences, when a step further on
//! is asked for: a sweep over one step pays for one passage.
//!
//! **Tying.** Let J' be the reward with action a' instead of a at cell c. Summed over all nodes that
//! consult c and all states, J' - J = sum alpha' (beta(a') - beta(a)), alpha' under the new code and
//! beta under the old. Where no rollout can consult c twice, alpha' = alpha there. Else alpha' is
//! passed forward from the first of these nodes to the last, once for each action: the cost is that
//! of q partial forward passes.

use super::steps::{Passage, Step, Steps};
use super::weight::Whole;
use super::Engine;
use crate::class::{Class, Group};
use crate::policy::Code;
use crate::quasigroup::Symbol;
use dashu_int::UBig;
use std::ops::Range;

/// A message for every node as it is now and as its reader last saw it.
struct Ledger<W> {
    now: Vec<W>,
    seen: Vec<W>,
    /// By message: the blocks in which the two may differ, each once.
    stale: Vec<Vec<u32>>,
    is_stale: Vec<Vec<bool>>,
}

impl<W: Whole> Ledger<W> {
    fn new(steps: &Steps<W>) -> Ledger<W> {
        let numbers = steps.messages[steps.messages.len() - 1].end();
        Ledger {
            now: vec![W::zero(); numbers],
            seen: vec![W::zero(); numbers],
            stale: vec![Vec::new(); steps.messages.len()],
            is_stale: steps.messages.iter().map(|message| vec![false; message.blocks]).collect(),
        }
    }

    #[inline]
    fn mark(&mut self, message: usize, block: usize) {
        if !std::mem::replace(&mut self.is_stale[message][block], true) {
            self.stale[message].push(block as u32);
        }
    }

    /// Writes how a block differs from what its reader saw, and says whether it does.
    #[inline]
    fn show(&mut self, message: usize, block: usize, place: usize, change: &mut [W]) -> bool {
        self.is_stale[message][block] = false;
        let now = &self.now[place..][..change.len()];
        let seen = &mut self.seen[place..][..change.len()];
        let mut differs = false;
        for ((change, now), seen) in change.iter_mut().zip(now).zip(seen) {
            *change = *now - *seen;
            *seen = *now;
            differs |= *change != W::zero();
        }
        differs
    }
}

/// What a cell is to the nodes of its group.
#[derive(Clone, Copy)]
struct Place {
    group: usize,
    window: usize,
    history: usize,
    /// Whether some rollout may consult it twice.
    returns: bool,
}

pub(super) struct States<W> {
    steps: Steps<W>,
    code: Code,
    reward: W,
    groups: Vec<Group>,
    /// By group: whether a rollout can see the n-th window twice.
    returns: Vec<Vec<bool>>,
    /// The messages of each step; step 0 is before t = 1.
    at_step: Vec<Vec<usize>>,
    sent: Ledger<W>,
    returned: Ledger<W>,
    /// No message before this step has sent changes waiting.
    stale_from: usize,
    /// No message after this step has returned changes waiting.
    stale_to: usize,
    change: Vec<W>,
    row: Vec<W>,
    waiting: Vec<u32>,
}

impl<W: Whole> States<W> {
    /// The bytes it takes; none from 2^128 on.
    pub fn bytes(class: &Class) -> Option<u128> {
        let number = size_of::<W>() as u128;
        // Two ledgers of two numbers, a flag and a place in a list each.
        let messages = Steps::<W>::size(class)?.checked_mul(2 * (2 * number + 1 + 4))?;
        let passages = Steps::<W>::windows(class).checked_mul(size_of::<Passage<W>>() as u128)?;
        messages.checked_add(passages)
    }

    pub fn new(class: &Class, code: Code) -> States<W> {
        let steps = Steps::new(class);
        let mut at_step = vec![Vec::new(); class.task().longest() + 1];
        at_step[0].push(0);
        steps.steps.iter().enumerate().for_each(|(n, step)| at_step[step.t].push(n + 1));
        let mut states = States {
            code,
            reward: W::zero(),
            groups: class.groups().to_vec(),
            returns: returns(class, &steps),
            sent: Ledger::new(&steps),
            returned: Ledger::new(&steps),
            stale_from: 0,
            stale_to: at_step.len() - 1,
            at_step,
            change: vec![W::zero(); class.q()],
            row: vec![W::zero(); class.q()],
            waiting: Vec::new(),
            steps,
        };
        states.sent.now[0] = W::of(&UBig::ONE);
        states.sent.mark(0, 0);
        for (n, step) in states.steps.steps.iter().enumerate() {
            for place in states.steps.right_answers(class, n).into_iter().filter(|_| step.lift.is_some()) {
                let message = states.steps.written(n);
                states.returned.now[place] = step.lift.expect("filtered");
                states.returned.mark(n + 1, (place - message.start) / message.width);
            }
        }
        states.pass_forward(states.at_step.len());
        states.pass_backward(0);
        states.reward = states.returned.now[0];
        states
    }

    fn place(&self, cell: usize) -> Place {
        let group = self.groups.partition_point(|group| group.first_cell <= cell) - 1;
        let Group { first_cell, histories, .. } = self.groups[group];
        let inner = (cell - first_cell) as u32;
        let (rank, history) = (inner / histories as u32, inner % histories as u32);
        Place {
            group,
            window: self.groups[group].window(rank as usize),
            history: history as usize,
            returns: self.returns[group][rank as usize],
        }
    }

    /// The steps at which the cells of a group are consulted.
    fn span(&self, group: usize) -> Range<usize> {
        let members = &self.steps.members[group];
        let t = |n: &usize| self.steps.steps[*n].t;
        let last = members.iter().map(t).max().expect("a group has nodes");
        members.iter().map(t).min().expect("a group has nodes")..last + 1
    }

    /// Lets the changes sent at steps before `step` arrive.
    fn pass_forward(&mut self, step: usize) {
        while self.stale_from < step {
            for i in 0..self.at_step[self.stale_from].len() {
                self.pass_on(self.at_step[self.stale_from][i]);
            }
            self.stale_from += 1;
        }
    }

    /// Lets the changes returned at steps after `step` arrive.
    fn pass_backward(&mut self, step: usize) {
        while self.stale_to > step {
            for i in 0..self.at_step[self.stale_to].len() {
                self.give_back(self.at_step[self.stale_to][i] - 1);
            }
            self.stale_to -= 1;
        }
    }

    /// Adds what changed in a message to those of its readers.
    fn pass_on(&mut self, message: usize) {
        std::mem::swap(&mut self.waiting, &mut self.sent.stale[message]);
        let read = self.steps.messages[message];
        for &block in &self.waiting {
            let block = block as usize;
            let change = &mut self.change[..read.width];
            if !self.sent.show(message, block, read.place(block), change) {
                continue;
            }
            for &n in &self.steps.readers[message] {
                let step = &self.steps.steps[n];
                if !step.is_read {
                    continue;
                }
                let (k, h) = (block / step.histories.0, block % step.histories.0);
                let written = self.steps.written(n);
                for passage in &step.passages[k * step.drawn..][..step.drawn] {
                    if passage.weight == W::zero() {
                        continue;
                    }
                    let token = self.code.action(passage.cell as usize + h) as usize;
                    let to = passage.to as usize + step.shifts[h] as usize + token;
                    self.sent.mark(n + 1, to);
                    let place = written.place(to) + passage.offset as usize;
                    let row = &mut self.sent.now[place..][..step.width];
                    for (change, &e) in change.iter().zip(self.steps.moves(step, passage)) {
                        row[e as usize] += *change * passage.weight;
                    }
                }
            }
        }
        self.waiting.clear();
        std::mem::swap(&mut self.waiting, &mut self.sent.stale[message]);
    }

    /// Adds what changed in what is returned to node `n` to what it returns.
    fn give_back(&mut self, n: usize) {
        std::mem::swap(&mut self.waiting, &mut self.returned.stale[n + 1]);
        let (step, written) = (&self.steps.steps[n], self.steps.written(n));
        let read = self.steps.messages[step.reads];
        for &block in &self.waiting {
            let block = block as usize;
            let change = &mut self.change[..written.width];
            if !self.returned.show(n + 1, block, written.place(block), change) {
                continue;
            }
            let (k, h) = (block / step.histories.1, block % step.histories.1);
            let (h, token) = (h / self.steps.q, (h % self.steps.q) as Symbol);
            for z in 0..step.lost_symbols.0 {
                let passage = &step.passages[z * step.lost_symbols.1 + k];
                if passage.weight == W::zero() {
                    continue;
                }
                for lost in 0..step.lost_tokens.0 {
                    let h = lost * step.lost_tokens.1 + h;
                    if self.code.action(passage.cell as usize + h) != token {
                        continue;
                    }
                    let from = passage.from as usize + h;
                    self.returned.mark(step.reads, from);
                    let row = &mut self.returned.now[read.place(from)..][..step.width];
                    let change = &change[passage.offset as usize..];
                    for (to, &e) in row.iter_mut().zip(self.steps.moves(step, passage)) {
                        *to += change[e as usize] * passage.weight;
                    }
                }
            }
        }
        self.waiting.clear();
        std::mem::swap(&mut self.waiting, &mut self.returned.stale[n + 1]);
    }

    /// Calls `f` for every way through node `n` that consults the cell: the step, the passage and
    /// the first number it reads.
    fn passages(&self, n: usize, place: Place) -> impl Iterator<Item = &Passage<W>> {
        let step = &self.steps.steps[n];
        let wider = self.groups[place.group].windows().max(place.window + 1);
        let _ = wider;
        step.passages[place.window..].iter().step_by(step.passages.len())
    }
}
