//! States appendix E: the proof's steps, product laws, wider windows, and what breaks.

use super::{Claim, claim, exhaustive, sampled, undecided};
use crate::claims::probes::census::Census;

const SECTION: &str = "App. E";

pub const CLAIMS: &[Claim] = &[
    claim(
        "e:one-move",
        SECTION,
        "Untied, the change of J by one move is what the rollouts through its \
         cell gain: the difference of dQ.",
        "eval --code code.json --json",
        |facts| {
            let found = facts.probes.moves()?;
            sampled(found.untied_of, 1_000).holds(
                found.untied == found.untied_of,
                format!("{} of {} single changes", found.untied, found.untied_of),
            )
        },
    ),
    claim(
        "e:unconsulted",
        SECTION,
        "A cell that no input consults can be changed at no cost.",
        "eval --code code.json --json",
        |facts| {
            let found = facts.probes.moves()?;
            sampled(found.unconsulted, 100).holds(
                found.unconsulted_moved == 0,
                format!(
                    "{} changes of such cells, {} move J",
                    found.unconsulted, found.unconsulted_moved
                ),
            )
        },
    ),
    claim(
        "e:finish",
        SECTION,
        "Without collisions at most q^2 improving moves at the last step lead to \
         reward 1.",
        "escape --task z:5 --lengths 5 --code code.json",
        |facts| {
            let found = facts.probes.escape()?;
            sampled(found.tried, 40).holds(
                found.finishes_within == found.tried,
                format!("{} of {} paths", found.finishes_within, found.tried),
            )
        },
    ),
    claim(
        "e:terminates",
        SECTION,
        "The construction removes collisions step by step and ends after finitely \
         many moves.",
        "escape --task z:5 --lengths 8 --code code.json --out path.json",
        |facts| {
            let found = facts.probes.escape()?;
            sampled(found.tried, 40).holds(
                found.within == found.tried,
                format!(
                    "{} of {} paths are within the bound q^2 + q - 1 + (T-2)(3q^2 - 2q) + q^2",
                    found.within, found.tried
                ),
            )
        },
    ),
    claim(
        "e:defended",
        SECTION,
        "A code that no change of a consulted cell improves escapes first by \
         preparing a cell that nobody consults, which no gradient does.",
        "inspect --task quasigroup --lengths 3 --code code.json",
        |facts| {
            let found = facts.probes.defended()?;
            let text = format!(
                "{} random ascents on the quasigroup at T = 3 end at {} such codes; the \
                 construction begins at an unconsulted cell for {}; {} have no unconsulted cell \
                 at all and begin with neutral changes of consulted ones; none of whose changes \
                 is neutral are {}",
                found.tried,
                found.codes,
                found.unconsulted_first,
                found.all_consulted,
                found.strict
            );
            let needs = if found.codes == 0 { u64::MAX } else { 2_000 };
            sampled(found.tried, needs).parts(
                &[
                    found.unconsulted_first == found.codes,
                    found.all_consulted == 0,
                    found.unconsulted_first != 0,
                ],
                text,
            )
        },
    ),
    claim(
        "e:product",
        SECTION,
        "The proof holds for every product law of full support: 12 of 12 random \
         codes arrive under random Dirichlet marginals.",
        "escape --task quasigroup --lengths 4 --inputs product:FILE --code \
         code.json",
        |facts| {
            let found = facts.probes.escape_product()?;
            sampled(found.runs, 4).holds(
                found.arrived == found.runs,
                format!("{} of {}, every path checked", found.arrived, found.runs),
            )
        },
    ),
    claim(
        "e:wide",
        SECTION,
        "Wider untied windows, and longer memory, should be benign too (a \
         conjecture).",
        "enumerate --task parity --lengths 4 --window 1,0",
        |facts| {
            let classes = &facts.probes.windows()?.classes;
            let wide: Vec<&Census> = classes
                .iter()
                .filter(|census| !census.is_narrow())
                .collect();
            let named: Vec<&str> = wide.iter().map(|census| &census.class[..]).collect();
            exhaustive(wide.iter().map(|census| census.codes).sum()).holds(
                wide.iter().all(|census| census.traps == 0),
                format!(
                    "no trap among all codes of {} wider classes, one length, uniform inputs: \
                     {}",
                    wide.len(),
                    named.join("; ")
                ),
            )
        },
    ),
    claim(
        "e:tying",
        SECTION,
        "Under tying the change by one move is no longer the difference of dQ.",
        "certify --code ends.json",
        |facts| {
            let found = facts.probes.moves()?;
            sampled(found.tied_of, 100).holds(
                found.tied != found.tied_of,
                format!(
                    "it is for {} of {} single changes of tied codes",
                    found.tied, found.tied_of
                ),
            )
        },
    ),
    claim(
        "e:independence",
        SECTION,
        "Independence of the inputs cannot be dropped.",
        "enumerate --task parity --lengths 4 --inputs markov:9/10",
        |facts| {
            let classes = &facts.probes.correlated()?.classes;
            let trapped = classes.iter().filter(|census| census.traps > 0).count();
            exhaustive(classes.iter().map(|census| census.codes).sum()).holds(
                trapped > 0,
                format!(
                    "correlated parity has traps at {trapped} of {} values of T and k",
                    classes.len()
                ),
            )
        },
    ),
    claim(
        "e:bijectivity",
        SECTION,
        "That the table is a Latin square cannot be dropped.",
        "task --task own.json",
        |_| undecided("other tables are refused here, so nothing is computed for them"),
    ),
];
