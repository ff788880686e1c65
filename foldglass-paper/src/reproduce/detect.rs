//! Says what a comparison could have seen: the outcomes of ours nearest to the stated number at
//! which the same test, with the same number of runs, would have told a difference.
//!
//! - a mean: those of our mean, at our spread, within the rewards from 0 to 1. Where neither side
//!   varies, the least number of our runs that would have had to end elsewhere: one run that does is
//!   the spread too.
//! - a number of runs at 1: those numbers. Where only a share that differs by 3/4 or more would have been
//!   told, so few runs are not a test: nothing is reported as seen.
//! - a quantile: how many of ours up to the stated value.
//! - a maximum: how many of ours above it. A difference that shows only when more than half of
//!   our runs lie above it is one of the median: of the greatest it sees nothing.
//! - the best temperature: how far the mean at the stated one would have had to lie below our best.
//! - what has no chance in it: anything else.

use foldglass::support::stats::{Proportion, SampleMoments, Summary, fisher, welch};
use schemars::JsonSchema;
use serde::Serialize;

use super::judge::{LEVEL, MeanTest, compared, expected, none_of, solved};
use super::measured::{Measured, ScanPoint, best, boundary, effect};
use super::stated::Stated;

/// What would have differed. Ends are missing where nothing on that side would have.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Detectable {
    /// A mean of ours beyond these.
    Mean {
        /// Up to this.
        at_most: Option<f64>,
        /// From this on.
        at_least: Option<f64>,
    },
    /// So many of our runs away from where all of them are.
    Elsewhere {
        /// From this on.
        at_least: u64,
        /// Our runs.
        of: u64,
    },
    /// A number of our runs.
    Count(Outside),
    /// A number of our runs at or below the stated quantile.
    UpTo(Outside),
    /// A number of our runs above the stated maximum.
    Above(Outside),
    /// A mean at the stated temperature so far below our best.
    BelowBest {
        /// From this on.
        at_least: f64,
    },
    /// Anything but the stated number.
    Anything,
}

/// Counts that would have differed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Outside {
    /// Up to this.
    pub at_most: Option<u64>,
    /// From this on.
    pub at_least: Option<u64>,
    /// Our runs.
    pub of: u64,
}

impl Detectable {
    /// As a person reads it, after "differs if".
    pub fn text(&self) -> String {
        let ends = |low: Option<String>, high: Option<String>| {
            let low = low.map(|low| format!("at most {low}"));
            let high = high.map(|high| format!("at least {high}"));
            let ends: Vec<String> = low.into_iter().chain(high).collect();
            ends.join(" or ")
        };
        let counts = |outside: &Outside| {
            let text = |count: Option<u64>| count.map(|count| count.to_string());
            format!(
                "{} of {}",
                ends(text(outside.at_most), text(outside.at_least)),
                outside.of
            )
        };
        match self {
            Detectable::Mean { at_most, at_least } => {
                let text = |mean: Option<f64>| mean.map(|mean| format!("{mean:.4}"));
                ends(text(*at_most), text(*at_least))
            }
            Detectable::Elsewhere { at_least, of } => {
                format!("at least {at_least} of {of} elsewhere")
            }
            Detectable::Count(outside) => counts(outside),
            Detectable::UpTo(outside) => format!("{} up to it", counts(outside)),
            Detectable::Above(outside) => format!("{} above it", counts(outside)),
            Detectable::BelowBest { at_least } => {
                format!("at least {at_least:.4} below the best")
            }
            Detectable::Anything => "anything else".to_owned(),
        }
    }
}

impl Outside {
    /// Whether only three of four runs beyond the stated share would have been told: so few runs see
    /// nothing of a number that is somewhat different.
    fn is_far(&self, stated: &Proportion) -> bool {
        let rate = stated.rate().unwrap_or(0.0);
        let share = |count: u64| count as f64 / self.of as f64;
        let below = self.at_most.map(|most| rate - share(most));
        let above = self.at_least.map(|least| share(least) - rate);
        [below, above].into_iter().flatten().all(|far| far >= FAR)
    }
}

/// Differences of a share from which on a count that sees no smaller one is not a test.
const FAR: f64 = 0.75;

/// What would have differed from the stated number; none where nothing would have, or nothing was
/// run.
pub fn detectable(measured: &Measured, stated: &Stated) -> Option<Detectable> {
    match (measured, *stated) {
        (Measured::Mean(values), Stated::Mean { text, sd, n, ones }) => {
            mean(values, &MeanTest::new(text, sd, n, ones))
        }
        (Measured::Count(ours), Stated::Count(theirs)) => {
            let outside = outside(&theirs, ours.trials)?;
            (!outside.is_far(&theirs)).then_some(Detectable::Count(outside))
        }
        (Measured::Quantile { level, values }, Stated::Quantile { n, .. }) => {
            outside(&expected(*level, n), values.len() as u64).map(Detectable::UpTo)
        }
        (Measured::Greatest(values), Stated::Greatest { n, .. }) => {
            let above = outside(&none_of(n), values.len() as u64)?;
            let of_the_tail = above.at_least.is_some_and(|least| 2 * least <= above.of);
            of_the_tail.then_some(Detectable::Above(above))
        }
        (Measured::Effect { with, without }, Stated::Effect { text, sd, n }) => {
            let ours = effect(with, without)?;
            let test = MeanTest::new(text, Some(sd), n, None);
            let differs = |mean: f64| test.p(&SampleMoments { mean, ..ours }, &none_of(n)) < LEVEL;
            let ends = [-1.0, 1.0].map(|end| boundary(test.stated, end, differs));
            let [at_most, at_least] = ends;
            ends.iter()
                .any(Option::is_some)
                .then_some(Detectable::Mean { at_most, at_least })
        }
        (Measured::Peak(points), Stated::Peak { tau, .. }) => below_best(points, tau),
        (Measured::Exact(_), Stated::Exact(_)) => Some(Detectable::Anything),
        _ => None,
    }
}

/// The numbers of successes among `trials`, nearest to those of `theirs`, that differ from them.
fn outside(theirs: &Proportion, trials: u64) -> Option<Outside> {
    let differs = |successes: &u64| {
        let ours = Proportion {
            successes: *successes,
            trials,
        };
        fisher(&ours, theirs) < LEVEL
    };
    let middle = (theirs.rate()? * trials as f64).round() as u64;
    let outside = Outside {
        at_most: (0..middle).rev().find(differs),
        at_least: (middle + 1..=trials).find(differs),
        of: trials,
    };
    (outside.at_most.is_some() || outside.at_least.is_some()).then_some(outside)
}

fn mean(values: &[f64], test: &MeanTest) -> Option<Detectable> {
    let ours = Summary::of(values)?.moments()?;
    let solved = solved(values);
    let differs = |mean: f64| test.p(&SampleMoments { mean, ..ours }, &solved) < LEVEL;
    let (below, above) = (test.stated - test.half, test.stated + test.half);
    let at_once = |mean: f64| (0.0..=1.0).contains(&mean) && differs(mean);
    if ours.sd == 0.0 && (at_once(below - test.half) || at_once(above + test.half)) {
        return elsewhere(&ours, |ours, solved| test.p(ours, solved));
    }
    let at_most = boundary(below, 0.0, differs);
    let at_least = boundary(above, 1.0, differs);
    let some = at_most.is_some() || at_least.is_some();
    some.then_some(Detectable::Mean { at_most, at_least })
}

/// Of runs that all end alike, the least number that would have had to end elsewhere, below or
/// above. How far does not matter to Welch's t, which is the difference over the spread.
fn elsewhere(
    ours: &SampleMoments,
    p: impl Fn(&SampleMoments, &Proportion) -> f64,
) -> Option<Detectable> {
    let differs = |away: usize, other: f64| {
        let mut values = vec![ours.mean; ours.n - away];
        values.resize(ours.n, other);
        let moved = Summary::of(&values).and_then(|summary| summary.moments());
        moved.is_some_and(|moved| p(&moved, &solved(&values)) < LEVEL)
    };
    let others = [0.5 * ours.mean, 0.5 * (ours.mean + 1.0)];
    let others = others.into_iter().filter(|&other| other != ours.mean);
    let least = |other: f64| (1..=ours.n).find(|&away| differs(away, other));
    Some(Detectable::Elsewhere {
        at_least: others.filter_map(least).min()? as u64,
        of: ours.n as u64,
    })
}

fn below_best(points: &[ScanPoint], stated: Option<f64>) -> Option<Detectable> {
    let moments = |point: &ScanPoint| Summary::of(&point.values)?.moments();
    let (ours, best) = (moments(compared(points, stated)?)?, moments(best(points)?)?);
    let p = |ours: &SampleMoments| welch(ours, &best) * points.len() as f64;
    if ours.sd == 0.0 && best.sd == 0.0 {
        return elsewhere(
            &SampleMoments {
                mean: best.mean,
                ..ours
            },
            |ours, _| p(ours),
        );
    }
    let differs = |mean: f64| p(&SampleMoments { mean, ..ours }) < LEVEL;
    let mean = boundary(best.mean, 0.0, differs)?;
    Some(Detectable::BelowBest {
        at_least: best.mean - mean,
    })
}

#[cfg(test)]
mod tests {
    use super::super::judge::{ComparisonVerdict, Why, judge};
    use super::super::stated::{beside, count, greatest, peak, quantile, spread};
    use super::*;

    /// n values that alternate around a mean.
    fn around(mean: f64, reach: f64, n: usize) -> Vec<f64> {
        (0..n)
            .map(|i| mean + if i % 2 == 0 { reach } else { -reach })
            .collect()
    }

    fn says(measured: &Measured, stated: &Stated) -> ComparisonVerdict {
        judge(measured, stated, 0).verdict
    }

    /// Eight seeds against none of eight: only from six on it would differ, which does not test a rate.
    #[test]
    fn a_count_that_sees_only_what_is_far_away_cannot_tell() {
        let ours = |successes, trials| Measured::Count(Proportion { successes, trials });
        let judged = |ours, stated| {
            let judgement = judge(&ours, &stated, 0);
            (judgement.verdict, judgement.why)
        };
        let far = (ComparisonVerdict::CannotTell, Some(Why::NoPower));
        assert_eq!(judged(ours(0, 8), count(0, 8)), far);
        assert_eq!(judged(ours(8, 8), count(5, 5)), far);
        assert_eq!(
            judged(ours(0, 12), count(0, 12)),
            (ComparisonVerdict::Agrees, None)
        );
        // A difference is told all the same.
        assert_eq!(
            judged(ours(7, 8), count(0, 8)),
            (ComparisonVerdict::Differs, None)
        );
    }

    /// The test itself, a hair within the ends and a hair beyond.
    #[test]
    fn a_mean_differs_just_beyond_the_ends() {
        let stated = spread("0.777", 0.17, 60);
        let ours = |mean: f64| Measured::Mean(around(mean, 0.15, 60));
        let Some(Detectable::Mean { at_most, at_least }) = detectable(&ours(0.78), &stated) else {
            panic!("a mean has ends");
        };
        let (low, high) = (at_most.unwrap(), at_least.unwrap());
        // Welch at 118 degrees of freedom: 2.62 standard errors, and the rounding.
        let error = ((0.17f64.powi(2) + 0.15f64.powi(2) * 60.0 / 59.0) / 60.0).sqrt();
        assert!((low - (0.7765 - 2.62 * error)).abs() < 2e-3, "{low}");
        assert!((high - (0.7775 + 2.62 * error)).abs() < 2e-3, "{high}");
        for (mean, verdict) in [
            (low - 1e-9, ComparisonVerdict::Differs),
            (low + 1e-9, ComparisonVerdict::Agrees),
            (high - 1e-9, ComparisonVerdict::Agrees),
            (high + 1e-9, ComparisonVerdict::Differs),
        ] {
            assert_eq!(says(&ours(mean), &stated), verdict, "{mean}");
        }
    }

    /// Every count, by the test itself.
    #[test]
    fn counts_differ_from_the_ends_on() {
        for (k, n, trials) in [(17, 60, 60), (0, 12, 12), (46, 100, 8), (59, 60, 30)] {
            let stated = count(k, n);
            let ours = |successes| Measured::Count(Proportion { successes, trials });
            let found = detectable(&ours(0), &stated);
            for successes in 0..=trials {
                let beyond = match found {
                    Some(Detectable::Count(Outside {
                        at_most, at_least, ..
                    })) => {
                        at_most.is_some_and(|most| successes <= most)
                            || at_least.is_some_and(|least| successes >= least)
                    }
                    _ => false,
                };
                let p = judge(&ours(successes), &stated, 0).p.unwrap();
                assert_eq!(p < LEVEL, beyond, "{successes} of {trials}, {k} of {n}");
            }
        }
    }

    #[test]
    fn two_counts_of_two_cannot_tell() {
        let ours = Measured::Count(Proportion {
            successes: 0,
            trials: 2,
        });
        let judgement = judge(&ours, &count(2, 2), 1);
        assert_eq!(
            (judgement.verdict, judgement.why, judgement.detectable),
            (ComparisonVerdict::CannotTell, Some(Why::NoPower), None)
        );
    }

    /// The paper's 768 beside 52,224 of ours.
    #[test]
    fn the_greatest_of_ten_cannot_tell() {
        let mut shelves = vec![1.0, 1.0, 2.0, 4.0, 16.0, 32.0, 96.0, 768.0, 1536.0, 52224.0];
        let stated = greatest(768.0, 10);
        let judgement = judge(&Measured::Greatest(shelves.clone()), &stated, 5);
        assert_eq!(
            (judgement.verdict, judgement.why),
            (ComparisonVerdict::CannotTell, Some(Why::NoPower))
        );
        // A difference of nearly all of them is one nevertheless.
        shelves.iter_mut().for_each(|shelf| *shelf += 1000.0);
        assert_eq!(
            says(&Measured::Greatest(shelves), &stated),
            ComparisonVerdict::Differs
        );
    }

    #[test]
    fn the_greatest_of_a_hundred_sees_a_shift_of_the_tail() {
        let values: Vec<f64> = (1..=100).map(f64::from).collect();
        let ours = Measured::Greatest(values);
        let Some(Detectable::Above(Outside {
            at_most: None,
            at_least: Some(least),
            of: 100,
        })) = detectable(&ours, &greatest(97.0, 100))
        else {
            panic!("it sees more of ours above");
        };
        let at = |above: u64| says(&ours, &greatest((100 - above) as f64, 100));
        assert_eq!(
            (at(0), at(least - 1), at(least)),
            (
                ComparisonVerdict::Agrees,
                ComparisonVerdict::CannotTell,
                ComparisonVerdict::Differs
            )
        );
    }

    #[test]
    fn a_ninth_decile_of_few_sees_one_side() {
        let values: Vec<f64> = (1..=60).map(f64::from).collect();
        let ours = Measured::Quantile { level: 0.9, values };
        let Some(Detectable::UpTo(Outside {
            at_most: Some(most),
            at_least: None,
            of: 60,
        })) = detectable(&ours, &quantile(54.0, 60))
        else {
            panic!("all 60 up to it do not differ from 54");
        };
        assert_eq!(
            (
                says(&ours, &quantile(most as f64, 60)),
                says(&ours, &quantile(most as f64 + 1.0, 60))
            ),
            (ComparisonVerdict::Differs, ComparisonVerdict::Agrees)
        );
    }

    #[test]
    fn runs_that_all_end_alike_differ_when_enough_of_them_do_not() {
        let stated = beside("1.0000", 60, 60);
        let ours = |away: usize| {
            let mut values = vec![1.0; 60 - away];
            values.resize(60, 0.9);
            Measured::Mean(values)
        };
        let Some(Detectable::Elsewhere { at_least, of: 60 }) = detectable(&ours(0), &stated) else {
            panic!("it counts runs");
        };
        let least = at_least as usize;
        assert_eq!(
            (says(&ours(least - 1), &stated), says(&ours(least), &stated)),
            (ComparisonVerdict::Agrees, ComparisonVerdict::Differs)
        );
    }

    #[test]
    fn a_best_temperature_differs_when_the_stated_one_is_far_enough_below() {
        let scan = |cold: f64| {
            let values = |mean| around(mean, 0.05, 12);
            Measured::Peak(vec![
                ScanPoint {
                    tau: 1e-3,
                    values: values(cold),
                },
                ScanPoint {
                    tau: 1e-2,
                    values: values(0.8),
                },
            ])
        };
        let stated = peak(None, 12);
        let Some(Detectable::BelowBest { at_least }) = detectable(&scan(0.79), &stated) else {
            panic!("it sees a gap");
        };
        assert_eq!(
            (
                says(&scan(0.8 - at_least + 1e-9), &stated),
                says(&scan(0.8 - at_least - 1e-9), &stated)
            ),
            (ComparisonVerdict::Agrees, ComparisonVerdict::Differs)
        );
    }

    #[test]
    fn what_would_have_differed_is_said_in_words() {
        let outside = Outside {
            at_most: Some(3),
            at_least: None,
            of: 12,
        };
        for (detectable, text) in [
            (Detectable::Count(outside), "at most 3 of 12"),
            (Detectable::UpTo(outside), "at most 3 of 12 up to it"),
            (
                Detectable::Mean {
                    at_most: Some(0.5),
                    at_least: Some(0.75),
                },
                "at most 0.5000 or at least 0.7500",
            ),
            (Detectable::Anything, "anything else"),
        ] {
            assert_eq!(detectable.text(), text);
        }
    }
}
