//! Takes a code apart: what its steps lose, which states share a token, which cells are defended
//! (paper, sections 4.2 and App. D to F).
//!
//! A step *aliases* when histories of different task states s_t emit the same token y_t. For parity
//! with the window (0,0) a step is *dead* when both of its links are equal (it ignores x_t) or both
//! are constant (it ignores y_{t-1}), a *half-reset* when one of them is constant.

mod product;
mod rollouts;

use crate::landscape::gauge::{Links, links};
use crate::landscape::walk::{CellVisit, walk};
use crate::model::class::Group;
use crate::model::operation::Symbol;
use crate::model::policy::Code;
use crate::reward::count::{CountError, Counter, RewardCounter, WideCounter, is_wide};
use crate::support::context::Context;
use std::collections::{BTreeMap, BTreeSet};

pub use product::{Factor, product};
pub use rollouts::{Answers, Blame, Cause, Share, Wrong, answers};

/// The effect of a step, or of the steps that share cells, on the states it reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepAnatomy {
    /// The step, counted from 1; none in a tied class.
    pub t: Option<usize>,
    /// The index of its first cell.
    pub first_cell: usize,
    /// The number of its cells.
    pub cells: usize,
    /// The windows it tells apart.
    pub windows: usize,
    /// How many of its links are constant: the token read is lost. None where nothing is read or
    /// more than one token is remembered.
    pub constant_links: Option<usize>,
    /// How many merge some tokens, but not all.
    pub merging_links: Option<usize>,
    /// The kind of step.
    pub kind: StepKind,
}

/// The information that a step loses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StepKind {
    /// Nothing is read from a token: the first step, whose actions differ.
    Opens,
    /// The actions do not depend on the window: it is dead.
    Blind,
    /// They do not depend on the tokens read, for any window: it is dead.
    Resets,
    /// The tokens read are lost for some windows, not for all.
    HalfResets,
    /// Some tokens are merged, none are all lost.
    Merges,
    /// Every link is a permutation.
    Permutes,
    /// Memory above 1: not classified.
    Mixed,
}

impl StepKind {
    /// A description, for tables.
    pub fn words(self) -> &'static str {
        match self {
            StepKind::Opens => "opens",
            StepKind::Blind => "dead: ignores the input",
            StepKind::Resets => "dead: ignores the token",
            StepKind::HalfResets => "half-reset",
            StepKind::Merges => "merges tokens",
            StepKind::Permutes => "permutes",
            StepKind::Mixed => "depends on both",
        }
    }

    /// Whether all that came before, or the step's own input, is lost.
    pub fn is_dead(self) -> bool {
        matches!(self, StepKind::Blind | StepKind::Resets)
    }
}

/// The steps of a code.
///
/// ```
/// use foldglass::landscape::anatomy::{StepKind, steps};
/// use foldglass::{ClassSpec, Code, Operation, Shape};
/// let spec = ClassSpec::uniform(Operation::cyclic(2).unwrap(), &[3], Shape::untied(0, 0));
/// let class = spec.lay_out().unwrap();
/// let copy = Code::from_fn(&class, |cell| class.key(cell).x[0].unwrap());
/// let kinds: Vec<StepKind> = steps(&copy).iter().map(|step| step.kind).collect();
/// assert_eq!(kinds, [StepKind::Opens, StepKind::Resets, StepKind::Resets]);
/// ```
pub fn steps(code: &Code) -> Vec<StepAnatomy> {
    let class = code.class();
    let links = links(code);
    let step = |(n, group): (usize, &Group)| {
        let own = group.first_cell..group.first_cell + group.cells;
        let actions = &code.actions()[own];
        let maps: Vec<&[Symbol]> = actions.chunks_exact(group.histories).collect();
        let is_constant = |map: &&[Symbol]| map.iter().all(|&action| action == map[0]);
        let constant = maps.iter().filter(|map| is_constant(map)).count();
        let blind = maps.iter().all(|&map| map == maps[0]);
        let reads = group.histories > 1;
        let merging = links.as_ref().filter(|_| reads).map(|links| {
            let rank = |map: &Vec<Symbol>| Links::rank(map);
            let ranks = links[n].maps.iter().map(rank);
            ranks.filter(|&rank| rank > 1 && rank < class.q()).count()
        });
        let kind = match merging {
            _ if blind => StepKind::Blind,
            _ if !reads => StepKind::Opens,
            _ if constant == maps.len() => StepKind::Resets,
            _ if constant > 0 => StepKind::HalfResets,
            None => StepKind::Mixed,
            Some(0) => StepKind::Permutes,
            Some(_) => StepKind::Merges,
        };
        StepAnatomy {
            t: group.t,
            first_cell: group.first_cell,
            cells: group.cells,
            windows: maps.len(),
            constant_links: reads.then_some(constant),
            merging_links: merging,
            kind,
        }
    };
    class.groups().iter().enumerate().map(step).collect()
}

/// The states that share a token at a step of the rollouts of one length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aliased {
    /// The length of the inputs.
    pub length: usize,
    /// The step, counted from 1.
    pub t: usize,
    /// By token that is emitted: the states whose histories emit it.
    pub states: BTreeMap<Symbol, BTreeSet<Symbol>>,
}

impl Aliased {
    /// Whether histories of different states emit the same token.
    pub fn aliases(&self) -> bool {
        self.states.values().any(|states| states.len() > 1)
    }
}

/// Which states share a token, step by step and length by length; linear in T.
pub fn aliasing(code: &Code) -> Vec<Aliased> {
    let lengths = code.class().task().lengths();
    let of_length = |(which, &length): (usize, &usize)| {
        let empty = |t| Aliased {
            length,
            t,
            states: BTreeMap::new(),
        };
        let mut steps: Vec<Aliased> = (1..=length).map(empty).collect();
        walk([code], which, true, |visit: CellVisit<'_, 1, bool>| {
            let states = &mut steps[visit.t - 1].states;
            states
                .entry(visit.tokens[0])
                .or_default()
                .insert(visit.state);
        });
        steps
    };
    lengths.iter().enumerate().flat_map(of_length).collect()
}

/// By cell: whether the rollout of some input consults it.
pub fn consulted(code: &Code) -> Vec<bool> {
    let mut found = vec![false; code.class().cells()];
    for which in 0..code.class().task().lengths().len() {
        walk([code], which, false, |visit: CellVisit<'_, 1, bool>| {
            found[visit.cells[0]] = true;
        });
    }
    found
}

/// How J answers to single changes, cell by cell.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Defence {
    /// Every other action lowers J.
    pub defended: Vec<usize>,
    /// No other action raises J, and one leaves it as it is, though rollouts consult the cell.
    pub neutral: Vec<usize>,
    /// Another action raises J.
    pub improvable: Vec<usize>,
    /// No rollout consults the cell.
    pub unconsulted: Vec<usize>,
}

/// Sorts the cells of a code by what single changes do to J.
pub fn defence(code: &Code, context: Context<'_>) -> Result<Defence, CountError> {
    match is_wide(code.class()) {
        true => defence_by::<WideCounter>(code, context),
        false => defence_by::<Counter>(code, context),
    }
}

fn defence_by<C: RewardCounter>(code: &Code, context: Context<'_>) -> Result<Defence, CountError> {
    let mut counter = C::within(code.clone(), context.memory)?;
    let mut rewards = vec![C::Numerator::default(); code.class().q()];
    let mut defence = Defence::default();
    for (cell, consulted) in consulted(code).into_iter().enumerate() {
        counter.rewards(cell, &mut rewards);
        let now = code.action(cell) as usize;
        let others = (rewards.iter().enumerate()).filter(|&(action, _)| action != now);
        let best = others.map(|(_, reward)| reward).max();
        let list = if !consulted {
            &mut defence.unconsulted
        } else if best.is_none_or(|best| *best < rewards[now]) {
            &mut defence.defended
        } else if best == Some(&rewards[now]) {
            &mut defence.neutral
        } else {
            &mut defence.improvable
        };
        list.push(cell);
    }
    Ok(defence)
}
