//! Counts every code of an untied class: optima, local maxima, traps, barriers (paper, App. G.6).
//!
//! **Relabelling.** The tokens of a step at which none is rewarded can be renamed without changing any
//! reward (App. D). Codes are visited in one order of the names only, tokens named as the cells of
//! their step first emit them; each stands for as many codes as its used tokens have other names.
//!
//! **Merging.** Prefixes that no later step can tell apart by the weights they send on are one
//! prefix with a multiplicity. What follows is visited once for all of them.
//!
//! **The last step** is not searched: given all others, a code that no change of the last step
//! raises takes a best action at each of its cells. The other steps are checked from the last to
//! the first, and most codes fail at once. Cells of the last step whose token no cell of the step
//! before emits are not searched either: they matter only to a change to that token, and the ways to
//! fill them are counted.
//!
//! **Beginnings.** Where what follows a prefix is not raised, the prefixes of its class that are not
//! raised either are counted: they depend on what follows by its weights beta only, and that up to
//! what earlier steps can tell apart.
//!
//! **Forgetting.** When the actions of a step r do not depend on the token before it, no change
//! before r has any effect. All codes of one ending, from the last such step on, are on one shelf,
//! so whether they are traps is asked once for an ending. This needs a memory of one token and one
//! rewarded step, the last; elsewhere no code is taken to forget.

mod beginnings;
mod descent;
mod last;
mod parts;
mod prefixes;
mod seek;
mod seen;
mod visit;
mod walker;

use super::packed::Packing;
use crate::model::class::Class;
use crate::model::operation::Symbol;
use crate::model::policy::Code;
use crate::reward::count::flow::{FlowTable, StepFlows};
use crate::reward::count::weight::{Whole, at_width};
use crate::support::context::Context;
use crate::support::exact::Reward;
use crate::support::memory::{Allowance, TooLarge};
use crate::support::parallel::in_order;
use crate::support::watch::{Stopped, Tally};
use dashu_int::UBig;
use parts::CensusPart;
use prefixes::{MergeBudget, Prefixes};
use std::ops::{AddAssign, ControlFlow};
use thiserror::Error;
use visit::Visit;
use walker::{Walker, WayOutCost};

/// A class whose codes cannot all be visited.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CensusError {
    /// A tied class.
    #[error(
        "the codes of a tied class cannot be enumerated: its last step cannot be solved apart from the others"
    )]
    Tied,
    /// More codes than are counted in 128 bits.
    #[error("the class has {cells} cells of {q} actions: only up to 2^127 codes can be enumerated")]
    TooMany {
        /// The cells.
        cells: usize,
        /// The actions of each.
        q: usize,
    },
    /// A denominator of 2^126 or more.
    #[error("the rewards have a denominator of {bits} bits: enumeration takes up to 126")]
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

/// A trap, up to the names of its tokens.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Trap {
    /// The numerator of its reward.
    pub reward: u128,
    /// The least code of its shelf that the search met, packed: which traps are on one shelf.
    pub shelf: u128,
    /// The code, packed.
    pub code: u128,
    /// The codes it stands for.
    pub weight: u128,
}

/// What was found among some of the codes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Count {
    /// Codes of reward 1.
    pub optimal: u128,
    /// Codes below it that no single change raises.
    pub local_maxima: u128,
    /// Those of them from which no neutral path leads to a raise.
    pub traps: Vec<Trap>,
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Count) {
        self.optimal += other.optimal;
        self.local_maxima += other.local_maxima;
        self.traps.extend(other.traps);
    }
}

/// What the cheapest way from a shelf to a higher reward costs, as the numerator of a reward.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeastCost {
    /// This much.
    Of(u128),
    /// It is not known: more codes had to be visited than the cap allows.
    BeyondCap,
    /// No path leads higher: no code of the class has a higher reward.
    Highest,
}

impl LeastCost {
    /// The cost, where it is known.
    pub fn known(self) -> Option<u128> {
        match self {
            LeastCost::Of(cost) => Some(cost),
            LeastCost::BeyondCap | LeastCost::Highest => None,
        }
    }
}

/// What all visits of the codes of a class share.
struct Frame {
    class: Class,
    packing: Packing,
    /// A change up to this, over the denominator, does not count as one.
    tolerance: u128,
    /// The code that tracks the fold.
    tracker: Vec<Symbol>,
    /// Whether codes that forget the state are counted separately.
    splits: bool,
}

/// A census in preparation: [`Survey::merged`] makes a [`Census`] of it.
pub struct Survey {
    frame: Frame,
    /// The most steps whose prefixes are merged.
    most: usize,
}

/// A census of the codes of a class, cut into parts that can be counted in any order.
pub struct Census {
    frame: Frame,
    merged: Box<dyn AnyMerged>,
    parts: Vec<CensusPart>,
}

/// The steps of a class, and its prefixes.
struct Merged<W> {
    flows: FlowTable<W>,
    prefixes: Prefixes<W>,
}

/// The same in integers of any width.
trait AnyMerged: Send + Sync {
    fn plan(&self, frame: &Frame) -> Vec<CensusPart>;

    /// By number of steps, from none on.
    fn prefix_classes(&self) -> Vec<usize>;

    fn most_bytes(&self) -> f64;

    fn visitor<'a>(&'a self, frame: &'a Frame, tally: &'a Tally<'a>) -> Box<dyn AnyVisit + 'a>;

    fn escape(
        &self,
        frame: &Frame,
        shelf: u128,
        cap: usize,
        tally: &Tally<'_>,
        by: WayOutCost,
    ) -> Result<LeastCost, Stopped>;
}

/// A visit of parts in integers of any width.
trait AnyVisit: Send {
    /// None when it was stopped.
    fn part(&mut self, part: &CensusPart) -> Option<Count>;
}

/// Codes that a walker keeps in mind.
const KEPT: usize = 1 << 21;

/// The most links of a level of merged prefixes.
const MOST_LINKS: f64 = 8_388_608.0;

impl Survey {
    /// Prepares the census of a class; a change of the reward by up to `tolerance` counts as none.
    ///
    /// ```
    /// use foldglass::landscape::census::Survey;
    /// use foldglass::prelude::*;
    /// use foldglass::support::exact;
    /// let spec = ClassSpec {
    ///     inputs: InputLaw::Markov(exact::parse("9/10").unwrap()),
    ///     ..ClassSpec::uniform(Operation::cyclic(2).unwrap(), &[4], Shape::untied(0, 0))
    /// };
    /// let class = spec.lay_out().unwrap();
    /// let survey = Survey::new(&class, &Reward::ZERO).unwrap();
    /// let (_, all) = survey.count(Context::default()).unwrap();
    /// assert_eq!((all.optimal, all.local_maxima), (8, 648));
    /// assert_eq!(all.traps.iter().map(|trap| trap.weight).sum::<u128>(), 8);
    /// ```
    pub fn new(class: &Class, tolerance: &Reward) -> Result<Survey, CensusError> {
        Survey::within(class, tolerance, Allowance::default())
    }

    /// Prepares it within this memory.
    pub fn within(
        class: &Class,
        tolerance: &Reward,
        memory: Allowance,
    ) -> Result<Survey, CensusError> {
        let (q, cells, shape) = (class.q(), class.cells(), class.shape());
        if shape.tied {
            return Err(CensusError::Tied);
        }
        // Every count is at most the number of codes, so none of them overflows.
        let counted = (q as u128).checked_pow(cells as u32);
        let packing = counted.and_then(|_| Packing::new(q, cells));
        let packing = packing.ok_or(CensusError::TooMany { cells, q })?;
        let denominator = class.task().denominator();
        let size = at_width!(&denominator, Int => FlowTable::<Int>::bytes(class));
        let size = size.map_err(|bits| CensusError::TooFine { bits })?;
        memory.check("a census", size)?;
        // No change exceeds 1, and a number up to 1 fits where weights do.
        let tolerance = tolerance.over(&denominator).min(denominator);
        let tolerance = u128::try_from(tolerance).expect("the denominator has at most 126 bits");
        let frame = Frame {
            class: class.clone(),
            packing,
            tolerance,
            tracker: Code::fold(class).actions().to_vec(),
            splits: shape.memory == 1 && class.task().rewards_one_step(),
        };
        Ok(Survey {
            frame,
            most: usize::MAX,
        })
    }

    /// The class.
    pub fn class(&self) -> &Class {
        &self.frame.class
    }

    /// The number of codes.
    pub fn codes(&self) -> UBig {
        UBig::from(self.frame.class.q()).pow(self.frame.class.cells())
    }

    /// The most bytes that a visitor takes, beyond the traps it finds and the shelf it searches.
    pub fn bytes(&self) -> u128 {
        let behind = walker::KEPT_BEHIND * walker::BYTES_BEHIND;
        (KEPT * 2 * 32 + behind + beginnings::KEPT * beginnings::KEPT_BYTES) as u128
    }

    /// Merges the prefixes of at most this number of steps. A census of other steps has other parts.
    pub fn at_most(self, steps: usize) -> Survey {
        Survey {
            most: steps,
            ..self
        }
    }

    /// Counts all codes: half of the memory is for merging prefixes. Parts are counted on all threads.
    pub fn count(self, context: Context<'_>) -> Result<(Census, Count), CensusError> {
        let tally = Tally::new(context.observer, "parts", None);
        let census = self.merged(context.memory.shared(2), &tally)?;
        let tally = &Tally::new(context.observer, "parts", Some(census.parts() as u64));
        let mut all = Count::default();
        let worker = |()| {
            let mut visitor = census.visitor(tally);
            move |part: usize| -> Result<_, Stopped> {
                let count = visitor.part(part)?;
                match tally.add(1) {
                    ControlFlow::Continue(()) => Ok(Some(count)),
                    ControlFlow::Break(()) => Err(Stopped),
                }
            }
        };
        in_order(vec![(); context.threads], census.parts(), worker, |count| {
            all += count;
            Ok(())
        })?;
        all.traps.sort();
        Ok((census, all))
    }

    /// Merges prefixes of as many steps as fit within `memory`; the more, the faster the census.
    pub fn merged(self, memory: Allowance, tally: &Tally<'_>) -> Result<Census, Stopped> {
        let frame = self.frame;
        let budget = MergeBudget {
            bytes: memory.0 as f64,
            links: MOST_LINKS,
            steps: self.most,
        };
        let denominator = frame.class.task().denominator();
        let merged = at_width!(&denominator, Int => -> Box<dyn AnyMerged> {
            Box::new(Merged::<Int>::new(&frame, budget, tally).ok_or(Stopped)?)
        });
        let merged = merged.expect("a survey has at most 126 bits");
        let parts = merged.plan(&frame);
        Ok(Census {
            frame,
            merged,
            parts,
        })
    }
}

impl<W: Whole> Merged<W> {
    fn new(frame: &Frame, budget: MergeBudget, tally: &Tally<'_>) -> Option<Merged<W>> {
        let flows = FlowTable::new(&frame.class);
        let prefixes = Prefixes::new(frame, &flows, budget, tally)?;
        Some(Merged { flows, prefixes })
    }
}

impl<W: Whole> AnyMerged for Merged<W> {
    fn plan(&self, frame: &Frame) -> Vec<CensusPart> {
        frame.plan(self)
    }

    fn prefix_classes(&self) -> Vec<usize> {
        let levels = self.prefixes.levels.iter();
        levels.map(|level| level.classes()).collect()
    }

    fn most_bytes(&self) -> f64 {
        self.prefixes.most_bytes
    }

    fn visitor<'a>(&'a self, frame: &'a Frame, tally: &'a Tally<'a>) -> Box<dyn AnyVisit + 'a> {
        Box::new(Visit::new(frame, &self.flows, &self.prefixes, tally))
    }

    fn escape(
        &self,
        frame: &Frame,
        shelf: u128,
        cap: usize,
        tally: &Tally<'_>,
        by: WayOutCost,
    ) -> Result<LeastCost, Stopped> {
        Walker::new(frame, &self.flows, tally).escape(shelf, cap, by)
    }
}

impl Census {
    /// The class.
    pub fn class(&self) -> &Class {
        &self.frame.class
    }

    /// The number of parts.
    pub fn parts(&self) -> usize {
        self.parts.len()
    }

    /// The number of steps whose prefixes are merged.
    pub fn merged_steps(&self) -> usize {
        self.merged.prefix_classes().len() - 1
    }

    /// The distinct prefixes: by number of steps, from none on.
    pub fn prefixes(&self) -> Vec<usize> {
        self.merged.prefix_classes()
    }

    /// The most bytes that prefixes took while they were merged.
    pub fn bytes(&self) -> u128 {
        self.merged.most_bytes() as u128
    }

    /// A visitor of parts, for one thread; it remembers from one to the next what saves it time. Now
    /// and then it asks whether to stop.
    pub fn visitor<'a>(&'a self, tally: &'a Tally<'a>) -> PartVisitor<'a> {
        PartVisitor {
            parts: &self.parts,
            visit: self.merged.visitor(&self.frame, tally),
        }
    }

    /// The escape barrier of a shelf: the least, over all paths to a higher reward, of the largest
    /// drop below its own. At most `cap` codes are visited.
    pub fn barrier(
        &self,
        shelf: u128,
        cap: usize,
        tally: &Tally<'_>,
    ) -> Result<LeastCost, Stopped> {
        let merged = &self.merged;
        merged.escape(&self.frame, shelf, cap, tally, WayOutCost::Depth)
    }

    /// The least, over all paths from a shelf to a higher reward, of the largest loss by a single
    /// change. At most `cap` codes are visited.
    pub fn largest_loss(
        &self,
        shelf: u128,
        cap: usize,
        tally: &Tally<'_>,
    ) -> Result<LeastCost, Stopped> {
        let merged = &self.merged;
        merged.escape(&self.frame, shelf, cap, tally, WayOutCost::LargestLoss)
    }

    /// The reward, or the difference of two, of a numerator.
    pub fn reward(&self, numerator: u128) -> Reward {
        Reward::new(numerator, self.frame.class.task().denominator())
    }

    /// A packed code.
    pub fn code(&self, packed: u128) -> Code {
        let mut actions = vec![0; self.frame.class.cells()];
        self.frame.packing.unpack(packed, &mut actions);
        Code::from_fn(&self.frame.class, |cell| actions[cell])
    }
}

impl Frame {
    /// The tolerance, as a weight.
    fn margin<W: Whole>(&self) -> W {
        W::of(&UBig::from(self.tolerance))
    }

    /// How many codes the steps before one have.
    fn codes_before<W: Whole>(&self, step: &StepFlows<W>) -> u128 {
        (self.class.q() as u128)
            .checked_pow(step.cells.start as u32)
            .expect("all codes are numbered in 128 bits")
    }
}

/// Counts the parts of a census, on one thread.
pub struct PartVisitor<'a> {
    parts: &'a [CensusPart],
    visit: Box<dyn AnyVisit + 'a>,
}

impl PartVisitor<'_> {
    /// Counts the codes of one part. Traps are sought only where the tolerance is zero.
    ///
    /// # Panics
    /// If there is no such part.
    pub fn part(&mut self, number: usize) -> Result<Count, Stopped> {
        self.visit.part(&self.parts[number]).ok_or(Stopped)
    }
}
