//! States appendix D: relabelling, its group, what is invariant.

use super::{Claim, claim, exhaustive, sampled};

const SECTION: &str = "App. D";

pub const CLAIMS: &[Claim] = &[
    claim(
        "d:symmetry",
        SECTION,
        "Relabelling the tokens of every step but the last leaves the reward as \
         it is.",
        "gauge --task quasigroup --lengths 5 --code A.json --relabel random --out \
         B.json",
        |facts| {
            let found = facts.probes.relabelling()?;
            sampled(found.codes, 10).parts(
                &[
                    found.same_reward == found.codes,
                    found.same_function == found.codes,
                ],
                format!(
                    "{} of {} random codes keep their reward, {} their function",
                    found.same_reward, found.codes, found.same_function
                ),
            )
        },
    ),
    claim(
        "d:order",
        SECTION,
        "The relabellings are a group of order (q!)^(T-1).",
        "gauge --task quasigroup --lengths 5 --code A.json",
        |facts| {
            let found = facts.probes.relabelling()?;
            exhaustive(1).holds(
                found.group == found.stated,
                format!("q = 5, T = 5: {}", found.group),
            )
        },
    ),
    claim(
        "d:overlap",
        SECTION,
        "Codes that compute the same function may disagree at essentially every \
         cell.",
        "gauge --task quasigroup --lengths 5 --code A.json --other B.json",
        |facts| {
            let found = facts.probes.relabelling()?;
            let least = found.least_shared;
            sampled(found.codes, 100).holds(
                least < 0.2,
                format!(
                    "a random relabelling leaves as few as {:.0} % of the cells equal, \
                     where chance leaves 20 %",
                    100.0 * least
                ),
            )
        },
    ),
    claim(
        "d:links",
        SECTION,
        "What relabelling leaves of a code is in the products of links, and their \
         ranks.",
        "gauge --task quasigroup --lengths 5 --code A.json",
        |facts| {
            let found = facts.probes.relabelling()?;
            sampled(found.codes, 10).holds(
                found.same_ranks == found.codes,
                format!(
                    "ranks of all links the same for {} of {} codes; the tests of `gauge` \
                     compare holonomies",
                    found.same_ranks, found.codes
                ),
            )
        },
    ),
    claim(
        "d:wide",
        SECTION,
        "Wider windows have the same symmetry, with links for every window.",
        "gauge --task quasigroup --lengths 5 --window 1,1 --code A.json",
        |facts| {
            let found = facts.probes.relabelling()?;
            sampled(found.codes, 10).holds(
                found.same_reward_wide == found.codes,
                format!(
                    "{} of {} random codes of the window (1,1) keep their reward; there the new \
                     names may even depend on symbols that the next step still sees, so that \
                     these are not all symmetries (erratum 12)",
                    found.same_reward_wide, found.codes
                ),
            )
        },
    ),
    claim(
        "d:decouples",
        SECTION,
        "Where every link of a step is constant, nothing before it matters.",
        "inspect --task parity --lengths 4 --code code.json",
        |facts| {
            let found = &facts.probes.parity_codes()?.lengths[&3];
            exhaustive(found.dead).holds(
                found.dead_not_half == 0,
                format!(
                    "parity at T = 3: of {} codes with a dead step {} are off 1/2; the census \
                     counts them by what follows alone",
                    found.dead, found.dead_not_half
                ),
            )
        },
    ),
];
