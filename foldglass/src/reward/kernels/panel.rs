//! Does the sums of a step for one panel of lanes (paper, App. A); see `sums`.
//!
//! On the way forward a tile of post stays in registers while its sum over k runs. On the way back it
//! is the weights of rollouts, alpha, and the sums of the message that stay there, for one k or a few,
//! while policy and values stream past once, from front to back; bbar of the tile, weighed, is small
//! enough to be close at hand for all of them.

use super::sums::{Extent, LEAST_MESSAGE, PassInputs, Sums, Targets, Tile};
use super::vector::{self, Has, LINE, Lane};
use super::visits::VisitSum;
use crate::reward::layout::PANEL;
use std::ptr::null_mut;

/// One panel of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Panel {
    /// Lanes, idle ones included.
    pub width: usize,
    /// The first lane.
    pub lane: usize,
    /// The start of the panel in a table of cells.
    pub cells: usize,
}

impl Panel {
    /// The panel with a width known to the compiler unless W is 0.
    #[inline(always)]
    fn of_width<const W: usize>(self) -> Panel {
        let width = if W > 0 { W } else { self.width };
        Panel { width, ..self }
    }
}

/// The start of a tile in a table of (cell, action), in one of cells, and in alpha and the message.
#[derive(Clone, Copy)]
struct TileOffsets {
    entry: usize,
    cell: usize,
    alpha: usize,
}

/// The first row and column of a tile of post, for one history and one vector of lanes.
#[derive(Clone, Copy)]
struct Sources {
    alpha: *const f64,
    policy: *const f64,
    /// By column, the weights of its entering symbol.
    weights: *const f64,
    weight_rows: *const usize,
}

/// The arrays of the way back, for one history, one vector of lanes and the terms from some k on; what
/// is not wanted is not to be followed.
#[derive(Clone, Copy)]
struct Streams {
    /// Lanes of the panel.
    width: usize,
    alpha: *const f64,
    policy: *const f64,
    /// Weighed, of the tile.
    bbar: *const f64,
    values: *mut f64,
    message: *mut f64,
}

/// The most rows of a tile.
pub(super) const TALLEST: usize = 5;

/// The size of equal parts of `n`, each at most `TALLEST`.
pub(super) fn tall(n: usize) -> usize {
    n.div_ceil(n.div_ceil(TALLEST))
}

/// The scratch memory of post, or bbar, of a tile.
pub(super) fn scratch(extent: &Extent) -> usize {
    TALLEST * extent.columns() * PANEL
}

/// Does some rows with their number known to the compiler, and with them what fills the registers: on the
/// way forward the columns of a tile (25 vectors fit into 32 registers with what they are made of, 10
/// into 16), on the way back the terms done at once.
macro_rules! by_rows {
    (forward, $v:ty, $($rest:tt)*) => {
        match <$v>::REGISTERS {
            32 => by_rows!(@ [(1, 5) (2, 5) (3, 5) (4, 5) (5, 5)], $v, $($rest)*),
            16 => by_rows!(@ [(1, 4) (2, 4) (3, 3) (4, 2) (5, 2)], $v, $($rest)*),
            _ => by_rows!(@ [(1, 1) (2, 1) (3, 1) (4, 1) (5, 1)], $v, $($rest)*),
        }
    };
    (backward, $v:ty, $($rest:tt)*) => {
        match <$v>::REGISTERS {
            32 => by_rows!(@ [(1, 5) (2, 4) (3, 3) (4, 2) (5, 2)], $v, $($rest)*),
            16 => by_rows!(@ [(1, 4) (2, 2) (3, 1) (4, 1) (5, 1)], $v, $($rest)*),
            _ => by_rows!(@ [(1, 1) (2, 1) (3, 1) (4, 1) (5, 1)], $v, $($rest)*),
        }
    };
    (@ [$(($r:literal, $n:literal))*], $v:ty, $rows:expr, $self:ident . $run:ident, $modes:tt, $arguments:tt) => {
        match $rows {
            $($r => by_rows!(! $v, $self, $run, $r, $n, $modes, $arguments),)*
            rows => unreachable!("a tile of {rows} rows"),
        }
    };
    (! $v:ty, $self:ident, $run:ident, $r:literal, $n:literal, [$($mode:tt),*], ($($argument:expr),*)) => {
        // SAFETY: the function that uses this macro asks its own caller for what `$run` asks, and the tile has
        // this many rows.
        unsafe { $self.$run::<$v, $r, $n, $($mode),*>($($argument),*) }
    };
}

impl Sums {
    /// The start of a tile.
    #[inline(always)]
    fn places(&self, tile: Tile) -> TileOffsets {
        let Extent {
            terms,
            states,
            entering,
            actions,
            ..
        } = self.extent;
        let (at, terms) = (tile.panel, tile.history * terms);
        let cell = at.cells + terms * entering * at.width;
        TileOffsets {
            entry: cell * actions,
            cell,
            alpha: (terms * states + tile.state) * self.extent.lanes.row + at.lane,
        }
    }

    /// Computes post of a tile.
    ///
    /// # Safety
    /// The buffers are those of `Kernels::forward`, checked; the width of `V` divides that of the panel,
    /// which is W unless that is 0.
    #[inline(always)]
    pub(super) unsafe fn forward_tile<V: Lane, const W: usize>(
        &self,
        has: Has<V>,
        tile: Tile,
        given: PassInputs<'_>,
        post: &mut [f64],
    ) {
        let panel = tile.panel.of_width::<W>();
        let tile = Tile { panel, ..tile };
        by_rows!(
            forward,
            V,
            tile.rows,
            self.forward_rows,
            [],
            (has, tile, given, post)
        )
    }

    /// Computes R rows of post, C columns at a time and one by one at the end; all vectors of lanes
    /// of some columns before the next ones.
    ///
    /// # Safety
    /// As for `forward_tile`, and the tile has R rows.
    #[inline(always)]
    unsafe fn forward_rows<V: Lane, const R: usize, const C: usize>(
        &self,
        has: Has<V>,
        tile: Tile,
        given: PassInputs<'_>,
        post: &mut [f64],
    ) {
        let (all, at, places) = (self.weight_rows.len(), tile.panel, self.places(tile));
        let mut column = 0;
        while column < all {
            let whole = all - column >= C;
            for lane in (0..at.width).step_by(V::WIDTH) {
                // SAFETY: the columns lie within the step, whose size the buffers have.
                unsafe {
                    let policy = places.entry + column * at.width + lane;
                    let from = Sources {
                        alpha: given.alpha.as_ptr().add(places.alpha + lane),
                        policy: given.policy.as_ptr().add(policy),
                        weights: given.weights.as_ptr().add(at.lane + lane),
                        weight_rows: self.weight_rows.as_ptr().add(column),
                    };
                    let to = post.as_mut_ptr().add(column * R * at.width + lane);
                    if whole {
                        self.forward_columns::<V, R, C>(has, at.width, from, to);
                    } else {
                        self.forward_columns::<V, R, 1>(has, at.width, from, to);
                    }
                }
            }
            column += if whole { C } else { 1 };
        }
    }

    /// Computes R by C vectors of post.
    ///
    /// # Safety
    /// All rows, columns and terms lie within the buffers.
    #[inline(always)]
    unsafe fn forward_columns<V: Lane, const R: usize, const C: usize>(
        &self,
        has: Has<V>,
        width: usize,
        from: Sources,
        to: *mut f64,
    ) {
        let row = self.extent.lanes.row;
        let (next_states, next_columns) =
            (self.extent.states * row, self.weight_rows.len() * width);
        let (mut alpha, mut policy) = (from.alpha, from.policy);
        // SAFETY: R rows, C columns and all terms lie within the buffers, as this function asks, so every
        // address up to the last term does; addresses beyond it are made but not followed.
        unsafe {
            let mut sum = [[has.splat(0.0); C]; R];
            for _ in 0..self.extent.terms {
                let mut left = [has.splat(0.0); R];
                for (r, left) in left.iter_mut().enumerate() {
                    *left = has.load_at(alpha.add(r * row));
                }
                // The next columns are a line or more behind these.
                for c in (C + LINE / V::WIDTH - 1..2 * C).step_by(LINE / V::WIDTH) {
                    vector::ask_for(policy.wrapping_add(c * width));
                }
                for c in 0..C {
                    let right = has.load_at(policy.add(c * width));
                    for (sum, left) in sum.iter_mut().zip(&left) {
                        sum[c] = left.fma(right, sum[c]);
                    }
                }
                alpha = alpha.wrapping_add(next_states);
                policy = policy.wrapping_add(next_columns);
            }
            for c in 0..C {
                let weight = has.load_at(from.weights.add(*from.weight_rows.add(c)));
                for (r, sum) in sum.iter().enumerate() {
                    let value = sum[c].times(weight).flush(LEAST_MESSAGE);
                    value.store_at(to.add((c * R + r) * width));
                }
            }
        }
    }

    /// Computes values, message and visits of a tile, as far as they are wanted.
    ///
    /// # Safety
    /// The buffers are those of `Kernels::backward`, checked, and `bbar` that of the tile; the width of `V`
    /// divides that of the panel, which is W unless that is 0.
    #[inline(always)]
    pub(super) unsafe fn backward_tile<V: Lane, const W: usize>(
        &self,
        has: Has<V>,
        tile: Tile,
        given: PassInputs<'_>,
        bbar: &[f64],
        to: Targets,
    ) {
        let wants = (to.values.is_some(), to.message.is_some());
        let panel = tile.panel.of_width::<W>();
        let tile = Tile { panel, ..tile };
        // What later rows give adds to what the first gave.
        let add = to.add || tile.state > 0;
        // [values, message, add]: constants of the loops.
        macro_rules! go {
            ($values:tt, $message:tt, $add:tt) => {
                by_rows!(
                    backward,
                    V,
                    tile.rows,
                    self.backward_rows,
                    [$values, $message, $add],
                    (has, tile, given, bbar, to)
                )
            };
        }
        match (wants, add) {
            ((true, true), false) => go!(true, true, false),
            ((true, true), true) => go!(true, true, true),
            ((true, false), false) => go!(true, false, false),
            ((true, false), true) => go!(true, false, true),
            _ => go!(false, true, false),
        }
    }

    /// Goes back through R rows of bbar, K terms at a time and one by one at the end.
    ///
    /// # Safety
    /// As for `backward_tile`, and the tile has R rows.
    #[inline(always)]
    unsafe fn backward_rows<
        V: Lane,
        const R: usize,
        const K: usize,
        const VALUES: bool,
        const MESSAGE: bool,
        const ADD: bool,
    >(
        &self,
        has: Has<V>,
        tile: Tile,
        given: PassInputs<'_>,
        bbar: &[f64],
        to: Targets,
    ) {
        let (extent, places, width) = (&self.extent, self.places(tile), tile.panel.width);
        let [values, message] = [to.values, to.message].map(|to| to.unwrap_or(null_mut()));
        for lane in (0..width).step_by(V::WIDTH) {
            let mut k = 0;
            while k < extent.terms {
                let alpha = places.alpha + k * extent.states * extent.lanes.row + lane;
                let entry = places.entry + k * self.weight_rows.len() * width + lane;
                let whole = extent.terms - k >= K;
                // SAFETY: rows, columns and lanes are those of the step, whose size the buffers have.
                unsafe {
                    let streams = Streams {
                        width,
                        alpha: given.alpha.as_ptr().add(alpha),
                        policy: given.policy.as_ptr().add(entry),
                        bbar: bbar.as_ptr().add(lane),
                        values: values.wrapping_add(entry),
                        message: message.wrapping_add(alpha),
                    };
                    if whole {
                        self.backward_terms::<V, R, K, VALUES, MESSAGE, ADD>(has, streams);
                    } else {
                        self.backward_terms::<V, R, 1, VALUES, MESSAGE, ADD>(has, streams);
                    }
                    if let Some(visits) = to.visits {
                        self.visit(
                            has,
                            VisitSum {
                                width,
                                row: extent.lanes.row,
                                rows: R,
                                terms: if whole { K } else { 1 },
                                alpha: streams.alpha,
                                weights: given.weights.as_ptr().add(tile.panel.lane + lane),
                                visits: visits
                                    .add(places.cell + k * extent.entering * width + lane),
                                share: to.share,
                                add: ADD,
                            },
                        );
                    }
                }
                k += if whole { K } else { 1 };
            }
        }
    }

    /// Computes what R rows of bbar give to values and message of K terms.
    ///
    /// # Safety
    /// All rows, columns and terms lie within the buffers.
    #[inline(always)]
    unsafe fn backward_terms<
        V: Lane,
        const R: usize,
        const K: usize,
        const VALUES: bool,
        const MESSAGE: bool,
        const ADD: bool,
    >(
        &self,
        has: Has<V>,
        at: Streams,
    ) {
        let (columns, states) = (self.weight_rows.len(), self.extent.states);
        let row = self.extent.lanes.row;
        // SAFETY: R rows, all columns and K terms lie within the buffers, as this function asks; values and
        // message are followed only where VALUES and MESSAGE say that they are there.
        unsafe {
            let zero = has.splat(0.0);
            let mut terms = Terms {
                alpha: [[zero; R]; K],
                message: [[zero; R]; K],
            };
            if VALUES {
                for (k, alpha) in terms.alpha.iter_mut().enumerate() {
                    for (r, alpha) in alpha.iter_mut().enumerate() {
                        *alpha = has.load_at(at.alpha.add((k * states + r) * row));
                    }
                }
            }
            for j in 0..columns {
                terms.column::<VALUES, MESSAGE, ADD>(has, at, j, columns);
            }
            if MESSAGE {
                for (k, message) in terms.message.iter().enumerate() {
                    for (r, message) in message.iter().enumerate() {
                        message.store_at(at.message.add((k * states + r) * row));
                    }
                }
            }
        }
    }
}

/// The numbers that stay in registers on the way back: K terms of R rows.
struct Terms<V, const R: usize, const K: usize> {
    alpha: [[V; R]; K],
    message: [[V; R]; K],
}

impl<V: Lane, const R: usize, const K: usize> Terms<V, R, K> {
    /// Adds what column j gives to the message, and puts its values.
    ///
    /// # Safety
    /// As for `Sums::backward_terms`.
    #[inline(always)]
    unsafe fn column<const VALUES: bool, const MESSAGE: bool, const ADD: bool>(
        &mut self,
        has: Has<V>,
        at: Streams,
        j: usize,
        columns: usize,
    ) {
        // SAFETY: column j of K terms and R rows lies within the buffers, as `backward_terms` asks.
        unsafe {
            let bbar = at.bbar.add(j * R * at.width);
            let mut right = [has.splat(0.0); K];
            let mut sum = [has.splat(0.0); K];
            for k in 0..K {
                let place = (k * columns + j) * at.width;
                if MESSAGE {
                    right[k] = has.load_at(at.policy.add(place));
                }
                if VALUES && ADD {
                    sum[k] = has.load_at(at.values.add(place));
                }
            }
            for r in 0..R {
                let bbar = has.load_at(bbar.add(r * at.width));
                for k in 0..K {
                    if VALUES {
                        sum[k] = self.alpha[k][r].fma(bbar, sum[k]);
                    }
                    if MESSAGE {
                        self.message[k][r] = bbar.fma(right[k], self.message[k][r]);
                    }
                }
            }
            if VALUES {
                for (k, sum) in sum.iter().enumerate() {
                    sum.store_at(at.values.add((k * columns + j) * at.width));
                }
            }
        }
    }
}
