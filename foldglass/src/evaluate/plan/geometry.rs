//! Works out where the sums of one step read and write (paper, App. A); see the parent module.

use super::LEAST_MESSAGE;
use super::sending::Sending;
use super::sums::Sums;
use crate::class::{Class, Digits, Lanes, Node, Window};
use crate::kernels::{Offsets, Stretches};

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

impl Draw {
    /// What the node draws.
    pub fn of(class: &Class, node: &Node) -> Draw {
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
    fn ignores_leaving(class: &Class, node: &Node) -> bool {
        let (Window { past, future }, inputs) = (class.shape().window, class.task().inputs());
        match Draw::of(class, node) {
            Draw::Nothing | Draw::Mixing => true,
            Draw::First => inputs.is_uniform(),
            Draw::Ahead => past > 0 || future > 1 || !inputs.is_correlated(),
            Draw::Current if past == 0 => inputs.is_uniform(),
            Draw::Current => past > 1 || !inputs.is_correlated(),
        }
    }
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

/// The remembered tokens, as numbers of histories (q to the number of tokens).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Histories {
    /// Before the step's own token, and with it.
    pub before: usize,
    pub after: usize,
    /// Values of the token that this step forgets: q, or 1 while the memory fills.
    pub forgotten: usize,
    /// Histories of the other tokens.
    pub remembered: usize,
}

impl Histories {
    fn new(class: &Class, node: &Node) -> Histories {
        let q = class.q();
        let before = q.pow(node.tokens as u32);
        let full = node.tokens == class.shape().memory;
        let forgotten = if full { q } else { 1 };
        let remembered = before / forgotten;
        Histories {
            before,
            after: remembered * q,
            forgotten,
            remembered,
        }
    }
}

/// How large the arrays of a step are, and how far apart their parts lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sizes {
    pub q: usize,
    /// 1 at t = 1, where there is no state yet, else q.
    pub states: usize,
    pub histories: Histories,
    pub lanes: Lanes,
    pub slabs: usize,
    /// The slabs of a post plane: fewer where the symbol about to leave is summed at once.
    pub post_slabs: usize,
    /// The distance between slabs of a post plane, and between rows of beta.
    pub row: usize,
    /// Elements of the message received, for one state and history.
    pub received: usize,
    /// The distance between histories in alpha.
    pub alpha_history: usize,
}

impl Sizes {
    /// Lanes of a block.
    pub fn width(&self) -> usize {
        self.lanes.width
    }

    /// What one history, with its q actions, takes of a block of the policy or of bbar.
    pub fn actions(&self) -> usize {
        self.q * self.width()
    }

    /// A block of the policy in one slab.
    pub fn policy_block(&self) -> usize {
        self.histories.before * self.actions()
    }

    /// A slab of the policy.
    pub fn policy_slab(&self) -> usize {
        self.lanes.blocks * self.policy_block()
    }

    /// A block of bbar in one slab.
    pub fn bbar_block(&self) -> usize {
        self.histories.after * self.actions()
    }

    /// A slab of bbar.
    pub fn bbar_slab(&self) -> usize {
        self.lanes.blocks * self.bbar_block()
    }

    /// A slab of visits.
    pub fn visits_slab(&self) -> usize {
        self.lanes.padded() * self.histories.before
    }

    /// What post takes for one state and history.
    pub fn plane(&self) -> usize {
        self.post_slabs * self.row
    }

    /// States and histories after the step: planes of post, messages sent.
    pub fn planes(&self) -> usize {
        self.q * self.histories.after
    }

    /// States and histories before the step: rows of beta, messages received.
    pub fn rows(&self) -> usize {
        self.states * self.histories.before
    }

    /// How many slabs go into one of post.
    pub fn summed_slabs(&self) -> usize {
        self.slabs / self.post_slabs
    }

    /// The slab of post and bbar that a slab belongs to.
    pub fn post_slab(&self, slab: usize) -> usize {
        slab / self.summed_slabs()
    }

    /// x_t in a slab.
    pub fn x(&self, slab: usize) -> usize {
        slab / (self.slabs / self.q)
    }
}

/// Where alpha lies.
#[derive(Debug, PartialEq)]
pub(crate) struct Alpha {
    /// For each block, where its lanes start.
    pub blocks: Offsets,
    /// For each slab, where it starts.
    pub slabs: Vec<usize>,
    /// For each s, its place.
    pub states: Offsets,
    /// For each value of the forgotten token, its place.
    pub forgotten: Offsets,
}

/// The geometry that nodes of one kind share.
#[derive(Debug, PartialEq)]
pub(crate) struct Geometry {
    pub draw: Draw,
    pub source: Source,
    pub sizes: Sizes,
    /// For each slab, where its part starts in the message received.
    pub parts: Vec<usize>,
    pub alpha: Alpha,
    pub sums: Sums,
    /// The message returned from beta, where a sum over the symbol drawn is all there is to it.
    pub returned: Option<Stretches>,
    pub sending: Option<Sending>,
}

impl Geometry {
    /// The geometry of `node`, whose messages are read by `child` (of several children, the last)
    /// and which receives `received` elements for each state and history.
    pub fn new(
        class: &Class,
        replicas: usize,
        node: &Node,
        child: Option<&Node>,
        received: usize,
    ) -> Geometry {
        let draw = Draw::of(class, node);
        let lanes = Digits::new(class.shape().window, node.before, node.after);
        let lanes = lanes.lanes(class.q(), replicas);
        let source = match draw {
            Draw::Mixing => Source::Mixed,
            Draw::Ahead if lanes.count / class.q() < lanes.width => Source::Repeated,
            _ => Source::InPlace,
        };
        let sizes = sizes(class, replicas, node, child, received, source);
        let parts = parts(draw, &sizes);
        let alpha = alpha(draw, source, &sizes, &parts);
        Geometry {
            sums: Sums::new(class, node, &sizes, &alpha),
            returned: returned(draw, &sizes),
            sending: child.map(|child| Sending::new(class, replicas, node, child, &sizes)),
            draw,
            source,
            sizes,
            parts,
            alpha,
        }
    }

    /// Elements of the message for one state and history.
    pub fn message(&self) -> usize {
        self.sending.as_ref().map_or(0, Sending::len)
    }
}

/// Whether the oldest symbol of the node's window is not in the message it sends.
pub(super) fn drops_oldest(class: &Class, node: &Node, child: Option<&Node>) -> bool {
    let mixes = child.is_some_and(|child| Draw::of(class, child) == Draw::Mixing);
    node.before == class.shape().window.past && !mixes
}

fn sizes(
    class: &Class,
    replicas: usize,
    node: &Node,
    child: Option<&Node>,
    received: usize,
    source: Source,
) -> Sizes {
    let q = class.q();
    let digits = Digits::new(class.shape().window, node.before, node.after);
    let (lanes, slabs) = (digits.lanes(q, replicas), digits.slabs(q));
    let at_once = drops_oldest(class, node, child) && Draw::ignores_leaving(class, node);
    // An odd number of cache lines between rows keeps them in different cache sets.
    let odd = if lanes.blocks.is_multiple_of(2) {
        lanes.width
    } else {
        0
    };
    Sizes {
        q,
        states: if node.parent.is_none() { 1 } else { q },
        histories: Histories::new(class, node),
        lanes,
        slabs,
        post_slabs: if at_once { slabs / q } else { slabs },
        row: lanes.padded() + odd,
        received,
        alpha_history: match source {
            Source::InPlace => received,
            Source::Repeated | Source::Mixed => lanes.padded(),
        },
    }
}

fn parts(draw: Draw, sizes: &Sizes) -> Vec<usize> {
    let (slabs, received) = (sizes.slabs, sizes.received);
    let part = |slab: usize| match draw {
        Draw::First | Draw::Mixing => 0,
        Draw::Nothing | Draw::Ahead => slab * (received / slabs),
        // Drawn now, x_t is not in the message; what leaves the window is.
        Draw::Current => slab % (slabs / sizes.q) * (received * sizes.q / slabs),
    };
    (0..slabs).map(part).collect()
}

fn alpha(draw: Draw, source: Source, sizes: &Sizes, parts: &[usize]) -> Alpha {
    let Sizes {
        q,
        states,
        histories,
        lanes,
        alpha_history: history,
        ..
    } = *sizes;
    let block = |block: usize| match draw {
        Draw::First => 0,
        // A part is followed by its own beginning: a block may start anywhere in it.
        Draw::Ahead if source == Source::InPlace => block * lanes.width % (lanes.count / q),
        _ => block * lanes.width,
    };
    let slab = |slab: usize| match source {
        Source::InPlace => parts[slab],
        Source::Repeated | Source::Mixed => slab * states * histories.before * history,
    };
    Alpha {
        blocks: (0..lanes.blocks).map(block).collect(),
        slabs: (0..sizes.slabs).map(slab).collect(),
        states: Offsets::multiples(states, histories.before * history),
        forgotten: Offsets::multiples(histories.forgotten, histories.remembered * history),
    }
}

/// The sum of a slab of beta over the symbol drawn, into its part of the message returned.
fn returned(draw: Draw, sizes: &Sizes) -> Option<Stretches> {
    let count = sizes.lanes.count;
    let (len, places) = match draw {
        Draw::First | Draw::Mixing => return None,
        // Slabs of another x_t add to the same part.
        Draw::Nothing | Draw::Current => (count, 1),
        Draw::Ahead => (count / sizes.q, sizes.q),
    };
    Some(Stretches {
        len,
        places,
        rows: sizes.rows(),
        from_row: sizes.row,
        to_row: sizes.received,
        least: LEAST_MESSAGE,
    })
}
