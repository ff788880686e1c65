//! States a path of single-cell changes that never lowers J (paper, thm. 4.1).

use crate::policy::Code;
use crate::quasigroup::Symbol;
use dashu_ratio::RBig;

/// Why a path makes a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A cell takes the token that is best for the state it leads to (App. E, step 1).
    Consolidate,
    /// A cell that no input consults is set for a state that will be led there (App. E, step 2).
    Prepare,
    /// A state leaves a token it shares for one of its own (App. E, step 2).
    Reroute,
    /// A cell of the last step takes the right answer (App. E, corollary).
    Finish,
    /// J stays what it is.
    Neutral,
    /// J rises.
    Raise,
}

/// One change of one cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move {
    /// The cell.
    pub cell: usize,
    /// Its action before.
    pub from: Symbol,
    /// Its action after.
    pub to: Symbol,
    /// Why it is made.
    pub kind: Kind,
    /// J after it.
    pub reward: RBig,
}

/// A claim: from a code, these moves lead to a reward, and none of them lowers J.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// The code it starts from.
    pub start: Code,
    /// Its reward.
    pub start_reward: RBig,
    /// The moves, in their order.
    pub moves: Vec<Move>,
    /// The reward it ends at.
    pub reward: RBig,
}
