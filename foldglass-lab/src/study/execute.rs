//! Does the runs of a study that are not done yet, on several threads.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use foldglass::class::{Allowance, bytes};
use serde::Serialize;

use super::checkpoint::{Checkpoints, Found};
use super::disk::remove_unfinished;
use super::job::Job;
use super::journal::{self, Journal, write_error};
use super::manifest::Key;
use super::pace::{self, Pace, say};
use super::plan::{Plan, Unit};
use super::spec::Study;
use crate::error::Error;

/// How a study is executed; none of it shows in the records.
#[derive(Debug, Clone)]
pub struct Options {
    /// The directory of the records.
    pub out: PathBuf,
    /// Where files that the study names are found from.
    pub base: PathBuf,
    /// The part of the study to do.
    pub shard: Shard,
    /// Threads.
    pub threads: usize,
    /// Units that take longer are saved this often.
    pub checkpoint_every: Duration,
    /// The memory that may be taken.
    pub allowance: Allowance,
    /// Says when to stop.
    pub stop: fn() -> bool,
}

/// One of several parts of a study, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// Which.
    pub number: usize,
    /// Of how many.
    pub of: usize,
}

impl Shard {
    /// All.
    pub const WHOLE: Shard = Shard { number: 1, of: 1 };

    /// Its name in those of files.
    pub fn label(self) -> String {
        format!("{}-of-{}", self.number, self.of)
    }

    /// The file of its records.
    fn file(self) -> String {
        match self {
            Shard::WHOLE => "records.jsonl".to_owned(),
            _ => format!("records-{}.jsonl", self.label()),
        }
    }

    /// Its units: every `of`-th of the study.
    pub fn units(self, plan: &Plan) -> impl Iterator<Item = Unit> {
        plan.units().skip(self.number - 1).step_by(self.of)
    }
}

/// What an execution came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// The file of the records.
    pub records: PathBuf,
    /// Runs of the shard.
    pub runs: u64,
    /// Those that were done before.
    #[serde(rename = "done_before")]
    pub before: u64,
    /// Those that were done now.
    #[serde(rename = "done_now")]
    pub now: u64,
    /// How it ended.
    #[serde(skip)]
    pub end: End,
}

/// How an execution ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// All runs of the shard are done.
    Finished,
    /// It was stopped; the same call goes on.
    Stopped,
}

/// The runs of a study that its directory has records of.
pub fn done(plan: &Plan, out: &Path) -> Result<HashSet<Key>, Error> {
    let mut done = HashSet::new();
    let mut unreadable = 0;
    if out.is_dir() {
        for path in journal::files(out)? {
            unreadable += journal::read(&path, &plan.manifest, |key, _| {
                done.insert(key);
                Ok(())
            })?;
        }
    }
    if unreadable > 0 {
        say(&format!(
            "{unreadable} damaged lines of records are left out; their runs are done again"
        ));
    }
    Ok(done)
}

/// Runs of a list of units, and how many of them are done.
pub fn count(units: impl Iterator<Item = Unit>, done: &HashSet<Key>) -> (u64, u64) {
    let keys = units.flat_map(|unit| unit.keys().collect::<Vec<_>>());
    keys.fold((0, 0), |(all, old), key| {
        (all + 1, old + u64::from(done.contains(&key)))
    })
}

/// The threads that work and memory allow.
pub fn threads(plan: &Plan, units: &[Unit], options: &Options) -> usize {
    let largest = units
        .iter()
        .map(|unit| plan.of(unit).0.memory)
        .max()
        .unwrap_or(0);
    let room = options.allowance.0 / largest.max(1);
    let fitting = usize::try_from(room).unwrap_or(usize::MAX);
    options.threads.min(fitting).min(units.len()).max(1)
}

/// Does the runs of a study, or of its shard, that are not done yet. May be interrupted at any
/// moment, and called again.
pub fn execute(study: &Study, options: &Options) -> Result<Summary, Error> {
    let plan = Plan::new(study, &options.base, options.allowance)?;
    let out = &options.out;
    let label = options.shard.label();
    // Before anything is written: a directory of another study stays as it is.
    let done = done(&plan, out)?;
    fs::create_dir_all(out).map_err(|source| write_error(out, source))?;
    let records = out.join(options.shard.file());
    let (journal, dropped) = Journal::open(&records)?;
    if dropped > 0 {
        let path = records.display();
        say(&format!(
            "{path} ended in a half-written line ({dropped} bytes): dropped, its run is done again"
        ));
    }
    remove_unfinished(out, &label);
    let checkpoints = Checkpoints::new(out, &label);
    checkpoints.tidy();
    plan.manifest
        .write(out, &label)
        .map_err(|source| write_error(out, source))?;
    let (runs, before) = count(options.shard.units(&plan), &done);
    let mut units = Vec::new();
    for unit in options.shard.units(&plan) {
        match unit.left(&done) {
            Some(left) => units.push(left),
            None => checkpoints.forget(&plan, &unit),
        }
    }
    // The longest first, so that none is left alone at the end.
    let work =
        |unit: &Unit| pace::weight(&plan, unit.series) * plan.of(unit).0.method.length() as f64;
    units.sort_by(|a, b| work(b).total_cmp(&work(a)));
    let threads = threads(&plan, &units, options);
    if threads < options.threads.min(units.len()) {
        let (memory, asked) = (bytes(Some(options.allowance.0)), options.threads);
        say(&format!(
            "{threads} threads in place of {asked}: more do not fit in {memory}"
        ));
    }
    let execution = Execution {
        pace: Pace::new(&plan, &units, threads, before, runs),
        plan: &plan,
        options,
        done: &done,
        checkpoints: &checkpoints,
        journal: Mutex::new(journal),
        finished: AtomicUsize::new(0),
        failed: AtomicBool::new(false),
    };
    let end = execution.work(&units, threads)?;
    checkpoints.close();
    Ok(Summary {
        records,
        runs,
        before,
        now: execution.finished.load(Ordering::Relaxed) as u64,
        end,
    })
}

/// An execution in progress.
struct Execution<'a> {
    plan: &'a Plan,
    options: &'a Options,
    done: &'a HashSet<Key>,
    checkpoints: &'a Checkpoints,
    journal: Mutex<Journal>,
    pace: Pace,
    finished: AtomicUsize,
    failed: AtomicBool,
}

/// Between two looks at the clock, unless units are saved more often.
const SLICE: Duration = Duration::from_millis(50);

impl Execution<'_> {
    fn work(&self, units: &[Unit], threads: usize) -> Result<End, Error> {
        let next = AtomicUsize::new(0);
        let worker = || -> Result<End, Error> {
            while let Some(unit) = units.get(next.fetch_add(1, Ordering::Relaxed)) {
                if self.stopped() || self.unit(unit)? == End::Stopped {
                    return Ok(End::Stopped);
                }
            }
            Ok(End::Finished)
        };
        let failing = || worker().inspect_err(|_| self.failed.store(true, Ordering::Relaxed));
        let ends: Vec<Result<End, Error>> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(failing)).collect();
            let join =
                |worker: std::thread::ScopedJoinHandle<'_, _>| worker.join().expect("no panic");
            workers.into_iter().map(join).collect()
        });
        let ends: Vec<End> = ends.into_iter().collect::<Result<_, Error>>()?;
        let stopped = ends.contains(&End::Stopped);
        Ok(if stopped { End::Stopped } else { End::Finished })
    }

    fn stopped(&self) -> bool {
        (self.options.stop)() || self.failed.load(Ordering::Relaxed)
    }

    /// Does a unit to its end, or saves it when it is stopped.
    fn unit(&self, left: &Unit) -> Result<End, Error> {
        let (unit, mut job) = self.begin(left)?;
        self.pace.skip(unit.series, job.done());
        let mut saved = Instant::now();
        let mut steps = 1;
        let slice = SLICE.min(self.options.checkpoint_every);
        while !job.is_finished() {
            if self.stopped() {
                self.save(&unit, &job)?;
                return Ok(End::Stopped);
            }
            if saved.elapsed() >= self.options.checkpoint_every {
                self.save(&unit, &job)?;
                saved = Instant::now();
            }
            let (begun, before) = (Instant::now(), job.done());
            job.advance(steps);
            let took = begun.elapsed();
            self.pace.note(unit.series, job.done() - before, took);
            steps = match took {
                took if took < slice / 2 => steps * 2,
                took if took > slice * 2 => (steps / 2).max(1),
                _ => steps,
            };
        }
        self.pace.skip(
            unit.series,
            self.plan.of(&unit).0.method.length() - job.done(),
        );
        self.keep(&unit, job)?;
        Ok(End::Finished)
    }

    /// Begins a unit, or takes it up where it was saved.
    fn begin(&self, left: &Unit) -> Result<(Unit, Job), Error> {
        let (series, tau) = self.plan.of(left);
        let allowance = self.options.allowance;
        let mut unit = left.clone();
        let job = match self.checkpoints.find(self.plan, left) {
            Found::State(numbers, saved) => {
                unit.numbers = numbers.clone();
                Job::resume(series, tau, numbers, saved, allowance)
            }
            Found::Nothing => Job::begin(series, tau, unit.numbers.clone(), allowance),
            Found::Useless(path) => {
                let path = path.display();
                say(&format!(
                    "{path} is damaged or of another study: its runs begin anew"
                ));
                Job::begin(series, tau, unit.numbers.clone(), allowance)
            }
        };
        let refuse = |problem: String| Error::Study {
            place: format!("class \"{}\"", series.spec.id),
            problem,
        };
        Ok((unit, job.map_err(|error| refuse(error.to_string()))?))
    }

    fn save(&self, unit: &Unit, job: &Job) -> Result<(), Error> {
        let saved = self.checkpoints.save(self.plan, unit, job.save());
        saved.map_err(|source| write_error(&self.options.out.join("checkpoints"), source))
    }

    /// Records what a unit came to, then forgets its state.
    fn keep(&self, unit: &Unit, job: Job) -> Result<(), Error> {
        let records = self.plan.records(unit, job.outcomes());
        let new: Vec<_> = unit
            .keys()
            .zip(&records)
            .filter(|(key, _)| !self.done.contains(key))
            .collect();
        let mut journal = self.journal.lock().expect("no panic");
        journal.append(new.iter().map(|(_, record)| *record))?;
        drop(journal);
        self.checkpoints.forget(self.plan, unit);
        self.finished.fetch_add(new.len(), Ordering::Relaxed);
        self.pace.finish(new.len());
        Ok(())
    }
}
