//! Times the exact core; prints one JSON object a line for `cargo xtask bench`. All but the longer
//! censuses run on a single thread.
//!
//! A name given as an argument runs only the cases that contain it. A case that takes a minute runs
//! only when its whole name is given.

mod dynamics;
mod estimators;
mod landscape;
mod peak;
mod sampled;

use foldglass::{Class, Evaluator, InputLaw, Operation, Policy, Shape, Task};
use std::hint::black_box;
use std::time::{Duration, Instant};

const BUDGET: Duration = Duration::from_millis(400);

fn class(name: &str, lengths: &[usize], shape: Shape) -> Class {
    let task = Task::new(Operation::named(name).unwrap(), &InputLaw::Uniform, lengths).unwrap();
    Class::new(task, shape).unwrap()
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
fn median_times<const N: usize>(works: [&mut dyn FnMut(); N]) -> [f64; N] {
    let laps = laps(works);
    std::array::from_fn(|work| median(laps.iter().map(|times| times[work])))
}

/// The times of one call of each, lap by lap, so that what the machine does meanwhile falls on all of
/// them alike.
fn laps<const N: usize>(mut works: [&mut dyn FnMut(); N]) -> Vec<[f64; N]> {
    let batches = works.each_mut().map(|work| {
        let start = Instant::now();
        work();
        let once = start.elapsed().as_secs_f64().max(1e-9);
        (1e-3 / once).ceil().max(1.0) as usize
    });
    let mut laps = Vec::new();
    let start = Instant::now();
    while start.elapsed() < BUDGET * N as u32 || laps.len() < 5 {
        laps.push(std::array::from_fn(|n| {
            let lap = Instant::now();
            (0..batches[n]).for_each(|_| works[n]());
            lap.elapsed().as_secs_f64() / batches[n] as f64
        }));
    }
    laps
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// A time and the one it is held against; `cargo xtask bench` makes the ratio of what it prints.
struct Held<'a> {
    name: &'a str,
    seconds: f64,
    /// What took them.
    of: &'a str,
    base_seconds: f64,
    base: &'a str,
    /// What their ratio should be; empty where nothing was asked.
    target: &'a str,
}

impl Held<'_> {
    fn print(&self) {
        self.print_with("");
    }

    /// Prints it with further fields, each begun by a comma.
    fn print_with(&self, fields: &str) {
        let Held {
            name,
            seconds,
            of,
            base_seconds,
            base,
            target,
        } = self;
        println!(
            r#"{{"name":"{name}","median_s":{seconds:e},"of":"{of}","base_s":{base_seconds:e},"base":"{base}","target":"{target}"{fields}}}"#
        );
    }
}

/// Multiplications and additions that App. A cannot do without, counted node by node: for every
/// state, history, window and action one of each in alpha, beta and dQ.
fn least_operations(class: &Class) -> f64 {
    let q = class.q() as f64;
    let node = |n: &foldglass::model::class::Node| {
        let states = if n.parent.is_none() { 1.0 } else { q };
        let contexts = q.powi((n.before + 1 + n.after + n.tokens) as i32);
        let passes = if n.ends { 2.0 } else { 3.0 };
        2.0 * passes * states * contexts * q
    };
    class.nodes().iter().map(node).sum()
}

fn time_evaluation(class: &Class) -> (f64, Evaluator, f64) {
    let policy = shared_policy(class);
    let mut evaluator = Evaluator::new(class).unwrap();
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
    let held = Held {
        name: "evaluate_untied_0_3_T7",
        seconds,
        of: "an evaluation",
        base_seconds: operations / median_peak(),
        base: &floor(operations),
        target: "<= 1.5",
    };
    let checksum = sum / entries as f64;
    held.print_with(&format!(r#","J":{reward},"checksum_dq":{checksum}"#));
}

/// What the least time of so many operations is called.
fn floor(operations: f64) -> String {
    format!("the arithmetic floor of {:.2} Mflop", operations * 1e-6)
}

/// What a front in another language pays for whole tables, beside the evaluation between them.
fn tables_in_cell_order() {
    let class = class("quasigroup", &[7], Shape::untied(0, 3));
    let policy = shared_policy(&class);
    let mut evaluator = Evaluator::new(&class).unwrap();
    evaluator.evaluate(&policy);
    let mut other = Evaluator::new(&class).unwrap();
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
    for (name, seconds, of) in [
        ("read", read, "d and dQ read"),
        ("write", written, "a policy set"),
    ] {
        let name = &format!("tables_{name}_untied_0_3_T7");
        let held = Held {
            name,
            seconds,
            of,
            base_seconds: evaluation,
            base: "an evaluation",
            target: "<= 0.5",
        };
        held.print();
    }
}

fn median_peak() -> f64 {
    median((0..9).map(|_| peak::flops_per_second()))
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
            let [mut a, mut b, mut c, mut d] = [7, 14, 350, 700].map(|length| {
                let class = class("quasigroup", &[length], shape);
                let policy = shared_policy(&class);
                let mut evaluator = Evaluator::new(&class).unwrap();
                move || {
                    black_box(evaluator.evaluate(black_box(&policy)));
                }
            });
            let laps = laps([&mut a, &mut b, &mut c, &mut d]);
            let step = |short: usize, long: usize, steps: f64| {
                median(
                    laps.iter()
                        .map(|times| (times[long] - times[short]) / steps),
                )
            };
            let held = Held {
                name: &format!("step_{word}_{past}_{future}"),
                seconds: step(2, 3, 350.0),
                of: "a step at T = 700",
                base_seconds: step(0, 1, 7.0),
                base: "a step at T = 14",
                target: "0.85 to 1.15",
            };
            held.print();
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
    let cases: [Case; 15] = [
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
        (&["cavi_runs_0_0_T8"], dynamics::many_runs),
        (&["cell_sweep_untied_0_3_T7"], dynamics::cell_sweep),
        (&["parity_updates"], dynamics::parity_updates),
        (
            &["actions_0_0_T8", "actions_tied_0_3_T7"],
            dynamics::actions,
        ),
        (&["reinforce_untied_0_0_T8"], sampled::update),
        (&["rollouts_0_0_T8", "rollouts_0_3_T7"], sampled::rollouts),
        (
            &["successes_0_0_T8", "successes_floor_0_0_T8"],
            estimators::successes,
        ),
        (
            &[
                "variance_reinforce_0_0_T8",
                "variance_batch_mean_0_0_T8",
                "variance_reinforce_0_3_T7",
                "variance_batch_mean_0_3_T7",
            ],
            estimators::variances,
        ),
        (&["census_T6"], landscape::against_peers),
        (
            &["census_T8", "census_T10", "census_T11", "census_growth"],
            landscape::growth,
        ),
        (
            &["census_lengths_0_1", "census_z3_0_1", "census_max3"],
            landscape::others,
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
