//! Does the runs of a study that are not done yet, on several threads.

use std::collections::HashSet;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use foldglass::support::memory::Bytes;
use foldglass::support::watch::{Observer, Progress};
use foldglass::{Allowance, Context};
use schemars::JsonSchema;
use serde::Serialize;

use crate::checkpoint::{Checkpoints, StoredUnit};
use crate::disk::remove_unfinished;
use crate::drive::{End, Job, drive};
use crate::error::StudyError;
use crate::folder::Folder;
use crate::journal::{self, Journal};
use crate::manifest::RunKey;
use crate::method::{self, Registry};
use crate::pace::{Pace, weight};
use crate::parallel::while_asking;
use crate::plan::{Plan, Shard, Unit, points};
use crate::record::Record;
use crate::spec::Study;

/// How a study is executed; none of it shows in the records.
#[derive(Debug, Clone)]
#[non_exhaustive]
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
}

impl Options {
    /// The whole study, recorded in a directory, on all threads, within 8 GiB, saved every 30 seconds.
    pub fn new(out: impl Into<PathBuf>) -> Options {
        let Context {
            memory, threads, ..
        } = Context::default();
        Options {
            out: out.into(),
            base: PathBuf::new(),
            shard: Shard::WHOLE,
            threads,
            checkpoint_every: Duration::from_secs(30),
            allowance: memory,
        }
    }
}

/// What an execution came to.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Executed {
    /// The file of the records.
    pub records: PathBuf,
    /// Runs of the shard.
    pub runs: u64,
    /// Those that were done before.
    pub done_before: u64,
    /// Those that were done now.
    pub done_now: u64,
    /// How it ended.
    #[serde(skip)]
    pub end: End,
}

/// The runs of a study that its directory has records of.
pub fn done(
    plan: &Plan,
    out: &Path,
    observer: &dyn Observer,
) -> Result<HashSet<RunKey>, StudyError> {
    let mut done = HashSet::new();
    let mut damaged = 0;
    if out.is_dir() {
        let out = Folder::on_disk(out);
        for file in journal::files(&out, "records")? {
            let Plan {
                manifest, index, ..
            } = plan;
            damaged += journal::read_records(&out, &file, manifest, index, |key, _| {
                done.insert(key);
                Ok(())
            })?;
        }
    }
    if damaged > 0 {
        let lines = if damaged == 1 { "line" } else { "lines" };
        observer.notice(&format!(
            "{damaged} damaged {lines} of records left out; what they held is done again"
        ));
    }
    Ok(done)
}

/// Units to do, and how many runs there are of them and how many are done.
pub(crate) struct Work {
    /// What is left, in the order of the study.
    pub units: Vec<Unit>,
    /// Those of which nothing is.
    complete: Vec<Unit>,
    pub runs: u64,
    pub finished: u64,
}

/// Units that are listed between two looks at the observer.
const LISTED: usize = 1 << 16;

impl Work {
    /// The work of a shard; none when it was stopped. Its list enters the memory that is allowed.
    pub fn of(
        plan: &Plan,
        done: &HashSet<RunKey>,
        options: &Options,
        observer: &dyn Observer,
    ) -> Result<Option<Work>, StudyError> {
        let (shard, allowance) = (options.shard, options.allowance);
        let count = plan.unit_count().div_ceil(shard.of as u128);
        let bytes = count.checked_mul(2 * size_of::<Unit>() as u128);
        allowance.check(&format!("a list of {count} units of runs"), bytes)?;
        let mut work = Work {
            units: Vec::new(),
            complete: Vec::new(),
            runs: 0,
            finished: 0,
        };
        for (number, unit) in plan.units(shard).enumerate() {
            if number % LISTED == LISTED - 1 {
                let all = u64::try_from(plan.index.runs()).ok();
                let progress = Progress {
                    unit: "runs listed",
                    done: work.runs,
                    all,
                    share: None,
                };
                if observer.report(progress).is_break() {
                    return Ok(None);
                }
            }
            work.runs += unit.numbers.end - unit.numbers.start;
            work.finished += unit.keys().filter(|key| done.contains(key)).count() as u64;
            match unit.left(done) {
                Some(left) => work.units.push(left),
                None => work.complete.push(unit),
            }
        }
        Ok(Some(work))
    }
}

/// The threads that work and memory allow.
pub(crate) fn threads(plan: &Plan, units: &[Unit], options: &Options) -> usize {
    let needed = |unit: &Unit| plan.of(unit).1.recipe.bytes().unwrap_or(u128::MAX);
    let largest = points(units).map(|of_point| needed(&of_point[0]));
    let largest = largest.max().unwrap_or(0);
    let room = options.allowance.0 / largest.max(1);
    let fitting = usize::try_from(room).unwrap_or(usize::MAX);
    options.threads.min(fitting).min(units.len()).max(1)
}

/// Does the runs of a study, or of its shard, that are not done yet. May be interrupted at any
/// moment, and called again.
pub fn execute(
    study: &Study,
    registry: &Registry,
    options: &Options,
    observer: &dyn Observer,
) -> Result<Executed, StudyError> {
    let plan = Plan::new(study, registry, &options.base, options.allowance)?;
    let out = &options.out;
    // Before anything is written: a directory of another study stays as it is.
    let done = done(&plan, out, observer)?;
    let records = out.join(options.shard.file("records"));
    let work = Work::of(&plan, &done, options, observer)?;
    let Some(work) = work else {
        return Ok(Executed {
            records,
            runs: u64::try_from(plan.index.runs()).unwrap_or(u64::MAX),
            done_before: done.len() as u64,
            done_now: 0,
            end: End::Stopped,
        });
    };
    let (journal, checkpoints) = open(&plan, options, observer)?;
    for unit in &work.complete {
        checkpoints.forget(&plan, unit);
    }
    let kept = OnDisk {
        plan: &plan,
        done: &done,
        checkpoints: &checkpoints,
        directory: out,
        journal: Mutex::new(journal),
        finished: AtomicU64::new(0),
    };
    let execution = Execution::new(&plan, &work, options, observer, &kept);
    let end = execution.run(work.units, options)?;
    checkpoints.close();
    Ok(Executed {
        records,
        runs: work.runs,
        done_before: work.finished,
        done_now: kept.finished.load(Ordering::Relaxed),
        end,
    })
}

/// Makes a directory one of the study, where no other process works on the shard.
pub(crate) fn open(
    plan: &Plan,
    options: &Options,
    observer: &dyn Observer,
) -> Result<(Journal, Checkpoints), StudyError> {
    let (out, label) = (&options.out, options.shard.label());
    fs::create_dir_all(out).map_err(|source| StudyError::keep(out, source))?;
    let records = out.join(options.shard.file("records"));
    let (journal, dropped) = Journal::open(&records, observer)?;
    if dropped > 0 {
        let path = records.display();
        observer.notice(&format!(
            "{path} ended in a half-written line ({dropped} bytes): dropped, its run is done again"
        ));
    }
    remove_unfinished(out);
    let checkpoints = Checkpoints::new(out, &label);
    checkpoints.tidy();
    plan.manifest
        .write(out, &label)
        .map_err(|source| StudyError::keep(out, source))?;
    Ok((journal, checkpoints))
}

/// Does a study in memory: what its runs came to, in their order, and how it ended. Where it was
/// stopped, the finished runs are there.
pub fn execute_in_memory(
    study: &Study,
    registry: &Registry,
    options: &Options,
    observer: &dyn Observer,
) -> Result<(Vec<Record>, End), StudyError> {
    let plan = Plan::new(study, registry, &options.base, options.allowance)?;
    let done = HashSet::new();
    let held = held_bytes(&plan);
    let what = format!("holding the results of {} runs", plan.index.runs());
    options.allowance.check(&what, held)?;
    let work = Work::of(&plan, &done, options, observer)?;
    let Some(work) = work else {
        return Ok((Vec::new(), End::Stopped));
    };
    work.in_memory(&plan, options, observer)
}

impl Work {
    /// The work of one unit.
    pub fn of_unit(unit: Unit) -> Work {
        Work {
            runs: unit.numbers.end - unit.numbers.start,
            units: vec![unit],
            complete: Vec::new(),
            finished: 0,
        }
    }

    /// Does it in memory: what the runs came to, in their order.
    pub fn in_memory(
        self,
        plan: &Plan,
        options: &Options,
        observer: &dyn Observer,
    ) -> Result<(Vec<Record>, End), StudyError> {
        let kept = InMemory {
            plan,
            records: Mutex::new(Vec::new()),
        };
        let execution = Execution::new(plan, &self, options, observer, &kept);
        let end = execution.run(self.units, options)?;
        let mut records = kept
            .records
            .into_inner()
            .expect("no panic while it was held");
        records.sort_by_key(|(key, _)| *key);
        let records = records.into_iter().map(|(_, record)| record);
        Ok((records.collect(), end))
    }
}

/// About what a record takes beside the tables that it keeps.
const RECORD: u128 = 4096;

/// What a number of a table takes that a record keeps.
const ENTRY: u128 = 40;

/// The bytes of all records of a study, those of kept codes, policies and traces included.
fn held_bytes(plan: &Plan) -> Option<u128> {
    let mut bytes = 0u128;
    for series in &plan.series {
        let (cells, q) = (series.class.cells() as u128, series.class.q() as u128);
        for point in &series.points {
            let entries = point.recipe.kept(cells, q);
            let each = RECORD.checked_add(entries.checked_mul(ENTRY)?)?;
            bytes = bytes.checked_add(each.checked_mul(series.runs.into())?)?;
        }
    }
    Some(bytes)
}

/// Where units in progress and records are kept.
trait Keep: Sync {
    /// The state of a unit that was saved, and the numbers of its runs.
    fn find(&self, unit: &Unit, observer: &dyn Observer) -> Option<(Unit, Vec<u8>)>;

    /// Saves a unit in progress.
    fn save(&self, unit: &Unit, state: Vec<u8>) -> Result<(), StudyError>;

    /// Records what a unit came to; says how many runs are new.
    fn record(&self, unit: &Unit, outcomes: Vec<method::RunOutcome>) -> Result<u64, StudyError>;
}

struct OnDisk<'a> {
    plan: &'a Plan,
    done: &'a HashSet<RunKey>,
    checkpoints: &'a Checkpoints,
    directory: &'a Path,
    journal: Mutex<Journal>,
    finished: AtomicU64,
}

impl Keep for OnDisk<'_> {
    fn find(&self, unit: &Unit, observer: &dyn Observer) -> Option<(Unit, Vec<u8>)> {
        match self.checkpoints.find(self.plan, unit) {
            StoredUnit::Nothing => None,
            StoredUnit::State(numbers, state) => {
                let whole = Unit {
                    numbers,
                    ..unit.clone()
                };
                Some((whole, state))
            }
            StoredUnit::Useless(path) => {
                let path = path.display();
                observer.notice(&format!(
                    "{path} is damaged or of another study: its runs begin anew"
                ));
                None
            }
        }
    }

    fn save(&self, unit: &Unit, state: Vec<u8>) -> Result<(), StudyError> {
        let saved = self.checkpoints.save(self.plan, unit, state);
        saved.map_err(|source| StudyError::keep(&self.directory.join("checkpoints"), source))
    }

    fn record(&self, unit: &Unit, outcomes: Vec<method::RunOutcome>) -> Result<u64, StudyError> {
        let records = self.plan.records(unit, outcomes);
        let new: Vec<&Record> = unit
            .keys()
            .zip(&records)
            .filter(|(key, _)| !self.done.contains(key))
            .map(|(_, record)| record)
            .collect();
        let count = new.len() as u64;
        let mut journal = self.journal.lock().expect("no panic while it is held");
        journal.append(new)?;
        drop(journal);
        self.checkpoints.forget(self.plan, unit);
        self.finished.fetch_add(count, Ordering::Relaxed);
        Ok(count)
    }
}

struct InMemory<'a> {
    plan: &'a Plan,
    records: Mutex<Vec<(RunKey, Record)>>,
}

impl Keep for InMemory<'_> {
    fn find(&self, _: &Unit, _: &dyn Observer) -> Option<(Unit, Vec<u8>)> {
        None
    }

    fn save(&self, _: &Unit, _: Vec<u8>) -> Result<(), StudyError> {
        Ok(())
    }

    fn record(&self, unit: &Unit, outcomes: Vec<method::RunOutcome>) -> Result<u64, StudyError> {
        let records = unit.keys().zip(self.plan.records(unit, outcomes));
        let mut kept = self.records.lock().expect("no panic while it is held");
        let before = kept.len();
        kept.extend(records);
        Ok((kept.len() - before) as u64)
    }
}

/// An execution in progress.
struct Execution<'a> {
    plan: &'a Plan,
    options: &'a Options,
    observer: &'a dyn Observer,
    kept: &'a dyn Keep,
    pace: Pace<'a>,
    threads: usize,
    stopped: Arc<AtomicBool>,
}

impl<'a> Execution<'a> {
    fn new(
        plan: &'a Plan,
        work: &Work,
        options: &'a Options,
        observer: &'a dyn Observer,
        kept: &'a dyn Keep,
    ) -> Execution<'a> {
        Execution {
            threads: threads(plan, &work.units, options),
            pace: Pace::new(plan, &work.units, work.finished, work.runs, observer),
            plan,
            options,
            observer,
            kept,
            stopped: Arc::default(),
        }
    }

    /// Does the units on all threads, the longest first, so that none is left alone at the end.
    fn run(&self, mut units: Vec<Unit>, options: &Options) -> Result<End, StudyError> {
        // Once a point: there may be millions of units.
        let costs: Vec<Vec<f64>> = (0..self.plan.series.len())
            .map(|series| {
                let points = self.plan.series[series].points.iter();
                let cost = |steps: u64| weight(self.plan, series) * steps as f64;
                points.map(|point| cost(point.recipe.steps())).collect()
            })
            .collect();
        let cost = |unit: &Unit| costs[unit.series][unit.point];
        units.sort_by(|a, b| cost(b).total_cmp(&cost(a)));
        if self.threads < options.threads.min(units.len()) {
            let (memory, asked) = (Bytes::of(options.allowance.0), options.threads);
            self.observer.notice(&format!(
                "{} threads in place of {asked}: more do not fit in {memory}",
                self.threads
            ));
        }
        let next = AtomicUsize::new(0);
        let worker = || -> Result<End, StudyError> {
            while let Some(unit) = units.get(next.fetch_add(1, Ordering::Relaxed)) {
                if self.is_stopped() || self.unit(unit)? == End::Stopped {
                    return Ok(End::Stopped);
                }
            }
            Ok(End::Finished)
        };
        let failing = || worker().inspect_err(|_| self.stop());
        // Threads that have no unit of their own help where a class is wide.
        let each = options.threads / self.threads;
        let sharing = || Context::default().with_threads(each).install(failing);
        let work = || -> Vec<Result<End, StudyError>> {
            std::thread::scope(|scope| {
                let workers: Vec<_> = (0..self.threads).map(|_| scope.spawn(sharing)).collect();
                let join =
                    |worker: std::thread::ScopedJoinHandle<'_, _>| worker.join().expect("no panic");
                workers.into_iter().map(join).collect()
            })
        };
        let ends = while_asking(&self.stopped, || self.pace.ask(), work);
        let ends: Vec<End> = ends.into_iter().collect::<Result<_, StudyError>>()?;
        let stopped = ends.contains(&End::Stopped);
        Ok(if stopped { End::Stopped } else { End::Finished })
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Takes an observer's answer.
    fn heed(&self, answer: ControlFlow<()>) {
        if answer.is_break() {
            self.stop();
        }
    }

    /// Does a unit to its end, or saves it when it is stopped.
    fn unit(&self, left: &Unit) -> Result<End, StudyError> {
        let (unit, mut job) = self.begin(left)?;
        let stopped = Arc::clone(&self.stopped);
        job.heed(Arc::new(move || stopped.load(Ordering::Relaxed)));
        self.pace.skip(unit.series, job.done());
        let mut running = Running {
            execution: self,
            unit: &unit,
            job,
        };
        if drive(&mut running, self.options.checkpoint_every)? == End::Stopped {
            return Ok(End::Stopped);
        }
        let all = self.plan.of(&unit).1.recipe.steps();
        self.pace
            .skip(unit.series, all.saturating_sub(running.done()));
        let outcomes = match running.job.outcomes() {
            // It is at its end, and what it came to is asked again by the next call.
            Err(_) if self.is_stopped() => {
                running.keep()?;
                return Ok(End::Stopped);
            }
            outcomes => outcomes.map_err(|problem| self.plan.problem(&unit, problem))?,
        };
        let new = self.kept.record(&unit, outcomes)?;
        self.heed(self.pace.finish(new));
        Ok(End::Finished)
    }

    /// Begins a unit, or takes it up where it was saved.
    fn begin(&self, left: &Unit) -> Result<(Unit, Box<dyn method::RunningUnit>), StudyError> {
        let point = self.plan.of(left).1;
        let allowance = self.options.allowance;
        if let Some((unit, state)) = self.kept.find(left, self.observer) {
            let streams = self.plan.streams(&unit);
            match point.recipe.resume(streams, &state, allowance) {
                Ok(job) => return Ok((unit, job)),
                Err(problem) => self.observer.notice(&format!(
                    "a saved state cannot be read ({problem}): its runs begin anew"
                )),
            }
        }
        let job = point.recipe.begin(self.plan.streams(left), allowance);
        let job = job.map_err(|problem| self.plan.problem(left, problem))?;
        Ok((left.clone(), job))
    }
}

/// A unit that is being done.
struct Running<'a> {
    execution: &'a Execution<'a>,
    unit: &'a Unit,
    job: Box<dyn method::RunningUnit>,
}

impl Job for Running<'_> {
    type Error = StudyError;

    fn done(&self) -> u64 {
        self.job.done()
    }

    fn is_finished(&self) -> bool {
        self.job.is_finished()
    }

    fn is_stopped(&self) -> bool {
        self.execution.is_stopped()
    }

    fn advance(&mut self, steps: u64) -> Result<(), StudyError> {
        let advanced = self.job.advance(steps);
        advanced.map_err(|problem| self.execution.plan.problem(self.unit, problem))
    }

    fn note(&mut self, steps: u64, time: Duration) {
        let execution = self.execution;
        execution.heed(execution.pace.note(self.unit.series, steps, time));
    }

    fn keep(&mut self) -> Result<(), StudyError> {
        let state = self.job.save();
        let state = state.map_err(|problem| self.execution.plan.problem(self.unit, problem))?;
        self.execution.kept.save(self.unit, state)
    }
}
