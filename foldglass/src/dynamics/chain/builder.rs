//! Begins and resumes chains.

use super::{ChainError, ChainSettings, ChainState, Chains, random_code};
use crate::dynamics::cavi::PriorError;
use crate::model::class::Class;
use crate::model::policy::{Code, Policy};
use crate::support::memory::Allowance;
use crate::support::stream::Stream;
use std::ops::Range;
use std::sync::Arc;

/// Everything that chains start or resume with. Made by [`Chains::builder`].
#[derive(Debug, Clone)]
#[must_use = "chains begin with `start`, `start_at` or `resume`"]
pub struct ChainsBuilder<'a> {
    pub(super) class: &'a Class,
    pub(super) settings: ChainSettings,
    pub(super) seed: u64,
    pub(super) numbers: Range<u64>,
    pub(super) memory: Allowance,
    pub(super) log_prior: Option<Arc<[f64]>>,
}

impl Chains {
    /// Chains of these settings on a class: chain 0 of seed 0, within 8 GiB, by default.
    pub fn builder(class: &Class, settings: ChainSettings) -> ChainsBuilder<'_> {
        ChainsBuilder {
            class,
            settings,
            seed: 0,
            numbers: 0..1,
            memory: Allowance::default(),
            log_prior: None,
        }
    }
}

impl<'a> ChainsBuilder<'a> {
    /// The seed of all chains. Each draws from the stream of its number.
    pub fn seed(self, seed: u64) -> Self {
        ChainsBuilder { seed, ..self }
    }

    /// The numbers of the chains. Those started together lie within one group of [`Chains::side_by_side`]: see
    /// [`ChainsBuilder::groups`].
    pub fn numbers(self, numbers: Range<u64>) -> Self {
        ChainsBuilder { numbers, ..self }
    }

    /// The memory that the chains may take.
    pub fn within(self, memory: Allowance) -> Self {
        ChainsBuilder { memory, ..self }
    }

    /// Holds the chains to a prior: a code weighs exp(J / tau) times its probability under this policy.
    ///
    /// # Panics
    /// If the prior is of another class.
    pub fn prior(self, prior: &Policy) -> Result<Self, PriorError> {
        assert!(prior.class() == self.class, "a prior of another class");
        let q = self.class.q();
        if let Some(entry) = prior.rows().iter().position(|p| *p == 0.0) {
            let (cell, action) = (entry / q, entry % q);
            return Err(PriorError::Forbids { cell, action });
        }
        let log_prior = Some(prior.rows().iter().map(|p| p.ln()).collect());
        Ok(ChainsBuilder { log_prior, ..self })
    }

    /// Splits the chains into groups that share vectors.
    pub fn groups(self) -> impl Iterator<Item = ChainsBuilder<'a>> {
        let together = Chains::side_by_side(self.class) as u64;
        let Range { mut start, end } = self.numbers.clone();
        std::iter::from_fn(move || {
            let first = start;
            start = end.min((first / together + 1) * together);
            (first < end).then(|| self.clone().numbers(first..start))
        })
    }

    /// Starts the chains from uniformly random codes.
    ///
    /// # Panics
    /// If there are no chains, or they belong to several groups.
    pub fn start(self) -> Result<Chains, ChainError> {
        let mut streams = self.streams();
        let random = |stream| random_code(self.class, stream);
        let codes = streams.iter_mut().map(random).collect();
        Chains::from_codes(self, codes, streams)
    }

    /// Starts them from given codes.
    ///
    /// # Panics
    /// As for `start`, or if there is not one code for each chain, all of the class.
    pub fn start_at(self, codes: Vec<Code>) -> Result<Chains, ChainError> {
        let is_of_class = |code: &Code| code.class() == self.class;
        assert!(codes.iter().all(is_of_class), "codes of one class");
        let streams = self.streams();
        Chains::from_codes(self, codes, streams)
    }

    /// Resumes them where `state` left them.
    ///
    /// # Panics
    /// As for `start`, or if the state is of other chains.
    pub fn resume(self, state: &ChainState) -> Result<Chains, ChainError> {
        let code = |actions: &Vec<_>| Code::from_fn(self.class, |cell| actions[cell]);
        let codes = state.actions.iter().map(code).collect();
        let streams = self.streams().into_iter().zip(&state.positions);
        let streams = streams.map(|(stream, &position)| stream.at(position));
        let streams = streams.collect();
        let mut chains = Chains::from_codes(self, codes, streams)?;
        chains.order = chains.order.at(state.order_position);
        Ok(chains)
    }

    fn streams(&self) -> Vec<Stream> {
        let stream = |number| Stream::new(self.seed, number);
        self.numbers.clone().map(stream).collect()
    }
}
