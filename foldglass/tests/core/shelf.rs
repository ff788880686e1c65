//! Compares the search of shelves with one over whole codes, rewarded by the definition.

use crate::common::all::reweighed;
use crate::common::neighbours::neighbours;
use crate::common::rewards::Rewards;
use foldglass::Context;
use foldglass::landscape::shelf::{Search, Shelf, Workers};
use foldglass::proof::claim::{CodeNode, Finding, Move, MoveKind};
use foldglass::reward::count::Counter;
use foldglass::support::exact::parse;
use foldglass::{Class, Code, InputLaw, Operation, Progress, Shape, Stream, Symbol, Task};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Mutex;

fn class(name: &str, law: &InputLaw, lengths: &[usize], shape: Shape) -> Class {
    let task = Task::new(Operation::named(name).unwrap(), law, lengths).unwrap();
    Class::new(task, shape).unwrap()
}

fn correlated() -> InputLaw {
    InputLaw::Markov(parse("9/10").unwrap())
}

fn workers(class: &Class, threads: usize) -> Workers {
    Workers::new(class, Context::default().with_threads(threads)).unwrap()
}

fn search(workers: &mut Workers, code: &Code, cap: usize) -> Shelf {
    let mut search = Search::new(workers, code.clone(), cap);
    search.explore(workers, Context::default());
    search.finish().unwrap()
}

fn random_code(class: &Class, stream: &mut Stream) -> Code {
    Code::from_fn(class, |_| stream.below(class.q() as u32) as Symbol)
}

impl Rewards<'_> {
    /// The codes of the shelf, each with its distance, and the distance of the nearest exit.
    fn shelf(&mut self, start: &Code) -> (HashMap<Code, usize>, Option<usize>) {
        let level = self.of(start);
        let mut distances = HashMap::from([(start.clone(), 0)]);
        let (mut wave, mut exit) = (vec![start.clone()], None);
        for distance in 0.. {
            let mut next = Vec::new();
            for code in &wave {
                for neighbour in neighbours(self.class, code) {
                    let reward = self.of(&neighbour);
                    if reward > level {
                        exit = exit.or(Some(distance));
                    } else if reward == level && !distances.contains_key(&neighbour) {
                        distances.insert(neighbour.clone(), distance + 1);
                        next.push(neighbour);
                    }
                }
            }
            if next.is_empty() {
                break;
            }
            wave = next;
        }
        (distances, exit)
    }
}

/// The codes that the nodes stand for.
fn whole_codes(start: &Code, nodes: &[CodeNode]) -> Vec<Code> {
    let mut codes = vec![start.clone()];
    for node in nodes {
        let mut code = codes[node.parent as usize].clone();
        assert_ne!(code.action(node.cell as usize), node.action);
        code.set(node.cell as usize, node.action);
        codes.push(code);
    }
    codes
}

/// Holds what a search says to what is so; returns the kind of the verdict.
fn compare(
    rewards: &mut Rewards,
    start: &Code,
    whole: &(HashMap<Code, usize>, Option<usize>),
    cap: usize,
    shelf: &Shelf,
) -> &'static str {
    let level = rewards.of(start);
    let verdict = &shelf.verdict;
    assert_eq!((&verdict.start, &verdict.reward), (start, &level));
    let equal = neighbours(rewards.class, start);
    let equal = equal.iter().filter(|code| rewards.of(code) == level);
    assert_eq!(shelf.neutral_moves, equal.count());
    if level.is_one() {
        assert_eq!((&verdict.finding, shelf.size), (&Finding::Optimal, 1));
        return verdict.finding.name();
    }
    let (distances, exit) = whole;
    let found = whole_codes(start, verdict.finding.nodes());
    assert_eq!(found.len(), found.iter().collect::<HashSet<_>>().len());
    let depths: Vec<usize> = found.iter().map(|code| distances[code]).collect();
    assert!(depths.is_sorted() && depths.last() == Some(&verdict.depth()));
    match &verdict.finding {
        Finding::Optimal => panic!("J is below 1"),
        Finding::Certified { .. } => {
            assert_eq!((*exit, found.len()), (None, distances.len()));
            assert_eq!((found.len(), verdict.depth()), (shelf.size, shelf.depth));
        }
        Finding::Bounded {
            cap: claimed,
            beyond,
            ..
        } => {
            assert!(found.len() == cap && cap == *claimed && cap < distances.len());
            assert_eq!((found.len(), verdict.depth()), (shelf.size, shelf.depth));
            let mut code = found[beyond.parent as usize].clone();
            code.set(beyond.cell as usize, beyond.action);
            assert!(distances.contains_key(&code) && !found.contains(&code));
            for code in &found {
                let highest = neighbours(rewards.class, code)
                    .iter()
                    .map(|c| rewards.of(c))
                    .max();
                assert!(highest.unwrap() <= level);
            }
        }
        Finding::Escapes { moves } => {
            let exit = exit.unwrap();
            assert_eq!(moves.len(), exit + 1);
            let mut code = start.clone();
            for (i, m) in moves.iter().enumerate() {
                let &Move { cell, from, to, .. } = m;
                assert!(rewards.of(&code) == level && code.action(cell) == from && from != to);
                code.set(cell, to);
                let (now, last) = (rewards.of(&code), i + 1 == moves.len());
                assert_eq!(now > level, last);
                let kind = if last {
                    MoveKind::Raise
                } else {
                    MoveKind::Neutral
                };
                assert_eq!((m.kind, &m.reward), (Some(kind), &now));
            }
            // Of the codes found, none is further than a change of the one with the exit.
            assert!((1..=cap.min(distances.len())).contains(&shelf.size));
            assert!((exit..=exit + 1).contains(&shelf.depth));
        }
    }
    verdict.finding.name()
}

/// Raises J by single cells as long as that goes.
fn climb(workers: &mut Workers, mut code: Code) -> Code {
    while let Finding::Escapes { moves } = search(workers, &code, 1).verdict.finding {
        let [Move { cell, to, .. }] = moves[..] else {
            panic!("a cap of 1 leaves the start alone")
        };
        code.set(cell, to);
    }
    code
}

#[test]
fn verdicts_are_those_of_a_search_over_whole_codes() {
    let uniform = InputLaw::Uniform;
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for class in [
        class("parity", &correlated(), &[4], Shape::untied(0, 0)),
        class("parity", &uniform, &[3], Shape::untied(0, 0)),
        class("parity", &correlated(), &[4], Shape::tied(0, 1)),
        class("parity", &uniform, &[5], Shape::tied(0, 1)),
        class("parity", &uniform, &[2, 4], Shape::tied(1, 0)),
        class("z:3", &uniform, &[2], Shape::untied(0, 0)),
        reweighed(
            &class("parity", &uniform, &[3], Shape::untied(0, 1)),
            None,
            "process",
        ),
        reweighed(
            &class("parity", &uniform, &[2, 4], Shape::tied(1, 0)),
            Some("1,3"),
            "final",
        ),
    ] {
        let mut workers = workers(&class, 1);
        let mut rewards = Rewards::new(&class);
        let mut stream = Stream::new(1, 0);
        for number in 0..4 {
            let mut code = random_code(&class, &mut stream);
            if number != 0 {
                code = climb(&mut workers, code);
            }
            let whole = rewards.shelf(&code);
            for cap in [3, 20, 1_000_000] {
                let shelf = search(&mut workers, &code, cap);
                let kind = compare(&mut rewards, &code, &whole, cap, &shelf);
                *kinds.entry(kind).or_default() += 1;
            }
        }
    }
    let kinds: Vec<&str> = kinds.into_keys().collect();
    assert_eq!(kinds, ["bounded", "certified", "escapes", "optimal"]);
}

/// Every code that no single-cell change raises, but for the best.
fn local_maxima(class: &Class) -> Vec<Code> {
    let zeros = Code::from_fn(class, |_| 0);
    let mut counter = Counter::new(zeros).unwrap();
    let mut rewards = vec![0; class.q()];
    let mut list = Vec::new();
    for number in 1u64..=1 << class.cells() {
        let mut raises = |cell| {
            counter.rewards(cell, &mut rewards);
            rewards.iter().any(|&reward| reward > counter.reward())
        };
        if !(0..class.cells()).any(&mut raises) && counter.reward() < counter.denominator() {
            list.push(counter.code().clone());
        }
        // The next code of Gray's order.
        let cell = (number.trailing_zeros() as usize).min(class.cells() - 1);
        counter.set(cell, 1 - counter.code().action(cell));
    }
    list
}

/// The local maxima of correlated parity at length T, and the verdicts on them.
fn correlated_parity(length: usize) -> (usize, BTreeMap<&'static str, usize>) {
    let class = class("parity", &correlated(), &[length], Shape::untied(0, 0));
    let mut workers = workers(&class, 1);
    let maxima = local_maxima(&class);
    let mut kinds = BTreeMap::new();
    for code in &maxima {
        let finding = search(&mut workers, code, 100_000).verdict.finding;
        *kinds.entry(finding.name()).or_default() += 1;
    }
    (maxima.len(), kinds)
}

#[test]
fn of_the_local_maxima_of_correlated_parity_the_traps_are_certified() {
    let kinds =
        |certified, escapes| BTreeMap::from([("certified", certified), ("escapes", escapes)]);
    assert_eq!(correlated_parity(4), (648, kinds(8, 640)));
    assert_eq!(correlated_parity(5), (14_656, kinds(32, 14_624)));
}

/// A class and codes whose shelves are large enough for threads to share the work.
fn large() -> (Class, Vec<Code>) {
    let class = class("z:3", &InputLaw::Uniform, &[6], Shape::untied(0, 0));
    let zero = Code::from_fn(&class, |_| 0);
    let copy = Code::from_fn(&class, |cell| class.key(cell).x[0].unwrap());
    (class, vec![zero, copy])
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let (class, codes) = large();
    let mut few = workers(&class, 1);
    for threads in [2, 3] {
        let mut many = workers(&class, threads);
        for code in &codes {
            let shelf = search(&mut many, code, 3000);
            assert_eq!(shelf, search(&mut few, code, 3000));
        }
    }
}

#[test]
fn a_stopped_search_is_one_with_a_smaller_cap() {
    let (class, codes) = large();
    let mut workers = workers(&class, 2);
    for code in &codes {
        let mut first = Search::new(&mut workers, code.clone(), 20_000);
        let heard = Mutex::new((0, 0));
        let stop = |progress: Progress| {
            *heard.lock().unwrap() = (progress.done, progress.all.unwrap());
            if progress.done > 100 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        first.explore(&mut workers, Context::default().with_observer(&stop));
        assert!(!first.is_over());
        let (explored, found) = heard.into_inner().unwrap();
        assert!(explored > 100 && explored < found);
        let explored = explored as usize;
        let shelf = first.finish().unwrap();
        assert_eq!(shelf.size, explored);
        assert_eq!(shelf, search(&mut workers, code, explored));
    }
}

#[test]
fn a_search_stopped_within_its_first_code_has_found_nothing() {
    // Its start alone has 48,512 cells, each reward a pass over 60 steps: far longer than the time between two
    // questions, on any machine.
    let class = class("z:2", &InputLaw::Uniform, &[60], Shape::tied(6, 6));
    let start = Code::from_fn(&class, |_| 0);
    for threads in [1, 2] {
        let mut workers = workers(&class, threads);
        let mut first = Search::new(&mut workers, start.clone(), 100);
        let looks = Mutex::new(0);
        let stop = |_: Progress| {
            *looks.lock().unwrap() += 1;
            match *looks.lock().unwrap() {
                1 => ControlFlow::Continue(()),
                _ => ControlFlow::Break(()),
            }
        };
        first.explore(&mut workers, Context::default().with_observer(&stop));
        assert!(!first.is_over());
        assert_eq!(first.finish(), None);
        assert_eq!(looks.into_inner().unwrap(), 2);
    }
}

#[test]
fn a_shelf_of_exactly_the_cap_is_certified() {
    let class = class("parity", &correlated(), &[4], Shape::untied(0, 0));
    let mut workers = workers(&class, 1);
    let maxima = local_maxima(&class);
    let traps = maxima.iter().filter_map(|code| {
        let shelf = search(&mut workers, code, 100_000);
        let certified = matches!(shelf.verdict.finding, Finding::Certified { .. });
        certified.then_some((code, shelf.size))
    });
    let traps: Vec<(&Code, usize)> = traps.collect();
    for (code, size) in traps {
        let whole = search(&mut workers, code, size);
        assert_eq!(
            (whole.size, whole.verdict.finding.name()),
            (size, "certified")
        );
        if size > 1 {
            let cut = search(&mut workers, code, size - 1);
            assert_eq!(cut.verdict.finding.name(), "bounded");
        }
    }
}

#[test]
#[should_panic(expected = "a code of the workers' class")]
fn a_code_of_another_class_is_refused_though_it_has_as_many_cells() {
    let shape = Shape::untied(0, 0);
    let mut workers = workers(&class("parity", &InputLaw::Uniform, &[4], shape), 1);
    let other = class("parity", &correlated(), &[4], shape);
    search(&mut workers, &Code::from_fn(&other, |_| 0), 10);
}
