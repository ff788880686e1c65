//! Says why a verdict does not hold.

use crate::model::operation::Symbol;
use crate::proof::check::CheckError;
use crate::support::watch::Stopped;
use thiserror::Error;

/// A verdict that does not hold, or that could not be checked.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum VerdictError {
    /// The code has another reward.
    #[error("J of {place} is {found}, not {claimed}")]
    Reward {
        /// Which code.
        place: String,
        /// What J is, in lowest terms.
        found: String,
        /// What was claimed.
        claimed: String,
    },
    /// A code with J below 1 is called optimal.
    #[error("the code is called optimal, but J is {0}")]
    NotOptimal(String),
    /// A code with J = 1 is called something else.
    #[error("J is 1/1: the code is optimal")]
    Optimal,
    /// A path without a move.
    #[error("the path has no move")]
    NoPath,
    /// A move that does not fit the code it changes.
    #[error("move {number} changes cell {cell} from {from} to {to}: its action there is {is}")]
    NoMove {
        /// The move, counted from 1.
        number: usize,
        /// The cell.
        cell: usize,
        /// The action before, as claimed.
        from: Symbol,
        /// The action after.
        to: Symbol,
        /// The action before.
        is: Symbol,
    },
    /// A move that does not do what its place on the path asks for.
    #[error("move {number} leads from J = {before} to {after}: {wanted}")]
    WrongMove {
        /// The move, counted from 1.
        number: usize,
        /// J before it.
        before: String,
        /// J after it.
        after: String,
        /// What it should do.
        wanted: &'static str,
    },
    /// A node that does not name a new code.
    #[error("code {number} changes cell {cell} of code {parent} to {action}: {problem}")]
    NoNode {
        /// The code.
        number: usize,
        /// The cell, parent and action.
        cell: usize,
        /// The code it is made from.
        parent: usize,
        /// The action.
        action: Symbol,
        /// What is wrong.
        problem: String,
    },
    /// A cap that is not the number of codes.
    #[error("the cap is {cap}, but {codes} codes are listed")]
    Cap {
        /// What was claimed.
        cap: usize,
        /// The codes listed, the start included.
        codes: usize,
    },
    /// An exit of a shelf that is said to have none.
    #[error("code {number} has an exit: cell {cell} with action {action} raises J to {reward}")]
    Exit {
        /// The code.
        number: usize,
        /// The cell.
        cell: usize,
        /// The action.
        action: Symbol,
        /// J then.
        reward: String,
    },
    /// A code of the shelf that is not listed, though all are said to be.
    #[error("code {number} with action {action} at cell {cell} is on the shelf, and not listed")]
    NotClosed {
        /// The code.
        number: usize,
        /// The cell.
        cell: usize,
        /// The action.
        action: Symbol,
    },
    /// A code that is not listed where it is found first.
    #[error(
        "code {number} with action {action} at cell {cell} is listed later, as code {listed}: \
         codes are listed where they are found first"
    )]
    NotFirst {
        /// The code.
        number: usize,
        /// The cell.
        cell: usize,
        /// The action.
        action: Symbol,
        /// The number it has in the list.
        listed: usize,
    },
    /// A barrier of another height.
    #[error("the way out leads {found} below the start, not {claimed}")]
    Height {
        /// What was claimed.
        claimed: String,
        /// What its path has.
        found: String,
    },
    /// An exact barrier that is too high.
    #[error(
        "the barrier is not exact: {changes} changes from the start, and nowhere so low, cell \
         {cell} with action {action} leads to {reward}"
    )]
    HigherWay {
        /// Cells of a code that differ from the start.
        changes: usize,
        /// The cell.
        cell: usize,
        /// The action.
        action: Symbol,
        /// J then.
        reward: String,
    },
    /// A flood of another size.
    #[error("{claimed} codes are said to be flooded: there are {found}, or more")]
    Flooded {
        /// What was claimed.
        claimed: usize,
        /// What there is, as far as it was counted.
        found: usize,
    },
    /// The observer stopped it.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// It cannot be checked here.
    #[error(transparent)]
    Check(#[from] CheckError),
}
