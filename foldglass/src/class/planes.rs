//! Places every (cell, action) in memory so that windows lie side by side, ready for vectors.
//!
//! A group's table has a slab for each x_t; a slab has a lane for each way the rest of the window
//! can read. The fold moves by x_t alone, so within a slab all lanes go through the same
//! arithmetic. Lanes come in blocks of one vector; a block holds, for each history and action in
//! turn, one vector of lanes, so that a step reads and writes memory from front to back.
//!
//! The order of the digits of a lane is chosen for the slide from step to step: the newest symbol
//! first where one is drawn, then the symbol about to leave the window, then the rest in time
//! order. Without its newest digit the order is that of the message that the step before sends.

use super::{Class, Group, Window};

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
        Lanes { count, width, blocks: count.div_ceil(width) }
    }

    /// Lanes with the idle ones.
    pub fn padded(self) -> usize {
        self.width * self.blocks
    }
}

/// Where one group lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GroupPlanes {
    /// The offset of its first entry in a table of (cell, action).
    pub base: usize,
    /// The offset of its first entry in a table of cells.
    pub cell_base: usize,
    pub lanes: Lanes,
    /// Slab times padded lanes, plus lane, of each window (a base-q number, oldest digit first).
    slots: Vec<u32>,
}

/// Where all groups lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Planes {
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
    pub fn new(q: usize, window: Window, groups: &[Group]) -> Planes {
        let mut planes = Planes { groups: Vec::new(), entries: 0, cell_entries: 0 };
        for group in groups {
            let order = digit_order(window, group.before, group.after);
            let lanes = Lanes::new(q.pow((order.len() - 1) as u32));
            planes.groups.push(GroupPlanes {
                base: planes.entries,
                cell_base: planes.cell_entries,
                lanes,
                slots: slots(q, &order, group.before, lanes),
            });
            planes.entries += q * lanes.padded() * group.histories * q;
            planes.cell_entries += q * lanes.padded() * group.histories;
        }
        planes
    }

    /// Where cell number `cell` lies.
    #[inline]
    pub fn place(&self, class: &Class, cell: usize) -> Place {
        let number = class.groups().partition_point(|g| g.first_cell <= cell) - 1;
        let (group, planes) = (&class.groups()[number], &self.groups[number]);
        let inner = cell - group.first_cell;
        let slot = planes.slots[group.window(inner / group.histories)] as usize;
        let width = planes.lanes.width;
        let (block, lane) = (slot / width, slot % width);
        let vector = block * group.histories + inner % group.histories;
        Place {
            first: planes.base + vector * class.q() * width + lane,
            width,
            cell: planes.cell_base + vector * width + lane,
        }
    }
}

/// The window's positions relative to t, slowest digit first; position 0 (x_t) always leads.
pub(crate) fn digit_order(window: Window, before: usize, after: usize) -> Vec<isize> {
    let (before, after) = (before as isize, after as isize);
    let mut order = vec![0];
    if after > 0 && after == window.future as isize {
        order.push(after);
    }
    if before > 0 && before == window.past as isize {
        order.push(-before);
    }
    let rest: Vec<_> = (-before..=after).filter(|offset| !order.contains(offset)).collect();
    order.extend(rest);
    order
}

/// Maps each window to its slab times padded lanes, plus lane.
fn slots(q: usize, order: &[isize], before: usize, lanes: Lanes) -> Vec<u32> {
    let size = order.len();
    let mut weight = vec![0; size];
    let mut lane_weight = 1;
    for &offset in order[1..].iter().rev() {
        weight[(offset + before as isize) as usize] = lane_weight;
        lane_weight *= q;
    }
    weight[before] = lanes.padded();
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
