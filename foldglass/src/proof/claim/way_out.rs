//! States how far J must fall before it can rise: the height of the way out of a shelf (paper, App. G.6).

use super::Move;
use crate::support::exact::Reward;

/// A claim: a path from a code to a higher reward, and how far below the code's reward it leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WayOut {
    /// The most by which J on the path is below the start's.
    pub height: Reward,
    /// Whether another path stays higher.
    pub standing: Standing,
    /// The path, of which only the last code earns more than the start.
    pub moves: Vec<Move>,
}

/// What is known of all other ways out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    /// None stays higher.
    Exact {
        /// The codes that can be reached while J is less than the height below the start's, the
        /// start included; none where the height is 0. No change of any of them leads above it.
        codes: usize,
    },
    /// Some may: the search was not finished. Whether its cap ended it or its caller is not part of the claim, and makes no
    /// difference to a checker.
    Bound,
}

impl Standing {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Standing::Exact { .. } => "exact",
            Standing::Bound => "bound",
        }
    }
}
