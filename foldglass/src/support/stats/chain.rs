//! Measures how long a chain remembers, and what its mean is worth.

use super::{check_finite, fourier, mean};

/// The window of [`integrated_time`] in units of the time itself (Sokal's c).
const WINDOW: f64 = 5.0;
/// Up to this lag sums are taken one lag at a time: a chain that forgets fast needs no transform.
const DIRECT_LAGS: usize = 32;

/// How long a series remembers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Autocorrelation {
    /// Every value is the same: the series says nothing about its time.
    Frozen,
    /// The series forgets.
    Time {
        /// The integrated autocorrelation time; 1/2 for independent values.
        tau: f64,
        /// The standard error.
        error: f64,
        /// The lag at which the sum was cut, M.
        window: usize,
    },
    /// No window fits into half of the series: it remembers for a good part of its length, or has
    /// fewer than two values.
    TooShort {
        /// The number of values, n.
        length: usize,
    },
}

/// The autocorrelations rho(0) = 1 .. rho(max_lag) of a series; none if it never moves.
///
/// rho(t) = C(t) / C(0), where C(t) is the mean over the n - t pairs of
/// (x_i - m)(x_{i+t} - m) and m the mean of the series. Takes O(n log n) at most.
///
/// ```
/// use foldglass::support::stats::autocorrelation;
/// let alternating = [1.0, -1.0, 1.0, -1.0];
/// assert_eq!(autocorrelation(&alternating, 2), Some(vec![1.0, -1.0, 1.0]));
/// assert_eq!(autocorrelation(&[3.0; 4], 2), None);
/// ```
///
/// # Panics
/// If the lag is not shorter than the series, or a value is not finite.
pub fn autocorrelation(series: &[f64], max_lag: usize) -> Option<Vec<f64>> {
    assert!(
        max_lag < series.len(),
        "a lag of {max_lag} in a series of {}: a lag is shorter than the series",
        series.len()
    );
    check_finite(series);
    Some(Deviations::of(series)?.correlations(max_lag))
}

/// The integrated autocorrelation time tau = 1/2 + rho(1) + .. + rho(M) of a series, so that n
/// values are worth n / (2 tau) independent ones.
///
/// The window M is the smallest with M >= 5 tau(M) (Sokal, Monte Carlo Methods in Statistical
/// Mechanics, 1996, section 3), where the same is asked of the alternating sum
/// 1/2 - rho(1) + rho(2) - ..: a chain that flips back and forth has a small tau and a long memory.
/// Chains without such flips have the window of Sokal. The standard error of tau is
/// tau sqrt(2 (2M + 1) / n) (Madras and Sokal, 1988), too small where flips are
/// strong (by about 1.6 for 10^5 values with rho(1) = -0.6). Takes O(n) when the window is short
/// and O(n log n) when it is long.
///
/// ```
/// use foldglass::support::stats::{Autocorrelation, integrated_time};
/// assert_eq!(integrated_time(&[0.2; 50]), Autocorrelation::Frozen);
/// let ramp: Vec<f64> = (0..50).map(f64::from).collect();
/// assert_eq!(integrated_time(&ramp), Autocorrelation::TooShort { length: 50 });
/// ```
///
/// # Panics
/// If a value is not finite.
pub fn integrated_time(series: &[f64]) -> Autocorrelation {
    check_finite(series);
    if series.len() < 2 {
        return Autocorrelation::TooShort {
            length: series.len(),
        };
    }
    match Deviations::of(series) {
        None => Autocorrelation::Frozen,
        Some(deviations) => deviations.integrated_time(),
    }
}

/// How many independent values a series is worth, n / (2 tau); none where tau is not known.
///
/// # Panics
/// If a value is not finite.
pub fn effective_size(series: &[f64]) -> Option<f64> {
    integrated_time(series).effective_size(series.len())
}

impl Autocorrelation {
    /// How many independent values a series of this length is worth; none where tau is not known.
    pub fn effective_size(&self, length: usize) -> Option<f64> {
        match *self {
            Autocorrelation::Time { tau, .. } => Some(length as f64 / (2.0 * tau)),
            Autocorrelation::Frozen | Autocorrelation::TooShort { .. } => None,
        }
    }
}

/// The mean of one correlated series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// The standard error, the correlations taken into account; none where tau is not known.
    pub error: Option<f64>,
    /// How many independent values the series is worth; none where tau is not known.
    pub effective: Option<f64>,
    /// How long the series remembers.
    pub time: Autocorrelation,
}

/// The mean of a correlated series and its standard error, sqrt(C(0) / (N - 1)) with
/// N = n / (2 tau) the effective size and C(0) the mean square deviation: for independent values,
/// the textbook error.
///
/// ```
/// use foldglass::support::stats::mean_with_error;
/// let series: Vec<f64> = (0..1000).map(|i| f64::from(i * i % 101)).collect();
/// let estimate = mean_with_error(&series);
/// assert!((estimate.mean - 49.8).abs() < 3.0 * estimate.error.unwrap());
/// assert_eq!(mean_with_error(&[0.5; 10]).error, None);
/// ```
///
/// # Panics
/// If the series is empty, or a value is not finite.
pub fn mean_with_error(series: &[f64]) -> Estimate {
    assert!(!series.is_empty(), "an empty series has no mean");
    let time = integrated_time(series);
    let effective = time.effective_size(series.len());
    let mean = mean(series);
    let square: f64 = series.iter().map(|x| (x - mean).powi(2)).sum();
    Estimate {
        mean,
        error: effective.map(|size| (square / series.len() as f64 / (size - 1.0)).sqrt()),
        effective,
        time,
    }
}

/// A series that moves, less its mean, in units of its largest deviation, so that no square
/// underflows.
struct Deviations(Vec<f64>);

impl Deviations {
    fn of(series: &[f64]) -> Option<Deviations> {
        if series.iter().all(|x| *x == series[0]) {
            return None;
        }
        let mean = mean(series);
        let largest = series.iter().fold(0.0, |d: f64, x| d.max((x - mean).abs()));
        Some(Deviations(
            series.iter().map(|x| (x - mean) / largest).collect(),
        ))
    }

    fn correlations(&self, max_lag: usize) -> Vec<f64> {
        let n = self.0.len();
        let sums = if max_lag > DIRECT_LAGS {
            fourier::lagged_sums(&self.0, max_lag)
        } else {
            self.lagged_sums(max_lag)
        };
        let square = sums[0] / n as f64;
        sums.iter()
            .enumerate()
            .map(|(t, sum)| sum / (n - t) as f64 / square)
            .collect()
    }

    fn lagged_sums(&self, max_lag: usize) -> Vec<f64> {
        (0..=max_lag)
            .map(|t| self.0[t..].iter().zip(&self.0).map(|(x, y)| x * y).sum())
            .collect()
    }

    fn integrated_time(&self) -> Autocorrelation {
        let length = self.0.len();
        let longest = length / 2;
        let found = window(&self.correlations(longest.min(DIRECT_LAGS))).or_else(|| {
            (longest > DIRECT_LAGS)
                .then(|| window(&self.correlations(longest)))
                .flatten()
        });
        match found {
            // Noise on a chain that flips back and forth can exceed its tau.
            Some((window, tau)) if tau > 0.0 => Autocorrelation::Time {
                tau,
                error: tau * (2.0 * (2 * window + 1) as f64 / length as f64).sqrt(),
                window,
            },
            _ => Autocorrelation::TooShort { length },
        }
    }
}

/// The first M that is WINDOW times both sums up to it, with tau(M).
fn window(rho: &[f64]) -> Option<(usize, f64)> {
    let (mut tau, mut alternating) = (0.5, 0.5);
    for (lag, rho) in rho.iter().enumerate().skip(1) {
        tau += rho;
        alternating += if lag % 2 == 0 { *rho } else { -rho };
        if lag as f64 >= WINDOW * tau.max(alternating) {
            return Some((lag, tau));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::stats::Proportion;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use std::f64::consts::TAU;

    fn uniform(rng: &mut ChaCha8Rng) -> f64 {
        ((rng.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    fn normal(rng: &mut ChaCha8Rng) -> f64 {
        (-2.0 * uniform(rng).ln()).sqrt() * (TAU * uniform(rng)).cos()
    }

    /// x_{t+1} = phi x_t + noise, stationary from the start, of mean 0 and variance 1.
    fn autoregressive(phi: f64, n: usize, seed: u64) -> Vec<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut x = normal(&mut rng);
        let noise = (1.0 - phi * phi).sqrt();
        (0..n)
            .map(|_| {
                x = phi * x + noise * normal(&mut rng);
                x
            })
            .collect()
    }

    fn known_time(phi: f64) -> f64 {
        (1.0 + phi) / (2.0 * (1.0 - phi))
    }

    #[test]
    fn the_time_of_an_autoregressive_chain_is_recovered_within_its_error() {
        for phi in [0.0, 0.5, 0.9, 0.98, -0.3] {
            let seeds = 16;
            let mut squares = 0.0;
            for seed in 0..seeds {
                let series = autoregressive(phi, 100_000, seed);
                let Autocorrelation::Time { tau, error, .. } = integrated_time(&series) else {
                    panic!("phi {phi}: a chain of 100,000 steps has a time");
                };
                let pull = (tau - known_time(phi)) / error;
                assert!(
                    pull.abs() < 4.0,
                    "phi {phi}, seed {seed}: {pull} errors off"
                );
                squares += pull * pull;
            }
            let rms = (squares / seeds as f64).sqrt();
            assert!((0.5..1.6).contains(&rms), "phi {phi}: pulls of {rms}");
        }
    }

    #[test]
    fn a_chain_that_flips_back_and_forth_has_a_small_time() {
        for phi in [-0.6, -0.9] {
            for seed in 0..5 {
                let series = autoregressive(phi, 100_000, seed);
                let size = effective_size(&series).unwrap();
                let known = series.len() as f64 / (2.0 * known_time(phi));
                assert!(
                    (size / known - 1.0).abs() < 0.2,
                    "phi {phi}: {size}, {known}"
                );
            }
        }
    }

    #[test]
    fn errors_of_the_mean_cover_the_truth_at_the_nominal_rate() {
        for phi in [0.0, 0.5, 0.9, -0.3] {
            let trials = 600;
            let (mut one, mut two) = (0, 0);
            for seed in 0..trials {
                let estimate = mean_with_error(&autoregressive(phi, 4000, 1000 + seed));
                let errors = estimate.mean.abs() / estimate.error.unwrap();
                one += u64::from(errors < 1.0);
                two += u64::from(errors < 2.0);
            }
            for (successes, nominal) in [(one, 0.6827), (two, 0.9545)] {
                let covered = Proportion { successes, trials };
                // The estimate of tau adds a little spread of its own to the error.
                let interval = covered.interval(0.999);
                assert!(
                    interval.low - 0.01 < nominal && nominal < interval.high + 0.01,
                    "phi {phi}: {covered:?} for a nominal {nominal}"
                );
            }
        }
    }

    /// Catches an error that is divided by another number of values than one less than the effective ones.
    #[test]
    fn the_error_is_the_mean_square_deviation_over_one_value_less() {
        let series = autoregressive(0.5, 1000, 1);
        let estimate = mean_with_error(&series);
        let squares = series.iter().map(|x| (x - estimate.mean).powi(2));
        let spread = squares.sum::<f64>() / series.len() as f64;
        let values = estimate.effective.unwrap() - 1.0;
        let square = estimate.error.unwrap().powi(2);
        assert!((square * values / spread - 1.0).abs() < 1e-12);
    }

    #[test]
    fn independent_values_have_the_textbook_error() {
        let series = autoregressive(0.0, 10_000, 3);
        let estimate = mean_with_error(&series);
        assert!((estimate.error.unwrap() - 0.01).abs() < 0.001);
        assert!((estimate.effective.unwrap() / 10_000.0 - 1.0).abs() < 0.15);
    }

    #[test]
    fn a_frozen_series_is_frozen_whatever_its_value() {
        for value in [0.0, 0.1, -1e300, 1.0 / 3.0] {
            let series = [value; 1000];
            assert_eq!(integrated_time(&series), Autocorrelation::Frozen);
            assert_eq!(effective_size(&series), None);
            assert_eq!(autocorrelation(&series, 10), None);
            let estimate = mean_with_error(&series);
            assert_eq!((estimate.mean, estimate.error), (value, None));
        }
    }

    #[test]
    fn a_series_that_moves_by_one_bit_is_not_frozen() {
        let mut series = vec![0.1; 1000];
        series[500] = 0.1_f64.next_up();
        assert!(matches!(
            integrated_time(&series),
            Autocorrelation::Time { tau, .. } if tau.is_finite()
        ));
        let tiny: Vec<f64> = autoregressive(0.5, 1000, 1)
            .iter()
            .map(|x| x * 1e-200)
            .collect();
        assert!(effective_size(&tiny).is_some());
    }

    #[test]
    fn a_series_that_remembers_its_whole_length_is_too_short() {
        let step: Vec<f64> = (0..4000).map(|i| f64::from(i > 1500)).collect();
        let alternating: Vec<f64> = (0..4000).map(|i| f64::from(i % 2)).collect();
        for series in [&step, &alternating] {
            let too_short = Autocorrelation::TooShort { length: 4000 };
            assert_eq!(integrated_time(series), too_short);
        }
        for short in [&[][..], &[1.0], &[1.0, 2.0]] {
            let length = short.len();
            assert_eq!(integrated_time(short), Autocorrelation::TooShort { length });
        }
    }

    #[test]
    fn long_and_short_windows_give_the_same_correlations() {
        let series = autoregressive(0.9, 3000, 5);
        let long = autocorrelation(&series, 200).unwrap();
        let short = autocorrelation(&series, DIRECT_LAGS).unwrap();
        for (t, rho) in short.iter().enumerate() {
            assert!((rho - long[t]).abs() < 1e-13, "lag {t}");
        }
        let deviations = Deviations::of(&series).unwrap();
        let by_definition = deviations.lagged_sums(200);
        for (t, rho) in long.iter().enumerate() {
            let expected = by_definition[t] / (3000 - t) as f64 / (by_definition[0] / 3000.0);
            assert!((rho - expected).abs() < 1e-13, "lag {t}");
        }
    }

    #[test]
    fn the_window_is_the_first_of_five_times() {
        let rho: Vec<f64> = (0..500).map(|t| 0.9_f64.powi(t)).collect();
        let (m, tau) = window(&rho).unwrap();
        assert!(m as f64 >= 5.0 * tau);
        let before: f64 = 0.5 + rho[1..m].iter().sum::<f64>();
        assert!(((m - 1) as f64) < 5.0 * before);
    }

    #[test]
    fn shifting_and_scaling_a_series_leave_its_time() {
        let series = autoregressive(0.8, 5000, 2);
        let moved: Vec<f64> = series.iter().map(|x| 7.0 - 1e-3 * x).collect();
        let size = |s| effective_size(s).unwrap();
        assert!((size(&series) / size(&moved) - 1.0).abs() < 1e-9);
    }

    #[test]
    #[should_panic(expected = "value 1 is NaN")]
    fn a_value_that_is_no_number_is_refused() {
        integrated_time(&[0.0, f64::NAN, 1.0]);
    }
}
