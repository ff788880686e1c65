//! Keeps what has appeared and met as the water falls: the tree so far (paper, App. G.6).

use super::levels::LevelNumber;
use super::{Leaf, Saddle};

/// A leaf or saddle, by its number among both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BranchNumber(u32);

/// The number of a component that is not in the tree yet.
pub(super) const NEW: BranchNumber = BranchNumber(u32::MAX);

/// A leaf, by its number among the leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LeafNumber(pub u32);

impl LeafNumber {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

enum Branch {
    Leaf {
        number: LeafNumber,
    },
    Saddle {
        level: LevelNumber,
        children: Vec<BranchNumber>,
    },
    /// It became part of another saddle of its level.
    Gone,
}

/// Leaves and saddles, numbered as they come.
#[derive(Default)]
pub(super) struct Joins {
    branches: Vec<Branch>,
    leaves: usize,
}

impl Joins {
    pub fn leaves(&self) -> usize {
        self.leaves
    }

    /// A leaf appears: its branch.
    pub fn appear(&mut self) -> BranchNumber {
        let number = LeafNumber(self.leaves as u32);
        self.leaves += 1;
        self.push(Branch::Leaf { number })
    }

    fn push(&mut self, branch: Branch) -> BranchNumber {
        self.branches.push(branch);
        BranchNumber(self.branches.len() as u32 - 1)
    }

    fn branch(&self, number: BranchNumber) -> &Branch {
        &self.branches[number.0 as usize]
    }

    /// The number of the leaf that a branch is.
    pub fn leaf(&self, branch: BranchNumber) -> Option<LeafNumber> {
        match *self.branch(branch) {
            Branch::Leaf { number } => Some(number),
            _ => None,
        }
    }

    /// Two components meet at a level; gives the branch of what they become.
    pub fn meet(&mut self, a: BranchNumber, b: BranchNumber, level: LevelNumber) -> BranchNumber {
        match (a, b) {
            (NEW, branch) | (branch, NEW) => branch,
            _ => match (self.is_at(a, level), self.is_at(b, level)) {
                (true, true) => self.absorb(a, b),
                (true, false) => self.adopt(a, b),
                (false, true) => self.adopt(b, a),
                (false, false) => {
                    let children = vec![a, b];
                    self.push(Branch::Saddle { level, children })
                }
            },
        }
    }

    fn is_at(&self, branch: BranchNumber, here: LevelNumber) -> bool {
        matches!(self.branch(branch), Branch::Saddle { level, .. } if *level == here)
    }

    fn adopt(&mut self, saddle: BranchNumber, child: BranchNumber) -> BranchNumber {
        if let Branch::Saddle { children, .. } = &mut self.branches[saddle.0 as usize] {
            children.push(child);
        }
        saddle
    }

    fn absorb(&mut self, a: BranchNumber, b: BranchNumber) -> BranchNumber {
        let size = |branch: BranchNumber| match self.branch(branch) {
            Branch::Saddle { children, .. } => children.len(),
            _ => 0,
        };
        let (into, from) = if size(a) < size(b) { (b, a) } else { (a, b) };
        let from = std::mem::replace(&mut self.branches[from.0 as usize], Branch::Gone);
        if let (Branch::Saddle { children, .. }, Branch::Saddle { children: more, .. }) =
            (&mut self.branches[into.0 as usize], from)
        {
            children.extend(more);
        }
        into
    }

    /// The saddles, `rewards` being those of the levels; parents and barriers of the leaves are
    /// filled in.
    pub fn finish(self, rewards: &[u64], leaves: &mut [Leaf]) -> Vec<Saddle> {
        let is_leaf = |branch: &Branch| matches!(branch, Branch::Leaf { .. });
        let is_saddle = |branch: &Branch| matches!(branch, Branch::Saddle { .. });
        let mut numbers = vec![usize::MAX; self.branches.len()];
        let of_kind = |kind: &dyn Fn(&Branch) -> bool| -> Vec<usize> {
            let all = 0..self.branches.len();
            all.filter(|&branch| kind(&self.branches[branch])).collect()
        };
        let order = [of_kind(&is_leaf), of_kind(&is_saddle)].concat();
        for (number, branch) in order.into_iter().enumerate() {
            numbers[branch] = number;
        }
        let mut saddles: Vec<Saddle> = Vec::new();
        for branch in self.branches {
            if let Branch::Saddle { level, children } = branch {
                let mut children: Vec<usize> = children
                    .iter()
                    .map(|&child| numbers[child.0 as usize])
                    .collect();
                children.sort_unstable();
                saddles.push(Saddle {
                    reward: rewards[level.index()],
                    children,
                    parent: None,
                });
            }
        }
        // The highest reward above each saddle: its children have smaller numbers.
        let mut tops: Vec<u64> = leaves.iter().map(|leaf| leaf.reward).collect();
        for saddle in &saddles {
            let highest = saddle.children.iter().map(|&child| tops[child]).max();
            tops.push(highest.expect("a saddle joins something"));
        }
        // From the lowest saddle up: where each branch first meets what is higher.
        let mut exits: Vec<Option<u64>> = vec![None; tops.len()];
        for number in (0..saddles.len()).rev() {
            let (me, reward) = (leaves.len() + number, saddles[number].reward);
            for child in saddles[number].children.clone() {
                exits[child] = if tops[child] < tops[me] {
                    Some(reward)
                } else {
                    exits[me]
                };
                match child.checked_sub(leaves.len()) {
                    Some(saddle) => saddles[saddle].parent = Some(number),
                    None => leaves[child].parent = Some(number),
                }
            }
        }
        for (leaf, exit) in leaves.iter_mut().zip(exits) {
            leaf.barrier = exit.map(|exit| leaf.reward - exit);
        }
        saddles
    }
}
