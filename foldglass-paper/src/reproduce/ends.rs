//! Says where the runs of a study ended: at an optimum, in a trap, or where there is a way on (paper,
//! App. G.6).
//!
//! An end below 1 is certified. From one that is not a trap the way to the nearest higher code is taken,
//! again and again, until a trap or an optimum is reached: where an end *leads*. That is the well in
//! which a chain at a temperature is. In the directory of a reproduction `ends-STUDY.json` has the
//! counts, `certificates/STUDY-CLASS.json` a verdict on every trap found.

use foldglass::Context;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use foldglass::landscape::shelf::Workers;
use foldglass::proof::claim::Finding;
use foldglass::{Code, Reward, Symbol, reward::count};
use foldglass_study::Record;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::certified::{certify, verdict};
use super::files::{read_named, write_json};
use super::records::Recorded;
use super::studies::StudyText;
use super::work::{VERSION, Work};
use crate::error::Error;

/// Where the runs of a study ended.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ends {
    version: String,
    /// The study.
    pub study: String,
    /// The most codes of a shelf that were visited.
    cap: usize,
    /// Class by class, then dynamics by dynamics and temperature by temperature.
    pub points: Vec<RunGroup>,
}

/// The runs of one class, dynamics and temperature.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunGroup {
    /// The id of the class.
    pub class: String,
    /// The id of the dynamics.
    pub dynamics: String,
    /// The temperature; none where it changes.
    pub tau: Option<f64>,
    /// The runs by where they are.
    pub are: Fates,
    /// The runs by where they lead.
    pub lead: Fates,
    /// The rewards of the traps that runs are in or lead to, and how many runs.
    pub traps: Vec<(Reward, u64)>,
}

/// How many runs are where.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fates {
    /// Reward 1.
    pub optimal: u64,
    /// A trap, certified.
    pub trapped: u64,
    /// A shelf that was not exhausted.
    pub bounded: u64,
    /// A way leads higher.
    pub free: u64,
}

impl Fates {
    /// All of them.
    pub fn runs(&self) -> u64 {
        self.optimal + self.trapped + self.bounded + self.free
    }

    fn add(&mut self, fate: RunFate) {
        *match fate {
            RunFate::Optimal => &mut self.optimal,
            RunFate::Trapped => &mut self.trapped,
            RunFate::Bounded => &mut self.bounded,
            RunFate::Free => &mut self.free,
        } += 1;
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RunFate {
    Optimal,
    Trapped,
    Bounded,
    Free,
}

/// What was found of a code: what it is, and where it leads.
#[derive(Debug, Clone)]
struct Found {
    is: RunFate,
    leads: RunFate,
    /// The code that it leads to.
    to: Vec<Symbol>,
}

/// The points of a class.
type Points = BTreeMap<(String, Option<u64>), RunGroup>;

impl Ends {
    /// The runs of a class and dynamics at a temperature.
    pub fn point(&self, class: &str, dynamics: &str, tau: Option<f64>) -> Option<&RunGroup> {
        let own = |point: &&RunGroup| {
            (&point.class[..], &point.dynamics[..], point.tau) == (class, dynamics, tau)
        };
        self.points.iter().find(own)
    }
}

/// Reads the counts of a directory.
pub fn read(directory: &Path) -> Result<Vec<Ends>, Error> {
    read_named(directory, "ends-", "a record of ends")
}

/// Certifies the ends of a study, class by class, unless their counts are there.
pub fn make(source: StudyText, cap: usize, work: &Work<'_>) -> Result<(), Error> {
    let recorded = Recorded::read(work.out, source, work.scale, work.seed)?;
    let known = read(work.out)?;
    let known = known
        .into_iter()
        .find(|ends| (&ends.study[..], &ends.version[..], ends.cap) == (source.name, VERSION, cap));
    let mut ends = known.unwrap_or_else(|| Ends {
        version: VERSION.to_owned(),
        study: source.name.to_owned(),
        cap,
        points: Vec::new(),
    });
    let mut classes: BTreeMap<&str, Vec<&Record>> = BTreeMap::new();
    for record in recorded.iter().flat_map(|recorded| &recorded.records) {
        classes.entry(&record.class_id).or_default().push(record);
    }
    for (class, records) in classes {
        let own = ends.points.iter().filter(|point| point.class == class);
        if own.map(|point| point.are.runs()).sum::<u64>() == records.len() as u64 {
            continue;
        }
        work.observer.stage(format!("ends of {class}"));
        let points = of_class(source, class, &records, cap, work)?;
        ends.points.retain(|point| point.class != class);
        ends.points.extend(points.into_values());
        write_json(&work.out.join(format!("ends-{}.json", source.name)), &ends)?;
    }
    Ok(())
}

fn of_class(
    source: StudyText,
    id: &str,
    records: &[&Record],
    cap: usize,
    work: &Work<'_>,
) -> Result<Points, Error> {
    let class = records[0].class.lay_out_within(work.means.allowance)?;
    let mut workers = Workers::new(
        &class,
        Context::default()
            .with_threads(work.means.threads)
            .with_memory(work.means.allowance),
    )?;
    let mut known: HashMap<Vec<Symbol>, Found> = HashMap::new();
    let mut points = Points::new();
    for record in records {
        let actions = actions(record)?;
        let found = match known.get(&actions) {
            Some(found) => found.clone(),
            None => {
                let code = Code::new(&class, &actions)
                    .map_err(|error| Error::Failed(format!("{}: {error}", record.id)))?;
                let found = follow(&mut workers, code, cap, work)?;
                known.insert(actions, found.clone());
                found
            }
        };
        let point = point(&mut points, record);
        point.are.add(found.is);
        point.lead.add(found.leads);
        if found.leads == RunFate::Trapped {
            let reward = count::reward(&Code::new(&class, &found.to).expect("a code of the class"));
            match point.traps.iter_mut().find(|(other, _)| *other == reward) {
                Some((_, runs)) => *runs += 1,
                None => point.traps.push((reward, 1)),
            }
        }
    }
    points.values_mut().for_each(|point| point.traps.sort());
    let trapped = known
        .values()
        .filter(|found| found.leads == RunFate::Trapped);
    let traps: BTreeSet<&[Symbol]> = trapped.map(|found| &found.to[..]).collect();
    if !traps.is_empty() {
        let code = |actions: &&[Symbol]| Code::new(&class, actions).expect("a code of the class");
        let codes: Vec<Code> = traps.iter().map(code).collect();
        let path = work.out.join("certificates");
        let path = path.join(format!("{}-{id}.json", source.name));
        certify(&path, &class, &codes, cap, work.means, work.observer)?;
    }
    Ok(points)
}

/// The point of a record.
fn point<'a>(points: &'a mut Points, record: &Record) -> &'a mut RunGroup {
    let tau = record.settings.get("tau").and_then(Value::as_f64);
    let key = (record.dynamics.clone(), tau.map(f64::to_bits));
    points.entry(key).or_insert_with(|| RunGroup {
        class: record.class_id.clone(),
        dynamics: record.dynamics.clone(),
        tau,
        are: Fates::default(),
        lead: Fates::default(),
        traps: Vec::new(),
    })
}

/// The code that a run ended at.
fn actions(record: &Record) -> Result<Vec<Symbol>, Error> {
    let actions = record.actions();
    actions.ok_or_else(|| Error::Failed(format!("{} has no code", record.id)))
}

/// Goes from a code to the nearest higher one, again and again.
fn follow(
    workers: &mut Workers,
    mut code: Code,
    cap: usize,
    work: &Work<'_>,
) -> Result<Found, Error> {
    let mut is = None;
    loop {
        let verdict = verdict(workers, &code, cap, work.observer)?;
        let fate = match &verdict.finding {
            Finding::Optimal => RunFate::Optimal,
            Finding::Certified { .. } => RunFate::Trapped,
            Finding::Bounded { .. } => RunFate::Bounded,
            Finding::Escapes { .. } => RunFate::Free,
        };
        let first = *is.get_or_insert(fate);
        let Finding::Escapes { moves } = verdict.finding else {
            return Ok(Found {
                is: first,
                leads: fate,
                to: code.actions().to_vec(),
            });
        };
        moves.iter().for_each(|step| code.set(step.cell, step.to));
    }
}
