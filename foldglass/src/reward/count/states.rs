//! Keeps the reward of a code by messages between the steps of its rollouts (paper, App. A).
//!
//! `sent` holds alpha, the weight of the rollouts that reach (e, k, h) after a step; `returned`
//! holds beta, the weight with which they still earn the reward.
//!
//! **A changed cell** changes blocks of the message that its node writes (forward) and of the one it
//! reads (backward). Changes wait in a message, as what its reader has not seen, until a step beyond
//! is asked for: any number of changes at one step travel together.
//!
//! **Tying.** Let J' be the reward with action a' instead of a at cell c. Summed over the states at
//! all nodes that consult c, J' - J = sum alpha' (beta(a') - beta(a)), alpha' under the new code and
//! beta under the old. Where no rollout can come to c again, alpha' = alpha. Else alpha' is passed
//! forward, from the first of these nodes to the last, for every action: the cost of a question is
//! then at most that of q forward passes.

use super::Engine;
use super::places::{GroupPlace, places};
use super::steps::{Message, Passage, Step, Steps};
use super::weight::Whole;
use crate::model::class::Class;
use crate::model::operation::Symbol;
use crate::model::policy::Code;
use dashu_int::UBig;
use std::mem::{replace, swap, take};

/// Every message as it is now and as its reader last saw it.
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
        Ledger {
            now: vec![W::zero(); last.end()],
            seen: vec![W::zero(); last.end()],
            stale: vec![Vec::new(); steps.messages.len()],
            is_stale: vec![false; last.first_block + last.blocks],
        }
    }

    #[inline]
    fn mark(&mut self, message: &Message, block: usize) {
        if !replace(&mut self.is_stale[message.first_block + block], true) {
            self.stale[message.number].push(block as u32);
        }
    }

    /// Shows the reader how a block differs from what it saw, and says whether it does.
    #[inline]
    fn show(&mut self, message: &Message, block: usize, change: &mut [W]) -> bool {
        self.is_stale[message.first_block + block] = false;
        let now = &self.now[message.place(block)..][..message.width];
        let seen = &mut self.seen[message.place(block)..][..message.width];
        let mut differs = false;
        for ((change, now), seen) in change.iter_mut().zip(now).zip(seen) {
            *change = *now - *seen;
            *seen = *now;
            differs |= *change != W::zero();
        }
        differs
    }
}

/// The exact reward of a code, by messages.
pub(super) struct States<W> {
    steps: Steps<W>,
    code: Code,
    reward: W,
    places: Vec<GroupPlace>,
    /// By group: the first and the last step that consults its cells.
    spans: Vec<(usize, usize)>,
    /// By step: its messages. Step 0 comes before t = 1.
    at_step: Vec<Vec<usize>>,
    sent: Ledger<W>,
    returned: Ledger<W>,
    /// No message of an earlier step has changes to send.
    stale_from: usize,
    /// No message of a later step has changes to return.
    stale_to: usize,
    /// Room for a row, a change, a list of blocks, and what each action earns, and earns at a node.
    row: Vec<W>,
    change: Vec<W>,
    waiting: Vec<u32>,
    earned: Vec<W>,
    here: Vec<W>,
}

impl<W: Whole> States<W> {
    /// The bytes it takes; none from 2^128 on.
    pub fn bytes(class: &Class) -> Option<u128> {
        let size = |count: u128, bytes: usize| count.checked_mul(bytes as u128);
        let cells = size_of::<GroupPlace>() + size_of::<Symbol>();
        let parts = [
            // Each of two ledgers holds two numbers, a flag and a place in a list.
            size(Steps::<W>::size(class)?, 2 * (2 * size_of::<W>() + 1 + 4)),
            size(Steps::<W>::windows(class), size_of::<Passage<W>>()),
            size(class.cells() as u128, cells),
            size((class.q() * class.q()) as u128, size_of::<Symbol>()),
        ];
        parts
            .into_iter()
            .try_fold(0u128, |sum, part| sum.checked_add(part?))
    }

    pub fn new(class: &Class, code: Code) -> States<W> {
        let steps = Steps::new(class);
        let mut at_step = vec![Vec::new(); class.task().longest() + 1];
        at_step[0].push(0);
        for (n, step) in steps.steps.iter().enumerate() {
            at_step[step.t].push(n + 1);
        }
        let span = |members: &Vec<usize>| {
            let t = members.iter().map(|&n| steps.steps[n].t);
            t.clone().min().zip(t.max()).expect("a group has nodes")
        };
        let mut states = States {
            code,
            reward: W::zero(),
            places: places(class, &steps.members),
            spans: steps.members.iter().map(span).collect(),
            sent: Ledger::new(&steps),
            returned: Ledger::new(&steps),
            stale_from: 0,
            stale_to: class.task().longest(),
            at_step,
            row: vec![W::zero(); class.q()],
            change: vec![W::zero(); class.q()],
            waiting: Vec::new(),
            earned: vec![W::zero(); class.q()],
            here: vec![W::zero(); class.q()],
            steps,
        };
        states.sent.now[0] = W::of(&UBig::ONE);
        states.sent.mark(&states.steps.messages[0], 0);
        for (n, step) in states.steps.steps.iter().enumerate() {
            let Some(lift) = step.lift else { continue };
            let message = states.steps.written(n);
            for place in states.steps.right_answers(class, n) {
                states.returned.now[place] = lift;
                states
                    .returned
                    .mark(message, (place - message.start) / message.width);
            }
        }
        states.pass_forward(class.task().longest());
        states.pass_backward(0);
        states.reward = states.returned.now[0];
        states
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

    /// Adds what changed in a message to those that its readers write.
    fn pass_on(&mut self, message: usize) {
        swap(&mut self.waiting, &mut self.sent.stale[message]);
        let read = &self.steps.messages[message];
        for block in self.waiting.iter().map(|&block| block as usize) {
            let change = &mut self.change[..read.width];
            if !self.sent.show(read, block, change) {
                continue;
            }
            for &n in &self.steps.readers[message] {
                let (step, written) = (&self.steps.steps[n], self.steps.written(n));
                if !step.is_read {
                    continue;
                }
                let (k, h) = (block / step.histories.0, block % step.histories.0);
                for passage in &step.passages[k * step.drawn..][..step.drawn] {
                    if passage.weight == W::zero() {
                        continue;
                    }
                    let token = self.code.action(passage.cell as usize + h) as usize;
                    let to = step.target(passage, h) + token;
                    self.sent.mark(written, to);
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

    /// Adds what changed in the message returned to node `n` to the one it returns.
    fn give_back(&mut self, n: usize) {
        swap(&mut self.waiting, &mut self.returned.stale[n + 1]);
        let (step, written) = (&self.steps.steps[n], self.steps.written(n));
        let read = &self.steps.messages[step.reads];
        for block in self.waiting.iter().map(|&block| block as usize) {
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
                let change = &change[passage.offset as usize..];
                for h in (0..step.lost_tokens.0).map(|lost| lost * step.lost_tokens.1 + h) {
                    if self.code.action(passage.cell as usize + h) != token {
                        continue;
                    }
                    let from = passage.from as usize + h;
                    self.returned.mark(read, from);
                    let row = &mut self.returned.now[read.place(from)..][..step.width];
                    for (to, &e) in row.iter_mut().zip(self.steps.moves(step, passage)) {
                        *to += change[e as usize] * passage.weight;
                    }
                }
            }
        }
        self.waiting.clear();
        swap(&mut self.waiting, &mut self.returned.stale[n + 1]);
    }

    /// The alpha of a cell, as `sent` has it, before the weight of the symbols drawn.
    #[inline]
    fn alpha<'a>(&self, sent: &'a [W], step: &Step<W>, passage: &Passage<W>, h: usize) -> &'a [W] {
        let from = self.steps.messages[step.reads].place(passage.from as usize + h);
        &sent[from..][..step.width]
    }

    /// Writes alpha where the step leaves it, folds that become one added up, and says whether any rollout
    /// is there.
    #[inline]
    fn move_row(&self, step: &Step<W>, passage: &Passage<W>, alpha: &[W], row: &mut [W]) -> bool {
        let mut visited = false;
        row.fill(W::zero());
        for (alpha, &e) in alpha.iter().zip(self.steps.moves(step, passage)) {
            let weight = *alpha * passage.weight;
            row[e as usize] += weight;
            visited |= weight != W::zero();
        }
        visited
    }

    /// Whether a rollout that consults the cell may come to it again.
    fn comes_again(&self, place: GroupPlace) -> bool {
        let members = &self.steps.members[place.group as usize];
        members[..place.returns as usize].iter().any(|&n| {
            let step = &self.steps.steps[n];
            step.through(place.window).any(|passage| {
                let alpha = self.alpha(&self.sent.now, step, passage, place.history as usize);
                alpha.iter().any(|alpha| *alpha != W::zero())
            })
        })
    }

    /// Counts what the rollouts that consult a cell earn with each action, all else as it is. Where
    /// several nodes consult it, this is what they earn more than with the action `base`: summed
    /// from the first node on, that is the reward of one code less that of another, while the sum
    /// of what they earn could pass the denominator.
    fn count(&mut self, place: GroupPlace, base: Symbol) {
        let (mut earned, mut here) = (take(&mut self.earned), take(&mut self.here));
        let (h, mut row) = (place.history as usize, take(&mut self.row));
        let members = &self.steps.members[place.group as usize];
        earned.fill(W::zero());
        for &n in members {
            let (step, written) = (&self.steps.steps[n], self.steps.written(n));
            let row = &mut row[..step.width];
            here.fill(W::zero());
            for passage in step.through(place.window) {
                let alpha = self.alpha(&self.sent.now, step, passage, h);
                if !self.move_row(step, passage, alpha, row) {
                    continue;
                }
                let first = written.place(step.target(passage, h)) + passage.offset as usize;
                for (a, sum) in here.iter_mut().enumerate() {
                    let beta = &self.returned.now[first + a * written.width..][..row.len()];
                    for (alpha, beta) in row.iter().zip(beta) {
                        *sum += *alpha * *beta;
                    }
                }
            }
            let less = if members.len() > 1 {
                here[base as usize]
            } else {
                W::zero()
            };
            for (sum, here) in earned.iter_mut().zip(&here) {
                *sum += *here - less;
            }
        }
        (self.earned, self.here, self.row) = (earned, here, row);
    }

    /// Gives a cell another action, and sends where it leads the rollouts that its nodes have seen.
    fn redirect(&mut self, cell: usize, place: GroupPlace, action: Symbol) {
        let (old, new) = (self.code.action(cell) as usize, action as usize);
        self.code.set(cell, action);
        let (h, mut row) = (place.history as usize, take(&mut self.row));
        for &n in &self.steps.members[place.group as usize] {
            let (step, written) = (&self.steps.steps[n], self.steps.written(n));
            let row = &mut row[..step.width];
            for passage in step.through(place.window) {
                let alpha = self.alpha(&self.sent.seen, step, passage, h);
                if !step.is_read || !self.move_row(step, passage, alpha, row) {
                    continue;
                }
                let to = step.target(passage, h);
                let first = written.place(to) + passage.offset as usize;
                for (e, alpha) in row.iter().enumerate() {
                    self.sent.now[first + old * written.width + e] -= *alpha;
                    self.sent.now[first + new * written.width + e] += *alpha;
                }
                self.sent.mark(written, to + old);
                self.sent.mark(written, to + new);
                self.stale_from = self.stale_from.min(step.t);
            }
        }
        self.row = row;
    }

    /// Returns what the new action of a cell earns, by what its nodes have seen, instead of the old.
    fn recall(&mut self, place: GroupPlace, old: Symbol, new: Symbol) {
        let h = place.history as usize;
        for &n in &self.steps.members[place.group as usize] {
            let (step, written) = (&self.steps.steps[n], self.steps.written(n));
            let read = &self.steps.messages[step.reads];
            for passage in step.through(place.window) {
                let first = written.place(step.target(passage, h)) + passage.offset as usize;
                let from = passage.from as usize + h;
                let mut differs = false;
                for (e, &to) in self.steps.moves(step, passage).iter().enumerate() {
                    let beta = |a: Symbol| {
                        self.returned.seen[first + a as usize * written.width + to as usize]
                    };
                    let change = (beta(new) - beta(old)) * passage.weight;
                    self.returned.now[read.place(from) + e] += change;
                    differs |= change != W::zero();
                }
                if differs {
                    self.returned.mark(read, from);
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

    fn earned(&mut self, cell: usize, earned: &mut [u128]) {
        let (place, now) = (self.places[cell], self.code.action(cell));
        let (first, last) = self.spans[place.group as usize];
        self.pass_backward(first);
        self.pass_forward(last - 1);
        let common = if first < last { self.reward } else { W::zero() };
        if !self.comes_again(place) {
            self.count(place, now);
            for (to, earned) in earned.iter_mut().zip(&self.earned) {
                *to = (common + *earned).to_u128();
            }
            return;
        }
        let q = earned.len();
        for a in (1..q).map(|i| (now as usize + i) % q) {
            self.redirect(cell, place, a as Symbol);
            self.pass_forward(last - 1);
            self.count(place, now);
            earned[a] = (common + self.earned[a]).to_u128();
        }
        self.redirect(cell, place, now);
        earned[now as usize] = common.to_u128();
    }

    fn set(&mut self, cell: usize, action: Symbol) {
        let (place, old) = (self.places[cell], self.code.action(cell));
        let (first, last) = self.spans[place.group as usize];
        self.pass_backward(first);
        self.redirect(cell, place, action);
        self.pass_forward(last - 1);
        self.count(place, old);
        self.reward += self.earned[action as usize] - self.earned[old as usize];
        self.recall(place, old, action);
    }
}
