//! Sorts all codes of a class by their reward (paper, App. G.6).

use super::climb::NODES;
use super::numbering::{Numbering, Span};
use super::{Nodes, Pace, Tree, TreeError, climb, flood, rewards};
use crate::model::class::Class;
use crate::reward::count::flow::FlowTable;
use crate::support::context::Context;
use crate::support::memory::Allowance;
use crate::support::parallel::in_order;
use dashu_int::ops::BitTest;
use std::convert::Infallible;
use std::ops::Range;

/// The most bits of a denominator.
const BITS: usize = 62;

/// The bytes that a node takes at any time.
const NODE: u128 = 20;

/// A level, counted from the highest reward on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LevelNumber(pub u32);

impl LevelNumber {
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The codes of a class, or its orbits, by reward. A level is a reward that occurs, the highest 0.
pub struct Levels {
    pub(super) class: Class,
    /// Of an untied class.
    pub(super) flows: Option<FlowTable<i64>>,
    pub(super) numbering: Numbering,
    pub(super) threads: usize,
    /// By level.
    pub(super) rewards: Vec<u64>,
    /// By level: where its nodes begin in `order`; one more entry ends the last.
    starts: Vec<u32>,
    /// By node.
    pub(super) level: Vec<LevelNumber>,
    /// The nodes, by level, then by number.
    order: Vec<u32>,
}

impl Levels {
    /// How many nodes a class has; none if 128 bits cannot number them.
    pub fn size(class: &Class, nodes: Nodes) -> Option<u128> {
        Numbering::size(class.q(), &spans(class, nodes))
    }

    /// Computes all rewards: a third of all visits. Everything is the same on any number of threads.
    pub fn new(class: &Class, nodes: Nodes, context: Context<'_>) -> Result<Levels, TreeError> {
        let tied = class.shape().tied;
        if tied && nodes == Nodes::Orbits {
            return Err(TreeError::TiedOrbits);
        }
        let bits = class.task().denominator().bit_len();
        if bits > BITS {
            return Err(TreeError::TooFine { bits });
        }
        let spans = spans(class, nodes);
        let size = Numbering::size(class.q(), &spans);
        let needed = size.and_then(|size| size.checked_mul(NODE));
        let rest = match nodes {
            Nodes::Codes => check(class, "the codes", needed, context.memory)?,
            Nodes::Orbits => check(class, "the orbits", needed, context.memory)?,
        };
        let size = size.expect("it fits into memory");
        if size >= u128::from(u32::MAX) {
            return Err(TreeError::TooMany { nodes: size });
        }
        let flows = match tied {
            true => None,
            false => {
                rest.check("the tables of a flood", FlowTable::<i64>::bytes(class))?;
                Some(FlowTable::<i64>::new(class))
            }
        };
        let each = NODES as u128 * neighbours(class);
        let threads = context
            .threads
            .clamp(1, 1.max((rest.0 / each.max(1)) as usize / 4));
        let numbering = Numbering::new(class.q(), spans);
        let mut rewards = Vec::with_capacity(size as usize);
        let pace = &mut Pace::new(context.observer, size as u64, 0);
        match &flows {
            Some(flows) => rewards::untied(flows, &numbering, threads, &mut rewards, pace)?,
            None => rewards::any(class, threads, &mut rewards, rest, pace)?,
        }
        let (values, level) = rank(rewards, threads);
        let (starts, order) = sort(&level, values.len());
        Ok(Levels {
            class: class.clone(),
            flows,
            numbering,
            threads,
            rewards: values,
            starts,
            level,
            order,
        })
    }

    /// How many nodes there are: codes, or orbits.
    pub fn nodes(&self) -> u32 {
        self.level.len() as u32
    }

    /// Floods the codes: two thirds of all visits.
    pub fn tree(&self, context: Context<'_>) -> Result<Tree, TreeError> {
        let nodes = u64::from(self.nodes());
        let pace = &mut Pace::new(context.observer, nodes, nodes);
        let flood = flood::flood(self, pace)?;
        let random = climb::random(self, &flood.ends, flood.joins.leaves(), pace)?;
        Ok(flood.tree(self, random))
    }

    /// The nodes of a level, ascending.
    pub(super) fn members(&self, levels: Range<usize>) -> &[u32] {
        let (start, end) = (self.starts[levels.start], self.starts[levels.end]);
        &self.order[start as usize..end as usize]
    }
}

/// Refuses too many nodes; says what is left for all else.
fn check(
    class: &Class,
    what: &str,
    needed: Option<u128>,
    memory: Allowance,
) -> Result<Allowance, TreeError> {
    let what = format!(
        "flooding {what} of {} cells of {} actions",
        class.cells(),
        class.q()
    );
    memory.check(&what, needed)?;
    Ok(Allowance(memory.0 - needed.unwrap_or(0)))
}

/// The cells of each step of an untied class, or of all steps of a tied one. A step whose tokens are
/// rewarded keeps their names.
fn spans(class: &Class, nodes: Nodes) -> Vec<Span> {
    if class.shape().tied {
        return vec![Span {
            cells: 0..class.cells(),
            named: false,
        }];
    }
    let mut spans: Vec<Span> = Vec::new();
    for t in 1..=class.task().longest() {
        let groups = class.groups().iter().filter(|group| group.t == Some(t));
        let start = spans.last().map_or(0, |span| span.cells.end);
        let cells = start..start + groups.map(|group| group.cells).sum::<usize>();
        let named = nodes == Nodes::Orbits && !class.task().rewards_step(t);
        spans.push(Span { cells, named });
    }
    spans
}

/// The bytes that a node takes while its neighbours are known: one after the other, and a count.
fn neighbours(class: &Class) -> u128 {
    (4 * class.cells() * (class.q() - 1) + 32) as u128
}

/// The rewards that occur, the highest first, and the level of each node.
fn rank(rewards: Vec<u64>, threads: usize) -> (Vec<u64>, Vec<LevelNumber>) {
    let some: Vec<&[u64]> = rewards.chunks(RANKED).collect();
    let mut values: Vec<u64> = Vec::new();
    let occurring = |number: usize| {
        let mut values = some[number].to_vec();
        values.sort_unstable_by(|a, b| b.cmp(a));
        values.dedup();
        Ok::<_, Infallible>(Some(values))
    };
    let mut most = 4 * RANKED;
    in_order(
        vec![(); threads],
        some.len(),
        |()| occurring,
        |more| {
            values.extend(more);
            // What many chunks have in common is kept once.
            if values.len() > most {
                values.sort_unstable_by(|a, b| b.cmp(a));
                values.dedup();
                most = most.max(2 * values.len());
            }
            Ok(())
        },
    )
    .unwrap_or_else(|never| match never {});
    values.sort_unstable_by(|a, b| b.cmp(a));
    values.dedup();
    values.shrink_to_fit();
    let mut levels = Vec::with_capacity(rewards.len());
    let level = |reward: &u64| LevelNumber(values.partition_point(|value| value > reward) as u32);
    let ranked = |number: usize| {
        let levels: Vec<LevelNumber> = some[number].iter().map(level).collect();
        Ok::<_, Infallible>(Some(levels))
    };
    in_order(
        vec![(); threads],
        some.len(),
        |()| ranked,
        |more| {
            levels.extend(more);
            Ok(())
        },
    )
    .unwrap_or_else(|never| match never {});
    (values, levels)
}

/// How many rewards are sorted at once.
const RANKED: usize = 1 << 18;

/// Where each level begins, and the nodes by level.
fn sort(level: &[LevelNumber], levels: usize) -> (Vec<u32>, Vec<u32>) {
    let mut starts = vec![0u32; levels + 1];
    for &level in level {
        starts[level.index() + 1] += 1;
    }
    for level in 0..levels {
        starts[level + 1] += starts[level];
    }
    let mut next = starts.clone();
    let mut order = vec![0; level.len()];
    for (node, &level) in (0..).zip(level) {
        order[next[level.index()] as usize] = node;
        next[level.index()] += 1;
    }
    (starts, order)
}
