//! Prepares, for every node of a class, where its sums read and write (paper, App. A).
//!
//! TODO

mod geometry;
mod sending;
mod weights;

use super::LEAST_MESSAGE;
use crate::class::{Class, Node, Planes};
pub(crate) use geometry::{Draw, Geometry, Source};
use std::collections::HashMap;
use std::sync::Arc;
pub(crate) use weights::Weights;

/// The lanes of the widest block.
pub(crate) const WIDEST: usize = 8;

/// What a unit of weight stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Probabilities: rewards come out in [0, 1].
    Probability,
    /// Integers over the task's denominator, held in f64: exact while that is below 2^53.
    Integer,
}

/// One node made ready.
#[derive(Debug)]
pub(crate) struct Step {
    pub geometry: Arc<Geometry>,
    pub weights: Arc<Weights>,
    pub is_first: bool,
    /// Where its group starts in tables of (cell, action), and in tables of cells.
    pub entries: usize,
    pub cells: usize,
    /// Where the message it receives starts among all messages, and where the one it sends does.
    pub received: usize,
    pub sent: usize,
    /// What a right answer given here counts.
    pub reward: Option<f64>,
    /// Whether the message it sends back adds to that of a later node.
    pub joins: bool,
    /// Whether its values add to those of a later node that consults the same cells.
    pub adds: bool,
}

/// All nodes made ready.
#[derive(Debug)]
pub(crate) struct Plan {
    pub steps: Vec<Step>,
    /// Size of all messages together.
    pub messages: usize,
    /// What each array of a step takes, at the most.
    pub scratch: ScratchSizes,
}

/// The sizes of the arrays that steps use in turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ScratchSizes {
    pub alpha: usize,
    pub post: usize,
    pub bbar: usize,
    pub beta: usize,
}

impl ScratchSizes {
    fn of(g: &Geometry) -> ScratchSizes {
        let sizes = &g.sizes;
        ScratchSizes {
            alpha: match g.source {
                Source::InPlace => 0,
                _ => sizes.slabs * sizes.rows() * sizes.alpha_history,
            },
            post: sizes.planes() * sizes.plane(),
            bbar: sizes.post_slabs * sizes.bbar_slab(),
            beta: sizes.rows() * sizes.row,
        }
    }

    fn most(self, other: ScratchSizes) -> ScratchSizes {
        ScratchSizes {
            alpha: self.alpha.max(other.alpha),
            post: self.post.max(other.post),
            bbar: self.bbar.max(other.bbar),
            beta: self.beta.max(other.beta),
        }
    }
}

/// What nodes must share to have one geometry: what they see, and whether messages reach them and
/// leave them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Kind {
    before: usize,
    after: usize,
    tokens: usize,
    is_first: bool,
    sends: bool,
}

impl Kind {
    fn of(node: &Node, sends: bool) -> Kind {
        Kind {
            before: node.before,
            after: node.after,
            tokens: node.tokens,
            is_first: node.parent.is_none(),
            sends,
        }
    }
}

impl Plan {
    pub fn new(class: &Class, planes: &Planes, scale: Scale) -> Plan {
        let nodes = class.nodes();
        let (last_of_group, last_child) = (last_of_groups(class), last_children(nodes));
        let mut geometries: HashMap<Kind, Arc<Geometry>> = HashMap::new();
        let mut weights: HashMap<_, Arc<Weights>> = HashMap::new();
        let mut plan = Plan {
            steps: Vec::with_capacity(nodes.len()),
            messages: 0,
            scratch: ScratchSizes::default(),
        };
        for (n, node) in nodes.iter().enumerate() {
            let parent = node.parent.map(|parent| &plan.steps[parent]);
            let child = last_child[n].map(|child| &nodes[child]);
            let kind = Kind::of(node, child.is_some());
            let geometry = geometries.entry(kind).or_insert_with(|| {
                let received = parent.map_or(1, |step| step.geometry.message());
                Arc::new(Geometry::new(class, planes.replicas, node, child, received))
            });
            let drawn = class.task().inputs().kind(node.t + node.after);
            let weights = weights
                .entry((kind, drawn, node.lengths))
                .or_insert_with(|| {
                    let weights = Weights::new(class, planes.replicas, node, geometry, scale);
                    Arc::new(weights)
                });
            let group = &planes.groups[node.group];
            let step = Step {
                geometry: geometry.clone(),
                weights: weights.clone(),
                is_first: node.parent.is_none(),
                entries: group.entries.start,
                cells: group.cells.start,
                received: parent.map_or(usize::MAX, |step| step.sent),
                sent: plan.messages,
                reward: node.ends.then(|| reward(class, scale, node.t)),
                joins: node.parent.is_some_and(|p| last_child[p] != Some(n)),
                adds: last_of_group[node.group] != n,
            };
            plan.scratch = plan.scratch.most(ScratchSizes::of(geometry));
            plan.messages += geometry.sizes.planes() * geometry.message();
            plan.steps.push(step);
        }
        // Idle lanes may read past the last message; the one before t = 1 stands behind them all.
        plan.messages += WIDEST;
        for step in plan.steps.iter_mut().filter(|step| step.is_first) {
            step.received = plan.messages;
        }
        plan
    }
}

/// For each group, the last node that consults its cells.
fn last_of_groups(class: &Class) -> Vec<usize> {
    let mut last = vec![0; class.groups().len()];
    for (n, node) in class.nodes().iter().enumerate() {
        last[node.group] = n;
    }
    last
}

/// For each node, the last that follows it.
fn last_children(nodes: &[Node]) -> Vec<Option<usize>> {
    let mut last = vec![None; nodes.len()];
    for (n, node) in nodes.iter().enumerate() {
        if let Some(parent) = node.parent {
            last[parent] = Some(n);
        }
    }
    last
}

/// What a right answer counts for the length t.
fn reward(class: &Class, scale: Scale, t: usize) -> f64 {
    match scale {
        Scale::Probability => 1.0 / class.task().lengths().len() as f64,
        Scale::Integer => class.task().lift(t).to_f64().value(),
    }
}
