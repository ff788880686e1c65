//! Looks at the identities behind the mapping: J and its average over codes, bounds, gradients, single
//! changes (paper, sections 2, 3, App. A to C, E).

use foldglass::dynamics::cavi::Runs;
use foldglass::dynamics::chain::random_code;
use foldglass::gibbs::family::{Averages, Couplings, Family, Limit, complete_reward};
use foldglass::gibbs::parity::Parity;
use foldglass::gibbs::variational::{LossError, lowest_loss};
use foldglass::model::policy::InitialLaw;
use foldglass::reward::count::Counter;
use foldglass::{
    Class, Code, Context, Evaluator, InputLaw, LatinSquare, Policy, Shape, Stream, Symbol, Task,
    reward::count,
};
use serde::{Deserialize, Serialize};

use super::class;
use crate::claims::Bench;
use crate::error::Error;

fn random_policy(class: &Class, stream: &mut Stream) -> Policy {
    let mut policy = Policy::uniform(class);
    let mut row = vec![0.0; class.q()];
    for cell in 0..class.cells() {
        InitialLaw::UNorm.draw(stream, &mut row);
        policy.set_row(cell, &row).expect("a row of probabilities");
    }
    policy
}

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
    pub endpoints: Vec<Endpoint>,
    /// Runs of CAVI, all temperatures and classes together.
    pub endpoint_runs: u64,
    /// The most that mean energy minus tau times entropy of the Boltzmann law is off the closed form of F.
    pub boltzmann_apart: f64,
    /// The most that J and J-tilde of a tied policy differ by, where a rollout often comes back to a cell.
    pub tied_apart: f64,
    /// The same where every cell is nearly deterministic.
    pub cold_apart: f64,
    /// Where rollouts of the paper's tied class come back to a cell.
    pub revisits: Revisits,
}

/// The lowest loss that CAVI reached.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    /// The class, in words.
    pub class: String,
    /// The temperature.
    pub tau: f64,
    /// L - F.
    pub gap: f64,
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
    pub fn least_endpoint(&self) -> &Endpoint {
        let least = self.endpoints.iter().min_by(|a, b| a.gap.total_cmp(&b.gap));
        least.expect("at least one temperature")
    }

    /// The endpoint of parity at T = 3 and a temperature of 0.3, where no factorised law is the Boltzmann law.
    pub fn strict_endpoint(&self) -> &Endpoint {
        let own = |end: &&Endpoint| end.class == UNTIED[0].0 && end.tau == 0.3;
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
const TAUS: [f64; 4] = [1e-3, 0.03, 0.3, 3.0];

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
/// factorises), or by more than 0.014 at 0.3 where it does not.
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
            let settings = foldglass::dynamics::cavi::Settings::plain(tau, 2000);
            let context = Context::default().with_observer(&bench.observer);
            let reached = match lowest_loss(class, settings, bench.seed, runs, context) {
                Ok(reached) => reached,
                Err(LossError::TooLarge(error)) => return Err(error.into()),
                Err(_) => {
                    bench.go_on()?;
                    return Ok(None);
                }
            };
            endpoints.push(Endpoint {
                class: name.to_owned(),
                tau,
                gap: reached.loss - free_energy(&codes, tau),
            });
        }
    }
    let codes = all_codes(&tied);
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
        revisits: revisits(),
    }))
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
    let inputs = 5u64.pow(7);
    let y = [0; 7];
    let mut twice = 0;
    let mut steps = std::collections::BTreeSet::new();
    for n in 0..inputs {
        let x: Vec<Symbol> = (0..7).map(|i| (n / 5u64.pow(i) % 5) as Symbol).collect();
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

/// What [`gradient`] finds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gradient {
    /// Random policies of either kind.
    pub policies: u64,
    /// The most that a slope of J is off the difference of dQ, untied.
    pub untied: f64,
    /// The same, tied.
    pub tied: f64,
    /// The most that J at the middle of a row's segment is off the mean of its ends, untied.
    pub bend: f64,
    /// The same, tied.
    pub tied_bend: f64,
    /// Untied cells with a row of lower loss than the softmax, J evaluated at the policy with that row.
    pub rows_better_than_softmax: u64,
    /// The same of tied cells, where the softmax is not the best.
    pub tied_rows_better: u64,
    /// The most that the sum of pi dQ over the cells of one step is off J, untied.
    pub steps_apart: f64,
    /// The same over all cells, against T times J, tied.
    pub tied_steps_apart: f64,
    /// Tied policies whose loss falls by an update of all cells with a damping of 0.999.
    pub damped_falls: u64,
    /// Those whose loss rises by an undamped one.
    pub undamped_rises: u64,
    /// How far the undamped iteration would move where a damped one ended, at most.
    pub fixed_residual: f64,
    /// Runs of it.
    pub fixed_runs: u64,
}

/// The temperature of [`gradient`], and that at which its updates of all cells are damped.
const TAU: f64 = 0.05;
const COLD_TAU: f64 = 1e-3;

/// The gradient against differences of J, J along single rows, the best row of a cell, the passes step by step.
///
/// It catches a dQ that leaves out visits of a tied cell, or rewards of some inputs; passes that lose weight at
/// a step; an update that is not the minimum of the loss in its row (dQ wrong by a hundredth of tau is enough).
pub fn gradient(bench: &Bench) -> Result<Option<Gradient>, Error> {
    let mut stream = Stream::new(bench.seed, 2);
    let mut worst = [0f64; 2];
    let mut bends = [0f64; 2];
    let mut better = [0u64; 2];
    let mut steps_apart = [0f64; 2];
    let (mut damped_falls, mut undamped_rises) = (0, 0);
    let policies = bench.scaled(100, 25);
    let length = 4;
    for _ in 0..policies {
        for (n, shape) in [Shape::untied(0, 1), Shape::tied(0, 1)]
            .into_iter()
            .enumerate()
        {
            let class = class("z:3", &InputLaw::Uniform, &[length], shape);
            let mut evaluator = Evaluator::new(&class)?;
            let policy = random_policy(&class, &mut stream);
            let before = evaluator.evaluate(&policy);
            steps_apart[n] = steps_apart[n].max(off_reward(&policy, &evaluator, before));
            let cell = stream.below(class.cells() as u32) as usize;
            let (row, values) = (policy.row(cell), evaluator.values(cell));
            if shape.tied {
                let loss = |policy: &Policy, evaluator: &mut Evaluator| {
                    -evaluator.evaluate(policy) - COLD_TAU * policy.entropy()
                };
                let [gentle, full] = [1e-3, 1.0].map(|share| updated(&policy, &evaluator, share));
                let now = loss(&policy, &mut evaluator);
                damped_falls += u64::from(loss(&gentle, &mut evaluator) < now);
                undamped_rises += u64::from(loss(&full, &mut evaluator) > now);
            }
            let step = 1e-5;
            let moved = |evaluator: &mut Evaluator, by: f64| {
                // From the first action to the second, of which there is enough.
                let mut changed = row.to_vec();
                changed[0] += by;
                changed[1] -= by;
                evaluator.evaluate(&with_row(&policy, cell, &changed))
            };
            let size = row[0].min(row[1]).min(step);
            let slope = (moved(&mut evaluator, size) - moved(&mut evaluator, -size)) / (2.0 * size);
            worst[n] = worst[n].max((slope - (values[0] - values[1])).abs());
            let wide = row[0].min(row[1]);
            let middle = (moved(&mut evaluator, wide) + moved(&mut evaluator, -wide)) / 2.0;
            bends[n] = bends[n].max((middle - before).abs());
            let best = softmax(&values, TAU);
            better[n] += u64::from(!is_best(&policy, cell, &best, &mut evaluator, &mut stream));
        }
    }
    Ok(Some(Gradient {
        policies,
        untied: worst[0],
        tied: worst[1],
        bend: bends[0],
        tied_bend: bends[1],
        rows_better_than_softmax: better[0],
        tied_rows_better: better[1],
        steps_apart: steps_apart[0],
        tied_steps_apart: steps_apart[1],
        damped_falls,
        undamped_rises,
        fixed_residual: fixed_residual(bench)?,
        fixed_runs: FIXED_RUNS,
    }))
}

/// Sums pi dQ over the cells of each step, where a cell is of one step, and over all cells elsewhere: how far it
/// is off J at most, or off T J.
fn off_reward(policy: &Policy, evaluator: &Evaluator, reward: f64) -> f64 {
    let class = policy.class();
    let earned = |cell: usize| -> f64 {
        let values = evaluator.values(cell);
        policy
            .row(cell)
            .iter()
            .zip(values)
            .map(|(p, v)| p * v)
            .sum()
    };
    if class.shape().tied {
        let all: f64 = (0..class.cells()).map(earned).sum();
        return (all - class.task().longest() as f64 * reward).abs();
    }
    let step = |t: usize| -> f64 {
        let own = (0..class.cells()).filter(|&cell| class.key(cell).t == Some(t));
        own.map(earned).sum()
    };
    let steps = (1..=class.task().longest()).map(|t| (step(t) - reward).abs());
    steps.fold(0.0, f64::max)
}

/// The policy with another row.
fn with_row(policy: &Policy, cell: usize, row: &[f64]) -> Policy {
    let mut other = policy.clone();
    other.set_row(cell, row).expect("a row of probabilities");
    other
}

/// Moves every row by a share of the way to softmax(dQ / tau).
fn updated(policy: &Policy, evaluator: &Evaluator, share: f64) -> Policy {
    let mut other = policy.clone();
    for cell in 0..policy.class().cells() {
        let target = softmax(&evaluator.values(cell), COLD_TAU);
        let row = mixed(policy.row(cell), &target, share);
        other.set_row(cell, &row).expect("a row of probabilities");
    }
    other
}

/// A share of the way from a row to another.
fn mixed(from: &[f64], to: &[f64], share: f64) -> Vec<f64> {
    let pairs = from.iter().zip(to);
    pairs.map(|(a, b)| (1.0 - share) * a + share * b).collect()
}

/// softmax(dQ / tau).
fn softmax(values: &[f64], tau: f64) -> Vec<f64> {
    let most = values.iter().copied().fold(f64::MIN, f64::max);
    let weights: Vec<f64> = values.iter().map(|v| ((v - most) / tau).exp()).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|w| w / sum).collect()
}

/// Runs of the damped iteration.
const FIXED_RUNS: u64 = 8;

/// The residual of a damped iteration at its end: how far the undamped one would still move.
fn fixed_residual(bench: &Bench) -> Result<f64, Error> {
    let class = class("z:3", &InputLaw::Uniform, &[3], Shape::untied(0, 0));
    let settings = foldglass::dynamics::cavi::Settings::plain(TAU, 2000);
    let mut most = 0f64;
    for run in 0..FIXED_RUNS {
        let only = run..run + 1;
        let mut runs = Runs::builder(&class, settings)
            .seed(bench.seed)
            .numbers(only)
            .start()?;
        runs.advance(usize::MAX);
        most = most.max(runs.outcome(0).residual);
    }
    Ok(most)
}

/// Whether no other row of a cell has a lower loss than `best`, near or far. J is evaluated at the policy with
/// that row: what is compared does not use dQ.
fn is_best(
    policy: &Policy,
    cell: usize,
    best: &[f64],
    evaluator: &mut Evaluator,
    stream: &mut Stream,
) -> bool {
    let mut loss = |row: &[f64]| -> f64 {
        let terms = row.iter().filter(|p| **p > 0.0).map(|p| p * p.ln());
        TAU * terms.sum::<f64>() - evaluator.evaluate(&with_row(policy, cell, row))
    };
    let least = loss(best);
    let mut row = policy.row(cell).to_vec();
    [1.0, 0.03, 0.001].into_iter().all(|share| {
        (0..10).all(|_| {
            InitialLaw::UNorm.draw(stream, &mut row);
            loss(&mixed(best, &row, share)) >= least - 1e-13
        })
    })
}

/// What [`moves`] finds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moves {
    /// Single changes of untied codes whose gain is the difference of dQ.
    pub untied: u64,
    /// Of so many.
    pub untied_of: u64,
    /// The same of tied codes.
    pub tied: u64,
    /// Of so many.
    pub tied_of: u64,
    /// Changes of cells that no input consults.
    pub unconsulted: u64,
    /// Those of them that move J.
    pub unconsulted_moved: u64,
}

/// Single changes of codes: J as it becomes against dQ, untied and tied, and at cells nobody consults.
pub fn moves(bench: &Bench) -> Result<Option<Moves>, Error> {
    let mut stream = Stream::new(bench.seed, 3);
    let mut found = [(0u64, 0u64); 2];
    let (mut unconsulted, mut unconsulted_moved) = (0u64, 0u64);
    for _ in 0..bench.scaled(200, 20) {
        for (n, shape) in [Shape::untied(0, 0), Shape::tied(0, 0)]
            .into_iter()
            .enumerate()
        {
            let class = class("quasigroup", &InputLaw::Uniform, &[4], shape);
            let code = random_code(&class, &mut stream);
            let mut counter = Counter::new(code.clone())?;
            let mut evaluator = Evaluator::new(&class)?;
            evaluator.evaluate(&Policy::deterministic(&code));
            let mut rewards = [0; 5];
            for cell in 0..class.cells() {
                counter.rewards(cell, &mut rewards);
                let values = evaluator.values(cell);
                let now = code.action(cell) as usize;
                for action in (0..5).filter(|&action| action != now) {
                    let exact = rewards[action] as f64 - rewards[now] as f64;
                    let exact = exact / counter.denominator() as f64;
                    let is_same = (exact - (values[action] - values[now])).abs() < 1e-12;
                    found[n].0 += u64::from(is_same);
                    found[n].1 += 1;
                    if n == 0 && evaluator.visits(cell) == 0.0 {
                        unconsulted += 1;
                        unconsulted_moved += u64::from(exact != 0.0);
                    }
                }
            }
        }
    }
    let [(untied, untied_of), (tied, tied_of)] = found;
    Ok(Some(Moves {
        untied,
        untied_of,
        tied,
        tied_of,
        unconsulted,
        unconsulted_moved,
    }))
}

/// What [`visits`] finds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Visits {
    /// Random rollouts of untied policies.
    pub rollouts: u64,
    /// Those that consult a cell twice.
    pub twice: u64,
    /// The same of tied policies.
    pub tied_twice: u64,
    /// Classes whose folding code has reward 1.
    pub folds: u64,
    /// Of so many.
    pub folds_of: u64,
    /// The cells of the classes of tab:containment.
    pub cells: Vec<usize>,
    /// The steps of a pass at T = 10, 20, 40.
    pub steps: Vec<usize>,
    /// The most states (s, window, y) that a step of it has, at the same lengths.
    pub states: Vec<usize>,
    /// The order of the group that the columns of the paper's square generate.
    pub columns_generate: String,
}

/// Whether a rollout consults a cell twice, the code that folds, and the counts of cells.
///
/// It catches cells that leave out the step, the last token or the step's own symbol, and passes that grow faster
/// than the length.
pub fn visits(bench: &Bench) -> Result<Option<Visits>, Error> {
    let mut stream = Stream::new(bench.seed, 4);
    let (mut rollouts, mut twice, mut tied_twice) = (0u64, 0u64, 0u64);
    let (mut folds, mut folds_of) = (0u64, 0u64);
    let shapes = [
        Shape::untied(0, 0),
        Shape::untied(2, 1),
        Shape::untied(1, 1),
        Shape::untied(0, 3),
        Shape::tied(0, 0),
        Shape::tied(0, 3),
    ];
    for shape in shapes {
        let class = class("quasigroup", &InputLaw::Uniform, &[3, 4, 5], shape);
        for _ in 0..bench.scaled(2000, 100) {
            let x: Vec<Symbol> = (0..5).map(|_| stream.below(5) as Symbol).collect();
            let y: Vec<Symbol> = (0..5).map(|_| stream.below(5) as Symbol).collect();
            let cells: std::collections::BTreeSet<usize> =
                (1..=5).map(|t| class.route(&x, t, &y[..t - 1])).collect();
            let again = u64::from(cells.len() < 5);
            rollouts += u64::from(!shape.tied);
            *(if shape.tied {
                &mut tied_twice
            } else {
                &mut twice
            }) += again;
        }
        let fold = Code::fold(&class);
        folds += u64::from(count::reward(&fold).is_one());
        folds_of += 1;
    }
    let cells =
        |lengths: &[usize], shape| class("quasigroup", &InputLaw::Uniform, lengths, shape).cells();
    let passes = [10, 20, 40].map(|length| {
        let class = class(
            "quasigroup",
            &InputLaw::Uniform,
            &[length],
            Shape::untied(1, 1),
        );
        // A cell is a window and a token; the fold beside it has q values.
        let states = class.groups().iter().map(|group| group.cells * class.q());
        (class.nodes().len(), states.max().unwrap_or(0))
    });
    Ok(Some(Visits {
        rollouts,
        twice,
        tied_twice,
        folds,
        folds_of,
        cells: vec![
            cells(&[4], Shape::untied(0, 0)),
            cells(&[6], Shape::untied(0, 0)),
            cells(&[7], Shape::untied(0, 0)),
            cells(&[8], Shape::untied(0, 0)),
            cells(&[7], Shape::untied(1, 1)),
            cells(&[7], Shape::tied(0, 3)),
            cells(&[7], Shape::untied(0, 3)),
            cells(&[7], Shape::untied(2, 1)),
        ],
        steps: passes.map(|(steps, _)| steps).to_vec(),
        states: passes.map(|(_, states)| states).to_vec(),
        columns_generate: (LatinSquare::paper().facts().column_group_order)
            .map_or("unknown".to_owned(), |order| order.to_string()),
    }))
}

/// What [`states`] finds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct States {
    /// Steps of all classes, those whose window is inside the input and that have a symbol before it.
    pub steps: u64,
    /// Those with q^(p+f+3) states.
    pub states_right: u64,
    /// Those with q^(p+f+5) transitions to the next.
    pub transitions_right: u64,
    /// The windows.
    pub windows: Vec<[usize; 2]>,
}

/// Counts the states (s, window, y) that inputs and tokens reach at a step, and the transitions between them.
///
/// It catches a state that leaves out, or repeats, part of what later rewards depend on.
pub fn states(bench: &Bench) -> Result<Option<States>, Error> {
    let windows: &[[usize; 2]] = bench.scaled(
        &[[0, 0], [1, 0], [0, 1], [1, 1], [2, 0], [0, 2], [2, 1]],
        &[[0, 0], [1, 0], [0, 1], [1, 1]],
    );
    let (mut steps, mut states_right, mut transitions_right) = (0, 0, 0);
    for (task, q) in [("parity", 2usize), ("z:3", 3)] {
        for &[past, future] in windows {
            bench.go_on()?;
            let square = LatinSquare::named(task).expect("a named task");
            // Two steps of the kind that is counted, and one more.
            let length = past + future + 4;
            let power = |n: usize| q.pow(n as u32);
            for t in past + 2..length - future {
                let mut reached = std::collections::BTreeSet::new();
                let mut transitions = std::collections::BTreeSet::new();
                for n in 0..power(length) {
                    let x: Vec<Symbol> =
                        (0..length).map(|i| (n / power(i) % q) as Symbol).collect();
                    let folds = x.iter().scan(None, |s: &mut Option<Symbol>, &x| {
                        *s = Some(s.map_or(x, |s| square.multiply(s, x)));
                        *s
                    });
                    let folds: Vec<Symbol> = folds.collect();
                    // Step t, counted from 1: the fold before it, what its window shows, the last token.
                    let state = |t: usize, y: usize| {
                        let window = x[t - 1 - past..t + future].to_vec();
                        (folds[t - 2], window, y)
                    };
                    for y in 0..q {
                        reached.insert(state(t, y));
                        for next in 0..q {
                            transitions.insert((state(t, y), state(t + 1, next)));
                        }
                    }
                }
                steps += 1;
                states_right += u64::from(reached.len() == power(past + future + 3));
                transitions_right += u64::from(transitions.len() == power(past + future + 5));
            }
        }
    }
    Ok(Some(States {
        steps,
        states_right,
        transitions_right,
        windows: windows.to_vec(),
    }))
}

/// What [`family`] finds: the most that mean rewards are off, and over how many codes.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
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
pub fn family(_: &Bench) -> Result<Option<Limits>, Error> {
    let square = LatinSquare::named("parity").expect("a named task");
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
    Ok(Some(Limits {
        codes: energies.map_or(0, |energies| energies.len() as u64),
        complete,
        untied,
        tied,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A check of the best row that uses dQ alone is true of any dQ.
    #[test]
    fn a_wrong_gradient_does_not_give_the_best_row() {
        let class = class("z:3", &InputLaw::Uniform, &[4], Shape::untied(0, 1));
        let mut evaluator = Evaluator::new(&class).unwrap();
        let mut stream = Stream::new(0, 0);
        for cell in [0, class.cells() / 2, class.cells() - 1] {
            let policy = random_policy(&class, &mut stream);
            evaluator.evaluate(&policy);
            let mut values = evaluator.values(cell);
            let right = softmax(&values, TAU);
            assert!(is_best(&policy, cell, &right, &mut evaluator, &mut stream));
            values[0] += TAU / 100.0;
            let wrong = softmax(&values, TAU);
            assert!(!is_best(&policy, cell, &wrong, &mut evaluator, &mut stream));
        }
    }

    /// x_2..x_6, or x_3..x_7, are equal, or x_2..x_7 alternate: 3 * 5^3 - 2 * 5^2 inputs.
    #[test]
    fn rollouts_of_the_tied_class_rarely_come_back() {
        let found = revisits();
        assert_eq!((found.inputs, found.twice), (78_125, 325));
        assert_eq!(found.steps, [2, 3, 4]);
    }
}
