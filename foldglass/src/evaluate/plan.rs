//! Prepares, for every node of a class, where its sums read and write (paper, App. A).
//!
//! A node receives a message from the step before, g(s, history, kept symbols): the weight of all
//! rollouts so far, summed over what has left the window. It draws the new symbol (*arrive*), acts,
//! and sends the next message (*leave*). The way back sends h, the reward still to come, through
//! the same places.

use crate::class::{Class, Digits, Lanes, Node, Planes, Window};
use crate::quasigroup::Symbol;
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

/// How a node weighs the symbol it draws.
///
/// The weight is left out of alpha and put into what comes after: into the message sent on, and
/// into bbar. So alpha is the message itself, read in place.
#[derive(Debug, PartialEq)]
pub(crate) struct Weights {
    /// For each element of the message sent on, the weight of each term summed into it.
    pub sent: Vec<f64>,
    /// For each place of bbar that an element returned goes to, its weight.
    pub returned: Vec<f64>,
    /// For each slab of bbar and each lane (zero on idle ones), the weight.
    pub lanes: Vec<f64>,
    /// The same times what a visit counts.
    pub visits: Vec<f64>,
    /// For each x and each symbol before it, the weight, where the step mixes.
    pub mixing: Vec<f64>,
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

/// How alpha comes from the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// It is the message, read in place.
    InPlace,
    /// A part of the message, shorter than a vector, is repeated for each symbol drawn ahead.
    Repeated,
    /// The message keeps a symbol that the window does not show, on which the draw depends.
    Mixed,
}

/// How a node makes the message after it.
///
/// A message has, for each state and history, its parts one behind the other: one for each slab of
/// the next step, as far as it is known. Where the next symbol is drawn ahead, a part is followed
/// by its own beginning, so that any block of lanes reads it as one vector.
#[derive(Debug, PartialEq)]
pub(crate) struct Leave {
    /// For each element of the message, where it lies in a post row.
    pub from: Vec<u32>,
    /// The symbol summed away: how many values, and how far apart they lie.
    pub dropped: (usize, usize),
    /// For each place of bbar (of the first state and history), the element it holds.
    pub back: Vec<(u32, u32)>,
}

/// The geometry that nodes of one kind share. All but the counts are offsets.
#[derive(Debug, PartialEq)]
pub(crate) struct Geometry {
    pub draw: Draw,
    pub source: Source,
    /// 1 at t = 1, where there is no state yet, else q.
    pub states: usize,
    /// Histories before and after the step's own token.
    pub histories: (usize, usize),
    /// The tokens forgotten in this step (1 or q values), and histories of the others.
    pub forgotten: usize,
    pub remembered: usize,
    pub lanes: Lanes,
    /// Slabs, and those of a post plane: fewer where the symbol about to leave is summed at once.
    pub slabs: usize,
    pub post_slabs: usize,
    /// The distance between slabs of a post plane, and between rows of beta.
    pub row: usize,
    /// Elements of the message received, for one state and history.
    pub received: usize,
    /// The distance between histories in alpha.
    pub unit: usize,
    /// For each slab, where its part starts in the message received.
    pub parts: Vec<usize>,
    /// For each block, where its lanes start in alpha.
    pub alpha_blocks: Vec<usize>,
    /// For each slab, where it starts in alpha.
    pub alpha_slabs: Vec<usize>,
    /// For each slab and s', the row of alpha that leads there, or the zeros behind the first message.
    pub alpha_rows: Vec<usize>,
    /// For each block, where its lanes start in bbar.
    pub bbar_blocks: Vec<usize>,
    /// For each slab and s, where bbar of s' = B[s, x] starts.
    pub bbar_rows: Vec<usize>,
    /// For each forgotten token, its place in alpha and in the policy.
    pub alpha_tokens: Vec<usize>,
    pub policy_tokens: Vec<usize>,
    /// For each action, its place in bbar and in the policy.
    pub actions: Vec<usize>,
    /// For each s, its place in alpha.
    pub alpha_states: Vec<usize>,
    /// For each s, no distance at all.
    pub zeros: Vec<usize>,
    pub leave: Option<Leave>,
}

impl Geometry {
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
    pub weights: Arc<Weights>,
    pub parent: Option<usize>,
    /// Where its group lies in tables of (cell, action) and of cells.
    pub base: usize,
    pub cell_base: usize,
    /// Where the message it sends lies, among all messages.
    pub message: usize,
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
    /// The largest of each scratch.
    pub alpha: usize,
    pub post: usize,
    pub bbar: usize,
    pub beta: usize,
}

impl Plan {
    pub fn new(class: &Class, planes: &Planes, scale: Scale) -> Plan {
        let q = class.q();
        let nodes = class.nodes();
        let mut last_of_group = vec![0; class.groups().len()];
        nodes
            .iter()
            .enumerate()
            .for_each(|(n, node)| last_of_group[node.group] = n);
        let mut last_child = vec![None; nodes.len()];
        let parents = nodes
            .iter()
            .enumerate()
            .filter_map(|(n, node)| Some((n, node.parent?)));
        parents.for_each(|(n, parent)| last_child[parent] = Some(n));
        let mut geometries: HashMap<_, Arc<Geometry>> = HashMap::new();
        let mut weights: HashMap<_, Arc<Weights>> = HashMap::new();
        let mut plan = Plan {
            steps: Vec::new(),
            messages: 0,
            alpha: 0,
            post: 0,
            bbar: 0,
            beta: 0,
        };
        for (n, node) in nodes.iter().enumerate() {
            let kind = (
                node.before,
                node.after,
                node.tokens,
                node.parent.is_none(),
                last_child[n].is_some(),
            );
            let geometry = geometries.entry(kind).or_insert_with(|| {
                let received = node.parent.map_or(1, |p| plan.steps[p].geometry.message());
                Arc::new(geometry(
                    class,
                    planes.replicas,
                    node,
                    last_child[n].map(|child| &nodes[child]),
                    received,
                ))
            });
            let g = geometry.as_ref();
            let drawn = class.task().inputs().kind(node.t + node.after);
            let weights = weights
                .entry((kind, drawn, node.lengths))
                .or_insert_with(|| Arc::new(weigh(class, planes.replicas, node, g, scale)));
            if g.source != Source::InPlace {
                plan.alpha = plan.alpha.max(g.slabs * g.states * g.histories.0 * g.unit);
            }
            plan.post = plan.post.max(g.post(q));
            plan.bbar = plan.bbar.max(g.bbar(q));
            plan.beta = plan.beta.max(g.states * g.histories.0 * g.row);
            let group = &planes.groups[node.group];
            plan.steps.push(Step {
                geometry: geometry.clone(),
                weights: weights.clone(),
                parent: node.parent,
                base: group.base,
                cell_base: group.cell_base,
                message: plan.messages,
                reward: node.ends.then(|| reward(class, scale, node.t)),
                joins: node
                    .parent
                    .is_some_and(|parent| last_child[parent] != Some(n)),
                adds: last_of_group[node.group] != n,
            });
            plan.messages += q * g.histories.1 * g.message();
        }
        // Idle lanes may read past the last message.
        plan.messages += WIDEST;
        plan
    }
}

/// What a right answer counts for the length t.
fn reward(class: &Class, scale: Scale, t: usize) -> f64 {
    match scale {
        Scale::Probability => 1.0 / class.task().lengths().len() as f64,
        Scale::Integer => class.task().lift(t).to_f64().value(),
    }
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

/// Whether the weight of what the node draws does not depend on the symbol about to leave.
fn blind(class: &Class, node: &Node) -> bool {
    let (Window { past, future }, inputs) = (class.shape().window, class.task().inputs());
    match draw(class, node) {
        Draw::Nothing | Draw::Mixing => true,
        Draw::First => inputs.is_uniform(),
        Draw::Ahead => past > 0 || future > 1 || !inputs.is_correlated(),
        Draw::Current if past == 0 => inputs.is_uniform(),
        Draw::Current => past > 1 || !inputs.is_correlated(),
    }
}

fn geometry(
    class: &Class,
    replicas: usize,
    node: &Node,
    child: Option<&Node>,
    received: usize,
) -> Geometry {
    let (q, window, draw_here) = (class.q(), class.shape().window, draw(class, node));
    let digits = Digits::new(window, node.before, node.after);
    let (lanes, slabs) = (digits.lanes(q, replicas), digits.slabs(q));
    let width = lanes.width;
    let states = if node.parent.is_none() { 1 } else { q };
    let before = q.pow(node.tokens as u32);
    let forgotten = if node.tokens == class.shape().memory {
        q
    } else {
        1
    };
    let remembered = before / forgotten;
    let after = remembered * q;
    let mixes = child.is_some_and(|child| draw(class, child) == Draw::Mixing);
    let leaves = node.before == window.past && !mixes;
    let source = match draw_here {
        Draw::Mixing => Source::Mixed,
        Draw::Ahead if lanes.count / q < width => Source::Repeated,
        _ => Source::InPlace,
    };
    let unit = match source {
        Source::InPlace => received,
        Source::Repeated | Source::Mixed => lanes.padded(),
    };
    let multiples = |count: usize, step: usize| (0..count).map(|n| n * step).collect::<Vec<_>>();
    let mut g = Geometry {
        draw: draw_here,
        source,
        states,
        histories: (before, after),
        forgotten,
        remembered,
        lanes,
        slabs,
        post_slabs: if leaves && blind(class, node) {
            slabs / q
        } else {
            slabs
        },
        // An odd number of cache lines between rows keeps them in different cache sets.
        row: if lanes.blocks % 2 == 0 {
            lanes.padded() + width
        } else {
            lanes.padded()
        },
        received,
        unit,
        alpha_blocks: (0..lanes.blocks)
            .map(|block| match draw_here {
                Draw::First => 0,
                Draw::Ahead if source == Source::InPlace => block * width % (lanes.count / q),
                _ => block * width,
            })
            .collect(),
        alpha_slabs: Vec::new(),
        parts: match draw_here {
            Draw::First | Draw::Mixing => vec![0; q],
            Draw::Nothing | Draw::Ahead => multiples(slabs, received / slabs),
            // Drawn now, x_t is not in the message; what leaves the window is.
            Draw::Current => (0..slabs)
                .map(|slab| slab % (slabs / q) * (received * q / slabs))
                .collect(),
        },
        alpha_rows: vec![WIDEST; slabs * q],
        bbar_blocks: multiples(lanes.blocks, q * after * width),
        bbar_rows: vec![0; slabs * states],
        alpha_tokens: multiples(forgotten, remembered * unit),
        policy_tokens: multiples(forgotten, remembered * q * width),
        actions: multiples(q, width),
        alpha_states: multiples(states, before * unit),
        zeros: vec![0; states],
        leave: None,
    };
    g.alpha_slabs = match source {
        Source::InPlace => g.parts.clone(),
        Source::Repeated | Source::Mixed => multiples(slabs, states * before * unit),
    };
    let square = class.task().square();
    for slab in 0..slabs {
        let x = slab / (slabs / q);
        for s in 0..states {
            let next = match node.parent {
                None => x,
                Some(_) => square.multiply(s as Symbol, x as Symbol) as usize,
            };
            g.alpha_rows[slab * q + next] = g.alpha_slabs[slab] + g.alpha_states[s];
            g.bbar_rows[slab * states + s] = next * after * width;
        }
    }
    g.leave = child.map(|child| leave(class, replicas, node, child, &g));
    g
}

fn leave(class: &Class, replicas: usize, node: &Node, child: &Node, g: &Geometry) -> Leave {
    let (q, window) = (class.q(), class.shape().window);
    let mut digits = Digits::new(window, node.before, node.after);
    if g.post_slabs < g.slabs {
        digits.slab.pop();
    }
    let weights: HashMap<isize, usize> = digits.weights(q, g.row, replicas).collect();
    let mixing = draw(class, child) == Draw::Mixing;
    let leaves = node.before == window.past && !mixing;
    let dropped = if leaves && g.post_slabs == g.slabs {
        (q, g.row)
    } else {
        (1, 0)
    };
    // The next step counts its positions from t + 1, and draws its newest one itself.
    let next = Digits::new(window, child.before, child.after);
    let kept = next.slab.iter().chain(&next.lane).map(|offset| offset + 1);
    let mut kept: Vec<usize> = kept
        .filter(|&o| o <= node.after as isize)
        .map(|o| weights[&o])
        .collect();
    if mixing {
        kept = vec![g.row];
    }
    // One part for each slab of the next step, but for x if it draws that; where it draws ahead,
    // parts repeat their beginning (and do so for both children, which read the same message).
    let slabs = next.slabs(q);
    let parts = match window.future {
        0 if mixing => 1,
        0 => slabs / q,
        _ => slabs,
    };
    let part = q.pow(kept.len() as u32) * replicas / parts;
    let width = Lanes::new(part * q).width;
    let repeats = window.future > 0 && node.after == window.future && part >= width;
    let whole = if repeats { part + width - 1 } else { part };
    let element = |i: usize| i / whole * part + i % whole % part;
    let from: Vec<u32> = (0..parts * whole)
        .map(|i| (place(q, element(i) / replicas, &kept) + element(i) % replicas) as u32)
        .collect();
    let real = (0..parts * whole).filter(|i| i % whole < part);
    let back = real.flat_map(|i| (0..dropped.0).map(move |d| (i, d)));
    let back = back.map(|(i, d)| {
        let (slab, lane) = post_place(g, from[i] as usize + d * dropped.1);
        let block = slab * g.lanes.blocks + lane / g.lanes.width;
        (block * g.bbar_block(q) + lane % g.lanes.width, i)
    });
    let back = back.map(|(to, i)| (to as u32, i as u32)).collect();
    Leave {
        from,
        dropped,
        back,
    }
}

/// The slab and lane of a place in a post plane.
fn post_place(g: &Geometry, place: usize) -> (usize, usize) {
    (place / g.row, place % g.row)
}

fn weigh(class: &Class, replicas: usize, node: &Node, g: &Geometry, scale: Scale) -> Weights {
    let (q, window, inputs) = (class.q(), class.shape().window, class.task().inputs());
    let digits = Digits::new(window, node.before, node.after);
    let places: HashMap<isize, usize> = digits.weights(q, g.lanes.count, replicas).collect();
    let share = |t: usize, before: Symbol, x: Symbol| {
        let weight = inputs.weight(t, before, x) as f64;
        match scale {
            Scale::Probability => weight / inputs.denominator(t) as f64,
            Scale::Integer => weight,
        }
    };
    let after = node.after as isize;
    // Where what leaves is summed at once, the weight is the same for all of it.
    let summed = g.slabs / g.post_slabs;
    let weight = |slab: usize, lane: usize| {
        // The symbol that stands `offset` from t in the window of this slab of post and lane.
        let window_of_lane = slab * summed * g.lanes.count + lane;
        let digit = |offset: isize| (window_of_lane / places[&offset] % q) as Symbol;
        match g.draw {
            Draw::First => {
                let before = |i: isize| if i == 0 { 0 } else { digit(i - 1) };
                (0..=after)
                    .map(|i| share(1 + i as usize, before(i), digit(i)))
                    .product()
            }
            Draw::Nothing | Draw::Mixing => 1.0,
            Draw::Ahead => share(node.t + node.after, digit(after - 1), digit(after)),
            Draw::Current => share(
                node.t,
                if window.past > 0 { digit(-1) } else { 0 },
                digit(0),
            ),
        }
    };
    let at = |place: usize| {
        let (slab, lane) = post_place(g, place);
        weight(slab, lane)
    };
    let mut weights = Weights {
        sent: Vec::new(),
        returned: Vec::new(),
        lanes: Vec::new(),
        visits: Vec::new(),
        mixing: Vec::new(),
    };
    for slab in 0..g.post_slabs {
        let idle = g.lanes.padded() - g.lanes.count;
        weights
            .lanes
            .extend((0..g.lanes.count).map(|lane| weight(slab, lane)));
        weights.lanes.extend(std::iter::repeat_n(0.0, idle));
    }
    let lengths = node.lengths as f64 / class.task().lengths().len() as f64;
    weights.visits = weights
        .lanes
        .iter()
        .map(|weight| weight * lengths)
        .collect();
    if let Some(leave) = &g.leave {
        let (count, stride) = leave.dropped;
        let terms = leave
            .from
            .iter()
            .flat_map(|&f| (0..count).map(move |d| f as usize + d * stride));
        weights.sent = terms.map(at).collect();
        let back = leave.back.iter().map(|&(to, _)| {
            let (block, lane) = (to as usize / g.bbar_block(q), to as usize % g.lanes.width);
            weight(
                block / g.lanes.blocks,
                block % g.lanes.blocks * g.lanes.width + lane,
            )
        });
        weights.returned = back.collect();
    }
    if g.draw == Draw::Mixing {
        let pairs = (0..q * q).map(|i| share(node.t, (i % q) as Symbol, (i / q) as Symbol));
        weights.mixing = pairs.collect();
    }
    weights
}
