//! Runs one chain per temperature and swaps temperatures between them: parallel tempering.
//!
//! A ladder is tau_0 <= tau_1 <= .., the coldest first; its places are rungs. A replica is a chain
//! of [`Chains`]; at any time each rung holds one replica. The rungs together sample the product of
//! the Gibbs measures exp(J / tau_k) over their sums: sweeps keep each factor, swaps the product.

use super::{ChainError, ChainSettings, ChainState, Chains, ChainsBuilder, Order};
use crate::dynamics::cavi::PriorError;
use crate::model::class::Class;
use crate::model::policy::{Code, Policy};
use crate::support::memory::Allowance;
use crate::support::stats::Proportion;
use crate::support::stream::Stream;
use std::ops::Range;
use thiserror::Error;

/// Tempering that cannot be run.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum TemperingError {
    /// An empty ladder.
    #[error("a ladder without temperatures is refused: it has at least 1, the coldest first")]
    NoTemperature,
    /// A negative temperature, or NaN.
    #[error("rung {rung} has the temperature {tau}: temperatures are at least 0")]
    NoSuchTemperature {
        /// The rung, counted from 0.
        rung: usize,
        /// The temperature that was given.
        tau: f64,
    },
    /// A step down.
    #[error(
        "rung {rung} at {tau} is colder than the one before, at {before}: the coldest is first"
    )]
    Descending {
        /// The rung, counted from 0.
        rung: usize,
        /// The temperature of the rung.
        tau: f64,
        /// That of the rung before.
        before: f64,
    },
    /// A chain that cannot be run.
    #[error(transparent)]
    Chain(#[from] ChainError),
}

/// Which end of the ladder a replica has been at last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Leg {
    /// None since the start.
    Unknown,
    /// The coldest rung: the replica is on its way out.
    FromCold,
    /// The hottest rung, with the coldest before it: it is on its way back.
    FromHot,
}

/// All that tempering needs to resume, together with the ladder, settings and number it was started
/// with.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TemperingState {
    /// The chains, in groups that share vectors.
    pub groups: Vec<ChainState>,
    /// The rung of each replica.
    pub rungs: Vec<usize>,
    /// The position of the stream of the swaps.
    pub position: u128,
    /// Sweeps done.
    pub sweeps: u64,
    /// Swaps of rungs k and k + 1, made and tried.
    pub swaps: Vec<Proportion>,
    /// The path of each replica through the temperatures.
    pub legs: Vec<Leg>,
    /// Round trips of each replica.
    pub trips: Vec<u64>,
}

/// Replicas on a ladder of temperatures.
///
/// After each sweep neighbouring rungs try to swap their replicas, the pairs (0, 1), (2, 3), .. and
/// (1, 2), (3, 4), .. in turn. With J_c and J_h the rewards at the colder and the hotter rung, a
/// swap is made with probability
/// min(1, exp((1 / tau_c - 1 / tau_h) (J_h - J_c))).
/// At tau_c = 0 that is 1 where J_h >= J_c, else 0; between equal temperatures it is 1.
///
/// **Streams.** Replica i of tempering number n is chain n S + i of the seed, where S is the number
/// of rungs rounded up to a multiple of [`Chains::side_by_side`]: temperings share no stream and no
/// order of steps. Swaps draw from stream 3 * 2^62 + n, one number per pair tried; chains have streams
/// below 2^62 and their groups between 2^63 and 3 * 2^62.
///
/// ```
/// use foldglass::prelude::*;
/// let spec = ClassSpec::uniform(Operation::cyclic(2).unwrap(), &[4], Shape::untied(0, 0));
/// let class = spec.lay_out().unwrap();
/// let (settings, ladder) = (chain::ChainSettings::of(&class), [0.0, 0.02, 0.04, 0.08]);
/// let mut tempering = Tempering::builder(&class, settings, &ladder).seed(1).start().unwrap();
/// for _ in 0..500 {
///     tempering.sweep();
/// }
/// assert_eq!(tempering.reward(0), tempering.denominator());
/// assert!(tempering.swaps().iter().all(|pair| pair.rate().unwrap() > 0.1));
/// assert!(tempering.trips().iter().sum::<u64>() > 0);
/// ```
pub struct Tempering {
    ladder: Vec<f64>,
    groups: Vec<Chains>,
    /// The replicas of a full group.
    together: usize,
    /// The rung of each replica, and the replica of each rung.
    rungs: Vec<usize>,
    replicas: Vec<usize>,
    /// The temperature of each replica.
    tau: Vec<f64>,
    stream: Stream,
    sweeps: u64,
    swaps: Vec<Proportion>,
    legs: Vec<Leg>,
    trips: Vec<u64>,
}

/// Streams of swaps are numbered from here; those of chains end at 2^62, those of groups here.
const SWAP_STREAMS: u64 = 3 << 62;

/// Everything that tempering starts or resumes with. Made by [`Tempering::builder`].
#[derive(Debug, Clone)]
#[must_use = "tempering begins with `start` or `resume`"]
pub struct TemperingBuilder<'a> {
    chains: ChainsBuilder<'a>,
    ladder: &'a [f64],
    number: u64,
}

impl TemperingBuilder<'_> {
    /// The seed.
    pub fn seed(mut self, seed: u64) -> Self {
        self.chains = self.chains.seed(seed);
        self
    }

    /// The number of the tempering: temperings of one seed share no stream.
    pub fn number(self, number: u64) -> Self {
        TemperingBuilder { number, ..self }
    }

    /// The memory that each group of its chains may take.
    pub fn within(mut self, memory: Allowance) -> Self {
        self.chains = self.chains.within(memory);
        self
    }

    /// Holds all replicas to a prior, as [`ChainsBuilder::prior`] does. Swaps do not depend on it: it weighs a code alike
    /// on every rung.
    ///
    /// # Panics
    /// If the prior is of another class.
    pub fn prior(mut self, prior: &Policy) -> Result<Self, PriorError> {
        self.chains = self.chains.prior(prior)?;
        Ok(self)
    }

    /// Starts from uniformly random codes, replica k on rung k.
    ///
    /// # Panics
    /// If a replica's number would reach 2^62.
    pub fn start(self) -> Result<Tempering, TemperingError> {
        let TemperingBuilder {
            chains,
            ladder,
            number,
        } = self;
        let (class, seed) = (chains.class, chains.seed);
        check(ladder)?;
        let groups = chains
            .numbers(numbers(class, ladder.len(), number))
            .groups()
            .map(ChainsBuilder::start)
            .collect::<Result<_, _>>()?;
        let mut legs = vec![Leg::Unknown; ladder.len()];
        legs[0] = Leg::FromCold;
        Ok(Tempering {
            groups,
            together: Chains::side_by_side(class),
            rungs: (0..ladder.len()).collect(),
            replicas: (0..ladder.len()).collect(),
            tau: ladder.to_vec(),
            ladder: ladder.to_vec(),
            stream: Stream::new(seed, SWAP_STREAMS + number),
            sweeps: 0,
            swaps: vec![NONE_TRIED; ladder.len() - 1],
            legs,
            trips: vec![0; ladder.len()],
        })
    }

    /// Resumes it where `state` left it.
    ///
    /// # Panics
    /// As for `start`, or if the state is of another class or ladder.
    pub fn resume(self, state: &TemperingState) -> Result<Tempering, TemperingError> {
        let TemperingBuilder {
            chains,
            ladder,
            number,
        } = self;
        let (class, seed) = (chains.class, chains.seed);
        check(ladder)?;
        let chains = chains.numbers(numbers(class, ladder.len(), number));
        let groups: Vec<ChainsBuilder<'_>> = chains.groups().collect();
        let sizes = [
            state.rungs.len(),
            state.legs.len(),
            state.trips.len(),
            state.swaps.len() + 1,
        ];
        assert!(
            sizes == [ladder.len(); 4] && state.groups.len() == groups.len(),
            "the state is of a ladder of {} rungs: this one has {}",
            state.rungs.len(),
            ladder.len()
        );
        let groups = groups.into_iter().zip(&state.groups);
        let groups = groups
            .map(|(group, state)| group.resume(state))
            .collect::<Result<_, _>>()?;
        let holder = |rung| state.rungs.iter().position(|&held| held == rung);
        let replicas = (0..ladder.len()).map(|rung| holder(rung).expect("each rung has a replica"));
        Ok(Tempering {
            groups,
            together: Chains::side_by_side(class),
            rungs: state.rungs.clone(),
            replicas: replicas.collect(),
            tau: state.rungs.iter().map(|&rung| ladder[rung]).collect(),
            ladder: ladder.to_vec(),
            stream: Stream::new(seed, SWAP_STREAMS + number).at(state.position),
            sweeps: state.sweeps,
            swaps: state.swaps.clone(),
            legs: state.legs.clone(),
            trips: state.trips.clone(),
        })
    }
}

impl Tempering {
    /// Tempering on a ladder that ascends, number 0 of seed 0, within 8 GiB, by default. Temperatures may
    /// be equal, 0 or infinite.
    pub fn builder<'a>(
        class: &'a Class,
        settings: ChainSettings,
        ladder: &'a [f64],
    ) -> TemperingBuilder<'a> {
        TemperingBuilder {
            chains: Chains::builder(class, settings),
            ladder,
            number: 0,
        }
    }

    /// The bytes that a ladder of this number of rungs takes.
    pub fn bytes(class: &Class, order: Order, rungs: usize) -> Option<u128> {
        let (together, each) = Chains::needs(class, order);
        each?.checked_mul(rungs.div_ceil(together) as u128)
    }

    /// The state from which `resume` continues.
    pub fn state(&self) -> TemperingState {
        TemperingState {
            groups: self.groups.iter().map(Chains::state).collect(),
            rungs: self.rungs.clone(),
            position: self.stream.position(),
            sweeps: self.sweeps,
            swaps: self.swaps.clone(),
            legs: self.legs.clone(),
            trips: self.trips.clone(),
        }
    }

    /// Sweeps every replica once at its temperature, then tries the swaps of every other pair.
    pub fn sweep(&mut self) {
        for (group, tau) in self.groups.iter_mut().zip(self.tau.chunks(self.together)) {
            group.sweep(tau);
        }
        let first = (self.sweeps % 2) as usize;
        for cold in (first..self.ladder.len() - 1).step_by(2) {
            self.try_swap(cold);
        }
        self.sweeps += 1;
        self.note_trips();
    }

    fn try_swap(&mut self, cold: usize) {
        let hot = cold + 1;
        let draw = self.stream.uniform();
        let rewards = [cold, hot].map(|rung| self.reward(rung));
        let accept = draw
            < swap_chance(
                [self.ladder[cold], self.ladder[hot]],
                rewards,
                self.denominator(),
            );
        self.swaps[cold].trials += 1;
        if accept {
            self.swaps[cold].successes += 1;
            self.replicas.swap(cold, hot);
            for rung in [cold, hot] {
                let replica = self.replicas[rung];
                self.rungs[replica] = rung;
                self.tau[replica] = self.ladder[rung];
            }
        }
    }

    fn note_trips(&mut self) {
        let hottest = self.ladder.len() - 1;
        let (at_cold, at_hot) = (self.replicas[0], self.replicas[hottest]);
        // On a ladder of one rung nothing travels.
        if hottest > 0 {
            self.trips[at_cold] += u64::from(self.legs[at_cold] == Leg::FromHot);
            self.legs[at_cold] = Leg::FromCold;
            if self.legs[at_hot] == Leg::FromCold {
                self.legs[at_hot] = Leg::FromHot;
            }
        }
    }

    /// The temperatures, the coldest first.
    pub fn ladder(&self) -> &[f64] {
        &self.ladder
    }

    /// Sweeps done.
    pub fn sweeps(&self) -> u64 {
        self.sweeps
    }

    /// The numerator of J at a rung.
    pub fn reward(&self, rung: usize) -> u128 {
        let replica = self.replicas[rung];
        self.groups[replica / self.together].reward(replica % self.together)
    }

    /// The denominator of all numerators.
    pub fn denominator(&self) -> u128 {
        self.groups[0].denominator()
    }

    /// The code at a rung.
    pub fn code(&self, rung: usize) -> &Code {
        let replica = self.replicas[rung];
        self.groups[replica / self.together].code(replica % self.together)
    }

    /// The replica at a rung.
    pub fn replica(&self, rung: usize) -> usize {
        self.replicas[rung]
    }

    /// Swaps of rungs k and k + 1, made and tried.
    pub fn swaps(&self) -> &[Proportion] {
        &self.swaps
    }

    /// How often each replica has gone from the coldest rung to the hottest and back.
    pub fn trips(&self) -> &[u64] {
        &self.trips
    }
}

const NONE_TRIED: Proportion = Proportion {
    successes: 0,
    trials: 0,
};

/// min(1, exp((1 / tau_c - 1 / tau_h) (J_h - J_c))), for [cold, hot].
fn swap_chance(tau: [f64; 2], rewards: [u128; 2], denominator: u128) -> f64 {
    if rewards[1] >= rewards[0] || tau[0] == tau[1] {
        return 1.0;
    }
    let loss = (rewards[0] - rewards[1]) as f64 / denominator as f64;
    // In this form tau_c = 0 gives exp(-inf) and an infinite tau_h 1 / tau_h = 0.
    (-loss / tau[0] * (1.0 - tau[0] / tau[1])).exp()
}

fn check(ladder: &[f64]) -> Result<(), TemperingError> {
    if ladder.is_empty() {
        return Err(TemperingError::NoTemperature);
    }
    if let Some(rung) = ladder.iter().position(|&tau| tau.is_nan() || tau < 0.0) {
        return Err(TemperingError::NoSuchTemperature {
            rung,
            tau: ladder[rung],
        });
    }
    match ladder.windows(2).position(|pair| pair[1] < pair[0]) {
        None => Ok(()),
        Some(rung) => Err(TemperingError::Descending {
            rung: rung + 1,
            tau: ladder[rung + 1],
            before: ladder[rung],
        }),
    }
}

/// The numbers of the chains; the first begins a group.
fn numbers(class: &Class, rungs: usize, number: u64) -> Range<u64> {
    let (rungs, together) = (rungs as u64, Chains::side_by_side(class) as u64);
    let first = number.checked_mul(rungs.next_multiple_of(together));
    let end = first.and_then(|first| first.checked_add(rungs));
    let end = end
        .filter(|&end| end <= 1 << 62)
        .expect("chains are numbered below 2^62");
    end - rungs..end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_swap_that_keeps_the_weight_or_raises_it_is_certain() {
        for tau in [[0.0, 1.0], [0.5, 1.0], [0.5, f64::INFINITY]] {
            assert_eq!(swap_chance(tau, [3, 4], 8), 1.0);
            assert_eq!(swap_chance(tau, [3, 3], 8), 1.0);
        }
        for tau in [0.0, 1e-310, 1.0, f64::INFINITY] {
            assert_eq!(swap_chance([tau, tau], [4, 3], 8), 1.0);
        }
    }

    #[test]
    fn a_swap_that_lowers_the_weight_has_the_ratio_as_its_chance() {
        // The weight is exp(J_c / tau_c + J_h / tau_h); rewards 6/8 and 3/8 change places.
        let weight = |cold: f64, hot: f64| (cold / 8.0 / 0.2 + hot / 8.0 / 0.5f64).exp();
        let ratio = weight(3.0, 6.0) / weight(6.0, 3.0);
        assert!((swap_chance([0.2, 0.5], [6, 3], 8) / ratio - 1.0).abs() < 1e-12);
        let limit = (-3.0 / 8.0 / 0.2f64).exp();
        assert!((swap_chance([0.2, f64::INFINITY], [6, 3], 8) / limit - 1.0).abs() < 1e-12);
        assert_eq!(swap_chance([0.0, 0.5], [6, 3], 8), 0.0);
        assert_eq!(swap_chance([0.0, f64::INFINITY], [6, 3], 8), 0.0);
        assert_eq!(swap_chance([1e-320, 0.5], [6, 3], 8), 0.0);
    }

    #[test]
    fn what_is_no_ladder_is_refused() {
        let text = |ladder: &[f64]| check(ladder).unwrap_err().to_string();
        assert!(text(&[]).contains("at least 1"));
        assert!(text(&[0.1, -0.5]).contains("rung 1 has the temperature -0.5"));
        assert!(text(&[f64::NAN]).contains("rung 0"));
        assert!(text(&[0.1, 0.3, 0.2]).contains("rung 2 at 0.2"));
        assert_eq!(check(&[0.0, 0.0, 0.5, f64::INFINITY]), Ok(()));
    }
}
