//! Weighs the symbols that a step draws (paper, App. A); see the parent module.

use super::Scale;
use super::geometry::{Draw, Geometry};
use super::sending::PostPlace;
use crate::class::{Class, Digits, Node};
use crate::quasigroup::Symbol;
use std::collections::HashMap;

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

impl Weights {
    pub fn new(class: &Class, replicas: usize, node: &Node, g: &Geometry, scale: Scale) -> Weights {
        let (sizes, law) = (&g.sizes, Law::new(class, replicas, node, g, scale));
        let mut lanes = Vec::with_capacity(sizes.post_slabs * sizes.lanes.padded());
        for slab in 0..sizes.post_slabs {
            let used = (0..sizes.lanes.count).map(|lane| PostPlace { slab, lane });
            lanes.extend(used.map(|place| law.weight(place)));
            lanes.resize((slab + 1) * sizes.lanes.padded(), 0.0);
        }
        let lengths = node.lengths as f64 / class.task().lengths().len() as f64;
        let (mut sent, mut returned, mut mixing) = (Vec::new(), Vec::new(), Vec::new());
        if let Some(sending) = &g.sending {
            let terms = sending.collect.terms();
            sent.extend(terms.map(|place| law.weight(PostPlace::new(sizes, place))));
            let routes = sending.spread.routes().iter();
            returned.extend(routes.map(|route| law.weight(in_bbar(g, route.to as usize))));
        }
        if g.draw == Draw::Mixing {
            let q = class.q();
            let pairs = (0..q * q).map(|i| ((i % q) as Symbol, (i / q) as Symbol));
            mixing.extend(pairs.map(|(before, x)| law.share(node.t, before, x)));
        }
        Weights {
            sent,
            returned,
            visits: lanes.iter().map(|weight| weight * lengths).collect(),
            lanes,
            mixing,
        }
    }
}

/// The slab and lane of a place of bbar, for the first state and history.
fn in_bbar(g: &Geometry, place: usize) -> PostPlace {
    let (blocks, width) = (g.sizes.lanes.blocks, g.sizes.width());
    let block = place / g.sizes.bbar_block();
    PostPlace {
        slab: block / blocks,
        lane: block % blocks * width + place % width,
    }
}

/// The input law as a node sees it.
struct Law<'a> {
    class: &'a Class,
    node: &'a Node,
    draw: Draw,
    scale: Scale,
    /// How far the windows of a slab of post are from those of the next.
    slab: usize,
    /// For each position of the window relative to t, how far its digit moves a window.
    digits: HashMap<isize, usize>,
}

impl<'a> Law<'a> {
    fn new(class: &'a Class, replicas: usize, node: &'a Node, g: &Geometry, scale: Scale) -> Self {
        let digits = Digits::new(class.shape().window, node.before, node.after);
        let count = g.sizes.lanes.count;
        Law {
            class,
            node,
            draw: g.draw,
            scale,
            // Where what leaves is summed at once, the weight is the same for all of it.
            slab: g.sizes.summed_slabs() * count,
            digits: digits.weights(class.q(), count, replicas).collect(),
        }
    }

    /// The probability, or integer weight, of `x` at position `t` after `before`.
    fn share(&self, t: usize, before: Symbol, x: Symbol) -> f64 {
        let inputs = self.class.task().inputs();
        let weight = inputs.weight(t, before, x) as f64;
        match self.scale {
            Scale::Probability => weight / inputs.denominator(t) as f64,
            Scale::Integer => weight,
        }
    }

    /// The weight of what the node draws, in the window of a slab of post and lane.
    fn weight(&self, place: PostPlace) -> f64 {
        let window = place.slab * self.slab + place.lane;
        let digit = |offset: isize| (window / self.digits[&offset] % self.class.q()) as Symbol;
        let (t, after) = (self.node.t, self.node.after as isize);
        match self.draw {
            Draw::First => {
                let before = |i: isize| if i == 0 { 0 } else { digit(i - 1) };
                (0..=after)
                    .map(|i| self.share(1 + i as usize, before(i), digit(i)))
                    .product()
            }
            Draw::Nothing | Draw::Mixing => 1.0,
            Draw::Ahead => self.share(t + self.node.after, digit(after - 1), digit(after)),
            Draw::Current => {
                let past = self.class.shape().window.past;
                self.share(t, if past > 0 { digit(-1) } else { 0 }, digit(0))
            }
        }
    }
}
