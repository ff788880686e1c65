//! Compares the check of verdicts with a plain one, on true verdicts and on all that differ from
//! them in one number.

use crate::common::all::reweighed;
use crate::common::neighbours::neighbours;
use crate::common::random_table;
use crate::common::rewards::Rewards;
use foldglass::Context;
use foldglass::landscape::shelf::{Search, Workers};
use foldglass::proof::check::verdict::{Checked, Effort, VerdictError, check};
use foldglass::proof::claim::{CodeNode, Finding, Move, MoveKind, Verdict};
use foldglass::support::exact::parse;
use foldglass::support::watch::Stopped;
use foldglass::{Class, Code, InputLaw, Operation, Progress, Reward, Shape, Stream, Symbol, Task};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

fn class(law: &InputLaw, lengths: &[usize], shape: Shape) -> Class {
    let task = Task::new(Operation::cyclic(2).unwrap(), law, lengths).unwrap();
    Class::new(task, shape).unwrap()
}

fn correlated() -> InputLaw {
    InputLaw::Markov(parse("9/10").unwrap())
}

impl Rewards<'_> {
    /// Whether a verdict is true, word by word.
    fn hold(&mut self, verdict: &Verdict) -> bool {
        let level = self.of(&verdict.start);
        if level != verdict.reward {
            return false;
        }
        match &verdict.finding {
            Finding::Optimal => level.is_one(),
            _ if level.is_one() => false,
            Finding::Escapes { moves } => {
                let mut code = verdict.start.clone();
                for (i, m) in moves.iter().enumerate() {
                    if code.action(m.cell) != m.from || m.from == m.to {
                        return false;
                    }
                    code.set(m.cell, m.to);
                    let (now, last) = (self.of(&code), i + 1 == moves.len());
                    if now != m.reward || (now > level) != last || now < level {
                        return false;
                    }
                    let kind = if last {
                        MoveKind::Raise
                    } else {
                        MoveKind::Neutral
                    };
                    if m.kind.is_some_and(|stated| stated != kind) {
                        return false;
                    }
                }
                !moves.is_empty()
            }
            Finding::Certified { nodes } => {
                let (list, all) = self.listing(&verdict.start, usize::MAX);
                list == *nodes && !all.iter().any(|code| self.has_exit(code))
            }
            Finding::Bounded { cap, nodes, beyond } => {
                let (list, all) = self.listing(&verdict.start, *cap + 1);
                let listed: Vec<CodeNode> = nodes.iter().copied().chain([*beyond]).collect();
                list.len() == *cap
                    && list == listed
                    && !all[..*cap].iter().any(|code| self.has_exit(code))
            }
        }
    }

    fn has_exit(&mut self, code: &Code) -> bool {
        let level = self.of(code);
        let around = neighbours(self.class, code);
        around.iter().any(|other| self.of(other) > level)
    }

    /// The first codes of a shelf in breadth-first order, as nodes and whole.
    fn listing(&mut self, start: &Code, most: usize) -> (Vec<CodeNode>, Vec<Code>) {
        let (mut nodes, mut all) = (Vec::new(), vec![start.clone()]);
        let level = self.of(start);
        let mut next = 0;
        while next < all.len() && all.len() < most {
            for code in neighbours(self.class, &all[next].clone()) {
                if all.len() < most && self.of(&code) == level && !all.contains(&code) {
                    let old = &all[next];
                    let cells = 0..self.class.cells();
                    let mut differ = cells.filter(|&cell| old.action(cell) != code.action(cell));
                    let cell = differ.next().unwrap();
                    nodes.push(CodeNode {
                        parent: next as u32,
                        cell: cell as u32,
                        action: code.action(cell),
                    });
                    all.push(code);
                }
            }
            next += 1;
        }
        (nodes, all)
    }
}

/// What a search claims.
fn search(class: &Class, code: &Code, cap: usize) -> Verdict {
    let mut workers = Workers::new(class, Context::default().with_threads(1)).unwrap();
    let mut search = Search::new(&mut workers, code.clone(), cap);
    search.explore(&mut workers, Context::default());
    search.finish().unwrap().verdict
}

fn run(verdict: &Verdict, effort: Effort, threads: usize) -> Result<Checked, VerdictError> {
    check(verdict, effort, Context::default().with_threads(threads))
}

/// All nodes that differ from one in one number.
fn other_nodes(class: &Class, node: CodeNode, parents: usize) -> Vec<CodeNode> {
    let parent = (0..parents as u32).map(|parent| CodeNode { parent, ..node });
    let cell = (0..class.cells() as u32).map(|cell| CodeNode { cell, ..node });
    let action = (0..class.q() as Symbol).map(|action| CodeNode { action, ..node });
    let all = parent.chain(cell).chain(action);
    all.filter(|&other| other != node).collect()
}

fn other_lists(class: &Class, nodes: &[CodeNode]) -> Vec<Vec<CodeNode>> {
    let mut lists = Vec::new();
    for (i, &node) in nodes.iter().enumerate() {
        for other in other_nodes(class, node, nodes.len() + 2) {
            let mut list = nodes.to_vec();
            list[i] = other;
            lists.push(list);
        }
        let mut fewer = nodes.to_vec();
        fewer.remove(i);
        let mut more = nodes.to_vec();
        more.insert(i, node);
        lists.extend([fewer, more]);
    }
    lists
}

/// All verdicts that differ from one in one number, lack or repeat a node or move, or have another
/// kind.
fn others(class: &Class, verdict: &Verdict) -> Vec<Verdict> {
    let mut list = Vec::new();
    for cell in 0..class.cells() {
        for action in (0..class.q() as Symbol).filter(|&a| a != verdict.start.action(cell)) {
            let mut other = verdict.clone();
            other.start.set(cell, action);
            list.push(other);
        }
    }
    let tenth = parse("1/10").unwrap();
    let more = |reward: &Reward| Reward::from(reward.ratio() + &tenth);
    let less = |reward: &Reward| Reward::from(reward.ratio() - &tenth);
    for reward in [more(&verdict.reward), less(&verdict.reward), Reward::ONE] {
        list.push(Verdict {
            reward,
            ..verdict.clone()
        });
    }
    let mut findings = vec![Finding::Optimal];
    match &verdict.finding {
        Finding::Optimal => findings.push(Finding::Certified { nodes: vec![] }),
        Finding::Certified { nodes } => {
            let lists = other_lists(class, nodes).into_iter();
            findings.extend(lists.map(|nodes| Finding::Certified { nodes }));
            if let Some((&beyond, nodes)) = nodes.split_last() {
                findings.push(Finding::Bounded {
                    cap: nodes.len() + 2,
                    nodes: nodes.to_vec(),
                    beyond,
                });
            }
        }
        Finding::Bounded { cap, nodes, beyond } => {
            let bounded = |cap: usize, nodes: &[CodeNode], beyond: CodeNode| Finding::Bounded {
                cap,
                nodes: nodes.to_vec(),
                beyond,
            };
            let lists = other_lists(class, nodes);
            findings.extend(lists.iter().map(|nodes| bounded(*cap, nodes, *beyond)));
            let beyonds = other_nodes(class, *beyond, nodes.len() + 2);
            findings.extend(beyonds.iter().map(|&beyond| bounded(*cap, nodes, beyond)));
            findings.extend([cap - 1, cap + 1].map(|cap| bounded(cap, nodes, *beyond)));
            let nodes = nodes.clone();
            findings.push(Finding::Certified { nodes });
        }
        Finding::Escapes { moves } => {
            findings.push(Finding::Certified { nodes: vec![] });
            for i in 0..moves.len() {
                let mut push = |change: &dyn Fn(&mut Vec<Move>)| {
                    let mut moves = moves.clone();
                    change(&mut moves);
                    findings.push(Finding::Escapes { moves });
                };
                for cell in 0..class.cells() {
                    push(&|moves| moves[i].cell = cell);
                }
                push(&|moves| moves[i].from = 1 - moves[i].from);
                push(&|moves| moves[i].to = 1 - moves[i].to);
                push(&|moves| moves[i].reward = more(&moves[i].reward));
                let kinds = MoveKind::NAMES.map(|(_, kind)| Some(kind));
                for kind in kinds.into_iter().chain([None]) {
                    push(&|moves| moves[i].kind = kind);
                }
                push(&|moves| _ = moves.remove(i));
                push(&|moves| moves.insert(i, moves[i].clone()));
            }
        }
    }
    list.extend(findings.into_iter().map(|finding| Verdict {
        finding,
        ..verdict.clone()
    }));
    list.retain(|other| other != verdict);
    list
}

#[test]
fn verdicts_with_one_number_changed_are_refused_unless_they_are_true() {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut refused, mut kept) = (0, 0);
    for class in [
        class(&correlated(), &[4], Shape::untied(0, 0)),
        class(&correlated(), &[3], Shape::tied(0, 1)),
        class(&InputLaw::Uniform, &[2, 4], Shape::tied(1, 0)),
        reweighed(
            &class(&InputLaw::Uniform, &[3], Shape::untied(0, 1)),
            None,
            "process:1,2,4",
        ),
    ] {
        let mut rewards = Rewards::new(&class);
        let mut stream = Stream::new(3, 0);
        for _ in 0..20 {
            let mut code = Code::from_fn(&class, |_| stream.below(2) as Symbol);
            // Up along the paths that are found, each end a verdict of its own.
            loop {
                for cap in [2, 7, 100] {
                    let verdict = search(&class, &code, cap);
                    let seen = kinds.entry(verdict.finding.name()).or_default();
                    *seen += 1;
                    if *seen > 30 {
                        continue;
                    }
                    run(&verdict, Effort::All, 1).unwrap();
                    assert!(rewards.hold(&verdict));
                    for other in others(&class, &verdict) {
                        let found = run(&other, Effort::All, 1);
                        assert_eq!(found.is_ok(), rewards.hold(&other), "{other:?}: {found:?}");
                        match found {
                            Ok(_) => kept += 1,
                            Err(_) => refused += 1,
                        }
                    }
                }
                let Finding::Escapes { moves } = search(&class, &code, 100).finding else {
                    break;
                };
                for m in moves {
                    code.set(m.cell, m.to);
                }
            }
        }
    }
    let kinds: Vec<&str> = kinds.into_keys().collect();
    assert_eq!(kinds, ["bounded", "certified", "escapes", "optimal"]);
    // Those still true change a cell that no rollout consults, or say no kind of a move.
    assert!(refused > 20 * kept, "{kept} of {} are true", refused + kept);
}

/// Any table, Latin or not: what the search claims holds by the definitions, and the checker agrees.
#[test]
fn verdicts_over_any_table_hold() {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for seed in 0..24 {
        let (q, shape) = match seed % 3 {
            0 => (3, Shape::untied(0, 0)),
            1 => (2, Shape::tied(0, 1)),
            _ => (2, Shape::untied(1, 0)),
        };
        let law = if seed % 2 == 0 {
            correlated()
        } else {
            InputLaw::Uniform
        };
        let task = Task::new(random_table(q, 2 * seed + 1), &law, &[7 - 2 * q]).unwrap();
        let class = Class::new(task, shape).unwrap();
        let mut rewards = Rewards::new(&class);
        let mut code = Code::from_fn(&class, |_| 0);
        loop {
            let verdict = search(&class, &code, 40);
            *kinds.entry(verdict.finding.name()).or_default() += 1;
            run(&verdict, Effort::All, 1).unwrap();
            assert!(rewards.hold(&verdict), "{verdict:?}");
            let Finding::Escapes { moves } = verdict.finding else {
                break;
            };
            moves.iter().for_each(|m| code.set(m.cell, m.to));
        }
    }
    assert!(kinds["escapes"] > 24 && kinds["optimal"] > 0, "{kinds:?}");
}

#[test]
fn a_bounded_shelf_is_sampled_and_the_sample_is_stated() {
    let class = class(&InputLaw::Uniform, &[8], Shape::untied(0, 0));
    let zero = Code::from_fn(&class, |_| 0);
    let verdict = search(&class, &zero, 500);
    for (effort, looked_at) in [
        (Effort::Sample(0), 0),
        (Effort::Sample(1), 1),
        (Effort::Sample(20), 20),
        (Effort::Sample(499), 499),
        (Effort::Sample(1000), 500),
        (Effort::All, 500),
    ] {
        for threads in [1, 3] {
            let codes = 501;
            let checked = run(&verdict, effort, threads);
            assert_eq!(
                checked,
                Ok(Checked {
                    codes,
                    looked_at,
                    flooded: 0
                })
            );
        }
    }
}

#[test]
fn the_first_code_that_fails_is_reported_whatever_the_threads() {
    let class = class(&InputLaw::Uniform, &[8], Shape::untied(0, 0));
    let zero = Code::from_fn(&class, |_| 0);
    let mut verdict = search(&class, &zero, 500);
    if let Finding::Bounded { nodes, .. } = &verdict.finding {
        // A part of a shelf is no whole.
        let nodes = nodes.clone();
        verdict.finding = Finding::Certified { nodes };
    }
    let error = |threads| run(&verdict, Effort::All, threads).unwrap_err();
    assert!(matches!(error(1), VerdictError::NotClosed { .. }));
    assert_eq!(error(1), error(4));
}

#[test]
fn a_check_can_be_stopped() {
    let class = class(&InputLaw::Uniform, &[8], Shape::untied(0, 0));
    let zero = Code::from_fn(&class, |_| 0);
    let verdict = search(&class, &zero, 500);
    let stop = |progress: Progress| {
        if progress.done < 10 && progress.all == Some(501) {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    };
    let error = check(
        &verdict,
        Effort::All,
        Context::default().with_threads(2).with_observer(&stop),
    )
    .unwrap_err();
    assert_eq!(error, VerdictError::Stopped(Stopped));
}

/// Codes of a shelf in the order of a search, up to the first that has an exit and one more, called
/// bounded: all that it says is true but for the last code listed. Also the number of that code.
fn with_an_exit_at_the_last_code(rewards: &mut Rewards, start: &Code) -> Option<(Verdict, usize)> {
    let (list, all) = rewards.listing(start, 200);
    let last = all.iter().position(|code| rewards.has_exit(code))?;
    let finding = Finding::Bounded {
        cap: last + 1,
        nodes: list[..last].to_vec(),
        beyond: *list.get(last)?,
    };
    let (start, reward) = (start.clone(), rewards.of(start));
    let verdict = Verdict {
        start,
        reward,
        finding,
        way_out: None,
    };
    Some((verdict, last))
}

#[test]
fn every_sample_of_two_or_more_sees_an_exit_at_the_last_code_listed() {
    let class = class(&InputLaw::Uniform, &[4], Shape::untied(0, 0));
    let mut rewards = Rewards::new(&class);
    let (mut first, mut later) = (0, Vec::new());
    for number in 0..300 {
        let mut stream = Stream::new(9, number);
        let code = Code::from_fn(&class, |_| stream.below(2) as Symbol);
        let Some((verdict, last)) = with_an_exit_at_the_last_code(&mut rewards, &code) else {
            continue;
        };
        let exit_found = |effort| match run(&verdict, effort, 1) {
            Err(VerdictError::Exit { number, .. }) => assert_eq!(number, last),
            other => panic!("{effort:?} of {}: {other:?}", last + 1),
        };
        exit_found(Effort::All);
        (2..=last + 2).for_each(|most| exit_found(Effort::Sample(most)));
        let codes = last + 2;
        let unseen = |most, looked_at| {
            let checked = run(&verdict, Effort::Sample(most), 1);
            assert_eq!(
                checked,
                Ok(Checked {
                    codes,
                    looked_at,
                    flooded: 0
                })
            );
        };
        unseen(0, 0);
        if last == 0 {
            exit_found(Effort::Sample(1));
            first += 1;
        } else {
            // One alone is the start, which has none.
            unseen(1, 1);
            later.push(last);
        }
    }
    assert!(first > 20 && later.len() > 20, "{first} {later:?}");
    assert!(later.iter().any(|&last| last > 20), "{later:?}");
}

#[test]
fn the_kinds_that_moves_state_are_checked() {
    let class = class(&InputLaw::Uniform, &[3], Shape::untied(0, 0));
    let copy = Code::from_fn(&class, |cell| class.key(cell).x[0].unwrap());
    let verdict = search(&class, &copy, 1000);
    let Finding::Escapes { moves } = &verdict.finding else {
        panic!("a neutral change and a raise lead on");
    };
    assert_eq!(moves.len(), 2);
    let with = |first, second| {
        let mut other = verdict.clone();
        if let Finding::Escapes { moves } = &mut other.finding {
            (moves[0].kind, moves[1].kind) = (first, second);
        }
        run(&other, Effort::All, 1)
    };
    let all: Vec<Option<MoveKind>> = [None]
        .into_iter()
        .chain(MoveKind::NAMES.map(|(_, kind)| Some(kind)))
        .collect();
    for &first in &all {
        for &second in &all {
            let fits = [None, Some(MoveKind::Neutral)].contains(&first);
            let both_fit = fits && [None, Some(MoveKind::Raise)].contains(&second);
            let wrong = if fits { 2 } else { 1 };
            match with(first, second) {
                Ok(_) => assert!(both_fit, "{first:?} {second:?}"),
                Err(VerdictError::WrongMove { number, wanted, .. }) => {
                    assert!(!both_fit && number == wrong, "{first:?} {second:?}");
                    assert_eq!(wanted, "the last move is a raise, the others are neutral");
                }
                Err(other) => panic!("{other}"),
            }
        }
    }
}
