//! Prepares, for every node of a class, where its sums read and write (paper, App. A).
//!
//! A node receives a message from the step before, g(s, history, kept symbols): the weight of all
//! rollouts so far, summed over what has left the window. It draws the new symbol (*arrive*), acts,
//! and sends the next message (*leave*). The way back sends h, the reward still to come, through
//! the same places.

use crate::class::{Class, Node, Window};
use crate::class::{Lanes, digit_order};
use crate::quasigroup::Symbol;
use dashu_int::UBig;
use std::collections::HashMap;
use std::sync::Arc;

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

/// How a node reads the message before it.
#[derive(Debug, PartialEq)]
pub(crate) struct Arrive {
    pub draw: Draw,
    /// For each x_t, a factor a lane (zero on idle lanes): the weight of the symbol drawn now. When
    /// mixing, a factor for each symbol before; at t = 1, the law of the first window.
    pub factors: Vec<f64>,
}

/// Which symbol a step draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Draw {
    /// All of the first window, at t = 1.
    First,
    /// None: the window has met the end.
    Nothing,
    /// The last one of the window, ahead of x_t.
    Ahead,
    /// x_t itself.
    Current,
    /// x_t itself, whose law depends on a symbol no longer in the window.
    Mixing,
}

impl Arrive {
    /// Where, for x_t = x, the part of the message starts that its lanes read.
    #[inline(always)]
    pub fn part(&self, x: usize, length: usize, q: usize) -> usize {
        match self.draw {
            Draw::Nothing | Draw::Ahead => x * (length / q),
            Draw::First | Draw::Current | Draw::Mixing => 0,
        }
    }
}

/// How a node makes the message after it.
///
/// A message has, for each state and history, its parts one behind the other: one for each x of
/// the next step if that is already known, else a single one. Where the next symbol is drawn ahead,
/// a part is followed by its own beginning, so that any block of lanes reads it as one vector.
#[derive(Debug, PartialEq)]
pub(crate) struct Leave {
    /// For each element of the message, where it lies in a post row.
    pub from: Vec<u32>,
    /// The symbol summed away: how many values, and how far apart they lie.
    pub dropped: (usize, usize),
    /// For each place of bbar (of the first state and history), the element it holds.
    pub back: Vec<(u32, u32)>,
    /// Elements of a part without its repeated beginning.
    pub part: usize,
}

/// The geometry that nodes of one kind share. All but the counts are offsets.
#[derive(Debug, PartialEq)]
pub(crate) struct Geometry {
    /// 1 at t = 1, where there is no state yet, else q.
    pub states: usize,
    /// Histories before and after the step's own token.
    pub histories: (usize, usize),
    /// The tokens forgotten in this step (1 or q values), and histories of the others.
    pub forgotten: usize,
    pub remembered: usize,
    pub lanes: Lanes,
    /// Slabs of a post plane: 1 when x_t is summed away at once, else q.
    pub post_slabs: usize,
    /// The distance between slabs of a post plane, and between rows of beta.
    pub row: usize,
    /// For each x, the vectors of alpha that lead to state s', or the zero vector.
    pub alpha_rows: Vec<usize>,
    /// For each x and s, where bbar of s' = B[s, x] starts.
    pub bbar_rows: Vec<usize>,
    /// For each forgotten token, its place in alpha and in the policy.
    pub alpha_tokens: Vec<usize>,
    pub policy_tokens: Vec<usize>,
    /// For each action, its place in bbar and in the policy.
    pub actions: Vec<usize>,
    /// For each s, its place in alpha.
    pub alpha_states: Vec<usize>,
    pub leave: Option<Leave>,
}

impl Geometry {
    /// Size of one block of alpha for one x.
    pub fn alpha_block(&self) -> usize {
        self.states * self.histories.0 * self.lanes.width
    }

    /// Size of one block of the policy for one x.
    pub fn policy_block(&self, q: usize) -> usize {
        self.histories.0 * q * self.lanes.width
    }

    /// Size of one block of bbar for one x.
    pub fn bbar_block(&self, q: usize) -> usize {
        q * self.histories.1 * self.lanes.width
    }

    /// Size of post.
    pub fn post(&self, q: usize) -> usize {
        q * self.histories.1 * self.post_slabs * self.row
    }

    /// Size of bbar.
    pub fn bbar(&self, q: usize) -> usize {
        self.post_slabs * self.lanes.blocks * self.bbar_block(q)
    }

    /// Elements of the message for one state and history.
    pub fn message(&self) -> usize {
        self.leave.as_ref().map_or(0, |leave| leave.from.len())
    }
}

/// One node made ready.
#[derive(Debug)]
pub(crate) struct Step {
    pub geometry: Arc<Geometry>,
    pub arrive: Arc<Arrive>,
    pub parent: Option<usize>,
    /// Where its group lies in tables of (cell, action) and of cells.
    pub base: usize,
    pub cell_base: usize,
    /// Where the message it sends lies, among all messages.
    pub message: usize,
    /// What a right answer given here counts.
    pub reward: Option<f64>,
    /// What a visit counts.
    pub visit: f64,
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
    /// The largest of each scratch.
    pub alpha: usize,
    pub post: usize,
    pub bbar: usize,
    pub beta: usize,
}

impl Plan {
    pub fn new(class: &Class, scale: Scale) -> Plan {
        let q = class.q();
        let nodes = class.nodes();
        let mut last_of_group = vec![0; class.groups().len()];
        nodes.iter().enumerate().for_each(|(n, node)| last_of_group[node.group] = n);
        let mut last_child = vec![None; nodes.len()];
        let parents = nodes.iter().enumerate().filter_map(|(n, node)| Some((n, node.parent?)));
        parents.for_each(|(n, parent)| last_child[parent] = Some(n));
        let mut geometries: HashMap<_, Arc<Geometry>> = HashMap::new();
        let mut arrivals: HashMap<_, Arc<Arrive>> = HashMap::new();
        let mut plan = Plan { steps: Vec::new(), messages: 0, alpha: 0, post: 0, bbar: 0, beta: 0 };
        for (n, node) in nodes.iter().enumerate() {
            let kind = (node.before, node.after, node.tokens, node.parent.is_none(), last_child[n].is_some());
            let geometry = geometries.entry(kind).or_insert_with(|| Arc::new(geometry(class, node, last_child[n].map(|c| &nodes[c]))));
            let drawn = class.task().inputs().kind(node.t + node.after);
            let arrive = arrivals
                .entry((node.before, node.after, node.parent.is_none(), drawn))
                .or_insert_with(|| Arc::new(arrive(class, node, scale)));
            let g = geometry.as_ref();
            plan.alpha = plan.alpha.max(q * g.alpha_block() + g.lanes.width);
            plan.post = plan.post.max(g.post(q));
            plan.bbar = plan.bbar.max(g.bbar(q));
            plan.beta = plan.beta.max(g.states * g.histories.0 * g.row);
            let planes = &class.planes().groups[node.group];
            plan.steps.push(Step {
                geometry: geometry.clone(),
                arrive: arrive.clone(),
                parent: node.parent,
                base: planes.base,
                cell_base: planes.cell_base,
                message: plan.messages,
                reward: node.ends.then(|| scaled(class, scale, node.t, 1)),
                visit: scaled(class, scale, node.t + node.after, node.lengths),
                joins: node.parent.is_some_and(|parent| last_child[parent] != Some(n)),
                adds: last_of_group[node.group] != n,
            });
            plan.messages += q * g.histories.1 * g.message();
        }
        // Idle lanes may read past the last message.
        plan.messages += WIDEST;
        plan
    }
}

/// What weight over positions 1..=n counts, once for each of `lengths`.
fn scaled(class: &Class, scale: Scale, n: usize, lengths: usize) -> f64 {
    match scale {
        Scale::Probability => lengths as f64 / class.task().lengths().len() as f64,
        Scale::Integer => (class.task().lift(n) * UBig::from(lengths)).to_f64().value(),
    }
}

/// The distance each digit of a place moves: x_t by a slab, the others by lanes.
fn digit_weights(q: usize, order: &[isize], slab: usize) -> HashMap<isize, usize> {
    let mut weights = HashMap::from([(0, slab)]);
    let mut lane = 1;
    for &offset in order[1..].iter().rev() {
        weights.insert(offset, lane);
        lane *= q;
    }
    weights
}

/// The sum of the digits of `n`, the last one first in `weights` reversed, each times its weight.
fn place(q: usize, mut n: usize, weights: &[usize]) -> usize {
    weights.iter().rev().fold(0, |sum, weight| {
        let digit = n % q;
        n /= q;
        sum + digit * weight
    })
}

/// Which symbol the node draws.
fn draw(class: &Class, node: &Node) -> Draw {
    let Window { past, future } = class.shape().window;
    match node.parent {
        None => Draw::First,
        Some(_) if node.after < future => Draw::Nothing,
        Some(_) if future > 0 => Draw::Ahead,
        Some(_) if past == 0 && class.task().inputs().is_correlated() => Draw::Mixing,
        Some(_) => Draw::Current,
    }
}

fn geometry(class: &Class, node: &Node, children: Option<&Node>) -> Geometry {
    let (q, window) = (class.q(), class.shape().window);
    let order = digit_order(window, node.before, node.after);
    let lanes = Lanes::new(q.pow((order.len() - 1) as u32));
    let width = lanes.width;
    // An odd number of cache lines between rows keeps them in different cache sets.
    let row = if lanes.blocks % 2 == 0 { lanes.padded() + width } else { lanes.padded() };
    let states = if node.parent.is_none() { 1 } else { q };
    let before = q.pow(node.tokens as u32);
    let forgotten = if node.tokens == class.shape().memory { q } else { 1 };
    let remembered = before / forgotten;
    let after = remembered * q;
    let mixes = children.is_some_and(|child| draw(class, child) == Draw::Mixing);
    let post_slabs = if window.past == 0 && !mixes { 1 } else { q };

    let square = class.task().square();
    let next = |s: usize, x: usize| match states {
        1 => x,
        _ => square.multiply(s as Symbol, x as Symbol) as usize,
    };
    let block = states * before * width;
    let mut alpha_rows = vec![q * block; q * q];
    let mut bbar_rows = vec![0; q * states];
    for x in 0..q {
        for s in 0..states {
            alpha_rows[x * q + next(s, x)] = x * block + s * before * width;
            bbar_rows[x * states + s] = next(s, x) * after * width;
        }
    }
    let multiples = |count: usize, step: usize| (0..count).map(|n| n * step).collect::<Vec<_>>();
    Geometry {
        states,
        histories: (before, after),
        forgotten,
        remembered,
        lanes,
        post_slabs,
        row,
        alpha_rows,
        bbar_rows,
        alpha_tokens: multiples(forgotten, remembered * width),
        policy_tokens: multiples(forgotten, remembered * q * width),
        actions: multiples(q, width),
        alpha_states: multiples(states, before * width),
        leave: children.map(|child| leave(class, node, child, &order, (lanes, row, post_slabs, after))),
    }
}

fn leave(
    class: &Class,
    node: &Node,
    child: &Node,
    order: &[isize],
    (lanes, row, post_slabs, histories): (Lanes, usize, usize, usize),
) -> Leave {
    let (q, window) = (class.q(), class.shape().window);
    let weights = digit_weights(q, order, row);
    let mixing = draw(class, child) == Draw::Mixing;
    let mut dropped = (1, 0);
    if window.past > 0 && node.before == window.past {
        dropped = (q, weights[&-(window.past as isize)]);
    }
    // The next step counts its positions from t + 1, and draws its newest one itself.
    let kept = digit_order(window, child.before, node.after + 1).into_iter().map(|offset| offset + 1);
    let mut kept: Vec<usize> = kept.filter(|&o| o <= node.after as isize).map(|o| weights[&o]).collect();
    if mixing {
        kept = vec![row];
    }
    let elements = q.pow(kept.len() as u32);
    // Both children of a node read the same message: repeat for the one that draws ahead.
    let (parts, repeat) = match window.future {
        0 => (1, 0),
        _ => (q, Lanes::new(q.pow((child.before + node.after) as u32)).width - 1),
    };
    let part = elements / parts;
    let element = |i: usize| i / (part + repeat) * part + i % (part + repeat) % part;
    let total = parts * (part + repeat);
    let from: Vec<u32> = (0..total).map(|i| place(q, element(i), &kept) as u32).collect();
    let block = q * histories * lanes.width;
    let bbar_place = |post: usize| {
        let (x, lane) = (post / row, post % row);
        (x * lanes.blocks + lane / lanes.width) * block + lane % lanes.width
    };
    debug_assert!(from.iter().all(|&f| (f as usize) < post_slabs * row));
    let real = (0..total).filter(|i| i % (part + repeat) < part);
    let back = real.flat_map(|i| {
        let places = (0..dropped.0).map(move |d| d * dropped.1);
        let first = from[i] as usize;
        places.map(move |d| (bbar_place(first + d) as u32, i as u32))
    });
    let back = back.collect();
    Leave { from, dropped, back, part }
}

fn arrive(class: &Class, node: &Node, scale: Scale) -> Arrive {
    let (q, window, inputs) = (class.q(), class.shape().window, class.task().inputs());
    let order = digit_order(window, node.before, node.after);
    let lanes = Lanes::new(q.pow((order.len() - 1) as u32));
    let weights = digit_weights(q, &order, 1);
    let share = |t: usize, before: Symbol, x: Symbol| {
        let weight = inputs.weight(t, before, x) as f64;
        match scale {
            Scale::Probability => weight / inputs.denominator(t) as f64,
            Scale::Integer => weight,
        }
    };
    let (draw, after) = (draw(class, node), node.after as isize);
    let mut factors = Vec::new();
    for x in 0..q {
        // The symbol that stands `offset` from t in the window of a lane.
        let digit = |lane: usize, offset: isize| match offset {
            0 => x as Symbol,
            _ => (lane / weights[&offset] % q) as Symbol,
        };
        let factor = |lane: usize| match draw {
            Draw::First => {
                let before = |i: isize| if i == 0 { 0 } else { digit(lane, i - 1) };
                (0..=after).map(|i| share(1 + i as usize, before(i), digit(lane, i))).product()
            }
            Draw::Nothing => 1.0,
            Draw::Ahead => share(node.t + node.after, digit(lane, after - 1), digit(lane, after)),
            Draw::Current => share(node.t, if window.past > 0 { digit(lane, -1) } else { 0 }, x as Symbol),
            Draw::Mixing => share(node.t, lane as Symbol, x as Symbol),
        };
        if draw == Draw::Mixing {
            factors.extend((0..q).map(factor));
        } else {
            let idle = lanes.padded() - lanes.count;
            factors.extend((0..lanes.count).map(factor).chain(std::iter::repeat_n(0.0, idle)));
        }
    }
    Arrive { draw, factors }
}
