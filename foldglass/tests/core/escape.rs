//! Holds the paths of the theorem to its claims: J never falls, ends at 1, within the bound.

mod assumed;
mod collapsed;
mod refused;

use crate::common::all::{reweighed, tables_of_two};
use crate::common::{Problem, Weighing, problems, random_table};
use foldglass::Context;
use foldglass::landscape::escape::{
    EscapeError, Hypothesis, PolicyStanding, SearchOutcome, assumptions, collapse, escape,
    most_moves, search,
};
use foldglass::model::policy::InitialLaw;
use foldglass::proof::check::path::{PathError, verify};
use foldglass::proof::claim::{MoveKind, Path};
use foldglass::reward::count::{self, Counter};
use foldglass::support::exact::parse;
use foldglass::{
    Class, Code, Evaluator, InputLaw, Operation, Policy, Reward, Shape, Stream, Symbol, Task,
};
use proptest::prelude::*;
use std::collections::{BTreeMap, HashSet};

fn class(square: Operation, law: &InputLaw, length: usize) -> Class {
    let task = Task::new(square, law, &[length]).unwrap();
    Class::new(task, Shape::untied(0, 0)).unwrap()
}

/// A random product law without zeros, or the uniform one.
fn law(q: usize, length: usize, stream: &mut Stream) -> InputLaw {
    if stream.below(3) == 0 {
        return InputLaw::Uniform;
    }
    let mut row = |_| {
        let weights: Vec<u32> = (0..q).map(|_| 1 + stream.below(9)).collect();
        let sum: u32 = weights.iter().sum();
        let share = |w: &u32| parse(&format!("{w}/{sum}")).unwrap();
        weights.iter().map(share).collect()
    };
    InputLaw::Product((0..length).map(&mut row).collect())
}

/// A random code; of few tokens sometimes, for those collide most.
fn random_code(class: &Class, stream: &mut Stream) -> Code {
    let tokens = 1 + stream.below(class.q() as u32);
    Code::from_fn(class, |_| stream.below(tokens) as Symbol)
}

fn random_policy(class: &Class, stream: &mut Stream) -> Policy {
    let mut row = vec![0.0; class.q()];
    let mut draw = |_| {
        InitialLaw::UNorm.draw(stream, &mut row);
        row.clone()
    };
    let rows: Vec<Vec<f64>> = (0..class.cells()).map(&mut draw).collect();
    Policy::from_rows(class, &rows).unwrap()
}

fn follow(class: &Class, code: &Code) -> Result<Path, TestCaseError> {
    let path = escape(code, Context::default()).unwrap();
    prop_assert!(path.reward.is_one());
    prop_assert!(path.moves.len() as u128 <= most_moves(class));
    let mut now = code.clone();
    prop_assert_eq!(
        (&path.start, &path.start_reward),
        (code, &count::reward(code))
    );
    let mut before = path.start_reward.clone();
    for m in &path.moves {
        prop_assert_eq!(now.action(m.cell), m.from);
        prop_assert_ne!(m.from, m.to);
        now.set(m.cell, m.to);
        prop_assert!(m.reward >= before, "{:?}", m);
        before = m.reward.clone();
        // The counts of every code on the way, where they take no time.
        if class.cells() <= 60 {
            prop_assert_eq!(&m.reward, &count::reward(&now), "{:?}", m);
        }
    }
    prop_assert!(count::reward(&now).is_one());
    // W_t(y, 0) + W_t(y, 1) is the same for both tokens if x_t permutes the states and no context is known:
    // what is best for one state is worst for the other, and two states never want one token.
    let permutes = class.task().square().permutes_states();
    let is_final = class.task().reward().is_final();
    if is_final && class.q() == 2 && permutes && class.shape() == Shape::untied(0, 0) {
        let round = [MoveKind::Consolidate, MoveKind::Finish].map(Some);
        prop_assert!(path.moves.iter().all(|m| round.contains(&m.kind)));
    }
    Ok(path)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn every_code_has_a_path_to_reward_one(
        q in 2usize..=6,
        length in 1usize..=8,
        seed in any::<u64>(),
    ) {
        let mut stream = Stream::new(seed, 0);
        let law = law(q, length, &mut stream);
        let class = class(random_table(q, seed), &law, length);
        let code = random_code(&class, &mut stream);
        let path = follow(&class, &code)?;
        if (q as u64).pow(length as u32) <= 50_000 {
            prop_assert_eq!(verify(&path, Context::default()), Ok(()));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    /// Docs, process.md: any untied class, whose process reward weighs every step at least as much as all later ones.
    #[test]
    fn every_code_has_a_path_to_reward_one_where_a_process_reward_falls(
        problem in problems(),
        more in prop::collection::vec(0u32..=1, 6),
        seed in any::<u64>(),
    ) {
        let mut weights = vec![1];
        for more in &more[1..] {
            weights.insert(0, more + weights.iter().sum::<u32>());
        }
        let length = *problem.lengths.iter().max().unwrap();
        let weights = weights.split_off(weights.len() - length);
        let problem = Problem {
            lengths: vec![length],
            shape: Shape { tied: false, ..problem.shape },
            weighing: Weighing::Process(weights),
            ..problem
        };
        let class = problem.class();
        let path = follow(&class, &random_code(&class, &mut Stream::new(seed, 0)))?;
        prop_assert_eq!(most_moves(&class), class.cells() as u128);
        prop_assert_eq!(verify(&path, Context::default()), Ok(()));
    }
}

#[test]
fn the_checker_follows_paths_of_the_largest_inputs_it_lists_and_beyond() {
    for (q, length, seed) in [(6, 8, 4), (5, 12, 4), (2, 140, 4), (4, 9, 7)] {
        let class = class(random_table(q, seed), &InputLaw::Uniform, length);
        let code = random_code(&class, &mut Stream::new(8, 0));
        let path = follow(&class, &code).unwrap();
        assert_eq!(verify(&path, Context::default()), Ok(()));
    }
}

#[test]
fn no_code_of_parity_at_length_three_needs_more_than_six_moves() {
    let class = class(Operation::cyclic(2).unwrap(), &InputLaw::Uniform, 3);
    let mut longest = 0;
    for n in 0..1u32 << class.cells() {
        let code = Code::from_fn(&class, |cell| (n >> cell & 1) as Symbol);
        longest = longest.max(follow(&class, &code).unwrap().moves.len());
    }
    assert_eq!((longest, most_moves(&class)), (6, 30));
}

/// A random product law, about a third of its probabilities zero.
fn law_with_zeros(q: usize, length: usize, stream: &mut Stream) -> InputLaw {
    let mut row = |_| {
        let mut weights: Vec<u32> = (0..q).map(|_| stream.below(9).saturating_sub(2)).collect();
        weights[stream.below(q as u32) as usize] += 1;
        let sum: u32 = weights.iter().sum();
        let share = |w: &u32| parse(&format!("{w}/{sum}")).unwrap();
        weights.iter().map(share).collect()
    };
    InputLaw::Product((0..length).map(&mut row).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn every_code_of_a_wider_window_has_a_path_to_reward_one(
        q in 2usize..=4,
        past in 0usize..=2,
        future in 0usize..=2,
        lengths in prop::sample::subsequence(vec![1usize, 2, 3, 4, 5], 1..=3),
        seed in any::<u64>(),
    ) {
        let mut stream = Stream::new(seed, 0);
        let lengths = if future == 0 { &lengths[..1] } else { &lengths[..] };
        let longest = lengths[lengths.len() - 1];
        let law = law_with_zeros(q, longest, &mut stream);
        let task = Task::new(random_table(q, seed), &law, lengths).unwrap();
        let class = Class::new(task, Shape::untied(past, future)).unwrap();
        let path = follow(&class, &random_code(&class, &mut stream))?;
        prop_assert_eq!(verify(&path, Context::default()), Ok(()));
    }
}

#[test]
fn every_code_of_small_wide_classes_has_a_path_within_the_bound() {
    let zeros = InputLaw::Product(vec![
        vec![parse("1/3").unwrap(), parse("2/3").unwrap()],
        vec![parse("0").unwrap(), parse("1").unwrap()],
        vec![parse("1/5").unwrap(), parse("4/5").unwrap()],
    ]);
    for (law, lengths, shape) in [
        (&InputLaw::Uniform, &[2][..], Shape::untied(1, 0)),
        (&InputLaw::Uniform, &[2], Shape::untied(0, 1)),
        (&InputLaw::Uniform, &[1, 2], Shape::untied(0, 1)),
        (&InputLaw::Uniform, &[2, 3], Shape::untied(0, 1)),
        (&zeros, &[3], Shape::untied(1, 0)),
        (&zeros, &[1, 3], Shape::untied(0, 1)),
    ] {
        for table in [Operation::cyclic(2), Operation::maximum(2)] {
            let task = Task::new(table.unwrap(), law, lengths).unwrap();
            let class = Class::new(task, shape).unwrap();
            // Of the twenty cells of lengths 2 and 3 every 211th code; every 11th in `full`.
            let stride = if class.cells() > 12 { 211 } else { 1 };
            follow_every(&class, stride);
        }
    }
}

/// Checks the path of every code of a class of two symbols, or of one in `stride`.
fn follow_every(class: &Class, stride: usize) {
    for n in (0..1u32 << class.cells()).step_by(stride) {
        let code = Code::from_fn(class, |cell| (n >> cell & 1) as Symbol);
        let path = follow(class, &code).unwrap();
        assert_eq!(verify(&path, Context::default()), Ok(()));
    }
}

/// Leads one code in `step` to reward 1 within the bound, and verifies one path in 211 of them.
fn lead_every(class: &Class, step: usize) {
    let (q, cells) = (class.q() as u64, class.cells() as u32);
    for n in (0..q.pow(cells)).step_by(step) {
        let code = Code::from_fn(class, |cell| (n / q.pow(cell as u32) % q) as Symbol);
        let path = escape(&code, Context::default()).unwrap();
        assert!(path.reward.is_one() && path.moves.len() as u128 <= most_moves(class));
        let rewards = path.moves.iter().map(|m| &m.reward);
        let rewards: Vec<&Reward> = [&path.start_reward].into_iter().chain(rewards).collect();
        assert!(rewards.is_sorted(), "{code:?}");
        if n % (211 * step as u64) == 0 {
            follow(class, &code).unwrap();
            assert_eq!(verify(&path, Context::default()), Ok(()));
        }
    }
}

/// Tens of seconds of a processor.
mod full {
    use super::*;

    #[test]
    fn every_11th_code_of_two_lengths_with_a_symbol_ahead_has_a_path_within_the_bound() {
        for table in [Operation::cyclic(2), Operation::maximum(2)] {
            let task = Task::new(table.unwrap(), &InputLaw::Uniform, &[2, 3]).unwrap();
            let class = Class::new(task, Shape::untied(0, 1)).unwrap();
            assert_eq!(class.cells(), 20);
            lead_every(&class, 11);
        }
    }

    #[test]
    fn every_7th_code_of_three_symbols_at_length_two_has_a_path_within_the_bound() {
        lead_three_symbols(7);
    }

    #[test]
    fn many_random_codes_of_the_wide_classes_of_the_paper_have_paths() {
        random_codes_have_paths(3..40);
    }
}

/// Half a minute of a processor and more.
mod minutes {
    use super::*;

    #[test]
    #[ignore = "`cargo xtask test --all` runs it: it takes minutes"]
    fn every_code_of_three_symbols_at_length_two_has_a_path_within_the_bound() {
        lead_three_symbols(1);
    }
}

fn lead_three_symbols(step: usize) {
    for table in [Operation::maximum(3).unwrap(), random_table(3, 1)] {
        let class = class(table, &InputLaw::Uniform, 2);
        assert_eq!(class.cells(), 12);
        lead_every(&class, step);
    }
}

/// The moves of a path, a word each: cell, token before and after, the first letter of the kind.
fn in_words(path: &Path) -> String {
    let word = |m: &foldglass::proof::claim::Move| {
        let kind = m.kind.unwrap().to_string();
        format!("{}:{}>{}{}", m.cell, m.from, m.to, &kind[..1])
    };
    path.moves.iter().map(word).collect::<Vec<_>>().join(" ")
}

#[test]
fn paths_at_the_window_of_the_paper_stay_what_they_were() {
    let row = |text: &str| {
        let p = parse(text).unwrap();
        vec![p.clone(), parse("1").unwrap() - p]
    };
    let law = InputLaw::Product(["1/3", "1/2", "1/5", "3/4"].map(row).to_vec());
    let uniform = InputLaw::Uniform;
    for (table, law, length, salt, moves) in [
        (
            Operation::cyclic(2).unwrap(),
            &law,
            4,
            1,
            "4:0>1c 2:1>0c 5:1>0c 8:1>0c",
        ),
        (
            Operation::cyclic(3).unwrap(),
            &uniform,
            3,
            1,
            "1:0>1c 2:1>0c 8:0>1p 11:1>0p 0:1>2r 5:2>0c 11:0>2c 12:2>0f 15:0>1f 18:1>2f",
        ),
        (
            Operation::paper(),
            &uniform,
            3,
            2,
            "0:2>3c 1:4>0c 2:0>4c 3:1>4c 6:1>0p 11:2>0p 16:4>2p 21:1>3p 26:2>1p 1:0>1r 7:2>1p 22:2>0p 27:4>2p \
             2:4>2r 5:3>2c 14:3>2c 8:2>0c 15:2>4c 21:3>4c 9:2>4c 20:3>0c 13:4>0c 29:3>0c 10:0>1c 24:2>1c 33:1>3p \
             38:2>1p 43:4>0p 48:1>2p 53:2>4p 25:0>3r 11:0>3r 22:0>3r 8:0>3r 19:0>3r 35:3>0f 31:4>0f 54:2>0f \
             40:0>1f 32:0>1f 49:0>1f 46:4>3f 37:2>3f 45:2>4f 36:1>4f 34:0>4f",
        ),
    ] {
        let class = class(table, law, length);
        let action = |c: usize| (c * c * 7 + c * (salt + 3) + c / 3 + salt) % class.q();
        let code = Code::from_fn(&class, |cell| action(cell) as Symbol);
        assert_eq!(in_words(&escape(&code, Context::default()).unwrap()), moves);
    }
}

#[test]
fn every_code_of_every_table_of_two_symbols_has_a_path_within_the_bound() {
    for table in tables_of_two() {
        let class = class(table, &InputLaw::Uniform, 3);
        for n in 0..1u32 << class.cells() {
            let code = Code::from_fn(&class, |cell| (n >> cell & 1) as Symbol);
            follow(&class, &code).unwrap();
        }
    }
}

#[test]
fn random_codes_of_the_wide_classes_of_the_paper_have_paths() {
    random_codes_have_paths(0..3);
}

fn random_codes_have_paths(seeds: std::ops::Range<u64>) {
    for (lengths, shape) in [
        (&[3, 4, 5][..], Shape::untied(2, 1)),
        (&[3, 4, 5, 6], Shape::untied(1, 1)),
        (&[7], Shape::untied(0, 3)),
    ] {
        let task = Task::new(Operation::paper(), &InputLaw::Uniform, lengths).unwrap();
        let class = Class::new(task, shape).unwrap();
        for seed in seeds.clone() {
            let path = follow(&class, &random_code(&class, &mut Stream::new(seed, 0))).unwrap();
            assert_eq!(verify(&path, Context::default()), Ok(()));
        }
    }
}

#[test]
fn a_solved_code_needs_no_move() {
    let class = class(Operation::paper(), &InputLaw::Uniform, 5);
    let fold = Code::from_fn(&class, |cell| {
        let key = class.key(cell);
        let x = key.x[0].unwrap();
        key.y[0].map_or(x, |y| class.task().square().multiply(y, x))
    });
    assert!(escape(&fold, Context::default()).unwrap().moves.is_empty());
}
