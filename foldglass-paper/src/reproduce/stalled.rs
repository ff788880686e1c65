//! Continues training from policies at which exact RLVR stalls: by sampled gradients, and by exact ones as often.
//!
//! In the directory of a reproduction `stalled/` has one file per class. Files that are there are not made again.

use std::path::Path;

use foldglass::dynamics::cavi::{CaviSettings, Outcome, Rule, Runs};
use foldglass::dynamics::reinforce::{ReinforceSettings, SampledTraining};
use foldglass::reward::count;
use foldglass::reward::estimators::Estimator;
use foldglass::support::exact::Reward;
use foldglass::support::parallel::in_order;
use foldglass::{Class, Code, Policy, Stream};
use foldglass_study::ClassWords;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::files::{read_all, write_json};
use super::studies::{SAMPLED, Scale};
use super::work::{VERSION, Work};
use crate::error::Error;

/// Inputs per update of the sampled runs: few, so that their noise is large.
pub const BATCH: usize = 32;

/// Updates of every run from a stalled start.
pub const UPDATES: usize = 4096;
const SMOKE_UPDATES: usize = 300;

/// Learning rates of both.
pub const RATES: [u32; 3] = [5, 50, 500];

/// Stalled starts of each class, and the exact runs that they are looked for in.
const STARTS: usize = 24;
const TRIED: u64 = 480;
const SMOKE_STARTS: usize = 2;

/// The probability that a start from a code leaves to it; the other actions share the rest.
pub const KEPT: f64 = 0.9;

/// Streams of sampled runs are numbered from here, far from those of the exact runs.
const SAMPLED_STREAMS: u64 = 1 << 62;

/// How exact RLVR comes to its ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExactWay {
    /// Gradient ascent, 16,384 updates at rate 5 from `u_norm`. Its ends are the starts.
    Gradient,
    /// The paper's CAVI at a temperature of 1e-10, 300 iterations. The starts are [`KEPT`] of its greedy codes: at a
    /// code itself no gradient moves.
    Cavi,
}

/// A class whose stalled ends are continued from.
#[derive(Debug, Clone, Copy)]
pub struct StalledClass {
    /// Its name in records.
    pub id: &'static str,
    /// The task.
    pub task: &'static str,
    /// T.
    pub length: usize,
    /// The law of inputs.
    pub inputs: &'static str,
    /// How exact RLVR comes to its ends.
    pub by: ExactWay,
}

/// What is recorded of a class.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StalledRecord {
    version: String,
    /// The class.
    pub id: String,
    /// The exact runs that starts were looked for in.
    pub tried: u64,
    /// The starts.
    pub starts: Vec<StalledStart>,
}

/// A start, and what came of it.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StalledStart {
    /// The exact run that it is the end of.
    pub run: u64,
    /// The reward of its greedy code, below 1.
    pub reward: Reward,
    /// At each of [`RATES`], the reward of the greedy code after sampled updates.
    pub sampled: Vec<Reward>,
    /// After as many exact ones.
    pub exact: Vec<Reward>,
}

/// The folder of these records in the directory of a reproduction.
pub const STALLED: &str = "stalled";

/// Reads the records of a directory.
pub fn read(directory: &Path) -> Result<Vec<StalledRecord>, Error> {
    read_all(&directory.join(STALLED), "a record of stalled starts")
}

/// Continues from the stalled ends of the classes that are not there yet.
pub fn make(classes: &[StalledClass], work: &Work<'_>) -> Result<(), Error> {
    let known = read(work.out)?;
    for class in classes {
        let is_own = |record: &StalledRecord| record.id == class.id && record.version == VERSION;
        if known.iter().any(is_own) {
            continue;
        }
        work.observer
            .stage(format!("stalled starts of {}", class.id));
        let record = one(class, work)?;
        write_json(
            &work.out.join(STALLED).join(format!("{}.json", class.id)),
            &record,
        )?;
    }
    Ok(())
}

fn one(stalled: &StalledClass, work: &Work<'_>) -> Result<StalledRecord, Error> {
    let words = ClassWords::new(stalled.task, &[stalled.length]).inputs(stalled.inputs);
    let class = words
        .spec(Path::new(""))?
        .lay_out_within(work.means.allowance)?;
    let (tried, starts) = starts(&class, stalled.by, work)?;
    let tools = vec![(); work.means.threads.max(1)];
    let mut ends = Vec::new();
    let job = |()| |number: usize| follow(&class, &starts[number], work).map(Some);
    in_order(tools, starts.len(), job, |end| {
        ends.push(end);
        Ok(())
    })?;
    Ok(StalledRecord {
        version: VERSION.to_owned(),
        id: stalled.id.to_owned(),
        tried,
        starts: ends,
    })
}

struct Start {
    run: u64,
    reward: Reward,
    policy: Policy,
}

/// The first ends of exact runs whose greedy codes are below 1, and how many runs were tried for them.
fn starts(class: &Class, by: ExactWay, work: &Work<'_>) -> Result<(u64, Vec<Start>), Error> {
    let wanted = match work.scale {
        Scale::Smoke => SMOKE_STARTS,
        Scale::Quick | Scale::Short | Scale::Full => STARTS,
    };
    let settings = match by {
        ExactWay::Gradient => {
            CaviSettings::plain(0.0, 16_384).with_rule(Rule::Gradient { step: 5.0 })
        }
        ExactWay::Cavi => CaviSettings::plain(1e-10, 300),
    };
    let (mut found, mut tried) = (Vec::new(), 0);
    let builder = Runs::builder(class, settings)
        .seed(seed(work))
        .numbers(0..TRIED)
        .within(work.means.allowance);
    for group in builder.groups() {
        let mut runs = group.start()?;
        while !runs.advance(settings.length()) {}
        for (place, outcome) in runs.outcomes().into_iter().enumerate() {
            if found.len() == wanted {
                return Ok((tried, found));
            }
            if !outcome.greedy_reward.is_one() {
                found.push(Start {
                    run: tried,
                    policy: start(by, &outcome, || runs.policy(place)),
                    reward: outcome.greedy_reward,
                });
            }
            tried += 1;
        }
    }
    Ok((tried, found))
}

fn start(by: ExactWay, outcome: &Outcome, end: impl Fn() -> Policy) -> Policy {
    match by {
        ExactWay::Gradient => end(),
        ExactWay::Cavi => near(&outcome.greedy),
    }
}

/// The policy that takes the actions of a code with the probability [`KEPT`], and otherwise any of the others.
fn near(code: &Code) -> Policy {
    let class = code.class();
    let other = (1.0 - KEPT) / (class.q() - 1) as f64;
    let mut rows = vec![other; class.cells() * class.q()];
    for (cell, &action) in code.actions().iter().enumerate() {
        rows[cell * class.q() + usize::from(action)] = KEPT;
    }
    Policy::from_flat(class, &rows).expect("rows of probabilities")
}

/// That of the item's study.
fn seed(work: &Work<'_>) -> u64 {
    SAMPLED.study(work.scale, work.seed).seed
}

fn follow(class: &Class, start: &Start, work: &Work<'_>) -> Result<StalledStart, Error> {
    let updates = match work.scale {
        Scale::Smoke => SMOKE_UPDATES,
        Scale::Quick | Scale::Short | Scale::Full => UPDATES,
    };
    let (mut sampled, mut exact) = (Vec::new(), Vec::new());
    for (which, rate) in RATES.into_iter().enumerate() {
        let rate = f64::from(rate);
        let number = SAMPLED_STREAMS + start.run * RATES.len() as u64 + which as u64;
        let mut run = SampledTraining::new(
            class,
            ReinforceSettings::new(Estimator::BatchMean, BATCH, rate),
            Stream::new(seed(work), number),
            Some(&start.policy),
            work.means.allowance,
        )?;
        run.advance(updates as u64);
        sampled.push(count::reward(&run.greedy()));
        let ascent = CaviSettings::plain(0.0, updates).with_rule(Rule::Gradient { step: rate });
        let mut run = Runs::builder(class, ascent)
            .seed(seed(work))
            .numbers(number..number + 1)
            .within(work.means.allowance)
            .start_at(&start.policy)?;
        while !run.advance(updates) {}
        exact.push(run.outcomes().remove(0).greedy_reward);
    }
    Ok(StalledStart {
        run: start.run,
        reward: start.reward.clone(),
        sampled,
        exact,
    })
}
