//! Searches the shelves of codes for an exit (paper, App. G.6).
//!
//! A code is optimal, certified (no path of neutral single-cell changes leads to a raising one),
//! bounded (none was found among as many codes of its shelf as the cap) or escapes.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::Args;
use foldglass::claim::{Finding, Move, Standing, StandingWord, WayOut};
use foldglass::landscape::barrier;
use foldglass::landscape::shelf::{self, Search, Shelf, Workers};
use foldglass::watch::{Observer, Progress, Stopped};
use foldglass::{Allowance, Class, ClassSpec, Code, Evaluator, Policy, Reward, count};
use foldglass_study::claims::VerdictWriter;
use foldglass_study::parallel::{fitting, in_order, threads};
use foldglass_study::tables::{Source, Tables};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::cli::Settings;
use crate::error::Error;
use crate::flags::{ClassArgs, positive};
use crate::output::Report;
use crate::progress::{Terminal, interrupted};
use crate::report::{Cell, Column, Format, Table};

/// Of many codes, those with more codes on their shelf than this are searched one after the other,
/// with all threads.
const SMALL: u64 = 1000;

/// The flags of `certify`.
#[derive(Debug, Args)]
pub struct CertifyArgs {
    /// Code files, or any that hold codes: what `chain --json`, `cavi --json --actions` or
    /// `enumerate --traps` writes, records that keep codes; FILE#N for one of several, - for stdin;
    /// bare {"actions":[..]} need the class flags; may be repeated
    #[arg(short, long, value_name = "FILE", required = true)]
    code: Vec<Source>,
    /// The most codes of a shelf to search
    #[arg(long, value_name = "N", default_value = "100000", value_parser = cap)]
    #[arg(allow_negative_numbers = true)]
    cap: usize,
    /// Also say how far reward must fall below the shelf before a higher reward can be reached: exact
    /// where a flood of up to --cap codes ends, an upper bound with its path where it does not
    #[arg(long)]
    barrier: bool,
    /// Write the verdicts, with all that `check` needs, to this file
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    class: ClassArgs,
}

fn cap(text: &str) -> Result<usize, String> {
    let most = u32::MAX as usize;
    let number = positive(text).ok().filter(|&n| n <= most);
    number.ok_or(format!("a whole number from 1 to {most} is needed"))
}

/// What a search came to.
struct Found {
    shelf: Shelf,
    /// Whether the user stopped it.
    stopped: bool,
}

impl CertifyArgs {
    /// Reads the codes and searches their shelves.
    pub fn run(&self, settings: &Settings) -> Result<Certified, Error> {
        let (class, codes) = self.codes(settings.seed)?;
        let allowance = self.class.allowance();
        shelf::check_cap(self.cap, allowance)?;
        if self.barrier {
            barrier::check_cap(self.cap, allowance)?;
        }
        let what = format!("searching shelves of {} cells", class.cells());
        let asked = threads(settings.threads, usize::MAX);
        let threads = fitting(asked, &what, count::bytes(&class), allowance)?;
        let mut evaluator = Evaluator::new(&class, allowance)?;
        let mut workers = Workers::new(&class, threads, allowance)?;
        let out = self.out.as_deref();
        let mut out = out
            .map(|path| VerdictWriter::create(path, &class.spec()))
            .transpose()?;
        let observer = Terminal::new();
        let small = self.small(&class, &codes, threads, &observer)?;
        let mut verdicts = Vec::with_capacity(codes.len());
        for (number, (start, small)) in codes.iter().zip(small).enumerate() {
            let found = match small {
                Some(shelf) => Some(Found {
                    shelf,
                    stopped: false,
                }),
                None if interrupted() && codes.len() > 1 => None,
                None => {
                    observer.stage(format!("code {number} of {}", codes.len()));
                    search(&mut workers, start, self.cap, &observer)
                }
            };
            let Some(found) = found else {
                continue;
            };
            let mut line = Line::new(number, found, &mut evaluator);
            if self.barrier {
                observer.stage(format!("barrier of code {number} of {}", codes.len()));
                line.find_way_out(&mut workers, self.cap, &observer);
                line.found.stopped |= interrupted();
            }
            if let Some(out) = &mut out {
                out.write(&line.found.shelf.verdict)?;
            }
            verdicts.push(line);
        }
        out.map(VerdictWriter::finish).transpose()?;
        Ok(Certified {
            codes: codes.len(),
            class,
            barriers: self.barrier,
            verdicts,
        })
    }

    /// The codes of all files, and the one class they are of.
    fn codes(&self, seed: u64) -> Result<(Class, Vec<Code>), Error> {
        let mut all: Option<(Class, Vec<Code>)> = None;
        for source in &self.code {
            let tables = Tables::codes(source)?;
            let class = self.class.class_of(&tables, seed)?;
            let codes = tables.as_codes(&class)?;
            match &mut all {
                None => all = Some((class, codes)),
                Some((first, list)) if *first == class => list.extend(codes),
                Some((first, _)) => {
                    return Err(Error::Usage(format!(
                        "--code {}: it is of {}, and the first file of {}: certify them apart",
                        tables.name(),
                        class.spec(),
                        first.spec()
                    )));
                }
            }
        }
        Ok(all.expect("clap requires a file"))
    }

    /// Searches many codes at once, as far as their shelves are small.
    fn small(
        &self,
        class: &Class,
        codes: &[Code],
        threads: usize,
        observer: &Terminal,
    ) -> Result<Vec<Option<Shelf>>, Error> {
        let mut small = vec![None; codes.len()];
        if codes.len() < threads.max(2) {
            return Ok(small);
        }
        let each = self.class.allowance().shared(threads);
        let job = |number: usize| {
            let mut workers = Workers::new(class, 1, each)?;
            let mut search = Search::new(&mut workers, codes[number].clone(), self.cap);
            let watch = Small {
                terminal: observer,
                done: number as u64,
                all: codes.len() as u64,
            };
            search.explore(&mut workers, &watch);
            if search.is_over() {
                return Ok(Some((number, search.finish())));
            }
            Ok(observer.go_on().is_continue().then_some((number, None)))
        };
        let take = |(number, shelf): (usize, Option<Shelf>)| {
            small[number] = shelf;
            Ok(())
        };
        in_order(threads, codes.len(), job, take)?;
        Ok(small)
    }
}

/// Searches one code with all threads; nothing is found where it is stopped at the first.
fn search(
    workers: &mut Workers,
    start: &Code,
    cap: usize,
    observer: &dyn Observer,
) -> Option<Found> {
    let mut search = Search::new(workers, start.clone(), cap);
    search.explore(workers, observer);
    let stopped = !search.is_over();
    let shelf = search.finish()?;
    Some(Found { shelf, stopped })
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
    let found = search(&mut workers, start, cap, observer).ok_or_else(|| {
        Error::Stopped("stopped before all changes of the code were looked at".to_owned())
    })?;
    let mut line = Line::new(0, found, &mut evaluator);
    if with_barrier {
        barrier::check_cap(cap, allowance)?;
        line.find_way_out(&mut workers, cap, observer);
    }
    Ok(line)
}

/// Gives a shelf up that is not small.
struct Small<'a> {
    terminal: &'a Terminal,
    done: u64,
    all: u64,
}

impl Observer for Small<'_> {
    fn hear(&self, progress: Progress<'_>) -> ControlFlow<()> {
        if progress.all.is_some_and(|found| found > SMALL) {
            return ControlFlow::Break(());
        }
        self.terminal.hear(Progress {
            unit: "codes",
            done: self.done,
            all: Some(self.all),
            share: None,
        })
    }
}

/// Verdicts on codes.
pub struct Certified {
    /// The number of codes, also of those that were not come to.
    codes: usize,
    class: Class,
    /// Whether barriers were asked for.
    barriers: bool,
    verdicts: Vec<Line>,
}

/// What is reported of a code.
pub struct Line {
    /// The code's number.
    code: usize,
    found: Found,
    /// Cells that no rollout of the code consults.
    unvisited: usize,
    /// Whether a barrier was asked for, and searched until some way out was known.
    barrier: bool,
}

impl Line {
    fn new(number: usize, found: Found, evaluator: &mut Evaluator) -> Line {
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

    fn find_way_out(&mut self, workers: &mut Workers, cap: usize, observer: &dyn Observer) {
        let verdict = &mut self.found.shelf.verdict;
        match barrier::way_out(workers, &verdict.start, cap, observer) {
            Ok(way) => {
                verdict.way_out = way;
                self.barrier = true;
            }
            Err(Stopped) => self.found.stopped = true,
        }
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

    /// The barrier, in quanta and how it is known; none of an optimal code, or of one that a stopped
    /// search found no way out of.
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

    /// Its row in a table, which has columns for barriers or not.
    fn row(&self, barriers: bool) -> Vec<Cell> {
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
        if barriers {
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
        Table::new(columns).rows(self.verdicts.iter().map(|line| line.row(self.barriers)))
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
