//! Searches the shelves of codes for an exit (paper, App. G.6).
//!
//! A code is optimal, certified (no path of neutral single-cell changes leads to a raising one),
//! bounded (none was found among as many codes of its shelf as the cap) or escapes.
//!
//! The end of an RLVR run is a policy, and its verdict is that of one code: the greedy one, with ties drawn
//! from the run's stream. Another draw may have another verdict.

use foldglass::Context;
use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::Args;
use foldglass::landscape::barrier;
use foldglass::landscape::shelf::{self, Search, Shelf, Workers};
use foldglass::reward::count::{self, Counter, RewardCounter, WideCounter, is_wide};
use foldglass::support::parallel::in_order;
use foldglass::support::watch::{Observer, Progress};
use foldglass::{Class, Code, Evaluator};
use foldglass_study::claims::VerdictWriter;
use foldglass_study::parallel::{fitting, threads};
use foldglass_study::tables::{Source, TableOrigin, Tables};

use crate::cli::GlobalArgs;
use crate::error::Error;
use crate::flags::{ClassArgs, positive};
use crate::progress::{Terminal, interrupted};
use crate::report::certify::{Certified, CodeReport, SearchResult, search};
use crate::summary;

/// Of many codes, those with more codes on their shelf than this are searched one after the other,
/// with all threads.
const SMALL: u64 = 1000;

/// The flags of `certify`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  foldglass law traps --lengths 8 --inputs markov:9/10 --out trap.json
  foldglass certify --code trap.json --barrier
      Is this code a trap, and how far must the reward fall before it can rise?
  foldglass cavi --task z:5 --lengths 4 --tau 1e-10 --runs 8 --keep-code --json > runs.json
  foldglass certify --code runs.json --out verdicts.json
      Are the codes at which RLVR stopped traps? The verdicts are a file that `check` verifies.")]
pub struct CertifyArgs {
    /// Code files, or any that hold codes: what `chain --json`, `cavi --json --keep-code` or
    /// `enumerate --traps` writes, records that keep codes; FILE#N for one of several, - for stdin;
    /// bare {"actions":[..]} need the class flags; may be repeated. A policy is certified by
    /// its greedy code, with ties drawn from the run's stream
    #[arg(short, long, value_name = "FILE", required = true)]
    code: Vec<Source>,
    /// The most codes that the search of a shelf, or of a barrier, visits
    #[arg(long, alias = "cap", value_name = "N", default_value = "100000", value_parser = max_codes)]
    #[arg(allow_negative_numbers = true)]
    max_codes: usize,
    /// Also print how far reward must fall below the shelf before a higher one can be reached:
    /// exact if a search of up to --max-codes codes ends, else an upper bound with its path
    #[arg(long)]
    barrier: bool,
    /// Print a row for every code, not only for the first 20
    #[arg(short, long)]
    list: bool,
    /// Write the verdicts, with all that `check` needs, to this file
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    class: ClassArgs,
}

fn max_codes(text: &str) -> Result<usize, String> {
    let most = u32::MAX as usize;
    let number = positive(text).ok().filter(|&n| n <= most);
    number.ok_or(format!("a whole number from 1 to {most} is needed"))
}

/// Codes of one class.
struct Given {
    class: Class,
    codes: Vec<Code>,
    /// The run that each is of, where its file states one.
    origins: Vec<Option<TableOrigin>>,
}

impl CertifyArgs {
    /// Reads the codes and searches their shelves.
    pub fn run(&self, settings: &GlobalArgs) -> Result<Certified, Error> {
        let given = self.codes()?;
        match is_wide(&given.class) {
            true => self.certify::<WideCounter>(given, settings),
            false => self.certify::<Counter>(given, settings),
        }
    }

    fn certify<C: RewardCounter>(
        &self,
        given: Given,
        settings: &GlobalArgs,
    ) -> Result<Certified, Error> {
        let Given {
            class,
            codes,
            mut origins,
        } = given;
        let allowance = self.class.allowance();
        shelf::check_cap(self.max_codes, allowance)?;
        if self.barrier {
            barrier::check_cap(self.max_codes, allowance)?;
        }
        let what = format!("searching shelves of {} cells", class.cells());
        let asked = threads(settings.threads, usize::MAX);
        let threads = fitting(asked, &what, count::bytes(&class), allowance)?;
        let mut evaluator = Evaluator::within(&class, allowance)?;
        let mut workers = Workers::<C>::of(
            &class,
            Context::default()
                .with_threads(threads)
                .with_memory(allowance),
        )?;
        let out = self.out.as_deref();
        let mut out = out
            .map(|path| VerdictWriter::create(path, &class.spec()))
            .transpose()?;
        let observer = Terminal::new();
        let small = self.small::<C>(&class, &codes, threads, &observer)?;
        let mut verdicts = Vec::with_capacity(codes.len());
        for (number, (start, small)) in codes.iter().zip(small).enumerate() {
            let found = match small {
                Some(shelf) => Some(SearchResult::new(shelf, false)),
                None if interrupted() && codes.len() > 1 => None,
                None => {
                    observer.stage(format!("code {number} of {}", codes.len()));
                    search(&mut workers, start, self.max_codes, &observer)
                }
            };
            let Some(mut found) = found else {
                continue;
            };
            if self.barrier {
                observer.stage(format!("barrier of code {number} of {}", codes.len()));
                found.find_way_out(&mut workers, self.max_codes, &observer);
                found.stopped |= interrupted();
            }
            if let Some(out) = &mut out {
                out.write(&found.shelf.verdict)?;
            }
            let mut line = CodeReport::new(number, found, &mut evaluator);
            line.origin = origins[number].take();
            verdicts.push(line);
        }
        out.map(VerdictWriter::finish).transpose()?;
        let mut certified = Certified::new(class, codes.len(), self.barrier, verdicts);
        if !self.list {
            certified.shown = summary::LISTED;
        }
        Ok(certified)
    }

    /// The codes of all files, the one class they are of, and the runs they are of.
    fn codes(&self) -> Result<Given, Error> {
        let mut all: Option<Given> = None;
        for source in &self.code {
            let tables = Tables::codes(source)?;
            let class = self.class.class_of(&tables)?;
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
    fn small<C: RewardCounter>(
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
        let job = |number: usize| -> Result<_, Error> {
            let context = Context::default().with_threads(1).with_memory(each);
            let mut workers = Workers::<C>::of(class, context)?;
            let mut search = Search::new(&mut workers, codes[number].clone(), self.max_codes);
            let watch = Small {
                terminal: observer,
                done: number as u64,
                all: codes.len() as u64,
            };
            search.explore(&mut workers, context.with_observer(&watch));
            if search.is_over() {
                return Ok(Some((number, search.finish())));
            }
            Ok(observer.go_on().is_continue().then_some((number, None)))
        };
        let take = |(number, shelf): (usize, Option<Shelf>)| {
            small[number] = shelf;
            Ok(())
        };
        in_order(vec![(); threads], codes.len(), |()| job, take)?;
        Ok(small)
    }
}

/// Gives a shelf up that is not small.
struct Small<'a> {
    terminal: &'a Terminal,
    done: u64,
    all: u64,
}

impl Observer for Small<'_> {
    fn report(&self, progress: Progress<'_>) -> ControlFlow<()> {
        if progress.all.is_some_and(|found| found > SMALL) {
            return ControlFlow::Break(());
        }
        self.terminal.report(Progress {
            unit: "codes",
            done: self.done,
            all: Some(self.all),
            share: None,
        })
    }
}
