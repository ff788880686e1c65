//! Runs short chains and pairs of RLVR: far below the quantum, by the order of a sweep, on the window (3,0), and
//! quenches of correlated parity (paper, section 4.1, App. G.1, G.3 and G.6).

use foldglass::dynamics::cavi;
use foldglass::dynamics::chain::{ChainSettings, Chains, Kernel, Order};
use foldglass::support::exact::parse;
use foldglass::support::memory::TooLarge;
use foldglass::support::parallel::in_order;
use foldglass::support::stats::Proportion;
use foldglass::support::watch::Tally;
use foldglass::{Class, Code, InputLaw, Shape};
use serde::{Deserialize, Serialize};

use super::class;
use crate::claims::Bench;
use crate::error::Error;
use crate::progress::interrupted;

/// Temperatures so far below the quantum of T = 7, 1.28e-5, that a chain does not even draw whether it takes a
/// loss: a seed gives the same chain at all of them, if nothing else depends on the temperature.
const COLD: [f64; 4] = [1e-13, 1e-11, 1e-9, 1e-8];

/// The warmest at which the paper finds no difference. A loss of one quantum has probability e^-128, but takes
/// a draw, so that chains of one seed part.
const LIMIT: f64 = 1e-7;

/// A temperature near the quantum.
const WARM: f64 = 1e-5;

fn failed(error: foldglass::dynamics::chain::ChainError) -> Error {
    Error::Failed(error.to_string())
}

/// What [`cold`] finds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cold {
    /// The temperatures at which end codes are compared.
    pub taus: Vec<f64>,
    /// The warmest of the paper's.
    pub limit: f64,
    /// One near the quantum.
    pub warm: f64,
    /// The untied class.
    pub untied: ColdChains,
    /// The tied one.
    pub tied: ColdChains,
}

/// Cold chains of a class.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColdChains {
    /// Chains at each temperature.
    pub chains: u64,
    /// Sweeps of each.
    pub sweeps: u64,
    /// Chains that end at one code at all cold temperatures.
    pub same: u64,
    /// Sweeps that lower J, at the warmest of the paper's temperatures.
    pub falls: u64,
    /// The same near the quantum.
    pub falls_when_warm: u64,
    /// Whether a chain that starts at an optimal code ever leaves J = 1.
    pub left_optimum: bool,
    /// The sweeps of that chain.
    pub optimum_sweeps: u64,
}

/// Chains of the same seed at temperatures far below the quantum: whether they end at the same code; whether a
/// sweep at the warmest of the paper's lowers J; and an optimal code left alone. The codes catch a kernel in
/// which the temperature acts on more than losses, the sweeps one whose temperature is off by a factor of
/// ten: that J does fall near the quantum shows that it can.
pub fn cold(bench: &Bench) -> Result<Option<Cold>, Error> {
    let chains = |shape, order| -> Result<ColdChains, Error> {
        let length = bench.scaled(7, 5);
        let class = class("quasigroup", &InputLaw::Uniform, &[length], shape);
        let (chains, sweeps) = bench.scaled((4, 500), (1, 20));
        let settings = ChainSettings::new(Kernel::Metropolis, order);
        // The end of a chain, and the sweeps that lowered J.
        let end = |chain: u64, tau: f64| -> Result<(Code, u64), Error> {
            let numbers = chain..chain + 1;
            let chains = Chains::builder(&class, settings)
                .seed(bench.seed)
                .numbers(numbers)
                .within(bench.allowance)
                .start();
            let mut chains = chains.map_err(failed)?;
            let mut falls = 0;
            for _ in 0..sweeps {
                bench.go_on()?;
                let before = chains.reward(0);
                chains.sweep(&[tau]);
                falls += u64::from(chains.reward(0) < before);
            }
            Ok((chains.code(0).clone(), falls))
        };
        let (mut same, mut falls, mut falls_when_warm) = (0, 0, 0);
        for chain in 0..chains {
            let (coldest, _) = end(chain, COLD[0])?;
            let mut is_same = true;
            for tau in &COLD[1..] {
                is_same &= end(chain, *tau)?.0 == coldest;
            }
            same += u64::from(is_same);
            falls += end(chain, LIMIT)?.1;
            falls_when_warm += end(chain, WARM)?.1;
        }
        let optimum_sweeps = bench.scaled(1_000, 20);
        Ok(ColdChains {
            chains,
            sweeps,
            same,
            falls,
            falls_when_warm,
            left_optimum: leaves_optimum(bench, &class, settings, optimum_sweeps)?,
            optimum_sweeps,
        })
    };
    Ok(Some(Cold {
        taus: COLD.to_vec(),
        limit: LIMIT,
        warm: WARM,
        untied: chains(Shape::untied(0, 3), Order::Step)?,
        tied: chains(Shape::tied(0, 3), Order::Cell)?,
    }))
}

/// Whether a chain that starts at the folding code ever has a reward below 1.
fn leaves_optimum(
    bench: &Bench,
    class: &Class,
    settings: ChainSettings,
    sweeps: u64,
) -> Result<bool, Error> {
    let mut chains = Chains::builder(class, settings)
        .seed(bench.seed)
        .within(bench.allowance)
        .start_at(vec![Code::fold(class)])
        .map_err(failed)?;
    let mut left = false;
    for _ in 0..sweeps {
        bench.go_on()?;
        chains.sweep(&[1e-13]);
        left |= chains.reward(0) < chains.denominator();
    }
    Ok(left)
}

/// What [`decade`] finds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decade {
    /// The warmer temperature, and a tenth of it.
    pub taus: [f64; 2],
    /// Greedy rewards at both, run by run; a pair has its start and its draws in common.
    pub rewards: Vec<[f64; 2]>,
}

/// Pairs of RLVR runs on the untied (0,3) class, a decade of temperature apart. It catches an update that does
/// not respond to the temperature at 1e-13, where the chain no longer does (no gain), and one that has lost its
/// precision there.
pub fn decade(bench: &Bench) -> Result<Option<Decade>, Error> {
    let length = bench.scaled(7, 5);
    let class = class(
        "quasigroup",
        &InputLaw::Uniform,
        &[length],
        Shape::untied(0, 3),
    );
    let taus = [1e-12, 1e-13];
    let pairs = bench.scaled(48, 2);
    let iterations = bench.scaled(3_000, 200);
    let tally = Tally::new(&bench.observer, "pairs of RLVR runs", Some(pairs as u64));
    let job = |pair: usize| -> Result<_, Error> {
        let number = pair as u64;
        let reward = |tau: f64| -> Result<f64, TooLarge> {
            let settings = cavi::CaviSettings::plain(tau, iterations);
            let numbers = number..number + 1;
            let mut runs = cavi::Runs::builder(&class, settings)
                .seed(bench.seed)
                .numbers(numbers)
                .within(bench.allowance)
                .start()?;
            while !runs.advance(100) && !interrupted() {}
            Ok(runs.outcomes()[0].greedy_reward.to_f64())
        };
        let pair = [reward(taus[0])?, reward(taus[1])?];
        Ok(tally.add(1).is_continue().then_some(pair))
    };
    let mut rewards = Vec::new();
    in_order(
        vec![(); bench.threads],
        pairs,
        |()| job,
        |pair: [f64; 2]| {
            rewards.push(pair);
            Ok(())
        },
    )?;
    Ok(Some(Decade { taus, rewards }))
}

/// What [`orders`] finds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Orders {
    /// Sweeps after which chains were looked at.
    pub sweeps: Vec<u64>,
    /// Chains of each order.
    pub chains: u64,
    /// Of those that visit cell by cell, in random order: how many are at 1.
    pub by_cells: Vec<u64>,
    /// Of those that visit step by step.
    pub by_steps: Vec<u64>,
}

/// Heat bath on parity at T = 10 and 1e-13 in both orders of a sweep, many chains: which one the upper block of
/// tab:equilibration fits. The paper does not say. It catches an order of visits that is not the one it is
/// named by: the two differ by many standard errors.
pub fn orders(bench: &Bench) -> Result<Option<Orders>, Error> {
    let class = class("parity", &InputLaw::Uniform, &[10], Shape::untied(0, 0));
    let marks = [10, 20, 40];
    let count = bench.scaled(4_000u64, 64);
    let at_one = |order| -> Result<Vec<u64>, Error> {
        let settings = ChainSettings::new(Kernel::HeatBath, order);
        let together = Chains::needs(&class, order).0 as u64;
        let mut ones = vec![0; marks.len()];
        for first in (0..count).step_by(together as usize) {
            bench.go_on()?;
            let numbers = first..(first + together).min(count);
            let chains = (numbers.end - numbers.start) as usize;
            let own = Chains::builder(&class, settings)
                .seed(bench.seed)
                .numbers(numbers)
                .within(bench.allowance)
                .start();
            let mut own = own.map_err(failed)?;
            let mut done = 0;
            for (mark, ones) in marks.iter().zip(&mut ones) {
                for _ in done..*mark {
                    own.sweep(&vec![1e-13; chains]);
                }
                done = *mark;
                let one = own.denominator();
                *ones += (0..chains).filter(|&n| own.reward(n) == one).count() as u64;
            }
        }
        Ok(ones)
    };
    Ok(Some(Orders {
        sweeps: marks.to_vec(),
        chains: count,
        by_cells: at_one(Order::Cell)?,
        by_steps: at_one(Order::Step)?,
    }))
}

/// What [`quench`] finds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quenches {
    /// By T, k and temperature.
    pub points: Vec<QuenchGroup>,
}

/// Quenches at one T, k and temperature.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuenchGroup {
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

impl QuenchGroup {
    /// The share that is trapped.
    pub fn share(&self) -> Proportion {
        Proportion {
            successes: self.trapped,
            trials: self.runs,
        }
    }
}

/// The share of Metropolis quenches that end below 0.99, by T and k, at the paper's temperature and at none. It
/// catches a kernel or a law of inputs whose traps have other basins.
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
    let job = |n: usize| -> Result<_, Error> {
        let (length, k, tau) = points[n];
        let trapped = trapped(bench, length, k, tau, runs, sweeps);
        Ok(tally.add(1).is_continue().then_some((n, trapped)))
    };
    let mut lines = Vec::new();
    in_order(
        vec![(); bench.threads],
        points.len(),
        |()| job,
        |(n, trapped): (usize, u64)| {
            let (length, k, tau) = points[n];
            lines.push(QuenchGroup {
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
    let settings = ChainSettings::new(Kernel::Metropolis, Order::of(&class));
    let together = Chains::side_by_side(&class) as u64;
    let mut below = 0;
    for first in (0..runs).step_by(together as usize) {
        let numbers = first..(first + together).min(runs);
        let count = (numbers.end - numbers.start) as usize;
        let chains = Chains::builder(&class, settings)
            .seed(bench.seed)
            .numbers(numbers)
            .within(bench.allowance)
            .start();
        let mut chains = chains.expect("a small class");
        for _ in 0..sweeps {
            chains.sweep(&vec![tau; count]);
        }
        let limit = chains.denominator() / 100 * 99;
        below += (0..count)
            .filter(|&chain| chains.reward(chain) < limit)
            .count() as u64;
        if interrupted() {
            return below;
        }
    }
    below
}
