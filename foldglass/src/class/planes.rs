//! Places every (cell, action) in memory so that windows lie side by side, ready for vectors.
//!
//! A group's table has a slab for each x_t and each symbol about to leave the window; a slab has a
//! lane for each way the rest of the window can read. The fold moves by x_t alone, so within a slab
//! all lanes go through the same arithmetic, and what leaves is summed slab by slab. Lanes come in
//! blocks of one vector; a block holds, for each history and action in turn, one vector of lanes,
//! so that a step reads and writes memory from front to back.
//!
//! A table may hold several independent policies, its replicas, side by side: they are the fastest
//! digit of a lane. Narrow windows, whose slabs have few lanes, fill their vectors that way.
//!
//! The other digits of a lane are the newest symbol first, where one is drawn, then the rest in time
//! order. Without its newest digit the order is that of the message that the step before sends.

use super::{Class, Group, Window};
use std::ops::Range;

/// The lanes of a slab, in blocks of one vector; the last block may be partly idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lanes {
    /// Lanes in use.
    pub count: usize,
    /// Lanes of a block: 8, or 4 or 1 where that is enough for all.
    pub width: usize,
    /// Blocks.
    pub blocks: usize,
}

impl Lanes {
    pub fn new(count: usize) -> Lanes {
        let width = match count {
            1 => 1,
            2..=4 => 4,
            _ => 8,
        };
        Lanes {
            count,
            width,
            blocks: count.div_ceil(width),
        }
    }

    /// Lanes with the idle ones.
    pub fn padded(self) -> usize {
        self.width * self.blocks
    }
}

/// Where one group lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GroupPlanes {
    /// Its entries in a table of (cell, action), idle lanes included.
    pub entries: Range<usize>,
    /// Its entries in a table of cells, idle lanes included.
    pub cells: Range<usize>,
    pub lanes: Lanes,
    /// Slab times padded lanes, plus lane, of each window (a base-q number, oldest digit first).
    slots: Vec<u32>,
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
    pub fn new(q: usize, window: Window, groups: &[Group], replicas: usize) -> Planes {
        let mut planes = Planes {
            replicas,
            groups: Vec::new(),
            entries: 0,
            cell_entries: 0,
        };
        for group in groups {
            let digits = Digits::new(window, group.before, group.after);
            let lanes = digits.lanes(q, replicas);
            let cells = digits.slabs(q) * group.histories * lanes.padded();
            planes.groups.push(GroupPlanes {
                entries: planes.entries..planes.entries + cells * q,
                cells: planes.cell_entries..planes.cell_entries + cells,
                lanes,
                slots: slots(q, &digits, group.before, replicas),
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
        let slot = planes.slots[group.window(inner / group.histories)] as usize + replica;
        let width = planes.lanes.width;
        let (block, lane) = (slot / width, slot % width);
        let vector = block * group.histories + inner % group.histories;
        Place {
            first: planes.entries.start + vector * class.q() * width + lane,
            width,
            cell: planes.cells.start + vector * width + lane,
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
        assert_eq!(rows.len(), class.cells() * class.q(), "a row for each cell");
        for (group, planes) in class.groups().iter().zip(&self.groups) {
            let from = &rows[group.first_cell * class.q()..][..group.cells * class.q()];
            let table = &mut table[planes.entries.clone()];
            for (n, from) in from.chunks_exact(group.histories * class.q()).enumerate() {
                let to = &mut table[planes.start(group, class.q(), n, replica)..];
                let to = to.iter_mut().step_by(planes.lanes.width);
                to.zip(from)
                    .for_each(|(to, &from)| *to = if from < least { 0.0 } else { from });
            }
        }
    }
}

impl GroupPlanes {
    /// Where the entries of the group's `n`-th window start, all its histories and what each has
    /// being `width` apart.
    #[inline]
    fn start(&self, group: &Group, each: usize, n: usize, replica: usize) -> usize {
        let slot = self.slots[group.window(n)] as usize + replica;
        let (block, lane) = (slot / self.lanes.width, slot % self.lanes.width);
        block * group.histories * each * self.lanes.width + lane
    }

    /// Copies the group's part of a table, with `each` entries a cell, to the order of the cells.
    fn read(&self, group: &Group, each: usize, table: &[f64], replica: usize, to: &mut [f64]) {
        let entries = group.histories * each;
        for (n, to) in to.chunks_exact_mut(entries).enumerate() {
            let from = &table[self.start(group, each, n, replica)..];
            let from = from.iter().step_by(self.lanes.width);
            to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        }
    }
}

/// The window's positions relative to t, slowest digit first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Digits {
    /// x_t, and the symbol about to leave the window if it is another one.
    pub slab: Vec<isize>,
    /// The others, the newest first if this step draws it.
    pub lane: Vec<isize>,
}

impl Digits {
    pub fn new(window: Window, before: usize, after: usize) -> Digits {
        let (before, after) = (before as isize, after as isize);
        let mut slab = vec![0];
        if before > 0 && before == window.past as isize {
            slab.push(-before);
        }
        let draws = after > 0 && after == window.future as isize;
        let newest = draws.then_some(after);
        let rest =
            (-before..=after).filter(|offset| !slab.contains(offset) && Some(*offset) != newest);
        Digits {
            lane: newest.into_iter().chain(rest).collect(),
            slab,
        }
    }

    /// The number of slabs.
    pub fn slabs(&self, q: usize) -> usize {
        q.pow(self.slab.len() as u32)
    }

    /// The lanes of a slab.
    pub fn lanes(&self, q: usize, replicas: usize) -> Lanes {
        Lanes::new(q.pow(self.lane.len() as u32) * replicas)
    }

    /// How far each digit moves a place, when the lanes of a slab take `slab`.
    pub fn weights(
        &self,
        q: usize,
        slab: usize,
        replicas: usize,
    ) -> impl Iterator<Item = (isize, usize)> {
        let step = |unit: usize| move |(n, &offset): (u32, &isize)| (offset, unit * q.pow(n));
        let lanes = (0..).zip(self.lane.iter().rev()).map(step(replicas));
        lanes.chain((0..).zip(self.slab.iter().rev()).map(step(slab)))
    }
}

/// Maps each window to its slab times padded lanes, plus lane.
fn slots(q: usize, digits: &Digits, before: usize, replicas: usize) -> Vec<u32> {
    let size = digits.slab.len() + digits.lane.len();
    let mut weight = vec![0; size];
    for (offset, step) in digits.weights(q, digits.lanes(q, replicas).padded(), replicas) {
        weight[(offset + before as isize) as usize] = step;
    }
    let slot = |w: usize| {
        let mut rest = w;
        (0..size).rev().fold(0, |sum, i| {
            let digit = rest % q;
            rest /= q;
            sum + digit * weight[i]
        })
    };
    (0..q.pow(size as u32)).map(|w| slot(w) as u32).collect()
}
