//! Compares the flood around a code, and the check of what it claims, with visiting every code.

use crate::common::all::{All, census, class, markov, reweighed, with_a_hole};
use foldglass::Context;
use foldglass::landscape::barrier::{check_cap, way_out};
use foldglass::landscape::law::Correlated;
use foldglass::landscape::shelf::{Search, Workers};
use foldglass::landscape::tree::{Nodes, Tree};
use foldglass::proof::check::verdict::{Effort, VerdictError, check};
use foldglass::proof::claim::{Finding, Standing, Verdict, WayOut};
use foldglass::reward::count::{self, RewardCounter, WideCounter, is_wide};
use foldglass::support::exact::parse;
use foldglass::support::watch::Stopped;
use foldglass::{
    Allowance, Class, Code, InputLaw, Progress, Reward, Shape, Stream, Symbol, Unwatched, Window,
};
use std::collections::{BTreeSet, HashSet};
use std::ops::ControlFlow;
use std::sync::Mutex;

fn code(class: &Class, all: &All, number: usize) -> Code {
    Code::from_fn(class, |cell| {
        (number / all.q.pow(cell as u32) % all.q) as Symbol
    })
}

/// The codes that can be reached from one while J falls by less than the height.
fn flooded(all: &All, start: usize, height: u64) -> usize {
    let top = all.rewards[start];
    let mut known = HashSet::from([start]);
    let mut waiting = vec![start];
    while let Some(code) = waiting.pop() {
        for to in all.neighbours(code) {
            if all.rewards[to] + height > top && known.insert(to) {
                waiting.push(to);
            }
        }
    }
    known.len()
}

fn searched(workers: &mut Workers<impl RewardCounter>, code: &Code, cap: usize) -> Verdict {
    let mut search = Search::new(workers, code.clone(), cap);
    search.explore(workers, Context::default());
    search.finish().unwrap().verdict
}

fn verdict(workers: &mut Workers<impl RewardCounter>, code: &Code, cap: usize) -> Verdict {
    Verdict {
        way_out: way_out(workers, code, cap, Context::default()).unwrap(),
        ..searched(workers, code, 1 << 20)
    }
}

fn run(verdict: &Verdict) -> Result<usize, VerdictError> {
    let context = Context::default().with_threads(2);
    check(verdict, Effort::All, context).map(|checked| checked.flooded)
}

fn exact(way: &WayOut) -> usize {
    match way.standing {
        Standing::Exact { codes } => codes,
        Standing::Bound => panic!("a bound of {}", way.height),
    }
}

/// Floods the codes of a class, every so manieth; gives the number of those with a barrier.
fn compare(class: &Class, every: usize) -> usize {
    let all = All::new(class);
    let mut workers = Workers::new(class, Context::default().with_threads(1)).unwrap();
    let mut barriers = 0;
    for number in (0..all.rewards.len()).step_by(every) {
        let code = code(class, &all, number);
        let found = verdict(&mut workers, &code, usize::MAX >> 33);
        if all.rewards[number] == all.whole {
            assert_eq!(found.way_out, None);
            continue;
        }
        let way = found.way_out.as_ref().unwrap();
        let height = all.barrier(number);
        assert_eq!(way.height, Reward::new(height, all.whole), "code {number}");
        let codes = if height == 0 {
            0
        } else {
            flooded(&all, number, height)
        };
        assert_eq!(exact(way), codes, "code {number}");
        let is_trap = matches!(found.finding, Finding::Certified { .. });
        assert_eq!(is_trap, height > 0);
        if is_trap || number % 16 == 0 {
            assert_eq!(run(&found), Ok(codes));
        }
        barriers += usize::from(is_trap);
    }
    barriers
}

#[test]
fn a_flood_finds_the_barrier_that_visiting_every_code_finds() {
    let shape = Shape::untied(0, 0);
    assert!(compare(&class("parity", &markov("9/10"), &[4], shape), 1) == 8);
    assert_eq!(
        compare(&class("parity", &InputLaw::Uniform, &[4], shape), 7),
        0
    );
    compare(&class("parity", &with_a_hole(), &[4], shape), 5);
    assert!(compare(&class("parity", &InputLaw::Uniform, &[2, 3, 4], shape), 1) > 0);
    let process = class("parity", &InputLaw::Uniform, &[4], shape);
    assert!(compare(&reweighed(&process, None, "process:1,1,2,3"), 1) > 0);
    compare(
        &class("parity", &InputLaw::Uniform, &[4], Shape::tied(0, 0)),
        1,
    );
    assert!(
        compare(
            &class("parity", &InputLaw::Uniform, &[5], Shape::tied(0, 1)),
            1
        ) > 0
    );
    assert!(
        compare(
            &class("z:3", &InputLaw::Uniform, &[4], Shape::tied(0, 0)),
            1009
        ) > 0
    );
    let remembers = Shape {
        window: Window { past: 0, future: 0 },
        memory: 2,
        tied: true,
    };
    assert!(compare(&class("parity", &markov("2/3"), &[5], remembers), 1) > 0);
}

#[test]
fn floods_trees_and_censuses_agree() {
    for (law, length) in [("9/10", 5), ("3/4", 5), ("1/10", 4)] {
        let class = class("parity", &markov(law), &[length], Shape::untied(0, 0));
        let tree = Tree::new(&class, Nodes::Codes, Context::default()).unwrap();
        let mut workers = Workers::new(&class, Context::default().with_threads(2)).unwrap();
        let (census, count) = census(&class, "0");
        let mut traps = 0;
        for leaf in tree.leaves.iter().filter(|leaf| leaf.barrier.is_some()) {
            let way = way_out(&mut workers, &leaf.code, 1 << 20, Context::default())
                .unwrap()
                .unwrap();
            exact(&way);
            let barrier = Reward::new(leaf.barrier.unwrap(), class.task().denominator());
            assert_eq!(way.height, barrier);
            traps += leaf.shelf;
        }
        assert_eq!(traps, count.traps.iter().map(|trap| trap.weight).sum());
        let tally = foldglass::support::watch::Tally::new(&Unwatched, "shelves", None);
        for trap in &count.traps {
            let barrier = census.barrier(trap.shelf, usize::MAX, &tally).unwrap();
            let barrier = barrier.known().expect("no cap, and a higher reward");
            let code = census.code(trap.code);
            let way = way_out(&mut workers, &code, 1 << 20, Context::default())
                .unwrap()
                .unwrap();
            assert_eq!(way.height, census.reward(barrier));
        }
    }
}

/// A tied class with traps whose floods are larger than their shelves.
fn tied() -> (Class, Vec<Code>) {
    let class = class("z:3", &InputLaw::Uniform, &[4], Shape::tied(0, 0));
    let all = All::new(&class);
    let traps = all.traps();
    let codes = traps.iter().map(|shelf| code(&class, &all, shelf[0]));
    let codes: Vec<Code> = codes.step_by(1 + traps.len() / 40).collect();
    (class, codes)
}

#[test]
fn a_capped_flood_gives_a_bound_with_its_path() {
    let (class, codes) = tied();
    let mut workers = Workers::new(&class, Context::default().with_threads(1)).unwrap();
    let (mut bounds, mut exact) = (0, 0);
    for code in &codes {
        let whole = way_out(&mut workers, code, 1 << 20, Context::default())
            .unwrap()
            .unwrap();
        for cap in [1, 2, 5, 50, 1 << 20] {
            let found = verdict(&mut workers, code, cap);
            let way = found.way_out.as_ref().unwrap();
            assert!(way.height >= whole.height);
            assert!(way.standing == Standing::Bound || way.height == whole.height);
            run(&found).unwrap();
            match way.standing {
                Standing::Bound => bounds += 1,
                Standing::Exact { .. } => exact += 1,
            }
        }
        // Stopped at once, some way out is known all the same.
        let stop = |_: Progress<'_>| ControlFlow::Break(());
        let found = Verdict {
            way_out: way_out(
                &mut workers,
                code,
                1 << 20,
                Context::default().with_observer(&stop),
            )
            .unwrap(),
            ..verdict(&mut workers, code, 1)
        };
        assert_eq!(found.way_out.as_ref().unwrap().standing, Standing::Bound);
        run(&found).unwrap();
    }
    assert!(bounds > 0 && exact > 0, "{bounds} {exact}");
    assert!(check_cap(1 << 20, Allowance(1 << 20)).is_err());
}

#[test]
fn a_flood_of_a_large_class_is_stopped_before_any_way_out_is_known() {
    let class = class("z:2", &InputLaw::Uniform, &[60], Shape::tied(5, 5));
    let start = Code::from_fn(&class, |_| 0);
    let mut workers = Workers::new(&class, Context::default().with_threads(1)).unwrap();
    let heard = Mutex::new(0);
    let stop = |_: Progress<'_>| {
        *heard.lock().unwrap() += 1;
        ControlFlow::Break(())
    };
    assert_eq!(
        way_out(
            &mut workers,
            &start,
            1000,
            Context::default().with_observer(&stop)
        ),
        Err(Stopped)
    );
    assert_eq!(heard.into_inner().unwrap(), 1);
}

#[test]
fn a_flood_does_not_depend_on_the_threads() {
    // Enough cells that several threads are worth it.
    let shape = Shape::tied(0, 2);
    let class = class("quasigroup", &InputLaw::Uniform, &[5], shape);
    let zero = Code::from_fn(&class, |cell| (cell * cell % 5) as Symbol);
    let [one, three] = [1, 3].map(|threads| {
        let mut workers = Workers::new(&class, Context::default().with_threads(threads)).unwrap();
        way_out(&mut workers, &zero, 3000, Context::default())
    });
    assert_eq!(one, three);
}

#[test]
fn searches_in_big_integers_find_what_those_in_machine_integers_find() {
    let (tied_class, tied_codes) = tied();
    let law = markov("9/10");
    let untied = class("parity", &law, &[4, 5], Shape::untied(0, 0));
    let random = |seed| {
        let mut stream = Stream::new(seed, 0);
        Code::from_fn(&untied, |_| stream.below(2) as Symbol)
    };
    let untied_codes: Vec<Code> = (0..12).map(random).collect();
    let mut kinds = BTreeSet::new();
    for (class, codes) in [
        (tied_class, &tied_codes[..4]),
        (untied.clone(), &untied_codes),
    ] {
        let context = Context::default().with_threads(1);
        let mut narrow = Workers::new(&class, context).unwrap();
        let mut wide = Workers::<WideCounter>::of(&class, context).unwrap();
        for code in codes {
            let found = verdict(&mut narrow, code, 200);
            assert_eq!(verdict(&mut wide, code, 200), found);
            kinds.insert(found.finding.name());
        }
    }
    assert!(
        kinds.contains("certified") && kinds.contains("escapes"),
        "{kinds:?}"
    );
}

#[test]
fn the_trap_of_a_long_law_is_certified_and_checked() {
    // A denominator of 663 bits, and 2^200 inputs.
    for (length, repeat) in [(39, "9/10"), (200, "9/10"), (200, "1/3")] {
        let law = Correlated::new(length, &parse(repeat).unwrap()).unwrap();
        let trap = law.example().unwrap();
        let class = trap.class().clone();
        assert!(is_wide(&class));
        let context = Context::default().with_threads(1);
        let mut workers = Workers::<WideCounter>::of(&class, context).unwrap();
        let mut found = searched(&mut workers, &trap, 1000);
        assert_eq!(found.finding, Finding::Certified { nodes: Vec::new() });
        assert_eq!(found.reward, law.rewards()[0].reward);
        assert_eq!(check(&found, Effort::All, context).unwrap().looked_at, 1);
        // A code beside it is no trap, whatever is said of it.
        found.start.set(5, 1 - trap.action(5));
        found.reward = count::reward(&found.start);
        let error = check(&found, Effort::All, context).unwrap_err();
        assert!(matches!(error, VerdictError::Exit { .. }), "{error}");
        let escapes = searched(&mut workers, &found.start, 1000);
        assert!(matches!(&escapes.finding, Finding::Escapes { moves } if moves.len() == 1));
        check(&escapes, Effort::All, context).unwrap();
    }
}

#[test]
fn the_barrier_of_a_long_trap_is_the_conjectured_one() {
    let law = Correlated::new(39, &parse("9/10").unwrap()).unwrap();
    let trap = law.example().unwrap();
    let context = Context::default().with_threads(1);
    let mut workers = Workers::<WideCounter>::of(trap.class(), context).unwrap();
    let found = verdict(&mut workers, &trap, 50);
    let way = found.way_out.as_ref().unwrap();
    // |2k-1| (1 - |2k-1|^18) / 4: the words are UU..UD, so 35 letters U more than D stand behind the D.
    let rho = parse("4/5").unwrap();
    let four = parse("4").unwrap();
    let conjectured = &rho * (parse("1").unwrap() - rho.pow(18)) / four;
    assert_eq!(way.height, Reward::from(conjectured));
    check(&found, Effort::All, context).unwrap();
}

#[test]
fn a_way_out_with_one_number_changed_is_refused() {
    let (class, codes) = tied();
    let mut workers = Workers::new(&class, Context::default().with_threads(1)).unwrap();
    let mut refused = 0;
    for code in codes.iter().take(8) {
        let true_one = verdict(&mut workers, code, 1 << 20);
        run(&true_one).unwrap();
        let way = true_one.way_out.clone().unwrap();
        let codes = exact(&way);
        let mut others = vec![WayOut {
            height: Reward::from(way.height.ratio() + way.height.ratio()),
            ..way.clone()
        }];
        for codes in [0, codes - 1, codes + 1] {
            let standing = Standing::Exact { codes };
            others.push(WayOut {
                standing,
                ..way.clone()
            });
        }
        for i in 0..way.moves.len() {
            let mut change = |change: &dyn Fn(&mut WayOut)| {
                let mut other = way.clone();
                change(&mut other);
                others.push(other);
            };
            change(&|way| _ = way.moves.remove(i));
            change(&|way| way.moves.truncate(i));
            change(&|way| way.moves.insert(i, way.moves[i].clone()));
            change(&|way| way.moves[i].to = way.moves[i].from);
            change(&|way| way.moves[i].reward = Reward::ONE);
        }
        for way_out in others.into_iter().filter(|other| *other != way) {
            let changed = Verdict {
                way_out: Some(way_out),
                ..true_one.clone()
            };
            assert!(run(&changed).is_err(), "{:?}", changed.way_out);
            refused += 1;
        }
    }
    assert!(refused > 50, "{refused}");
}

#[test]
fn an_exact_barrier_that_is_not_the_lowest_is_refused() {
    let (class, codes) = tied();
    let mut workers = Workers::new(&class, Context::default().with_threads(1)).unwrap();
    let mut refused = 0;
    for code in &codes {
        let bound = verdict(&mut workers, code, 1);
        let lowest = way_out(&mut workers, code, 1 << 20, Context::default())
            .unwrap()
            .unwrap();
        let mut way = bound.way_out.clone().unwrap();
        if way.height == lowest.height {
            continue;
        }
        way.standing = Standing::Exact { codes: 1 << 20 };
        let claimed = Verdict {
            way_out: Some(way),
            ..bound
        };
        assert!(matches!(run(&claimed), Err(VerdictError::HigherWay { .. })));
        refused += 1;
    }
    assert!(refused > 0);
}
