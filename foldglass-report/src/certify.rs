//! Searches the shelf of a code for an exit, and says what was found (paper, App. G.6).

use foldglass::Context;
use std::io::{self, Write};
use std::ops::Not;

use foldglass::landscape::barrier;
use foldglass::landscape::shelf::{self, Search, Shelf, Workers};
use foldglass::proof::claim::{Finding, Move, Standing, WayOut};
use foldglass::reward::count::{Counter, RewardCounter, WideCounter, is_wide};
use foldglass::support::stats::{Interval, Proportion};
use foldglass::support::watch::{Observer, Stopped};
use foldglass::{Class, ClassSpec, Code, Evaluator, Policy, Reward, Symbol};
use foldglass_study::method::{Fields, shown};
use foldglass_study::tables::TableOrigin;
use schemars::JsonSchema;
use serde::Serialize;

use crate::INTERVAL_LEVEL;
use crate::error::Error;
use crate::report::Report;
use crate::table::{Cell, Column, Digits, Format, Table};
use crate::words::{self, cell_name};

/// What a search came to.
pub struct SearchResult {
    /// The shelf, as far as it was searched.
    pub shelf: Shelf,
    /// Whether the user stopped it.
    pub stopped: bool,
    /// Whether a way out over a barrier was asked for, and searched until one was known.
    with_barrier: bool,
}

impl SearchResult {
    /// A search of the shelf alone.
    pub fn new(shelf: Shelf, stopped: bool) -> SearchResult {
        SearchResult {
            shelf,
            stopped,
            with_barrier: false,
        }
    }

    /// Searches the way out over a barrier.
    pub fn find_way_out(
        &mut self,
        workers: &mut Workers<impl RewardCounter>,
        cap: usize,
        observer: &dyn Observer,
    ) {
        let verdict = &mut self.shelf.verdict;
        match barrier::way_out(
            workers,
            &verdict.start,
            cap,
            Context::default().with_observer(observer),
        ) {
            Ok(way) => {
                verdict.way_out = way;
                self.with_barrier = true;
            }
            Err(Stopped) => self.stopped = true,
        }
    }
}

/// Searches one code with all threads; nothing is found where it is stopped at the first.
pub fn search(
    workers: &mut Workers<impl RewardCounter>,
    start: &Code,
    cap: usize,
    observer: &dyn Observer,
) -> Option<SearchResult> {
    let mut search = Search::new(workers, start.clone(), cap);
    search.explore(workers, Context::default().with_observer(observer));
    let stopped = !search.is_over();
    let shelf = search.finish()?;
    Some(SearchResult::new(shelf, stopped))
}

/// What is said of one code: its shelf, and its way out over a barrier where that is asked for.
pub fn certify(
    start: &Code,
    cap: usize,
    with_barrier: bool,
    context: Context<'_>,
) -> Result<CodeReport, Error> {
    match is_wide(start.class()) {
        true => certify_by::<WideCounter>(start, cap, with_barrier, context),
        false => certify_by::<Counter>(start, cap, with_barrier, context),
    }
}

fn certify_by<C: RewardCounter>(
    start: &Code,
    cap: usize,
    with_barrier: bool,
    context: Context<'_>,
) -> Result<CodeReport, Error> {
    let class = start.class();
    shelf::check_cap(cap, context.memory)?;
    let mut evaluator = Evaluator::within(class, context.memory)?;
    let mut workers = Workers::<C>::of(class, context)?;
    let mut found = search(&mut workers, start, cap, context.observer).ok_or_else(|| {
        Error::Stopped("stopped before all changes of the code were looked at".to_owned())
    })?;
    if with_barrier {
        barrier::check_cap(cap, context.memory)?;
        found.find_way_out(&mut workers, cap, context.observer);
    }
    Ok(CodeReport::new(0, found, &mut evaluator))
}

/// Verdicts on codes.
#[derive(JsonSchema, Serialize)]
pub struct Certified {
    /// What was found of each code that was come to.
    verdicts: Vec<CodeReport>,
    /// The points of the runs that the codes are of, in the order of their first codes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    points: Vec<Point>,
    #[serde(skip_serializing_if = "Not::not")]
    interrupted: bool,
    /// Rows to print.
    #[serde(skip)]
    pub shown: usize,
    #[serde(skip)]
    class: Class,
    /// Whether barriers were asked for.
    #[serde(skip)]
    barriers: bool,
}

/// What is reported of a code.
#[derive(JsonSchema, Serialize)]
pub struct CodeReport {
    /// The code's number.
    code: usize,
    /// The run that the code is of, where its file states one.
    #[serde(flatten)]
    pub origin: Option<TableOrigin>,
    verdict: &'static str,
    /// Codes of its shelf that were found.
    shelf: usize,
    reward_exact: Reward,
    depth: usize,
    neutral_moves: usize,
    /// Cells that no rollout of the code consults.
    unvisited: usize,
    /// The moves to a raise.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<Vec<Move>>,
    /// Where one was asked for; an optimal code has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    barrier: Option<Option<Reward>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    barrier_is: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    flooded: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    way_out: Option<Vec<Move>>,
    #[serde(skip_serializing_if = "Not::not")]
    interrupted: bool,
    actions: Vec<Symbol>,
    /// The barrier over the smallest difference of rewards.
    #[serde(skip)]
    quanta: Option<String>,
}

impl CodeReport {
    /// What a search found of the code of this number.
    pub fn new(number: usize, found: SearchResult, evaluator: &mut Evaluator) -> CodeReport {
        let SearchResult {
            shelf,
            stopped,
            with_barrier,
        } = found;
        let verdict = shelf.verdict;
        let class = verdict.start.class();
        evaluator.evaluate(&Policy::deterministic(&verdict.start));
        let never = (0..class.cells()).filter(|&cell| evaluator.visits(cell) == 0.0);
        let way = verdict.way_out;
        let word = |way: &WayOut| way.standing.name();
        CodeReport {
            code: number,
            origin: None,
            verdict: verdict.finding.name(),
            shelf: shelf.size,
            depth: shelf.depth,
            neutral_moves: shelf.neutral_moves,
            unvisited: never.count(),
            path: match verdict.finding {
                Finding::Escapes { moves } => Some(moves),
                _ => None,
            },
            barrier: with_barrier.then(|| way.as_ref().map(|way| way.height.clone())),
            barrier_is: with_barrier.then(|| way.as_ref().map_or("exact", word)),
            flooded: way.as_ref().and_then(|way| match way.standing {
                Standing::Exact { codes } => Some(codes),
                Standing::Bound => None,
            }),
            quanta: (way.as_ref())
                .map(|way| way.height.over(&class.task().denominator()).to_string()),
            way_out: way.map(|way| way.moves),
            interrupted: stopped,
            actions: verdict.start.actions().to_vec(),
            reward_exact: verdict.reward,
        }
    }

    /// J of the code.
    pub fn reward(&self) -> &Reward {
        &self.reward_exact
    }

    /// The moves to a raise, where there are some.
    pub fn path(&self) -> Option<&[Move]> {
        self.path.as_deref()
    }

    /// The moves over a barrier, where they were searched and there are some.
    pub fn way_out(&self) -> Option<&[Move]> {
        self.way_out.as_deref()
    }

    /// The barrier, in quanta and how it is known; none of an optimal code, or of one that a stopped
    /// search found no way out of.
    fn barrier_cells(&self) -> [Cell; 4] {
        let (Some(Some(height)), Some(word)) = (&self.barrier, self.barrier_is) else {
            return [Cell::Missing, Cell::Missing, Cell::Missing, Cell::Missing];
        };
        [
            height.to_f64().into(),
            height.into(),
            Cell::or_missing(self.quanta.clone()),
            word.to_string().into(),
        ]
    }

    /// The run, its method and temperature, and the cells whose action was drawn.
    fn origin_cells(&self) -> [Cell; 4] {
        let Some(origin) = &self.origin else {
            return [const { Cell::Missing }; 4];
        };
        let run = origin.id.clone().map(Cell::from);
        [
            run.unwrap_or(Cell::or_missing(origin.run)),
            origin.method.clone().into(),
            Cell::or_missing(origin.tau),
            Cell::or_missing(origin.greedy_ties),
        ]
    }

    /// Its row in a table, which has columns for origins and for barriers or not.
    fn row(&self, origins: bool, barriers: bool) -> Vec<Cell> {
        let verdict = if self.interrupted {
            format!("{} so far", self.verdict)
        } else {
            self.verdict.to_owned()
        };
        let mut row = vec![self.code.into()];
        if origins {
            row.extend(self.origin_cells());
        }
        row.extend([
            verdict.into(),
            self.reward_exact.to_f64().into(),
            (&self.reward_exact).into(),
            self.shelf.into(),
            self.depth.into(),
            self.neutral_moves.into(),
            self.unvisited.into(),
            Cell::or_missing(self.path().map(<[Move]>::len)),
        ]);
        if barriers {
            row.extend(self.barrier_cells());
        }
        row
    }
}

/// The words for verdicts.
const WORDS: [&str; 4] = ["optimal", "certified", "bounded", "escapes"];

/// The verdicts on the codes of one point of a study.
#[derive(JsonSchema, Serialize)]
struct Point {
    method: String,
    kind: String,
    tau: Option<f64>,
    parameters: Fields,
    codes: u64,
    optimal: u64,
    certified: u64,
    bounded: u64,
    escapes: u64,
    certified_low: f64,
    certified_high: f64,
}

impl Point {
    fn of(origin: &TableOrigin, lines: &[&CodeReport]) -> Point {
        let [optimal, certified, bounded, escapes] = WORDS.map(|word| {
            let such = lines.iter().filter(|line| line.verdict == word);
            such.count() as u64
        });
        let share = Proportion {
            successes: certified,
            trials: lines.len() as u64,
        };
        let Interval { low, high } = share.interval(INTERVAL_LEVEL);
        Point {
            method: origin.method.clone(),
            kind: origin.kind.clone(),
            tau: origin.tau,
            parameters: origin.parameters.clone(),
            codes: share.trials,
            optimal,
            certified,
            bounded,
            escapes,
            certified_low: low,
            certified_high: high,
        }
    }

    /// The points of the runs that codes are of, in the order of their first codes.
    fn all(verdicts: &[CodeReport]) -> Vec<Point> {
        let mut groups: Vec<(&TableOrigin, Vec<&CodeReport>)> = Vec::new();
        for line in verdicts {
            let Some(origin) = &line.origin else { continue };
            let known = groups.iter_mut().find(|(first, _)| first.is_beside(origin));
            match known {
                Some((_, lines)) => lines.push(line),
                None => groups.push((origin, vec![line])),
            }
        }
        (groups.iter())
            .map(|(origin, lines)| Point::of(origin, lines))
            .collect()
    }

    /// The parameters but the temperature, which has a place of its own.
    fn others(&self) -> String {
        let others = self.parameters.iter().filter(|(name, _)| *name != "tau");
        let words: Vec<String> = others
            .map(|(name, value)| format!("{name}={}", shown(value)))
            .collect();
        words.join(" ")
    }

    fn table(points: &[Point]) -> Table {
        let columns = [
            Column::words("method"),
            Column::numbers("tau"),
            Column::words("parameters"),
            Column::numbers("codes"),
        ];
        let columns = columns.into_iter().chain(WORDS.map(Column::numbers));
        let interval = format!("certified, {} %", 100.0 * INTERVAL_LEVEL);
        let columns = columns.chain([Column::numbers(&interval).key("interval")]);
        let row = |point: &Point| -> [Cell; 9] {
            [
                point.method.clone().into(),
                Cell::or_missing(point.tau),
                point.others().into(),
                point.codes.into(),
                point.optimal.into(),
                point.certified.into(),
                point.bounded.into(),
                point.escapes.into(),
                Cell::Interval {
                    interval: Interval {
                        low: point.certified_low,
                        high: point.certified_high,
                    },
                    digits: Digits::Significant(3),
                },
            ]
        };
        Table::new(columns).rows(points.iter().map(row))
    }
}

impl Certified {
    /// Of so many codes of a class, of which these were come to.
    pub fn new(class: Class, codes: usize, barriers: bool, verdicts: Vec<CodeReport>) -> Certified {
        Certified {
            interrupted: verdicts.len() < codes || verdicts.iter().any(|line| line.interrupted),
            points: Point::all(&verdicts),
            verdicts,
            shown: usize::MAX,
            class,
            barriers,
        }
    }

    /// Says of the codes of policies which code of each it is.
    fn write_ties(&self, out: &mut dyn Write) -> io::Result<()> {
        let greedy: Vec<&TableOrigin> = (self.verdicts.iter())
            .filter_map(|line| line.origin.as_ref().filter(|origin| origin.is_greedy))
            .collect();
        if greedy.is_empty() {
            return Ok(());
        }
        let known: Option<Vec<u64>> = greedy.iter().map(|origin| origin.greedy_ties).collect();
        let known = known.and_then(|ties| ties.iter().copied().min().zip(ties.into_iter().max()));
        let drawn = "with ties drawn at random: another draw may have another verdict";
        let ties = match known {
            None => format!("{drawn} (the file does not state how many cells were tied)"),
            Some((_, 0)) => "in which no cell was tied".to_owned(),
            Some((least, most)) if least == most => {
                format!("{drawn} ({least} cells were tied in each)")
            }
            Some((least, most)) => format!("{drawn} ({least} to {most} cells were tied)"),
        };
        writeln!(
            out,
            "{} of these codes are greedy codes of policies, {ties}",
            greedy.len()
        )
    }

    /// Moves in words: `(2, 0, 1): 0 → 1, J = 41/50 = 0.82`.
    fn write_moves(&self, moves: &[Move], out: &mut dyn Write) -> io::Result<()> {
        let cell = if self.class.shape().tied {
            "(x, y)"
        } else {
            "(t, x, y)"
        };
        writeln!(out, "  cell {cell}: token before → after, then the reward")?;
        for m in moves {
            let name = cell_name(&self.class.key(m.cell));
            let reward = words::reward(&m.reward);
            writeln!(out, "  {name}: {} → {}, J = {reward}", m.from, m.to)?;
        }
        Ok(())
    }

    fn table(&self, shown: usize) -> Table {
        let origins = self.verdicts.iter().any(|line| line.origin.is_some());
        let mut heads = vec!["code"];
        if origins {
            heads.extend(["run", "method", "tau", "ties"]);
        }
        heads.extend([
            "verdict",
            "J",
            "exact",
            "shelf",
            "depth",
            "neutral",
            "unvisited",
            "path",
        ]);
        if self.barriers {
            heads.extend(["barrier", "barrier exact", "quanta", "barrier is"]);
        }
        let columns = heads.into_iter().map(Column::numbers);
        let lines = self.verdicts.iter().take(shown);
        Table::new(columns).rows(lines.map(|line| line.row(origins, self.barriers)))
    }
}

impl Certified {
    /// What else can be asked of these codes.
    fn write_hints(&self, out: &mut dyn Write) -> io::Result<()> {
        let has = |kind| self.verdicts.iter().any(|line| line.verdict == kind);
        if has("certified") && !self.barriers {
            writeln!(
                out,
                "--barrier prints how far J must fall before it can rise, of a single code also the way out"
            )?;
        }
        if has("escapes") && self.verdicts.len() > 1 {
            writeln!(
                out,
                "--code FILE#N, one code alone, prints the path to a higher reward; `escape` leads on to J = 1"
            )?;
        }
        Ok(())
    }
}

impl Report for Certified {
    fn class(&self) -> Option<ClassSpec> {
        Some(self.class.spec())
    }

    fn tables(&self, _: Format) -> Vec<Table> {
        vec![self.table(usize::MAX)]
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let table = self.table(self.shown).cut(self.verdicts.len(), "--list");
        table.write_text(out)?;
        let count = |kind| {
            let of = self.verdicts.iter().filter(|line| line.verdict == kind);
            format!("{} {kind}", of.count())
        };
        writeln!(out, "\n{}", WORDS.map(count).join(", "))?;
        writeln!(
            out,
            "(certified: a trap; escapes: changes that never lower J lead to a higher reward; bounded: not decided.\n \
             shelf: codes of this J that such changes reach; depth: changes to the furthest; neutral: single changes that keep J;\n \
             unvisited: cells that no input consults; path: changes to the higher J{})",
            match self.barriers {
                true =>
                    ";\n barrier: how far J must fall before it can rise; quanta: the same in units of 1 over the denominator",
                false => "",
            }
        )?;
        if self.points.len() > 1 {
            writeln!(out)?;
            Point::table(&self.points).write_text(out)?;
            writeln!(out)?;
        }
        self.write_ties(out)?;
        let free = self
            .verdicts
            .iter()
            .filter(|line| line.verdict == "bounded");
        if let Some(most) = free.map(|line| line.unvisited).max().filter(|&n| n > 0) {
            writeln!(
                out,
                "a cell that no rollout consults may take any action: {most} of them alone make \
                 a shelf of {}^{most} codes",
                self.class.q()
            )?;
        }
        self.write_hints(out)?;
        let [line] = &self.verdicts[..] else {
            return Ok(());
        };
        if let Some(path) = line.path() {
            writeln!(out, "\nA path to a higher reward that never lowers J:")?;
            self.write_moves(path, out)?;
        }
        if let Some(way) = line.way_out().filter(|_| line.path().is_none()) {
            writeln!(out, "\nThe way out:")?;
            self.write_moves(way, out)?;
        }
        Ok(())
    }

    fn interrupted(&self) -> bool {
        self.interrupted
    }
}
