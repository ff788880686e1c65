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

use super::{Class, Group, Shape, Window};
use std::ops::Range;

/// The lanes of the widest panel.
pub(crate) const PANEL: usize = 8;

/// What a step does with each symbol of its window, told by its position relative to t.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Roles {
    /// The symbol that is gone after the step, where the step sums over it.
    pub leaving: Option<isize>,
    /// The symbol that the step draws.
    pub entering: Option<isize>,
    /// All others, oldest first.
    pub middle: Vec<isize>,
}

impl Roles {
    /// The roles in a window that shows `before` symbols before x_t and `after` behind it.
    pub fn new(reading: Reading, before: usize, after: usize, is_first: bool) -> Roles {
        let Window { past, future } = reading.window;
        let entering = if is_first {
            // Every symbol is new: the newest stands for them.
            Some(after as isize)
        } else if after < future || reading.mixes() {
            None
        } else {
            Some(future as isize)
        };
        let sums = !is_first && before == past && !reading.is_short();
        let leaving = sums.then_some(-(before as isize));
        let all = -(before as isize)..=after as isize;
        Roles {
            middle: all
                .filter(|&offset| Some(offset) != leaving && Some(offset) != entering)
                .collect(),
            leaving,
            entering,
        }
    }

    /// The roles of a group's windows.
    fn of(reading: Reading, group: &Group) -> Roles {
        Roles::new(reading, group.before, group.after, group.tokens == 0)
    }
}

/// How a class reads its inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reading {
    pub window: Window,
    /// Whether a symbol's law depends on the one before.
    pub correlated: bool,
}

impl Reading {
    /// Whether x_t is drawn by a law that depends on a symbol the window no longer shows.
    pub fn mixes(self) -> bool {
        let Window { past, future } = self.window;
        self.correlated && past + future == 0
    }

    /// Whether the symbol that leaves is the one that enters, or decides the weight of it: a step
    /// cannot sum over it then, and the message does.
    fn is_short(self) -> bool {
        let Window { past, future } = self.window;
        past + future <= usize::from(self.correlated)
    }
}

/// Panels of one width, one behind the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Block {
    /// The first lane.
    pub first: usize,
    /// Lanes of a panel: 8, 4 or 1.
    pub width: usize,
    pub panels: usize,
}

impl Block {
    /// Its lanes, idle ones included.
    pub fn lanes(self) -> Range<usize> {
        self.first..self.first + self.panels * self.width
    }
}

/// The lanes of a step, in panels; the last panel may be partly idle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lanes {
    /// Lanes in use.
    pub count: usize,
    pub blocks: Vec<Block>,
    /// The distance between rows of all lanes in an array that is not in panels.
    pub row: usize,
}

impl Lanes {
    pub fn new(count: usize) -> Lanes {
        // One lane too many is a panel of its own; two or more fill a vector well enough.
        let (rest, wide) = (count % PANEL, count / PANEL);
        let widths: &[(usize, usize)] = match rest {
            0 => &[],
            1 => &[(1, 1)],
            2..=4 => &[(4, 1)],
            5 => &[(4, 1), (1, 1)],
            _ => &[(PANEL, 1)],
        };
        let mut blocks: Vec<Block> = Vec::new();
        let mut first = 0;
        for &(width, panels) in [(PANEL, wide)].iter().chain(widths) {
            if panels > 0 {
                blocks.push(Block {
                    first,
                    width,
                    panels,
                });
                first += width * panels;
            }
        }
        // Rows start where a short vector may; a power of two between them would put all of them
        // into few sets of the cache.
        let row = match first.next_multiple_of(4) {
            _ if count == 1 => 1,
            row if row.is_multiple_of(32) => row + 4,
            row => row,
        };
        Lanes { count, blocks, row }
    }

    /// Lanes with the idle ones.
    pub fn padded(&self) -> usize {
        self.blocks.last().map_or(0, |block| block.lanes().end)
    }

    /// Where a lane lies in a table with `vectors` vectors in a panel.
    #[inline]
    pub fn seat(&self, lane: usize, vectors: usize) -> Seat {
        let block = self.blocks.iter().find(|block| lane < block.lanes().end);
        let &Block { first, width, .. } = block.expect("a lane of the step");
        // Widths are powers of two.
        let inner = (lane - first) & (width - 1);
        Seat {
            panel: (lane - inner) * vectors,
            lane: inner,
            width,
        }
    }
}

/// A lane's place in a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seat {
    /// Where its panel starts, in a table of cells.
    pub panel: usize,
    /// Its number there.
    pub lane: usize,
    pub width: usize,
}

impl Seat {
    /// Where the lane of a vector of the panel lies.
    #[inline]
    pub fn at(&self, vector: usize) -> usize {
        self.panel + vector * self.width + self.lane
    }
}

/// The vectors of a panel, told apart by tokens and by the symbols that leave and enter; see the
/// module for their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Vectors {
    /// Histories of the tokens that are remembered beyond the step.
    pub remembered: usize,
    /// Values of the leaving symbol: q, or 1 where the step sums over none.
    pub leaving: usize,
    /// Values of the token that the step forgets: q, or 1 while the memory fills.
    pub forgotten: usize,
    /// Values of the entering symbol: q, or 1 where none enters.
    pub entering: usize,
}

impl Vectors {
    pub fn new(q: usize, roles: &Roles, tokens: usize, memory: usize) -> Vectors {
        let values = |symbol: Option<isize>| if symbol.is_some() { q } else { 1 };
        let forgotten = if tokens == memory { q } else { 1 };
        Vectors {
            remembered: q.pow(tokens as u32) / forgotten,
            leaving: values(roles.leaving),
            forgotten,
            entering: values(roles.entering),
        }
    }

    /// How many there are in a table of cells.
    pub fn count(&self) -> usize {
        self.remembered * self.leaving * self.forgotten * self.entering
    }

    /// How far the leaving symbol moves a vector.
    pub fn leaving_step(&self) -> usize {
        self.forgotten * self.entering
    }

    /// The vector of a history (the forgotten token is its slowest digit), the symbols being 0.
    #[inline]
    pub fn of_history(&self, history: usize) -> usize {
        let (forgotten, remembered) = (history / self.remembered, history % self.remembered);
        (remembered * self.leaving * self.forgotten + forgotten) * self.entering
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
    pub vectors: Vectors,
    /// By window (a base-q number, oldest digit first): where it is found.
    slots: Vec<Slot>,
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
            let lanes = Lanes::new(q.pow(roles.middle.len() as u32) * replicas);
            let vectors = Vectors::new(q, &roles, group.tokens, shape.memory);
            // Every group starts on a line of the cache.
            let cells = (lanes.padded() * vectors.count()).next_multiple_of(PANEL);
            planes.groups.push(GroupPlanes {
                entries: planes.entries..planes.entries + cells * q,
                cells: planes.cell_entries..planes.cell_entries + cells,
                slots: slots(q, group, &roles, &vectors, replicas),
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
            match q {
                2 => planes.write_each::<2>(group, from, replica, table, least),
                3 => planes.write_each::<3>(group, from, replica, table, least),
                5 => planes.write_each::<5>(group, from, replica, table, least),
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

    /// Copies the group's part of a table, with `each` entries a cell, to the order of the cells.
    fn read(&self, group: &Group, each: usize, table: &[f64], replica: usize, to: &mut [f64]) {
        // The loop over a cell is short: known to the compiler it costs a third.
        match each {
            1 => self.read_each::<1>(group, table, replica, to),
            2 => self.read_each::<2>(group, table, replica, to),
            3 => self.read_each::<3>(group, table, replica, to),
            5 => self.read_each::<5>(group, table, replica, to),
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
