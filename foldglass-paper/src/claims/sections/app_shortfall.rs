//! States G.3: the gap between RLVR and Monte Carlo (tab:shortfall).

use foldglass::support::stats::Summary;

use super::{BasisKind, Claim, SCORE, all_numbers, claim, numbers, sampled};
use crate::claims::facts::RunField;
use crate::claims::probes::chains::ColdChains;
use crate::reproduce::Key;
use crate::reproduce::classes::{CLASSES, PARITY};
use crate::reproduce::items::shortfall::{
    BUT_PARITY, ComparedRuns, ITEM, ShortfallQuantity::AtOne,
};
use crate::reproduce::studies::PLAIN;

const SECTION: &str = "App. G.3";

/// Residuals up to this are stationary: no probability would move by more.
const STILL: f64 = 1e-6;

pub const CLAIMS: &[Claim] = &[
    claim(
        "g3:rlvr",
        SECTION,
        BasisKind::Sampled,
        "Plain RLVR reaches reward 1 in 40 of 168 runs outside parity and in 100 of \
         100 on parity.",
        "reproduce tab:shortfall",
        |facts| {
            let keys = [BUT_PARITY, PARITY].map(|class| Key::new(class, AtOne(ComparedRuns::Rlvr)));
            numbers(facts, &ITEM, keys)
        },
    ),
    claim(
        "g3:table",
        SECTION,
        BasisKind::Sampled,
        "The chain's and RLVR's rewards of the eight classes are as in the table.",
        "reproduce tab:shortfall",
        |facts| all_numbers(facts, &ITEM),
    ),
    claim(
        "g3:stationary",
        SECTION,
        BasisKind::Sampled,
        "Every quoted endpoint of RLVR is stationary under the iteration.",
        "reproduce tab:shortfall",
        |facts| {
            let (mut words, mut still, mut fewest) = (Vec::new(), Vec::new(), u64::MAX);
            for class in CLASSES {
                let runs = facts.runs(PLAIN, class)?;
                let mut own = 0;
                for run in &runs {
                    own += usize::from(RunField::Residual.number(run)? <= STILL);
                }
                still.push(own == runs.len());
                fewest = fewest.min(runs.len() as u64);
                words.push(format!("{class} {own}/{}", runs.len()));
            }
            // Of every endpoint: one that is not stationary contradicts it.
            sampled(fewest, 12).holds(
                still.iter().all(|&is| is),
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
        BasisKind::Sampled,
        "On the (0,3) classes the chain's outcome is the same at every \
         temperature from 1e-13 to 1e-7.",
        "chain --task quasigroup --lengths 7 --window 0,3 --kernel metropolis \
         --tau 1e-7 --sweeps 1000 --runs 4 --json",
        |facts| {
            let found = facts.probes.cold()?;
            let (untied, tied) = (&found.untied, &found.tied);
            let taus: Vec<String> = found.taus.iter().map(|tau| format!("{tau:e}")).collect();
            let sound = |own: &ColdChains| own.same == own.chains && own.falls == 0;
            sampled(untied.chains.min(tied.chains), 4).holds(
                sound(untied) && sound(tied),
                format!(
                    "after {} sweeps {} of {} untied chains and {} of {} tied ones are at one code at \
                     {}; at {:e}, where chains of one seed draw differently, {} and {} of {} sweeps \
                     lower J; at {:e}, near the quantum, {} and {} do",
                    untied.sweeps,
                    untied.same,
                    untied.chains,
                    tied.same,
                    tied.chains,
                    taus.join(", "),
                    found.limit,
                    untied.falls,
                    tied.falls,
                    untied.chains * untied.sweeps,
                    found.warm,
                    untied.falls_when_warm,
                    tied.falls_when_warm
                ),
            )
        },
    ),
    claim(
        "g3:decade",
        SECTION,
        BasisKind::Sampled,
        "The reward of RLVR on the untied (0,3) class still rises by 0.01 per \
         decade of cooling at 1e-13.",
        "cavi --task quasigroup --lengths 7 --window 0,3 --tau 1e-12 --iterations \
         3000 --runs 48",
        |facts| {
            let found = facts.probes.decade()?;
            let [warm, cold] = found.taus;
            let gains: Vec<f64> = found
                .rewards
                .iter()
                .map(|[warm, cold]| cold - warm)
                .collect();
            let gain = Summary::of(&gains).expect("at least one pair");
            let error = gain.error.unwrap_or(f64::INFINITY);
            // It rises, and by what the paper says.
            let rises = gain.mean > SCORE * error;
            let as_stated = (gain.mean - 0.01).abs() <= SCORE * error;
            sampled(gain.n as u64, 48).parts(
                &[rises, as_stated],
                format!(
                    "from {warm:e} to {cold:e}: {:.4} ± {error:.4} over {} pairs of runs with the \
                     same start",
                    gain.mean, gain.n
                ),
            )
        },
    ),
    claim(
        "g3:spread",
        SECTION,
        BasisKind::Sampled,
        "RLVR at zero temperature spreads a cell's probability over exactly tied \
         actions, so that its endpoints are not codes.",
        "cavi --task quasigroup --lengths 8 --tau 1e-10 --iterations 2000 --runs \
         60 --json",
        |facts| {
            let (mut words, mut spread, mut fewest) = (Vec::new(), Vec::new(), u64::MAX);
            for class in CLASSES.into_iter().filter(|class| *class != PARITY) {
                let runs = facts.runs(PLAIN, class)?;
                let mut least = f64::INFINITY;
                for run in &runs {
                    if RunField::GreedyExact.word(run)? != "1/1" {
                        least = least.min(RunField::Entropy.number(run)?);
                    }
                }
                fewest = fewest.min(runs.len() as u64);
                // A class all of whose runs end at 1 says nothing.
                if least.is_finite() {
                    spread.push(least > 0.1);
                    words.push(format!("{class} {least:.0}"));
                }
            }
            if spread.is_empty() {
                return sampled(fewest, 12).undecided("no run ends below 1");
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
    claim(
        "g3:attribution",
        SECTION,
        BasisKind::Sampled,
        "The gap comes of how the two dynamics treat reward-neutral moves: the \
         chain takes them, RLVR spreads over tied actions.",
        "cavi --task quasigroup --lengths 8 --tau 1e-10 --iterations 2000 --runs \
         60 --json",
        |_| {
            sampled(0, 1).undecided(
                "no run here differs from plain RLVR in its ties alone: one whose ties are drawn \
                 in place of shared would decide",
            )
        },
    ),
];
