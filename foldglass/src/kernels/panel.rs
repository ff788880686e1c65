//! Does the sums of a step for one panel of lanes (paper, App. A); see `sums`.
//!
//! A tile of results stays in registers while its sum runs; on the way back it is the tile of bbar
//! that stays, and values and message are done in one pass over the policy. A panel wider than the
//! vectors is done part by part, tile by tile, so that what a tile reads is still close at hand for
//! the next part.

use super::sums::{Extent, Given, LEAST_MESSAGE, Results, Sums};
use super::vector::Lane;
use crate::class::PANEL;

/// One panel of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Panel {
    /// Lanes, idle ones included.
    pub width: usize,
    /// Its first lane.
    pub lane: usize,
    /// Where it starts in a table of cells, and in alpha and the message.
    pub cells: usize,
    pub states: usize,
}

/// Where some rows start in a table of (cell, action), in alpha and the message, and in post and bbar.
#[derive(Clone, Copy)]
struct Places {
    entry: usize,
    alpha: usize,
    post: usize,
}

/// Where a tile finds its first row and column, for one history and one vector of lanes.
#[derive(Clone, Copy)]
struct Sources {
    alpha: *const f64,
    policy: *const f64,
    /// By column, the weights of its entering symbol.
    weights: *const f64,
    weight_rows: *const usize,
    /// How far ahead of the policy (and of the values) lies what a later tile needs first.
    ahead: usize,
}

/// What the way back works on, likewise; what is not wanted is not to be followed.
#[derive(Clone, Copy)]
struct Targets {
    bbar: *const f64,
    values: *mut f64,
    message: *mut f64,
    /// What the message starts from: zeros for the first columns, then itself.
    so_far: *const f64,
    /// How far the terms of that lie apart.
    next_so_far: usize,
}

/// What a sum starts from.
static ZEROS: [f64; TALLEST * PANEL] = [0.0; TALLEST * PANEL];

/// The most rows of a tile.
const TALLEST: usize = 5;

/// The size of equal parts of `n`, each at most `TALLEST`.
pub(super) fn tall(n: usize) -> usize {
    n.div_ceil(n.div_ceil(TALLEST))
}

/// Does some rows with their number, and the columns of a tile, known to the compiler: 25 vectors
/// fit into 32 registers with what they are made of, 10 into 16.
macro_rules! by_rows {
    ($v:ty, $rows:expr, $self:ident . $run:ident, [$($mode:tt),*], $arguments:tt) => {
        match <$v>::REGISTERS {
            32 => by_rows!(@ $v, $rows, $self, $run, [$($mode),*], $arguments,
                (1, 5) (2, 5) (3, 5) (4, 5) (5, 5)),
            16 => by_rows!(@ $v, $rows, $self, $run, [$($mode),*], $arguments,
                (1, 4) (2, 4) (3, 3) (4, 2) (5, 2)),
            _ => by_rows!(@ $v, $rows, $self, $run, [$($mode),*], $arguments,
                (1, 1) (2, 1) (3, 1) (4, 1) (5, 1)),
        }
    };
    (@ $v:ty, $rows:expr, $self:ident, $run:ident, $modes:tt, $arguments:tt, $(($r:literal, $c:literal))*) => {
        match $rows {
            $($r => by_rows!(! $v, $self, $run, $r, $c, $modes, $arguments),)*
            rows => unreachable!("a tile of {rows} rows"),
        }
    };
    (! $v:ty, $self:ident, $run:ident, $r:literal, $c:literal, [$($mode:tt),*], ($($argument:expr),*)) => {
        // SAFETY: the caller's.
        unsafe { $self.$run::<$v, W, $r, $c, $($mode),*>($($argument),*) }
    };
}

/// Asks for a line of memory. Where a panel is done part by part, the first part of a tile would
/// wait for all lines of it; so every part asks for some of the next tile's.
#[inline(always)]
fn fetch(at: *const f64) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, for any address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(at.cast());
    }
}

impl Sums {
    /// Distance between states in post and bbar.
    #[inline(always)]
    fn post_state(&self) -> usize {
        self.weight_rows.len() * self.extent.lanes.row
    }

    /// Where the rows of a panel from a state on start, in a history.
    #[inline(always)]
    fn places<const W: usize>(&self, at: Panel, history: usize, state: usize) -> Places {
        let Extent { terms, states, .. } = self.extent;
        let vectors = history * terms * self.weight_rows.len();
        Places {
            entry: at.cells * self.extent.actions + vectors * W,
            alpha: at.states + (history * terms * states + state) * W,
            post: (history * states + state) * self.post_state() + at.lane,
        }
    }

    /// Computes post of a panel.
    ///
    /// # Safety
    /// The buffers are those of `Kernels::forward`, checked; the machine has the instructions; W is the width of the panel, and that of `V` divides it.
    #[inline(always)]
    pub(super) unsafe fn forward_panel<V: Lane, const W: usize>(
        &self,
        at: Panel,
        given: Given<'_>,
        post: *mut f64,
    ) {
        let states = self.extent.states;
        for history in 0..self.extent.histories {
            for state in (0..states).step_by(self.tall) {
                let rows = self.tall.min(states - state);
                by_rows!(
                    V,
                    rows,
                    self.forward_rows,
                    [],
                    (at, (history, state), given, post)
                )
            }
        }
    }

    /// Computes R rows of post, C columns at a time and one by one at the end; all vectors of lanes
    /// of some columns before the next ones.
    ///
    /// # Safety
    /// As for `forward_panel`, and the R rows from the state on are rows of the step.
    #[inline(always)]
    unsafe fn forward_rows<V: Lane, const W: usize, const R: usize, const C: usize>(
        &self,
        at: Panel,
        (history, state): (usize, usize),
        given: Given<'_>,
        post: *mut f64,
    ) {
        let (all, row) = (self.weight_rows.len(), self.extent.lanes.row);
        let places = self.places::<W>(at, history, state);
        let mut column = 0;
        while column < all {
            let whole = all - column >= C;
            for lane in (0..W).step_by(V::WIDTH) {
                // SAFETY: the tile lies within the step, whose size the buffers have.
                unsafe {
                    let from = Sources {
                        alpha: given.alpha.as_ptr().add(places.alpha + lane),
                        policy: given.policy.as_ptr().add(places.entry + column * W + lane),
                        weights: given.weights.as_ptr().add(at.lane + lane),
                        weight_rows: self.weight_rows.as_ptr().add(column),
                        ahead: C * W + lane / V::WIDTH * W - lane,
                    };
                    let to = post.add(places.post + column * row + lane);
                    if whole {
                        self.forward_tile::<V, W, R, C>(from, to);
                    } else {
                        self.forward_tile::<V, W, R, 1>(from, to);
                    }
                }
            }
            column += if whole { C } else { 1 };
        }
    }

    /// Computes R by C vectors of post.
    ///
    /// # Safety
    /// All rows, columns and terms lie within the buffers, and the machine has the instructions.
    #[inline(always)]
    unsafe fn forward_tile<V: Lane, const W: usize, const R: usize, const C: usize>(
        &self,
        from: Sources,
        to: *mut f64,
    ) {
        let row = self.extent.lanes.row;
        let (next_states, next_columns) = (self.extent.states * W, self.weight_rows.len() * W);
        let (mut alpha, mut policy) = (from.alpha, from.policy);
        // SAFETY: the caller's.
        unsafe {
            let mut sum = [[V::splat(0.0); C]; R];
            for _ in 0..self.extent.terms {
                let mut left = [V::splat(0.0); R];
                for (r, left) in left.iter_mut().enumerate() {
                    *left = V::load(alpha.add(r * W));
                }
                if V::WIDTH < W {
                    fetch(policy.wrapping_add(from.ahead));
                }
                for c in 0..C {
                    let right = V::load(policy.add(c * W));
                    for (sum, left) in sum.iter_mut().zip(&left) {
                        sum[c] = left.fma(right, sum[c]);
                    }
                }
                alpha = alpha.wrapping_add(next_states);
                policy = policy.wrapping_add(next_columns);
            }
            for c in 0..C {
                let weight = V::load(from.weights.add(*from.weight_rows.add(c)));
                for (r, sum) in sum.iter().enumerate() {
                    let value = sum[c].times(weight).flush(LEAST_MESSAGE);
                    value.store(to.add(r * self.post_state() + c * row));
                }
            }
        }
    }

    /// Computes values and message of a panel, as far as they are wanted.
    ///
    /// # Safety
    /// The buffers are those of `Kernels::backward`, checked; the machine has the instructions; W is the width of the panel, and that of `V` divides it.
    #[inline(always)]
    pub(super) unsafe fn backward_panel<V: Lane, const W: usize>(
        &self,
        at: Panel,
        given: Given<'_>,
        results: &mut Results<'_>,
    ) {
        let wants = (!results.values.is_empty(), !results.message.is_empty());
        let states = self.extent.states;
        for history in 0..self.extent.histories {
            for state in (0..states).step_by(self.tall) {
                let rows = self.tall.min(states - state);
                let from = (history, state);
                // [values, message, add to values]: constants of the loops.
                macro_rules! go {
                    ($values:tt, $message:tt, $add:tt) => {
                        by_rows!(
                            V,
                            rows,
                            self.backward_rows,
                            [$values, $message, $add],
                            (at, from, given, results)
                        )
                    };
                }
                // Values of later rows add to those of the first.
                match (wants, results.add || state > 0) {
                    ((true, true), false) => go!(true, true, false),
                    ((true, true), true) => go!(true, true, true),
                    ((true, false), false) => go!(true, false, false),
                    ((true, false), true) => go!(true, false, true),
                    _ => go!(false, true, false),
                }
            }
        }
    }

    /// Goes back through R rows of bbar, in the order of `forward_rows`.
    ///
    /// # Safety
    /// As for `backward_panel`, and the R rows from the state on are rows of the step.
    #[inline(always)]
    unsafe fn backward_rows<
        V: Lane,
        const W: usize,
        const R: usize,
        const C: usize,
        const VALUES: bool,
        const MESSAGE: bool,
        const ADD: bool,
    >(
        &self,
        at: Panel,
        (history, state): (usize, usize),
        given: Given<'_>,
        results: &mut Results<'_>,
    ) {
        let (all, row) = (self.weight_rows.len(), self.extent.lanes.row);
        let places = self.places::<W>(at, history, state);
        let (values, message) = (results.values.as_mut_ptr(), results.message.as_mut_ptr());
        let mut column = 0;
        while column < all {
            let whole = all - column >= C;
            for lane in (0..W).step_by(V::WIDTH) {
                let entry = places.entry + column * W + lane;
                let message = message.wrapping_add(places.alpha + lane);
                // SAFETY: the tile lies within the step, whose size the buffers have.
                unsafe {
                    let from = Sources {
                        alpha: given.alpha.as_ptr().add(places.alpha + lane),
                        policy: given.policy.as_ptr().add(entry),
                        weights: given.weights.as_ptr().add(at.lane + lane),
                        weight_rows: self.weight_rows.as_ptr().add(column),
                        ahead: C * W + lane / V::WIDTH * W - lane,
                    };
                    let is_first = column == 0;
                    let to = Targets {
                        bbar: given.bbar.as_ptr().add(places.post + column * row + lane),
                        values: values.wrapping_add(entry),
                        message,
                        so_far: if is_first { ZEROS.as_ptr() } else { message },
                        next_so_far: if is_first { 0 } else { self.extent.states * W },
                    };
                    if whole {
                        self.backward_tile::<V, W, R, C, VALUES, MESSAGE, ADD>(from, to);
                    } else {
                        self.backward_tile::<V, W, R, 1, VALUES, MESSAGE, ADD>(from, to);
                    }
                }
            }
            column += if whole { C } else { 1 };
        }
    }

    /// Adds what R by C vectors of bbar contribute to values and message.
    ///
    /// # Safety
    /// All rows, columns and terms lie within the buffers, and the machine has the instructions.
    #[inline(always)]
    unsafe fn backward_tile<
        V: Lane,
        const W: usize,
        const R: usize,
        const C: usize,
        const VALUES: bool,
        const MESSAGE: bool,
        const ADD: bool,
    >(
        &self,
        from: Sources,
        to: Targets,
    ) {
        let row = self.extent.lanes.row;
        let (next_states, next_columns) = (self.extent.states * W, self.weight_rows.len() * W);
        let (mut alpha, mut policy) = (from.alpha, from.policy);
        let (mut values, mut message) = (to.values, to.message);
        let mut so_far = to.so_far;
        // SAFETY: the caller's.
        unsafe {
            let mut bbar = [[V::splat(0.0); C]; R];
            for c in 0..C {
                let weight = V::load(from.weights.add(*from.weight_rows.add(c)));
                for (r, bbar) in bbar.iter_mut().enumerate() {
                    let place = to.bbar.add(r * self.post_state() + c * row);
                    bbar[c] = V::load(place).times(weight);
                }
            }
            for _ in 0..self.extent.terms {
                if VALUES {
                    if V::WIDTH < W {
                        fetch(values.wrapping_add(from.ahead));
                    }
                    let mut sum = [V::splat(0.0); C];
                    if ADD {
                        for (c, sum) in sum.iter_mut().enumerate() {
                            *sum = V::load(values.add(c * W));
                        }
                    }
                    for (r, bbar) in bbar.iter().enumerate() {
                        let left = V::load(alpha.add(r * W));
                        for c in 0..C {
                            sum[c] = left.fma(bbar[c], sum[c]);
                        }
                    }
                    for (c, sum) in sum.iter().enumerate() {
                        sum.store(values.add(c * W));
                    }
                }
                if MESSAGE {
                    if V::WIDTH < W {
                        fetch(policy.wrapping_add(from.ahead));
                    }
                    let mut right = [V::splat(0.0); C];
                    for (c, right) in right.iter_mut().enumerate() {
                        *right = V::load(policy.add(c * W));
                    }
                    for (r, bbar) in bbar.iter().enumerate() {
                        let mut sum = V::load(so_far.add(r * W));
                        for c in 0..C {
                            sum = bbar[c].fma(right[c], sum);
                        }
                        sum.store(message.add(r * W));
                    }
                }
                alpha = alpha.wrapping_add(next_states);
                policy = policy.wrapping_add(next_columns);
                values = values.wrapping_add(next_columns);
                message = message.wrapping_add(next_states);
                so_far = so_far.wrapping_add(to.next_so_far);
            }
        }
    }
}
