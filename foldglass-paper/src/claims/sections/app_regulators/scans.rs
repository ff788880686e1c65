//! Reads the scans over temperatures: which classes a temperature helps, and how far runs spread.

use super::*;

/// The untied classes that a temperature helps, and what that rests on.
pub struct Helped {
    /// Which, with the best temperature of each.
    pub ids: Vec<(ClassId, f64)>,
    /// In words.
    pub classes: Vec<String>,
    /// The fewest runs at a temperature.
    pub basis: Basis,
}

/// The untied classes on which some temperature ends clearly above the coldest: by three standard
/// errors, since the best of many is looked at.
pub fn helped(facts: &ReproductionFacts) -> Result<Helped, Absent> {
    let (mut ids, mut classes) = (Vec::new(), Vec::new());
    let mut fewest = u64::MAX;
    for class in UNTIED {
        let points = scan(facts, class)?;
        let cold = if class == QG03 {
            facts.summary(PLAIN, class, None)?
        } else {
            points[0].1
        };
        let (tau, best) = highest(points).expect("a scan has temperatures");
        fewest = fewest.min(best.n.min(cold.n) as u64);
        let square = |sd: Option<f64>, n: usize| sd.unwrap_or(0.0).powi(2) / n as f64;
        let error = (square(cold.sd, cold.n) + square(best.sd, best.n)).sqrt();
        if best.mean - cold.mean > 3.0 * error && best.mean > cold.mean + 1e-3 {
            ids.push((class, tau));
            classes.push(format!(
                "{class} ({:.4} to {:.4} at {tau:e})",
                cold.mean, best.mean
            ));
        }
    }
    Ok(Helped {
        ids,
        classes,
        basis: sampled(fewest, RUNS),
    })
}

/// The rewards of a class over its scan, the coldest first: at least one temperature. The quick scale scans some
/// classes only.
pub fn scan(facts: &ReproductionFacts, class: ClassId) -> Result<Vec<(f64, Summary)>, Absent> {
    let mut taus = facts.records.temperatures(SCAN, class.id);
    if taus.is_empty() {
        return Err(Absent::Runs(format!("{class} in {}", SCAN.name)));
    }
    taus.sort_by(f64::total_cmp);
    let point = |tau: f64| Ok((tau, facts.summary(SCAN, class, Some(tau))?));
    taus.into_iter().map(point).collect()
}

/// The temperature with the highest mean.
pub(super) fn highest(points: impl IntoIterator<Item = (f64, Summary)>) -> Option<(f64, Summary)> {
    points
        .into_iter()
        .max_by(|a, b| a.1.mean.total_cmp(&b.1.mean))
}

/// A standard deviation, and of how many runs it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SeedSpread {
    pub(super) sd: f64,
    runs: usize,
}

impl SeedSpread {
    /// That of a summary; absent where there is one run.
    pub(super) fn of(summary: &Summary, class: ClassId) -> Result<SeedSpread, Absent> {
        let none = || Absent::Runs(format!("a standard deviation on {class}, which takes two"));
        Ok(SeedSpread {
            sd: summary.sd.ok_or_else(none)?,
            runs: summary.n,
        })
    }

    /// Whether it is at most so large; none where it is larger by no more than chance.
    pub(super) fn is_up_to(self, bound: f64) -> Option<bool> {
        if self.sd <= bound {
            return Some(true);
        }
        let degrees = self.runs - 1;
        let p = chi_square_tail(degrees as f64 * (self.sd / bound).powi(2), degrees);
        (p < LEVEL).then_some(false)
    }

    /// The relative error of the standard deviation of so many normal variables.
    pub(super) fn relative_error(runs: u64) -> f64 {
        1.0 / (2.0 * (runs.max(2) - 1) as f64).sqrt()
    }
}

/// The standard deviation of a class at the coldest and at the best temperature of its scan, the larger.
pub(super) fn widest(facts: &ReproductionFacts, class: ClassId) -> Result<SeedSpread, Absent> {
    let points = scan(facts, class)?;
    let cold = SeedSpread::of(&points[0].1, class)?;
    let (_, best) = highest(points).expect("a scan has temperatures");
    let best = SeedSpread::of(&best, class)?;
    Ok(if best.sd > cold.sd { best } else { cold })
}

/// The fewest runs of classes at a temperature of their scan.
pub(super) fn fewest(facts: &ReproductionFacts, classes: &[ClassId]) -> Result<u64, Absent> {
    let mut fewest = u64::MAX;
    for &class in classes {
        for (_, summary) in scan(facts, class)? {
            fewest = fewest.min(summary.n as u64);
        }
    }
    Ok(fewest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches a law with other degrees of freedom than the runs have, and a bound that one run is held against.
    #[test]
    fn a_standard_deviation_is_judged_by_its_own_runs() {
        let of = |rewards: &[f64]| SeedSpread::of(&Summary::of(rewards).unwrap(), QG03);
        assert!(matches!(of(&[0.9]), Err(Absent::Runs(_))));
        let two = of(&[0.9, 1.0]).unwrap();
        assert_eq!((two.runs, two.is_up_to(0.08)), (2, Some(true)));
        // A chi-square of 1 degree exceeds 6.63 once in a hundred.
        assert_eq!(two.is_up_to(two.sd / 2.5), None);
        assert_eq!(two.is_up_to(two.sd / 2.6), Some(false));
        let twelve = SeedSpread { runs: 12, ..two };
        assert_eq!(twelve.is_up_to(two.sd / 2.5), Some(false));
    }
}
