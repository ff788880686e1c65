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

use super::steps::{Message, Passage, Step, Steps};
use super::weight::Whole;
use super::Engine;
use crate::class::{Class, Group};
use crate::policy::Code;
use crate::quasigroup::Symbol;
use dashu_int::UBig;
use std::collections::BTreeMap;
use std::mem::{replace, swap, take};
use std::ops::Range;

/// A message for every node as it is now and as its reader last saw it.
struct Ledger<W> {
    now: Vec<W>,
    seen: Vec<W>,
    /// By message: the blocks in which the two may differ, each once.
    stale: Vec<Vec<u32>>,
    is_stale: Vec<bool>,
}

impl<W: Whole> Ledger<W> {
    fn new(steps: &Steps<W>) -> Ledger<W> {
        let last = steps.messages[steps.messages.len() - 1];
        let numbers = last.end();
        Ledger {
            now: vec![W::zero(); numbers],
            seen: vec![W::zero(); numbers],
            stale: vec![Vec::new(); steps.messages.len()],
            is_stale: vec![false; last.first_block + last.blocks],
        }
    }

    #[inline]
    fn mark(&mut self, message: usize, first_block: usize, block: usize) {
        if !replace(&mut self.is_stale[first_block + block], true) {
            self.stale[message].push(block as u32);
        }
    }

    /// Writes how a block differs from what its reader saw, and says whether it does.
    #[inline]
    fn show(&mut self, message: &Message, block: usize, change: &mut [W]) -> bool {
        self.is_stale[message.first_block + block] = false;
        let place = message.place(block);
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
    /// So many of the first nodes of the group can be followed by one that consults it again.
    returns: usize,
}

/// The first and last step at which the cells of a group are consulted.
#[derive(Clone, Copy)]
struct Span {
    first: usize,
    last: usize,
}

/// The exact reward of a code, by messages.
pub(super) struct States<W> {
    steps: Steps<W>,
    code: Code,
    reward: W,
    groups: Vec<Group>,
    /// By group and window: [`Place::returns`].
    returns: Vec<Vec<u32>>,
    spans: Vec<Span>,
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
    earned: Vec<W>,
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
        let span = |members: &Vec<usize>| {
            let t = members.iter().map(|&n| steps.steps[n].t);
            let first = t.clone().min().expect("a group has nodes");
            Span { first, last: t.max().expect("a group has nodes") }
        };
        let mut states = States {
            code,
            spans: steps.members.iter().map(span).collect(),
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
            earned: vec![W::zero(); class.q()],
            waiting: Vec::new(),
            steps,
        };
        states.sent.now[0] = W::of(&UBig::ONE);
        states.sent.mark(0, 0, 0);
        for (n, step) in states.steps.steps.iter().enumerate() {
            for place in states.steps.right_answers(class, n).into_iter().filter(|_| step.lift.is_some()) {
                let message = states.steps.written(n);
                states.returned.now[place] = step.lift.expect("filtered");
                states.returned.mark(n + 1, message.first_block, (place - message.start) / message.width);
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
            returns: self.returns[group][rank as usize] as usize,
        }
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
        swap(&mut self.waiting, &mut self.sent.stale[message]);
        let read = self.steps.messages[message];
        for &block in &self.waiting {
            let block = block as usize;
            let change = &mut self.change[..read.width];
            if !self.sent.show(&read, block, change) {
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
                    self.sent.mark(n + 1, written.first_block, to);
                    let place = written.place(to) + passage.offset as usize;
                    let row = &mut self.sent.now[place..][..step.width];
                    for (change, &e) in change.iter().zip(self.steps.moves(step, passage)) {
                        row[e as usize] += *change * passage.weight;
                    }
                }
            }
        }
        self.waiting.clear();
        swap(&mut self.waiting, &mut self.sent.stale[message]);
    }

    /// Adds what changed in what is returned to node `n` to what it returns.
    fn give_back(&mut self, n: usize) {
        swap(&mut self.waiting, &mut self.returned.stale[n + 1]);
        let (step, written) = (&self.steps.steps[n], self.steps.written(n));
        let read = self.steps.messages[step.reads];
        for &block in &self.waiting {
            let block = block as usize;
            let change = &mut self.change[..written.width];
            if !self.returned.show(written, block, change) {
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
                    self.returned.mark(step.reads, read.first_block, from);
                    let row = &mut self.returned.now[read.place(from)..][..step.width];
                    let change = &change[passage.offset as usize..];
                    for (to, &e) in row.iter_mut().zip(self.steps.moves(step, passage)) {
                        *to += change[e as usize] * passage.weight;
                    }
                }
            }
        }
        self.waiting.clear();
        swap(&mut self.waiting, &mut self.returned.stale[n + 1]);
    }

    /// Writes alpha at a cell as it stands after the step, and says whether a rollout is there.
    #[inline]
    fn alpha(&self, sent: &[W], step: &Step<W>, passage: &Passage<W>, h: usize, row: &mut [W]) -> bool {
        let from = self.steps.messages[step.reads].place(passage.from as usize + h);
        let mut visited = false;
        for (weight, &e) in sent[from..][..step.width].iter().zip(self.steps.moves(step, passage)) {
            row[e as usize] = *weight * passage.weight;
            visited |= *weight != W::zero();
        }
        visited && passage.weight != W::zero()
    }

    /// The first number of the block that the cell's rollouts go to with token 0.
    #[inline]
    fn target(&self, n: usize, passage: &Passage<W>, h: usize) -> usize {
        let to = passage.to as usize + self.steps.steps[n].shifts[h] as usize;
        self.steps.written(n).place(to) + passage.offset as usize
    }

    /// Counts, for each action, the weight with which the rollouts that consult the cell would earn
    /// the reward, and says whether one of them may consult it again.
    fn count(&mut self, place: Place) -> bool {
        let (mut earned, mut row) = (take(&mut self.earned), take(&mut self.row));
        earned.fill(W::zero());
        let mut returns = false;
        for (i, &n) in self.steps.members[place.group].iter().enumerate() {
            let (step, width) = (&self.steps.steps[n], self.steps.written(n).width);
            let row = &mut row[..step.width];
            for passage in step.passages[place.window..].iter().step_by(step.windows) {
                if !self.alpha(&self.sent.now, step, passage, place.history, row) {
                    continue;
                }
                returns |= i < place.returns;
                let returned = &self.returned.now[self.target(n, passage, place.history)..];
                for (a, sum) in earned.iter_mut().enumerate() {
                    let beta = &returned[a * width..][..row.len()];
                    for (alpha, beta) in row.iter().zip(beta) {
                        *sum += *alpha * *beta;
                    }
                }
            }
        }
        (self.earned, self.row) = (earned, row);
        returns
    }

    /// Gives the cell another action and sends on the rollouts that consult it.
    fn redirect(&mut self, cell: usize, place: Place, action: Symbol) {
        let (old, new) = (self.code.action(cell) as usize, action as usize);
        self.code.set(cell, action);
        let mut row = take(&mut self.row);
        for &n in &self.steps.members[place.group] {
            let (step, written) = (&self.steps.steps[n], *self.steps.written(n));
            let width = written.width;
            if !step.is_read {
                continue;
            }
            let row = &mut row[..step.width];
            for passage in step.passages[place.window..].iter().step_by(step.windows) {
                if !self.alpha(&self.sent.seen, step, passage, place.history, row) {
                    continue;
                }
                let to = passage.to as usize + step.shifts[place.history] as usize;
                let target = self.target(n, passage, place.history);
                self.sent.mark(n + 1, written.first_block, to + old);
                self.sent.mark(n + 1, written.first_block, to + new);
                for (e, alpha) in row.iter().enumerate() {
                    self.sent.now[target + old * width + e] -= *alpha;
                    self.sent.now[target + new * width + e] += *alpha;
                }
                self.stale_from = self.stale_from.min(step.t);
            }
        }
        self.row = row;
    }

    /// Returns the change of action from `old` to `new` to the nodes before those of the cell.
    fn recall(&mut self, place: Place, old: Symbol, new: Symbol) {
        let h = place.history;
        for &n in &self.steps.members[place.group] {
            let (step, width) = (&self.steps.steps[n], self.steps.written(n).width);
            for passage in step.passages[place.window..].iter().step_by(step.windows) {
                let target = self.target(n, passage, h);
                let from = passage.from as usize + h;
                let read = self.steps.messages[step.reads];
                let mut differs = false;
                for (e, &to) in self.steps.moves(step, passage).iter().enumerate() {
                    let beta = |a: Symbol| self.returned.seen[target + a as usize * width + to as usize];
                    let change = (beta(new) - beta(old)) * passage.weight;
                    self.returned.now[read.place(from) + e] += change;
                    differs |= change != W::zero();
                }
                if differs {
                    self.returned.mark(step.reads, read.first_block, from);
                    self.stale_to = self.stale_to.max(step.t - 1);
                }
            }
        }
    }
}

impl<W: Whole> Engine for States<W> {
    fn code(&self) -> &Code {
        &self.code
    }

    fn reward(&self) -> u128 {
        self.reward.to_u128()
    }

    fn rewards(&mut self, cell: usize, rewards: &mut [u128]) {
        let (place, old) = (self.place(cell), self.code.action(cell));
        let Span { first, last } = self.spans[place.group];
        self.pass_backward(first);
        self.pass_forward(last - 1);
        if !self.count(place) {
            let rest = self.reward - self.earned[old as usize];
            for (to, earned) in rewards.iter_mut().zip(&self.earned) {
                *to = (rest + *earned).to_u128();
            }
            return;
        }
        for (a, to) in rewards.iter_mut().enumerate() {
            *to = self.reward();
            if a != old as usize {
                self.redirect(cell, place, a as Symbol);
                self.pass_forward(last - 1);
                self.count(place);
                *to = (self.reward - self.earned[old as usize] + self.earned[a]).to_u128();
            }
        }
        self.redirect(cell, place, old);
    }

    fn set(&mut self, cell: usize, action: Symbol) {
        let (place, old) = (self.place(cell), self.code.action(cell));
        if old == action {
            return;
        }
        let Span { first, last } = self.spans[place.group];
        self.pass_backward(first);
        self.redirect(cell, place, action);
        self.pass_forward(last - 1);
        self.count(place);
        self.reward += self.earned[action as usize] - self.earned[old as usize];
        self.recall(place, old, action);
    }

    fn block(&mut self, t: usize, block: &mut Vec<u128>) -> Range<usize> {
        self.pass_forward(t - 1);
        self.pass_backward(t);
        let of_step = |group: &&Group| group.t == Some(t);
        let first = self.groups.iter().find(of_step).expect("a step of an untied class").first_cell;
        let end = first + self.groups.iter().filter(of_step).map(|group| group.cells).sum::<usize>();
        block.clear();
        for cell in first..end {
            self.count(self.place(cell));
            block.extend(self.earned.iter().map(|earned| earned.to_u128()));
        }
        first..end
    }
}

/// By group and window: [`Place::returns`]. A window can be seen again at a distance if it has that
/// period, or does not reach so far.
fn returns<W: Whole>(class: &Class, steps: &Steps<W>) -> Vec<Vec<u32>> {
    let (q, nodes) = (class.q(), class.nodes());
    let of_group = |(group, members): (&Group, &Vec<usize>)| -> Vec<u32> {
        let mut first_nodes = BTreeMap::new();
        for &n in members {
            let earlier = std::iter::successors(nodes[n].parent, |&parent| nodes[parent].parent);
            for (distance, n) in (1..).zip(earlier) {
                if let Ok(member) = members.binary_search(&n) {
                    let count = first_nodes.entry(distance).or_insert(0);
                    *count = (member as u32 + 1).max(*count);
                }
            }
        }
        let symbols = group.before + 1 + group.after;
        let repeats = |w: usize, distance: usize| {
            let kept = symbols.saturating_sub(distance) as u32;
            w / q.pow(symbols as u32 - kept) == w % q.pow(kept)
        };
        let count = |w: usize| {
            let all = first_nodes.iter().filter(|(distance, _)| repeats(w, **distance));
            all.map(|(_, &count)| count).max().unwrap_or(0)
        };
        (0..group.windows()).map(|rank| count(group.window(rank))).collect()
    };
    class.groups().iter().zip(&steps.members).map(of_group).collect()
}
