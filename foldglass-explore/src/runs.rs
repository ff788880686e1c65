//! Keeps the chains and the CAVI runs of open pages; a run belongs to the page that began it.

use std::sync::{Arc, Mutex};

use foldglass::support::clock::Instant;

use crate::limits;
use crate::locked::lock;
use crate::refusal::Refusal;
use crate::run::Run;

/// All runs.
#[derive(Default)]
pub struct RunList(Mutex<Table>);

#[derive(Default)]
struct Table {
    /// How many were begun.
    begun: u64,
    /// In the order in which they were begun.
    entries: Vec<Entry>,
}

struct Entry {
    number: u64,
    page: String,
    used: Instant,
    bytes: u128,
    run: Arc<Mutex<Run>>,
}

impl RunList {
    /// Keeps a run that takes so many bytes; gives its number. The page's oldest makes room for it.
    pub fn keep(&self, page: &str, run: Run, bytes: u128) -> Result<u64, Refusal> {
        let mut table = lock(&self.0);
        let own = |entry: &Entry| entry.page == page;
        while table.entries.iter().filter(|e| own(e)).count() >= limits::RUNS {
            let oldest = table.entries.iter().position(own);
            oldest.map(|oldest| table.entries.remove(oldest));
        }
        let taken: u128 = table.entries.iter().map(|entry| entry.bytes).sum();
        if taken.saturating_add(bytes) > limits::RUNS_MEMORY {
            return Err(Refusal::new(
                503,
                "the runs of all pages take the memory that is allowed them",
            )
            .help("drop runs, or close other pages"));
        }
        table.begun += 1;
        let number = table.begun;
        table.entries.push(Entry {
            number,
            page: page.to_owned(),
            used: Instant::now(),
            bytes,
            run: Arc::new(Mutex::new(run)),
        });
        Ok(number)
    }

    /// A run of a page.
    pub fn find(&self, page: &str, number: u64) -> Result<Arc<Mutex<Run>>, Refusal> {
        let mut table = lock(&self.0);
        let own = |entry: &&mut Entry| entry.number == number && entry.page == page;
        let entry = table.entries.iter_mut().find(own).ok_or_else(|| {
            Refusal::new(404, format!("this page has no run {number}"))
                .help("begin it again: runs that rest for five minutes are dropped")
        })?;
        entry.used = Instant::now();
        Ok(entry.run.clone())
    }

    /// Drops a run of a page.
    pub fn drop(&self, page: &str, number: u64) {
        let keep = |entry: &Entry| entry.number != number || entry.page != page;
        lock(&self.0).entries.retain(keep);
    }

    /// Drops all runs of a page.
    pub fn drop_of(&self, page: &str) {
        lock(&self.0).entries.retain(|entry| entry.page != page);
    }

    /// Drops runs that rest, and those of pages that are gone.
    pub fn tidy(&self, now: Instant, is_open: impl Fn(&str) -> bool) {
        let keep = |entry: &Entry| {
            let rests = now.duration_since(entry.used);
            rests < limits::FORGOTTEN && (is_open(&entry.page) || entry.page.is_empty())
        };
        lock(&self.0).entries.retain(keep);
    }
}
