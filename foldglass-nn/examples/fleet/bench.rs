//! Measures what a step of a fleet takes, in all and by kernel.

use crate::{Outcome, backend, model, precision};
use foldglass::model::operation::Operation;
use foldglass_nn::backend::{Backend, ModelState};
use foldglass_nn::cuda::Cuda;
use foldglass_nn::settings::{FleetSettings, ModelSettings};
use foldglass_nn::weights::Weights;
use std::time::Instant;

/// A fleet of `r` models on the cyclic group that fills the vocabulary to three quarters.
fn fleet(
    r: usize,
    l: usize,
    batch: usize,
    vocabulary: usize,
) -> Outcome<(FleetSettings, Vec<ModelSettings>)> {
    let mut settings = FleetSettings::default();
    settings.batch = batch;
    settings.cap = 21.max(l);
    settings.shape.vocabulary = vocabulary;
    let q = if vocabulary == 8 {
        5
    } else {
        vocabulary * 3 / 4
    };
    let models = (0..r)
        .map(|seed| Ok(model(seed as u64, Operation::cyclic(q)?, 0.01)))
        .collect::<Outcome<_>>()?;
    Ok((settings, models))
}

fn restore(
    made: &mut dyn Backend,
    settings: &FleetSettings,
    models: &[ModelSettings],
) -> Outcome<()> {
    for (number, model) in models.iter().enumerate() {
        let weights = Weights::draw(settings.shape, settings.initial, model.seed).values;
        made.restore(number, &ModelState::new(weights))?;
    }
    Ok(())
}

pub fn bench(
    name: &str,
    (r, l, batch, vocabulary): (usize, usize, usize, usize),
    seconds: f64,
) -> Outcome<()> {
    let (settings, models) = fleet(r, l, batch, vocabulary)?;
    let mut made = backend(name, &settings, &models)?;
    restore(made.as_mut(), &settings, &models)?;
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
    let shape = settings.shape;
    let (d, f, k) = (
        shape.width as f64,
        shape.mlp as f64,
        shape.features() as f64,
    );
    let token = 2.0 * (3.0 * d * f + 4.0 * k * f + 3.0 * k * d);
    let tokens = batch as f64 * (l as f64 + 1.0) / 2.0;
    println!(
        "{name} R={r} L={l} B={batch} V={vocabulary}: {:.3} ms a fleet step ({:.3} to {:.3}), {:.0} model-steps/s, {:.3} TFLOP/s",
        time * 1e3,
        times[0] * 1e3,
        times[4] * 1e3,
        r as f64 / time,
        token * tokens * r as f64 / time / 1e12
    );
    Ok(())
}

pub fn profile(name: &str, r: usize, l: usize, vocabulary: usize) -> Outcome<()> {
    let (settings, models) = fleet(r, l, 512, vocabulary)?;
    let mut made = Cuda::new(&settings, &models, precision(name)?)?;
    restore(&mut made, &settings, &models)?;
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
