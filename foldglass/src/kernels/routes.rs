//! Carries what a step has computed to where the next one reads it, and back (paper, App. A).
//!
//! Between two steps every number changes its place: the symbol that entered becomes part of a lane,
//! the oldest symbol of the middle leaves next, the state takes its next move. So the numbers of a tile
//! of post, which lie in scratch with their lanes side by side, go to many places of the message, and
//! those of bbar come from there. Four lanes go at once. Where they are side by side in the message too
//! (policies evaluated together), they are vectors of it. Where instead the entering symbols are, vectors
//! over lanes are turned, four by four, into vectors over entering symbols.

use super::sums::{Extent, LEAST_MESSAGE, Tile};
#[cfg(target_arch = "x86_64")]
use super::vector::Avx2;
use super::vector::{Lane, Narrow, Portable};
use std::ops::RangeInclusive;

/// Lanes that go at once.
const QUAD: usize = 4;

/// How many symbols are turned; with more of them lanes go one by one.
const TURNED: RangeInclusive<usize> = QUAD..=8;

/// Where the numbers of post and bbar lie in the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Routes {
    states: usize,
    entering: usize,
    actions: usize,
    lanes: usize,
    /// Lanes filled up to whole quads.
    padded: usize,
    /// Values of the symbol that is drawn on the way, whose weight depends on one that is summed over: 1
    /// where there is none.
    draws: usize,
    /// By symbol drawn, state, entering symbol and lane: where the first action of the first history lies.
    /// There are whole quads of lanes, idle ones as the last in use.
    places: Vec<u32>,
    moves: Moves,
    /// By quad.
    quads: Vec<Quad>,
    /// By state and entering symbol, for those that are turned: the states whose numbers lie behind that of
    /// the state with the first symbol.
    sources: Vec<usize>,
    /// Whether several numbers of post are one of the message, their sum.
    adds: bool,
    /// How many numbers of the message are reached.
    reach: usize,
}

/// How far tokens move a number in the message: an action, and each history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Moves {
    pub action: usize,
    pub histories: Vec<usize>,
}

/// One number of post, but for its action and its history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The symbol drawn on the way.
    pub draw: usize,
    pub state: usize,
    pub entering: usize,
    pub lane: usize,
}

/// How the lanes of a quad lie in the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quad {
    /// Side by side.
    Together,
    /// Apart, but each with its entering symbols side by side.
    Turned,
    Apart,
}

impl Routes {
    /// The routes from a step to the next, where `place` says how its numbers lie.
    ///
    /// # Panics
    /// If a place does not fit into 32 bits.
    pub fn new(
        extent: &Extent,
        draws: usize,
        moves: Moves,
        place: impl Fn(Origin) -> usize,
    ) -> Routes {
        let lanes = extent.lanes.count;
        let padded = lanes.next_multiple_of(QUAD);
        let mut places = Vec::with_capacity(draws * extent.states * extent.entering * padded);
        for draw in 0..draws {
            for state in 0..extent.states {
                for entering in 0..extent.entering {
                    places.extend((0..padded).map(|lane| {
                        let place = place(Origin {
                            draw,
                            state,
                            entering,
                            lane: lane.min(lanes - 1),
                        });
                        u32::try_from(place).expect("a message of less than 2^32 numbers")
                    }));
                }
            }
        }
        let most = places.iter().max().copied().unwrap_or(0) as usize;
        let far = moves.histories.iter().max().copied().unwrap_or(0);
        let mut routes = Routes {
            states: extent.states,
            entering: extent.entering,
            actions: extent.actions,
            lanes,
            padded,
            draws,
            reach: most + (extent.actions - 1) * moves.action + far + 1,
            places,
            moves,
            quads: Vec::new(),
            sources: Vec::new(),
            adds: false,
        };
        routes.adds = draws > 1 || !routes.is_one_to_one();
        routes.sources = routes.find_sources(0).unwrap_or_default();
        routes.quads = (0..lanes.div_ceil(QUAD))
            .map(|quad| routes.quad(quad * QUAD, extent))
            .collect();
        routes
    }

    /// Where the first action of a lane lies, in the history of a tile.
    #[inline(always)]
    fn place(&self, tile: Tile, draw: usize, state: usize, entering: usize, lane: usize) -> usize {
        let row = (draw * self.states + state) * self.entering + entering;
        self.moves.histories[tile.history] + self.places[row * self.padded + lane] as usize
    }

    /// Whether no two lanes, states or symbols share a place.
    fn is_one_to_one(&self) -> bool {
        let mut taken = vec![false; self.reach];
        let mut all = self
            .places
            .chunks(self.padded)
            .flat_map(|row| &row[..self.lanes]);
        all.all(|&place| !std::mem::replace(&mut taken[place as usize], true))
    }

    /// By state and entering symbol, the state whose number lies as many places behind that of the state
    /// with the first symbol, in all lanes of a quad; none if there is no such.
    fn find_sources(&self, lane: usize) -> Option<Vec<usize>> {
        let place = |s: usize, e: usize, lane: usize| {
            self.places[(s * self.entering + e) * self.padded + lane]
        };
        let lanes = || lane..self.lanes.min(lane + QUAD);
        let mut sources = Vec::with_capacity(self.states * self.entering);
        for state in 0..self.states {
            for e in 0..self.entering {
                let follows = |&from: &usize| {
                    lanes().all(|lane| place(from, e, lane) == place(state, 0, lane) + e as u32)
                };
                sources.push((0..self.states).find(follows)?);
            }
        }
        Some(sources)
    }

    /// How the quad that starts at a lane is carried.
    fn quad(&self, lane: usize, extent: &Extent) -> Quad {
        if lane + QUAD > self.lanes {
            return Quad::Apart;
        }
        let rows = self.places.chunks(self.padded);
        let mut rows = rows.map(|row| &row[lane..lane + QUAD]);
        if rows.all(|row| (row[0]..).zip(row).all(|(next, &place)| next == place)) {
            return Quad::Together;
        }
        // Turning needs what it puts side by side to be in one tile.
        let stays = |(n, &from): (usize, &usize)| n / self.entering == from;
        let is_whole = super::panel::tall(extent.states) == extent.states
            || self.sources.iter().enumerate().all(stays);
        let turns = !self.adds && TURNED.contains(&self.entering) && is_whole;
        let alike = || {
            self.find_sources(lane)
                .is_some_and(|found| found == self.sources)
        };
        if turns && alike() {
            Quad::Turned
        } else {
            Quad::Apart
        }
    }

    /// Whether they are those of a step so large.
    #[inline]
    pub fn is_of(&self, extent: &Extent) -> bool {
        let sizes = [
            self.states,
            self.entering,
            self.actions,
            self.lanes,
            self.moves.histories.len(),
        ];
        let [states, entering, actions] = [extent.states, extent.entering, extent.actions];
        sizes
            == [
                states,
                entering,
                actions,
                extent.lanes.count,
                extent.histories,
            ]
    }

    /// Whether several numbers of post are one of the message.
    pub fn adds(&self) -> bool {
        self.adds
    }

    /// The weights of symbols drawn on the way, where there are any: by symbol, entering symbol and lane, zero
    /// on idle ones.
    pub fn weights(&self, weight: impl Fn(Origin) -> f64) -> Vec<f64> {
        let mut weights = vec![0.0; self.weights_size()];
        for (n, row) in weights.chunks_exact_mut(self.padded).enumerate() {
            for (lane, to) in row[..self.lanes].iter_mut().enumerate() {
                *to = weight(Origin {
                    draw: n / self.entering,
                    state: 0,
                    entering: n % self.entering,
                    lane,
                });
            }
        }
        weights
    }

    fn weights_size(&self) -> usize {
        if self.draws > 1 {
            self.draws * self.entering * self.padded
        } else {
            0
        }
    }

    /// Refuses a message that it would leave, or weights that are not one for each symbol drawn, entering
    /// symbol and lane (none where no symbol is drawn).
    #[inline]
    pub fn check(&self, weights: &[f64], message: &[f64]) {
        let (needed, len) = (self.reach, message.len());
        assert!(
            needed <= len,
            "a message of {len} numbers: {needed} are reached"
        );
        let (needed, len) = (self.weights_size(), weights.len());
        assert!(
            needed == len,
            "{len} weights of symbols drawn, not {needed}"
        );
    }
}

#[cfg(test)]
impl Routes {
    pub fn reach(&self) -> usize {
        self.reach
    }

    /// Where a number of post goes for each symbol drawn, and the weight of that.
    pub fn places_of(
        &self,
        history: usize,
        state: usize,
        entering: usize,
        action: usize,
        lane: usize,
        weights: &[f64],
    ) -> Vec<(usize, f64)> {
        let place = |draw: usize| {
            let row = (draw * self.states + state) * self.entering + entering;
            let tokens = self.moves.histories[history] + action * self.moves.action;
            let weight = (draw * self.entering + entering) * self.padded + lane;
            let weight = weights.get(weight).copied().unwrap_or(1.0);
            (
                self.places[row * self.padded + lane] as usize + tokens,
                weight,
            )
        };
        (0..self.draws).map(place).collect()
    }

    /// For each quad, whether its lanes are together (T), turned (t) or apart (A).
    pub fn kinds(&self) -> String {
        let letter = |quad: &Quad| match quad {
            Quad::Together => 'T',
            Quad::Turned => 't',
            Quad::Apart => 'A',
        };
        self.quads.iter().map(letter).collect()
    }
}

/// One or four lanes of a tile.
#[derive(Clone, Copy)]
pub(super) struct Part {
    tile: Tile,
    /// The first of its lanes, in the panel.
    lane: usize,
}

impl Part {
    /// Where a number of it lies in scratch.
    #[inline(always)]
    fn place(&self, routes: &Routes, row: usize, column: usize) -> usize {
        let block = self.tile.block(routes.entering * routes.actions);
        column * block.column + row * block.state + self.lane
    }

    /// The distance between actions in scratch.
    #[inline(always)]
    fn column(&self, routes: &Routes) -> usize {
        self.tile.block(routes.entering * routes.actions).column
    }
}

/// Where the first action of a part lies in the message and in scratch, for one symbol drawn, state and
/// entering symbol.
#[derive(Clone, Copy)]
struct Stop {
    draw: usize,
    entering: usize,
    place: usize,
    seat: usize,
}

/// Where numbers come from that are brought back, and what becomes of them.
#[derive(Clone, Copy)]
pub(crate) struct Returned<'a> {
    pub message: &'a [f64],
    /// Of symbols drawn on the way.
    pub weights: &'a [f64],
    /// Of entering symbols: by symbol and lane, so far apart.
    pub entering: &'a [f64],
    pub row: usize,
    /// Whether they are added to those in scratch.
    pub add: bool,
}

/// The loops that carry parts to the message and back. Each is unsafe to call with a message, weights or
/// scratch that `Routes::check` refuses, with a part of another step, and where the machine has none of
/// their vectors.
#[derive(Clone, Copy)]
pub(super) struct Carriers {
    /// For lanes that are side by side.
    pub together: Carrier,
    /// By the number of symbols, from 4 on, for those that are turned.
    pub turned: [Carrier; 5],
}

/// There and back.
#[derive(Clone, Copy)]
pub(super) struct Carrier {
    pub send: unsafe fn(&Routes, Part, &[f64], *const f64, *mut f64),
    pub bring: unsafe fn(&Routes, Part, Returned<'_>, *mut f64),
}

/// Compiles a carrier.
macro_rules! carrier {
    ($send:ident, $bring:ident, ($($generic:tt),*) $(, $features:literal)?) => {{
        $(#[target_feature(enable = $features)])?
        #[inline(never)]
        unsafe fn send(work: &Routes, part: Part, weights: &[f64], post: *const f64, to: *mut f64) {
            // SAFETY: the caller's, and the features are those of the vectors.
            unsafe { work.$send::<$($generic),*>(part, weights, post, to) }
        }
        $(#[target_feature(enable = $features)])?
        #[inline(never)]
        unsafe fn bring(work: &Routes, part: Part, from: Returned<'_>, bbar: *mut f64) {
            // SAFETY: as above.
            unsafe { work.$bring::<$($generic),*>(part, from, bbar) }
        }
        Carrier { send, bring }
    }};
}

/// Compiles all carriers for vectors of four.
macro_rules! carriers {
    ($v:tt $(, $features:literal)?) => {
        Carriers {
            together: carrier!(send_lanes, bring_lanes, ($v) $(, $features)?),
            turned: carriers!(@ [4 5 6 7 8], $v $(, $features)?),
        }
    };
    (@ [$($q:literal)*], $v:tt, $features:literal) => {
        [$(carrier!(send_turned, bring_turned, ($v, $q), $features)),*]
    };
    (@ [$($q:literal)*], $v:tt) => {
        [$(carrier!(send_turned, bring_turned, ($v, $q))),*]
    };
}

/// For a lane that goes by itself.
const SINGLE: Carrier = carrier!(send_lanes, bring_lanes, (f64));

impl Carriers {
    pub const PORTABLE: Carriers = carriers!(Portable);
    #[cfg(target_arch = "x86_64")]
    pub const AVX2: Carriers = carriers!(Avx2, "avx2,fma");

    /// The one for some lanes.
    #[inline(always)]
    fn of(&self, quad: Quad, routes: &Routes) -> Carrier {
        match quad {
            Quad::Together => self.together,
            Quad::Turned => self.turned[routes.entering - TURNED.start()],
            Quad::Apart => SINGLE,
        }
    }
}

impl Routes {
    /// The lanes of a tile that are carried at once, four or one.
    #[inline(always)]
    fn each_part(&self, tile: Tile, idle: bool, mut work: impl FnMut(Quad, Part)) {
        let at = tile.panel;
        for lane in (0..at.width).step_by(QUAD) {
            match self.quads[(at.lane + lane) / QUAD] {
                Quad::Apart => {
                    let end = if idle { at.width } else { self.lanes - at.lane };
                    (lane..end.min(lane + QUAD))
                        .for_each(|lane| work(Quad::Apart, Part { tile, lane }));
                }
                quad => work(quad, Part { tile, lane }),
            }
        }
    }

    /// Sends post of a tile.
    ///
    /// # Safety
    /// `check` accepts the message and the weights, the tile is one of the step, whose post lies in scratch
    /// as its block says, and the machine has the instructions of the carriers.
    pub(super) unsafe fn send(
        &self,
        carriers: &Carriers,
        tile: Tile,
        weights: &[f64],
        post: &[f64],
        message: *mut f64,
    ) {
        self.each_part(tile, false, |quad, part| {
            let carrier = carriers.of(quad, self);
            // SAFETY: the caller's.
            unsafe { (carrier.send)(self, part, weights, post.as_ptr(), message) }
        });
    }

    /// Brings bbar of a tile to scratch, weighed; idle lanes as some other.
    ///
    /// # Safety
    /// As for `send`; there are weights for all entering symbols and lanes.
    pub(super) unsafe fn bring_back(
        &self,
        carriers: &Carriers,
        tile: Tile,
        from: Returned<'_>,
        bbar: &mut [f64],
    ) {
        self.each_part(tile, true, |quad, part| {
            let carrier = carriers.of(quad, self);
            // SAFETY: the caller's.
            unsafe { (carrier.bring)(self, part, from, bbar.as_mut_ptr()) }
        });
    }

    /// Goes through the symbols drawn, rows and entering symbols of a part.
    #[inline(always)]
    fn walk(&self, at: Part, mut each: impl FnMut(Stop)) {
        let (tile, lane) = (at.tile, at.tile.panel.lane + at.lane);
        let block = tile.block(self.entering * self.actions);
        let history = self.moves.histories[tile.history];
        for draw in 0..self.draws {
            let first = (draw * self.states + tile.state) * self.entering;
            let places = self.places[first * self.padded..].chunks_exact(self.padded);
            let mut places = places.map(|row| history + row[lane] as usize);
            for n in 0..tile.rows {
                for (e, place) in (0..self.entering).zip(&mut places) {
                    each(Stop {
                        draw,
                        entering: e,
                        place,
                        seat: e * self.actions * block.column + n * block.state + at.lane,
                    });
                }
            }
        }
    }

    /// Sends lanes that are side by side in the message, or a single one.
    ///
    /// # Safety
    /// As for `send`.
    #[inline(always)]
    unsafe fn send_lanes<V: Lane>(
        &self,
        at: Part,
        weights: &[f64],
        post: *const f64,
        message: *mut f64,
    ) {
        let (column, action) = (at.column(self), self.moves.action);
        self.walk(at, |stop| {
            // SAFETY: the caller's.
            unsafe {
                let (mut from, mut to) = (post.add(stop.seat), message.add(stop.place));
                let weight = self.mixing::<V>(at, stop, weights);
                for _ in 0..self.actions {
                    let mut value = V::load(from);
                    if let Some(weight) = weight {
                        value = value.times(weight).flush(LEAST_MESSAGE);
                    }
                    put(value, self.adds, to);
                    (from, to) = (from.wrapping_add(column), to.wrapping_add(action));
                }
            }
        });
    }

    /// Brings back lanes that are side by side in the message, or a single one.
    ///
    /// # Safety
    /// As for `bring_back`.
    #[inline(always)]
    unsafe fn bring_lanes<V: Lane>(&self, at: Part, from: Returned<'_>, bbar: *mut f64) {
        let (column, action) = (at.column(self), self.moves.action);
        let lane = at.tile.panel.lane + at.lane;
        self.walk(at, |stop| {
            // SAFETY: the caller's.
            unsafe {
                let (mut to, mut place) =
                    (bbar.add(stop.seat), from.message.as_ptr().add(stop.place));
                let mixing = self.mixing::<V>(at, stop, from.weights);
                let weight = V::load(from.entering.as_ptr().add(stop.entering * from.row + lane));
                for _ in 0..self.actions {
                    let mut value = V::load(place);
                    if let Some(mixing) = mixing {
                        value = value.times(mixing);
                    }
                    let value = value.flush(LEAST_MESSAGE).times(weight);
                    put(value, from.add || stop.draw > 0, to);
                    (to, place) = (to.wrapping_add(column), place.wrapping_add(action));
                }
            }
        });
    }

    /// The weights of a symbol drawn on the way, if one is.
    ///
    /// # Safety
    /// There are such weights if a symbol is drawn, and the machine has the instructions of `V`.
    #[inline(always)]
    unsafe fn mixing<V: Lane>(&self, at: Part, stop: Stop, weights: &[f64]) -> Option<V> {
        let lane = at.tile.panel.lane + at.lane;
        let place = (stop.draw * self.entering + stop.entering) * self.padded + lane;
        // SAFETY: the caller's.
        (self.draws > 1).then(|| unsafe { V::load(weights.as_ptr().add(place)) })
    }

    /// Sends vectors over lanes as vectors over entering symbols, four by four.
    ///
    /// # Safety
    /// As for `send`; the quad is one to be turned, and there are Q entering symbols and actions.
    #[inline(always)]
    unsafe fn send_turned<V: Narrow, const Q: usize>(
        &self,
        at: Part,
        _: &[f64],
        post: *const f64,
        message: *mut f64,
    ) {
        for row in 0..at.tile.rows {
            let Turn { mut places, seats } = self.turn::<Q>(at, row);
            let mut post = post;
            for _ in 0..Q {
                // SAFETY: the caller's.
                unsafe {
                    for e in (0..Q / QUAD * QUAD).step_by(QUAD) {
                        let seats = [seats[e], seats[e + 1], seats[e + 2], seats[e + 3]];
                        let turned = V::turned(seats.map(|seat| V::load(post.add(seat))));
                        for (place, vector) in places.iter().zip(turned) {
                            vector.store(message.add(place + e));
                        }
                    }
                    for e in Q / QUAD * QUAD..Q {
                        for (lane, place) in places.iter().enumerate() {
                            *message.add(place + e) = *post.add(seats[e] + lane);
                        }
                    }
                }
                places = places.map(|place| place + self.moves.action);
                post = post.wrapping_add(at.column(self));
            }
        }
    }

    /// Brings vectors over entering symbols back as vectors over lanes, four by four.
    ///
    /// # Safety
    /// As for `bring_back`, and for `send_turned`.
    #[inline(always)]
    unsafe fn bring_turned<V: Narrow, const Q: usize>(
        &self,
        at: Part,
        from: Returned<'_>,
        bbar: *mut f64,
    ) {
        let (message, lane) = (from.message.as_ptr(), at.tile.panel.lane + at.lane);
        // SAFETY: the caller's.
        let mut weights = [unsafe { V::splat(0.0) }; Q];
        for (e, weight) in weights.iter_mut().enumerate() {
            // SAFETY: the caller's.
            *weight = unsafe { V::load(from.entering.as_ptr().add(e * from.row + lane)) };
        }
        for row in 0..at.tile.rows {
            let Turn { mut places, seats } = self.turn::<Q>(at, row);
            let mut bbar = bbar;
            for _ in 0..Q {
                // The last vectors overlap those before them, whose symbols are done.
                for done in (0..Q).step_by(QUAD) {
                    let first = done.min(Q - QUAD);
                    // SAFETY: the caller's.
                    unsafe {
                        let load = |place| V::load(message.add(place + first));
                        let turned = V::turned(places.map(load));
                        for e in done..Q.min(done + QUAD) {
                            let value = turned[e - first].flush(LEAST_MESSAGE);
                            put(value.times(weights[e]), from.add, bbar.add(seats[e]));
                        }
                    }
                }
                places = places.map(|place| place + self.moves.action);
                bbar = bbar.wrapping_add(at.column(self));
            }
        }
    }

    /// Where the numbers of a row are that are turned.
    #[inline(always)]
    fn turn<const Q: usize>(&self, at: Part, row: usize) -> Turn<Q> {
        let (state, lane) = (at.tile.state + row, at.tile.panel.lane + at.lane);
        let sources = &self.sources[state * Q..][..Q];
        let mut seats = [0; Q];
        for (e, (seat, source)) in seats.iter_mut().zip(sources).enumerate() {
            *seat = at.place(self, source - at.tile.state, e * Q);
        }
        Turn {
            places: [0, 1, 2, 3].map(|i| self.place(at.tile, 0, state, 0, lane + i)),
            seats,
        }
    }
}

/// Where numbers are that are turned: by lane of a quad in the message, and by entering symbol in scratch.
struct Turn<const Q: usize> {
    places: [usize; QUAD],
    seats: [usize; Q],
}

/// Puts or adds a vector.
///
/// # Safety
/// There is room for it at `to`.
#[inline(always)]
unsafe fn put<V: Lane>(value: V, add: bool, to: *mut f64) {
    // SAFETY: the caller's.
    unsafe {
        let sum = if add { value.plus(V::load(to)) } else { value };
        sum.store(to);
    }
}
