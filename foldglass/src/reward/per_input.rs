//! Finds the success p(x) of every input, and objectives of it with exact gradients (beyond the paper).
//!
//! p(x) is the probability that a rollout on x ends on the fold s_T, and J = E_x p(x). An objective is
//! E_x f(p(x)); its derivative by the row of a cell is E_x[f'(p(x)) dQ_x(c, a)].
//!
//! **The tree of inputs.** Its nodes are the beginnings x_1 .. x_i. A step t is taken at the node at which its window is
//! known, i = min(t + f, T), so inputs share what their beginnings decide. A node holds the distribution of the
//! remembered tokens before each of its steps. On the way back, sums over the inputs below a node take the place of
//! that distribution. All p(x) take about 2.25 q^(T+1) multiplications with window (0,0), a derivative as many again.
//!
//! The passes of [`evaluate`](super::evaluate) are linear in T but give J alone; here everything is one input at a time.

use crate::model::class::{Class, Group};
use crate::model::policy::Policy;
use crate::model::quasigroup::Symbol;
use crate::support::context::Context;
use rayon::prelude::*;
use std::ops::Range;

/// The number of inputs that can occur, over all lengths; none from 2^64 on.
pub fn inputs(class: &Class) -> Option<u64> {
    let task = class.task();
    let mut total = 0u64;
    for &length in task.lengths() {
        // By last symbol, the sequences that end on it.
        let mut ending = vec![0u64; class.q()];
        for t in 1..=length {
            let mut next = vec![0u64; class.q()];
            for (x, count) in next.iter_mut().enumerate() {
                let can_follow =
                    |before: usize| task.inputs().weight(t, before as Symbol, x as Symbol) > 0;
                *count = match t {
                    1 => u64::from(can_follow(0)),
                    _ => (0..class.q())
                        .filter(|&before| can_follow(before))
                        .try_fold(0u64, |sum, before| sum.checked_add(ending[before]))?,
                };
            }
            ending = next;
        }
        total = ending
            .iter()
            .try_fold(total, |sum, &n| sum.checked_add(n))?;
    }
    Some(total)
}

/// Calls `visit` with every input that can occur, its probability and its success p(x): lengths in the order of
/// the task, inputs of a length in ascending order.
///
/// ```
/// use foldglass::reward::per_input;
/// use foldglass::{ClassSpec, LatinSquare, Policy, Shape};
/// let spec = ClassSpec::uniform(LatinSquare::cyclic(2).unwrap(), &[3], Shape::untied(0, 0));
/// let class = spec.lay_out()?;
/// let mut seen = 0;
/// per_input::for_each(&Policy::uniform(&class), |_, probability, success| {
///     assert_eq!((probability, success), (0.125, 0.5));
///     seen += 1;
/// });
/// assert_eq!(seen, 8);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn for_each(policy: &Policy, mut visit: impl FnMut(&[Symbol], f64, f64)) {
    let rows = policy.rows();
    for which in 0..policy.class().task().lengths().len() {
        let mut tree = Tree::new(policy.class(), rows, which, &[]);
        tree.descend(0, &mut Leaves(&mut visit));
    }
}

/// How an objective weighs the success of an input, and its sums over all inputs.
#[derive(Debug, Clone, PartialEq)]
pub struct Objective {
    /// E_x f(p(x)).
    pub value: f64,
    /// Its derivative by the policy's rows, cell by cell.
    pub values: Vec<f64>,
}

/// A function f of the success of an input, which an objective averages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Utility {
    /// 1 - (1 - p)^k: the probability that one of k rollouts succeeds.
    PassAt(u32),
    /// The logarithm of p expanded around 1 to k terms: minus the sum of (1 - p)^j / j.
    MaxRl(u32),
    /// 2 arcsin sqrt p: what GRPO with its standard deviation optimises in the limit of large groups.
    GrpoStd,
}

impl Utility {
    /// f(p).
    pub fn at(self, p: f64) -> f64 {
        let failure = 1.0 - p;
        match self {
            Utility::PassAt(k) => 1.0 - failure.powi(k as i32),
            Utility::MaxRl(k) => -(1..=k)
                .map(|j| failure.powi(j as i32) / f64::from(j))
                .sum::<f64>(),
            Utility::GrpoStd => 2.0 * p.sqrt().min(1.0).asin(),
        }
    }

    /// f'(p); infinite for `grpo-std` at 0 and 1.
    pub fn slope(self, p: f64) -> f64 {
        let failure = 1.0 - p;
        match self {
            Utility::PassAt(k) => f64::from(k) * failure.powi(k as i32 - 1),
            Utility::MaxRl(k) => (0..k).map(|j| failure.powi(j as i32)).sum(),
            Utility::GrpoStd => 1.0 / (p * failure).sqrt(),
        }
    }
}

impl std::fmt::Display for Utility {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Utility::PassAt(k) => write!(f, "pass@{k}"),
            Utility::MaxRl(k) => write!(f, "maxrl:{k}"),
            Utility::GrpoStd => f.write_str("grpo-std"),
        }
    }
}

impl std::str::FromStr for Utility {
    type Err = String;

    fn from_str(text: &str) -> Result<Utility, String> {
        let count = |number: &str| number.parse().ok().filter(|k| (1..=10_000).contains(k));
        let named = text
            .strip_prefix("pass@")
            .and_then(count)
            .map(Utility::PassAt)
            .or_else(|| {
                text.strip_prefix("maxrl:")
                    .and_then(count)
                    .map(Utility::MaxRl)
            });
        match text {
            "grpo-std" => Ok(Utility::GrpoStd),
            _ => named.ok_or_else(|| {
                format!(
                    "{text:?} is not an objective: pass@K, maxrl:K (K from 1 to 10000) or grpo-std"
                )
            }),
        }
    }
}

/// E_x f(p(x)) and its derivative by the rows of the policy. Valid for tied classes too.
///
/// The derivative of `grpo-std` is infinite where an input has success 0 or 1 and a change of the policy could move
/// it: entries are then infinite or NaN.
pub fn objective(policy: &Policy, utility: Utility, context: Context<'_>) -> Objective {
    let weigh = |p: f64| LeafWeights {
        value: utility.at(p),
        adjoints: [utility.slope(p)],
        ..LeafWeights::default()
    };
    let sums = sums(policy, Wanted::default(), &weigh, context);
    let [values] = sums.adjoints;
    Objective {
        value: sums.value,
        values,
    }
}

/// What the success of an input is multiplied with, and summed over all inputs with their probabilities.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LeafWeights<const K: usize> {
    /// Summed itself.
    pub value: f64,
    /// Weights of dQ_x.
    pub adjoints: [f64; K],
    /// The weight of the visits d_x.
    pub visits: f64,
    /// The weight of the squared gradient g_x^2 in the logits; right for untied classes only.
    pub squares: f64,
}

impl<const K: usize> Default for LeafWeights<K> {
    fn default() -> Self {
        LeafWeights {
            value: 0.0,
            adjoints: [0.0; K],
            visits: 0.0,
            squares: 0.0,
        }
    }
}

/// Which sums are wanted beside the adjoints.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wanted {
    /// The weighted visits.
    pub visits: bool,
    /// The weighted squares of the gradient.
    pub squares: bool,
}

/// Sums over all inputs, each with its probability.
#[derive(Debug, Clone)]
pub(crate) struct Sums<const K: usize> {
    /// E_x of the value.
    pub value: f64,
    /// E_x[weight dQ_x(c, a)], one table for each weight.
    pub adjoints: [Vec<f64>; K],
    /// E_x[weight d_x(c)].
    pub visits: Vec<f64>,
    /// E_x[weight g_x(c, a)^2], g_x the gradient of p(x) in the logits.
    pub squares: Vec<f64>,
}

/// Sums over all inputs, by parts of the tree on the threads of the context. The parts do not depend on their number.
pub(crate) fn sums<const K: usize>(
    policy: &Policy,
    wanted: Wanted,
    weigh: &(impl Fn(f64) -> LeafWeights<K> + Sync),
    context: Context<'_>,
) -> Sums<K> {
    let class = policy.class();
    let rows = policy.rows();
    let shortest = *class.task().lengths().iter().min().expect("a length");
    let parts = parts(class.q(), shortest);
    let part = |start: &Vec<Symbol>| {
        let mut back = Backward::new(class, rows, wanted, weigh);
        for which in 0..class.task().lengths().len() {
            let mut tree = Tree::new(class, rows, which, start);
            back.reset(&tree);
            tree.descend(0, &mut back);
        }
        back.sums
    };
    let found: Vec<Sums<K>> = match context.threads {
        1 => parts.iter().map(part).collect(),
        _ => context.install(|| parts.par_iter().map(part).collect()),
    };
    let mut found = found.into_iter();
    let mut total = found.next().expect("a part");
    for part in found {
        let add = |to: &mut Vec<f64>, from: &[f64]| {
            to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
        };
        total.value += part.value;
        for (to, from) in total.adjoints.iter_mut().zip(&part.adjoints) {
            add(to, from);
        }
        add(&mut total.visits, &part.visits);
        add(&mut total.squares, &part.squares);
    }
    for (square, p) in total.squares.iter_mut().zip(rows) {
        *square *= p * p;
    }
    total
}

/// The beginnings of inputs that parts of the work have: one symbol, or as many as eight parts take.
fn parts(q: usize, shortest: usize) -> Vec<Vec<Symbol>> {
    let mut starts = vec![Vec::new()];
    while starts.len() < 8 && starts[0].len() < shortest {
        let longer = |start: &Vec<Symbol>| {
            let start = start.clone();
            (0..q as Symbol).map(move |x| [&start[..], &[x]].concat())
        };
        starts = starts.iter().flat_map(longer).collect();
    }
    starts
}

/// One step of the rollouts of one length.
struct Step<'a> {
    group: &'a Group,
    /// Its window is known from x_1 .. x_known on.
    known: usize,
    /// q to the number of symbols in the window.
    span: usize,
    /// Histories of remembered tokens before the step.
    histories: usize,
    /// Histories of those of them that are kept beside the new token.
    kept: usize,
}

/// The tree of the inputs of one length, and the beginning that is being visited.
struct Tree<'a> {
    class: &'a Class,
    rows: &'a [f64],
    q: usize,
    length: usize,
    steps: Vec<Step<'a>>,
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

/// What is done at the leaves and on the way back.
trait Visitor {
    /// Before the nodes below one are visited, whose next step is `step`.
    fn open(&mut self, _step: usize) {}

    /// At the leaf of an input: its last step, and its success.
    fn leaf(&mut self, tree: &Tree<'_>, first_cell: usize, success: f64);

    /// On the way back through a step whose first history has this cell.
    fn back(&mut self, _tree: &Tree<'_>, _step: usize, _first_cell: usize) {}
}

impl<'a> Tree<'a> {
    fn new(class: &'a Class, rows: &'a [f64], which: usize, start: &'a [Symbol]) -> Tree<'a> {
        let (q, task) = (class.q(), class.task());
        let length = task.lengths()[which];
        let count = |digits: usize| q.pow(digits as u32);
        let steps: Vec<Step<'_>> = class
            .path(which)
            .iter()
            .map(|&n| {
                let node = &class.nodes()[n];
                Step {
                    group: &class.groups()[node.group],
                    known: node.t + node.after,
                    span: count(node.before + 1 + node.after),
                    histories: count(node.tokens),
                    kept: count(node.tokens.min(class.shape().memory - 1)),
                }
            })
            .collect();
        let taken = (0..=length)
            .map(|i| {
                let first = steps.partition_point(|step| step.known < i);
                first..steps.partition_point(|step| step.known <= i)
            })
            .collect();
        let mut probability = vec![0.0; length + 1];
        probability[0] = 1.0 / task.lengths().len() as f64;
        Tree {
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
        let Step {
            group, known, span, ..
        } = self.steps[step];
        group.cell(self.number[known] % span, 0)
    }

    /// The row of a cell.
    fn row(&self, cell: usize) -> &[f64] {
        &self.rows[cell * self.q..][..self.q]
    }

    /// Visits what lies below x_1 .. x_i.
    fn descend<V: Visitor>(&mut self, i: usize, visitor: &mut V) {
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

/// Hands leaves to a function.
struct Leaves<'a, F>(&'a mut F);

impl<F: FnMut(&[Symbol], f64, f64)> Visitor for Leaves<'_, F> {
    fn leaf(&mut self, tree: &Tree<'_>, _first_cell: usize, success: f64) {
        (self.0)(&tree.x, tree.probability[tree.length], success);
    }
}

/// Sums over inputs on the way back.
struct Backward<'a, const K: usize, W> {
    q: usize,
    rows: &'a [f64],
    wanted: Wanted,
    weigh: &'a W,
    /// By step, sums over the inputs below of weight times the derivative of p(x) by the mass of each history.
    adjoints: Vec<[Vec<f64>; K]>,
    /// By step, sums of the weights of visits.
    visits: Vec<f64>,
    /// By step, sums of weight times products of the derivatives by two histories.
    pairs: Vec<Vec<f64>>,
    /// Room for a product of a row and a matrix of pairs.
    product: Vec<f64>,
    sums: Sums<K>,
}

impl<'a, const K: usize, W: Fn(f64) -> LeafWeights<K>> Backward<'a, K, W> {
    fn new(class: &Class, rows: &'a [f64], wanted: Wanted, weigh: &'a W) -> Self {
        let (cells, entries) = (class.cells(), rows.len());
        let table = |wanted: bool, size: usize| vec![0.0; if wanted { size } else { 0 }];
        Backward {
            q: class.q(),
            rows,
            wanted,
            weigh,
            adjoints: Vec::new(),
            visits: Vec::new(),
            pairs: Vec::new(),
            product: Vec::new(),
            sums: Sums {
                value: 0.0,
                adjoints: std::array::from_fn(|_| vec![0.0; entries]),
                visits: table(wanted.visits, cells),
                squares: table(wanted.squares, entries),
            },
        }
    }

    /// Makes room for the steps of a tree.
    fn reset(&mut self, tree: &Tree<'_>) {
        let sizes = || tree.steps.iter().map(|step| step.histories);
        self.adjoints = sizes()
            .map(|n| std::array::from_fn(|_| vec![0.0; n]))
            .collect();
        self.visits = vec![0.0; tree.length];
        self.pairs = match self.wanted.squares {
            true => sizes().map(|n| vec![0.0; n * n]).collect(),
            false => vec![Vec::new(); tree.length],
        };
        self.product = vec![0.0; sizes().max().unwrap_or(0)];
    }

    fn row(&self, cell: usize) -> &'a [f64] {
        &self.rows[cell * self.q..][..self.q]
    }

    /// The weighted squares of the step before the last, and the pairs that lead to it.
    fn leaf_squares(&mut self, tree: &Tree<'_>, first_cell: usize, target: usize, weight: f64) {
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
    fn back_squares(&mut self, tree: &Tree<'_>, step: usize, first_cell: usize) {
        let q = self.q;
        let Step {
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
    fn open(&mut self, step: usize) {
        for adjoint in &mut self.adjoints[step] {
            adjoint.fill(0.0);
        }
        self.visits[step] = 0.0;
        self.pairs[step].fill(0.0);
    }

    fn leaf(&mut self, tree: &Tree<'_>, first_cell: usize, success: f64) {
        let step = tree.length - 1;
        let target = usize::from(tree.fold[tree.length]);
        let probability = tree.probability[tree.length];
        let weights = (self.weigh)(success);
        self.sums.value += probability * weights.value;
        for (k, weight) in weights.adjoints.iter().enumerate() {
            let weight = probability * weight;
            for (h, mass) in tree.forward[step].iter().enumerate() {
                let entry = (first_cell + h) * self.q + target;
                self.sums.adjoints[k][entry] += weight * mass;
                self.adjoints[step][k][h] += weight * self.rows[entry];
            }
        }
        if self.wanted.visits {
            let weight = probability * weights.visits;
            self.visits[step] += weight;
            for (h, mass) in tree.forward[step].iter().enumerate() {
                self.sums.visits[first_cell + h] += weight * mass;
            }
        }
        if self.wanted.squares {
            self.leaf_squares(tree, first_cell, target, probability * weights.squares);
        }
    }

    fn back(&mut self, tree: &Tree<'_>, step: usize, first_cell: usize) {
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
        if self.wanted.visits {
            let weight = self.visits[step + 1];
            self.visits[step] += weight;
            for (h, mass) in tree.forward[step].iter().enumerate() {
                self.sums.visits[first_cell + h] += weight * mass;
            }
        }
        if self.wanted.squares {
            self.back_squares(tree, step, first_cell);
        }
    }
}
