//! Keeps the reward of a code by the rollout of every input (paper, section 2.2).
//!
//! What a rollout has emitted up to a node depends only on the symbols seen there, so inputs share
//! their rollouts as long as they agree: the rollouts form a tree, with q^(t + after) branches at a
//! node. Each is held as the history with which it consults a cell. Branches stand in the order of
//! their window, then of the symbols before it: those which consult a cell are found among the
//! neighbours that share its window, and no index has to follow the changes.
//!
//! The integers chosen by the denominator hold every sum of weights of inputs.

use super::Engine;
use super::weight::Whole;
use crate::model::class::{Class, Node};
use crate::model::operation::{Symbol, digits};
use crate::model::policy::Code;
use dashu_int::UBig;

/// Stands for the cell of a window that cannot occur.
const NO_CELL: u32 = u32::MAX;

/// The branches at a node.
struct Fork<W> {
    parent: Option<usize>,
    children: Vec<usize>,
    /// The cell of each window's first history.
    cells: Vec<u32>,
    /// The history of each branch.
    histories: Vec<u32>,
    /// Branches of one window.
    branches: usize,
    /// Windows that start with the same symbols kept from the step before.
    drawn: usize,
    /// Windows there are of the symbols kept for the next step, and whether one symbol is not.
    kept: usize,
    drops: bool,
    /// Histories there are of the tokens kept for the next step, but for the one emitted.
    remembered: u32,
    /// The state and the weight of a right token of each branch, where tokens are rewarded.
    rewarded: Vec<(Symbol, W)>,
}

/// A branch: its node, its window, and the symbols before the window as a number.
#[derive(Clone, Copy)]
struct InputBranch {
    node: usize,
    window: usize,
    earlier: usize,
}

/// The exact reward of a code, by rollouts.
pub(super) struct RolloutCounter<W> {
    class: Class,
    code: Code,
    reward: W,
    forks: Vec<Fork<W>>,
    /// By group: its nodes.
    members: Vec<Vec<usize>>,
}

impl<W: Whole> Fork<W> {
    fn new(class: &Class, node: &Node) -> Fork<W> {
        let count = |digits: usize| class.q().pow(digits as u32);
        let symbols = |node: &Node| node.before + 1 + node.after;
        let drops = |node: &Node| node.before == class.shape().window.past;
        let kept = |node: &Node| symbols(node) - usize::from(drops(node));
        let group = &class.groups()[node.group];
        let mut cells = vec![NO_CELL; count(symbols(node))];
        for rank in 0..group.windows() {
            cells[group.window(rank)] = (group.first_cell + rank * group.histories) as u32;
        }
        let parent = node.parent.map(|parent| &class.nodes()[parent]);
        let branches = count(node.t - 1 - node.before);
        let lift = class.lift(node);
        let rewarded = |i: usize| {
            let before = digits(i % branches, class.q(), node.t - 1 - node.before);
            let x = [before, digits(i / branches, class.q(), symbols(node))].concat();
            rewarded(class, node, &x, lift.as_ref().unwrap_or(&UBig::ZERO))
        };
        Fork {
            parent: node.parent,
            children: Vec::new(),
            drawn: count(symbols(node) - parent.map_or(0, kept)),
            kept: count(kept(node)),
            drops: drops(node),
            remembered: count(node.tokens.min(class.shape().memory - 1)) as u32,
            rewarded: (0..lift.as_ref().map_or(0, |_| cells.len() * branches))
                .map(rewarded)
                .collect(),
            histories: vec![0; cells.len() * branches],
            cells,
            branches,
        }
    }
}

/// The branches at all nodes together; none from 2^128 on.
pub(super) fn branches(class: &Class) -> Option<u128> {
    class.nodes().iter().try_fold(0u128, |sum, node| {
        let here = (class.q() as u128).checked_pow((node.t + node.after) as u32)?;
        sum.checked_add(here)
    })
}

/// The state at a node after symbols of which it has seen all, and what a right token counts.
fn rewarded<W: Whole>(class: &Class, node: &Node, x: &[Symbol], lift: &UBig) -> (Symbol, W) {
    let task = class.task();
    let weight: UBig = task.inputs().weights(x).map(UBig::from).product();
    (task.fold(&x[..node.t]), W::of(&(weight * lift)))
}

impl<W: Whole> RolloutCounter<W> {
    /// The bytes it takes; none from 2^128 on.
    pub fn bytes(class: &Class) -> Option<u128> {
        // A history, at most one first cell, and perhaps a reward.
        let branch = 4 + 4 + size_of::<(Symbol, W)>() as u128;
        branches(class)?.checked_mul(branch)
    }

    pub fn new(class: &Class, code: Code) -> RolloutCounter<W> {
        let mut rollouts = RolloutCounter {
            class: class.clone(),
            code,
            reward: W::zero(),
            forks: class
                .nodes()
                .iter()
                .map(|node| Fork::new(class, node))
                .collect(),
            members: vec![Vec::new(); class.groups().len()],
        };
        for (n, node) in class.nodes().iter().enumerate() {
            rollouts.members[node.group].push(n);
            if let Some(parent) = node.parent {
                rollouts.forks[parent].children.push(n);
            }
        }
        for node in (0..class.nodes().len()).filter(|&n| class.nodes()[n].parent.is_none()) {
            for window in 0..rollouts.forks[node].cells.len() {
                let earned = rollouts.follow(
                    InputBranch {
                        node,
                        window,
                        earlier: 0,
                    },
                    0,
                );
                rollouts.reward += earned;
            }
        }
        rollouts
    }

    /// Rolls out a branch and all that follow from it; returns the weight they earn.
    fn follow(&mut self, branch: InputBranch, history: u32) -> W {
        let fork = &mut self.forks[branch.node];
        let (mut earned, first_cell) = (W::zero(), fork.cells[branch.window]);
        if first_cell == NO_CELL {
            return earned;
        }
        let i = branch.window * fork.branches + branch.earlier;
        fork.histories[i] = history;
        let token = self.code.action((first_cell + history) as usize);
        if let Some(&(target, weight)) = fork.rewarded.get(i)
            && target == token
        {
            earned += weight;
        }
        let q = self.class.q();
        let history = history % fork.remembered * q as u32 + token as u32;
        let kept = branch.window % fork.kept;
        let earlier = if fork.drops {
            branch.earlier * q + branch.window / fork.kept
        } else {
            0
        };
        for child in 0..fork.children.len() {
            let node = self.forks[branch.node].children[child];
            let drawn = self.forks[node].drawn;
            for window in kept * drawn..(kept + 1) * drawn {
                earned += self.follow(
                    InputBranch {
                        node,
                        window,
                        earlier,
                    },
                    history,
                );
            }
        }
        earned
    }

    /// The branches that consult the cell, and have not done so before.
    fn consulting(&self, cell: usize) -> Vec<InputBranch> {
        let group = self
            .class
            .groups()
            .partition_point(|group| group.first_cell <= cell)
            - 1;
        let members = &self.members[group];
        let group = &self.class.groups()[group];
        let window = group.window((cell - group.first_cell) / group.histories);
        let history = ((cell - group.first_cell) % group.histories) as u32;
        let mut list = Vec::new();
        for &node in members {
            let branches = self.forks[node].branches;
            let histories = &self.forks[node].histories[window * branches..][..branches];
            let here = histories.iter().enumerate().filter(|(_, h)| **h == history);
            list.extend(here.map(|(earlier, _)| InputBranch {
                node,
                window,
                earlier,
            }));
        }
        if members.len() > 1 {
            list.retain(|&branch| !self.has_consulted(branch, cell));
        }
        list
    }

    /// Whether the rollout of a branch has consulted the cell before.
    fn has_consulted(&self, branch: InputBranch, cell: usize) -> bool {
        let InputBranch {
            mut node,
            mut window,
            mut earlier,
        } = branch;
        while let Some(parent) = self.forks[node].parent {
            window /= self.forks[node].drawn;
            let fork = &self.forks[parent];
            if fork.drops {
                window += earlier % self.class.q() * fork.kept;
                earlier /= self.class.q();
            }
            let first_cell = fork.cells[window];
            let history = fork.histories[window * fork.branches + earlier];
            if first_cell != NO_CELL && (first_cell + history) as usize == cell {
                return true;
            }
            node = parent;
        }
        false
    }

    /// Gives the cell an action and rolls out again the branches that consult it.
    fn retry(&mut self, consulting: &[InputBranch], cell: usize, action: Symbol) -> W {
        self.code.set(cell, action);
        let history =
            |fork: &Fork<W>, b: &InputBranch| fork.histories[b.window * fork.branches + b.earlier];
        let mut earned = W::zero();
        for branch in consulting {
            earned += self.follow(*branch, history(&self.forks[branch.node], branch));
        }
        earned
    }
}

impl<W: Whole> Engine for RolloutCounter<W> {
    fn code(&self) -> &Code {
        &self.code
    }

    fn reward(&self) -> u128 {
        self.reward.to_u128()
    }

    fn earned(&mut self, cell: usize, earned: &mut [u128]) {
        let (q, now) = (self.class.q(), self.code.action(cell));
        let consulting = self.consulting(cell);
        // The action that the cell has comes last, and leaves the rollouts as they were.
        for action in (1..=q).map(|i| (now as usize + i) % q) {
            earned[action] = self.retry(&consulting, cell, action as Symbol).to_u128();
        }
    }

    fn set(&mut self, cell: usize, action: Symbol) {
        let (consulting, now) = (self.consulting(cell), self.code.action(cell));
        let before = self.retry(&consulting, cell, now);
        let after = self.retry(&consulting, cell, action);
        self.reward += after - before;
    }
}
