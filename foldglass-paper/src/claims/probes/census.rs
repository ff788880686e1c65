//! Counts the traps of small classes: windows, memory, lengths, correlated inputs (paper, section 4.1, App. E
//! and G.6).

use std::collections::BTreeMap;

use foldglass::landscape::ignored::ignored;
use foldglass::support::exact::RBig;
use foldglass::support::exact::{lowest_terms, parse};
use foldglass::{Class, InputLaw, Reward, Shape, Window};
use foldglass_study::census::{CensusFindings, Traps};
use serde::{Deserialize, Serialize};

use super::class;
use crate::claims::Bench;
use crate::error::Error;
use crate::reproduce::certified::Resources;
use crate::reproduce::landscape::census;

fn take(bench: &Bench, class: &Class) -> Result<CensusFindings, Error> {
    let means = Resources {
        threads: bench.threads,
        allowance: bench.allowance,
    };
    census(class, &Reward::ZERO, None, means, &bench.observer)
}

fn traps(found: &CensusFindings) -> &Traps {
    found.traps.as_ref().expect("they are sought")
}

/// What [`windows`] and [`lengths`] find.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Censuses {
    /// Class by class.
    pub classes: Vec<ClassCensus>,
}

/// All codes of a class.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassCensus {
    /// The class, in words.
    pub class: String,
    /// The symbols that a cell sees before and after its own.
    pub window: [usize; 2],
    /// The tokens that it remembers.
    pub memory: usize,
    /// Its codes.
    pub codes: u64,
    /// Codes below 1 that no single change raises.
    pub local_maxima: u64,
    /// Traps.
    pub traps: u64,
    /// Their rewards.
    pub rewards: Vec<String>,
}

impl ClassCensus {
    fn new(name: String, shape: &Shape, found: &CensusFindings) -> ClassCensus {
        let rewards = traps(found).by(|kind| kind.reward.clone());
        let rewards = rewards.into_iter().map(|(reward, _)| reward.to_string());
        ClassCensus {
            class: name,
            window: [shape.window.past, shape.window.future],
            memory: shape.memory,
            codes: found.codes.parse().expect("a small class"),
            local_maxima: small(found.local_maxima),
            traps: small(traps(found).count()),
            rewards: rewards.collect(),
        }
    }

    /// Whether it is a class of the theorem: the step's own symbol and one token.
    pub fn is_narrow(&self) -> bool {
        (self.window, self.memory) == ([0, 0], 1)
    }
}

fn small(count: u128) -> u64 {
    u64::try_from(count).expect("a small class")
}

fn shape(past: usize, future: usize, memory: usize) -> Shape {
    Shape {
        window: Window { past, future },
        memory,
        tied: false,
    }
}

/// One length, uniform inputs: wider windows and longer memory.
///
/// Theorem C of docs/theorems.md forbids traps where one token is remembered, so that these catch a census that
/// finds some; with two tokens a trap would answer what is open.
pub fn windows(bench: &Bench) -> Result<Option<Censuses>, Error> {
    let small: &[(&str, usize, Shape)] = &[
        ("parity", 3, shape(0, 0, 1)),
        ("parity", 4, shape(0, 0, 1)),
        ("parity", 3, shape(1, 0, 1)),
        ("parity", 3, shape(0, 1, 1)),
        ("parity", 3, shape(0, 0, 2)),
        ("z:3", 2, shape(0, 0, 1)),
    ];
    let large: &[(&str, usize, Shape)] = &[
        ("parity", 5, shape(0, 0, 1)),
        ("parity", 6, shape(0, 0, 1)),
        ("parity", 7, shape(0, 0, 1)),
        ("parity", 4, shape(1, 0, 1)),
        ("parity", 4, shape(0, 1, 1)),
        ("parity", 3, shape(1, 1, 1)),
        ("parity", 3, shape(0, 2, 1)),
        ("parity", 4, shape(0, 0, 2)),
        ("z:3", 3, shape(0, 0, 1)),
        ("z:3", 2, shape(0, 1, 1)),
    ];
    let mut lines = Vec::new();
    for &(task, length, shape) in small.iter().chain(bench.scaled(large, &[])) {
        let class = class(task, &InputLaw::Uniform, &[length], shape);
        let Window { past, future } = shape.window;
        let name = format!("{task} ({past},{future}) n_y={} T={length}", shape.memory);
        lines.push(ClassCensus::new(name, &shape, &take(bench, &class)?));
    }
    Ok(Some(Censuses { classes: lines }))
}

/// Several lengths that share cells, uniform inputs.
///
/// Catches a census that takes lengths for separate classes: those of window (0,0) with three lengths have traps.
pub fn lengths(bench: &Bench) -> Result<Option<Censuses>, Error> {
    let small: &[(&[usize], Shape)] = &[
        (&[1, 2], shape(0, 0, 1)),
        (&[2, 3], shape(0, 0, 1)),
        (&[1, 2, 3], shape(0, 0, 1)),
        (&[2, 3, 4], shape(0, 0, 1)),
    ];
    let large: &[(&[usize], Shape)] = &[
        (&[3, 4], shape(0, 0, 1)),
        (&[1, 2, 3, 4], shape(0, 0, 1)),
        (&[3, 4, 5], shape(0, 0, 1)),
        (&[2, 3, 4, 5], shape(0, 0, 1)),
        (&[2, 3, 4], shape(1, 0, 1)),
        (&[2, 3], shape(0, 1, 1)),
    ];
    let mut lines = Vec::new();
    for &(lengths, shape) in small.iter().chain(bench.scaled(large, &[])) {
        let class = class("parity", &InputLaw::Uniform, lengths, shape);
        let Window { past, future } = shape.window;
        let words: Vec<String> = lengths.iter().map(usize::to_string).collect();
        let name = format!("parity ({past},{future}) T={}", words.join(","));
        lines.push(ClassCensus::new(name, &shape, &take(bench, &class)?));
    }
    Ok(Some(Censuses { classes: lines }))
}

/// What [`correlated`] finds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CorrelatedCensus {
    /// By T and k.
    pub classes: Vec<TrapCensus>,
}

/// An exact number as records have it: a fraction in lowest terms.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ExactNumber(Reward);

impl ExactNumber {
    /// The nearest double.
    pub fn to_f64(&self) -> f64 {
        self.0.to_f64()
    }
}

impl From<Reward> for ExactNumber {
    fn from(number: Reward) -> ExactNumber {
        ExactNumber(number)
    }
}

impl TryFrom<String> for ExactNumber {
    type Error = String;

    fn try_from(text: String) -> Result<ExactNumber, String> {
        let number = text.parse().map(ExactNumber);
        number.map_err(|_| format!("{text:?} is not a fraction"))
    }
}

impl From<ExactNumber> for String {
    fn from(number: ExactNumber) -> String {
        number.0.to_string()
    }
}

/// The traps of correlated parity at one T and k.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrapCensus {
    /// T.
    pub length: usize,
    /// k.
    pub repeat: ExactNumber,
    /// Codes of the class.
    pub codes: u64,
    /// Codes below 1 that no single change raises.
    pub local_maxima: u64,
    /// Traps.
    pub traps: u64,
    /// Traps up to the names of tokens.
    pub orbits: u64,
    /// Orbits by the number of positions that they ignore.
    pub ignored_sizes: BTreeMap<usize, u64>,
    /// Orbits whose reward is that of the summed gaps of the ignored positions.
    pub reward_formula: u64,
    /// Orbits whose reward is that of the number of ignored positions.
    pub reward_by_number: u64,
    /// The rewards of the traps.
    pub rewards: Vec<ExactNumber>,
    /// The largest single losses on the ways out of traps.
    pub losses: Vec<ExactNumber>,
    /// Those of the form (1-k)(2k-1)^(j+1)/2.
    pub losses_of_formula: u64,
    /// The drops below the traps on these ways.
    pub barriers: Vec<ExactNumber>,
}

impl TrapCensus {
    /// Whether k is this number.
    pub fn repeats(&self, k: &str) -> bool {
        String::from(self.repeat.clone()) == k
    }
}

/// Correlated parity by T and k: traps, the positions they ignore, their rewards and losses by formula. It catches
/// a census that loses or doubles traps, rewards in floating point, and a wrong reading of which positions a
/// code ignores: counts, rewards and positions are found apart and have to fit.
pub fn correlated(bench: &Bench) -> Result<Option<CorrelatedCensus>, Error> {
    let lengths = bench.scaled(4..=8, 4..=6);
    let repeats: &[&str] = bench.scaled(&["3/5", "3/4", "9/10", "19/20"], &["3/4", "9/10"]);
    let mut lines = Vec::new();
    for length in lengths {
        for k in repeats {
            let law = InputLaw::Markov(parse(k).expect("a number"));
            let class = class("parity", &law, &[length], Shape::untied(0, 0));
            let found = take(bench, &class)?;
            lines.push(trap_line(length, k, &found));
        }
    }
    Ok(Some(CorrelatedCensus { classes: lines }))
}

fn trap_line(length: usize, k: &str, found: &CensusFindings) -> TrapCensus {
    let traps = traps(found);
    let mut sizes = BTreeMap::new();
    // The reward by the summed gaps of the ignored positions, and by their number.
    let (mut formula, mut literal) = (0, 0);
    for code in &traps.codes {
        let ignored = ignored(code, length);
        *sizes.entry(ignored.len()).or_insert(0) += 1;
        let reward = foldglass::reward::count::reward(code);
        let number: Vec<usize> = (0..ignored.len())
            .flat_map(|n| [2 * n, 2 * n + 1])
            .collect();
        literal += u64::from(lowest_terms(reward.ratio()) == paired_reward(k, &number));
        formula += u64::from(lowest_terms(reward.ratio()) == paired_reward(k, &ignored));
    }
    let losses = traps.by(|kind| kind.loss.clone());
    let losses: Vec<Reward> = losses.into_iter().filter_map(|(loss, _)| loss).collect();
    let is_of_formula = |loss: &&Reward| is_single_loss(k, &loss.to_string(), length);
    let of_formula = losses.iter().filter(is_of_formula).count();
    let rewards = traps.by(|kind| kind.reward.clone()).into_iter();
    let barriers = traps.by(|kind| kind.barrier.clone()).into_iter();
    let barriers = barriers.filter_map(|(barrier, _)| barrier);
    TrapCensus {
        length,
        repeat: k.parse::<Reward>().expect("a number").into(),
        codes: found.codes.parse().expect("a small class"),
        local_maxima: small(found.local_maxima),
        traps: small(traps.count()),
        orbits: traps.codes.len() as u64,
        ignored_sizes: sizes,
        reward_formula: formula,
        reward_by_number: literal,
        rewards: rewards.map(|(reward, _)| reward.into()).collect(),
        losses_of_formula: of_formula as u64,
        losses: losses.into_iter().map(ExactNumber::from).collect(),
        barriers: barriers.map(ExactNumber::from).collect(),
    }
}

/// (1 + (2k-1)^m) / 2, m the summed gaps of the positions paired in order.
fn paired_reward(k: &str, ignored: &[usize]) -> String {
    let m: usize = ignored.chunks_exact(2).map(|pair| pair[1] - pair[0]).sum();
    let base = correlation(k);
    let power = (0..m).fold(RBig::ONE, |product, _| product * &base);
    lowest_terms(&((RBig::ONE + power) / RBig::from(2)))
}

/// 2k - 1.
fn correlation(k: &str) -> RBig {
    RBig::from(2) * parse(k).expect("a number") - RBig::ONE
}

/// Whether a loss is (1-k)(2k-1)^(j+1)/2 for some j from 0.
fn is_single_loss(k: &str, loss: &str, length: usize) -> bool {
    let mut value = (RBig::ONE - parse(k).expect("a number")) / RBig::from(2);
    (0..length).any(|_| {
        value = &value * correlation(k);
        lowest_terms(&value) == loss
    })
}
