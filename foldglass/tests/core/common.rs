//! Generates random small classes and evaluates them input by input, as the definitions say.

pub mod all;
pub mod neighbours;
pub mod rewards;

use foldglass::model::class::CellKey;
use foldglass::{Class, ExactWeights, InputLaw, Operation, RewardRule};
use foldglass::{Shape, Stream, Symbol, Task, Window};
use proptest::prelude::*;
use std::collections::HashMap;

pub type Rational = dashu_ratio::RBig;

/// A class in the terms of the paper, before the library sees it.
#[derive(Debug, Clone)]
pub struct Problem {
    pub q: usize,
    pub table_seed: u64,
    pub law: InputLaw,
    pub lengths: Vec<usize>,
    pub shape: Shape,
    pub weighing: Weighing,
}

/// How lengths and steps count, by numbers of which as many are taken as there are lengths or steps.
#[derive(Debug, Clone, PartialEq)]
pub enum Weighing {
    Equal,
    Lengths(Vec<u32>),
    /// A process reward, if there is one length.
    Process(Vec<u32>),
}

impl Problem {
    pub fn class(&self) -> Class {
        let table = random_table(self.q, self.table_seed);
        let exact = |numbers: &[u32]| {
            let numbers: Vec<Rational> = numbers.iter().map(|&n| n.into()).collect();
            ExactWeights::new(&numbers).unwrap()
        };
        let lengths = match &self.weighing {
            Weighing::Lengths(weights) => Some(exact(&weights[..self.lengths.len()])),
            _ => None,
        };
        let reward = match self.process() {
            Some(weights) => RewardRule::Process(Some(exact(weights))),
            None => RewardRule::Final,
        };
        let task = Task::weighted(table, &self.law, &self.lengths, lengths.as_ref(), &reward);
        Class::new(task.unwrap(), self.shape).unwrap()
    }

    /// The weights of the steps under a process reward.
    fn process(&self) -> Option<&[u32]> {
        match (&self.weighing, &self.lengths[..]) {
            (Weighing::Process(weights), [length]) => Some(&weights[..*length]),
            _ => None,
        }
    }

    /// How likely a length is.
    pub fn length_share(&self, which: usize) -> Rational {
        let count = self.lengths.len();
        match &self.weighing {
            Weighing::Lengths(weights) => share(&weights[..count], which),
            _ => share(&vec![1; count], which),
        }
    }

    /// What a right token at step `t` earns on an input of a length.
    fn step_reward(&self, length: usize, t: usize) -> f64 {
        match self.process() {
            Some(weights) => share(weights, t - 1).to_f64().value(),
            None => f64::from(t == length),
        }
    }

    /// The same with the last token rewarded alone.
    pub fn with_final_reward(mut self) -> Problem {
        if let Weighing::Process(_) = self.weighing {
            self.weighing = Weighing::Equal;
        }
        self
    }
}

/// A random table: a Latin square if the seed is even, else one with any entries.
pub fn random_table(q: usize, seed: u64) -> Operation {
    if seed.is_multiple_of(2) {
        return Operation::random(q, seed).unwrap();
    }
    let mut stream = Stream::new(seed, 0);
    let mut row = |_| (0..q).map(|_| stream.below(q as u32).into()).collect();
    let rows: Vec<Vec<i64>> = (0..q).map(&mut row).collect();
    Operation::from_rows(&rows).unwrap()
}

fn share(weights: &[u32], which: usize) -> Rational {
    Rational::from_parts(weights[which].into(), weights.iter().sum::<u32>().into())
}

/// Those of [`problems`] that reward the last token alone.
pub fn final_problems() -> impl Strategy<Value = Problem> {
    problems().prop_map(Problem::with_final_reward)
}

fn weighings() -> impl Strategy<Value = Weighing> {
    let numbers = || proptest::collection::vec(1u32..=4, 6);
    prop_oneof![
        Just(Weighing::Equal),
        numbers().prop_map(Weighing::Lengths),
        numbers().prop_map(Weighing::Process),
    ]
}

/// Random tables q = 2..5, Latin or not, windows up to (2,1), tied and untied, one and several lengths with and
/// without weights, process rewards, uniform, product and Markov inputs, one or two remembered tokens.
pub fn problems() -> impl Strategy<Value = Problem> {
    (
        2usize..=5,
        any::<u64>(),
        0usize..=2,
        0usize..=1,
        1usize..=2,
        any::<bool>(),
        0usize..3,
    )
        .prop_flat_map(|(q, table_seed, past, future, memory, tied, law)| {
            let longest = [0, 0, 6, 4, 4, 3][q];
            let lengths = proptest::sample::subsequence((1..=longest).collect::<Vec<_>>(), 1..=3);
            let numbers = proptest::collection::vec(0u32..=4, longest * q);
            let weights = (lengths, numbers, 0u32..=10, weighings());
            weights.prop_map(move |(mut lengths, numbers, k, weighing)| {
                if let Weighing::Process(_) = weighing {
                    lengths.drain(..lengths.len() - 1);
                }
                Problem {
                    q,
                    table_seed,
                    law: law_from(law, q, *lengths.iter().max().unwrap(), &numbers, k),
                    lengths,
                    shape: Shape {
                        window: Window { past, future },
                        memory,
                        tied,
                    },
                    weighing,
                }
            })
        })
}

fn law_from(which: usize, q: usize, longest: usize, numbers: &[u32], k: u32) -> InputLaw {
    let ratio = |a: u32, b: u32| Rational::from_parts(a.into(), b.into());
    match which {
        0 => InputLaw::Uniform,
        1 => InputLaw::Markov(ratio(k, 10)),
        _ => InputLaw::Product(
            numbers
                .chunks(q)
                .take(longest)
                .map(|row| {
                    let total: u32 = row.iter().sum();
                    let weigh = |&n: &u32| {
                        if total == 0 {
                            ratio(1, q as u32)
                        } else {
                            ratio(n, total)
                        }
                    };
                    row.iter().map(weigh).collect()
                })
                .collect(),
        ),
    }
}

/// What the definitions give, cell by cell.
#[derive(Debug, Default)]
pub struct Slow {
    pub reward: f64,
    pub visits: Vec<f64>,
    pub values: Vec<Vec<f64>>,
}

/// Sums over every input and every token sequence (paper, eqs. d and dQ).
pub fn brute_force(problem: &Problem, class: &Class, rows: &[Vec<f64>]) -> Slow {
    let number: HashMap<CellKey, usize> = (0..class.cells()).map(|c| (class.key(c), c)).collect();
    let mut slow = Slow {
        reward: 0.0,
        visits: vec![0.0; rows.len()],
        values: vec![vec![0.0; problem.q]; rows.len()],
    };
    for (x, p) in inputs(problem) {
        let mut rollout = Rollout {
            problem,
            number: &number,
            rows,
            x: &x,
            states: (1..=x.len()).map(|t| class.task().fold(&x[..t])).collect(),
            slow: &mut slow,
        };
        let reward = rollout.from(&mut Vec::new(), p);
        slow.reward += p * reward;
    }
    slow
}

struct Rollout<'a> {
    problem: &'a Problem,
    number: &'a HashMap<CellKey, usize>,
    rows: &'a [Vec<f64>],
    x: &'a [Symbol],
    states: Vec<Symbol>,
    slow: &'a mut Slow,
}

impl Rollout<'_> {
    /// The expected reward of what follows the prefix `y`, reached with probability `p`.
    fn from(&mut self, y: &mut Vec<Symbol>, p: f64) -> f64 {
        let t = y.len() + 1;
        if t > self.x.len() {
            return 0.0;
        }
        let cell = self.number[&key(self.problem.shape, self.x, y)];
        self.slow.visits[cell] += p;
        let mut value = 0.0;
        for a in 0..self.problem.q {
            let chance = self.rows[cell][a];
            let right = f64::from(a as Symbol == self.states[t - 1]);
            y.push(a as Symbol);
            let reward =
                right * self.problem.step_reward(self.x.len(), t) + self.from(y, p * chance);
            y.pop();
            self.slow.values[cell][a] += p * reward;
            value += chance * reward;
        }
        value
    }
}

/// The context of the next step after tokens `y`.
pub fn key(shape: Shape, x: &[Symbol], y: &[Symbol]) -> CellKey {
    let t = y.len() as isize + 1;
    let at = |s: &[Symbol], i: isize| usize::try_from(i - 1).ok().and_then(|i| s.get(i).copied());
    CellKey {
        t: (!shape.tied).then_some(t as usize),
        x: (t - shape.window.past as isize..=t + shape.window.future as isize)
            .map(|i| at(x, i))
            .collect(),
        y: (t - shape.memory as isize..t).map(|i| at(y, i)).collect(),
    }
}

/// Every input of every length that can occur, with its probability.
pub fn inputs(problem: &Problem) -> Vec<(Vec<Symbol>, f64)> {
    exact_inputs(problem)
        .into_iter()
        .map(|(x, p)| (x, p.to_f64().value()))
        .collect()
}

/// The same with exact probabilities, straight from the law as stated.
pub fn exact_inputs(problem: &Problem) -> Vec<(Vec<Symbol>, Rational)> {
    let q = problem.q;
    let chance = |x: &[Symbol], next: usize| -> Rational {
        match &problem.law {
            InputLaw::Uniform => Rational::from_parts(1.into(), (q as u32).into()),
            InputLaw::Product(rows) => rows[x.len()][next].clone(),
            InputLaw::Markov(k) => match x.last() {
                None => Rational::from_parts(1.into(), (q as u32).into()),
                Some(&last) if last as usize == next => k.clone(),
                Some(_) => (Rational::ONE - k) / Rational::from(q as u32 - 1),
            },
        }
    };
    let mut all = Vec::new();
    for (which, &length) in problem.lengths.iter().enumerate() {
        let share = problem.length_share(which);
        let mut list: Vec<(Vec<Symbol>, Rational)> = vec![(Vec::new(), share)];
        for _ in 0..length {
            list = list
                .iter()
                .flat_map(|(x, p)| {
                    (0..q).map(move |next| {
                        ([&x[..], &[next as Symbol]].concat(), p * chance(x, next))
                    })
                })
                .filter(|(_, p)| *p != Rational::ZERO)
                .collect();
        }
        all.extend(list);
    }
    all
}

/// A policy from a stream of numbers, with some deterministic and some half-empty rows.
pub fn rows_from(class: &Class, seed: u64) -> Vec<Vec<f64>> {
    use rand::{Rng, SeedableRng};
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
    let mut uniform = move || (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    (0..class.cells())
        .map(|_| {
            let mut row: Vec<f64> = (0..class.q()).map(|_| uniform()).collect();
            if uniform() < 0.2 {
                row.iter_mut().skip(1).for_each(|p| *p = 0.0);
            }
            let sum: f64 = row.iter().sum();
            row.iter().map(|p| p / sum).collect()
        })
        .collect()
}
