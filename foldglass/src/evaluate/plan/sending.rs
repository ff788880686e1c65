//! Lists which results of a step make the message it sends on, and where the message returned goes
//! (paper, App. A); see the parent module.

use super::geometry::{Draw, Sizes, drops_oldest};
use crate::class::{Class, Digits, Lanes, Node};
use crate::kernels::{Collect, Dropped, Route, Spread};
use std::collections::HashMap;

/// How a node makes the message after it, and takes it back.
///
/// A message has, for each state and history, its parts one behind the other: one for each slab of
/// the next step, as far as it is known. Where the next symbol is drawn ahead, a part is followed
/// by its own beginning, so that any block of lanes reads it as one vector.
#[derive(Debug, PartialEq)]
pub(crate) struct Sending {
    /// Makes the elements of a message of a post plane.
    pub collect: Collect,
    /// Puts the elements of a message returned into bbar of the first state and history.
    pub spread: Spread,
}

/// The parts of a message for one state and history.
struct Parts {
    /// How many, and the elements of each that differ.
    count: usize,
    distinct: usize,
    /// The elements of each, its beginning repeated included.
    whole: usize,
}

impl Sending {
    pub fn new(class: &Class, replicas: usize, node: &Node, child: &Node, sizes: &Sizes) -> Self {
        let q = class.q();
        let at_once = sizes.post_slabs < sizes.slabs;
        let dropped = if drops_oldest(class, node, Some(child)) && !at_once {
            Dropped {
                count: q,
                stride: sizes.row,
            }
        } else {
            Dropped {
                count: 1,
                stride: 0,
            }
        };
        let kept = kept(class, replicas, node, child, sizes);
        let parts = parts(class, replicas, node, child, kept.len());
        let places: Vec<u32> = (0..parts.count * parts.whole)
            .map(|i| {
                let element = i / parts.whole * parts.distinct + i % parts.whole % parts.distinct;
                (place(q, element / replicas, &kept) + element % replicas) as u32
            })
            .collect();
        let spread = spread(sizes, &parts, &places, dropped);
        Sending {
            collect: Collect::new(places, dropped),
            spread,
        }
    }

    /// The elements of a message for one state and history.
    pub fn len(&self) -> usize {
        self.collect.len()
    }
}

/// How far each symbol that the message keeps moves a place in a post plane, slowest first.
fn kept(class: &Class, replicas: usize, node: &Node, child: &Node, sizes: &Sizes) -> Vec<usize> {
    if Draw::of(class, child) == Draw::Mixing {
        // The window shows x_t alone, and the law of x_{t+1} depends on it.
        return vec![sizes.row];
    }
    let window = class.shape().window;
    let mut digits = Digits::new(window, node.before, node.after);
    if sizes.post_slabs < sizes.slabs {
        digits.slab.pop();
    }
    let weights: HashMap<isize, usize> = digits.weights(class.q(), sizes.row, replicas).collect();
    // The next step counts its positions from t + 1, and draws its newest one itself.
    let next = Digits::new(window, child.before, child.after);
    let offsets = next.slab.iter().chain(&next.lane).map(|offset| offset + 1);
    offsets
        .filter(|&offset| offset <= node.after as isize)
        .map(|offset| weights[&offset])
        .collect()
}

/// One part for each slab of the next step, but for x if it draws that.
fn parts(class: &Class, replicas: usize, node: &Node, child: &Node, kept: usize) -> Parts {
    let (q, window) = (class.q(), class.shape().window);
    let slabs = Digits::new(window, child.before, child.after).slabs(q);
    let count = match Draw::of(class, child) {
        Draw::Mixing => 1,
        _ if window.future == 0 => slabs / q,
        _ => slabs,
    };
    let distinct = q.pow(kept as u32) * replicas / count;
    let width = Lanes::new(distinct * q).width;
    // Where one child draws ahead and another does not, both read the same message.
    let repeats = window.future > 0 && node.after == window.future && distinct >= width;
    Parts {
        count,
        distinct,
        whole: if repeats {
            distinct + width - 1
        } else {
            distinct
        },
    }
}

fn spread(sizes: &Sizes, parts: &Parts, places: &[u32], dropped: Dropped) -> Spread {
    let elements = (0..places.len()).filter(|i| i % parts.whole < parts.distinct);
    let routes = elements.flat_map(|i| {
        (0..dropped.count).map(move |d| {
            let post = PostPlace::new(sizes, places[i] as usize + d * dropped.stride);
            let block = post.slab * sizes.lanes.blocks + post.lane / sizes.width();
            Route {
                element: i as u32,
                to: (block * sizes.bbar_block() + post.lane % sizes.width()) as u32,
            }
        })
    });
    Spread::new(routes.collect())
}

/// A place in a post plane.
pub(super) struct PostPlace {
    pub slab: usize,
    pub lane: usize,
}

impl PostPlace {
    pub fn new(sizes: &Sizes, place: usize) -> PostPlace {
        PostPlace {
            slab: place / sizes.row,
            lane: place % sizes.row,
        }
    }
}

/// The sum of the base-q digits of `n`, each times its weight; the last weight is that of the last
/// digit.
fn place(q: usize, n: usize, weights: &[usize]) -> usize {
    let mut rest = n;
    weights.iter().rev().fold(0, |sum, weight| {
        let digit = rest % q;
        rest /= q;
        sum + digit * weight
    })
}
