//! Counts the rewards of codes as integers (paper, section 2.2).
//!
//! A code sigma gives each cell one action; J(sigma) is the probability that its rollout ends on the
//! fold. Times the task's denominator it is an integer, so rewards are compared without rounding.
//!
//! - [`reward`] gives J of one code, at any length.
//! - [`Counter`] holds a code and its J, and says what J becomes when one cell changes.
//! - [`reference`](mod@reference) gives J by the definition: slow, and independent of both.

mod forward;
pub mod reference;
mod states;
mod steps;
mod weight;

use crate::class::{Allowance, Class, ClassError};
use crate::exact;
use crate::policy::Code;
use crate::quasigroup::Symbol;
use dashu_int::UBig;
use dashu_int::ops::BitTest;
use states::States;
use std::fmt;
use std::ops::Range;
use thiserror::Error;
use weight::Width;

/// An exact reward, over the denominator that all codes of its task share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exact {
    /// The weight of the inputs that earn the reward.
    pub num: UBig,
    /// The weight of all inputs.
    pub den: UBig,
}

impl Exact {
    /// The nearest f64.
    pub fn to_f64(&self) -> f64 {
        exact::to_f64(&self.num, &self.den)
    }
}

impl fmt::Display for Exact {
    /// In lowest terms.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&exact::fraction(&self.num, &self.den))
    }
}

/// J of a code, at any length, in one forward pass.
///
/// ```
/// use foldglass::class::{Allowance, Class, Shape};
/// use foldglass::count::reward;
/// use foldglass::policy::Code;
/// use foldglass::{inputs::InputLaw, quasigroup::LatinSquare, task::Task};
/// let task = Task::new(LatinSquare::cyclic(2).unwrap(), &InputLaw::Uniform, &[3]).unwrap();
/// let class = Class::new(task, Shape::untied(0, 0), Allowance::default()).unwrap();
/// let copy = Code::from_fn(&class, |cell| class.key(cell).x[0].unwrap());
/// assert_eq!(reward(&class, &copy).to_string(), "1/2");
/// ```
///
/// # Panics
/// If the code belongs to another class.
pub fn reward(class: &Class, code: &Code) -> Exact {
    check_code(class, code);
    let den = class.task().denominator();
    let num = match Width::of(&den) {
        Width::Narrow => forward::numerator::<i64>(class, code),
        Width::Wide => forward::numerator::<i128>(class, code),
        Width::Unbounded => forward::numerator::<UBig>(class, code),
    };
    Exact { num, den }
}

/// A reward that cannot be kept in machine integers.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CountError {
    /// A denominator of 2^127 or more.
    #[error(
        "the rewards of this task have a denominator of {bits} bits: rewards are compared as \
         integers of at most 127 bits (a single code's reward is exact at any length)"
    )]
    TooFine {
        /// The denominator's size.
        bits: usize,
    },
    /// More memory than allowed.
    #[error(transparent)]
    TooLarge(#[from] ClassError),
}

/// How a [`Counter`] keeps its reward.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Regime {
    /// The rollout of every input.
    Rollouts,
    /// Messages between steps, over the states of all rollouts.
    States,
}

/// What a regime does.
trait Engine: Send {
    fn code(&self) -> &Code;
    fn reward(&self) -> u128;
    fn rewards(&mut self, cell: usize, rewards: &mut [u128]);
    fn set(&mut self, cell: usize, action: Symbol);
    fn block(&mut self, t: usize, block: &mut Vec<u128>) -> Range<usize>;
}

/// A code and its exact reward, kept up to date when a cell changes.
pub struct Counter {
    class: Class,
    denominator: u128,
    regime: Regime,
    engine: Box<dyn Engine>,
}

impl Counter {
    /// Counts the reward of `code` in the regime that suits the class.
    ///
    /// # Panics
    /// If the code belongs to another class.
    pub fn new(class: &Class, code: Code, allowance: Allowance) -> Result<Counter, CountError> {
        Counter::with_regime(class, code, Regime::States, allowance)
    }

    /// Counts the reward of `code` in a regime.
    ///
    /// # Panics
    /// If the code belongs to another class.
    pub fn with_regime(
        class: &Class,
        code: Code,
        regime: Regime,
        allowance: Allowance,
    ) -> Result<Counter, CountError> {
        check_code(class, &code);
        let den = class.task().denominator();
        let engine: Box<dyn Engine> = match (regime, Width::of(&den)) {
            (_, Width::Unbounded) => return Err(CountError::TooFine { bits: den.bit_len() }),
            (Regime::States, Width::Narrow) => {
                allowance.check("", States::<i64>::bytes(class))?;
                Box::new(States::<i64>::new(class, code))
            }
            (Regime::States, Width::Wide) => {
                allowance.check("", States::<i128>::bytes(class))?;
                Box::new(States::<i128>::new(class, code))
            }
            _ => todo!(),
        };
        let denominator = u128::try_from(den).expect("below 2^127");
        Ok(Counter { class: class.clone(), denominator, regime, engine })
    }

    /// The regime.
    pub fn regime(&self) -> Regime {
        self.regime
    }

    /// The code.
    pub fn code(&self) -> &Code {
        self.engine.code()
    }

    /// What all rewards are over.
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
        assert!(cell < self.class.cells(), "cell {cell} of {}", self.class.cells());
        assert_eq!(rewards.len(), self.class.q(), "a reward for each action");
        self.engine.rewards(cell, rewards);
    }

    /// Gives a cell another action.
    ///
    /// # Panics
    /// If there is no such cell or action.
    pub fn set(&mut self, cell: usize, action: Symbol) {
        assert!((action as usize) < self.class.q(), "action {action} of {}", self.class.q());
        self.engine.set(cell, action);
    }

    /// Block.
    pub fn block(&mut self, t: usize, block: &mut Vec<u128>) -> Option<Range<usize>> {
        assert!((1..=self.class.task().longest()).contains(&t), "step {t}");
        (!self.class.shape().tied).then(|| self.engine.block(t, block))
    }
}

fn check_code(class: &Class, code: &Code) {
    assert_eq!(code.actions().len(), class.cells(), "a code of another class");
}
