//! States appendix E: the proof's steps, product laws, wider windows, and what breaks.

use super::{
    Absent, BasisKind, Claim, Matters, ReproductionFacts, claim, exhaustive, exhaustive_of, proved,
    sampled,
};
use crate::claims::probes::census::ClassCensus;

const SECTION: &str = "App. E";

/// Classes of one length that were counted whole, and their traps in words.
fn counted<'a>(
    facts: &ReproductionFacts<'a>,
    which: fn(&ClassCensus) -> bool,
) -> Result<(Vec<&'a ClassCensus>, String), Absent> {
    let classes = facts.probes.windows()?.classes.iter();
    let classes: Vec<&ClassCensus> = classes.filter(|census| which(census)).collect();
    let named: Vec<&str> = classes.iter().map(|census| &census.class[..]).collect();
    let traps: u64 = classes.iter().map(|census| census.traps).sum();
    let text = format!(
        "{traps} traps among all codes of {} classes, uniform inputs: {}",
        classes.len(),
        named.join("; ")
    );
    Ok((classes, text))
}

pub const CLAIMS: &[Claim] = &[
    // Catches a dQ that forgets the visits d(c), or takes the continuation of another step.
    claim(
        "e:one-move",
        SECTION,
        BasisKind::Proved,
        "Untied, the change of J by one move is what the rollouts through its \
         cell gain: the difference of dQ.",
        "eval --code code.json --json",
        |facts| {
            let found = facts.probes.moves()?;
            proved(found.untied_of).holds(
                found.untied == found.untied_of,
                format!(
                    "proved in the paper; {} of {} single changes of random codes",
                    found.untied, found.untied_of
                ),
            )
        },
    ),
    // Catches cells that are called unconsulted and are not.
    claim(
        "e:unconsulted",
        SECTION,
        BasisKind::Proved,
        "A cell that no input consults can be changed at no cost.",
        "eval --code code.json --json",
        |facts| {
            let found = facts.probes.moves()?;
            proved(found.unconsulted).holds(
                found.unconsulted_moved == 0,
                format!(
                    "proved in the paper; of {} changes of such cells of random codes {} move J",
                    found.unconsulted, found.unconsulted_moved
                ),
            )
        },
    ),
    // Catches a gradient without the factor d(c), and rows of such cells that J depends on.
    claim(
        "e:zero-gradient",
        SECTION,
        BasisKind::Proved,
        "At a cell that no input consults the gradient is identically zero, so \
         that no gradient dynamics makes the preparing move.",
        "eval --policy policy.json --json",
        |facts| {
            let found = facts.probes.proof()?;
            proved(found.unconsulted).holds(
                found.unconsulted_moved == 0,
                format!(
                    "proved in the paper; {} such cells of random codes of the quasigroup at T = 4: \
                     {} have a slope that is not exactly 0, or a random row that moves J",
                    found.unconsulted, found.unconsulted_moved
                ),
            )
        },
    ),
    // Catches a fold that misses states, or a table that is not the task's: then some state has no token.
    claim(
        "e:forced-bijection",
        SECTION,
        BasisKind::Proved,
        "Up to a step without a collision tokens and states match one to one at \
         every step.",
        "inspect --task parity --lengths 4 --code code.json",
        |facts| {
            let found = facts.probes.proof()?;
            proved(found.collision_free).holds(
                found.not_bijective == 0,
                format!(
                    "proved in the paper; they do at {} of {} such steps (every code of parity at \
                     small T, optimal codes of the quasigroup)",
                    found.collision_free - found.not_bijective,
                    found.collision_free
                ),
            )
        },
    ),
    // Catches rollouts that depend on more than the cell: a later step that sees which input it serves.
    claim(
        "e:collision",
        SECTION,
        BasisKind::Proved,
        "Of inputs that collide at least one is not answered rightly, whatever \
         later steps do.",
        "inspect --task parity --lengths 4 --code code.json",
        |facts| {
            let found = facts.probes.proof()?;
            proved(found.pairs).holds(
                found.pairs_repaired == 0 && found.colliding_optimal == 0,
                format!(
                    "argued in the paper, for inputs that go on with the same symbols; every code of \
                     parity at small T: {} such pairs of inputs, {} of them both answered; {} codes \
                     with a collision, {} of them of reward 1",
                    found.pairs, found.pairs_repaired, found.colliding, found.colliding_optimal
                ),
            )
        },
    ),
    // Catches finishing moves that are neutral, are elsewhere than at the last step, or come twice to a cell.
    claim(
        "e:finish",
        SECTION,
        BasisKind::Proved,
        "Without collisions at most q^2 improving moves at the last step lead to \
         reward 1.",
        "escape --task z:5 --lengths 5 --code code.json",
        |facts| {
            let found = facts.probes.proof()?;
            proved(found.finished).holds(
                found.finished_improving == found.finished && found.finish_moves <= 25,
                format!(
                    "proved in the paper; {} of {} codes of the quasigroup at T = 4, free of \
                     collisions and with a random last step, reach 1 by one strictly improving move \
                     for each wrong cell, at most {} of q^2 = 25",
                    found.finished_improving, found.finished, found.finish_moves
                ),
            )
        },
    ),
    // Catches a construction that leaves a collision (it would not arrive), or that repairs a step twice.
    claim(
        "e:terminates",
        SECTION,
        BasisKind::Proved,
        "The construction removes collisions step by step and ends after finitely \
         many moves.",
        "escape --task z:5 --lengths 8 --code code.json --out path.json",
        |facts| {
            let found = facts.probes.escape()?;
            proved(found.tried).holds(
                found.within == found.tried && found.arrived == found.tried,
                format!(
                    "proved in the paper; {} of {} random codes arrive at reward 1, {} within the \
                     bound of three moves a cell",
                    found.arrived, found.tried, found.within
                ),
            )
        },
    ),
    // Catches an anatomy that calls consulted cells unconsulted: every code of parity is looked at by simulation.
    claim(
        "e:defended",
        SECTION,
        BasisKind::Exhaustive,
        "A code that no change of a consulted cell improves escapes first by \
         preparing an unconsulted cell.",
        "inspect --task quasigroup --lengths 3 --code code.json",
        |facts| {
            let (found, ascents) = (facts.probes.proof()?, facts.probes.defended()?);
            exhaustive(found.defended).holds(
                found.defended_full == 0 && found.strict_unconsulted_first == found.strict,
                format!(
                    "of all such codes of parity below 1 at small T, {}, {} have no unconsulted cell: \
                     only a neutral change of a consulted one can come first. {} of {} random ascents \
                     on the quasigroup at T = 3 end at such codes; the construction begins at an \
                     unconsulted cell for {}, and {} have none. Codes that lose by every change of a \
                     consulted cell: {} of parity, {} of the quasigroup",
                    found.defended,
                    found.defended_full,
                    ascents.codes,
                    ascents.tried,
                    ascents.unconsulted_first,
                    ascents.all_consulted,
                    found.strict,
                    ascents.strict
                ),
            )
        },
    )
    .touching(Matters::Wording),
    // Catches a construction that weighs inputs as if they were uniform: its moves would lower J.
    claim(
        "e:product",
        SECTION,
        BasisKind::Proved,
        "The proof holds for every product law of full support: 12 of 12 random \
         codes arrive under random Dirichlet marginals.",
        "escape --task quasigroup --lengths 4 --inputs product:FILE --code \
         code.json",
        |facts| {
            let found = facts.probes.escape_product()?;
            proved(found.runs).holds(
                found.arrived == found.runs,
                format!(
                    "the paper's proof uses independence alone; {} of {} random codes of the \
                     quasigroup at T = 4 arrive, each under marginals of its own, every path checked",
                    found.arrived, found.runs
                ),
            )
        },
    ),
    // Catches a census of wider windows that differs from the proof: a single trap.
    claim(
        "e:wide",
        SECTION,
        BasisKind::Proved,
        "The argument should extend to wider untied windows (left for future \
         work).",
        "enumerate --task parity --lengths 4 --window 1,0",
        |facts| {
            let (wide, text) = counted(facts, |census| census.memory == 1 && !census.is_narrow())?;
            let extends = wide.iter().all(|census| census.traps == 0);
            let why = if extends {
                "it does, for one remembered token: read a token given the symbols that two steps both see, and \
                 the same moves are free (docs/theorems.md)"
            } else {
                "a trap contradicts it, and docs/theorems.md with it"
            };
            proved(wide.iter().map(|census| census.codes).sum())
                .holds(extends, format!("{why}; {text}"))
        },
    ),
    // No proof: the pair of a remembered token and an unused one may be in use.
    claim(
        "e:wide-memory",
        SECTION,
        BasisKind::Exhaustive,
        "The same with more than one remembered token, which the paper defines \
         and then sets to one.",
        "enumerate --task parity --lengths 4 --memory 2",
        |facts| {
            let (classes, text) = counted(facts, |census| census.memory > 1)?;
            let codes = exhaustive(classes.iter().map(|census| census.codes).sum());
            match classes.iter().all(|census| census.traps == 0) {
                true => codes.undecided(format!("neither a proof nor a trap is known; {text}")),
                false => codes.holds(false, text),
            }
        },
    ),
    // Catches cells that a tied class does not share. One change that differs decides.
    claim(
        "e:tying",
        SECTION,
        BasisKind::Sampled,
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
    // The untied codes are the control: there a token that no input emits is always free.
    claim(
        "e:no-free-token",
        SECTION,
        BasisKind::Sampled,
        "Under tying a token that is unused at a step may be in use at another, \
         so that states that share a token need not leave a free one.",
        "inspect --task quasigroup --lengths 4 --tied --code code.json",
        |facts| {
            let found = facts.probes.breaks()?;
            sampled(found.tied, 50).holds(
                found.tied_none_free > 0 && found.untied_none_free == 0,
                format!(
                    "steps of {} random codes of the quasigroup at T = 4 at which states share a \
                     token: tied, {} of {} have no unused token whose cells are free; untied, {} of \
                     {}",
                    found.codes,
                    found.tied_none_free,
                    found.tied,
                    found.untied_none_free,
                    found.untied
                ),
            )
        },
    ),
    // Catches traps that come from equal probabilities alone: they are sought at several T and k.
    claim(
        "e:independence",
        SECTION,
        BasisKind::Exhaustive,
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
    // Catches, at every correlated trap, a token common to all symbols that is as good; the independent inputs
    // are the control.
    claim(
        "e:averages",
        SECTION,
        BasisKind::Exhaustive,
        "Under correlation the routing of a trap realises the average of the \
         maxima by symbol, any common token at most the maximum of the average.",
        "inspect --task parity --lengths 4 --inputs markov:9/10 --code code.json",
        |facts| {
            let found = facts.probes.breaks()?;
            exhaustive(found.parity).holds(
                found.traps > 0
                    && found.traps_above_common == found.traps
                    && found.uniform_gap == 0
                    && found.markov_gap > 0,
                format!(
                    "parity, T = 2 to 4, all {} codes: {} have a state for which the two differ at \
                     k = 9/10, {} under independent inputs; of {} traps {} have one at which the \
                     trap's tokens realise the first and every common token is worth less",
                    found.parity,
                    found.markov_gap,
                    found.uniform_gap,
                    found.traps,
                    found.traps_above_common
                ),
            )
        },
    ),
    // Catches a theorem that needs the Latin square after all: a trap over a table that is not one.
    claim(
        "e:bijectivity",
        SECTION,
        BasisKind::Proved,
        "The assumption of bijectivity cannot be removed, read as the table's: a \
         Latin square.",
        "claims --only e:bijectivity",
        |facts| {
            let found = &facts.probes.tables()?.other;
            let why = if found.traps > 0 {
                "it cannot"
            } else {
                "it can: states that share a token leave one unused for any table (docs/theorems.md)"
            };
            proved(found.codes).holds(
                found.traps > 0,
                format!(
                    "{why}; all codes of {} untied classes whose tables are not Latin squares, q = 2 and 3, have \
                     {} traps. The next subsections of the paper are on tying and correlation, so that it may mean \
                     tokens against states",
                    found.classes, found.traps
                ),
            )
        },
    )
    .touching(Matters::Wording),
    // The untied classes are the control.
    claim(
        "e:bijectivity-tokens",
        SECTION,
        BasisKind::Exhaustive,
        "The assumption of bijectivity cannot be removed, read as that of tokens \
         and states step by step, which tying removes.",
        "claims --only e:bijectivity-tokens",
        |facts| {
            let found = facts.probes.tables()?;
            let (tied, untied) = (&found.tied, &found.latin);
            // The smallest tied class known to have traps is Z_3 at T = 3.
            exhaustive_of(tied.codes, 3u64.pow(12)).holds(
                tied.trapped > 0 && untied.traps == 0,
                format!(
                    "tied classes counted whole, q = 2 and 3: {} of {} have traps, {} together; \
                     untied ones of Latin squares: {} of {}",
                    tied.trapped, tied.classes, tied.traps, untied.trapped, untied.classes
                ),
            )
        },
    ),
];
