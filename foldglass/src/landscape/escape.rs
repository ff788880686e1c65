//! Leads any code to J = 1 by changes of single cells, none of which lowers J (paper, thm. 4.1 and
//! App. E), and any policy to a code (App. B, cor. 4.2 and 4.3).
//!
//! The theorem holds for untied classes of any window that remember one token, for any table, on
//! inputs whose symbols are independent, whatever their laws, where the last token alone is rewarded.
//! (A process reward that weighs every step at least as much as all later ones together needs only an
//! untied class: the page *Process rewards*.)
//! Inputs have one length, or several, with any weights, if
//! the window sees at least one symbol ahead, so that the cells that answer see the end of the
//! input. The paper proves it for the window (0, 0); the page *Theorems* of the documentation has
//! the proof for the others. There
//! - s_t is the fold after t symbols;
//! - v_t = x_{t+1-p} .. x_{t+f} is the *context* of step t: what step t and step t + 1 both see. A
//!   cell of step t + 1 is a context, the next symbol (or none at the end) and a token;
//! - W_t(v, y, s) is the weight of what follows step t and earns the reward, after token y in state
//!   s and context v: W_T(v, y, s) = \[y = s\], and W_t(v, y, s) is the sum over the next symbol of
//!   its weight times W_{t+1}(v', sigma_{t+1}(v, x, y), B\[s, x_{t+1}\]);
//! - a cell that is consulted in one state only, by inputs of weight w, adds w W_t(v, a, s_t) to the
//!   numerator of J when its action is a.
//!
//! [`escape`] goes through the steps. Before step t, every token stands for one state in each
//! context. Where two states of step t have a token in common in a context (a collision)
//! 1. each state gets one token there, among those with the largest W_t(v, ., s_t) (*consolidate*);
//! 2. a state that shares its token gets one that no cell emits in this context. The cells that will
//!    read the new token are not consulted: they are set to what is best for the state
//!    (*prepare*), then the cells that lead to the state emit it (*reroute*).
//!
//! At the last step every cell takes the right answer (*finish*).
//!
//! W_t depends on the steps after t alone, and round t changes steps t and t + 1: so W_t, computed
//! once for the first code, is still that of the current code when round t begins.

mod collapse;
mod search;
mod walk;

use crate::model::class::{Class, Window};
use crate::model::policy::Code;
use crate::model::rewarded::RewardRule;
use crate::model::task::Task;
use crate::proof::claim::{Move, MoveKind, Path};
use crate::reward::count::{CountError, Counter};
use crate::support::context::Context;
use crate::support::exact::Reward;
use crate::support::memory::TooLarge;
use dashu_int::UBig;
use dashu_int::ops::BitTest;
use thiserror::Error;
use walk::Walk;

pub use collapse::{Ascent, Collapse, PolicyStanding, Segment, collapse};
pub use search::{EscapeSearch, SearchOutcome, check_cap, search};

/// A hypothesis of the theorem that a class does not meet.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hypothesis {
    /// All steps share one table.
    Untied,
    /// A process reward that pays later steps more.
    FinalReward(RewardRule),
    /// A longer memory.
    Memory(usize),
    /// Several lengths, and a window that does not see the end of the input.
    OneLength {
        /// How many lengths there are.
        lengths: usize,
        /// The symbols behind that the window sees.
        past: usize,
    },
    /// Symbols that depend on those before.
    Independent,
}

impl Hypothesis {
    /// What the theorem needs, what the class has instead, and with what the theorem holds.
    fn words(&self) -> [String; 3] {
        let owned = |words: [&str; 3]| words.map(str::to_owned);
        match self {
            Hypothesis::Untied => {
                owned(["an untied class", "all steps share one table", OWN_TABLES])
            }
            Hypothesis::FinalReward(rule) => [
                "the reward of the last token alone".to_owned(),
                format!("it is --reward {rule}"),
                "--reward final".to_owned(),
            ],
            Hypothesis::Memory(memory) => [
                "a memory of 1 token".to_owned(),
                format!("the memory is {memory}"),
                "memory 1".to_owned(),
            ],
            Hypothesis::OneLength { lengths, past } => [
                "either inputs of one length or a window with at least 1 symbol ahead".to_owned(),
                format!("there are {lengths} lengths and the window is {past},0"),
                format!("either one length or the window {past},1"),
            ],
            Hypothesis::Independent => owned([
                "independent symbols",
                "each symbol depends on the one before",
                "uniform or product inputs",
            ]),
        }
    }
}

const OWN_TABLES: &str = "a table of its own for every step";

/// Names the hypotheses that fail, and a class for which all hold.
fn refusal(fails: &[Hypothesis]) -> String {
    let words: Vec<[String; 3]> = fails.iter().map(Hypothesis::words).collect();
    let list = |which: usize| match words.split_last() {
        Some((last, [])) => last[which].clone(),
        Some((last, [first])) => format!("{} and {}", first[which], last[which]),
        Some((last, all)) => {
            let all: Vec<&str> = all.iter().map(|words| words[which].as_str()).collect();
            format!("{}, and {}", all.join(", "), last[which])
        }
        None => String::new(),
    };
    let has = |which: fn(&Hypothesis) -> bool| fails.iter().any(which);
    let also = match (
        has(|fails| matches!(fails, Hypothesis::FinalReward(_))),
        has(|fails| *fails == Hypothesis::Untied),
    ) {
        (true, tied) => format!(
            ", or with {}a process reward in which every step weighs at least as much as all later ones together",
            if tied {
                format!("{OWN_TABLES} and ")
            } else {
                String::new()
            }
        ),
        _ => String::new(),
    };
    let open = match has(|fails| matches!(fails, Hypothesis::Memory(_))) {
        true => "; whether it holds with a longer memory is not known",
        false => "",
    };
    format!(
        "the theorem needs {}: here {}. It holds with {}{also}{open}",
        list(0),
        list(1),
        list(2)
    )
}

/// Why there is no path.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EscapeError {
    /// All hypotheses that fail, at least one.
    #[error("{}", refusal(.0))]
    Unmet(Vec<Hypothesis>),
    /// A reward that cannot be counted.
    #[error(transparent)]
    Count(#[from] CountError),
    /// More memory than allowed.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
}

/// Says which hypotheses of the theorem a class does not meet, if any.
pub fn assumptions(class: &Class) -> Result<(), EscapeError> {
    let (shape, task) = (class.shape(), class.task());
    let (lengths, Window { past, future }) = (task.lengths().len(), shape.window);
    let mut fails = Vec::new();
    if shape.tied {
        fails.push(Hypothesis::Untied);
    }
    let (last_alone, falls) = (task.reward().is_final(), falls(task));
    if !last_alone && !falls {
        fails.push(Hypothesis::FinalReward(task.reward().clone()));
    }
    // Where a process reward falls nothing else is needed.
    if !falls {
        if shape.memory != 1 {
            fails.push(Hypothesis::Memory(shape.memory));
        }
        if lengths != 1 && future == 0 {
            fails.push(Hypothesis::OneLength { lengths, past });
        }
        if task.inputs().is_correlated() {
            fails.push(Hypothesis::Independent);
        }
    }
    match fails.is_empty() {
        true => Ok(()),
        false => Err(EscapeError::Unmet(fails)),
    }
}

/// Whether the reward is a process reward in which every step weighs at least as much as all later ones together.
fn falls(task: &Task) -> bool {
    if task.reward().is_final() {
        return false;
    }
    let weights: Vec<UBig> = (1..=task.longest())
        .map(|t| task.step_weight(0, t))
        .collect();
    let mut later = UBig::ZERO;
    weights.iter().rev().all(|weight| {
        let falls = *weight >= later;
        later += weight;
        falls
    })
}

/// Puts the cells right step by step, where a process reward falls. When all tokens before step t are right, the
/// inputs that consult a cell of step t are in one state: its change gains what the step weighs, and loses at most
/// what all later ones do.
fn put_right(code: &Code, context: Context<'_>) -> Result<Path, EscapeError> {
    let right = Code::fold(code.class());
    let mut counter = Counter::within(code.clone(), context.memory)?;
    let denominator = counter.denominator();
    let reward = |counter: &Counter| Reward::new(counter.reward(), denominator);
    let (start_reward, mut moves) = (reward(&counter), Vec::new());
    // Cells come in the order of their steps.
    for cell in 0..code.class().cells() {
        let (from, to, before) = (code.action(cell), right.action(cell), counter.reward());
        if from == to {
            continue;
        }
        counter.set(cell, to);
        moves.push(Move {
            cell,
            from,
            to,
            kind: Some(if counter.reward() > before {
                MoveKind::Raise
            } else {
                MoveKind::Neutral
            }),
            reward: reward(&counter),
        });
    }
    Ok(Path {
        start: code.clone(),
        start_reward,
        reward: reward(&counter),
        moves,
    })
}

/// The most moves that a path of [`escape`] makes: three for each cell, or one where a process reward falls.
///
/// With a final reward, in the round of its own step a cell is consolidated at most once and rerouted at most
/// once (or finished, at the last step), and in the round of the step before it is prepared at most once. Where
/// a process reward falls, every cell is put right at most once.
///
/// ```
/// use foldglass::landscape::escape::most_moves;
/// use foldglass::{ClassSpec, Operation, Shape};
/// let spec = ClassSpec::uniform(Operation::paper(), &[8], Shape::untied(0, 0));
/// assert_eq!(most_moves(&spec.lay_out().unwrap()), 540);
/// ```
pub fn most_moves(class: &Class) -> u128 {
    let each = match class.task().reward().is_final() {
        true => 3,
        false => 1,
    };
    each * class.cells() as u128
}

/// Finds a path from a code to J = 1 that never lowers J.
///
/// ```
/// use foldglass::landscape::escape::escape;
/// use foldglass::{ClassSpec, Code, Context, Operation, Shape};
/// let spec = ClassSpec::uniform(Operation::cyclic(2).unwrap(), &[3], Shape::untied(0, 0));
/// let class = spec.lay_out().unwrap();
/// let zero = Code::from_fn(&class, |_| 0);
/// let path = escape(&zero, Context::default()).unwrap();
/// assert_eq!(path.start_reward.to_string(), "1/2");
/// assert!(path.reward.is_one());
/// ```
pub fn escape(code: &Code, context: Context<'_>) -> Result<Path, EscapeError> {
    let class = code.class();
    assumptions(class)?;
    let number = class.task().denominator().bit_len() as u128 / 8 + 32;
    let numbers = 2 * class.cells() as u128 + 2 * most_moves(class);
    context.memory.check(
        &format!("a path of up to {} moves", most_moves(class)),
        numbers.checked_mul(number),
    )?;
    if !class.task().reward().is_final() {
        return put_right(code, context);
    }
    Ok(Walk::new(code).lead_to_one())
}
