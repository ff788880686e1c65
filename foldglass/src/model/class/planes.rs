//! Places every (cell, action) in memory so that windows lie side by side, ready for vectors (paper,
//! section 2.1); what the places are for is told in `evaluate::plan`.
//!
//! A window is split by what a step does with its symbols (`Roles`): one leaves after the step, one
//! enters with it, and the others, its middle, number the *lanes*, one for each way they can read.
//! Lanes come in *panels*, as wide as a vector. A panel holds, one behind the other, a vector for each
//!
//! > remembered tokens, leaving symbol, forgotten token, entering symbol, action
//!
//! (slowest first), so that a step goes through memory from front to back. A table of cells has no
//! actions and is the same otherwise.
//!
//! A table may hold several independent policies, its replicas, side by side: they are the fastest
//! digit of a lane. Narrow windows, which have few lanes, fill their vectors that way.

use super::lanes::{Lanes, PANEL, Reading, Roles, Seat, Vectors};
use super::{Class, Group, Shape};
use crate::reward::kernels::{Kernels, Rows};
use std::ops::Range;

/// Where one group lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GroupPlanes {
    /// Its entries in a table of (cell, action), idle lanes included.
    pub entries: Range<usize>,
    /// Its entries in a table of cells, idle lanes included.
    pub cells: Range<usize>,
    pub lanes: Lanes,
    pub vectors: Vectors,
    /// By window (a base-q number, oldest digit first): where it is found.
    slots: Vec<Slot>,
    /// The other way round, where all windows occur and there is one replica.
    sums: Option<Sums>,
}

/// By lane, and by vector of cells: numbers whose sum is the cell's, counted within the group.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Sums {
    lanes: Vec<usize>,
    cells: Vec<usize>,
}

impl Sums {
    fn new(histories: usize, lanes: usize, vectors: &Vectors, slots: &[Slot]) -> Sums {
        let mut sums = Sums {
            lanes: vec![0; lanes],
            cells: vec![0; vectors.count()],
        };
        for (window, slot) in slots.iter().enumerate() {
            if slot.vector == 0 {
                sums.lanes[slot.lane as usize] = window * histories;
            }
            if slot.lane == 0 {
                for history in 0..histories {
                    let vector = slot.vector as usize + vectors.of_history(history);
                    sums.cells[vector] = window * histories + history;
                }
            }
        }
        sums
    }
}

/// A window's lane, and the vector of its first history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slot {
    lane: u32,
    vector: u32,
}

/// Panels of one width in the tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PanelRange {
    pub width: usize,
    /// Their entries in a table of (cell, action), and in one of cells.
    pub entries: Range<usize>,
    pub cells: Range<usize>,
}

/// Where all groups lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Planes {
    /// Policies side by side.
    pub replicas: usize,
    pub groups: Vec<GroupPlanes>,
    /// The size of a table of (cell, action), idle lanes included.
    pub entries: usize,
    /// The size of a table of cells, idle lanes included.
    pub cell_entries: usize,
}

/// Where the entries of one cell lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    first: usize,
    width: usize,
    /// Where the cell lies in a table of cells.
    pub cell: usize,
}

impl Place {
    /// Where an action of the cell lies in a table of (cell, action).
    #[inline]
    pub fn at(&self, action: usize) -> usize {
        self.first + action * self.width
    }
}

impl Planes {
    pub fn new(
        q: usize,
        shape: Shape,
        correlated: bool,
        groups: &[Group],
        replicas: usize,
    ) -> Planes {
        let reading = Reading {
            window: shape.window,
            correlated,
        };
        let mut planes = Planes {
            replicas,
            groups: Vec::new(),
            entries: 0,
            cell_entries: 0,
        };
        for group in groups {
            let roles = Roles::of(reading, group);
            let readings = q.pow(roles.middle.len() as u32);
            let lanes = Lanes::new(readings, replicas, group.tokens == 0);
            let vectors = Vectors::new(q, &roles, group.tokens, shape.memory);
            // Every group starts on a line of the cache.
            let cells = (lanes.padded() * vectors.count()).next_multiple_of(PANEL);
            let slots = slots(q, group, &roles, &vectors, replicas);
            let is_whole = replicas == 1 && group.windows() == slots.len();
            planes.groups.push(GroupPlanes {
                entries: planes.entries..planes.entries + cells * q,
                cells: planes.cell_entries..planes.cell_entries + cells,
                sums: is_whole.then(|| Sums::new(group.histories, lanes.count, &vectors, &slots)),
                slots,
                lanes,
                vectors,
            });
            planes.entries += cells * q;
            planes.cell_entries += cells;
        }
        planes
    }

    /// Where cell number `cell` of a replica lies.
    #[inline]
    pub fn place(&self, class: &Class, cell: usize, replica: usize) -> Place {
        let number = class.groups().partition_point(|g| g.first_cell <= cell) - 1;
        let (group, planes) = (&class.groups()[number], &self.groups[number]);
        let inner = cell - group.first_cell;
        let (window, history) = (inner / group.histories, inner % group.histories);
        let Seat { panel, lane, width } = planes.seat(group.window(window), replica);
        let slot = planes.slots[group.window(window)];
        let vector = slot.vector as usize + planes.vectors.of_history(history);
        let first = panel + vector * width;
        Place {
            first: planes.entries.start + first * class.q() + lane,
            width,
            cell: planes.cells.start + first + lane,
        }
    }

    /// Copies a replica's part of a table of (cell, action) to `rows`: cell by cell, q entries each.
    pub fn read_rows(&self, class: &Class, table: &[f64], replica: usize, rows: &mut [f64]) {
        assert_eq!(rows.len(), class.cells() * class.q(), "a row for each cell");
        for (group, planes) in class.groups().iter().zip(&self.groups) {
            let to = &mut rows[group.first_cell * class.q()..][..group.cells * class.q()];
            let table = &table[planes.entries.clone()];
            planes.read(group, class.q(), table, replica, to);
        }
    }

    /// Copies a replica's part of a table of cells to `cells`.
    pub fn read_cells(&self, class: &Class, table: &[f64], replica: usize, cells: &mut [f64]) {
        assert_eq!(cells.len(), class.cells(), "an entry for each cell");
        for (group, planes) in class.groups().iter().zip(&self.groups) {
            let to = &mut cells[group.first_cell..][..group.cells];
            planes.read(group, 1, &table[planes.cells.clone()], replica, to);
        }
    }

    /// Copies `rows`, cell by cell, q entries each, into a replica's part of a table; what is below
    /// `least` becomes zero.
    pub fn write_rows(
        &self,
        class: &Class,
        rows: &[f64],
        replica: usize,
        table: &mut [f64],
        least: f64,
    ) {
        let q = class.q();
        assert_eq!(rows.len(), class.cells() * q, "a row for each cell");
        for (group, planes) in class.groups().iter().zip(&self.groups) {
            let from = &rows[group.first_cell * q..][..group.cells * q];
            let table = &mut table[planes.entries.clone()];
            if let Some(sums) = planes.sums.as_ref().filter(|_| q >= 4) {
                let kernels = Kernels::best();
                for (rows, range) in planes.panel_rows(sums, q) {
                    kernels.write_rows(&rows, from, &mut table[range], least);
                }
                continue;
            }
            match q {
                2 => planes.write_each::<2>(group, from, replica, table, least),
                3 => planes.write_each::<3>(group, from, replica, table, least),
                _ => {
                    let histories = planes.histories(q);
                    for (n, from) in from.chunks_exact(group.histories * q).enumerate() {
                        let WindowPlace { first, width } = planes.window(group, q, n, replica);
                        for (&start, from) in histories.iter().zip(from.chunks_exact(q)) {
                            let place = first + start * width;
                            for (action, &from) in from.iter().enumerate() {
                                table[place + action * width] = flushed(from, least);
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A number, or zero where it is below the least.
#[inline]
fn flushed(value: f64, least: f64) -> f64 {
    if value < least { 0.0 } else { value }
}

/// Where the entries of a window begin, and how far apart they lie.
struct WindowPlace {
    first: usize,
    width: usize,
}

impl GroupPlanes {
    fn seat(&self, window: usize, replica: usize) -> Seat {
        let lane = self.slots[window].lane as usize + replica;
        self.lanes.seat(lane, self.vectors.count())
    }

    /// Where the group's `n`-th window begins in its part of a table with `each` entries a cell.
    #[inline]
    fn window(&self, group: &Group, each: usize, n: usize, replica: usize) -> WindowPlace {
        let window = group.window(n);
        let Seat { panel, lane, width } = self.seat(window, replica);
        let vector = self.slots[window].vector as usize;
        WindowPlace {
            first: (panel + vector * width) * each + lane,
            width,
        }
    }

    /// By history, how many vectors of a table with `each` entries a cell lie before it.
    fn histories(&self, each: usize) -> Vec<usize> {
        let count = self.vectors.remembered * self.vectors.forgotten;
        let vector = |history| self.vectors.of_history(history) * each;
        (0..count).map(vector).collect()
    }

    /// For each panel, where its cells lie in rows, and its part of the group's table.
    fn panel_rows<'a>(
        &'a self,
        sums: &'a Sums,
        each: usize,
    ) -> impl Iterator<Item = (Rows<'a>, Range<usize>)> {
        let panels = self.lanes.blocks.iter().flat_map(|block| {
            let lanes = block.lanes().step_by(block.width);
            lanes.map(|lane| (lane, block.width))
        });
        panels.map(move |(lane, width)| {
            let rows = Rows {
                each,
                width,
                lanes: &sums.lanes[lane..self.lanes.count.min(lane + width)],
                cells: &sums.cells,
            };
            let entries = sums.cells.len() * each;
            (rows, lane * entries..(lane + width) * entries)
        })
    }

    /// Copies the group's part of a table, with `each` entries a cell, to the order of the cells.
    fn read(&self, group: &Group, each: usize, table: &[f64], replica: usize, to: &mut [f64]) {
        if let Some(sums) = self.sums.as_ref().filter(|_| each >= 4) {
            let kernels = Kernels::best();
            for (rows, range) in self.panel_rows(sums, each) {
                kernels.read_rows(&rows, &table[range], to);
            }
            return;
        }
        // The loop over a cell is short: known to the compiler it costs a third.
        match each {
            1 => self.read_each::<1>(group, table, replica, to),
            2 => self.read_each::<2>(group, table, replica, to),
            3 => self.read_each::<3>(group, table, replica, to),
            _ => {
                let histories = self.histories(each);
                for (n, to) in to.chunks_exact_mut(group.histories * each).enumerate() {
                    let WindowPlace { first, width } = self.window(group, each, n, replica);
                    for (&start, to) in histories.iter().zip(to.chunks_exact_mut(each)) {
                        let place = first + start * width;
                        for (action, to) in to.iter_mut().enumerate() {
                            *to = table[place + action * width];
                        }
                    }
                }
            }
        }
    }

    /// The same with E entries a cell.
    fn read_each<const E: usize>(
        &self,
        group: &Group,
        table: &[f64],
        replica: usize,
        to: &mut [f64],
    ) {
        let histories = self.histories(E);
        let (cells, _) = to.as_chunks_mut::<E>();
        for (n, cells) in cells.chunks_exact_mut(group.histories).enumerate() {
            let WindowPlace { first, width } = self.window(group, E, n, replica);
            for (&start, cell) in histories.iter().zip(cells) {
                let place = first + start * width;
                let from = &table[place..][..(E - 1) * width + 1];
                *cell = std::array::from_fn(|action| from[action * width]);
            }
        }
    }

    /// Copies rows with E entries a cell, in the order of the cells, into the group's part of a
    /// table; what is below `least` becomes zero.
    fn write_each<const E: usize>(
        &self,
        group: &Group,
        from: &[f64],
        replica: usize,
        table: &mut [f64],
        least: f64,
    ) {
        let histories = self.histories(E);
        let (cells, _) = from.as_chunks::<E>();
        for (n, cells) in cells.chunks_exact(group.histories).enumerate() {
            let WindowPlace { first, width } = self.window(group, E, n, replica);
            for (&start, cell) in histories.iter().zip(cells) {
                let place = first + start * width;
                let to = &mut table[place..][..(E - 1) * width + 1];
                for (action, &from) in cell.iter().enumerate() {
                    to[action * width] = flushed(from, least);
                }
            }
        }
    }

    /// Its panels by width, in tables with q actions a cell.
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
