//! Compares the barrier tree with what visiting every code of small classes says.

use crate::common::all::{All, census, class, class_of, markov, product};
use crate::common::all::{reweighed, tables_of_two, with_a_hole};
use crate::common::random_table;
use foldglass::Context;
use foldglass::landscape::tree::{Levels, Nodes, Tree, TreeError};
use foldglass::support::exact::parse;
use foldglass::support::memory::{Bytes, TooLarge};
use foldglass::support::watch::Stopped;
use foldglass::support::watch::Tally;
use foldglass::{Allowance, Class, InputLaw, Progress, Reward, Shape, Symbol, Unwatched};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Mutex;

/// The tree, which is the same to the bit on any number of threads.
fn tree(class: &Class, nodes: Nodes) -> Tree {
    let tree = Tree::new(class, nodes, Context::default()).unwrap();
    for threads in [2, 5] {
        let levels = Levels::new(class, nodes, Context::default().with_threads(threads)).unwrap();
        assert!(
            levels.tree(Context::default()).unwrap() == tree,
            "{threads} threads"
        );
    }
    tree
}

/// The actions of a code, as [`All`] numbers it.
fn actions(all: &All, code: usize) -> Vec<Symbol> {
    let cells = 0..all.cells as u32;
    cells
        .map(|cell| (code / all.q.pow(cell) % all.q) as Symbol)
        .collect()
}

/// Where each code climbs by the best change, the first of several; none if none raises it.
fn steepest(all: &All, code: usize) -> Option<usize> {
    let mut best = None;
    for to in all.neighbours(code) {
        if all.rewards[to] > all.rewards[best.unwrap_or(code)] {
            best = Some(to);
        }
    }
    best
}

/// By code: the chances to end on each shelf by random ascent, the last entry none of them.
fn chances(all: &All, shelf_of: &[usize], shelves: usize) -> Vec<Vec<f64>> {
    let mut order: Vec<usize> = (0..all.rewards.len()).collect();
    order.sort_by_key(|&code| std::cmp::Reverse(all.rewards[code]));
    let mut chances = vec![Vec::new(); order.len()];
    for code in order {
        let raises = all
            .neighbours(code)
            .filter(|&to| all.rewards[to] > all.rewards[code]);
        let raises: Vec<usize> = raises.collect();
        let mut mine = vec![0.0; shelves + 1];
        if raises.is_empty() {
            mine[shelf_of[code]] = 1.0;
        }
        for &to in &raises {
            for (mine, there) in mine.iter_mut().zip(&chances[to]) {
                *mine += there / raises.len() as f64;
            }
        }
        chances[code] = mine;
    }
    chances
}

/// For each reward that occurs: which of some codes are connected by codes of at least this reward.
fn connected(all: &All, codes: &[usize]) -> BTreeMap<u64, Vec<usize>> {
    let mut rewards = all.rewards.clone();
    rewards.sort_unstable();
    rewards.dedup();
    let components = |reward: u64| {
        let mut component = vec![usize::MAX; all.rewards.len()];
        for (number, &code) in codes.iter().enumerate() {
            let mut waiting = vec![code];
            while let Some(code) = waiting.pop() {
                if all.rewards[code] >= reward && component[code] == usize::MAX {
                    component[code] = number;
                    waiting.extend(all.neighbours(code));
                }
            }
        }
        codes.iter().map(|&code| component[code]).collect()
    };
    rewards
        .iter()
        .map(|&reward| (reward, components(reward)))
        .collect()
}

/// The same of the leaves of a tree: by the least leaf that a leaf is connected with.
fn joined(tree: &Tree, reward: u64) -> Vec<usize> {
    let leaves = tree.leaves.len();
    let mut first = vec![usize::MAX; leaves + tree.saddles.len()];
    let top = |leaf: usize| {
        let mut number = leaf;
        let mut parent = tree.leaves[leaf].parent;
        while let Some(saddle) = parent.filter(|&saddle| tree.saddles[saddle].reward >= reward) {
            number = leaves + saddle;
            parent = tree.saddles[saddle].parent;
        }
        number
    };
    let mut least = |leaf: usize| {
        let first = &mut first[top(leaf)];
        *first = leaf.min(*first);
        match tree.leaves[leaf].reward >= reward {
            true => *first,
            false => usize::MAX,
        }
    };
    (0..leaves).map(&mut least).collect()
}

/// Reward and barrier; codes on the shelves, and expected to end there at random.
type Kinds = BTreeMap<(u64, Option<u64>), (u128, f64)>;

fn kinds(tree: &Tree) -> Kinds {
    let mut kinds = Kinds::new();
    for leaf in &tree.leaves {
        let kind = kinds.entry((leaf.reward, leaf.barrier)).or_default();
        kind.0 += leaf.shelf;
        kind.1 += leaf.random;
    }
    kinds
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * (1.0 + a.abs())
}

fn compare(class: &Class) {
    let all = All::new(class);
    let tree = tree(class, Nodes::Codes);
    assert_eq!(tree.codes, all.rewards.len() as u128);
    let mut shelves = all.closed_shelves();
    let least = |shelf: &Vec<usize>| shelf.iter().map(|&code| actions(&all, code)).min();
    shelves.sort_by_key(|shelf| (std::cmp::Reverse(all.rewards[shelf[0]]), least(shelf)));
    assert_eq!(tree.leaves.len(), shelves.len(), "leaves");
    let best = all.rewards.iter().max();
    let traps = tree.leaves.iter().filter(|leaf| leaf.reward < all.whole);
    assert_eq!(traps.count(), all.traps().len());
    let mut shelf_of = vec![shelves.len(); all.rewards.len()];
    for (number, (leaf, shelf)) in tree.leaves.iter().zip(&shelves).enumerate() {
        assert_eq!(leaf.reward, all.rewards[shelf[0]]);
        assert_eq!(leaf.shelf, shelf.len() as u128);
        assert_eq!(Some(leaf.code.actions().to_vec()), least(shelf));
        let barrier = (Some(&leaf.reward) < best).then(|| all.barrier(shelf[0]));
        assert_eq!(leaf.barrier, barrier);
        shelf.iter().for_each(|&code| shelf_of[code] = number);
    }
    let firsts: Vec<usize> = shelves.iter().map(|shelf| shelf[0]).collect();
    for (reward, components) in connected(&all, &firsts) {
        assert_eq!(joined(&tree, reward), components, "at {reward}");
    }
    for saddle in &tree.saddles {
        assert!(saddle.children.len() > 1);
    }
    let traps = all.traps().iter().map(Vec::len).sum::<usize>();
    let stuck = all.local_maxima(0).len() - traps;
    assert_eq!(tree.stuck.maxima, stuck as u128);

    let mut counts = vec![0u128; shelves.len() + 1];
    let mut masses = vec![0.0; shelves.len() + 1];
    for (code, chances) in chances(&all, &shelf_of, shelves.len()).iter().enumerate() {
        let mut end = code;
        while let Some(next) = steepest(&all, end) {
            end = next;
        }
        counts[shelf_of[end]] += 1;
        masses
            .iter_mut()
            .zip(chances)
            .for_each(|(mass, chance)| *mass += chance);
    }
    for (leaf, (count, mass)) in tree.leaves.iter().zip(counts.iter().zip(&masses)) {
        assert_eq!(leaf.steepest, *count);
        assert!(near(leaf.random, *mass), "{} {mass}", leaf.random);
    }
    assert_eq!(tree.stuck.steepest, counts[shelves.len()]);
    assert!(near(tree.stuck.random, masses[shelves.len()]));

    if !class.shape().tied {
        compare_orbits(class, &tree);
    }
}

/// Renaming keeps all but the number of leaves, and the steepest basins.
fn compare_orbits(class: &Class, tree: &Tree) {
    let orbits = self::tree(class, Nodes::Orbits);
    assert_eq!(orbits.codes, tree.codes);
    assert!(orbits.nodes <= tree.nodes && orbits.leaves.len() <= tree.leaves.len());
    let (found, expected) = (kinds(&orbits), kinds(tree));
    assert!(found.keys().eq(expected.keys()), "{found:?} {expected:?}");
    for (found, expected) in found.values().zip(expected.values()) {
        assert_eq!(found.0, expected.0);
        assert!(near(found.1, expected.1), "{found:?} {expected:?}");
    }
    assert_eq!(orbits.stuck.maxima, tree.stuck.maxima);
    assert!(near(orbits.stuck.random, tree.stuck.random));
}

#[test]
fn a_tree_of_parity_is_that_of_visiting_every_code() {
    let shape = Shape::untied(0, 0);
    for law in ["9/10", "1/2", "1/10", "1", "0"] {
        for length in 1..=3 {
            compare(&class("parity", &markov(law), &[length], shape));
        }
    }
    compare(&class("parity", &markov("9/10"), &[4], shape));
    compare(&class("parity", &with_a_hole(), &[4], shape));
}

#[test]
fn a_tree_of_any_table_is_that_of_visiting_every_code() {
    for table in tables_of_two() {
        for law in [InputLaw::Uniform, markov("9/10")] {
            compare(&class_of(table.clone(), &law, &[3], Shape::untied(0, 0)));
            compare(&class_of(table.clone(), &law, &[4], Shape::tied(0, 0)));
        }
    }
    for seed in [1, 3] {
        let shape = Shape::untied(0, 0);
        compare(&class_of(
            random_table(3, seed),
            &markov("3/4"),
            &[2],
            shape,
        ));
    }
}

#[test]
fn a_tree_of_three_symbols_is_that_of_visiting_every_code() {
    let rows: [&[&str]; 2] = [&["1/2", "1/2", "0"], &["1/7", "0", "6/7"]];
    let shape = Shape::untied(0, 0);
    compare(&class("z:3", &product(&rows), &[2], shape));
    let rows: [&[&str]; 3] = [&["1", "0", "0"], &["1", "0", "0"], &["0", "1", "0"]];
    compare(&class("random:3:4", &product(&rows), &[3], shape));
    compare(&class("z:3", &InputLaw::Uniform, &[2], shape));
    compare(&class("z:3", &markov("9/10"), &[2], shape));
}

#[test]
fn tied_classes_windows_memory_and_several_lengths_are_flooded_too() {
    let law = markov("9/10");
    for length in [2, 4, 6] {
        compare(&class("parity", &law, &[length], Shape::tied(0, 0)));
    }
    compare(&class("parity", &law, &[2, 3], Shape::tied(0, 1)));
    compare(&class("parity", &law, &[2], Shape::untied(1, 1)));
    compare(&class("parity", &law, &[1, 3], Shape::untied(0, 0)));
    let long = Shape {
        memory: 2,
        ..Shape::untied(0, 0)
    };
    compare(&class("parity", &law, &[3], long));
    for shape in [Shape::untied(0, 0), Shape::untied(0, 1), Shape::tied(0, 0)] {
        let class = class("parity", &law, &[3], shape);
        compare(&reweighed(&class, None, "process:1,2,4"));
    }
    let several = class("parity", &law, &[1, 3], Shape::untied(0, 0));
    compare(&reweighed(&several, Some("1,2"), "final"));
}

/// SPEC, section 1: confirmed there by brute force.
#[test]
fn correlated_parity_has_the_known_barriers() {
    known_barriers(Nodes::Orbits);
}

mod full {
    use super::*;

    #[test]
    fn the_codes_of_correlated_parity_have_the_known_barriers() {
        known_barriers(Nodes::Codes);
    }
}

fn known_barriers(nodes: Nodes) {
    let class = class("parity", &markov("9/10"), &[6], Shape::untied(0, 0));
    let tree = tree(&class, nodes);
    let mut found = BTreeMap::new();
    for leaf in &tree.leaves {
        let barrier = leaf.barrier.map(|barrier| tree.reward(barrier));
        *found
            .entry((tree.reward(leaf.reward), barrier))
            .or_insert(0) += leaf.shelf;
    }
    let number = |text: &str| text.parse::<Reward>().unwrap();
    let kind =
        |reward: &str, barrier: Option<&str>, codes| ((number(reward), barrier.map(number)), codes);
    let known = [
        kind("1/1", None, 32),
        kind("41/50", Some("4/125"), 64),
        kind("9/10", Some("1/25"), 64),
        kind("9/10", Some("9/125"), 32),
    ];
    assert_eq!(found, BTreeMap::from(known));
    let below = tree.leaves.iter().filter(|leaf| leaf.barrier.is_some());
    let traps = below.map(|leaf| leaf.shelf).sum::<u128>();
    assert_eq!(tree.stuck.maxima + traps, 141_280, "all local maxima");
    let ends = tree.leaves.iter().map(|leaf| leaf.random).sum::<f64>();
    assert!(near(ends + tree.stuck.random, (1u64 << 22) as f64));
}

#[test]
fn the_barriers_are_those_of_a_census() {
    let class = class("parity", &markov("9/10"), &[5], Shape::untied(0, 0));
    let (census, count) = census(&class, "0");
    let tally = Tally::new(&Unwatched, "shelves", None);
    let mut expected = BTreeMap::new();
    for trap in count.traps {
        let barrier = census.barrier(trap.shelf, usize::MAX, &tally).unwrap();
        let barrier = barrier.known().expect("no cap, and a higher reward");
        let kind = (trap.reward as u64, Some(barrier as u64));
        *expected.entry(kind).or_insert(0) += trap.weight;
    }
    let tree = tree(&class, Nodes::Orbits);
    let mut found: BTreeMap<_, _> = kinds(&tree).into_iter().map(|(k, (n, _))| (k, n)).collect();
    found.retain(|(_, barrier), _| barrier.is_some());
    assert_eq!(found, expected);
}

#[test]
fn what_cannot_be_flooded_is_refused() {
    let refusal = |class: &Class, nodes| {
        Tree::new(
            class,
            nodes,
            Context::default().with_memory(Allowance(1 << 30)),
        )
        .unwrap_err()
    };
    let tied = class("parity", &InputLaw::Uniform, &[3], Shape::tied(0, 0));
    assert_eq!(refusal(&tied, Nodes::Orbits), TreeError::TiedOrbits);
    let large = class("parity", &InputLaw::Uniform, &[10], Shape::untied(0, 0));
    let needed = match refusal(&large, Nodes::Codes) {
        TreeError::TooLarge(TooLarge { needed, .. }) => needed,
        other => panic!("{other}"),
    };
    assert_eq!(needed, Bytes::of(20 << 38));
    let fine = class("parity", &markov("1/1000000007"), &[4], Shape::untied(0, 0));
    assert!(matches!(
        refusal(&fine, Nodes::Codes),
        TreeError::TooFine { .. }
    ));
}

#[test]
fn an_observer_can_stop_a_flood() {
    let class = class("parity", &InputLaw::Uniform, &[5], Shape::untied(0, 0));
    let heard = Mutex::new(Vec::new());
    let stop = |progress: Progress| {
        heard.lock().unwrap().push(progress.done);
        ControlFlow::Break(())
    };
    let levels = Levels::new(
        &class,
        Nodes::Codes,
        Context::default().with_threads(2).with_observer(&stop),
    );
    assert_eq!(levels.err(), Some(TreeError::Stopped(Stopped)));
    let levels = Levels::new(&class, Nodes::Codes, Context::default().with_threads(2)).unwrap();
    assert_eq!(
        levels.tree(Context::default().with_observer(&stop)),
        Err(TreeError::Stopped(Stopped))
    );
    let codes = 1 << 18;
    let heard = heard.into_inner().unwrap();
    assert!(
        matches!(heard[..], [first, second] if first > 0 && first < codes && second > codes),
        "{heard:?}"
    );
}

#[test]
fn an_observer_hears_of_every_visit_to_every_code() {
    for (length, shape) in [(5, Shape::untied(0, 0)), (4, Shape::tied(0, 1))] {
        let class = class("parity", &markov("9/10"), &[length], shape);
        let heard = Mutex::new(Vec::new());
        let observer = |progress: Progress| {
            assert_eq!(progress.unit, "visits");
            heard.lock().unwrap().push((progress.done, progress.all));
            ControlFlow::Continue(())
        };
        let levels = Levels::new(
            &class,
            Nodes::Codes,
            Context::default().with_threads(2).with_observer(&observer),
        )
        .unwrap();
        let nodes = u64::from(levels.nodes());
        let first = heard.lock().unwrap().last().unwrap().0;
        levels
            .tree(Context::default().with_observer(&observer))
            .unwrap();
        let heard = heard.into_inner().unwrap();
        let all = Some(3 * nodes);
        assert!(heard.is_sorted() && heard.iter().all(|&(_, of)| of == all));
        // What is left untold at the end of each part is less than is told at once.
        let told = 1 << 14;
        assert!(first <= nodes && first > nodes - told, "{first} of {nodes}");
        let last = heard.last().unwrap().0;
        assert!(
            last <= 3 * nodes && last > 3 * nodes - 2 * told,
            "{last} of {nodes}"
        );
    }
}

#[test]
fn barriers_is_told_the_alphabets_that_it_packs_and_warned_of_energies_too_fine_for_it() {
    let graph = |task: &str, law: &InputLaw, length: usize| {
        let class = class(task, law, &[length], Shape::untied(0, 0));
        let levels = Levels::new(&class, Nodes::Codes, Context::default().with_threads(2)).unwrap();
        let vienna = levels.vienna().unwrap();
        (vienna.graph(), vienna.is_exact())
    };
    for (task, expected) in [
        ("parity", "Q2"),
        ("z:3", "Q3,ABC"),
        ("z:4", "Q4,ABCD"),
        ("z:5", "Q5,ABCDE"),
        ("z:6", "Q6,ABCDEF"),
        ("z:7", "Q7"),
    ] {
        assert_eq!(
            graph(task, &InputLaw::Uniform, 1),
            (expected.to_owned(), true)
        );
    }
    // Whole units up to the denominator: 2 * 10^3 and 2 * 1000^3, below and above 2^23.
    assert!(graph("parity", &markov("9/10"), 4).1);
    assert!(!graph("parity", &markov("999/1000"), 4).1);
}

#[test]
fn the_file_for_barriers_has_every_code_once_the_lowest_energy_first() {
    for (task, q, law) in [
        ("parity", 2usize, markov("9/10")),
        ("z:3", 3, InputLaw::Uniform),
    ] {
        let length = if q == 2 { 4 } else { 1 };
        let class = class(task, &law, &[length], Shape::untied(0, 0));
        let allowance = Allowance::default();
        let levels = Levels::new(
            &class,
            Nodes::Codes,
            Context::default().with_threads(2).with_memory(allowance),
        )
        .unwrap();
        let vienna = levels.vienna().unwrap();
        let mut file = Vec::new();
        vienna.write(&mut file).unwrap();
        let text = String::from_utf8(file).unwrap();
        let (head, codes) = text.split_once('\n').unwrap();
        let graph = if q == 2 { "Q2" } else { "Q3,ABC" };
        assert!(head.ends_with(&format!(" 0 :: {graph}")) && vienna.graph() == graph);
        assert_eq!(head.split(' ').next().unwrap().len(), class.cells());
        let all = All::new(&class);
        let alphabet = if q == 2 { "-+" } else { "ABC" };
        let unit = vienna.unit();
        let mut seen = vec![false; all.rewards.len()];
        let mut last = i64::MIN;
        for line in codes.lines() {
            let (letters, energy) = line.split_once(' ').unwrap();
            let actions = letters.chars().map(|letter| alphabet.find(letter).unwrap());
            let code: usize = actions.zip(0..).map(|(a, cell)| a * q.pow(cell)).sum();
            assert!(!std::mem::replace(&mut seen[code], true), "{line}");
            let energy: i64 = energy.parse().unwrap();
            assert!(energy >= last, "{line}");
            last = energy;
            let reward = parse(&format!("{}/{}", all.rewards[code], all.whole)).unwrap();
            assert_eq!(
                unit.ratio() * parse(&(-energy).to_string()).unwrap(),
                reward
            );
        }
        assert!(seen.into_iter().all(|seen| seen));
        let orbits = Levels::new(
            &class,
            Nodes::Orbits,
            Context::default().with_threads(2).with_memory(allowance),
        )
        .unwrap();
        assert_eq!(
            orbits.vienna().is_some(),
            length == 1,
            "a length keeps its names"
        );
    }
}
