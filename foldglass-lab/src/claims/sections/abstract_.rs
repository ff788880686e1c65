//! States the abstract and the introduction.

use super::{census, claim};
use crate::claims::decide::{parts, say};
use crate::claims::{Claim, Verdict};

const SECTION: &str = "Abstract and 1";

pub const CLAIMS: &[Claim] = &[
    claim(
        "abs:bound",
        SECTION,
        "The loss of every untied tabular policy is bounded from below by the \
         free energy of a model over deterministic policies.",
        "free-energy --task parity --lengths 3 --tau 0.03,0.3",
        |facts| {
            let gap = facts.number("identity", "/least_gap")?;
            let policies = facts.number("identity", "/policies")?;
            parts(
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
            let (one, several) = (census(facts, "windows")?, census(facts, "lengths")?);
            let clean = one.iter().all(|(_, traps, _)| *traps == 0);
            let trapped: Vec<String> = several
                .iter()
                .filter(|(_, traps, _)| *traps > 0)
                .map(|(name, traps, _)| format!("{name}: {traps}"))
                .collect();
            parts(
                &[clean, trapped.is_empty()],
                format!(
                    "one length: no trap in {} classes counted whole; several lengths that \
                     share cells: {}",
                    one.len(),
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
            let verdict = if helped.is_empty() {
                Verdict::Refuted
            } else {
                Verdict::Shown
            };
            say(
                verdict,
                format!(
                    "of seven untied classes, a temperature beats the coldest on {}: {}",
                    helped.len(),
                    helped.join(", ")
                ),
            )
        },
    ),
    claim(
        "abs:transformer",
        SECTION,
        "A transformer trained from scratch on the last token's reward learns \
         iterated multiplication in a non-abelian group.",
        "reproduce fig:temperature_untied_b",
        |facts| {
            let z5 = facts.row(
                "fig:temperature_untied_b",
                "Z_5, transformer",
                "seeds above 0.95 at c = 0.3",
            )?;
            let quasigroup = facts.row(
                "fig:temperature_untied_b",
                "quasigroup, transformer",
                "seeds above 0.95 at c = 0.3",
            )?;
            let (a, b) = (
                z5.ours.unwrap_or(0.0) > 0.0,
                quasigroup.ours.unwrap_or(0.0) > 0.0,
            );
            parts(
                &[a, b],
                format!(
                    "seeds above 0.95 at length 8, coefficient 0.3: Z_5 (abelian) {}, \
                     quasigroup {}; neither is a non-abelian group, of which there are no \
                     records",
                    z5.ours_cell.text(),
                    quasigroup.ours_cell.text()
                ),
            )
        },
    ),
    claim(
        "intro:gap",
        SECTION,
        "Exact local updates of RLVR fail on untied classes that Monte Carlo over \
         codes solves.",
        "reproduce tab:shortfall",
        |facts| {
            let chains = facts.row("tab:shortfall", "untied", "at 1, chain")?;
            let rlvr = facts.row("tab:shortfall", "untied but parity", "at 1, RLVR")?;
            let (a, b) = (chains.ours?, rlvr.ours?);
            let verdict = if a == 1.0 && b < 1.0 {
                Verdict::Shown
            } else {
                Verdict::InPart
            };
            say(
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
