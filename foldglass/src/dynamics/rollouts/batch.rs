//! Rolls a policy out on many inputs side by side, step by step (paper, section 2).
//!
//! Rollouts of one length go through their steps together: what a step needs lies one rollout behind the other, so
//! that the loops over them run on vectors. Random numbers are taken from the stream in one fixed order: the lengths,
//! all input symbols, then a word of 32 bits for each token.

use super::table::DrawTable;
use crate::model::class::Class;
use crate::model::inputs::below;
use crate::model::operation::Symbol;
use crate::model::rewarded::{ExactWeights, RewardRule};
use crate::model::task::Task;
use crate::support::stream::Stream;
use crate::support::vectors::{VectorWork, on_vectors, small};
use dashu_int::UBig;
use dashu_int::ops::BitTest;

/// The most rollouts that go side by side: what a step reads and writes stays in the innermost cache.
const SIDE_BY_SIDE: usize = 512;

/// Inputs of one length that are rolled out side by side.
#[derive(Debug, Clone, Copy)]
pub(in crate::dynamics) struct SideBySide {
    /// Which length of the task.
    pub which: usize,
    /// That length.
    pub length: usize,
    /// The number of its first input.
    pub first: usize,
    /// How many inputs.
    pub inputs: usize,
    /// The index at which the symbols of its inputs begin.
    pub at: usize,
}

/// Inputs and the rollouts on them, `group` on each.
pub(in crate::dynamics) struct RolloutBatch {
    class: Class,
    group: usize,
    /// By length of the task, the groups of cells that rollouts of it pass.
    paths: Vec<Vec<usize>>,
    segments: Vec<SideBySide>,
    /// By input, its place among the inputs as they were drawn; empty where the task has one length.
    order: Vec<u32>,
    /// By length, the sum of the weights up to it.
    length_sums: Vec<u64>,
    /// By step, the reward of a right token; empty where that of the last is rewarded alone.
    step_rewards: Vec<f64>,
    /// By segment and step, one for each input, as the states.
    inputs: Vec<Symbol>,
    states: Vec<Symbol>,
    /// By segment and step, one for each rollout, as the cells.
    tokens: Vec<Symbol>,
    cells: Vec<u32>,
    /// By rollout.
    rewards: Vec<f64>,
    bytes: Vec<u8>,
    windows: Vec<u32>,
}

impl RolloutBatch {
    pub fn new(class: &Class, group: usize) -> RolloutBatch {
        assert!(group > 0, "a group of no rollouts");
        let paths = (0..class.task().lengths().len()).map(|which| class.path(which));
        RolloutBatch {
            paths: paths.collect(),
            class: class.clone(),
            group,
            segments: Vec::new(),
            order: Vec::new(),
            length_sums: length_sums(class.task()),
            step_rewards: step_rewards(class.task()),
            inputs: Vec::new(),
            states: Vec::new(),
            tokens: Vec::new(),
            cells: Vec::new(),
            rewards: Vec::new(),
            bytes: Vec::new(),
            windows: Vec::new(),
        }
    }

    /// The most bytes that this number of inputs takes.
    pub fn bytes(class: &Class, group: usize, count: usize) -> Option<u128> {
        let longest = class.task().longest() as u128;
        let (count, group) = (count as u128, group as u128);
        // An input symbol, its state and the byte it is drawn from; a token, its cell and, of some, its random word.
        let symbols = count.checked_mul(longest)?.checked_mul(5 + 6 * group)?;
        let words = (SIDE_BY_SIDE as u128).max(group) * (4 * longest + 4);
        symbols
            .checked_add(count.checked_mul(4 + 8 * group)?)?
            .checked_add(words)
    }

    /// Draws inputs of the first `lengths` lengths of the task.
    pub fn draw_inputs(&mut self, count: usize, lengths: usize, stream: &mut Stream) {
        let drawn = self.draw_lengths(count, lengths, stream);
        self.lay_out(count, lengths, &drawn);
        let task = self.class.task();
        let law = task.inputs();
        let symbols = self
            .segments
            .last()
            .map_or(0, |s| s.at + s.inputs * s.length);
        self.inputs.resize(symbols, 0);
        if law.is_uniform() && task.q() <= 256 {
            self.bytes.resize(symbols, 0);
            stream.below_all(task.q() as u32, &mut self.bytes);
            let drawn = self.inputs.iter_mut().zip(&self.bytes);
            drawn.for_each(|(symbol, &byte)| *symbol = byte.into());
        } else {
            for segment in &self.segments {
                for t in 0..segment.length {
                    for i in 0..segment.inputs {
                        let place = segment.at + t * segment.inputs + i;
                        let before = if t == 0 {
                            0
                        } else {
                            self.inputs[place - segment.inputs]
                        };
                        self.inputs[place] = law.draw_next(t + 1, before, stream);
                    }
                }
            }
        }
        self.fold();
    }

    /// Takes inputs from rows as wide as the longest length, shorter ones with a negative number behind their end.
    pub fn take_inputs(&mut self, rows: &[i32]) {
        let (longest, lengths) = (self.class.task().longest(), self.class.task().lengths());
        let length = |row: &[i32]| row.iter().take_while(|&&symbol| symbol >= 0).count();
        let of = |row| lengths.iter().position(|&n| n == length(row));
        let which = rows
            .chunks_exact(longest)
            .map(|row| of(row).expect("a length of the task") as u32);
        let which: Vec<u32> = which.collect();
        let lengths = lengths.len();
        self.lay_out(which.len(), lengths, &which);
        let symbols = self.segments.iter().map(|s| s.inputs * s.length).sum();
        self.inputs.resize(symbols, 0);
        for segment in &self.segments {
            for i in 0..segment.inputs {
                let place = segment.first + i;
                let row = self.order.get(place).map_or(place, |&row| row as usize);
                for t in 0..segment.length {
                    self.inputs[segment.at + t * segment.inputs + i] =
                        rows[row * longest + t] as Symbol;
                }
            }
        }
        self.fold();
    }

    /// Draws which length each input has; nothing where there is one.
    fn draw_lengths(&self, count: usize, lengths: usize, stream: &mut Stream) -> Vec<u32> {
        if lengths == 1 {
            return Vec::new();
        }
        let sums = &self.length_sums[..lengths];
        let draw = |_| {
            let number = below(sums[lengths - 1], stream);
            sums.partition_point(|&sum| sum <= number) as u32
        };
        (0..count).map(draw).collect()
    }

    /// Puts inputs of one length together; `drawn` says which length each has.
    fn lay_out(&mut self, count: usize, lengths: usize, drawn: &[u32]) {
        self.segments.clear();
        self.order.clear();
        let most = (SIDE_BY_SIDE / self.group).max(1);
        let mut at = 0;
        let task = self.class.task().clone();
        let mut put = |which: usize, mut first: usize, end: usize| {
            let length = task.lengths()[which];
            while first < end {
                let inputs = most.min(end - first);
                self.segments.push(SideBySide {
                    which,
                    length,
                    first,
                    inputs,
                    at,
                });
                (first, at) = (first + inputs, at + inputs * length);
            }
        };
        if lengths == 1 {
            return put(0, 0, count);
        }
        for which in 0..lengths {
            let first = self.order.len();
            let own = (0..count as u32).filter(|&i| drawn[i as usize] == which as u32);
            self.order.extend(own);
            put(which, first, self.order.len());
        }
    }

    /// Finds the state of every input at every step.
    fn fold(&mut self) {
        let q = self.class.q();
        let square = self.class.task().square().table();
        let mut few = [0; small::MOST];
        let is_small = square.len() <= small::MOST;
        if is_small {
            let entries = few.iter_mut().zip(square);
            entries.for_each(|(entry, &state)| *entry = state.into());
        }
        self.states.resize(self.inputs.len(), 0);
        for segment in &self.segments {
            let places = segment.at..segment.at + segment.inputs * segment.length;
            let mut steps = self.inputs[places.clone()].chunks_exact(segment.inputs);
            let states = &mut self.states[places];
            let first = steps.next().expect("a length is at least 1");
            states[..segment.inputs].copy_from_slice(first);
            for (t, symbols) in (1..).zip(steps) {
                let (before, now) = states.split_at_mut(t * segment.inputs);
                let before = &before[(t - 1) * segment.inputs..];
                let done = match is_small {
                    true => small::look_up(&few, q, before, symbols, now),
                    false => 0,
                };
                let rest = now.iter_mut().zip(before).zip(symbols).skip(done);
                for ((state, &s), &x) in rest {
                    *state = square[usize::from(s) * q + usize::from(x)];
                }
            }
        }
    }

    /// Rolls a policy out on the inputs.
    pub fn roll_out(&mut self, table: &DrawTable, stream: &mut Stream) {
        on_vectors(RollOut {
            batch: self,
            table,
            stream,
        });
    }

    #[inline(always)]
    fn roll_out_here(&mut self, table: &DrawTable, stream: &mut Stream) {
        let (q, group) = (self.class.q() as u32, self.group);
        self.tokens.resize(self.inputs.len() * group, 0);
        self.cells.resize(self.tokens.len(), 0);
        let inputs = self.segments.last().map_or(0, |s| s.first + s.inputs);
        self.rewards.resize(inputs * group, 0.0);
        for segment in &self.segments {
            let lanes = segment.inputs * group;
            let (length, at) = (segment.length, segment.at * group);
            self.bytes.resize(4 * lanes * length, 0);
            stream.fill(&mut self.bytes);
            self.windows.resize(lanes, 0);
            let inputs = &self.inputs[segment.at..][..length * segment.inputs];
            let tokens = &mut self.tokens[at..][..length * lanes];
            let mut words = self.bytes.chunks_exact(4 * lanes);
            let cells = self.cells[at..].chunks_exact_mut(lanes);
            for (t, (&node, cells)) in self.paths[segment.which].iter().zip(cells).enumerate() {
                let node = &self.class.nodes()[node];
                let (emitted, tokens) = tokens.split_at_mut(t * lanes);
                let seen =
                    inputs[(t - node.before) * segment.inputs..].chunks_exact(segment.inputs);
                let windows = &mut self.windows[..segment.inputs];
                windows.fill(0);
                for symbols in seen.take(node.before + 1 + node.after) {
                    push_digits(q, symbols, windows);
                }
                spread(&mut self.windows, group);
                cells.fill(0);
                for symbols in emitted[(t - node.tokens) * lanes..].chunks_exact(lanes) {
                    push_digits(q, symbols, cells);
                }
                let of = &self.class.groups()[node.group];
                of.number_cells(&self.windows, cells);
                let words = words.next().expect("a word for each token");
                let own = of.first_cell..of.first_cell + of.cells;
                table.draw(own, cells, words, &mut tokens[..lanes]);
            }
            let rewards = &mut self.rewards[segment.first * group..][..lanes];
            rewards.fill(0.0);
            let states = &self.states[segment.at..][..length * segment.inputs];
            let mut steps = tokens
                .chunks_exact(lanes)
                .zip(states.chunks_exact(segment.inputs));
            match &self.step_rewards[..] {
                [] => reward(1.0, steps.next_back().expect("a step"), rewards),
                weights => {
                    let weighted = weights.iter().zip(steps);
                    weighted.for_each(|(&weight, step)| reward(weight, step, rewards));
                }
            }
        }
    }

    /// Rollouts on each input.
    pub fn group(&self) -> usize {
        self.group
    }

    pub fn segments(&self) -> &[SideBySide] {
        &self.segments
    }

    /// The place among the inputs as they were drawn of each, in the order in which they lie here; empty where that is
    /// the same.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// The reward of every rollout, group by group.
    pub fn rewards(&self) -> &[f64] {
        &self.rewards
    }

    /// The symbols of a segment, step by step, one for each input.
    pub fn inputs_of(&self, segment: &SideBySide) -> &[Symbol] {
        &self.inputs[segment.at..][..segment.inputs * segment.length]
    }

    /// The tokens of a segment, step by step, one for each rollout, and their cells.
    pub fn tokens_of(&self, segment: &SideBySide) -> (&[Symbol], &[u32]) {
        let at = segment.at * self.group;
        let count = segment.inputs * segment.length * self.group;
        (&self.tokens[at..][..count], &self.cells[at..][..count])
    }

    /// The number of tokens.
    pub fn emitted(&self) -> usize {
        self.tokens.len()
    }
}

/// The rollouts of a batch.
struct RollOut<'a> {
    batch: &'a mut RolloutBatch,
    table: &'a DrawTable,
    stream: &'a mut Stream,
}

impl VectorWork for RollOut<'_> {
    type Found = ();

    #[inline(always)]
    fn run(self) {
        self.batch.roll_out_here(self.table, self.stream);
    }
}

/// By length of a task, the sum of the weights up to it; weights beyond 63 bits are cut to as many.
fn length_sums(task: &Task) -> Vec<u64> {
    let weights = task.length_weights();
    let cut = weights.total().bit_len().saturating_sub(63);
    let narrow = |part: &UBig| u64::try_from(part >> cut).expect("63 bits");
    let mut sum = 0;
    let sums = weights.parts().iter().map(|part| {
        sum += narrow(part);
        sum
    });
    sums.collect()
}

/// By step, the reward of a right token; empty where that of the last is rewarded alone.
fn step_rewards(task: &Task) -> Vec<f64> {
    let equal = || ExactWeights::equal(task.longest());
    let weights = match task.reward() {
        RewardRule::Final => return Vec::new(),
        RewardRule::Process(weights) => weights.clone().unwrap_or_else(equal),
    };
    weights
        .shares()
        .map(|share| share.to_f64().value())
        .collect()
}

/// Adds a weight to the reward of every rollout whose token is the state of its input.
#[inline(always)]
fn reward(weight: f64, (tokens, states): (&[Symbol], &[Symbol]), rewards: &mut [f64]) {
    let group = tokens.len() / states.len();
    let groups = tokens
        .chunks_exact(group)
        .zip(rewards.chunks_exact_mut(group));
    for ((tokens, rewards), &state) in groups.zip(states) {
        for (&token, reward) in tokens.iter().zip(rewards) {
            *reward += if token == state { weight } else { 0.0 };
        }
    }
}

/// Appends a digit of base q to each number.
#[inline(always)]
fn push_digits(q: u32, digits: &[Symbol], numbers: &mut [u32]) {
    let pairs = numbers.iter_mut().zip(digits);
    pairs.for_each(|(number, &digit)| *number = *number * q + u32::from(digit));
}

/// Repeats each of the first numbers, one for each input, for the rollouts on it.
#[inline(always)]
fn spread(numbers: &mut [u32], group: usize) {
    if group == 1 {
        return;
    }
    // From the end, so that none is overwritten before it is read.
    for input in (0..numbers.len() / group).rev() {
        let number = numbers[input];
        numbers[input * group..][..group].fill(number);
    }
}
