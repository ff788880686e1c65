//! Times a table of probabilities that is evaluated once beside a policy that is evaluated again, in turns.
//!
//!     cargo run --release -p foldglass --example fresh

use std::hint::black_box;
use std::time::{Duration, Instant};

use foldglass::model::policy::Entries;
use foldglass::{ClassSpec, Evaluator, Operation, Policy, Shape};

fn main() {
    let spec = ClassSpec::uniform(Operation::cyclic(5).unwrap(), &[7], Shape::untied(0, 3));
    let class = spec.lay_out().unwrap();
    let (mut state, mut rows) = (1u64, vec![0.0; 5 * class.cells()]);
    for row in rows.chunks_mut(5) {
        for p in &mut *row {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            *p = (state >> 40) as f64 + 1.0;
        }
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|p| *p /= sum);
    }
    let single: Vec<f32> = rows.iter().map(|&p| p as f32).collect();
    let policy = Policy::normalized(&class, Entries::Double(&rows), 1e-9).unwrap();
    let mut evaluator = Evaluator::new(&class).unwrap();
    let mut times: [Vec<Duration>; 3] = Default::default();
    for _ in 0..3000 {
        // Laid out, and in the caches: what is timed is an evaluation alone.
        black_box(evaluator.evaluate(&policy));
        black_box(evaluator.evaluate(&policy));
        let mut time = |way: usize, run: &mut dyn FnMut(&mut Evaluator) -> f64| {
            let begun = Instant::now();
            black_box(run(&mut evaluator));
            times[way].push(begun.elapsed());
        };
        time(0, &mut |evaluator| evaluator.evaluate(&policy));
        time(1, &mut |evaluator| {
            let rows = Entries::Double(black_box(&rows));
            evaluator.evaluate_rows(rows, 1e-9).unwrap()
        });
        time(2, &mut |evaluator| {
            let rows = Entries::Single(black_box(&single));
            evaluator.evaluate_rows(rows, 1e-5).unwrap()
        });
    }
    let medians = times.map(|mut own| {
        own.sort();
        own[own.len() / 2].as_secs_f64()
    });
    for (name, time) in ["a policy again", "rows of f64", "rows of f32"]
        .iter()
        .zip(medians)
    {
        println!(
            "{name:14}  {:5.1} µs  {:.2} ×",
            1e6 * time,
            time / medians[0]
        );
    }
}
