//! Re-verifies a path of single-cell changes that never lowers J (paper, thm. 4.1).

use super::forward::Forward;
use super::{CheckError, Earnings, Rollouts, are_listed};
use crate::model::operation::Symbol;
use crate::model::policy::Code;
use crate::proof::claim::{Move, MoveKind, Path};
use crate::support::context::Context;
use crate::support::exact::Reward;
use crate::support::memory::Allowance;
use thiserror::Error;

/// What is wrong with a path.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PathError {
    /// The first reward.
    #[error("the first code earns {found}: the path states {stated}")]
    Start {
        /// What it states.
        stated: String,
        /// What is true.
        found: String,
    },
    /// A cell that holds another action.
    #[error("move {number} takes cell {cell} from {stated}: its action is {found}")]
    From {
        /// The move, counted from 1.
        number: usize,
        /// The cell.
        cell: usize,
        /// What it states.
        stated: Symbol,
        /// What is true.
        found: Symbol,
    },
    /// A move that changes nothing.
    #[error("move {number} leaves cell {cell} at {action}: a move changes a cell")]
    Still {
        /// The move, counted from 1.
        number: usize,
        /// The cell.
        cell: usize,
        /// Its action.
        action: Symbol,
    },
    /// A reward on the way.
    #[error("after move {number} the code earns {found}: the path states {stated}")]
    Reward {
        /// The move, counted from 1.
        number: usize,
        /// What it states.
        stated: String,
        /// What is true.
        found: String,
    },
    /// A move that lowers J.
    #[error("move {number} lowers J from {before} to {after}")]
    Lowers {
        /// The move, counted from 1.
        number: usize,
        /// J before.
        before: String,
        /// J after.
        after: String,
    },
    /// A move that is not what its kind says.
    #[error("move {number} is no {kind}: {why}")]
    Kind {
        /// The move, counted from 1.
        number: usize,
        /// What it states.
        kind: MoveKind,
        /// What is true.
        why: &'static str,
    },
    /// The last reward.
    #[error("the last code earns {found}: the path states {stated}")]
    End {
        /// What it states.
        stated: String,
        /// What is true.
        found: String,
    },
    /// It cannot be checked.
    #[error(transparent)]
    Unchecked(#[from] CheckError),
}

/// Rollouts of more steps than this, all together, are not listed one by one.
const MOST_STEPS: u128 = 1 << 24;

/// What a code earns, input by input or, where those are too many, state by state.
enum Engine {
    Rollouts(Rollouts),
    Forward(Forward),
}

impl Engine {
    fn new(code: &Code, memory: Allowance) -> Result<Engine, CheckError> {
        if !are_listed(code.class(), MOST_STEPS) {
            return Ok(Engine::Forward(Forward::new(code.clone())));
        }
        Rollouts::within(code.clone(), memory).map(Engine::Rollouts)
    }

    fn code(&self) -> &Code {
        match self {
            Engine::Rollouts(rollouts) => rollouts.code(),
            Engine::Forward(forward) => forward.code(),
        }
    }

    fn reward(&self) -> Reward {
        match self {
            Engine::Rollouts(rollouts) => Reward::new(rollouts.reward(), rollouts.denominator()),
            Engine::Forward(forward) => Reward::new(forward.reward(), forward.denominator()),
        }
    }

    fn is_consulted(&mut self, cell: usize) -> bool {
        match self {
            Engine::Rollouts(rollouts) => rollouts.consulted(cell) > 0,
            Engine::Forward(forward) => forward.is_consulted(cell),
        }
    }

    fn set(&mut self, cell: usize, action: Symbol) {
        match self {
            Engine::Rollouts(rollouts) => rollouts.set(cell, action),
            Engine::Forward(forward) => forward.set(cell, action),
        }
    }
}

/// Follows a path move by move, and holds every number it states against the rollouts.
///
/// ```
/// use foldglass::proof::check::path::verify;
/// use foldglass::landscape::escape::escape;
/// use foldglass::prelude::*;
/// let spec = ClassSpec::uniform(Operation::paper(), &[3], Shape::untied(0, 0));
/// let class = spec.lay_out().unwrap();
/// let zero = Code::from_fn(&class, |_| 0);
/// let mut path = escape(&zero, Context::default()).unwrap();
/// assert_eq!(verify(&path, Context::default()), Ok(()));
/// path.moves.remove(0);
/// assert!(verify(&path, Context::default()).is_err());
/// ```
///
/// # Panics
/// If a move has a cell or an action that the class has not.
pub fn verify(path: &Path, context: Context<'_>) -> Result<(), PathError> {
    let mut engine = Engine::new(&path.start, context.memory)?;
    let mut reward = engine.reward();
    if reward != path.start_reward {
        return Err(PathError::Start {
            stated: path.start_reward.to_string(),
            found: reward.to_string(),
        });
    }
    for (number, m) in (1..).zip(&path.moves) {
        reward = step(&mut engine, number, m, reward)?;
    }
    if reward != path.reward {
        return Err(PathError::End {
            stated: path.reward.to_string(),
            found: reward.to_string(),
        });
    }
    Ok(())
}

/// Makes a move if it is what it states; gives J after it.
fn step(engine: &mut Engine, number: usize, m: &Move, before: Reward) -> Result<Reward, PathError> {
    let (cell, found) = (m.cell, engine.code().action(m.cell));
    if found != m.from {
        return Err(PathError::From {
            number,
            cell,
            stated: m.from,
            found,
        });
    }
    if m.from == m.to {
        return Err(PathError::Still {
            number,
            cell,
            action: m.to,
        });
    }
    let unfit = |kind, why| PathError::Kind { number, kind, why };
    if m.kind == Some(MoveKind::Prepare) && engine.is_consulted(cell) {
        return Err(unfit(MoveKind::Prepare, "an input consults the cell"));
    }
    engine.set(cell, m.to);
    let after = engine.reward();
    if after != m.reward {
        return Err(PathError::Reward {
            number,
            stated: m.reward.to_string(),
            found: after.to_string(),
        });
    }
    if after < before {
        return Err(PathError::Lowers {
            number,
            before: before.to_string(),
            after: after.to_string(),
        });
    }
    match m.kind {
        Some(kind @ (MoveKind::Finish | MoveKind::Raise)) if after == before => {
            Err(unfit(kind, "J stays what it is"))
        }
        Some(kind @ (MoveKind::Neutral | MoveKind::Prepare)) if after > before => {
            Err(unfit(kind, "J rises"))
        }
        _ => Ok(after),
    }
}
