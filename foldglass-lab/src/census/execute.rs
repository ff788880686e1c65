//! Counts the parts that are not counted yet, on several threads.

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use foldglass::class::Allowance;
use foldglass::landscape::census::{Census, Count, Demands, Visitor};

use super::PartRecord;
use super::store::{Manifest, Parts, Store, sum};
use crate::error::Error;
use crate::progress::{self, Go, Progress, in_order};
use crate::study::Shard;

/// How a census is taken; none of it shows in the counts.
#[derive(Debug, Clone)]
pub struct Options {
    /// The directory of its records; none keeps nothing.
    pub out: Option<PathBuf>,
    /// The part of the parts to count.
    pub shard: Shard,
    /// Threads.
    pub threads: usize,
    /// The memory that may be taken.
    pub allowance: Allowance,
    /// The most codes that are kept to find a barrier.
    pub barrier_cap: usize,
}

/// About what a code takes that is kept to find a barrier.
const BARRIER_BYTES: u128 = 128;

/// Finished parts are written this often.
const WRITTEN_EVERY: Duration = Duration::from_millis(200);

impl Options {
    /// The most bytes that a thread takes, the traps and their shelves aside: first it visits codes,
    /// then it finds barriers.
    pub fn bytes(&self, census: &Census) -> u128 {
        census.bytes().max(self.barrier_cap as u128 * BARRIER_BYTES)
    }

    /// As many threads as have the memory they may need.
    pub fn threads(&self, census: &Census) -> Result<usize, Error> {
        let bytes = Some(self.bytes(census));
        let allowed = |each: Allowance| each.check("a thread of a census", bytes);
        let (threads, _) = progress::fitting(
            self.threads,
            self.allowance,
            allowed,
            progress::is_too_large,
        )?;
        Ok(threads)
    }
}

/// Visitors that no thread uses at the moment.
struct Visitors<'a> {
    census: &'a Census,
    idle: Mutex<Vec<Visitor<'a>>>,
}

impl<'a> Visitors<'a> {
    fn new(census: &'a Census) -> Visitors<'a> {
        Visitors {
            census,
            idle: Mutex::new(Vec::new()),
        }
    }

    /// Does a job, unless the user has stopped the work.
    fn job<T>(
        &self,
        progress: &Progress,
        job: impl FnOnce(&mut Visitor<'a>) -> Option<T>,
    ) -> Result<Option<T>, Error> {
        if progress.add(0) == Go::Stop {
            return Ok(None);
        }
        let idle = self.idle.lock().expect("no panic").pop();
        let mut visitor = idle.unwrap_or_else(|| self.census.visitor(progress::interrupted));
        let done = job(&mut visitor);
        self.idle.lock().expect("no panic").push(visitor);
        progress.add(1);
        Ok(done)
    }
}

/// Counts what is not recorded yet. None when only a shard was asked for, and others are missing.
pub fn execute(
    census: &mut Census,
    tolerance: &str,
    options: &Options,
) -> Result<Option<Count>, Error> {
    let threads = options.threads(census)?;
    let (mut store, mut parts) = match &options.out {
        Some(out) => {
            let (store, parts) =
                Store::open(out, &Manifest::new(census, tolerance), options.shard)?;
            (Some(store), parts)
        }
        None => (None, Parts::new()),
    };
    let Shard { number, of } = options.shard;
    let mine = (0..census.parts()).skip(number - 1).step_by(of);
    let todo: Vec<usize> = mine
        .filter(|&part| !parts.contains_key(&Some(part)))
        .collect();
    let endings = !parts.contains_key(&None);
    let progress = Progress::new((census.endings() + todo.len()) as u64, "parts");
    if endings || !todo.is_empty() {
        let (count, demands) = visit_endings(census, threads, &progress)
            .and_then(|found| found.ok_or_else(|| stopped(census, &parts, options)))?;
        census.learn(demands);
        if endings {
            if let Some(store) = &mut store {
                store.keep(&[PartRecord::new(None, &count)])?;
            }
            parts.insert(None, count);
        }
    }
    count_parts(census, &todo, threads, &progress, &mut store, &mut parts)?;
    if progress::interrupted() && todo.iter().any(|&part| !parts.contains_key(&Some(part))) {
        return Err(stopped(census, &parts, options));
    }
    Ok((parts.len() == census.parts() + 1).then(|| sum(parts)))
}

/// None when the user stopped it.
fn visit_endings(
    census: &Census,
    threads: usize,
    progress: &Progress,
) -> Result<Option<(Count, Demands)>, Error> {
    let visitors = Visitors::new(census);
    let (mut count, mut demands, mut done) = (Count::default(), Demands::default(), 0);
    in_order(
        threads,
        census.endings(),
        |ending| visitors.job(progress, |visitor| visitor.ending(ending)),
        |(more, demanded)| {
            count += more;
            demands += demanded;
            done += 1;
            Ok(())
        },
    )?;
    Ok((done == census.endings()).then_some((count, demands)))
}

fn count_parts(
    census: &Census,
    todo: &[usize],
    threads: usize,
    progress: &Progress,
    store: &mut Option<Store>,
    parts: &mut Parts,
) -> Result<(), Error> {
    let visitors = Visitors::new(census);
    let (mut waiting, mut written) = (Vec::new(), Instant::now());
    in_order(
        threads,
        todo.len(),
        |n| visitors.job(progress, |visitor| Some((todo[n], visitor.part(todo[n])?))),
        |(part, count)| {
            if let Some(store) = store.as_mut() {
                waiting.push(PartRecord::new(Some(part), &count));
                if written.elapsed() > WRITTEN_EVERY {
                    store.keep(&waiting)?;
                    waiting.clear();
                    written = Instant::now();
                }
            }
            parts.insert(Some(part), count);
            Ok(())
        },
    )?;
    match store {
        Some(store) => store.keep(&waiting),
        None => Ok(()),
    }
}

fn stopped(census: &Census, parts: &Parts, options: &Options) -> Error {
    let done = parts.keys().filter(|part| part.is_some()).count();
    let all = census.parts();
    Error::Stopped(match &options.out {
        Some(out) => format!(
            "stopped: {done} of {all} parts are recorded in {}; the same command goes on from there",
            out.display()
        ),
        None => format!(
            "stopped after {done} of {all} parts, which are not kept: with --out DIR they are, and \
             the same command goes on"
        ),
    })
}
