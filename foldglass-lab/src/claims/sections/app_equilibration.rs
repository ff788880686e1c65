//! States appendix G's conventions and G.1: how chains become stationary (tab:equilibration).

use super::claim;
use crate::claims::decide::{holds, numbers, parts, such};
use crate::claims::facts::result;
use crate::claims::{Claim, Facts};
use crate::reproduce::studies::{APPROACH, CHAINS_WIDE, STATIONARITY};

const SECTION: &str = "App. G.1";
const ITEM: &str = "tab:equilibration";
const PARITY: &str = "parity (0,0) T=10";

/// The gap of the mean reward to the exact equilibrium, by sweep, with the paper's.
fn gaps(facts: &Facts) -> Option<Vec<(usize, f64, f64)>> {
    let stated = [
        (10, 0.253),
        (20, 0.112),
        (40, 0.015),
        (100, 0.0),
        (1000, 0.0),
    ];
    let gap = |(sweep, paper): (usize, f64)| {
        let row = facts.row(ITEM, PARITY, &format!("J at sweep {sweep}"))?;
        Some((sweep, 1.0 - row.ours?, paper))
    };
    stated.into_iter().map(gap).collect()
}

pub const CLAIMS: &[Claim] = &[
    claim(
        "g:columns",
        SECTION,
        "The columns of the 5 x 5 table generate all permutations of five \
         symbols.",
        "task --task quasigroup",
        |facts| {
            let order = facts.probe("visits")?["columns_generate"].as_str()?;
            holds(order == "120", format!("a group of order {order}"))
        },
    ),
    claim(
        "g1:equilibrium",
        SECTION,
        "The exact equilibrium reward of parity at T = 10 and 1e-13 is 1.",
        "parity --length 10 --tau 1e-13",
        |facts| {
            let mean = facts.number("parity-heat", "/T10/equilibrium_at_1e-13")?;
            holds(mean == 1.0, format!("{mean:.12}"))
        },
    ),
    claim(
        "g1:approach",
        SECTION,
        "Parity approaches it as the table's upper block says.",
        "reproduce tab:equilibration",
        |facts| {
            such(facts, ITEM, |row| {
                row.row == PARITY
                    && row.quantity.contains("at sweep")
                    && !row.quantity.contains("by steps")
            })
        },
    ),
    claim(
        "g1:gap-column",
        SECTION,
        "The gap to equilibrium falls from 0.253 at sweep 10 to 0 from sweep 100 \
         on.",
        "reproduce tab:equilibration",
        |facts| {
            let gaps = gaps(facts)?;
            let runs = facts.runs(APPROACH, "parity")?.len() as f64;
            // Two standard errors of a mean of rewards that are 1/2 or 1.
            let close = |&(_, ours, paper): &(usize, f64, f64)| {
                (ours - paper).abs() <= 2.0 * 0.25 * (2.0 / runs).sqrt()
            };
            let words: Vec<String> = gaps
                .iter()
                .map(|(sweep, ours, paper)| format!("{ours:.3} at {sweep} ({paper})"))
                .collect();
            parts(
                &gaps.iter().map(close).collect::<Vec<_>>(),
                words.join(", "),
            )
        },
    ),
    claim(
        "g1:three-quarters",
        SECTION,
        "Three quarters of the replicas are at the optimum by sweep 20 and all by \
         sweep 100.",
        "reproduce tab:equilibration",
        |facts| {
            numbers(
                facts,
                ITEM,
                &[(PARITY, "at 1 at sweep 20"), (PARITY, "at 1 at sweep 100")],
            )
        },
    ),
    claim(
        "g1:same-chain",
        SECTION,
        "The table's blocks are of one chain: all replicas at the optimum by \
         sweep 100.",
        "reproduce tab:equilibration",
        |facts| {
            let last = facts
                .data
                .has(STATIONARITY)
                .then(|| facts.data.last_changes(STATIONARITY, "parity", ""))?;
            let most = last.iter().copied().fold(0.0, f64::max);
            holds(
                most <= 100.0,
                format!(
                    "the middle block's own maxima are 116 and 199; ours last change at sweep \
                     {most} (erratum 6)"
                ),
            )
        },
    ),
    claim(
        "g1:stationarity",
        SECTION,
        "Sweeps to stationarity are as in the middle block.",
        "reproduce tab:equilibration",
        |facts| {
            such(facts, ITEM, |row| {
                row.quantity.starts_with("sweeps to stationarity")
            })
        },
    ),
    claim(
        "g1:metropolis-slower",
        SECTION,
        "Both kernels agree on the stationary value, and Metropolis is the \
         slower.",
        "reproduce tab:equilibration",
        |facts| {
            let mut slower = Vec::new();
            for class in [PARITY, "Z_5 (0,0) T=8", "quasigroup (0,0) T=8"] {
                let median = |kernel: &str| {
                    facts
                        .row(
                            ITEM,
                            class,
                            &format!("sweeps to stationarity, median, {kernel}"),
                        )?
                        .ours
                };
                slower.push((median("heat bath")?, median("Metropolis")?));
            }
            let ends: Vec<f64> = ["heat-bath", "metropolis"]
                .iter()
                .flat_map(|kernel| facts.data.ends(STATIONARITY, "qg", kernel, None).rewards)
                .collect();
            let same = ends.iter().all(|&reward| reward == 1.0);
            parts(
                &[
                    slower.iter().all(|(bath, metropolis)| bath < metropolis),
                    same,
                ],
                format!(
                    "medians, heat bath and Metropolis: {slower:?}; all quasigroup chains of \
                     both end at 1: {same}"
                ),
            )
        },
    ),
    claim(
        "g1:wide",
        SECTION,
        "The (0,3) classes at 1,000, 5,000 and 20,000 sweeps are as in the lower \
         block.",
        "reproduce tab:equilibration",
        |facts| such(facts, ITEM, |row| row.row.contains("(0,3)")),
    ),
    claim(
        "g1:twelfth",
        SECTION,
        "All untied (0,3) runs arrive, the last by sweep 50,000, and stay at 1 to \
         sweep 200,000.",
        "chain --task quasigroup --lengths 7 --window 0,3 --kernel metropolis \
         --tau 1e-13 --sweeps 200000 --chains 12",
        |facts| {
            let runs = facts.runs(CHAINS_WIDE, "qg03")?;
            let arrivals: Vec<f64> = runs
                .iter()
                .filter_map(|run| result(run, "sweeps_to_optimum"))
                .collect();
            let last = arrivals.iter().copied().fold(0.0, f64::max);
            let left = facts.probe("cold")?["classes"][0]["left_optimum"].as_bool()?;
            parts(
                &[arrivals.len() == runs.len(), !left],
                format!(
                    "{} of {} runs arrive, the last at sweep {last}; an optimal code does not \
                     leave J = 1 at 1e-13, where the smallest loss has probability \
                     e^-(1.28e8)",
                    arrivals.len(),
                    runs.len()
                ),
            )
        },
    ),
];
