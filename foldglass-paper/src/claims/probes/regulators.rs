//! Runs tabular RLVR twice from the same seeds, cold and without a regulator (paper, App. G.5).

use foldglass::dynamics::cavi::{CaviSettings, Runs};
use foldglass::model::policy::InitialLaw;
use foldglass::support::stats::Summary;
use foldglass::{InputLaw, Shape};
use serde::{Deserialize, Serialize};

use super::class;
use crate::claims::Bench;
use crate::error::Error;

/// What [`paired`] finds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pairs {
    /// The temperature of the cold runs.
    pub cold: f64,
    /// Iterations of the plain runs, and of the cold ones of the scan.
    pub iterations: [usize; 2],
    /// Class by class, in the order of tab:regulator.
    pub classes: Vec<Pair>,
}

/// The mean greedy rewards of a class over the same seeds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pair {
    /// Seeds.
    pub runs: u64,
    /// Without a regulator, all iterations of the plain runs.
    pub plain: f64,
    /// Cold, as many.
    pub cold: f64,
    /// Cold, the iterations of the scan.
    pub scan: f64,
    /// The largest difference of plain and cold in one run.
    pub apart: f64,
}

/// The three classes of several lengths.
const CLASSES: [([usize; 2], &[usize]); 3] = [
    ([2, 1], &[3, 4, 5]),
    ([1, 1], &[3, 4, 5, 6]),
    ([2, 1], &[4, 5, 6]),
];

const COLD: f64 = 1e-13;

/// Plain runs at temperature 0 beside cold ones from the same seeds. Would catch an update whose limit of
/// low temperature is not the one at 0 (the means would be far apart), and a temperature that is not passed on (no
/// run would differ).
pub fn paired(bench: &Bench) -> Result<Option<Pairs>, Error> {
    let iterations = bench.scaled([2_000, 500], [40, 20]);
    let runs = bench.scaled(12, 2);
    let mut classes = Vec::new();
    for ([past, future], lengths) in CLASSES {
        let shape = Shape::untied(past, future);
        let class = class("quasigroup", &InputLaw::Uniform, lengths, shape);
        let rewards = |tau: f64, iterations: usize| -> Result<Vec<f64>, Error> {
            let settings =
                CaviSettings::plain(tau, iterations).with_initial(InitialLaw::LogitNormal(0.1));
            let mut rewards = Vec::new();
            for run in 0..runs {
                bench.go_on()?;
                let mut one = Runs::builder(&class, settings)
                    .seed(bench.seed)
                    .numbers(run..run + 1)
                    .within(bench.allowance)
                    .start()?;
                one.advance(usize::MAX);
                rewards.push(one.outcome(0).greedy_reward.to_f64());
            }
            Ok(rewards)
        };
        let plain = rewards(0.0, iterations[0])?;
        let cold = rewards(COLD, iterations[0])?;
        let scan = rewards(COLD, iterations[1])?;
        let pairs = plain.iter().zip(&cold);
        let apart = pairs.map(|(plain, cold)| (plain - cold).abs());
        let mean = |rewards: &[f64]| Summary::of(rewards).map_or(f64::NAN, |all| all.mean);
        classes.push(Pair {
            runs,
            plain: mean(&plain),
            cold: mean(&cold),
            scan: mean(&scan),
            apart: apart.fold(0.0, f64::max),
        });
    }
    Ok(Some(Pairs {
        cold: COLD,
        iterations,
        classes,
    }))
}
