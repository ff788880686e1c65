//! Times sampled training and rollouts, each against its random numbers.

use crate::{Held, class, median_peak, median_times, shared_policy};
use foldglass::dynamics::reinforce::{ReinforceSettings, SampledTraining};
use foldglass::dynamics::rollouts::sample_rollouts;
use foldglass::reward::estimators::Estimator;
use foldglass::{Allowance, Context, Shape, Stream};
use std::hint::black_box;

/// What an exponential costs at the least, in floating-point operations.
const EXPONENTIAL: f64 = 20.0;

/// Inputs of an update.
const BATCH: usize = 512;

/// Draws what so many input symbols and tokens need: a byte each and a word each.
fn random_numbers(q: u32, symbols: usize) -> impl FnMut() {
    let mut stream = Stream::new(1, 0);
    let (mut bytes, mut words) = (vec![0; symbols], vec![0; 4 * symbols]);
    move || {
        stream.below_all(q, black_box(&mut bytes));
        stream.fill(black_box(&mut words));
    }
}

/// One update of sampled training: 512 inputs, one rollout on each, the mean reward as the baseline, SGD.
pub fn update() {
    let class = class("quasigroup", &[8], Shape::untied(0, 0));
    let settings = ReinforceSettings::new(Estimator::BatchMean, BATCH, 1e-3);
    let (stream, memory) = (Stream::new(1, 0), Allowance::default());
    let policy = shared_policy(&class);
    let run = SampledTraining::new(&class, settings, stream, Some(&policy), memory);
    let mut run = run.unwrap();
    let mut numbers = random_numbers(5, BATCH * 8);
    let [update, drawn] = median_times([&mut || run.advance(1), &mut numbers]);
    let exponentials = EXPONENTIAL * (class.cells() * class.q()) as f64 / median_peak();
    let held = Held {
        name: "reinforce_untied_0_0_T8",
        seconds: update,
        of: "an update with 512 inputs",
        base_seconds: drawn + exponentials,
        base: "its random numbers and exponentials",
        target: "",
    };
    held.print();
}

/// Rollouts as arrays, on one thread, into the same memory each time.
pub fn rollouts() {
    const ROLLOUTS: usize = 1 << 13;
    for (name, length, future, target) in [
        ("rollouts_0_0_T8", 8, 0, 100),
        ("rollouts_0_3_T7", 7, 3, 40),
    ] {
        let class = class("quasigroup", &[length], Shape::untied(0, future));
        let policy = shared_policy(&class);
        let context = Context::default().with_threads(1);
        let tokens = ROLLOUTS * length;
        let mut numbers = random_numbers(5, tokens);
        // Inputs, tokens and cells of 4 bytes each, a log-probability of 8.
        let mut written = vec![0u64; tokens * 20 / 8];
        let mut rollouts = sample_rollouts(&policy, ROLLOUTS, 1, context).unwrap();
        let [drawn, floor] = median_times([
            &mut || {
                black_box(&mut rollouts).redraw(black_box(&policy), 1, context);
            },
            &mut || {
                numbers();
                black_box(&mut written).fill(1);
            },
        ]);
        let held = Held {
            name,
            seconds: drawn,
            of: "8192 rollouts",
            base_seconds: floor,
            base: "their random numbers and the bytes written",
            target: "",
        };
        held.print();
        println!(
            r#"{{"name":"{name}_rate","value":{},"unit":"million tokens a second","target":">= {target}"}}"#,
            tokens as f64 / drawn * 1e-6
        );
    }
}
