//! Holds policies that collapse to codes, and what a search says, to rewards that never fall.

use super::*;

#[test]
fn a_search_tells_what_it_found() {
    let task = Task::new(Operation::cyclic(2).unwrap(), &InputLaw::Uniform, &[4]).unwrap();
    let class = Class::new(task, Shape::untied(1, 1)).unwrap();
    let start = |code: &Code| Counter::new(code.clone()).unwrap();
    let zero = Code::from_fn(&class, |_| 0);
    let found = search(
        start(&zero),
        1_000_000,
        &mut Stream::new(1, 0),
        Context::default(),
    );
    assert_eq!(found.outcome, SearchOutcome::Optimum);
    assert_eq!(verify(&found.path, Context::default()), Ok(()));
    assert_eq!(
        found.path.moves.last().map(|m| m.kind),
        Some(Some(MoveKind::Raise))
    );
    let none = search(start(&zero), 0, &mut Stream::new(1, 0), Context::default());
    assert_eq!(
        (none.outcome, none.path.moves.len()),
        (SearchOutcome::Stuck, 0)
    );
    let again = search(
        start(&zero),
        1_000_000,
        &mut Stream::new(1, 0),
        Context::default(),
    );
    assert_eq!(found, again);
}

#[test]
fn a_mixture_of_equal_codes_collapses_without_a_change_of_reward() {
    // Cells that nobody consults, mixed at random: a maximum of J, and every collapse is neutral.
    let class = class(Operation::cyclic(3).unwrap(), &InputLaw::Uniform, 4);
    let zero = Code::from_fn(&class, |_| 0);
    let mut policy = Policy::deterministic(&zero);
    let mut evaluator = Evaluator::new(&class).unwrap();
    let reward = evaluator.evaluate(&policy);
    let unseen = (0..class.cells()).filter(|&cell| evaluator.visits(cell) == 0.0);
    let unseen: Vec<usize> = unseen.collect();
    for &cell in &unseen {
        policy.set_row(cell, &[0.5, 0.25, 0.25]).unwrap();
    }
    let found = collapse(&policy, 1e-12, Context::default()).unwrap();
    assert_eq!(found.segments.len(), unseen.len());
    assert!(found.deviation <= 1e-15 && (found.start - reward).abs() <= 1e-15);
    assert_eq!(
        (found.standing, &found.code),
        (PolicyStanding::Level, &zero)
    );
}

#[test]
fn any_policy_climbs_to_a_code() {
    for (seed, shape) in [Shape::untied(0, 0), Shape::untied(1, 1)]
        .into_iter()
        .enumerate()
    {
        let task = Task::new(Operation::paper(), &InputLaw::Uniform, &[4]).unwrap();
        let class = Class::new(task, shape).unwrap();
        let policy = random_policy(&class, &mut Stream::new(seed as u64, 0));
        let found = collapse(&policy, 1e-12, Context::default()).unwrap();
        assert!(matches!(found.standing, PolicyStanding::Ascends(ascent) if ascent.gain > 0.0));
        assert_eq!(found.segments.len(), class.cells());
        assert!(found.drop <= 1e-12);
        let mut evaluator = Evaluator::new(&class).unwrap();
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
        let exact = count::reward(&found.code).to_f64();
        assert!((found.segments.last().unwrap().reward - exact).abs() < 1e-12);
    }
    let task = Task::new(Operation::paper(), &InputLaw::Uniform, &[3]).unwrap();
    let class = Class::new(task, Shape::tied(0, 0)).unwrap();
    let refused = collapse(&Policy::uniform(&class), 1e-12, Context::default());
    assert_eq!(refused, Err(EscapeError::Unmet(vec![Hypothesis::Untied])));
}

#[test]
fn a_policy_that_no_cell_raises_may_be_a_saddle() {
    let class = class(Operation::cyclic(2).unwrap(), &InputLaw::Uniform, 3);
    let found = collapse(&Policy::uniform(&class), 1e-12, Context::default()).unwrap();
    assert!(matches!(found.standing, PolicyStanding::Saddle(reward) if reward > 0.5));
    // Two codes of equal reward that differ where it does not matter: no saddle.
    let mut policy = Policy::deterministic(&Code::from_fn(&class, |_| 0));
    policy.set_row(9, &[0.5, 0.5]).unwrap();
    let found = collapse(&policy, 1e-12, Context::default()).unwrap();
    assert_eq!(
        (found.standing, found.segments.len()),
        (PolicyStanding::Level, 1)
    );
}
