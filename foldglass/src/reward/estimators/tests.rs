//! Compares the ways of summing over inputs with each other.

use super::*;
use crate::model::class::{Class, ClassSpec, Shape, Window};
use crate::model::inputs::InputLaw;
use crate::model::operation::Operation;
use crate::model::task::Task;
use crate::support::exact::parse;
use crate::support::stream::Stream;

/// Small classes of all kinds, untied and tied.
pub(crate) fn classes(tied: &[bool]) -> Vec<Class> {
    let law = |text: &str| InputLaw::Markov(parse(text).unwrap());
    let product = |rows: &[&[&str]]| {
        let row = |row: &&[&str]| row.iter().map(|p| parse(p).unwrap()).collect();
        InputLaw::Product(rows.iter().map(row).collect())
    };
    let holes = product(&[
        &["1/2", "0", "1/2"],
        &["0", "1", "0"],
        &["1/3", "1/3", "1/3"],
    ]);
    let all = [
        ("parity", InputLaw::Uniform, vec![4], (0, 0), 1),
        ("parity", law("9/10"), vec![4], (0, 0), 1),
        ("parity", law("9/10"), vec![1, 3, 4], (0, 1), 1),
        ("parity", law("1"), vec![3], (1, 0), 2),
        ("z:3", InputLaw::Uniform, vec![3], (1, 1), 1),
        ("z:3", holes, vec![2, 3], (0, 0), 2),
        ("quasigroup", InputLaw::Uniform, vec![3], (0, 0), 1),
    ];
    let mut classes = Vec::new();
    for (name, law, lengths, (past, future), memory) in &all {
        for &tied in tied {
            let task = Task::new(Operation::named(name).unwrap(), law, lengths).unwrap();
            let shape = Shape {
                window: Window {
                    past: *past,
                    future: *future,
                },
                memory: *memory,
                tied,
            };
            classes.push(Class::new(task, shape).unwrap());
        }
    }
    classes
}

fn sums_by(
    policy: &Policy,
    estimator: Estimator,
    by: SummedBy,
    seed: u64,
    context: Context<'_>,
) -> Result<EstimatorSums, EstimatorError> {
    let mut sums = EstimatorSums::empty(policy, estimator, context)?;
    sums.renew_by(policy, by, seed, context)?;
    Ok(sums)
}

/// A policy with a zero in some rows.
pub(crate) fn random_policy(class: &Class, seed: u64) -> Policy {
    let mut stream = Stream::new(seed, 0);
    let row = |_| {
        let mut row: Vec<f64> = (0..class.q()).map(|_| stream.uniform()).collect();
        if stream.below(4) == 0 {
            row[0] = 0.0;
        }
        let sum: f64 = row.iter().sum();
        row.iter().map(|p| p / sum).collect()
    };
    let rows: Vec<Vec<f64>> = (0..class.cells()).map(row).collect();
    Policy::from_rows(class, &rows).unwrap()
}

fn assert_close(found: &[f64], expected: &[f64], what: &str) {
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!(
            (found - expected).abs() <= 1e-12 * (1.0 + expected.abs()),
            "{what}, component {i}: {found} against {expected}"
        );
    }
}

#[test]
fn replicas_the_tree_and_single_inputs_agree() {
    for (number, class) in classes(&[false]).iter().enumerate() {
        let policy = random_policy(class, number as u64);
        for name in [
            "rloo:2",
            "rloo:5",
            "dr-grpo:3",
            "grpo:2",
            "grpo:3",
            "grpo:4",
        ] {
            let estimator: Estimator = name.parse().unwrap();
            let found = |by| {
                let sums = sums_by(&policy, estimator, by, 0, Context::default());
                sums.unwrap().moments(1).unwrap()
            };
            let tree = found(SummedBy::Tree);
            for by in [SummedBy::Replicas, SummedBy::Inputs] {
                let found = found(by);
                let what = format!("{name} by {by} on class {number}");
                assert_close(&found.mean(), &tree.mean(), &what);
                assert_close(&found.variance, &tree.variance, &what);
            }
        }
    }
}

#[test]
fn a_chain_of_a_thousand_steps_has_the_squares_of_one_evaluation() {
    let spec = ClassSpec::uniform(Operation::cyclic(2).unwrap(), &[1000], Shape::untied(0, 0));
    let class = spec.lay_out().unwrap();
    let policy = random_policy(&class, 1);
    let variance = |by| {
        let sums = sums_by(&policy, Estimator::Reinforce, by, 0, Context::default());
        sums.unwrap().moments(1).unwrap().variance
    };
    let (one, many) = (variance(SummedBy::Evaluation), variance(SummedBy::Replicas));
    assert_close(&many, &one, "one replica");
    let rloo = moments(&policy, Estimator::Rloo(4), 1, 0, Context::default()).unwrap();
    assert_eq!(rloo.variance_by, SummedBy::Replicas);
    // E_x[g^2] of one input is at least the square of the mean gradient.
    let rloo = EstimatorSums::of(&policy, Estimator::Rloo(4), 0, Context::default()).unwrap();
    let sums = rloo.inputs.expect("sums over inputs");
    let below = |(square, g): (&f64, &f64)| *square < g * g * (1.0 - 1e-9);
    assert!(!sums.squares.iter().zip(&sums.gradient).any(below));
}

#[test]
fn drawn_inputs_have_the_moments_within_their_intervals() {
    let all = classes(&[false]);
    for (number, name) in [
        (4, "grpo:4"),
        (4, "rloo:3"),
        (6, "grpo:5"),
        (6, "dr-grpo:2"),
    ] {
        let policy = random_policy(&all[number], 7);
        let estimator: Estimator = name.parse().unwrap();
        let found = |by| {
            let sums = sums_by(&policy, estimator, by, 11, Context::default());
            sums.unwrap().moments(512).unwrap()
        };
        let (drawn, tree) = (found(SummedBy::Sampled), found(SummedBy::Tree));
        let sampled = drawn.sampled.unwrap();
        let check = |sampled: SampledNumber, right: f64| {
            // Three times the interval: 1 in 10^8 misses.
            let reach = sampled.interval.high - sampled.value;
            assert!(
                (sampled.value - right).abs() <= 3.0 * reach,
                "{name}: {sampled:?} {right}"
            );
            assert!(reach < 0.2 * right.abs(), "{name}: {sampled:?}");
        };
        check(sampled.variance, tree.trace());
        check(sampled.snr.unwrap(), tree.snr().unwrap());
        match estimator {
            Estimator::Grpo(_) if drawn.mean_by == SummedBy::Sampled => {
                check(sampled.signal.unwrap(), tree.signal());
                check(sampled.bias.unwrap(), tree.bias());
            }
            _ => {
                assert_eq!(sampled.signal, None);
                assert!((drawn.signal() - tree.signal()).abs() < 1e-12);
            }
        }
    }
}

/// The slope of the objective of a group is the mean over the successes k of the G - 1 others of u_{k+1} - v_k, with the
/// chances of k written out.
#[test]
fn the_slope_of_a_group_is_the_mean_of_its_advantages() {
    let chance = |n: u32, k: u32, p: f64| {
        let ways: f64 = (0..k)
            .map(|i| f64::from(n - i) / f64::from(i + 1))
            .product();
        ways * p.powi(k as i32) * (1.0 - p).powi((n - k) as i32)
    };
    for group in [2, 3, 4, 5, 8] {
        for estimator in [
            Estimator::Grpo(group),
            Estimator::Rloo(group),
            Estimator::DrGrpo(group),
        ] {
            let (u, v) = estimator.advantages();
            for p in [0.0, 0.1, 0.5, 0.8, 1.0] {
                let others = group - 1;
                let terms = (0..=others)
                    .map(|k| chance(others, k, p) * (u[k as usize + 1] - v[k as usize]));
                let expected: f64 = terms.sum();
                let found = estimator.slope(p);
                assert!(
                    (found - expected).abs() < 1e-12,
                    "{estimator} at {p}: {found}, {expected}"
                );
            }
        }
    }
    let bend = |group| Estimator::Grpo(group).slope(0.5) / Estimator::Grpo(group).slope(0.0);
    assert!((bend(2) - 1.0).abs() < 1e-12 && (bend(3) - 1.0).abs() < 1e-12);
    assert!(bend(4) < 0.95 && bend(8) < bend(4));
}
