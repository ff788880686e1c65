//! Prepares, for every node of a class, where its sums read and write (paper, App. A).
//!
//! # The geometry of a step
//!
//! A node receives a message from the step before, g(s, y, kept): the weight of all rollouts so
//! far with fold s = s_{t-1}, remembered tokens y and the symbols `kept` in the window, summed over
//! what has left it. It draws the new symbol, acts, and sends the next message. The way back sends
//! h, the reward still to come, through the same places. Letters: q symbols, x the window, s and s'
//! the fold before and after x_t, y the remembered tokens, a the token of this step.
//!
//! **Slabs and lanes** (`class::planes`). x_t and the symbol about to leave the window say which
//! *slab* a window is in; all its other symbols say which *lane* of the slab. Within a slab the
//! fold makes one move s' = B(s, x_t) and one symbol leaves, so all lanes do the same arithmetic,
//! side by side, in *blocks* of one vector. The last block may have idle lanes, whose numbers
//! nobody reads.
//!
//! **Arrays of a step.** Each is a list of vectors of lanes; slowest index first:
//!
//! | array | index | what it is |
//! |---|---|---|
//! | policy, dQ | slab, block, y, a | pi_c(a); d(c) Q(c, a) |
//! | visits | slab, block, y | d(c) |
//! | alpha | slab, s, y, block | alpha_t, but for the weight of the symbol drawn |
//! | post | s', y', slab, block | weight after the action; y' = y without its oldest token, and a |
//! | bbar | slab, block, s', y' | beta_{t+1}, times the weight of the symbol drawn |
//! | beta | s, y, block | beta_t of one slab at a time |
//!
//! **Sums.** With those arrays App. A is four contractions (`kernels::Contraction`), for every
//! vector of lanes and every history k of the tokens that are remembered beyond this step:
//!
//! - post(s', a) = sum over x_t and the forgotten token of alpha(s) pi(a), where B(s, x_t) = s';
//! - dQ(forgotten token, a) = sum over s of alpha(s) bbar(s', a);
//! - beta(s, forgotten token) = sum over a of bbar(s', a) pi(a);
//! - d(forgotten token) = sum over s of alpha(s) times the weight of the symbol drawn.
//!
//! The message sent on is post times the weight of the symbol drawn, summed over the symbol that
//! leaves. Where that weight does not depend on what leaves, the sum is part of the contraction and
//! post has fewer slabs than the policy, one for q of them.
//!
//! **Messages.** For each (s, y) the elements of a message lie in the order in which the next step
//! reads them: a *part* for each of its slabs, as long as its lanes but for the symbol that it draws
//! itself. That symbol is the slowest digit of a lane, so alpha is the part repeated q times. A part
//! as long as a vector is followed by its own beginning; then every block of alpha is a vector of
//! the message, read in place. A shorter one is copied out (`Source::Repeated`).
//!
//! # A worked example
//!
//! q = 2, window (0, 1), one remembered token, uniform inputs, T = 3; the step t = 2. It sees x_2
//! and x_3, of which it draws x_3; x_2 leaves. There are 2 slabs (x_2 = 0, 1), each of 2 lanes
//! (x_3 = 0, 1) in one block of width 4, two of its lanes idle.
//!
//! - It receives g(s_1, y_1, x_2): for each of 2 x 2 (s, y) a message of 2 parts of 1 element.
//! - alpha is made of it in scratch: g(s, y, x_2) stands at 16 x_2 + 8 s + 4 y + x_3 for either x_3.
//! - The policy pi(a | x_2, x_3, y) stands at 16 x_2 + 8 y + 4 a + x_3 of the group's table, and so
//!   does dQ; the visits d(x_2, x_3, y) stand at 8 x_2 + 4 y + x_3.
//! - post has one slab, because uniform inputs weigh x_3 alike whatever x_2 was: at
//!   8 s' + 4 a + x_3 stands the sum over x_2 and y of alpha times pi, s being the one fold with
//!   B(s, x_2) = s'. In terms of the contraction: A has for x_2 the rows 16 x_2 + 8 s and the terms
//!   4 y, B moves by 16 for x_2, has the terms 8 y and moves by 4 for a column a, and C moves by 8
//!   for a row s' and by 4 for a column a.
//! - It sends g(s_2, y_2, x_3) = post / 2, the half being the weight of x_3: again 4 messages of 2
//!   elements, found at the places 0 and 1 of a plane of post, which takes 4.
//! - On the way back h(s_2, y_2, x_3) / 2 is put into bbar at 8 s' + 4 a + x_3. For each x_2 this
//!   gives dQ, d and beta(s, y) at 8 s + 4 y + x_3, whose sum over x_3 is h(s_1, y_1, x_2).
//!
//! The test `the_worked_example_is_laid_out_as_described` holds these numbers against the code.

mod geometry;
mod sending;
mod sums;
mod weights;

use super::passes::LEAST_MESSAGE;
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

#[cfg(test)]
mod tests;
