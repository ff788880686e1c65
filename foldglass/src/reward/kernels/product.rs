//! Does the sums of a step for a lane that is alone in its panel, with vectors over entering symbols
//! and actions (paper, App. A); see `sums`.

use super::Kernels;
use super::sums::{Extent, LEAST_MESSAGE, PassInputs, Sums, Targets, Tile};
use super::vector::{Has, Lane};
use super::visits::VisitSum;
use crate::reward::layout::PANEL;

/// C(i, j) = sum over x of A(i, x) B(x, j): B and C have vectors over j.
#[derive(Debug, Clone, Copy)]
pub(super) struct Product {
    /// The rows of C, as `columns` are its columns; terms are the values of x.
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
    /// Does whole vectors of columns, two at a time. The remaining columns are covered by one overlapping
    /// vector that computes identical results again, or go one by one.
    ///
    /// # Panics
    /// If it would leave one of the matrices.
    #[inline(always)]
    pub fn run<V: Lane>(&self, has: Has<V>, a: &[f64], b: &[f64], c: &mut [f64]) {
        self.check(a, b, c);
        let (a, b, c) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
        let mut column = 0;
        // SAFETY: `check` has seen that all rows, columns and terms lie within A, B and C. Whole vectors of columns
        // end at or before the last column, and so does the overlapping one, which begins at `columns - WIDTH`:
        // there was a whole vector, so that is not negative.
        unsafe {
            while self.columns - column >= 2 * V::WIDTH {
                self.tiles::<V, 2>(has, column, a, b, c);
                column += 2 * V::WIDTH;
            }
            if self.columns - column >= V::WIDTH {
                self.tiles::<V, 1>(has, column, a, b, c);
                column += V::WIDTH;
            }
            if column < self.columns && column > 0 && !self.add {
                self.tiles::<V, 1>(has, self.columns - V::WIDTH, a, b, c);
            } else {
                (column..self.columns)
                    .for_each(|column| self.tiles::<f64, 1>(Has::NUMBERS, column, a, b, c));
            }
        }
    }

    /// Refuses matrices that do not have all rows, columns and terms.
    #[inline(always)]
    fn check(&self, a: &[f64], b: &[f64], c: &[f64]) {
        assert!(self.rows > 0 && self.terms > 0, "a product of nothing");
        let (rows, terms) = (self.rows - 1, self.terms - 1);
        let needed = [
            rows * self.a_row + terms * self.a_term + 1,
            terms * self.b_term + self.columns,
            rows * self.c_row + self.columns,
        ];
        let sizes = [a.len(), b.len(), c.len()];
        assert!(
            needed.iter().zip(sizes).all(|(n, size)| *n <= size),
            "a product that needs {needed:?} entries, of matrices of {sizes:?}"
        );
    }

    /// Does C vectors of columns of all rows.
    ///
    /// # Safety
    /// `check` accepts the matrices, and the columns are those of C.
    #[inline(always)]
    unsafe fn tiles<V: Lane, const C: usize>(
        &self,
        has: Has<V>,
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
                    1 => self.tile::<V, 1, C>(has, a, b, c),
                    2 => self.tile::<V, 2, C>(has, a, b, c),
                    3 => self.tile::<V, 3, C>(has, a, b, c),
                    4 => self.tile::<V, 4, C>(has, a, b, c),
                    _ => self.tile::<V, 5, C>(has, a, b, c),
                }
            }
        }
    }

    /// # Safety
    /// `check` accepts the matrices; A and C begin R rows or more before their end, and B and C as many vectors of
    /// columns.
    #[inline(always)]
    unsafe fn tile<V: Lane, const R: usize, const C: usize>(
        &self,
        has: Has<V>,
        a: *const f64,
        b: *const f64,
        c: *mut f64,
    ) {
        // SAFETY: R rows of A, C vectors of columns of B and all terms lie within the matrices, as this function
        // asks, and C's tile within C.
        unsafe {
            let mut sum = [[has.splat(0.0); C]; R];
            if self.add {
                for (r, sum) in sum.iter_mut().enumerate() {
                    for (j, sum) in sum.iter_mut().enumerate() {
                        *sum = has.load_at(c.add(r * self.c_row + j * V::WIDTH));
                    }
                }
            }
            for x in 0..self.terms {
                let mut right = [has.splat(0.0); C];
                for (j, right) in right.iter_mut().enumerate() {
                    *right = has.load_at(b.add(x * self.b_term + j * V::WIDTH));
                }
                for (r, sum) in sum.iter_mut().enumerate() {
                    let left = has.splat(*a.add(r * self.a_row + x * self.a_term));
                    for j in 0..C {
                        sum[j] = left.fma(right[j], sum[j]);
                    }
                }
            }
            for (r, sum) in sum.iter().enumerate() {
                for (j, sum) in sum.iter().enumerate() {
                    sum.store_at(c.add(r * self.c_row + j * V::WIDTH));
                }
            }
        }
    }
}

/// How the matrices of one lane lie in scratch, one behind the other.
pub(super) struct LoneLane {
    states: usize,
    terms: usize,
    columns: usize,
    /// States, filled up to whole vectors.
    padded: usize,
}

/// The parts of scratch.
struct ScratchParts<'a> {
    /// post or weighted bbar, by s and j.
    post: &'a mut [f64],
    /// By j.
    weights: &'a mut [f64],
    /// Weighted bbar by j and s, and the message by k and s.
    transposed: &'a mut [f64],
    message: &'a mut [f64],
}

impl LoneLane {
    pub fn new(extent: &Extent) -> LoneLane {
        LoneLane {
            states: extent.states,
            terms: extent.terms,
            columns: extent.columns(),
            padded: extent.states.next_multiple_of(PANEL / 2),
        }
    }

    /// The size of the matrices.
    pub fn size(&self) -> usize {
        self.columns + self.states * self.columns + self.padded * (self.columns + self.terms)
    }

    fn parts<'a>(&self, scratch: &'a mut [f64]) -> ScratchParts<'a> {
        let (post, rest) = scratch.split_at_mut(self.states * self.columns);
        let (weights, rest) = rest.split_at_mut(self.columns);
        let (transposed, rest) = rest.split_at_mut(self.padded * self.columns);
        ScratchParts {
            post,
            weights,
            transposed,
            message: &mut rest[..self.padded * self.terms],
        }
    }

    /// The start of a history of the lane in alpha and the message, and in a table of (cell, action).
    fn starts(&self, extent: &Extent, tile: Tile) -> (usize, usize) {
        let (lanes, terms) = (&extent.lanes, tile.history * self.terms);
        (
            lanes.place(extent.rows(), terms * self.states, tile.panel.lane),
            tile.panel.cells * extent.actions + terms * self.columns,
        )
    }

    /// post = alpha times policy, alpha being by k and s.
    fn post(&self) -> Product {
        Product {
            rows: self.states,
            columns: self.columns,
            terms: self.terms,
            a_row: 1,
            a_term: self.states,
            b_term: self.columns,
            c_row: self.columns,
            add: false,
        }
    }

    /// values = alpha, transposed, times bbar.
    fn values(&self, add: bool) -> Product {
        Product {
            rows: self.terms,
            columns: self.columns,
            terms: self.states,
            a_row: self.states,
            a_term: 1,
            b_term: self.columns,
            c_row: self.columns,
            add,
        }
    }

    /// The message, by k and s, = policy times bbar, transposed.
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

impl ScratchParts<'_> {
    /// Weighs post, with the weights of entering symbols.
    fn weigh(&mut self, actions: usize, weights: &[f64]) {
        for (to, &weight) in self.weights.chunks_exact_mut(actions).zip(weights) {
            to.fill(weight);
        }
        for row in self.post.chunks_exact_mut(self.weights.len()) {
            for (post, weight) in row.iter_mut().zip(&*self.weights) {
                *post = (*post * weight).flush(LEAST_MESSAGE);
            }
        }
    }

    /// Transposes weighted bbar.
    fn transpose(&mut self, lone: &LoneLane) {
        for (s, row) in self.post.chunks_exact(lone.columns).enumerate() {
            let mut place = s;
            for &bbar in row {
                self.transposed[place] = bbar;
                place += lone.padded;
            }
        }
    }
}

impl Kernels {
    /// Multiplies with the widest vectors that the columns fill.
    fn multiply(&self, product: &Product, a: &[f64], b: &[f64], c: &mut [f64]) {
        // SAFETY: the kernels are those of the machine.
        unsafe { (self.loops(product.columns).product)(product, a, b, c) }
    }

    /// Computes post of a lane, in scratch.
    #[inline(never)]
    pub(super) fn forward_lone(
        &self,
        work: &Sums,
        tile: Tile,
        given: PassInputs<'_>,
        scratch: &mut [f64],
    ) {
        let (extent, lone) = (&work.extent, LoneLane::new(&work.extent));
        let (alpha, policy) = lone.starts(extent, tile);
        let mut parts = lone.parts(scratch);
        let (a, b) = (&given.alpha[alpha..], &given.policy[policy..]);
        self.multiply(&lone.post(), a, b, parts.post);
        let weights = &given.weights[extent.lanes.place(extent.entering, 0, tile.panel.lane)..];
        parts.weigh(extent.actions, weights);
    }

    /// Computes values, message and visits of a lane, as far as they are wanted, of weighted bbar in scratch.
    ///
    /// # Safety
    /// The buffers are those of `backward`, checked.
    #[inline(never)]
    pub(super) unsafe fn backward_lone(
        &self,
        work: &Sums,
        tile: Tile,
        given: PassInputs<'_>,
        scratch: &mut [f64],
        to: Targets,
    ) {
        let (extent, lone) = (&work.extent, LoneLane::new(&work.extent));
        let (start, first) = lone.starts(extent, tile);
        let mut parts = lone.parts(scratch);
        let alpha = &given.alpha[start..];
        if let Some(values) = to.values {
            // SAFETY: `check_backward` has seen that the values of the lane and this history lie there, and no other
            // tile writes them.
            let values = unsafe {
                std::slice::from_raw_parts_mut(values.add(first), lone.terms * lone.columns)
            };
            self.multiply(&lone.values(to.add), alpha, parts.post, values);
        }
        if let Some(message) = to.message {
            parts.transpose(&lone);
            let policy = &given.policy[first..];
            self.multiply(&lone.message(), policy, parts.transposed, parts.message);
            for (k, from) in parts.message.chunks_exact(lone.padded).enumerate() {
                for (s, from) in from[..lone.states].iter().enumerate() {
                    // SAFETY: `check_backward` has seen that the message has a row for each term and state of the
                    // lane, and no other tile writes them.
                    unsafe { *message.add(start + k * lone.states + s) = *from };
                }
            }
        }
        if let Some(visits) = to.visits {
            let weights = extent.lanes.place(extent.entering, 0, tile.panel.lane);
            let weights = &given.weights[weights..];
            // SAFETY: alpha, weights and visits have all rows, terms and symbols of the lane, as `check_backward`
            // has seen.
            unsafe {
                work.visit(
                    Has::NUMBERS,
                    VisitSum {
                        width: 1,
                        row: 1,
                        rows: lone.states,
                        terms: lone.terms,
                        alpha: alpha.as_ptr(),
                        weights: weights.as_ptr(),
                        visits: visits.add(first / extent.actions),
                        share: to.share,
                        add: to.add,
                    },
                );
            }
        }
    }
}
