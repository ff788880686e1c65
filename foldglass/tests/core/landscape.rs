//! Compares the census with all codes of small classes, one by one.

use crate::common::all::{All, census, census_merging, class, markov, product, with_a_hole};
use foldglass::landscape::census::{CensusError, Count, Survey};
use foldglass::support::watch::Tally;
use foldglass::{Allowance, Class, InputLaw, Progress, Reward, Shape, Unwatched, Window};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

/// Reward, barrier, and the number of traps with both.
type Kinds = BTreeMap<(u64, u64), u128>;

fn compare(class: &Class) -> (u128, u128) {
    let all = All::new(class);
    let (census, count) = census(class, "0");
    let optimal = all.rewards.iter().filter(|&&r| r == all.whole).count();
    assert_eq!(count.optimal, optimal as u128, "optimal codes");
    let maxima = all.local_maxima(0).len();
    assert_eq!(count.local_maxima, maxima as u128, "local maxima");
    let mut expected = Kinds::new();
    for shelf in all.traps() {
        let kind = (all.rewards[shelf[0]], all.barrier(shelf[0]));
        *expected.entry(kind).or_default() += shelf.len() as u128;
    }
    let mut found = Kinds::new();
    let tally = Tally::new(&Unwatched, "shelves", None);
    for trap in &count.traps {
        let barrier = census.barrier(trap.shelf, usize::MAX, &tally).unwrap();
        let kind = (trap.reward as u64, barrier as u64);
        *found.entry(kind).or_default() += trap.weight;
        let loss = census.largest_loss(trap.shelf, usize::MAX, &tally);
        assert!(loss.unwrap() <= barrier);
    }
    assert_eq!(found, expected, "traps");
    for steps in 0..2 {
        let (_, fewer) = census_merging(class, "0", steps);
        assert_eq!(sorted(fewer), sorted(count.clone()), "{steps} merged steps");
    }
    let tolerance = all.whole / 50;
    let loose = all.local_maxima(tolerance).len();
    let (_, count) = self::census(class, "1/50");
    assert_eq!(count.local_maxima, loose as u128, "with a tolerance");
    (count.local_maxima, expected.values().sum())
}

fn sorted(mut count: Count) -> Count {
    count.traps.sort();
    count
}

/// Three steps of three symbols, and longer parity, are too many codes to visit one by one: steps
/// that are merged and steps that are not have the same traps, code by code.
#[test]
fn the_number_of_merged_steps_does_not_show() {
    let shape = Shape::untied(0, 0);
    for class in [
        class("parity", &markov("9/10"), &[8], shape),
        class("parity", &InputLaw::Uniform, &[7], shape),
        class("parity", &markov("2/3"), &[3, 4, 5], shape),
        class("z:3", &markov("3/4"), &[3], shape),
    ] {
        let whole = sorted(census(&class, "0").1);
        for steps in 0..4 {
            let (_, fewer) = census_merging(&class, "0", steps);
            assert_eq!(sorted(fewer), whole, "{steps} steps");
        }
    }
}

/// Input laws with probabilities of small denominators, some of them 0.
fn laws(longest: usize) -> impl Strategy<Value = InputLaw> {
    let ratio = (0u32..=4, 1u32..=4).prop_map(|(n, d)| format!("{}/{d}", n.min(d)));
    let row = (0u32..=4, 1u32..=4).prop_map(|(n, d)| {
        let n = n.min(d);
        vec![format!("{n}/{d}"), format!("{}/{d}", d - n)]
    });
    let rows = prop::collection::vec(row, longest).prop_map(|rows| {
        let rows: Vec<Vec<&str>> = rows
            .iter()
            .map(|row| row.iter().map(String::as_str).collect())
            .collect();
        product(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>())
    });
    prop_oneof![
        Just(InputLaw::Uniform),
        ratio.prop_map(|k| markov(&k)),
        rows
    ]
}

fn classes() -> impl Strategy<Value = Class> {
    let long = Shape {
        memory: 2,
        ..Shape::untied(0, 0)
    };
    let kinds = vec![
        (vec![4], Shape::untied(0, 0)),
        (vec![2, 4], Shape::untied(0, 0)),
        (vec![3], Shape::untied(1, 0)),
        (vec![3], Shape::untied(0, 1)),
        (vec![2, 3], long),
    ];
    prop::sample::select(kinds).prop_flat_map(|(lengths, shape)| {
        let longest = lengths[lengths.len() - 1];
        laws(longest).prop_map(move |law| class("parity", &law, &lengths, shape))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_census_under_any_law_counts_what_visiting_every_code_counts(class in classes()) {
        compare(&class);
    }
}

#[test]
fn a_census_of_parity_counts_what_visiting_every_code_counts() {
    let shape = Shape::untied(0, 0);
    for law in ["9/10", "1/2", "1/10", "1", "0", "2/3"] {
        for length in 1..=4 {
            compare(&class("parity", &markov(law), &[length], shape));
        }
    }
    compare(&class("parity", &with_a_hole(), &[4], shape));
}

#[test]
fn a_census_of_three_symbols_counts_what_visiting_every_code_counts() {
    let shape = Shape::untied(0, 0);
    for law in [
        InputLaw::Uniform,
        markov("9/10"),
        markov("1/10"),
        markov("1"),
    ] {
        compare(&class("z:3", &law, &[2], shape));
    }
    let rows: [&[&str]; 2] = [&["1/2", "1/3", "1/6"], &["1/7", "0", "6/7"]];
    compare(&class("random:3:4", &product(&rows), &[2], shape));
    // Tokens that no cell emits are not alike where a length ends: one of them may be right.
    compare(&class("z:3", &InputLaw::Uniform, &[1, 2], shape));
}

#[test]
fn windows_memory_and_several_lengths_are_counted_too() {
    let law = markov("9/10");
    compare(&class("parity", &law, &[3], Shape::untied(0, 1)));
    compare(&class("parity", &law, &[3], Shape::untied(1, 0)));
    let long = Shape {
        memory: 2,
        ..Shape::untied(0, 0)
    };
    compare(&class("parity", &law, &[3], long));
    compare(&class("parity", &law, &[2, 3], Shape::untied(0, 0)));
    compare(&class("parity", &law, &[1, 2, 4], Shape::untied(0, 0)));
    compare(&class("parity", &law, &[1, 3], long));
    let window = Window { past: 0, future: 1 };
    compare(&class("parity", &law, &[2, 3], Shape { window, ..long }));
}

/// SPEC, section 1 and the paper's tab:trapsexist.
#[test]
fn correlated_parity_has_the_known_numbers_of_maxima_and_traps() {
    let known: [(usize, u128, u128); 4] = [
        (4, 648, 8),
        (5, 14_656, 32),
        (6, 141_280, 160),
        (7, 3_622_336, 576),
    ];
    for (length, maxima, traps) in known {
        let class = class("parity", &markov("9/10"), &[length], Shape::untied(0, 0));
        let (_, count) = census(&class, "0");
        assert_eq!(count.optimal, 1 << (length - 1));
        assert_eq!(count.local_maxima, maxima);
        assert_eq!(count.traps.iter().map(|t| t.weight).sum::<u128>(), traps);
    }
}

#[test]
fn independent_inputs_leave_no_traps() {
    for length in 2..=7 {
        let class = class("parity", &InputLaw::Uniform, &[length], Shape::untied(0, 0));
        let (_, count) = census(&class, "0");
        assert!(count.traps.is_empty() && count.local_maxima > 0, "{length}");
    }
}

#[test]
fn a_visitor_that_was_stopped_counts_the_part_anew() {
    let class = class("parity", &markov("9/10"), &[6], Shape::untied(0, 0));
    let (census, _) = census(&class, "0");
    let is_stopped = AtomicBool::new(false);
    let observer = |progress: Progress| {
        assert_eq!((progress.unit, progress.done), ("parts", 0));
        if is_stopped.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let tally = Tally::new(&observer, "parts", None);
    let unwatched = Tally::new(&Unwatched, "parts", None);
    let (mut visitor, mut other) = (census.visitor(&tally), census.visitor(&unwatched));
    let mut stopped = 0;
    for part in 0..census.parts() {
        let whole = other.part(part);
        assert!(whole.is_ok());
        is_stopped.store(true, Ordering::Relaxed);
        match visitor.part(part) {
            Err(_) => stopped += 1,
            finished => assert_eq!(finished, whole),
        }
        is_stopped.store(false, Ordering::Relaxed);
        assert_eq!(visitor.part(part), whole, "part {part}");
    }
    assert!(stopped > 0, "of {} parts", census.parts());
}

#[test]
fn a_tied_class_and_rewards_too_fine_are_refused() {
    let refusal = |class: &Class| Survey::within(class, &Reward::ZERO, Allowance(1 << 30)).err();
    let tied = class("parity", &InputLaw::Uniform, &[3], Shape::tied(0, 0));
    assert_eq!(refusal(&tied), Some(CensusError::Tied));
    let fine = class("parity", &markov("1/1000000007"), &[6], Shape::untied(0, 0));
    assert_eq!(refusal(&fine), Some(CensusError::TooFine { bits: 151 }));
    let large = class("parity", &InputLaw::Uniform, &[40], Shape::untied(0, 0));
    let (cells, q) = (large.cells(), 2);
    assert_eq!(refusal(&large), Some(CensusError::TooMany { cells, q }));
}
