//! Ascends objectives of the success of each input from policies near traps: which objective leaves which trap.
//!
//! In the directory of a reproduction `near-traps/` has one file per trap, and `certificates/near-NAME.json` its
//! verdict. Files that are there are not made again.

use std::path::Path;

use foldglass::dynamics::cavi::{CaviSettings, Rule, Runs};
use foldglass::landscape::ignored::ignored;
use foldglass::model::policy::InitialLaw;
use foldglass::reward::objectives::Utility;
use foldglass::reward::{count, per_input};
use foldglass::support::parallel::in_order;
use foldglass::{Class, Code, Policy, Reward, Stream};
use foldglass_study::ClassWords;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::certified::certify;
use super::files::{read_all, write_json};
use super::landscape::census;
use super::studies::Scale;
use super::work::{VERSION, Work};
use crate::error::Error;

/// The step along the gradient, and the steps of an ascent.
pub const STEP: f64 = 20.0;
/// The steps of an ascent.
pub const ITERATIONS: usize = 4_000;
const SMOKE_ITERATIONS: usize = 400;

/// Starts of each weight: mixtures of the trap and as many random policies.
pub const STARTS: u64 = 20;
const SMOKE_STARTS: u64 = 2;

/// The weights of the trap in the mixtures, in percent.
pub const WEIGHTS: [u32; 2] = [98, 70];

/// What is added to a reproduction's seed: studies have offsets of their own below.
const SEED: u64 = 14 << 32;

/// The most codes of the shelf of a trap.
const CAP: usize = 1_000_000;

/// A trap of parity with window (0,0).
#[derive(Debug, Clone, Copy)]
pub struct NearTrapRecipe {
    /// Its name in records.
    pub id: &'static str,
    /// The lengths.
    pub lengths: &'static [usize],
    /// The law of inputs.
    pub inputs: &'static str,
    /// The positions that it ignores at the longest length, which single it out.
    pub ignores: &'static [usize],
}

/// What is recorded of a trap.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NearTrapRecord {
    version: String,
    /// The trap.
    pub id: String,
    /// Its reward.
    pub reward: Reward,
    /// The least loss over gain of all changes of single cells; none where none gains.
    pub least_ratio: Option<f64>,
    /// The ascents of each objective from each weight.
    pub ascents: Vec<NearTrapAscents>,
}

/// The ascents of an objective from one weight.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NearTrapAscents {
    /// The objective; none is J.
    #[schemars(with = "Option<String>")]
    pub objective: Option<Utility>,
    /// The weight of the trap at the start, in percent.
    pub weight: u32,
    /// By start, the reward of the greedy code at the end.
    pub greedy: Vec<Reward>,
    /// By start, J at the end.
    pub expected: Vec<f64>,
}

/// The folder of these records in the directory of a reproduction.
pub const NEAR_TRAPS: &str = "near-traps";

/// Reads the records of a directory.
pub fn read(directory: &Path) -> Result<Vec<NearTrapRecord>, Error> {
    read_all(
        &directory.join(NEAR_TRAPS),
        "a record of ascents near a trap",
    )
}

/// Ascends near the traps that have no record yet.
pub fn make(
    traps: &[NearTrapRecipe],
    objectives: &[Option<Utility>],
    work: &Work<'_>,
) -> Result<(), Error> {
    let known = read(work.out)?;
    for recipe in traps {
        let is_own = |record: &NearTrapRecord| record.id == recipe.id && record.version == VERSION;
        if known.iter().any(is_own) {
            continue;
        }
        work.observer.stage(format!("ascents near {}", recipe.id));
        let record = one(recipe, objectives, work)?;
        let file = format!("{}.json", recipe.id);
        write_json(&work.out.join(NEAR_TRAPS).join(file), &record)?;
    }
    Ok(())
}

fn one(
    recipe: &NearTrapRecipe,
    objectives: &[Option<Utility>],
    work: &Work<'_>,
) -> Result<NearTrapRecord, Error> {
    let words = ClassWords::new("parity", recipe.lengths).inputs(recipe.inputs);
    let class = words
        .spec(Path::new(""))?
        .lay_out_within(work.means.allowance)?;
    let trap = trap(recipe, &class, work)?;
    let certificates = work.out.join("certificates");
    let path = certificates.join(format!("near-{}.json", recipe.id));
    let alone = std::slice::from_ref(&trap);
    certify(&path, &class, alone, CAP, work.means, work.observer)?;
    let mut ascents = Vec::new();
    for &objective in objectives {
        for weight in WEIGHTS {
            ascents.push(ascend_all(&trap, objective, weight, work)?);
        }
    }
    Ok(NearTrapRecord {
        version: VERSION.to_owned(),
        id: recipe.id.to_owned(),
        reward: count::reward(&trap),
        least_ratio: least_ratio(&trap),
        ascents,
    })
}

/// The trap of the class that ignores what the recipe says, by a census.
fn trap(recipe: &NearTrapRecipe, class: &Class, work: &Work<'_>) -> Result<Code, Error> {
    let found = census(class, &Reward::ZERO, None, work.means, work.observer)?;
    let longest = class.task().longest();
    let codes = found.traps.into_iter().flat_map(|traps| traps.codes);
    let mut own = codes.filter(|code| ignored(code, longest) == recipe.ignores);
    own.next().ok_or_else(|| {
        Error::Failed(format!(
            "the census has no trap that ignores {:?}, as {} does",
            recipe.ignores, recipe.id
        ))
    })
}

/// The least loss over gain of all changes of single cells that turn an input from wrong to right: the probability of the
/// inputs that a change turns wrong, over that of the inputs it turns right.
fn least_ratio(code: &Code) -> Option<f64> {
    let successes = |code: &Code| {
        let mut list = Vec::new();
        let add = |_: &[_], probability, success| list.push((probability, success));
        per_input::for_each(&Policy::deterministic(code), add);
        list
    };
    let before: Vec<(f64, f64)> = successes(code);
    let ratio = |(cell, action)| {
        let mut other = code.clone();
        other.set(cell, action);
        let (mut gain, mut loss) = (0.0, 0.0);
        for ((probability, was), (_, is)) in before.iter().zip(successes(&other)) {
            gain += probability * (is - was).max(0.0);
            loss += probability * (was - is).max(0.0);
        }
        (gain > 0.0).then(|| loss / gain)
    };
    code.changes().filter_map(ratio).reduce(f64::min)
}

fn ascend_all(
    trap: &Code,
    objective: Option<Utility>,
    weight: u32,
    work: &Work<'_>,
) -> Result<NearTrapAscents, Error> {
    let starts = match work.scale {
        Scale::Smoke => SMOKE_STARTS,
        Scale::Quick | Scale::Short | Scale::Full => STARTS,
    };
    let tools = vec![(); work.means.threads.max(1)];
    let job = |()| |number: usize| ascend(trap, objective, weight, number as u64, work).map(Some);
    let (mut greedy, mut expected) = (Vec::new(), Vec::new());
    in_order(tools, starts as usize, job, |(reward, mean)| {
        greedy.push(reward);
        expected.push(mean);
        Ok::<(), Error>(())
    })?;
    Ok(NearTrapAscents {
        objective,
        weight,
        greedy,
        expected,
    })
}

/// The reward of the greedy code and J at the end of the ascent from a start.
fn ascend(
    trap: &Code,
    objective: Option<Utility>,
    weight: u32,
    number: u64,
    work: &Work<'_>,
) -> Result<(Reward, f64), Error> {
    let class = trap.class();
    let seed = work.seed.wrapping_add(SEED);
    let iterations = match work.scale {
        Scale::Smoke => SMOKE_ITERATIONS,
        Scale::Quick | Scale::Short | Scale::Full => ITERATIONS,
    };
    let settings = CaviSettings::plain(0.0, iterations)
        .with_rule(Rule::Gradient { step: STEP })
        .with_objective(objective);
    let mut runs = Runs::builder(class, settings)
        .seed(seed)
        .numbers(number..number + 1)
        .within(work.means.allowance)
        .start_at(&near(trap, weight, Stream::new(seed, number)))?;
    while !runs.advance(iterations) {}
    let outcome = runs.outcomes().remove(0);
    Ok((outcome.greedy_reward, outcome.expected_reward))
}

/// A mixture of a code, which has this weight in percent, and a policy drawn as `u_norm`.
fn near(code: &Code, weight: u32, mut stream: Stream) -> Policy {
    let class = code.class();
    let weight = f64::from(weight) / 100.0;
    let mut rows = vec![0.0; class.cells() * class.q()];
    for (row, &action) in rows.chunks_exact_mut(class.q()).zip(code.actions()) {
        InitialLaw::UNorm.draw(&mut stream, row);
        row.iter_mut().for_each(|p| *p *= 1.0 - weight);
        row[usize::from(action)] += weight;
    }
    Policy::from_flat(class, &rows).expect("rows of probabilities")
}

#[cfg(test)]
mod tests {
    use super::*;
    use foldglass::landscape::law::{Correlated, Lengths};

    /// Catches a ratio of the wrong changes: a trap of reward 9/10 at T = 4 gains 1/20 by a change that loses 9/20.
    #[test]
    fn the_least_ratio_is_the_best_that_a_change_offers() {
        let repeat = foldglass::support::exact::parse("9/10").unwrap();
        let correlated = Correlated::new(4, &repeat).unwrap().example().unwrap();
        let ratio = least_ratio(&correlated).unwrap();
        assert!((ratio - 9.0).abs() < 1e-9, "{ratio}");
        let lengths = Lengths::new(&[2, 3, 4], None).unwrap().example().unwrap();
        let ratio = least_ratio(&lengths).unwrap();
        assert!((ratio - 2.0).abs() < 1e-9, "{ratio}");
    }

    #[test]
    fn a_start_is_the_trap_with_its_weight() {
        let repeat = foldglass::support::exact::parse("9/10").unwrap();
        let trap = Correlated::new(4, &repeat).unwrap().example().unwrap();
        let start = near(&trap, 70, Stream::new(1, 2));
        for (cell, &action) in trap.actions().iter().enumerate() {
            let row = start.row(cell);
            assert!(row[usize::from(action)] >= 0.7 && row.iter().all(|&p| p > 0.0));
        }
    }
}
