//! Does the sums of a step for a lane that is alone in its panel, with vectors over entering symbols
//! and actions (paper, App. A); see `sums`.

use super::Kernels;
use super::panel::Panel;
use super::sums::{Extent, Given, LEAST_MESSAGE, Results, Sums};
use super::vector::Lane;
use super::visits::Visit;
use crate::class::PANEL;

/// C(i, j) = sum over x of A(i, x) B(x, j): B and C have vectors over j.
#[derive(Debug, Clone, Copy)]
pub(super) struct Product {
    /// Of C, as are columns; terms are the values of x.
    rows: usize,
    pub columns: usize,
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
    /// Does whole vectors of columns, two at a time. The columns left are the last of a vector that begins
    /// before them, whose others come out as they are once more; or they go one by one.
    ///
    /// # Safety
    /// All rows, columns and terms lie within A, B and C, and the machine has the instructions.
    #[inline(always)]
    pub unsafe fn run<V: Lane>(&self, a: *const f64, b: *const f64, c: *mut f64) {
        let mut column = 0;
        // SAFETY: the caller's.
        unsafe {
            while self.columns - column >= 2 * V::WIDTH {
                self.tiles::<V, 2>(column, a, b, c);
                column += 2 * V::WIDTH;
            }
            if self.columns - column >= V::WIDTH {
                self.tiles::<V, 1>(column, a, b, c);
                column += V::WIDTH;
            }
            if column < self.columns && column > 0 && !self.add {
                self.tiles::<V, 1>(self.columns - V::WIDTH, a, b, c);
            } else {
                (column..self.columns).for_each(|column| self.tiles::<f64, 1>(column, a, b, c));
            }
        }
    }

    /// Does C vectors of columns of all rows.
    ///
    /// # Safety
    /// As for `run`, and the columns are those of C.
    #[inline(always)]
    unsafe fn tiles<V: Lane, const C: usize>(
        &self,
        column: usize,
        a: *const f64,
        b: *const f64,
        c: *mut f64,
    ) {
        for row in (0..self.rows).step_by(5) {
            // SAFETY: the rows and columns of the tile are within those of C.
            unsafe {
                let (a, b) = (a.add(row * self.a_row), b.add(column));
                let c = c.add(row * self.c_row + column);
                match self.rows - row {
                    1 => self.tile::<V, 1, C>(a, b, c),
                    2 => self.tile::<V, 2, C>(a, b, c),
                    3 => self.tile::<V, 3, C>(a, b, c),
                    4 => self.tile::<V, 4, C>(a, b, c),
                    _ => self.tile::<V, 5, C>(a, b, c),
                }
            }
        }
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
    /// By j.
    weights: &'a mut [f64],
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
        self.columns + self.states * self.columns + self.padded * (self.columns + self.terms)
    }

    fn parts<'a>(&self, scratch: &'a mut [f64]) -> Parts<'a> {
        let (weights, rest) = scratch.split_at_mut(self.columns);
        let (post, rest) = rest.split_at_mut(self.states * self.columns);
        let (turned, rest) = rest.split_at_mut(self.padded * self.columns);
        Parts {
            weights,
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

impl Parts<'_> {
    /// Lists the weights of entering symbols for each of their actions; `weights` start at the lane.
    fn list_weights(&mut self, extent: &Extent, weights: &[f64]) {
        let symbols = self.weights.chunks_exact_mut(extent.actions);
        for (to, &weight) in symbols.zip(weights.iter().step_by(extent.lanes.row)) {
            to.fill(weight);
        }
    }

    /// Weighs bbar, by s and j and by j and s; `bbar` starts at the lane.
    fn weigh(&mut self, alone: &Alone, bbar: &[f64]) {
        let mut from = bbar.iter().step_by(alone.row);
        for (s, post) in self.post.chunks_exact_mut(alone.columns).enumerate() {
            let turned = self.turned[s..].iter_mut().step_by(alone.padded);
            let to = post.iter_mut().zip(turned).zip(&*self.weights);
            for (((to, turned), weight), from) in to.zip(&mut from) {
                *to = from * weight;
                *turned = *to;
            }
        }
    }
}

impl Kernels {
    /// Multiplies with the widest vectors that the columns fill.
    ///
    /// # Safety
    /// As for `Product::run`.
    unsafe fn multiply(&self, product: &Product, a: *const f64, b: *const f64, c: *mut f64) {
        // SAFETY: the caller's, and kernels are those of the machine.
        unsafe { (self.loops(product.columns).product)(product, a, b, c) }
    }

    /// Computes post of a lane.
    ///
    /// # Safety
    /// The buffers are those of `forward`, checked.
    pub(super) unsafe fn forward_alone(
        &self,
        work: &Sums,
        at: Panel,
        given: Given<'_>,
        scratch: &mut [f64],
        post: &mut [f64],
    ) {
        let (extent, alone) = (&work.extent, Alone::new(&work.extent));
        let (matrix, states) = (alone.terms * alone.columns, alone.terms * alone.states);
        let row = extent.lanes.row;
        let mut parts = alone.parts(scratch);
        parts.list_weights(extent, &given.weights[at.lane..]);
        for history in 0..extent.histories {
            let alpha = &given.alpha[history * states * row + at.lane..];
            let policy = &given.policy[at.cells * extent.actions + history * matrix..][..matrix];
            let c = parts.post.as_mut_ptr();
            // SAFETY: the matrices have just these sizes.
            unsafe { self.multiply(&alone.post(), alpha.as_ptr(), policy.as_ptr(), c) };
            let first = history * alone.states * alone.columns * row + at.lane;
            let mut to = post[first..].iter_mut().step_by(row);
            for from in parts.post.chunks_exact(alone.columns) {
                for ((from, weight), to) in from.iter().zip(&*parts.weights).zip(&mut to) {
                    *to = (from * weight).flush(LEAST_MESSAGE);
                }
            }
        }
    }

    /// Computes values, message and visits of a lane, as far as they are wanted.
    ///
    /// # Safety
    /// The buffers are those of `backward`, checked.
    pub(super) unsafe fn backward_alone(
        &self,
        work: &Sums,
        at: Panel,
        given: Given<'_>,
        scratch: &mut [f64],
        results: &mut Results<'_>,
    ) {
        let (extent, alone) = (&work.extent, Alone::new(&work.extent));
        let (matrix, states) = (alone.terms * alone.columns, alone.terms * alone.states);
        let row = extent.lanes.row;
        let mut parts = alone.parts(scratch);
        parts.list_weights(extent, &given.weights[at.lane..]);
        for history in 0..extent.histories {
            let bbar = &given.bbar[history * alone.states * alone.columns * row + at.lane..];
            parts.weigh(&alone, bbar);
            let first = at.cells * extent.actions + history * matrix;
            let start = history * states * row + at.lane;
            let alpha = &given.alpha[start..];
            if !results.values.is_empty() {
                let values = &mut results.values[first..][..matrix];
                let (b, c) = (parts.post.as_ptr(), values.as_mut_ptr());
                // SAFETY: the matrices have just these sizes.
                unsafe { self.multiply(&alone.values(results.add), alpha.as_ptr(), b, c) };
            }
            if !results.message.is_empty() {
                let policy = &given.policy[first..][..matrix];
                let (b, c) = (parts.turned.as_ptr(), parts.message.as_mut_ptr());
                // SAFETY: the matrices have just these sizes.
                unsafe { self.multiply(&alone.message(), policy.as_ptr(), b, c) };
                let rows = parts.message.chunks_exact(alone.padded);
                let from = rows.flat_map(|row| &row[..alone.states]);
                let to = results.message[start..].iter_mut().step_by(row);
                to.zip(from).for_each(|(to, from)| *to = *from);
            }
            if !results.visits.is_empty() {
                let first = at.cells + history * alone.terms * extent.entering;
                let visit = Visit {
                    width: 1,
                    rows: alone.states,
                    terms: alone.terms,
                    alpha: alpha.as_ptr(),
                    weights: given.weights[at.lane..].as_ptr(),
                    visits: results.visits[first..].as_mut_ptr(),
                    share: results.share,
                    add: results.add,
                };
                // SAFETY: the rows, terms and symbols are all those of the lane and the history.
                unsafe { work.visit::<f64>(visit) };
            }
        }
    }
}
