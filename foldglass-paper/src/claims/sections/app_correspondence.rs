//! States appendix C: the identity between the stochastic policy's reward and its average over codes.

use super::{Claim, claim, sampled};

const SECTION: &str = "App. C";

pub const CLAIMS: &[Claim] = &[
    claim(
        "c:identity",
        SECTION,
        "Where no cell is consulted twice, J of a policy is J averaged over codes \
         drawn cell by cell.",
        "free-energy --task parity --lengths 1,2,3 --tau 0.3",
        |facts| {
            let found = facts.probes.identity()?;
            let apart = found.untied_apart;
            sampled(found.policies, 60).holds(
                apart < 1e-12,
                format!(
                    "three untied classes, several lengths among them: off by at most \
                     {apart:.1e}"
                ),
            )
        },
    ),
    claim(
        "c:condition",
        SECTION,
        "The condition is needed: tied tables may break the identity.",
        "free-energy --task parity --lengths 4 --tied --tau 0.3",
        |facts| {
            let found = facts.probes.identity()?;
            let apart = found.tied_apart;
            sampled(found.policies, 60).holds(
                apart > 1e-6,
                format!("tied parity at T = 4: off by up to {apart:.3}"),
            )
        },
    ),
    claim(
        "c:no-approximation",
        SECTION,
        "The regularised objective is exactly minus the variational free energy; \
         product measures are the only restriction.",
        "free-energy --task parity --lengths 3 --tau 0.3",
        |facts| {
            let found = facts.probes.identity()?;
            let (apart, gap) = (found.untied_apart, found.least_gap);
            sampled(found.policies, 60).parts(
                &[apart < 1e-12, gap >= -1e-12],
                format!(
                    "off by at most {apart:.1e}; the bound by product measures is never \
                     crossed (least gap {gap:.2e})"
                ),
            )
        },
    ),
];
