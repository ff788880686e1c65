//! Types what our runs say of a quantity: the number, its spread, its interval.

use foldglass::support::stats::{Interval, Proportion, SampleMoments, Summary, quantile, welch};

use super::judge::LEVEL;
use crate::report::INTERVAL_LEVEL;

/// What our runs say of a quantity.
#[derive(Debug, Clone, PartialEq)]
pub enum Measured {
    /// Rewards whose mean counts.
    Mean(Vec<f64>),
    /// How many runs are at exactly 1, or of another kind.
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
    /// Values with something and without it, whose means differ.
    Effect {
        /// With it.
        with: Vec<f64>,
        /// Without.
        without: Vec<f64>,
    },
    /// Rewards at each temperature, the coldest first, whose best mean counts.
    Peak(Vec<ScanPoint>),
    /// A number, or several, without any chance in it; none where it was not computed.
    Exact(Option<String>),
}

/// A temperature of a scan.
#[derive(Debug, Clone, PartialEq)]
pub struct ScanPoint {
    /// The temperature.
    pub tau: f64,
    /// The rewards of its runs.
    pub values: Vec<f64>,
}

impl Measured {
    /// How many of all are such.
    pub fn share<T>(all: impl Iterator<Item = T>, is: impl Fn(T) -> bool) -> Measured {
        let mut share = Proportion {
            successes: 0,
            trials: 0,
        };
        for one in all {
            share.successes += u64::from(is(one));
            share.trials += 1;
        }
        Measured::Count(share)
    }

    /// The runs it rests on; of several temperatures, those at the one with the fewest.
    pub fn runs(&self) -> u64 {
        match self {
            Measured::Mean(values)
            | Measured::Greatest(values)
            | Measured::Quantile { values, .. } => values.len() as u64,
            Measured::Count(count) => count.trials,
            Measured::Effect { with, without } => with.len().min(without.len()) as u64,
            Measured::Peak(points) => {
                let runs = points.iter().map(|point| point.values.len());
                runs.min().unwrap_or(0) as u64
            }
            Measured::Exact(text) => text.is_some().into(),
        }
    }

    /// The number itself; none without runs. That of a count is a share, and of temperatures none
    /// where none is better than the coldest.
    pub fn value(&self) -> Option<f64> {
        match self {
            Measured::Mean(values) => Some(Summary::of(values)?.mean),
            Measured::Count(count) => count.rate(),
            Measured::Effect { with, without } => Some(effect(with, without)?.mean),
            Measured::Quantile { level, values } => quantile(values, *level),
            Measured::Greatest(values) => Some(Summary::of(values)?.max),
            Measured::Peak(points) => peak(points),
            Measured::Exact(text) => text.as_ref()?.parse().ok(),
        }
    }

    /// The standard deviation of what a mean is the mean of.
    pub fn sd(&self) -> Option<f64> {
        match self {
            Measured::Mean(values) => Summary::of(values)?.sd,
            Measured::Effect { with, without } => Some(effect(with, without)?.sd),
            _ => None,
        }
    }

    /// What the runs do not rule out at 95 %: Student's interval of a mean reward, within 0 to 1,
    /// Clopper and Pearson's of a share, that of the order statistics of a quantile, the
    /// temperatures whose mean is not below the best.
    pub fn interval(&self) -> Option<Interval> {
        match self {
            Measured::Mean(values) => {
                let Interval { low, high } = Summary::of(values)?.interval(INTERVAL_LEVEL)?;
                Some(Interval {
                    low: low.max(0.0),
                    high: high.min(1.0),
                })
            }
            Measured::Count(count) => (count.trials > 0).then(|| count.interval(INTERVAL_LEVEL)),
            Measured::Effect { with, without } => {
                let ours = effect(with, without)?;
                // Where a sample of no spread would no longer be told apart.
                let told = |mean: f64| {
                    let other = SampleMoments {
                        mean,
                        sd: 0.0,
                        ..ours
                    };
                    welch(&ours, &other) < 1.0 - INTERVAL_LEVEL
                };
                let end = |side: f64| boundary(ours.mean, ours.mean + 2.0 * side, told);
                Some(Interval {
                    low: end(-1.0)?,
                    high: end(1.0)?,
                })
            }
            Measured::Quantile { level, values } => order_interval(values, *level),
            Measured::Greatest(_) | Measured::Exact(_) => None,
            Measured::Peak(points) => {
                let best = best(points)?;
                let alike = |point: &&ScanPoint| {
                    let p = worse(&point.values, &best.values);
                    p.is_some_and(|p| p * points.len() as f64 >= 1.0 - INTERVAL_LEVEL)
                };
                let taus: Vec<f64> = points.iter().filter(alike).map(|point| point.tau).collect();
                Some(Interval {
                    low: *taus.first()?,
                    high: *taus.last()?,
                })
            }
        }
    }
}

/// The difference of two means as a sample of its own: its standard error is that of both.
pub fn effect(with: &[f64], without: &[f64]) -> Option<SampleMoments> {
    let (with, without) = (
        Summary::of(with)?.moments()?,
        Summary::of(without)?.moments()?,
    );
    let n = with.n.min(without.n);
    let variance = with.sd.powi(2) / with.n as f64 + without.sd.powi(2) / without.n as f64;
    Some(SampleMoments {
        n,
        mean: with.mean - without.mean,
        sd: (n as f64 * variance).sqrt(),
    })
}

/// The mean nearest to `near`, on the way to `far`, that differs.
pub fn boundary(near: f64, far: f64, differs: impl Fn(f64) -> bool) -> Option<f64> {
    if !differs(far) {
        return None;
    }
    let (mut alike, mut apart) = (near, far);
    // Each step halves what is not known: these are all that f64 holds.
    for _ in 0..60 {
        let middle = 0.5 * (alike + apart);
        if differs(middle) {
            apart = middle;
        } else {
            alike = middle;
        }
    }
    Some(apart)
}

/// The order statistics between which a quantile lies with a probability of 95 %: B, the number of
/// values up to it, is binomial; x_(l) with P(B < l) and x_(u) with P(B >= u) at most 2.5 %.
fn order_interval(values: &[f64], level: f64) -> Option<Interval> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (n, side) = (sorted.len(), (1.0 - INTERVAL_LEVEL) / 2.0);
    // P(B = k), k = 0 .. n.
    let mut chances = vec![(1.0 - level).powi(n as i32)];
    for k in 0..n {
        chances.push(chances[k] * (n - k) as f64 / (k + 1) as f64 * level / (1.0 - level));
    }
    let below = within(chances.iter(), side);
    let above = n + 1 - within(chances.iter().rev(), side);
    // Counted from 1; where no order statistic is far enough out, the last one stands.
    Some(Interval {
        low: *sorted.get(below.max(1) - 1)?,
        high: *sorted.get(above.min(n).max(1) - 1)?,
    })
}

/// How many chances, from the first on, add up to at most `most`.
fn within<'a>(chances: impl Iterator<Item = &'a f64>, most: f64) -> usize {
    let mut sum = 0.0;
    let fits = |chance: &&f64| {
        sum += **chance;
        sum <= most
    };
    chances.take_while(fits).count()
}

/// The p-value of one set of runs being no worse than another only by chance; 1 where it is better.
pub fn worse(values: &[f64], than: &[f64]) -> Option<f64> {
    let (a, b) = (Summary::of(values)?, Summary::of(than)?);
    let p = welch(&a.moments()?, &b.moments()?);
    Some(if a.mean >= b.mean { 1.0 } else { p })
}

/// The temperature of the best mean, the coldest of equal ones.
pub fn best(points: &[ScanPoint]) -> Option<&ScanPoint> {
    let mean = |point: &ScanPoint| Summary::of(&point.values).map(|summary| summary.mean);
    let mut best = points.first()?;
    for point in points {
        if mean(point)? > mean(best)? {
            best = point;
        }
    }
    Some(best)
}

/// The best temperature where it beats the coldest by more than chance.
fn peak(points: &[ScanPoint]) -> Option<f64> {
    let (best, coldest) = (best(points)?, points.first()?);
    let p = worse(&coldest.values, &best.values)? * points.len() as f64;
    (p < LEVEL).then_some(best.tau)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The indices for n = 100 at 95 %: 40 and 61 (a table of sign-test intervals).
    #[test]
    fn a_median_lies_between_order_statistics() {
        let values: Vec<f64> = (1..=100).map(f64::from).collect();
        let interval = order_interval(&values, 0.5).unwrap();
        assert_eq!((interval.low, interval.high), (40.0, 61.0));
        let few = order_interval(&[3.0, 1.0], 0.5).unwrap();
        assert_eq!((few.low, few.high), (1.0, 3.0));
        assert_eq!(order_interval(&[], 0.5), None);
    }

    /// Eight runs each, sd 0.1: the standard error of the difference is 0.05, and t at 95 % with 7
    /// degrees of freedom 2.365.
    #[test]
    fn an_effect_has_the_error_of_both_means() {
        let around = |mean: f64| -> Vec<f64> {
            let reach = 0.1 * (7f64 / 8.0).sqrt();
            (0..8)
                .map(|i| mean + if i % 2 == 0 { reach } else { -reach })
                .collect()
        };
        let measured = Measured::Effect {
            with: around(0.6),
            without: around(0.5),
        };
        assert!((measured.value().unwrap() - 0.1).abs() < 1e-12);
        let Interval { low, high } = measured.interval().unwrap();
        assert!((low - (0.1 - 2.365 * 0.05)).abs() < 1e-3, "{low}");
        assert!((high - (0.1 + 2.365 * 0.05)).abs() < 1e-3, "{high}");
    }

    #[test]
    fn the_interval_of_a_reward_stays_within_0_and_1() {
        let rewards = Measured::Mean(vec![1.0, 1.0, 0.2]);
        let interval = rewards.interval().unwrap();
        assert_eq!((interval.low, interval.high), (0.0, 1.0));
    }
}
