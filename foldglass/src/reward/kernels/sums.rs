//! Does the sums of a step, for all lanes and all remembered histories (paper, App. A).
//!
//! For one lane and history a step is three products of small matrices:
//!
//! - post(s, j) = weight(j) times the sum over k of alpha(s, k) policy(k, j),
//! - values(k, j) = sum over s of alpha(s, k) weight(j) bbar(s, j),
//! - message(s, k) = sum over j of weight(j) bbar(s, j) policy(k, j),
//! - visits(k, entering symbol) = share times its weight times the sum over s of alpha(s, k),
//!
//! where s is a state, k a pair of leaving symbol and forgotten token, and j a pair of entering
//! symbol and action. Lanes go side by side in vectors, panel by panel (`panel`); a lane that is
//! alone in its panel has vectors over j (`product`). Each result is one chain of fused
//! multiply-adds in a fixed order, k, s or j ascending, so it is the same to the last bit whatever
//! the width of the vectors and wherever its lane lies.
//!
//! A panel is done tile by tile, a few states of one history each. Of post and bbar there is never more
//! than a tile, in scratch: post goes to the message from there as soon as it is done, and bbar is brought
//! from the message that came back when it is wanted (`routes`).

use super::panel::Panel;
use super::routes::Routes;
use crate::reward::layout::Lanes;
use rayon::prelude::*;

/// Message entries below this are held as zero, so that no product is a subnormal number.
pub(crate) const LEAST_MESSAGE: f64 = 1e-100;

/// How large the sums of a step are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Histories of the tokens remembered beyond the step: each has its own matrices.
    pub histories: usize,
    /// Values of s.
    pub states: usize,
    /// Values of k.
    pub terms: usize,
    /// Values of the entering symbol, and actions: together they are j.
    pub entering: usize,
    pub actions: usize,
    pub lanes: Lanes,
}

impl Extent {
    /// Values of j.
    pub fn columns(&self) -> usize {
        self.entering * self.actions
    }

    /// Cells of one lane.
    pub fn vectors(&self) -> usize {
        self.histories * self.terms * self.entering
    }

    /// Rows of alpha and of the message: by history, k and s.
    pub fn rows(&self) -> usize {
        self.histories * self.terms * self.states
    }

    /// The size of alpha and of the message: by row and lane, as in `Lanes::place`.
    pub fn alpha(&self) -> usize {
        self.lanes.size(self.rows())
    }

    /// The size of the weights: by entering symbol and lane.
    pub fn weights(&self) -> usize {
        self.lanes.size(self.entering)
    }

    /// The size of a table of cells: by panel, history, k, entering symbol and lane of the panel.
    pub fn cells(&self) -> usize {
        self.lanes.padded() * self.vectors()
    }

    /// The size of a table of (cell, action).
    pub fn entries(&self) -> usize {
        self.cells() * self.actions
    }
}

/// The sums of a step, made ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sums {
    pub(super) extent: Extent,
    /// By j, where the weights of its entering symbol start.
    pub(super) weight_rows: Vec<usize>,
    /// The most states of a tile.
    pub(super) tall: usize,
    panels: Vec<Panel>,
    sizes: BufferSizes,
}

/// The sizes of the buffers, computed once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct BufferSizes {
    entries: usize,
    cells: usize,
    alpha: usize,
    weights: usize,
    scratch: usize,
}

/// Some states of one history of a panel: what is done at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tile {
    pub panel: Panel,
    pub history: usize,
    /// The first of its states, and how many they are.
    pub state: usize,
    pub rows: usize,
}

/// How post, or bbar, of a tile lies in scratch: the distances between values of j and between states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TileStrides {
    pub column: usize,
    pub state: usize,
}

impl Tile {
    /// By j, state and lane; of a lone lane by state and j, where j has `columns` values.
    #[inline(always)]
    pub fn block(&self, columns: usize) -> TileStrides {
        match self.panel.width {
            1 => TileStrides {
                column: 1,
                state: columns,
            },
            width => TileStrides {
                column: self.rows * width,
                state: width,
            },
        }
    }
}

/// The arrays that both ways read.
#[derive(Clone, Copy)]
pub(crate) struct PassInputs<'a> {
    pub policy: &'a [f64],
    pub alpha: &'a [f64],
    pub weights: &'a [f64],
}

/// The messages from which the way back makes bbar.
#[derive(Clone, Copy)]
pub(crate) struct Coming<'a> {
    /// How messages came back, if any did, and the weights of symbols drawn on the way.
    pub routes: Option<&'a Routes>,
    pub mixing: &'a [f64],
    /// Where the messages start that came back, of which bbar is the sum, in an array of which so many
    /// numbers are left out.
    pub starts: &'a [usize],
    pub skipped: usize,
    pub returned: &'a [f64],
    pub reward: Option<StepReward<'a>>,
}

impl<'a> Coming<'a> {
    /// The messages that came back.
    pub(super) fn messages(&self) -> impl Iterator<Item = &'a [f64]> {
        let (skipped, returned) = (self.skipped, self.returned);
        self.starts
            .iter()
            .map(move |start| &returned[start - skipped..])
    }

    /// Refuses messages that the routes would leave, and routes of another step.
    pub(super) fn check(&self, work: &Sums) {
        if let Some(routes) = self.routes {
            assert!(routes.is_of(&work.extent), "routes of another step");
            for message in self.messages() {
                routes.check(self.mixing, message);
            }
        }
    }
}

/// The reward that is gained at this step.
#[derive(Clone, Copy)]
pub(crate) struct StepReward<'a> {
    pub amount: f64,
    /// By state, entering symbol and lane (in rows of lanes, as alpha), the action that gains it.
    pub right: &'a [u16],
}

/// The tables that the way back writes; an empty one is not written.
pub(crate) struct Results<'a> {
    pub values: &'a mut [f64],
    pub message: &'a mut [f64],
    /// Nor where there are neither values nor a message.
    pub visits: &'a mut [f64],
    /// The weight of a visit.
    pub share: f64,
    /// Whether values and visits are added to or overwritten.
    pub add: bool,
}

impl Results<'_> {
    /// The pointers for panels, which may run on several threads.
    pub(super) fn targets(&mut self) -> Targets {
        let wanted = |to: &mut [f64]| (!to.is_empty()).then_some(to.as_mut_ptr());
        Targets {
            values: wanted(self.values),
            message: wanted(self.message),
            visits: wanted(self.visits),
            share: self.share,
            add: self.add,
        }
    }
}

/// The places that panels write on the way back, if it is wanted; no two panels write to one place.
#[derive(Clone, Copy)]
pub(super) struct Targets {
    pub values: Option<*mut f64>,
    pub message: Option<*mut f64>,
    pub visits: Option<*mut f64>,
    pub share: f64,
    pub add: bool,
}

// SAFETY: dereferenced only in the closure that `Kernels::backward` gives to `each_tile`, whose panels write
// disjoint cells and lanes.
unsafe impl Send for Targets {}
// SAFETY: a shared reference gives only copies of the pointers, which write disjoint places, as for `Send`.
unsafe impl Sync for Targets {}

/// The least number of entries of a step's table for which its panels run on several threads: tens of microseconds of
/// work, a few times what it takes to wake another.
const WIDE: usize = 1 << 16;

/// The most parts that panels are dealt into, each with scratch of its own.
const MOST_PARTS: usize = 64;

impl Sums {
    pub fn new(extent: Extent) -> Sums {
        let row = |j: usize| j / extent.actions * extent.lanes.row;
        let sizes = [extent.histories, extent.states, extent.terms];
        assert!(
            sizes.iter().all(|&size| size > 0) && extent.columns() > 0,
            "sums over nothing: {extent:?}"
        );
        Sums {
            weight_rows: (0..extent.columns()).map(row).collect(),
            tall: super::panel::tall(extent.states),
            panels: panels(&extent),
            sizes: BufferSizes {
                entries: extent.entries(),
                cells: extent.cells(),
                alpha: extent.alpha(),
                weights: extent.weights(),
                scratch: super::panel::scratch(&extent)
                    .max(super::product::LoneLane::new(&extent).size()),
            },
            extent,
        }
    }

    /// Whether its panels may run on several threads.
    pub fn is_wide(&self) -> bool {
        self.sizes.entries >= WIDE
    }

    /// The scratch memory of panels beside the buffers.
    pub fn scratch(&self) -> usize {
        let parts = if self.is_wide() { MOST_PARTS } else { 1 };
        self.sizes.scratch * parts
    }

    /// Does all tiles, each with scratch that no other uses at the time; panels on several threads if they
    /// are worth it, there are any, and they may.
    #[inline(always)]
    pub(super) fn each_tile(
        &self,
        may_share: bool,
        scratch: &mut [f64],
        work: impl Fn(Tile, &mut [f64]) + Send + Sync,
    ) {
        let panels = &self.panels;
        let each = |panels: &[Panel], scratch: &mut [f64]| {
            for &panel in panels {
                self.each_tile_of(panel, |tile| work(tile, scratch));
            }
        };
        if !may_share || !self.is_wide() || super::threads() == 1 {
            return each(panels, scratch);
        }
        let parts = panels.par_chunks(panels.len().div_ceil(MOST_PARTS));
        let scratch = scratch.par_chunks_mut(self.sizes.scratch);
        parts
            .zip(scratch)
            .for_each(|(panels, scratch)| each(panels, scratch));
    }

    /// Does the tiles of a panel.
    #[inline(always)]
    fn each_tile_of(&self, panel: Panel, mut work: impl FnMut(Tile)) {
        let states = self.extent.states;
        let tall = if panel.width == 1 { states } else { self.tall };
        for history in 0..self.extent.histories {
            let mut state = 0;
            while state < states {
                let rows = tall.min(states - state);
                work(Tile {
                    panel,
                    history,
                    state,
                    rows,
                });
                state += rows;
            }
        }
    }

    /// The size of post, or bbar, of a tile.
    pub(super) fn block(&self, tile: Tile) -> usize {
        tile.rows * self.weight_rows.len() * tile.panel.width
    }

    /// Adds to weighted bbar of a tile what its right actions gain.
    pub(super) fn add_reward(
        &self,
        tile: Tile,
        weights: &[f64],
        reward: StepReward<'_>,
        bbar: &mut [f64],
    ) {
        let Extent {
            states,
            entering,
            actions,
            ref lanes,
            ..
        } = self.extent;
        let (block, at) = (tile.block(self.weight_rows.len()), tile.panel);
        for r in 0..tile.rows {
            for e in 0..entering {
                let row = (tile.state + r) * entering + e;
                for lane in 0..at.width {
                    let right = reward.right[lanes.place(states * entering, row, at.lane + lane)];
                    let weight = weights[lanes.place(entering, e, at.lane + lane)];
                    let column = e * actions + usize::from(right);
                    bbar[column * block.column + r * block.state + lane] += reward.amount * weight;
                }
            }
        }
    }

    /// Refuses buffers that `forward` would leave.
    #[inline]
    pub fn check_forward(&self, given: &PassInputs<'_>, scratch: &[f64]) {
        check("a policy", given.policy, self.sizes.entries);
        check("alpha", given.alpha, self.sizes.alpha);
        check("weights", given.weights, self.sizes.weights);
        check("scratch", scratch, self.scratch());
    }

    /// Refuses buffers that `backward` would leave.
    #[inline]
    pub fn check_backward(&self, given: &PassInputs<'_>, scratch: &[f64], results: &Results<'_>) {
        self.check_forward(given, scratch);
        if !results.values.is_empty() {
            check("values", results.values, self.sizes.entries);
        }
        if !results.message.is_empty() {
            check("a message", results.message, self.sizes.alpha);
        }
        if !results.visits.is_empty() {
            check("visits", results.visits, self.sizes.cells);
        }
    }
}

#[inline(always)]
fn check(what: &str, buffer: &[f64], needed: usize) {
    if buffer.len() < needed {
        refuse(what, buffer.len(), needed);
    }
}

#[cold]
fn refuse(what: &str, len: usize, needed: usize) -> ! {
    panic!("{what} of {len} entries: {needed} are reached")
}

/// Lists the panels of a step.
fn panels(extent: &Extent) -> Vec<Panel> {
    let vectors = extent.vectors();
    let blocks = extent.lanes.blocks.iter();
    let panels = blocks.flat_map(|block| {
        block.lanes().step_by(block.width).map(|lane| Panel {
            width: block.width,
            lane,
            cells: lane * vectors,
        })
    });
    panels.collect()
}

#[cfg(test)]
mod tests;
