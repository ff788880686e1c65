//! Says what a chain samples: how much a code weighs, by its reward (paper, section 2.2).

/// The weight of a code, a function of its reward alone. A [`Kernel`](super::Kernel) says how a cell
/// is resampled, a target from what law.
pub trait Target {
    /// How much more a code of reward `to` counts than one of reward `from` (numerators of J), on the
    /// target's own scale: its weight is exp(gain / scale) times as large.
    fn gain(&self, from: u128, to: u128) -> f64;

    /// The scale of the gains; 0 lets none but the largest gain count.
    fn scale(&self) -> f64;
}

/// The Gibbs measure: a code weighs exp(J / tau).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gibbs {
    scale: f64,
}

impl Gibbs {
    /// The measure at `tau` for rewards over `denominator`. Gains are compared as whole numbers, so
    /// the temperature is put on their scale.
    pub fn new(tau: f64, denominator: u128) -> Gibbs {
        Gibbs {
            scale: tau * denominator as f64,
        }
    }
}

impl Target for Gibbs {
    #[inline]
    fn gain(&self, from: u128, to: u128) -> f64 {
        to as f64 - from as f64
    }

    #[inline]
    fn scale(&self) -> f64 {
        self.scale
    }
}
