//! States the abstract and the introduction.

use foldglass::support::stats::{SampleMoments, fisher};

use super::app_regulators::all_but_one;
use super::transformers::{CurriculumNetworks, chance};
use super::{
    Absent, Basis, BasisKind, Claim, Decided, ReproductionFacts, SCORE, basis, claim, count,
    exhaustive, listed, ours, proved, sampled,
};
use crate::claims::StatementVerdict;
use crate::claims::probes::census::{Censuses, ClassCensus};
use crate::claims::probes::regulators::ResetClass;
use crate::reproduce::classes::{LENGTHS, UNTIED};
use crate::reproduce::items::ext_sampled::ExtSampledQuantity::Reward;
use crate::reproduce::items::ext_sampled::{self, GradientSource, SampledScan};
use crate::reproduce::items::shortfall;
use crate::reproduce::studies::{PLAIN, SCAN};
use crate::reproduce::{LEVEL, Row};

const SECTION: &str = "Abstract and 1";

/// Runs of a class at a temperature of its scan.
const RUNS: u64 = 12;

/// Runs of a table at a learning rate of ext:sampled.
const SAMPLED_RUNS: u64 = 48;

/// The lengths of the tables that are trained on several.
const LENGTHS_IN_TURN: f64 = 6.0;

/// A smaller loss of mean reward is not counted as a difficulty.
const SLIGHT: f64 = 0.05;

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

/// How many chains on untied classes end at 1, and how many runs of exact updates on those but parity.
fn compared<'a>(facts: &ReproductionFacts<'a>) -> Result<[&'a Row; 2], Absent> {
    use shortfall::{ALL_UNTIED, BUT_PARITY, ComparedRuns, ITEM, ShortfallQuantity::AtOne};
    Ok([
        facts.row(&ITEM, ALL_UNTIED, AtOne(ComparedRuns::Chain))?,
        facts.row(&ITEM, BUT_PARITY, AtOne(ComparedRuns::Rlvr))?,
    ])
}

/// The best learning rate of tables of a class without traps, by the gradients of batches or by exact ones.
fn best_rate(
    facts: &ReproductionFacts,
    source: GradientSource,
) -> Result<(u32, SampleMoments), Absent> {
    let mut best: Option<(u32, SampleMoments)> = None;
    for rate in ext_sampled::RATES {
        let reward = Reward(source, SampledScan::Rate(rate));
        let found = moments(facts.row(&ext_sampled::ITEM, ext_sampled::RATE_CLASS, reward)?)?;
        if best.is_none_or(|(_, known)| found.mean > known.mean) {
            best = Some((rate, found));
        }
    }
    Ok(best.expect("there are learning rates"))
}

/// The mean, spread and number of the rewards of a row.
fn moments(row: &Row) -> Result<SampleMoments, Absent> {
    let sd = row.sd.unwrap_or(0.0);
    Ok(SampleMoments {
        n: row.n as usize,
        mean: ours(row)?,
        sd,
    })
}

/// The difference of two means, and its error times the level's number of standard errors.
fn apart(a: &SampleMoments, b: &SampleMoments) -> (f64, f64) {
    let square = |of: &SampleMoments| of.sd.powi(2) / of.n.max(1) as f64;
    (a.mean - b.mean, SCORE * (square(a) + square(b)).sqrt())
}

/// Two obstacles that are not traps. Exact updates lack only what moves between codes of equal reward would give: chains
/// make these, on the same classes. Batches lack what noise costs: exact gradients have none, at as many updates, each
/// at its own best learning rate. Either part is contradicted where the runs are near enough to what they would have
/// without it. Would catch an estimator without noise, and one whose learning rate is off by a factor that the scan
/// does not cover.
fn estimation(facts: &ReproductionFacts) -> Result<Decided, Absent> {
    let [chains, rlvr] = compared(facts)?;
    let p = fisher(&count(rlvr)?, &count(chains)?);
    let (rate, exact) = best_rate(facts, GradientSource::Exact)?;
    let (sampled_rate, noisy) = best_rate(facts, GradientSource::Sampled)?;
    let (loss, error) = apart(&exact, &noisy);
    // What is above 0 by the level is a cause; what is below so much reward by the level is none.
    let is_cause = match (loss - error > 0.0, loss + error < SLIGHT) {
        (true, false) => Some(true),
        (_, true) => Some(false),
        (false, false) => None,
    };
    let has_gap = (p < LEVEL).then_some(ours(rlvr)? < ours(chains)?);
    let n = exact.n.min(noisy.n) as u64;
    sampled(n, SAMPLED_RUNS).told(
        &[has_gap, is_cause],
        format!(
            "runs at exactly 1: exact updates on untied classes but parity {}, chains, which also move between codes of equal \
             reward, on all untied classes {} ({}). Noise: tables of {}, a class without traps, end at {:.3} by exact gradients \
             (best learning rate {rate}) and at {:.3} by batches of 512 (best {sampled_rate}), after 1,000 updates each; \
             the noise costs {loss:.3} ± {error:.3} (99 %; less than {SLIGHT} would be no cause). What more updates would \
             give, and the noise of networks' gradients, was not measured",
            rlvr.ours_cell.text(),
            chains.ours_cell.text(),
            chance(p),
            ext_sampled::RATE_CLASS,
            exact.mean,
            noisy.mean
        ),
    )
}

/// Tables of all lengths up to 6, opened one after another, beside tables of length 6 alone and of all lengths from the
/// start; and networks at the coefficient 0.3, whose curriculum is set beside the last length alone. Would catch a
/// curriculum that does not advance.
fn curriculum(facts: &ReproductionFacts) -> Result<Decided, Absent> {
    let ends = |class, way| {
        let reward = Reward(GradientSource::Sampled, way);
        moments(facts.row(&ext_sampled::ITEM, class, reward)?)
    };
    let with = ends(ext_sampled::SIX_LENGTHS, SampledScan::Curriculum)?;
    let at_once = ends(ext_sampled::SIX_LENGTHS, SampledScan::AllAtOnce)?;
    let alone = ends(ext_sampled::LAST_LENGTH, SampledScan::AllAtOnce)?;
    // Lengths weigh equally: were all others at 1, the last would have this much.
    let last = SampleMoments {
        mean: 1.0 - LENGTHS_IN_TURN * (1.0 - with.mean),
        sd: LENGTHS_IN_TURN * with.sd,
        ..with
    };
    let is_gain = |(gain, error): (f64, f64)| match (gain > error, gain < -error) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    };
    let beside = apart(&with, &at_once);
    let networks = CurriculumNetworks::of(facts)?;
    let parts = [
        is_gain(apart(&last, &alone)),
        is_gain(beside),
        networks.raises(),
        Some(networks.solves()),
    ];
    sampled(with.n.min(at_once.n).min(alone.n) as u64, SAMPLED_RUNS).told(
        &parts,
        format!(
            "tables of the quasigroup, batches of 512: trained on length 6 alone they end at {:.3}; on all lengths up to 6, one \
             after another, at {:.3}, so that length 6 has {:.3} or more; with all lengths from the start at {:.3}, which the \
             curriculum changes by {:.3} ± {:.3} (99 %). {}",
            alone.mean,
            with.mean,
            last.mean,
            at_once.mean,
            beside.0,
            beside.1,
            networks.said()
        ),
    )
}

pub const CLAIMS: &[Claim] = &[
    claim(
        "abs:bound",
        SECTION,
        BasisKind::Proved,
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
        BasisKind::Exhaustive,
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
        BasisKind::Sampled,
        "The practical difficulty stems, in part, from diffusive barriers and from the \
         error of estimated gradients.",
        "reproduce ext:sampled",
        estimation,
    ),
    claim(
        "abs:regulator",
        SECTION,
        BasisKind::Sampled,
        "These obstacles can often be mitigated by the choice of the entropy \
         regulator.",
        "reproduce tab:regulator",
        |facts| {
            let helped = super::app_regulators::helped(facts)?;
            let number = helped.ids.len();
            let several = helped.ids.iter();
            let several = several.filter(|(class, _)| LENGTHS.contains(class)).count();
            let verdict = match number {
                0 => StatementVerdict::Contradicted,
                n if 2 * n > UNTIED.len() => StatementVerdict::Holds,
                _ => StatementVerdict::InPart,
            };
            helped.basis.says(
                verdict,
                format!(
                    "of {} untied classes, a temperature beats the coldest on {number}{}; \
                     {several} of these have several lengths, which are run with a quench here \
                     (erratum 5)",
                    UNTIED.len(),
                    listed(": ", &helped.classes)
                ),
            )
        },
    ),
    claim(
        "abs:transformer",
        SECTION,
        BasisKind::Records,
        "A transformer trained from scratch on the last token's reward learns a chain of \
         thought for iterated multiplication in a non-abelian group.",
        "train --task s:3 --entropy 1 --entropy-decay geometric:0.03,20000 --layout causal-fixed --runs 8",
        super::transformers::non_abelian,
    ),
    claim(
        "intro:gap",
        SECTION,
        BasisKind::Sampled,
        "Exact local updates of RLVR fail on untied classes that Monte Carlo over \
         codes solves.",
        "reproduce tab:shortfall",
        |facts| {
            let [chains, rlvr] = compared(facts)?;
            let (solved, own) = (ours(chains)?, ours(rlvr)?);
            // That some runs fail is not enough: so many fewer than of the chains is not chance.
            let p = fisher(&count(rlvr)?, &count(chains)?);
            basis(&shortfall::ITEM, &[chains, rlvr]).told(
                &[Some(solved == 1.0), (p < LEVEL).then_some(own < solved)],
                format!(
                    "at exactly 1: chains {}, RLVR outside parity {} ({})",
                    chains.ours_cell.text(),
                    rlvr.ours_cell.text(),
                    chance(p)
                ),
            )
        },
    ),
    claim(
        "intro:deterministic-resets",
        SECTION,
        BasisKind::Sampled,
        "Resets of single cells to random deterministic policies close this gap.",
        "cavi --task z:5 --lengths 8 --tau 1e-10 --iterations 2000 --runs 60 --init \
         dirichlet:0.001 --resets 0.02,10,100",
        |facts| {
            let found = facts.probes.deterministic_resets()?;
            let fewest = found.classes.iter().map(|own| own.runs).min().unwrap_or(0);
            let closed = found
                .classes
                .iter()
                .map(|own| all_but_one(&own.with_resets()));
            let words = found.classes.iter().map(|own| {
                let ResetClass {
                    class,
                    runs,
                    plain,
                    resets,
                } = own;
                format!("{class} {resets} of {runs} ({plain} without)")
            });
            let words: Vec<String> = words.collect();
            sampled(fewest, RUNS).told(
                &closed.collect::<Vec<_>>(),
                format!(
                    "rows drawn from Dirichlet({}), whose likeliest action has {:.3} on average, at the start and at \
                     every reset; at exactly 1 with resets: {}. In App. G.5 resets draw a point of the simplex \
                     (erratum 9; g5:resets)",
                    found.parameter,
                    found.likeliest,
                    words.join(", ")
                ),
            )
        },
    ),
    claim(
        "intro:strong-regulators",
        SECTION,
        BasisKind::Sampled,
        "Strong regulators close this gap.",
        "reproduce tab:regulator",
        |facts| {
            let Closed { by, of, basis } = closed(facts)?;
            let parts: Vec<bool> = (0..of).map(|n| n < by.len()).collect();
            basis.parts(
                &parts,
                format!(
                    "of {of} untied classes whose plain runs have a mean below {CLOSED}, some \
                     temperature has one above it on {}{}",
                    by.len(),
                    listed(": ", &by)
                ),
            )
        },
    ),
    claim(
        "intro:curriculum",
        SECTION,
        BasisKind::Sampled,
        "The curriculum of the strongly regulated transformers circumvents \
         signal-to-noise issues.",
        "reproduce ext:sampled",
        curriculum,
    ),
];
