//! Counts the rewards of codes as integers (paper, section 2.2).
//!
//! A code sigma gives each cell one action; J(sigma) is the probability that its rollout ends on the
//! fold. Times the task's denominator it is an integer, so rewards are compared without rounding.
//!
//! - [`reward`] gives J of one code, at any length.
//! - [`Counter`] holds a code and its J, and says what J becomes when one cell changes, in machine integers;
//!   [`WideCounter`] does it where the denominator passes 126 bits. Both are a [`RewardCounter`].
//! - [`reference`](mod@reference) gives J by the definition: slow, and independent of both.

pub(crate) mod flow;
mod forward;
mod places;
pub mod reference;
mod rollouts;
pub(crate) mod rows;
mod states;
pub(crate) mod steps;
pub(crate) mod weight;
mod wide;

use crate::model::class::Class;
use crate::model::operation::Symbol;
use crate::model::policy::Code;
use crate::support::exact::Reward;
use crate::support::memory::{Allowance, TooLarge};
use dashu_int::UBig;
use rollouts::RolloutCounter;
use states::States;
use std::fmt::Debug;
use std::ops::Range;
use thiserror::Error;
use weight::{Whole, at_width};

pub use wide::WideCounter;

/// J of a code, at any length, in one forward pass.
///
/// ```
/// use foldglass::reward::count::reward;
/// use foldglass::{ClassSpec, Code, Operation, Shape};
/// let spec = ClassSpec::uniform(Operation::cyclic(2).unwrap(), &[3], Shape::untied(0, 0));
/// let class = spec.lay_out().unwrap();
/// let copy = Code::from_fn(&class, |cell| class.key(cell).x[0].unwrap());
/// assert_eq!(reward(&copy).to_string(), "1/2");
/// ```
pub fn reward(code: &Code) -> Reward {
    let class = code.class();
    let den = class.task().denominator();
    let num = at_width!(&den, Int => forward::numerator::<Int>(class, code));
    let num = num.unwrap_or_else(|_| forward::numerator::<UBig>(class, code));
    Reward::new(num, den)
}

/// A reward that cannot be kept in machine integers.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CountError {
    /// A denominator of 2^126 or more.
    #[error(
        "the rewards of this task have a denominator of {bits} bits: rewards are compared as \
         integers of at most 126 bits (a single code's reward is exact at any length)"
    )]
    TooFine {
        /// The denominator's size.
        bits: usize,
    },
    /// More memory than allowed.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
}

/// A numerator of J over the task's denominator, or a difference of two.
pub trait Numerator: Clone + Default + Ord + Debug + Send + Sync + Into<UBig> + 'static {
    /// The difference, if it is not negative.
    fn checked_sub(&self, other: &Self) -> Option<Self>;
}

impl Numerator for u128 {
    fn checked_sub(&self, other: &u128) -> Option<u128> {
        u128::checked_sub(*self, *other)
    }
}

impl Numerator for UBig {
    fn checked_sub(&self, other: &UBig) -> Option<UBig> {
        (self >= other).then(|| self - other)
    }
}

/// What searches ask of a counter.
pub trait RewardCounter: Send + Sized {
    /// The integers that it counts in.
    type Numerator: Numerator;

    /// Counts the reward of a code within this memory.
    fn within(code: Code, memory: Allowance) -> Result<Self, CountError>;

    /// The class of the code.
    fn class(&self) -> &Class;

    /// The code.
    fn code(&self) -> &Code;

    /// What all rewards are over.
    fn denominator(&self) -> Self::Numerator;

    /// The numerator of J.
    fn reward(&mut self) -> Self::Numerator;

    /// Writes the numerator of J for every action at a cell, the rest of the code unchanged.
    ///
    /// # Panics
    /// If there is no such cell, or `rewards` does not hold q numbers.
    fn rewards(&mut self, cell: usize, rewards: &mut [Self::Numerator]);

    /// Gives a cell an action.
    ///
    /// # Panics
    /// If there is no such cell or action.
    fn set(&mut self, cell: usize, action: Symbol);
}

impl RewardCounter for Counter {
    type Numerator = u128;

    fn within(code: Code, memory: Allowance) -> Result<Counter, CountError> {
        Counter::within(code, memory)
    }

    fn class(&self) -> &Class {
        Counter::class(self)
    }

    fn code(&self) -> &Code {
        Counter::code(self)
    }

    fn denominator(&self) -> u128 {
        Counter::denominator(self)
    }

    fn reward(&mut self) -> u128 {
        Counter::reward(self)
    }

    fn rewards(&mut self, cell: usize, rewards: &mut [u128]) {
        Counter::rewards(self, cell, rewards);
    }

    fn set(&mut self, cell: usize, action: Symbol) {
        Counter::set(self, cell, action);
    }
}

/// Whether rewards of a task pass the integers of a [`Counter`], so that a [`WideCounter`] is needed.
pub fn is_wide(class: &Class) -> bool {
    at_width!(&class.task().denominator(), _Int => ()).is_err()
}

/// How a [`Counter`] keeps its reward.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Regime {
    /// By the rollout of every input. It suits classes of many more cells than inputs, such as the
    /// complete parameterisation.
    Rollouts,
    /// By messages between steps, over the states of all rollouts. It suits all others.
    States,
}

impl Regime {
    /// The faster one for a class: in measurements, rollouts are from three cells to a branch on.
    fn of(class: &Class) -> Regime {
        match rollouts::branches(class).and_then(|branches| branches.checked_mul(3)) {
            Some(branches) if branches <= class.cells() as u128 => Regime::Rollouts,
            _ => Regime::States,
        }
    }
}

/// What a regime does.
trait Engine: Send {
    fn code(&self) -> &Code;

    /// The numerator of J.
    fn reward(&self) -> u128;

    /// The numerator of J for each action at a cell, up to a number that all have in common. In an
    /// untied class it is what the rollouts that consult the cell earn.
    fn earned(&mut self, cell: usize, earned: &mut [u128]);

    fn set(&mut self, cell: usize, action: Symbol);
}

/// A code and its exact reward, kept up to date as cells change.
///
/// ```
/// use foldglass::reward::count::Counter;
/// use foldglass::{ClassSpec, Code, Operation, Shape};
/// let spec = ClassSpec::uniform(Operation::cyclic(2).unwrap(), &[3], Shape::untied(0, 0));
/// let class = spec.lay_out().unwrap();
/// let copy = Code::from_fn(&class, |cell| class.key(cell).x[0].unwrap());
/// let mut counter = Counter::new(copy).unwrap();
/// assert_eq!((counter.reward(), counter.denominator()), (4, 8));
/// let mut rewards = [0; 2];
/// counter.rewards(9, &mut rewards);
/// assert_eq!(rewards, [4, 4]);
/// ```
pub struct Counter {
    class: Class,
    denominator: u128,
    regime: Regime,
    engine: Box<dyn Engine>,
}

impl Counter {
    /// Counts the reward of `code` in the regime that suits its class.
    pub fn new(code: Code) -> Result<Counter, CountError> {
        Counter::within(code, Allowance::default())
    }

    /// Counts it within this memory.
    pub fn within(code: Code, memory: Allowance) -> Result<Counter, CountError> {
        let regime = Regime::of(code.class());
        Counter::with_regime(code, regime, memory)
    }

    /// Counts the reward of `code` in a regime.
    pub fn with_regime(
        code: Code,
        regime: Regime,
        memory: Allowance,
    ) -> Result<Counter, CountError> {
        let class = &code.class().clone();
        let den = class.task().denominator();
        let engine = at_width!(&den, Int => engine::<Int>(class, code, regime, memory)?);
        let engine = engine.map_err(|bits| CountError::TooFine { bits })?;
        let denominator = u128::try_from(den).expect("it has at most 126 bits");
        Ok(Counter {
            class: class.clone(),
            denominator,
            regime,
            engine,
        })
    }

    /// The regime.
    pub fn regime(&self) -> Regime {
        self.regime
    }

    /// The class of the code.
    pub fn class(&self) -> &Class {
        &self.class
    }

    /// The code.
    pub fn code(&self) -> &Code {
        self.engine.code()
    }

    /// What all rewards are over; below 2^126.
    pub fn denominator(&self) -> u128 {
        self.denominator
    }

    /// The numerator of J.
    pub fn reward(&self) -> u128 {
        self.engine.reward()
    }

    /// Writes the numerator of J for every action at a cell, the rest of the code unchanged.
    ///
    /// # Panics
    /// If there is no such cell, or `rewards` does not hold q numbers.
    pub fn rewards(&mut self, cell: usize, rewards: &mut [u128]) {
        assert!(
            cell < self.class.cells(),
            "cell {cell} of {}",
            self.class.cells()
        );
        assert_eq!(rewards.len(), self.class.q(), "a reward for each action");
        self.engine.earned(cell, rewards);
        let (total, earned) = (self.reward(), rewards[self.code().action(cell) as usize]);
        rewards
            .iter_mut()
            .for_each(|reward| *reward = total + *reward - earned);
    }

    /// Gives a cell an action.
    ///
    /// # Panics
    /// If there is no such cell or action.
    pub fn set(&mut self, cell: usize, action: Symbol) {
        assert!(
            (action as usize) < self.class.q(),
            "action {action} of {}",
            self.class.q()
        );
        if self.code().action(cell) != action {
            self.engine.set(cell, action);
        }
    }

    /// The cells of step `t` of an untied class, and for each of them and each action what it earns:
    /// whatever actions these cells take, J is a constant plus the sum of what they earn, all else
    /// unchanged. None in a tied class, where J is not such a sum.
    ///
    /// # Panics
    /// If there is no such step.
    pub fn block(&mut self, t: usize, earned: &mut Vec<u128>) -> Option<Range<usize>> {
        let cells = self.class.step_cells(t)?;
        earned.clear();
        earned.resize(cells.len() * self.class.q(), 0);
        for (cell, earned) in cells.clone().zip(earned.chunks_exact_mut(self.class.q())) {
            self.engine.earned(cell, earned);
        }
        Some(cells)
    }
}

/// The bytes that counting the rewards of a class takes in the regime that suits it.
pub fn bytes(class: &Class) -> Option<u128> {
    let bytes = at_width!(&class.task().denominator(), Int => bytes_in::<Int>(class));
    bytes.unwrap_or_else(|_| wide::bytes(class))
}

fn bytes_in<W: Whole>(class: &Class) -> Option<u128> {
    match Regime::of(class) {
        Regime::Rollouts => RolloutCounter::<W>::bytes(class),
        Regime::States => States::<W>::bytes(class),
    }
}

fn engine<W: Whole>(
    class: &Class,
    code: Code,
    regime: Regime,
    memory: Allowance,
) -> Result<Box<dyn Engine>, TooLarge> {
    let what = |regime: &str| {
        format!(
            "counting the rewards of {} cells by {regime}",
            class.cells()
        )
    };
    Ok(match regime {
        Regime::Rollouts => {
            memory.check(&what("rollouts"), RolloutCounter::<W>::bytes(class))?;
            Box::new(RolloutCounter::<W>::new(class, code))
        }
        Regime::States => {
            memory.check(&what("states"), States::<W>::bytes(class))?;
            Box::new(States::<W>::new(class, code))
        }
    })
}
