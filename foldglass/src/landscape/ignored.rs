//! Finds the positions of the input that a code ignores (paper, App. G.6).
//!
//! A code ignores position i at length T when no change of x_i alone, from one input that occurs to another,
//! changes its answer y_T. Two inputs that differ in x_i only are followed side by side. What the rest of
//! two rollouts depends on is the symbols in sight and the tokens that either remembers, so pairs that
//! agree in these are one, whatever the position in which they differed: the work is linear in T. Pairs
//! that have come to agree in everything are dropped.

use crate::landscape::walk::{Event, events};
use crate::model::class::Class;
use crate::model::inputs::Inputs;
use crate::model::operation::Symbol;
use crate::model::policy::Code;
use std::collections::HashMap;

/// The states of the rollouts on two inputs that differ in at most one position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Pair {
    /// The symbols that each input has in sight, as a base-q number.
    windows: [usize; 2],
    /// The tokens that each rollout remembers, likewise.
    histories: [usize; 2],
    /// The last symbol drawn of each, where what may follow depends on it, else 0.
    lasts: [Symbol; 2],
}

impl Pair {
    /// Whether the rest of both rollouts is the same.
    fn is_alike(&self) -> bool {
        let same = |[a, b]: [usize; 2]| a == b;
        same(self.windows) && same(self.histories) && self.lasts[0] == self.lasts[1]
    }
}

/// Pairs, each with the positions in which its inputs may differ as bits; none where they are one input.
type Pairs = HashMap<Pair, Vec<u64>>;

/// The positions, counted from 1, that a code ignores at a length of its task, ascending. It follows up to
/// [`pairs`] pairs of rollouts.
///
/// ```
/// use foldglass::landscape::ignored::ignored;
/// use foldglass::{ClassSpec, Code, Operation, Shape};
/// let spec = ClassSpec::uniform(Operation::cyclic(2).unwrap(), &[3], Shape::untied(0, 0));
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
    let used = used(code, which);
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

/// The positions whose change changes the answer, as bits.
fn used(code: &Code, which: usize) -> Vec<u64> {
    let (class, inputs) = (code.class(), code.class().task().inputs());
    let words = class.task().lengths()[which] / 64 + 1;
    let start = Pair {
        windows: [0; 2],
        histories: [0; 2],
        lasts: [0; 2],
    };
    let mut pairs = Pairs::from([(start, vec![0; words])]);
    for event in events(class, which) {
        let step = match event {
            Event::Draw(position) => {
                pairs = draw(inputs, class.q(), pairs, position);
                continue;
            }
            Event::Emit(step) => step,
        };
        let mut next = Pairs::new();
        for (pair, positions) in pairs {
            let history = |side: usize| {
                let cell = step.group.cell(pair.windows[side], pair.histories[side]);
                step.next_history(pair.histories[side], code.action(cell))
            };
            let pair = Pair {
                windows: pair.windows.map(|window| step.next_window(window)),
                histories: [0, 1].map(history),
                ..pair
            };
            keep(&mut next, pair, &positions);
        }
        pairs = next;
    }
    let mut used = vec![0; words];
    for (pair, positions) in pairs {
        let [a, b] = pair.histories.map(|history| history % class.q());
        if a != b {
            add(&mut used, &positions);
        }
    }
    used
}

/// Whether both inputs of a pair are the same.
fn is_one(positions: &[u64]) -> bool {
    positions.iter().all(|&bits| bits == 0)
}

/// The pairs with one symbol more, that of position t.
fn draw(inputs: &Inputs, q: usize, pairs: Pairs, t: usize) -> Pairs {
    // Whether the symbols that may follow depend on the last one.
    let chained = inputs.is_correlated() && !inputs.has_full_support();
    let mut drawn = Pairs::new();
    for (pair, positions) in pairs {
        let may = |side: usize, symbol: Symbol| inputs.weight(t, pair.lasts[side], symbol) > 0;
        let longer = |symbols: [Symbol; 2]| Pair {
            windows: [0, 1].map(|side| pair.windows[side] * q + usize::from(symbols[side])),
            lasts: symbols.map(|symbol| if chained { symbol } else { 0 }),
            ..pair
        };
        for symbol in (0..q as Symbol).filter(|&s| may(0, s) && may(1, s)) {
            // A change there and back is one change.
            let others = symbol + 1..q as Symbol;
            for other in others.filter(|&other| is_one(&positions) && may(0, other)) {
                let mut changed = positions.clone();
                changed[t / 64] |= 1 << (t % 64);
                drawn.insert(longer([symbol, other]), changed);
            }
            keep(&mut drawn, longer([symbol; 2]), &positions);
        }
    }
    drawn
}

/// Keeps a pair, unless its inputs differ and the rest of their rollouts is the same.
fn keep(pairs: &mut Pairs, pair: Pair, positions: &[u64]) {
    if !pair.is_alike() || is_one(positions) {
        add(pairs.entry(pair).or_default(), positions);
    }
}

/// Adds positions to others.
fn add(to: &mut Vec<u64>, positions: &[u64]) {
    to.resize(positions.len(), 0);
    (to.iter_mut().zip(positions)).for_each(|(to, bits)| *to |= bits);
}
