//! States appendix G's conventions and G.1: how chains become stationary (tab:equilibration).

use foldglass::support::stats::{Summary, median_interval};
use foldglass_study::Record;

use super::{
    Absent, BasisKind, Claim, Decided, INTERVAL, basis, claim, exhaustive, numbers, ours, sampled,
    told,
};
use crate::claims::facts::RunField;
use crate::reproduce::classes::{PARITY, QG03, TIED};
use crate::reproduce::items::equilibration::{
    ChainMove, EquilibrationQuantity, ITEM, LOWER_SWEEPS, MIDDLE_BLOCK, Statistic, UPPER_SWEEPS,
};
use crate::reproduce::studies::{CHAINS_WIDE, STATIONARITY};
use crate::reproduce::{Key, Row};

const SECTION: &str = "App. G.1";

/// The paper's gaps of the mean reward to the exact equilibrium, at the sweeps of the upper block.
const GAPS: [f64; 5] = [0.253, 0.112, 0.015, 0.0, 0.0];

/// The runs of (0,3) that the paper has.
const ARRIVALS: u64 = 12;

/// The sweeps at which runs reached the optimum; those that did not are left out.
fn arrivals(runs: &[&Record]) -> Result<Vec<f64>, Absent> {
    let mut list = Vec::new();
    for run in runs {
        list.extend(RunField::SweepsToOptimum.some_number(run)?);
    }
    Ok(list)
}

pub const CLAIMS: &[Claim] = &[
    claim(
        "g:columns",
        SECTION,
        BasisKind::Exhaustive,
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
        BasisKind::Exhaustive,
        "The exact equilibrium reward of parity at T = 10 and 1e-13 is 1.",
        "parity --lengths 10 --tau 1e-13",
        |facts| {
            let mean = facts.probes.parity_heat()?.t10.equilibrium;
            exhaustive(1).holds(mean == 1.0, format!("{mean:.12}"))
        },
    ),
    claim(
        "g1:approach",
        SECTION,
        BasisKind::Sampled,
        "Parity approaches it as the table's upper block says: rewards and shares \
         at the optimum by sweep.",
        "reproduce tab:equilibration",
        |facts| {
            let keys = UPPER_SWEEPS.into_iter().flat_map(|sweep| {
                let quantities = [
                    EquilibrationQuantity::RewardAt(sweep),
                    EquilibrationQuantity::AtOneAt(sweep),
                ];
                quantities.map(|quantity| Key::new(PARITY, quantity))
            });
            let decided = numbers(facts, &ITEM, keys)?;
            // A remark: the paper does not say in which order a sweep visits cells.
            let found = facts.probes.orders()?;
            let shares = |ones: &[u64]| {
                let share =
                    |&ones: &u64| format!("{:.1}", 100.0 * ones as f64 / found.chains as f64);
                ones.iter().map(share).collect::<Vec<_>>().join(", ")
            };
            let sweeps: Vec<String> = found.sweeps.iter().map(u64::to_string).collect();
            let evidence = format!(
                "{}; heat bath by cells, as here, has {} % of {} chains at 1 after sweeps {}, by \
                 steps, as in our middle block, {} %",
                decided.evidence,
                shares(&found.by_cells),
                found.chains,
                sweeps.join(", "),
                shares(&found.by_steps)
            );
            Ok(Decided {
                evidence,
                ..decided
            })
        },
    ),
    claim(
        "g1:gap-column",
        SECTION,
        BasisKind::Sampled,
        "The gap to equilibrium falls from 0.253 at sweep 10 to 0 from sweep 100 \
         on.",
        "reproduce tab:equilibration",
        |facts| {
            let (mut rows, mut close, mut words) = (Vec::new(), Vec::new(), Vec::new());
            for (sweep, paper) in UPPER_SWEEPS.into_iter().zip(GAPS) {
                // The gap is 1 less the reward, so that its comparison is the reward's.
                let row = facts.row(&ITEM, PARITY, EquilibrationQuantity::RewardAt(sweep))?;
                close.push(told(row));
                words.push(format!("{:.3} at {sweep} ({paper})", 1.0 - ours(row)?));
                rows.push(row);
            }
            let text = format!("ours (the paper's): {}", words.join(", "));
            basis(&ITEM, &rows).told(&close, text)
        },
    ),
    claim(
        "g1:three-quarters",
        SECTION,
        BasisKind::Sampled,
        "Three quarters of the replicas are at the optimum by sweep 20 and all by \
         sweep 100.",
        "reproduce tab:equilibration",
        |facts| {
            let keys =
                [20, 100].map(|sweep| Key::new(PARITY, EquilibrationQuantity::AtOneAt(sweep)));
            numbers(facts, &ITEM, keys)
        },
    ),
    claim(
        "g1:stationarity",
        SECTION,
        BasisKind::Sampled,
        "Sweeps to stationarity are as in the middle block.",
        "reproduce tab:equilibration",
        |facts| {
            let mut keys = Vec::new();
            for class in MIDDLE_BLOCK {
                for kernel in ChainMove::ALL {
                    let quantities =
                        Statistic::ALL.map(|of| EquilibrationQuantity::Stationarity(of, kernel));
                    keys.extend(quantities.map(|quantity| Key::new(class, quantity)));
                }
            }
            numbers(facts, &ITEM, keys)
        },
    ),
    claim(
        "g1:metropolis-slower",
        SECTION,
        BasisKind::Sampled,
        "Both kernels agree on the stationary value, and Metropolis is the \
         slower, because it can propose a cell's current action and hold.",
        "reproduce tab:equilibration",
        |facts| {
            let (mut used, mut words): (Vec<&Row>, Vec<String>) = (Vec::new(), Vec::new());
            let (mut slower, mut same, mut by_holding) = (true, true, true);
            for class in MIDDLE_BLOCK {
                let median = |kernel| {
                    let quantity = EquilibrationQuantity::Stationarity(Statistic::Median, kernel);
                    facts.row(&ITEM, class, quantity)
                };
                let rows = [median(ChainMove::HeatBath)?, median(ChainMove::Metropolis)?];
                let (bath, metropolis) = (ours(rows[0])?, ours(rows[1])?);
                used.extend(rows);
                slower &= bath < metropolis;
                let ends = facts.ends(STATIONARITY, class, None)?;
                same &= ends.rewards.iter().all(|&reward| reward == 1.0);
                // One proposal in q is the current action: a chain that never proposes it has q / (q - 1)
                // times as many proposals of a change.
                let q = if class == PARITY { 2.0 } else { 5.0 };
                let (ratio, holding) = (metropolis / bath, q / (q - 1.0));
                by_holding &= ratio <= holding;
                words.push(format!(
                    "{class} {bath} and {metropolis}, {ratio:.1} times as many, where proposals that \
                     hold account for up to {holding}"
                ));
            }
            let at_one = if same { "all" } else { "not all" };
            basis(&ITEM, &used).parts(
                &[slower, same, by_holding],
                format!(
                    "median sweeps, heat bath and Metropolis: {}; {at_one} chains of both kernels \
                     end at 1",
                    words.join("; ")
                ),
            )
        },
    ),
    claim(
        "g1:wide",
        SECTION,
        BasisKind::Sampled,
        "The (0,3) classes at 1,000, 5,000 and 20,000 sweeps are as in the lower \
         block.",
        "reproduce tab:equilibration",
        |facts| {
            let mut keys = vec![Key::new(QG03, EquilibrationQuantity::AtOneAtEnd)];
            for class in [QG03, TIED] {
                keys.extend(
                    LOWER_SWEEPS
                        .map(|sweep| Key::new(class, EquilibrationQuantity::RewardAt(sweep))),
                );
                keys.push(Key::new(class, EquilibrationQuantity::AtOneAt(20000)));
            }
            numbers(facts, &ITEM, keys)
        },
    ),
    claim(
        "g1:slower-wide",
        SECTION,
        BasisKind::Sampled,
        "The (0,3) classes are slower than those of the middle block by two \
         orders of magnitude.",
        "reproduce tab:equilibration",
        |facts| {
            let runs = facts.runs(CHAINS_WIDE, QG03)?;
            let arrivals = arrivals(&runs)?;
            let Some(wide) = Summary::of(&arrivals) else {
                return sampled(0, ARRIVALS).holds(false, "no untied run arrives");
            };
            let basis = sampled(wide.n as u64, ARRIVALS);
            let Some(interval) = median_interval(&arrivals, INTERVAL) else {
                return basis.undecided(format!("{} runs arrive: too few", wide.n));
            };
            let (mut close, mut words) = (Vec::new(), Vec::new());
            for class in MIDDLE_BLOCK {
                let quantity =
                    EquilibrationQuantity::Stationarity(Statistic::Median, ChainMove::Metropolis);
                let narrow = facts.value(&ITEM, class, quantity)?;
                // Two orders, as a number that is rounded. An interval that also has values of one or three
                // does not tell.
                let orders =
                    [interval.low, interval.high].map(|end| (end / narrow).log10().round());
                let two = orders.map(|orders| orders == 2.0);
                let apart = orders[1] < 2.0 || orders[0] > 2.0;
                close.push((two == [true; 2] || apart).then_some(!apart));
                words.push(format!(
                    "{:.0} times those of {class} ({narrow})",
                    wide.median / narrow
                ));
            }
            let text = format!(
                "median sweeps of Metropolis on untied (0,3), {} ({} to {}, 99 %) over {} runs that arrive, are {}; {} of {} \
                 intervals also have one or three orders",
                wide.median,
                interval.low,
                interval.high,
                wide.n,
                words.join(", "),
                close.iter().filter(|part| part.is_none()).count(),
                close.len()
            );
            if close.contains(&None) {
                return basis.undecided(text);
            }
            basis.told(&close, text)
        },
    ),
    claim(
        "g1:twelfth",
        SECTION,
        BasisKind::Sampled,
        "All untied (0,3) runs arrive, the last by sweep 50,000, and stay at 1 to \
         sweep 200,000.",
        "chain --task quasigroup --lengths 7 --window 0,3 --kernel metropolis \
         --tau 1e-13 --sweeps 200000 --runs 12",
        |facts| {
            let runs = facts.runs(CHAINS_WIDE, QG03)?;
            let arrivals = arrivals(&runs)?;
            let last = arrivals.iter().copied().reduce(f64::max);
            let arrived = last.map_or(String::new(), |last| format!(", the last at sweep {last}"));
            let cold = &facts.probes.cold()?.untied;
            let left = cold.left_optimum;
            let leaves = if left { "leaves" } else { "does not leave" };
            sampled(runs.len() as u64, ARRIVALS).parts(
                &[
                    arrivals.len() == runs.len() && last.is_some_and(|last| last <= 50_000.0),
                    !left,
                ],
                format!(
                    "{} of {} runs arrive{arrived}; they are stopped there, and a chain that starts at an \
                     optimal code {leaves} J = 1 in {} sweeps at 1e-13",
                    arrivals.len(),
                    runs.len(),
                    cold.optimum_sweeps
                ),
            )
        },
    ),
];
