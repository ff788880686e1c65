//! States how far J must fall before it can rise: the height of the way out of a shelf (paper, App. G.6).

use super::Move;
use crate::support::exact::Reward;
use crate::support::names;
use std::fmt;
use std::str::FromStr;

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
    /// Some may.
    Bound,
}

/// The word for a standing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StandingWord {
    /// [`Standing::Exact`].
    Exact,
    /// [`Standing::Bound`].
    Bound,
}

impl StandingWord {
    /// All, with the names that files have.
    pub const NAMES: [(&str, StandingWord); 2] = [
        ("exact", StandingWord::Exact),
        ("bound", StandingWord::Bound),
    ];
}

impl Standing {
    /// The word for it.
    pub fn word(self) -> StandingWord {
        match self {
            Standing::Exact { .. } => StandingWord::Exact,
            Standing::Bound => StandingWord::Bound,
        }
    }
}

impl fmt::Display for StandingWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(names::of(&StandingWord::NAMES, *self))
    }
}

impl FromStr for StandingWord {
    type Err = names::UnknownName;

    fn from_str(text: &str) -> Result<StandingWord, names::UnknownName> {
        names::find(&StandingWord::NAMES, text)
    }
}

#[cfg(feature = "serde")]
crate::serde_as_text!(StandingWord);
