//! Compares dQ with differences of J, and the update of a cell with the best row (paper, App. A).

use foldglass::dynamics::cavi::Runs;
use foldglass::model::policy::InitialLaw;
use foldglass::{Evaluator, InputLaw, Policy, Shape, Stream};
use serde::{Deserialize, Serialize};

use super::{class, random_policy};
use crate::claims::Bench;
use crate::error::Error;

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
    let settings = foldglass::dynamics::cavi::CaviSettings::plain(TAU, 2000);
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
}
