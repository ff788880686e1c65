//! Carries what a step has computed to where the next one reads it, and back (paper, App. A).
//!
//! Between two steps every number changes its place: the symbol that entered becomes part of a lane,
//! the oldest symbol of the middle leaves next, the state takes its next move. A list of pieces says
//! where they go. Within a piece, numbers lie in rows and columns of short runs; the rows of a piece
//! are side by side in the message and anywhere in post.

use super::sums::LEAST_MESSAGE;
use super::vector::{Lane, Narrow};
use rayon::prelude::*;
use std::ops::Range;

/// The columns of every piece: how many, and how far apart in post and in the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Columns {
    pub count: usize,
    pub post: usize,
    pub message: usize,
}

/// Where a piece starts in the message, and whether it is the first to reach its place there, or its
/// rows in post: others add to what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    pub message: usize,
    pub first_in_message: bool,
    pub first_in_post: bool,
}

/// All pieces of a step, and what lies within each: run number i of row r and column c is at
/// `post_rows[r] + c * columns.post + i` in post and at
/// `message + c * columns.message + r * run + i` in the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Routes {
    pieces: Vec<Piece>,
    /// For each piece in turn, where its rows start in post.
    post_rows: Vec<usize>,
    rows: usize,
    columns: Columns,
    /// Numbers side by side in both.
    run: usize,
    reach: Reach,
    /// Whether pieces may go on several threads.
    is_wide: bool,
}

/// Numbers of a message from which on its pieces go on several threads: ten microseconds of work or more.
const WIDE: usize = 1 << 15;

/// The most parts that pieces are dealt into.
const MOST_PARTS: usize = 64;

/// How many numbers of post and of the message are reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Reach {
    post: usize,
    message: usize,
}

/// Turns all pieces, the number of their rows known to the compiler.
macro_rules! turned {
    ($self:ident . $turn:ident, $v:ty, $pieces:expr, $from:expr, $to:expr) => {
        match $self.rows {
            4 => $self.$turn::<$v, 4>($pieces, $from, $to),
            5 => $self.$turn::<$v, 5>($pieces, $from, $to),
            6 => $self.$turn::<$v, 6>($pieces, $from, $to),
            7 => $self.$turn::<$v, 7>($pieces, $from, $to),
            _ => $self.$turn::<$v, 8>($pieces, $from, $to),
        }
    };
}

impl Routes {
    /// # Panics
    /// If there is no piece, or not the same number of rows for each.
    pub fn new(pieces: Vec<Piece>, post_rows: Vec<usize>, columns: Columns, run: usize) -> Routes {
        let rows = post_rows.len() / pieces.len();
        assert_eq!(rows * pieces.len(), post_rows.len(), "rows for each piece");
        let most = |places: &mut dyn Iterator<Item = usize>| places.max().expect("a piece");
        let last = columns.count - 1;
        let reach = Reach {
            post: most(&mut post_rows.iter().copied()) + last * columns.post + run,
            message: most(&mut pieces.iter().map(|piece| piece.message))
                + last * columns.message
                + rows * run,
        };
        let lone = |piece: &Piece| piece.first_in_message && piece.first_in_post;
        Routes {
            is_wide: reach.message >= WIDE && pieces.iter().all(lone),
            pieces,
            post_rows,
            rows,
            columns,
            run,
            reach,
        }
    }

    /// Refuses buffers that it would leave, or weights that are not one a piece (or none at all).
    pub fn check(&self, weights: &[f64], post: &[f64], message: &[f64]) {
        assert!(
            self.reach.post <= post.len() && self.reach.message <= message.len(),
            "{:?} leaves buffers of {} and {} entries",
            self.reach,
            post.len(),
            message.len()
        );
        assert!(
            weights.is_empty() || weights.len() == self.pieces.len(),
            "{} weights of {} pieces",
            weights.len(),
            self.pieces.len()
        );
    }

    /// Does all pieces, some at a time; on several threads if they are worth it and there are any, and no
    /// two pieces share a place.
    #[inline(always)]
    pub(super) fn each_part(&self, work: impl Fn(Range<usize>) + Send + Sync) {
        let all = self.pieces.len();
        if !self.is_wide || super::threads() == 1 {
            return work(0..all);
        }
        let part = all.div_ceil(MOST_PARTS);
        let starts = (0..all).into_par_iter().step_by(part);
        starts.for_each(|start| work(start..all.min(start + part)));
    }

    /// Each of some pieces with its rows and its weight.
    #[inline(always)]
    fn weighed<'a>(
        &'a self,
        pieces: Range<usize>,
        weights: &'a [f64],
    ) -> impl Iterator<Item = (Piece, &'a [usize], f64)> {
        let weights = weights.iter().skip(pieces.start).copied();
        let weights = weights.chain(std::iter::repeat(1.0));
        let rows = &self.post_rows[pieces.start * self.rows..pieces.end * self.rows];
        let pieces = self.pieces[pieces].iter().zip(rows.chunks_exact(self.rows));
        pieces
            .zip(weights)
            .map(|((&piece, rows), weight)| (piece, rows, weight))
    }

    /// Whether columns lie side by side in post, and rows in the message, enough of them for vectors.
    fn turns(&self) -> bool {
        let side_by_side = self.run == 1 && self.columns.post == 1;
        side_by_side && (4..=8).contains(&self.rows) && self.columns.count >= 4
    }

    /// Makes the message of post; pieces are weighed where weights are given.
    ///
    /// # Safety
    /// `check` accepts the buffers, and the machine has the instructions of `V`.
    #[inline(always)]
    pub unsafe fn send<V: Narrow>(
        &self,
        pieces: Range<usize>,
        weights: &[f64],
        post: &[f64],
        message: *mut f64,
    ) {
        let Columns {
            count,
            post: column,
            message: far,
        } = self.columns;
        if self.turns() && weights.is_empty() {
            // SAFETY: the caller's.
            return unsafe { turned!(self.send_turned, V, pieces, post.as_ptr(), message) };
        }
        if weights.is_empty() && self.rows == 1 && count == 1 {
            for (piece, rows, _) in self.weighed(pieces, weights) {
                // SAFETY: all numbers of all pieces are within the reach.
                unsafe {
                    let to = message.add(piece.message);
                    move_run::<V>(
                        self.run,
                        !piece.first_in_message,
                        post.as_ptr().add(rows[0]),
                        to,
                    );
                }
            }
            return;
        }
        for (piece, rows, weight) in self.weighed(pieces, weights) {
            let add = !piece.first_in_message;
            // SAFETY: all numbers of all pieces are within the reach.
            unsafe {
                let from = post.as_ptr();
                let to = message.add(piece.message);
                for (r, &row) in rows.iter().enumerate() {
                    for c in 0..count {
                        let from = from.add(row + c * column);
                        let to = to.add(c * far + r * self.run);
                        put_run::<V>(self.run, weight, add, from, to);
                    }
                }
            }
        }
    }

    /// Makes bbar of the message returned, or adds to it.
    ///
    /// # Safety
    /// As for `send`.
    #[inline(always)]
    pub unsafe fn bring_back<V: Narrow>(
        &self,
        pieces: Range<usize>,
        weights: &[f64],
        add: bool,
        message: &[f64],
        bbar: *mut f64,
    ) {
        let Columns {
            count,
            post: column,
            message: far,
        } = self.columns;
        if self.turns() && weights.is_empty() && !add {
            let from = message.as_ptr();
            // SAFETY: the caller's.
            return unsafe { turned!(self.bring_back_turned, V, pieces, from, bbar) };
        }
        if weights.is_empty() && self.rows == 1 && count == 1 {
            for (piece, rows, _) in self.weighed(pieces, weights) {
                let add = add || !piece.first_in_post;
                // SAFETY: as in `send`.
                unsafe {
                    let from = message.as_ptr().add(piece.message);
                    move_run::<V>(self.run, add, from, bbar.add(rows[0]));
                }
            }
            return;
        }
        for (piece, rows, weight) in self.weighed(pieces, weights) {
            let add = add || !piece.first_in_post;
            // SAFETY: as in `send`.
            unsafe {
                let from = message.as_ptr().add(piece.message);
                let to = bbar;
                for (r, &row) in rows.iter().enumerate() {
                    for c in 0..count {
                        let from = from.add(c * far + r * self.run);
                        put_run::<V>(self.run, weight, add, from, to.add(row + c * column));
                    }
                }
            }
        }
    }
}

/// Puts or adds a run; what is below the least of a message becomes zero.
///
/// # Safety
/// As for `put_run`.
#[inline(always)]
unsafe fn move_run<V: Lane>(run: usize, add: bool, from: *const f64, to: *mut f64) {
    // SAFETY: the caller's.
    unsafe {
        let mut i = 0;
        while i + V::WIDTH <= run {
            let value = V::load(from.add(i)).flush(LEAST_MESSAGE);
            let sum = if add {
                value.plus(V::load(to.add(i)))
            } else {
                value
            };
            sum.store(to.add(i));
            i += V::WIDTH;
        }
        for i in i..run {
            let value = (*from.add(i)).flush(LEAST_MESSAGE);
            *to.add(i) = if add { value + *to.add(i) } else { value };
        }
    }
}

/// Puts or adds a run, weighed; what is below the least of a message becomes zero.
///
/// # Safety
/// The run lies within both buffers, and the machine has the instructions of `V`.
#[inline(always)]
unsafe fn put_run<V: Lane>(run: usize, weight: f64, add: bool, from: *const f64, to: *mut f64) {
    // SAFETY: the caller's.
    unsafe {
        let mut i = 0;
        while i + V::WIDTH <= run {
            put(V::load(from.add(i)), weight, add, to.add(i));
            i += V::WIDTH;
        }
        for i in i..run {
            put(*from.add(i), weight, add, to.add(i));
        }
    }
}

/// # Safety
/// There is room for the vector at `to`.
#[inline(always)]
unsafe fn put<V: Lane>(value: V, weight: f64, add: bool, to: *mut f64) {
    // SAFETY: the caller's.
    unsafe {
        let value = value.times(value.like(weight)).flush(LEAST_MESSAGE);
        let sum = if add { value.plus(V::load(to)) } else { value };
        sum.store(to);
    }
}

impl Routes {
    /// Reads rows of post and writes them as columns of the message, four by four.
    ///
    /// # Safety
    /// The buffers have the reach, pieces have R rows, and the machine has the instructions of `V`.
    #[inline(always)]
    unsafe fn send_turned<V: Narrow, const R: usize>(
        &self,
        pieces: Range<usize>,
        post: *const f64,
        message: *mut f64,
    ) {
        let Columns {
            count,
            message: far,
            ..
        } = self.columns;
        let (all_rows, _) = self.post_rows.as_chunks::<R>();
        let all_rows = &all_rows[pieces.clone()];
        for (piece, rows) in self.pieces[pieces].iter().zip(all_rows) {
            // SAFETY: the caller's.
            unsafe {
                let to = message.add(piece.message);
                let mut c = 0;
                while c + 4 <= count {
                    for n in 0..R / 4 {
                        let mut vectors = [V::splat(0.0); 4];
                        for (i, vector) in vectors.iter_mut().enumerate() {
                            *vector = V::load(post.add(rows[4 * n + i] + c));
                        }
                        for (i, vector) in V::turned(vectors).iter().enumerate() {
                            vector.store(to.add((c + i) * far + 4 * n));
                        }
                    }
                    for (r, &row) in rows.iter().enumerate().skip(R / 4 * 4) {
                        for i in c..c + 4 {
                            *to.add(i * far + r) = *post.add(row + i);
                        }
                    }
                    c += 4;
                }
                for c in c..count {
                    for (r, &row) in rows.iter().enumerate() {
                        *to.add(c * far + r) = *post.add(row + c);
                    }
                }
            }
        }
    }

    /// Reads columns of the message and writes them as rows of bbar, four by four.
    ///
    /// # Safety
    /// As for `send_turned`.
    #[inline(always)]
    unsafe fn bring_back_turned<V: Narrow, const R: usize>(
        &self,
        pieces: Range<usize>,
        message: *const f64,
        bbar: *mut f64,
    ) {
        let Columns {
            count,
            message: far,
            ..
        } = self.columns;
        let (all_rows, _) = self.post_rows.as_chunks::<R>();
        let all_rows = &all_rows[pieces.clone()];
        for (piece, rows) in self.pieces[pieces].iter().zip(all_rows) {
            // SAFETY: the caller's.
            unsafe {
                let from = message.add(piece.message);
                let mut c = 0;
                while c + 4 <= count {
                    for n in 0..R / 4 {
                        let mut vectors = [V::splat(0.0); 4];
                        for (i, vector) in vectors.iter_mut().enumerate() {
                            let place = from.add((c + i) * far + 4 * n);
                            *vector = V::load(place).flush(LEAST_MESSAGE);
                        }
                        for (i, vector) in V::turned(vectors).iter().enumerate() {
                            vector.store(bbar.add(rows[4 * n + i] + c));
                        }
                    }
                    for (r, &row) in rows.iter().enumerate().skip(R / 4 * 4) {
                        for i in c..c + 4 {
                            *bbar.add(row + i) = (*from.add(i * far + r)).flush(LEAST_MESSAGE);
                        }
                    }
                    c += 4;
                }
                for c in c..count {
                    for (r, &row) in rows.iter().enumerate() {
                        *bbar.add(row + c) = (*from.add(c * far + r)).flush(LEAST_MESSAGE);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
