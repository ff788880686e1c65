//! Estimates means, times and intervals from what the chains record (paper, G.2).
//!
//! - [`integrated_time`], [`mean_with_error`]: one chain, whose draws are correlated.
//! - [`r_hat`], [`effective_size_bulk`]: several chains, held against each other.
//! - [`Summary`], [`welch`]: independent runs.
//! - [`bounded_mean`]: independent values between 0 and 1, such as rewards.
//! - [`Proportion`], [`fisher`]: counts of successes.
//! - [`chi_square_tail`]: how far a histogram is from the law it should follow.
//! - [`bhattacharyya`], [`overlap`]: how alike two distributions are.
//!
//! **Letters.** n is the number of values, rho(t) the autocorrelation at lag t, tau the integrated
//! autocorrelation time (in the paper tau is the regulator; here it never is). A level, such as
//! 0.95, is the probability with which an interval covers the truth. What the data cannot tell is
//! `None` or a variant of an enum, never NaN.

mod bounded;
mod chain;
mod convergence;
mod counts;
mod fourier;
mod sample;
mod special;

pub use bounded::bounded_mean;
pub use chain::{
    Autocorrelation, Estimate, autocorrelation, effective_size, integrated_time, mean_with_error,
};
pub use convergence::{effective_size_bulk, effective_size_mean, effective_size_tail, r_hat};
pub use counts::{Proportion, fisher};
pub use sample::{SampleMoments, Summary, median_interval, quantile, welch};
pub use special::chi_square_tail;
pub(crate) use special::{crossing, student_quantile};

/// A closed interval of the numbers that the data do not rule out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// Whether it covers `value`.
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// The Bhattacharyya coefficient, the sum of sqrt(p_a q_a): 1 when the distributions coincide, 0
/// when no outcome is possible under both.
///
/// ```
/// use foldglass::support::stats::bhattacharyya;
/// assert_eq!(bhattacharyya(&[0.5, 0.5], &[0.5, 0.5]), 1.0);
/// assert_eq!(bhattacharyya(&[1.0, 0.0], &[0.0, 1.0]), 0.0);
/// ```
///
/// # Panics
/// If the two have different numbers of outcomes.
pub fn bhattacharyya(p: &[f64], q: &[f64]) -> f64 {
    pairs(p, q).map(|(p, q)| (p * q).sqrt()).sum()
}

/// The overlap coefficient, the sum of min(p_a, q_a): 1 less the total variation distance.
///
/// ```
/// use foldglass::support::stats::overlap;
/// assert_eq!(overlap(&[0.75, 0.25], &[0.25, 0.75]), 0.5);
/// ```
///
/// # Panics
/// If the two have different numbers of outcomes.
pub fn overlap(p: &[f64], q: &[f64]) -> f64 {
    pairs(p, q).map(|(p, q)| p.min(q)).sum()
}

fn pairs(p: &[f64], q: &[f64]) -> impl Iterator<Item = (f64, f64)> {
    assert!(
        p.len() == q.len(),
        "distributions over {} and {} outcomes: both need the same outcomes",
        p.len(),
        q.len()
    );
    p.iter().copied().zip(q.iter().copied())
}

/// The mean, summed from the first value so that a large common offset costs no digits.
fn mean(values: &[f64]) -> f64 {
    let first = values[0];
    first + values.iter().map(|x| x - first).sum::<f64>() / values.len() as f64
}

fn check_finite(values: &[f64]) {
    if let Some(i) = values.iter().position(|x| !x.is_finite()) {
        panic!(
            "value {i} is {}: only finite values are averaged",
            values[i]
        );
    }
}

/// The probability of missing that goes with a level.
pub(crate) fn miss(level: f64) -> f64 {
    assert!(
        0.0 < level && level < 1.0,
        "a level of {level} is refused: it lies strictly between 0 and 1, such as 0.95"
    );
    1.0 - level
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coefficients_match_hand_sums() {
        let (p, q) = ([0.64, 0.36, 0.0], [0.25, 0.25, 0.5]);
        assert!((bhattacharyya(&p, &q) - 0.7).abs() < 1e-15);
        assert!((overlap(&p, &q) - 0.5).abs() < 1e-15);
    }

    #[test]
    fn overlap_never_exceeds_bhattacharyya_and_both_are_symmetric() {
        let p = [0.1, 0.2, 0.3, 0.4];
        for q in [[0.25; 4], [0.4, 0.3, 0.2, 0.1], [0.0, 0.0, 0.0, 1.0]] {
            assert!(overlap(&p, &q) <= bhattacharyya(&p, &q));
            assert_eq!(overlap(&p, &q), overlap(&q, &p));
            assert_eq!(bhattacharyya(&p, &q), bhattacharyya(&q, &p));
        }
    }

    #[test]
    #[should_panic(expected = "over 2 and 3 outcomes")]
    fn distributions_over_different_outcomes_are_refused() {
        overlap(&[0.5; 2], &[0.3; 3]);
    }

    #[test]
    fn a_large_offset_costs_the_mean_no_digits() {
        let values: Vec<f64> = (0..1001).map(|i| 1e12 + f64::from(i)).collect();
        assert_eq!(mean(&values), 1e12 + 500.0);
    }
}
