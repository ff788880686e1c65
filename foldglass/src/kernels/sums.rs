//! Does the sums of a step, for all lanes and all remembered histories (paper, App. A).
//!
//! For one lane and history a step is three products of small matrices:
//!
//! - post(s, j) = weight(j) times the sum over k of alpha(s, k) policy(k, j),
//! - values(k, j) = sum over s of alpha(s, k) weight(j) bbar(s, j),
//! - message(s, k) = sum over j of weight(j) bbar(s, j) policy(k, j),
//!
//! where s is a state, k a pair of leaving symbol and forgotten token, and j a pair of entering
//! symbol and action. Lanes go side by side in vectors, panel by panel (`panel`); a lane that is
//! alone in its panel has vectors over j (`product`). Each result is one chain of fused
//! multiply-adds in a fixed order, k, s or j ascending, so it is the same to the last bit whatever
//! the width of the vectors and wherever its lane lies.

use super::panel::Panel;
use super::vector::Lane;
use crate::class::Lanes;

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

    /// The size of alpha and of the message in panels: by panel, row and lane of the panel.
    pub fn alpha(&self) -> usize {
        self.rows() * self.lanes.padded()
    }

    /// Their size in rows: by row and lane.
    pub fn alpha_rows(&self) -> usize {
        self.rows() * self.lanes.row
    }

    /// Whether rows are panels: all lanes are one panel.
    pub fn is_one_panel(&self) -> bool {
        let blocks = &self.lanes.blocks;
        blocks.len() == 1 && blocks[0].panels == 1 && blocks[0].width == self.lanes.row
    }

    /// The size of post and bbar: by history, s, j and lane.
    pub fn post(&self) -> usize {
        self.histories * self.states * self.columns() * self.lanes.row
    }

    /// The size of the weights: by entering symbol and lane.
    pub fn weights(&self) -> usize {
        self.entering * self.lanes.row
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
    sizes: Sizes,
}

/// What the buffers need, worked out once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sizes {
    entries: usize,
    cells: usize,
    alpha: usize,
    alpha_rows: usize,
    post: usize,
    weights: usize,
    scratch: usize,
}

/// What the way back reads.
#[derive(Clone, Copy)]
pub(crate) struct Given<'a> {
    pub policy: &'a [f64],
    pub alpha: &'a [f64],
    pub bbar: &'a [f64],
    pub weights: &'a [f64],
}

/// What visits are made of.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub alpha: &'a [f64],
    pub weights: &'a [f64],
    /// What a visit counts.
    pub share: f64,
    /// Whether visits are added to or overwritten.
    pub add: bool,
}

/// What the way back writes; nothing where it is empty.
pub(crate) struct Results<'a> {
    pub values: &'a mut [f64],
    /// Whether values are added to or overwritten.
    pub add: bool,
    pub message: &'a mut [f64],
}

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
            sizes: Sizes {
                entries: extent.entries(),
                cells: extent.cells(),
                alpha: extent.alpha(),
                alpha_rows: extent.alpha_rows(),
                post: extent.post(),
                weights: extent.weights(),
                scratch: super::product::Alone::new(&extent).size(),
            },
            extent,
        }
    }

    /// Its panels.
    pub(super) fn panels(&self) -> &[Panel] {
        &self.panels
    }

    /// What a lane alone in its panel needs beside the buffers.
    pub fn scratch(&self) -> usize {
        self.sizes.scratch
    }

    /// Refuses buffers that `forward` would leave.
    #[inline]
    pub fn check_forward(&self, given: &Given<'_>, scratch: &[f64], post: &[f64]) {
        check("a policy", given.policy, self.sizes.entries);
        check("alpha", given.alpha, self.sizes.alpha);
        check("weights", given.weights, self.sizes.weights);
        check("scratch", scratch, self.sizes.scratch);
        check("post", post, self.sizes.post);
    }

    /// Refuses buffers that `backward` would leave.
    #[inline]
    pub fn check_backward(&self, given: &Given<'_>, scratch: &[f64], results: &Results<'_>) {
        self.check_forward(given, scratch, given.bbar);
        if !results.values.is_empty() {
            check("values", results.values, self.sizes.entries);
        }
        if !results.message.is_empty() {
            check("a message", results.message, self.sizes.alpha);
        }
    }

    /// Refuses buffers that `visits` would leave.
    #[inline]
    pub fn check_visits(&self, given: &Seen<'_>, visits: &[f64]) {
        check("alpha", given.alpha, self.sizes.alpha);
        check("weights", given.weights, self.sizes.weights);
        check("visits", visits, self.sizes.cells);
    }

    /// Refuses buffers that `pack` or `unpack` would leave.
    #[inline]
    pub fn check_pack(&self, rows: &[f64], panels: &[f64]) {
        check("rows", rows, self.sizes.alpha_rows);
        check("panels", panels, self.sizes.alpha);
    }

    /// Computes visits(k, entering symbol) = weight times the sum over s of alpha(s, k), or adds it
    /// to them.
    ///
    /// # Safety
    /// `check_visits` accepts the buffers, and the machine has the instructions of `Wide` and
    /// `Narrow`, whose widths are 4 or 8, and 4.
    #[inline(always)]
    pub unsafe fn visits<Wide: Lane, Narrow: Lane>(&self, given: Seen<'_>, visits: &mut [f64]) {
        let visits = visits.as_mut_ptr();
        for &panel in &self.panels {
            // SAFETY: the caller's; the width of the vectors divides that of the panel.
            unsafe {
                match panel.width {
                    1 => self.visit_panel::<f64, 1>(panel, given, visits),
                    4 => self.visit_panel::<Narrow, 4>(panel, given, visits),
                    _ => self.visit_panel::<Wide, 8>(panel, given, visits),
                }
            }
        }
    }

    /// Brings alpha from rows into panels.
    ///
    /// # Safety
    /// `check_pack` accepts the buffers, and the machine has the instructions of `Wide` and
    /// `Narrow`, whose widths are 4 or 8, and 4.
    #[inline(always)]
    pub unsafe fn pack<Wide: Lane, Narrow: Lane>(&self, rows: &[f64], panels: &mut [f64]) {
        let row = self.extent.lanes.row;
        for &panel in &self.panels {
            // SAFETY: the caller's; the width of the vectors divides that of the panel.
            unsafe {
                let from = (rows.as_ptr().add(panel.lane), row);
                let to = (panels.as_mut_ptr().add(panel.states), panel.width);
                match panel.width {
                    1 => self.copy_rows::<f64, 1>(from, to),
                    4 => self.copy_rows::<Narrow, 4>(from, to),
                    _ => self.copy_rows::<Wide, 8>(from, to),
                }
            }
        }
    }

    /// Brings a message from panels into rows.
    ///
    /// # Safety
    /// As for `pack`.
    #[inline(always)]
    pub unsafe fn unpack<Wide: Lane, Narrow: Lane>(&self, panels: &[f64], rows: &mut [f64]) {
        let row = self.extent.lanes.row;
        for &panel in &self.panels {
            // SAFETY: as for `pack`.
            unsafe {
                let from = (panels.as_ptr().add(panel.states), panel.width);
                let to = (rows.as_mut_ptr().add(panel.lane), row);
                match panel.width {
                    1 => self.copy_rows::<f64, 1>(from, to),
                    4 => self.copy_rows::<Narrow, 4>(from, to),
                    _ => self.copy_rows::<Wide, 8>(from, to),
                }
            }
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

/// Where the panels of a step lie.
fn panels(extent: &Extent) -> Vec<Panel> {
    let (vectors, rows) = (extent.vectors(), extent.rows());
    let blocks = extent.lanes.blocks.iter();
    let panels = blocks.flat_map(|block| {
        block.lanes().step_by(block.width).map(|lane| Panel {
            width: block.width,
            lane,
            cells: lane * vectors,
            states: lane * rows,
        })
    });
    panels.collect()
}

#[cfg(test)]
mod tests;
