//! Runs tabular RLVR twice from the same seeds, cold and without a regulator, and with resets to nearly deterministic
//! rows and without (paper, section 1 and App. G.5).

use foldglass::dynamics::cavi::{CaviSettings, Resets, Runs};
use foldglass::model::policy::InitialLaw;
use foldglass::support::memory::TooLarge;
use foldglass::support::parallel::in_order;
use foldglass::support::stats::{Proportion, Summary};
use foldglass::support::watch::Tally;
use foldglass::{Class, InputLaw, Shape, Stream};
use serde::{Deserialize, Serialize};

use super::class;
use crate::claims::Bench;
use crate::error::Error;
use crate::progress::interrupted;

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

/// What [`deterministic_resets`] finds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeterministicResets {
    /// The parameter of the Dirichlet law that all rows are drawn from.
    pub parameter: f64,
    /// The probability of the likeliest action of such a row, on average.
    pub likeliest: f64,
    /// Class by class.
    pub classes: Vec<ResetClass>,
}

/// Runs of a class with resets and without.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResetClass {
    /// The class, in words.
    pub class: String,
    /// Runs of each.
    pub runs: u64,
    /// Those at reward exactly 1, without resets.
    pub plain: u64,
    /// The same with them.
    pub resets: u64,
}

impl ResetClass {
    /// Those at 1 with resets, of all.
    pub fn with_resets(&self) -> Proportion {
        Proportion {
            successes: self.resets,
            trials: self.runs,
        }
    }
}

/// Rows so drawn are nearly deterministic.
const PARAMETER: f64 = 1e-3;

/// A class on which plain RLVR falls short, and how tab:regulator runs it.
struct FallsShort {
    task: &'static str,
    window: [usize; 2],
    lengths: &'static [usize],
    tau: f64,
    runs: u64,
    iterations: usize,
}

impl FallsShort {
    fn class(&self) -> Class {
        let [past, future] = self.window;
        let shape = Shape::untied(past, future);
        class(self.task, &InputLaw::Uniform, self.lengths, shape)
    }

    fn name(&self) -> String {
        let [past, future] = self.window;
        let words: Vec<String> = self.lengths.iter().map(usize::to_string).collect();
        format!("{} ({past},{future}) T={}", self.task, words.join(","))
    }
}

/// All of them.
#[rustfmt::skip]
const FALL_SHORT: [FallsShort; 6] = [
    FallsShort { task: "z:5", window: [0, 0], lengths: &[8], tau: 1e-10, runs: 60, iterations: 2_000 },
    FallsShort { task: "quasigroup", window: [0, 0], lengths: &[8], tau: 1e-10, runs: 60, iterations: 2_000 },
    FallsShort { task: "quasigroup", window: [2, 1], lengths: &[3, 4, 5], tau: 0.0, runs: 12, iterations: 2_000 },
    FallsShort { task: "quasigroup", window: [1, 1], lengths: &[3, 4, 5, 6], tau: 0.0, runs: 12, iterations: 2_000 },
    FallsShort { task: "quasigroup", window: [2, 1], lengths: &[4, 5, 6], tau: 0.0, runs: 12, iterations: 2_000 },
    FallsShort { task: "quasigroup", window: [0, 3], lengths: &[7], tau: 1e-13, runs: 12, iterations: 3_000 },
];

/// Resets to rows that are nearly deterministic, as the introduction has them, beside the same runs without. Would
/// catch resets that redraw no cell: both end alike then.
pub fn deterministic_resets(bench: &Bench) -> Result<Option<DeterministicResets>, Error> {
    let resets = Resets {
        share: 0.02,
        every: 10,
        cycles: 100,
    };
    let mut jobs = Vec::new();
    for (n, own) in FALL_SHORT.iter().enumerate().take(bench.scaled(6, 1)) {
        for run in 0..bench.scaled(own.runs, 4) {
            jobs.extend([None, Some(resets)].map(|resets| (n, run, resets)));
        }
    }
    let tally = Tally::new(&bench.observer, "runs of RLVR", Some(jobs.len() as u64));
    let job = |number: usize| -> Result<_, Error> {
        let (n, run, resets) = jobs[number];
        let (own, class) = (&FALL_SHORT[n], FALL_SHORT[n].class());
        let settings = CaviSettings::plain(own.tau, bench.scaled(own.iterations, 1_500))
            .with_initial(InitialLaw::Dirichlet(PARAMETER))
            .with_resets(resets);
        let one = || -> Result<bool, TooLarge> {
            let mut runs = Runs::builder(&class, settings)
                .seed(bench.seed)
                .numbers(run..run + 1)
                .within(bench.allowance)
                .start()?;
            while !runs.advance(100) && !interrupted() {}
            Ok(runs.outcome(0).greedy_reward.is_one())
        };
        let at_one = one()?;
        Ok(tally.add(1).is_continue().then_some((number, at_one)))
    };
    let mut classes: Vec<ResetClass> = Vec::new();
    in_order(
        vec![(); bench.threads],
        jobs.len(),
        |()| job,
        |(number, at_one): (usize, bool)| {
            let (n, _, resets) = jobs[number];
            if classes.len() == n {
                classes.push(ResetClass {
                    class: FALL_SHORT[n].name(),
                    runs: 0,
                    plain: 0,
                    resets: 0,
                });
            }
            let own = &mut classes[n];
            match resets {
                None => own.plain += u64::from(at_one),
                Some(_) => {
                    own.runs += 1;
                    own.resets += u64::from(at_one);
                }
            }
            Ok(())
        },
    )?;
    Ok(Some(DeterministicResets {
        parameter: PARAMETER,
        likeliest: likeliest(bench.seed),
        classes,
    }))
}

/// The probability of the likeliest of five actions of a row, over many rows.
fn likeliest(seed: u64) -> f64 {
    let (mut stream, mut row, rows) = (Stream::new(seed, 14), [0.0; 5], 10_000);
    let largest = (0..rows).map(|_| {
        InitialLaw::Dirichlet(PARAMETER).draw(&mut stream, &mut row);
        row.iter().copied().fold(0.0, f64::max)
    });
    largest.sum::<f64>() / f64::from(rows)
}
