//! Walks at random among codes of equal reward until one can be raised (paper, section 4.1: the
//! dynamics at vanishing temperature), where no theorem gives a path.

use crate::model::operation::Symbol;
use crate::proof::claim::{Move, MoveKind, Path};
use crate::reward::count::Counter;
use crate::support::context::Context;
use crate::support::exact::Reward;
use crate::support::memory::{Allowance, TooLarge};
use crate::support::stream::Stream;
use crate::support::watch::{Asking, Progress};
use std::cell::Cell;

/// How far a search came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchOutcome {
    /// To J = 1.
    Optimum,
    /// To a higher reward below 1.
    Raised,
    /// Nowhere: no proposal raised J.
    Stuck,
}

/// The outcome of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EscapeSearch {
    /// How far it came.
    pub outcome: SearchOutcome,
    /// Changes it proposed.
    pub proposals: u64,
    /// The moves up to the last that raised J.
    pub path: Path,
}

/// Refuses a cap whose moves may not fit: every proposal may be one that leaves J as it is.
pub fn check_cap(cap: u64, memory: Allowance) -> Result<(), TooLarge> {
    let needed = u128::from(cap).checked_mul(size_of::<Made>() as u128);
    memory.check(&format!("a walk of {cap} proposals"), needed)
}

/// A change that was made: its cell, what it was and is, its kind, and the numerator of J then.
type Made = (usize, Symbol, Symbol, MoveKind, u128);

/// Proposes up to `cap` random changes of single cells from the counter's code on, and makes those
/// that do not lower J, until J = 1 or the observer says stop. Stopped after n proposals, it has done
/// what a search with the cap n does.
///
/// ```
/// use foldglass::reward::count::Counter;
/// use foldglass::landscape::escape::{SearchOutcome, search};
/// use foldglass::{ClassSpec, Code, Context, Operation, Shape, Stream};
/// let spec = ClassSpec::uniform(Operation::cyclic(2).unwrap(), &[3], Shape::untied(1, 0));
/// let class = spec.lay_out().unwrap();
/// let zero = Code::from_fn(&class, |_| 0);
/// let counter = Counter::new(zero).unwrap();
/// let found = search(counter, 100_000, &mut Stream::new(1, 0), Context::default());
/// assert_eq!(found.outcome, SearchOutcome::Optimum);
/// ```
pub fn search(
    mut counter: Counter,
    cap: u64,
    stream: &mut Stream,
    context: Context<'_>,
) -> EscapeSearch {
    let (cells, q) = (counter.class().cells() as u32, counter.class().q() as u32);
    let (start, first) = (counter.code().clone(), counter.reward());
    let denominator = counter.denominator();
    let fraction = |num: u128| Reward::new(num, denominator);
    let mut moves: Vec<Made> = Vec::new();
    let (mut raised, proposals) = (0, Cell::new(0));
    let mut rewards = vec![0; q as usize];
    let question = || {
        context.observer.report(Progress {
            unit: "proposals",
            done: proposals.get(),
            all: Some(cap),
            share: None,
        })
    };
    let mut asking = Asking::new(&question);
    while counter.reward() < denominator && proposals.get() < cap && asking.go_on().is_ok() {
        proposals.set(proposals.get() + 1);
        let cell = stream.below(cells) as usize;
        let (now, from) = (counter.reward(), counter.code().action(cell));
        let to = ((u32::from(from) + 1 + stream.below(q - 1)) % q) as Symbol;
        counter.rewards(cell, &mut rewards);
        let then = rewards[to as usize];
        if then < now {
            continue;
        }
        counter.set(cell, to);
        let kind = if then > now {
            MoveKind::Raise
        } else {
            MoveKind::Neutral
        };
        moves.push((cell, from, to, kind, then));
        if kind == MoveKind::Raise {
            raised = moves.len();
        }
    }
    moves.truncate(raised);
    let last = moves.last().map_or(first, |m| m.4);
    let one = |(cell, from, to, kind, reward): Made| Move {
        cell,
        from,
        to,
        kind: Some(kind),
        reward: fraction(reward),
    };
    EscapeSearch {
        outcome: match (last == denominator, raised) {
            (true, _) => SearchOutcome::Optimum,
            (false, 0) => SearchOutcome::Stuck,
            _ => SearchOutcome::Raised,
        },
        proposals: proposals.get(),
        path: Path {
            start,
            start_reward: fraction(first),
            moves: moves.into_iter().map(one).collect(),
            reward: fraction(last),
        },
    }
}
