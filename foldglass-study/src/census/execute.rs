//! Counts the parts that are not counted yet, on several threads.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use foldglass::landscape::census::{Census, Count, Survey};
use foldglass::support::parallel::in_order;
use foldglass::support::watch::{Observer, Tally};
use foldglass::{Allowance, Class, Context, Reward};

use super::PartRecord;
use super::store::{CensusManifest, Parts, Store, sum};
use crate::error::StudyError;
use crate::parallel::fitting;
use crate::plan::Shard;

/// How a census is taken; none of it shows in the counts.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CensusOptions {
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

impl Default for CensusOptions {
    /// All codes, counted in memory on all threads, within 8 GiB.
    fn default() -> CensusOptions {
        let Context {
            memory, threads, ..
        } = Context::default();
        CensusOptions {
            out: None,
            shard: Shard::WHOLE,
            threads,
            allowance: memory,
            barrier_cap: BARRIER_CAP,
        }
    }
}

/// The most codes that are kept to find a barrier, where none is said.
pub const BARRIER_CAP: usize = 4_000_000;

/// About what a code takes that is kept to find a barrier.
const BARRIER_BYTES: u128 = 128;

/// Finished parts are written this often.
const WRITTEN_EVERY: Duration = Duration::from_millis(200);

/// A census that is prepared: how many codes, how many threads, how much memory.
pub struct CensusPlan {
    survey: Survey,
    tolerance: Reward,
    /// The threads that memory allows.
    pub threads: usize,
    /// The most bytes that they take, the traps and their shelves aside: first they visit codes,
    /// then they find barriers.
    pub bytes: u128,
    /// What is left for merged prefixes.
    room: Allowance,
}

impl CensusPlan {
    /// Prepares the census of a class; a change of the reward by up to `tolerance` counts as none.
    pub fn new(
        class: &Class,
        tolerance: &Reward,
        options: &CensusOptions,
    ) -> Result<CensusPlan, StudyError> {
        let survey = Survey::within(class, tolerance, options.allowance)?;
        let each = survey
            .bytes()
            .max(options.barrier_cap as u128 * BARRIER_BYTES);
        let room = options.allowance.0.saturating_sub(each) / 2;
        let (what, rest) = (
            "a thread of a census",
            Allowance(options.allowance.0 - room),
        );
        let threads = fitting(options.threads, what, Some(each), rest)?;
        Ok(CensusPlan {
            survey,
            tolerance: tolerance.clone(),
            threads,
            bytes: each * threads as u128,
            room: Allowance(room),
        })
    }

    /// The survey.
    pub fn survey(&self) -> &Survey {
        &self.survey
    }

    /// Merges prefixes; none when it was stopped.
    pub(super) fn merged(self, observer: &dyn Observer) -> Option<Census> {
        let tally = Tally::new(observer, "parts", None);
        self.survey.merged(self.room, &tally).ok()
    }

    /// Cuts the census as the records of a directory have it, if it has some.
    fn like(self, out: Option<&Path>) -> Result<CensusPlan, StudyError> {
        let Some(out) = out.filter(|out| CensusManifest::is_in(out)) else {
            return Ok(self);
        };
        let steps = CensusManifest::read(out)?.merged();
        Ok(CensusPlan {
            survey: self.survey.at_most(steps),
            ..self
        })
    }
}

/// What a count came to.
pub enum Counted {
    /// All codes are counted.
    Whole(Box<Census>, Count),
    /// The shard is counted, and other shards are missing.
    Shard,
    /// It was stopped while prefixes were merged, before it counted anything.
    Unbegun,
    /// It was stopped after this number of parts; the same call resumes it where records are kept.
    Stopped {
        /// Parts of the shard that are counted, now or before.
        parts: usize,
        /// The number of parts of the shard.
        of: usize,
    },
}

/// Counts what is not recorded yet.
pub fn count(
    plan: CensusPlan,
    options: &CensusOptions,
    observer: &dyn Observer,
) -> Result<Counted, StudyError> {
    let (threads, tolerance) = (plan.threads, plan.tolerance.clone());
    let plan = plan.like(options.out.as_deref())?;
    let Some(census) = plan.merged(observer) else {
        return Ok(Counted::Unbegun);
    };
    let (store, parts) = match &options.out {
        Some(out) => {
            let manifest = CensusManifest::new(&census, &tolerance);
            let (store, parts) = Store::open(out, &manifest, options.shard, observer)?;
            (Some(store), parts)
        }
        None => (None, Parts::new()),
    };
    let mut taking = Taking {
        threads,
        parts,
        store,
    };
    let all = 0..census.parts();
    let wanted: Vec<usize> = all.filter(|&part| is_mine(options.shard, part)).collect();
    let todo = |taking: &Taking| -> Vec<usize> {
        let left = wanted.iter().copied();
        left.filter(|number| !taking.parts.contains_key(number))
            .collect()
    };
    let list = todo(&taking);
    let tally = Tally::new(observer, "parts", Some(wanted.len() as u64));
    let tally = tally.since((wanted.len() - list.len()) as u64);
    taking.take(&census, &list, &tally)?;
    let left = todo(&taking).len();
    if left > 0 {
        return Ok(Counted::Stopped {
            parts: wanted.len() - left,
            of: wanted.len(),
        });
    }
    if taking.parts.len() < census.parts() {
        return Ok(Counted::Shard);
    }
    Ok(Counted::Whole(Box::new(census), sum(taking.parts)))
}

fn is_mine(shard: Shard, number: usize) -> bool {
    number % shard.of == shard.number - 1
}

/// A census being taken.
struct Taking {
    threads: usize,
    parts: Parts,
    store: Option<Store>,
}

impl Taking {
    /// Counts parts on all threads, and keeps them as they come; those that were stopped stay out.
    fn take(
        &mut self,
        census: &Census,
        list: &[usize],
        tally: &Tally<'_>,
    ) -> Result<(), StudyError> {
        let worker = |()| {
            let mut visitor = census.visitor(tally);
            move |n: usize| -> Result<_, StudyError> {
                if tally.add(0).is_break() {
                    return Ok(None);
                }
                let count = visitor.part(list[n]);
                let _ = tally.add(1);
                Ok(count.ok().map(|count| (list[n], count)))
            }
        };
        let (mut waiting, mut written) = (Vec::new(), Instant::now());
        let Taking {
            threads,
            parts,
            store,
        } = self;
        in_order(vec![(); *threads], list.len(), worker, |(number, count)| {
            if let Some(store) = store.as_mut() {
                waiting.push(PartRecord::new(number, &count));
                if written.elapsed() > WRITTEN_EVERY {
                    store.keep(&waiting)?;
                    waiting.clear();
                    written = Instant::now();
                }
            }
            parts.insert(number, count);
            Ok(())
        })?;
        match store {
            Some(store) => store.keep(&waiting),
            None => Ok(()),
        }
    }
}
