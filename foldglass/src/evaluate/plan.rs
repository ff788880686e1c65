//! Prepares, for every node of a class, where its sums read and write (paper, App. A).
//!
//! A node receives a message from the step before, g(s, history, kept symbols): the weight of all
//! rollouts so far, summed over what has left the window. It draws the new symbol (*arrive*), acts,
//! and sends the next message (*leave*). The way back sends h, the reward still to come, through
//! the same places.

use crate::class::{Class, Node, Window};
use crate::class::{digit_order, padded};
use super::lanes::Fan;
use crate::quasigroup::Symbol;
use dashu_int::UBig;
use std::collections::HashMap;
use std::sync::Arc;

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
    /// One for each x_t.
    pub fans: Vec<Fan>,
    /// Weights of the drawn symbol, as the fans order them; at t = 1 the law of the first window.
    pub factors: Vec<f64>,
    /// Whether the fans of all x_t read the same stretch.
    pub overlap: bool,
}

/// How a node makes the message after it.
#[derive(Debug, PartialEq)]
pub(crate) struct Leave {
    /// For each element of the message, where it lies in a post plane.
    pub from: Vec<u32>,
    /// The symbol summed away: how many values, and how far apart they lie.
    pub dropped: (usize, usize),
}

/// The geometry that nodes of one kind share.
#[derive(Debug, PartialEq)]
pub(crate) struct Geometry {
    /// 1 at t = 1, where there is no state yet, else q.
    pub states: usize,
    /// Histories before and after the step's own token.
    pub histories: (usize, usize),
    /// The tokens forgotten in this step (1 or q values), and histories of the others.
    pub forgotten: usize,
    pub remembered: usize,
    pub slab: usize,
    /// Slabs of a post plane: 1 when x_t is summed away at once, else q.
    pub post_slabs: usize,
    /// For each x, the plane of alpha that feeds state s', or the zero slab.
    pub alpha_rows: Vec<usize>,
    /// For each x and s, where bbar of s' = B[s, x] starts.
    pub bbar_rows: Vec<usize>,
    /// For each forgotten token, its place in alpha and in the policy.
    pub alpha_terms: Vec<usize>,
    pub policy_terms: Vec<usize>,
    /// For each action, its place in bbar and in the policy.
    pub bbar_actions: Vec<usize>,
    pub policy_actions: Vec<usize>,
    /// For each s, its place in alpha.
    pub alpha_states: Vec<usize>,
    /// For each forgotten token, its place in alpha (as a row of values).
    pub alpha_tokens: Vec<usize>,
    /// For each forgotten token, its place in the policy (as a row of beta).
    pub policy_tokens: Vec<usize>,
    pub leave: Option<Leave>,
    /// Whether the message it reads keeps one more symbol than its window shows.
    pub mixes: bool,
}

impl Geometry {
    /// Size of alpha without its zero slab.
    pub fn alpha(&self, q: usize) -> usize {
        self.states * self.histories.0 * q * self.slab
    }

    /// Size of post and of bbar.
    pub fn post(&self, q: usize) -> usize {
        q * self.histories.1 * self.post_slabs * self.slab
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
    /// The largest alpha, post and beta.
    pub scratch: (usize, usize, usize),
}

impl Plan {
    pub fn new(class: &Class, scale: Scale) -> Plan {
        let q = class.q();
        let nodes = class.nodes();
        let mut has_children = vec![false; nodes.len()];
        nodes.iter().filter_map(|n| n.parent).for_each(|p| has_children[p] = true);
        let mut last_of_group = vec![0; class.groups().len()];
        nodes.iter().enumerate().for_each(|(n, node)| last_of_group[node.group] = n);
        let mut last_child = vec![0; nodes.len()];
        let parents = nodes.iter().enumerate().filter_map(|(n, node)| Some((n, node.parent?)));
        parents.for_each(|(n, parent)| last_child[parent] = n);
        let mut geometries: HashMap<_, Arc<Geometry>> = HashMap::new();
        let mut arrivals: HashMap<_, Arc<Arrive>> = HashMap::new();
        let mut plan = Plan { steps: Vec::new(), messages: 0, scratch: (0, 0, 0) };
        for (n, node) in nodes.iter().enumerate() {
            let kind = (node.before, node.after, node.tokens, node.parent.is_none(), has_children[n]);
            let geometry = geometries.entry(kind).or_insert_with(|| Arc::new(geometry(class, node, kind.4)));
            let drawn = class.task().inputs().kind(node.t + node.after);
            let arrive = arrivals
                .entry((node.before, node.after, node.parent.is_none(), drawn))
                .or_insert_with(|| Arc::new(arrive(class, node, scale)));
            let g = geometry.as_ref();
            let beta = g.states * g.histories.0 * g.slab;
            let (a, p, b) = plan.scratch;
            plan.scratch = (a.max(g.alpha(q) + g.slab), p.max(g.post(q)), b.max(beta));
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
                joins: node.parent.is_some_and(|parent| last_child[parent] != n),
                adds: last_of_group[node.group] != n,
            });
            plan.messages += q * g.histories.1 * g.message();
        }
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

/// Whether the message must keep x_t although no window will show it again: the next symbol
/// depends on it.
fn mixes(class: &Class) -> bool {
    class.shape().window == Window { past: 0, future: 0 } && class.task().inputs().is_correlated()
}

fn geometry(class: &Class, node: &Node, has_children: bool) -> Geometry {
    let (q, window) = (class.q(), class.shape().window);
    let order = digit_order(window, node.before, node.after);
    let slab = padded(q.pow((order.len() - 1) as u32));
    let plane = q * slab;
    let states = if node.parent.is_none() { 1 } else { q };
    let before = q.pow(node.tokens as u32);
    let forgotten = if node.tokens == class.shape().memory { q } else { 1 };
    let remembered = before / forgotten;
    let after = remembered * q;
    let post_slabs = if window.past == 0 && !mixes(class) { 1 } else { q };
    let (alpha_plane, post_plane) = (plane, post_slabs * slab);
    let zero = states * before * plane;

    let square = class.task().square();
    let next = |s: usize, x: usize| match states {
        1 => x,
        _ => square.multiply(s as Symbol, x as Symbol) as usize,
    };
    let mut alpha_rows = vec![zero; q * q];
    let mut bbar_rows = vec![0; q * states];
    for x in 0..q {
        for s in 0..states {
            alpha_rows[x * q + next(s, x)] = s * before * alpha_plane + x * slab;
            let slab_of_x = if post_slabs == 1 { 0 } else { x * slab };
            bbar_rows[x * states + s] = next(s, x) * after * post_plane + slab_of_x;
        }
    }
    let multiples = |count: usize, step: usize| (0..count).map(|n| n * step).collect::<Vec<_>>();
    Geometry {
        states,
        histories: (before, after),
        forgotten,
        remembered,
        slab,
        post_slabs,
        alpha_rows,
        bbar_rows,
        alpha_terms: multiples(forgotten, remembered * alpha_plane),
        policy_terms: multiples(forgotten, remembered * q * plane),
        bbar_actions: multiples(q, post_plane),
        policy_actions: multiples(q, plane),
        alpha_states: multiples(states, before * alpha_plane),
        alpha_tokens: multiples(forgotten, remembered * alpha_plane),
        policy_tokens: multiples(forgotten, remembered * q * plane),
        leave: has_children.then(|| leave(class, node, &order, slab)),
        mixes: mixes(class) && node.parent.is_some(),
    }
}

fn leave(class: &Class, node: &Node, order: &[isize], slab: usize) -> Leave {
    let (q, window) = (class.q(), class.shape().window);
    let mut weights = digit_weights(q, order, slab);
    if mixes(class) {
        return Leave { from: (0..q).map(|x| (x * slab) as u32).collect(), dropped: (1, 0) };
    }
    let mut dropped = (1, 0);
    if window.past == 0 {
        weights.remove(&0);
    } else if node.before == window.past {
        dropped = (q, weights[&-(window.past as isize)]);
    }
    // The next step counts its positions from t + 1, and draws its newest one itself.
    let before = window.past.min(node.t);
    let kept = digit_order(window, before, node.after + 1).into_iter().map(|offset| offset + 1);
    let kept: Vec<usize> = kept.filter_map(|o| (o <= node.after as isize).then(|| weights[&o])).collect();
    let from = (0..q.pow(kept.len() as u32)).map(|i| {
        let mut rest = i;
        kept.iter().rev().fold(0, |sum, weight| {
            let digit = rest % q;
            rest /= q;
            sum + digit * weight
        }) as u32
    });
    Leave { from: from.collect(), dropped }
}

fn arrive(class: &Class, node: &Node, scale: Scale) -> Arrive {
    let (q, window, inputs) = (class.q(), class.shape().window, class.task().inputs());
    let order = digit_order(window, node.before, node.after);
    let lanes = q.pow((order.len() - 1) as u32);
    let slab = padded(lanes);
    let weights = digit_weights(q, &order, slab);
    // The symbol that stands `offset` from t in the window at a place.
    let digit = |place: usize, offset: isize| match offset {
        0 => place / slab,
        _ => place % slab / weights[&offset] % q,
    } as Symbol;
    let share = |t: usize, before: Symbol, x: Symbol| {
        let weight = inputs.weight(t, before, x) as f64;
        match scale {
            Scale::Probability => weight / inputs.denominator(t) as f64,
            Scale::Integer => weight,
        }
    };
    let after = node.after as isize;
    let mut arrive = Arrive { fans: Vec::new(), factors: Vec::new(), overlap: false };
    for x in 0..q {
        let slab_of_x = x * slab;
        let factor = arrive.factors.len();
        let fan = |from, len, count, stride| Fan { from, len, count, stride, factor };
        if node.parent.is_none() {
            let law = |lane: usize| {
                let place = slab_of_x + lane;
                let before = |i: isize| if i == 0 { 0 } else { digit(place, i - 1) };
                (0..=after).map(|i| share(1 + i as usize, before(i), digit(place, i))).product::<f64>()
            };
            arrive.fans.push(fan(0, lanes, 1, 0));
            arrive.factors.extend((0..lanes).map(law));
        } else if node.after < window.future {
            arrive.fans.push(fan(x * lanes, lanes, 1, 0));
            arrive.factors.extend((0..lanes).map(|_| 1.0));
        } else if window.future > 0 {
            let low = lanes / q;
            let drawn = |p: usize| share(node.t + node.after, digit(p, after - 1), digit(p, after));
            arrive.fans.push(fan(x * low, low, q, low));
            arrive.factors.extend((slab_of_x..slab_of_x + lanes).map(drawn));
        } else if mixes(class) {
            arrive.fans.push(fan(0, q, 1, 0));
            arrive.factors.extend((0..q).map(|e| share(node.t, e as Symbol, x as Symbol)));
        } else {
            let before = |p: usize| if window.past > 0 { digit(p, -1) } else { 0 };
            arrive.fans.push(fan(0, lanes, 1, 0));
            arrive.factors.extend((slab_of_x..slab_of_x + lanes).map(|p| share(node.t, before(p), x as Symbol)));
        }
    }
    arrive.overlap = node.after == 0 && window.future == 0;
    arrive
}
