//! Compares successes by input, objectives and the moments of estimators with sums over all inputs, rollouts and groups.

use crate::common::{Problem, Weighing, brute_force, final_problems, inputs, key, rows_from};
use foldglass::dynamics::cavi::{CaviSettings, Rule, Runs};
use foldglass::model::class::CellKey;
use foldglass::reward::estimators::{Estimator, EstimatorError, moments};
use foldglass::reward::objectives::{self, Utility};
use foldglass::reward::per_input;
use foldglass::{
    Class, ClassSpec, Context, Evaluator, InputLaw, Operation, Policy, Shape, Symbol, Task, Window,
};
use proptest::prelude::*;
use std::collections::HashMap;

/// One rollout: its probability given the input, its reward, and its score by component.
struct Rollout {
    chance: f64,
    reward: f64,
    score: Vec<f64>,
}

/// Every rollout on an input.
fn rollouts(problem: &Problem, class: &Class, rows: &[Vec<f64>], x: &[Symbol]) -> Vec<Rollout> {
    let number: HashMap<CellKey, usize> = (0..class.cells()).map(|c| (class.key(c), c)).collect();
    let q = problem.q;
    let mut unfinished: Vec<(Vec<Symbol>, f64, Vec<f64>)> =
        vec![(Vec::new(), 1.0, vec![0.0; rows.len() * q])];
    for _ in x {
        let step = |(y, chance, score): &(Vec<Symbol>, f64, Vec<f64>)| {
            let cell = number[&key(problem.shape, x, y)];
            let next = |token: usize| {
                let mut score = score.clone();
                for (a, p) in rows[cell].iter().enumerate() {
                    score[cell * q + a] += f64::from(u8::from(a == token)) - p;
                }
                let y = [&y[..], &[token as Symbol]].concat();
                (y, chance * rows[cell][token], score)
            };
            (0..q).map(next).collect::<Vec<_>>()
        };
        unfinished = unfinished.iter().flat_map(step).collect();
    }
    let target = class.task().fold(x);
    let finished = unfinished.into_iter().map(|(y, chance, score)| Rollout {
        chance,
        reward: f64::from(u8::from(y.last() == Some(&target))),
        score,
    });
    finished.collect()
}

/// Advantages as trainers write them.
fn advantages(estimator: Estimator, rewards: &[f64]) -> Vec<f64> {
    let n = rewards.len() as f64;
    let mean = rewards.iter().sum::<f64>() / n;
    let one = |r: &f64| match estimator {
        Estimator::Reinforce => *r,
        Estimator::BatchMean | Estimator::DrGrpo(_) => r - mean,
        Estimator::Rloo(_) => r - (n * mean - r) / (n - 1.0),
        Estimator::Grpo(_) => {
            let squares: f64 = rewards.iter().map(|r| (r - mean).powi(2)).sum();
            (r - mean) / ((squares / (n - 1.0)).sqrt() + 1e-4)
        }
    };
    rewards.iter().map(one).collect()
}

/// The mean and the mean square, by component, of the average of A_i S_i over all tuples of rollouts.
fn over_tuples(
    estimator: Estimator,
    lists: &[&[Rollout]],
    chance: f64,
    mean: &mut [f64],
    squares: &mut [f64],
) {
    let mut places = vec![0; lists.len()];
    loop {
        let tuple: Vec<&Rollout> = lists.iter().zip(&places).map(|(l, &i)| &l[i]).collect();
        let chance = chance * tuple.iter().map(|r| r.chance).product::<f64>();
        let rewards: Vec<f64> = tuple.iter().map(|r| r.reward).collect();
        let advantages = advantages(estimator, &rewards);
        for i in 0..mean.len() {
            let terms = tuple.iter().zip(&advantages).map(|(r, a)| a * r.score[i]);
            let estimate = terms.sum::<f64>() / lists.len() as f64;
            mean[i] += chance * estimate;
            squares[i] += chance * estimate * estimate;
        }
        let Some(place) = (0..places.len()).find(|&i| places[i] + 1 < lists[i].len()) else {
            return;
        };
        places[place] += 1;
        places[..place].fill(0);
    }
}

/// Classes so small that groups of three can be listed; the last two are tied.
fn tiny() -> Vec<Problem> {
    let rational = |a: u32, b: u32| crate::common::Rational::from_parts(a.into(), b.into());
    let problem = |q, lengths: &[usize], past, future, memory, law| Problem {
        q,
        table_seed: 3,
        law,
        lengths: lengths.to_vec(),
        shape: Shape {
            window: Window { past, future },
            memory,
            tied: false,
        },
        weighing: Weighing::Equal,
    };
    let tied = |mut problem: Problem| {
        problem.shape.tied = true;
        problem
    };
    let biased = InputLaw::Product(vec![
        vec![rational(1, 3), rational(2, 3)],
        vec![rational(1, 1), rational(0, 1)],
    ]);
    vec![
        problem(2, &[1], 0, 0, 1, InputLaw::Uniform),
        problem(2, &[2], 0, 0, 1, InputLaw::Markov(rational(7, 10))),
        problem(2, &[2], 0, 1, 1, biased),
        problem(2, &[1, 2], 1, 0, 1, InputLaw::Uniform),
        problem(2, &[3], 0, 0, 2, InputLaw::Uniform),
        problem(3, &[2], 0, 0, 1, InputLaw::Uniform),
        tied(problem(2, &[3], 0, 0, 1, InputLaw::Uniform)),
        tied(problem(
            2,
            &[2, 3],
            0,
            0,
            1,
            InputLaw::Markov(rational(7, 10)),
        )),
    ]
}

fn assert_close(found: &[f64], expected: &[f64], what: &str) {
    let scale = expected.iter().fold(1e-6, |most: f64, e| most.max(e.abs()));
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!(
            (found - expected).abs() <= 1e-11 * scale,
            "{what}, component {i}: {found} against {expected}"
        );
    }
}

/// Compares the moments of an estimator with groups with sums over all inputs and all tuples of rollouts on each.
fn assert_moments_of_groups(problem: &Problem, seed: u64, estimators: &[Estimator]) {
    let class = problem.class();
    let rows = rows_from(&class, seed);
    let policy = Policy::from_rows(&class, &rows).unwrap();
    for &estimator in estimators {
        let entries = class.cells() * class.q();
        let (mut mean, mut squares) = (vec![0.0; entries], vec![0.0; entries]);
        for (x, chance) in inputs(problem) {
            let all = rollouts(problem, &class, &rows, &x);
            let lists = vec![&all[..]; estimator.group() as usize];
            over_tuples(estimator, &lists, chance, &mut mean, &mut squares);
        }
        let batch = 5;
        let found = moments(&policy, estimator, batch, 0, Context::default()).unwrap();
        let variance = squares.iter().zip(&mean).map(|(s, m)| s - m * m);
        let variance: Vec<f64> = variance.map(|v| v / f64::from(batch)).collect();
        let what = format!("{estimator} on {problem:?}");
        assert_close(&found.mean(), &mean, &what);
        assert_close(&found.variance, &variance, &what);
    }
}

#[test]
fn moments_of_groups_are_those_of_all_tuples_of_rollouts() {
    let groups = [
        Estimator::Rloo(2),
        Estimator::Rloo(3),
        Estimator::DrGrpo(3),
        Estimator::Grpo(2),
        Estimator::Grpo(3),
    ];
    for (number, problem) in tiny().iter().enumerate() {
        assert_moments_of_groups(problem, number as u64, &groups);
    }
}

/// From four rollouts on GRPO weighs inputs by their success.
#[test]
fn moments_of_larger_groups_are_those_of_all_tuples_of_rollouts() {
    let short = |problem: &Problem| problem.q == 2 && problem.lengths.iter().all(|&n| n <= 2);
    let mut problems: Vec<Problem> = tiny().into_iter().filter(short).collect();
    assert_eq!(problems.len(), 4);
    let mut tied = problems[3].clone();
    tied.shape.tied = true;
    problems.push(tied);
    for (number, problem) in problems.iter().enumerate() {
        let groups = [
            Estimator::Rloo(4),
            Estimator::DrGrpo(5),
            Estimator::Grpo(4),
            Estimator::Grpo(5),
        ];
        assert_moments_of_groups(problem, 20 + number as u64, &groups);
    }
    // Two rollouts on each input: groups of eight have 256 tuples.
    assert_moments_of_groups(&problems[0], 30, &[Estimator::Grpo(8), Estimator::Rloo(8)]);
}

#[test]
fn moments_of_batches_are_those_of_all_tuples_of_inputs_and_rollouts() {
    for (number, problem) in tiny()
        .iter()
        .enumerate()
        .filter(|(i, _)| ![4, 7].contains(i))
    {
        let class = problem.class();
        let rows = rows_from(&class, 50 + number as u64);
        let policy = Policy::from_rows(&class, &rows).unwrap();
        // One list of all pairs of an input and a rollout on it.
        let mut pairs = Vec::new();
        for (x, chance) in inputs(problem) {
            for mut rollout in rollouts(problem, &class, &rows, &x) {
                rollout.chance *= chance;
                pairs.push(rollout);
            }
        }
        let most = if pairs.len() > 20 { 2 } else { 3 };
        for estimator in [Estimator::Reinforce, Estimator::BatchMean] {
            for batch in 1..=most {
                let entries = class.cells() * class.q();
                let (mut mean, mut squares) = (vec![0.0; entries], vec![0.0; entries]);
                let lists = vec![&pairs[..]; batch];
                over_tuples(estimator, &lists, 1.0, &mut mean, &mut squares);
                let context = Context::default();
                let found = moments(&policy, estimator, batch as u32, 0, context).unwrap();
                let variance = squares.iter().zip(&mean).map(|(s, m)| s - m * m);
                let variance: Vec<f64> = variance.collect();
                let what = format!("{estimator}, batch {batch}, {problem:?}");
                assert_close(&found.mean(), &mean, &what);
                assert_close(&found.variance, &variance, &what);
            }
        }
    }
}

#[test]
fn grpo_of_two_and_three_rollouts_has_the_direction_of_rloo_and_more_bias_than_it() {
    let spec = ClassSpec::uniform(Operation::paper(), &[3], Shape::untied(0, 0));
    let class = spec.lay_out().unwrap();
    let policy = Policy::from_rows(&class, &rows_from(&class, 1)).unwrap();
    let found = |estimator| moments(&policy, estimator, 1, 0, Context::default()).unwrap();
    assert!(found(Estimator::Rloo(3)).bias() < 1e-20);
    for group in [2, 3] {
        let grpo = found(Estimator::Grpo(group));
        assert!((grpo.cosine().unwrap() - 1.0).abs() < 1e-9);
        assert!(grpo.bias() > 0.01 * grpo.signal());
    }
    assert!(found(Estimator::Grpo(8)).cosine().unwrap() < 1.0 - 1e-9);
    // Dr. GRPO is RLOO times 1 - 1/G, sample by sample.
    let (rloo, dr) = (found(Estimator::Rloo(4)), found(Estimator::DrGrpo(4)));
    let ratio = dr.snr().unwrap() / rloo.snr().unwrap();
    assert!((ratio - 1.0).abs() < 1e-9);
    assert!((dr.trace() / rloo.trace() - 9.0 / 16.0).abs() < 1e-9);
}

#[test]
fn a_code_has_no_gradient_and_no_variance() {
    let spec = ClassSpec::uniform(Operation::paper(), &[3], Shape::untied(0, 0));
    let class = spec.lay_out().unwrap();
    let code = foldglass::Code::from_fn(&class, |cell| (cell % 5) as Symbol);
    let policy = Policy::deterministic(&code);
    for estimator in [
        Estimator::Reinforce,
        Estimator::BatchMean,
        Estimator::Grpo(4),
    ] {
        let found = moments(&policy, estimator, 8, 0, Context::default()).unwrap();
        assert_eq!((found.signal(), found.trace()), (0.0, 0.0));
        assert_eq!((found.snr(), found.cosine()), (None, None));
    }
}

#[test]
fn an_empty_batch_is_refused() {
    let spec = ClassSpec::uniform(Operation::paper(), &[3], Shape::untied(0, 0));
    let class = spec.lay_out().unwrap();
    let policy = Policy::uniform(&class);
    let refused = moments(&policy, Estimator::Reinforce, 0, 0, Context::default());
    assert_eq!(refused, Err(EstimatorError::NoBatch));
}

#[test]
fn names_of_estimators_and_objectives_are_read_as_they_are_written() {
    for name in ["reinforce", "batch-mean", "rloo:2", "grpo:8", "dr-grpo:512"] {
        assert_eq!(name.parse::<Estimator>().unwrap().to_string(), name);
    }
    for name in [
        "rloo",
        "rloo:1",
        "grpo:x",
        "reinforce:2",
        "dr-grpo:100000",
        "",
    ] {
        assert!(name.parse::<Estimator>().is_err(), "{name}");
    }
    for name in ["pass@1", "maxrl:8", "grpo-std"] {
        assert_eq!(name.parse::<Utility>().unwrap().to_string(), name);
    }
    for name in ["pass@0", "pass", "maxrl:-1", "std"] {
        assert!(name.parse::<Utility>().is_err(), "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn successes_by_input_are_those_of_the_rollouts(problem in final_problems(), seed: u64) {
        let class = problem.class();
        let rows = rows_from(&class, seed);
        let policy = Policy::from_rows(&class, &rows).unwrap();
        let number = (0..class.cells()).map(|c| (class.key(c), c)).collect();
        let mut expected = inputs(&problem).into_iter();
        let mut count = 0;
        let mut failed = None;
        per_input::for_each(&policy, |x, probability, success| {
            count += 1;
            let (input, chance) = expected.next().unwrap();
            let ending = (x, class.task().fold(x));
            let right = success_by_rollouts(&problem, &number, &rows, ending, &mut Vec::new());
            let same = input == x && (chance - probability).abs() < 1e-12;
            if !same || (right - success).abs() > 1e-12 {
                failed = Some((input, x.to_vec(), right, success));
            }
        });
        prop_assert_eq!(failed, None);
        prop_assert!(expected.next().is_none());
        prop_assert_eq!(per_input::inputs(&class), Some(count));
    }

    #[test]
    fn pass_at_1_has_the_reward_and_the_values_of_the_evaluator(problem in final_problems(), seed: u64) {
        let class = problem.class();
        let policy = Policy::from_rows(&class, &rows_from(&class, seed)).unwrap();
        let found = objectives::objective(&policy, Utility::PassAt(1), 0, Context::default()).unwrap();
        let mut evaluator = Evaluator::new(&class).unwrap();
        let reward = evaluator.evaluate(&policy);
        prop_assert!((found.value - reward).abs() < 1e-12);
        let mut values = vec![0.0; class.cells() * class.q()];
        evaluator.values_into(&mut values);
        for (found, expected) in found.values.iter().zip(&values) {
            prop_assert!((found - expected).abs() < 1e-12, "{found} against {expected}");
        }
    }

    #[test]
    fn objectives_have_the_slopes_of_finite_differences(problem in final_problems(), seed: u64) {
        let class = problem.class();
        let rows = inner_rows(&class, seed);
        let policy = Policy::from_rows(&class, &rows).unwrap();
        for utility in [Utility::PassAt(4), Utility::MaxRl(3), Utility::GrpoStd] {
            let found = objectives::objective(&policy, utility, 0, Context::default()).unwrap();
            // Towards another policy, by the central difference.
            let other = inner_rows(&class, seed ^ 1);
            let at = |step: f64| {
                let mixed: Vec<Vec<f64>> = rows.iter().zip(&other).map(|(row, other)| {
                    row.iter().zip(other).map(|(a, b)| a + step * (b - a)).collect()
                }).collect();
                let policy = Policy::from_rows(&class, &mixed).unwrap();
                let mut sum = 0.0;
                per_input::for_each(&policy, |_, chance, p| sum += chance * utility.at(p));
                sum
            };
            prop_assert!((found.value - at(0.0)).abs() < 1e-12);
            let slope: f64 = rows.iter().flatten().zip(other.iter().flatten()).zip(&found.values)
                .map(|((a, b), value)| (b - a) * value).sum();
            let step = 1e-5;
            let difference = (at(step) - at(-step)) / (2.0 * step);
            prop_assert!((slope - difference).abs() < 1e-5 * (1.0 + slope.abs()), "{slope} {difference}");
        }
    }
}

#[test]
fn gradient_ascent_follows_the_slope_of_the_objective_by_the_logits() {
    let law = InputLaw::Markov(crate::common::Rational::from_parts(7.into(), 10u8.into()));
    let task = Task::new(Operation::cyclic(2).unwrap(), &law, &[2, 3]).unwrap();
    let class = Class::new(task, Shape::untied(0, 0)).unwrap();
    let rows = inner_rows(&class, 4);
    let policy = Policy::from_rows(&class, &rows).unwrap();
    for utility in [Utility::PassAt(3), Utility::MaxRl(4), Utility::GrpoStd] {
        let step = 1e-4;
        let settings = CaviSettings::plain(0.0, 1)
            .with_rule(Rule::Gradient { step })
            .with_objective(utility);
        let mut runs = Runs::builder(&class, settings).start_at(&policy).unwrap();
        runs.advance(1);
        let moved = runs.policy(0);
        let value = |rows: &[Vec<f64>]| {
            let policy = Policy::from_rows(&class, rows).unwrap();
            let mut sum = 0.0;
            per_input::for_each(&policy, |_, chance, p| sum += chance * utility.at(p));
            sum
        };
        for cell in 0..class.cells() {
            // By the difference of the two logits of the cell: both move by half of its change.
            let shifted = |by: f64| {
                let mut rows = rows.clone();
                let odds = rows[cell][1] / rows[cell][0] * by.exp();
                rows[cell] = vec![1.0 / (1.0 + odds), odds / (1.0 + odds)];
                value(&rows)
            };
            let slope = (shifted(1e-5) - shifted(-1e-5)) / 2e-5;
            let odds = |row: &[f64]| (row[1] / row[0]).ln();
            let change = odds(moved.row(cell)) - odds(&rows[cell]);
            assert!(
                (change - 2.0 * step * slope).abs() < 1e-7 * step.max(slope.abs()),
                "{utility}, cell {cell}: {change} against {}",
                2.0 * step * slope
            );
        }
        let found = runs.outcomes().swap_remove(0);
        let rows: Vec<Vec<f64>> = moved.rows().chunks(2).map(<[f64]>::to_vec).collect();
        assert!((found.objective.unwrap() - value(&rows)).abs() < 1e-12);
        assert!(value(&rows) > value(&inner_rows(&class, 4)));
    }
}

/// Random rows without a zero, so that a difference can be taken on both sides.
fn inner_rows(class: &Class, seed: u64) -> Vec<Vec<f64>> {
    let mix = |p: &f64| 0.8 * p + 0.2 / class.q() as f64;
    let rows = rows_from(class, seed);
    rows.iter()
        .map(|row| row.iter().map(mix).collect())
        .collect()
}

/// p(x) by the sum over all token sequences.
fn success_by_rollouts(
    problem: &Problem,
    number: &HashMap<CellKey, usize>,
    rows: &[Vec<f64>],
    (x, target): (&[Symbol], Symbol),
    y: &mut Vec<Symbol>,
) -> f64 {
    if y.len() == x.len() {
        return f64::from(u8::from(y.last() == Some(&target)));
    }
    let row = &rows[number[&key(problem.shape, x, y)]];
    let mut success = 0.0;
    for (token, chance) in row.iter().enumerate() {
        y.push(token as Symbol);
        success += chance * success_by_rollouts(problem, number, rows, (x, target), y);
        y.pop();
    }
    success
}

#[test]
fn the_mean_success_is_the_reward() {
    let spec = ClassSpec::uniform(Operation::paper(), &[3, 4], Shape::tied(1, 1));
    let class = spec.lay_out().unwrap();
    let problem = Problem {
        q: 5,
        table_seed: 0,
        law: InputLaw::Uniform,
        lengths: vec![3, 4],
        shape: class.shape(),
        weighing: Weighing::Equal,
    };
    let rows = rows_from(&class, 9);
    let policy = Policy::from_rows(&class, &rows).unwrap();
    let mut mean = 0.0;
    per_input::for_each(&policy, |_, chance, success| mean += chance * success);
    assert!((mean - brute_force(&problem, &class, &rows).reward).abs() < 1e-12);
}
