//! States what is said of codes: paths that never lower J, and verdicts on shelves (paper, thm. 4.1
//! and App. G.6).
//!
//! Searches make claims, files hold them, [`crate::proof::check`] re-verifies them; a claim knows nothing
//! of how it was found.

#[cfg(feature = "serde")]
mod form;
mod way_out;

use crate::model::operation::Symbol;
use crate::model::policy::Code;
use crate::support::exact::Reward;

#[cfg(feature = "serde")]
pub use form::{ClaimError, PATH_FORMAT, PathForm, VERDICT_FORMAT, VerdictForm, VerdictsForm};
pub use way_out::{Standing, WayOut};

/// A code, as another one with one cell changed. Codes are numbered; number 0 is the start. They
/// are listed in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(schemars::JsonSchema, serde::Serialize, serde::Deserialize)
)]
#[cfg_attr(feature = "serde", serde(into = "Triple", from = "Triple"))]
#[cfg_attr(feature = "serde", schemars(with = "Triple"))]
pub struct CodeNode {
    /// The number of the other code, which is smaller.
    pub parent: u32,
    /// The cell that differs.
    pub cell: u32,
    /// Its action here.
    pub action: Symbol,
}

/// A node as files have it: [parent, cell, action].
#[cfg(feature = "serde")]
type Triple = (u32, u32, Symbol);

#[cfg(feature = "serde")]
impl From<CodeNode> for Triple {
    fn from(node: CodeNode) -> Triple {
        (node.parent, node.cell, node.action)
    }
}

#[cfg(feature = "serde")]
impl From<Triple> for CodeNode {
    fn from((parent, cell, action): Triple) -> CodeNode {
        CodeNode {
            parent,
            cell,
            action,
        }
    }
}

/// Why a path makes a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MoveKind {
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

crate::named_enum!(MoveKind {
    "consolidate" => Consolidate,
    "prepare" => Prepare,
    "reroute" => Reroute,
    "finish" => Finish,
    "neutral" => Neutral,
    "raise" => Raise,
});

#[cfg(feature = "serde")]
crate::serde_as_text!(MoveKind);

/// One change of one cell on a path.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(schemars::JsonSchema, serde::Serialize, serde::Deserialize)
)]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Move {
    /// The cell.
    pub cell: usize,
    /// Its action before.
    pub from: Symbol,
    /// Its action after.
    pub to: Symbol,
    /// Why it is made, where that is said.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub kind: Option<MoveKind>,
    /// J after it.
    #[cfg_attr(feature = "serde", serde(rename = "reward_exact"))]
    pub reward: Reward,
}

/// A claim: from a code, these moves lead to a reward, and none of them lowers J.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// The code it starts from.
    pub start: Code,
    /// Its reward.
    pub start_reward: Reward,
    /// The moves, in their order.
    pub moves: Vec<Move>,
    /// The reward it ends at.
    pub reward: Reward,
}

/// A claim: a code, its reward and what is said of its shelf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The code.
    pub start: Code,
    /// Its reward.
    pub reward: Reward,
    /// What is said of it.
    pub finding: Finding,
    /// How high the way out is, where that is said; an optimal code has none.
    pub way_out: Option<WayOut>,
}

/// What is said of the shelf of a code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// J is 1.
    Optimal,
    /// These and the start are the whole shelf, and it has no exit.
    Certified {
        /// Code i is `nodes[i - 1]`.
        nodes: Vec<CodeNode>,
    },
    /// These and the start are on the shelf and have no exit, but the shelf is larger.
    Bounded {
        /// Their number, the start included.
        cap: usize,
        /// Code i is `nodes[i - 1]`.
        nodes: Vec<CodeNode>,
        /// One more code of the shelf.
        beyond: CodeNode,
    },
    /// There is a path to a higher reward that never lowers J.
    Escapes {
        /// Its moves, of which the last alone raises J.
        moves: Vec<Move>,
    },
}

impl Finding {
    /// The word for it.
    pub fn name(&self) -> &'static str {
        match self {
            Finding::Optimal => "optimal",
            Finding::Certified { .. } => "certified",
            Finding::Bounded { .. } => "bounded",
            Finding::Escapes { .. } => "escapes",
        }
    }

    /// The codes of the shelf that it lists, but for the start.
    pub fn nodes(&self) -> &[CodeNode] {
        match self {
            Finding::Certified { nodes } | Finding::Bounded { nodes, .. } => nodes,
            Finding::Optimal | Finding::Escapes { .. } => &[],
        }
    }
}

impl Verdict {
    /// The most changes that lead from the start to a code it lists.
    ///
    /// # Panics
    /// If a code is not made from an earlier one.
    pub fn depth(&self) -> usize {
        let mut depths = vec![0];
        for node in self.finding.nodes() {
            depths.push(depths[node.parent as usize] + 1);
        }
        depths.into_iter().max().unwrap_or(0)
    }
}
