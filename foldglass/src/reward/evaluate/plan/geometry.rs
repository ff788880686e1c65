//! Works out how the arrays of one step lie (paper, App. A); see the parent module.

use super::routes::routes;
use crate::model::class::{Class, Node};
use crate::model::operation::Symbol;
use crate::reward::kernels::{Extent, Routes, Sums};
use crate::reward::layout::{Layout, Roles};

/// How the arrays of a node lie.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StepArrays {
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

impl StepArrays {
    pub fn new(layout: &Layout, node: &Node) -> StepArrays {
        let (q, is_first) = (layout.class.q(), node.parent.is_none());
        let group = &layout.groups[node.group];
        let (roles, vectors) = (group.roles.clone(), group.vectors);
        let extent = Extent {
            histories: vectors.remembered,
            states: if is_first { 1 } else { q },
            terms: vectors.leaving * vectors.forgotten,
            entering: vectors.entering,
            actions: q,
            lanes: group.lanes.clone(),
        };
        StepArrays {
            mixes: layout.mixes() && !is_first,
            forgotten: vectors.forgotten,
            roles,
            extent,
            replicas: layout.replicas,
            is_first,
        }
    }

    /// Whether post tells a symbol, given by its position relative to t: it does not where the step has
    /// summed over it.
    pub fn post_knows(&self, offset: isize) -> bool {
        self.roles.leaving != Some(offset)
    }

    /// How far the forgotten token and the remembered ones move a row of alpha and of the message returned;
    /// a state moves it by one.
    pub fn forgotten_step(&self) -> usize {
        self.extent.states
    }

    pub fn history_step(&self) -> usize {
        self.extent.terms * self.extent.states
    }

    /// How far a symbol moves a row of alpha, where it is the one that leaves.
    pub fn leaving_step(&self, offset: isize) -> Option<usize> {
        (self.roles.leaving == Some(offset)).then_some(self.forgotten * self.forgotten_step())
    }

    /// How far a symbol of the middle moves a lane.
    pub fn lane_step(&self, offset: isize) -> Option<usize> {
        let newer = self.roles.middle.iter().rev();
        let place = newer.enumerate().find(|(_, middle)| **middle == offset)?.0;
        Some(self.replicas * self.extent.actions.pow(place as u32))
    }

    /// A symbol of the middle, or the entering one, in a lane.
    pub fn symbol(&self, entering: usize, lane: usize, offset: isize) -> Symbol {
        if self.roles.entering == Some(offset) {
            return entering as Symbol;
        }
        let step = self.lane_step(offset).expect("a symbol of the window");
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
    pub arrays: StepArrays,
    pub sums: Sums,
    /// The destinations of what it sends, if anything follows.
    pub routes: Option<Routes>,
    /// If tokens are rewarded here: by state, entering symbol and lane, the action that is the fold.
    pub right: Vec<u16>,
}

impl Geometry {
    /// The geometry of `node`, whose message is read by `child` (or by several that read alike).
    pub fn new(layout: &Layout, node: &Node, child: Option<&Node>) -> Geometry {
        let (class, arrays) = (&layout.class, StepArrays::new(layout, node));
        let next = child.map(|child| StepArrays::new(layout, child));
        Geometry {
            sums: Sums::new(arrays.extent.clone()),
            routes: next.map(|next| routes(class, node, &arrays, &next)),
            right: if node.is_rewarded() {
                right(class, &arrays)
            } else {
                Vec::new()
            },
            arrays,
        }
    }
}

/// By state, entering symbol and lane, the action that is the fold; 0 on padding.
fn right(class: &Class, arrays: &StepArrays) -> Vec<u16> {
    let Extent {
        states,
        entering,
        lanes,
        ..
    } = &arrays.extent;
    let rows = states * entering;
    let mut right = vec![0; lanes.size(rows)];
    for row in 0..rows {
        for lane in 0..lanes.count {
            let fold = arrays.fold(class, row / entering, row % entering, lane);
            right[lanes.place(rows, row, lane)] = fold as u16;
        }
    }
    right
}
