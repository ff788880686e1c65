//! Computes the tails of the beta, gamma, Student, normal and chi-square laws.
//!
//! Both incomplete functions are a probability of the binomial or Poisson form times a continued
//! fraction or series. The probability is written with [`stirling_error`] and [`deviance`], because
//! differences of log-gammas lose digits when the parameters are large (Loader, Fast and Accurate
//! Computation of Binomial Probabilities, 2000).

use std::f64::consts::PI;

/// A factor this close to 1 ends a continued fraction or series.
const CLOSE: f64 = 1e-15;
/// Far more terms than any convergence takes, about the square root of the parameters.
const MOST_TERMS: u32 = 10_000_000;

/// The probability that a chi-square variable with this many degrees of freedom exceeds
/// `statistic`: Q(degrees / 2, statistic / 2), the regularized upper incomplete gamma function.
///
/// ```
/// use foldglass::support::stats::chi_square_tail;
/// assert!((chi_square_tail(3.841458820694124, 1) - 0.05).abs() < 1e-12);
/// ```
///
/// # Panics
/// If there are no degrees of freedom, or the statistic is NaN.
pub fn chi_square_tail(statistic: f64, degrees: usize) -> f64 {
    assert!(
        degrees > 0,
        "a chi-square law of 0 degrees of freedom is refused: it has at least 1"
    );
    assert!(!statistic.is_nan(), "a statistic of NaN has no tail");
    upper_gamma(degrees as f64 / 2.0, statistic / 2.0)
}

/// P(|t'| > |t|) for a Student variable t' with nu degrees of freedom:
/// I_x(nu/2, 1/2) at x = nu / (nu + t^2).
pub(super) fn student_tail(t: f64, degrees: f64) -> f64 {
    let ratio = t * t / degrees;
    beta(
        degrees / 2.0,
        0.5,
        1.0 / (1.0 + ratio),
        1.0 / (1.0 + ratio.recip()),
    )
}

/// The t that a Student variable exceeds in size with probability `miss`.
pub(crate) fn student_quantile(miss: f64, degrees: f64) -> f64 {
    quantile(miss, |t| student_tail(t, degrees))
}

/// The z that a normal variable stays below with probability `p`, strictly between 0 and 1: a
/// rational guess (Abramowitz and Stegun, 26.2.23, within 4.5e-4) and two steps of Halley's, each of
/// which cubes the error. A score for every rank of a long series: bisection takes thirty times as long.
pub(super) fn normal_score(p: f64) -> f64 {
    let tail = p.min(1.0 - p);
    let t = (-2.0 * tail.ln()).sqrt();
    let over = 2.515517 + t * (0.802853 + t * 0.010328);
    let under = 1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308));
    let mut z = (t - over / under).max(0.0);
    for _ in 0..2 {
        let density = (-z * z / 2.0).exp() / (2.0 * PI).sqrt();
        let excess = (upper_gamma(0.5, z * z / 2.0) / 2.0 - tail) / density;
        z += excess / (1.0 - excess * z / 2.0);
    }
    if p < 0.5 { -z } else { z }
}

/// Finds where a decreasing tail that starts at 1 falls to `miss`.
fn quantile(miss: f64, tail: impl Fn(f64) -> f64) -> f64 {
    let mut high = 1.0;
    while tail(high) > miss {
        high *= 2.0;
    }
    crossing(0.0, high, |x| tail(x) > miss)
}

/// Finds where `before` turns from true to false between two numbers, to the last bit, by bisection.
pub(crate) fn crossing(mut low: f64, mut high: f64, before: impl Fn(f64) -> bool) -> f64 {
    loop {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            return middle;
        }
        if before(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
}

/// I_x(a, b), the regularized incomplete beta function, with y = 1 - x given beside x so that
/// neither loses digits: a continued fraction on the side where it converges fast, and
/// I_x(a, b) = 1 - I_y(b, a) on the other.
pub(super) fn beta(a: f64, b: f64, x: f64, y: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if y <= 0.0 {
        return 1.0;
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - beta_fraction(b, a, y, x);
    }
    beta_fraction(a, b, x, y)
}

/// x^a y^b / B(a, b) over the fraction beta_0 + alpha_1/(beta_1 + alpha_2/(beta_2 + ...)), where
/// alpha_m = m (a + m - 1)(a + b + m - 1)(b - m) x^2 / (a + 2m - 1)^2 and
/// beta_m = m + m (b - m) x / (a + 2m - 1) + (a + m)(l + 1 + m (1 + y)) / (a + 2m + 1),
/// l = a - (a + b) x = (a + b) y - b (DiDonato and Morris, ACM TOMS 18, 1992, BFRAC): the even part
/// of DLMF 8.17.22, without its cancellations when a is large and x near 1.
fn beta_fraction(a: f64, b: f64, x: f64, y: f64) -> f64 {
    let n = a + b;
    let log = stirling_error(n)
        - stirling_error(a)
        - stirling_error(b)
        - deviance(a, n * x)
        - deviance(b, n * y);
    // a b / n times the binomial probability of a successes in n trials.
    let front = (a * b / (2.0 * PI * n)).sqrt() * log.exp();
    let l = if a > b { n * y - b } else { a - n * x };
    let mut fraction = Lentz::new(a * (l + 1.0) / (a + 1.0));
    for m in 1..MOST_TERMS {
        let m = f64::from(m);
        let odd = a + 2.0 * m - 1.0;
        let ratio = (b - m) * m * x / odd;
        let factor = fraction.step(
            ratio * (a + m - 1.0) * (n + m - 1.0) * x / odd,
            m + ratio + (a + m) * (l + 1.0 + m * (1.0 + y)) / (odd + 2.0),
        );
        if (factor - 1.0).abs() < CLOSE {
            break;
        }
    }
    front / fraction.value
}

/// Q(a, x), the regularized upper incomplete gamma function: below a + 1 one less the series
/// P(a, x) = x^a e^-x / Gamma(a + 1) * (1 + x/(a+1) + x^2/((a+1)(a+2)) + ...) (DLMF 8.11.4),
/// above it the even part of the continued fraction of DLMF 8.9.2.
fn upper_gamma(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    if x == f64::INFINITY {
        return 0.0;
    }
    let front = (-stirling_error(a) - deviance(a, x)).exp() / (2.0 * PI * a).sqrt();
    if x < a + 1.0 {
        let (mut term, mut sum) = (1.0, 1.0);
        for i in 1..MOST_TERMS {
            term *= x / (a + f64::from(i));
            sum += term;
            if term < sum * CLOSE / 10.0 {
                break;
            }
        }
        return 1.0 - front * sum;
    }
    let mut fraction = Lentz::new(x + 1.0 - a);
    for i in 1..MOST_TERMS {
        let i = f64::from(i);
        let factor = fraction.step(-i * (i - a), x + 2.0 * i + 1.0 - a);
        if (factor - 1.0).abs() < CLOSE {
            break;
        }
    }
    a * front / fraction.value
}

/// The continued fraction b_0 + a_1/(b_1 + a_2/(b_2 + ...)), term by term (the modified Lentz
/// method: c and d are the ratios of successive numerators and denominators).
struct Lentz {
    value: f64,
    c: f64,
    d: f64,
}

impl Lentz {
    fn new(b: f64) -> Lentz {
        Lentz {
            value: b,
            c: b,
            d: 0.0,
        }
    }

    /// Takes in a_k and b_k, and returns the factor by which the value changed.
    fn step(&mut self, a: f64, b: f64) -> f64 {
        self.d = away_from_zero(b + a * self.d).recip();
        self.c = away_from_zero(b + a / self.c);
        let factor = self.c * self.d;
        self.value *= factor;
        factor
    }
}

fn away_from_zero(x: f64) -> f64 {
    if x.abs() < 1e-300 { 1e-300 } else { x }
}

/// ln Gamma(z + 1) - (z + 1/2) ln z + z - ln(2 pi) / 2, what Stirling's formula lacks: its series
/// (DLMF 5.11.1) from 16 on, and below it the recurrence
/// e(z) = e(z + 1) + (z + 1/2) ln(1 + 1/z) - 1.
fn stirling_error(mut z: f64) -> f64 {
    let mut below = 0.0;
    while z < 16.0 {
        below += (z + 0.5) * z.recip().ln_1p() - 1.0;
        z += 1.0;
    }
    let w = 1.0 / (z * z);
    let series = [
        1.0 / 12.0,
        -1.0 / 360.0,
        1.0 / 1260.0,
        -1.0 / 1680.0,
        1.0 / 1188.0,
        -691.0 / 360_360.0,
        1.0 / 156.0,
    ];
    below + series.iter().rev().fold(0.0, |sum, c| sum * w + c) / z
}

/// x ln(x / m) + m - x, which is small when x is near its mean m; there by the series in
/// v = (x - m)/(x + m): (x - m) v + 2 x (v^3/3 + v^5/5 + ...).
fn deviance(x: f64, m: f64) -> f64 {
    let v = (x - m) / (x + m);
    if v.abs() > 0.1 {
        return x * (x / m).ln() + m - x;
    }
    let mut sum = (x - m) * v;
    let mut power = 2.0 * x * v;
    for k in (3..40).step_by(2) {
        power *= v * v;
        sum += power / f64::from(k);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Within 1e-12 of the value, and of its digits where it is small.
    fn assert_close(found: f64, expected: f64, what: &str) {
        let error = (found - expected).abs();
        assert!(
            error < 1e-12 * expected.min(1.0),
            "{what}: {found}, expected {expected}"
        );
    }

    #[test]
    fn the_incomplete_beta_matches_fifty_digit_values() {
        for (a, b, x, expected) in [
            (0.5, 0.5, 0.25, 1.0 / 3.0),
            (2.0, 3.0, 0.5, 0.6875),
            (1.0, 12.0, 0.2, 0.931_280_523_264),
            (17.0, 44.0, 0.3, 0.657_767_261_351_332_1),
            (0.5, 150.5, 0.001, 0.416_525_290_057_224_5),
            (150.0, 0.5, 0.99, 0.082_748_003_254_080_5),
            (1000.0, 3000.0, 0.24, 0.071_080_334_008_535_7),
            (50000.0, 50001.0, 0.501, 0.737_487_941_802_535_4),
            (1e6, 3e6, 0.2501, 0.677_970_666_169_914_5),
            (3.0, 1e7, 1e-7, 0.080_301_424_662_355_11),
            (1e-3, 2.0, 0.5, 0.999_806_746_536_947_8),
        ] {
            assert_close(
                beta(a, b, x, 1.0 - x),
                expected,
                &format!("I_{x}({a}, {b})"),
            );
        }
    }

    #[test]
    fn the_incomplete_beta_is_a_sum_of_binomial_probabilities() {
        for n in 1..=30_i32 {
            for p in [0.01_f64, 0.2, 0.5, 0.7, 0.99] {
                let mut tail = 0.0;
                let mut choose = 1.0;
                for k in (1..=n).rev() {
                    tail += choose * p.powi(k) * (1.0 - p).powi(n - k);
                    choose *= f64::from(k) / f64::from(n - k + 1);
                    let found = beta(f64::from(k), f64::from(n - k + 1), p, 1.0 - p);
                    assert_close(found, tail, &format!("P(at least {k} of {n} at {p})"));
                }
            }
        }
    }

    #[test]
    fn chi_square_tails_match_fifty_digit_values() {
        for (statistic, degrees, expected) in [
            (3.841459, 1, 0.049_999_994_653_195_77),
            (18.307, 10, 0.050_000_589_091_398_12),
            (0.001, 1, 0.974_772_879_369_960_4),
            (1e-8, 2, 0.999_999_995),
            (100.0, 1, 1.523_970_604_832_105e-23),
            (0.5, 7, 0.999_446_481_390_425),
            (250.0, 200, 0.009_379_131_668_826_096),
            (1000.0, 1000, 0.494_052_853_829_239_64),
            (1_003_000.0, 1_000_000, 0.017_016_772_933_266_315),
            (40.0, 3, 1.065_509_033_425_586_1e-8),
            (999_000.0, 1_000_000, 0.760_176_731_459_872_8),
        ] {
            let what = format!("{statistic} with {degrees} degrees");
            assert_close(chi_square_tail(statistic, degrees), expected, &what);
        }
    }

    #[test]
    fn two_degrees_of_freedom_give_an_exponential() {
        for i in 0..400 {
            let x = f64::from(i) * 0.37;
            assert_close(chi_square_tail(x, 2), (-x / 2.0).exp(), &format!("{x}"));
        }
    }

    #[test]
    fn the_ends_of_the_chi_square_law_are_certain() {
        assert_eq!(chi_square_tail(0.0, 3), 1.0);
        assert_eq!(chi_square_tail(f64::INFINITY, 3), 0.0);
    }

    #[test]
    fn student_tails_match_fifty_digit_values() {
        for (t, degrees, expected) in [
            (2.0, 5.0, 0.101_939_478_829_858_36),
            (1.0, 1.0, 0.5),
            (12.706, 1.0, 0.050_000_802_358_133_19),
            (1.96, 1e6, 0.049_996_067_585_269_79),
            (0.1, 30.0, 0.921_009_611_790_271_2),
            (8.0, 3.0, 0.004_076_577_587_785_468),
            (30.0, 100.0, 8.380_332_558_688_292e-52),
            (2.5, 17.776, 0.022_444_600_550_515_38),
            (0.0, 4.0, 1.0),
            (f64::INFINITY, 4.0, 0.0),
        ] {
            let found = student_tail(t, degrees);
            assert!(
                found == expected || (found - expected).abs() < 1e-12 * expected,
                "t {t} with {degrees} degrees: {found}, expected {expected}"
            );
        }
    }

    /// The z that a normal variable exceeds in size with probability `miss`: its square is chi-square.
    fn normal_quantile(miss: f64) -> f64 {
        quantile(miss, |z| upper_gamma(0.5, z * z / 2.0))
    }

    #[test]
    fn scores_are_quantiles_found_by_bisection() {
        let ps = [1e-12, 1e-6, 0.001, 0.02, 0.2, 0.49, 0.499999, 0.5];
        for p in ps {
            // P(|z'| > z) is twice the tail.
            let expected = if p == 0.5 {
                0.0
            } else {
                -normal_quantile(2.0 * p)
            };
            let found = normal_score(p);
            assert!(
                (found - expected).abs() < 1e-13 * (1.0 + expected.abs()),
                "{p}: {found}, {expected}"
            );
            assert!((normal_score(1.0 - p) + found).abs() < 1e-4 * (1.0 + expected.abs()));
        }
        for place in 1..1000 {
            let p = f64::from(place) / 1000.0;
            assert!(p == 0.5 || (normal_score(p) < normal_score(p + 1e-3)) || place == 999);
        }
    }

    #[test]
    fn quantiles_match_the_tables() {
        assert_close(normal_quantile(0.05), 1.959_963_984_540_054_2, "z 0.95");
        assert_close(normal_quantile(0.01), 2.575_829_303_548_901, "z 0.99");
        for (degrees, t) in [(1.0, 12.706), (5.0, 2.571), (10.0, 2.228), (30.0, 2.042)] {
            assert!(
                (student_quantile(0.05, degrees) - t).abs() < 5e-4,
                "{degrees}"
            );
        }
    }
}
