//! Holds the checker of paths to refusing every path that is not what it says.

use super::*;

#[test]
fn a_path_with_one_thing_changed_is_refused() {
    let class = class(Operation::paper(), &InputLaw::Uniform, 4);
    let paths = (0..).map(|seed| {
        let code = random_code(&class, &mut Stream::new(seed, 0));
        escape(&code, Context::default()).unwrap()
    });
    let kinds = [
        MoveKind::Consolidate,
        MoveKind::Prepare,
        MoveKind::Reroute,
        MoveKind::Finish,
    ];
    let has_all = |path: &Path| {
        let mut kinds = kinds.iter();
        kinds.all(|kind| path.moves.iter().any(|m| m.kind == Some(*kind)))
    };
    let path = paths.into_iter().take(1000).find(has_all);
    let path = path.expect("a path with moves of every kind");
    let check = |path: &Path| verify(path, Context::default());
    let one = Reward::new(1u32, 625u32);
    let more = |reward: &Reward| Reward::from(reward.ratio() + one.ratio());
    let less = |reward: &Reward| Reward::from(reward.ratio() - one.ratio());
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
            with(&|path| path.moves[n].reward = more(&path.moves[n].reward)),
            Err(PathError::Reward { number, .. }) if number == n + 1
        ));
        // Another cell with the same action, or another action, is found out here or later.
        let to = |path: &mut Path| path.moves[n].to = (path.moves[n].to + 1) % 5;
        let prepared = path.moves[n].kind == Some(MoveKind::Prepare);
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
        with(&|path| path.start_reward = more(&path.start_reward)),
        Err(PathError::Start { .. })
    ));
    assert!(matches!(
        with(&|path| path.reward = less(&path.reward)),
        Err(PathError::End { .. })
    ));
    assert!(matches!(
        with(&|path| _ = path.moves.pop()),
        Err(PathError::End { .. })
    ));
}

/// The cells that some input consults, one rollout after the other.
fn consulted(code: &Code) -> HashSet<usize> {
    let (class, task) = (code.class(), code.class().task());
    let (q, length) = (class.q(), task.longest());
    let mut cells = HashSet::new();
    for n in 0..q.pow(length as u32) {
        let digit = |i: usize| (n / q.pow(i as u32) % q) as Symbol;
        let x: Vec<Symbol> = (0..length).map(digit).collect();
        let mut y = Vec::new();
        for t in 1..=length {
            let cell = class.route(&x, t, &y);
            cells.insert(cell);
            y.push(code.action(cell));
        }
    }
    cells
}

#[test]
fn a_move_of_another_kind_is_refused_unless_that_is_true_of_it() {
    let class = class(Operation::cyclic(3).unwrap(), &InputLaw::Uniform, 4);
    let mut refused = BTreeMap::new();
    for seed in 0..12 {
        let mut code = random_code(&class, &mut Stream::new(seed, 0));
        let path = escape(&code, Context::default()).unwrap();
        let mut before = path.start_reward.clone();
        for (n, m) in path.moves.iter().enumerate() {
            let is_raised = m.reward > before;
            let is_consulted = consulted(&code).contains(&m.cell);
            let kinds = MoveKind::NAMES.map(|(_, kind)| Some(kind));
            for kind in kinds.into_iter().chain([None]) {
                let is_true = match kind {
                    None | Some(MoveKind::Consolidate | MoveKind::Reroute) => true,
                    Some(MoveKind::Finish | MoveKind::Raise) => is_raised,
                    Some(MoveKind::Neutral) => !is_raised,
                    // A cell that no input consults raises nothing.
                    Some(MoveKind::Prepare) => !is_consulted && !is_raised,
                };
                let mut other = path.clone();
                other.moves[n].kind = kind;
                match verify(&other, Context::default()) {
                    Ok(()) => assert!(is_true, "move {n} as {kind:?}"),
                    Err(PathError::Kind {
                        number, kind: said, ..
                    }) => {
                        assert!(!is_true && number == n + 1 && kind == Some(said));
                        *refused.entry(said).or_insert(0) += 1;
                    }
                    Err(other) => panic!("{other}"),
                }
            }
            code.set(m.cell, m.to);
            before = m.reward.clone();
        }
    }
    let kinds = [
        MoveKind::Prepare,
        MoveKind::Finish,
        MoveKind::Neutral,
        MoveKind::Raise,
    ];
    assert!(refused.keys().eq(&kinds), "{refused:?}");
}

#[test]
fn kinds_are_checked_where_inputs_are_too_many_to_list_too() {
    let class = class(Operation::cyclic(2).unwrap(), &InputLaw::Uniform, 140);
    let code = random_code(&class, &mut Stream::new(3, 0));
    let path = escape(&code, Context::default()).unwrap();
    let rewards = || {
        [&path.start_reward]
            .into_iter()
            .chain(path.moves.iter().map(|m| &m.reward))
    };
    let raises = |n: &usize| rewards().nth(*n) < rewards().nth(n + 1);
    let raising = (0..path.moves.len()).find(raises).unwrap();
    let refused = |kind| {
        let mut other = path.clone();
        other.moves[raising].kind = Some(kind);
        verify(&other, Context::default()).unwrap_err()
    };
    for (kind, why) in [
        (MoveKind::Prepare, "an input consults the cell"),
        (MoveKind::Neutral, "J rises"),
    ] {
        let number = raising + 1;
        assert_eq!(refused(kind), PathError::Kind { number, kind, why });
    }
}
