//! States a path of single-cell changes that never lowers J, and checks it (paper, thm. 4.1).

use super::forward::Forward;
use super::{CheckError, Rollouts};
use crate::class::{Allowance, Class};
use crate::exact::lowest_terms;
use crate::policy::Code;
use crate::quasigroup::Symbol;
use dashu_ratio::RBig;
use std::fmt;
use thiserror::Error;

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

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Consolidate => "consolidate",
            Kind::Prepare => "prepare",
            Kind::Reroute => "reroute",
            Kind::Finish => "finish",
            Kind::Neutral => "neutral",
            Kind::Raise => "raise",
        })
    }
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

/// What is wrong with a path.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
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
        kind: Kind,
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
    Forward(Forward, RBig),
}

impl Engine {
    fn new(class: &Class, code: &Code, allowance: Allowance) -> Result<Engine, CheckError> {
        let task = class.task();
        let length = task.longest();
        let inputs = u32::try_from(length).ok();
        let inputs = inputs.and_then(|length| (class.q() as u128).checked_pow(length));
        let steps = inputs.and_then(|inputs| inputs.checked_mul(length as u128));
        let wide = u128::try_from(task.denominator()).is_err();
        if wide || steps.is_none_or(|steps| steps > MOST_STEPS) {
            let share = RBig::from_parts(1.into(), task.denominator());
            return Ok(Engine::Forward(Forward::new(class, code.clone()), share));
        }
        Rollouts::new(class, code.clone(), allowance).map(Engine::Rollouts)
    }

    fn code(&self) -> &Code {
        match self {
            Engine::Rollouts(rollouts) => rollouts.code(),
            Engine::Forward(forward, _) => forward.code(),
        }
    }

    fn reward(&self) -> RBig {
        match self {
            Engine::Rollouts(rollouts) => {
                RBig::from_parts(rollouts.reward().into(), rollouts.denominator().into())
            }
            Engine::Forward(forward, share) => RBig::from(forward.reward().clone()) * share,
        }
    }

    fn is_consulted(&mut self, cell: usize) -> bool {
        match self {
            Engine::Rollouts(rollouts) => rollouts.consulted(cell) > 0,
            Engine::Forward(forward, _) => forward.is_consulted(cell),
        }
    }

    fn set(&mut self, cell: usize, action: Symbol) {
        match self {
            Engine::Rollouts(rollouts) => rollouts.set(cell, action),
            Engine::Forward(forward, _) => forward.set(cell, action),
        }
    }
}

/// Follows a path move by move, and holds every number it states against the rollouts.
///
/// ```
/// use foldglass::check::path::verify;
/// use foldglass::class::{Allowance, Class, Shape};
/// use foldglass::escape::escape;
/// use foldglass::policy::Code;
/// use foldglass::{inputs::InputLaw, quasigroup::LatinSquare, task::Task};
/// let task = Task::new(LatinSquare::paper(), &InputLaw::Uniform, &[3]).unwrap();
/// let class = Class::new(task, Shape::untied(0, 0), Allowance::default()).unwrap();
/// let zero = Code::from_fn(&class, |_| 0);
/// let mut path = escape(&class, &zero, Allowance::default()).unwrap();
/// assert_eq!(verify(&class, &path, Allowance::default()), Ok(()));
/// path.moves.remove(0);
/// assert!(verify(&class, &path, Allowance::default()).is_err());
/// ```
///
/// # Panics
/// If the path belongs to another class.
pub fn verify(class: &Class, path: &Path, allowance: Allowance) -> Result<(), PathError> {
    let mut engine = Engine::new(class, &path.start, allowance)?;
    let mut reward = engine.reward();
    if reward != path.start_reward {
        return Err(PathError::Start {
            stated: lowest_terms(&path.start_reward),
            found: lowest_terms(&reward),
        });
    }
    for (number, m) in (1..).zip(&path.moves) {
        reward = step(&mut engine, number, m, reward)?;
    }
    if reward != path.reward {
        return Err(PathError::End {
            stated: lowest_terms(&path.reward),
            found: lowest_terms(&reward),
        });
    }
    Ok(())
}

/// Makes a move if it is what it states; gives J after it.
fn step(engine: &mut Engine, number: usize, m: &Move, before: RBig) -> Result<RBig, PathError> {
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
    let unfit = |why| PathError::Kind {
        number,
        kind: m.kind,
        why,
    };
    if m.kind == Kind::Prepare && engine.is_consulted(cell) {
        return Err(unfit("an input consults the cell"));
    }
    engine.set(cell, m.to);
    let after = engine.reward();
    if after != m.reward {
        return Err(PathError::Reward {
            number,
            stated: lowest_terms(&m.reward),
            found: lowest_terms(&after),
        });
    }
    if after < before {
        return Err(PathError::Lowers {
            number,
            before: lowest_terms(&before),
            after: lowest_terms(&after),
        });
    }
    match m.kind {
        Kind::Finish | Kind::Raise if after == before => Err(unfit("J stays what it is")),
        Kind::Neutral if after > before => Err(unfit("J rises")),
        _ => Ok(after),
    }
}
