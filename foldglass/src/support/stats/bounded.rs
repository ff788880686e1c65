//! Bounds the mean of a law on [0, 1], such as that of a reward, from independent values.

use super::{Interval, check_finite, miss};

/// The interval of Gaffke (2005) for the mean of a law on [0, 1]; none when there are no values.
///
/// Of the law nothing else is assumed. Any law on [0, 1] may have an atom that n values miss, so the
/// interval is never a point, whatever the values are: 60 values of 1 give 0.94 to 1. For values 0
/// and 1 it is the interval of Clopper and Pearson ([`Proportion::interval`](super::Proportion)), which
/// covers the mean at least as often as the level says. For other laws that is a conjecture; the tests
/// measure it for two-point and beta laws.
///
/// The lower end is the quantile at (1 - level) / 2 of w_0 0 + w_1 x_1 + .. + w_n x_n, where the weights
/// w are uniform on the simplex; the upper end is 1 less the lower end of the values 1 - x.
///
/// ```
/// use foldglass::support::stats::bounded_mean;
/// let interval = bounded_mean(&[1.0; 60], 0.95).unwrap();
/// assert!((interval.low - 0.025f64.powf(1.0 / 60.0)).abs() < 1e-12 && interval.high == 1.0);
/// ```
///
/// # Panics
/// If a value is not in 0..=1, or the level is not strictly between 0 and 1.
pub fn bounded_mean(values: &[f64], level: f64) -> Option<Interval> {
    let side = miss(level) / 2.0;
    check_finite(values);
    if let Some(i) = values.iter().position(|x| !(0.0..=1.0).contains(x)) {
        panic!("value {i} is {}: it lies between 0 and 1", values[i]);
    }
    let mirrored: Vec<f64> = values.iter().map(|x| 1.0 - x).collect();
    (!values.is_empty()).then(|| Interval {
        low: lower_end(values, side),
        high: 1.0 - lower_end(&mirrored, side),
    })
}

/// The m at which [`probability_below`] is `side`, by false position in its logarithm. An end that stays
/// twice has its height halved, so that it moves at last (the Illinois rule).
fn lower_end(values: &[f64], side: f64) -> f64 {
    let height = |m| (probability_below(values, m) / side).ln();
    let most = values.iter().copied().fold(0.0, f64::max);
    let (mut low, mut high) = ((0.0, f64::NEG_INFINITY), (most, height(most)));
    let mut low_moved = None;
    while high.0 - low.0 > 1e-14 {
        let share = match low.1 > -10.0 {
            true => -low.1 / (high.1 - low.1),
            false => 0.5,
        };
        let m = low.0 + share * (high.0 - low.0);
        let found = height(m);
        if found.abs() < 1e-12 {
            return m;
        }
        let moves_low = found < 0.0;
        let stayed_twice = low_moved == Some(moves_low);
        let (moved, stayed) = match moves_low {
            true => (&mut low, &mut high),
            false => (&mut high, &mut low),
        };
        *moved = (m, found);
        if stayed_twice {
            stayed.1 /= 2.0;
        }
        low_moved = Some(moves_low);
    }
    low.0
}

/// Smaller probabilities are dropped; all of them together are far below any `side`.
const NEGLIGIBLE: f64 = 1e-18;

/// The probability that w_0 0 + w_1 x_1 + .. + w_n x_n is at most m, the weights uniform on the simplex.
///
/// Such weights are exponential variables E over their sum, so this is P(A >= B) for A the sum of
/// (m - x) E over the x below m, that of 0 among them, and B the sum of (x - m) E over the x above. Let
/// the terms of A run out one after another, and beside them those of B: a term a of A ends before a
/// term b of B with probability b / (a + b), after which the other begins anew. A >= B if the terms of B
/// end first. The table of how many of each have ended has positive entries only, so no digits cancel.
fn probability_below(values: &[f64], m: f64) -> f64 {
    let below = values.iter().filter(|&&x| x < m).map(|x| m - x);
    let above: Vec<f64> = values.iter().filter(|&&x| x > m).map(|x| x - m).collect();
    // By the number of terms of B that have ended: the probability when a term of A begins.
    let mut state = vec![0.0; above.len()];
    let Some(start) = state.first_mut() else {
        return 1.0;
    };
    *start = 1.0;
    let (mut first, mut end, mut all_ended) = (0, 1, 0.0);
    for a in std::iter::once(m).chain(below) {
        let mut within = 0.0;
        let mut place = first;
        while place < above.len() && (place < end || within > NEGLIGIBLE) {
            within += state[place];
            let stays = within * (above[place] / (a + above[place]));
            state[place] = stays;
            within -= stays;
            place += 1;
        }
        if place == above.len() {
            all_ended += within;
        }
        end = place;
        while first < end && state[first] < NEGLIGIBLE {
            first += 1;
        }
    }
    all_ended
}

#[cfg(test)]
mod tests {
    use super::super::Proportion;
    use super::*;
    use crate::support::stream::Stream;

    const LEVEL: f64 = 0.95;

    fn interval(values: &[f64]) -> Interval {
        bounded_mean(values, LEVEL).unwrap()
    }

    /// `n` values, `k` of them `high` and the others `low`.
    fn two_valued(n: usize, k: usize, [low, high]: [f64; 2]) -> Vec<f64> {
        let mut values = vec![low; n];
        values[..k].fill(high);
        values
    }

    #[test]
    fn of_zeros_and_ones_it_is_the_interval_of_clopper_and_pearson() {
        for n in [1, 2, 5, 12, 60, 400] {
            for k in [0, 1, n / 3, n / 2, n - 1, n] {
                let found = interval(&two_valued(n, k, [0.0, 1.0]));
                let exact = Proportion {
                    successes: k as u64,
                    trials: n as u64,
                }
                .interval(LEVEL);
                assert!(
                    (found.low - exact.low).abs() < 1e-12
                        && (found.high - exact.high).abs() < 1e-12,
                    "{k} of {n}: {found:?}, {exact:?}"
                );
            }
        }
    }

    /// By drawing the weights.
    #[test]
    fn the_probability_is_that_of_drawn_weights() {
        let mut stream = Stream::new(5, 0);
        let values = [0.3, 0.7, 0.7, 0.95, 0.1];
        let trials = 200_000;
        let mut sums = Vec::new();
        for _ in 0..trials {
            let weights: Vec<f64> = (0..6).map(|_| -stream.uniform().ln()).collect();
            let sum: f64 = weights[1..].iter().zip(values).map(|(w, x)| w * x).sum();
            sums.push(sum / weights.iter().sum::<f64>());
        }
        for m in [0.1, 0.25, 0.4, 0.5, 0.7, 0.8] {
            let drawn = Proportion {
                successes: sums.iter().filter(|&&sum| sum <= m).count() as u64,
                trials,
            };
            let exact = probability_below(&values, m);
            assert!(
                drawn.interval(0.9999).contains(exact),
                "{m}: {exact}, {drawn:?}"
            );
        }
    }

    #[test]
    fn equal_values_leave_room_and_no_end_passes_0_or_1() {
        for n in [1, 2, 5, 12, 60] {
            for x in [0.0, 0.2, 0.9875, 1.0] {
                let found = interval(&vec![x; n]);
                let side = (1.0 - LEVEL) / 2.0;
                let missed = side.powf(1.0 / n as f64);
                assert!((found.low - x * missed).abs() < 1e-12, "{n} {x} {found:?}");
                assert!(
                    (found.high - (1.0 - (1.0 - x) * missed)).abs() < 1e-12,
                    "{n} {x} {found:?}"
                );
                assert!(found.contains(x) && found.low >= 0.0 && found.high <= 1.0);
            }
        }
    }

    /// Exactly, by summing over the number of high values.
    #[test]
    fn it_covers_the_mean_of_two_point_laws_at_least_as_often_as_the_level() {
        let mut least: f64 = 1.0;
        for n in [5, 12, 60] {
            for pair in [[0.0, 1.0], [0.5, 1.0], [0.2, 0.9], [0.0, 0.3], [0.7, 0.8]] {
                let covers: Vec<Interval> =
                    (0..=n).map(|k| interval(&two_valued(n, k, pair))).collect();
                for p in [0.01, 0.05, 0.268, 0.5, 0.8, 0.96, 0.99] {
                    let mean = pair[0] * (1.0 - p) + pair[1] * p;
                    let mut weight = (1.0_f64 - p).powi(n as i32);
                    let mut covered = 0.0;
                    for (k, interval) in covers.iter().enumerate() {
                        if interval.contains(mean) {
                            covered += weight;
                        }
                        weight *= (n - k) as f64 / (k + 1) as f64 * p / (1.0 - p);
                    }
                    assert!(covered >= LEVEL - 1e-9, "{n} {pair:?} {p}: {covered}");
                    least = least.min(covered);
                }
            }
        }
        // The interval is not needlessly wide for all of them.
        assert!(least < 0.97, "{least}");
    }

    #[test]
    fn it_covers_the_mean_of_beta_laws_at_least_as_often_as_the_level() {
        let trials = 4000;
        for n in [5, 12, 60] {
            // Beta(a, 1) is u^(1/a); its mirror image is Beta(1, a).
            for a in [0.05, 0.3, 1.0, 3.0, 20.0] {
                let mut stream = Stream::new(11, n);
                let mut covered = 0;
                for _ in 0..trials {
                    let values: Vec<f64> = (0..n).map(|_| stream.uniform().powf(1.0 / a)).collect();
                    // The ends are monotone in the probability: no end need be found.
                    let mean = a / (a + 1.0);
                    let mirrored: Vec<f64> = values.iter().map(|x| 1.0 - x).collect();
                    let side = (1.0 - LEVEL) / 2.0;
                    let within = probability_below(&values, mean) >= side
                        && probability_below(&mirrored, 1.0 - mean) >= side;
                    covered += u64::from(within);
                }
                let covered = Proportion {
                    successes: covered,
                    trials,
                };
                assert!(covered.interval(0.999).high >= LEVEL, "{n} {a} {covered:?}");
            }
        }
    }

    #[test]
    fn many_values_take_no_long_time() {
        let values: Vec<f64> = (0..20_000_u32)
            .map(|i| f64::from(i.wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 24))
            .collect();
        let started = std::time::Instant::now();
        let found = interval(&values);
        assert!(found.contains(0.5) && found.high - found.low < 0.01);
        assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
    }

    #[test]
    #[should_panic(expected = "value 1 is 1.5: it lies between 0 and 1")]
    fn a_value_above_1_is_refused() {
        interval(&[0.5, 1.5]);
    }
}
