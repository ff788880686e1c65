//! Lays tables and messages out in memory for the vectors of the processor (paper, App. A).
//!
//! A class numbers its cells; it knows nothing of the machine. Here every (cell, action) gets a place in
//! a *table* whose loops run on whole vectors. The plan of an evaluation (`evaluate::plan`) explains what
//! the places are for.
//!
//! A window is split by what a step does with its symbols (`Roles`): one leaves after the step, one
//! enters with it, and the others, its middle, number the *lanes*, one for each reading of the middle.
//! Lanes come in *panels*, as wide as a vector. A panel holds one vector for each
//!
//! > remembered tokens, leaving symbol, forgotten token, entering symbol, action
//!
//! (slowest index first), so that a step goes through memory from front to back. A table of cells has no
//! actions and is the same otherwise.
//!
//! A table may hold several independent policies, its replicas, side by side: they are the fastest
//! digit of a lane. Narrow windows, which have few lanes, fill their vectors that way.

mod cells;
mod group;
mod lanes;

use crate::model::class::{Class, Group};
pub(crate) use cells::{CellTables, CellWork, EvaluatedTables};
pub(crate) use group::{GroupLayout, LanePanel};
pub(crate) use lanes::{Lanes, PANEL, Roles};
use std::ops::Range;

/// The number of policies that share vectors on a class: 8 where windows show no symbol but x_t and one
/// that leaves, else 1.
pub(crate) fn side_by_side(class: &Class) -> usize {
    let past = class.shape().window.past;
    let is_narrow = |group: &Group| {
        let leaving = usize::from(group.before > 0 && group.before == past);
        group.before + group.after == leaving
    };
    if class.groups().iter().all(is_narrow) {
        PANEL
    } else {
        1
    }
}

/// The sizes of tables, padding included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Sizes {
    /// The size of a table of (cell, action).
    pub entries: usize,
    /// The size of a table of cells.
    pub cells: usize,
}

impl Sizes {
    /// The sizes for a number of replicas, on vectors of `width` lanes.
    pub fn new(class: &Class, replicas: usize, width: usize) -> Sizes {
        let mut sizes = Sizes::default();
        for group in class.groups() {
            sizes.take(class, group::cells(class, group, replicas, width));
        }
        sizes
    }

    /// Adds a group with this number of cells, padding included, and returns its ranges in both tables.
    fn take(&mut self, class: &Class, cells: usize) -> (Range<usize>, Range<usize>) {
        let start = *self;
        self.entries += cells * class.q();
        self.cells += cells;
        (start.entries..self.entries, start.cells..self.cells)
    }
}

/// The places of the cells of a class in tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    pub class: Class,
    /// Policies side by side.
    pub replicas: usize,
    pub groups: Vec<GroupLayout>,
    pub sizes: Sizes,
}

/// The places of the entries of one cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CellPlace {
    first: usize,
    stride: usize,
    /// The place of the cell in a table of cells.
    pub cell: usize,
}

impl CellPlace {
    /// The place of an action of the cell in a table of (cell, action).
    #[inline]
    pub fn at(&self, action: usize) -> usize {
        self.first + action * self.stride
    }
}

impl Layout {
    /// The layout for a number of replicas, on vectors of `width` lanes.
    pub fn new(class: &Class, replicas: usize, width: usize) -> Layout {
        let mut sizes = Sizes::default();
        let groups = class.groups().iter().map(|group| {
            let ranges = sizes.take(class, group::cells(class, group, replicas, width));
            GroupLayout::new(class, group, replicas, width, ranges)
        });
        Layout {
            groups: groups.collect(),
            class: class.clone(),
            replicas,
            sizes,
        }
    }

    /// Whether x_t is drawn by a law that depends on a symbol the window no longer shows.
    pub fn mixes(&self) -> bool {
        group::reading(&self.class).mixes()
    }

    /// The place of cell number `cell` of a replica.
    #[inline]
    pub fn place(&self, cell: usize, replica: usize) -> CellPlace {
        let number = self
            .class
            .groups()
            .partition_point(|g| g.first_cell <= cell)
            - 1;
        let (group, layout) = (&self.class.groups()[number], &self.groups[number]);
        let inner = cell - group.first_cell;
        let (window, history) = (inner / group.histories, inner % group.histories);
        let first = layout.first(group.window(window), replica);
        layout.place(self.class.q(), first, history)
    }

    /// The places of all cells of a replica, in the order of the cells.
    pub fn places(&self, replica: usize) -> impl Iterator<Item = CellPlace> {
        let groups = self.class.groups().iter().zip(&self.groups);
        groups.flat_map(move |(group, layout)| {
            (0..group.windows()).flat_map(move |window| {
                let first = layout.first(group.window(window), replica);
                let histories = 0..group.histories;
                histories.map(move |history| layout.place(self.class.q(), first, history))
            })
        })
    }

    /// Copies a replica's part of a table of (cell, action) to `rows`: cell by cell, q entries each.
    pub fn gather_rows(&self, table: &[f64], replica: usize, rows: &mut [f64]) {
        let q = self.class.q();
        assert_eq!(rows.len(), self.class.cells() * q, "a row for each cell");
        if self.groups.iter().all(GroupLayout::is_whole) {
            for (group, layout) in self.class.groups().iter().zip(&self.groups) {
                let rows = &mut rows[group.first_cell * q..][..group.cells * q];
                layout.gather(q, &table[layout.entries.clone()], rows);
            }
            return;
        }
        for (row, place) in rows.chunks_exact_mut(q).zip(self.places(replica)) {
            for (action, to) in row.iter_mut().enumerate() {
                *to = table[place.at(action)];
            }
        }
    }

    /// Copies a replica's part of a table of cells to `cells`.
    pub fn gather_cells(&self, table: &[f64], replica: usize, cells: &mut [f64]) {
        assert_eq!(cells.len(), self.class.cells(), "an entry for each cell");
        if self.groups.iter().all(GroupLayout::is_whole) {
            for (group, layout) in self.class.groups().iter().zip(&self.groups) {
                let cells = &mut cells[group.first_cell..][..group.cells];
                layout.gather(1, &table[layout.cells.clone()], cells);
            }
            return;
        }
        for (to, place) in cells.iter_mut().zip(self.places(replica)) {
            *to = table[place.cell];
        }
    }

    /// Copies `rows`, cell by cell, q entries each, to a replica's part of a table.
    pub fn scatter_rows(&self, rows: &[f64], replica: usize, table: &mut [f64]) {
        let q = self.class.q();
        assert_eq!(rows.len(), self.class.cells() * q, "a row for each cell");
        if self.groups.iter().all(GroupLayout::is_whole) {
            for (group, layout) in self.class.groups().iter().zip(&self.groups) {
                let rows = &rows[group.first_cell * q..][..group.cells * q];
                layout.scatter(q, rows, &mut table[layout.entries.clone()]);
            }
            return;
        }
        for (row, place) in rows.chunks_exact(q).zip(self.places(replica)) {
            for (action, &entry) in row.iter().enumerate() {
                table[place.at(action)] = entry;
            }
        }
    }
}
