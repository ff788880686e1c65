//! eq:family against its definitions: complete codes, penalties, the walk and both ends.

use crate::common::all::All;
use foldglass::gibbs::family::{
    Averages, Couplings, Energy, Family, FamilyError, FamilySettings, FamilyWalk, Limit,
    complete_reward,
};
use foldglass::support::exact::parse;
use foldglass::support::stats::Summary;
use foldglass::{
    Class, Code, InputLaw, Operation, Shape, Stream, Symbol, Task, Window, reward::count,
};
use std::collections::HashMap;

fn task(q: usize, length: usize, law: &InputLaw) -> Task {
    let square = match q {
        2 => Operation::cyclic(2).unwrap(),
        q => Operation::random(q, 5).unwrap(),
    };
    Task::new(square, law, &[length]).unwrap()
}

fn family(task: &Task, shape: Shape) -> Family {
    Family::new(task.clone(), shape).unwrap()
}

/// Small families: squares, lengths, laws and windows.
fn families() -> Vec<Family> {
    let markov = InputLaw::Markov(parse("9/10").unwrap());
    let wide = Shape {
        memory: 2,
        ..Shape::untied(1, 0)
    };
    vec![
        family(&task(2, 2, &InputLaw::Uniform), Shape::untied(0, 0)),
        family(&task(2, 3, &markov), Shape::untied(0, 0)),
        family(&task(2, 4, &markov), wide),
        family(&task(3, 2, &InputLaw::Uniform), Shape::untied(0, 1)),
        family(&task(3, 3, &markov), Shape::untied(0, 0)),
    ]
}

fn random_code(family: &Family, stream: &mut Stream) -> Vec<Symbol> {
    let q = family.task().q() as u32;
    (0..family.histories())
        .map(|_| stream.below(q) as Symbol)
        .collect()
}

/// The most frequent actions of a list.
fn modes(actions: &[Symbol]) -> Vec<Symbol> {
    let count = |a: &Symbol| actions.iter().filter(|b| *b == a).count();
    let most = actions.iter().map(count).max().unwrap();
    let mut modes: Vec<Symbol> = actions
        .iter()
        .copied()
        .filter(|a| count(a) == most)
        .collect();
    modes.sort_unstable();
    modes.dedup();
    modes
}

type Key = (usize, Vec<Option<Symbol>>, Vec<Option<Symbol>>);

/// J, E_win and E_tie history by history, as the specification words them.
fn slow_energy(family: &Family, code: &[Symbol]) -> Energy {
    let (task, length) = (family.task(), family.length());
    let actions: HashMap<_, Symbol> = (0..family.histories())
        .map(|h| (family.history(h), code[h]))
        .collect();
    let Shape { window, memory, .. } = family.shape();
    let mut cells: HashMap<Key, Vec<Symbol>> = HashMap::new();
    let mut reward = 0;
    for (history, &action) in &actions {
        let (x, y, t) = (&history.x, &history.y, history.y.len() + 1);
        let at = |list: &[Symbol], place: i64| {
            (place >= 1 && place <= list.len() as i64).then(|| list[place as usize - 1])
        };
        let (past, future) = (window.past as i64, window.future as i64);
        let seen = (-past..=future).map(|k| at(x, t as i64 + k)).collect();
        let kept = (1..=memory as i64)
            .rev()
            .map(|k| at(y, t as i64 - k))
            .collect();
        cells.entry((t, seen, kept)).or_default().push(action);
        // An input is met once: where nothing is emitted yet.
        if y.is_empty() {
            let mut rollout = history.clone();
            for _ in 0..length {
                let token = actions[&rollout];
                rollout.y.push(token);
            }
            if *rollout.y.last().unwrap() == task.fold(x) {
                let weight = |i: usize| task.inputs().weight(i + 1, x[i.max(1) - 1], x[i]);
                reward += (0..length).map(weight).product::<u64>();
            }
        }
    }
    let differ = |actions: &Vec<Symbol>| {
        let mode = modes(actions)[0];
        actions.iter().filter(|a| **a != mode).count() as u64
    };
    let window = cells.values().map(differ).sum();
    let mut rows: HashMap<_, Vec<&Vec<Symbol>>> = HashMap::new();
    for ((_, seen, kept), actions) in &cells {
        rows.entry((seen, kept)).or_default().push(actions);
    }
    let tying = rows.values().map(|cells| {
        let left = |action: Symbol| {
            let others = cells.iter().filter(|cell| !modes(cell).contains(&action));
            others.map(|cell| cell.len() as u64).sum::<u64>()
        };
        (0..task.q() as Symbol).map(left).min().unwrap()
    });
    Energy {
        reward,
        window,
        tying: tying.sum(),
    }
}

#[test]
fn energies_are_those_of_the_definitions() {
    let mut stream = Stream::new(1, 0);
    for family in families() {
        for _ in 0..20 {
            let code = random_code(&family, &mut stream);
            assert_eq!(family.energy(&code), slow_energy(&family, &code));
        }
    }
}

#[test]
fn a_walk_keeps_its_energies_and_moves_every_history() {
    for family in families() {
        let mut walk = FamilyWalk::new(&family, Stream::new(3, 1));
        let before = walk.code().to_vec();
        let couplings = Couplings {
            window: 0.3,
            tying: 0.2,
        };
        let mut moved = vec![false; before.len()];
        for _ in 0..60 {
            walk.sweep(&FamilySettings::new(couplings, 0.5));
            assert_eq!(walk.energy(), family.energy(walk.code()));
            for (moved, (a, b)) in moved.iter_mut().zip(walk.code().iter().zip(&before)) {
                *moved |= a != b;
            }
        }
        assert!(moved.iter().all(|moved| *moved));
    }
}

#[test]
fn fixed_weights_leave_the_class_alone_without_penalty() {
    let family = family(&task(2, 2, &InputLaw::Uniform), Shape::untied(0, 0));
    assert_eq!(
        (family.histories(), family.cells(), family.rows()),
        (12, 6, 6)
    );
    let energies = family.energies().unwrap();
    assert_eq!(energies.len(), 4096);
    let free = energies.iter().filter(|energy| energy.window == 0);
    assert_eq!(free.count(), 64);
    // At T = 2 no two steps share a row: t = 1 remembers nothing.
    assert!(energies.iter().all(|energy| energy.tying == 0));
}

#[test]
fn codes_of_the_classes_are_complete_codes_without_penalty() {
    let mut stream = Stream::new(2, 0);
    for family in families() {
        for tied in [false, true] {
            let shape = Shape {
                tied,
                ..family.shape()
            };
            let class = Class::new(family.task().clone(), shape).unwrap();
            assert_eq!(
                class.cells(),
                if tied { family.rows() } else { family.cells() }
            );
            let code = foldglass::dynamics::chain::random_code(&class, &mut stream);
            let action: HashMap<_, Symbol> = (0..class.cells())
                .map(|c| (class.key(c), code.action(c)))
                .collect();
            let keys = family.cell_keys().into_iter().map(|mut key| {
                key.t = key.t.filter(|_| !tied);
                action[&key]
            });
            let lifted = family.lift(&keys.collect::<Vec<_>>());
            let energy = family.energy(&lifted);
            assert_eq!(energy.window, 0);
            assert!(!tied || energy.tying == 0);
            let exact = count::reward(&code).to_f64();
            assert_eq!(energy.reward as f64 / family.denominator() as f64, exact);
        }
    }
}

/// A window over the whole input and a memory of all tokens is the complete parameterisation.
#[test]
fn rewards_are_those_of_the_class_that_sees_everything() {
    let law = InputLaw::Markov(parse("3/4").unwrap());
    let all = Shape {
        window: Window { past: 2, future: 2 },
        memory: 2,
        tied: false,
    };
    let task = task(3, 3, &law);
    let (complete, class) = (family(&task, all), Class::new(task.clone(), all).unwrap());
    assert_eq!(complete.cells(), complete.histories());
    let mut stream = Stream::new(4, 0);
    for _ in 0..10 {
        let code = random_code(&complete, &mut stream);
        let action: HashMap<_, Symbol> =
            complete.cell_keys().into_iter().zip(code.clone()).collect();
        let same = Code::from_fn(&class, |cell| action[&class.key(cell)]);
        let reward = complete.energy(&code).reward as f64 / complete.denominator() as f64;
        assert_eq!(reward, count::reward(&same).to_f64());
    }
}

/// Whether the means of walks are those of the Gibbs measure, by Student's t.
fn assert_samples(family: &Family, settings: &FamilySettings, exact: &Averages, sweeps: u64) {
    let walks: Vec<Averages> = (0..16)
        .map(|n| FamilyWalk::new(family, Stream::new(7, n)).averages(settings, 200, sweeps))
        .collect();
    for of in [
        (|a| a.reward) as fn(&Averages) -> f64,
        |a| a.window,
        |a| a.windowed,
    ] {
        let values: Vec<f64> = walks.iter().map(of).collect();
        let summary = Summary::of(&values).unwrap();
        let off = (summary.mean - of(exact)).abs();
        // Beyond 5 on 15 degrees: 2e-4 of all. What was not seen once may be as frequent as three in
        // all sweeps.
        let error = summary.error.unwrap();
        let unseen = if error > 0.0 {
            0.0
        } else {
            3.0 / (16 * sweeps) as f64
        };
        assert!(
            off <= 5.0 * error + unseen,
            "{settings:?}: {off} of {error}"
        );
    }
}

#[test]
fn the_walk_samples_the_gibbs_measure() {
    let markov = InputLaw::Markov(parse("7/10").unwrap());
    let family = family(&task(2, 2, &markov), Shape::untied(0, 0));
    let energies = family.energies().unwrap();
    for (window, tau) in [(0.0, 0.1), (0.5, 0.1), (2.0, 0.2), (20.0, 0.1)] {
        let couplings = Couplings { window, tying: 0.0 };
        let exact = Averages::of(&family, &energies, couplings, tau);
        assert_samples(&family, &FamilySettings::new(couplings, tau), &exact, 3000);
    }
}

/// A strong penalty leaves the windowed class, whose codes only whole cells move between.
#[test]
fn with_a_strong_penalty_the_walk_samples_the_windowed_class() {
    for (length, tau) in [(2, 0.1), (3, 0.1), (3, 0.2)] {
        let family = family(&task(2, length, &InputLaw::Uniform), Shape::untied(0, 0));
        let couplings = Couplings {
            window: 1000.0,
            tying: 0.0,
        };
        let exact = Averages {
            reward: Limit::of(&family, false).unwrap().reward(&family, tau),
            window: 0.0,
            windowed: 1.0,
            tying: 0.0,
            tied: 0.0,
        };
        // The walk starts at a random code, which is in no class.
        assert_samples(&family, &FamilySettings::new(couplings, tau), &exact, 5000);
    }
}

#[test]
fn both_ends_of_the_family_are_the_classes() {
    let family = family(&task(2, 2, &InputLaw::Uniform), Shape::untied(0, 0));
    let energies = family.energies().unwrap();
    let averages = |window, tau| {
        let couplings = Couplings { window, tying: 0.0 };
        Averages::of(&family, &energies, couplings, tau)
    };
    let untied = Limit::of(&family, false).unwrap();
    for tau in [0.03, 0.1, 1.0] {
        assert!((averages(0.0, tau).reward - complete_reward(&family, tau)).abs() < 1e-12);
        let strong = averages(1e4, tau);
        assert!((strong.reward - untied.reward(&family, tau)).abs() < 1e-12);
        assert!(strong.windowed > 1.0 - 1e-12);
    }
}

#[test]
fn the_limits_hold_the_codes_of_the_classes() {
    let markov = InputLaw::Markov(parse("9/10").unwrap());
    let task = task(2, 3, &markov);
    let family = family(&task, Shape::untied(0, 0));
    for tied in [false, true] {
        let shape = Shape {
            tied,
            ..family.shape()
        };
        let class = Class::new(task.clone(), shape).unwrap();
        let mut rewards = std::collections::BTreeMap::new();
        for reward in All::new(&class).rewards {
            *rewards.entry(reward).or_insert(0u64) += 1;
        }
        assert_eq!(Limit::of(&family, tied).unwrap().codes, rewards);
    }
}

#[test]
fn what_cannot_be_laid_out_is_refused() {
    let two = Task::new(Operation::cyclic(2).unwrap(), &InputLaw::Uniform, &[2, 3]).unwrap();
    let refused = Family::new(two, Shape::untied(0, 0));
    assert_eq!(refused.unwrap_err(), FamilyError::SeveralLengths(2));
    let long = task(5, 40, &InputLaw::Uniform);
    let refused = Family::new(long, Shape::untied(0, 0));
    assert!(matches!(refused, Err(FamilyError::TooLarge(_))));
}
