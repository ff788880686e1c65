//! Counts rewards and traps of small classes input by input, for any table (paper, App. E).
//!
//! The window is (0,0) with one remembered token. Nothing here uses the passes, the censuses or the checks of
//! the library, so that one of them that is wrong does not agree with what is found here.

use foldglass::Code;
use serde::{Deserialize, Serialize};

use crate::claims::Bench;
use crate::error::Error;

/// A class: q symbols, a table, one length T.
pub struct Small {
    /// q.
    pub q: usize,
    /// T.
    pub length: usize,
    /// Whether the steps from the second on share their cells.
    pub tied: bool,
    /// The state after state s and symbol x, at s q + x.
    pub table: Vec<usize>,
    /// Every input with its weight, a whole number.
    pub inputs: Vec<(Vec<usize>, u64)>,
}

/// One rollout: the tokens and the true states, step by step.
pub struct Rollout {
    /// y_1 to y_T.
    pub tokens: Vec<usize>,
    /// s_1 to s_T.
    pub states: Vec<usize>,
}

impl Rollout {
    /// Whether the last token is the last state.
    pub fn is_right(&self) -> bool {
        self.tokens.last() == self.states.last()
    }
}

impl Small {
    /// A class with uniform inputs.
    pub fn new(q: usize, table: Vec<usize>, length: usize, tied: bool) -> Small {
        let symbols = |n: usize| (0..length).map(move |t| n / q.pow(t as u32) % q);
        let inputs = (0..q.pow(length as u32)).map(|n| (symbols(n).collect(), 1));
        Small {
            q,
            length,
            tied,
            table,
            inputs: inputs.collect(),
        }
    }

    /// The same with inputs that repeat their last symbol nine times in ten.
    pub fn repeating(mut self) -> Small {
        for (x, weight) in &mut self.inputs {
            let repeats = x.windows(2).filter(|pair| pair[0] == pair[1]).count();
            *weight = 9u64.pow(repeats as u32);
        }
        self
    }

    /// The number of cells.
    pub fn cells(&self) -> usize {
        let steps = if self.tied { 1 } else { self.length - 1 };
        self.q + steps * self.q * self.q
    }

    /// The number of codes.
    pub fn codes(&self) -> usize {
        self.q.pow(self.cells() as u32)
    }

    /// The cell of step t, counted from 0, after symbol x and token y.
    pub fn cell(&self, t: usize, x: usize, y: usize) -> usize {
        match t {
            0 => x,
            t => {
                let step = if self.tied { 0 } else { t - 1 };
                self.q + (step * self.q + x) * self.q + y
            }
        }
    }

    /// The actions of the code with a number.
    pub fn code(&self, number: usize) -> Vec<usize> {
        let mut rest = number;
        let mut digit = || {
            let digit = rest % self.q;
            rest /= self.q;
            digit
        };
        (0..self.cells()).map(|_| digit()).collect()
    }

    /// The actions of a code of the library's class of this shape.
    pub fn read(&self, code: &Code) -> Vec<usize> {
        let mut actions = vec![0; self.cells()];
        for (n, &action) in code.actions().iter().enumerate() {
            let key = code.class().key(n);
            let x = key.x[0].expect("the step's own symbol") as usize;
            let cell = match (key.y[0], key.t) {
                (None, _) => self.cell(0, x, 0),
                (Some(y), t) => self.cell(t.unwrap_or(2) - 1, x, y as usize),
            };
            actions[cell] = action as usize;
        }
        actions
    }

    /// The rollout of a code on an input.
    pub fn rollout(&self, code: &[usize], x: &[usize]) -> Rollout {
        let (mut tokens, mut states) = (vec![code[self.cell(0, x[0], 0)]], vec![x[0]]);
        for t in 1..self.length {
            tokens.push(code[self.cell(t, x[t], tokens[t - 1])]);
            states.push(self.table[states[t - 1] * self.q + x[t]]);
        }
        Rollout { tokens, states }
    }

    /// The rollouts of a code on every input.
    pub fn rollouts(&self, code: &[usize]) -> Vec<Rollout> {
        let inputs = self.inputs.iter();
        inputs.map(|(x, _)| self.rollout(code, x)).collect()
    }

    /// The summed weight of the inputs that a code answers.
    pub fn reward(&self, code: &[usize]) -> u64 {
        let right = |(x, _): &&(Vec<usize>, u64)| self.rollout(code, x).is_right();
        self.inputs
            .iter()
            .filter(right)
            .map(|(_, weight)| weight)
            .sum()
    }

    /// The reward of every code, by number.
    pub fn rewards(&self) -> Vec<u64> {
        let reward = |number| self.reward(&self.code(number));
        (0..self.codes()).map(reward).collect()
    }

    /// The numbers of the codes that differ from one in one cell, with that cell.
    pub fn neighbours(&self, number: usize) -> impl Iterator<Item = (usize, usize)> {
        let q = self.q;
        (0..self.cells()).flat_map(move |cell| {
            let unit = q.pow(cell as u32);
            let now = number / unit % q;
            let others = (0..q).filter(move |&action| action != now);
            others.map(move |action| (cell, number - now * unit + action * unit))
        })
    }

    /// The traps: codes below the best reward whose shelf, the codes that changes without loss or gain reach,
    /// has no code that a change improves.
    pub fn traps(&self, rewards: &[u64]) -> Vec<usize> {
        let best = rewards.iter().max().copied().unwrap_or(0);
        let mut shelf_of = vec![usize::MAX; rewards.len()];
        let mut traps = Vec::new();
        for start in 0..rewards.len() {
            if shelf_of[start] != usize::MAX || rewards[start] == best {
                continue;
            }
            let (mut shelf, mut next, mut escapes) = (vec![start], 0, false);
            shelf_of[start] = start;
            while let Some(&number) = shelf.get(next) {
                next += 1;
                for (_, other) in self.neighbours(number) {
                    escapes |= rewards[other] > rewards[number];
                    if rewards[other] == rewards[number] && shelf_of[other] == usize::MAX {
                        shelf_of[other] = start;
                        shelf.push(other);
                    }
                }
            }
            if !escapes {
                traps.extend(shelf);
            }
        }
        traps
    }
}

/// What [`tables`] finds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableFindings {
    /// Untied classes whose table is a Latin square.
    pub latin: CodeCounts,
    /// Untied classes whose table is not one.
    pub other: CodeCounts,
    /// Tied classes whose table is a Latin square.
    pub tied: CodeCounts,
}

/// All codes of some classes.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CodeCounts {
    /// The classes.
    pub classes: u64,
    /// Their codes.
    pub codes: u64,
    /// Their traps.
    pub traps: u64,
    /// The classes that have one.
    pub trapped: u64,
}

impl CodeCounts {
    fn add(&mut self, bench: &Bench, class: &Small) -> Result<(), Error> {
        bench.go_on()?;
        let traps = class.traps(&class.rewards()).len() as u64;
        self.classes += 1;
        self.codes += class.codes() as u64;
        self.traps += traps;
        self.trapped += u64::from(traps > 0);
        Ok(())
    }
}

/// Traps over every 2 x 2 table, Latin or not, over two of 3 x 3 that are not, and of tied classes.
///
/// Catches a census that finds traps only in the tables it was written for, and a theorem that is not one: a
/// single trap in an untied class.
pub fn tables(bench: &Bench) -> Result<Option<TableFindings>, Error> {
    let (mut latin, mut other, mut tied) = Default::default();
    for length in 2..=bench.scaled(4, 3) {
        for number in 0..16usize {
            let table: Vec<usize> = (0..4).map(|place| number >> place & 1).collect();
            let counts: &mut CodeCounts = if is_latin(2, &table) {
                &mut latin
            } else {
                &mut other
            };
            counts.add(bench, &Small::new(2, table, length, false))?;
        }
    }
    // Products and the greater of two numbers.
    let of = |value: fn(usize, usize) -> usize| (0..9).map(|n| value(n / 3, n % 3)).collect();
    let not_latin: [Vec<usize>; 2] = [of(|s, x| s * x % 3), of(|s, x| s.max(x))];
    for table in bench.scaled(&not_latin[..], &[]) {
        other.add(bench, &Small::new(3, table.clone(), 2, false))?;
    }
    let counts: &mut CodeCounts = &mut tied;
    for length in 2..=bench.scaled(7, 4) {
        counts.add(bench, &Small::new(2, vec![0, 1, 1, 0], length, true))?;
    }
    // Sums, and the differences of doubled states.
    let squares: [Vec<usize>; 2] = [of(|s, x| (s + x) % 3), of(|s, x| (2 * s + x) % 3)];
    for table in bench.scaled(&squares[..], &[]) {
        counts.add(bench, &Small::new(3, table.clone(), 3, true))?;
    }
    Ok(Some(TableFindings { latin, other, tied }))
}

/// Whether every row and every column of a table has every state once.
fn is_latin(q: usize, table: &[usize]) -> bool {
    let all = |mut line: Vec<usize>| {
        line.sort_unstable();
        line.into_iter().eq(0..q)
    };
    (0..q).all(|n| {
        let row = (0..q).map(|x| table[n * q + x]).collect();
        let column = (0..q).map(|s| table[s * q + n]).collect();
        all(row) && all(column)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use foldglass::reward::count;
    use foldglass::{InputLaw, Shape, Stream, support::exact::parse};

    /// A slip in the order of cells, in the fold or in the weights shows against the library.
    #[test]
    fn rewards_are_those_of_the_library() {
        let law = InputLaw::Markov(parse("9/10").unwrap());
        for (tied, law) in [
            (false, InputLaw::Uniform),
            (true, InputLaw::Uniform),
            (false, law),
        ] {
            let shape = if tied {
                Shape::tied(0, 0)
            } else {
                Shape::untied(0, 0)
            };
            let class = super::super::class("parity", &law, &[4], shape);
            let small = Small::new(2, vec![0, 1, 1, 0], 4, tied);
            let small = if law == InputLaw::Uniform {
                small
            } else {
                small.repeating()
            };
            let whole: u64 = small.inputs.iter().map(|(_, weight)| weight).sum();
            let mut stream = Stream::new(1, 0);
            for _ in 0..50 {
                let code = foldglass::dynamics::chain::random_code(&class, &mut stream);
                let found = small.reward(&small.read(&code)) as f64 / whole as f64;
                assert!((found - count::reward(&code).to_f64()).abs() < 1e-12);
            }
        }
    }

    /// The paper's 8 traps at T = 4, and none where inputs are independent.
    #[test]
    fn traps_are_those_of_the_census() {
        let traps = |class: Small| class.traps(&class.rewards()).len();
        let parity = || Small::new(2, vec![0, 1, 1, 0], 4, false);
        assert_eq!((traps(parity()), traps(parity().repeating())), (0, 8));
    }
}
