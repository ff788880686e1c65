//! Scatters what a step has computed to where the next one reads it, and gathers what comes back (paper, App. A).
//!
//! Four lanes go at once, or eight, between a tile in scratch and the places of `routes`. Where they are contiguous in
//! the message too (policies evaluated together), they are loaded and stored as vectors. Where instead the
//! entering symbols are contiguous, vectors over lanes are transposed, four by four, into vectors over entering
//! symbols. All other lanes go one by one.

use super::routes::{ActionPlace, Origin, QUAD, Quad, Routes, Shift, TRANSPOSED};
use super::sums::{LEAST_MESSAGE, Tile, TileStrides};
#[cfg(target_arch = "x86_64")]
use super::vector::{Avx2, Avx512};
use super::vector::{Has, Lane, Narrow, Portable};
use crate::reward::layout::PANEL;

/// One, four or eight lanes of a tile.
#[derive(Clone, Copy)]
pub(super) struct LanePart {
    pub(super) tile: Tile,
    /// The first of its lanes, in the panel.
    lane: usize,
    /// The distances in scratch between actions, entering symbols and states.
    pub(super) column: usize,
    symbol: usize,
    state: usize,
}

impl LanePart {
    #[inline(always)]
    fn new(routes: &Routes, tile: Tile, lane: usize) -> LanePart {
        let TileStrides { column, state } = tile.block(routes.entering * routes.actions);
        LanePart {
            tile,
            lane,
            column,
            symbol: column * routes.actions,
            state,
        }
    }

    /// The first of its lanes, in the step.
    #[inline(always)]
    pub(super) fn first(&self) -> usize {
        self.tile.panel.lane + self.lane
    }

    /// The place in scratch of the first action of a row and an entering symbol.
    #[inline(always)]
    pub(super) fn offset(&self, row: usize, entering: usize) -> usize {
        entering * self.symbol + row * self.state + self.lane
    }

    /// The numbers of a row and an entering symbol.
    #[inline(always)]
    fn origin(&self, row: usize, entering: usize) -> Origin {
        Origin {
            draw: 0,
            state: self.tile.state + row,
            entering,
            lane: self.first(),
        }
    }
}

/// The message that is gathered, and its use.
#[derive(Clone, Copy)]
pub(crate) struct Returned<'a> {
    pub message: &'a [f64],
    /// The weights of the symbols drawn on the way.
    pub mixing: &'a [f64],
    /// The weights of the entering symbols, in rows of lanes.
    pub weights: &'a [f64],
    /// Whether they are added to those in scratch.
    pub add: bool,
}

/// The loops that scatter parts to the message and gather them from it. Each is unsafe to call with a message or weights that
/// `Routes::check` refuses, with a part of another step, and where the machine has none of their vectors.
#[derive(Clone, Copy)]
pub(super) struct Transfers {
    /// For lanes that are contiguous in the message: four, and eight where the machine has such vectors.
    together: Transfer,
    octet: Option<Transfer>,
    /// By the number of symbols, from 4 on, for those that are transposed.
    transposed: [Transfer; 5],
}

/// The two directions: scatter to the message, gather from it.
#[derive(Clone, Copy)]
struct Transfer {
    scatter: unsafe fn(&Routes, LanePart, &[f64], *const f64, *mut f64),
    gather: unsafe fn(&Routes, LanePart, Returned<'_>, *mut f64),
}

/// Compiles a transfer as a function of its own: inlined into one function, they would need more registers
/// than there are.
macro_rules! transfer {
    ($scatter:ident, $gather:ident, ($($generic:tt),*) $(, $features:literal)?) => {{
        $(#[target_feature(enable = $features)])?
        #[inline(never)]
        unsafe fn scatter(work: &Routes, at: LanePart, mixing: &[f64], post: *const f64, to: *mut f64) {
            // SAFETY: whoever calls a transfer has checked the message, the weights and the machine, as
            // `Transfers` asks; the features enabled here are those of the vectors.
            unsafe { work.$scatter::<$($generic),*>(Has::assume(), at, mixing, post, to) }
        }
        $(#[target_feature(enable = $features)])?
        #[inline(never)]
        unsafe fn gather(work: &Routes, at: LanePart, from: Returned<'_>, bbar: *mut f64) {
            // SAFETY: as for `scatter`: the caller has checked the message, the weights and the machine.
            unsafe { work.$gather::<$($generic),*>(Has::assume(), at, from, bbar) }
        }
        Transfer { scatter, gather }
    }};
}

/// Compiles all transfers for vectors of four.
macro_rules! transfers {
    ($v:tt $(, $features:literal)?) => {
        Transfers {
            together: transfer!(scatter_lanes, gather_lanes, ($v) $(, $features)?),
            octet: None,
            transposed: transfers!(@ [4 5 6 7 8], $v $(, $features)?),
        }
    };
    (@ [$($q:literal)*], $v:tt, $features:literal) => {
        [$(transfer!(scatter_transposed, gather_transposed, ($v, $q), $features)),*]
    };
    (@ [$($q:literal)*], $v:tt) => {
        [$(transfer!(scatter_transposed, gather_transposed, ($v, $q))),*]
    };
}

/// For a lane that goes by itself.
const SINGLE: Transfer = transfer!(scatter_lanes, gather_lanes, (f64));

impl Transfers {
    pub const PORTABLE: Transfers = transfers!(Portable);
    #[cfg(target_arch = "x86_64")]
    pub const AVX2: Transfers = transfers!(Avx2, "avx2,fma");
    #[cfg(target_arch = "x86_64")]
    pub const AVX512: Transfers = Transfers {
        octet: Some(transfer!(
            scatter_octet,
            gather_octet,
            (Avx512),
            "avx512f,avx512vl,avx2,fma"
        )),
        ..Transfers::AVX2
    };

    /// The one for some lanes, and how many it moves: one that moves one is to be used for each.
    #[inline(always)]
    fn of(&self, quad: Quad, routes: &Routes) -> (Transfer, usize) {
        match (quad, self.octet) {
            (Quad::Octet, Some(octet)) => (octet, PANEL),
            (Quad::Octet | Quad::Contiguous, _) => (self.together, QUAD),
            (Quad::Transposed, _) => (self.transposed[routes.entering - TRANSPOSED.start()], QUAD),
            (Quad::Single, _) => (SINGLE, 1),
        }
    }
}

impl Routes {
    /// Goes through the lanes of a tile that are moved at once, eight, four or one.
    #[inline(always)]
    fn each_part(
        &self,
        transfers: &Transfers,
        tile: Tile,
        idle: bool,
        mut work: impl FnMut(Transfer, LanePart),
    ) {
        let at = tile.panel;
        let mut lane = 0;
        while lane < at.width {
            let (transfer, moved) = transfers.of(self.quads[(at.lane + lane) / QUAD], self);
            if moved == 1 {
                let used = self.lanes.count - at.lane;
                let end = if idle { at.width } else { used };
                for lane in lane..end.min(lane + QUAD) {
                    work(transfer, LanePart::new(self, tile, lane));
                }
            } else {
                work(transfer, LanePart::new(self, tile, lane));
            }
            lane += moved.max(QUAD);
        }
    }

    /// Scatters post of a tile to the message.
    ///
    /// # Safety
    /// `check` accepts the message and the weights, the tile is one of the step, whose post lies in scratch
    /// as its block says, and the machine has the instructions of the transfers.
    #[inline(always)]
    pub(super) unsafe fn scatter(
        &self,
        transfers: &Transfers,
        tile: Tile,
        mixing: &[f64],
        post: &[f64],
        message: *mut f64,
    ) {
        self.each_part(transfers, tile, false, |transfer, part| {
            // SAFETY: the message, the weights and the transfers are as `scatter` asks; the part is of the tile.
            unsafe { (transfer.scatter)(self, part, mixing, post.as_ptr(), message) }
        });
    }

    /// Gathers bbar of a tile into scratch, weighted; an idle lane becomes a copy of the last one in use.
    ///
    /// # Safety
    /// As for `scatter`; there are weights for all entering symbols and lanes.
    #[inline(always)]
    pub(super) unsafe fn gather(
        &self,
        transfers: &Transfers,
        tile: Tile,
        from: Returned<'_>,
        bbar: &mut [f64],
    ) {
        self.each_part(transfers, tile, true, |transfer, part| {
            // SAFETY: the message, the weights and the transfers are as `gather` asks; the part is of
            // the tile.
            unsafe { (transfer.gather)(self, part, from, bbar.as_mut_ptr()) }
        });
    }

    /// Goes through the symbols drawn, rows and entering symbols of a part.
    #[inline(always)]
    fn each_stop(&self, at: LanePart, mut work: impl FnMut(ActionTargets)) {
        let (lane, shift) = (at.first(), self.shift(at.tile.history));
        for draw in 0..self.draws {
            let mut places = self.rows(draw, at.tile.state);
            for row in 0..at.tile.rows {
                for (entering, places) in (0..self.entering).zip(&mut places) {
                    work(ActionTargets {
                        draw,
                        entering,
                        place: shift.of(places[lane]),
                        offset: at.offset(row, entering),
                    });
                }
            }
        }
    }

    /// Scatters lanes that are contiguous in the message, or a single one.
    ///
    /// # Safety
    /// As for `scatter`.
    #[inline(always)]
    unsafe fn scatter_lanes<V: Lane>(
        &self,
        has: Has<V>,
        at: LanePart,
        mixing: &[f64],
        post: *const f64,
        message: *mut f64,
    ) {
        let column = at.column;
        self.each_stop(at, |stop| {
            let ActionTargets { place, offset, .. } = stop;
            // SAFETY: `check` has seen that every place of a step and all its actions lie in the message, and
            // a offset with its actions lies in the tile's block of scratch.
            unsafe {
                let weight = self.mixing(has, at, stop, mixing);
                let (mut post, mut to) = (post.add(offset), message.add(place.first));
                for _ in 0..self.actions {
                    let mut value = has.load_at(post);
                    if let Some(weight) = weight {
                        value = value.times(weight).flush(LEAST_MESSAGE);
                    }
                    put(value, self.adds, to);
                    (post, to) = (post.wrapping_add(column), to.wrapping_add(place.action));
                }
            }
        });
    }

    /// Gathers lanes that are contiguous in the message, or a single one.
    ///
    /// # Safety
    /// As for `gather`.
    #[inline(always)]
    unsafe fn gather_lanes<V: Lane>(
        &self,
        has: Has<V>,
        at: LanePart,
        back: Returned<'_>,
        bbar: *mut f64,
    ) {
        let column = at.column;
        let weight = |entering| self.lanes.place(self.entering, entering, at.first());
        let (first, step) = (weight(0), weight(1) - weight(0));
        self.each_stop(at, |stop| {
            let ActionTargets { place, offset, .. } = stop;
            // SAFETY: as in `scatter_lanes`, and there are weights for every entering symbol and lane.
            unsafe {
                let weight = has.load_at(back.weights.as_ptr().add(first + stop.entering * step));
                let mixing = self.mixing(has, at, stop, back.mixing);
                let mut message = back.message.as_ptr().add(place.first);
                let mut to = bbar.add(offset);
                for _ in 0..self.actions {
                    let mut value = has.load_at(message);
                    if let Some(mixing) = mixing {
                        value = value.times(mixing);
                    }
                    let value = value.flush(LEAST_MESSAGE).times(weight);
                    put(value, back.add || stop.draw > 0, to);
                    (message, to) = (message.wrapping_add(place.action), to.wrapping_add(column));
                }
            }
        });
    }

    /// The weights of a symbol drawn on the way, if one is.
    #[inline(always)]
    fn mixing<V: Lane>(
        &self,
        has: Has<V>,
        at: LanePart,
        stop: ActionTargets,
        weights: &[f64],
    ) -> Option<V> {
        let place = (stop.draw * self.entering + stop.entering) * self.padded + at.first();
        (self.draws > 1).then(|| has.load(&weights[place..]))
    }

    /// Scatters vectors over lanes as vectors over entering symbols: four by four transposed, the rest one by one.
    ///
    /// # Safety
    /// As for `scatter`; the quad is one to be transposed, and there are Q entering symbols and actions.
    #[inline(always)]
    unsafe fn scatter_transposed<V: Narrow, const Q: usize>(
        &self,
        has: Has<V>,
        at: LanePart,
        _: &[f64],
        post: *const f64,
        message: *mut f64,
    ) {
        let (column, shift) = (at.column, self.shift(at.tile.history));
        let action = shift.in_rows.action;
        for row in 0..at.tile.rows {
            for e in (0..Q - Q % QUAD).step_by(QUAD) {
                let Square {
                    mut offsets,
                    mut places,
                } = self.square(at, shift, row, e);
                for _ in 0..Q {
                    // SAFETY: a quad that is transposed has its four entering symbols contiguous in the message,
                    // at places that `check` has seen; offsets lie in the tile's block of scratch.
                    unsafe {
                        let [a, b, c, d] = offsets;
                        let load = |offset| has.load_at(post.add(offset));
                        let transposed = V::transposed([load(a), load(b), load(c), load(d)]);
                        for (place, vector) in places.iter().zip(transposed) {
                            vector.store_at(message.add(*place));
                        }
                    }
                    move_on(&mut places, action);
                    move_on(&mut offsets, column);
                }
            }
            for e in Q - Q % QUAD..Q {
                let offset = at.offset(row, e);
                let firsts = self.firsts(at.origin(row, e));
                for (lane, first) in firsts.into_iter().enumerate() {
                    let place = shift.of(first);
                    for n in 0..Q {
                        // SAFETY: the places of single lanes were seen by `check`, the offsets are the tile's.
                        unsafe {
                            let to = message.add(place.first + n * place.action);
                            *to = *post.add(offset + lane + n * column);
                        }
                    }
                }
            }
        }
    }

    /// Gathers vectors over entering symbols as vectors over lanes: four by four transposed, the rest one by
    /// one.
    ///
    /// # Safety
    /// As for `gather`, and for `scatter_transposed`.
    #[inline(always)]
    unsafe fn gather_transposed<V: Narrow, const Q: usize>(
        &self,
        has: Has<V>,
        at: LanePart,
        back: Returned<'_>,
        bbar: *mut f64,
    ) {
        let (message, column) = (back.message.as_ptr(), at.column);
        let shift = self.shift(at.tile.history);
        let action = shift.in_rows.action;
        // SAFETY: there are weights for every entering symbol and lane, and a quad of lanes lies in a row.
        let weight = |e: usize| unsafe {
            let place = e * self.lanes.row + at.first();
            has.load_at(back.weights.as_ptr().add(place))
        };
        for row in 0..at.tile.rows {
            for e in (0..Q - Q % QUAD).step_by(QUAD) {
                let weights = [weight(e), weight(e + 1), weight(e + 2), weight(e + 3)];
                let Square {
                    mut offsets,
                    mut places,
                } = self.square(at, shift, row, e);
                for _ in 0..Q {
                    // SAFETY: as in `scatter_transposed`.
                    unsafe {
                        let [a, b, c, d] = places;
                        let load = |place| has.load_at(message.add(place));
                        let transposed = V::transposed([load(a), load(b), load(c), load(d)]);
                        for ((offset, vector), weight) in
                            offsets.iter().zip(transposed).zip(weights)
                        {
                            let value = vector.flush(LEAST_MESSAGE).times(weight);
                            put(value, back.add, bbar.add(*offset));
                        }
                    }
                    move_on(&mut places, action);
                    move_on(&mut offsets, column);
                }
            }
            for e in Q - Q % QUAD..Q {
                let (weight, offset) = (weight(e), at.offset(row, e));
                let [a, b, c, d] = self.firsts(at.origin(row, e));
                let [a, b, c, d] = [shift.of(a), shift.of(b), shift.of(c), shift.of(d)];
                for n in 0..Q {
                    // SAFETY: as in `scatter_transposed`, lane by lane.
                    unsafe {
                        let from =
                            |place: ActionPlace| *message.add(place.first + n * place.action);
                        let value = V::of(has, [from(a), from(b), from(c), from(d)]);
                        let value = value.flush(LEAST_MESSAGE).times(weight);
                        put(value, back.add, bbar.add(offset + n * column));
                    }
                }
            }
        }
    }

    /// The places of four entering symbols of a row that are transposed, from one on.
    #[inline(always)]
    fn square(&self, at: LanePart, shift: Shift, row: usize, entering: usize) -> Square {
        let from = at.origin(row, 0);
        let sources = &self.sources[from.state * self.entering + entering..][..QUAD];
        let offset = |i: usize| at.offset(sources[i] - at.tile.state, entering + i);
        let place = |first: u32| first as usize + shift.in_rows.first + entering;
        let [a, b, c, d] = self.firsts(from);
        Square {
            offsets: [offset(0), offset(1), offset(2), offset(3)],
            places: [place(a), place(b), place(c), place(d)],
        }
    }
}

/// The places of all actions of a part for one symbol drawn, state and entering symbol.
#[derive(Clone, Copy)]
struct ActionTargets {
    draw: usize,
    entering: usize,
    place: ActionPlace,
    /// In scratch.
    offset: usize,
}

/// Four entering symbols by four lanes: where the first actions of the symbols lie in scratch, and of the
/// lanes in the message.
struct Square {
    offsets: [usize; QUAD],
    places: [usize; QUAD],
}

/// Moves four places by as much.
#[inline(always)]
fn move_on(places: &mut [usize; QUAD], far: usize) {
    for place in places {
        *place += far;
    }
}

/// Puts or adds a vector.
///
/// # Safety
/// There is room for it at `to`.
#[inline(always)]
pub(super) unsafe fn put<V: Lane>(value: V, add: bool, to: *mut f64) {
    // SAFETY: there is room for one vector at `to`, as this function asks.
    unsafe {
        let sum = if add {
            value.plus(value.has().load_at(to))
        } else {
            value
        };
        sum.store_at(to);
    }
}
