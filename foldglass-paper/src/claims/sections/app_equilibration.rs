//! States appendix G's conventions and G.1: how chains become stationary (tab:equilibration).

use super::{Claim, Matters, basis, claim, exhaustive, numbers, ours, result, sampled};
use crate::reproduce::classes::{PARITY, QG, QG03, TIED};
use crate::reproduce::items::equilibration::{
    ITEM, Kernel, LOWER_SWEEPS, MIDDLE_BLOCK, Quantity, Statistic, UPPER_SWEEPS,
};
use crate::reproduce::studies::{APPROACH, CHAINS_WIDE, STATIONARITY};
use crate::reproduce::{Key, Row};

const SECTION: &str = "App. G.1";

/// The paper's gaps of the mean reward to the exact equilibrium, at the sweeps of the upper block.
const GAPS: [f64; 5] = [0.253, 0.112, 0.015, 0.0, 0.0];

pub const CLAIMS: &[Claim] = &[
    claim(
        "g:columns",
        SECTION,
        "The columns of the 5 x 5 table generate all permutations of five \
         symbols.",
        "task --task quasigroup",
        |facts| {
            let order = &facts.probes.visits()?.columns_generate;
            exhaustive(120).holds(order == "120", format!("a group of order {order}"))
        },
    ),
    claim(
        "g1:equilibrium",
        SECTION,
        "The exact equilibrium reward of parity at T = 10 and 1e-13 is 1.",
        "parity --length 10 --tau 1e-13",
        |facts| {
            let mean = facts.probes.parity_heat()?.t10.equilibrium;
            exhaustive(1).holds(mean == 1.0, format!("{mean:.12}"))
        },
    ),
    claim(
        "g1:approach",
        SECTION,
        "Parity approaches it as the table's upper block says.",
        "reproduce tab:equilibration",
        |facts| {
            let keys = UPPER_SWEEPS.into_iter().flat_map(|sweep| {
                let quantities = [Quantity::RewardAt(sweep), Quantity::AtOneAt(sweep)];
                quantities.map(|quantity| Key::new(PARITY, quantity))
            });
            numbers(facts, &ITEM, keys)
        },
    ),
    claim(
        "g1:gap-column",
        SECTION,
        "The gap to equilibrium falls from 0.253 at sweep 10 to 0 from sweep 100 \
         on.",
        "reproduce tab:equilibration",
        |facts| {
            let runs = facts.runs(APPROACH, PARITY)?.len() as u64;
            let (mut close, mut words) = (Vec::new(), Vec::new());
            for (sweep, paper) in UPPER_SWEEPS.into_iter().zip(GAPS) {
                let gap = 1.0 - facts.value(&ITEM, PARITY, Quantity::RewardAt(sweep))?;
                // Two standard errors of a mean of rewards that are 1/2 or 1.
                close.push((gap - paper).abs() <= 2.0 * 0.25 * (2.0 / runs as f64).sqrt());
                words.push(format!("{gap:.3} at {sweep} ({paper})"));
            }
            sampled(runs, 100).parts(&close, words.join(", "))
        },
    ),
    claim(
        "g1:three-quarters",
        SECTION,
        "Three quarters of the replicas are at the optimum by sweep 20 and all by \
         sweep 100.",
        "reproduce tab:equilibration",
        |facts| {
            let keys = [20, 100].map(|sweep| Key::new(PARITY, Quantity::AtOneAt(sweep)));
            numbers(facts, &ITEM, keys)
        },
    ),
    claim(
        "g1:same-chain",
        SECTION,
        "The table's blocks are of one chain: all replicas at the optimum by \
         sweep 100.",
        "reproduce tab:equilibration",
        |facts| {
            let runs = facts.runs(STATIONARITY, PARITY)?;
            let last = runs.iter().filter_map(|run| result(run, "last_change"));
            let most = last.fold(0.0, f64::max);
            sampled(runs.len() as u64, 200).holds(
                most <= 100.0,
                format!(
                    "the middle block's own maxima are 116 and 199; ours last change at sweep \
                     {most} (erratum 6)"
                ),
            )
        },
    )
    .touching(Matters::Wording),
    claim(
        "g1:stationarity",
        SECTION,
        "Sweeps to stationarity are as in the middle block.",
        "reproduce tab:equilibration",
        |facts| {
            let mut keys = Vec::new();
            for class in MIDDLE_BLOCK {
                for kernel in Kernel::ALL {
                    let quantities = Statistic::ALL.map(|of| Quantity::Stationarity(of, kernel));
                    keys.extend(quantities.map(|quantity| Key::new(class, quantity)));
                }
            }
            numbers(facts, &ITEM, keys)
        },
    ),
    claim(
        "g1:metropolis-slower",
        SECTION,
        "Both kernels agree on the stationary value, and Metropolis is the \
         slower.",
        "reproduce tab:equilibration",
        |facts| {
            let (mut slower, mut used): (Vec<(f64, f64)>, Vec<&Row>) = (Vec::new(), Vec::new());
            for class in MIDDLE_BLOCK {
                let median = |kernel| {
                    facts.row(
                        &ITEM,
                        class,
                        Quantity::Stationarity(Statistic::Median, kernel),
                    )
                };
                let rows = [median(Kernel::HeatBath)?, median(Kernel::Metropolis)?];
                slower.push((ours(rows[0])?, ours(rows[1])?));
                used.extend(rows);
            }
            let ends = facts.ends(STATIONARITY, QG, None)?;
            let same = ends.rewards.iter().all(|&reward| reward == 1.0);
            basis(&ITEM, &used).parts(
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
        |facts| {
            let mut keys = vec![Key::new(QG03, Quantity::AtOneAtEnd)];
            for class in [QG03, TIED] {
                keys.extend(LOWER_SWEEPS.map(|sweep| Key::new(class, Quantity::RewardAt(sweep))));
                keys.push(Key::new(class, Quantity::AtOneAt(20000)));
            }
            numbers(facts, &ITEM, keys)
        },
    ),
    claim(
        "g1:twelfth",
        SECTION,
        "All untied (0,3) runs arrive, the last by sweep 50,000, and stay at 1 to \
         sweep 200,000.",
        "chain --task quasigroup --lengths 7 --window 0,3 --kernel metropolis \
         --tau 1e-13 --sweeps 200000 --chains 12",
        |facts| {
            let runs = facts.runs(CHAINS_WIDE, QG03)?;
            let arrivals: Vec<f64> = runs
                .iter()
                .filter_map(|run| result(run, "sweeps_to_optimum"))
                .collect();
            let last = arrivals.iter().copied().fold(0.0, f64::max);
            let left = facts.probes.cold()?.untied.left_optimum;
            sampled(runs.len() as u64, 12).parts(
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
