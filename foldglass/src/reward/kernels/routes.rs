//! Says where what a step has computed lies in the message to the next one (paper, App. A).
//!
//! Between two steps every number changes its place: the symbol that entered becomes part of a lane,
//! the oldest symbol of the middle leaves next, the state takes its next move. So the numbers of a tile
//! of post, which lie in scratch with their lanes side by side, go to many places of the message, and
//! those of bbar come from there; `scatter` moves them.

use super::sums::Extent;
use crate::reward::layout::Lanes;
use std::ops::RangeInclusive;

/// Lanes that go at once.
pub(super) const QUAD: usize = 4;

/// The numbers of symbols for which lanes are transposed; with more symbols they go one by one.
pub(super) const TRANSPOSED: RangeInclusive<usize> = QUAD..=8;

/// The places of the numbers of post and bbar in the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Routes {
    pub(super) states: usize,
    pub(super) entering: usize,
    pub(super) actions: usize,
    pub(super) lanes: Lanes,
    /// Lanes filled up to whole quads.
    pub(super) padded: usize,
    /// Values of the symbol that is drawn on the way, whose weight depends on one that is summed over: 1
    /// where there is none.
    pub(super) draws: usize,
    /// By symbol drawn, state, entering symbol and lane: where the first action of the first history lies;
    /// idle lanes as the last in use.
    pub(super) places: Vec<u32>,
    moves: Moves,
    /// The stride between rows of the message, and where the lone lane begins, which lies behind the rows.
    row: usize,
    lone: usize,
    /// By quad.
    pub(super) quads: Vec<Quad>,
    /// By state and entering symbol, for quads that are transposed: sources\[s\]\[e\] = s' with place(s', e) = place(s, 0) + e
    /// in every lane of the quad.
    pub(super) sources: Vec<usize>,
    /// For panels that quads of the kind `Octet` begin, by panel, state, entering symbol and action: where the first lane
    /// lies in the first history, and by how many rows of lanes the weights of the symbol do.
    pub(super) octets: Vec<(u32, u32)>,
    /// Whether several numbers of post are one of the message, their sum.
    pub(super) adds: bool,
    /// How many numbers of the message are reached.
    reach: usize,
}

/// How many rows of the message tokens move a number: an action, and each history.
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

/// The place of a number in the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Landing {
    pub row: usize,
    pub lane: usize,
}

/// How the lanes of a quad lie in the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quad {
    /// Contiguous.
    Contiguous,
    /// The first of two in a panel that are contiguous together: moved by vectors of eight, where the machine has them,
    /// as `octets` says.
    Octet,
    /// Strided, but each with its entering symbols contiguous: transposed four by four. One by one they would take
    /// 1.16 to 1.5 times as long in an evaluation of the paper's 5 x 5 square on windows (1,1), (2,1) and (0,3).
    Transposed,
    Single,
}

/// The place of the first action of a number, and the distance to the next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ActionPlace {
    pub first: usize,
    pub action: usize,
}

/// How far a history moves numbers, and from there an action: those in rows, and that of the lane behind
/// them.
#[derive(Clone, Copy)]
pub(super) struct Shift {
    lone: usize,
    pub in_rows: ActionPlace,
    alone: ActionPlace,
}

impl Shift {
    /// The place of a number from its place in the first history.
    #[inline(always)]
    pub fn of(&self, first: u32) -> ActionPlace {
        let first = first as usize;
        let moved = if first < self.lone {
            self.in_rows
        } else {
            self.alone
        };
        ActionPlace {
            first: first + moved.first,
            ..moved
        }
    }
}

impl Routes {
    /// The routes from a step to the next, where `landing` says how its numbers lie.
    ///
    /// # Panics
    /// If they do not lie in the message of the next step, or that has 2^32 numbers or more.
    pub fn new(
        (extent, next): (&Extent, &Extent),
        draws: usize,
        moves: Moves,
        landing: impl Fn(Origin) -> Landing,
    ) -> Routes {
        let lanes = extent.lanes.clone();
        let padded = lanes.count.next_multiple_of(QUAD);
        let all = draws * extent.states * extent.entering;
        let mut places = Vec::with_capacity(all * padded);
        let far = moves.histories.iter().max().copied().unwrap_or(0);
        let moved = (extent.actions - 1) * moves.action + far;
        for n in 0..all {
            for lane in 0..padded {
                let to = landing(Origin {
                    draw: n / extent.entering / extent.states,
                    state: n / extent.entering % extent.states,
                    entering: n % extent.entering,
                    lane: lane.min(lanes.count - 1),
                });
                assert!(
                    to.row + moved < next.rows() && to.lane < next.lanes.count,
                    "{to:?} and {moved} rows on, in {next:?}"
                );
                let place = next.lanes.place(next.rows(), to.row, to.lane);
                places.push(u32::try_from(place).expect("a message of less than 2^32 numbers"));
            }
        }
        let mut routes = Routes {
            states: extent.states,
            entering: extent.entering,
            actions: extent.actions,
            lanes,
            padded,
            draws,
            places,
            moves,
            row: next.lanes.row,
            lone: next.rows() * next.lanes.row,
            quads: Vec::new(),
            sources: Vec::new(),
            octets: Vec::new(),
            adds: false,
            reach: next.alpha(),
        };
        routes.adds = draws > 1 || !routes.is_one_to_one();
        routes.sources = routes.find_sources(0).unwrap_or_default();
        let quads = (0..padded).step_by(QUAD).map(|lane| routes.quad(lane));
        routes.quads = quads.collect();
        routes.find_octets();
        routes
    }

    /// The place of the first history of a number.
    #[inline(always)]
    fn first(&self, from: Origin) -> usize {
        let row = (from.draw * self.states + from.state) * self.entering + from.entering;
        self.places[row * self.padded + from.lane] as usize
    }

    /// How a history moves numbers.
    #[inline(always)]
    pub(super) fn shift(&self, history: usize) -> Shift {
        let (rows, action) = (self.moves.histories[history], self.moves.action);
        Shift {
            lone: self.lone,
            in_rows: ActionPlace {
                first: rows * self.row,
                action: action * self.row,
            },
            alone: ActionPlace {
                first: rows,
                action,
            },
        }
    }

    /// For one symbol drawn, by state from one on and entering symbol, where the lanes lie in the first history.
    #[inline(always)]
    pub(super) fn rows(&self, draw: usize, state: usize) -> impl Iterator<Item = &[u32]> {
        let first = (draw * self.states + state) * self.entering;
        self.places[first * self.padded..].chunks_exact(self.padded)
    }

    /// The places of the first history of a quad.
    #[inline(always)]
    pub(super) fn firsts(&self, from: Origin) -> [u32; QUAD] {
        let row = (from.draw * self.states + from.state) * self.entering + from.entering;
        let quad = &self.places[row * self.padded + from.lane..][..QUAD];
        [quad[0], quad[1], quad[2], quad[3]]
    }

    /// Whether no two numbers of post share a place of the message: every lane, state, symbol, history and
    /// action is tried.
    fn is_one_to_one(&self) -> bool {
        let mut taken = vec![false; self.reach];
        let mut take = |place: usize| !std::mem::replace(&mut taken[place], true);
        (0..self.moves.histories.len()).all(|history| {
            let shift = self.shift(history);
            let rows = self.places.chunks(self.padded);
            let mut firsts = rows.flat_map(|row| &row[..self.lanes.count]);
            firsts.all(|&first| {
                let place = shift.of(first);
                (0..self.actions).all(|action| take(place.first + action * place.action))
            })
        })
    }

    /// By state and entering symbol, the state whose number lies as many places behind that of the state
    /// with the first symbol, in all lanes of a quad; the state itself for symbols that do not fill four.
    /// None if no such state exists.
    fn find_sources(&self, lane: usize) -> Option<Vec<usize>> {
        let lanes = || lane..self.lanes.count.min(lane + QUAD);
        let place = |state, entering, lane| {
            self.first(Origin {
                draw: 0,
                state,
                entering,
                lane,
            })
        };
        let mut sources = Vec::with_capacity(self.states * self.entering);
        for state in 0..self.states {
            for e in 0..self.entering {
                let follows = |&from: &usize| {
                    lanes().all(|lane| {
                        let place_here = place(from, e, lane);
                        place_here == place(state, 0, lane) + e && place_here < self.lone
                    })
                };
                let is_left = e >= self.entering / QUAD * QUAD;
                sources.push(if is_left {
                    state
                } else {
                    (0..self.states).find(follows)?
                });
            }
        }
        Some(sources)
    }

    /// How the quad that starts at a lane is moved.
    fn quad(&self, lane: usize) -> Quad {
        if lane + QUAD > self.lanes.count {
            return Quad::Single;
        }
        let rows = self.places.chunks(self.padded);
        let mut rows = rows.map(|row| &row[lane..lane + QUAD]);
        let is_run = |row: &[u32]| (row[0]..).zip(row).all(|(next, &place)| next == place);
        if rows.all(|row| is_run(row) && (row[QUAD - 1] as usize) < self.lone) {
            return Quad::Contiguous;
        }
        // A transposition reads and writes within one tile.
        let stays = |(n, &from): (usize, &usize)| n / self.entering == from;
        let is_whole = super::panel::tall(self.states) == self.states
            || self.sources.iter().enumerate().all(stays);
        let transposes = !self.adds && TRANSPOSED.contains(&self.entering) && is_whole;
        let sources = || self.find_sources(lane);
        if transposes && sources().is_some_and(|found| found == self.sources) {
            Quad::Transposed
        } else {
            Quad::Single
        }
    }

    /// Whether these are the routes of a step of this extent.
    #[inline]
    pub fn is_of(&self, extent: &Extent) -> bool {
        let sizes = [self.states, self.entering, self.actions];
        sizes == [extent.states, extent.entering, extent.actions]
            && self.moves.histories.len() == extent.histories
            && self.lanes == extent.lanes
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
            for (lane, to) in row[..self.lanes.count].iter_mut().enumerate() {
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

    /// The destination of an action of a number for each symbol drawn, and its weight.
    pub fn ways(
        &self,
        (history, from, action): (usize, Origin, usize),
        weights: &[f64],
    ) -> Vec<(usize, f64)> {
        let way = |draw: usize| {
            let first = self.first(Origin { draw, ..from }) as u32;
            let place = self.shift(history).of(first);
            let weight = (draw * self.entering + from.entering) * self.padded + from.lane;
            let weight = weights.get(weight).copied().unwrap_or(1.0);
            (place.first + action * place.action, weight)
        };
        (0..self.draws).map(way).collect()
    }

    /// For each quad, whether its lanes are contiguous (C; O the first of eight), transposed (T) or single (S).
    pub fn kinds(&self) -> String {
        let letter = |quad: &Quad| match quad {
            Quad::Contiguous => 'C',
            Quad::Octet => 'O',
            Quad::Transposed => 'T',
            Quad::Single => 'S',
        };
        self.quads.iter().map(letter).collect()
    }
}
