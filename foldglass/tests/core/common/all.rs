//! Visits every code of a small class, by the definitions.

use foldglass::Unwatched;
use foldglass::landscape::census::{Census, Count, Survey};
use foldglass::support::exact::UBig;
use foldglass::support::exact::parse;
use foldglass::support::watch::Tally;
use foldglass::{Allowance, Class, ClassSpec, InputLaw, Operation, Shape, Symbol, Task};
use std::collections::{BinaryHeap, HashSet};

/// Every code of a class with its reward, by the definition.
pub struct All {
    pub q: usize,
    pub cells: usize,
    pub rewards: Vec<u64>,
    pub whole: u64,
}

impl All {
    pub fn new(class: &Class) -> All {
        let (q, cells) = (class.q(), class.cells());
        let mut rewards = vec![0u64; q.pow(cells as u32)];
        let task = class.task();
        let small = |n: UBig| u64::try_from(n).unwrap();
        for (which, &length) in task.lengths().iter().enumerate() {
            let lift = small(task.lift(length));
            let earned = |t: usize| small(task.step_weight(which, t)) * lift;
            for n in 0..q.pow(length as u32) {
                let x: Vec<Symbol> = (0..length)
                    .map(|i| (n / q.pow(i as u32) % q) as Symbol)
                    .collect();
                let weight = (0..length)
                    .map(|i| task.inputs().weight(i + 1, x[i.max(1) - 1], x[i]))
                    .product::<u64>();
                if weight == 0 {
                    continue;
                }
                // The cell after every history, so that a rollout is a walk through a table.
                let mut routes: Vec<Vec<usize>> = Vec::new();
                for t in 1..=length {
                    let histories = 0..q.pow(t as u32 - 1);
                    let tokens = |h: usize| -> Vec<Symbol> {
                        (0..t - 1)
                            .rev()
                            .map(|i| (h / q.pow(i as u32) % q) as Symbol)
                            .collect()
                    };
                    routes.push(histories.map(|h| class.route(&x, t, &tokens(h))).collect());
                }
                let step = |t: usize| (task.fold(&x[..t]) as usize, weight * earned(t));
                let steps: Vec<(usize, u64)> = (1..=length).map(step).collect();
                for (code, reward) in rewards.iter_mut().enumerate() {
                    let mut history = 0;
                    for (routes, (state, earned)) in routes.iter().zip(&steps) {
                        let cell = routes[history];
                        history = history * q + code / q.pow(cell as u32) % q;
                        if history % q == *state {
                            *reward += earned;
                        }
                    }
                }
            }
        }
        All {
            q,
            cells,
            rewards,
            whole: u64::try_from(task.denominator()).unwrap(),
        }
    }

    pub fn neighbours(&self, code: usize) -> impl Iterator<Item = usize> {
        let (q, cells) = (self.q, self.cells);
        (0..cells).flat_map(move |cell| {
            let unit = q.pow(cell as u32);
            let action = code / unit % q;
            (0..q)
                .filter(move |&a| a != action)
                .map(move |a| code - action * unit + a * unit)
        })
    }

    fn is_raised(&self, code: usize, tolerance: u64) -> bool {
        self.neighbours(code)
            .any(|to| self.rewards[to] > self.rewards[code] + tolerance)
    }

    pub fn local_maxima(&self, tolerance: u64) -> Vec<usize> {
        (0..self.rewards.len())
            .filter(|&code| self.rewards[code] < self.whole && !self.is_raised(code, tolerance))
            .collect()
    }

    /// The shelves none of whose codes can be raised, optima included.
    pub fn closed_shelves(&self) -> Vec<Vec<usize>> {
        let mut seen = HashSet::new();
        let mut closed_shelves = Vec::new();
        for start in (0..self.rewards.len()).filter(|&code| !self.is_raised(code, 0)) {
            if !seen.insert(start) {
                continue;
            }
            let mut shelf = vec![start];
            let (mut next, mut closed) = (0, true);
            while next < shelf.len() {
                let code = shelf[next];
                next += 1;
                closed &= !self.is_raised(code, 0);
                for to in self.neighbours(code) {
                    if self.rewards[to] == self.rewards[code] && seen.insert(to) {
                        shelf.push(to);
                    }
                }
            }
            if closed {
                closed_shelves.push(shelf);
            }
        }
        closed_shelves
    }

    /// The traps, shelf by shelf.
    pub fn traps(&self) -> Vec<Vec<usize>> {
        let mut shelves = self.closed_shelves();
        shelves.retain(|shelf| self.rewards[shelf[0]] < self.whole);
        shelves
    }

    pub fn barrier(&self, start: usize) -> u64 {
        let top = self.rewards[start];
        let mut known = HashSet::from([start]);
        let mut waiting = BinaryHeap::from([(top, start)]);
        let mut lowest = top;
        while let Some((reward, code)) = waiting.pop() {
            lowest = lowest.min(reward);
            if reward > top {
                return top - lowest;
            }
            for to in self.neighbours(code) {
                if known.insert(to) {
                    waiting.push((self.rewards[to], to));
                }
            }
        }
        unreachable!("the optimum is higher")
    }
}

/// A whole census, on one thread.
pub fn census(class: &Class, tolerance: &str) -> (Census, Count) {
    census_merging(class, tolerance, usize::MAX)
}

/// A whole census that merges the prefixes of so many steps at most.
pub fn census_merging(class: &Class, tolerance: &str, steps: usize) -> (Census, Count) {
    let tolerance = tolerance.parse().unwrap();
    let survey = Survey::new(class, &tolerance).unwrap();
    let tally = Tally::new(&Unwatched, "parts", None);
    let survey = survey.at_most(steps);
    let census = survey.merged(Allowance::default(), &tally).unwrap();
    let mut all = Count::default();
    let mut visitor = census.visitor(&tally);
    for part in 0..census.parts() {
        all += visitor.part(part).unwrap();
    }
    drop(visitor);
    (census, all)
}

pub fn class(task: &str, law: &InputLaw, lengths: &[usize], shape: Shape) -> Class {
    class_of(Operation::named(task).unwrap(), law, lengths, shape)
}

pub fn class_of(table: Operation, law: &InputLaw, lengths: &[usize], shape: Shape) -> Class {
    let task = Task::new(table, law, lengths).unwrap();
    Class::new(task, shape).unwrap()
}

/// All sixteen tables of two symbols, two of them Latin squares.
pub fn tables_of_two() -> Vec<Operation> {
    let entry = |table: usize, place: usize| (table >> place & 1) as i64;
    let rows = |table| [0, 2].map(|row| vec![entry(table, row), entry(table, row + 1)]);
    let tables = (0..16).map(|table| Operation::from_rows(&rows(table)).unwrap());
    tables.collect()
}

/// The same class with other weights of its lengths, or another reward.
pub fn reweighed(class: &Class, weights: Option<&str>, reward: &str) -> Class {
    let spec = ClassSpec {
        length_weights: weights.map(|text| text.parse().unwrap()),
        reward: reward.parse().unwrap(),
        ..class.spec()
    };
    spec.lay_out().unwrap()
}

pub fn markov(k: &str) -> InputLaw {
    InputLaw::Markov(parse(k).unwrap())
}

pub fn product(rows: &[&[&str]]) -> InputLaw {
    let row = |row: &&[&str]| row.iter().map(|p| parse(p).unwrap()).collect();
    InputLaw::Product(rows.iter().map(row).collect())
}

/// A law of four independent positions, one of which has a symbol of probability zero.
pub fn with_a_hole() -> InputLaw {
    product(&[
        &["1/2", "1/2"],
        &["1/5", "4/5"],
        &["0", "1"],
        &["1/3", "2/3"],
    ])
}
