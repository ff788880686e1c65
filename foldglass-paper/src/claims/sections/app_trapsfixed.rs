//! States G.2: traps at finite temperature and the fixed points of RLVR (fig:trapsfixed).

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Absent, Basis, Claim, Facts, Matters, basis, claim, numbers, ours, result, sampled};
use crate::reproduce::Key;
use crate::reproduce::classes::TIED;
use crate::reproduce::items::trapsfixed::{BOTH, Curve, EIGHT, ITEM, Quantity, SIX};
use crate::reproduce::studies::PURE_TIED;

const SECTION: &str = "App. G.2";

/// Traps of a family that the default scale has, of the paper's twelve.
const TRAPS: u64 = 6;

/// The traps of both families: a number of one trap at one temperature is not one of another trap.
pub fn traps(facts: &Facts) -> Result<Basis, Absent> {
    let rows = [
        facts.row(&ITEM, BOTH, Quantity::Converged)?,
        facts.row(&ITEM, TIED, Quantity::Converged)?,
    ];
    Ok(basis(&ITEM, &rows))
}

pub const CLAIMS: &[Claim] = &[
    claim(
        "g2:27-traps",
        SECTION,
        "Of 128 quenches each, 13 at T = 6 and 14 at T = 8 end in a trap.",
        "reproduce fig:trapsfixed",
        |facts| {
            let keys = [SIX, EIGHT].map(|class| Key::new(class, Quantity::Trapped));
            numbers(facts, &ITEM, keys)
        },
    ),
    claim(
        "g2:shelves",
        SECTION,
        "Eleven tied shelves were enumerated, of 1 to 26,112 codes; the twelfth \
         has more than 1.19e5.",
        "reproduce tab:trapsexist",
        |facts| {
            let ends = facts.endpoints()?;
            let certified = ends.iter().filter(|end| end.is_certified());
            let certified: Vec<usize> = certified.map(|end| end.shelf).collect();
            let most = certified.iter().copied().max().unwrap_or(0);
            sampled(ends.len() as u64, 12).parts(
                &[certified.len() + 1 >= ends.len(), most > 768],
                format!(
                    "ours: {} of {} enumerated, of {} to {most} codes; the other appendix has \
                     ten of at most 768 (erratum 4)",
                    certified.len(),
                    ends.len(),
                    certified.iter().min().unwrap_or(&0)
                ),
            )
        },
    ),
    claim(
        "g2:never-leaves",
        SECTION,
        "Up to 1e-6 the tied chains never leave the trap's reward.",
        "reproduce fig:trapsfixed",
        |facts| {
            let runs = facts.runs(PURE_TIED, TIED)?;
            let is_cold = |tau: f64| tau <= 1e-6;
            let (mut traps, mut off) = (BTreeSet::new(), Vec::new());
            for run in runs {
                let tau = run.settings.get("tau").and_then(Value::as_f64);
                let means = run.result.get("mean_rewards").and_then(Value::as_array);
                let (Some(start), Some(means)) = (result(run, "start_reward"), means) else {
                    continue;
                };
                let apart = means
                    .iter()
                    .filter_map(Value::as_f64)
                    .map(|mean| (mean - start).abs());
                if let (true, Some(most)) = (tau.is_some_and(is_cold), apart.reduce(f64::max)) {
                    traps.insert(run.run);
                    off.push(most);
                }
            }
            let left = off.iter().filter(|&&off| off > 1e-12).count();
            sampled(traps.len() as u64, TRAPS).holds(
                left == 0,
                format!(
                    "{left} of {} runs have a mean reward off the trap's, the most by {:.1e}",
                    off.len(),
                    off.iter().copied().fold(0.0, f64::max)
                ),
            )
        },
    ),
    claim(
        "g2:melts",
        SECTION,
        "Above the melting point the tied chains are at the chance value 1/5.",
        "reproduce fig:trapsfixed",
        |facts| {
            let melted = Key::new(TIED, Quantity::At(Curve::Reward, 0.001));
            numbers(facts, &ITEM, [melted])
        },
    ),
    claim(
        "g2:hot",
        SECTION,
        "At 0.3 the correlated traps' reward of 0.59 is still above chance.",
        "reproduce fig:trapsfixed",
        |facts| {
            let hot = Key::new(BOTH, Quantity::At(Curve::Reward, 0.3));
            numbers(facts, &ITEM, [hot])
        },
    ),
    claim(
        "g2:draws",
        SECTION,
        "Between 6 and 24,000 weakly correlated draws are left of a trap.",
        "reproduce fig:trapsfixed",
        |facts| {
            let row = facts.row(&ITEM, BOTH, Quantity::MostDraws)?;
            let most = ours(row)?;
            let fewest = |class| facts.row(&ITEM, class, Quantity::FewestDraws);
            let fewest = [fewest(BOTH)?.ours, fewest(TIED)?.ours];
            let least = fewest.into_iter().flatten().fold(f64::INFINITY, f64::min);
            traps(facts)?.parts(
                &[least >= 6.0, most <= 24_000.0],
                format!("between {least} and {most}: eight replicas of 6,000 sweeps are 48,000"),
            )
        },
    )
    .touching(Matters::Protocol),
    claim(
        "g2:converges",
        SECTION,
        "CAVI converges on all correlated traps and on nine of twelve tied ones.",
        "reproduce fig:trapsfixed",
        |facts| {
            let keys = [BOTH, TIED].map(|class| Key::new(class, Quantity::Converged));
            numbers(facts, &ITEM, keys)
        },
    ),
    claim(
        "g2:nearly",
        SECTION,
        "On the others one or two cells stay unstable and the reward is within \
         2e-5 of the trap's.",
        "reproduce fig:trapsfixed",
        |facts| {
            let keys = [Quantity::Unstable, Quantity::Far].map(|of| Key::new(TIED, of));
            numbers(facts, &ITEM, keys)
        },
    ),
];
