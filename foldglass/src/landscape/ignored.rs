//! Finds the positions of the input that a code ignores (paper, App. G.6).
//!
//! A code ignores position i at length T when no change of x_i alone, from one input that occurs to another,
//! changes its answer y_T. Two inputs that differ in x_i only are followed side by side. What the rest of
//! two rollouts depends on is the symbols in sight and the tokens that either remembers, so pairs that
//! agree in these are one, whatever the position in which they differed: the work is linear in T. Pairs
//! that have come to agree in everything are dropped.

use crate::model::class::{Class, Node};
use crate::model::inputs::Inputs;
use crate::model::policy::Code;
use crate::model::quasigroup::Symbol;
use std::collections::HashMap;

/// Two rollouts on inputs that differ in one position at most.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Pair {
    /// The symbols drawn so far that are still seen, oldest first.
    x: Vec<Symbol>,
    /// The last symbol drawn, where what may follow depends on it.
    last: Symbol,
    /// The position in which the inputs differ and what the second one has there, as long as a window sees
    /// it or the next symbol depends on it.
    other: Option<(usize, Symbol)>,
    /// The tokens that each remembers, oldest first.
    y: [Vec<Symbol>; 2],
}

/// Pairs, each with the positions in which its inputs may differ as bits; none where they are one input.
type Pairs = HashMap<Pair, Vec<u64>>;

/// The positions, counted from 1, that a code ignores at a length of its task, ascending. It follows up to
/// [`pairs`] pairs of rollouts.
///
/// ```
/// use foldglass::landscape::ignored::ignored;
/// use foldglass::{ClassSpec, Code, LatinSquare, Shape};
/// let spec = ClassSpec::uniform(LatinSquare::cyclic(2).unwrap(), &[3], Shape::untied(0, 0));
/// let class = spec.lay_out().unwrap();
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
    let inputs = class.task().inputs();
    let follow = Follow {
        code,
        inputs,
        chained: inputs.is_correlated() && !inputs.has_full_support(),
        path: (class.path(which).iter())
            .map(|&n| &class.nodes()[n])
            .collect(),
    };
    let used = follow.used();
    let is_ignored = |&i: &usize| used[i / 64] >> (i % 64) & 1 == 0;
    (1..=length).filter(is_ignored).collect()
}

/// The most pairs of rollouts that [`ignored`] follows, over all steps: at each, what a cell sees, the
/// position and the symbol in which the other input differs, and the tokens that it remembers.
pub fn pairs(class: &Class) -> u128 {
    let nodes = class.nodes().iter().map(|node| {
        let group = &class.groups()[node.group];
        let changes = (node.before + 1 + node.after) * class.q();
        (group.cells as u128)
            .saturating_mul(group.histories as u128)
            .saturating_mul(changes as u128)
    });
    nodes.fold(0, u128::saturating_add)
}

struct Follow<'a> {
    code: &'a Code,
    inputs: &'a Inputs,
    /// Whether the symbols that may follow depend on the last one.
    chained: bool,
    path: Vec<&'a Node>,
}

impl Follow<'_> {
    fn class(&self) -> &Class {
        self.code.class()
    }

    /// The positions whose change changes the answer, as bits.
    fn used(&self) -> Vec<u64> {
        let start = Pair {
            x: Vec::new(),
            last: 0,
            other: None,
            y: [Vec::new(), Vec::new()],
        };
        let mut used = vec![0; self.path.len() / 64 + 1];
        let mut pairs = Pairs::from([(start, vec![0; used.len()])]);
        let mut drawn = 0;
        for t in 1..=self.path.len() {
            while drawn < t + self.path[t - 1].after {
                drawn += 1;
                pairs = self.draw(pairs, drawn);
            }
            let mut next = Pairs::new();
            for (mut pair, positions) in pairs {
                self.step(&mut pair, t, drawn);
                let differs = pair.y[0] != pair.y[1] || pair.other.is_some();
                // Two inputs that act alike from now on say nothing more.
                if differs || positions.iter().all(|&bits| bits == 0) {
                    add(next.entry(pair).or_default(), &positions);
                }
            }
            pairs = next;
        }
        for (pair, positions) in pairs {
            if pair.y[0].last() != pair.y[1].last() {
                add(&mut used, &positions);
            }
        }
        used
    }

    /// The pairs with one symbol more, that of position t.
    fn draw(&self, pairs: Pairs, t: usize) -> Pairs {
        let q = self.class().q() as Symbol;
        let mut drawn = Pairs::new();
        for (pair, positions) in pairs {
            let may = |last: Symbol, symbol: Symbol| self.inputs.weight(t, last, symbol) > 0;
            let other_last = match pair.other {
                Some((i, other)) if i + 1 == t => other,
                _ => pair.last,
            };
            let is_one = positions.iter().all(|&bits| bits == 0);
            for symbol in (0..q).filter(|&s| may(pair.last, s) && may(other_last, s)) {
                let mut longer = pair.clone();
                longer.x.push(symbol);
                longer.last = if self.chained { symbol } else { 0 };
                // A change there and back is one change.
                let others = (symbol + 1..q).filter(|&other| is_one && may(pair.last, other));
                for other in others {
                    let mut changed = positions.clone();
                    changed[t / 64] |= 1 << (t % 64);
                    let other = Some((t, other));
                    let longer = Pair {
                        other,
                        ..longer.clone()
                    };
                    drawn.insert(longer, changed);
                }
                add(drawn.entry(longer).or_default(), &positions);
            }
        }
        drawn
    }

    /// Takes both rollouts over step t, and leaves what later steps see of `drawn` symbols.
    fn step(&self, pair: &mut Pair, t: usize, drawn: usize) {
        let (node, q) = (self.path[t - 1], self.class().q());
        let group = &self.class().groups()[node.group];
        let number = |part: &[Symbol]| part.iter().fold(0, |n, &d| n * q + usize::from(d));
        // The symbols seen are the last of those drawn.
        let (first, seen_from) = (drawn + 1 - pair.x.len(), t - node.before);
        for (side, tokens) in pair.y.iter_mut().enumerate() {
            let mut window = pair.x[seen_from - first..].to_vec();
            if let (1, Some((i, other))) = (side, pair.other)
                && i >= seen_from
            {
                window[i - seen_from] = other;
            }
            let cell = group.cell(number(&window), number(tokens));
            tokens.push(self.code.action(cell));
        }
        let Some(next) = self.path.get(t) else {
            pair.other = None;
            return;
        };
        let kept = drawn - (t - next.before);
        pair.x.drain(..pair.x.len() - kept);
        for tokens in &mut pair.y {
            tokens.drain(..tokens.len() - next.tokens);
        }
        // Out of sight, it is no longer part of what the rest depends on.
        let matters = |i: usize| i > t - next.before || self.chained && i == drawn;
        pair.other = pair.other.filter(|&(i, _)| matters(i));
    }
}

/// Adds positions to others.
fn add(to: &mut Vec<u64>, positions: &[u64]) {
    to.resize(positions.len(), 0);
    (to.iter_mut().zip(positions)).for_each(|(to, bits)| *to |= bits);
}
