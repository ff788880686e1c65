//! Compares the positions that codes ignore with the rollouts of all inputs.

use crate::common::problems;
use foldglass::landscape::ignored::ignored;
use foldglass::{Class, Code, LatinSquare, Stream, Symbol};
use proptest::prelude::*;

/// Every input of a length.
fn inputs(q: usize, length: usize) -> Vec<Vec<Symbol>> {
    let mut list = vec![vec![]];
    for _ in 0..length {
        let longer = |x: &Vec<Symbol>| (0..q).map(|s| [&x[..], &[s as Symbol]].concat()).collect();
        list = list
            .iter()
            .flat_map(|x| -> Vec<Vec<Symbol>> { longer(x) })
            .collect();
    }
    list
}

fn answer(code: &Code, x: &[Symbol]) -> Symbol {
    let mut y = Vec::new();
    for t in 1..=x.len() {
        y.push(code.action(code.class().route(x, t, &y)));
    }
    y[x.len() - 1]
}

/// By the definition: change each position of every input.
fn by_rollouts(code: &Code, length: usize) -> Vec<usize> {
    let q = code.class().q();
    let unchanged = |x: &Vec<Symbol>, i: usize| {
        (0..q).all(|symbol| {
            let mut changed = x.clone();
            changed[i - 1] = symbol as Symbol;
            answer(code, &changed) == answer(code, x)
        })
    };
    let all = inputs(q, length);
    let ignores = |&i: &usize| all.iter().all(|x| unchanged(x, i));
    (1..=length).filter(ignores).collect()
}

/// A code that reads x_t at some steps only, so that some positions are ignored.
fn careless(class: &Class, seed: u64) -> Code {
    let mut stream = Stream::new(seed, 0);
    let q = class.q() as u32;
    let reads: Vec<bool> = (0..class.task().longest())
        .map(|_| stream.below(2) == 1)
        .collect();
    let square = LatinSquare::random(class.q(), seed).unwrap();
    let wrong = stream.below(4) == 0;
    let strays: Vec<u32> = (0..class.cells()).map(|_| stream.below(q)).collect();
    Code::from_fn(class, |cell| {
        let key = class.key(cell);
        let x = key.x[class.shape().window.past].unwrap();
        let y = key.y.last().copied().flatten();
        let reads = key.t.is_none_or(|t| reads[t - 1]);
        match (y, reads) {
            _ if wrong && cell % 5 == 0 => strays[cell] as Symbol,
            (None, true) => x,
            (None, false) => 0,
            (Some(y), true) => square.multiply(y, x),
            (Some(y), false) => y,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn positions_are_those_whose_change_never_changes_the_answer(
        problem in problems(),
        seed in any::<u64>(),
    ) {
        let class = problem.class();
        prop_assume!(class.task().inputs().has_full_support());
        let code = careless(&class, seed);
        for &length in class.task().lengths() {
            prop_assert_eq!(ignored(&code, length), by_rollouts(&code, length));
        }
    }
}

#[test]
#[should_panic(expected = "5 is none of the lengths [2, 3]")]
fn a_length_of_another_task_is_refused() {
    let shape = foldglass::Shape::untied(0, 0);
    let square = LatinSquare::cyclic(2).unwrap();
    let spec = foldglass::ClassSpec::uniform(square, &[2, 3], shape);
    let class = spec.lay_out(foldglass::Allowance::default()).unwrap();
    ignored(&Code::from_fn(&class, |_| 0), 5);
}
