//! Holds rollouts to the law of the inputs and to the rows of the policy.

use super::*;
use crate::model::class::{ClassSpec, Shape, Window};
use crate::model::inputs::InputLaw;
use crate::model::operation::Operation;
use crate::model::policy::InitialLaw;
use crate::model::rewarded::RewardRule;
use crate::model::task::Task;
use crate::reward::evaluate::Evaluator;
use crate::support::exact::parse;
use crate::support::stats::chi_square_tail;
use std::collections::BTreeMap;

fn class(name: &str, law: InputLaw, lengths: &[usize], shape: Shape) -> Class {
    let square = Operation::named(name).unwrap();
    let spec = ClassSpec {
        inputs: law,
        ..ClassSpec::uniform(square, lengths, shape)
    };
    spec.lay_out().unwrap()
}

fn random_policy(class: &Class, seed: u64) -> Policy {
    let (q, mut stream) = (class.q(), Stream::new(seed, 0));
    let mut rows = vec![0.0; class.cells() * q];
    rows.chunks_exact_mut(q)
        .for_each(|row| InitialLaw::Dirichlet(0.7).draw(&mut stream, row));
    Policy::from_unchecked(class, &rows)
}

fn weighted(lengths: &[usize], weights: &str, reward: RewardRule) -> Class {
    let (square, law) = (Operation::named("z:3").unwrap(), InputLaw::Uniform);
    let weights = weights.parse().unwrap();
    let task = Task::weighted(square, &law, lengths, Some(&weights), &reward).unwrap();
    Class::new(task, Shape::untied(0, 0)).unwrap()
}

/// Every law, one and several lengths, all kinds of windows, memory 2, tied and not.
fn classes() -> Vec<Class> {
    let third = || parse("1/3").unwrap();
    let rows = vec![
        vec![third(), parse("2/3").unwrap()],
        vec![parse("1").unwrap(), parse("0").unwrap()],
        vec![parse("1/4").unwrap(), parse("3/4").unwrap()],
    ];
    let memory = Shape {
        memory: 2,
        ..Shape::untied(0, 1)
    };
    let markov = |k: &str| InputLaw::Markov(parse(k).unwrap());
    vec![
        class("quasigroup", InputLaw::Uniform, &[3], Shape::untied(0, 0)),
        class("parity", markov("9/10"), &[2, 4], Shape::tied(1, 1)),
        class(
            "parity",
            InputLaw::Product(rows),
            &[1, 3],
            Shape::untied(0, 2),
        ),
        class("z:3", InputLaw::Uniform, &[1, 2, 4], memory),
        class("z:3", markov("0"), &[3], Shape::untied(2, 0)),
        weighted(&[1, 3], "1,3", RewardRule::Final),
        weighted(&[3], "1", RewardRule::Process(None)),
        weighted(&[3], "1", "process:1,2,4".parse().unwrap()),
        class("z:19", InputLaw::Uniform, &[2], Shape::untied(0, 0)),
    ]
}

/// Each row, token by token, against the class's own route, fold and rows.
#[test]
fn rollouts_consult_the_cells_of_their_route_and_earn_what_their_last_token_does() {
    for (seed, class) in (0..).zip(classes()) {
        let policy = random_policy(&class, seed);
        let found = sample_rollouts(&policy, 700, seed, Context::default()).unwrap();
        let longest = class.task().longest();
        assert_eq!(found.longest, longest);
        for row in 0..700 {
            let length = found.lengths[row] as usize;
            assert!(class.task().lengths().contains(&length));
            let places = row * longest..(row + 1) * longest;
            let symbols = |table: &[i32]| -> Vec<Symbol> {
                let (used, rest) = table[places.clone()].split_at(length);
                assert!(rest.iter().all(|&n| n == PADDING));
                used.iter().map(|&n| n as Symbol).collect()
            };
            let (x, y) = (symbols(&found.inputs), symbols(&found.tokens));
            assert!(class.task().inputs().occurs(&x));
            for t in 1..=length {
                let cell = class.route(&x, t, &y);
                let place = places.start + t - 1;
                assert_eq!(found.cells[place], cell as i32);
                let p = policy.row(cell)[usize::from(y[t - 1])];
                assert!(p > 0.0);
                assert_eq!(found.log_probs[place], p.ln());
            }
            let rest = &found.log_probs[places.start + length..places.end];
            assert!(rest.iter().all(|&log| log == 0.0));
            let right = |t: usize| f64::from(u8::from(y[t - 1] == class.task().fold(&x[..t])));
            let expected = match class.task().reward() {
                RewardRule::Final => right(length),
                RewardRule::Process(None) => (1..=length).map(right).sum::<f64>() / length as f64,
                RewardRule::Process(Some(_)) => (right(1) + 2.0 * right(2) + 4.0 * right(3)) / 7.0,
            };
            assert!((found.rewards[row] - expected).abs() < 1e-12);
        }
    }
}

/// Over all pairs of an input and tokens, by chi-square; the mean reward is J.
#[test]
fn rollouts_have_the_law_of_the_inputs_times_that_of_the_policy() {
    const COUNT: usize = 60_000;
    for (seed, class) in (0..).zip(classes()).take(8) {
        let policy = random_policy(&class, 10 + seed);
        let found = sample_rollouts(&policy, COUNT, seed, Context::default()).unwrap();
        let longest = class.task().longest();
        let mut counts: BTreeMap<(Vec<i32>, Vec<i32>), f64> = BTreeMap::new();
        let rows = found
            .inputs
            .chunks(longest)
            .zip(found.tokens.chunks(longest));
        for (x, y) in rows {
            *counts.entry((x.to_vec(), y.to_vec())).or_default() += 1.0;
        }
        // What is rare is put together, so that every expectation is at least 10.
        let (mut chi, mut degrees, mut rare, mut seen, mut rare_seen) = (0.0, 0, 0.0, 0.0, 0.0);
        let lengths = class.task().lengths();
        let denominator = class
            .task()
            .denominator()
            .to_string()
            .parse::<f64>()
            .unwrap();
        for &length in lengths {
            for x in class.task().all_inputs(length) {
                let weight: f64 = class.task().weight(&x).to_string().parse().unwrap();
                let mut unfinished = vec![(Vec::new(), weight / denominator * COUNT as f64)];
                for t in 1..=length {
                    let step = |(y, chance): &(Vec<Symbol>, f64)| {
                        let row = policy.row(class.route(&x, t, y));
                        let next = |a: usize| ([&y[..], &[a as Symbol]].concat(), chance * row[a]);
                        (0..class.q()).map(next).collect::<Vec<_>>()
                    };
                    unfinished = unfinished.iter().flat_map(step).collect();
                }
                let padded = |row: &[Symbol]| -> Vec<i32> {
                    let mut row: Vec<i32> = row.iter().map(|&s| s.into()).collect();
                    row.resize(longest, PADDING);
                    row
                };
                for (y, expected) in unfinished {
                    let count = counts
                        .get(&(padded(&x), padded(&y)))
                        .copied()
                        .unwrap_or(0.0);
                    seen += count;
                    if expected < 10.0 {
                        (rare, rare_seen) = (rare + expected, rare_seen + count);
                    } else {
                        chi += (count - expected).powi(2) / expected;
                        degrees += 1;
                    }
                }
            }
        }
        assert_eq!(seen, COUNT as f64, "nothing else is drawn");
        if rare >= 10.0 {
            chi += (rare_seen - rare).powi(2) / rare;
            degrees += 1;
        }
        let tail = chi_square_tail(chi, degrees - 1);
        assert!(tail > 1e-6, "chi-square {chi} on {} degrees", degrees - 1);
        let reward = Evaluator::new(&class).unwrap().evaluate(&policy);
        let mean = found.rewards.iter().sum::<f64>() / COUNT as f64;
        let squares = found
            .rewards
            .iter()
            .map(|r| (r - mean).powi(2))
            .sum::<f64>();
        let sd = squares.sqrt() / COUNT as f64;
        assert!(
            (mean - reward).abs() < 5.0 * sd,
            "{mean} against J = {reward}"
        );
    }
}

#[test]
fn arrays_do_not_depend_on_threads_and_share_their_inputs() {
    for class in classes() {
        let policy = random_policy(&class, 3);
        let count = 2 * PORTION + 17;
        let on = |threads| {
            let context = Context::default().with_threads(threads);
            sample_rollouts(&policy, count, 5, context).unwrap()
        };
        let found = on(1);
        assert!(found == on(3));
        let context = Context::default().with_threads(2);
        let inputs = sample_inputs(&class, count, 5, context).unwrap();
        assert!(inputs == found.inputs);
        let mut again = sample_rollouts(&policy, count, 6, context).unwrap();
        assert!(again != found);
        again.redraw(&policy, 5, context);
        assert!(again == found);
        // Fewer rollouts are the first of more.
        let few = sample_rollouts(&policy, PORTION, 5, context).unwrap();
        assert!(few.tokens == found.tokens[..few.tokens.len()]);
    }
}

#[test]
fn rollouts_take_the_memory_they_state() {
    let shape = Shape {
        window: Window { past: 0, future: 0 },
        ..Shape::untied(0, 0)
    };
    let class = class("z:3", InputLaw::Uniform, &[3], shape);
    let context = Context::default().with_memory(crate::Allowance(1000));
    let error = sample_inputs(&class, 100, 0, context).unwrap_err();
    assert!(error.to_string().starts_with("100 inputs needs"), "{error}");
    assert!(sample_rollouts(&Policy::uniform(&class), 10, 0, context).is_err());
}

/// Row by row: the rollouts of a group have one input, their tokens are those of its cells, and no two groups are alike.
#[test]
fn groups_share_their_input_and_have_tokens_of_their_own() {
    for class in classes() {
        let policy = random_policy(&class, 4);
        let (count, group) = (PORTION + 9, 3);
        let longest = class.task().longest();
        let on = |inputs, threads| {
            let context = Context::default().with_threads(threads);
            sample_groups(&policy, inputs, group, 5, context).unwrap()
        };
        let drawn = on(RolloutInputs::Drawn(count), 1);
        assert!(drawn == on(RolloutInputs::Drawn(count), 2));
        let inputs = sample_inputs(&class, count, 5, Context::default()).unwrap();
        let given = on(RolloutInputs::Given(&inputs), 2);
        let first = given
            .inputs
            .iter()
            .zip(&drawn.inputs)
            .position(|(a, b)| a != b);
        assert!(
            first.is_none(),
            "inputs differ from place {first:?} of {}",
            given.inputs.len()
        );
        assert!(given.inputs.len() == drawn.inputs.len());
        for found in [&drawn, &given] {
            assert_eq!(found.rewards.len(), count * group);
            for row in 0..count * group {
                let places = row * longest..(row + 1) * longest;
                let x = &found.inputs[places.clone()];
                assert_eq!(x, &inputs[row / group * longest..][..longest]);
                let symbols: Vec<Symbol> = (x.iter())
                    .filter(|&&s| s != PADDING)
                    .map(|&s| s as Symbol)
                    .collect();
                let tokens: Vec<Symbol> = found.tokens[places.clone()][..symbols.len()]
                    .iter()
                    .map(|&token| token as Symbol)
                    .collect();
                for t in 0..symbols.len() {
                    let cell = class.route(&symbols, t + 1, &tokens[..t]);
                    assert_eq!(found.cells[places.start + t], cell as i32);
                    let log_prob = policy.row(cell)[usize::from(tokens[t])].ln();
                    assert_eq!(found.log_probs[places.start + t], log_prob);
                }
                assert_eq!(found.lengths[row] as usize, symbols.len());
            }
            // Over a policy with chance in it, rollouts of one group differ.
            let first = |other: usize| {
                (found.tokens.chunks(longest).skip(other).step_by(group)).collect::<Vec<_>>()
            };
            assert!(first(0) != first(1) && first(1) != first(2));
        }
        // Groups of one rollout are plain rollouts.
        let plain = sample_rollouts(&policy, count, 5, Context::default()).unwrap();
        let one = sample_groups(
            &policy,
            RolloutInputs::Drawn(count),
            1,
            5,
            Context::default(),
        );
        assert!(one.unwrap() == plain);
    }
}

/// The success of a given input is that of the rollouts on it.
#[test]
fn rollouts_on_a_given_input_succeed_as_often_as_the_policy_does_on_it() {
    const GROUP: usize = 40_000;
    let class = class(
        "quasigroup",
        InputLaw::Uniform,
        &[1, 3],
        Shape::untied(0, 0),
    );
    let policy = random_policy(&class, 8);
    let inputs = [2, 4, 1, 3, PADDING, PADDING];
    let given = RolloutInputs::Given(&inputs);
    let found = sample_groups(&policy, given, GROUP, 0, Context::default()).unwrap();
    let mut wanted = [None; 2];
    crate::reward::per_input::for_each(&policy, |x, _, success| {
        for (wanted, own) in wanted.iter_mut().zip([&[2, 4, 1][..], &[3]]) {
            if x == own {
                *wanted = Some(success);
            }
        }
    });
    for (rewards, wanted) in found.rewards.chunks(GROUP).zip(wanted) {
        let (p, mean) = (wanted.unwrap(), rewards.iter().sum::<f64>() / GROUP as f64);
        let error = (p * (1.0 - p) / GROUP as f64).sqrt();
        assert!((mean - p).abs() < 5.0 * error, "{mean} {p} +- {error}");
    }
}

#[test]
fn inputs_of_another_class_are_refused() {
    let class = class("parity", InputLaw::Uniform, &[1, 3], Shape::untied(0, 0));
    let refused = |inputs: &[i32], group| {
        let inputs = RolloutInputs::Given(inputs);
        let found = sample_groups(
            &Policy::uniform(&class),
            inputs,
            group,
            0,
            Context::default(),
        );
        found.unwrap_err()
    };
    assert_eq!(refused(&[0, 1, 1, 0], 2), RolloutError::Width(4, 3));
    assert_eq!(refused(&[0, 1, 1], 0), RolloutError::NoGroup);
    let symbol = |row, symbol| RolloutError::Symbol { row, symbol, q: 2 };
    assert_eq!(refused(&[0, 1, 2], 2), symbol(0, 2));
    assert_eq!(refused(&[0, 1, 1, 0, -1, 1], 2), symbol(1, 1));
    assert_eq!(refused(&[0, -2, 1], 2), symbol(0, -2));
    let length = |row, length| RolloutError::Length {
        row,
        length,
        lengths: vec![1, 3],
    };
    assert_eq!(refused(&[0, 1, -1], 2), length(0, 2));
    assert_eq!(refused(&[-1, -1, -1], 2), length(0, 0));
}
