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
//! - an effect, the difference of two means: Welch's test of the two differences.
//! - what has no chance in it agrees only if it is equal.
//! - the best temperature: ours at the stated one against ours at our best (against the coldest
//!   where none is stated) by Welch's test, its p-value times the number of temperatures.
//!
//! p below 1 % **differs**, else it **agrees**. It **cannot tell** with fewer than half of the
//! paper's runs, where no outcome of ours would have differed, or only one far away ([`super::detect`]), and
//! where our largest
//! is above the paper's on too few runs for a difference: that test counts runs and sees no distance.
//! Of many comparisons one in a hundred differs by chance.

use foldglass::support::stats::{Proportion, SampleMoments, Summary, fisher, welch};
use schemars::JsonSchema;
use serde::Serialize;

use super::detect::{Detectable, detectable};
use super::measured::{Measured, ScanPoint, best, effect, worse};
use super::stated::{NumberSource, Stated};

/// Differences with a p-value below this are told.
pub const LEVEL: f64 = 0.01;

/// What a comparison says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
pub enum ComparisonVerdict {
    /// The two are alike within their statistical errors, and might not have been.
    #[serde(rename = "agrees")]
    Agrees,
    /// They are not.
    #[serde(rename = "differs")]
    Differs,
    /// There are too few runs to tell.
    #[serde(rename = "cannot tell")]
    CannotTell,
    /// There is nothing to compare with.
    #[serde(rename = "not stated")]
    NotStated,
}

impl ComparisonVerdict {
    /// The words for it.
    pub fn words(self) -> &'static str {
        match self {
            ComparisonVerdict::Agrees => "agrees",
            ComparisonVerdict::Differs => "differs",
            ComparisonVerdict::CannotTell => "cannot tell",
            ComparisonVerdict::NotStated => "not stated",
        }
    }
}

/// Why a comparison cannot tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
pub enum Why {
    /// There are none of ours.
    #[serde(rename = "no runs")]
    NoRuns,
    /// There are fewer than half of the paper's runs.
    #[serde(rename = "not enough seeds")]
    FewRuns,
    /// Nothing that could have come out would have differed, or only what is far away.
    #[serde(rename = "no outcome would have differed")]
    NoPower,
    /// Our largest is above the stated one, on too few runs to call it a difference.
    #[serde(rename = "ours is larger")]
    Larger,
    /// A part of the number that ours is compared with is our assumption.
    #[serde(rename = "assumed")]
    Assumed,
    /// The paper states the number of another quantity.
    #[serde(rename = "a reading")]
    Reading,
}

impl Why {
    /// All reasons.
    pub const ALL: [Why; 6] = [
        Why::NoRuns,
        Why::FewRuns,
        Why::NoPower,
        Why::Larger,
        Why::Assumed,
        Why::Reading,
    ];

    /// The words for it.
    pub fn words(self) -> &'static str {
        match self {
            Why::NoRuns => "no runs to compare",
            Why::FewRuns => "fewer than half of the paper's runs",
            Why::NoPower => "at these seeds no outcome would have differed, or only one far away",
            Why::Larger => "our largest is above the paper's, on too few runs for a difference",
            Why::Assumed => "a part of the number that ours is compared with is assumed",
            Why::Reading => "the paper states the number of another quantity",
        }
    }
}

/// A verdict and what is behind it.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: ComparisonVerdict,
    /// Why it cannot tell, where it cannot.
    pub why: Option<Why>,
    /// The p-value, where a test was made.
    pub p: Option<f64>,
    /// What would have differed at these seeds; none where nothing would have.
    pub detectable: Option<Detectable>,
}

impl Judgement {
    /// The same of a number from somewhere: one that is not the paper's own neither agrees nor differs.
    pub fn of(self, source: NumberSource) -> Judgement {
        let why = match (source, self.verdict) {
            (NumberSource::Assumed, ComparisonVerdict::Agrees | ComparisonVerdict::Differs) => {
                Why::Assumed
            }
            (NumberSource::Reading, ComparisonVerdict::Agrees | ComparisonVerdict::Differs) => {
                Why::Reading
            }
            _ => return self,
        };
        Judgement {
            verdict: ComparisonVerdict::CannotTell,
            why: Some(why),
            ..self
        }
    }

    /// With nothing to compare.
    pub const NOT_STATED: Judgement = Judgement {
        verdict: ComparisonVerdict::NotStated,
        why: None,
        p: None,
        detectable: None,
    };
}

/// The runs of ours that are enough to tell: half of the paper's, and two at least.
pub fn enough(stated: &Stated) -> u64 {
    match stated {
        Stated::Exact(_) => 1,
        _ => stated.runs().div_ceil(2).max(2),
    }
}

/// Compares what was measured with what is stated; `needed` runs are enough to tell.
///
/// # Panics
/// If the two are of different kinds.
pub fn judge(measured: &Measured, stated: &Stated, needed: u64) -> Judgement {
    let (p, differs) = match (measured, stated) {
        (Measured::Exact(ours), Stated::Exact(theirs)) => {
            (None, ours.as_ref().map(|ours| ours != theirs))
        }
        _ => {
            let p = p_value(measured, stated);
            (p, p.map(|p| p < LEVEL))
        }
    };
    let detectable = detectable(measured, stated);
    let (verdict, why) = match differs {
        _ if measured.runs() == 0 => (ComparisonVerdict::CannotTell, Some(Why::NoRuns)),
        _ if measured.runs() < needed => (ComparisonVerdict::CannotTell, Some(Why::FewRuns)),
        None => (ComparisonVerdict::CannotTell, Some(Why::NoRuns)),
        Some(true) => (ComparisonVerdict::Differs, None),
        Some(false) if detectable.is_none() => (ComparisonVerdict::CannotTell, Some(Why::NoPower)),
        Some(false) if is_larger(measured, stated) => {
            (ComparisonVerdict::CannotTell, Some(Why::Larger))
        }
        Some(false) => (ComparisonVerdict::Agrees, None),
    };
    Judgement {
        verdict,
        why,
        p,
        detectable,
    }
}

/// Whether our largest is above the stated one: the test sees how many of ours are, and not how far.
fn is_larger(measured: &Measured, stated: &Stated) -> bool {
    match (measured, stated) {
        (Measured::Greatest(_), Stated::Greatest { value, .. }) => measured.value() > Some(*value),
        _ => false,
    }
}

/// How likely so large a difference is by chance; none without enough of ours.
fn p_value(measured: &Measured, stated: &Stated) -> Option<f64> {
    match (measured, *stated) {
        (Measured::Mean(values), Stated::Mean { text, sd, n, ones }) => {
            let ours = Summary::of(values)?.moments()?;
            Some(MeanTest::new(text, sd, n, ones).p(&ours, &solved(values)))
        }
        (Measured::Effect { with, without }, Stated::Effect { text, sd, n }) => {
            let ours = effect(with, without)?;
            Some(MeanTest::new(text, Some(sd), n, None).p(&ours, &none_of(n)))
        }
        (Measured::Count(ours), Stated::Count(theirs)) => {
            (ours.trials > 0).then(|| fisher(ours, &theirs))
        }
        (Measured::Quantile { level, values }, Stated::Quantile { value, n }) => {
            let ours = up_to(values, value, *level);
            (ours.trials > 0).then(|| fisher(&ours, &expected(*level, n)))
        }
        (Measured::Greatest(values), Stated::Greatest { value, n }) => {
            let above = share(values, |v| v > value);
            (above.trials > 0).then(|| fisher(&above, &none_of(n)))
        }
        (Measured::Peak(points), Stated::Peak { tau, .. }) => {
            let p = worse(&compared(points, tau)?.values, &best(points)?.values)?;
            Some((p * points.len() as f64).min(1.0))
        }
        _ => panic!("{stated:?} is not a number to compare {measured:?} with"),
    }
}

/// Welch's test against a stated mean.
#[derive(Debug, Clone, Copy)]
pub struct MeanTest {
    /// The mean as printed.
    pub stated: f64,
    /// Half of its last digit.
    pub half: f64,
    sd: Option<f64>,
    n: u64,
    ones: Option<u64>,
}

impl MeanTest {
    /// The test against a mean as printed.
    pub fn new(text: &str, sd: Option<f64>, n: u64, ones: Option<u64>) -> MeanTest {
        let digits = text.split_once('.').map_or(0, |(_, digits)| digits.len());
        MeanTest {
            stated: text.parse().expect("a number as printed"),
            half: 0.5 * 10f64.powi(-(digits as i32)),
            sd,
            n,
            ones,
        }
    }

    /// How likely so large a difference from ours is by chance.
    pub fn p(&self, ours: &SampleMoments, solved: &Proportion) -> f64 {
        let MeanTest { stated, half, .. } = *self;
        let difference = ours.mean - stated;
        // Rounding may also have cost the last half digit of ours.
        if difference.abs() <= half * (1.0 + 1e-9) {
            return 1.0;
        }
        let least = self.ones.map_or(0.0, |ones| least_sd(stated, ones, self.n));
        let theirs = SampleMoments {
            n: self.n as usize,
            mean: stated + difference.clamp(-half, half),
            sd: self.sd.unwrap_or(ours.sd.max(least)),
        };
        let p = welch(ours, &theirs);
        if self.sd.is_some() || self.ones.is_some() || theirs.mean <= ours.mean {
            return p;
        }
        p.max(few_solved_p(solved, ours, theirs.mean, self.n))
    }
}

/// How many of ours are at exactly 1.
pub fn solved(values: &[f64]) -> Proportion {
    share(values, |value| value == 1.0)
}

/// How many of ours are such.
fn share(values: &[f64], is: impl Fn(f64) -> bool) -> Proportion {
    Proportion {
        successes: values.iter().filter(|&&value| is(value)).count() as u64,
        trials: values.len() as u64,
    }
}

/// Fisher's test of our solved runs against the least number of n runs that, solved instead of like
/// ours, lift our mean to the stated one. Near the melt one run in hundreds is solved: a sample
/// without any says nothing of the spread.
fn few_solved_p(solved: &Proportion, ours: &SampleMoments, stated: f64, n: u64) -> f64 {
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

/// How many of ours are at or below a stated quantile. Ties with it may count either way: sweeps
/// are whole numbers.
fn up_to(values: &[f64], stated: f64, level: f64) -> Proportion {
    let below = share(values, |value| value < stated);
    let up_to = share(values, |value| value <= stated);
    let middle = expected(level, up_to.trials);
    Proportion {
        successes: middle.successes.clamp(below.successes, up_to.successes),
        trials: up_to.trials,
    }
}

/// How many of n lie up to their own quantile.
pub fn expected(level: f64, n: u64) -> Proportion {
    Proportion {
        successes: (level * n as f64).round() as u64,
        trials: n,
    }
}

/// None of n, as many as lie above their own greatest.
pub fn none_of(n: u64) -> Proportion {
    Proportion {
        successes: 0,
        trials: n,
    }
}

/// The temperature that the statement is about: the coldest where none is best.
pub fn compared(points: &[ScanPoint], stated: Option<f64>) -> Option<&ScanPoint> {
    match stated {
        None => points.first(),
        Some(tau) => points.iter().find(|point| point.tau == tau),
    }
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

    fn verdict(ours: Measured, stated: Stated) -> ComparisonVerdict {
        judge(&ours, &stated, stated.runs() / 2).verdict
    }

    fn count(successes: u64, trials: u64) -> Proportion {
        Proportion { successes, trials }
    }

    #[test]
    fn means_agree_differ_or_rest_on_too_few_runs() {
        let stated = mean("0.777", Some(0.17), 60, None);
        assert_eq!(
            verdict(Measured::Mean(around(0.80, 0.16, 60)), stated),
            ComparisonVerdict::Agrees
        );
        assert_eq!(
            verdict(Measured::Mean(around(0.95, 0.10, 60)), stated),
            ComparisonVerdict::Differs
        );
        assert_eq!(
            verdict(Measured::Mean(around(0.95, 0.10, 29)), stated),
            ComparisonVerdict::CannotTell
        );
        assert_eq!(
            verdict(Measured::Mean(vec![0.9]), mean("0.1", None, 1, None)),
            ComparisonVerdict::CannotTell
        );
        assert_eq!(
            verdict(Measured::Mean(vec![]), stated),
            ComparisonVerdict::CannotTell
        );
    }

    #[test]
    fn one_run_is_too_few_and_none_is_none() {
        let why = |values| judge(&Measured::Mean(values), &mean("0.5", None, 12, None), 6).why;
        assert_eq!(why(vec![0.5]), Some(Why::FewRuns));
        assert_eq!(why(vec![]), Some(Why::NoRuns));
        let exact = |text: Option<&str>| {
            let ours = Measured::Exact(text.map(str::to_owned));
            let judgement = judge(&ours, &Stated::Exact("8"), 1);
            (judgement.verdict, judgement.why)
        };
        assert_eq!(exact(Some("8")), (ComparisonVerdict::Agrees, None));
        assert_eq!(exact(Some("9")), (ComparisonVerdict::Differs, None));
        assert_eq!(
            exact(None),
            (ComparisonVerdict::CannotTell, Some(Why::NoRuns))
        );
    }

    #[test]
    fn a_mean_agrees_within_its_last_digit() {
        let exact = |text| mean(text, Some(0.0), 12, None);
        assert_eq!(
            verdict(Measured::Mean(vec![0.99996; 12]), exact("1.0000")),
            ComparisonVerdict::Agrees
        );
        assert_eq!(
            verdict(Measured::Mean(vec![0.9999; 12]), exact("1.0000")),
            ComparisonVerdict::Differs
        );
        assert_eq!(
            verdict(Measured::Mean(vec![0.9999; 12]), exact("1.000")),
            ComparisonVerdict::Agrees
        );
    }

    #[test]
    fn one_failure_among_perfect_runs_is_no_difference() {
        let perfect = Measured::Mean(vec![1.0; 60]);
        assert_eq!(
            verdict(perfect.clone(), mean("0.9967", None, 60, Some(59))),
            ComparisonVerdict::Agrees
        );
        assert_eq!(
            verdict(perfect, mean("0.9967", None, 60, Some(0))),
            ComparisonVerdict::Differs
        );
        assert!((least_sd(0.9, 9, 10) - 0.1f64.sqrt()).abs() < 1e-12);
    }

    /// Z_5 at the melt: one run in some two hundred is solved.
    #[test]
    fn a_few_solved_runs_more_are_no_difference_where_no_spread_is_stated() {
        let melted = || Measured::Mean(around(0.2, 0.0003, 240));
        assert_eq!(
            verdict(melted(), mean("0.2061", None, 240, None)),
            ComparisonVerdict::Agrees
        );
        assert_eq!(
            verdict(melted(), mean("0.2600", None, 240, None)),
            ComparisonVerdict::Differs
        );
        assert_eq!(
            verdict(melted(), mean("0.2061", Some(0.0003), 240, None)),
            ComparisonVerdict::Differs
        );
        assert_eq!(
            verdict(melted(), mean("0.1900", None, 240, None)),
            ComparisonVerdict::Differs
        );
    }

    #[test]
    fn counts_are_compared_by_fishers_test() {
        let stated = Stated::Count(count(17, 60));
        assert_eq!(
            verdict(Measured::Count(count(20, 60)), stated),
            ComparisonVerdict::Agrees
        );
        assert_eq!(
            verdict(Measured::Count(count(45, 60)), stated),
            ComparisonVerdict::Differs
        );
        assert_eq!(
            verdict(Measured::Count(count(4, 4)), stated),
            ComparisonVerdict::CannotTell
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
            (
                ComparisonVerdict::Agrees,
                ComparisonVerdict::Agrees,
                ComparisonVerdict::Differs
            )
        );
        let ties = Measured::Quantile {
            level: 0.5,
            values: vec![7.0; 100],
        };
        assert_eq!(
            verdict(ties, Stated::Quantile { value: 7.0, n: 100 }),
            ComparisonVerdict::Agrees
        );
        let most = |value| {
            verdict(
                Measured::Greatest(values.clone()),
                Stated::Greatest { value, n: 100 },
            )
        };
        assert_eq!(
            (most(300.0), most(97.0), most(80.0)),
            (
                ComparisonVerdict::Agrees,
                ComparisonVerdict::CannotTell,
                ComparisonVerdict::Differs
            )
        );
    }

    #[test]
    fn a_best_temperature_must_beat_the_coldest_by_more_than_chance() {
        let scan = |means: [f64; 3]| {
            let taus = [1e-3, 1e-2, 1e-1];
            let points = taus.into_iter().zip(means).map(|(tau, mean)| ScanPoint {
                tau,
                values: around(mean, 0.05, 12),
            });
            Measured::Peak(points.collect())
        };
        let stated = |tau| Stated::Peak { tau, n: 12 };
        let flat = scan([0.80, 0.81, 0.2]);
        assert_eq!(
            (flat.value(), verdict(flat.clone(), stated(None))),
            (None, ComparisonVerdict::Agrees)
        );
        assert_eq!(
            verdict(flat.clone(), stated(Some(1e-2))),
            ComparisonVerdict::Agrees
        );
        assert_eq!(
            verdict(flat, stated(Some(1e-1))),
            ComparisonVerdict::Differs
        );
        let peaked = scan([0.5, 0.9, 0.2]);
        assert_eq!(
            (peaked.value(), verdict(peaked.clone(), stated(None))),
            (Some(1e-2), ComparisonVerdict::Differs)
        );
        let interval = peaked.interval().unwrap();
        assert_eq!((interval.low, interval.high), (1e-2, 1e-2));
    }

    #[test]
    fn an_effect_is_tested_as_one_where_its_two_means_would_agree() {
        let stated = Stated::Effect {
            text: "0.125",
            sd: 0.13,
            n: 8,
        };
        let effect = |with, without| Measured::Effect {
            with: around(with, 0.06, 8),
            without: around(without, 0.06, 8),
        };
        assert_eq!(
            verdict(effect(0.55, 0.45), stated),
            ComparisonVerdict::Agrees
        );
        assert_eq!(
            verdict(effect(0.42, 0.52), stated),
            ComparisonVerdict::Differs
        );
    }

    #[test]
    #[should_panic(expected = "is not a number to compare")]
    fn a_mean_is_not_compared_with_a_count() {
        verdict(Measured::Mean(vec![1.0; 3]), Stated::Count(count(1, 3)));
    }
}
