//! Prepares, for every node of a class, where its sums read and write (paper, App. A).
//!
//! # The geometry of a step
//!
//! Letters: q symbols; x the window; s a fold; y the token that the step forgets, a its own token.
//!
//! **Roles** (`layout`). A step at t draws one symbol, the newest of its window: it *enters*.
//! One symbol, the oldest, *leaves*: no later step reads it. The others are the *middle*. What
//! happened before cannot depend on the symbol that enters, nor what comes after on the one that
//! leaves. So for one reading of the middle, a step is products of three small matrices:
//!
//! | matrix | row, column | what it is |
//! |---|---|---|
//! | alpha | s; k = (leaving symbol, y) | weight of the rollouts so far, but for the symbol that enters |
//! | policy | k; j = (entering symbol, a) | pi_c(a) |
//! | bbar | s; j | beta_{t+1}, the reward to come after a |
//!
//! - post(s, j) = weight(j) sum over k of alpha(s, k) policy(k, j) is what the step sends on;
//! - dQ(k, j) = weight(j) sum over s of alpha(s, k) bbar(s, j);
//! - beta(s, k) = sum over j of weight(j) bbar(s, j) policy(k, j) is what it returns;
//! - d(k, entering symbol) = weight times the sum over s of alpha(s, k),
//!
//! where weight(j) is that of the entering symbol. Here s is the fold *after* x_t, so that the square
//! has no part in the products; only where x_t itself enters (no symbol ahead is seen) it is the fold
//! before, and that after it is found from j. If more than one token is remembered, there are such
//! matrices for each history of the others.
//!
//! **Lanes.** The readings of the middle are *lanes*: all do the same arithmetic, side by side in the
//! vectors of *panels* (`layout`, `kernels::sums`). Arrays are, slowest index first:
//!
//! | array | index |
//! |---|---|
//! | policy, dQ | panel, history, leaving, y, entering, a, lane of the panel |
//! | visits d | the same without a |
//! | alpha, beta | history, leaving, y, s, lane |
//! | weights | entering, lane |
//! | post, bbar of a panel and a history, in scratch | entering, a, s, lane of the panel |
//!
//! A lane that is alone in its panel, the last, is not in the rows of lanes of alpha, beta and weights: it
//! lies behind all of them, in the same order (`Lanes::place`). Its post and bbar are by s, entering and a.
//!
//! **Routes** (`routes`). From one step to the next the symbol that entered becomes the last digit
//! of a lane, the first digit of a lane becomes the symbol that leaves, a becomes y, and the fold moves
//! by x_{t+1}. So post is scattered to alpha of the next step (`kernels::routes`), and beta gathered
//! into bbar by the same places, a panel at a time.
//!
//! **Where it is otherwise.** At t = 1 all symbols are new and there is no fold yet: alpha is one
//! number, 1, the weight is that of the whole window, and the fold after it is x_1. At the end of the
//! input nothing enters, and j is a alone. While the window grows nothing leaves, and k is y alone.
//! Where the law of the entering symbol depends on the leaving one, or they are the same (windows (0,0),
//! and correlated inputs on (0,1) and (1,0)), the leaving symbol is part of the middle and the message
//! sums over it. On (0,0) correlated inputs draw x_{t+1} on the way to the message.
//!
//! # A worked example
//!
//! q = 2, window (0, 1), one remembered token, uniform inputs, T = 3; the step t = 2. It sees x_2,
//! which leaves, and x_3, which enters with weight 1/2. The middle is empty: one lane.
//!
//! - alpha(s_2; x_2, y_1) stands at 4 x_2 + 2 y_1 + s_2.
//! - The policy pi(a | x_2, x_3, y_1) stands at 8 x_2 + 4 y_1 + 2 x_3 + a of the group's table, and so
//!   does dQ; the visits d(x_2, x_3, y_1) stand at 4 x_2 + 2 y_1 + x_3.
//! - post(s_2; x_3, a) is half the sum over x_2 and y_1 of alpha times pi. (Its one lane is alone in its
//!   panel, so that it stands at 4 s_2 + 2 x_3 + a of scratch.)
//! - The step t = 3 sees x_3 alone, which leaves; its alpha(s_3; x_3, y_2) stands at
//!   4 x_3 + 2 y_2 + s_3, where y_2 = a and s_3 = B(s_2, x_3). So there are four routes, one for each
//!   (s_2, x_3), to 4 x_3 + s_3, and an action moves them by 2.
//! - beta of t = 3 comes back the same way to bbar(s_2; x_3, a), and gives dQ and beta of t = 2.
//!
//! With window (0, 2) the middle would be x_{t+1}: two lanes, of which x_{t+1} is the digit; on the
//! way it becomes the symbol that leaves, and x_{t+2}, which entered, the digit.
//!
//! The test `the_worked_example_is_laid_out_as_described` holds these numbers against the code.

mod geometry;
mod routes;
mod weights;

use crate::model::class::{Class, Node};
use crate::reward::kernels::Extent;
use crate::reward::layout::Layout;
use crate::support::exact::Reward;
use dashu_int::UBig;
pub(crate) use geometry::Geometry;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
pub(crate) use weights::NodeWeights;

/// The meaning of a unit of weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Probabilities: rewards come out in [0, 1].
    Probability,
    /// Integers over the task's denominator, held in f64: exact while that is below 2^53.
    Integer,
}

/// One node made ready.
#[derive(Debug)]
pub(crate) struct PreparedNode {
    pub geometry: Arc<Geometry>,
    pub weights: Arc<NodeWeights>,
    pub is_first: bool,
    /// The start of its group in tables of (cell, action), and in tables of cells.
    pub entries: usize,
    pub cells: usize,
    /// The start of its alpha among all messages sent; several nodes may read one message.
    pub alpha: usize,
    /// The start of the message it returns among all of them.
    pub returned: usize,
    /// The starts of the messages that the next nodes return, all behind its own.
    pub children: Vec<usize>,
    /// The weight of a right token, where it is compared with the state.
    pub reward: Option<f64>,
    /// The weight of a visit: the share of the lengths that pass here.
    pub share: f64,
    /// Whether its values add to those of a later node that consults the same cells.
    pub adds: bool,
}

impl PreparedNode {
    /// How large its arrays are.
    pub fn extent(&self) -> &Extent {
        &self.geometry.arrays.extent
    }
}

/// All nodes made ready.
#[derive(Debug)]
pub(crate) struct Plan {
    pub steps: Vec<PreparedNode>,
    /// By node, where the message lies that it sends, behind its alpha.
    pub sent: Vec<Range<usize>>,
    /// Sizes of all messages sent and returned.
    pub sent_size: usize,
    pub returned_size: usize,
    /// The scratch memory of the sums of a step, the most of all steps.
    pub scratch: usize,
}

/// The properties that nodes of one geometry share: what they see, and whether messages reach them and
/// leave them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Kind {
    before: usize,
    after: usize,
    tokens: usize,
    is_first: bool,
    sends: bool,
    rewarded: bool,
}

impl Kind {
    fn of(node: &Node, sends: bool) -> Kind {
        Kind {
            before: node.before,
            after: node.after,
            tokens: node.tokens,
            is_first: node.parent.is_none(),
            sends,
            rewarded: node.is_rewarded(),
        }
    }
}

impl Plan {
    pub fn new(layout: &Layout, scale: Scale) -> Plan {
        let class = &layout.class;
        let nodes = class.nodes();
        let children = children(nodes);
        let mut plan = Plan {
            steps: Vec::with_capacity(nodes.len()),
            sent: Vec::with_capacity(nodes.len()),
            sent_size: 0,
            returned_size: 0,
            scratch: 0,
        };
        let mut parts = PlanParts::default();
        let last_of_group = last_of_groups(class);
        for (n, node) in nodes.iter().enumerate() {
            let child = children[n].last().map(|&child| &nodes[child]);
            let geometry = parts.geometry(layout, node, child);
            let extent = &geometry.arrays.extent;
            // No node sends the message that is read at t = 1.
            let alpha = node
                .parent
                .map_or(plan.sent_size, |parent| plan.sent[parent].start);
            plan.sent_size += if node.parent.is_none() {
                extent.alpha()
            } else {
                0
            };
            let group = &layout.groups[node.group];
            plan.steps.push(PreparedNode {
                weights: parts.weights(class, node, &geometry, scale),
                is_first: node.parent.is_none(),
                entries: group.entries.start,
                cells: group.cells.start,
                alpha,
                returned: plan.returned_size,
                children: Vec::new(),
                reward: node.is_rewarded().then(|| reward(class, scale, node)),
                share: share(class, &node.passing),
                adds: last_of_group[node.group] != n,
                geometry: geometry.clone(),
            });
            plan.returned_size += line(extent.alpha());
            plan.scratch = plan.scratch.max(geometry.sums.scratch());
            let start = line(plan.sent_size);
            let next = child.map(|child| geometry::StepArrays::new(layout, child));
            let end = start + next.map_or(0, |next| line(next.extent.alpha()));
            plan.sent.push(start..end);
            plan.sent_size = end;
        }
        for (n, children) in children.iter().enumerate() {
            let returned = children.iter().map(|&child| plan.steps[child].returned);
            plan.steps[n].children = returned.collect();
        }
        plan
    }
}

/// A size filled up to whole lines of the cache.
fn line(size: usize) -> usize {
    size.next_multiple_of(8)
}

/// The parts of a plan that nodes share.
#[derive(Default)]
struct PlanParts {
    geometries: HashMap<Kind, Arc<Geometry>>,
    weights: HashMap<(Kind, usize, Option<usize>), Arc<NodeWeights>>,
}

impl PlanParts {
    fn geometry(&mut self, layout: &Layout, node: &Node, child: Option<&Node>) -> Arc<Geometry> {
        let kind = Kind::of(node, child.is_some());
        let geometry = || Arc::new(Geometry::new(layout, node, child));
        self.geometries.entry(kind).or_insert_with(geometry).clone()
    }

    fn weights(
        &mut self,
        class: &Class,
        node: &Node,
        g: &Geometry,
        scale: Scale,
    ) -> Arc<NodeWeights> {
        let inputs = class.task().inputs();
        let kind = Kind::of(node, g.routes.is_some());
        let next = g.routes.as_ref().map(|_| inputs.kind(node.t + 1));
        let key = (kind, inputs.kind(node.t + node.after), next);
        let weights = || Arc::new(NodeWeights::new(class, node, g, scale));
        self.weights.entry(key).or_insert_with(weights).clone()
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

/// For each node, those that follow it.
fn children(nodes: &[Node]) -> Vec<Vec<usize>> {
    let mut lists = vec![Vec::new(); nodes.len()];
    for (n, node) in nodes.iter().enumerate() {
        if let Some(parent) = node.parent {
            lists[parent].push(n);
        }
    }
    lists
}

/// The weight of a right token at a node that is rewarded.
fn reward(class: &Class, scale: Scale, node: &Node) -> f64 {
    match scale {
        Scale::Probability => share(class, &node.reward),
        Scale::Integer => class.lift(node).map_or(0.0, |lift| lift.to_f64().value()),
    }
}

/// A weight over that of all.
fn share(class: &Class, weight: &UBig) -> f64 {
    Reward::new(weight.clone(), class.task().total_weight()).to_f64()
}

#[cfg(test)]
mod tests;
