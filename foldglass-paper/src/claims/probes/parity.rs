//! Goes through all codes of parity at small lengths, and its exact thermodynamics at large ones (paper,
//! section 4.2, App. F, Fig. 1).

use foldglass::gibbs::parity::Parity;
use foldglass::landscape::anatomy::{StepKind, product, steps};
use foldglass::support::exact::IBig;
use foldglass::{Code, InputLaw, Reward, Shape, Symbol, reward::count};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::class;
use crate::claims::Bench;
use crate::error::Error;

/// What [`codes`] finds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Codes {
    /// By T, from 2 on.
    pub lengths: BTreeMap<usize, CodesOf>,
    /// The most that ln Z by the closed form is off that of all codes, by T, from 3 on.
    pub log_z_apart: BTreeMap<usize, f64>,
}

/// All codes of one length.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CodesOf {
    /// How many there are.
    pub codes: u64,
    /// Those whose reward is that of the product formula.
    pub formula_holds: u64,
    /// Those with a dead step.
    pub dead: u64,
    /// Those of them whose reward is not 1/2.
    pub dead_not_half: u64,
    /// Of the others, how many with so many half-resets have which reward.
    pub by_resets: BTreeMap<usize, BTreeMap<String, u64>>,
    /// Pairs of links of a step: those that track the state, half-resets, dead ones.
    pub pairs: [u64; 3],
}

impl Codes {
    /// A sum over the lengths.
    pub fn sum(&self, of: fn(&CodesOf) -> u64) -> u64 {
        self.lengths.values().map(of).sum()
    }

    /// The longest length.
    pub fn longest(&self) -> usize {
        self.lengths.keys().copied().max().unwrap_or(0)
    }
}

/// All codes of one length: the formula, dead steps, half-resets, counts by reward.
///
/// Rewards are counted, not taken from the formula: a wrong factor, a wrong kind of a step or a band with a wrong
/// count shows.
pub fn codes(bench: &Bench) -> Result<Option<Codes>, Error> {
    let mut lengths = BTreeMap::new();
    for length in 2..=bench.scaled(4, 3) {
        lengths.insert(length, codes_of(bench, length)?);
    }
    let mut log_z_apart = BTreeMap::new();
    for length in 3..=bench.scaled(5, 4) {
        log_z_apart.insert(length, self::log_z_apart(bench, length)?);
    }
    Ok(Some(Codes {
        lengths,
        log_z_apart,
    }))
}

fn codes_of(bench: &Bench, length: usize) -> Result<CodesOf, Error> {
    let class = class("parity", &InputLaw::Uniform, &[length], Shape::untied(0, 0));
    let half = Reward::new(1u8, 2u8);
    let (mut formula, mut dead, mut dead_elsewhere) = (0, 0, 0);
    let mut pairs = [0u64; 3];
    let mut by_resets: BTreeMap<usize, BTreeMap<String, u64>> = BTreeMap::new();
    let number = 1u64 << class.cells();
    for n in 0..number {
        if n % 4096 == 0 {
            bench.go_on()?;
        }
        let code = Code::from_fn(&class, |cell| (n >> cell & 1) as Symbol);
        let reward = count::reward(&code);
        let (factors, said) = product(&code).expect("the formula is for this class");
        formula += u64::from(said == reward);
        let steps = steps(&code);
        if steps.iter().any(|step| step.kind.is_dead()) {
            dead += 1;
            dead_elsewhere += u64::from(reward != half);
        } else {
            let resets = steps
                .iter()
                .filter(|step| step.kind == StepKind::HalfResets);
            let own = by_resets.entry(resets.count()).or_default();
            *own.entry(reward.to_string()).or_default() += 1;
        }
        // The link pairs of the second step, each once for every rest of the code.
        let twice = factors[1].twice.unsigned_abs() as usize;
        pairs[2 - twice] += 1;
    }
    Ok(CodesOf {
        codes: number,
        formula_holds: formula,
        dead,
        dead_not_half: dead_elsewhere,
        by_resets,
        pairs: pairs.map(|count| count / (number / 16)),
    })
}

/// ln Z by the closed form and by visiting every code: the largest difference.
fn log_z_apart(bench: &Bench, length: usize) -> Result<f64, Error> {
    let class = class("parity", &InputLaw::Uniform, &[length], Shape::untied(0, 0));
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    let cells = class.cells();
    let mut counter = foldglass::reward::count::Counter::new(Code::from_fn(&class, |_| 0))?;
    // By a Gray code, so that each code is one change of the one before.
    for n in 0u64..1 << cells {
        if n % (1 << 14) == 0 {
            bench.go_on()?;
        }
        *counts.entry(counter.reward() as u64).or_default() += 1;
        let cell = (n + 1).trailing_zeros() as usize;
        if cell < cells {
            let action = 1 - counter.code().action(cell);
            counter.set(cell, action);
        }
    }
    let whole = (1u64 << length) as f64;
    let mut worst = 0f64;
    for beta in [0.3, 1.0, 7.7, 31.0, 97.3] {
        let term =
            |(&reward, &count): (&u64, &u64)| count as f64 * (beta * reward as f64 / whole).exp();
        let sum: f64 = counts.iter().map(term).sum();
        let apart = (sum.ln() - Parity::new(length).at(beta).log_z).abs();
        worst = worst.max(apart);
    }
    Ok(worst)
}

/// What [`heat`] finds, by T.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Heats {
    /// T = 10.
    pub t10: Heat,
    /// T = 40.
    pub t40: Heat,
    /// T = 100.
    pub t100: Heat,
    /// T = 200.
    pub t200: Heat,
    /// The bands at every T from 2 to 200.
    pub dominance: Dominance,
}

impl Heats {
    /// By T, ascending.
    pub fn all(&self) -> [(usize, &Heat); 4] {
        [
            (10, &self.t10),
            (40, &self.t40),
            (100, &self.t100),
            (200, &self.t200),
        ]
    }
}

/// Which bands of codes have the greatest weight.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dominance {
    /// Lengths, from 2 on.
    pub lengths: u64,
    /// Their bands, other than that of reward 1 and that of the dead codes.
    pub bands: u64,
    /// Those that outweigh both at some inverse temperature from 0 on.
    pub outweigh: u64,
    /// The most that all of them together have of Z where the two leading bands cross, at T = 10.
    pub rest_at_10: f64,
    /// The same at the longest, as a power of 10.
    pub rest_log10: f64,
}

/// The transition at one T.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Heat {
    /// 6T ln 2.
    pub leading: f64,
    /// (6T-2) ln 2, where the two leading bands cross.
    pub crossing: f64,
    /// Where the mean reward is 3/4.
    pub three_quarters: f64,
    /// From a mean of 0.6 to one of 0.9.
    pub climb: f64,
    /// The same over 6T ln 2.
    pub relative_climb: f64,
    /// The number of cells over the inverse temperature where the mean reward is 3/4.
    pub cells_over_beta: f64,
    /// The mean reward a tenth above the transition temperature.
    pub hot: f64,
    /// The same a tenth below.
    pub cold: f64,
    /// The mean reward at 6T ln 2.
    pub at_leading: f64,
    /// The entropy between the two.
    pub entropy_drop: f64,
    /// (3T-1) ln 2.
    pub entropy_stated: f64,
    /// The slope of ln Z at the crossing, off the mean reward.
    pub slope_off_mean: f64,
    /// The most that the mean is off the two-level form within 10 of the crossing.
    pub two_level_apart: f64,
    /// The mean reward at a temperature of 1e-13.
    pub equilibrium: f64,
}

/// The transition: where it is, how sharp, what is on either side.
///
/// Catches a density of states whose leading bands are off by a factor of 2: the transition would move by 2 ln 2.
pub fn heat(_: &Bench) -> Result<Option<Heats>, Error> {
    Ok(Some(Heats {
        t10: heat_at(10),
        t40: heat_at(40),
        t100: heat_at(100),
        t200: heat_at(200),
        dominance: dominance(200),
    }))
}

/// The bands of half-resets against the two that lead, by the density of states.
///
/// With the slope of each band its reward, the excess of a band over the greater of the two is largest where
/// the two cross, or at 0 for rewards below 1/2. Catches a band that is heavier than the paper states.
fn dominance(longest: usize) -> Dominance {
    let (mut bands, mut outweigh, mut rest_at) = (0, 0, BTreeMap::new());
    for length in 2..=longest {
        // Twice the reward less 1, as a fraction: rewards themselves round to 1/2 from k = 53 on.
        let density: Vec<(f64, f64)> = Parity::new(length)
            .density()
            .map(|band| {
                let one = IBig::from(band.denominator.clone());
                let twice: IBig = IBig::from(band.numerator) * IBig::from(2) - one;
                let offset = twice.to_f64().value() / band.denominator.to_f64().value();
                (offset, band.count.to_f64().value().ln())
            })
            .collect();
        let of = |own: f64| density.iter().find(|&&(offset, _)| offset == own);
        let (dead, best) = (of(0.0).expect("dead codes").1, of(1.0).expect("optima").1);
        let crossing = 2.0 * (dead - best);
        let mut rest = 0.0;
        let others = (density.iter()).filter(|(offset, _)| ![0.0, 1.0].contains(offset));
        for &(offset, count) in others {
            let excess = |beta: f64| count + beta * offset / 2.0 - dead;
            bands += 1;
            outweigh += u64::from(excess(crossing).max(excess(0.0)) >= 0.0);
            rest += excess(crossing).exp();
        }
        rest_at.insert(length, rest / (2.0 + rest));
    }
    Dominance {
        lengths: longest as u64 - 1,
        bands,
        outweigh,
        rest_at_10: rest_at[&10],
        rest_log10: rest_at[&longest].log10(),
    }
}

fn heat_at(length: usize) -> Heat {
    let ln2 = std::f64::consts::LN_2;
    let parity = Parity::new(length);
    let leading = 6.0 * length as f64 * ln2;
    let crossing = (6 * length - 2) as f64 * ln2;
    let climb = parity.climb(0.6, 0.9);
    let mean = |beta: f64| parity.at(beta).mean_reward;
    let entropy = |beta: f64| parity.at(beta).entropy;
    let (hot, cold) = (0.9 * crossing, 1.1 * crossing);
    let step = 1e-4;
    let slope =
        (parity.at(crossing + step).log_z - parity.at(crossing - step).log_z) / (2.0 * step);
    let two_level = (-40..=40).map(|n| {
        let beta = crossing + f64::from(n) / 4.0;
        (mean(beta) - Parity::two_level(beta, crossing)).abs()
    });
    Heat {
        leading,
        crossing,
        three_quarters: parity.transition().three_quarters,
        climb: climb.width(),
        relative_climb: climb.width() / leading,
        cells_over_beta: (4 * length - 2) as f64 / parity.transition().three_quarters,
        hot: mean(hot),
        cold: mean(cold),
        at_leading: mean(leading),
        entropy_drop: entropy(hot) - entropy(cold),
        entropy_stated: (3 * length - 1) as f64 * ln2,
        slope_off_mean: (slope - mean(crossing)).abs(),
        two_level_apart: two_level.fold(0.0, f64::max),
        equilibrium: mean(1e13),
    }
}

/// What [`dictionary`] finds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dictionary {
    /// Inputs of the two that the parity code answers.
    pub parity_right: u64,
    /// Likewise the copy code.
    pub copy_right: u64,
    /// The reward of the parity code.
    pub parity_reward: String,
    /// Likewise of the copy code.
    pub copy_reward: String,
}

/// The two codes and two inputs of the figure.
///
/// It catches cells that are routed to by another symbol or token than their own: the parity code fails on an input then.
pub fn dictionary(_: &Bench) -> Result<Option<Dictionary>, Error> {
    let class = class("parity", &InputLaw::Uniform, &[5], Shape::untied(0, 0));
    let fold = Code::fold(&class);
    let copy = Code::from_fn(&class, |cell| class.key(cell).x[0].expect("its own symbol"));
    let right = |code: &Code, x: &[Symbol]| {
        let mut y: Vec<Symbol> = Vec::new();
        for t in 1..=x.len() {
            y.push(code.action(class.route(x, t, &y)));
        }
        y[x.len() - 1] == class.task().fold(x)
    };
    let inputs: [[Symbol; 5]; 2] = [[0, 1, 0, 1, 1], [1, 1, 0, 1, 1]];
    let answers = |code: &Code| inputs.iter().filter(|x| right(code, &x[..])).count() as u64;
    Ok(Some(Dictionary {
        parity_right: answers(&fold),
        copy_right: answers(&copy),
        parity_reward: count::reward(&fold).to_string(),
        copy_reward: count::reward(&copy).to_string(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2T - 1 other bands at each T; those of many half-resets are not taken for the dead codes.
    #[test]
    fn all_bands_of_half_resets_are_weighed() {
        let found = dominance(120);
        let bands = (2..=120).map(|length| 2 * length - 1).sum::<u64>();
        assert_eq!((found.bands, found.outweigh), (bands, 0));
        assert!(found.rest_log10 < -20.0);
    }
}
