//! Compares the positions that codes ignore with the rollouts of all inputs.

use crate::common::problems;
use foldglass::landscape::ignored::{ignored, pairs};
use foldglass::support::exact::parse;
use foldglass::{Class, ClassSpec, Code, InputLaw, Operation, Shape, Stream, Symbol, Task};
use proptest::prelude::*;
use std::collections::BTreeSet;

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

/// By the definition: change each position of every input that occurs to another that does.
fn by_rollouts(code: &Code, length: usize) -> Vec<usize> {
    let q = code.class().q();
    let law = code.class().task().inputs();
    let occurs = |x: &[Symbol]| (0..length).all(|i| law.weight(i + 1, x[i.max(1) - 1], x[i]) > 0);
    let unchanged = |x: &Vec<Symbol>, i: usize| {
        (0..q).all(|symbol| {
            let mut changed = x.clone();
            changed[i - 1] = symbol as Symbol;
            !occurs(&changed) || answer(code, &changed) == answer(code, x)
        })
    };
    let all: Vec<Vec<Symbol>> = (inputs(q, length).into_iter())
        .filter(|x| occurs(x))
        .collect();
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
    let square = Operation::random(class.q(), seed).unwrap();
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
        let code = careless(&class, seed);
        for &length in class.task().lengths() {
            prop_assert_eq!(ignored(&code, length), by_rollouts(&code, length));
        }
    }
}

/// Where symbols never repeat, or always do, what may follow depends on symbols that no window shows.
#[test]
fn changes_to_inputs_that_never_occur_do_not_count() {
    for (k, length, shape) in [
        ("0", 5, Shape::untied(0, 0)),
        ("0", 5, Shape::tied(0, 0)),
        ("0", 5, Shape::untied(1, 1)),
        ("1", 4, Shape::untied(0, 1)),
    ] {
        let law = InputLaw::Markov(parse(k).unwrap());
        let task = Task::new(Operation::cyclic(3).unwrap(), &law, &[length]).unwrap();
        let class = Class::new(task, shape).unwrap();
        let mut sizes = BTreeSet::new();
        for seed in 0..40 {
            let code = careless(&class, seed);
            let found = ignored(&code, length);
            assert_eq!(found, by_rollouts(&code, length), "{k} {shape:?} {seed}");
            sizes.insert(found.len());
        }
        // One symbol of a constant input cannot change alone.
        assert_eq!(sizes.len() > 1, k == "0", "{sizes:?}");
    }
}

#[test]
fn a_long_input_is_followed_once_for_all_positions() {
    let shape = Shape {
        memory: 2,
        ..Shape::untied(1, 0)
    };
    let spec = ClassSpec::uniform(Operation::cyclic(3).unwrap(), &[150], shape);
    let class = spec.lay_out().unwrap();
    // Reads every third symbol, and forgets all that came before step 100.
    let code = Code::from_fn(&class, |cell| {
        let key = class.key(cell);
        let t = key.t.unwrap();
        let reads = t.is_multiple_of(3);
        let x = if reads { key.x[1].unwrap() } else { 0 };
        let before = key.y.last().copied().flatten().filter(|_| t > 100);
        (x + before.unwrap_or(0)) % 3
    });
    let used: Vec<usize> = (100..=150)
        .filter(|i: &usize| i.is_multiple_of(3) && *i > 100)
        .collect();
    let rest: Vec<usize> = (1..=150).filter(|i| !used.contains(i)).collect();
    assert_eq!(ignored(&code, 150), rest);
    assert!(pairs(&class) < 150 * 27 * 3 * 3 * 9 * 2);
}

#[test]
#[should_panic(expected = "5 is none of the lengths [2, 3]")]
fn a_length_of_another_task_is_refused() {
    let shape = foldglass::Shape::untied(0, 0);
    let square = Operation::cyclic(2).unwrap();
    let spec = foldglass::ClassSpec::uniform(square, &[2, 3], shape);
    let class = spec.lay_out().unwrap();
    ignored(&Code::from_fn(&class, |_| 0), 5);
}
