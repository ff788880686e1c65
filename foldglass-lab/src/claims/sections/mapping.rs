//! States section 3: neutral paths, the bound, pure states.

use super::claim;
use crate::claims::decide::{holds, parts, say};
use crate::claims::{Claim, Verdict};

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
            let found = facts.probe("escape-policies")?;
            let deviation = found["deviation"].as_f64()?;
            holds(
                deviation < 1e-9 && found["maxima"] == found["policies"],
                format!(
                    "{} spread local maxima collapse cell by cell, J off by at most \
                     {deviation:.1e}",
                    found["maxima"]
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
            let (apart, gap) = (
                facts.number("identity", "/untied_apart")?,
                facts.number("identity", "/least_gap")?,
            );
            parts(
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
            let (far, cold) = (
                facts.number("identity", "/tied_apart")?,
                facts.number("identity", "/cold_apart")?,
            );
            parts(
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
            let gap = facts.number("identity", "/least_gap")?;
            holds(
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
            say(
                Verdict::Open,
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
            let item = facts.item("fig:trapsfixed")?;
            let mut near = Vec::new();
            let mut least = f64::INFINITY;
            for row in item {
                let Some(at) = row.quantity.strip_prefix("Bhattacharyya") else {
                    continue;
                };
                let null = facts.row("fig:trapsfixed", row.row, &format!("its null{at}"));
                let (Some(ours), Some(null)) = (row.ours, null.and_then(|null| null.ours)) else {
                    continue;
                };
                near.push(ours >= null - NEAR);
                least = least.min(ours);
            }
            (!near.is_empty()).then_some(())?;
            let count = near.iter().filter(|&&is| is).count();
            parts(
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
