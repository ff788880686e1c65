//! Compares what was measured with what is stated, and says how sure that is.
//!
//! **The rule.** Both sides are samples. A comparison is a test that they have the same law, at the
//! level of 1 %:
//! - a mean: Welch's test. A standard deviation that is not stated is taken as ours, or as the least
//!   that the stated mean and number of runs at 1 allow where that is larger. A stated mean may lie
//!   anywhere within its last digit. Where neither is stated and the mean lies above ours, a few
//!   solved runs may be all of the difference: it counts only if Fisher's test finds the least number
//!   of them too many for ours as well.
//! - a number of runs at 1: Fisher's exact test.
//! - a quantile: Fisher's test of how many of ours lie at or below the stated value. A maximum: of
//!   how many of ours lie above it.
//! - what has no chance in it agrees only if it is equal.
//! - the best temperature: ours at the stated one against ours at our best (against the coldest
//!   where none is stated) by Welch's test, its p-value times the number of temperatures.
//!
//! p below 1 % **differs**, else it **agrees**; with fewer than half of the paper's runs there are
//! **not enough seeds** to say either. Of many comparisons one in a hundred differs by chance.

use foldglass::stats::{Interval, Moments, Proportion, Summary, fisher, quantile, welch};
use serde::Serialize;

use super::paper::Stated;

/// Differences with a p-value below this are told.
pub const LEVEL: f64 = 0.01;

/// What our runs say of a quantity.
#[derive(Debug, Clone, PartialEq)]
pub enum Measured {
    /// Rewards whose mean counts.
    Mean(Vec<f64>),
    /// How many runs are at exactly 1.
    Count(Proportion),
    /// Values whose quantile counts.
    Quantile {
        /// The quantile's level.
        level: f64,
        /// The values.
        values: Vec<f64>,
    },
    /// Values whose maximum counts.
    Greatest(Vec<f64>),
    /// Values at each temperature, the coldest first, whose best mean counts.
    Peak(Vec<(f64, Vec<f64>)>),
    /// A number, or several, without any chance in it; none where it was not computed.
    Exact(Option<String>),
}

/// What a comparison says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Verdict {
    /// The two are alike within their statistical errors.
    #[serde(rename = "agrees")]
    Agrees,
    /// They are not.
    #[serde(rename = "differs")]
    Differs,
    /// There are too few runs to tell.
    #[serde(rename = "not enough seeds")]
    NotEnough,
    /// There is nothing to compare with.
    #[serde(rename = "not stated")]
    NotStated,
}

impl Verdict {
    /// The words for it.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Agrees => "agrees",
            Verdict::Differs => "differs",
            Verdict::NotEnough => "not enough seeds",
            Verdict::NotStated => "not stated",
        }
    }
}

/// A verdict and the p-value behind it, where a test was made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// The p-value.
    pub p: Option<f64>,
}

impl Judgement {
    /// With nothing to compare.
    pub const NOT_STATED: Judgement = Judgement {
        verdict: Verdict::NotStated,
        p: None,
    };
}

impl Measured {
    /// The runs it rests on; of several temperatures, those at the one with the fewest.
    pub fn runs(&self) -> u64 {
        match self {
            Measured::Mean(values)
            | Measured::Greatest(values)
            | Measured::Quantile { values, .. } => values.len() as u64,
            Measured::Count(count) => count.trials,
            Measured::Peak(points) => points
                .iter()
                .map(|(_, values)| values.len())
                .min()
                .unwrap_or(0) as u64,
            Measured::Exact(text) => text.is_some().into(),
        }
    }

    /// The number itself; none without runs. That of a count is a share, and of temperatures none
    /// where none is better than the coldest.
    pub fn value(&self) -> Option<f64> {
        match self {
            Measured::Mean(values) => Some(Summary::of(values)?.mean),
            Measured::Count(count) => count.rate(),
            Measured::Quantile { level, values } => quantile(values, *level),
            Measured::Greatest(values) => Some(Summary::of(values)?.max),
            Measured::Peak(points) => peak(points),
            Measured::Exact(text) => text.as_ref()?.parse().ok(),
        }
    }

    /// What the runs do not rule out at 99 %: Student's interval of a mean reward, within 0 to 1, Clopper and Pearson's
    /// of a share, that of the order statistics of a quantile, the temperatures whose mean is not
    /// below the best.
    pub fn interval(&self) -> Option<Interval> {
        match self {
            Measured::Mean(values) => {
                let Interval { low, high } = Summary::of(values)?.interval(1.0 - LEVEL)?;
                Some(Interval {
                    low: low.max(0.0),
                    high: high.min(1.0),
                })
            }
            Measured::Count(count) => (count.trials > 0).then(|| count.interval(1.0 - LEVEL)),
            Measured::Quantile { level, values } => order_interval(values, *level),
            Measured::Greatest(_) | Measured::Exact(_) => None,
            Measured::Peak(points) => {
                let best = best(points)?;
                let alike = |point: &&(f64, Vec<f64>)| {
                    worse(&point.1, &best.1).is_some_and(|p| p * points.len() as f64 >= LEVEL)
                };
                let taus: Vec<f64> = points.iter().filter(alike).map(|(tau, _)| *tau).collect();
                Some(Interval {
                    low: *taus.first()?,
                    high: *taus.last()?,
                })
            }
        }
    }

    /// Compares it with what is stated; `needed` runs are enough to tell.
    pub fn judge(&self, stated: &Stated, needed: u64) -> Judgement {
        if let (Measured::Exact(ours), Stated::Exact(theirs)) = (self, stated) {
            let verdict = match ours {
                Some(ours) if ours == theirs => Verdict::Agrees,
                Some(_) => Verdict::Differs,
                None => Verdict::NotEnough,
            };
            return Judgement { verdict, p: None };
        }
        let p = self.p_value(stated);
        let verdict = match p {
            Some(p) if self.runs() >= needed.max(2) => {
                if p < LEVEL {
                    Verdict::Differs
                } else {
                    Verdict::Agrees
                }
            }
            _ => Verdict::NotEnough,
        };
        Judgement { verdict, p }
    }

    /// How likely so large a difference is by chance; none without enough of ours.
    fn p_value(&self, stated: &Stated) -> Option<f64> {
        match (self, *stated) {
            (Measured::Mean(values), Stated::Mean { text, sd, n, ones }) => {
                mean_p(values, text, sd, n, ones)
            }
            (Measured::Count(ours), Stated::Count(theirs)) => {
                (ours.trials > 0).then(|| fisher(ours, &theirs))
            }
            (Measured::Quantile { level, values }, Stated::Quantile { value, n }) => {
                quantile_p(values, *level, value, n)
            }
            (Measured::Greatest(values), Stated::Greatest { value, n }) => {
                let above = Proportion {
                    successes: values.iter().filter(|&&v| v > value).count() as u64,
                    trials: values.len() as u64,
                };
                let none = Proportion {
                    successes: 0,
                    trials: n,
                };
                (above.trials > 0).then(|| fisher(&above, &none))
            }
            (Measured::Peak(points), Stated::Peak { tau, .. }) => peak_p(points, tau),
            _ => panic!("{stated:?} is no number to compare {self:?} with"),
        }
    }
}

/// Welch's test against a stated mean.
fn mean_p(values: &[f64], text: &str, sd: Option<f64>, n: u64, ones: Option<u64>) -> Option<f64> {
    let ours = Summary::of(values)?.moments()?;
    let stated: f64 = text.parse().expect("a number as printed");
    let digits = text.split_once('.').map_or(0, |(_, digits)| digits.len());
    let half = 0.5 * 10f64.powi(-(digits as i32));
    let difference = ours.mean - stated;
    // Rounding may also have cost the last half digit of ours.
    if difference.abs() <= half * (1.0 + 1e-9) {
        return Some(1.0);
    }
    let least = ones.map_or(0.0, |ones| least_sd(stated, ones, n));
    let theirs = Moments {
        n: n as usize,
        mean: stated + difference.clamp(-half, half),
        sd: sd.unwrap_or(ours.sd.max(least)),
    };
    let p = welch(&ours, &theirs);
    if sd.is_some() || ones.is_some() || theirs.mean <= ours.mean {
        return Some(p);
    }
    let solved = Proportion {
        successes: values.iter().filter(|&&value| value == 1.0).count() as u64,
        trials: values.len() as u64,
    };
    Some(p.max(few_solved_p(&solved, &ours, theirs.mean, n)))
}

/// Fisher's test of our solved runs against the least number of n runs that, solved instead of like
/// ours, lift our mean to the stated one. Near the melt one run in hundreds is solved: a sample
/// without any says nothing of the spread.
fn few_solved_p(solved: &Proportion, ours: &Moments, stated: f64, n: u64) -> f64 {
    let least = (n as f64 * (stated - ours.mean) / (1.0 - ours.mean)).ceil() as u64;
    let rate = solved.successes as f64 / solved.trials as f64;
    let like_ours = (rate * n as f64).round() as u64;
    let theirs = Proportion {
        successes: (like_ours + least).min(n),
        trials: n,
    };
    fisher(solved, &theirs)
}

/// The least standard deviation of n values up to 1 with this mean, of which `ones` are 1: the
/// others are equal then.
fn least_sd(mean: f64, ones: u64, n: u64) -> f64 {
    if ones >= n || n < 2 {
        return 0.0;
    }
    let (n, others) = (n as f64, (n - ones) as f64);
    let below = n * (1.0 - mean) / others;
    let square = others * (1.0 - below - mean).powi(2) + (n - others) * (1.0 - mean).powi(2);
    (square / (n - 1.0)).sqrt()
}

/// Fisher's test of how many of ours are at or below a stated quantile. Ties with it may count
/// either way: sweeps are whole numbers.
fn quantile_p(values: &[f64], level: f64, stated: f64, n: u64) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let trials = values.len() as u64;
    let below = values.iter().filter(|&&v| v < stated).count() as u64;
    let up_to = values.iter().filter(|&&v| v <= stated).count() as u64;
    let expected = (level * trials as f64).round() as u64;
    let ours = Proportion {
        successes: expected.clamp(below, up_to),
        trials,
    };
    let theirs = Proportion {
        successes: (level * n as f64).round() as u64,
        trials: n,
    };
    Some(fisher(&ours, &theirs))
}

/// The order statistics between which a quantile lies with a probability of 99 %: B, the number of
/// values up to it, is binomial; x_(l) with P(B < l) and x_(u) with P(B >= u) at most 0.5 %.
fn order_interval(values: &[f64], level: f64) -> Option<Interval> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (n, side) = (sorted.len(), LEVEL / 2.0);
    // P(B = k), k = 0 .. n.
    let mut chances = vec![(1.0 - level).powi(n as i32)];
    for k in 0..n {
        chances.push(chances[k] * (n - k) as f64 / (k + 1) as f64 * level / (1.0 - level));
    }
    let mut tail = 0.0;
    let low = chances.iter().take_while(|&&chance| {
        tail += chance;
        tail <= side
    });
    let low = low.count();
    tail = 0.0;
    let high = chances.iter().rev().take_while(|&&chance| {
        tail += chance;
        tail <= side
    });
    let high = n + 1 - high.count();
    // Counted from 1; where no order statistic is far enough out, the last one stands.
    Some(Interval {
        low: *sorted.get(low.max(1) - 1)?,
        high: *sorted.get(high.min(n).max(1) - 1)?,
    })
}

/// The p-value of one set of runs being no worse than another only by chance; 1 where it is better.
fn worse(values: &[f64], than: &[f64]) -> Option<f64> {
    let (a, b) = (Summary::of(values)?, Summary::of(than)?);
    let p = welch(&a.moments()?, &b.moments()?);
    Some(if a.mean >= b.mean { 1.0 } else { p })
}

/// The temperature of the best mean, the coldest of equal ones.
fn best(points: &[(f64, Vec<f64>)]) -> Option<&(f64, Vec<f64>)> {
    let mean = |point: &(f64, Vec<f64>)| Summary::of(&point.1).map(|summary| summary.mean);
    let mut best = points.first()?;
    for point in points {
        if mean(point)? > mean(best)? {
            best = point;
        }
    }
    Some(best)
}

/// The best temperature where it beats the coldest by more than chance.
fn peak(points: &[(f64, Vec<f64>)]) -> Option<f64> {
    let (best, coldest) = (best(points)?, points.first()?);
    let p = worse(&coldest.1, &best.1)? * points.len() as f64;
    (p < LEVEL).then_some(best.0)
}

fn peak_p(points: &[(f64, Vec<f64>)], stated: Option<f64>) -> Option<f64> {
    let compared = match stated {
        None => points.first()?,
        Some(tau) => points.iter().find(|point| point.0 == tau)?,
    };
    let p = worse(&compared.1, &best(points)?.1)?;
    Some((p * points.len() as f64).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// n values that alternate around a mean.
    fn around(mean: f64, reach: f64, n: usize) -> Vec<f64> {
        (0..n)
            .map(|i| mean + if i % 2 == 0 { reach } else { -reach })
            .collect()
    }

    fn mean(text: &'static str, sd: Option<f64>, n: u64, ones: Option<u64>) -> Stated {
        Stated::Mean { text, sd, n, ones }
    }

    fn verdict(ours: Measured, stated: Stated) -> Verdict {
        ours.judge(&stated, stated.runs() / 2).verdict
    }

    fn count(successes: u64, trials: u64) -> Proportion {
        Proportion { successes, trials }
    }

    #[test]
    fn means_agree_differ_or_rest_on_too_few_runs() {
        let stated = mean("0.777", Some(0.17), 60, None);
        assert_eq!(
            verdict(Measured::Mean(around(0.80, 0.16, 60)), stated),
            Verdict::Agrees
        );
        assert_eq!(
            verdict(Measured::Mean(around(0.95, 0.10, 60)), stated),
            Verdict::Differs
        );
        assert_eq!(
            verdict(Measured::Mean(around(0.95, 0.10, 29)), stated),
            Verdict::NotEnough
        );
        assert_eq!(
            verdict(Measured::Mean(vec![0.9]), mean("0.1", None, 1, None)),
            Verdict::NotEnough
        );
        assert_eq!(verdict(Measured::Mean(vec![]), stated), Verdict::NotEnough);
    }

    #[test]
    fn a_mean_agrees_within_its_last_digit() {
        let exact = |text| mean(text, Some(0.0), 12, None);
        assert_eq!(
            verdict(Measured::Mean(vec![0.99996; 12]), exact("1.0000")),
            Verdict::Agrees
        );
        assert_eq!(
            verdict(Measured::Mean(vec![0.9999; 12]), exact("1.0000")),
            Verdict::Differs
        );
        assert_eq!(
            verdict(Measured::Mean(vec![0.9999; 12]), exact("1.000")),
            Verdict::Agrees
        );
    }

    #[test]
    fn one_failure_among_perfect_runs_is_no_difference() {
        let perfect = Measured::Mean(vec![1.0; 60]);
        assert_eq!(
            verdict(perfect.clone(), mean("0.9967", None, 60, Some(59))),
            Verdict::Agrees
        );
        assert_eq!(
            verdict(perfect, mean("0.9967", None, 60, Some(0))),
            Verdict::Differs
        );
        assert!((least_sd(0.9, 9, 10) - 0.1f64.sqrt()).abs() < 1e-12);
    }

    /// Z_5 at the melt: one run in some two hundred is solved.
    #[test]
    fn a_few_solved_runs_more_are_no_difference_where_no_spread_is_stated() {
        let melted = || Measured::Mean(around(0.2, 0.0003, 240));
        assert_eq!(
            verdict(melted(), mean("0.2061", None, 240, None)),
            Verdict::Agrees
        );
        assert_eq!(
            verdict(melted(), mean("0.2600", None, 240, None)),
            Verdict::Differs
        );
        assert_eq!(
            verdict(melted(), mean("0.2061", Some(0.0003), 240, None)),
            Verdict::Differs
        );
        assert_eq!(
            verdict(melted(), mean("0.1900", None, 240, None)),
            Verdict::Differs
        );
    }

    #[test]
    fn counts_are_compared_by_fishers_test() {
        let stated = Stated::Count(count(17, 60));
        assert_eq!(
            verdict(Measured::Count(count(20, 60)), stated),
            Verdict::Agrees
        );
        assert_eq!(
            verdict(Measured::Count(count(45, 60)), stated),
            Verdict::Differs
        );
        assert_eq!(
            verdict(Measured::Count(count(4, 4)), stated),
            Verdict::NotEnough
        );
    }

    #[test]
    fn quantiles_are_compared_by_the_values_up_to_them() {
        let values: Vec<f64> = (1..=100).map(f64::from).collect();
        let median = |value| {
            let ours = Measured::Quantile {
                level: 0.5,
                values: values.clone(),
            };
            verdict(ours, Stated::Quantile { value, n: 100 })
        };
        assert_eq!(
            (median(50.0), median(40.0), median(20.0)),
            (Verdict::Agrees, Verdict::Agrees, Verdict::Differs)
        );
        let ties = Measured::Quantile {
            level: 0.5,
            values: vec![7.0; 100],
        };
        assert_eq!(
            verdict(ties, Stated::Quantile { value: 7.0, n: 100 }),
            Verdict::Agrees
        );
        let most = |value| {
            verdict(
                Measured::Greatest(values.clone()),
                Stated::Greatest { value, n: 100 },
            )
        };
        assert_eq!(
            (most(300.0), most(97.0), most(80.0)),
            (Verdict::Agrees, Verdict::Agrees, Verdict::Differs)
        );
    }

    /// The indices for n = 100 at 99 %: 37 and 64 (a table of sign-test intervals).
    #[test]
    fn a_median_lies_between_order_statistics() {
        let values: Vec<f64> = (1..=100).map(f64::from).collect();
        let interval = order_interval(&values, 0.5).unwrap();
        assert_eq!((interval.low, interval.high), (37.0, 64.0));
        let few = order_interval(&[3.0, 1.0], 0.5).unwrap();
        assert_eq!((few.low, few.high), (1.0, 3.0));
        assert_eq!(order_interval(&[], 0.5), None);
    }

    #[test]
    fn a_best_temperature_must_beat_the_coldest_by_more_than_chance() {
        let scan = |means: [f64; 3]| {
            let taus = [1e-3, 1e-2, 1e-1];
            let points = taus
                .into_iter()
                .zip(means)
                .map(|(tau, mean)| (tau, around(mean, 0.05, 12)));
            Measured::Peak(points.collect())
        };
        let stated = |tau| Stated::Peak { tau, n: 12 };
        let flat = scan([0.80, 0.81, 0.2]);
        assert_eq!(
            (flat.value(), verdict(flat.clone(), stated(None))),
            (None, Verdict::Agrees)
        );
        assert_eq!(verdict(flat.clone(), stated(Some(1e-2))), Verdict::Agrees);
        assert_eq!(verdict(flat, stated(Some(1e-1))), Verdict::Differs);
        let peaked = scan([0.5, 0.9, 0.2]);
        assert_eq!(
            (peaked.value(), verdict(peaked.clone(), stated(None))),
            (Some(1e-2), Verdict::Differs)
        );
        let interval = peaked.interval().unwrap();
        assert_eq!((interval.low, interval.high), (1e-2, 1e-2));
    }

    #[test]
    #[should_panic(expected = "is no number to compare")]
    fn a_mean_is_not_compared_with_a_count() {
        verdict(Measured::Mean(vec![1.0; 3]), Stated::Count(count(1, 3)));
    }
}
