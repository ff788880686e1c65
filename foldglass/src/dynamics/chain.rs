//! Samples codes from the Gibbs measure, exp(J / tau) over its sum (paper, section 2.2 and G).
//!
//! Two kernels, Metropolis (a proposal uniform over all q actions, the present one included) and
//! heat bath (a draw from the conditional), on the exact J. Three orders of a sweep: the steps in a
//! fresh random order or from first to last, all cells of a step as one block (exact for untied
//! classes, where J is additive over the cells of a step), or single cells in a random permutation.
//! Single cells can be resampled for any other weight of the reward too: see [`Target`].
//!
//! With a prior policy p a code sigma weighs exp(J / tau) times the product of p_c(sigma(c)) over all cells: the measure
//! whose factorised approximation is [`cavi`](super::cavi) with the same prior. A gain is then the change of
//! J + tau sum_c ln p_c(sigma(c)). At tau = 0 the prior has no part.

mod blocks;
mod builder;
mod cells;
mod target;
mod tempering;

use crate::model::class::Class;
use crate::model::operation::Symbol;
use crate::model::policy::Code;
use crate::reward::count::{self, CountError};
use crate::reward::evaluate::Passes;
use crate::reward::layout;
use crate::support::memory::TooLarge;
use crate::support::stream::Stream;
use blocks::Blocks;
use dashu_int::ops::BitTest;
use thiserror::Error;

pub use builder::ChainsBuilder;
pub use cells::CellChain;
pub use target::{Gibbs, Target};
pub use tempering::{Leg, Tempering, TemperingBuilder, TemperingError, TemperingState};

/// How one cell is resampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernel {
    /// Propose uniformly over all q actions; accept with probability min(1, exp(dJ / tau)).
    Metropolis,
    /// Draw from the conditional distribution of the cell given all others.
    HeatBath,
}

crate::named_enum!(Kernel { "metropolis" => Metropolis, "heat-bath" => HeatBath });

#[cfg(feature = "serde")]
crate::serde_as_text!(Kernel);

/// In which order a sweep visits the cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The steps in a fresh random order, all cells of a step as one block.
    Step,
    /// The steps from first to last, all cells of a step as one block.
    Forward,
    /// Every cell once, in a fresh random permutation.
    Cell,
}

crate::named_enum!(Order { "step" => Step, "forward" => Forward, "cell" => Cell });

#[cfg(feature = "serde")]
crate::serde_as_text!(Order);

/// A chain that cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ChainError {
    /// Step blocks under tying.
    #[error("step blocks are not exact in a tied class, where one cell serves several steps")]
    BlocksUnderTying,
    /// A denominator that f64 does not hold exactly.
    #[error("the rewards' denominator has {bits} bits: step blocks are exact up to {MOST_BITS}")]
    TooFine {
        /// The size of the denominator.
        bits: usize,
    },
    /// Too much memory.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// Rewards that cannot be counted.
    #[error(transparent)]
    Count(CountError),
}

/// The most bits of a denominator that step blocks carry exactly in f64.
pub const MOST_BITS: usize = 52;

impl From<CountError> for ChainError {
    fn from(error: CountError) -> ChainError {
        match error {
            CountError::TooLarge(error) => ChainError::TooLarge(error),
            other => ChainError::Count(other),
        }
    }
}

impl Order {
    /// The order that suits a class: by steps, and by cells where step blocks are not exact.
    pub fn of(class: &Class) -> Order {
        let fine = class.task().denominator().bit_len() > MOST_BITS;
        if class.shape().tied || fine {
            Order::Cell
        } else {
            Order::Step
        }
    }
}

/// The settings of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChainSettings {
    /// How a cell is resampled.
    pub kernel: Kernel,
    /// In which order.
    pub order: Order,
}

impl ChainSettings {
    /// This kernel in this order.
    pub const fn new(kernel: Kernel, order: Order) -> ChainSettings {
        ChainSettings { kernel, order }
    }

    /// Heat bath in the order that suits a class.
    pub fn of(class: &Class) -> ChainSettings {
        ChainSettings::new(Kernel::HeatBath, Order::of(class))
    }

    /// Uses another kernel.
    pub fn with_kernel(self, kernel: Kernel) -> ChainSettings {
        ChainSettings { kernel, ..self }
    }

    /// Updates the cells in another order.
    pub fn with_order(self, order: Order) -> ChainSettings {
        ChainSettings { order, ..self }
    }
}

/// All that chains need to resume, together with the settings and numbers they were started with.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ChainState {
    /// The actions of each chain's code.
    pub actions: Vec<Vec<Symbol>>,
    /// The position of each chain's stream.
    pub positions: Vec<u128>,
    /// The position of the stream of the order of steps.
    pub order_position: u128,
}

/// Chains in progress, each with a stream of its own.
///
/// Chains that share vectors (on narrow windows, eight with neighbouring numbers) also share the
/// random order of the steps, drawn from a stream of their group; so a chain's path depends on the
/// seed and its number alone.
///
/// ```
/// use foldglass::prelude::*;
/// let spec = ClassSpec::uniform(Operation::cyclic(2).unwrap(), &[4], Shape::untied(0, 0));
/// let class = spec.lay_out().unwrap();
/// let settings = chain::ChainSettings::of(&class);
/// let mut chains = Chains::builder(&class, settings).seed(1).numbers(0..4).start().unwrap();
/// for _ in 0..200 {
///     chains.sweep(&[1e-6; 4]);
/// }
/// assert!((0..4).all(|chain| chains.reward(chain) == chains.denominator()));
/// ```
pub struct Chains {
    engine: Engine,
    streams: Vec<Stream>,
    order: Stream,
}

enum Engine {
    Blocks(Box<Blocks>),
    Cells(Vec<CellChain>),
}

/// Where there is a prior, hotter scales of gains count as this one, so that products with logarithms are finite.
const HOTTEST_SCALE: f64 = 1e290;

/// Streams of groups are numbered from here, far from those of chains.
const GROUP_STREAMS: u64 = 1 << 63;

impl Chains {
    /// The number of chains that share vectors on a class.
    pub fn side_by_side(class: &Class) -> usize {
        layout::side_by_side(class)
    }

    /// How many chains share vectors on a class in this order, and the bytes that they take together.
    pub fn needs(class: &Class, order: Order) -> (usize, Option<u128>) {
        match order {
            Order::Cell => (1, count::bytes(class)),
            Order::Step | Order::Forward => {
                let together = Chains::side_by_side(class);
                (together, Passes::bytes(Passes::sizes(class, together)))
            }
        }
    }

    /// The state from which `resume` continues.
    pub fn state(&self) -> ChainState {
        ChainState {
            actions: (0..self.streams.len())
                .map(|c| self.code(c).actions().to_vec())
                .collect(),
            positions: self.streams.iter().map(Stream::position).collect(),
            order_position: self.order.position(),
        }
    }

    fn from_codes(
        builder: ChainsBuilder<'_>,
        codes: Vec<Code>,
        streams: Vec<Stream>,
    ) -> Result<Chains, ChainError> {
        let ChainsBuilder {
            class,
            settings,
            seed,
            numbers,
            memory,
            log_prior,
        } = builder;
        let together = Chains::side_by_side(class) as u64;
        assert!(
            !numbers.is_empty() && codes.len() == streams.len(),
            "a code for each chain"
        );
        assert_eq!(
            numbers.start / together,
            (numbers.end - 1) / together,
            "chains of one group"
        );
        let engine = match settings.order {
            Order::Cell => {
                let cells = |code| {
                    let chain = CellChain::within(settings.kernel, code, memory)?;
                    Ok::<_, ChainError>(chain.with_log_prior(log_prior.clone()))
                };
                Engine::Cells(codes.into_iter().map(cells).collect::<Result<_, _>>()?)
            }
            Order::Step | Order::Forward => {
                let blocks = Blocks::new(class, settings, codes, memory)?;
                Engine::Blocks(Box::new(blocks.with_log_prior(log_prior)))
            }
        };
        let order = Stream::new(seed, GROUP_STREAMS + numbers.start / together);
        Ok(Chains {
            engine,
            streams,
            order,
        })
    }

    /// Sweeps every chain once, each at its own temperature (0 accepts no loss).
    ///
    /// # Panics
    /// If there is not one temperature per chain, or one of them is negative.
    pub fn sweep(&mut self, tau: &[f64]) {
        assert_eq!(
            tau.len(),
            self.streams.len(),
            "a temperature for each chain"
        );
        assert!(
            tau.iter().all(|&tau| tau >= 0.0),
            "temperatures are not negative: {tau:?}"
        );
        match &mut self.engine {
            Engine::Blocks(blocks) => blocks.sweep(tau, &mut self.streams, &mut self.order),
            Engine::Cells(list) => {
                let chains = list.iter_mut().zip(&mut self.streams).zip(tau);
                chains.for_each(|((chain, stream), &tau)| {
                    chain.sweep(&Gibbs::new(tau, chain.denominator()), stream);
                });
            }
        }
    }

    /// The number of chains.
    pub fn count(&self) -> usize {
        self.streams.len()
    }

    /// The numerator of a chain's J.
    pub fn reward(&self, chain: usize) -> u128 {
        match &self.engine {
            Engine::Blocks(blocks) => blocks.reward(chain),
            Engine::Cells(list) => list[chain].reward(),
        }
    }

    /// The denominator of all numerators.
    pub fn denominator(&self) -> u128 {
        match &self.engine {
            Engine::Blocks(blocks) => blocks.denominator(),
            Engine::Cells(list) => list[0].denominator(),
        }
    }

    /// A chain's code.
    pub fn code(&self, chain: usize) -> &Code {
        match &self.engine {
            Engine::Blocks(blocks) => blocks.code(chain),
            Engine::Cells(list) => list[chain].code(),
        }
    }
}

/// A code with every action uniform.
pub fn random_code(class: &Class, stream: &mut Stream) -> Code {
    Code::from_fn(class, |_| stream.below(class.q() as u32) as Symbol)
}

/// Whether Metropolis accepts a gain.
#[inline(always)]
fn accepts(tau: f64, gain: f64, stream: &mut Stream) -> bool {
    // A loss so large that no uniform number is below its factor needs no draw.
    gain >= 0.0 || (gain > -745.0 * tau && stream.uniform() < (gain / tau).exp())
}

/// Resamples one cell: `gain(a)` is J with action a less J with the present one.
#[inline(always)]
fn resample(
    kernel: Kernel,
    tau: f64,
    q: usize,
    present: Symbol,
    stream: &mut Stream,
    mut gain: impl FnMut(Symbol) -> f64,
) -> Symbol {
    match kernel {
        Kernel::Metropolis => {
            let proposal = stream.below(q as u32) as Symbol;
            if proposal != present && accepts(tau, gain(proposal), stream) {
                proposal
            } else {
                present
            }
        }
        Kernel::HeatBath => {
            // What fits is kept; beyond it gains are asked for again rather than allocated.
            let mut kept = [0.0; 32];
            let mut best = f64::NEG_INFINITY;
            for action in 0..q {
                let gain = gain(action as Symbol);
                best = best.max(gain);
                if let Some(kept) = kept.get_mut(action) {
                    *kept = gain;
                }
            }
            // Actions so far behind that their weight is 0 in f64, at tau = 0 all but the best,
            // need no exponential.
            let weight = |gain: f64| match gain - best {
                0.0 => 1.0,
                loss if loss < -745.0 * tau => 0.0,
                loss => (loss / tau).exp(),
            };
            kept.iter_mut()
                .take(q)
                .for_each(|kept| *kept = weight(*kept));
            let mut weigh = |action: usize| match kept.get(action) {
                Some(&weight) => weight,
                None => weight(gain(action as Symbol)),
            };
            let total: f64 = (0..q).map(&mut weigh).sum();
            let mut left = stream.uniform() * total;
            for action in 0..q {
                left -= weigh(action);
                if left < 0.0 {
                    return action as Symbol;
                }
            }
            // Rounding may leave a crumb behind the last weight: it belongs to the best action.
            (0..q).find(|&action| weigh(action) == 1.0).unwrap_or(0) as Symbol
        }
    }
}
