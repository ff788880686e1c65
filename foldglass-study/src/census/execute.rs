//! Counts the parts that are not counted yet, on several threads.

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use foldglass::landscape::census::{Census, Count, Demands, Survey};
use foldglass::watch::{Observer, Tally};
use foldglass::{Allowance, Class, Reward};

use super::store::{CensusManifest, Parts, Store, sum};
use super::{Part, PartRecord};
use crate::error::Error;
use crate::parallel::{fitting, in_order};
use crate::plan::Shard;

/// How a census is taken; none of it shows in the counts.
#[derive(Debug, Clone)]
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

/// The most codes that are kept to find a barrier, where none is said.
pub const BARRIER_CAP: usize = 4_000_000;

/// About what a code takes that is kept to find a barrier.
const BARRIER_BYTES: u128 = 128;

/// Finished parts are written this often.
const WRITTEN_EVERY: Duration = Duration::from_millis(200);

/// A census that is prepared: how many codes and parts, how many threads, how much memory.
pub struct CensusPlan {
    survey: Survey,
    tolerance: Reward,
    /// The threads that memory allows.
    pub threads: usize,
    /// The most bytes that they take, the traps and their shelves aside: first they visit codes,
    /// then they find barriers.
    pub bytes: u128,
}

impl CensusPlan {
    /// Prepares the census of a class; a change of the reward by up to `tolerance` counts as none.
    pub fn new(
        class: &Class,
        tolerance: &Reward,
        options: &CensusOptions,
    ) -> Result<CensusPlan, Error> {
        let survey = Survey::new(class, tolerance, options.allowance)?;
        let each = survey
            .bytes()
            .max(options.barrier_cap as u128 * BARRIER_BYTES);
        let what = "a thread of a census";
        let threads = fitting(options.threads, what, Some(each), options.allowance)?;
        Ok(CensusPlan {
            survey,
            tolerance: tolerance.clone(),
            threads,
            bytes: each * threads as u128,
        })
    }

    /// The survey.
    pub fn survey(&self) -> &Survey {
        &self.survey
    }

    /// The survey alone.
    pub(super) fn into_survey(self) -> Survey {
        self.survey
    }

    /// All parts, the sets of endings included.
    pub fn parts(&self) -> usize {
        self.survey.endings() + self.survey.parts()
    }
}

/// What a count came to.
pub enum Counted {
    /// All codes are counted.
    Whole(Box<Census>, Count),
    /// The shard is counted, and other shards are missing.
    Shard,
    /// It was stopped when so many parts were counted; the same call goes on where records are kept.
    Stopped {
        /// Parts of the shard that are counted, now or before.
        parts: usize,
        /// Of so many in the shard.
        of: usize,
    },
}

/// Counts what is not recorded yet.
pub fn count(
    plan: CensusPlan,
    options: &CensusOptions,
    observer: &dyn Observer,
) -> Result<Counted, Error> {
    let manifest = CensusManifest::new(&plan.survey, &plan.tolerance);
    let (store, parts) = match &options.out {
        Some(out) => {
            let (store, parts) = Store::open(out, &manifest, options.shard, observer)?;
            (Some(store), parts)
        }
        None => (None, Parts::new()),
    };
    let (all, endings) = (plan.parts(), plan.survey.endings());
    let mut taking = Taking {
        threads: plan.threads,
        parts,
        store,
    };
    // Every shard needs what all endings demand.
    let mine = |number: &usize| *number < endings || is_mine(options.shard, number - endings);
    let wanted: Vec<usize> = (0..all).filter(mine).collect();
    let todo = |taking: &Taking, range: std::ops::Range<usize>| -> Vec<usize> {
        let left = wanted
            .iter()
            .copied()
            .filter(|number| range.contains(number));
        left.filter(|number| !taking.parts.contains_key(number))
            .collect()
    };
    // Whoever reads of parts, in the progress or when it was stopped, reads of the same ones.
    let counted = |taking: &Taking| wanted.len() - todo(taking, 0..all).len();
    let tally = Tally::new(observer, "parts", Some(wanted.len() as u64));
    let tally = tally.since(counted(&taking) as u64);
    let stopped = |taking: &Taking| Counted::Stopped {
        parts: counted(taking),
        of: wanted.len(),
    };
    let list = todo(&taking, 0..endings);
    taking.endings(&plan.survey, &list, &tally)?;
    if !todo(&taking, 0..endings).is_empty() {
        return Ok(stopped(&taking));
    }
    let mut demands = Demands::default();
    for part in taking
        .parts
        .values()
        .filter_map(|part| part.demands.clone())
    {
        demands += part;
    }
    let census = plan.survey.learned(demands);
    let list = todo(&taking, endings..all);
    taking.others(&census, endings, &list, &tally)?;
    if !todo(&taking, endings..all).is_empty() {
        return Ok(stopped(&taking));
    }
    if taking.parts.len() < all {
        return Ok(Counted::Shard);
    }
    let (count, _) = sum(taking.parts);
    Ok(Counted::Whole(Box::new(census), count))
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
    /// Visits sets of endings; those that were stopped stay out.
    fn endings(&mut self, survey: &Survey, list: &[usize], tally: &Tally<'_>) -> Result<(), Error> {
        let visitors = Pool::new(|| survey.visitor(tally));
        let job = |number| {
            visitors.with(tally, |visitor| {
                let (count, demands) = visitor.ending(number)?;
                let demands = Some(demands);
                Some(Part { count, demands })
            })
        };
        self.take(list, job)
    }

    /// Counts the other parts; those that were stopped stay out.
    fn others(
        &mut self,
        census: &Census,
        endings: usize,
        list: &[usize],
        tally: &Tally<'_>,
    ) -> Result<(), Error> {
        let visitors = Pool::new(|| census.visitor(tally));
        let job = |number: usize| {
            visitors.with(tally, |visitor| {
                let count = visitor.part(number - endings)?;
                Some(Part {
                    count,
                    demands: None,
                })
            })
        };
        self.take(list, job)
    }

    /// Does parts on all threads, and keeps them as they come.
    fn take(
        &mut self,
        list: &[usize],
        job: impl Fn(usize) -> Option<Part> + Sync,
    ) -> Result<(), Error> {
        let (mut waiting, mut written) = (Vec::new(), Instant::now());
        let Taking {
            threads,
            parts,
            store,
        } = self;
        in_order(
            *threads,
            list.len(),
            |n| Ok(job(list[n]).map(|part| (list[n], part))),
            |(number, part)| {
                if let Some(store) = store.as_mut() {
                    waiting.push(PartRecord::new(number, &part));
                    if written.elapsed() > WRITTEN_EVERY {
                        store.keep(&waiting)?;
                        waiting.clear();
                        written = Instant::now();
                    }
                }
                parts.insert(number, part);
                Ok(())
            },
        )?;
        match store {
            Some(store) => store.keep(&waiting),
            None => Ok(()),
        }
    }
}

/// Visitors that no thread uses at the moment.
struct Pool<V, F> {
    make: F,
    idle: Mutex<Vec<V>>,
}

impl<V, F: Fn() -> V> Pool<V, F> {
    fn new(make: F) -> Pool<V, F> {
        Pool {
            make,
            idle: Mutex::new(Vec::new()),
        }
    }

    /// Does a job with a visitor, unless it was to stop.
    fn with<T>(&self, tally: &Tally<'_>, job: impl FnOnce(&mut V) -> Option<T>) -> Option<T> {
        if tally.add(0).is_break() {
            return None;
        }
        let idle = self.idle.lock().expect("no panic while it is held").pop();
        let mut visitor = idle.unwrap_or_else(&self.make);
        let done = job(&mut visitor);
        self.idle
            .lock()
            .expect("no panic while it is held")
            .push(visitor);
        let _ = tally.add(1);
        done
    }
}
