//! Searches the shelf of a code for an exit, and says what was found (paper, App. G.6).

use std::io::{self, Write};

use foldglass::claim::{Finding, Move, Standing, StandingWord, WayOut};
use foldglass::landscape::barrier;
use foldglass::landscape::shelf::{self, Search, Shelf, Workers};
use foldglass::watch::Observer;
use foldglass::{Allowance, Class, ClassSpec, Code, Evaluator, Policy, Reward};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::error::Error;
use crate::report::Report;
use crate::table::{Cell, Column, Format, Table};

/// What a search came to.
pub struct Found {
    /// The shelf, as far as it was searched.
    pub shelf: Shelf,
    /// Whether the user stopped it.
    pub stopped: bool,
}

/// Searches one code with all threads.
pub fn search(workers: &mut Workers, start: &Code, cap: usize, observer: &dyn Observer) -> Found {
    let mut search = Search::new(workers, start.clone(), cap);
    search.explore(workers, observer);
    Found {
        stopped: !search.is_over(),
        shelf: search.finish(),
    }
}

/// What is said of one code: its shelf, and its way out over a barrier where that is asked for.
pub fn certify(
    start: &Code,
    cap: usize,
    with_barrier: bool,
    allowance: Allowance,
    observer: &dyn Observer,
) -> Result<Line, Error> {
    let class = start.class();
    shelf::check_cap(cap, allowance)?;
    let mut evaluator = Evaluator::new(class, allowance)?;
    let mut workers = Workers::new(class, 1, allowance)?;
    let found = search(&mut workers, start, cap, observer);
    let mut line = Line::new(0, found, &mut evaluator);
    if with_barrier {
        barrier::check_cap(cap, allowance)?;
        line.find_way_out(&mut workers, cap, observer);
    }
    Ok(line)
}

/// Verdicts on codes.
pub struct Certified {
    /// The number of codes, also of those that were not come to.
    pub codes: usize,
    /// Their class.
    pub class: Class,
    /// Whether barriers were asked for.
    pub barriers: bool,
    /// What was found of each.
    pub verdicts: Vec<Line>,
}

/// What is reported of a code.
pub struct Line {
    /// The code's number.
    code: usize,
    /// What the search of its shelf came to.
    pub found: Found,
    /// Cells that no rollout of the code consults.
    unvisited: usize,
    /// Whether a barrier was asked for.
    barrier: bool,
}

impl Line {
    /// What a search found of the code of this number.
    pub fn new(number: usize, found: Found, evaluator: &mut Evaluator) -> Line {
        let start = &found.shelf.verdict.start;
        evaluator.evaluate(&Policy::deterministic(start));
        let never = (0..start.class().cells()).filter(|&cell| evaluator.visits(cell) == 0.0);
        Line {
            code: number,
            unvisited: never.count(),
            barrier: false,
            found,
        }
    }

    /// Searches the way out over a barrier.
    pub fn find_way_out(&mut self, workers: &mut Workers, cap: usize, observer: &dyn Observer) {
        let verdict = &mut self.found.shelf.verdict;
        verdict.way_out = barrier::way_out(workers, &verdict.start, cap, observer);
        self.barrier = true;
    }

    fn word(&self) -> &'static str {
        self.found.shelf.verdict.finding.name()
    }

    /// J of the code.
    pub fn reward(&self) -> &Reward {
        &self.found.shelf.verdict.reward
    }

    /// The moves to a raise, where there are some.
    pub fn path(&self) -> Option<&[Move]> {
        match &self.found.shelf.verdict.finding {
            Finding::Escapes { moves } => Some(moves),
            _ => None,
        }
    }

    /// The way over a barrier, where it was searched and there is one.
    pub fn way_out(&self) -> Option<&WayOut> {
        self.found.shelf.verdict.way_out.as_ref()
    }

    /// The barrier, in quanta and how it is known; an optimal code has none.
    fn barrier_cells(&self) -> [Cell; 4] {
        let Some(way) = self.way_out() else {
            return [Cell::Missing, Cell::Missing, Cell::Missing, Cell::Missing];
        };
        let denominator = self.found.shelf.verdict.start.class().task().denominator();
        [
            way.height.to_f64().into(),
            (&way.height).into(),
            way.height.over(&denominator).to_string().into(),
            way.standing.word().to_string().into(),
        ]
    }

    fn row(&self) -> Vec<Cell> {
        let verdict = match self.found.stopped {
            true => format!("{} so far", self.word()),
            false => self.word().to_owned(),
        };
        let shelf = &self.found.shelf;
        let mut row = vec![
            self.code.into(),
            verdict.into(),
            self.reward().to_f64().into(),
            self.reward().into(),
            shelf.size.into(),
            shelf.depth.into(),
            shelf.neutral_moves.into(),
            self.unvisited.into(),
            Cell::or_missing(self.path().map(<[Move]>::len)),
        ];
        if self.barrier {
            row.extend(self.barrier_cells());
        }
        row
    }
}

impl Serialize for Line {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let shelf = &self.found.shelf;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("code", &self.code)?;
        map.serialize_entry("verdict", self.word())?;
        map.serialize_entry("shelf", &shelf.size)?;
        map.serialize_entry("reward_exact", self.reward())?;
        map.serialize_entry("depth", &shelf.depth)?;
        map.serialize_entry("neutral_moves", &shelf.neutral_moves)?;
        map.serialize_entry("unvisited", &self.unvisited)?;
        if let Some(path) = self.path() {
            map.serialize_entry("path", path)?;
        }
        if self.barrier {
            let way = self.way_out();
            map.serialize_entry("barrier", &way.map(|way| &way.height))?;
            let word = way.map_or(StandingWord::Exact, |way| way.standing.word());
            map.serialize_entry("barrier_is", &word)?;
        }
        if let Some(way) = self.way_out() {
            if let Standing::Exact { codes } = way.standing {
                map.serialize_entry("flooded", &codes)?;
            }
            map.serialize_entry("way_out", &way.moves)?;
        }
        if self.found.stopped {
            map.serialize_entry("interrupted", &true)?;
        }
        map.serialize_entry("actions", shelf.verdict.start.actions())?;
        map.end()
    }
}

impl Serialize for Certified {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("verdicts", &self.verdicts)?;
        if self.interrupted() {
            map.serialize_entry("interrupted", &true)?;
        }
        map.end()
    }
}

impl Certified {
    fn table(&self) -> Table {
        let mut heads = vec![
            "code",
            "verdict",
            "J",
            "exact",
            "shelf",
            "depth",
            "neutral",
            "unvisited",
            "path",
        ];
        if self.barriers {
            heads.extend(["barrier", "barrier exact", "quanta", "barrier is"]);
        }
        let columns = heads.into_iter().map(Column::numbers);
        Table::new(columns).rows(self.verdicts.iter().map(Line::row))
    }
}

impl Report for Certified {
    fn class(&self) -> Option<ClassSpec> {
        Some(self.class.spec())
    }

    fn tables(&self, _: Format) -> Vec<Table> {
        vec![self.table()]
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        self.table().write_text(out)?;
        let count = |kind| {
            let of = self.verdicts.iter().filter(|line| line.word() == kind);
            format!("{} {kind}", of.count())
        };
        let counts = ["optimal", "certified", "bounded", "escapes"].map(count);
        writeln!(out, "\n{}", counts.join(", "))?;
        let free = self.verdicts.iter().filter(|line| line.word() == "bounded");
        if let Some(most) = free.map(|line| line.unvisited).max().filter(|&n| n > 0) {
            writeln!(
                out,
                "a cell that no rollout consults may take any action: {most} of them alone make \
                 a shelf of {}^{most} codes",
                self.class.q()
            )?;
        }
        let [line] = &self.verdicts[..] else {
            return Ok(());
        };
        let Some(path) = line.path() else {
            return Ok(());
        };
        writeln!(out)?;
        let row = |m: &Move| {
            [
                m.cell.into(),
                m.from.into(),
                m.to.into(),
                (&m.reward).into(),
            ]
        };
        let table = Table::of_numbers(["cell", "from", "to", "J then"]);
        table.rows(path.iter().map(row)).write_text(out)
    }

    fn interrupted(&self) -> bool {
        self.verdicts.len() < self.codes || self.verdicts.iter().any(|line| line.found.stopped)
    }
}
