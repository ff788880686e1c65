//! Looks at the identities behind the mapping: J and its average over codes, bounds, gradients, single
//! changes (paper, sections 2, 3, App. A to C, E).

use foldglass::cavi::Runs;
use foldglass::chain::random_code;
use foldglass::count::Counter;
use foldglass::policy::InitialLaw;
use foldglass::thermo::family::{Averages, Couplings, Family, Limit, complete_reward};
use foldglass::{
    Allowance, Class, Code, Evaluator, InputLaw, LatinSquare, Policy, Shape, Stream, Symbol, Task,
    count,
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
    let rows: Vec<Vec<f64>> = (0..policy.class().cells()).map(|c| policy.row(c)).collect();
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
    /// The most that J and J-tilde of a tied policy differ by.
    pub tied_apart: f64,
    /// The same where every cell is nearly deterministic.
    pub cold_apart: f64,
}

/// J against J-tilde, and the loss against the free energy, over random policies of small classes.
pub fn identity(bench: &Bench) -> Result<Option<Identity>, Error> {
    let policies = bench.scaled(200, 20);
    let untied = [
        class("parity", &InputLaw::Uniform, &[3], Shape::untied(0, 0)),
        class(
            "parity",
            &InputLaw::Uniform,
            &[1, 2, 3],
            Shape::untied(0, 0),
        ),
        class("parity", &InputLaw::Uniform, &[2], Shape::untied(1, 1)),
    ];
    let tied = class("parity", &InputLaw::Uniform, &[4], Shape::tied(0, 0));
    let mut stream = Stream::new(bench.seed, 1);
    let (mut apart, mut least_gap) = (0f64, f64::INFINITY);
    for class in &untied {
        let codes = all_codes(class);
        let mut evaluator = Evaluator::new(class, Allowance::default())?;
        for _ in 0..policies {
            let policy = random_policy(class, &mut stream);
            let reward = evaluator.evaluate(&policy);
            apart = apart.max((reward - annealed(&policy, &codes)).abs());
            for tau in [1e-3, 0.03, 0.3, 3.0] {
                let best = codes.iter().map(|(_, reward)| *reward).fold(0.0, f64::max);
                let z: f64 = codes.iter().map(|(_, r)| ((r - best) / tau).exp()).sum();
                let free_energy = -best - tau * z.ln();
                least_gap = least_gap.min(-reward - tau * policy.entropy() - free_energy);
            }
        }
    }
    let codes = all_codes(&tied);
    let mut evaluator = Evaluator::new(&tied, Allowance::default())?;
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
        tied_apart,
        cold_apart,
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
    /// Cells with a random row of lower loss than the softmax.
    pub rows_better_than_softmax: u64,
    /// How far the undamped iteration would move where a damped one ended.
    pub fixed_residual: f64,
}

/// The gradient against differences of J, J along single rows, and the best row of a cell.
pub fn gradient(bench: &Bench) -> Result<Option<Gradient>, Error> {
    let mut stream = Stream::new(bench.seed, 2);
    let mut worst = [0f64; 2];
    let (mut bend, mut tied_bend, mut better) = (0f64, 0f64, 0);
    let policies = bench.scaled(100, 25);
    for _ in 0..policies {
        for (n, shape) in [Shape::untied(0, 1), Shape::tied(0, 1)]
            .into_iter()
            .enumerate()
        {
            let class = class("z:3", &InputLaw::Uniform, &[4], shape);
            let mut evaluator = Evaluator::new(&class, Allowance::default())?;
            let policy = random_policy(&class, &mut stream);
            let before = evaluator.evaluate(&policy);
            let cell = stream.below(class.cells() as u32) as usize;
            let (row, values) = (policy.row(cell), evaluator.values(cell));
            let step = 1e-5;
            let moved = |evaluator: &mut Evaluator, by: f64| {
                // From the first action to the second, of which there is enough.
                let mut other = policy.clone();
                let mut changed = row.clone();
                changed[0] += by;
                changed[1] -= by;
                other
                    .set_row(cell, &changed)
                    .expect("a row of probabilities");
                evaluator.evaluate(&other)
            };
            let size = row[0].min(row[1]).min(step);
            let slope = (moved(&mut evaluator, size) - moved(&mut evaluator, -size)) / (2.0 * size);
            worst[n] = worst[n].max((slope - (values[0] - values[1])).abs());
            let wide = row[0].min(row[1]);
            let middle = (moved(&mut evaluator, wide) + moved(&mut evaluator, -wide)) / 2.0;
            let bent = (middle - before).abs();
            if n == 0 {
                bend = bend.max(bent);
                better += u64::from(!is_best(&policy, cell, &values, &mut stream));
            } else {
                tied_bend = tied_bend.max(bent);
            }
        }
    }
    Ok(Some(Gradient {
        policies,
        untied: worst[0],
        tied: worst[1],
        bend,
        tied_bend,
        rows_better_than_softmax: better,
        fixed_residual: fixed_residual(bench)?,
    }))
}

/// The residual of a damped iteration at its end: how far the undamped one would still move.
fn fixed_residual(bench: &Bench) -> Result<f64, Error> {
    let class = class("z:3", &InputLaw::Uniform, &[3], Shape::untied(0, 0));
    let settings = foldglass::cavi::Settings::plain(0.05, 2000);
    let mut runs = Runs::new(&class, settings, bench.seed, 0..1, Allowance::default())?;
    runs.advance(usize::MAX);
    Ok(runs.outcome(0).residual)
}

/// Whether no random row of a cell has a lower loss than softmax(dQ / tau).
fn is_best(policy: &Policy, cell: usize, values: &[f64], stream: &mut Stream) -> bool {
    let tau = 0.05;
    let loss = |row: &[f64]| -> f64 {
        let terms = row.iter().zip(values);
        terms.map(|(p, value)| -p * value + tau * p * p.ln()).sum()
    };
    let most = values.iter().copied().fold(f64::MIN, f64::max);
    let weights: Vec<f64> = values.iter().map(|v| ((v - most) / tau).exp()).collect();
    let sum: f64 = weights.iter().sum();
    let softmax: Vec<f64> = weights.iter().map(|w| w / sum).collect();
    let best = loss(&softmax);
    let mut row = policy.row(cell);
    (0..100).all(|_| {
        InitialLaw::UNorm.draw(stream, &mut row);
        loss(&row) >= best - 1e-12
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
            let mut counter = Counter::new(code.clone(), Allowance::default())?;
            let mut evaluator = Evaluator::new(&class, Allowance::default())?;
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
    /// The order of the group that the columns of the paper's square generate.
    pub columns_generate: String,
}

/// Whether a rollout consults a cell twice, the code that folds, and the counts of cells.
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
        let fold = Code::from_fn(&class, |cell| {
            let key = class.key(cell);
            let x = key.x[shape.window.past].expect("the step's own symbol");
            let before = key.y.last().copied().flatten();
            before.map_or(x, |y| class.task().square().multiply(y, x))
        });
        folds += u64::from(count::reward(&fold).is_one());
        folds_of += 1;
    }
    let cells =
        |lengths: &[usize], shape| class("quasigroup", &InputLaw::Uniform, lengths, shape).cells();
    let nodes = |length| {
        let class = class(
            "quasigroup",
            &InputLaw::Uniform,
            &[length],
            Shape::untied(1, 1),
        );
        class.nodes().len()
    };
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
        steps: vec![nodes(10), nodes(20), nodes(40)],
        columns_generate: LatinSquare::paper().facts().column_group_order.to_string(),
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
pub fn family(_: &Bench) -> Result<Option<Limits>, Error> {
    let square = LatinSquare::named("parity").expect("a named task");
    let task = Task::new(square, &InputLaw::Uniform, &[2]).expect("a task");
    let family = Family::new(task, Shape::untied(0, 0), Allowance::default());
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
