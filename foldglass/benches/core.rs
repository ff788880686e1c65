//! Times the exact core, single thread; prints one JSON object a line for `cargo xtask bench`.

use foldglass::class::{Allowance, Class, Shape};
use foldglass::evaluate::Evaluator;
use foldglass::inputs::InputLaw;
use foldglass::policy::Policy;
use foldglass::quasigroup::LatinSquare;
use foldglass::task::Task;
use std::hint::black_box;
use std::time::{Duration, Instant};

fn class(name: &str, lengths: &[usize], shape: Shape) -> Class {
    let task = Task::new(LatinSquare::named(name, 0).unwrap(), &InputLaw::Uniform, lengths).unwrap();
    Class::new(task, shape, Allowance::default()).unwrap()
}

/// The policy that the peers build from the same integers.
fn shared_policy(class: &Class) -> Policy {
    let q = class.q();
    let raw = |k: usize| 1.0 + (2654435761u64.wrapping_mul(k as u64 + 1) % (1 << 32)) as f64 / 4294967296.0;
    let rows: Vec<Vec<f64>> = (0..class.cells())
        .map(|cell| {
            let row: Vec<f64> = (0..q).map(|a| raw(cell * q + a)).collect();
            let sum: f64 = row.iter().sum();
            row.iter().map(|p| p / sum).collect()
        })
        .collect();
    Policy::from_rows(class, &rows).unwrap()
}

/// The median time of one call, over batches that fill about `budget`.
fn median_time(budget: Duration, mut work: impl FnMut()) -> f64 {
    let start = Instant::now();
    work();
    let once = start.elapsed().as_secs_f64().max(1e-9);
    let batch = (1e-3 / once).ceil().max(1.0) as usize;
    let mut times = Vec::new();
    let start = Instant::now();
    while start.elapsed() < budget || times.len() < 5 {
        let lap = Instant::now();
        (0..batch).for_each(|_| work());
        times.push(lap.elapsed().as_secs_f64() / batch as f64);
    }
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    let budget = Duration::from_millis(1000);
    let class_03 = class("quasigroup", &[7], Shape::untied(0, 3));
    let policy = shared_policy(&class_03);
    let mut evaluator = Evaluator::new(&class_03, Allowance::default()).unwrap();
    let t = median_time(budget, || {
        black_box(evaluator.evaluate(black_box(&policy)));
    });
    println!("(0,3) {:.1} us", t * 1e6);
    for (p, f) in [(0, 0), (1, 1)].into_iter().take(std::env::var("ONLY").map_or(2, |_| 0)) {
        for n in [7, 70, 700] {
            let class = class("quasigroup", &[n], Shape::untied(p, f));
            let policy = shared_policy(&class);
            let mut evaluator = Evaluator::new(&class, Allowance::default()).unwrap();
            let t = median_time(budget, || {
                black_box(evaluator.evaluate(black_box(&policy)));
            });
            println!("({p},{f}) T={n}: {:.1} us, {:.1} ns/step", t * 1e6, t * 1e9 / n as f64);
        }
    }
}
