//! Times the dynamics: iterations of tabular RLVR, sweeps of chains, questions to a counter.

use crate::{Held, class, floor, least_operations, median, median_peak, median_time, median_times};
use foldglass::dynamics::cavi::{self, Runs};
use foldglass::dynamics::chain::{self, Chains, Kernel, Order, random_code};
use foldglass::reward::count::{self, Counter};
use foldglass::{Class, Reward, Shape, Stream};
use std::time::{Duration, Instant};

/// No change of a reward is as small as this, so chains accept no loss.
const TAU: f64 = 1e-13;

/// Iterations or sweeps before a time is taken.
const WARM_UP: usize = 200;

/// What an exponential costs at the least, in floating-point operations.
const EXPONENTIAL: f64 = 20.0;

/// One CAVI iteration and one sweep in step blocks on the same class, in turns.
pub fn cavi_and_chain() {
    let class = class("quasigroup", &[7], Shape::untied(0, 3));
    let settings = cavi::CaviSettings::plain(TAU, usize::MAX);
    let mut runs = Runs::builder(&class, settings).seed(1).start().unwrap();
    runs.advance(WARM_UP);
    let mut chain = warm_chains(&class, Order::Step, 1);
    let [iteration, sweep] = median_times([
        &mut || {
            runs.advance(1);
        },
        &mut || chain.sweep(&[TAU]),
    ]);
    let exponentials = EXPONENTIAL * (class.cells() * class.q()) as f64;
    let operations = least_operations(&class) + exponentials;
    let held = Held {
        name: "cavi_untied_0_3_T7",
        seconds: iteration,
        of: "an iteration",
        base_seconds: operations / median_peak(),
        base: &floor(operations),
        target: "<= 2",
    };
    held.print();
    let held = Held {
        name: "chain_untied_0_3_T7",
        seconds: sweep,
        of: "a sweep",
        base_seconds: iteration,
        base: "a CAVI iteration",
        target: "<= 1.5",
    };
    held.print();
}

/// What most of the paper's figures take: many runs of RLVR on a narrow window, each from its start to its end, as many
/// side by side as `cavi` puts there.
pub fn many_runs() {
    const RUNS: u64 = 400;
    const ITERATIONS: usize = 2000;
    // Of the cells, in an iteration of the paper.
    const SHARE: f64 = 0.3;
    let class = class("quasigroup", &[8], Shape::untied(0, 0));
    let settings = cavi::CaviSettings::plain(TAU, ITERATIONS);
    let iterations = (Runs::side_by_side(&class) * ITERATIONS) as f64;
    let groups = Runs::builder(&class, settings)
        .seed(1)
        .numbers(0..RUNS)
        .groups();
    let seconds = groups.map(|group| {
        let mut runs = group.start().unwrap();
        let start = Instant::now();
        runs.advance(ITERATIONS);
        start.elapsed().as_secs_f64() / iterations
    });
    let moved = SHARE * (class.cells() * class.q()) as f64;
    let operations = least_operations(&class) + EXPONENTIAL * moved;
    let held = Held {
        name: "cavi_runs_0_0_T8",
        seconds: median(seconds),
        of: "an iteration of one of 400 runs",
        base_seconds: operations / median_peak(),
        base: &floor(operations),
        target: "<= 2.5",
    };
    held.print();
}

/// One sweep cell by cell.
pub fn cell_sweep() {
    let class = class("quasigroup", &[7], Shape::untied(0, 3));
    let mut chain = warm_chains(&class, Order::Cell, 1);
    let sweep = median_time(|| chain.sweep(&[TAU]));
    println!(r#"{{"name":"cell_sweep_untied_0_3_T7","median_s":{sweep:e},"target":"<= 4 ms"}}"#);
}

/// Eight chains that share vectors.
pub fn parity_updates() {
    const CHAINS: usize = 8;
    let class = class("parity", &[10], Shape::untied(0, 0));
    let mut chains = warm_chains(&class, Order::Step, CHAINS);
    let sweep = median_time(|| chains.sweep(&[TAU; CHAINS]));
    println!(
        r#"{{"name":"parity_updates","value":{},"unit":"million cell updates a second","target":">= 20"}}"#,
        (CHAINS * class.cells()) as f64 / sweep * 1e-6,
    );
}

fn warm_chains(class: &Class, order: Order, count: usize) -> Chains {
    let settings = chain::ChainSettings::new(Kernel::Metropolis, order);
    let numbers = 0..count as u64;
    let mut chains = Chains::builder(class, settings)
        .seed(1)
        .numbers(numbers)
        .start()
        .unwrap();
    let tau = vec![TAU; count];
    (0..WARM_UP).for_each(|_| chains.sweep(&tau));
    chains
}

/// Exact rewards of all actions at random cells, untied and tied.
pub fn actions() {
    let untied = class("quasigroup", &[8], Shape::untied(0, 0));
    print_actions("actions_0_0_T8", &untied, ">= 3");
    let tied = Shape {
        tied: true,
        ..Shape::untied(0, 3)
    };
    let tied = class("quasigroup", &[7], tied);
    print_actions("actions_tied_0_3_T7", &tied, ">= 1");
}

/// Whole climbs, from different codes, until a third of a second has passed: a long one once.
fn print_actions(name: &str, class: &Class, target: &str) {
    let start = Instant::now();
    let mut rates = Vec::new();
    while rates.is_empty() || start.elapsed() < Duration::from_millis(300) {
        rates.push(actions_per_second(class, rates.len() as u64));
    }
    let median = median(rates.into_iter()) * 1e-6;
    println!(
        r#"{{"name":"{name}","value":{median},"unit":"million actions a second","target":"{target}"}}"#
    );
}

/// The rate at which a climb from a random code learns exact rewards: at uniformly random cells it
/// asks for those of all q actions, then takes a uniformly random one if J does not fall. It makes
/// as many moves as 200 sweeps have.
fn actions_per_second(class: &Class, number: u64) -> f64 {
    let q = class.q();
    let mut stream = Stream::new(1, number);
    let code = random_code(class, &mut stream);
    let mut counter = Counter::new(code).unwrap();
    let mut rewards = vec![0; q];
    let moves = WARM_UP * class.cells();
    let start = Instant::now();
    for _ in 0..moves {
        let cell = stream.below(class.cells() as u32) as usize;
        counter.rewards(cell, &mut rewards);
        let proposal = stream.below(q as u32) as usize;
        if rewards[proposal] >= counter.reward() {
            counter.set(cell, proposal as u16);
        }
    }
    let rate = (moves * q) as f64 / start.elapsed().as_secs_f64();
    let kept = Reward::new(counter.reward(), counter.denominator());
    assert_eq!(count::reward(counter.code()), kept, "the climb kept count");
    rate
}
