//! States the abstract and the introduction.

use super::{Claim, basis, claim, exhaustive, ours, sampled};
use crate::claims::Verdict;
use crate::reproduce::items::shortfall;

const SECTION: &str = "Abstract and 1";

pub const CLAIMS: &[Claim] = &[
    claim(
        "abs:bound",
        SECTION,
        "The loss of every untied tabular policy is bounded from below by the \
         free energy of a model over deterministic policies.",
        "free-energy --task parity --lengths 3 --tau 0.03,0.3",
        |facts| {
            let found = facts.probes.identity()?;
            let (gap, policies) = (found.least_gap, found.policies);
            sampled(policies, 60).parts(
                &[gap >= -1e-12],
                format!(
                    "least L - F over {policies} random policies at four temperatures: \
                     {gap:.2e}"
                ),
            )
        },
    ),
    claim(
        "abs:benign",
        SECTION,
        "Untied classes with uncorrelated inputs have no local optima in which \
         training could be trapped.",
        "enumerate --task parity --lengths 2,3,4",
        |facts| {
            let (one, several) = (facts.probes.windows()?, facts.probes.lengths()?);
            let clean = one.classes.iter().all(|census| census.traps == 0);
            let trapped: Vec<String> = several
                .classes
                .iter()
                .filter(|census| census.traps > 0)
                .map(|census| format!("{}: {}", census.class, census.traps))
                .collect();
            exhaustive(one.codes() + several.codes()).parts(
                &[clean, trapped.is_empty()],
                format!(
                    "one length: no trap in {} classes counted whole; several lengths that \
                     share cells: {}",
                    one.classes.len(),
                    if trapped.is_empty() {
                        "none".to_owned()
                    } else {
                        format!("traps in {}", trapped.join("; "))
                    }
                ),
            )
        },
    ),
    claim(
        "abs:regulator",
        SECTION,
        "What makes the tasks hard in practice can often be mitigated by the \
         entropy regulator.",
        "reproduce tab:regulator",
        |facts| {
            let helped = super::app_regulators::helped(facts)?;
            helped.basis.holds(
                !helped.classes.is_empty(),
                format!(
                    "of seven untied classes, a temperature beats the coldest on {}: {}",
                    helped.classes.len(),
                    helped.classes.join(", ")
                ),
            )
        },
    ),
    claim(
        "abs:transformer",
        SECTION,
        "A transformer trained from scratch on the last token's reward learns \
         iterated multiplication in a non-abelian group.",
        "train --task s:3 --entropy 1 --entropy-decay geometric:0.03,20000 --layout causal-fixed --models 8",
        super::transformers::non_abelian,
    ),
    claim(
        "intro:gap",
        SECTION,
        "Exact local updates of RLVR fail on untied classes that Monte Carlo over \
         codes solves.",
        "reproduce tab:shortfall",
        |facts| {
            use shortfall::{ALL_UNTIED, BUT_PARITY, ITEM, Quantity::AtOne, Runs};
            let chains = facts.row(&ITEM, ALL_UNTIED, AtOne(Runs::Chain))?;
            let rlvr = facts.row(&ITEM, BUT_PARITY, AtOne(Runs::Rlvr))?;
            let (a, b) = (ours(chains)?, ours(rlvr)?);
            let verdict = if a == 1.0 && b < 1.0 {
                Verdict::Holds
            } else {
                Verdict::InPart
            };
            basis(&ITEM, &[chains, rlvr]).says(
                verdict,
                format!(
                    "at exactly 1: chains {}, RLVR outside parity {}",
                    chains.ours_cell.text(),
                    rlvr.ours_cell.text()
                ),
            )
        },
    ),
];
