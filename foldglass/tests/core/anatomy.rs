//! Compares the anatomy of codes with what every input says, by the definitions.

use crate::common::problems;
use foldglass::anatomy::{aliasing, answers, consulted, defence, product};
use foldglass::count::reference::reward_by_rollouts;
use foldglass::{Allowance, Class, ClassSpec, Code, LatinSquare, Shape, Stream, Symbol};
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn aliasing_and_answers_are_those_of_all_inputs(problem in problems(), seed in any::<u64>()) {
        let class = problem.class();
        let mut stream = Stream::new(seed, 0);
        let code = Code::from_fn(&class, |_| stream.below(class.q() as u32) as Symbol);
        let mut cells = vec![false; class.cells()];
        let mut shared: BTreeMap<(usize, usize, Symbol), BTreeSet<Symbol>> = BTreeMap::new();
        let mut wrong = 0;
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
                wrong += usize::from(y[length - 1] != class.task().fold(&x));
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
        prop_assert_eq!(found, shared);
        let found = answers(&code, usize::MAX, &mut stream);
        prop_assert!(found.all);
        prop_assert_eq!(found.wrong, wrong);
        prop_assert_eq!(found.causes.values().sum::<usize>(), wrong);
    }

    #[test]
    fn cells_are_defended_as_single_changes_say(problem in problems(), seed in any::<u64>()) {
        let class = problem.class();
        prop_assume!(class.cells() <= 60);
        let mut stream = Stream::new(seed, 1);
        let code = Code::from_fn(&class, |_| stream.below(class.q() as u32) as Symbol);
        let found = defence(&code, Allowance::default()).unwrap();
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

#[test]
fn the_product_formula_is_the_reward_of_every_code() {
    let spec = ClassSpec::uniform(LatinSquare::cyclic(2).unwrap(), &[3], Shape::untied(0, 0));
    let class = spec.lay_out(Allowance::default()).unwrap();
    for number in 0..1024usize {
        let code = Code::from_fn(&class, |cell| (number >> cell & 1) as Symbol);
        let (factors, reward) = product(&code).unwrap();
        assert_eq!(reward, reward_by_rollouts(&code), "{factors:?}");
    }
    let wide = ClassSpec::uniform(LatinSquare::cyclic(2).unwrap(), &[3], Shape::untied(1, 0));
    let wide = wide.lay_out(Allowance::default()).unwrap();
    assert_eq!(product(&Code::from_fn(&wide, |_| 0)), None);
}
