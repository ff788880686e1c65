//! Leads all summaries of a step through the next one, on several threads.
//!
//! Summaries are spread over tables by their hash. Tallies are whole numbers and only added, so what
//! comes out does not depend on which thread adds first.

use super::DensityError;
use super::expand::Expansion;
use super::last::LastProducts;
use super::layout::SummaryLayout;
use super::table::{CodeTally, Table};
use crate::reward::count::rows::hash;
use crate::reward::count::weight::Whole;
use crate::support::clock::Instant;
use crate::support::context::Context;
use crate::support::parallel::on_each;
use crate::support::watch::{Progress, Stopped};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// Tables that the rows of a level are spread over.
const TABLES: usize = 64;

/// Summaries between two reports.
const BETWEEN_REPORTS: usize = 4096;

/// The same in time; the clock is read once per this number of rows.
const PATIENCE: Duration = Duration::from_millis(100);
const BETWEEN_CLOCKS: usize = 16;

/// Rows, each once, in tables that threads fill together.
pub(super) struct RowLevel<W, C> {
    tables: Vec<Mutex<Table<W, C>>>,
    width: usize,
    rows: AtomicU64,
}

impl<W: Whole, C: CodeTally> RowLevel<W, C> {
    pub fn new(width: usize) -> RowLevel<W, C> {
        RowLevel {
            tables: (0..TABLES).map(|_| Mutex::new(Table::new(width))).collect(),
            width,
            rows: AtomicU64::new(0),
        }
    }

    pub fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    /// About what it takes.
    pub fn bytes(&self) -> u128 {
        u128::from(self.rows()) * Table::<W, C>::bytes_per_row(self.width) as u128
    }

    pub fn add(&self, row: &[W], tally: &C) {
        let hash = hash(row);
        // The slots of a table are chosen by the low bits.
        let table = &self.tables[(hash >> 48) as usize % TABLES];
        if table.lock().expect("no panic").add(row, hash, tally) {
            self.rows.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The tables, one by one; each is let go before the next.
    pub fn into_tables(self) -> impl Iterator<Item = Table<W, C>> {
        let tables = self.tables.into_iter();
        tables.map(|table| table.into_inner().expect("no panic"))
    }

    /// A look at every row.
    pub fn for_each(&self, mut look: impl FnMut(&[W])) {
        for table in &self.tables {
            let table = table.lock().expect("no panic");
            table.iter().for_each(|(row, _)| look(row));
        }
    }
}

/// Why a thread stopped before its end.
#[derive(Default)]
struct StopReason {
    told: AtomicBool,
    outgrown: AtomicBool,
}

impl StopReason {
    fn is_set(&self) -> bool {
        self.told.load(Ordering::Relaxed) || self.outgrown.load(Ordering::Relaxed)
    }
}

/// Leads all summaries after step `t` (counted from 1; 0 is before the first) through step t + 1:
/// to the summaries after it or, where it is the last, to rewards.
pub(super) fn advance<W: Whole, C: CodeTally>(
    layout: &SummaryLayout<W>,
    level: &mut RowLevel<W, C>,
    t: usize,
    context: Context<'_>,
) -> Result<RowLevel<W, C>, DensityError> {
    let step = &layout.steps[t];
    let is_last = t + 1 == layout.steps.len();
    let next = RowLevel::new(if is_last { 1 } else { step.width });
    let (taken, done) = (AtomicUsize::new(0), AtomicU64::new(0));
    let stop = StopReason::default();
    let (before, of) = (level.bytes(), level.rows());
    let report = |rows: usize| {
        let done = done.fetch_add(rows as u64, Ordering::Relaxed) + rows as u64;
        let step = t + 1;
        let unit = format!("prefix classes of step {step}");
        let progress = Progress {
            unit: &unit,
            done,
            all: Some(of),
            share: None,
        };
        if context.observer.report(progress).is_break() {
            stop.told.store(true, Ordering::Relaxed);
        }
        if before + next.bytes() > context.memory.0 {
            stop.outgrown.store(true, Ordering::Relaxed);
        }
    };
    let tables = &level.tables;
    let thread = |()| {
        let mut expansion = Expansion::new(step.width);
        let mut last = is_last.then(|| LastProducts::new(layout));
        let give = |reward: W, codes: &C| next.add(&[reward], codes);
        let (mut since, mut reported) = (0, Instant::now());
        while let Some(table) = tables.get(taken.fetch_add(1, Ordering::Relaxed)) {
            // Taken, so that it is let go when it is done.
            let mut table = table.lock().expect("no panic");
            let table = std::mem::replace(&mut *table, Table::new(level.width));
            for (row, codes) in table.iter() {
                if let Some(last) = &mut last {
                    last.take(row, codes, give);
                } else {
                    expansion.expand(layout, step, row, |to, ways| {
                        next.add(to, &codes.times(ways));
                    });
                }
                since += 1;
                // Rows differ in cost by orders of magnitude.
                let late = since % BETWEEN_CLOCKS == 0 && reported.elapsed() > PATIENCE;
                if late || since == BETWEEN_REPORTS {
                    report(std::mem::take(&mut since));
                    reported = Instant::now();
                    if stop.is_set() {
                        return;
                    }
                }
            }
        }
        if let Some(last) = &mut last {
            last.flush(give);
        }
        report(since);
    };
    on_each(vec![(); context.threads], thread);
    if stop.outgrown.load(Ordering::Relaxed) {
        return Err(DensityError::Outgrown {
            step: t + 1,
            rows: next.rows(),
            allowed: context.memory.0,
        });
    }
    if stop.told.load(Ordering::Relaxed) {
        return Err(Stopped.into());
    }
    Ok(next)
}
