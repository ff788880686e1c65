//! Finds the positions of the input that a code ignores (paper, App. G.6).
//!
//! A code ignores position i at length T when no change of x_i changes its answer y_T, whatever the
//! other symbols are. Two inputs that differ in x_i only are followed side by side. What the rest of
//! two rollouts depends on is the symbols in sight and the tokens that either remembers, so pairs that
//! agree in these are one: the work is linear in T. Inputs that cannot occur are left out as far as a
//! window shows it.

use crate::class::{Class, Group, Node};
use crate::policy::Code;
use crate::quasigroup::Symbol;
use std::collections::HashSet;

/// Two rollouts on inputs that differ in one position.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Pair {
    /// The symbols drawn so far that are still seen, oldest first.
    x: Vec<Symbol>,
    /// What the second input has in the position in question.
    other: Symbol,
    /// The tokens that each remembers, oldest first.
    y: [Vec<Symbol>; 2],
}

/// The positions, counted from 1, that a code ignores at a length of its task, ascending.
///
/// ```
/// use foldglass::landscape::ignored::ignored;
/// use foldglass::{Allowance, ClassSpec, Code, LatinSquare, Shape};
/// let spec = ClassSpec::uniform(LatinSquare::cyclic(2).unwrap(), &[3], Shape::untied(0, 0));
/// let class = spec.lay_out(Allowance::default()).unwrap();
/// let copy = Code::from_fn(&class, |cell| class.key(cell).x[0].unwrap());
/// assert_eq!(ignored(&copy, 3), [1, 2]);
/// ```
///
/// # Panics
/// If the length is not one of the task's.
pub fn ignored(code: &Code, length: usize) -> Vec<usize> {
    let class = code.class();
    let lengths = class.task().lengths();
    let which = lengths.iter().position(|&other| other == length);
    let which = which.unwrap_or_else(|| panic!("{length} is none of the lengths {lengths:?}"));
    let step = |&n: &usize| Step::new(class, &class.nodes()[n]);
    let path = class.path(which).iter().map(step).collect();
    let follow = Follow { code, path };
    (1..=length).filter(|&i| follow.ignores(i)).collect()
}

/// A step of a rollout.
struct Step<'a> {
    node: &'a Node,
    group: &'a Group,
    /// The windows that can occur, ascending.
    windows: Vec<usize>,
}

impl<'a> Step<'a> {
    fn new(class: &'a Class, node: &'a Node) -> Step<'a> {
        let group = &class.groups()[node.group];
        let windows = (0..group.windows()).map(|n| group.window(n)).collect();
        Step {
            node,
            group,
            windows,
        }
    }

    /// The cell of a window and a history; none where the window cannot occur.
    fn cell(&self, window: usize, history: usize) -> Option<usize> {
        let found = self.windows.binary_search(&window);
        found.is_ok().then(|| self.group.cell(window, history))
    }
}

struct Follow<'a> {
    code: &'a Code,
    path: Vec<Step<'a>>,
}

impl Follow<'_> {
    fn class(&self) -> &Class {
        self.code.class()
    }

    /// Whether no change of x_i changes the answer.
    fn ignores(&self, i: usize) -> bool {
        let q = self.class().q() as Symbol;
        // A change there and back is one change.
        let mut pairs: HashSet<Pair> = (0..q)
            .map(|other| Pair {
                x: Vec::new(),
                other,
                y: [Vec::new(), Vec::new()],
            })
            .collect();
        let mut drawn = 0;
        for t in 1..=self.path.len() {
            let node = self.path[t - 1].node;
            while drawn < t + node.after {
                drawn += 1;
                pairs = pairs
                    .into_iter()
                    .flat_map(|pair| (0..q).map(move |symbol| (pair.clone(), symbol)))
                    .filter(|(pair, symbol)| drawn != i || pair.other > *symbol)
                    .map(|(mut pair, symbol)| {
                        pair.x.push(symbol);
                        pair
                    })
                    .collect();
            }
            pairs = pairs
                .into_iter()
                .filter_map(|pair| self.step(pair, t, drawn, i))
                .collect();
        }
        pairs
            .iter()
            .all(|pair| pair.y[0].last() == pair.y[1].last())
    }

    /// Both rollouts after step t, with what later steps see of `drawn` symbols; none where a window
    /// cannot occur.
    fn step(&self, mut pair: Pair, t: usize, drawn: usize, i: usize) -> Option<Pair> {
        let (step, q) = (&self.path[t - 1], self.class().q());
        let node = step.node;
        let number = |part: &[Symbol]| part.iter().fold(0, |n, &d| n * q + usize::from(d));
        // The symbols seen are the last of those drawn.
        let first = drawn + 1 - pair.x.len();
        for (side, tokens) in pair.y.iter_mut().enumerate() {
            let mut window = pair.x[t - node.before - first..].to_vec();
            let seen_from = t - node.before;
            if side == 1 && (seen_from..=t + node.after).contains(&i) {
                window[i - seen_from] = pair.other;
            }
            let cell = step.cell(number(&window), number(tokens))?;
            tokens.push(self.code.action(cell));
        }
        if let Some(Step { node: next, .. }) = self.path.get(t) {
            let kept = drawn - (t - next.before);
            pair.x.drain(..pair.x.len() - kept);
            for tokens in &mut pair.y {
                tokens.drain(..tokens.len() - next.tokens);
            }
            // Out of sight, it is no longer part of what the rest depends on.
            if i <= t - next.before {
                pair.other = 0;
            }
        }
        Some(pair)
    }
}
