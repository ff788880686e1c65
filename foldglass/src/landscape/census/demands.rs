//! Keeps what endings demand of the weights that arrive at their first step.
//!
//! An ending is not raised at its first rung if, for each cell c and action a of it, the sum over
//! the states i of alpha_i w_i (beta_i - beta_i(a)) is not negative, beta_i being what state i earns
//! with the action that c has. A row of these factors, divided by what they have in common, is a
//! condition; conditions recur, and so do whole sets of them.

use crate::count::weight::Whole;
use crate::landscape::rungs::Rung;
use crate::quasigroup::Symbol;
use std::collections::BTreeMap;
use std::ops::AddAssign;

/// A cell of a rung, and the factors of its states.
type Condition = (usize, Vec<i128>);

/// Sets of conditions, by the last forgetting rung, with the number of codes of the endings that
/// make them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Demands(BTreeMap<usize, BTreeMap<Vec<Condition>, u128>>);

impl AddAssign for Demands {
    fn add_assign(&mut self, other: Demands) {
        for (rung, sets) in other.0 {
            let all = self.0.entry(rung).or_default();
            for (set, weight) in sets {
                *all.entry(set).or_default() += weight;
            }
        }
    }
}

impl Demands {
    /// Adds what an ending demands that begins with a rung and earns beta after it.
    pub(super) fn add<W: Whole>(
        &mut self,
        (number, rung): (usize, &Rung<W>),
        beta: &[W],
        actions: &[Symbol],
        q: usize,
        exact: bool,
        weight: u128,
    ) {
        let mut set: Vec<Condition> = Vec::new();
        for cell in rung.cells.clone() {
            for action in (0..q as Symbol).filter(|&action| action != actions[cell]) {
                let mut row = rung.advantage(beta, cell, actions[cell], action);
                let common = row.iter().fold(0u128, |g, f| gcd(g, f.unsigned_abs()));
                if common == 0 {
                    continue;
                }
                if exact {
                    row.iter_mut().for_each(|factor| *factor /= common as i128);
                }
                set.push((cell, row));
            }
        }
        set.sort();
        set.dedup();
        *self.0.entry(number).or_default().entry(set).or_default() += weight;
    }

    /// What the endings of a rung demand, ready to be asked often.
    pub(super) fn compile<W: Whole>(&self, rung: usize) -> Compiled<W> {
        let mut conditions: Vec<&Condition> = Vec::new();
        let mut sets = Vec::new();
        let none = BTreeMap::new();
        let mut numbers: BTreeMap<&Condition, usize> = BTreeMap::new();
        for (set, &weight) in self.0.get(&rung).unwrap_or(&none) {
            let number = |condition| {
                *numbers.entry(condition).or_insert_with(|| {
                    conditions.push(condition);
                    conditions.len() - 1
                })
            };
            sets.push((set.iter().map(number).collect(), weight));
        }
        let whole = |(cell, row): &Condition| (*cell, row.iter().map(|&f| W::of_i128(f)).collect());
        Compiled {
            holds: vec![false; conditions.len()],
            conditions: conditions.into_iter().map(whole).collect(),
            sets,
        }
    }
}

/// The demands of the endings of one rung.
pub(super) struct Compiled<W> {
    conditions: Vec<(usize, Vec<W>)>,
    /// The conditions of each set, by number, and how many codes the endings that make it have.
    sets: Vec<(Vec<usize>, u128)>,
    holds: Vec<bool>,
}

impl<W: Whole + Ord> Compiled<W> {
    /// How many codes the endings have that are not raised where alpha arrives.
    pub fn met(&mut self, rung: &Rung<W>, alpha: &[W], tolerance: W) -> u128 {
        for ((cell, row), holds) in self.conditions.iter().zip(&mut self.holds) {
            *holds = rung.arriving(alpha, *cell, row) + tolerance >= W::zero();
        }
        let met = self
            .sets
            .iter()
            .filter(|(set, _)| set.iter().all(|&n| self.holds[n]));
        met.map(|(_, weight)| weight).sum()
    }
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}
