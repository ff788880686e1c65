//! States section 3: neutral paths, the bound, pure states.

use std::collections::BTreeMap;

use super::{BasisKind, Claim, claim, exhaustive, proved};
use crate::claims::facts::{RunField, tau};
use crate::reproduce::classes::TIED;
use crate::reproduce::items::Quantity;
use crate::reproduce::items::trapsfixed::{
    self, AveragedCurve, EIGHT, SIX, TrapsFixedQuantity::At,
};
use crate::reproduce::studies::{PURE_CORRELATED, PURE_TIED};

const SECTION: &str = "3 Mapping";

/// Overlaps so far apart are near.
const NEAR: f64 = 0.02;

/// Rewards so far apart agree approximately.
const ALIKE: f64 = 0.01;

/// Spins with a root mean square correlation below this are weakly correlated.
const WEAK: f64 = 0.1;

pub const CLAIMS: &[Claim] = &[
    claim(
        "mapping:neutral-path",
        SECTION,
        BasisKind::Proved,
        "An untied policy that is a local maximum is joined to a code by a path on \
         which the reward does not change.",
        "escape --policy policy.json --search",
        |facts| {
            let found = facts.probes.escape_policies()?;
            let deviation = found.deviation;
            proved(found.maxima).holds(
                deviation < 1e-9 && found.maxima == found.policies && found.is_told(),
                format!(
                    "{} of {} local maxima that mix at least {} consulted cells (window (2,0), step 3 \
                     ignores y_2) collapse to a code, J off by at most {deviation:.1e}; where step 3 \
                     reads y_2 it moves by at least {:.2}",
                    found.maxima, found.policies, found.mixed, found.read_deviation
                ),
            )
        },
    ),
    claim(
        "mapping:bound",
        SECTION,
        BasisKind::Proved,
        "The loss of a tabular policy equals the variational free energy and is \
         at least the free energy.",
        "free-energy --task parity --lengths 3 --tau 0.03,0.3",
        |facts| {
            let found = facts.probes.identity()?;
            let (apart, least) = (found.untied_apart, found.least_endpoint());
            let strict = found.strict_endpoint();
            proved(found.policies + found.endpoint_runs).parts(
                &[apart < 1e-12, least.gap.min(found.least_gap) >= -1e-12],
                format!(
                    "J and its average over codes differ by at most {apart:.1e}; L - F of CAVI's \
                     endpoints is at least {:.1e} ({}, tau = {}), and {:.3} on {} at {}",
                    least.gap, least.class, least.tau, strict.gap, strict.class, strict.tau
                ),
            )
        },
    )
    .same_as("abs:bound"),
    claim(
        "mapping:tied",
        SECTION,
        BasisKind::Exhaustive,
        "For tied tables the two rewards agree approximately where a rollout rarely comes \
         back to a cell, and near zero temperature, where cells are nearly deterministic.",
        "free-energy --task parity --lengths 4 --tied --tau 0.03",
        |facts| {
            let found = facts.probes.identity()?;
            let (far, cold) = (found.tied_apart, found.cold_apart);
            let ends = &found.cold_endpoints;
            let (revisits, most) = (&found.revisits, found.revisits.share());
            let steps: Vec<String> = revisits.steps.iter().map(usize::to_string).collect();
            exhaustive(revisits.inputs).parts(
                &[most < ALIKE, cold < ALIKE, ends.apart < ALIKE],
                format!(
                    "the paper's tied class, (0,3) at T = 7: two of the steps {} may have one cell on \
                     {} of {} inputs, so that J and J-tilde of every policy differ by at most {most:.4}; \
                     tied parity (0,0) at T = 4, where all later steps may: by up to {far:.3}, by {cold:.1e} \
                     where every cell is 99.9 % one action, and by up to {:.1e} at {} endpoints of CAVI at tau = \
                     {:e}, {} of them codes",
                    steps.join(", "),
                    revisits.twice,
                    revisits.inputs,
                    ends.apart,
                    ends.runs,
                    ends.tau,
                    ends.runs - ends.mixed
                ),
            )
        },
    ),
    claim(
        "mapping:elbo",
        SECTION,
        BasisKind::Proved,
        "Times the inverse temperature the bound is the evidence lower bound of \
         machine learning.",
        "free-energy --task parity --lengths 3 --tau 0.3",
        |facts| {
            let found = facts.probes.identity()?;
            let nats = found.endpoints.iter().map(|end| end.gap / end.tau);
            let least = nats.fold(f64::INFINITY, f64::min);
            let strict = found.strict_endpoint();
            proved(found.endpoint_runs).holds(
                least >= -1e-9,
                format!(
                    "ln Z - (beta J + H) of CAVI's endpoints is at least {least:.1e} nats over three \
                     classes and four temperatures, and {:.3} nats on {} at {}",
                    strict.gap / strict.tau,
                    strict.class,
                    strict.tau
                ),
            )
        },
    ),
    claim(
        "mapping:mean-field",
        SECTION,
        BasisKind::Exhaustive,
        "The factorised ansatz is typically correct for these models, since every spin \
         interacts with many others.",
        "parity --lengths 40 --tau 0.0053",
        |facts| {
            let lengths = &facts.probes.mean_field()?.lengths;
            let of = lengths.last().expect("at least one T");
            let [hot, _, cold] = of.gaps;
            exhaustive(lengths.len() as u64).parts(
                &[
                    lengths.iter().all(|of| of.gaps[0] < ALIKE),
                    lengths.iter().all(|of| (of.policy - of.ensemble).abs() < ALIKE),
                    lengths.iter().all(|of| of.gaps[2] < ALIKE),
                ],
                format!(
                    "parity at T = {}: at twice the transition's temperature the best product law lacks \
                     {hot:.2} nats a cell; it melts {:.2} times colder than the codes do, and halfway \
                     between has J = {:.3} where the ensemble has {:.3}; at half the temperature of its \
                     melting it lacks {cold:.2} nats a cell",
                    of.length, of.colder, of.policy, of.ensemble
                ),
            )
        },
    ),
    claim(
        "mapping:pure-states",
        SECTION,
        BasisKind::Sampled,
        "Where Monte Carlo settles in a trap, its marginals nearly solve the \
         equations of RLVR.",
        "reproduce fig:trapsfixed",
        |facts| {
            let rows = facts.rows(&trapsfixed::ITEM)?;
            let mut near = Vec::new();
            let mut least = f64::INFINITY;
            for row in rows {
                let Quantity::TrapsFixed(At(AveragedCurve::Overlap, tau)) = row.key.quantity else {
                    continue;
                };
                let class = row.key.class;
                let null = facts.row(&trapsfixed::ITEM, class, At(AveragedCurve::Null, tau))?;
                let (Some(ours), Some(null)) = (row.ours, null.ours) else {
                    continue;
                };
                near.push(ours >= null - NEAR);
                least = least.min(ours);
            }
            let count = near.iter().filter(|&&is| is).count();
            super::app_trapsfixed::traps(facts)?.parts(
                &near,
                format!(
                    "the mean overlap of CAVI's endpoint with the histogram is no more than {NEAR} \
                     below that of two halves of the draws at {count} of {} temperatures of both \
                     families, and at least {least:.3}",
                    near.len()
                ),
            )
        },
    ),
    // Draws of one trap that are permuted cell by cell give the noise: a correlation at its size is none.
    claim(
        "mapping:uncorrelated",
        SECTION,
        BasisKind::Sampled,
        "Where Monte Carlo converges to a steady state, its spins are weakly \
         correlated.",
        "reproduce fig:trapsfixed",
        |facts| {
            let mut by_tau: BTreeMap<(bool, u64), Vec<[f64; 2]>> = BTreeMap::new();
            for (tied, source, class) in [
                (false, PURE_CORRELATED, SIX),
                (false, PURE_CORRELATED, EIGHT),
                (true, PURE_TIED, TIED),
            ] {
                for run in facts.runs(source, class)? {
                    let is_trap = RunField::Standing.word(run)? == "trap";
                    let own = RunField::Correlation.some_number(run)?;
                    let noise = RunField::CorrelationNoise.some_number(run)?;
                    if let (true, Some((own, noise))) = (is_trap, own.zip(noise)) {
                        let key = (tied, tau(run)?.to_bits());
                        by_tau.entry(key).or_default().push([own, noise]);
                    }
                }
            }
            let mean = |pairs: &[[f64; 2]], n: usize| {
                pairs.iter().map(|pair| pair[n]).sum::<f64>() / pairs.len() as f64
            };
            let points = by_tau.iter().map(|(&(_, tau), pairs)| {
                let tau = f64::from_bits(tau);
                (tau, mean(pairs, 0), mean(pairs, 1), pairs.len())
            });
            let points: Vec<(f64, f64, f64, usize)> = points.collect();
            let weak: Vec<bool> = points.iter().map(|point| point.1 < WEAK).collect();
            // A mean over many traps, not the one trap that happens to move a little.
            let worst = points.iter().filter(|point| point.3 >= 6);
            let worst = worst.max_by(|a, b| a.1.total_cmp(&b.1));
            super::app_trapsfixed::traps(facts)?.parts(
                &weak,
                format!(
                    "the root mean square correlation of moving cells, averaged over traps, is below \
                     {WEAK} at {} of {} temperatures of both families{}",
                    weak.iter().filter(|&&is| is).count(),
                    weak.len(),
                    worst.map_or(String::new(), |(tau, own, noise, traps)| format!(
                        "; it is largest at tau = {tau:.3} among those with six traps or more: {own:.2} \
                         (noise {noise:.3}, {traps} traps)"
                    ))
                ),
            )
        },
    ),
];
