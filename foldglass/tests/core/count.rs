//! Compares the counts of rewards with the definition, one rollout after the other.

use crate::common::{Problem, Rational, Weighing, final_problems, problems};
use foldglass::reward::count::reference::reward_by_rollouts;
use foldglass::reward::count::{
    self, CountError, Counter, Regime, RewardCounter, WideCounter, is_wide, reward,
};
use foldglass::support::exact::{UBig, parse};
use foldglass::{
    Allowance, Class, Code, Evaluator, InputLaw, Operation, Policy, Reward, Shape, Symbol, Task,
    Window,
};
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

const REGIMES: [Regime; 2] = [Regime::Rollouts, Regime::States];

fn class(name: &str, law: &InputLaw, lengths: &[usize], shape: Shape) -> Class {
    let task = Task::new(Operation::named(name).unwrap(), law, lengths).unwrap();
    Class::new(task, shape).unwrap()
}

fn below(rng: &mut ChaCha8Rng, n: usize) -> usize {
    (rng.next_u64() % n as u64) as usize
}

fn random_code(class: &Class, rng: &mut ChaCha8Rng) -> Code {
    Code::from_fn(class, |_| below(rng, class.q()) as Symbol)
}

fn counter(code: &Code, regime: Regime) -> Counter {
    Counter::with_regime(code.clone(), regime, Allowance::default()).unwrap()
}

/// The numerator of J, by the definition.
fn by_definition(code: &Code) -> u128 {
    let denominator = code.class().task().denominator();
    let numerator = reward_by_rollouts(code).over(&denominator);
    numerator.try_into().unwrap()
}

/// The code that keeps y_t = s_t.
fn solution(class: &Class) -> Code {
    let past = class.shape().window.past;
    Code::from_fn(class, |cell| {
        let key = class.key(cell);
        let x = key.x[past].unwrap();
        key.y[key.y.len() - 1].map_or(x, |y| class.task().square().multiply(y, x))
    })
}

/// Asks for rewards and changes cells at random, comparing all with the definition.
fn follow_random_changes(class: &Class, seed: u64) -> Result<(), TestCaseError> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut code = random_code(class, &mut rng);
    prop_assert_eq!(reward(&code), reward_by_rollouts(&code));
    let mut counters = REGIMES.map(|regime| counter(&code, regime));
    let mut wide = WideCounter::within(code.clone(), Allowance::default()).unwrap();
    let mut rewards = vec![0; class.q()];
    let mut wide_rewards = vec![UBig::ZERO; class.q()];
    for _ in 0..8 {
        let cell = below(&mut rng, class.cells());
        let of_action = |action: usize| {
            let mut changed = code.clone();
            changed.set(cell, action as Symbol);
            by_definition(&changed)
        };
        let expected: Vec<u128> = (0..class.q()).map(of_action).collect();
        for counter in &mut counters {
            prop_assert_eq!(counter.reward(), expected[code.action(cell) as usize]);
            counter.rewards(cell, &mut rewards);
            prop_assert_eq!(&rewards, &expected, "{:?}", counter.regime());
            prop_assert_eq!(counter.code(), &code);
        }
        prop_assert_eq!(
            wide.reward(),
            UBig::from(expected[code.action(cell) as usize])
        );
        wide.rewards(cell, &mut wide_rewards);
        let expected: Vec<UBig> = expected.into_iter().map(UBig::from).collect();
        prop_assert_eq!(&wide_rewards, &expected);
        // None, one or several changes before the next question, sometimes where it was asked.
        for i in 0..below(&mut rng, 4) {
            let cell = if i == 0 {
                cell
            } else {
                below(&mut rng, class.cells())
            };
            let action = below(&mut rng, class.q()) as Symbol;
            code.set(cell, action);
            counters
                .iter_mut()
                .for_each(|counter| counter.set(cell, action));
            wide.set(cell, action);
        }
    }
    prop_assert_eq!(reward(&code), reward_by_rollouts(&code));
    Ok(())
}

/// Product laws with denominators of about 2^37 a position: three of them fill 127 bits, not 64.
fn fine_problems() -> impl Strategy<Value = Problem> {
    let numbers = proptest::collection::vec(1u64..1 << 36, 3 * 3);
    let lengths = proptest::sample::subsequence(vec![1, 2, 3], 1..=2);
    (
        2usize..=3,
        any::<u64>(),
        numbers,
        lengths,
        0usize..=1,
        0usize..=1,
        any::<bool>(),
    )
        .prop_map(|(q, table_seed, numbers, lengths, past, future, tied)| {
            let row = |numbers: &[u64]| -> Vec<Rational> {
                let total: u64 = numbers[..q].iter().sum();
                numbers[..q]
                    .iter()
                    .map(|&n| Rational::from_parts(n.into(), total.into()))
                    .collect()
            };
            let longest = *lengths.iter().max().unwrap();
            let law = InputLaw::Product(numbers.chunks(3).take(longest).map(row).collect());
            let shape = Shape {
                window: Window { past, future },
                memory: 1,
                tied,
            };
            Problem {
                q,
                table_seed,
                law,
                lengths,
                shape,
                weighing: Weighing::Equal,
            }
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn rewards_are_those_of_the_definition_before_and_after_changes(problem in problems(), seed: u64) {
        follow_random_changes(&problem.class(), seed)?;
    }

    #[test]
    fn rewards_beyond_64_bits_are_those_of_the_definition(problem in fine_problems(), seed: u64) {
        follow_random_changes(&problem.class(), seed)?;
    }

    #[test]
    fn a_step_earns_the_sum_of_what_its_cells_earn(problem in problems(), seed: u64) {
        let class = problem.class();
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        for regime in REGIMES {
            let mut counter = counter(&random_code(&class, &mut rng), regime);
            let mut earned = Vec::new();
            for _ in 0..3 {
                let t = 1 + below(&mut rng, class.task().longest());
                let Some(cells) = counter.block(t, &mut earned) else {
                    prop_assert!(problem.shape.tied);
                    break;
                };
                prop_assert!(!problem.shape.tied);
                let of_step = (0..class.cells()).filter(|&c| class.key(c).t == Some(t));
                prop_assert!(cells.clone().eq(of_step));
                let sum = |code: &Code| -> u128 {
                    cells.clone().map(|c| earned[(c - cells.start) * class.q() + code.action(c) as usize]).sum()
                };
                let rest = counter.reward() - sum(counter.code());
                if class.task().rewards_one_step() {
                    prop_assert_eq!(rest, 0);
                }
                let mut changed = counter.code().clone();
                for cell in cells.clone() {
                    changed.set(cell, below(&mut rng, class.q()) as Symbol);
                }
                prop_assert_eq!(by_definition(&changed), rest + sum(&changed));
                cells.clone().for_each(|cell| counter.set(cell, changed.action(cell)));
                prop_assert_eq!(counter.reward(), rest + sum(&changed));
            }
        }
    }

    #[test]
    fn the_policy_that_follows_a_code_has_its_reward(problem in problems(), seed: u64) {
        let class = problem.class();
        let code = random_code(&class, &mut ChaCha8Rng::seed_from_u64(seed));
        let mut evaluator = Evaluator::new(&class).unwrap();
        let j = evaluator.evaluate(&Policy::deterministic(&code));
        let exact = reward(&code).to_f64();
        prop_assert!((j - exact).abs() <= 1e-12, "{j} against {exact}");
    }

    #[test]
    fn relabelling_the_tokens_leaves_the_reward(problem in final_problems(), seed: u64) {
        let longest = *problem.lengths.iter().max().unwrap();
        let shape = Shape { memory: 1, tied: false, ..problem.shape };
        let class = Problem { lengths: vec![longest], shape, ..problem }.class();
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let code = random_code(&class, &mut rng);
        // Paper, App. D: g_t for t = 0 ..= T, the first and the last the identity.
        let labels: Vec<Vec<usize>> = (0..=longest)
            .map(|t| {
                let mut g: Vec<usize> = (0..class.q()).collect();
                let inner = t > 0 && t < longest;
                (1..if inner { class.q() } else { 0 }).for_each(|i| g.swap(i, below(&mut rng, i + 1)));
                g
            })
            .collect();
        let mut relabelled = code.clone();
        for cell in 0..class.cells() {
            let (t, y) = (class.key(cell).t.unwrap(), class.key(cell).y[0]);
            // Histories are the last digit of a cell's number.
            let image = y.map_or(cell, |y| cell - y as usize + labels[t - 1][y as usize]);
            relabelled.set(image, labels[t][code.action(cell) as usize] as Symbol);
        }
        prop_assert_eq!(reward(&code), reward(&relabelled));
        for regime in REGIMES {
            prop_assert_eq!(counter(&code, regime).reward(), counter(&relabelled, regime).reward());
        }
    }
}

#[test]
fn a_code_that_keeps_the_fold_earns_everything_at_any_length() {
    let markov = InputLaw::Markov(parse("9/10").unwrap());
    for (name, law, lengths, shape) in [
        (
            "quasigroup",
            &InputLaw::Uniform,
            &[200][..],
            Shape::untied(0, 0),
        ),
        (
            "quasigroup",
            &InputLaw::Uniform,
            &[50, 120, 200],
            Shape::untied(0, 0),
        ),
        (
            "quasigroup",
            &InputLaw::Uniform,
            &[50, 120, 200],
            Shape::tied(0, 0),
        ),
        (
            "quasigroup",
            &InputLaw::Uniform,
            &[3, 99, 200],
            Shape::tied(1, 1),
        ),
        ("parity", &markov, &[150, 200], Shape::tied(0, 0)),
        ("parity", &InputLaw::Uniform, &[1000], Shape::untied(0, 0)),
    ] {
        let class = class(name, law, lengths, shape);
        let exact = reward(&solution(&class));
        assert!(exact.is_one(), "{name} {lengths:?}");
        assert_eq!((exact.to_string(), exact.to_f64()), ("1/1".to_owned(), 1.0));
    }
}

#[test]
fn one_wrong_token_at_length_1000_costs_exactly_its_inputs() {
    let class = class(
        "quasigroup",
        &InputLaw::Uniform,
        &[1000],
        Shape::untied(0, 0),
    );
    let mut code = solution(&class);
    let last = class.cells() - 1;
    code.set(last, (code.action(last) + 1) % 5);
    assert_eq!(reward(&code).to_string(), "24/25");
}

#[test]
fn a_denominator_beyond_126_bits_is_refused_with_its_size() {
    for (length, bits) in [(54, None), (55, Some(128)), (200, Some(465))] {
        let class = class(
            "quasigroup",
            &InputLaw::Uniform,
            &[length],
            Shape::tied(0, 0),
        );
        let error = Counter::new(solution(&class)).err();
        assert_eq!(error, bits.map(|bits| CountError::TooFine { bits }));
        assert_eq!(is_wide(&class), bits.is_some());
    }
}

#[test]
fn denominators_that_just_fit_their_integers_do_not_overflow() {
    // 62 bits, the most that are counted in 64; 126 bits, the most that are counted in 128.
    for (name, length) in [("parity", 61), ("parity", 125), ("quasigroup", 54)] {
        for shape in [Shape::untied(0, 0), Shape::tied(0, 0), Shape::tied(1, 0)] {
            let class = class(name, &InputLaw::Uniform, &[length], shape);
            let mut rng = ChaCha8Rng::seed_from_u64(1);
            let mut counter = counter(&solution(&class), Regime::States);
            let mut rewards = vec![0; class.q()];
            for _ in 0..40 {
                let cell = below(&mut rng, class.cells());
                let action = below(&mut rng, class.q());
                counter.rewards(cell, &mut rewards);
                counter.set(cell, action as Symbol);
                assert_eq!(counter.reward(), rewards[action]);
                let kept = Reward::new(rewards[action], counter.denominator());
                assert_eq!(reward(counter.code()), kept);
            }
        }
    }
}

#[test]
fn the_tied_class_of_the_paper_is_counted_along_a_chain() {
    let class = class("quasigroup", &InputLaw::Uniform, &[7], Shape::tied(0, 3));
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut counter = counter(&random_code(&class, &mut rng), Regime::States);
    let mut rewards = [0; 5];
    // Windows that a rollout can see twice are few: every second question is about one of them.
    let twice = |cell: &usize| {
        let x = class.key(*cell).x;
        x[3].is_some() && x[0] == x[2] && x[1] == x[3]
    };
    let returning: Vec<usize> = (0..class.cells()).filter(twice).collect();
    for step in 0..20_000 {
        let mut cell = below(&mut rng, class.cells());
        if step % 2 == 0 {
            cell = returning[below(&mut rng, returning.len())];
        }
        counter.rewards(cell, &mut rewards);
        let action = below(&mut rng, 5);
        if step % 500 < 2 {
            let mut changed = counter.code().clone();
            changed.set(cell, action as Symbol);
            let asked = Reward::new(rewards[action], counter.denominator());
            assert_eq!(reward(&changed), asked);
        }
        if rewards[action] >= counter.reward() {
            counter.set(cell, action as Symbol);
            assert_eq!(counter.reward(), rewards[action]);
        }
    }
    let kept = Reward::new(counter.reward(), counter.denominator());
    assert_eq!(reward(counter.code()), kept);
}

#[test]
fn memory_is_refused_before_it_is_taken() {
    let class = class("quasigroup", &InputLaw::Uniform, &[12], Shape::untied(0, 0));
    let refuse = |regime, bytes| {
        let counter = Counter::with_regime(solution(&class), regime, Allowance(bytes));
        counter.err().unwrap().to_string()
    };
    assert!(refuse(Regime::Rollouts, 1 << 32).contains("by rollouts needs 6.8 GiB: 4.0 GiB are"));
    assert!(refuse(Regime::States, 1 << 10).contains("280 cells by states needs"));
}

#[test]
fn the_regime_is_rollouts_where_inputs_are_few_and_states_elsewhere() {
    let regime = |shape| {
        let class = class("z:3", &InputLaw::Uniform, &[5], shape);
        Counter::new(solution(&class)).unwrap().regime()
    };
    assert_eq!(
        regime(Shape {
            memory: 4,
            ..Shape::untied(4, 4)
        }),
        Regime::Rollouts
    );
    assert_eq!(regime(Shape::untied(0, 0)), Regime::States);
    assert_eq!(regime(Shape::tied(0, 3)), Regime::States);
}

#[test]
fn correlated_parity_at_length_4_has_648_local_maxima() {
    let law = InputLaw::Markov(parse("9/10").unwrap());
    let class = class("parity", &law, &[4], Shape::untied(0, 0));
    let mut counter = counter(&Code::from_fn(&class, |_| 0), Regime::States);
    let mut maxima = 0;
    for number in 0..1usize << class.cells() {
        for cell in 0..class.cells() {
            counter.set(cell, (number >> cell & 1) as Symbol);
        }
        let (reward, optimum) = (counter.reward(), counter.denominator());
        let raises = |cell| {
            let mut rewards = [0; 2];
            counter.rewards(cell, &mut rewards);
            rewards.iter().any(|&other| other > reward)
        };
        if reward < optimum && !(0..class.cells()).any(raises) {
            maxima += 1;
        }
    }
    assert_eq!(maxima, 648);
}

#[test]
fn a_counter_takes_the_memory_that_is_stated() {
    let memory = Shape {
        memory: 4,
        ..Shape::untied(4, 4)
    };
    for (name, length, shape) in [
        ("z:3", 5, memory),
        ("z:3", 5, Shape::untied(0, 0)),
        ("quasigroup", 7, Shape::tied(0, 3)),
        ("quasigroup", 40, Shape::tied(0, 0)),
    ] {
        let class = class(name, &InputLaw::Uniform, &[length], shape);
        let bytes = count::bytes(&class).unwrap();
        let new = |bytes| Counter::within(solution(&class), Allowance(bytes)).err();
        assert_eq!(new(bytes), None, "{name}");
        assert!(
            matches!(new(bytes - 1), Some(CountError::TooLarge(_))),
            "{name}"
        );
    }
}
