//! Compares the anatomy of codes with what every input says, by the definitions.

use crate::common::problems;
use dashu_ratio::RBig;
use foldglass::Context;
use foldglass::landscape::anatomy::{Cause, Share, aliasing, answers, consulted, defence, product};
use foldglass::reward::count::reference::reward_by_rollouts;
use foldglass::support::exact::parse;
use foldglass::support::stats::Proportion;
use foldglass::{Class, ClassSpec, Code, InputLaw, Operation, Shape, Stream, Symbol, Task};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn inputs(class: &Class, length: usize) -> Vec<Vec<Symbol>> {
    let q = class.q();
    let all = (0..q.pow(length as u32)).map(|n| {
        let symbol = |i: usize| (n / q.pow(i as u32) % q) as Symbol;
        (0..length).map(symbol).collect::<Vec<Symbol>>()
    });
    let law = class.task().inputs();
    all.filter(|x| (0..length).all(|i| law.weight(i + 1, x[i.max(1) - 1], x[i]) > 0))
        .collect()
}

/// The probability of an input, that of its length included.
fn probability(class: &Class, x: &[Symbol]) -> RBig {
    let law = class.task().inputs();
    let which = class.task().lengths().iter().position(|&n| n == x.len());
    let mut shares = class.task().length_weights().shares();
    let share = shares.nth(which.unwrap()).unwrap();
    (0..x.len()).fold(share, |p, i| {
        let weight = law.weight(i + 1, x[i.max(1) - 1], x[i]);
        p * RBig::from_parts(weight.into(), law.denominator(i + 1).into())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn aliasing_and_answers_are_those_of_all_inputs(problem in problems(), seed in any::<u64>()) {
        let class = problem.class();
        let mut stream = Stream::new(seed, 0);
        let code = Code::from_fn(&class, |_| stream.below(class.q() as u32) as Symbol);
        let mut cells = vec![false; class.cells()];
        let mut shared: BTreeMap<(usize, usize, Symbol), BTreeSet<Symbol>> = BTreeMap::new();
        let (mut wrong, mut weight) = (0, RBig::ZERO);
        for &length in class.task().lengths() {
            for x in inputs(&class, length) {
                let mut y: Vec<Symbol> = Vec::new();
                for t in 1..=length {
                    let cell = class.route(&x, t, &y);
                    cells[cell] = true;
                    y.push(code.action(cell));
                    let state = class.task().fold(&x[..t]);
                    shared.entry((length, t, y[t - 1])).or_default().insert(state);
                }
                if y[length - 1] != class.task().fold(&x) {
                    wrong += 1;
                    weight += probability(&class, &x);
                }
            }
        }
        prop_assert_eq!(consulted(&code), cells);
        let found: BTreeMap<_, _> = aliasing(&code)
            .into_iter()
            .flat_map(|step| {
                let own = (step.length, step.t);
                step.states.into_iter().map(move |(token, states)| ((own.0, own.1, token), states))
            })
            .collect();
        prop_assert_eq!(&found, &shared);
        let found = answers(&code, usize::MAX, &mut stream);
        prop_assert!(found.all);
        prop_assert_eq!(found.wrong, wrong);
        let shares = found.causes.values().map(|share| match share {
            Share::Exact(probability) => probability.ratio().clone(),
            Share::Drawn(_) => panic!("all inputs were looked at"),
        });
        prop_assert_eq!(shares.fold(RBig::ZERO, |sum, share| sum + share), weight.clone());
        if class.task().reward().is_final() {
            let reward = reward_by_rollouts(&code);
            prop_assert_eq!(RBig::ONE - reward.ratio(), weight);
        }
        let mut blamed: BTreeMap<(usize, Symbol), RBig> = BTreeMap::new();
        for wrong in &found.listed {
            let own = wrong.probability.ratio().clone();
            prop_assert_eq!(&own, &probability(&class, &wrong.x));
            // The cell at which the input goes wrong, and the state that it leads to.
            let length = wrong.x.len();
            let states = |t: usize, token| &shared[&(length, t, token)];
            let t = (1..length).find(|&t| states(t, wrong.y[t - 1]).len() > 1).unwrap_or(length);
            let state = class.task().fold(&wrong.x[..t]);
            prop_assert_eq!(wrong.cell, class.route(&wrong.x, t, &wrong.y));
            *blamed.entry((wrong.cell, state)).or_insert(RBig::ZERO) += own;
            let blame = found.blame.keys().find(|blame| {
                let stands = |token| shared.get(&(length, t, token)).is_none_or(|of| of.iter().all(|&s| s == state));
                let right = |&token: &Symbol| if t < length { stands(token) } else { token == state };
                let right: BTreeSet<Symbol> = (0..class.q() as Symbol).filter(right).collect();
                let mut others = states(t, wrong.y[t - 1]).clone();
                others.remove(&state);
                if t == length {
                    others.clear();
                }
                (blame.cell, blame.state, &blame.right, &blame.others) == (wrong.cell, state, &right, &others)
            });
            prop_assert!(blame.is_some_and(|blame| blame.token == wrong.y[t - 1] && !blame.right.contains(&blame.token)));
        }
        if found.wrong <= found.listed.len() {
            let mut shares: BTreeMap<(usize, Symbol), RBig> = BTreeMap::new();
            for (blame, share) in &found.blame {
                let Share::Exact(share) = share else { panic!("all inputs were looked at") };
                *shares.entry((blame.cell, blame.state)).or_insert(RBig::ZERO) += share.ratio();
            }
            prop_assert_eq!(shares, blamed);
        }
        prop_assert!(found.listed.len() == found.wrong.min(1000));
    }

    #[test]
    fn cells_are_defended_as_single_changes_say(problem in problems(), seed in any::<u64>()) {
        let class = problem.class();
        prop_assume!(class.cells() <= 60);
        let mut stream = Stream::new(seed, 1);
        let code = Code::from_fn(&class, |_| stream.below(class.q() as u32) as Symbol);
        let found = defence(&code, Context::default()).unwrap();
        let now = reward_by_rollouts(&code);
        for cell in 0..class.cells() {
            let mut others = Vec::new();
            for action in (0..class.q() as Symbol).filter(|&action| action != code.action(cell)) {
                let mut other = code.clone();
                other.set(cell, action);
                others.push(reward_by_rollouts(&other));
            }
            prop_assert_eq!(found.improvable.contains(&cell), others.iter().any(|r| *r > now));
            prop_assert_eq!(found.defended.contains(&cell), others.iter().all(|r| *r < now));
        }
        let all = found.defended.len() + found.neutral.len() + found.improvable.len();
        prop_assert_eq!(all + found.unconsulted.len(), class.cells());
    }
}

/// Inputs beyond the most are drawn from their law: each cause is about as frequent as it is likely.
#[test]
fn drawn_inputs_are_drawn_from_their_law() {
    let row = |text: &str| {
        let (p, q) = (parse(text).unwrap(), RBig::ONE - parse(text).unwrap());
        vec![p, q]
    };
    let skewed = InputLaw::Product(vec![row("9/10"); 6]);
    // Half of the symbols do not occur: of uniform inputs one in 64 would be left.
    let holes: Vec<Vec<RBig>> = (0..12)
        .map(|t| row(if t % 2 == 0 { "1/3" } else { "1" }))
        .collect();
    let markov = InputLaw::Markov(parse("9/10").unwrap());
    for (law, lengths) in [
        (skewed, vec![3, 6]),
        (InputLaw::Product(holes), vec![12]),
        (markov, vec![2, 6]),
    ] {
        let task = Task::new(Operation::cyclic(2).unwrap(), &law, &lengths).unwrap();
        let class = Class::new(task, Shape::untied(0, 0)).unwrap();
        let mut stream = Stream::new(4, 0);
        let code = Code::from_fn(&class, |_| stream.below(2) as Symbol);
        let exact = answers(&code, 4096, &mut stream);
        let drawn = answers(&code, 10, &mut stream);
        assert!(exact.all && !drawn.all, "{law:?}");
        assert_eq!(drawn.inputs, 10 * lengths.len());
        // The most must be below the number of inputs, so that many samples of a few are pooled.
        let mut counts: BTreeMap<Cause, u64> = BTreeMap::new();
        for _ in 0..2_000 {
            for (cause, share) in answers(&code, 10, &mut stream).causes {
                let Share::Drawn(drawn) = share else {
                    panic!("inputs were drawn")
                };
                *counts.entry(cause).or_default() += drawn.successes;
            }
        }
        let trials = 20_000 * lengths.len() as u64;
        assert!(!exact.causes.is_empty());
        assert!(counts.keys().all(|cause| exact.causes.contains_key(cause)));
        for (cause, share) in &exact.causes {
            let successes = counts.get(cause).copied().unwrap_or(0);
            let interval = Proportion { successes, trials }.interval(1.0 - 1e-7);
            assert!(
                interval.contains(share.probability()),
                "{law:?} {cause:?} {interval:?}"
            );
        }
    }
}

#[test]
fn the_product_formula_is_the_reward_of_every_code() {
    let spec = ClassSpec::uniform(Operation::cyclic(2).unwrap(), &[3], Shape::untied(0, 0));
    let class = spec.lay_out().unwrap();
    for number in 0..1024usize {
        let code = Code::from_fn(&class, |cell| (number >> cell & 1) as Symbol);
        let (factors, reward) = product(&code).unwrap();
        assert_eq!(reward, reward_by_rollouts(&code), "{factors:?}");
    }
    let wide = ClassSpec::uniform(Operation::cyclic(2).unwrap(), &[3], Shape::untied(1, 0));
    let wide = wide.lay_out().unwrap();
    assert_eq!(product(&Code::from_fn(&wide, |_| 0)), None);
}
