//! Splits windows by what a step does with their symbols, and numbers the lanes of vectors (paper,
//! section 2.1). The plan of an evaluation (`evaluate::plan`) explains what they are for.

use crate::model::class::{Group, Window};
use std::ops::Range;

/// The lanes of the widest panel.
pub(crate) const PANEL: usize = 8;

/// The use that a step makes of each symbol of its window, given by its position relative to t.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Roles {
    /// The symbol that no later step reads, where the step sums over it.
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
    pub fn of(reading: Reading, group: &Group) -> Roles {
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

/// Consecutive panels of one width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Block {
    /// The first lane.
    pub first: usize,
    /// Lanes of a panel: 8, 4 or 1.
    pub width: usize,
    pub panels: usize,
}

impl Block {
    /// The lanes of the block, padding included.
    pub fn lanes(self) -> Range<usize> {
        self.first..self.first + self.panels * self.width
    }
}

/// The lanes of a step, in panels; the last panel may have padding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lanes {
    /// Lanes in use.
    pub count: usize,
    pub blocks: Vec<Block>,
    /// The stride between rows of lanes in an array that is not in panels. A lane that is alone in its
    /// panel is not part of these rows: it lies behind all of them.
    pub row: usize,
    /// Whether there is such a lane, the last.
    pub has_lone: bool,
}

impl Lanes {
    /// The lanes of this number of readings of the middle, in panels as wide as the vectors; several replicas of
    /// one reading stay in one panel. The first step sums over nothing: its panels are short and so may be
    /// wide.
    pub fn new(readings: usize, replicas: usize, is_first: bool, width: usize) -> Lanes {
        let widest = if replicas == 1 && !is_first {
            width
        } else {
            PANEL
        };
        Lanes::in_panels(readings * replicas, widest)
    }

    /// Lanes in panels of 8 lanes, or of 4.
    pub fn in_panels(count: usize, widest: usize) -> Lanes {
        let (rest, wide) = (count % widest, count / widest);
        // One remaining lane is a panel of its own; two or more fill a vector well enough.
        // Measured on the paper's 5 x 5 square with AVX-512, as ratios of the time of an evaluation: padding in place of
        // the lone lane takes 1.8 on window (0,0), T = 8, and 1.14 to 1.16 on (0,3), T = 7, and on (2,1). Five lanes in
        // one wide panel take 0.90 of what 4 + 1 take on (1,1), T = 3 to 6, and 0.74 in tabular RLVR.
        let widths: &[(usize, usize)] = match rest {
            0 => &[],
            1 => &[(1, 1)],
            2..=4 => &[(4, 1)],
            _ => &[(PANEL, 1)],
        };
        let mut blocks: Vec<Block> = Vec::new();
        let mut first = 0;
        for &(width, panels) in [(widest, wide)].iter().chain(widths) {
            if panels > 0 {
                blocks.push(Block {
                    first,
                    width,
                    panels,
                });
                first += width * panels;
            }
        }
        let has_lone = blocks.last().is_some_and(|block| block.width == 1);
        // A stride that is a multiple of a power of two would map all rows to few sets of the cache.
        let row = match first - usize::from(has_lone) {
            row if row > 0 && row.is_multiple_of(32) => row + 4,
            row => row,
        };
        Lanes {
            count,
            blocks,
            row,
            has_lone,
        }
    }

    /// The size of an array of `rows` rows of all lanes.
    pub fn size(&self, rows: usize) -> usize {
        rows * (self.row + usize::from(self.has_lone))
    }

    /// The place of a lane of a row in an array of `rows` rows.
    #[inline]
    pub fn place(&self, rows: usize, row: usize, lane: usize) -> usize {
        if self.has_lone && lane + 1 == self.count {
            rows * self.row + row
        } else {
            row * self.row + lane
        }
    }

    /// The number of lanes with padding.
    pub fn padded(&self) -> usize {
        self.blocks.last().map_or(0, |block| block.lanes().end)
    }

    /// The place of a lane in a table with `vectors` vectors in a panel.
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
    /// The start of its panel, in a table of cells.
    pub panel: usize,
    /// The number of the lane in its panel.
    pub lane: usize,
    pub width: usize,
}

impl Seat {
    /// The place of the lane of a vector of the panel.
    #[inline]
    pub fn at(&self, vector: usize) -> usize {
        self.panel + vector * self.width + self.lane
    }
}

/// The vectors of a panel, indexed by tokens and by the symbols that leave and enter; the module
/// `layout` gives their order.
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
