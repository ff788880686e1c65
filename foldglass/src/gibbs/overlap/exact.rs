//! Visits every code of a small class and every pair of the functions they compute (paper, App. D).
//!
//! Codes that emit the same tokens on every input, up to renaming, are one *function*: they have the
//! same reward and the same overlaps with all others. There are far fewer functions than codes, and far
//! fewer partitions of the inputs by the tokens of a step than functions.

use super::{Alike, Observables, Value};
use crate::landscape::gauge::{Overlap, OverlapError, Overlaps, Part};
use crate::model::class::Class;
use crate::model::operation::{Symbol, digits};
use crate::support::context::Context;
use crate::support::watch::{Asking, Progress, Stopped};
use dashu_int::UBig;
use std::collections::HashMap;
use thiserror::Error;

/// The most codes that are visited, times the inputs of each; and the most operations on pairs.
const MOST_VISITS: u128 = 1 << 28;
const MOST_WORK: u128 = 1 << 32;

/// Why exact overlaps are not computed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ExactError {
    /// Too many codes.
    #[error(
        "q^{cells} codes on {inputs} inputs are too many to visit: up to 2^28 rollouts are done"
    )]
    TooManyCodes {
        /// Cells of the class.
        cells: usize,
        /// Inputs of all lengths.
        inputs: u128,
    },
    /// Too many pairs of what they compute.
    #[error("the codes compute {functions} functions: their pairs are too many to be summed")]
    TooManyPairs {
        /// Functions, up to the names of tokens.
        functions: usize,
    },
    /// The observer stopped it.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// Overlaps that cannot be counted.
    #[error(transparent)]
    Overlap(#[from] OverlapError),
}

/// The functions that all codes of a class compute.
///
/// ```
/// use foldglass::gibbs::overlap::EveryCode;
/// use foldglass::prelude::*;
/// let spec = ClassSpec::uniform(Operation::cyclic(2).unwrap(), &[2], Shape::untied(0, 0));
/// let class = spec.lay_out().unwrap();
/// let every = EveryCode::visit(&class, Context::default()).unwrap();
/// // When it is hot, answers are those of two random codes.
/// let answers = |tau| every.alike(tau, Context::default()).unwrap().answers.mean.mean;
/// assert!((answers(1e6) - 0.5).abs() < 1e-5);
/// // When it is cold, both are right.
/// assert!((answers(1e-4) - 1.0).abs() < 1e-9);
/// ```
pub struct EveryCode {
    functions: Vec<Function>,
    /// By step, what is known of its partitions.
    steps: Vec<TokenStep>,
    /// The weight of all answers.
    answers: u128,
    /// The denominator of the rewards.
    denominator: u128,
}

/// A function that codes compute, up to the names of tokens.
struct Function {
    /// By step, the number of its partition of the inputs.
    partitions: Vec<u32>,
    /// How many codes compute it.
    codes: u64,
    /// The numerator of J.
    reward: u128,
}

/// The partitions of the inputs that tokens of a step make.
struct TokenStep {
    count: usize,
    /// By pair of partitions, their overlap.
    overlaps: Vec<Part>,
    /// By pair, the weight of the inputs that end here with the same answer; empty where none do.
    answers: Vec<u128>,
}

/// An input of some length.
struct OverlapInput {
    length: usize,
    weight: u128,
    /// By step, the state and what a token that is this state earns.
    rewarded: Vec<(Symbol, u128)>,
    /// By step, the cell for each history of remembered tokens.
    cells: Vec<Vec<u32>>,
    /// By step, how many histories there are of what is remembered beyond it beside its own token.
    remembered: Vec<usize>,
}

impl EveryCode {
    /// Visits them all, and compares what they compute pair by pair.
    pub fn visit(class: &Class, context: Context<'_>) -> Result<EveryCode, ExactError> {
        let Context {
            memory, observer, ..
        } = context;
        let overlaps = Overlaps::within(class, memory)?;
        let codes = check_visits(class)?;
        let inputs = inputs(class);
        let mut visitor = CodeSorter::new(class, &overlaps, &inputs);
        let mut actions: Vec<Symbol> = vec![0; class.cells()];
        for number in 0..codes {
            visitor.note(&actions);
            increment(&mut actions, class.q());
            if number % 4096 == 0 {
                let progress = Progress {
                    unit: "codes",
                    done: number,
                    all: Some(codes),
                    share: None,
                };
                if observer.report(progress).is_break() {
                    return Err(Stopped.into());
                }
            }
        }
        let CodeSorter {
            functions,
            partitions,
            ..
        } = visitor;
        let functions: Vec<Function> = functions.into_values().collect();
        check_pairs(&functions, &partitions, inputs.len())?;
        let pairs = Progress {
            unit: "tables of pairs",
            done: 0,
            all: None,
            share: None,
        };
        let question = || observer.report(pairs);
        let mut asking = Asking::new(&question);
        let steps = partitions
            .into_iter()
            .enumerate()
            .map(|(t, known)| TokenStep::new(class, &overlaps, &inputs, (t, known), &mut asking))
            .collect::<Result<_, Stopped>>()?;
        let mut every = EveryCode {
            functions,
            steps,
            answers: inputs.iter().map(|input| input.weight).sum(),
            denominator: inputs.iter().map(|input| input.weight).sum(),
        };
        // Sums in an order of their own do not depend on how hashes fall.
        every
            .functions
            .sort_by(|a, b| a.partitions.cmp(&b.partitions));
        Ok(every)
    }

    /// The number of functions, up to the names of tokens.
    pub fn functions(&self) -> usize {
        self.functions.len()
    }

    /// How alike two codes are that are drawn independently at a temperature above 0.
    ///
    /// # Panics
    /// If the temperature is not above 0.
    pub fn alike(&self, tau: f64, context: Context<'_>) -> Result<Alike, Stopped> {
        assert!(tau > 0.0, "a temperature above 0: {tau}");
        let probabilities = self.probabilities(tau);
        let steps = self.steps.len();
        let mut sum = Observables::zeros(steps);
        let progress = Progress {
            unit: "functions",
            done: 0,
            all: Some(self.functions.len() as u64),
            share: None,
        };
        let question = || context.observer.report(progress);
        let mut asking = Asking::new(&question);
        for (i, a) in self.functions.iter().enumerate() {
            if probabilities[i] == 0.0 {
                continue;
            }
            let mut with_others = Observables::zeros(steps);
            for (b, p) in self.functions[..=i].iter().zip(&probabilities) {
                // Each pair stands for two, but that of a function with itself.
                let orders = if std::ptr::eq(a, b) { 1.0 } else { 2.0 };
                asking.go_on()?;
                if *p > 0.0 {
                    with_others.add(&self.overlap(a, b), orders * p);
                }
            }
            sum.add_all(&with_others, probabilities[i]);
        }
        let value = |&mean: &f64| Value { mean, error: 0.0 };
        let values: Vec<Value> = sum.0.iter().map(value).collect();
        Ok(Alike::new(steps, &values))
    }

    /// The mean reward at a temperature.
    pub fn mean_reward(&self, tau: f64) -> f64 {
        let terms = self.functions.iter().zip(self.probabilities(tau));
        terms.map(|(function, p)| p * self.reward(function)).sum()
    }

    fn reward(&self, function: &Function) -> f64 {
        function.reward as f64 / self.denominator as f64
    }

    /// The Gibbs measure of each function.
    fn probabilities(&self, tau: f64) -> Vec<f64> {
        let rewards = self.functions.iter().map(|f| self.reward(f));
        let best = rewards.fold(0.0, f64::max);
        let weigh = |f: &Function| f.codes as f64 * ((self.reward(f) - best) / tau).exp();
        let weights: Vec<f64> = self.functions.iter().map(weigh).collect();
        let sum: f64 = weights.iter().sum();
        weights.into_iter().map(|w| w / sum).collect()
    }

    fn overlap(&self, a: &Function, b: &Function) -> Overlap {
        let mut same = 0;
        let pairs = a.partitions.iter().zip(&b.partitions);
        let steps = self.steps.iter().zip(pairs).map(|(step, (&a, &b))| {
            let pair = a as usize * step.count + b as usize;
            same += step.answers.get(pair).copied().unwrap_or(0);
            step.overlaps[pair]
        });
        Overlap {
            steps: steps.collect(),
            answers: Part {
                some: same,
                all: self.answers,
            },
        }
    }
}

/// The number of codes, where they are few enough.
fn check_visits(class: &Class) -> Result<u64, ExactError> {
    let (q, cells) = (class.q() as u128, class.cells());
    let lengths = class.task().lengths().iter();
    let inputs: Option<u128> = lengths.map(|&n| q.checked_pow(n as u32)).sum();
    let codes = u32::try_from(cells).ok().and_then(|n| q.checked_pow(n));
    let visits = codes.zip(inputs).and_then(|(a, b)| a.checked_mul(b));
    if visits.is_none_or(|visits| visits > MOST_VISITS) {
        return Err(ExactError::TooManyCodes {
            cells,
            inputs: inputs.unwrap_or(u128::MAX),
        });
    }
    Ok(codes.expect("visits are known") as u64)
}

fn check_pairs(
    functions: &[Function],
    partitions: &[HashMap<Vec<Symbol>, u32>],
    inputs: usize,
) -> Result<(), ExactError> {
    let square = |n: usize| (n as u128).pow(2);
    let tables: u128 = partitions.iter().map(|known| square(known.len())).sum();
    let work = tables * inputs as u128 + square(functions.len()) * partitions.len() as u128;
    if work > MOST_WORK {
        return Err(ExactError::TooManyPairs {
            functions: functions.len(),
        });
    }
    Ok(())
}

/// All inputs that can occur.
fn inputs(class: &Class) -> Vec<OverlapInput> {
    let (q, task) = (class.q(), class.task());
    let mut list = Vec::new();
    for (which, &length) in task.lengths().iter().enumerate() {
        let lift = number(task.lift(length));
        for number in 0..q.pow(length as u32) {
            // The first symbol is the lowest digit.
            let x: Vec<Symbol> = digits(number, q, length).into_iter().rev().collect();
            let weights = task.inputs().weights(&x);
            let weight = weights.map(u128::from).product::<u128>() * lift;
            if weight > 0 {
                list.push(OverlapInput::new(class, (which, &x), weight));
            }
        }
    }
    list
}

/// A weight, below the denominator.
fn number(weight: UBig) -> u128 {
    weight.try_into().expect("overlaps are counted")
}

impl OverlapInput {
    fn new(class: &Class, (which, x): (usize, &[Symbol]), weight: u128) -> OverlapInput {
        let (q, memory) = (class.q(), class.shape().memory);
        let tokens = |t: usize, h: usize| -> Vec<Symbol> {
            let remembered = memory.min(t - 1);
            // What is forgotten may be anything.
            [vec![0; t - 1 - remembered], digits(h, q, remembered)].concat()
        };
        let cells = |t: usize| {
            let histories = 0..q.pow(memory.min(t - 1) as u32);
            histories.map(move |h| class.route(x, t, &tokens(t, h)) as u32)
        };
        let remembered = |t: usize| q.pow(memory.min(t).saturating_sub(1) as u32);
        let task = class.task();
        let rewarded = |t: usize| {
            let earned = weight * number(task.step_weight(which, t));
            (task.fold(&x[..t]), earned)
        };
        OverlapInput {
            length: x.len(),
            weight: weight * number(task.length_weight(which)),
            rewarded: (1..=x.len()).map(rewarded).collect(),
            cells: (1..=x.len()).map(|t| cells(t).collect()).collect(),
            remembered: (1..=x.len()).map(remembered).collect(),
        }
    }
}

/// Sorts codes by what they compute.
struct CodeSorter<'a> {
    q: usize,
    overlaps: &'a Overlaps,
    inputs: &'a [OverlapInput],
    functions: HashMap<Vec<u32>, Function>,
    /// By step, the number of each partition, as the tokens of the inputs that reach the step.
    partitions: Vec<HashMap<Vec<Symbol>, u32>>,
    /// By step, the tokens of a code.
    tokens: Vec<Vec<Symbol>>,
}

impl<'a> CodeSorter<'a> {
    fn new(class: &Class, overlaps: &'a Overlaps, inputs: &'a [OverlapInput]) -> CodeSorter<'a> {
        let longest = class.task().longest();
        CodeSorter {
            q: class.q(),
            overlaps,
            inputs,
            functions: HashMap::new(),
            partitions: vec![HashMap::new(); longest],
            tokens: vec![Vec::new(); longest],
        }
    }

    fn note(&mut self, actions: &[Symbol]) {
        self.tokens.iter_mut().for_each(Vec::clear);
        let mut reward = 0;
        for input in self.inputs {
            let mut history = 0;
            let steps = input
                .cells
                .iter()
                .zip(&input.remembered)
                .zip(&input.rewarded);
            for (((cells, remembered), (state, earned)), tokens) in steps.zip(&mut self.tokens) {
                let token = actions[cells[history] as usize];
                history = history % remembered * self.q + usize::from(token);
                tokens.push(token);
                if token == *state {
                    reward += earned;
                }
            }
        }
        let mut numbers = Vec::with_capacity(self.tokens.len());
        for (t, tokens) in self.tokens.iter_mut().enumerate() {
            if !self.overlaps.is_fixed(t) {
                rename(self.q, tokens);
            }
            let known = &mut self.partitions[t];
            let number = match known.get(tokens) {
                Some(&number) => number,
                None => {
                    let number = known.len() as u32;
                    known.insert(tokens.clone(), number);
                    number
                }
            };
            numbers.push(number);
        }
        let function = self.functions.entry(numbers);
        let function = function.or_insert_with_key(|numbers| Function {
            partitions: numbers.clone(),
            codes: 0,
            reward,
        });
        function.codes += 1;
    }
}

/// Names tokens in the order in which they first come.
fn rename(q: usize, tokens: &mut [Symbol]) {
    let mut names: Vec<Option<Symbol>> = vec![None; q];
    let mut next = 0;
    for token in tokens {
        let name = names[usize::from(*token)].get_or_insert_with(|| {
            next += 1;
            next - 1
        });
        *token = *name;
    }
}

fn increment(actions: &mut [Symbol], q: usize) {
    for action in actions {
        *action += 1;
        if usize::from(*action) < q {
            return;
        }
        *action = 0;
    }
}

impl TokenStep {
    /// Compares all pairs of partitions of a step, counted from 0.
    fn new(
        class: &Class,
        overlaps: &Overlaps,
        inputs: &[OverlapInput],
        (t, known): (usize, HashMap<Vec<Symbol>, u32>),
        asking: &mut Asking<'_>,
    ) -> Result<TokenStep, Stopped> {
        let (q, count) = (class.q(), known.len());
        let mut partitions: Vec<Vec<Symbol>> = vec![Vec::new(); count];
        for (tokens, number) in known {
            partitions[number as usize] = tokens;
        }
        let here: Vec<&OverlapInput> = inputs.iter().filter(|input| input.length > t).collect();
        let ends = here.iter().any(|input| input.length == t + 1);
        let mut step = TokenStep {
            count,
            overlaps: Vec::with_capacity(count * count),
            answers: Vec::new(),
        };
        for a in &partitions {
            for b in &partitions {
                asking.go_on()?;
                let mut joint = vec![0; q * q];
                let mut same = 0;
                for ((&a, &b), input) in a.iter().zip(b).zip(&here) {
                    joint[usize::from(a) * q + usize::from(b)] += input.weight;
                    if a == b && input.length == t + 1 {
                        same += input.weight;
                    }
                }
                step.overlaps.push(overlaps.step(t, &joint));
                if ends {
                    step.answers.push(same);
                }
            }
        }
        Ok(step)
    }
}
