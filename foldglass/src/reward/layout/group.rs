//! Lays out the cells of one group, and copies between its tables and plain rows (paper, section 2.1).

use super::CellPlace;
use super::lanes::{Block, Lanes, PANEL, Reading, Roles, Seat, Vectors};
use crate::model::class::{Class, Group};
use crate::support::vectors::write_rows;
use std::ops::Range;

/// The places of one group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GroupLayout {
    /// The entries of the group in a table of (cell, action), padding included.
    pub entries: Range<usize>,
    /// The entries of the group in a table of cells, padding included.
    pub cells: Range<usize>,
    pub roles: Roles,
    pub lanes: Lanes,
    pub vectors: Vectors,
    /// By window (a base-q number, oldest digit first): where it is found.
    slots: Vec<Slot>,
    /// The inverse, where all windows occur and there is one replica.
    order: Option<CellOrder>,
}

/// A window's lane, and the vector of its first history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slot {
    lane: u32,
    vector: u32,
}

/// The cell of every lane and vector, counted within the group: the sum of one number by lane and one by
/// vector of a table of cells.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CellOrder {
    lanes: Vec<usize>,
    vectors: Vec<usize>,
}

impl CellOrder {
    fn new(histories: usize, lanes: usize, vectors: &Vectors, slots: &[Slot]) -> CellOrder {
        let mut order = CellOrder {
            lanes: vec![0; lanes],
            vectors: vec![0; vectors.count()],
        };
        for (window, slot) in slots.iter().enumerate() {
            if slot.vector == 0 {
                order.lanes[slot.lane as usize] = window * histories;
            }
            if slot.lane == 0 {
                for history in 0..histories {
                    let vector = slot.vector as usize + vectors.of_history(history);
                    order.vectors[vector] = window * histories + history;
                }
            }
        }
        order
    }
}

/// Consecutive panels of one width in the tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PanelRange {
    pub width: usize,
    /// Their entries in a table of (cell, action), and in one of cells.
    pub entries: Range<usize>,
    pub cells: Range<usize>,
}

/// How a class reads its inputs.
pub(super) fn reading(class: &Class) -> Reading {
    Reading {
        window: class.shape().window,
        correlated: class.task().inputs().is_correlated(),
    }
}

/// The lanes and vectors of a group.
struct GroupShape {
    roles: Roles,
    lanes: Lanes,
    vectors: Vectors,
}

impl GroupShape {
    fn new(class: &Class, group: &Group, replicas: usize, width: usize) -> GroupShape {
        let roles = Roles::of(reading(class), group);
        let readings = class.q().pow(roles.middle.len() as u32);
        GroupShape {
            lanes: Lanes::new(readings, replicas, group.tokens == 0, width),
            vectors: Vectors::new(class.q(), &roles, group.tokens, class.shape().memory),
            roles,
        }
    }
}

/// The cells of a group, padding included: every group starts on a cache line.
pub(super) fn cells(class: &Class, group: &Group, replicas: usize, width: usize) -> usize {
    let GroupShape { lanes, vectors, .. } = GroupShape::new(class, group, replicas, width);
    (lanes.padded() * vectors.count()).next_multiple_of(PANEL)
}

/// Calls a copy with the entries of a cell known to the compiler where they are few: the loop over them
/// is short.
macro_rules! by_entries {
    ($each:ident, $copy:path, ($($argument:expr),*)) => {
        match $each {
            1 => $copy(1, $($argument),*),
            2 => $copy(2, $($argument),*),
            3 => $copy(3, $($argument),*),
            4 => $copy(4, $($argument),*),
            5 => $copy(5, $($argument),*),
            each => $copy(each, $($argument),*),
        }
    };
}

impl GroupLayout {
    pub(super) fn new(
        class: &Class,
        group: &Group,
        replicas: usize,
        width: usize,
        (entries, cells): (Range<usize>, Range<usize>),
    ) -> GroupLayout {
        let GroupShape {
            roles,
            lanes,
            vectors,
        } = GroupShape::new(class, group, replicas, width);
        let slots = slots(class.q(), group, &roles, &vectors, replicas);
        let is_whole = replicas == 1 && group.windows() == slots.len();
        let order = || CellOrder::new(group.histories, lanes.count, &vectors, &slots);
        GroupLayout {
            entries,
            cells,
            order: is_whole.then(order),
            roles,
            lanes,
            vectors,
            slots,
        }
    }

    /// Whether all windows occur and there is one replica, so that `gather` and `scatter` apply.
    pub fn is_whole(&self) -> bool {
        self.order.is_some()
    }

    /// The place of the first history of a window for a replica: its seat, with the vector of the history.
    #[inline]
    pub(super) fn first(&self, window: usize, replica: usize) -> (Seat, usize) {
        let Slot { lane, vector } = self.slots[window];
        let seat = self
            .lanes
            .seat(lane as usize + replica, self.vectors.count());
        (seat, vector as usize)
    }

    /// The place of a history of a window, from that of the first one.
    #[inline]
    pub(super) fn place(
        &self,
        q: usize,
        (seat, vector): (Seat, usize),
        history: usize,
    ) -> CellPlace {
        let Seat { panel, lane, width } = seat;
        let first = panel + (vector + self.vectors.of_history(history)) * width;
        CellPlace {
            first: self.entries.start + first * q + lane,
            stride: width,
            cell: self.cells.start + first + lane,
        }
    }

    /// Copies the group's part of a table, with `each` entries per cell, to rows in the order of the cells.
    pub(super) fn gather(&self, each: usize, table: &[f64], rows: &mut [f64]) {
        for panel in self.lane_panels() {
            let part = &table[panel.part(self, each)];
            panel.cells.gather(panel.width, each, part, rows);
        }
    }

    /// Copies rows in the order of the cells, `each` entries per cell, to the group's part of a table.
    pub(super) fn scatter(&self, each: usize, rows: &[f64], table: &mut [f64]) {
        for panel in self.lane_panels() {
            panel.scatter(each, rows, &mut table[panel.part(self, each)]);
        }
    }

    /// The panels of a whole group, with the cells they hold.
    pub fn lane_panels(&self) -> impl Iterator<Item = LanePanel<'_>> {
        let order = self.order.as_ref().expect("a whole group");
        self.lanes.blocks.iter().flat_map(move |block: &Block| {
            let lanes = block.lanes().step_by(block.width);
            lanes.map(|lane| LanePanel {
                lane,
                width: block.width,
                cells: PanelCells {
                    lanes: &order.lanes[lane..order.lanes.len().min(lane + block.width)],
                    vectors: &order.vectors,
                },
            })
        })
    }

    /// The panels by width, in tables with q actions per cell.
    pub fn panels(&self, q: usize) -> impl Iterator<Item = PanelRange> {
        self.lanes.blocks.iter().map(move |block| {
            let lanes = block.lanes();
            let cells = lanes.start * self.vectors.count()..lanes.end * self.vectors.count();
            PanelRange {
                width: block.width,
                entries: self.entries.start + cells.start * q..self.entries.start + cells.end * q,
                cells: self.cells.start + cells.start..self.cells.start + cells.end,
            }
        })
    }
}

/// One panel, by its first lane.
pub(crate) struct LanePanel<'a> {
    lane: usize,
    pub width: usize,
    pub cells: PanelCells<'a>,
}

impl LanePanel<'_> {
    /// The range of the group's table with `each` entries per cell.
    pub fn part(&self, group: &GroupLayout, each: usize) -> Range<usize> {
        let entries = group.vectors.count() * each;
        self.lane * entries..(self.lane + self.width) * entries
    }

    /// Copies rows in the order of the group's cells, `each` entries per cell, to this part.
    pub fn scatter<P: Copy + Into<f64>>(&self, each: usize, rows: &[P], part: &mut [f64]) {
        match self.width {
            8 => by_entries!(each, scatter::<8, P>, (rows, self.cells, part)),
            4 => by_entries!(each, scatter::<4, P>, (rows, self.cells, part)),
            _ => by_entries!(each, scatter::<1, P>, (rows, self.cells, part)),
        }
    }
}

/// The cells of a panel: by lane in use, and by vector of a table of cells, numbers whose sum is the cell.
#[derive(Clone, Copy)]
pub(crate) struct PanelCells<'a> {
    pub lanes: &'a [usize],
    pub vectors: &'a [usize],
}

impl PanelCells<'_> {
    /// Copies their entries, `each` for a cell, to rows in the order of the cells.
    pub(super) fn gather(self, width: usize, each: usize, part: &[f64], rows: &mut [f64]) {
        if width == PANEL && write_rows(each, part, (self.lanes, self.vectors), rows) {
            return;
        }
        match width {
            8 => by_entries!(each, gather::<8>, (part, self, rows)),
            4 => by_entries!(each, gather::<4>, (part, self, rows)),
            _ => by_entries!(each, gather::<1>, (part, self, rows)),
        }
    }
}

#[inline(always)]
fn gather<const W: usize>(each: usize, panel: &[f64], cells: PanelCells<'_>, rows: &mut [f64]) {
    let (vectors, _) = panel.as_chunks::<W>();
    for (vectors, &cell) in vectors.chunks_exact(each).zip(cells.vectors) {
        for (lane, &first) in cells.lanes.iter().take(W).enumerate() {
            let row = &mut rows[(first + cell) * each..][..each];
            for (to, vector) in row.iter_mut().zip(vectors) {
                *to = vector[lane];
            }
        }
    }
}

#[inline(always)]
fn scatter<const W: usize, P: Copy + Into<f64>>(
    each: usize,
    rows: &[P],
    cells: PanelCells<'_>,
    panel: &mut [f64],
) {
    let (vectors, _) = panel.as_chunks_mut::<W>();
    for (vectors, &cell) in vectors.chunks_exact_mut(each).zip(cells.vectors) {
        for (lane, &first) in cells.lanes.iter().take(W).enumerate() {
            let row = &rows[(first + cell) * each..][..each];
            for (&entry, vector) in row.iter().zip(&mut *vectors) {
                vector[lane] = entry.into();
            }
        }
    }
}

/// Finds every window's lane and vector.
fn slots(q: usize, group: &Group, roles: &Roles, vectors: &Vectors, replicas: usize) -> Vec<Slot> {
    let size = group.before + 1 + group.after;
    let slot = |window: usize| {
        let digit = |offset: isize| {
            let newer = group.after as isize - offset;
            window / q.pow(newer as u32) % q
        };
        let number = |lane: usize, &offset: &isize| lane * q + digit(offset);
        let lane = roles.middle.iter().fold(0, number) * replicas;
        let leaving = roles.leaving.map_or(0, digit) * vectors.leaving_step();
        Slot {
            lane: lane as u32,
            vector: (leaving + roles.entering.map_or(0, digit)) as u32,
        }
    };
    (0..q.pow(size as u32)).map(slot).collect()
}
