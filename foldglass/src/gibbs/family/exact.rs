//! Sums over all complete codes, where that can be done, and over both ends of the family
//! (paper, eq:family).

use super::{Couplings, Energy, Family, power};
use crate::model::operation::Symbol;
use std::collections::BTreeMap;

/// The averages over complete codes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Averages {
    /// The mean of J.
    pub reward: f64,
    /// That of E_win.
    pub window: f64,
    /// That of E_tie.
    pub tying: f64,
    /// The share of codes of the untied class.
    pub windowed: f64,
    /// That of codes of the tied class.
    pub tied: f64,
}

/// The most codes that are visited one by one.
pub const MOST_CODES: u128 = 1 << 20;

impl Family {
    /// The number of complete codes, where it is at most [`MOST_CODES`].
    pub fn few_codes(&self) -> Option<u128> {
        power(self.task().q(), self.histories()).filter(|&codes| codes <= MOST_CODES)
    }

    /// Visits every complete code; none where there are too many. Give it to
    /// [`Averages::of`] for any couplings and temperature.
    pub fn energies(&self) -> Option<Vec<Energy>> {
        let codes = self.few_codes()?;
        let mut code: Vec<Symbol> = vec![0; self.histories()];
        let mut list = Vec::with_capacity(codes as usize);
        for _ in 0..codes {
            list.push(self.energy(&code));
            advance(&mut code, self.task().q());
        }
        Some(list)
    }
}

/// The next code, counting in base q.
fn advance(code: &mut [Symbol], q: usize) {
    for action in code {
        *action += 1;
        if (*action as usize) < q {
            return;
        }
        *action = 0;
    }
}

/// Averages in the making.
#[derive(Default)]
pub(super) struct RunningMeans {
    weight: f64,
    terms: [f64; 5],
}

impl RunningMeans {
    /// Adds a code.
    pub fn add(&mut self, family: &Family, energy: Energy, weight: f64) {
        let is = |holds: bool| f64::from(u8::from(holds));
        let terms = [
            energy.reward as f64 / family.denominator() as f64,
            energy.window as f64 / family.histories() as f64,
            energy.tying as f64 / family.histories() as f64,
            is(energy.window == 0),
            is(energy.window == 0 && energy.tying == 0),
        ];
        self.weight += weight;
        for (sum, term) in self.terms.iter_mut().zip(terms) {
            *sum += weight * term;
        }
    }

    pub fn averages(&self) -> Averages {
        let [reward, window, tying, windowed, tied] = self.terms.map(|sum| sum / self.weight);
        Averages {
            reward,
            window,
            tying,
            windowed,
            tied,
        }
    }
}

impl Averages {
    /// The averages under the Gibbs measure: energies, each of weight exp(-E_tot / tau).
    pub fn of(family: &Family, energies: &[Energy], couplings: Couplings, tau: f64) -> Averages {
        let total = |energy: &Energy| family.total(*energy, couplings);
        let least = energies.iter().map(total).fold(f64::INFINITY, f64::min);
        let mut sum = RunningMeans::default();
        for energy in energies {
            sum.add(family, *energy, ((least - total(energy)) / tau).exp());
        }
        sum.averages()
    }
}

/// The mean reward without penalties, in closed form: no two inputs share a history, so each is
/// solved independently, by 1 in q codes, and its weight is exp(P(x) / tau) when it is.
pub fn complete_reward(family: &Family, tau: f64) -> f64 {
    let q = family.task().q() as f64;
    let term = |input: &super::FamilyInput| {
        let p = input.weight as f64 / family.denominator() as f64;
        // e^(p/tau) / (q - 1 + e^(p/tau)), of which the larger exponential is divided out.
        p / (1.0 + (q - 1.0) * (-p / tau).exp())
    };
    family.inputs.iter().map(term).sum()
}

/// The codes of a class by their rewards: what is left of the family when penalties are strong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// By the numerator of J: how many codes have it.
    pub codes: BTreeMap<u64, u64>,
}

impl Limit {
    /// Visits every code of the untied class, or of the tied one; none where there are more than
    /// [`MOST_CODES`].
    pub fn of(family: &Family, tied: bool) -> Option<Limit> {
        let q = family.task().q();
        let places = if tied { family.rows() } else { family.cells() };
        let count = power(q, places).filter(|&codes| codes <= MOST_CODES)?;
        let mut actions: Vec<Symbol> = vec![0; places];
        let mut codes = BTreeMap::new();
        for _ in 0..count {
            let action = |history: usize| {
                let cell = family.cell[history] as usize;
                actions[if tied {
                    family.row[cell] as usize
                } else {
                    cell
                }]
            };
            let solved = (0..family.inputs.len())
                .filter(|&input| family.follow(input, action) == family.inputs[input].target);
            let reward = solved.map(|input| family.inputs[input].weight).sum();
            *codes.entry(reward).or_insert(0) += 1;
            advance(&mut actions, q);
        }
        Some(Limit { codes })
    }

    /// The mean reward at a temperature.
    pub fn reward(&self, family: &Family, tau: f64) -> f64 {
        let all = family.denominator() as f64;
        let best = *self.codes.keys().last().expect("a class has codes") as f64 / all;
        let (mut z, mut sum) = (0.0, 0.0);
        for (&reward, &count) in &self.codes {
            let reward = reward as f64 / all;
            let weight = count as f64 * ((reward - best) / tau).exp();
            z += weight;
            sum += weight * reward;
        }
        sum / z
    }
}
