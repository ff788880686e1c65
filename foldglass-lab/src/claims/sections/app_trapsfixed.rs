//! States G.2: traps at finite temperature and the fixed points of RLVR (fig:trapsfixed).

use super::claim;
use crate::claims::Claim;
use crate::claims::decide::{holds, numbers, parts, such};
use crate::claims::facts::result;
use crate::reproduce::studies::PURE_TIED;

const SECTION: &str = "App. G.2";
const ITEM: &str = "fig:trapsfixed";
const TIED: &str = "quasigroup (0,3) T=7 tied";
const BOTH: &str = "parity k=9/10 T=6, 8";

pub const CLAIMS: &[Claim] = &[
    claim(
        "g2:27-traps",
        SECTION,
        "Of 128 quenches each, 13 at T = 6 and 14 at T = 8 end in a trap.",
        "reproduce fig:trapsfixed",
        |facts| {
            such(facts, ITEM, |row| {
                row.quantity == "chains that end in a trap" && row.row.starts_with("parity")
            })
        },
    ),
    claim(
        "g2:shelves",
        SECTION,
        "Eleven tied shelves were enumerated, of 1 to 26,112 codes; the twelfth \
         has more than 1.19e5.",
        "reproduce tab:trapsexist",
        |facts| {
            let ends = &facts.data.landscape.endpoints;
            let certified: Vec<usize> = ends
                .iter()
                .filter(|end| end.verdict == "certified")
                .map(|end| end.shelf)
                .collect();
            let most = certified.iter().copied().max()?;
            parts(
                &[certified.len() + 1 >= ends.len(), most > 768],
                format!(
                    "ours: {} of {} enumerated, of {} to {most} codes; the other appendix has \
                     ten of at most 768 (erratum 4)",
                    certified.len(),
                    ends.len(),
                    certified.iter().min()?
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
            let runs = facts.runs(PURE_TIED, "qg03-tied")?;
            let cold: Vec<f64> = runs
                .iter()
                .filter(|run| {
                    run.settings
                        .get("tau")
                        .and_then(serde_json::Value::as_f64)
                        .is_some_and(|tau| tau <= 1e-6)
                })
                .filter_map(|run| {
                    let means = run.result.get("mean_rewards")?.as_array()?;
                    let start = result(run, "start_reward")?;
                    means
                        .iter()
                        .filter_map(serde_json::Value::as_f64)
                        .map(|mean| (mean - start).abs())
                        .reduce(f64::max)
                })
                .collect();
            (!cold.is_empty()).then_some(())?;
            let left = cold.iter().filter(|&&off| off > 1e-12).count();
            holds(
                left == 0,
                format!(
                    "{left} of {} runs have a mean reward off the trap's, the most by {:.1e}",
                    cold.len(),
                    cold.iter().copied().fold(0.0, f64::max)
                ),
            )
        },
    ),
    claim(
        "g2:melts",
        SECTION,
        "Above the melting point the tied chains are at the chance value 1/5.",
        "reproduce fig:trapsfixed",
        |facts| numbers(facts, ITEM, &[(TIED, "MC reward at tau = 0.001")]),
    ),
    claim(
        "g2:hot",
        SECTION,
        "At 0.3 the correlated traps' reward of 0.59 is still above chance.",
        "reproduce fig:trapsfixed",
        |facts| numbers(facts, ITEM, &[(BOTH, "MC reward at tau = 0.3")]),
    ),
    claim(
        "g2:draws",
        SECTION,
        "Between 6 and 24,000 weakly correlated draws are left of a trap.",
        "reproduce fig:trapsfixed",
        |facts| {
            let fewest =
                "fewest draws of a finite-temperature trap (6 in the paper, of both families)";
            let own = |class: &str, quantity: &str| -> Option<f64> {
                let row = facts.row(ITEM, class, quantity)?;
                row.ours_cell.text().replace(',', "").parse().ok()
            };
            let most = own(BOTH, "most draws of a finite-temperature trap")?;
            let least = own(BOTH, fewest)
                .into_iter()
                .chain(own(TIED, fewest))
                .reduce(f64::min);
            let least = least.unwrap_or(f64::NAN);
            parts(
                &[least >= 6.0, most <= 24_000.0],
                format!("between {least} and {most}: eight replicas of 6,000 sweeps are 48,000"),
            )
        },
    ),
    claim(
        "g2:converges",
        SECTION,
        "CAVI converges on all correlated traps and on nine of twelve tied ones.",
        "reproduce fig:trapsfixed",
        |facts| {
            such(facts, ITEM, |row| {
                row.quantity == "traps whose CAVI converges at every temperature"
            })
        },
    ),
    claim(
        "g2:nearly",
        SECTION,
        "On the others one or two cells stay unstable and the reward is within \
         2e-5 of the trap's.",
        "reproduce fig:trapsfixed",
        |facts| {
            such(facts, ITEM, |row| {
                row.quantity.starts_with("most unstable cells")
                    || row.quantity.starts_with("most that its endpoint")
            })
        },
    ),
];
