//! States G.3: the gap between RLVR and Monte Carlo (tab:shortfall).

use super::{Claim, all_numbers, claim, numbers, result, sampled};
use crate::claims::Verdict;
use crate::reproduce::Key;
use crate::reproduce::classes::{CLASSES, PARITY, QG03};
use crate::reproduce::items::shortfall::{ALL_UNTIED, BUT_PARITY, ITEM, Quantity::AtOne, Runs};
use crate::reproduce::studies::{PLAIN, SCAN};

const SECTION: &str = "App. G.3";

/// Residuals up to this are stationary: no probability would move by more.
const STILL: f64 = 1e-6;

pub const CLAIMS: &[Claim] = &[
    claim(
        "g3:chains",
        SECTION,
        "All 268 chains on untied classes reach reward 1.",
        "reproduce tab:shortfall",
        |facts| numbers(facts, &ITEM, [Key::new(ALL_UNTIED, AtOne(Runs::Chain))]),
    ),
    claim(
        "g3:rlvr",
        SECTION,
        "RLVR does in 40 of 168 runs outside parity and in 100 of 100 on parity.",
        "reproduce tab:shortfall",
        |facts| {
            let keys = [BUT_PARITY, PARITY].map(|class| Key::new(class, AtOne(Runs::Rlvr)));
            numbers(facts, &ITEM, keys)
        },
    ),
    claim(
        "g3:table",
        SECTION,
        "The rows of the table hold.",
        "reproduce tab:shortfall",
        |facts| all_numbers(facts, &ITEM),
    ),
    claim(
        "g3:stationary",
        SECTION,
        "Every endpoint of RLVR is stationary under the iteration.",
        "cavi --task quasigroup --lengths 8 --tau 1e-10 --iterations 2000 --runs \
         60 --json",
        |facts| {
            let (mut words, mut still, mut fewest) = (Vec::new(), Vec::new(), u64::MAX);
            for class in CLASSES {
                let runs = facts.runs(PLAIN, class)?;
                let own = runs
                    .iter()
                    .filter(|run| result(run, "residual").is_some_and(|residual| residual <= STILL))
                    .count();
                still.push(own == runs.len());
                fewest = fewest.min(runs.len() as u64);
                words.push(format!("{class} {own}/{}", runs.len()));
            }
            sampled(fewest, 12).parts(
                &still,
                format!(
                    "endpoints with a residual of at most {STILL:e}: {}",
                    words.join(", ")
                ),
            )
        },
    ),
    claim(
        "g3:cold",
        SECTION,
        "On the (0,3) classes the chain's outcome is the same at every \
         temperature from 1e-13 to 1e-7.",
        "chain --task quasigroup --lengths 7 --window 0,3 --kernel metropolis \
         --tau 1e-7 --sweeps 200 --chains 1 --json",
        |facts| {
            let found = facts.probes.cold()?;
            let falls = [found.untied.falls, found.tied.falls];
            sampled(found.untied.sweeps, 200).parts(
                &falls.map(|falls| falls == 0),
                format!(
                    "sweeps that lower J among {} at each of {:?}, untied and tied: {falls:?}; so \
                     they accept what a chain at no temperature accepts (a loss of one quantum \
                     has probability e^-128 at 1e-7)",
                    found.untied.sweeps, found.taus
                ),
            )
        },
    ),
    claim(
        "g3:decade",
        SECTION,
        "RLVR on the untied (0,3) class still gains 0.01 a decade of cooling at \
         1e-13.",
        "reproduce tab:regulator",
        |facts| {
            let mut taus = facts.records.temperatures(SCAN, QG03.id);
            taus.sort_by(f64::total_cmp);
            let cold = facts.summary(PLAIN, QG03, None)?;
            // The next decade or the nearest to it.
            let next = taus
                .into_iter()
                .filter(|&tau| tau > 2e-13)
                .min_by(|a, b| (a / 1e-12).ln().abs().total_cmp(&(b / 1e-12).ln().abs()))
                .expect("the scan has warmer temperatures");
            let warm = facts.summary(SCAN, QG03, Some(next))?;
            let decades = (next / 1e-13).log10();
            let gain = (cold.mean - warm.mean) / decades;
            let error = (cold.sd.unwrap_or(0.0).powi(2) / cold.n as f64
                + warm.sd.unwrap_or(0.0).powi(2) / warm.n as f64)
                .sqrt()
                / decades;
            let close = (gain - 0.01).abs() <= 2.0 * error;
            let verdict = match close {
                _ if error > 0.01 => Verdict::Undecided,
                true => Verdict::Holds,
                false => Verdict::Contradicted,
            };
            sampled(cold.n.min(warm.n) as u64, 12).says(
                verdict,
                format!(
                    "from {next:e} to 1e-13: {gain:.4} ± {error:.4} a decade ({} and {} runs)",
                    warm.n, cold.n
                ),
            )
        },
    ),
    claim(
        "g3:spread",
        SECTION,
        "RLVR spreads a cell's probability over tied actions, so its endpoints \
         are no codes.",
        "cavi --task quasigroup --lengths 8 --tau 1e-10 --iterations 2000 --runs \
         60 --json",
        |facts| {
            let (mut words, mut spread, mut fewest) = (Vec::new(), Vec::new(), u64::MAX);
            for class in CLASSES.into_iter().filter(|class| *class != PARITY) {
                let runs = facts.runs(PLAIN, class)?;
                let entropies: Vec<f64> = runs
                    .iter()
                    .filter(|run| run.result.get("greedy_exact") != Some(&"1/1".into()))
                    .filter_map(|run| result(run, "entropy"))
                    .collect();
                let least = entropies.iter().copied().fold(f64::INFINITY, f64::min);
                spread.push(least > 0.1);
                fewest = fewest.min(runs.len() as u64);
                words.push(format!("{class} {least:.0}"));
            }
            sampled(fewest, 12).holds(
                spread.iter().all(|&is| is),
                format!(
                    "least entropy of an endpoint below 1, in nats, summed over cells: {}",
                    words.join(", ")
                ),
            )
        },
    ),
];
