//! Times the successes of all inputs, and the exact variance of sampled gradients.

use super::{Held, class, floor, median_peak, median_time, median_times, shared_policy};
use foldglass::reward::estimators::{Estimator, EstimatorSums, GradientMoments};
use foldglass::reward::per_input;
use foldglass::{Context, Evaluator, Shape};
use std::hint::black_box;

/// p(x) of all 390,625 inputs: held to what was asked for, and to its arithmetic.
pub fn successes() {
    let class = class("quasigroup", &[8], Shape::untied(0, 0));
    let policy = shared_policy(&class);
    let seconds = median_time(|| {
        let mut sum = 0.0;
        per_input::for_each(black_box(&policy), |_, _, p| sum += p);
        black_box(sum);
    });
    // A multiplication and an addition for each action and history of a node, one for each history of a leaf.
    let q = class.q() as f64;
    let nodes: f64 = (1..8)
        .map(|t: i32| q.powi(t) * if t == 1 { q } else { q * q })
        .sum();
    let operations = 2.0 * (nodes + q.powi(8) * q);
    let of = "all p(x)";
    let asked = Held {
        name: "successes_0_0_T8",
        seconds,
        of,
        base_seconds: 0.05,
        base: "50 ms",
        target: "<= 1",
    };
    asked.print();
    let least = Held {
        name: "successes_floor_0_0_T8",
        base_seconds: operations / median_peak(),
        base: &floor(operations),
        target: "",
        ..asked
    };
    least.print();
}

/// The exact variance of the estimators that need one evaluation, beside that evaluation.
pub fn variances() {
    for (name, length, shape) in [
        ("0_0_T8", 8, Shape::untied(0, 0)),
        ("0_3_T7", 7, Shape::untied(0, 3)),
    ] {
        let class = class("quasigroup", &[length], shape);
        let policy = shared_policy(&class);
        let context = Context::default().with_threads(1);
        let mut alone = Evaluator::new(&class).unwrap();
        // Into the same memory each time.
        let moments_of = |estimator: Estimator| {
            let mut sums = EstimatorSums::of(&policy, estimator, 0, context).unwrap();
            let mut found = GradientMoments::empty();
            let policy = &policy;
            move || {
                sums.renew(black_box(policy), 0, context).unwrap();
                sums.moments_into(512, &mut found).unwrap();
                black_box(found.trace());
            }
        };
        let [evaluation, reinforce, batch_mean] = median_times([
            &mut || {
                black_box(alone.evaluate(black_box(&policy)));
            },
            &mut moments_of(Estimator::Reinforce),
            &mut moments_of(Estimator::BatchMean),
        ]);
        for (estimator, seconds) in [("reinforce", reinforce), ("batch_mean", batch_mean)] {
            let held = Held {
                name: &format!("variance_{estimator}_{name}"),
                seconds,
                of: "the exact variance",
                base_seconds: evaluation,
                base: "an evaluation",
                target: "<= 3",
            };
            held.print();
        }
    }
}
