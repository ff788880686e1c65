//! Finds the success p(x) of every input, and sums over all inputs of what depends on it (beyond the paper).
//!
//! p(x) is the probability that a rollout on x ends on the fold s_T, and J = E_x p(x) where the last token alone is
//! rewarded.
//!
//! **The tree of inputs.** Its nodes are the beginnings x_1 .. x_i. A step t is taken at the node at which its window is
//! known, i = min(t + f, T), so inputs share what their beginnings decide. A node holds the distribution of the
//! remembered tokens before each of its steps. On the way back, sums over the inputs below a node take the place of
//! that distribution. All p(x) take about 2.25 q^(T+1) multiplications with window (0,0), a derivative as many again.
//!
//! The passes of [`evaluate`](super::evaluate) are linear in T but give J alone; here everything is one input at a time.

mod single;
mod tree;

use crate::model::class::Class;
use crate::model::operation::Symbol;
use crate::model::policy::Policy;
use crate::model::task::Task;
use crate::support::context::{Context, ONE_THREAD};
use crate::support::exact::Reward;
use crate::support::stream::Stream;
use crate::support::watch::{Stopped, Tally};
use rayon::prelude::*;
pub(crate) use single::{Scores, SingleInput};
use std::ops::ControlFlow;
use tree::{Backward, InputTree, Leaves};

/// The number of inputs that can occur, over all lengths; none from 2^64 on.
pub fn inputs(class: &Class) -> Option<u64> {
    let task = class.task();
    let leaves = |&length: &usize| *beginnings(task, length).last()?;
    task.lengths()
        .iter()
        .try_fold(0u64, |sum, length| sum.checked_add(leaves(length)?))
}

/// By i from 0 to the length, how many x_1 .. x_i can occur; none from 2^64 on.
fn beginnings(task: &Task, length: usize) -> Vec<Option<u64>> {
    let q = task.q();
    // By last symbol, the sequences that end on it.
    let mut ending: Vec<Option<u64>> = vec![None; q];
    let mut counts = vec![Some(1)];
    for t in 1..=length {
        let count = |x: usize| {
            let can_follow =
                |before: &usize| task.inputs().weight(t, *before as Symbol, x as Symbol) > 0;
            match t {
                1 => Some(u64::from(can_follow(&0))),
                _ => (0..q)
                    .filter(can_follow)
                    .try_fold(0u64, |sum, before| sum.checked_add(ending[before]?)),
            }
        };
        ending = (0..q).map(count).collect();
        let sum = |sum: u64, count: &Option<u64>| sum.checked_add((*count)?);
        counts.push(ending.iter().try_fold(0, sum));
    }
    counts
}

/// The probability of the inputs of a length together.
pub(crate) fn length_probability(task: &Task, which: usize) -> f64 {
    Reward::new(task.length_weight(which), task.total_weight()).to_f64()
}

/// Draws which length an input has.
pub(crate) fn draw_length(task: &Task, stream: &mut Stream) -> usize {
    let count = task.lengths().len();
    if (1..count).all(|which| task.length_weight(which) == task.length_weight(0)) {
        return stream.below(count as u32) as usize;
    }
    let mut left = stream.uniform();
    let passed = |which: &usize| {
        left -= length_probability(task, *which);
        left >= 0.0
    };
    (0..count).take_while(passed).count().min(count - 1)
}

/// Calls `visit` with every input that can occur, its probability and its success p(x): lengths in the order of
/// the task, inputs of a length in ascending order.
///
/// ```
/// use foldglass::reward::per_input;
/// use foldglass::{ClassSpec, Operation, Policy, Shape};
/// let spec = ClassSpec::uniform(Operation::cyclic(2).unwrap(), &[3], Shape::untied(0, 0));
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
    let _ = try_for_each(policy, |x, probability, success| {
        visit(x, probability, success);
        ControlFlow::Continue(())
    });
}

/// Visits every input until `visit` breaks.
pub fn try_for_each(
    policy: &Policy,
    visit: impl FnMut(&[Symbol], f64, f64) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let mut leaves = Leaves::new(visit);
    for which in 0..policy.class().task().lengths().len() {
        let mut tree = InputTree::new(policy.class(), policy.rows(), which, &[]);
        tree.descend(0, &mut leaves);
    }
    leaves.state
}

/// The factors of the success of an input, summed over all inputs with their probabilities.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LeafWeights<const K: usize> {
    /// Summed itself.
    pub value: f64,
    /// Weights of rollouts that succeed, of whose visits and actions sums are wanted.
    pub successes: [f64; K],
    /// Weights of rollouts that fail.
    pub failures: [f64; K],
    /// The weight of the squared gradient g_x^2 in the logits; none where it is not wanted. For untied classes only.
    pub squares: Option<f64>,
}

/// Sums over all inputs, each with its probability.
#[derive(Debug, Clone)]
pub(crate) struct InputSums<const K: usize> {
    /// E_x of the value.
    pub value: f64,
    /// The mean weight of a rollout that consults cell c and takes action a there, by its derivative by pi_c(a): for
    /// weights of successes alone E_x[weight dQ_x(c, a)].
    pub adjoints: [Vec<f64>; K],
    /// E_x[weight g_x(c, a)^2], g_x the gradient of p(x) in the logits.
    pub squares: Vec<f64>,
}

/// The multiplications that [`sums`] takes for this number of tables, with or without squares.
pub(crate) fn operations(class: &Class, tables: usize, squares: bool) -> f64 {
    let lengths = 0..class.task().lengths().len();
    lengths
        .map(|which| InputTree::operations(class, which, tables, squares))
        .sum()
}

/// Sums over all inputs, by parts of the tree on the threads of the context. The parts do not depend on their number.
pub(crate) fn sums<const K: usize>(
    policy: &Policy,
    squares: bool,
    weigh: &(impl Fn(f64) -> LeafWeights<K> + Sync),
    context: Context<'_>,
) -> Result<InputSums<K>, Stopped> {
    let class = policy.class();
    let rows = policy.rows();
    let shortest = *class.task().lengths().iter().min().expect("a length");
    let parts = parts(class.q(), shortest);
    let tally = Tally::new(context.observer, "inputs", inputs(class));
    let part = |start: &Vec<Symbol>| {
        let mut back = Backward::new(class, rows, squares, weigh, &tally);
        for which in 0..class.task().lengths().len() {
            let mut tree = InputTree::new(class, rows, which, start);
            back.reset(&tree);
            tree.descend(0, &mut back);
        }
        back.finish()
    };
    let found: Result<Vec<InputSums<K>>, Stopped> = match context.threads {
        threads if ONE_THREAD || threads == 1 => parts.iter().map(part).collect(),
        _ => context.install(|| parts.par_iter().map(part).collect()),
    };
    let mut found = found?.into_iter();
    let mut total = found.next().expect("a part");
    for part in found {
        let add = |to: &mut Vec<f64>, from: &[f64]| {
            to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
        };
        total.value += part.value;
        for (to, from) in total.adjoints.iter_mut().zip(&part.adjoints) {
            add(to, from);
        }
        add(&mut total.squares, &part.squares);
    }
    for (square, p) in total.squares.iter_mut().zip(rows) {
        *square *= p * p;
    }
    Ok(total)
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
