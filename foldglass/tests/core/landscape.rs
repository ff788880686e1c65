//! Compares the census with all codes of small classes, one by one.

use crate::common::all::{All, census, census_merging, class, class_of, markov, product};
use crate::common::all::{reweighed, tables_of_two, with_a_hole};
use crate::common::random_table;
use foldglass::landscape::census::{CensusError, Count, LeastCost, Survey};
use foldglass::landscape::law::known;
use foldglass::reward::count::reference::reward_by_rollouts;
use foldglass::support::watch::{Stopped, Tally};
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
        let barrier = barrier.known().expect("no cap, and a higher reward");
        let kind = (trap.reward as u64, barrier as u64);
        *found.entry(kind).or_default() += trap.weight;
        let loss = census.largest_loss(trap.shelf, usize::MAX, &tally);
        assert!(loss.unwrap().known().unwrap() <= barrier);
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
        class("parity", &markov("9/10"), &[7], shape),
        class("parity", &InputLaw::Uniform, &[6], shape),
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
        (vec![1, 3], Shape::untied(0, 1)),
    ];
    prop::sample::select(kinds).prop_flat_map(|(lengths, shape)| {
        let longest = lengths[lengths.len() - 1];
        let weights = prop::collection::vec(1..=4u32, longest);
        let tables = prop::sample::select(tables_of_two());
        let all = (laws(longest), tables, weights, 0..3);
        all.prop_map(move |(law, table, weights, weighing)| {
            let class = class_of(table, &law, &lengths, shape);
            let list = |count: usize| {
                let texts: Vec<String> = weights[..count].iter().map(u32::to_string).collect();
                texts.join(",")
            };
            match (weighing, lengths.len()) {
                (0, _) => class,
                (1, 1) => reweighed(&class, None, &format!("process:{}", list(longest))),
                (_, 1) => reweighed(&class, None, "process"),
                (_, count) => reweighed(&class, Some(&list(count)), "final"),
            }
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_census_under_any_law_counts_what_visiting_every_code_counts(class in classes()) {
        compare(&class);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn a_census_of_any_table_of_three_symbols_counts_what_visiting_every_code_counts(
        seed: u64,
        law in prop_oneof![Just(InputLaw::Uniform), Just(markov("3/4")), Just(markov("1/10"))],
    ) {
        compare(&class_of(random_table(3, seed | 1), &law, &[2], Shape::untied(0, 0)));
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

/// Theorem C of the page *Theorems*: independent inputs, one length, any table. Catches a census that
/// takes the table for a Latin square, and a theorem that needs one.
#[test]
fn no_table_of_two_symbols_has_traps_and_the_census_counts_their_maxima() {
    let mut maxima = 0;
    for table in tables_of_two() {
        for (length, shape) in [
            (4, Shape::untied(0, 0)),
            (3, Shape::untied(1, 0)),
            (3, Shape::untied(0, 1)),
        ] {
            let class = class_of(table.clone(), &InputLaw::Uniform, &[length], shape);
            let (found, traps) = compare(&class);
            assert_eq!(traps, 0, "{table:?}");
            maxima += found;
        }
    }
    assert!(maxima > 0);
}

/// Lengths 1, 2 and 3 with a window that does not see the end: a trap needs x_t to permute the states.
/// One symbol ahead repairs it for every table.
#[test]
fn several_lengths_have_a_trap_if_the_symbols_permute_the_states_and_no_symbol_ahead_is_seen() {
    for table in tables_of_two() {
        let permutes = table.permutes_states();
        let of = |shape| class_of(table.clone(), &InputLaw::Uniform, &[1, 2, 3], shape);
        let (_, traps) = compare(&of(Shape::untied(0, 0)));
        assert_eq!(traps, u128::from(permutes), "{table:?}");
        let (_, count) = census(&of(Shape::untied(0, 1)), "0");
        assert!(count.traps.is_empty(), "{table:?}");
    }
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

/// Cells that see the end earn apart from all later steps, and many of them are tied.
#[test]
fn several_lengths_of_a_window_that_sees_the_end_are_counted_too() {
    let shape = Shape::untied(0, 1);
    compare(&class("parity", &InputLaw::Uniform, &[2, 3], shape));
    let several = class("parity", &markov("9/10"), &[2, 3], shape);
    compare(&reweighed(&several, Some("1,3"), "final"));
}

/// 2^32 codes; the numbers are also those of a count of all pairs of prefix and suffix.
#[test]
fn lengths_2_to_4_of_a_window_that_sees_the_end_have_the_known_maxima_and_no_traps() {
    let class = class(
        "parity",
        &InputLaw::Uniform,
        &[2, 3, 4],
        Shape::untied(0, 1),
    );
    let (_, count) = census(&class, "0");
    assert_eq!((count.optimal, count.local_maxima), (64, 80_002_048));
    assert_eq!(count.traps, []);
}

#[test]
fn weights_and_process_rewards_of_three_symbols_are_counted_too() {
    let shape = Shape::untied(0, 0);
    let rows: [&[&str]; 2] = [&["1/3", "2/3", "0"], &["1/2", "1/4", "1/4"]];
    for class in [
        class("z:3", &InputLaw::Uniform, &[2], shape),
        class("random:3:4", &product(&rows), &[2], shape),
    ] {
        compare(&reweighed(&class, None, "process"));
        compare(&reweighed(&class, None, "process:5,2"));
    }
    let several = class("z:3", &InputLaw::Uniform, &[1, 2], shape);
    compare(&reweighed(&several, Some("1,2"), "final"));
}

/// Theorem B: the process reward of parity at (0,0) is the landscape of the lengths 1 to T.
#[test]
fn a_process_reward_of_parity_has_the_census_of_all_lengths_with_its_weights() {
    let shape = Shape::untied(0, 0);
    for weights in ["1,1", "1,2,4", "4,2,1", "1,1,1,1", "3,1,2,2", "1,1,1,1,1"] {
        let length = weights.split(',').count();
        let lengths: Vec<usize> = (1..=length).collect();
        let several = class("parity", &InputLaw::Uniform, &lengths, shape);
        let several = reweighed(&several, Some(weights), "final");
        let one = class("parity", &InputLaw::Uniform, &[length], shape);
        let one = reweighed(&one, None, &format!("process:{weights}"));
        let (mut of_lengths, mut of_steps) = (census(&several, "0").1, census(&one, "0").1);
        of_lengths.traps.sort();
        of_steps.traps.sort();
        assert_eq!(of_steps, of_lengths, "{weights}");
        let traps: u128 = of_steps.traps.iter().map(|trap| trap.weight).sum();
        for class in [several, one] {
            let known = known(&class).unwrap();
            assert_eq!(
                (known.theorem, known.traps),
                (Some("B"), Some(traps.into()))
            );
            let code = known.code.map(|code| reward_by_rollouts(&code));
            assert_eq!(code.is_some(), traps > 0);
        }
    }
}

/// What theorem C cannot say of process rewards: traps in classes that have none with the last token alone.
#[test]
fn process_rewards_make_traps_in_wider_windows() {
    let rewards = |weights: &str, shape: Shape| {
        let class = class("parity", &InputLaw::Uniform, &[3], shape);
        assert_eq!(census(&class, "0").1.traps, [], "the last token alone");
        let class = reweighed(&class, None, weights);
        let (census, count) = census(&class, "0");
        let mut found: BTreeMap<String, u128> = BTreeMap::new();
        for trap in &count.traps {
            *found
                .entry(census.reward(trap.reward).to_string())
                .or_default() += trap.weight;
        }
        found.into_iter().collect::<Vec<_>>()
    };
    let line = |reward: &str, count| (reward.to_owned(), count);
    let equal = rewards("process", Shape::untied(0, 0));
    assert_eq!(equal, [line("2/3", 1)]);
    let ahead = rewards("process", Shape::untied(0, 1));
    assert_eq!(ahead, [line("2/3", 1), line("5/6", 2)]);
    let rising = rewards("process:1,2,4", Shape::untied(1, 0));
    assert_eq!(rising.iter().map(|(_, count)| count).sum::<u128>(), 48);
}

/// Docs, process.md: no trap where every step weighs at least as much as all later ones, whatever the inputs.
#[test]
fn process_rewards_that_fall_make_no_traps() {
    let long = Shape {
        memory: 2,
        ..Shape::untied(0, 0)
    };
    for (law, shape, reward) in [
        (InputLaw::Uniform, Shape::untied(0, 1), "process:2,1,1"),
        (markov("9/10"), Shape::untied(1, 0), "process:4,2,1"),
        (markov("1/3"), long, "process:2,1,1"),
    ] {
        let class = reweighed(&class("parity", &law, &[3], shape), None, reward);
        assert_eq!(census(&class, "0").1.traps, [], "{}", class.spec());
        let known = known(&class).unwrap();
        assert_eq!((known.theorem, known.traps), (None, Some(0u8.into())));
    }
}

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
fn a_cap_a_highest_shelf_and_a_stop_are_told_apart() {
    let class = class("parity", &markov("9/10"), &[5], Shape::untied(0, 0));
    let (census, count) = census(&class, "0");
    let tally = Tally::new(&Unwatched, "shelves", None);
    let trap = count.traps[0].shelf;
    let barrier = census.barrier(trap, usize::MAX, &tally);
    assert!(matches!(barrier, Ok(LeastCost::Of(1..))));
    assert_eq!(census.barrier(trap, 2, &tally), Ok(LeastCost::BeyondCap));
    // A bit for each cell of parity, the first cell's the lowest.
    let fold = foldglass::Code::fold(&class);
    let digits = fold.actions().iter().rev();
    let packed = digits.fold(0, |packed, &action| packed << 1 | u128::from(action));
    assert_eq!(census.code(packed), fold);
    let highest = census.barrier(packed, usize::MAX, &tally);
    assert_eq!(highest, Ok(LeastCost::Highest));
    let stop = |_: Progress| ControlFlow::Break(());
    let tally = Tally::new(&stop, "shelves", None);
    assert_eq!(census.barrier(packed, usize::MAX, &tally), Err(Stopped));
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
