//! Walks the tree of inputs: forward to every leaf, and backward with sums over the leaves below.

use super::{InputSums, LeafWeights, beginnings, length_probability};
use crate::model::class::{Class, Group};
use crate::model::operation::Symbol;
use crate::support::watch::{Stopped, Tally};
use std::ops::{ControlFlow, Range};

/// One step of the rollouts of one length.
pub(super) struct InputStep<'a> {
    pub group: &'a Group,
    /// The number of positions after which the window is known: x_1 .. x_known.
    pub known: usize,
    /// The symbols in the window.
    pub symbols: usize,
    /// q to that number.
    span: usize,
    /// Histories of remembered tokens before the step.
    pub histories: usize,
    /// Histories of those of them that are kept beside the new token.
    pub kept: usize,
}

/// The tree of the inputs of one length, and the beginning that is being visited.
pub(super) struct InputTree<'a> {
    class: &'a Class,
    rows: &'a [f64],
    q: usize,
    length: usize,
    steps: Vec<InputStep<'a>>,
    /// By number of known symbols: the steps that are taken there, from 0.
    taken: Vec<Range<usize>>,
    /// The symbols with which all inputs visited begin.
    start: &'a [Symbol],
    x: Vec<Symbol>,
    /// x_1 .. x_i as a base-q number.
    number: Vec<usize>,
    /// The fold and the probability of x_1 .. x_i, that of the length included.
    fold: Vec<Symbol>,
    probability: Vec<f64>,
    /// By step, the distribution of the histories before it.
    forward: Vec<Vec<f64>>,
}

/// The work at the leaves and on the way back.
pub(super) trait Visitor {
    /// Before the nodes below one are visited, whose next step is `step`.
    fn open(&mut self, _step: usize) {}

    /// At the leaf of an input: its last step, and its success.
    fn leaf(&mut self, tree: &InputTree<'_>, first_cell: usize, success: f64);

    /// On the way back through a step whose first history has this cell.
    fn back(&mut self, _tree: &InputTree<'_>, _step: usize, _first_cell: usize) {}

    /// Whether nothing more is to be visited.
    fn stopped(&self) -> bool {
        false
    }
}

/// The steps of the rollouts of a length.
pub(super) fn steps(class: &Class, which: usize) -> Vec<InputStep<'_>> {
    let count = |digits: usize| class.q().pow(digits as u32);
    let step = |&n: &usize| {
        let node = &class.nodes()[n];
        let symbols = node.before + 1 + node.after;
        InputStep {
            group: &class.groups()[node.group],
            known: node.t + node.after,
            symbols,
            span: count(symbols),
            histories: count(node.tokens),
            kept: count(node.tokens.min(class.shape().memory - 1)),
        }
    };
    class.path(which).iter().map(step).collect()
}

impl<'a> InputTree<'a> {
    /// The multiplications of a walk there and back, with this number of tables of sums, and with squares or without.
    pub fn operations(class: &Class, which: usize, tables: usize, squares: bool) -> f64 {
        let counts = beginnings(class.task(), class.task().lengths()[which]);
        let steps = steps(class, which);
        let q = class.q() as f64;
        let one = |(i, step): (usize, &InputStep<'_>)| {
            let nodes = counts[step.known].map_or(f64::INFINITY, |n| n as f64);
            let h = step.histories as f64;
            let (actions, tables) = (h * q, 2.0 * tables as f64);
            nodes
                * match (steps.get(i + 1), squares) {
                    (None, _) => h * (1.0 + tables) + f64::from(squares) * h * (h + 2.0 * q),
                    (Some(_), false) => actions * (1.0 + tables),
                    (Some(next), true) => {
                        let after = next.histories as f64;
                        actions * (4.0 + tables + after + h)
                    }
                }
        };
        steps.iter().enumerate().map(one).sum()
    }

    pub fn new(
        class: &'a Class,
        rows: &'a [f64],
        which: usize,
        start: &'a [Symbol],
    ) -> InputTree<'a> {
        let (q, task) = (class.q(), class.task());
        let length = task.lengths()[which];
        let steps = steps(class, which);
        let taken = (0..=length)
            .map(|i| {
                let first = steps.partition_point(|step| step.known < i);
                first..steps.partition_point(|step| step.known <= i)
            })
            .collect();
        let mut probability = vec![0.0; length + 1];
        probability[0] = length_probability(task, which);
        InputTree {
            class,
            rows,
            q,
            length,
            taken,
            start,
            x: vec![0; length],
            number: vec![0; length + 1],
            fold: vec![0; length + 1],
            probability,
            forward: steps.iter().map(|s| vec![0.0; s.histories]).collect(),
            steps,
        }
    }

    /// The cell of a step's window and of the first history.
    fn first_cell(&self, step: usize) -> usize {
        let InputStep {
            group, known, span, ..
        } = self.steps[step];
        group.cell(self.number[known] % span, 0)
    }

    /// The row of a cell.
    fn row(&self, cell: usize) -> &[f64] {
        &self.rows[cell * self.q..][..self.q]
    }

    /// Visits what lies below x_1 .. x_i.
    pub fn descend<V: Visitor>(&mut self, i: usize, visitor: &mut V) {
        if i == 0 {
            self.forward[0].fill(0.0);
            self.forward[0][0] = 1.0;
        }
        let inputs = self.class.task().inputs();
        let before = if i == 0 { 0 } else { self.x[i - 1] };
        let denominator = inputs.denominator(i + 1) as f64;
        for x in 0..self.q as Symbol {
            if self.start.get(i).is_some_and(|&only| only != x) {
                continue;
            }
            if visitor.stopped() {
                return;
            }
            let weight = inputs.weight(i + 1, before, x);
            if weight == 0 {
                continue;
            }
            self.x[i] = x;
            self.number[i + 1] = self.number[i] * self.q + usize::from(x);
            self.probability[i + 1] = self.probability[i] * (weight as f64 / denominator);
            self.fold[i + 1] = match i {
                0 => x,
                _ => self.class.task().square().multiply(self.fold[i], x),
            };
            self.node(i + 1, visitor);
        }
    }

    /// Takes the steps of the node x_1 .. x_i, visits what lies below it, and returns through the steps.
    fn node<V: Visitor>(&mut self, i: usize, visitor: &mut V) {
        let steps = self.taken[i].clone();
        for step in steps.clone() {
            if step + 1 < self.length {
                self.advance(step);
                visitor.open(step + 1);
            }
        }
        if i < self.length {
            self.descend(i, visitor);
        } else {
            let first_cell = self.first_cell(self.length - 1);
            let target = usize::from(self.fold[self.length]);
            let histories = self.forward[self.length - 1].iter().enumerate();
            let success = histories
                .map(|(h, mass)| mass * self.row(first_cell + h)[target])
                .sum();
            visitor.leaf(self, first_cell, success);
        }
        for step in steps.rev().filter(|&step| step + 1 < self.length) {
            let first_cell = self.first_cell(step);
            visitor.back(self, step, first_cell);
        }
    }

    /// The distribution of histories after a step, from that before it.
    fn advance(&mut self, step: usize) {
        let first_cell = self.first_cell(step);
        let kept = self.steps[step].kept;
        let (before, after) = self.forward.split_at_mut(step + 1);
        let (before, after) = (&before[step], &mut after[0]);
        after.fill(0.0);
        for (h, &mass) in before.iter().enumerate() {
            if mass != 0.0 {
                let row = &self.rows[(first_cell + h) * self.q..][..self.q];
                let next = &mut after[h % kept * self.q..][..self.q];
                for (to, p) in next.iter_mut().zip(row) {
                    *to += mass * p;
                }
            }
        }
    }
}

/// Hands leaves to a function, until it breaks.
pub(super) struct Leaves<F> {
    visit: F,
    pub state: ControlFlow<()>,
}

impl<F> Leaves<F> {
    pub fn new(visit: F) -> Leaves<F> {
        let state = ControlFlow::Continue(());
        Leaves { visit, state }
    }
}

impl<F: FnMut(&[Symbol], f64, f64) -> ControlFlow<()>> Visitor for Leaves<F> {
    fn leaf(&mut self, tree: &InputTree<'_>, _first_cell: usize, success: f64) {
        self.state = (self.visit)(&tree.x, tree.probability[tree.length], success);
    }

    fn stopped(&self) -> bool {
        self.state.is_break()
    }
}

/// Sums over inputs on the way back.
pub(super) struct Backward<'a, const K: usize, W> {
    q: usize,
    rows: &'a [f64],
    with_squares: bool,
    weigh: &'a W,
    /// By step, sums over the inputs below of weight times the derivative of the mean end by the mass of each history.
    adjoints: Vec<[Vec<f64>; K]>,
    /// By step, sums of weight times products of the derivatives by two histories.
    pairs: Vec<Vec<f64>>,
    /// Room for a product of a row and a matrix of pairs.
    product: Vec<f64>,
    sums: InputSums<K>,
    tally: &'a Tally<'a>,
    leaves: u64,
    stopped: bool,
}

/// The leaves between two reports.
const BETWEEN_REPORTS: u64 = 1 << 14;

impl<'a, const K: usize, W: Fn(f64) -> LeafWeights<K>> Backward<'a, K, W> {
    pub fn new(
        class: &Class,
        rows: &'a [f64],
        squares: bool,
        weigh: &'a W,
        tally: &'a Tally<'a>,
    ) -> Self {
        let entries = rows.len();
        Backward {
            q: class.q(),
            rows,
            with_squares: squares,
            weigh,
            adjoints: Vec::new(),
            pairs: Vec::new(),
            product: Vec::new(),
            sums: InputSums {
                value: 0.0,
                adjoints: std::array::from_fn(|_| vec![0.0; entries]),
                squares: vec![0.0; if squares { entries } else { 0 }],
            },
            tally,
            leaves: 0,
            stopped: false,
        }
    }

    /// Makes room for the steps of a tree.
    pub fn reset(&mut self, tree: &InputTree<'_>) {
        let sizes = || tree.steps.iter().map(|step| step.histories);
        self.adjoints = sizes()
            .map(|n| std::array::from_fn(|_| vec![0.0; n]))
            .collect();
        self.pairs = match self.with_squares {
            true => sizes().map(|n| vec![0.0; n * n]).collect(),
            false => vec![Vec::new(); tree.length],
        };
        self.product = vec![0.0; sizes().max().unwrap_or(0)];
    }

    /// The sums.
    pub fn finish(self) -> Result<InputSums<K>, Stopped> {
        match self.stopped || self.tally.add(self.leaves % BETWEEN_REPORTS).is_break() {
            true => Err(Stopped),
            false => Ok(self.sums),
        }
    }

    fn row(&self, cell: usize) -> &'a [f64] {
        &self.rows[cell * self.q..][..self.q]
    }

    /// The weighted squares of the step before the last, and the pairs that lead to it.
    fn leaf_squares(
        &mut self,
        tree: &InputTree<'_>,
        first_cell: usize,
        target: usize,
        weight: f64,
    ) {
        let step = tree.length - 1;
        let histories = tree.steps[step].histories;
        for (h, mass) in tree.forward[step].iter().enumerate() {
            let row = self.row(first_cell + h);
            let p = row[target];
            let square = weight * mass * mass;
            let squares = &mut self.sums.squares[(first_cell + h) * self.q..][..self.q];
            for (a, sum) in squares.iter_mut().enumerate() {
                let deviation = f64::from(u8::from(a == target)) - p;
                *sum += square * deviation * deviation;
            }
            let pairs = &mut self.pairs[step][h * histories..][..histories];
            for (other, pair) in pairs.iter_mut().enumerate() {
                *pair += weight * p * self.rows[(first_cell + other) * self.q + target];
            }
        }
    }

    /// The weighted squares of a step, and the pairs before it.
    fn back_squares(&mut self, tree: &InputTree<'_>, step: usize, first_cell: usize) {
        let q = self.q;
        let InputStep {
            histories, kept, ..
        } = tree.steps[step];
        let after = tree.steps[step + 1].histories;
        let (before, behind) = self.pairs.split_at_mut(step + 1);
        let (pairs, next) = (&mut before[step], &behind[0]);
        let product = &mut self.product[..after];
        for (h, mass) in tree.forward[step].iter().enumerate() {
            let row = &self.rows[(first_cell + h) * q..][..q];
            let own = h % kept * q;
            // product = row (as a distribution over the next histories) times the pairs after the step.
            product.fill(0.0);
            for (b, p) in row.iter().enumerate() {
                let line = &next[(own + b) * after..][..after];
                for (to, pair) in product.iter_mut().zip(line) {
                    *to += p * pair;
                }
            }
            for other in 0..histories {
                let row = &self.rows[(first_cell + other) * q..][..q];
                let part = &product[other % kept * q..][..q];
                let pair: f64 = row.iter().zip(part).map(|(p, n)| p * n).sum();
                pairs[h * histories + other] += pair;
            }
            if *mass != 0.0 {
                let part = &product[own..][..q];
                let all: f64 = row.iter().zip(part).map(|(p, n)| p * n).sum();
                let squares = &mut self.sums.squares[(first_cell + h) * q..][..q];
                for (a, sum) in squares.iter_mut().enumerate() {
                    let alone = next[(own + a) * after + own + a];
                    *sum += mass * mass * (alone - 2.0 * part[a] + all);
                }
            }
        }
    }
}

impl<const K: usize, W: Fn(f64) -> LeafWeights<K>> Visitor for Backward<'_, K, W> {
    fn stopped(&self) -> bool {
        self.stopped
    }

    fn open(&mut self, step: usize) {
        for adjoint in &mut self.adjoints[step] {
            adjoint.fill(0.0);
        }
        self.pairs[step].fill(0.0);
    }

    fn leaf(&mut self, tree: &InputTree<'_>, first_cell: usize, success: f64) {
        self.leaves += 1;
        if self.leaves.is_multiple_of(BETWEEN_REPORTS) {
            self.stopped |= self.tally.add(BETWEEN_REPORTS).is_break();
        }
        let (q, step) = (self.q, tree.length - 1);
        let target = usize::from(tree.fold[tree.length]);
        let probability = tree.probability[tree.length];
        let weights = (self.weigh)(success);
        self.sums.value += probability * weights.value;
        for k in 0..K {
            let right = probability * weights.successes[k];
            let wrong = probability * weights.failures[k];
            for (h, mass) in tree.forward[step].iter().enumerate() {
                let entry = (first_cell + h) * q;
                let sums = &mut self.sums.adjoints[k][entry..][..q];
                sums[target] += right * mass;
                let p = self.rows[entry + target];
                self.adjoints[step][k][h] += right * p;
                if wrong != 0.0 {
                    self.adjoints[step][k][h] += wrong * (1.0 - p);
                    let others = sums.iter_mut().enumerate().filter(|(a, _)| *a != target);
                    others.for_each(|(_, sum)| *sum += wrong * mass);
                }
            }
        }
        if let Some(squares) = weights.squares {
            self.leaf_squares(tree, first_cell, target, probability * squares);
        }
    }

    fn back(&mut self, tree: &InputTree<'_>, step: usize, first_cell: usize) {
        let q = self.q;
        let kept = tree.steps[step].kept;
        let (before, behind) = self.adjoints.split_at_mut(step + 1);
        for (k, (adjoint, next)) in before[step].iter_mut().zip(&behind[0]).enumerate() {
            for (h, mass) in tree.forward[step].iter().enumerate() {
                let entry = (first_cell + h) * q;
                let next = &next[h % kept * q..][..q];
                let values = &mut self.sums.adjoints[k][entry..][..q];
                let mut sum = 0.0;
                for ((value, p), a) in values.iter_mut().zip(&self.rows[entry..]).zip(next) {
                    *value += mass * a;
                    sum += p * a;
                }
                adjoint[h] += sum;
            }
        }
        if self.with_squares {
            self.back_squares(tree, step, first_cell);
        }
    }
}
