//! Searches the shelves of codes for an exit (paper, App. G.6).
//!
//! A code is optimal, certified (no path of neutral single-cell changes leads to a raising one),
//! bounded (none was found among as many codes of its shelf as the cap) or escapes.
//!
//! The end of an RLVR run is a policy, and its verdict is that of one code: the greedy one, with ties drawn
//! from the run's stream. Another draw may have another verdict.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::Args;
use foldglass::claim::{Finding, Move, Standing, StandingWord, WayOut};
use foldglass::landscape::barrier;
use foldglass::landscape::shelf::{self, Search, Shelf, Workers};
use foldglass::stats::{Interval, Proportion};
use foldglass::watch::{Observer, Progress};
use foldglass::{Allowance, Class, ClassSpec, Code, Evaluator, Policy, Reward, count};
use foldglass_study::claims::VerdictWriter;
use foldglass_study::method::shown;
use foldglass_study::parallel::{fitting, in_order, threads};
use foldglass_study::tables::{Origin, Source, Tables};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

use crate::cli::Settings;
use crate::error::Error;
use crate::flags::{ClassArgs, positive};
use crate::output::Report;
use crate::progress::{Terminal, interrupted};
use crate::report::{Cell, Column, Digits, Format, Table};
use crate::summary;

/// Of many codes, those with more codes on their shelf than this are searched one after the other,
/// with all threads.
const SMALL: u64 = 1000;

/// The flags of `certify`.
#[derive(Debug, Args)]
pub struct CertifyArgs {
    /// Code files, or any that hold codes: what `chain --json`, `cavi --json --actions` or
    /// `enumerate --traps` writes, records that keep codes; FILE#N for one of several, - for stdin;
    /// bare {"actions":[..]} need the class flags; may be repeated. Of a policy it is the greedy code,
    /// with ties drawn from the run's stream, that is certified
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
    /// Print a row for every code, not for the first 20 alone
    #[arg(long)]
    list: bool,
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

/// Codes of one class.
struct Given {
    class: Class,
    codes: Vec<Code>,
    /// The run that each is of, where its file states one.
    origins: Vec<Option<Origin>>,
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
        let Given {
            class,
            codes,
            mut origins,
        } = self.codes(settings.seed)?;
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
                Some(shelf) => Found {
                    shelf,
                    stopped: false,
                },
                None if interrupted() && codes.len() > 1 => continue,
                None => {
                    observer.stage(format!("code {number} of {}", codes.len()));
                    search(&mut workers, start, self.cap, &observer)
                }
            };
            let mut line = Line::new(number, found, &mut evaluator);
            line.origin = origins[number].take();
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
            list: self.list,
            verdicts,
        })
    }

    /// The codes of all files, the one class they are of, and the runs they are of.
    fn codes(&self, seed: u64) -> Result<Given, Error> {
        let mut all: Option<Given> = None;
        for source in &self.code {
            let tables = Tables::codes(source)?;
            let class = self.class.class_of(&tables, seed)?;
            let codes = tables.as_codes(&class)?;
            let origins = tables.origins().map(|origin| origin.cloned());
            match &mut all {
                None => {
                    all = Some(Given {
                        origins: origins.collect(),
                        class,
                        codes,
                    });
                }
                Some(first) if first.class == class => {
                    first.codes.extend(codes);
                    first.origins.extend(origins);
                }
                Some(first) => {
                    return Err(Error::Usage(format!(
                        "--code {}: it is of {}, and the first file of {}: certify them apart",
                        tables.name(),
                        class.spec(),
                        first.class.spec()
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
                return Ok(Some((number, Some(search.finish()))));
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

/// Searches one code with all threads.
fn search(workers: &mut Workers, start: &Code, cap: usize, observer: &dyn Observer) -> Found {
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
    /// Whether all rows are printed.
    list: bool,
    verdicts: Vec<Line>,
}

/// What is reported of a code.
pub struct Line {
    /// The code's number.
    code: usize,
    /// The run that the code is of, where its file states one.
    origin: Option<Origin>,
    found: Found,
    /// Cells that no rollout of the code consults.
    unvisited: usize,
    /// Whether a barrier was asked for.
    barrier: bool,
}

impl Line {
    fn new(number: usize, found: Found, evaluator: &mut Evaluator) -> Line {
        let start = &found.shelf.verdict.start;
        evaluator.evaluate(&Policy::deterministic(start));
        let never = (0..start.class().cells()).filter(|&cell| evaluator.visits(cell) == 0.0);
        Line {
            code: number,
            origin: None,
            unvisited: never.count(),
            barrier: false,
            found,
        }
    }

    fn find_way_out(&mut self, workers: &mut Workers, cap: usize, observer: &dyn Observer) {
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

    fn row(&self, origins: bool) -> Vec<Cell> {
        let verdict = match self.found.stopped {
            true => format!("{} so far", self.word()),
            false => self.word().to_owned(),
        };
        let shelf = &self.found.shelf;
        let mut row = vec![self.code.into()];
        if origins {
            row.extend(self.origin_cells());
        }
        row.extend([
            verdict.into(),
            self.reward().to_f64().into(),
            self.reward().into(),
            shelf.size.into(),
            shelf.depth.into(),
            shelf.neutral_moves.into(),
            self.unvisited.into(),
            Cell::or_missing(self.path().map(<[Move]>::len)),
        ]);
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
        if let Some(origin) = &self.origin {
            let Ok(Value::Object(fields)) = serde_json::to_value(origin) else {
                unreachable!("an origin is an object")
            };
            for (key, value) in &fields {
                map.serialize_entry(key, value)?;
            }
        }
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
        let points = self.points();
        if !points.is_empty() {
            map.serialize_entry("points", &points)?;
        }
        if self.interrupted() {
            map.serialize_entry("interrupted", &true)?;
        }
        map.end()
    }
}

/// The verdicts on the codes of one point of a study.
struct Point<'a> {
    origin: &'a Origin,
    /// As many as there are verdicts of each kind.
    counts: [usize; 4],
}

/// The words for verdicts.
const WORDS: [&str; 4] = ["optimal", "certified", "bounded", "escapes"];

/// The level of intervals.
const LEVEL: f64 = 0.95;

impl Point<'_> {
    fn certified(&self) -> Proportion {
        Proportion {
            successes: self.counts[1] as u64,
            trials: self.counts.iter().sum::<usize>() as u64,
        }
    }
}

/// The parameters of a point but its temperature, which has a place of its own.
fn others(origin: &Origin) -> String {
    let others = origin.parameters.iter().filter(|(name, _)| *name != "tau");
    let words: Vec<String> = others
        .map(|(name, value)| format!("{name}={}", shown(value)))
        .collect();
    words.join(" ")
}

impl Serialize for Point<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("method", &self.origin.method)?;
        map.serialize_entry("kind", &self.origin.kind)?;
        map.serialize_entry("tau", &self.origin.tau)?;
        map.serialize_entry("parameters", &self.origin.parameters)?;
        map.serialize_entry("codes", &self.certified().trials)?;
        for (word, count) in WORDS.iter().zip(self.counts) {
            map.serialize_entry(word, &count)?;
        }
        let Interval { low, high } = self.certified().interval(LEVEL);
        map.serialize_entry("certified_low", &low)?;
        map.serialize_entry("certified_high", &high)?;
        map.end()
    }
}

impl Certified {
    /// The points of the runs that the codes are of, in the order of their first codes.
    fn points(&self) -> Vec<Point<'_>> {
        let mut points: Vec<Point<'_>> = Vec::new();
        for line in &self.verdicts {
            let Some(origin) = &line.origin else { continue };
            let known = points.iter().position(|p| p.origin.is_beside(origin));
            let place = known.unwrap_or(points.len());
            if known.is_none() {
                points.push(Point {
                    origin,
                    counts: [0; 4],
                });
            }
            let word = WORDS.iter().position(|&word| word == line.word());
            points[place].counts[word.expect("a verdict")] += 1;
        }
        points
    }

    fn points_table(points: &[Point<'_>]) -> Table {
        let columns = [
            Column::words("method"),
            Column::numbers("tau"),
            Column::words("parameters"),
            Column::numbers("codes"),
        ];
        let columns = columns.into_iter().chain(WORDS.map(Column::numbers));
        let columns = columns.chain([Column::numbers("certified, 95 %").key("interval")]);
        let row = |point: &Point<'_>| {
            let counts = point.counts.map(Cell::from);
            let mut row = vec![
                point.origin.method.clone().into(),
                Cell::or_missing(point.origin.tau),
                others(point.origin).into(),
                point.certified().trials.into(),
            ];
            row.extend(counts);
            row.push(Cell::Interval {
                interval: point.certified().interval(LEVEL),
                digits: Digits::Significant(3),
            });
            row
        };
        Table::new(columns).rows(points.iter().map(row))
    }

    /// Says of the codes of policies which code of each it is.
    fn write_ties(&self, out: &mut dyn Write) -> io::Result<()> {
        let greedy: Vec<&Origin> = (self.verdicts.iter())
            .filter_map(|line| line.origin.as_ref().filter(|origin| origin.greedy))
            .collect();
        if greedy.is_empty() {
            return Ok(());
        }
        let known: Option<Vec<u64>> = greedy.iter().map(|origin| origin.greedy_ties).collect();
        let known = known.and_then(|ties| ties.iter().copied().min().zip(ties.into_iter().max()));
        let drawn = "with ties drawn from the runs' streams: another draw may have another verdict";
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
        Table::new(columns).rows(lines.map(|line| line.row(origins)))
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
        let shown = if self.list {
            usize::MAX
        } else {
            summary::LISTED
        };
        let table = self.table(shown).cut(self.verdicts.len(), "--list");
        table.write_text(out)?;
        let count = |kind| {
            let of = self.verdicts.iter().filter(|line| line.word() == kind);
            format!("{} {kind}", of.count())
        };
        writeln!(out, "\n{}", WORDS.map(count).join(", "))?;
        let points = self.points();
        if points.len() > 1 {
            writeln!(out)?;
            Certified::points_table(&points).write_text(out)?;
            writeln!(out)?;
        }
        self.write_ties(out)?;
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
