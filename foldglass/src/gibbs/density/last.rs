//! Solves the last step: given a summary, its cells earn independently of each other.
//!
//! With e(c, a) what cell c earns with action a, the number of ways to earn r is the coefficient of
//! z^r in the product over the cells of sum_a z^e(c, a). Summaries with the same e, in any order of
//! cells and actions, share one product.

use super::layout::{SummaryLayout, SummaryStep};
use super::table::{CodeTally, Table};
use crate::reward::count::rows::hash;
use crate::reward::count::weight::Whole;

/// Products are computed when this many different ones wait.
const WAITING: usize = 1 << 14;

/// Polynomials up to this degree are kept dense.
const DENSE: usize = 1 << 12;

/// The last step, with the products that wait.
pub(super) struct LastProducts<'a, W, C> {
    layout: &'a SummaryLayout<W>,
    step: &'a SummaryStep<W>,
    /// The reward that is certain, then by cell how much more each action earns than the least,
    /// ascending, the cells sorted.
    waiting: Table<W, C>,
    key: Vec<W>,
    earned: Vec<Vec<W>>,
    dense: Vec<C>,
}

impl<'a, W: Whole, C: CodeTally> LastProducts<'a, W, C> {
    pub fn new(layout: &'a SummaryLayout<W>) -> LastProducts<'a, W, C> {
        let step = layout.steps.last().expect("a task has a step");
        let cells = step.cells.len();
        LastProducts {
            layout,
            step,
            waiting: Table::new(1 + cells * layout.q),
            key: Vec::with_capacity(1 + cells * layout.q),
            earned: vec![Vec::with_capacity(layout.q); cells],
            dense: Vec::new(),
        }
    }

    /// Takes a summary, and hands over what is known of rewards when much waits.
    pub fn take(&mut self, summary: &[W], codes: &C, give: impl FnMut(W, &C)) {
        let mut certain = summary[0];
        let nodes = self.step.nodes.iter();
        let cells = nodes.flat_map(|node| node.cells.clone().map(move |cell| (node.lift, cell)));
        for ((lift, cell), earned) in cells.zip(&mut self.earned) {
            let lift = lift.expect("the last step is rewarded");
            earned.clear();
            earned.resize(self.layout.q, W::zero());
            let flows = self.step.flows.of(cell).iter();
            for (flow, &right) in flows.zip(self.step.flows.right(cell)) {
                earned[right as usize] += summary[flow.from as usize] * flow.weight * lift;
            }
            earned.sort_unstable();
            let least = earned[0];
            certain += least;
            earned.iter_mut().for_each(|earned| *earned -= least);
        }
        self.earned.sort_unstable();
        self.key.clear();
        self.key.push(certain);
        self.earned
            .iter()
            .for_each(|earned| self.key.extend(earned));
        self.waiting.add(&self.key, hash(&self.key), codes);
        if self.waiting.len() >= WAITING {
            self.flush(give);
        }
    }

    /// Hands over the rewards of all that waits, each with its number of codes.
    pub fn flush(&mut self, mut give: impl FnMut(W, &C)) {
        let mut sparse: Vec<(W, C)> = Vec::new();
        for (key, codes) in self.waiting.iter() {
            let (certain, cells) = (key[0], key[1..].chunks_exact(self.layout.q));
            let degree = cells.clone().try_fold(0usize, |degree, earned| {
                let most = usize::try_from(earned[self.layout.q - 1].to_u128()).ok()?;
                degree.checked_add(most).filter(|&degree| degree <= DENSE)
            });
            if let Some(degree) = degree {
                dense_product(&mut self.dense, degree, codes, cells);
                for (more, codes) in self.dense.iter().enumerate() {
                    if !codes.is_zero() {
                        give(certain + W::of_i128(more as i128), codes);
                    }
                }
            } else {
                sparse_product(&mut sparse, codes, cells);
                for (more, codes) in &sparse {
                    give(certain + *more, codes);
                }
            }
        }
        self.waiting.clear();
    }
}

/// `codes` times the product of the cells' polynomials, a coefficient for each degree.
fn dense_product<'a, W: Whole, C: CodeTally>(
    product: &mut Vec<C>,
    degree: usize,
    codes: &C,
    cells: impl Iterator<Item = &'a [W]>,
) {
    product.clear();
    product.resize(degree + 1, C::of(0));
    product[0] = codes.clone();
    let mut reached = 0;
    for earned in cells {
        let shift = |earned: &W| earned.to_u128() as usize;
        let most = shift(earned.last().expect("q is at least 1"));
        // From the highest degree down each coefficient is read before it is replaced.
        for at in (0..=reached + most).rev() {
            let mut sum = C::of(0);
            for earned in earned {
                if let Some(from) = at
                    .checked_sub(shift(earned))
                    .filter(|&from| from <= reached)
                {
                    sum.add(&product[from]);
                }
            }
            product[at] = sum;
        }
        reached += most;
    }
}

/// The product as a list of terms, degrees ascending.
fn sparse_product<'a, W: Whole, C: CodeTally>(
    product: &mut Vec<(W, C)>,
    codes: &C,
    cells: impl Iterator<Item = &'a [W]>,
) {
    product.clear();
    product.push((W::zero(), codes.clone()));
    for earned in cells {
        let terms = product.len();
        for &earned in &earned[1..] {
            for i in 0..terms {
                let (degree, codes) = product[i].clone();
                product.push((degree + earned, codes));
            }
        }
        product.sort_unstable_by_key(|&(degree, _)| degree);
        product.dedup_by(|from, to| {
            let same = from.0 == to.0;
            if same {
                to.1.add(&from.1);
            }
            same
        });
    }
}
