//! States appendix C: the identity between the stochastic policy's reward and its average over codes.

use super::{BasisKind, Claim, claim, proved, sampled};

const SECTION: &str = "App. C";

pub const CLAIMS: &[Claim] = &[
    claim(
        "c:identity",
        SECTION,
        BasisKind::Proved,
        "Where no cell is consulted twice, J of a policy is J averaged over codes \
         drawn cell by cell.",
        "free-energy --task parity --lengths 1,2,3 --tau 0.3",
        |facts| {
            let found = facts.probes.identity()?;
            let apart = found.untied_apart;
            proved(found.policies).holds(
                apart < 1e-12,
                format!(
                    "random policies of three untied classes, several lengths among them: the two \
                     differ by at most {apart:.1e}"
                ),
            )
        },
    ),
    claim(
        "c:condition",
        SECTION,
        BasisKind::Sampled,
        "They are different sampling procedures: where a cell is consulted twice, the two \
         rewards may differ.",
        "free-energy --task parity --lengths 4 --tied --tau 0.3",
        |facts| {
            let found = facts.probes.identity()?;
            let apart = found.tied_apart;
            sampled(found.policies, 60).holds(
                apart > 1e-6,
                format!("random policies of tied parity at T = 4: they differ by up to {apart:.3}"),
            )
        },
    ),
    claim(
        "c:equality",
        SECTION,
        BasisKind::Proved,
        "The variational free energy is at least F for every law over codes, with equality \
         for the Boltzmann law.",
        "parity --lengths 3 --tau 0.001,0.03,0.3,3",
        |facts| {
            let found = facts.probes.identity()?;
            let (apart, least) = (found.boltzmann_apart, found.least_endpoint());
            proved(found.endpoint_runs).parts(
                &[apart < 1e-9, least.gap >= -1e-12],
                format!(
                    "parity at T = 3, four temperatures: mean energy minus tau times entropy of the \
                     Boltzmann law is off the closed form of F by at most {apart:.1e}; product laws \
                     that CAVI found have at least F{:+.1e}",
                    least.gap
                ),
            )
        },
    ),
    claim(
        "c:no-approximation",
        SECTION,
        BasisKind::Proved,
        "The regularised objective is exactly minus the variational free energy; \
         product measures are the only restriction.",
        "free-energy --task parity --lengths 3 --tau 0.3",
        |facts| {
            let found = facts.probes.identity()?;
            let (apart, strict) = (found.untied_apart, found.strict_endpoint());
            let least = found.product_gap;
            proved(found.policies).parts(
                &[apart < 1e-12, least > 0.0 && (strict.gap - least).abs() < 1e-6],
                format!(
                    "the two objectives differ by at most {apart:.1e}; the restriction costs {least:.4} in L on {} at \
                     tau = {}, by the exact minimum over product laws, and {:.4} at the best of CAVI",
                    strict.class, strict.tau, strict.gap
                ),
            )
        },
    )
    .same_as("abs:bound"),
];
