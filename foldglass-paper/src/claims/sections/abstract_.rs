//! States the abstract and the introduction.

use super::{
    Absent, Basis, Claim, Decided, ReproductionFacts, basis, claim, exhaustive, ours, proved,
    sampled, undecided,
};
use crate::claims::StatementVerdict;
use crate::claims::probes::census::{Censuses, ClassCensus};
use crate::reproduce::classes::{LENGTHS, UNTIED};
use crate::reproduce::items::ext_sampled::ExtSampledQuantity::{Noise, Reward};
use crate::reproduce::items::ext_sampled::{self, GradientSource, SampledScan};
use crate::reproduce::items::shortfall;
use crate::reproduce::studies::{PLAIN, SCAN};

const SECTION: &str = "Abstract and 1";

/// Runs of a class at a temperature of its scan.
const RUNS: u64 = 12;

/// Runs of a table at a learning rate of ext:sampled.
const SAMPLED_RUNS: u64 = 48;

/// A mean reward so near 1 closes the gap to chains, which all end at 1.
const CLOSED: f64 = 0.999;

/// Classes whose gap to chains a temperature closes, in words, of how many that have one.
struct Closed {
    by: Vec<String>,
    of: usize,
    basis: Basis,
}

/// The untied classes whose plain runs end below 1, and the best temperature of each.
fn closed(facts: &ReproductionFacts) -> Result<Closed, Absent> {
    let (mut by, mut of, mut fewest) = (Vec::new(), 0, u64::MAX);
    for class in UNTIED {
        let plain = facts.summary(PLAIN, class, None)?;
        if plain.mean >= CLOSED {
            continue;
        }
        of += 1;
        let mut best = (f64::NAN, f64::NEG_INFINITY);
        for tau in facts.records.temperatures(SCAN, class.id) {
            let summary = facts.summary(SCAN, class, Some(tau))?;
            fewest = fewest.min(summary.n as u64);
            if summary.mean > best.1 {
                best = (tau, summary.mean);
            }
        }
        if best.1 >= CLOSED {
            by.push(format!("{class} ({:.4} at {:e})", best.1, best.0));
        }
    }
    Ok(Closed {
        by,
        of,
        basis: sampled(fewest, RUNS),
    })
}

/// Whether the paper's claim covers a class of several lengths: it lists those that see a symbol ahead.
fn sees_ahead(census: &&ClassCensus) -> bool {
    census.window[1] > 0
}

fn trapped<'a>(censuses: impl Iterator<Item = &'a ClassCensus>) -> Vec<String> {
    let trapped = censuses.filter(|census| census.traps > 0);
    let named = trapped.map(|census| format!("{}: {}", census.class, census.traps));
    named.collect()
}

fn codes<'a>(censuses: impl Iterator<Item = &'a ClassCensus>) -> u64 {
    censuses.map(|census| census.codes).sum()
}

/// Tables of a class without traps, trained by exact gradients and by those of batches at the learning rate that is best
/// for exact ones. What exact runs lack is not an error of estimates, and what sampled ones lack beside it is.
fn estimation(facts: &ReproductionFacts) -> Result<Decided, Absent> {
    let (item, class) = (&ext_sampled::ITEM, ext_sampled::RATE_CLASS);
    let points = ext_sampled::RATES.map(SampledScan::Rate);
    let mut best = (f64::NEG_INFINITY, points[0]);
    for point in points {
        let reward = facts.value(item, class, Reward(GradientSource::Exact, point))?;
        if reward > best.0 {
            best = (reward, point);
        }
    }
    let (reward, point) = best;
    let noise = facts.row(item, class, Noise(point))?;
    let costs = noise.interval.is_some_and(|[_, high]| high < 0.0);
    let verdict = if costs && reward < CLOSED {
        StatementVerdict::InPart
    } else {
        StatementVerdict::Undecided
    };
    sampled(noise.n, SAMPLED_RUNS).says(
        verdict,
        format!(
            "tables of {class}, which has no traps: exact gradients end at {reward:.3} at their best {point}, \
             and batches of 512 there change that by {} ({}); the noise of networks' gradients was not measured",
            noise.ours_cell.text(),
            noise.interval_cell.text()
        ),
    )
}

pub const CLAIMS: &[Claim] = &[
    claim(
        "abs:bound",
        SECTION,
        "The mapping bounds what RLVR can achieve: the loss of every untied tabular \
         policy is at least the free energy of a model over deterministic policies.",
        "free-energy --task parity --lengths 3 --tau 0.03,0.3",
        |facts| {
            let found = facts.probes.identity()?;
            let (least, strict) = (found.least_endpoint(), found.strict_endpoint());
            proved(found.policies + found.endpoint_runs).holds(
                found.least_gap.min(least.gap) >= -1e-12,
                format!(
                    "L - F is at least {:.3} over {} random policies and at least {:.1e} over {} \
                     endpoints of CAVI, which minimises L; {} at tau = {}: {:.3}",
                    found.least_gap,
                    found.policies,
                    least.gap,
                    found.endpoint_runs,
                    strict.class,
                    strict.tau,
                    strict.gap
                ),
            )
        },
    ),
    // A census that misses neutral ways out would find traps here, one that misses traps none in the classes
    // that have some.
    claim(
        "abs:benign",
        SECTION,
        "For a wide class of untied models and tasks with uncorrelated inputs the \
         landscape has no local optima in which training could be trapped.",
        "enumerate --task parity --lengths 4 --window 1,0",
        |facts| {
            let Censuses { classes: one } = facts.probes.windows()?;
            let Censuses { classes: several } = facts.probes.lengths()?;
            let one = one.iter().filter(|census| census.memory == 1);
            let inside: Vec<&ClassCensus> = one.chain(several.iter().filter(sees_ahead)).collect();
            let found = trapped(inside.iter().copied());
            let outside = trapped(several.iter().filter(|census| !sees_ahead(census)));
            exhaustive(codes(inside.iter().copied())).holds(
                found.is_empty(),
                format!(
                    "classes of one length, or that see a symbol ahead, counted whole: {} of {} \
                     have traps; beside what the paper lists, several lengths without a symbol \
                     ahead have: {}",
                    found.len(),
                    inside.len(),
                    if outside.is_empty() {
                        "none".to_owned()
                    } else {
                        outside.join("; ")
                    }
                ),
            )
        },
    ),
    claim(
        "abs:estimation",
        SECTION,
        "The practical difficulty stems, in part, from diffusive barriers and from the \
         error of estimated gradients.",
        "reproduce ext:sampled",
        estimation,
    ),
    claim(
        "abs:regulator",
        SECTION,
        "These obstacles can often be mitigated by the choice of the entropy \
         regulator.",
        "reproduce tab:regulator",
        |facts| {
            let helped = super::app_regulators::helped(facts)?;
            let number = helped.classes.len();
            let several = |named: &&String| {
                let mut lengths = LENGTHS.iter();
                lengths.any(|class| named.starts_with(&class.to_string()))
            };
            let several = helped.classes.iter().filter(several).count();
            let verdict = match number {
                0 => StatementVerdict::Contradicted,
                n if 2 * n > UNTIED.len() => StatementVerdict::Holds,
                _ => StatementVerdict::InPart,
            };
            helped.basis.says(
                verdict,
                format!(
                    "of {} untied classes, a temperature beats the coldest on {number}: {}; \
                     {several} of these have several lengths, which are run with a quench here \
                     (erratum 5)",
                    UNTIED.len(),
                    helped.classes.join(", ")
                ),
            )
        },
    ),
    claim(
        "abs:transformer",
        SECTION,
        "A transformer trained from scratch on the last token's reward learns a chain of \
         thought for iterated multiplication in a non-abelian group.",
        "train --task s:3 --entropy 1 --entropy-decay geometric:0.03,20000 --layout causal-fixed --runs 8",
        super::transformers::non_abelian,
    ),
    claim(
        "intro:gap",
        SECTION,
        "Exact local updates of RLVR fail on untied classes that Monte Carlo over \
         codes solves.",
        "reproduce tab:shortfall",
        |facts| {
            use shortfall::{ALL_UNTIED, BUT_PARITY, ComparedRuns, ITEM, ShortfallQuantity::AtOne};
            let chains = facts.row(&ITEM, ALL_UNTIED, AtOne(ComparedRuns::Chain))?;
            let rlvr = facts.row(&ITEM, BUT_PARITY, AtOne(ComparedRuns::Rlvr))?;
            let (a, b) = (ours(chains)?, ours(rlvr)?);
            basis(&ITEM, &[chains, rlvr]).parts(
                &[a == 1.0, b < 1.0],
                format!(
                    "at exactly 1: chains {}, RLVR outside parity {}",
                    chains.ours_cell.text(),
                    rlvr.ours_cell.text()
                ),
            )
        },
    ),
    claim(
        "intro:deterministic-resets",
        SECTION,
        "Resets of single cells to random deterministic policies close this gap.",
        "cavi --task z:5 --lengths 8 --tau 1e-7 --iterations 2000 --runs 60 --resets \
         0.02,10,100",
        |_| {
            undecided(
                "resets here, as in App. G.5, redraw a row from the initial law, which is not \
                 deterministic (g5:resets decides those)",
            )
        },
    ),
    claim(
        "intro:strong-regulators",
        SECTION,
        "Strong regulators close this gap.",
        "reproduce tab:regulator",
        |facts| {
            let Closed { by, of, basis } = closed(facts)?;
            let parts: Vec<bool> = (0..of).map(|n| n < by.len()).collect();
            basis.parts(
                &parts,
                format!(
                    "of {of} untied classes whose plain runs have a mean below {CLOSED}, some \
                     temperature has one above it on {}: {}",
                    by.len(),
                    by.join(", ")
                ),
            )
        },
    ),
    claim(
        "intro:curriculum",
        SECTION,
        "The curriculum of the strongly regulated transformers circumvents \
         signal-to-noise issues.",
        "train --task z:5 --entropy 0.3 --lengths 8 --runs 8",
        |_| {
            undecided(
                "every network at a coefficient of 0.3 or more was trained with a curriculum: there \
                 are no records without one",
            )
        },
    ),
];
