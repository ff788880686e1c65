//! Packs codes into 128 bits, and relabels their tokens into a standard order (paper, App. D).

use crate::model::operation::Symbol;
use crate::reward::count::flow::FlowTable;
use crate::reward::count::weight::Whole;

/// A code of a small class as one number.
pub(super) type Packed = u128;

/// How many bits an action takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Packing {
    bits: u32,
}

impl Packing {
    /// None when the codes of the class do not fit into 128 bits.
    pub fn new(q: usize, cells: usize) -> Option<Packing> {
        let bits = (q.max(2) - 1).ilog2() + 1;
        (cells <= (128 / bits) as usize).then_some(Packing { bits })
    }

    /// The bits of this number of actions.
    pub fn bits(self, cells: usize) -> u32 {
        self.bits * cells as u32
    }

    /// The first cell is the lowest digit.
    pub fn pack(self, actions: &[Symbol]) -> Packed {
        self.pack_all(actions.iter().copied())
    }

    /// Packs actions that are made one by one.
    pub fn pack_all(self, actions: impl DoubleEndedIterator<Item = Symbol>) -> Packed {
        let digits = actions.rev();
        digits.fold(0, |code, action| code << self.bits | Packed::from(action))
    }

    /// The action of one cell.
    #[inline]
    pub fn digit(self, code: Packed, cell: usize) -> Symbol {
        (code >> (self.bits as usize * cell) & ((1 << self.bits) - 1)) as Symbol
    }

    pub fn unpack(self, code: Packed, actions: &mut [Symbol]) {
        let (mut rest, mask) = (code, (1 << self.bits) - 1);
        for action in actions {
            *action = (rest & mask) as Symbol;
            rest >>= self.bits;
        }
    }
}

/// Relabels the tokens of every step, where that is a symmetry, in the order in which its cells
/// first emit them; tokens that no cell emits follow in their own order. `old` is a buffer.
pub(super) fn relabel<W: Whole>(
    flows: &FlowTable<W>,
    memory: usize,
    actions: &mut [Symbol],
    old: &mut Vec<Symbol>,
) {
    let (q, steps) = (flows.q, &flows.steps);
    let mut names = [Symbol::MAX; MOST_TOKENS];
    let names = &mut names[..q];
    for (r, step) in steps.iter().enumerate().filter(|(_, step)| step.relabels) {
        if name_in_order(&mut actions[step.cells.clone()], names) {
            continue;
        }
        // A token is the lowest digit of the next step's histories, then the second, and so on.
        let mut unit = 1;
        for reader in steps[r + 1..].iter().take(memory) {
            let actions = &mut actions[reader.cells.clone()];
            read_renamed(actions, reader.histories, unit, names, old);
            unit *= q;
        }
    }
}

/// The most tokens that are named.
pub(super) const MOST_TOKENS: usize = 128;

/// Renames the actions of a step in the order in which they come, the tokens that are not among them
/// following in their own; says whether all keep their names. `names` are the new ones by token.
pub(super) fn name_in_order(actions: &mut [Symbol], names: &mut [Symbol]) -> bool {
    names.fill(Symbol::MAX);
    let mut next = 0;
    let mut name = |names: &mut [Symbol], token: usize| {
        if names[token] == Symbol::MAX {
            names[token] = next;
            next += 1;
        }
    };
    for &action in &*actions {
        name(names, action as usize);
    }
    (0..names.len()).for_each(|token| name(names, token));
    let mut all = names.iter().enumerate();
    if all.all(|(token, &name)| token == name as usize) {
        return true;
    }
    for action in actions {
        *action = names[*action as usize];
    }
    false
}

/// Moves the actions of a step to the histories in which a token has its new name. `unit` is what
/// the token counts in a history, `old` a buffer.
pub(super) fn read_renamed(
    actions: &mut [Symbol],
    histories: usize,
    unit: usize,
    names: &[Symbol],
    old: &mut Vec<Symbol>,
) {
    old.clear();
    old.extend_from_slice(actions);
    for (i, &action) in old.iter().enumerate() {
        let token = i % histories / unit % names.len();
        actions[i - token * unit + names[token] as usize * unit] = action;
    }
}
