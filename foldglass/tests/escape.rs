//! Holds the paths of the theorem to its claims: J never falls, ends at 1, within the bound.

use foldglass::check::path::{Kind, Path, PathError, verify};
use foldglass::class::{Allowance, Class, Shape, Window};
use foldglass::count::{self, Counter};
use foldglass::escape::{
    EscapeError, Outcome, Standing, assumptions, collapse, escape, most_moves, search,
};
use foldglass::evaluate::Evaluator;
use foldglass::exact::{lowest_terms, parse};
use foldglass::inputs::InputLaw;
use foldglass::policy::{Code, InitialLaw, Policy};
use foldglass::quasigroup::{LatinSquare, Symbol};
use foldglass::stream::Stream;
use foldglass::task::Task;
use proptest::prelude::*;

fn class(square: LatinSquare, law: &InputLaw, length: usize) -> Class {
    let task = Task::new(square, law, &[length]).unwrap();
    Class::new(task, Shape::untied(0, 0), Allowance::default()).unwrap()
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

fn is_whole(path: &Path) -> bool {
    lowest_terms(&path.reward) == "1/1"
}

fn follow(class: &Class, code: &Code) -> Result<Path, TestCaseError> {
    let path = escape(class, code, Allowance::default()).unwrap();
    let length = class.task().longest();
    prop_assert!(is_whole(&path));
    prop_assert!(path.moves.len() as u128 <= most_moves(class.q(), length));
    let mut now = code.clone();
    let exact = |code: &Code| parse(&count::reward(class, code).to_string()).unwrap();
    prop_assert_eq!(&path.start_reward, &exact(code));
    let mut before = path.start_reward.clone();
    for m in &path.moves {
        prop_assert_eq!(now.action(m.cell), m.from);
        prop_assert_ne!(m.from, m.to);
        now.set(m.cell, m.to);
        prop_assert!(m.reward >= before, "{:?}", m);
        before = m.reward.clone();
        // The counts of every code on the way, where they take no time.
        if class.cells() <= 60 {
            prop_assert_eq!(&m.reward, &exact(&now), "{:?}", m);
        }
    }
    prop_assert_eq!(count::reward(class, &now).to_string(), "1/1");
    // W_t(y, 0) + W_t(y, 1) is the same for both tokens, B being a Latin square: what is best for
    // one state is worst for the other, and two states never want one token.
    if class.q() == 2 {
        let round = [Kind::Consolidate, Kind::Finish];
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
        let class = class(LatinSquare::random(q, seed).unwrap(), &law, length);
        let code = random_code(&class, &mut stream);
        let path = follow(&class, &code)?;
        if (q as u64).pow(length as u32) <= 50_000 {
            prop_assert_eq!(verify(&class, &path, Allowance::default()), Ok(()));
        }
    }
}

#[test]
fn the_checker_follows_paths_of_the_largest_inputs_it_lists_and_beyond() {
    for (q, length) in [(6, 8), (5, 12), (2, 140)] {
        let class = class(
            LatinSquare::random(q, 4).unwrap(),
            &InputLaw::Uniform,
            length,
        );
        let code = random_code(&class, &mut Stream::new(8, 0));
        let path = follow(&class, &code).unwrap();
        assert_eq!(verify(&class, &path, Allowance::default()), Ok(()));
    }
}

#[test]
fn no_code_of_parity_at_length_three_needs_more_than_six_moves() {
    let class = class(LatinSquare::cyclic(2).unwrap(), &InputLaw::Uniform, 3);
    let mut longest = 0;
    for n in 0..1u32 << class.cells() {
        let code = Code::from_fn(&class, |cell| (n >> cell & 1) as Symbol);
        longest = longest.max(follow(&class, &code).unwrap().moves.len());
    }
    assert_eq!((longest, most_moves(2, 3)), (6, 17));
}

#[test]
fn a_solved_code_needs_no_move() {
    let class = class(LatinSquare::paper(), &InputLaw::Uniform, 5);
    let fold = Code::from_fn(&class, |cell| {
        let key = class.key(cell);
        let x = key.x[0].unwrap();
        key.y[0].map_or(x, |y| class.task().square().multiply(y, x))
    });
    assert!(
        escape(&class, &fold, Allowance::default())
            .unwrap()
            .moves
            .is_empty()
    );
}

#[test]
fn a_path_with_one_thing_changed_is_refused() {
    let class = class(LatinSquare::paper(), &InputLaw::Uniform, 4);
    let paths = (0..).map(|seed| {
        let code = random_code(&class, &mut Stream::new(seed, 0));
        escape(&class, &code, Allowance::default()).unwrap()
    });
    let kinds = [
        Kind::Consolidate,
        Kind::Prepare,
        Kind::Reroute,
        Kind::Finish,
    ];
    let has_all = |path: &Path| {
        let mut kinds = kinds.iter();
        kinds.all(|kind| path.moves.iter().any(|m| m.kind == *kind))
    };
    let path = paths.into_iter().take(1000).find(has_all);
    let path = path.expect("a path with moves of every kind");
    let check = |path: &Path| verify(&class, path, Allowance::default());
    let less = parse("1/625").unwrap();
    for n in 0..path.moves.len() {
        let with = |change: &dyn Fn(&mut Path)| {
            let mut path = path.clone();
            change(&mut path);
            check(&path)
        };
        assert!(matches!(
            with(&|path| path.moves[n].from = (path.moves[n].from + 1) % 5),
            Err(PathError::From { number, .. }) if number == n + 1
        ));
        assert!(matches!(
            with(&|path| path.moves[n].to = path.moves[n].from),
            Err(PathError::Still { number, .. }) if number == n + 1
        ));
        assert!(matches!(
            with(&|path| path.moves[n].reward += &less),
            Err(PathError::Reward { number, .. }) if number == n + 1
        ));
        // Another cell with the same action, or another action, is found out here or later.
        let to = |path: &mut Path| path.moves[n].to = (path.moves[n].to + 1) % 5;
        let prepared = path.moves[n].kind == Kind::Prepare;
        assert!(with(&to).is_err() || prepared, "move {n}");
        assert!(
            with(&|path| _ = path.moves.remove(n)).is_err() || prepared,
            "move {n}"
        );
    }
    let with = |change: &dyn Fn(&mut Path)| {
        let mut path = path.clone();
        change(&mut path);
        check(&path)
    };
    assert!(matches!(
        with(&|path| path.start_reward += &less),
        Err(PathError::Start { .. })
    ));
    assert!(matches!(
        with(&|path| path.reward -= &less),
        Err(PathError::End { .. })
    ));
    assert!(matches!(
        with(&|path| _ = path.moves.pop()),
        Err(PathError::End { .. })
    ));
}

#[test]
fn what_the_theorem_assumes_is_named_where_it_fails() {
    let square = || LatinSquare::cyclic(3).unwrap();
    let uniform = InputLaw::Uniform;
    let with = |law: &InputLaw, lengths: &[usize], shape: Shape| {
        let task = Task::new(square(), law, lengths).unwrap();
        let class = Class::new(task, shape, Allowance::default()).unwrap();
        assumptions(&class)
    };
    let plain = Shape::untied(0, 0);
    assert_eq!(with(&uniform, &[3], plain), Ok(()));
    assert_eq!(
        with(&uniform, &[3], Shape::tied(0, 0)),
        Err(EscapeError::Tied)
    );
    let window = Window { past: 1, future: 0 };
    assert_eq!(
        with(&uniform, &[3], Shape::untied(1, 0)),
        Err(EscapeError::Window(window))
    );
    let memory = Shape { memory: 2, ..plain };
    assert_eq!(with(&uniform, &[3], memory), Err(EscapeError::Memory(2)));
    assert_eq!(with(&uniform, &[3, 4], plain), Err(EscapeError::Lengths(2)));
    let markov = InputLaw::Markov(parse("9/10").unwrap());
    assert_eq!(with(&markov, &[3], plain), Err(EscapeError::Correlated));
    let row = |texts: [&str; 3]| texts.map(|text| parse(text).unwrap()).to_vec();
    let product = InputLaw::Product(vec![row(["1/3", "1/3", "1/3"]), row(["1/2", "1/2", "0"])]);
    assert_eq!(
        with(&product, &[2], plain),
        Err(EscapeError::NeverOccurs {
            position: 2,
            symbol: 2
        })
    );
}

#[test]
fn a_search_tells_what_it_found() {
    let task = Task::new(LatinSquare::cyclic(2).unwrap(), &InputLaw::Uniform, &[4]).unwrap();
    let class = Class::new(task, Shape::untied(1, 1), Allowance::default()).unwrap();
    let start = |code: &Code| Counter::new(&class, code.clone(), Allowance::default()).unwrap();
    let zero = Code::from_fn(&class, |_| 0);
    let found = search(start(&zero), 1_000_000, &mut Stream::new(1, 0));
    assert_eq!(found.outcome, Outcome::Optimum);
    assert_eq!(verify(&class, &found.path, Allowance::default()), Ok(()));
    assert_eq!(found.path.moves.last().map(|m| m.kind), Some(Kind::Raise));
    let none = search(start(&zero), 0, &mut Stream::new(1, 0));
    assert_eq!((none.outcome, none.path.moves.len()), (Outcome::Stuck, 0));
    let again = search(start(&zero), 1_000_000, &mut Stream::new(1, 0));
    assert_eq!(found, again);
}

#[test]
fn a_mixture_of_equal_codes_collapses_without_a_change_of_reward() {
    // Cells that nobody consults, mixed at random: a maximum of J, and every collapse is neutral.
    let class = class(LatinSquare::cyclic(3).unwrap(), &InputLaw::Uniform, 4);
    let zero = Code::from_fn(&class, |_| 0);
    let mut policy = Policy::deterministic(&class, &zero);
    let mut evaluator = Evaluator::new(&class, Allowance::default()).unwrap();
    let reward = evaluator.evaluate(&policy);
    let unseen = (0..class.cells()).filter(|&cell| evaluator.visits(cell) == 0.0);
    let unseen: Vec<usize> = unseen.collect();
    for &cell in &unseen {
        policy.set_row(cell, &[0.5, 0.25, 0.25]).unwrap();
    }
    let found = collapse(&policy, 1e-12, Allowance::default()).unwrap();
    assert_eq!(found.segments.len(), unseen.len());
    assert!(found.deviation <= 1e-15 && (found.start - reward).abs() <= 1e-15);
    assert_eq!((found.standing, &found.code), (Standing::Level, &zero));
}

#[test]
fn any_policy_climbs_to_a_code() {
    for (seed, shape) in [Shape::untied(0, 0), Shape::untied(1, 1)]
        .into_iter()
        .enumerate()
    {
        let task = Task::new(LatinSquare::paper(), &InputLaw::Uniform, &[4]).unwrap();
        let class = Class::new(task, shape, Allowance::default()).unwrap();
        let policy = random_policy(&class, &mut Stream::new(seed as u64, 0));
        let found = collapse(&policy, 1e-12, Allowance::default()).unwrap();
        assert!(matches!(found.standing, Standing::Ascends(ascent) if ascent.gain > 0.0));
        assert_eq!(found.segments.len(), class.cells());
        assert!(found.drop <= 1e-12);
        let mut evaluator = Evaluator::new(&class, Allowance::default()).unwrap();
        let (mut now, mut before) = (policy, found.start);
        for segment in found.segments.iter().take(150) {
            let mut point = vec![0.0; 5];
            point[segment.to as usize] = 1.0;
            assert_eq!(now.row(segment.cell), segment.from);
            now.set_row(segment.cell, &point).unwrap();
            assert!((evaluator.evaluate(&now) - segment.reward).abs() < 1e-13);
            assert!(segment.reward >= before - 1e-12);
            before = segment.reward;
        }
        let exact = count::reward(&class, &found.code).to_f64();
        assert!((found.segments.last().unwrap().reward - exact).abs() < 1e-12);
    }
    let task = Task::new(LatinSquare::paper(), &InputLaw::Uniform, &[3]).unwrap();
    let class = Class::new(task, Shape::tied(0, 0), Allowance::default()).unwrap();
    let refused = collapse(&Policy::uniform(&class), 1e-12, Allowance::default());
    assert_eq!(refused, Err(EscapeError::Tied));
}

#[test]
fn a_policy_that_no_cell_raises_may_be_a_saddle() {
    let class = class(LatinSquare::cyclic(2).unwrap(), &InputLaw::Uniform, 3);
    let found = collapse(&Policy::uniform(&class), 1e-12, Allowance::default()).unwrap();
    assert!(matches!(found.standing, Standing::Saddle(reward) if reward > 0.5));
    // Two codes of equal reward that differ where it does not matter: no saddle.
    let mut policy = Policy::deterministic(&class, &Code::from_fn(&class, |_| 0));
    policy.set_row(9, &[0.5, 0.5]).unwrap();
    let found = collapse(&policy, 1e-12, Allowance::default()).unwrap();
    assert_eq!((found.standing, found.segments.len()), (Standing::Level, 1));
}
