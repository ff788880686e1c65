//! Describes the four sums of a step to the kernels (paper, App. A); see the parent module.

use super::WIDEST;
use super::geometry::{Alpha, Histories, Sizes};
use crate::class::{Class, Node};
use crate::kernels::{Contraction, Left, Offsets, Right, Size, Strides};
use crate::quasigroup::Symbol;

/// The sums of a step.
#[derive(Debug, PartialEq)]
pub(crate) struct Sums {
    /// post from alpha and the policy; a set of rows for each slab of post.
    pub post: Contraction,
    /// dQ from alpha and bbar; a set of terms for each slab.
    pub values: Contraction,
    /// beta from bbar and the policy; a set of rows for each slab.
    pub beta: Contraction,
    /// d from alpha and the weights of the lanes.
    pub visits: Contraction,
}

impl Sums {
    pub fn new(class: &Class, node: &Node, sizes: &Sizes, alpha: &Alpha) -> Sums {
        let folds = Folds::new(class, node, sizes, alpha);
        Sums {
            post: post(sizes, alpha, &folds),
            values: values(sizes, alpha, &folds),
            beta: beta(sizes, &folds),
            visits: visits(sizes, alpha),
        }
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

/// post(s', a) = sum over the slabs that go into one of post, and over the forgotten token, of
/// alpha(s) pi(a).
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

/// dQ(forgotten token, a) = sum over s of alpha(s) bbar(s', a).
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

/// beta(s, forgotten token) = sum over a of bbar(s', a) pi(a).
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

/// d(forgotten token) = sum over s of alpha(s) times the weight of the lane.
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
