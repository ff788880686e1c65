//! Lays out the cells of a windowed tabular class and routes rollouts to them (paper, section 2.1).
//!
//! A cell is what a policy sees at step t: (t, x_{t-p} .. x_{t+f}, y_{t-n} .. y_{t-1}), with SEP
//! outside 1..=T and before y_1; a tied class drops t, and lengths share cells because T is never
//! part of the key.
//!
//! **Groups.** The pattern of SEPs splits the cells into groups: (t or nothing, tokens remembered
//! m, symbols seen before x_t, symbols seen after x_t). Within a group every key is an ordinary
//! number, so a cell's index is arithmetic.
//!
//! **Order of the cells**: by t (untied), then fewer remembered tokens first, then fewer symbols
//! before x_t first, then more symbols after x_t first; within a group by the window read as a
//! base-q number, oldest symbol first, then by the remembered tokens read likewise.
//!
//! **Nodes.** A rollout passes one node per step. A node is (t, symbols seen after x_t): lengths
//! share a node until the window of the shorter one meets its end, so the nodes of several lengths
//! form a forest and are evaluated once, not once per length.

mod spec;
mod steps;

use crate::model::operation::{Symbol, digits, number};
use crate::model::task::Task;
use crate::support::memory::{Allowance, TooLarge};
use dashu_int::UBig;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use thiserror::Error;

pub use spec::{ClassSpec, SpecError, WIDEST};
use steps::StepTable;

/// How many input symbols around x_t a policy reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Window {
    /// Symbols before x_t (the paper's n_p).
    pub past: usize,
    /// Symbols after x_t (the paper's n_f).
    pub future: usize,
}

/// What a policy may depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    /// The window on the input.
    pub window: Window,
    /// Tokens remembered (the paper's n_y), at least 1.
    pub memory: usize,
    /// Whether all steps share one table.
    pub tied: bool,
}

impl Shape {
    /// The untied class with one remembered token and window (past, future).
    pub fn untied(past: usize, future: usize) -> Shape {
        Shape {
            window: Window { past, future },
            memory: 1,
            tied: false,
        }
    }

    /// The tied class with one remembered token and window (past, future).
    pub fn tied(past: usize, future: usize) -> Shape {
        Shape {
            tied: true,
            ..Shape::untied(past, future)
        }
    }
}

/// A class that cannot be laid out.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ClassError {
    /// A memory of no tokens.
    #[error("a memory of 0 tokens is refused: a policy remembers at least 1")]
    NoMemory,
    /// More cells than are numbered.
    #[error("the class has {0} cells: at most 2^32 - 1 are numbered")]
    TooManyCells(u128),
    /// More bytes than allowed.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
}

/// What a cell is: t (none when tied), the window and the remembered tokens, none where SEP.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CellKey {
    /// The step, counted from 1; none in a tied class.
    pub t: Option<usize>,
    /// x_{t-p} .. x_{t+f}.
    pub x: Vec<Option<Symbol>>,
    /// y_{t-n} .. y_{t-1}.
    pub y: Vec<Option<Symbol>>,
}

/// Cells whose keys have SEP in the same places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The step; none in a tied class.
    pub t: Option<usize>,
    /// Symbols seen before x_t.
    pub before: usize,
    /// Symbols seen after x_t.
    pub after: usize,
    /// Tokens remembered.
    pub tokens: usize,
    /// The index of its first cell.
    pub first_cell: usize,
    /// The number of its cells.
    pub cells: usize,
    /// q to the number of remembered tokens: the cells of one window.
    pub histories: usize,
    /// Windows that can occur, as base-q numbers, ascending; none when all can.
    occurring: Option<Vec<u32>>,
    /// The inverse of `occurring`; u32::MAX where a window cannot occur.
    rank: Vec<u32>,
}

impl Group {
    /// The number of windows that can occur.
    pub fn windows(&self) -> usize {
        self.cells / self.histories
    }

    /// The cell of window `w` (a base-q number) and history `h` (likewise).
    #[inline]
    pub fn cell(&self, w: usize, h: usize) -> usize {
        let rank = if self.occurring.is_some() {
            self.rank[w] as usize
        } else {
            w
        };
        self.first_cell + rank * self.histories + h
    }

    /// Replaces histories by their cells, for the windows beside them.
    #[inline(always)]
    pub(crate) fn number_cells(&self, windows: &[u32], histories: &mut [u32]) {
        let pairs = histories.iter_mut().zip(windows);
        if self.occurring.is_some() {
            pairs.for_each(|(h, &w)| *h = self.cell(w as usize, *h as usize) as u32);
        } else {
            let (first, each) = (self.first_cell as u32, self.histories as u32);
            pairs.for_each(|(h, &w)| *h += first + w * each);
        }
    }

    /// The `n`-th window that can occur, as a base-q number.
    #[inline]
    pub fn window(&self, n: usize) -> usize {
        self.occurring.as_ref().map_or(n, |list| list[n] as usize)
    }
}

/// One step of the rollouts of one or several lengths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The step, counted from 1.
    pub t: usize,
    /// Symbols seen before x_t.
    pub before: usize,
    /// Symbols seen after x_t.
    pub after: usize,
    /// Tokens remembered.
    pub tokens: usize,
    /// The group of its cells.
    pub group: usize,
    /// The node of the step before; none at t = 1.
    pub parent: Option<usize>,
    /// Whether a length ends here (always the length t).
    pub ends: bool,
    /// What a right token counts here, over [`Task::total_weight`]; 0 where it is not compared with the state.
    pub reward: UBig,
    /// What the lengths that pass here weigh, over the same.
    pub passing: UBig,
}

impl Node {
    /// Whether its token is compared with the state.
    pub fn is_rewarded(&self) -> bool {
        self.reward != UBig::ZERO
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Parts {
    task: Task,
    shape: Shape,
    groups: Vec<Group>,
    nodes: Vec<Node>,
    last_nodes: Vec<usize>,
    steps: StepTable,
    cells: usize,
}

/// A task and a shape, with every reachable cell numbered. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Class(Arc<Parts>);

impl Class {
    /// Numbers the reachable cells, or says how much memory a table of them would need.
    ///
    /// ```
    /// use foldglass::{Class, InputLaw, Operation, Shape, Task};
    /// let task = Task::new(Operation::paper(), &InputLaw::Uniform, &[7]).unwrap();
    /// let class = Class::new(task, Shape::tied(0, 3)).unwrap();
    /// assert_eq!(class.cells(), 4525);
    /// ```
    pub fn new(task: Task, shape: Shape) -> Result<Class, ClassError> {
        Class::within(task, shape, Allowance::default())
    }

    /// Numbers the reachable cells if a table of them fits into this memory.
    pub fn within(task: Task, shape: Shape, memory: Allowance) -> Result<Class, ClassError> {
        if shape.memory == 0 {
            return Err(ClassError::NoMemory);
        }
        let (mut nodes, patterns) = nodes_and_patterns(&task, shape);
        check_table(task.q(), patterns.keys(), memory)?;
        let mut groups: Vec<Group> = Vec::with_capacity(patterns.len());
        for (number, (pattern, members)) in patterns.iter().enumerate() {
            let first_cell = groups.last().map_or(0, |g| g.first_cell + g.cells);
            groups.push(group(
                &task,
                pattern,
                first_cell,
                members.iter().map(|&n| &nodes[n]),
            ));
            for &n in members {
                nodes[n].group = number;
            }
        }
        let cells = groups.last().map_or(0, |g| g.first_cell + g.cells);
        let last_node = |t: &usize| nodes.iter().position(|n| n.t == *t && n.ends);
        let last_nodes: Vec<usize> = task
            .lengths()
            .iter()
            .map(|t| last_node(t).expect("every length ends"))
            .collect();
        let steps = StepTable::new(task.longest(), &groups, &nodes, &last_nodes);
        Ok(Class(Arc::new(Parts {
            task,
            shape,
            groups,
            nodes,
            last_nodes,
            steps,
            cells,
        })))
    }

    /// The task.
    pub fn task(&self) -> &Task {
        &self.0.task
    }

    /// The number of symbols.
    pub fn q(&self) -> usize {
        self.task().q()
    }

    /// The window, memory and tying.
    pub fn shape(&self) -> Shape {
        self.0.shape
    }

    /// The number of reachable cells.
    pub fn cells(&self) -> usize {
        self.0.cells
    }

    /// The groups, in the order of their cells.
    pub fn groups(&self) -> &[Group] {
        &self.0.groups
    }

    /// The nodes, every parent before its children.
    pub fn nodes(&self) -> &[Node] {
        &self.0.nodes
    }

    /// The node at which each length of the task ends, in the order of the lengths.
    pub fn last_nodes(&self) -> &[usize] {
        &self.0.last_nodes
    }

    /// What a right token at a node counts: the numerator, over the task's denominator, for a weight of 1 of the
    /// symbols that the node and those before it have drawn. None where the token is not compared with the state.
    pub fn lift(&self, node: &Node) -> Option<UBig> {
        node.is_rewarded()
            .then(|| self.task().lift(node.t + node.after) * &node.reward)
    }

    /// The nodes a rollout of length `task().lengths()[which]` passes, t = 1 first.
    pub fn path(&self, which: usize) -> Vec<usize> {
        self.0.steps.path(which).to_vec()
    }

    /// The cell that a rollout on input `x` (of a length of the task) consults at step `t` after
    /// emitting `y` (at least t - 1 tokens).
    ///
    /// # Panics
    /// If the length of `x` is not one of the task's, or `t` or `y` does not fit it.
    pub fn route(&self, x: &[Symbol], t: usize, y: &[Symbol]) -> usize {
        let which = self.task().lengths().iter().position(|&n| n == x.len());
        let node = self.0.steps.path(which.expect("a length of the task"))[t - 1];
        let node = &self.nodes()[node];
        let q = self.q();
        let w = number(&x[t - 1 - node.before..t + node.after], q);
        self.groups()[node.group].cell(w, number(&y[t - 1 - node.tokens..t - 1], q))
    }

    /// The group of a cell.
    pub fn group_of(&self, cell: usize) -> &Group {
        let after = self.groups().partition_point(|g| g.first_cell <= cell);
        &self.groups()[after - 1]
    }

    /// The keys of all cells, in their order: what a policy sees at each.
    ///
    /// ```
    /// use foldglass::prelude::*;
    /// let class = ClassSpec::uniform(Operation::paper(), &[4], Shape::untied(0, 0)).lay_out()?;
    /// let at_start = class.keys().filter(|key| key.t == Some(1));
    /// assert_eq!(at_start.count(), 5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn keys(&self) -> impl Iterator<Item = CellKey> + '_ {
        (0..self.cells()).map(|cell| self.key(cell))
    }

    /// What cell number `cell` stands for.
    ///
    /// # Panics
    /// If there is no such cell.
    pub fn key(&self, cell: usize) -> CellKey {
        assert!(cell < self.cells(), "cell {cell} of {}", self.cells());
        let Shape { window, memory, .. } = self.shape();
        let group = self.group_of(cell);
        let inner = cell - group.first_cell;
        let digits = |n: usize, count: usize| digits(n, self.q(), count).into_iter().map(Some);
        let mut x = vec![None; window.past - group.before];
        x.extend(digits(
            group.window(inner / group.histories),
            group.before + 1 + group.after,
        ));
        x.resize(window.past + 1 + window.future, None);
        let mut y = vec![None; memory - group.tokens];
        y.extend(digits(inner % group.histories, group.tokens));
        CellKey { t: group.t, x, y }
    }
}

/// t (untied), tokens, symbols before, symbols after with the most first: the order of groups.
type Pattern = (Option<usize>, usize, usize, Reverse<usize>);

/// Finds the nodes, every parent before its children, and the pattern each belongs to.
fn nodes_and_patterns(task: &Task, shape: Shape) -> (Vec<Node>, BTreeMap<Pattern, Vec<usize>>) {
    let mut nodes: Vec<Node> = Vec::new();
    let mut number: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    let mut patterns: BTreeMap<Pattern, Vec<usize>> = BTreeMap::new();
    // The longest first: its nodes are shared by the others, so parents precede children.
    for (which, &length) in task.lengths().iter().enumerate().rev() {
        let mut parent = None;
        for t in 1..=length {
            let after = shape.window.future.min(length - t);
            let n = *number.entry((t, after)).or_insert_with(|| {
                let before = shape.window.past.min(t - 1);
                let tokens = shape.memory.min(t - 1);
                let step = (!shape.tied).then_some(t);
                patterns
                    .entry((step, tokens, before, Reverse(after)))
                    .or_default()
                    .push(nodes.len());
                nodes.push(Node {
                    t,
                    before,
                    after,
                    tokens,
                    group: 0,
                    parent,
                    ends: false,
                    reward: UBig::ZERO,
                    passing: UBig::ZERO,
                });
                nodes.len() - 1
            });
            nodes[n].ends |= t == length;
            nodes[n].reward += task.step_weight(which, t);
            nodes[n].passing += task.length_weight(which);
            parent = Some(n);
        }
    }
    (nodes, patterns)
}

/// Refuses a class whose policy table (q floats a cell) would not fit.
fn check_table<'a>(
    q: usize,
    patterns: impl Iterator<Item = &'a Pattern>,
    allowance: Allowance,
) -> Result<(), ClassError> {
    let mut cells = Some(0u128);
    for &(_, tokens, before, Reverse(after)) in patterns {
        let here = u32::try_from(tokens + before + 1 + after).ok();
        let here = here.and_then(|digits| (q as u128).checked_pow(digits));
        cells = cells.zip(here).and_then(|(a, b)| a.checked_add(b));
    }
    let needed = cells.and_then(|n| n.checked_mul(8 * q as u128));
    let count = cells.map_or("more than 10^38".to_owned(), |n| n.to_string());
    allowance.check(&format!("a table of {count} cells"), needed)?;
    match cells {
        Some(n) if n > u128::from(u32::MAX) => Err(ClassError::TooManyCells(n)),
        _ => Ok(()),
    }
}

fn group<'a>(
    task: &Task,
    &(t, tokens, before, Reverse(after)): &Pattern,
    first_cell: usize,
    members: impl Iterator<Item = &'a Node> + Clone,
) -> Group {
    let q = task.q();
    let all = q.pow((before + 1 + after) as u32);
    let histories = q.pow(tokens as u32);
    let occurring: Option<Vec<u32>> = (!task.inputs().has_full_support()).then(|| {
        let occurs = |w: &usize| members.clone().any(|n| window_occurs(task, n, *w));
        (0..all).filter(occurs).map(|w| w as u32).collect()
    });
    let mut rank = Vec::new();
    if let Some(list) = &occurring {
        rank = vec![u32::MAX; all];
        (0..).zip(list).for_each(|(n, &w)| rank[w as usize] = n);
    }
    let windows = occurring.as_ref().map_or(all, Vec::len);
    Group {
        t,
        before,
        after,
        tokens,
        first_cell,
        cells: windows * histories,
        histories,
        occurring,
        rank,
    }
}

/// Whether the input law lets window `w` stand at the node.
fn window_occurs(task: &Task, node: &Node, w: usize) -> bool {
    let (q, inputs) = (task.q(), task.inputs());
    let size = node.before + 1 + node.after;
    let x = digits(w, q, size);
    let start = node.t - node.before;
    inputs.can_occur(start, x[0]) && (1..size).all(|i| inputs.weight(start + i, x[i - 1], x[i]) > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::inputs::InputLaw;
    use crate::model::operation::Operation;
    use crate::support::exact::parse;
    use std::collections::{BTreeSet, HashSet};

    fn class(name: &str, law: &InputLaw, lengths: &[usize], shape: Shape) -> Class {
        let task = Task::new(Operation::named(name).unwrap(), law, lengths).unwrap();
        Class::new(task, shape).unwrap()
    }

    fn paper(lengths: &[usize], shape: Shape) -> Class {
        class("quasigroup", &InputLaw::Uniform, lengths, shape)
    }

    #[test]
    fn cell_counts_are_those_of_the_specification() {
        for (t, cells) in [(4, 80), (6, 130), (7, 155), (8, 180)] {
            assert_eq!(paper(&[t], Shape::untied(0, 0)).cells(), cells);
        }
        assert_eq!(paper(&[7], Shape::untied(1, 1)).cells(), 3275);
        assert_eq!(paper(&[7], Shape::untied(0, 3)).cells(), 10775);
        assert_eq!(paper(&[7], Shape::tied(0, 3)).cells(), 4525);
        assert_eq!(paper(&[7], Shape::untied(2, 1)).cells(), 13775);
        assert_eq!(paper(&[3, 4, 5], Shape::untied(2, 1)).cells(), 8775);
        assert_eq!(paper(&[3, 4, 5, 6], Shape::untied(1, 1)).cells(), 3025);
        assert_eq!(paper(&[4, 5, 6], Shape::untied(2, 1)).cells(), 11900);
        for t in 1..30 {
            let parity = class("parity", &InputLaw::Uniform, &[t], Shape::untied(0, 0));
            assert_eq!(parity.cells(), 4 * t - 2);
        }
    }

    /// Walks every input and every emitted sequence, as the definition says.
    fn keys_by_definition(class: &Class) -> HashSet<CellKey> {
        let Shape {
            window: Window { past, future },
            memory,
            tied,
        } = class.shape();
        let (q, inputs) = (class.q() as Symbol, class.task().inputs());
        let sequences = |n: usize| -> Vec<Vec<Symbol>> {
            (0..n).fold(vec![vec![]], |list, _| {
                list.iter()
                    .flat_map(|s| (0..q).map(move |d| [&s[..], &[d]].concat()))
                    .collect()
            })
        };
        let mut keys = HashSet::new();
        for &length in class.task().lengths() {
            for x in sequences(length) {
                if !inputs.occurs(&x) {
                    continue;
                }
                for t in 1..=length {
                    for y in sequences(t - 1) {
                        let at = |s: &[Symbol], i: isize| {
                            usize::try_from(i - 1).ok().and_then(|i| s.get(i).copied())
                        };
                        let t_ = t as isize;
                        keys.insert(CellKey {
                            t: (!tied).then_some(t),
                            x: (t_ - past as isize..=t_ + future as isize)
                                .map(|i| at(&x, i))
                                .collect(),
                            y: (t_ - memory as isize..t_).map(|i| at(&y, i)).collect(),
                        });
                        let cell = class.route(&x, t, &y);
                        let key = class.key(cell);
                        assert_eq!(key.x[past], Some(x[t - 1]));
                        assert!(keys.contains(&key), "{key:?} is no context of step {t}");
                    }
                }
            }
        }
        keys
    }

    #[test]
    fn the_cells_are_exactly_the_contexts_that_occur() {
        let product = |text: &[&[&str]]| {
            InputLaw::Product(
                text.iter()
                    .map(|r| r.iter().map(|p| parse(p).unwrap()).collect())
                    .collect(),
            )
        };
        let holes = product(&[
            &["1/2", "0", "1/2"],
            &["0", "1", "0"],
            &["1/3", "1/3", "1/3"],
        ]);
        let laws = [
            InputLaw::Uniform,
            InputLaw::Markov(RBig::ONE),
            InputLaw::Markov(RBig::ZERO),
            holes,
        ];
        use dashu_ratio::RBig;
        for law in &laws {
            for lengths in [&[3][..], &[1, 2, 3], &[1, 3]] {
                for (past, future) in [(0, 0), (1, 0), (0, 1), (1, 1), (2, 1), (0, 3)] {
                    for (memory, tied) in [(1, false), (1, true), (2, false), (3, true)] {
                        let shape = Shape {
                            window: Window { past, future },
                            memory,
                            tied,
                        };
                        let class = class("z:3", law, lengths, shape);
                        let listed: Vec<_> = (0..class.cells()).map(|c| class.key(c)).collect();
                        let distinct: HashSet<_> = listed.iter().cloned().collect();
                        assert_eq!(distinct.len(), listed.len());
                        assert_eq!(
                            distinct,
                            keys_by_definition(&class),
                            "{law:?} {lengths:?} {shape:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn untied_cells_come_in_the_documented_order() {
        let class = paper(&[3, 5], Shape::untied(1, 1));
        let keys: Vec<_> = (0..class.cells()).map(|c| class.key(c)).collect();
        let seps = |key: &CellKey| key.x.iter().filter(|x| x.is_none()).count();
        let order: BTreeSet<_> = keys
            .iter()
            .map(|k| (k.t, seps(k), k.x.clone(), k.y.clone()))
            .collect();
        assert!(
            order
                .into_iter()
                .map(|(_, _, x, y)| (x, y))
                .eq(keys.into_iter().map(|k| (k.x, k.y)))
        );
    }

    #[test]
    fn a_class_too_large_is_refused_with_the_size_it_needs() {
        let task = Task::new(Operation::paper(), &InputLaw::Uniform, &[70]).unwrap();
        let error = |shape| {
            Class::within(task.clone(), shape, Allowance(1 << 30))
                .unwrap_err()
                .to_string()
        };
        assert!(
            error(Shape::untied(0, 12)).contains("GiB are allowed"),
            "{}",
            error(Shape::untied(0, 12))
        );
        assert!(
            error(Shape::untied(60, 60)).contains("more than 10^38"),
            "{}",
            error(Shape::untied(60, 60))
        );
    }

    #[test]
    fn lengths_share_nodes_until_a_window_meets_its_end() {
        let class = paper(&[3, 4, 5, 6], Shape::untied(1, 1));
        assert_eq!(class.nodes().len(), 5 + 4);
        assert_eq!(paper(&[2, 5], Shape::untied(0, 3)).nodes().len(), 5 + 2);
    }
}
