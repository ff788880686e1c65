//! Bounds the probability behind a count of successes, and compares two counts.

use super::special::{beta, crossing};
use super::{Interval, miss};

/// A number of successes in independent trials.
///
/// ```
/// use foldglass::support::stats::Proportion;
/// let trapped = Proportion { successes: 10, trials: 10 };
/// assert!((trapped.interval(0.95).low - 0.6915).abs() < 5e-5);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(schemars::JsonSchema, serde::Serialize, serde::Deserialize)
)]
pub struct Proportion {
    /// How many trials succeeded.
    pub successes: u64,
    /// How many there were.
    pub trials: u64,
}

impl Proportion {
    /// Successes over trials; none without trials.
    pub fn rate(&self) -> Option<f64> {
        let (k, n) = self.parts();
        (n > 0.0).then(|| k / n)
    }

    /// The interval of Clopper and Pearson, which covers the probability at least as often as the
    /// level says; everything when there are no trials.
    ///
    /// Its ends are the p at which k or more successes, and k or fewer, have probability
    /// (1 - level) / 2: I_p(k, n - k + 1) and I_{1-p}(n - k, k + 1).
    ///
    /// # Panics
    /// If there are more successes than trials, or the level is not strictly between 0 and 1.
    pub fn interval(&self, level: f64) -> Interval {
        let (k, n) = self.parts();
        let side = miss(level) / 2.0;
        let end = |before: &dyn Fn(f64) -> bool| crossing(0.0, 1.0, before);
        Interval {
            low: match self.successes {
                0 => 0.0,
                _ => end(&|p| beta(k, n - k + 1.0, p, 1.0 - p) < side),
            },
            high: match self.trials - self.successes {
                0 => 1.0,
                _ => end(&|p| beta(n - k, k + 1.0, 1.0 - p, p) > side),
            },
        }
    }

    fn parts(&self) -> (f64, f64) {
        assert!(
            self.successes <= self.trials,
            "{} successes in {} trials: there are at most as many successes as trials",
            self.successes,
            self.trials
        );
        (self.successes as f64, self.trials as f64)
    }
}

/// Tables whose probabilities differ by less than this, relatively, count as equally likely.
const SAME: f64 = 1e-7;

/// The two-sided p-value of Fisher's exact test that two counts have the same probability.
///
/// Given the number of successes in all, the probability, if the two are alike, of a split no more
/// likely than the one seen: k1 successes in the first have weight C(n1, k1) C(n2, K - k1). Takes
/// time linear in the counts.
///
/// ```
/// use foldglass::support::stats::{Proportion, fisher};
/// let tea_first = Proportion { successes: 3, trials: 4 };
/// let milk_first = Proportion { successes: 1, trials: 4 };
/// assert!((fisher(&tea_first, &milk_first) - 34.0 / 70.0).abs() < 1e-14);
/// ```
///
/// # Panics
/// If there are more successes than trials.
pub fn fisher(a: &Proportion, b: &Proportion) -> f64 {
    let ((seen, n1), (other, n2)) = (a.parts(), b.parts());
    let all = seen + other;
    let (least, most) = ((all - n2).max(0.0), all.min(n1));
    // From one split to the next the weight changes by this factor.
    let up = |k: f64| (n1 - k) * (all - k) / ((k + 1.0) * (n2 - all + k + 1.0));
    // Weights are relative to the split seen, so that a rare one is not lost below the likely ones.
    let (mut total, mut rare) = (1.0, 1.0);
    let mut add = |weight: f64| {
        total += weight;
        if weight <= 1.0 + SAME {
            rare += weight;
        }
        weight.is_finite()
    };
    let (mut k, mut weight) = (seen, 1.0);
    while k < most {
        weight *= up(k);
        k += 1.0;
        if !add(weight) {
            return 0.0;
        }
    }
    (k, weight) = (seen, 1.0);
    while k > least {
        k -= 1.0;
        weight /= up(k);
        if !add(weight) {
            return 0.0;
        }
    }
    rare / total
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(successes: u64, trials: u64) -> Proportion {
        Proportion { successes, trials }
    }

    fn assert_interval(found: Interval, low: f64, high: f64, what: &str) {
        assert!(
            (found.low - low).abs() < 1e-12 && (found.high - high).abs() < 1e-12,
            "{what}: {found:?}, expected {low} to {high}"
        );
    }

    #[test]
    fn intervals_match_published_tables() {
        // Newcombe, Statistics in Medicine 17 (1998), table I, exact, at 95%.
        for (k, n, (low, high)) in [
            (81, 263, (0.2527, 0.3676)),
            (15, 148, (0.0578, 0.1617)),
            (0, 20, (0.0, 0.1684)),
            (1, 29, (0.0009, 0.1776)),
        ] {
            let found = of(k, n).interval(0.95);
            let near = (found.low - low).abs() < 5.1e-5 && (found.high - high).abs() < 5.1e-5;
            assert!(near, "{k}/{n}: {found:?}, published {low} to {high}");
        }
    }

    #[test]
    fn intervals_match_sixty_digit_values() {
        for (k, n, exact) in [
            (10, 10, (0.691502892181239, 1.0)),
            (17, 60, (0.174505283514375, 0.41443606894983)),
            (0, 12, (0.0, 0.264648469397051)),
            (3, 10, (0.0667395111777345, 0.652452850059997)),
        ] {
            let count = of(k, n);
            assert_interval(count.interval(0.95), exact.0, exact.1, "Clopper-Pearson");
        }
    }

    fn binomial(n: u64, p: f64) -> Vec<f64> {
        let mut law = vec![0.0; n as usize + 1];
        law[0] = 1.0;
        for _ in 0..n {
            for k in (0..law.len()).rev() {
                law[k] = law[k] * (1.0 - p) + if k > 0 { law[k - 1] * p } else { 0.0 };
            }
        }
        law
    }

    #[test]
    fn clopper_pearson_covers_at_least_at_its_level() {
        for (n, level) in [(1, 0.9), (5, 0.95), (12, 0.95), (30, 0.8), (50, 0.99)] {
            let intervals: Vec<Interval> = (0..=n).map(|k| of(k, n).interval(level)).collect();
            for i in 1..500 {
                let p = f64::from(i) / 500.0;
                let covered: f64 = binomial(n, p)
                    .iter()
                    .zip(&intervals)
                    .filter(|(_, interval)| interval.contains(p))
                    .map(|(weight, _)| weight)
                    .sum();
                assert!(
                    covered >= level - 1e-12,
                    "n {n}, p {p}: {covered} < {level}"
                );
            }
        }
    }

    #[test]
    fn intervals_mirror_when_successes_and_failures_swap() {
        for (k, n) in [(0, 7), (3, 11), (40, 1000)] {
            let (one, other) = (of(k, n).interval(0.9), of(n - k, n).interval(0.9));
            assert!((one.low + other.high - 1.0).abs() < 1e-14);
            assert!((one.high + other.low - 1.0).abs() < 1e-14);
        }
    }

    #[test]
    fn without_trials_nothing_is_ruled_out() {
        let everything = Interval {
            low: 0.0,
            high: 1.0,
        };
        assert_eq!(of(0, 0).interval(0.95), everything);
        assert_eq!(of(0, 0).rate(), None);
        assert_eq!(fisher(&of(0, 0), &of(3, 5)), 1.0);
    }

    #[test]
    #[should_panic(expected = "5 successes in 4 trials")]
    fn more_successes_than_trials_are_refused() {
        of(5, 4).interval(0.95);
    }

    #[test]
    fn fisher_matches_his_twins() {
        // Convictions among like-sex twins of criminals (Fisher, 1970, p. 95): 10 of 13
        // monozygotic and 2 of 17 dizygotic.
        let p = fisher(&of(10, 13), &of(2, 17));
        assert!((p - 0.000_536_724_119_143_4).abs() < 1e-12, "{p}");
    }

    #[test]
    fn fisher_matches_the_sum_over_all_tables() {
        let choose = |n: u64, k: u64| {
            (0..k)
                .map(|i| (n - i, i + 1))
                .fold(1, |c, (a, b)| c * a / b)
        };
        for (n1, n2) in [(1u64, 1u64), (4, 4), (5, 9), (12, 7)] {
            for all in 0..=n1 + n2 {
                let splits = all.saturating_sub(n2)..=all.min(n1);
                let weight = |k: u64| choose(n1, k) * choose(n2, all - k);
                for seen in splits.clone() {
                    let rare: u64 = splits
                        .clone()
                        .map(weight)
                        .filter(|&w| w <= weight(seen))
                        .sum();
                    let expected = rare as f64 / choose(n1 + n2, all) as f64;
                    let found = fisher(&of(seen, n1), &of(all - seen, n2));
                    assert!((found - expected).abs() < 1e-12, "{seen}/{n1}, {all}");
                }
            }
        }
    }

    #[test]
    fn fisher_is_symmetric_and_keeps_small_probabilities() {
        let (a, b) = (of(90, 100), of(10, 100));
        assert_eq!(fisher(&a, &a), 1.0);
        let p = fisher(&a, &b);
        assert!((p / fisher(&b, &a) - 1.0).abs() < 1e-12);
        assert!((p / 6.699_175_284_224_094e-33 - 1.0).abs() < 1e-12, "{p}");
        assert_eq!(fisher(&of(5000, 5000), &of(0, 5000)), 0.0);
    }
}
