//! Does the sums of a step for a lane that is alone in its panel, with vectors over entering symbols
//! and actions (paper, App. A); see `sums`.

use super::panel::Panel;
use super::sums::{Extent, Given, LEAST_MESSAGE, Results, Sums};
use super::vector::Lane;
use super::visits::Visit;
use crate::class::PANEL;

/// C(i, j) = sum over x of A(i, x) B(x, j): B and C have vectors over j.
#[derive(Debug, Clone, Copy)]
struct Product {
    rows: usize,
    columns: usize,
    terms: usize,
    /// Distances between rows and terms of A, terms of B, rows of C.
    a_row: usize,
    a_term: usize,
    b_term: usize,
    c_row: usize,
    /// Whether C is added to or overwritten.
    add: bool,
}

impl Product {
    /// # Safety
    /// All rows, columns and terms lie within A, B and C, and the machine has the instructions.
    #[inline(always)]
    unsafe fn run<Wide: Lane, Narrow: Lane>(&self, a: *const f64, b: *const f64, c: *mut f64) {
        // SAFETY: the caller's.
        unsafe {
            let column = self.some_columns::<Wide>(0, a, b, c);
            let column = self.some_columns::<Narrow>(column, a, b, c);
            self.some_columns::<f64>(column, a, b, c);
        }
    }

    /// Does the columns from `column` on as far as vectors fit, and returns where they end.
    ///
    /// # Safety
    /// As for `run`.
    #[inline(always)]
    unsafe fn some_columns<V: Lane>(
        &self,
        column: usize,
        a: *const f64,
        b: *const f64,
        c: *mut f64,
    ) -> usize {
        let mut column = column;
        while self.columns - column >= V::WIDTH {
            let vectors = ((self.columns - column) / V::WIDTH).min(2);
            for row in (0..self.rows).step_by(5) {
                // SAFETY: the rows and columns of the tile are within those of C.
                unsafe {
                    let (a, b) = (a.add(row * self.a_row), b.add(column));
                    let c = c.add(row * self.c_row + column);
                    match ((self.rows - row).min(5), vectors) {
                        (1, 1) => self.tile::<V, 1, 1>(a, b, c),
                        (2, 1) => self.tile::<V, 2, 1>(a, b, c),
                        (3, 1) => self.tile::<V, 3, 1>(a, b, c),
                        (4, 1) => self.tile::<V, 4, 1>(a, b, c),
                        (_, 1) => self.tile::<V, 5, 1>(a, b, c),
                        (1, _) => self.tile::<V, 1, 2>(a, b, c),
                        (2, _) => self.tile::<V, 2, 2>(a, b, c),
                        (3, _) => self.tile::<V, 3, 2>(a, b, c),
                        (4, _) => self.tile::<V, 4, 2>(a, b, c),
                        _ => self.tile::<V, 5, 2>(a, b, c),
                    }
                }
            }
            column += vectors * V::WIDTH;
        }
        column
    }

    /// # Safety
    /// As for `run`, from R rows of A and C vectors of B on.
    #[inline(always)]
    unsafe fn tile<V: Lane, const R: usize, const C: usize>(
        &self,
        a: *const f64,
        b: *const f64,
        c: *mut f64,
    ) {
        // SAFETY: the caller's.
        unsafe {
            let mut sum = [[V::splat(0.0); C]; R];
            if self.add {
                for (r, sum) in sum.iter_mut().enumerate() {
                    for (j, sum) in sum.iter_mut().enumerate() {
                        *sum = V::load(c.add(r * self.c_row + j * V::WIDTH));
                    }
                }
            }
            for x in 0..self.terms {
                let mut right = [V::splat(0.0); C];
                for (j, right) in right.iter_mut().enumerate() {
                    *right = V::load(b.add(x * self.b_term + j * V::WIDTH));
                }
                for (r, sum) in sum.iter_mut().enumerate() {
                    let left = V::splat(*a.add(r * self.a_row + x * self.a_term));
                    for j in 0..C {
                        sum[j] = left.fma(right[j], sum[j]);
                    }
                }
            }
            for (r, sum) in sum.iter().enumerate() {
                for (j, sum) in sum.iter().enumerate() {
                    sum.store(c.add(r * self.c_row + j * V::WIDTH));
                }
            }
        }
    }
}

/// How the matrices of one lane lie in scratch, one behind the other.
pub(super) struct Alone {
    states: usize,
    terms: usize,
    columns: usize,
    /// States, filled up to whole vectors.
    padded: usize,
    /// Distance between rows of alpha and the message.
    row: usize,
}

/// The parts of scratch.
struct Parts<'a> {
    /// post or weighted bbar, by s and j.
    post: &'a mut [f64],
    /// Weighted bbar by j and s, and the message by k and s.
    turned: &'a mut [f64],
    message: &'a mut [f64],
}

impl Alone {
    pub fn new(extent: &Extent) -> Alone {
        Alone {
            states: extent.states,
            terms: extent.terms,
            columns: extent.columns(),
            padded: extent.states.next_multiple_of(PANEL / 2),
            row: extent.lanes.row,
        }
    }

    /// What the matrices take.
    pub fn size(&self) -> usize {
        self.states * self.columns + self.padded * (self.columns + self.terms)
    }

    fn parts<'a>(&self, scratch: &'a mut [f64]) -> Parts<'a> {
        let (post, rest) = scratch.split_at_mut(self.states * self.columns);
        let (turned, rest) = rest.split_at_mut(self.padded * self.columns);
        Parts {
            post,
            turned,
            message: &mut rest[..self.padded * self.terms],
        }
    }

    /// post = alpha times policy, alpha being by k and s.
    fn post(&self) -> Product {
        Product {
            rows: self.states,
            columns: self.columns,
            terms: self.terms,
            a_row: self.row,
            a_term: self.states * self.row,
            b_term: self.columns,
            c_row: self.columns,
            add: false,
        }
    }

    /// values = alpha, turned, times bbar.
    fn values(&self, add: bool) -> Product {
        Product {
            rows: self.terms,
            columns: self.columns,
            terms: self.states,
            a_row: self.states * self.row,
            a_term: self.row,
            b_term: self.columns,
            c_row: self.columns,
            add,
        }
    }

    /// The message, by k and s, = policy times bbar, turned.
    fn message(&self) -> Product {
        Product {
            rows: self.terms,
            columns: self.padded,
            terms: self.columns,
            a_row: self.columns,
            a_term: 1,
            b_term: self.padded,
            c_row: self.padded,
            add: false,
        }
    }
}

impl Sums {
    /// Computes post of a lane.
    ///
    /// # Safety
    /// The buffers are those of `Kernels::forward`, checked; the machine has the instructions.
    #[inline(always)]
    pub(super) unsafe fn forward_alone<Wide: Lane, Narrow: Lane>(
        &self,
        at: Panel,
        given: Given<'_>,
        scratch: &mut [f64],
        post: &mut [f64],
    ) {
        let (extent, alone) = (&self.extent, Alone::new(&self.extent));
        let (matrix, states) = (alone.terms * alone.columns, alone.terms * alone.states);
        let row = extent.lanes.row;
        let parts = alone.parts(scratch);
        for history in 0..extent.histories {
            let alpha = &given.alpha[history * states * row + at.lane..];
            let policy = &given.policy[at.cells * extent.actions + history * matrix..][..matrix];
            let c = parts.post.as_mut_ptr();
            // SAFETY: the matrices have just these sizes.
            unsafe {
                let product = alone.post();
                product.run::<Wide, Narrow>(alpha.as_ptr(), policy.as_ptr(), c);
            }
            let symbols = parts.post.chunks_exact(extent.actions);
            for (n, from) in symbols.enumerate() {
                let weight = given.weights[n % extent.entering * row + at.lane];
                let first = history * alone.states * extent.entering + n;
                let to = &mut post[first * extent.actions * row + at.lane..];
                for (a, from) in from.iter().enumerate() {
                    let value = from * weight;
                    to[a * row] = if value >= LEAST_MESSAGE { value } else { 0.0 };
                }
            }
        }
    }

    /// Computes values, message and visits of a lane, as far as they are wanted.
    ///
    /// # Safety
    /// The buffers are those of `Kernels::backward`, checked; the machine has the instructions.
    #[inline(always)]
    pub(super) unsafe fn backward_alone<Wide: Lane, Narrow: Lane>(
        &self,
        at: Panel,
        given: Given<'_>,
        scratch: &mut [f64],
        results: &mut Results<'_>,
    ) {
        let (extent, alone) = (&self.extent, Alone::new(&self.extent));
        let (matrix, states) = (alone.terms * alone.columns, alone.terms * alone.states);
        let row = extent.lanes.row;
        for history in 0..extent.histories {
            let parts = alone.parts(scratch);
            self.weigh_bbar(at, history, given, parts.post);
            let first = at.cells * extent.actions + history * matrix;
            let start = history * states * row + at.lane;
            if !results.values.is_empty() {
                let alpha = &given.alpha[start..];
                let values = &mut results.values[first..][..matrix];
                let product = alone.values(results.add);
                let (b, c) = (parts.post.as_ptr(), values.as_mut_ptr());
                // SAFETY: the matrices have just these sizes.
                unsafe { product.run::<Wide, Narrow>(alpha.as_ptr(), b, c) };
            }
            if !results.message.is_empty() {
                for (s, bbar) in parts.post.chunks_exact(alone.columns).enumerate() {
                    let turned = parts.turned[s..].iter_mut().step_by(alone.padded);
                    turned.zip(bbar).for_each(|(to, from)| *to = *from);
                }
                let policy = &given.policy[first..][..matrix];
                let (b, c) = (parts.turned.as_ptr(), parts.message.as_mut_ptr());
                // SAFETY: the matrices have just these sizes.
                unsafe { alone.message().run::<Wide, Narrow>(policy.as_ptr(), b, c) };
                for (k, from) in parts.message.chunks_exact(alone.padded).enumerate() {
                    let to = &mut results.message[start + k * alone.states * row..];
                    let to = to.iter_mut().step_by(row);
                    to.zip(&from[..alone.states])
                        .for_each(|(to, from)| *to = *from);
                }
            }
            if !results.visits.is_empty() {
                let first = at.cells + history * alone.terms * extent.entering;
                let visit = Visit {
                    rows: alone.states,
                    terms: alone.terms,
                    alpha: given.alpha[start..].as_ptr(),
                    weights: given.weights[at.lane..].as_ptr(),
                    visits: results.visits[first..].as_mut_ptr(),
                    share: results.share,
                    add: results.add,
                };
                // SAFETY: the rows, terms and symbols are all those of the lane and the history.
                unsafe { self.visit::<f64, 1>(visit) };
            }
        }
    }

    /// Copies bbar of a lane and a history, by s and j, and weighs it.
    #[inline(always)]
    fn weigh_bbar(&self, at: Panel, history: usize, given: Given<'_>, to: &mut [f64]) {
        let Extent {
            states,
            entering,
            actions,
            ..
        } = self.extent;
        let row = self.extent.lanes.row;
        for (n, to) in to.chunks_exact_mut(actions).enumerate() {
            let weight = given.weights[n % entering * row + at.lane];
            let first = (history * states * entering + n) * actions * row + at.lane;
            let from = &given.bbar[first..];
            for (a, to) in to.iter_mut().enumerate() {
                *to = from[a * row] * weight;
            }
        }
    }
}
