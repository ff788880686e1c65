//! Visits every code up to the names of tokens, one by one: the slow way to take a census.
//!
//! No step is solved, no prefixes are merged, no code is taken to forget. The tests hold the census
//! to it.

use super::descent::{Descent, Stretch};
use super::walker::{Search, Walker};
use super::{Count, Survey};
use crate::reward::count::flow::FlowTable;
use crate::support::watch::{Tally, Unwatched};
use crate::{Allowance, Class, InputLaw, LatinSquare, Reward, Shape, Task, Window};
use dashu_ratio::RBig;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// What a census says, its traps by reward and shelf.
#[derive(Debug, Default, PartialEq, Eq)]
struct Said {
    optimal: u128,
    local_maxima: u128,
    traps: BTreeMap<(u128, u128), u128>,
}

fn plain(class: &Class, tolerance: &Reward) -> Said {
    let frame = Survey::new(class, tolerance, Allowance::default())
        .unwrap()
        .frame;
    let flows = FlowTable::<i128>::new(class);
    let tally = Tally::new(&Unwatched, "codes", None);
    let mut walker = Walker::new(&frame, &flows, &tally);
    let stretch = Stretch {
        first: 0,
        end: flows.steps.len(),
        ending: false,
    };
    let start = flows.alpha();
    let mut descent = Descent::new(&flows, stretch, &vec![0; class.cells()], &start);
    let mut said = Said::default();
    let limit = frame.tolerance as i128;
    let _ = descent.descend(0, 1, &mut |descent, weight| {
        let (alpha, actions) = (&descent.alpha, &descent.actions);
        let mut beta = flows.beta();
        let mut raised = false;
        for step in flows.steps.iter().rev() {
            raised |= !step.is_unraised(alpha, &beta, actions, limit, flows.q, &[]);
            step.give_back(&mut beta, &flows.right, actions);
        }
        if beta[0] == flows.whole {
            said.optimal += weight;
        } else if !raised {
            said.local_maxima += weight;
            let code = frame.packing.pack(actions);
            if let (0, Search::Trapped(shelf)) = (limit, walker.trapped(code)) {
                *said.traps.entry((beta[0] as u128, shelf)).or_default() += weight;
            }
        }
        ControlFlow::Continue(())
    });
    said
}

/// A census with the prefixes of at most some steps merged, on few bytes or many.
fn merged(class: &Class, tolerance: &Reward, steps: usize) -> Count {
    let survey = Survey::new(class, tolerance, Allowance::default()).unwrap();
    let tally = Tally::new(&Unwatched, "parts", None);
    let census = survey.at_most(steps).merged(Allowance::default(), &tally);
    let census = census.unwrap();
    let mut visitor = census.visitor(&tally);
    let mut count = Count::default();
    (0..census.parts()).for_each(|part| count += visitor.part(part).unwrap());
    count.traps.sort();
    count
}

fn said(count: &Count) -> Said {
    let mut said = Said {
        optimal: count.optimal,
        local_maxima: count.local_maxima,
        traps: BTreeMap::new(),
    };
    for trap in &count.traps {
        *said.traps.entry((trap.reward, trap.shelf)).or_default() += trap.weight;
    }
    said
}

fn law(q: usize, longest: usize) -> impl Strategy<Value = InputLaw> {
    let ratio = (0u32..=4, 1u32..=4).prop_map(|(n, d)| RBig::from_parts(n.min(d).into(), d.into()));
    let row = prop::collection::vec(0u32..4, q).prop_map(|mut row| {
        row[0] += u32::from(row.iter().sum::<u32>() == 0);
        let sum: u32 = row.iter().sum();
        let part = |n: u32| RBig::from_parts(n.into(), sum.into());
        row.into_iter().map(part).collect::<Vec<RBig>>()
    });
    prop_oneof![
        Just(InputLaw::Uniform),
        ratio.prop_map(InputLaw::Markov),
        prop::collection::vec(row, longest).prop_map(InputLaw::Product),
    ]
}

/// Classes of up to some ten thousand codes, up to names.
fn classes() -> impl Strategy<Value = Class> {
    let shape = |past, future, memory| Shape {
        window: Window { past, future },
        memory,
        tied: false,
    };
    let kinds = vec![
        ("parity", vec![4], shape(0, 0, 1)),
        ("parity", vec![5], shape(0, 0, 1)),
        ("parity", vec![2, 4], shape(0, 0, 1)),
        ("parity", vec![3, 4, 5], shape(0, 0, 1)),
        ("parity", vec![3], shape(1, 0, 1)),
        ("parity", vec![3], shape(0, 1, 1)),
        ("parity", vec![4], shape(0, 0, 2)),
        ("parity", vec![2, 3], shape(0, 0, 2)),
        ("z:3", vec![1, 2], shape(0, 0, 1)),
        ("random:3:4", vec![2], shape(0, 0, 1)),
    ];
    prop::sample::select(kinds).prop_flat_map(|(task, lengths, shape)| {
        let square = LatinSquare::named(task).unwrap();
        let longest = *lengths.iter().max().unwrap();
        law(square.q(), longest).prop_map(move |law| {
            let task = Task::new(square.clone(), &law, &lengths).unwrap();
            Class::new(task, shape).unwrap()
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn merged_prefixes_count_what_every_code_counts(class in classes(), loose in any::<bool>()) {
        let tolerance: Reward = if loose { "1/30" } else { "0" }.parse().unwrap();
        let whole = merged(&class, &tolerance, usize::MAX);
        prop_assert_eq!(said(&whole), plain(&class, &tolerance));
        for steps in 0..2 {
            prop_assert_eq!(&merged(&class, &tolerance, steps), &whole, "{} steps", steps);
        }
    }
}

/// Three steps of three symbols, and longer parity, are too many codes for the slow way: steps that
/// are merged and steps that are not have the same traps, code by code.
#[test]
fn the_number_of_merged_steps_does_not_show() {
    let of = |task: &str, law: InputLaw, length: usize| {
        let square = LatinSquare::named(task).unwrap();
        let task = Task::new(square, &law, &[length]).unwrap();
        Class::new(task, Shape::untied(0, 0)).unwrap()
    };
    let markov = |n: u32, d: u32| InputLaw::Markov(RBig::from_parts(n.into(), d.into()));
    for class in [
        of("parity", markov(9, 10), 8),
        of("parity", InputLaw::Uniform, 7),
        of("z:3", markov(3, 4), 3),
    ] {
        let whole = merged(&class, &Reward::ZERO, usize::MAX);
        for steps in 0..4 {
            assert_eq!(merged(&class, &Reward::ZERO, steps), whole, "{steps} steps");
        }
    }
}
