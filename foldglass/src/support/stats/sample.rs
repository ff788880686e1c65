//! Summarizes independent runs, and compares two sets of them.

use super::special::{student_quantile, student_tail};
use super::{Interval, check_finite, mean, miss};

/// The mean, spread and quantiles of independent values.
///
/// ```
/// use foldglass::support::stats::Summary;
/// let summary = Summary::of(&[1.0, 2.0, 3.0, 4.0, 10.0]).unwrap();
/// assert_eq!((summary.n, summary.mean, summary.median), (5, 4.0, 3.0));
/// let interval = summary.interval(0.95).unwrap();
/// assert!(interval.contains(0.0) && interval.contains(8.0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// Number of values.
    pub n: usize,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation, with n - 1; none for a single value.
    pub sd: Option<f64>,
    /// The standard error of the mean, sd / sqrt(n); none for a single value.
    pub error: Option<f64>,
    /// The smallest.
    pub min: f64,
    /// The [`quantile`] at 0.5.
    pub median: f64,
    /// The [`quantile`] at 0.9.
    pub p90: f64,
    /// The largest.
    pub max: f64,
}

impl Summary {
    /// Summarizes independent values; none when there are none.
    ///
    /// # Panics
    /// If a value is not finite.
    pub fn of(values: &[f64]) -> Option<Summary> {
        let sorted = sorted(values);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let n = values.len();
        let mean = mean(values);
        let square: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
        let sd = (n > 1).then(|| (square / (n - 1) as f64).sqrt());
        Some(Summary {
            n,
            mean,
            sd,
            error: sd.map(|sd| sd / (n as f64).sqrt()),
            min,
            median: quantile_of_sorted(&sorted, 0.5),
            p90: quantile_of_sorted(&sorted, 0.9),
            max,
        })
    }

    /// Student's interval for the mean, mean -+ t error with n - 1 degrees of freedom; none for a
    /// single value.
    ///
    /// # Panics
    /// If the level is not strictly between 0 and 1.
    pub fn interval(&self, level: f64) -> Option<Interval> {
        let miss = miss(level);
        let error = self.error?;
        let reach = student_quantile(miss, (self.n - 1) as f64) * error;
        Some(Interval {
            low: self.mean - reach,
            high: self.mean + reach,
        })
    }

    /// The moments that [`welch`] needs; none for a single value.
    pub fn moments(&self) -> Option<SampleMoments> {
        Some(SampleMoments {
            n: self.n,
            mean: self.mean,
            sd: self.sd?,
        })
    }
}

/// The number, mean and standard deviation (with n - 1) of two or more independent values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SampleMoments {
    /// Number of values.
    pub n: usize,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation.
    pub sd: f64,
}

impl SampleMoments {
    /// The variance of the mean, sd^2 / n.
    fn variance(&self) -> f64 {
        assert!(
            self.n >= 2 && self.sd >= 0.0,
            "{self:?} is refused: a comparison needs 2 values and a standard deviation of 0 or more"
        );
        self.sd * self.sd / self.n as f64
    }
}

/// The two-sided p-value of Welch's test that two sets of runs have the same mean, their variances
/// unknown and unequal.
///
/// t^2 = (m1 - m2)^2 / (v1 + v2) with v = sd^2 / n, of
/// (v1 + v2)^2 / (v1^2 / (n1 - 1) + v2^2 / (n2 - 1)) degrees of freedom (Welch, 1947). When neither
/// set varies the p-value is 1 for equal means and 0 for unequal ones.
///
/// ```
/// use foldglass::support::stats::{Summary, welch};
/// let moments = |values: &[f64]| Summary::of(values).unwrap().moments().unwrap();
/// let p = welch(&moments(&[3.0, 4.0, 1.0, 2.1]), &moments(&[490.2, 340.0, 433.9]));
/// assert!((p - 0.010751561149784).abs() < 1e-12);
/// ```
///
/// # Panics
/// If a set has fewer than two values, or a standard deviation below 0.
pub fn welch(a: &SampleMoments, b: &SampleMoments) -> f64 {
    let (va, vb) = (a.variance(), b.variance());
    let variance = va + vb;
    if variance == 0.0 {
        return if a.mean == b.mean { 1.0 } else { 0.0 };
    }
    // As shares of the variance, so that no square underflows.
    let (share_a, share_b) = (va / variance, vb / variance);
    let degrees =
        (share_a * share_a / (a.n - 1) as f64 + share_b * share_b / (b.n - 1) as f64).recip();
    student_tail((a.mean - b.mean) / variance.sqrt(), degrees)
}

/// The quantile at p by linear interpolation between order statistics: x_(h) with h = (n - 1) p,
/// where x_(0) is the smallest (Hyndman and Fan's type 7, the default of R and NumPy); none when
/// there are no values.
///
/// ```
/// use foldglass::support::stats::quantile;
/// assert_eq!(quantile(&[4.0, 1.0, 3.0, 2.0], 0.5), Some(2.5));
/// ```
///
/// # Panics
/// If p is not in 0..=1, or a value is not finite.
pub fn quantile(values: &[f64], p: f64) -> Option<f64> {
    assert!(
        (0.0..=1.0).contains(&p),
        "a quantile at {p} is refused: it lies between 0 and 1"
    );
    (!values.is_empty()).then(|| quantile_of_sorted(&sorted(values), p))
}

/// The values between which the median lies, by order alone: k values from either end, k the largest for which a
/// coin falls k - 1 times or less on one side, in as many throws as values, with half the chance left; none where the
/// least and the largest value do not reach the level, which takes 6 values at 0.95.
///
/// ```
/// use foldglass::support::stats::{Interval, median_interval};
/// let values: Vec<f64> = (1..=12).map(f64::from).collect();
/// assert_eq!(median_interval(&values, 0.95), Some(Interval { low: 3.0, high: 10.0 }));
/// assert_eq!(median_interval(&values[..5], 0.95), None);
/// ```
///
/// # Panics
/// If the level is not in 0..1, or a value is not finite.
pub fn median_interval(values: &[f64], level: f64) -> Option<Interval> {
    let (miss, sorted) = (miss(level), sorted(values));
    let n = sorted.len();
    let mut one = 0.5f64.powi(n as i32);
    let (mut below, mut from_end) = (one, 0);
    while from_end < n / 2 && below <= miss / 2.0 {
        from_end += 1;
        one *= (n + 1 - from_end) as f64 / from_end as f64;
        below += one;
    }
    (from_end > 0).then(|| Interval {
        low: sorted[from_end - 1],
        high: sorted[n - from_end],
    })
}

fn sorted(values: &[f64]) -> Vec<f64> {
    check_finite(values);
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

fn quantile_of_sorted(sorted: &[f64], p: f64) -> f64 {
    let last = sorted.len() - 1;
    let h = last as f64 * p;
    let below = h.floor() as usize;
    let low = sorted[below];
    low + (h - below as f64) * (sorted[(below + 1).min(last)] - low)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(values: &[f64]) -> SampleMoments {
        Summary::of(values).unwrap().moments().unwrap()
    }

    #[test]
    fn a_summary_matches_hand_computation() {
        let values = [5.0, 2.0, 9.0, 4.0, 4.0, 7.0, 4.0, 5.0];
        let summary = Summary::of(&values).unwrap();
        assert_eq!((summary.n, summary.mean), (8, 5.0));
        assert!((summary.sd.unwrap() - (32.0_f64 / 7.0).sqrt()).abs() < 1e-15);
        assert!((summary.error.unwrap() - (32.0_f64 / 56.0).sqrt()).abs() < 1e-15);
        assert_eq!((summary.min, summary.max), (2.0, 9.0));
        assert_eq!(summary.median, 4.5);
        assert!((summary.p90 - 7.6).abs() < 1e-14);
    }

    #[test]
    fn one_value_has_no_spread_and_no_values_have_no_summary() {
        let one = Summary::of(&[3.0]).unwrap();
        assert_eq!((one.sd, one.error, one.interval(0.9)), (None, None, None));
        assert_eq!(
            (one.min, one.median, one.p90, one.max),
            (3.0, 3.0, 3.0, 3.0)
        );
        assert_eq!(Summary::of(&[]), None);
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn quantiles_interpolate_between_order_statistics() {
        let values: Vec<f64> = (1..=10).rev().map(f64::from).collect();
        for (p, expected) in [
            (0.0, 1.0),
            (0.25, 3.25),
            (0.5, 5.5),
            (0.9, 9.1),
            (1.0, 10.0),
        ] {
            assert!(
                (quantile(&values, p).unwrap() - expected).abs() < 1e-14,
                "{p}"
            );
        }
    }

    /// Gosset's sleep data: hours gained under two drugs.
    const SLEEP: [[f64; 10]; 2] = [
        [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0],
        [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4],
    ];

    #[test]
    fn students_interval_matches_his_sleep_data() {
        let differences: Vec<f64> = (0..10).map(|i| SLEEP[0][i] - SLEEP[1][i]).collect();
        let interval = Summary::of(&differences).unwrap().interval(0.95).unwrap();
        assert!((interval.low + 2.459_885_8).abs() < 1e-6, "{interval:?}");
        assert!((interval.high + 0.700_114_2).abs() < 1e-6, "{interval:?}");
    }

    #[test]
    fn welch_matches_worked_examples() {
        let p = welch(&moments(&SLEEP[0]), &moments(&SLEEP[1]));
        assert!((p - 0.07939).abs() < 5e-6, "sleep data: {p}");
        let few = [17.2, 20.9, 22.6, 18.1, 21.7, 21.4, 23.5, 24.2, 14.7, 21.8];
        let many = [
            21.5, 22.8, 21.0, 23.0, 21.6, 23.6, 22.5, 20.7, 23.4, 21.8, 20.7, 21.7, 21.5, 22.5,
            23.6, 21.5, 22.5, 23.5, 21.5, 21.8,
        ];
        let p = welch(&moments(&few), &moments(&many));
        assert!((p - 0.148_841_696_605_327).abs() < 1e-12, "{p}");
    }

    #[test]
    fn sets_that_do_not_vary_are_equal_or_different() {
        let set = |mean| SampleMoments {
            n: 5,
            mean,
            sd: 0.0,
        };
        assert_eq!(welch(&set(1.0), &set(1.0)), 1.0);
        assert_eq!(welch(&set(1.0), &set(2.0)), 0.0);
    }

    #[test]
    #[should_panic(expected = "a level of 95 is refused")]
    fn a_level_in_percent_is_refused() {
        Summary::of(&[1.0, 2.0]).unwrap().interval(95.0);
    }
}
