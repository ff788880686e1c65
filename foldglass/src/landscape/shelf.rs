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

pub(super) mod nodes;
pub(super) mod workers;

use crate::model::operation::Symbol;
use crate::model::policy::Code;
use crate::proof::claim::{CodeNode, Finding, Move, MoveKind, Verdict};
use crate::reward::count::{CountError, Numerator, RewardCounter};
use crate::support::context::Context;
use crate::support::exact::Reward;
use crate::support::memory::Allowance;
use crate::support::watch::Progress;
use nodes::ShelfNodes;
use workers::{Neighbours, WaterLevel, Wish};

pub use workers::Workers;

/// What a search found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shelf {
    /// What that says of the start.
    pub verdict: Verdict,
    /// The codes found, the start included. At an optimal start none are looked for.
    pub size: usize,
    /// Those of them whose changes were looked at, the last perhaps in part.
    pub explored: usize,
    /// The most changes that the shortest path to one of them takes.
    pub depth: usize,
    /// Single-cell changes of the start that leave J as it is.
    pub neutral_moves: usize,
}

/// A search in progress.
///
/// ```
/// use foldglass::proof::claim::Finding;
/// use foldglass::landscape::shelf::{Search, Workers};
/// use foldglass::prelude::*;
/// let spec = ClassSpec::uniform(Operation::cyclic(2).unwrap(), &[3], Shape::untied(0, 0));
/// let class = spec.lay_out().unwrap();
/// let copy = Code::from_fn(&class, |cell| class.key(cell).x[0].unwrap());
/// let mut workers = Workers::new(&class, Context::default())?;
/// let mut search = Search::new(&mut workers, copy, 1000);
/// search.explore(&mut workers, Context::default());
/// let found = search.finish().unwrap().verdict.finding;
/// assert!(matches!(found, Finding::Escapes { moves } if moves.len() == 2));
/// # Ok::<(), foldglass::reward::count::CountError>(())
/// ```
pub struct Search<N = u128> {
    nodes: ShelfNodes,
    cap: usize,
    explored: usize,
    reward: N,
    denominator: N,
    neutral_moves: usize,
    /// The first code of the shelf found beyond the cap.
    beyond: Option<CodeNode>,
    exit: Option<Exit<N>>,
}

/// A change that raises J.
#[derive(Debug, Clone)]
struct Exit<N> {
    /// The code it changes.
    node: usize,
    cell: usize,
    to: Symbol,
    /// The numerator of J after it.
    reward: N,
}

/// Refuses a cap whose codes do not fit.
pub fn check_cap(cap: usize, memory: Allowance) -> Result<(), CountError> {
    let needed = (cap as u128).checked_mul(ShelfNodes::BYTES);
    Ok(memory.check(&format!("a shelf of {cap} codes"), needed)?)
}

impl<N: Numerator> Search<N> {
    /// Begins at a code; `cap` is the number of codes to keep.
    ///
    /// # Panics
    /// If the code belongs to another class than the workers, or `cap` is 0 or above 2^32 - 1.
    pub fn new<C: RewardCounter<Numerator = N>>(
        workers: &mut Workers<C>,
        start: Code,
        cap: usize,
    ) -> Search<N> {
        let (reward, denominator) = workers.begin(&start, cap);
        Search {
            nodes: ShelfNodes::new(start),
            cap,
            explored: 0,
            reward,
            denominator,
            neutral_moves: 0,
            beyond: None,
            exit: None,
        }
    }

    /// Searches until the verdict is known or the observer stops it. The observer is given how many of the
    /// codes found so far were looked at.
    pub fn explore<C: RewardCounter<Numerator = N>>(
        &mut self,
        workers: &mut Workers<C>,
        context: Context<'_>,
    ) {
        let observer = context.observer;
        while !self.is_over() && observer.report(self.progress()).is_continue() {
            let end = self.nodes.len().min(self.explored + workers.together());
            let codes: Vec<u32> = (self.explored as u32..end as u32).collect();
            let level = WaterLevel {
                top: self.reward.clone(),
                water: N::default(),
                bound: None,
            };
            // Beyond the cap no codes are kept, and only an exit is news.
            let wish = match self.beyond {
                None => Wish::All,
                Some(_) => Wish::Raising,
            };
            let watch = (observer, self.progress());
            let Ok(seen) = workers.look(&self.nodes, &codes, &level, wish, watch) else {
                return;
            };
            for neighbours in seen {
                if self.exit.is_none() {
                    self.take(&neighbours);
                }
            }
        }
    }

    fn progress(&self) -> Progress<'static> {
        Progress {
            unit: "codes of the shelf",
            done: self.explored as u64,
            all: Some(self.nodes.len() as u64),
            share: None,
        }
    }

    /// Whether the verdict is known.
    pub fn is_over(&self) -> bool {
        let nothing_left = self.explored > 0 && self.is_optimal();
        nothing_left || self.exit.is_some() || self.explored == self.nodes.len()
    }

    fn is_optimal(&self) -> bool {
        self.reward == self.denominator
    }

    /// Takes in what was seen at the next code.
    fn take(&mut self, seen: &Neighbours<N>) {
        if self.explored == 0 {
            self.neutral_moves = seen.kept.len();
        }
        if self.is_optimal() {
            self.explored = 1;
            return;
        }
        if let Some((cell, to, reward)) = seen.raising.clone() {
            self.exit = Some(Exit {
                node: self.explored,
                cell,
                to,
                reward,
            });
            return;
        }
        if self.beyond.is_none() {
            let parent = self.explored as u32;
            self.beyond = self.nodes.insert_all(parent, &seen.kept, self.cap);
        }
        self.explored += 1;
    }

    /// What was found. A search that was stopped is one with a smaller cap: the codes whose changes
    /// it has looked at are found, the next one is beyond them. None where it has not looked at all
    /// changes of the start.
    pub fn finish(mut self) -> Option<Shelf> {
        if self.explored == 0 && self.exit.is_none() {
            return None;
        }
        let reward = Reward::new(self.reward.clone(), self.denominator.clone());
        let moves = self.exit.as_ref().map(|exit| self.moves(exit, &reward));
        if moves.is_none() && !self.is_optimal() {
            self.beyond = self.nodes.get(self.explored).or(self.beyond);
            self.nodes.truncate(self.explored);
        }
        let (size, depth) = (self.nodes.len(), self.nodes.depth());
        let explored = self.explored + usize::from(self.exit.is_some());
        let start = self.nodes.start().clone();
        let optimal = self.is_optimal();
        let nodes = self.nodes.into_list();
        let finding = match (moves, self.beyond) {
            _ if optimal => Finding::Optimal,
            (Some(moves), _) => Finding::Escapes { moves },
            (None, None) => Finding::Certified { nodes },
            (None, Some(beyond)) => Finding::Bounded {
                cap: size,
                nodes,
                beyond,
            },
        };
        Some(Shelf {
            verdict: Verdict {
                start,
                reward,
                finding,
                way_out: None,
            },
            size,
            explored,
            depth,
            neutral_moves: self.neutral_moves,
        })
    }

    /// The neutral moves to a code with an exit, and the one that raises J.
    fn moves(&self, exit: &Exit<N>, reward: &Reward) -> Vec<Move> {
        let mut moves = self.nodes.path(exit.node, reward);
        moves.push(Move {
            cell: exit.cell,
            from: self.nodes.code(exit.node).action(exit.cell),
            to: exit.to,
            kind: Some(MoveKind::Raise),
            reward: Reward::new(exit.reward.clone(), self.denominator.clone()),
        });
        moves
    }
}
