//! Sweeps a chain cell by cell in a random permutation, in any class, tied ones included.

use super::{HOTTEST_SCALE, Kernel, Target, resample};
use crate::model::policy::Code;
use crate::reward::count::{CountError, Counter};
use crate::support::memory::Allowance;
use crate::support::stream::Stream;
use std::sync::Arc;

/// One chain that resamples single cells, for any [`Target`].
///
/// ```
/// use foldglass::dynamics::chain::{CellChain, Gibbs, Kernel, random_code};
/// use foldglass::model::class::{Class, Shape};
/// use foldglass::support::memory::Allowance;
/// use foldglass::{model::inputs::InputLaw, model::operation::Operation, support::stream::Stream, model::task::Task};
/// let task = Task::new(Operation::cyclic(2).unwrap(), &InputLaw::Uniform, &[4]).unwrap();
/// let class = Class::new(task, Shape::tied(0, 0)).unwrap();
/// let mut stream = Stream::new(1, 0);
/// let code = random_code(&class, &mut stream);
/// let mut chain = CellChain::new(Kernel::HeatBath, code).unwrap();
/// let target = Gibbs::new(0.01, chain.denominator());
/// for _ in 0..100 {
///     chain.sweep(&target, &mut stream);
/// }
/// assert_eq!(chain.reward(), chain.denominator());
/// ```
pub struct CellChain {
    kernel: Kernel,
    q: usize,
    counter: Counter,
    order: Vec<u32>,
    rewards: Vec<u128>,
    /// ln p of every cell and action, where there is a prior.
    log_prior: Option<Arc<[f64]>>,
}

impl CellChain {
    /// A chain that starts at `code`.
    pub fn new(kernel: Kernel, code: Code) -> Result<CellChain, CountError> {
        CellChain::within(kernel, code, Allowance::default())
    }

    /// Starts it within this memory.
    pub fn within(kernel: Kernel, code: Code, memory: Allowance) -> Result<CellChain, CountError> {
        let (q, cells) = (code.class().q(), code.class().cells());
        Ok(CellChain {
            kernel,
            q,
            counter: Counter::within(code, memory)?,
            order: (0..cells as u32).collect(),
            rewards: vec![0; q],
            log_prior: None,
        })
    }

    pub(super) fn with_log_prior(self, log_prior: Option<Arc<[f64]>>) -> CellChain {
        CellChain { log_prior, ..self }
    }

    /// Resamples every cell once, in a fresh random order.
    pub fn sweep(&mut self, target: &impl Target, stream: &mut Stream) {
        self.shuffle(stream);
        for i in 0..self.order.len() {
            self.visit(i, target, stream);
        }
    }

    /// Draws the order of the cells of a sweep.
    pub(crate) fn shuffle(&mut self, stream: &mut Stream) {
        self.order.sort_unstable();
        stream.shuffle(&mut self.order);
    }

    /// Resamples the `i`-th cell of the sweep.
    #[inline]
    pub(crate) fn visit(&mut self, i: usize, target: &impl Target, stream: &mut Stream) {
        let cell = self.order[i] as usize;
        let present = self.counter.code().action(cell);
        let rewards = &mut self.rewards;
        let counter = &mut self.counter;
        let mut known = false;
        let log_prior = self.log_prior.as_deref();
        let scale = match log_prior {
            None => target.scale(),
            Some(_) => target.scale().min(HOTTEST_SCALE),
        };
        let prior = log_prior.map(|log| &log[cell * self.q..][..self.q]);
        let action = resample(self.kernel, scale, self.q, present, stream, |action| {
            if !known {
                counter.rewards(cell, rewards);
                known = true;
            }
            let gain = target.gain(rewards[present as usize], rewards[action as usize]);
            match prior {
                None => gain,
                Some(log) => gain + scale * (log[action as usize] - log[present as usize]),
            }
        });
        if action != present {
            self.counter.set(cell, action);
        }
    }

    /// Goes to another code.
    ///
    /// # Panics
    /// If the code belongs to another class.
    pub fn go_to(&mut self, code: &Code) {
        assert_eq!(
            code.actions().len(),
            self.order.len(),
            "a code of another class"
        );
        for (cell, &action) in code.actions().iter().enumerate() {
            self.counter.set(cell, action);
        }
    }

    /// The numerator of J.
    pub fn reward(&self) -> u128 {
        self.counter.reward()
    }

    /// The denominator of all numerators.
    pub fn denominator(&self) -> u128 {
        self.counter.denominator()
    }

    /// The code.
    pub fn code(&self) -> &Code {
        self.counter.code()
    }
}
