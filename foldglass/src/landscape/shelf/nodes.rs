//! Keeps the codes of a shelf, each once, as changes of earlier ones.
//!
//! A code is known by its *changes*: the cells whose action is not that of the start, ascending,
//! with their actions. A hash finds the codes that may be equal to a new one; the changes decide.

use crate::model::operation::Symbol;
use crate::model::policy::Code;
use crate::proof::claim::{CodeNode, Move, MoveKind};
use crate::support::exact::Reward;
use std::collections::HashMap;

/// The cells that differ from the start, ascending, with their actions.
pub(in crate::landscape) type Changes = Vec<(u32, Symbol)>;

/// Stands for no node.
const NONE: u32 = u32::MAX;

pub(in crate::landscape) struct ShelfNodes {
    start: Code,
    list: Vec<CodeNode>,
    /// By code: its hash, and the code before it that has the same.
    hashes: Vec<(u64, u32)>,
    /// The last code that has a hash.
    last: HashMap<u64, u32>,
    key: fn(u32, Symbol) -> u64,
}

/// A fixed random number for an action of a cell (SplitMix64 of their numbers).
fn key(cell: u32, action: Symbol) -> u64 {
    let n = (u64::from(cell) << 16 | u64::from(action)) + 1;
    let n = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let n = (n ^ n >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ n >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ n >> 31
}

impl ShelfNodes {
    /// The bytes that a code takes, a hash table at most half full included.
    pub const BYTES: u128 = (size_of::<CodeNode>() + size_of::<(u64, u32)>() + 2 * 17) as u128;

    /// The start alone.
    pub fn new(start: Code) -> ShelfNodes {
        ShelfNodes::with_keys(start, key)
    }

    fn with_keys(start: Code, key: fn(u32, Symbol) -> u64) -> ShelfNodes {
        ShelfNodes {
            start,
            list: Vec::new(),
            hashes: vec![(0, NONE)],
            last: HashMap::from([(0, 0)]),
            key,
        }
    }

    /// The number of codes, the start included.
    pub fn len(&self) -> usize {
        self.hashes.len()
    }

    /// The code of a number above 0, as a change of an earlier one.
    pub fn get(&self, number: usize) -> Option<CodeNode> {
        self.list.get(number - 1).copied()
    }

    pub fn into_list(self) -> Vec<CodeNode> {
        self.list
    }

    /// The changes of a code.
    pub fn changes(&self, number: usize) -> Changes {
        let mut changes = Changes::new();
        let mut next = number;
        while next != 0 {
            let node = self.list[next - 1];
            changes.push((node.cell, node.action));
            next = node.parent as usize;
        }
        // A cell's last change comes first, and the sort keeps it there.
        changes.sort_by_key(|&(cell, _)| cell);
        changes.dedup_by_key(|&mut (cell, _)| cell);
        changes.retain(|&(cell, action)| self.start.action(cell as usize) != action);
        changes
    }

    /// A code itself.
    pub fn code(&self, number: usize) -> Code {
        let mut code = self.start.clone();
        for (cell, action) in self.changes(number) {
            code.set(cell as usize, action);
        }
        code
    }

    /// The start.
    pub fn start(&self) -> &Code {
        &self.start
    }

    /// The cells and actions that lead from the start to a code, one after the other.
    pub fn way(&self, number: usize) -> Vec<(usize, Symbol)> {
        let mut way = Vec::new();
        let mut next = number;
        while next != 0 {
            let node = self.list[next - 1];
            way.push((node.cell as usize, node.action));
            next = node.parent as usize;
        }
        way.reverse();
        way
    }

    /// The moves that lead from the start to a code, one after the other; all leave J at `reward`.
    pub fn path(&self, number: usize, reward: &Reward) -> Vec<Move> {
        let mut code = self.start.clone();
        let step = |(cell, to): (usize, Symbol)| {
            let from = code.action(cell);
            code.set(cell, to);
            Move {
                cell,
                from,
                to,
                kind: Some(MoveKind::Neutral),
                reward: reward.clone(),
            }
        };
        self.way(number).into_iter().map(step).collect()
    }

    /// How many changes lead from the start to the last code: codes are found nearest first.
    pub fn depth(&self) -> usize {
        self.way(self.len() - 1).len()
    }

    /// Adds what changes of a code lead to, as long as there are fewer than `cap` codes; gives the
    /// first that is neither there nor added.
    pub fn insert_all(
        &mut self,
        parent: u32,
        kept: &[(u32, Symbol)],
        cap: usize,
    ) -> Option<CodeNode> {
        let changes = self.changes(parent as usize);
        for &(cell, action) in kept {
            let node = CodeNode {
                parent,
                cell,
                action,
            };
            if self.len() < cap {
                self.insert(node, &changes);
            } else if !self.contains(node, &changes) {
                return Some(node);
            }
        }
        None
    }

    /// Adds a code, unless it is there; `changes` are those of its parent.
    fn insert(&mut self, node: CodeNode, changes: &Changes) {
        let (hash, is_new) = self.find(node, changes);
        if is_new {
            let number = self.len() as u32;
            let older = self.last.insert(hash, number).unwrap_or(NONE);
            self.hashes.push((hash, older));
            self.list.push(node);
        }
    }

    /// Whether a code is there; `changes` are those of its parent.
    fn contains(&self, node: CodeNode, changes: &Changes) -> bool {
        !self.find(node, changes).1
    }

    /// The hash of a code, and whether the code is new.
    fn find(&self, node: CodeNode, changes: &Changes) -> (u64, bool) {
        let first = self.start.action(node.cell as usize);
        let place = changes.binary_search_by_key(&node.cell, |&(cell, _)| cell);
        let before = place.map_or(first, |place| changes[place].1);
        let moved = (self.key)(node.cell, before) ^ (self.key)(node.cell, node.action);
        let hash = self.hashes[node.parent as usize].0 ^ moved;
        let mut number = self.last.get(&hash).copied().unwrap_or(NONE);
        if number == NONE {
            return (hash, true);
        }
        let mut own = changes.clone();
        match (place, node.action == first) {
            (Ok(place), true) => _ = own.remove(place),
            (Ok(place), false) => own[place].1 = node.action,
            (Err(_), true) => {}
            (Err(place), false) => own.insert(place, (node.cell, node.action)),
        }
        while number != NONE && self.changes(number as usize) != own {
            number = self.hashes[number as usize].1;
        }
        (hash, number == NONE)
    }

    /// Forgets all codes from this number on. None can be added or sought after that.
    pub fn truncate(&mut self, len: usize) {
        self.list.truncate(len - 1);
        self.hashes.truncate(len);
        self.last.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::class::{Class, Shape};
    use crate::model::inputs::InputLaw;
    use crate::model::operation::Operation;
    use crate::model::task::Task;
    use crate::support::stream::Stream;
    use std::collections::HashSet;

    /// Adds random changes of random codes; compares with a set of whole codes.
    fn compare_with_whole_codes(key: fn(u32, Symbol) -> u64) {
        let square = Operation::cyclic(3).unwrap();
        let task = Task::new(square, &InputLaw::Uniform, &[1]).unwrap();
        let class = Class::new(task, Shape::untied(0, 1)).unwrap();
        let start = Code::from_fn(&class, |cell| (cell % 3) as Symbol);
        let mut nodes = ShelfNodes::with_keys(start.clone(), key);
        let (mut all, mut whole) = (vec![start.clone()], HashSet::from([start]));
        let mut stream = Stream::new(7, 0);
        for _ in 0..2000 {
            let parent = stream.below(nodes.len() as u32);
            let cell = stream.below(class.cells() as u32);
            let mut code = all[parent as usize].clone();
            let action = (code.action(cell as usize) + 1 + stream.below(2) as Symbol) % 3;
            code.set(cell as usize, action);
            let node = CodeNode {
                parent,
                cell,
                action,
            };
            let changes = nodes.changes(parent as usize);
            assert_eq!(nodes.contains(node, &changes), whole.contains(&code));
            nodes.insert(node, &changes);
            if whole.insert(code.clone()) {
                all.push(code);
            }
            assert_eq!(nodes.len(), all.len());
        }
        assert!(all.len() > 20);
        for (number, code) in all.iter().enumerate() {
            assert_eq!(nodes.code(number), *code);
            let mut walked = all[0].clone();
            for m in nodes.path(number, &Reward::ZERO) {
                assert_eq!(walked.action(m.cell), m.from);
                walked.set(m.cell, m.to);
            }
            assert_eq!(walked, *code);
        }
    }

    #[test]
    fn every_code_is_kept_once() {
        compare_with_whole_codes(key);
    }

    #[test]
    fn codes_of_equal_hashes_are_told_apart() {
        compare_with_whole_codes(|_, _| 0);
        compare_with_whole_codes(|cell, action| key(cell, action) % 4);
    }
}
