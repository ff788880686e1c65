//! Floods a small class: which maxima meet at which reward, and what climbs to them (paper, App.
//! G.6).
//!
//! Two codes are neighbours when they differ in one cell. Let the water fall from the reward 1: the
//! codes above it form components, that appear, grow and meet. A component appears at a **leaf**: a
//! shelf none of whose codes has a neighbour of a higher reward, so a shelf of optima or of traps.
//! Components meet at a **saddle**. Codes of one reward come up together, so a neutral plateau is
//! one thing, and a saddle may join more than two components.
//!
//! The **barrier** of a leaf is its reward less that of the first saddle below it at which something
//! higher is joined: the escape barrier of its codes.
//!
//! **Basins.** A code climbs by single changes that raise the reward: under *steepest* ascent by the
//! best of them, the first in the order of cells and actions where several are; under *random* ascent
//! by any of them, all equally likely. It ends on a leaf, or is *stuck* on a local maximum that has a
//! neutral way out. Of random ascent the exact probabilities are summed.
//!
//! **Orbits.** Codes that differ in the names of their tokens only (App. D) can be taken for one. A
//! leaf then stands for all shelves that are the same but for names, and a saddle for all that join
//! them; barriers and random basins stay what they are. Steepest basins need not: which of several
//! best changes is the first depends on the names.

mod climb;
mod flood;
mod joins;
mod levels;
mod numbering;
mod rewards;
mod vienna;

use crate::model::class::Class;
use crate::model::policy::Code;
use crate::reward::count::CountError;
use crate::support::context::Context;
use crate::support::exact::Reward;
use crate::support::memory::TooLarge;
use crate::support::watch::{Observer, Progress, Stopped};
use std::ops::ControlFlow;
use thiserror::Error;

pub use levels::Levels;
pub use vienna::Vienna;

/// A class that cannot be flooded.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TreeError {
    /// Orbits of a tied class.
    #[error(
        "a tied class has no orbits: the tokens of a step cannot be renamed apart from the others"
    )]
    TiedOrbits,
    /// More codes than 32 bits can number.
    #[error("{nodes} codes would be flooded: at most 2^32 - 2 are numbered")]
    TooMany {
        /// The codes, or the orbits.
        nodes: u128,
    },
    /// A denominator of 2^62 or more.
    #[error("the rewards have a denominator of {bits} bits: a flood takes up to 62")]
    TooFine {
        /// The denominator's size.
        bits: usize,
    },
    /// More memory than allowed.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// The observer stopped it.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl From<CountError> for TreeError {
    fn from(error: CountError) -> TreeError {
        match error {
            CountError::TooFine { bits } => TreeError::TooFine { bits },
            CountError::TooLarge(error) => TreeError::TooLarge(error),
        }
    }
}

/// What is flooded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nodes {
    /// Every code.
    Codes,
    /// One code for all that differ from it in the names of their tokens only.
    Orbits,
}

/// A shelf from which every single change lowers the reward or stays on the shelf.
#[derive(Debug, Clone, PartialEq)]
pub struct Leaf {
    /// The numerator of its reward.
    pub reward: u64,
    /// Its codes; under [`Nodes::Orbits`] those of all shelves it stands for.
    pub shelf: u128,
    /// The least of its codes, in the order of cells and actions.
    pub code: Code,
    /// The numerator of its escape barrier; none where no reward is higher.
    pub barrier: Option<u64>,
    /// The codes that end on it under steepest ascent.
    pub steepest: u128,
    /// The codes that end on it under random ascent, expected.
    pub random: f64,
    /// The saddle that joins it to others; none if it is alone.
    pub parent: Option<usize>,
}

/// Where components meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saddle {
    /// The numerator of its reward.
    pub reward: u64,
    /// The leaves and saddles it joins, ascending: numbers below that of the leaves are leaves, the
    /// others, less that number, saddles.
    pub children: Vec<usize>,
    /// The saddle that joins it to others; none for the lowest.
    pub parent: Option<usize>,
}

/// Local maxima that are on no leaf: a neutral way leads from them to a raise.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Stuck {
    /// Their codes.
    pub maxima: u128,
    /// The codes that end on them under steepest ascent.
    pub steepest: u128,
    /// The codes that end on them under random ascent, expected.
    pub random: f64,
}

/// The barrier tree of a class.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    class: Class,
    /// The codes of the class.
    pub codes: u128,
    /// What was flooded: the codes, or the orbits.
    pub nodes: u32,
    /// The highest first.
    pub leaves: Vec<Leaf>,
    /// The highest first.
    pub saddles: Vec<Saddle>,
    /// What ends on no leaf.
    pub stuck: Stuck,
}

impl Tree {
    /// Floods a class.
    ///
    /// ```
    /// use foldglass::landscape::tree::{Nodes, Tree};
    /// use foldglass::prelude::*;
    /// use foldglass::support::exact;
    /// let spec = ClassSpec {
    ///     inputs: InputLaw::Markov(exact::parse("9/10").unwrap()),
    ///     ..ClassSpec::uniform(Operation::cyclic(2).unwrap(), &[4], Shape::untied(0, 0))
    /// };
    /// let class = spec.lay_out().unwrap();
    /// let tree = Tree::new(&class, Nodes::Orbits, Context::default()).unwrap();
    /// let [optimum, trap] = &tree.leaves[..] else { panic!("two leaves") };
    /// assert_eq!((optimum.shelf, optimum.barrier), (8, None));
    /// assert_eq!(tree.reward(trap.reward).to_string(), "9/10");
    /// assert_eq!(tree.reward(trap.barrier.unwrap()).to_string(), "1/25");
    /// ```
    pub fn new(class: &Class, nodes: Nodes, context: Context<'_>) -> Result<Tree, TreeError> {
        Levels::new(class, nodes, context)?.tree(context)
    }

    /// The class.
    pub fn class(&self) -> &Class {
        &self.class
    }

    /// The reward, or the difference of two, of a numerator.
    pub fn reward(&self, numerator: u64) -> Reward {
        Reward::new(numerator, self.class.task().denominator())
    }
}

/// Tells an observer of visits, but not of every one.
struct Pace<'a> {
    observer: &'a dyn Observer,
    done: u64,
    all: u64,
    untold: u64,
}

impl<'a> Pace<'a> {
    const OFTEN: u64 = 1 << 14;

    /// A node is visited three times in all: once for its reward, twice by the flood.
    fn new(observer: &'a dyn Observer, nodes: u64, done: u64) -> Pace<'a> {
        Pace {
            observer,
            done,
            all: 3 * nodes,
            untold: 0,
        }
    }

    fn visited(&mut self, nodes: u64) -> Result<(), TreeError> {
        self.untold += nodes;
        if self.untold < Self::OFTEN {
            return Ok(());
        }
        self.done += std::mem::take(&mut self.untold);
        let progress = Progress {
            unit: "visits",
            done: self.done,
            all: Some(self.all),
            share: None,
        };
        match self.observer.report(progress) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Stopped.into()),
        }
    }
}
