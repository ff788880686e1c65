//! Places every (cell, action) in memory so that windows lie side by side, ready for vectors.
//!
//! A group's table is a stack of planes, one for each (history, action); a plane has a slab for
//! each x_t, and a slab has a lane for each way the rest of the window can read. The fold moves by
//! x_t alone, so within a slab all lanes go through the same arithmetic.
//!
//! The order of the digits of a lane is chosen for the slide from step to step: the newest symbol
//! first where one is drawn, then the symbol about to leave the window, then the rest in time
//! order. Without its newest digit the order is that of the message that the step before sends.

use super::{Group, Window};

/// The longest vector a kernel uses; slabs of more than four lanes are padded to a multiple of it.
pub(crate) const LANES: usize = 8;

/// Where one group lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GroupPlanes {
    /// The offset of its first plane in a table of (cell, action).
    pub base: usize,
    /// The offset of its first plane in a table of cells.
    pub cell_base: usize,
    /// The distance between slabs: the lanes, padded.
    pub slab: usize,
    /// The distance between planes: q slabs.
    pub plane: usize,
    /// Slab offset plus lane of each window (a base-q number, oldest digit first).
    pub place: Vec<u32>,
}

/// Where all groups lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Planes {
    pub groups: Vec<GroupPlanes>,
    /// The size of a table of (cell, action), pads included.
    pub entries: usize,
    /// The size of a table of cells, pads included.
    pub cell_entries: usize,
}

impl Planes {
    pub fn new(q: usize, window: Window, groups: &[Group]) -> Planes {
        let mut planes = Planes { groups: Vec::new(), entries: 0, cell_entries: 0 };
        for group in groups {
            let order = digit_order(window, group.before, group.after);
            let slab = padded(q.pow((order.len() - 1) as u32));
            let plane = q * slab;
            planes.groups.push(GroupPlanes {
                base: planes.entries,
                cell_base: planes.cell_entries,
                slab,
                plane,
                place: places(q, &order, group.before, slab),
            });
            planes.entries += group.histories * q * plane;
            planes.cell_entries += group.histories * plane;
        }
        planes
    }
}

/// The lanes of a slab, padded so that vectors of 8, of 4 or a scalar cover it.
pub(crate) fn padded(lanes: usize) -> usize {
    match lanes {
        1 => 1,
        2..=4 => 4,
        _ => lanes.next_multiple_of(LANES),
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

/// Maps each window to its slab offset plus lane.
fn places(q: usize, order: &[isize], before: usize, slab: usize) -> Vec<u32> {
    let size = order.len();
    let all = q.pow(size as u32);
    let mut weight = vec![0; size];
    let mut lane_weight = 1;
    for &offset in order[1..].iter().rev() {
        weight[(offset + before as isize) as usize] = lane_weight;
        lane_weight *= q;
    }
    weight[before] = slab;
    let place = |w: usize| {
        let mut rest = w;
        (0..size).rev().fold(0, |sum, i| {
            let digit = rest % q;
            rest /= q;
            sum + digit * weight[i]
        })
    };
    (0..all).map(|w| place(w) as u32).collect()
}

/// Where the entries of one cell lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    first: usize,
    plane: usize,
    /// Where the cell lies in a table of cells.
    pub cell: usize,
}

impl Place {
    /// Where an action of the cell lies in a table of (cell, action).
    #[inline]
    pub fn at(&self, action: usize) -> usize {
        self.first + action * self.plane
    }
}

impl Planes {
    /// Where cell number `cell` lies.
    #[inline]
    pub fn place(&self, class: &super::Class, cell: usize) -> Place {
        let number = class.groups().partition_point(|g| g.first_cell <= cell) - 1;
        let (group, planes) = (&class.groups()[number], &self.groups[number]);
        let inner = cell - group.first_cell;
        let lane = planes.place[group.window(inner / group.histories)] as usize;
        let history = inner % group.histories;
        Place {
            first: planes.base + history * class.q() * planes.plane + lane,
            plane: planes.plane,
            cell: planes.cell_base + history * planes.plane + lane,
        }
    }
}
