//! States section 3: neutral paths, the bound, pure states.

use super::{Claim, claim, sampled, undecided};
use crate::reproduce::items::Quantity;
use crate::reproduce::items::trapsfixed::{self, Curve, Quantity::At};

const SECTION: &str = "3 Mapping";

/// Overlaps so far apart are near.
const NEAR: f64 = 0.02;

pub const CLAIMS: &[Claim] = &[
    claim(
        "mapping:neutral-path",
        SECTION,
        "A policy that is a local maximum is joined to a code by a path on which \
         the reward does not change.",
        "escape --policy policy.json",
        |facts| {
            let found = facts.probes.escape_policies()?;
            let deviation = found.deviation;
            sampled(found.policies, 6).holds(
                deviation < 1e-9 && found.maxima == found.policies,
                format!(
                    "{} spread local maxima collapse cell by cell, J off by at most \
                     {deviation:.1e}",
                    found.maxima
                ),
            )
        },
    ),
    claim(
        "mapping:bound",
        SECTION,
        "The loss of a tabular policy equals the variational free energy and is \
         at least the free energy.",
        "free-energy --task parity --lengths 3 --tau 0.03,0.3",
        |facts| {
            let found = facts.probes.identity()?;
            let (apart, gap) = (found.untied_apart, found.least_gap);
            sampled(found.policies, 60).parts(
                &[apart < 1e-12, gap >= -1e-12],
                format!(
                    "J and its average over codes differ by at most {apart:.1e}; least L - F \
                     {gap:.2e}"
                ),
            )
        },
    ),
    claim(
        "mapping:tied",
        SECTION,
        "For tied tables the two rewards agree approximately, and closely where \
         cells are nearly deterministic.",
        "free-energy --task parity --lengths 4 --tied --tau 0.03",
        |facts| {
            let found = facts.probes.identity()?;
            let (far, cold) = (found.tied_apart, found.cold_apart);
            sampled(found.policies, 600).parts(
                &[cold < 1e-2, far < 0.05],
                format!(
                    "tied parity at T = 4: off by at most {far:.3} over random policies, \
                     {cold:.1e} where every cell is 99.9 % one action"
                ),
            )
        },
    ),
    claim(
        "mapping:elbo",
        SECTION,
        "Times the inverse temperature the bound is the evidence lower bound of \
         machine learning.",
        "free-energy --task parity --lengths 3 --tau 0.3",
        |facts| {
            let found = facts.probes.identity()?;
            let gap = found.least_gap;
            sampled(found.policies, 60).holds(
                gap >= -1e-12,
                format!(
                    "beta J + H <= ln Z is the same inequality; least gap of it over beta \
                     {gap:.2e}"
                ),
            )
        },
    ),
    claim(
        "mapping:mean-field",
        SECTION,
        "Factorised distributions are typically a good ansatz for these models, \
         since every cell meets many others.",
        "parity --length 40 --tau 0.006",
        |_| {
            undecided(
                "no number of the paper measures it; `parity` gives where the best \
                 factorised policy stops beating the uniform one beside the exact \
                 transition",
            )
        },
    ),
    claim(
        "mapping:pure-states",
        SECTION,
        "Where Monte Carlo settles in a trap, its marginals nearly solve the \
         equations of RLVR.",
        "reproduce fig:trapsfixed",
        |facts| {
            let rows = facts.rows(&trapsfixed::ITEM)?;
            let mut near = Vec::new();
            let mut least = f64::INFINITY;
            for row in rows {
                let Quantity::TrapsFixed(At(Curve::Overlap, tau)) = row.key.quantity else {
                    continue;
                };
                let class = row.key.class;
                let null = facts.row(&trapsfixed::ITEM, class, At(Curve::Null, tau))?;
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
];
