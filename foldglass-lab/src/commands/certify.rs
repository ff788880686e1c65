//! Searches the shelves of codes for an exit (paper, App. G.6).
//!
//! A code is optimal, certified (no path of neutral single-cell changes leads to a raising one),
//! bounded (none was found among as many codes of its shelf as the cap) or escapes.

use std::io::{self, Write};
use std::ops::{ControlFlow, Not};
use std::path::PathBuf;

use clap::Args;
use foldglass::class::{Allowance, Class, ClassError};
use foldglass::count::CountError;
use foldglass::evaluate::Evaluator;
use foldglass::landscape::shelf::{self, Search, Shelf, Status, Verdict, Workers};
use foldglass::policy::{Code, Policy};
use foldglass::quasigroup::Symbol;
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::certificate::VerdictWriter;
use crate::cli::Settings;
use crate::error::Error;
use crate::files;
use crate::flags::{ClassArgs, positive};
use crate::output::Report;
use crate::progress::{self, Go, Progress};
use crate::report::{Cell, Table};

/// Of many codes, those with more codes on their shelf than this are searched one after the other,
/// with all threads.
const SMALL: usize = 1000;

/// The flags of `certify`.
#[derive(Debug, Args)]
pub struct CertifyArgs {
    /// A code, {"actions":[..]}, or several: {"codes":[{"actions":[..]},..]}, what `chain --json`
    /// or `cavi --json --actions` prints, or lines of these; - reads stdin; may be repeated
    #[arg(long, value_name = "FILE", required = true)]
    code: Vec<PathBuf>,
    /// The most codes of a shelf to search
    #[arg(long, value_name = "N", default_value = "100000", value_parser = cap)]
    #[arg(allow_negative_numbers = true)]
    cap: usize,
    /// Write the verdicts, with all that `check` needs, to this file
    #[arg(long, value_name = "FILE")]
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
        let class = self.class.class(settings.seed)?;
        let read = self.code.iter().map(|path| files::codes(path, &class));
        let codes = read.collect::<Result<Vec<Vec<Code>>, Error>>()?.concat();
        let allowance = self.class.allowance();
        shelf::check_cap(self.cap, allowance).map_err(refuse)?;
        let threads = progress::threads(settings.threads, usize::MAX);
        let probe = |each| Workers::new(&class, 1, each).map(drop);
        let fit = progress::fitting(threads, allowance, probe, lacks_memory);
        let (threads, each) = fit.map_err(refuse)?;
        let out = self.out.as_deref();
        let mut out = out
            .map(|path| VerdictWriter::create(path, &class))
            .transpose()?;
        let mut evaluator = Evaluator::new(&class, allowance)?;
        let progress = Progress::open();
        let small = self.small(&class, &codes, threads, each, &progress)?;
        let mut workers = Workers::new(&class, threads, allowance).map_err(refuse)?;
        let mut verdicts = Vec::with_capacity(codes.len());
        for (code, (start, small)) in codes.iter().zip(small).enumerate() {
            let found = match small {
                Some(shelf) => Found {
                    shelf,
                    stopped: false,
                },
                None if progress::interrupted() && codes.len() > 1 => continue,
                None => self.search(&mut workers, start, |status| {
                    progress.say(format!(
                        "code {code} of {}: {} codes on its shelf, {} searched",
                        codes.len(),
                        status.found,
                        status.explored
                    ))
                }),
            };
            if let Some(out) = &mut out {
                out.write(start, &found.shelf)?;
            }
            evaluator.evaluate(&Policy::deterministic(&class, start));
            let never = (0..class.cells()).filter(|&cell| evaluator.visits(cell) == 0.0);
            verdicts.push(Line::new(code, found, never.count()));
        }
        out.map(VerdictWriter::finish).transpose()?;
        Ok(Certified {
            codes: codes.len(),
            q: class.q(),
            verdicts,
        })
    }

    /// Searches many codes at once, as far as their shelves are small.
    fn small(
        &self,
        class: &Class,
        codes: &[Code],
        threads: usize,
        each: Allowance,
        progress: &Progress,
    ) -> Result<Vec<Option<Shelf>>, Error> {
        let mut small = vec![None; codes.len()];
        if codes.len() < threads.max(2) {
            return Ok(small);
        }
        let job = |number: usize| {
            let mut workers = Workers::new(class, 1, each).map_err(refuse)?;
            let mut search = Search::new(&mut workers, codes[number].clone(), self.cap);
            search.explore(&mut workers, |status| {
                let go = progress.say(format!("code {number} of {}", codes.len()));
                match go == Go::On && status.found <= SMALL {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                }
            });
            Ok(match search.is_over() {
                true => Some((number, Some(search.finish()))),
                false => progress::interrupted().not().then_some((number, None)),
            })
        };
        let take = |(number, shelf): (usize, Option<Shelf>)| {
            small[number] = shelf;
            Ok(())
        };
        progress::in_order(threads, codes.len(), job, take)?;
        Ok(small)
    }

    /// Searches one code with all threads.
    fn search(&self, workers: &mut Workers, start: &Code, say: impl Fn(Status) -> Go) -> Found {
        let mut search = Search::new(workers, start.clone(), self.cap);
        search.explore(workers, |status| match say(status) {
            Go::On => ControlFlow::Continue(()),
            Go::Stop => ControlFlow::Break(()),
        });
        Found {
            stopped: !search.is_over(),
            shelf: search.finish(),
        }
    }
}

fn lacks_memory(error: &CountError) -> bool {
    matches!(error, CountError::TooLarge(ClassError::TooLarge { .. }))
}

fn refuse(error: CountError) -> Error {
    match error {
        CountError::TooLarge(error) => Error::Class(error),
        error => Error::Usage(format!("--lengths: {error}")),
    }
}

/// Verdicts on codes.
pub struct Certified {
    /// The number of codes, also of those that were not come to.
    codes: usize,
    q: usize,
    verdicts: Vec<Line>,
}

/// What is reported of a code.
struct Line {
    /// The code's number.
    code: usize,
    verdict: &'static str,
    shelf: usize,
    reward: f64,
    reward_exact: String,
    depth: usize,
    neutral_moves: usize,
    /// Cells that no rollout of the code consults.
    unvisited: usize,
    path: Option<Vec<Step>>,
    stopped: bool,
}

#[derive(serde::Serialize)]
struct Step {
    cell: usize,
    from: Symbol,
    to: Symbol,
    reward_exact: String,
}

impl Line {
    fn new(code: usize, found: Found, unvisited: usize) -> Line {
        let Found { shelf, stopped } = found;
        let (verdict, path) = match &shelf.verdict {
            Verdict::Optimal => ("optimal", None),
            Verdict::Certified => ("certified", None),
            Verdict::Bounded { .. } => ("bounded", None),
            Verdict::Escapes { path, reward } => {
                let neutral = path.len() - 1;
                let rewards = std::iter::repeat_n(&shelf.reward, neutral).chain([reward]);
                let step = |(change, reward): (&shelf::Change, &dyn ToString)| Step {
                    cell: change.cell,
                    from: change.from,
                    to: change.to,
                    reward_exact: reward.to_string(),
                };
                let rewards = rewards.map(|reward| reward as &dyn ToString);
                (
                    "escapes",
                    Some(path.iter().zip(rewards).map(step).collect()),
                )
            }
        };
        Line {
            code,
            verdict,
            shelf: shelf.size(),
            reward: shelf.reward.to_f64(),
            reward_exact: shelf.reward.to_string(),
            depth: shelf.depth,
            neutral_moves: shelf.neutral_moves,
            unvisited,
            path,
            stopped,
        }
    }

    fn put<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("verdict", self.verdict)?;
        map.serialize_entry("shelf", &self.shelf)?;
        map.serialize_entry("reward_exact", &self.reward_exact)?;
        map.serialize_entry("depth", &self.depth)?;
        map.serialize_entry("neutral_moves", &self.neutral_moves)?;
        map.serialize_entry("unvisited", &self.unvisited)?;
        if let Some(path) = &self.path {
            map.serialize_entry("path", path)?;
        }
        if self.stopped {
            map.serialize_entry("interrupted", &true)?;
        }
        Ok(())
    }

    fn row(&self) -> [Cell; 9] {
        [
            self.code.into(),
            match self.stopped {
                true => format!("{} so far", self.verdict).into(),
                false => self.verdict.into(),
            },
            self.reward.into(),
            Cell::Exact(self.reward_exact.clone()),
            self.shelf.into(),
            self.depth.into(),
            self.neutral_moves.into(),
            self.unvisited.into(),
            Cell::or_missing(self.path.as_ref().map(Vec::len)),
        ]
    }
}

/// One of several, with its number.
struct Numbered<'a>(&'a Line);

impl Serialize for Numbered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("code", &self.0.code)?;
        self.0.put(&mut map)?;
        map.end()
    }
}

impl Serialize for Certified {
    /// One code's verdict stands alone; several stand in a list.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let ([line], 1) = (&self.verdicts[..], self.codes) {
            line.put(&mut map)?;
            return map.end();
        }
        let list: Vec<Numbered> = self.verdicts.iter().map(Numbered).collect();
        map.serialize_entry("verdicts", &list)?;
        if self.interrupted() {
            map.serialize_entry("interrupted", &true)?;
        }
        map.end()
    }
}

impl Report for Certified {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let heads = [
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
        let table = Table::of_numbers(heads).rows(self.verdicts.iter().map(Line::row));
        table.write_text(out)?;
        let count = |kind| {
            let of = self.verdicts.iter().filter(|line| line.verdict == kind);
            format!("{} {kind}", of.count())
        };
        let counts = ["optimal", "certified", "bounded", "escapes"].map(count);
        writeln!(out, "\n{}", counts.join(", "))?;
        let free = self
            .verdicts
            .iter()
            .filter(|line| line.verdict == "bounded");
        if let Some(most) = free.map(|line| line.unvisited).max().filter(|&n| n > 0) {
            writeln!(
                out,
                "a cell that no rollout consults may take any action: {most} of them alone make \
                 a shelf of {}^{most} codes",
                self.q
            )?;
        }
        match &self.verdicts[..] {
            [line] => line.write_path(out),
            _ => Ok(()),
        }
    }

    fn interrupted(&self) -> bool {
        self.verdicts.len() < self.codes || self.verdicts.iter().any(|line| line.stopped)
    }
}

impl Line {
    fn write_path(&self, out: &mut dyn Write) -> io::Result<()> {
        let Some(path) = &self.path else {
            return Ok(());
        };
        writeln!(out)?;
        let row = |step: &Step| {
            [
                step.cell.into(),
                step.from.into(),
                step.to.into(),
                Cell::Exact(step.reward_exact.clone()),
            ]
        };
        let table = Table::of_numbers(["cell", "from", "to", "J then"]);
        table.rows(path.iter().map(row)).write_text(out)
    }
}
