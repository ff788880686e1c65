//! Works out how the arrays of one step lie (paper, App. A); see the parent module.

use super::routes::Passage;
use crate::class::{Class, Lanes, Node, Reading, Roles, Vectors};
use crate::kernels::{Extent, Sums};
use crate::quasigroup::Symbol;

/// How the arrays of a node lie.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Layout {
    pub roles: Roles,
    pub extent: Extent,
    /// Policies side by side, the fastest digit of a lane.
    pub replicas: usize,
    pub is_first: bool,
    /// Whether x_t is drawn on the way to the step, by a law that depends on a symbol not seen.
    pub mixes: bool,
    /// Values of the token that the step forgets.
    pub forgotten: usize,
}

impl Layout {
    pub fn new(class: &Class, replicas: usize, node: &Node) -> Layout {
        let (q, is_first) = (class.q(), node.parent.is_none());
        let reading = Reading {
            window: class.shape().window,
            correlated: class.task().inputs().is_correlated(),
        };
        let roles = Roles::new(reading, node.before, node.after, is_first);
        let vectors = Vectors::new(q, &roles, node.tokens, class.shape().memory);
        let extent = Extent {
            histories: vectors.remembered,
            states: if is_first { 1 } else { q },
            terms: vectors.leaving * vectors.forgotten,
            entering: vectors.entering,
            actions: q,
            lanes: Lanes::new(q.pow(roles.middle.len() as u32), replicas),
        };
        Layout {
            forgotten: vectors.forgotten,
            roles,
            extent,
            replicas,
            is_first,
            mixes: reading.mixes() && !is_first,
        }
    }

    /// How far the action, the state and the remembered tokens move a place in post and bbar.
    pub fn post_action(&self) -> usize {
        self.extent.lanes.row
    }

    pub fn post_state(&self) -> usize {
        self.extent.columns() * self.post_action()
    }

    pub fn post_history(&self) -> usize {
        self.extent.states * self.post_state()
    }

    /// How far a symbol, given by its position relative to t, moves a place in post and bbar; none
    /// where the step has summed over it.
    pub fn post_symbol(&self, offset: isize) -> Option<usize> {
        if self.roles.entering == Some(offset) {
            return Some(self.extent.actions * self.post_action());
        }
        self.lane_symbol(offset)
    }

    /// How far the state, the forgotten token and the remembered tokens move a place in alpha and in
    /// the message returned, both in rows.
    pub fn alpha_state(&self) -> usize {
        self.extent.lanes.row
    }

    pub fn alpha_forgotten(&self) -> usize {
        self.extent.states * self.alpha_state()
    }

    pub fn alpha_history(&self) -> usize {
        self.extent.terms * self.alpha_forgotten()
    }

    /// How far a symbol moves a place in alpha; none where it is not known yet.
    pub fn alpha_symbol(&self, offset: isize) -> Option<usize> {
        if self.roles.leaving == Some(offset) {
            return Some(self.forgotten * self.alpha_forgotten());
        }
        self.lane_symbol(offset)
    }

    /// How far a symbol of the middle moves a lane.
    fn lane_symbol(&self, offset: isize) -> Option<usize> {
        let newer = self.roles.middle.iter().rev();
        let place = newer.enumerate().find(|(_, middle)| **middle == offset)?.0;
        Some(self.replicas * self.extent.actions.pow(place as u32))
    }

    /// A symbol of the middle, or the entering one, in a lane.
    pub fn symbol(&self, entering: usize, lane: usize, offset: isize) -> Symbol {
        if self.roles.entering == Some(offset) {
            return entering as Symbol;
        }
        let step = self.lane_symbol(offset).expect("a symbol of the window");
        (lane / step % self.extent.actions) as Symbol
    }

    /// The fold after x_t, where alpha is for the state `s` (that before x_t if x_t enters, else that
    /// after it; none at t = 1).
    pub fn fold(&self, class: &Class, s: usize, entering: usize, lane: usize) -> usize {
        if self.is_first {
            self.symbol(entering, lane, 0).into()
        } else if self.roles.entering == Some(0) {
            let square = class.task().square();
            square.multiply(s as Symbol, entering as Symbol).into()
        } else {
            s
        }
    }
}

/// The geometry that nodes of one kind share.
#[derive(Debug, PartialEq)]
pub(crate) struct Geometry {
    pub layout: Layout,
    pub sums: Sums,
    /// Where what it sends goes, if anything follows.
    pub passage: Option<Passage>,
    /// The places of bbar at which the action is the fold.
    pub right: Vec<usize>,
}

impl Geometry {
    /// The geometry of `node`, whose message is read by `child` (or by several that read alike).
    pub fn new(class: &Class, replicas: usize, node: &Node, child: Option<&Node>) -> Geometry {
        let layout = Layout::new(class, replicas, node);
        let next = child.map(|child| Layout::new(class, replicas, child));
        Geometry {
            sums: Sums::new(layout.extent.clone()),
            passage: next.map(|next| Passage::new(class, node, &layout, &next)),
            right: if node.ends {
                right(class, &layout)
            } else {
                Vec::new()
            },
            layout,
        }
    }
}

/// The places of bbar at which the action is the fold.
fn right(class: &Class, layout: &Layout) -> Vec<usize> {
    let extent = &layout.extent;
    let mut places = Vec::new();
    for history in 0..extent.histories {
        for s in 0..extent.states {
            for entering in 0..extent.entering {
                for lane in 0..extent.lanes.count {
                    let action = layout.fold(class, s, entering, lane);
                    places.push(
                        history * layout.post_history()
                            + s * layout.post_state()
                            + (entering * extent.actions + action) * layout.post_action()
                            + lane,
                    );
                }
            }
        }
    }
    places
}
