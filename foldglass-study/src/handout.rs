//! Hands the units of a study out to be done elsewhere, such as by the workers of a cluster, and
//! records what comes back.
//!
//! A [`Ticket`] is a few numbers. Whoever has the study does it without touching a file, and what
//! comes back are the lines that [`crate::execute`] would have written.

use std::collections::HashSet;

use foldglass::support::watch::Observer;
use serde::{Deserialize, Serialize};

use crate::checkpoint::Checkpoints;
use crate::drive::End;
use crate::error::StudyError;
use crate::execute::{Options, Work, done, open};
use crate::journal::Journal;
use crate::manifest::RunKey;
use crate::method::Registry;
use crate::plan::{Plan, Unit};
use crate::record::{Record, seal, unseal};
use crate::spec::Study;

/// Runs of one point that go together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ticket {
    /// The number of their pair of class and dynamics.
    pub series: usize,
    /// The number of their point.
    pub point: usize,
    /// The first run.
    pub first: u64,
    /// The run after the last.
    pub end: u64,
}

impl Ticket {
    fn unit(self) -> Unit {
        Unit {
            series: self.series,
            point: self.point,
            numbers: self.first..self.end,
        }
    }
}

/// A study whose units are done elsewhere. While it lives the directory is locked.
pub struct Handout {
    plan: Plan,
    done: HashSet<RunKey>,
    tickets: Vec<Ticket>,
    journal: Journal,
    checkpoints: Checkpoints,
}

impl Handout {
    /// Opens the directory of the records and lists what is not done.
    pub fn open(
        study: &Study,
        registry: &Registry,
        options: &Options,
        observer: &dyn Observer,
    ) -> Result<Handout, StudyError> {
        let plan = Plan::new(study, registry, &options.base, options.allowance)?;
        let done = done(&plan, &options.out, observer)?;
        let work = Work::of(&plan, &done, options, observer)?;
        let units = work.map_or(Vec::new(), |work| work.units);
        let ticket = |unit: Unit| Ticket {
            series: unit.series,
            point: unit.point,
            first: unit.numbers.start,
            end: unit.numbers.end,
        };
        let (journal, checkpoints) = open(&plan, options, observer)?;
        Ok(Handout {
            tickets: units.into_iter().map(ticket).collect(),
            plan,
            done,
            journal,
            checkpoints,
        })
    }

    /// What is not done.
    pub fn tickets(&self) -> &[Ticket] {
        &self.tickets
    }

    /// The runs that are recorded.
    pub fn finished(&self) -> u64 {
        self.done.len() as u64
    }

    /// All runs of the study.
    pub fn runs(&self) -> u128 {
        self.plan.index.runs()
    }

    /// Records what came back for a ticket; says how many runs are new. Lines that are damaged or of
    /// another study are refused.
    pub fn record(&mut self, lines: &[u8]) -> Result<u64, StudyError> {
        let mut new = Vec::new();
        for line in lines
            .split(|&byte| byte == b'\n')
            .filter(|line| !line.is_empty())
        {
            let record: Option<Record> =
                unseal(line).and_then(|content| serde_json::from_slice(&content).ok());
            let refuse = |problem: String| StudyError::Study {
                place: "a line that came back".to_owned(),
                problem,
                excerpt: None,
            };
            let record = record.ok_or_else(|| refuse("it is damaged".to_owned()))?;
            let key = self.plan.manifest.place(&self.plan.index, &record);
            let key = key.map_err(refuse)?;
            if !self.done.contains(&key) {
                new.push((key, record));
            }
        }
        self.journal.append(new.iter().map(|(_, record)| record))?;
        self.done.extend(new.iter().map(|(key, _)| *key));
        for (key, _) in &new {
            let unit = Unit {
                series: key.series,
                point: key.point,
                numbers: key.run..key.run + 1,
            };
            self.checkpoints.forget(&self.plan, &unit);
        }
        Ok(new.len() as u64)
    }

    /// Ends it: the directory is free.
    pub fn close(self) {
        self.checkpoints.close();
    }
}

/// Does a ticket of a study in memory: sealed lines, a record each; none when it was stopped.
pub fn redeem(
    study: &Study,
    registry: &Registry,
    ticket: Ticket,
    options: &Options,
    observer: &dyn Observer,
) -> Result<Option<Vec<u8>>, StudyError> {
    let plan = Plan::new(study, registry, &options.base, options.allowance)?;
    let unit = ticket.unit();
    let known = plan
        .series
        .get(unit.series)
        .is_some_and(|series| unit.point < series.points.len() && unit.numbers.end <= series.runs);
    if !known || unit.numbers.is_empty() {
        return Err(StudyError::Study {
            place: format!("study \"{}\"", study.name),
            problem: format!("{ticket:?} is not a part of it"),
            excerpt: None,
        });
    }
    let (records, end) = Work::of_unit(unit).in_memory(&plan, options, observer)?;
    if end == End::Stopped {
        return Ok(None);
    }
    let mut lines = Vec::new();
    for record in &records {
        lines.extend(seal(record));
        lines.push(b'\n');
    }
    Ok(Some(lines))
}
