//! Holds what all requests share: what the program was given, classes, runs and the pages that are open.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use foldglass::{Allowance, Code};

use super::classes::{Classes, Known};
use super::deadline::{Deadline, Heard};
use super::guard::Guard;
use super::limits;
use super::refusal::Refusal;
use super::runs::Runs;
use super::token::Token;
use super::visitors::Visitors;
use crate::error::Error;
use crate::flags::max_memory;
use crate::reproduce::Manifest;

/// What kind of directory is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// What `run` writes.
    Study,
    /// What `train --out` writes.
    Fleet,
    /// What `reproduce` writes: studies in directories of their own.
    Reproduction,
}

/// The directory whose records are shown.
#[derive(Debug, Clone)]
pub struct Directory {
    pub path: PathBuf,
    pub kind: Kind,
}

impl Directory {
    /// By the files in it.
    pub fn open(path: PathBuf) -> Result<Directory, Error> {
        let kind = match () {
            () if path.join("train.json").is_file() => Kind::Fleet,
            () if is_study(&path) => Kind::Study,
            () if Manifest::find(&path)?.is_some() => Kind::Reproduction,
            () => {
                return Err(Error::Usage(format!(
                    "{} holds no records: accepted are the directories that `run`, `reproduce` and \
                     `train --out` write",
                    path.display()
                )));
            }
        };
        Ok(Directory { path, kind })
    }

    /// The names of the studies of a reproduction.
    pub fn studies(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.path)
            .into_iter()
            .flatten()
            .flatten();
        let mut names: Vec<String> = entries
            .filter(|entry| is_study(&entry.path()))
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort_unstable();
        names
    }
}

fn is_study(path: &Path) -> bool {
    path.join("study.json").is_file()
}

/// What the program was started with.
#[derive(Default)]
pub struct Given {
    pub class: Option<Known>,
    pub code: Option<Code>,
    pub directory: Option<Directory>,
}

/// How long it waits.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// Without a page, before it ends by itself.
    pub idle: Duration,
    /// For ever.
    pub stay: bool,
    /// For the head of a request, then for its body.
    pub reading: Duration,
    /// For a computation.
    pub computing: Duration,
}

/// Why it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Interrupted,
    NoPage,
    NeverOpened,
}

/// What all requests share.
pub struct Explorer {
    pub guard: Guard,
    pub class: Option<Arc<Known>>,
    pub code: Option<Code>,
    pub directory: Option<Directory>,
    pub classes: Classes,
    pub runs: Runs,
    /// The memory of one computation.
    pub allowance: Allowance,
    pub times: Times,
    visitors: Mutex<Visitors>,
    closing: Arc<AtomicBool>,
    requests: Arc<AtomicUsize>,
    long_ones: Arc<AtomicUsize>,
    /// The long computations that go on.
    works: Mutex<Vec<Work>>,
}

/// A long computation: the page that asked, its question, and how far it has come.
struct Work {
    page: String,
    question: String,
    heard: Weak<Heard>,
}

/// A place among those of which there are few; it is free again when this is dropped.
pub struct Seat(Arc<AtomicUsize>);

impl Seat {
    /// Takes one of `most`.
    pub fn take(taken: &Arc<AtomicUsize>, most: usize) -> Option<Seat> {
        let more = |taken: usize| (taken < most).then_some(taken + 1);
        let found = taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        found.ok().map(|_| Seat(taken.clone()))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What a mutex holds, whatever happened to a thread that held it: all of it is valid at any time.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Explorer {
    /// At a port, with a fresh token.
    pub fn new(
        port: u16,
        given: Given,
        times: Times,
        memory: Option<Allowance>,
    ) -> Result<Explorer, Error> {
        let token = Token::random().map_err(|error| {
            Error::Failed(format!("the system gives no random numbers: {error}"))
        })?;
        let Allowance(free) = max_memory::available();
        let classes = Classes::default();
        let class = given.class.map(|known| classes.give(known));
        Ok(Explorer {
            guard: Guard { port, token },
            class,
            code: given.code,
            directory: given.directory,
            classes,
            runs: Runs::default(),
            allowance: memory.unwrap_or(Allowance(limits::MEMORY.min(free))),
            times,
            visitors: Mutex::new(Visitors::new(Instant::now())),
            closing: Arc::default(),
            requests: Arc::default(),
            long_ones: Arc::default(),
            works: Mutex::default(),
        })
    }

    /// Where the page is.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.guard.port, self.guard.token)
    }

    /// Takes note that a page called.
    pub fn hear(&self, page: &str) {
        lock(&self.visitors).hear(page, Instant::now());
    }

    /// Takes note that a page is closed: its runs end with it.
    pub fn leave(&self, page: &str) {
        lock(&self.visitors).leave(page, Instant::now());
        self.runs.drop_of(page);
    }

    /// Forgets pages and runs that have not called for long, and says whether it is time to end.
    pub fn tidy(&self) -> Option<End> {
        let now = Instant::now();
        let mut visitors = lock(&self.visitors);
        visitors.sweep(now);
        self.runs.tidy(now, |page| visitors.is_open(page));
        if self.times.stay {
            return None;
        }
        let empty = now.duration_since(visitors.empty_since()?);
        match visitors.any() {
            true => (empty >= self.times.idle).then_some(End::NoPage),
            false => (empty >= limits::FIRST_PAGE).then_some(End::NeverOpened),
        }
    }

    /// A place among the requests that are computed.
    pub fn seat(&self) -> Result<Seat, Refusal> {
        Seat::take(&self.requests, limits::REQUESTS).ok_or_else(|| {
            let most = limits::REQUESTS;
            Refusal::new(
                503,
                format!("{most} requests are being answered: try again"),
            )
        })
    }

    /// A place among the long ones.
    pub fn long_seat(&self) -> Result<Seat, Refusal> {
        Seat::take(&self.long_ones, limits::LONG_ONES).ok_or_else(|| {
            let most = limits::LONG_ONES;
            Refusal::new(
                503,
                format!("{most} long computations are going on: try again"),
            )
        })
    }

    /// Takes note of a long computation, so that its page can ask how far it has come.
    pub fn begin_work(&self, page: &str, question: &str, heard: &Arc<Heard>) {
        let mut works = lock(&self.works);
        works.retain(|work| work.heard.strong_count() > 0);
        works.push(Work {
            page: page.to_owned(),
            question: question.to_owned(),
            heard: Arc::downgrade(heard),
        });
    }

    /// How far the latest computation of a page's question has come, while it goes on.
    pub fn work(&self, page: &str, question: &str) -> Option<Arc<Heard>> {
        let works = lock(&self.works);
        let own = |work: &&Work| work.page == page && work.question == question;
        let mut found = works.iter().rev().filter(own);
        found.find_map(|work| work.heard.upgrade())
    }

    /// How long a computation that begins now may go on.
    pub fn deadline(&self, abandoned: Arc<AtomicBool>) -> Deadline {
        Deadline::after(self.times.computing, abandoned, self.closing.clone())
    }

    /// Stops all computations.
    pub fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
    }
}
