//! Holds what all requests share: what the program was given, classes, runs and the pages that are open.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use foldglass::support::clock::Instant;
use foldglass::{Allowance, Code};
use foldglass_report::error::Error;
use foldglass_study::{Folder, Manifest};

use crate::classes::{Classes, HandedClass, KnownClass, check_cells};
use crate::deadline::{Deadline, Heard};
use crate::locked::lock;
use crate::refusal::Refusal;
use crate::runs::RunList;
use crate::visitors::Visitors;

/// What kind of directory is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DirectoryKind {
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
    /// The directory itself.
    pub folder: Folder,
    /// What wrote it.
    pub kind: DirectoryKind,
}

impl Directory {
    /// That of a study or a fleet, by the files in it. A reproduction is told by who can read its manifest.
    pub fn find(folder: &Folder) -> Option<Directory> {
        let kind = match () {
            () if folder.has("train.json") => DirectoryKind::Fleet,
            () if is_study(folder) => DirectoryKind::Study,
            () => return None,
        };
        Some(Directory {
            folder: folder.clone(),
            kind,
        })
    }

    /// The same, and that of a reproduction by the file that holds its manifest, which is not read.
    pub fn of(folder: &Folder) -> Option<Directory> {
        let reproduction = || Directory {
            folder: folder.clone(),
            kind: DirectoryKind::Reproduction,
        };
        let is_reproduction = folder.has("reproduce.json");
        Directory::find(folder).or_else(|| is_reproduction.then(reproduction))
    }

    /// The names of the studies of a reproduction.
    #[cfg(feature = "records")]
    pub(crate) fn studies(&self) -> Vec<String> {
        let mut names = self.folder.names().unwrap_or_default();
        names.retain(|name| is_study(&self.folder.folder(name)));
        names
    }
}

fn is_study(folder: &Folder) -> bool {
    folder.has(Manifest::FILE)
}

/// What the program was started with.
#[derive(Default)]
pub struct Given {
    /// The class that the page begins with.
    pub class: Option<KnownClass>,
    /// The code that it begins with, of that class.
    pub code: Option<Code>,
    /// The directory whose records it shows.
    pub directory: Option<Directory>,
}

/// What the questions of all pages share.
pub struct Explorer {
    pub(crate) class: Option<Arc<KnownClass>>,
    pub(crate) code: Option<Code>,
    pub(crate) directory: Option<Directory>,
    pub(crate) classes: Classes,
    pub(crate) runs: RunList,
    /// The memory of one computation.
    pub(crate) allowance: Allowance,
    /// The time of one computation.
    pub(crate) computing: Duration,
    /// The most multiply-adds of one evaluation.
    pub(crate) most_sums: Option<u64>,
    visitors: Mutex<Visitors>,
    closing: Arc<AtomicBool>,
    /// The long computations that go on.
    works: Mutex<Vec<Work>>,
}

/// A long computation: the page that asked, its question, and how far it has come.
struct Work {
    page: String,
    question: String,
    heard: Weak<Heard>,
}

/// No page is open.
#[derive(Debug, Clone, Copy)]
pub struct NoPage {
    /// Whether there was ever one.
    pub ever: bool,
    /// For how long there is none.
    pub time: Duration,
}

impl Explorer {
    /// With the memory and the time that one computation may take.
    pub fn new(given: Given, allowance: Allowance, computing: Duration) -> Explorer {
        let classes = Classes::default();
        let class = given.class.map(|known| classes.give(known));
        Explorer {
            class,
            code: given.code,
            directory: given.directory,
            classes,
            runs: RunList::default(),
            allowance,
            computing,
            most_sums: None,
            visitors: Mutex::new(Visitors::new(Instant::now())),
            closing: Arc::default(),
            works: Mutex::default(),
        }
    }

    /// The same on a machine without a fused multiply-add, where each is made by software: the bits are the same, and
    /// an evaluation that takes more of them than this is refused. Rewards of codes are counted in integers and need
    /// none.
    pub fn with_most_sums(self, most: u64) -> Explorer {
        Explorer {
            most_sums: Some(most),
            ..self
        }
    }

    /// Makes a class known that flags cannot name, as `handed` in the answer to `records/run` has it.
    pub fn hand(&self, json: &[u8]) -> Result<(), Refusal> {
        let read = serde_json::from_slice(json);
        let HandedClass { file, class } =
            read.map_err(|error| Refusal::new(400, format!("the class cannot be read: {error}")))?;
        let class = class.lay_out_within(self.allowance).map_err(Error::from)?;
        check_cells(&class)?;
        self.classes.give(KnownClass::of(class, &file));
        Ok(())
    }

    /// Takes note that a page called.
    pub fn hear(&self, page: &str) {
        lock(&self.visitors).hear(page, Instant::now());
    }

    /// Takes note that a page is closed: its runs end with it.
    pub(crate) fn leave(&self, page: &str) {
        lock(&self.visitors).leave(page, Instant::now());
        self.runs.drop_of(page);
    }

    /// Forgets pages and runs that have not called for long, and tells if no page is open.
    pub fn tidy(&self) -> Option<NoPage> {
        let now = Instant::now();
        let mut visitors = lock(&self.visitors);
        visitors.sweep(now);
        self.runs.tidy(now, |page| visitors.is_open(page));
        Some(NoPage {
            ever: visitors.any(),
            time: now.duration_since(visitors.empty_since()?),
        })
    }

    /// Takes note of a long computation, so that its page can ask how far it has come.
    pub(crate) fn begin_work(&self, page: &str, question: &str, heard: &Arc<Heard>) {
        let mut works = lock(&self.works);
        works.retain(|work| work.heard.strong_count() > 0);
        works.push(Work {
            page: page.to_owned(),
            question: question.to_owned(),
            heard: Arc::downgrade(heard),
        });
    }

    /// How far the latest computation of a page's question has come, while it goes on.
    pub(crate) fn work(&self, page: &str, question: &str) -> Option<Arc<Heard>> {
        let works = lock(&self.works);
        let own = |work: &&Work| work.page == page && work.question == question;
        let mut found = works.iter().rev().filter(own);
        found.find_map(|work| work.heard.upgrade())
    }

    /// How long a computation that begins now may go on. It ends earlier once `abandoned` is set: nobody waits
    /// for it any more.
    pub fn deadline(&self, abandoned: Arc<AtomicBool>) -> Deadline {
        Deadline::after(self.computing, abandoned, self.closing.clone())
    }

    /// Stops all computations.
    pub fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
    }
}
