//! Works out where the sums of one step read and write (paper, App. A); see the parent module.

use super::sending::Sending;
use super::{LEAST_MESSAGE, WIDEST};
use crate::class::{Class, Digits, Lanes, Node, Window};
use crate::kernels::{Contraction, Left, Offsets, Right, Size, Stretches, Strides};
use crate::quasigroup::Symbol;

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
    fn x(&self, slab: usize) -> usize {
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
    states: Offsets,
    /// For each value of the forgotten token, its place.
    forgotten: Offsets,
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
    /// post from alpha and the policy; a set of rows for each slab of post.
    pub post: Contraction,
    /// dQ from alpha and bbar; a set of terms for each slab.
    pub values: Contraction,
    /// beta from bbar and the policy; a set of rows for each slab.
    pub beta: Contraction,
    /// d from alpha and the weights of the lanes.
    pub visits: Contraction,
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
        let folds = Folds::new(class, node, &sizes, &alpha);
        Geometry {
            post: post(&sizes, &alpha, &folds),
            values: values(&sizes, &alpha, &folds),
            beta: beta(&sizes, &folds),
            visits: visits(&sizes, &alpha),
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

/// How the fold moves between the states before and after the step.
struct Folds {
    /// For each slab and s', the row of alpha that leads there, or the zeros behind the first
    /// message where none does.
    alpha_rows: Offsets,
    /// For each slab and s, where bbar of s' = B[s, x] starts.
    bbar_rows: Offsets,
}

impl Folds {
    fn new(class: &Class, node: &Node, sizes: &Sizes, alpha: &Alpha) -> Folds {
        let (q, states) = (sizes.q, sizes.states);
        let mut alpha_rows = vec![WIDEST; sizes.slabs * q];
        let mut bbar_rows = vec![0; sizes.slabs * states];
        for slab in 0..sizes.slabs {
            let x = sizes.x(slab);
            for s in 0..states {
                let next = match node.parent {
                    None => x,
                    Some(_) => class.task().square().multiply(s as Symbol, x as Symbol) as usize,
                };
                alpha_rows[slab * q + next] = alpha.slabs[slab] + alpha.states[s];
                bbar_rows[slab * states + s] = next * sizes.histories.after * sizes.width();
            }
        }
        Folds {
            alpha_rows: alpha_rows.into_iter().collect(),
            bbar_rows: bbar_rows.into_iter().collect(),
        }
    }
}

/// post[s'][y] = sum over the slabs that go into one of post, and the forgotten token, of
/// alpha[s] pi[y].
fn post(sizes: &Sizes, alpha: &Alpha, folds: &Folds) -> Contraction {
    let (q, plane) = (sizes.q, sizes.plane());
    Contraction::new(
        Left {
            blocks: alpha.blocks.clone(),
            rows: folds.alpha_rows.clone(),
            terms: alpha.forgotten.clone(),
        },
        Right {
            block: sizes.policy_block(),
            input: sizes.policy_slab(),
            terms: forgotten_in_policy(sizes),
            column: sizes.width(),
        },
        Strides {
            block: sizes.width(),
            row: sizes.histories.after * plane,
            column: plane,
        },
        Size {
            inputs: sizes.summed_slabs(),
            rows: q,
            columns: q,
            width: sizes.width(),
        },
    )
}

/// dQ[forgotten token][y] = sum over s of alpha[s] bbar[s', y].
fn values(sizes: &Sizes, alpha: &Alpha, folds: &Folds) -> Contraction {
    Contraction::new(
        Left {
            blocks: alpha.blocks.clone(),
            rows: alpha.forgotten.clone(),
            terms: alpha.states.clone(),
        },
        Right {
            block: sizes.bbar_block(),
            input: 0,
            terms: folds.bbar_rows.clone(),
            column: sizes.width(),
        },
        Strides {
            block: sizes.policy_block(),
            row: sizes.histories.remembered * sizes.actions(),
            column: sizes.width(),
        },
        Size {
            inputs: 1,
            rows: sizes.histories.forgotten,
            columns: sizes.q,
            width: sizes.width(),
        },
    )
}

/// beta[s][forgotten token] = sum over y of bbar[s', y] pi[y].
fn beta(sizes: &Sizes, folds: &Folds) -> Contraction {
    let actions = Offsets::multiples(sizes.q, sizes.width());
    Contraction::new(
        Left {
            blocks: Offsets::multiples(sizes.lanes.blocks, sizes.bbar_block()),
            rows: folds.bbar_rows.clone(),
            terms: actions.clone(),
        },
        Right {
            block: sizes.policy_block(),
            input: 0,
            terms: actions,
            column: sizes.histories.remembered * sizes.actions(),
        },
        Strides {
            block: sizes.width(),
            row: sizes.histories.before * sizes.row,
            column: sizes.histories.remembered * sizes.row,
        },
        Size {
            inputs: 1,
            rows: sizes.states,
            columns: sizes.histories.forgotten,
            width: sizes.width(),
        },
    )
}

/// d[forgotten token] = sum over s of alpha[s] times the weight of the lane.
fn visits(sizes: &Sizes, alpha: &Alpha) -> Contraction {
    Contraction::new(
        Left {
            blocks: alpha.blocks.clone(),
            rows: alpha.forgotten.clone(),
            terms: alpha.states.clone(),
        },
        Right {
            block: sizes.width(),
            input: 0,
            // The weight is the same for every s.
            terms: Offsets::multiples(sizes.states, 0),
            column: 0,
        },
        Strides {
            block: sizes.histories.before * sizes.width(),
            row: sizes.histories.remembered * sizes.width(),
            column: 0,
        },
        Size {
            inputs: 1,
            rows: sizes.histories.forgotten,
            columns: 1,
            width: sizes.width(),
        },
    )
}

/// For each value of the forgotten token, its place in the policy.
fn forgotten_in_policy(sizes: &Sizes) -> Offsets {
    let Histories {
        forgotten,
        remembered,
        ..
    } = sizes.histories;
    Offsets::multiples(forgotten, remembered * sizes.actions())
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
