//! States appendix D: relabelling, its group, what is invariant.

use super::{BasisKind, Claim, Matters, claim, exhaustive, sampled};
use crate::claims::probes::gauge::{FoldingImages, Holonomies};

const SECTION: &str = "App. D";

pub const CLAIMS: &[Claim] = &[
    // Catches a relabelling that renames what is emitted but not what the next step reads.
    claim(
        "d:symmetry",
        SECTION,
        BasisKind::Sampled,
        "Relabelling the tokens of every step but the last leaves the reward as \
         it is.",
        "gauge --task quasigroup --lengths 5 --code A.json --relabel random --out \
         B.json",
        |facts| {
            let found = facts.probes.relabelling()?;
            sampled(found.codes, 10).holds(
                found.same_reward == found.codes && found.same_function == found.codes,
                format!(
                    "{} of {} random codes keep their reward, {} their function",
                    found.same_reward, found.codes, found.same_function
                ),
            )
        },
    )
    .same_as("setting:gauge-symmetry"),
    // Catches a group that leaves out a step, renames the last one, or has two names for one relabelling.
    claim(
        "d:order",
        SECTION,
        BasisKind::Exhaustive,
        "The relabellings are a group of order (q!)^(T-1).",
        "gauge --task quasigroup --lengths 5 --code A.json",
        |facts| {
            let orders = &facts.probes.relabelling()?.orders;
            let right = |order: &FoldingImages| {
                let images = order.images.to_string();
                images == order.stated && order.order == order.stated && order.optimal == order.images
            };
            let word = |order: &FoldingImages| {
                format!(
                    "{} at q = {}, T = {} ({} stated)",
                    order.images, order.q, order.length, order.stated
                )
            };
            let words: Vec<String> = orders.iter().map(word).collect();
            exhaustive(orders.iter().map(|order| order.images).sum()).holds(
                orders.iter().all(right),
                format!(
                    "all relabellings of the code that folds, each another code of reward 1: {}",
                    words.join("; ")
                ),
            )
        },
    ),
    // One pair of codes decides. Catches a relabelling that renames no token.
    claim(
        "d:overlap",
        SECTION,
        BasisKind::Exhaustive,
        "Codes that compute the same function may disagree at essentially every \
         cell.",
        "gauge --task z:5 --lengths 5 --code A.json --other B.json",
        |facts| {
            let found = facts.probes.relabelling()?;
            let shifted = &found.shifted;
            exhaustive(1).holds(
                shifted.agreement == "1/1" && shifted.shared == 0,
                format!(
                    "the code that folds Z_5 at T = 5 and the same with tokens shifted by t at step \
                     t agree at {} of {} cells and on a share of {} of the inputs; {} random \
                     relabellings of random codes of the quasigroup leave at least {:.0} % of the \
                     cells equal, where chance leaves 20 %",
                    shifted.shared,
                    shifted.cells,
                    shifted.agreement,
                    found.codes,
                    100.0 * found.least_shared
                ),
            )
        },
    ),
    // Catches holonomies that a relabelling changes, and contents that two orbits share.
    claim(
        "d:links",
        SECTION,
        BasisKind::Exhaustive,
        "What relabelling leaves of a code is in the holonomies Sigma_{t,x} \
         Sigma_{t,x'}^-1 together with the boundary term.",
        "gauge --task quasigroup --lengths 5 --code A.json",
        |facts| {
            let found = &facts.probes.relabelling()?.holonomies;
            let complete = |class: &Holonomies| class.changed == 0 && class.contents == class.orbits;
            let everywhere = |class: &Holonomies| class.codes == class.all;
            let word = |class: &Holonomies| {
                format!(
                    "q = {}, T = {}: {} of {} codes have inverses of all links; {} of these have \
                     holonomies that a relabelling changes, and {} different contents tell {} \
                     orbits apart",
                    class.q,
                    class.length,
                    class.codes,
                    class.all,
                    class.changed,
                    class.contents,
                    class.orbits
                )
            };
            let words: Vec<String> = found.iter().map(word).collect();
            exhaustive(found.iter().map(|class| class.codes).sum()).holds(
                found.iter().all(complete) && found.iter().all(everywhere),
                format!(
                    "carried to the last step, where nothing is renamed. {}. A link that merges two \
                     tokens has no inverse",
                    words.join(". ")
                ),
            )
        },
    )
    .touching(Matters::Wording),
    // Catches a relabelling that is applied to some windows of a step and not to others.
    claim(
        "d:wide",
        SECTION,
        BasisKind::Sampled,
        "Models with wider windows have a link for every step and window of \
         symbols, and the same relabelling.",
        "gauge --task quasigroup --lengths 5 --window 1,1 --code A.json",
        |facts| {
            let found = facts.probes.relabelling()?;
            let inner = found.links_wide.iter().max().copied().unwrap_or(0);
            let links: Vec<String> = found.links_wide.iter().map(usize::to_string).collect();
            sampled(found.codes, 10).holds(
                found.same_reward_wide == found.codes && inner == 125,
                format!(
                    "{} of {} random codes of the window (1,1) at T = 4 keep their reward; their \
                     steps have {} links: q^3 where the window is inside the input, fewer at its \
                     ends (erratum 12 has further symmetries)",
                    found.same_reward_wide,
                    found.codes,
                    links.join(", ")
                ),
            )
        },
    ),
    // Compares functions: with a dead step the reward is 1/q whatever the program does with earlier steps.
    claim(
        "d:decouples",
        SECTION,
        BasisKind::Sampled,
        "Where every link of a step has rank one, only later steps remain \
         relevant.",
        "inspect --task parity --lengths 4 --code code.json",
        |facts| {
            let found = facts.probes.resets()?;
            sampled(found.codes, 10).holds(
                found.same_function == found.codes && found.same_function_one_link < found.codes,
                format!(
                    "codes of the quasigroup at T = 5 with a step of constant links, all earlier \
                     steps drawn anew: {} of {} compute the same function; with one of the five \
                     links of that step a permutation {} do",
                    found.same_function, found.codes, found.same_function_one_link
                ),
            )
        },
    ),
];
