//! Compares the check of verdicts with a plain one, on true verdicts and on all that differ from
//! them in one number.

#[path = "common/neighbours.rs"]
mod neighbours;

use foldglass::check::verdict::{
    Checked, Claim, Effort, Move, Node, Settings, Verdict, VerdictError, check,
};
use foldglass::class::{Allowance, Class, Shape};
use foldglass::count::reference::reward_by_rollouts;
use foldglass::exact::parse;
use foldglass::inputs::InputLaw;
use foldglass::landscape::shelf::{self, Search, Shelf, Workers};
use foldglass::policy::Code;
use foldglass::quasigroup::{LatinSquare, Symbol};
use foldglass::stream::Stream;
use foldglass::task::Task;
use neighbours::neighbours;
use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;

type Rational = dashu_ratio::RBig;

fn class(law: &InputLaw, lengths: &[usize], shape: Shape) -> Class {
    let task = Task::new(LatinSquare::cyclic(2).unwrap(), law, lengths).unwrap();
    Class::new(task, shape, Allowance::default()).unwrap()
}

fn correlated() -> InputLaw {
    InputLaw::Markov(parse("9/10").unwrap())
}

/// Rewards by the definition, each code's once.
struct Rewards<'a> {
    class: &'a Class,
    known: HashMap<Code, Rational>,
}

impl Rewards<'_> {
    fn of(&mut self, code: &Code) -> Rational {
        if let Some(reward) = self.known.get(code) {
            return reward.clone();
        }
        let reward = reward_by_rollouts(self.class, code);
        let reward = Rational::from_parts(reward.num.into(), reward.den);
        self.known.insert(code.clone(), reward.clone());
        reward
    }

    /// Whether a verdict is true, word by word.
    fn hold(&mut self, verdict: &Verdict) -> bool {
        let level = self.of(&verdict.start);
        if level != verdict.reward {
            return false;
        }
        match &verdict.claim {
            Claim::Optimal => level == Rational::ONE,
            _ if level == Rational::ONE => false,
            Claim::Escapes { moves } => {
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
                }
                !moves.is_empty()
            }
            Claim::Certified { nodes } => {
                let (list, all) = self.listing(&verdict.start, usize::MAX);
                list == *nodes && !all.iter().any(|code| self.has_exit(code))
            }
            Claim::Bounded { cap, nodes, beyond } => {
                let (list, all) = self.listing(&verdict.start, *cap + 1);
                let listed: Vec<Node> = nodes.iter().copied().chain([*beyond]).collect();
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
    fn listing(&mut self, start: &Code, most: usize) -> (Vec<Node>, Vec<Code>) {
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
                    nodes.push(Node {
                        parent: next,
                        cell,
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

fn search(class: &Class, code: &Code, cap: usize) -> Shelf {
    let mut workers = Workers::new(class, 1, Allowance::default()).unwrap();
    let mut search = Search::new(&mut workers, code.clone(), cap);
    search.explore(&mut workers, |_| ControlFlow::Continue(()));
    search.finish()
}

/// What a search claims.
fn claimed(start: &Code, shelf: &Shelf) -> Verdict {
    let ratio = |exact: &foldglass::count::Exact| parse(&exact.to_string()).unwrap();
    let node = |n: &shelf::Node| Node {
        parent: n.parent as usize,
        cell: n.cell as usize,
        action: n.action,
    };
    let nodes: Vec<Node> = shelf.nodes.iter().map(node).collect();
    let claim = match &shelf.verdict {
        shelf::Verdict::Optimal => Claim::Optimal,
        shelf::Verdict::Certified => Claim::Certified { nodes },
        shelf::Verdict::Bounded { beyond } => Claim::Bounded {
            cap: nodes.len() + 1,
            nodes,
            beyond: node(beyond),
        },
        shelf::Verdict::Escapes { path, reward } => {
            let step = |(i, change): (usize, &shelf::Change)| Move {
                cell: change.cell,
                from: change.from,
                to: change.to,
                reward: ratio(match i + 1 == path.len() {
                    true => reward,
                    false => &shelf.reward,
                }),
            };
            let moves = path.iter().enumerate().map(step).collect();
            Claim::Escapes { moves }
        }
    };
    Verdict {
        start: start.clone(),
        reward: ratio(&shelf.reward),
        claim,
    }
}

fn settings(effort: Effort, threads: usize) -> Settings {
    Settings {
        effort,
        threads,
        each: Allowance::default(),
    }
}

fn run(class: &Class, verdict: &Verdict) -> Result<Checked, VerdictError> {
    let settings = settings(Effort::All, 1);
    check(class, verdict, settings, |_, _| ControlFlow::Continue(()))
}

/// All nodes that differ from one in one number.
fn other_nodes(class: &Class, node: Node, parents: usize) -> Vec<Node> {
    let parent = (0..parents).map(|parent| Node { parent, ..node });
    let cell = (0..class.cells()).map(|cell| Node { cell, ..node });
    let action = (0..class.q() as Symbol).map(|action| Node { action, ..node });
    let all = parent.chain(cell).chain(action);
    all.filter(|&other| other != node).collect()
}

fn other_lists(class: &Class, nodes: &[Node]) -> Vec<Vec<Node>> {
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
    for reward in [&verdict.reward + &tenth, &verdict.reward - &tenth, 1.into()] {
        let claim = verdict.claim.clone();
        let start = verdict.start.clone();
        list.push(Verdict {
            start,
            reward,
            claim,
        });
    }
    let mut claims = vec![Claim::Optimal];
    match &verdict.claim {
        Claim::Optimal => claims.push(Claim::Certified { nodes: vec![] }),
        Claim::Certified { nodes } => {
            let lists = other_lists(class, nodes).into_iter();
            claims.extend(lists.map(|nodes| Claim::Certified { nodes }));
            if let Some((&beyond, nodes)) = nodes.split_last() {
                claims.push(Claim::Bounded {
                    cap: nodes.len() + 2,
                    nodes: nodes.to_vec(),
                    beyond,
                });
            }
        }
        Claim::Bounded { cap, nodes, beyond } => {
            let bounded = |cap: usize, nodes: &[Node], beyond: Node| Claim::Bounded {
                cap,
                nodes: nodes.to_vec(),
                beyond,
            };
            let lists = other_lists(class, nodes);
            claims.extend(lists.iter().map(|nodes| bounded(*cap, nodes, *beyond)));
            let beyonds = other_nodes(class, *beyond, nodes.len() + 2);
            claims.extend(beyonds.iter().map(|&beyond| bounded(*cap, nodes, beyond)));
            claims.extend([cap - 1, cap + 1].map(|cap| bounded(cap, nodes, *beyond)));
            let nodes = nodes.clone();
            claims.push(Claim::Certified { nodes });
        }
        Claim::Escapes { moves } => {
            claims.push(Claim::Certified { nodes: vec![] });
            for i in 0..moves.len() {
                let mut push = |change: &dyn Fn(&mut Vec<Move>)| {
                    let mut moves = moves.clone();
                    change(&mut moves);
                    claims.push(Claim::Escapes { moves });
                };
                for cell in 0..class.cells() {
                    push(&|moves| moves[i].cell = cell);
                }
                push(&|moves| moves[i].from = 1 - moves[i].from);
                push(&|moves| moves[i].to = 1 - moves[i].to);
                push(&|moves| moves[i].reward += &tenth);
                push(&|moves| _ = moves.remove(i));
                push(&|moves| moves.insert(i, moves[i].clone()));
            }
        }
    }
    list.extend(claims.into_iter().map(|claim| Verdict {
        claim,
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
    ] {
        let mut rewards = Rewards {
            class: &class,
            known: HashMap::new(),
        };
        let mut stream = Stream::new(3, 0);
        for _ in 0..20 {
            let mut code = Code::from_fn(&class, |_| stream.below(2) as Symbol);
            // Up along the paths that are found, each end a verdict of its own.
            loop {
                for cap in [2, 7, 100] {
                    let verdict = claimed(&code, &search(&class, &code, cap));
                    let kind = match &verdict.claim {
                        Claim::Optimal => "optimal",
                        Claim::Certified { .. } => "certified",
                        Claim::Bounded { .. } => "bounded",
                        Claim::Escapes { .. } => "escapes",
                    };
                    let seen = kinds.entry(kind).or_default();
                    *seen += 1;
                    if *seen > 30 {
                        continue;
                    }
                    run(&class, &verdict).unwrap();
                    assert!(rewards.hold(&verdict));
                    for other in others(&class, &verdict) {
                        let found = run(&class, &other);
                        assert_eq!(found.is_ok(), rewards.hold(&other), "{other:?}: {found:?}");
                        match found {
                            Ok(_) => kept += 1,
                            Err(_) => refused += 1,
                        }
                    }
                }
                let shelf = search(&class, &code, 100);
                let shelf::Verdict::Escapes { path, .. } = shelf.verdict else {
                    break;
                };
                for change in path {
                    code.set(change.cell, change.to);
                }
            }
        }
    }
    let kinds: Vec<&str> = kinds.into_keys().collect();
    assert_eq!(kinds, ["bounded", "certified", "escapes", "optimal"]);
    // Those still true change a cell that no rollout consults.
    assert!(refused > 20 * kept, "{kept} of {} are true", refused + kept);
}

#[test]
fn a_bounded_shelf_is_sampled_and_the_sample_is_stated() {
    let class = class(&InputLaw::Uniform, &[8], Shape::untied(0, 0));
    let zero = Code::from_fn(&class, |_| 0);
    let verdict = claimed(&zero, &search(&class, &zero, 500));
    let checked = |effort, threads| {
        let settings = settings(effort, threads);
        check(&class, &verdict, settings, |_, _| ControlFlow::Continue(())).unwrap()
    };
    for (effort, looked_at) in [
        (Effort::Sample(20), 20),
        (Effort::Sample(499), 499),
        (Effort::Sample(1000), 500),
        (Effort::All, 500),
    ] {
        for threads in [1, 3] {
            let codes = 501;
            assert_eq!(checked(effort, threads), Checked { codes, looked_at });
        }
    }
}

#[test]
fn the_first_code_that_fails_is_reported_whatever_the_threads() {
    let class = class(&InputLaw::Uniform, &[8], Shape::untied(0, 0));
    let zero = Code::from_fn(&class, |_| 0);
    let mut verdict = claimed(&zero, &search(&class, &zero, 500));
    if let Claim::Bounded { nodes, .. } = &verdict.claim {
        // A part of a shelf is no whole.
        let nodes = nodes.clone();
        verdict.claim = Claim::Certified { nodes };
    }
    let error = |threads| {
        let settings = settings(Effort::All, threads);
        check(&class, &verdict, settings, |_, _| ControlFlow::Continue(())).unwrap_err()
    };
    assert!(matches!(error(1), VerdictError::NotClosed { .. }));
    assert_eq!(error(1), error(4));
}

#[test]
fn a_check_can_be_stopped() {
    let class = class(&InputLaw::Uniform, &[8], Shape::untied(0, 0));
    let zero = Code::from_fn(&class, |_| 0);
    let verdict = claimed(&zero, &search(&class, &zero, 500));
    let stop = |done: usize, all: usize| match done < 10 && all == 501 {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(()),
    };
    let error = check(&class, &verdict, settings(Effort::All, 2), stop).unwrap_err();
    assert_eq!(error, VerdictError::Stopped);
}
