//! Compares J with its average over codes, losses with free energies, and the family of penalties with the classes it
//! should become (paper, sections 2.2 and 3, App. C).

use foldglass::dynamics::cavi::Runs;
use foldglass::gibbs::family::{Averages, Couplings, Family, Limit, complete_reward};
use foldglass::gibbs::parity::Parity;
use foldglass::gibbs::variational::{LossError, lowest_loss};
use foldglass::{
    Class, Code, Context, Evaluator, InputLaw, Operation, Policy, Shape, Stream, Symbol, Task,
    reward::count,
};
use serde::{Deserialize, Serialize};

use super::{class, random_policy};
use crate::claims::Bench;
use crate::error::Error;

/// Every code of a small class, with J.
fn all_codes(class: &Class) -> Vec<(Code, f64)> {
    let (q, cells) = (class.q(), class.cells());
    let code = |n: usize| Code::from_fn(class, |cell| (n / q.pow(cell as u32) % q) as Symbol);
    let codes = (0..q.pow(cells as u32)).map(code);
    codes
        .map(|code| {
            let reward = count::reward(&code).to_f64();
            (code, reward)
        })
        .collect()
}

/// J-tilde: J averaged over codes whose cells are drawn independently.
fn annealed(policy: &Policy, codes: &[(Code, f64)]) -> f64 {
    let rows: Vec<&[f64]> = (0..policy.class().cells()).map(|c| policy.row(c)).collect();
    let term = |(code, reward): &(Code, f64)| {
        let actions = code.actions().iter().zip(&rows);
        let chance: f64 = actions.map(|(&action, row)| row[action as usize]).product();
        chance * reward
    };
    codes.iter().map(term).sum()
}

/// What [`identity`] finds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// Random policies of untied classes.
    pub policies: u64,
    /// The most that J and J-tilde of one differ by.
    pub untied_apart: f64,
    /// The least that the loss of one is above the free energy.
    pub least_gap: f64,
    /// The lowest loss of runs of CAVI above the free energy, class by class and temperature by temperature.
    pub endpoints: Vec<LossEndpoint>,
    /// Runs of CAVI, all temperatures and classes together.
    pub endpoint_runs: u64,
    /// The most that mean energy minus tau times entropy of the Boltzmann law is off the closed form of F.
    pub boltzmann_apart: f64,
    /// The most that J and J-tilde of a tied policy differ by, where a rollout often comes back to a cell.
    pub tied_apart: f64,
    /// The same where every cell is nearly deterministic.
    pub cold_apart: f64,
    /// The same of endpoints of CAVI near zero temperature.
    pub cold_endpoints: ColdEndpoints,
    /// The least that any product law is above the free energy of parity at T = 3, at a temperature of 0.3: by the
    /// exact minimum, which uses neither CAVI nor codes.
    pub product_gap: f64,
    /// Where rollouts of the paper's tied class come back to a cell.
    pub revisits: Revisits,
}

/// The lowest loss that CAVI reached.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LossEndpoint {
    /// The class, in words.
    pub class: String,
    /// The temperature.
    pub tau: f64,
    /// L - F.
    pub gap: f64,
}

/// Endpoints of CAVI on a tied class near zero temperature.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColdEndpoints {
    /// The temperature.
    pub tau: f64,
    /// Endpoints.
    pub runs: u64,
    /// Those that are no codes: some row is further than a thousandth from a single action.
    pub mixed: u64,
    /// The most that J and J-tilde of one differ by.
    pub apart: f64,
}

/// Inputs of the tied class (0,3), T = 7, on which two steps see the same window.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Revisits {
    /// All inputs.
    pub inputs: u64,
    /// Those on which two steps may consult one cell.
    pub twice: u64,
    /// The steps that may.
    pub steps: Vec<usize>,
}

impl Identity {
    /// The least that a loss of CAVI is above the free energy.
    pub fn least_endpoint(&self) -> &LossEndpoint {
        let least = self.endpoints.iter().min_by(|a, b| a.gap.total_cmp(&b.gap));
        least.expect("at least one temperature")
    }

    /// The endpoint of parity at T = 3 and a temperature of 0.3, where no factorised law is the Boltzmann law.
    pub fn strict_endpoint(&self) -> &LossEndpoint {
        let own = |end: &&LossEndpoint| end.class == UNTIED[0].0 && end.tau == STRICT_TAU;
        let strict = self.endpoints.iter().find(own);
        strict.expect("a class and a temperature of the probe")
    }
}

impl Revisits {
    /// The share of the inputs on which J and J-tilde may differ: the most that they differ by.
    pub fn share(&self) -> f64 {
        self.twice as f64 / self.inputs as f64
    }
}

/// The temperatures at which losses are compared with free energies.
const TAUS: [f64; 4] = [1e-3, 0.03, STRICT_TAU, 3.0];

/// That at which no product law is the Boltzmann law of parity at T = 3.
const STRICT_TAU: f64 = 0.3;

/// The untied classes of [`identity`], all of parity: in words, their lengths and windows.
const UNTIED: [(&str, &[usize], [usize; 2]); 3] = [
    ("parity (0,0) T=3", &[3], [0, 0]),
    ("parity (0,0) T=1,2,3", &[1, 2, 3], [0, 0]),
    ("parity (1,1) T=2", &[2], [1, 1]),
];

/// F = -tau ln Z, summed over codes.
fn free_energy(codes: &[(Code, f64)], tau: f64) -> f64 {
    let best = codes.iter().map(|(_, reward)| *reward).fold(0.0, f64::max);
    let z: f64 = codes.iter().map(|(_, r)| ((r - best) / tau).exp()).sum();
    -best - tau * z.ln()
}

/// J against J-tilde, and the loss against the free energy, over random policies and CAVI's endpoints of
/// small classes.
///
/// It catches an evaluation that does not average over the actions of a cell as codes do; a free energy or a loss
/// that is off by more than rounding where the bound is attained (at the Boltzmann law, and by CAVI where a class
/// factorises); and where it does not, a minimisation that ends above the exact minimum over product laws.
pub fn identity(bench: &Bench) -> Result<Option<Identity>, Error> {
    let policies = bench.scaled(200, 20);
    let tied = class("parity", &InputLaw::Uniform, &[4], Shape::tied(0, 0));
    let mut stream = Stream::new(bench.seed, 1);
    let (mut apart, mut least_gap) = (0f64, f64::INFINITY);
    let mut endpoints = Vec::new();
    let runs = bench.scaled(16, 4);
    let mut boltzmann_apart = 0.0;
    for (name, lengths, [past, future]) in UNTIED {
        let shape = Shape::untied(past, future);
        let class = &class("parity", &InputLaw::Uniform, lengths, shape);
        let codes = all_codes(class);
        let mut evaluator = Evaluator::new(class)?;
        if lengths == [3] {
            boltzmann_apart = off_closed_form(&codes);
        }
        for _ in 0..policies {
            let policy = random_policy(class, &mut stream);
            let reward = evaluator.evaluate(&policy);
            apart = apart.max((reward - annealed(&policy, &codes)).abs());
            for tau in TAUS {
                let loss = -reward - tau * policy.entropy();
                least_gap = least_gap.min(loss - free_energy(&codes, tau));
            }
        }
        for tau in TAUS {
            let settings = foldglass::dynamics::cavi::CaviSettings::plain(tau, 2000);
            let context = Context::default().with_observer(&bench.observer);
            let reached = match lowest_loss(class, settings, bench.seed, runs, context) {
                Ok(reached) => reached,
                Err(LossError::TooLarge(error)) => return Err(error.into()),
                Err(_) => {
                    bench.go_on()?;
                    return Ok(None);
                }
            };
            endpoints.push(LossEndpoint {
                class: name.to_owned(),
                tau,
                gap: reached.loss - free_energy(&codes, tau),
            });
        }
    }
    let codes = all_codes(&tied);
    let cold_endpoints = cold_endpoints(bench, &tied, &codes)?;
    let mut evaluator = Evaluator::new(&tied)?;
    let (mut tied_apart, mut cold_apart) = (0f64, 0f64);
    for _ in 0..policies {
        let mut policy = random_policy(&tied, &mut stream);
        let difference = |policy: &Policy, evaluator: &mut Evaluator| {
            (evaluator.evaluate(policy) - annealed(policy, &codes)).abs()
        };
        tied_apart = tied_apart.max(difference(&policy, &mut evaluator));
        // Nearly a code: 99.9 % on one action of every cell.
        for cell in 0..tied.cells() {
            let action = stream.below(2) as usize;
            let mut row = [0.001; 2];
            row[action] = 0.999;
            policy.set_row(cell, &row).expect("a row of probabilities");
        }
        cold_apart = cold_apart.max(difference(&policy, &mut evaluator));
    }
    Ok(Some(Identity {
        policies: 3 * policies,
        untied_apart: apart,
        least_gap,
        endpoint_runs: runs * endpoints.len() as u64,
        endpoints,
        boltzmann_apart,
        tied_apart,
        cold_apart,
        cold_endpoints,
        product_gap: product_gap(),
        revisits: revisits(),
    }))
}

/// The temperature of [`cold_endpoints`], far below the smallest change of J, 1/16 at T = 4.
const NEAR_ZERO: f64 = 1e-5;

/// J against J-tilde where CAVI ends near zero temperature.
fn cold_endpoints(
    bench: &Bench,
    class: &Class,
    codes: &[(Code, f64)],
) -> Result<ColdEndpoints, Error> {
    let runs = bench.scaled(200, 20);
    let settings = foldglass::dynamics::cavi::CaviSettings::plain(NEAR_ZERO, 2000);
    let mut evaluator = Evaluator::new(class)?;
    let (mut mixed, mut apart) = (0, 0f64);
    for run in 0..runs {
        bench.go_on()?;
        let mut one = Runs::builder(class, settings)
            .seed(bench.seed)
            .numbers(run..run + 1)
            .start()?;
        one.advance(usize::MAX);
        let policy = one.policy(0);
        let is_mixed = |cell: usize| policy.row(cell).iter().all(|&p| p < 0.999);
        mixed += u64::from((0..class.cells()).any(is_mixed));
        apart = apart.max((evaluator.evaluate(&policy) - annealed(&policy, codes)).abs());
    }
    Ok(ColdEndpoints {
        tau: NEAR_ZERO,
        runs,
        mixed,
        apart,
    })
}

/// The lowest loss of all product laws of parity at T = 3 and a temperature of 0.3, above the free energy: both from
/// the exact solution.
fn product_gap() -> f64 {
    let (parity, beta) = (Parity::new(3), 1.0 / STRICT_TAU);
    parity.mean_field(beta).loss + parity.at(beta).log_z / beta
}

/// The free energy of the Boltzmann law over the codes of parity at T = 3, as mean energy minus tau times
/// entropy, off the closed form of -tau ln Z: the largest difference.
fn off_closed_form(codes: &[(Code, f64)]) -> f64 {
    let mut worst = 0f64;
    for tau in TAUS {
        let f = free_energy(codes, tau);
        let chances = codes.iter().map(|(_, r)| ((r + f) / tau).exp());
        let terms = codes.iter().zip(chances);
        let own: f64 = terms
            .filter(|(_, p)| *p > 0.0)
            .map(|((_, reward), p)| p * (-reward + tau * p.ln()))
            .sum();
        let closed = -tau * Parity::new(3).at(1.0 / tau).log_z;
        worst = worst.max((own - closed).abs());
    }
    worst
}

/// All inputs of the paper's tied class: on which two steps may have one cell, if their tokens are the same.
fn revisits() -> Revisits {
    let class = class("quasigroup", &InputLaw::Uniform, &[7], Shape::tied(0, 3));
    let y = [0; 7];
    let (mut inputs, mut twice) = (0, 0);
    let mut steps = std::collections::BTreeSet::new();
    for x in class.task().all_inputs(7) {
        inputs += 1;
        let cells: Vec<usize> = (1..=7).map(|t| class.route(&x, t, &y[..t - 1])).collect();
        let again = |t: &usize| cells.iter().filter(|&&cell| cell == cells[t - 1]).count() > 1;
        let own: Vec<usize> = (1..=7).filter(again).collect();
        twice += u64::from(!own.is_empty());
        steps.extend(own);
    }
    Revisits {
        inputs,
        twice,
        steps: steps.into_iter().collect(),
    }
}

/// What [`mean_field`] finds, by T.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeanFields {
    /// T = 10, 20, 40.
    pub lengths: Vec<MeanFieldOf>,
}

/// The best factorised policy of parity beside the ensemble of codes, at one T.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeanFieldOf {
    /// T.
    pub length: usize,
    /// The inverse temperature where the best factorised policy becomes uniform, over that of the transition.
    pub colder: f64,
    /// J of the best factorised policy halfway between the two.
    pub policy: f64,
    /// The mean reward of the ensemble there.
    pub ensemble: f64,
    /// (L - F) / tau in nats a cell: at half the inverse temperature of the transition, halfway between the two,
    /// and at twice the inverse temperature of the melting.
    pub gaps: [f64; 3],
}

/// The best of all factorised policies of parity against the exact ensemble.
///
/// It catches a minimisation that misses the policy that tracks the state, and a transition that is elsewhere.
pub fn mean_field(_: &Bench) -> Result<Option<MeanFields>, Error> {
    let lengths = [10, 20, 40].map(|length| {
        let parity = Parity::new(length);
        let (crossing, melting) = (parity.transition().crossing, parity.melting().beta);
        let between = (crossing + melting) / 2.0;
        let gap = |beta: f64| {
            let cells = (4 * length - 2) as f64;
            (beta * parity.mean_field(beta).loss + parity.at(beta).log_z) / cells
        };
        MeanFieldOf {
            length,
            colder: melting / crossing,
            policy: parity.mean_field(between).reward,
            ensemble: parity.at(between).mean_reward,
            gaps: [gap(crossing / 2.0), gap(between), gap(2.0 * melting)],
        }
    });
    Ok(Some(MeanFields {
        lengths: lengths.into(),
    }))
}

/// What [`family`] finds: the most that mean rewards are off, and over how many codes.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FamilyLimits {
    /// All codes of the complete parameterisation.
    pub codes: u64,
    /// Without coupling, off the complete parameterisation.
    pub complete: f64,
    /// With a strong coupling of windows, off the untied class.
    pub untied: f64,
    /// With both strong, off the tied class.
    pub tied: f64,
}

/// The family of penalties at no coupling and at a strong one, against the classes it should become.
///
/// It catches a penalty that misses pairs of histories, or counts pairs that a window or a tie does not join.
pub fn family(_: &Bench) -> Result<Option<FamilyLimits>, Error> {
    let square = Operation::named("parity").expect("a named task");
    let task = Task::new(square, &InputLaw::Uniform, &[2]).expect("a task");
    let family = Family::new(task, Shape::untied(0, 0));
    let family = family.map_err(|error| Error::Failed(error.to_string()))?;
    let energies = family.energies();
    let mut worst = [0f64; 3];
    if let Some(energies) = &energies {
        for tau in [0.05, 0.2, 1.0] {
            let at = |window, tying| {
                let couplings = Couplings { window, tying };
                Averages::of(&family, energies, couplings, tau).reward
            };
            let limit = |tied| Limit::of(&family, tied).map(|limit| limit.reward(&family, tau));
            let strong = 1e4;
            let pairs = [
                (at(0.0, 0.0), Some(complete_reward(&family, tau))),
                (at(strong, 0.0), limit(false)),
                (at(strong, strong), limit(true)),
            ];
            for (worst, (found, expected)) in worst.iter_mut().zip(pairs) {
                let apart = expected.map_or(f64::INFINITY, |expected| (found - expected).abs());
                *worst = worst.max(apart);
            }
        }
    }
    let [complete, untied, tied] = worst;
    Ok(Some(FamilyLimits {
        codes: energies.map_or(0, |energies| energies.len() as u64),
        complete,
        untied,
        tied,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// x_2..x_6, or x_3..x_7, are equal, or x_2..x_7 alternate: 3 * 5^3 - 2 * 5^2 inputs.
    #[test]
    fn rollouts_of_the_tied_class_rarely_come_back() {
        let found = revisits();
        assert_eq!((found.inputs, found.twice), (78_125, 325));
        assert_eq!(found.steps, [2, 3, 4]);
    }
}
