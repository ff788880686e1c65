//! Measures what a step of a fleet takes, in all and by kernel.

use crate::{Outcome, backend, model, precision};
use foldglass::model::operation::Operation;
use foldglass_nn::backend::{Backend, ModelState};
use foldglass_nn::cuda::Cuda;
use foldglass_nn::settings::{FleetSettings, ModelSettings};
use foldglass_nn::shape::NetworkShape;
use foldglass_nn::weights::Weights;
use std::time::Instant;

fn bench_fleet(name: &str, r: usize, l: usize, batch: usize) -> Outcome<Box<dyn Backend>> {
    let mut settings = FleetSettings::default();
    settings.batch = batch;
    settings.cap = 21.max(l);
    let models: Vec<ModelSettings> = (0..r)
        .map(|seed| Ok(model(seed as u64, Operation::cyclic(5)?, 0.01)))
        .collect::<Outcome<_>>()?;
    let mut made = backend(name, &settings, &models)?;
    for (number, model) in models.iter().enumerate() {
        let weights = Weights::draw(settings.shape, settings.initial, model.seed).values;
        made.restore(number, &ModelState::new(weights))?;
    }
    Ok(made)
}

pub fn bench(name: &str, r: usize, l: usize, seconds: f64, batch: usize) -> Outcome<()> {
    let mut made = bench_fleet(name, r, l, batch)?;
    let lengths = vec![l; r];
    let mut step = 0;
    let mut timed = |count: u64| -> Outcome<f64> {
        let start = Instant::now();
        made.train(step, count, &lengths)?;
        step += count;
        Ok(start.elapsed().as_secs_f64())
    };
    timed(2)?;
    let once = timed(2)? / 2.0;
    let count = ((seconds / 5.0 / once) as u64).clamp(1, 1000);
    let mut times = (0..5)
        .map(|_| Ok(timed(count)? / count as f64))
        .collect::<Outcome<Vec<f64>>>()?;
    times.sort_by(f64::total_cmp);
    let time = times[2];
    // Down-projection and its two gradients, the tables' products and their two gradients, once
    // again the up-projection in the backward pass: what the table form must do for a token.
    let shape = NetworkShape::default();
    let (d, f, k) = (
        shape.width as f64,
        shape.mlp as f64,
        shape.features() as f64,
    );
    let token = 2.0 * (3.0 * d * f + 4.0 * k * f + 3.0 * k * d);
    let tokens = batch as f64 * (l as f64 + 1.0) / 2.0;
    println!(
        "{name} R={r} L={l} B={batch}: {:.3} ms a fleet step ({:.3} to {:.3}), {:.0} model-steps/s, {:.3} TFLOP/s",
        time * 1e3,
        times[0] * 1e3,
        times[4] * 1e3,
        r as f64 / time,
        token * tokens * r as f64 / time / 1e12
    );
    Ok(())
}

pub fn profile(name: &str, r: usize, l: usize) -> Outcome<()> {
    let mut settings = FleetSettings::default();
    settings.cap = 21.max(l);
    let models: Vec<ModelSettings> = (0..r)
        .map(|seed| Ok(model(seed as u64, Operation::cyclic(5)?, 0.01)))
        .collect::<Outcome<_>>()?;
    let mut made = Cuda::new(&settings, &models, precision(name)?)?;
    for (number, model) in models.iter().enumerate() {
        let weights = Weights::draw(settings.shape, settings.initial, model.seed).values;
        made.restore(number, &ModelState::new(weights))?;
    }
    made.train(0, 5, &vec![l; r])?;
    made.profile(true)?;
    made.train(5, 20, &vec![l; r])?;
    let mut kernels = made.profile(false)?;
    kernels.sort_by(|a, b| b.2.total_cmp(&a.2));
    let total: f64 = kernels.iter().map(|k| k.2).sum();
    println!(
        "{name} R={r} L={l}: {:.3} ms a step in kernels",
        total / 20.0
    );
    for (kernel, launches, time) in kernels {
        println!(
            "  {kernel:20} {:5} launches  {:8.3} ms a step  {:4.1} %",
            launches / 20,
            time / 20.0,
            100.0 * time / total
        );
    }
    Ok(())
}
