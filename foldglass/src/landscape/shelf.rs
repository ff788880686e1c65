//! Searches the shelf of a code for an exit, breadth-first (paper, App. G.6).
//!
//! The *shelf* of a code is what reward-neutral single-cell changes lead to from it; an *exit* is a
//! code of the shelf with a single-cell change that raises J. The search looks at every single-cell
//! change of every code that it finds, up to a cap on the codes, in any class. Rewards are compared
//! as integers.
//!
//! **Order.** Codes are looked at in the order in which they are found, their changes by cell, then
//! by action. Threads look at several codes at once, but what they see is taken in that order: the
//! codes, their numbers and the path to an exit do not depend on the number of threads.
//!
//! **Stopping.** The search keeps the first `cap` codes and looks at all changes of each. Stopped
//! after n codes, it has done what a search with the cap n does.

mod nodes;
mod workers;

use crate::class::Allowance;
use crate::count::{CountError, Exact};
use crate::policy::Code;
use crate::quasigroup::Symbol;
use nodes::Nodes;
use std::ops::ControlFlow;
use workers::{Sight, Wish};

pub use workers::Workers;

/// A code of a shelf: another one, found earlier, with one cell changed. Codes are numbered as they
/// are found; number 0 is the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Node {
    /// The number of the other code.
    pub parent: u32,
    /// The cell that differs.
    pub cell: u32,
    /// Its action here.
    pub action: Symbol,
}

/// A change of one cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Change {
    /// The cell.
    pub cell: usize,
    /// Its action before.
    pub from: Symbol,
    /// Its action after.
    pub to: Symbol,
}

/// What a search says of its start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// J = 1.
    Optimal,
    /// The whole shelf was found, and has no exit.
    Certified,
    /// The codes found have no exit, but the shelf is larger.
    Bounded {
        /// A code of the shelf that is none of those found.
        beyond: Node,
    },
    /// There is an exit.
    Escapes {
        /// Neutral changes from the start to the nearest exit, then one that raises J.
        path: Vec<Change>,
        /// J at its end.
        reward: Exact,
    },
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shelf {
    /// What that says of the start.
    pub verdict: Verdict,
    /// J of every code of the shelf.
    pub reward: Exact,
    /// The codes but for the start: code i is `nodes[i - 1]`. At an optimal start none are looked
    /// for.
    pub nodes: Vec<Node>,
    /// The most changes that the shortest path to one of them takes.
    pub depth: usize,
    /// Single-cell changes of the start that leave J as it is.
    pub neutral_moves: usize,
}

impl Shelf {
    /// The number of codes found, the start included.
    pub fn size(&self) -> usize {
        self.nodes.len() + 1
    }
}

/// How far a search is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// Codes found.
    pub found: usize,
    /// Codes whose changes were all looked at.
    pub explored: usize,
}

/// A search in progress.
///
/// ```
/// use foldglass::class::{Allowance, Class, Shape};
/// use foldglass::landscape::shelf::{Search, Verdict, Workers};
/// use foldglass::policy::Code;
/// use foldglass::{inputs::InputLaw, quasigroup::LatinSquare, task::Task};
/// use std::ops::ControlFlow;
/// let task = Task::new(LatinSquare::cyclic(2).unwrap(), &InputLaw::Uniform, &[3]).unwrap();
/// let class = Class::new(task, Shape::untied(0, 0), Allowance::default()).unwrap();
/// let copy = Code::from_fn(&class, |cell| class.key(cell).x[0].unwrap());
/// let mut workers = Workers::new(&class, 2, Allowance::default())?;
/// let mut search = Search::new(&mut workers, copy, 1000);
/// search.explore(&mut workers, |_| ControlFlow::Continue(()));
/// let shelf = search.finish();
/// assert!(matches!(shelf.verdict, Verdict::Escapes { path, .. } if path.len() == 2));
/// # Ok::<(), foldglass::count::CountError>(())
/// ```
pub struct Search {
    nodes: Nodes,
    cap: usize,
    explored: usize,
    reward: u128,
    denominator: u128,
    neutral_moves: usize,
    /// The first code of the shelf found beyond the cap.
    beyond: Option<Node>,
    /// A code, a change that raises its J, and J after that.
    exit: Option<(usize, Change, u128)>,
}

/// Refuses a cap whose codes do not fit.
pub fn check_cap(cap: usize, allowance: Allowance) -> Result<(), CountError> {
    let needed = (cap as u128).checked_mul(Nodes::BYTES);
    Ok(allowance.check(&format!("a shelf of {cap} codes"), needed)?)
}

impl Search {
    /// Looks at the changes of the start; `cap` is the number of codes to keep.
    ///
    /// # Panics
    /// If the code belongs to another class than the workers, or `cap` is 0 or above 2^32 - 1.
    pub fn new(workers: &mut Workers, start: Code, cap: usize) -> Search {
        assert!(
            (1..=u32::MAX as usize).contains(&cap),
            "a cap from 1 to 2^32 - 1"
        );
        let (reward, denominator) = workers.reward(&start);
        let mut search = Search {
            nodes: Nodes::new(start),
            cap,
            explored: 0,
            reward,
            denominator,
            neutral_moves: 0,
            beyond: None,
            exit: None,
        };
        let [sight] = &workers.look(&search.nodes, 0..1, reward, Wish::All)[..] else {
            unreachable!("one code was looked at")
        };
        search.neutral_moves = sight.neutral.len();
        if !search.is_optimal() {
            search.take(sight);
        }
        search
    }

    /// Goes on until the verdict is known, or until told to stop.
    pub fn explore(
        &mut self,
        workers: &mut Workers,
        mut go_on: impl FnMut(Status) -> ControlFlow<()>,
    ) {
        while !self.is_over() && go_on(self.status()).is_continue() {
            let end = self.nodes.len().min(self.explored + workers.together());
            // Beyond the cap no codes are kept, and only an exit is news.
            let wish = match self.beyond {
                None => Wish::All,
                Some(_) => Wish::Raising,
            };
            for sight in workers.look(&self.nodes, self.explored..end, self.reward, wish) {
                if self.exit.is_none() {
                    self.take(&sight);
                }
            }
        }
    }

    /// How far it is.
    pub fn status(&self) -> Status {
        Status {
            found: self.nodes.len(),
            explored: self.explored,
        }
    }

    /// Whether the verdict is known.
    pub fn is_over(&self) -> bool {
        self.is_optimal() || self.exit.is_some() || self.explored == self.nodes.len()
    }

    fn is_optimal(&self) -> bool {
        self.reward == self.denominator
    }

    /// Takes in what was seen at the next code.
    fn take(&mut self, sight: &Sight) {
        if let Some((cell, to, reward)) = sight.raising {
            let from = self.nodes.code(self.explored).action(cell);
            self.exit = Some((self.explored, Change { cell, from, to }, reward));
            return;
        }
        let parent = self.explored as u32;
        let changes = self.nodes.changes(self.explored);
        for &(cell, action) in &sight.neutral {
            if self.beyond.is_some() {
                break;
            }
            let node = Node {
                parent,
                cell,
                action,
            };
            if self.nodes.len() < self.cap {
                self.nodes.insert(node, &changes);
            } else if !self.nodes.contains(node, &changes) {
                self.beyond = Some(node);
            }
        }
        self.explored += 1;
    }

    /// What was found. A search that was stopped is one with a smaller cap: the codes whose changes
    /// it has looked at are found, the next one is beyond them.
    pub fn finish(mut self) -> Shelf {
        let verdict = match self.exit {
            _ if self.is_optimal() => Verdict::Optimal,
            Some((node, change, reward)) => {
                let mut path = self.nodes.path(node);
                path.push(change);
                let reward = self.exact(reward);
                Verdict::Escapes { path, reward }
            }
            None => {
                let next = self.nodes.list().get(self.explored - 1).copied();
                self.nodes.truncate(self.explored);
                match next.or(self.beyond) {
                    Some(beyond) => Verdict::Bounded { beyond },
                    None => Verdict::Certified,
                }
            }
        };
        Shelf {
            verdict,
            reward: self.exact(self.reward),
            depth: self.nodes.path(self.nodes.len() - 1).len(),
            neutral_moves: self.neutral_moves,
            nodes: self.nodes.into_list(),
        }
    }

    fn exact(&self, numerator: u128) -> Exact {
        Exact {
            num: numerator.into(),
            den: self.denominator.into(),
        }
    }
}
