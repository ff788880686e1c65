//! Runs short chains: at temperatures far below the quantum, and quenches of correlated parity (paper, App.
//! G.3 and G.6).

use foldglass::chain::{Chains, Kernel, Order, Settings};
use foldglass::exact::parse;
use foldglass::stats::Proportion;
use foldglass::watch::Tally;
use foldglass::{Class, Code, InputLaw, Shape};
use foldglass_study::parallel::in_order;
use serde::{Deserialize, Serialize};

use super::class;
use crate::claims::Bench;
use crate::error::Error;

/// The temperatures between which the paper finds no difference.
const COLD: [f64; 4] = [1e-13, 1e-11, 1e-9, 1e-7];

fn failed(error: foldglass::chain::ChainError) -> Error {
    Error::Failed(error.to_string())
}

/// What [`cold`] finds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cold {
    /// The temperatures.
    pub taus: Vec<f64>,
    /// The untied class.
    pub untied: ColdChains,
    /// The tied one.
    pub tied: ColdChains,
}

/// Cold chains of a class.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColdChains {
    /// Sweeps at each temperature.
    pub sweeps: u64,
    /// Those that lower J, at any of them.
    pub falls: u64,
    /// Whether a chain that starts at an optimal code ever leaves J = 1.
    pub left_optimum: bool,
}

/// Chains at four temperatures: whether a sweep ever lowers J; and an optimal code left alone.
pub fn cold(bench: &Bench) -> Result<Option<Cold>, Error> {
    let chains = |shape, order| -> Result<ColdChains, Error> {
        let length = bench.scaled(7, 5);
        let class = class("quasigroup", &InputLaw::Uniform, &[length], shape);
        let sweeps = bench.scaled(200, 20);
        let settings = Settings {
            kernel: Kernel::Metropolis,
            order,
        };
        let mut falls = 0;
        for tau in COLD {
            let chains = Chains::new(&class, settings, bench.seed, 0..1, bench.allowance);
            let mut chains = chains.map_err(failed)?;
            for _ in 0..sweeps {
                bench.go_on()?;
                let before = chains.reward(0);
                chains.sweep(&[tau]);
                falls += u64::from(chains.reward(0) < before);
            }
        }
        Ok(ColdChains {
            sweeps,
            falls,
            left_optimum: leaves_optimum(bench, &class, settings)?,
        })
    };
    Ok(Some(Cold {
        taus: COLD.to_vec(),
        untied: chains(Shape::untied(0, 3), Order::Step)?,
        tied: chains(Shape::tied(0, 3), Order::Cell)?,
    }))
}

/// Whether a chain that starts at the folding code ever has a reward below 1.
fn leaves_optimum(bench: &Bench, class: &Class, settings: Settings) -> Result<bool, Error> {
    let past = class.shape().window.past;
    let fold = Code::from_fn(class, |cell| {
        let key = class.key(cell);
        let x = key.x[past].expect("the step's own symbol");
        let before = key.y.last().copied().flatten();
        before.map_or(x, |y| class.task().square().multiply(y, x))
    });
    let mut chains = Chains::starting_at(settings, vec![fold], bench.seed, 0..1, bench.allowance)
        .map_err(failed)?;
    let mut left = false;
    for _ in 0..bench.scaled(200, 20) {
        bench.go_on()?;
        chains.sweep(&[1e-13]);
        left |= chains.reward(0) < chains.denominator();
    }
    Ok(left)
}

/// What [`quench`] finds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quenches {
    /// By T, k and temperature.
    pub points: Vec<Quench>,
}

/// Quenches at one T, k and temperature.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quench {
    /// T.
    pub length: usize,
    /// k.
    pub repeat: String,
    /// The temperature.
    pub tau: f64,
    /// Chains that end below 0.99.
    pub trapped: u64,
    /// Of so many.
    pub runs: u64,
}

impl Quench {
    /// The share that is trapped.
    pub fn share(&self) -> Proportion {
        Proportion {
            successes: self.trapped,
            trials: self.runs,
        }
    }
}

/// The share of Metropolis quenches that end below 0.99, by T and k, at the paper's temperature and at none.
pub fn quench(bench: &Bench) -> Result<Option<Quenches>, Error> {
    let runs = bench.scaled(512u64, 64);
    let sweeps = bench.scaled(3000, 1500);
    let lengths: Vec<usize> = bench.scaled(4..=10, 6..=6).collect();
    let repeats: &[&str] = bench.scaled(&["3/5", "3/4", "9/10", "19/20"], &["9/10"]);
    let mut points = Vec::new();
    for &length in &lengths {
        for &k in repeats {
            for tau in [2e-3, 1e-13] {
                points.push((length, k, tau));
            }
        }
    }
    let tally = Tally::new(
        &bench.observer,
        "values of T, k and tau",
        Some(points.len() as u64),
    );
    let job = |n: usize| {
        let (length, k, tau) = points[n];
        let trapped = trapped(bench, length, k, tau, runs, sweeps);
        Ok(tally.add(1).is_continue().then_some((n, trapped)))
    };
    let mut lines = Vec::new();
    in_order(
        bench.threads,
        points.len(),
        job,
        |(n, trapped): (usize, u64)| {
            let (length, k, tau) = points[n];
            lines.push(Quench {
                length,
                repeat: k.to_owned(),
                tau,
                trapped,
                runs,
            });
            Ok(())
        },
    )?;
    Ok(Some(Quenches { points: lines }))
}

fn trapped(bench: &Bench, length: usize, k: &str, tau: f64, runs: u64, sweeps: usize) -> u64 {
    let law = InputLaw::Markov(parse(k).expect("a number"));
    let class = class("parity", &law, &[length], Shape::untied(0, 0));
    let settings = Settings {
        kernel: Kernel::Metropolis,
        order: Order::of(&class),
    };
    let together = Chains::side_by_side(&class) as u64;
    let mut below = 0;
    for first in (0..runs).step_by(together as usize) {
        let numbers = first..(first + together).min(runs);
        let count = (numbers.end - numbers.start) as usize;
        let chains = Chains::new(&class, settings, bench.seed, numbers, bench.allowance);
        let mut chains = chains.expect("a small class");
        for _ in 0..sweeps {
            chains.sweep(&vec![tau; count]);
        }
        let limit = chains.denominator() / 100 * 99;
        below += (0..count)
            .filter(|&chain| chains.reward(chain) < limit)
            .count() as u64;
        if crate::progress::interrupted() {
            return below;
        }
    }
    below
}
