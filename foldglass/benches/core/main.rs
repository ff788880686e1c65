//! Times the exact core; prints one JSON object a line for `cargo xtask bench`. All but the longer
//! censuses run on a single thread.
//!
//! A name given as an argument runs only the cases that contain it. A case that takes a minute runs
//! only when its whole name is given.

mod dynamics;
mod landscape;
mod peak;

use foldglass::{Allowance, Class, Evaluator, InputLaw, LatinSquare, Policy, Shape, Task};
use std::hint::black_box;
use std::time::{Duration, Instant};

const BUDGET: Duration = Duration::from_millis(400);

fn class(name: &str, lengths: &[usize], shape: Shape) -> Class {
    let task = Task::new(
        LatinSquare::named(name, 0).unwrap(),
        &InputLaw::Uniform,
        lengths,
    )
    .unwrap();
    Class::new(task, shape, Allowance::default()).unwrap()
}

/// The policy that the peers build from the same integers.
fn shared_policy(class: &Class) -> Policy {
    let q = class.q();
    let raw = |k: usize| {
        1.0 + (2654435761u64.wrapping_mul(k as u64 + 1) % (1 << 32)) as f64 / 4294967296.0
    };
    let rows: Vec<Vec<f64>> = (0..class.cells())
        .map(|cell| {
            let row: Vec<f64> = (0..q).map(|a| raw(cell * q + a)).collect();
            let sum: f64 = row.iter().sum();
            row.iter().map(|p| p / sum).collect()
        })
        .collect();
    Policy::from_rows(class, &rows).unwrap()
}

/// The median time of one call, over batches of about a millisecond that fill the budget.
fn median_time(mut work: impl FnMut()) -> f64 {
    median_times([&mut work])[0]
}

/// The median time of one call of each, in turns; each fills the budget.
fn median_times<const N: usize>(mut works: [&mut dyn FnMut(); N]) -> [f64; N] {
    let batches = works.each_mut().map(|work| {
        let start = Instant::now();
        work();
        let once = start.elapsed().as_secs_f64().max(1e-9);
        (1e-3 / once).ceil().max(1.0) as usize
    });
    let mut times = [const { Vec::new() }; N];
    let start = Instant::now();
    while start.elapsed() < BUDGET * N as u32 || times[0].len() < 5 {
        for ((work, &batch), times) in works.iter_mut().zip(&batches).zip(&mut times) {
            let lap = Instant::now();
            (0..batch).for_each(|_| work());
            times.push(lap.elapsed().as_secs_f64() / batch as f64);
        }
    }
    times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    })
}

/// Multiplications and additions that App. A cannot do without, counted node by node: for every
/// state, history, window and action one of each in alpha, beta and dQ.
fn least_operations(class: &Class) -> f64 {
    let q = class.q() as f64;
    let node = |n: &foldglass::class::Node| {
        let states = if n.parent.is_none() { 1.0 } else { q };
        let contexts = q.powi((n.before + 1 + n.after + n.tokens) as i32);
        let passes = if n.ends { 2.0 } else { 3.0 };
        2.0 * passes * states * contexts * q
    };
    class.nodes().iter().map(node).sum()
}

fn time_evaluation(class: &Class) -> (f64, Evaluator, f64) {
    let policy = shared_policy(class);
    let mut evaluator = Evaluator::new(class, Allowance::default()).unwrap();
    let seconds = median_time(|| {
        black_box(evaluator.evaluate(black_box(&policy)));
    });
    let reward = evaluator.evaluate(&policy);
    (seconds, evaluator, reward)
}

fn evaluation_against_peers() {
    let class = class("quasigroup", &[7], Shape::untied(0, 3));
    let (seconds, evaluator, reward) = time_evaluation(&class);
    let q = class.q();
    let entries = class.cells() * q;
    let sum: f64 = (0..entries)
        .map(|k| (k % 7 + 1) as f64 * evaluator.value(k / q, k % q))
        .sum();
    let operations = least_operations(&class);
    let peak = median_peak();
    let floor = operations / peak;
    println!(
        r#"{{"name":"evaluate_untied_0_3_T7","median_s":{seconds:e},"J":{reward},"checksum_dq":{},"value":{},"unit":"times the arithmetic floor ({:.2} Mflop at {:.1} Gflop/s)","target":"<= 5"}}"#,
        sum / entries as f64,
        seconds / floor,
        operations * 1e-6,
        peak * 1e-9,
    );
}

/// What a front in another language pays for whole tables, beside the evaluation between them.
fn tables_in_cell_order() {
    let class = class("quasigroup", &[7], Shape::untied(0, 3));
    let policy = shared_policy(&class);
    let mut evaluator = Evaluator::new(&class, Allowance::default()).unwrap();
    evaluator.evaluate(&policy);
    let mut other = Evaluator::new(&class, Allowance::default()).unwrap();
    let (mut visits, mut values) = (
        vec![0.0; class.cells()],
        vec![0.0; class.cells() * class.q()],
    );
    let mut rows = values.clone();
    policy.rows_into(&mut rows);
    let [evaluation, read, written] = median_times([
        &mut || {
            black_box(other.evaluate(black_box(&policy)));
        },
        &mut || {
            evaluator.visits_into(black_box(&mut visits));
            evaluator.values_into(black_box(&mut values));
        },
        &mut || {
            black_box(Policy::from_flat(&class, black_box(&rows)).unwrap());
        },
    ]);
    for (name, seconds) in [("read", read), ("write", written)] {
        println!(
            r#"{{"name":"tables_{name}_untied_0_3_T7","median_s":{seconds:e},"value":{},"unit":"times an evaluation","target":"<= 0.5"}}"#,
            seconds / evaluation,
        );
    }
}

fn median_peak() -> f64 {
    let mut rates: Vec<f64> = (0..9).map(|_| peak::flops_per_second()).collect();
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

fn cost_per_step() {
    for (past, future) in [(0, 0), (1, 1)] {
        for (tied, word) in [(false, "untied"), (true, "tied")] {
            let shape = Shape {
                tied,
                ..Shape::untied(past, future)
            };
            // What an inner step costs: the difference between two lengths, so that the smaller
            // first and last steps do not count.
            let cost = |t: usize| {
                let (long, short) = (
                    class("quasigroup", &[t], shape),
                    class("quasigroup", &[t / 2], shape),
                );
                (time_evaluation(&long).0 - time_evaluation(&short).0) / (t - t / 2) as f64
            };
            let (short, long) = (cost(14), cost(700));
            println!(
                r#"{{"name":"step_{word}_{past}_{future}","value":{},"unit":"times, {:.0} ns a step at T = 700 over {:.0} ns at T = 14","target":"0.9 to 1.1"}}"#,
                long / short,
                long * 1e9,
                short * 1e9
            );
        }
    }
}

/// What its lines' names begin with, and what prints them.
type Case = (&'static [&'static str], fn());

fn main() {
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with('-'))
        .collect();
    let cases: [Case; 9] = [
        (&["evaluate_untied_0_3_T7"], evaluation_against_peers),
        (
            &["tables_read_untied_0_3_T7", "tables_write_untied_0_3_T7"],
            tables_in_cell_order,
        ),
        (&["step"], cost_per_step),
        (
            &["cavi_untied_0_3_T7", "chain_untied_0_3_T7"],
            dynamics::cavi_and_chain,
        ),
        (&["cell_sweep_untied_0_3_T7"], dynamics::cell_sweep),
        (&["parity_updates"], dynamics::parity_updates),
        (
            &["actions_0_0_T8", "actions_tied_0_3_T7"],
            dynamics::actions,
        ),
        (&["census_T6"], landscape::against_peers),
        (
            &["census_T8", "census_T10", "census_T11", "census_growth"],
            landscape::growth,
        ),
    ];
    let long_cases: [Case; 1] = [(&["census_T12"], landscape::longest)];
    let is_wanted = |name: &&str| wanted.is_empty() || wanted.iter().any(|w| name.contains(w));
    let is_named = |name: &&str| wanted.iter().any(|w| w == name);
    for (names, case) in cases {
        if names.iter().any(is_wanted) {
            case();
        }
    }
    for (names, case) in long_cases {
        if names.iter().any(is_named) {
            case();
        }
    }
}
