//! States appendix E: the proof's steps, product laws, wider windows, and what breaks.

use super::{census, claim};
use crate::claims::decide::{holds, parts, say};
use crate::claims::{Claim, Verdict};

const SECTION: &str = "App. E";

pub const CLAIMS: &[Claim] = &[
    claim(
        "e:one-move",
        SECTION,
        "Untied, the change of J by one move is what the rollouts through its \
         cell gain: the difference of dQ.",
        "eval --code code.json --json",
        |facts| {
            let found = facts.probe("moves")?;
            holds(
                found["untied"] == found["untied_of"],
                format!(
                    "{} of {} single changes",
                    found["untied"], found["untied_of"]
                ),
            )
        },
    ),
    claim(
        "e:unconsulted",
        SECTION,
        "A cell that no input consults can be changed at no cost.",
        "eval --code code.json --json",
        |facts| {
            let found = facts.probe("moves")?;
            holds(
                found["unconsulted_moved"] == 0,
                format!(
                    "{} changes of such cells, {} move J",
                    found["unconsulted"], found["unconsulted_moved"]
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
            let found = facts.probe("escape")?;
            holds(
                found["finishes_within"] == found["tried"],
                format!("{} of {} paths", found["finishes_within"], found["tried"]),
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
            let found = facts.probe("escape")?;
            holds(
                found["within"] == found["tried"],
                format!(
                    "{} of {} paths are within the bound q^2 + q - 1 + (T-2)(3q^2 - 2q) + q^2",
                    found["within"], found["tried"]
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
            let found = facts.probe("defended")?;
            let text = format!(
                "{} random ascents on the quasigroup at T = 3 end at {} such codes; the \
                 construction begins at an unconsulted cell for {}; {} have no unconsulted cell \
                 at all and begin with neutral changes of consulted ones; none of whose changes \
                 is neutral are {}",
                found["tried"],
                found["codes"],
                found["unconsulted_first"],
                found["all_consulted"],
                found["strict"]
            );
            if found["codes"] == 0 {
                return say(Verdict::Open, text);
            }
            parts(
                &[
                    found["unconsulted_first"] == found["codes"],
                    found["all_consulted"] == 0,
                    found["unconsulted_first"] != 0,
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
            let found = facts.probe("escape-product")?;
            holds(
                found["arrived"] == found["runs"],
                format!(
                    "{} of {}, every path checked",
                    found["arrived"], found["runs"]
                ),
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
            let classes = census(facts, "windows")?;
            let wide: Vec<&(String, u64, u64)> = classes
                .iter()
                .filter(|(name, ..)| !name.contains("(0,0) n_y=1"))
                .collect();
            let named: Vec<&str> = wide.iter().map(|(name, ..)| &name[..]).collect();
            holds(
                wide.iter().all(|(_, traps, _)| *traps == 0),
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
            let found = facts.probe("moves")?;
            holds(
                found["tied"] != found["tied_of"],
                format!(
                    "it is for {} of {} single changes of tied codes",
                    found["tied"], found["tied_of"]
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
            let list = facts.probe("correlated")?["classes"].as_array()?;
            let trapped = list.iter().filter(|line| line["traps"] != "0").count();
            holds(
                trapped > 0,
                format!(
                    "correlated parity has traps at {trapped} of {} values of T and k",
                    list.len()
                ),
            )
        },
    ),
    claim(
        "e:bijectivity",
        SECTION,
        "That the table is a Latin square cannot be dropped.",
        "task --task own.json",
        |_| {
            say(
                Verdict::Open,
                "other tables are refused here, so nothing is computed for them",
            )
        },
    ),
];
