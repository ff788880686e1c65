//! Checks and measures fleets from a command line, on a CPU or a GPU; training is `foldglass train`, `distill`
//! and `barrier`:
//!
//! ```text
//! fleet check [cpu|tf32|bf16]      every tensor's gradient and more against the reference
//! fleet bench cpu|tf32|bf16 R L SECONDS [BATCH [VOCABULARY]]
//! fleet profile tf32|bf16 R L [VOCABULARY]   the time of every kernel
//! fleet export FOLDER              weights, tokens and logits, for another program to compare
//! ```

mod bench;
mod check;
mod export;

use foldglass::model::operation::Operation;
use foldglass_nn::backend::Backend;
use foldglass_nn::cpu::Cpu;
use foldglass_nn::cuda::{Cuda, Precision};
use foldglass_nn::settings::{FleetSettings, ModelSettings};
use foldglass_nn::shape::NetworkShape;
use foldglass_nn::weights::{WeightLaw, Weights};
use std::error::Error;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["check"] => check::check(None),
        ["check", only] => check::check(Some(only)),
        ["bench", backend, r, l, seconds, rest @ ..] if rest.len() <= 2 => {
            let batch = rest.first().map_or(Ok(512), |n| n.parse())?;
            let vocabulary = rest.get(1).map_or(Ok(8), |n| n.parse())?;
            let sizes = (r.parse()?, l.parse()?, batch, vocabulary);
            bench::bench(backend, sizes, seconds.parse()?)
        }
        ["profile", precision, r, l, rest @ ..] if rest.len() <= 1 => {
            let vocabulary = rest.first().map_or(Ok(8), |n| n.parse())?;
            bench::profile(precision, r.parse()?, l.parse()?, vocabulary)
        }
        ["export", folder] => export::export(folder),
        _ => Err("usage: check | bench | profile | export; see the top of the source".into()),
    }
}

fn backend(
    name: &str,
    settings: &FleetSettings,
    models: &[ModelSettings],
) -> Outcome<Box<dyn Backend>> {
    Ok(match name {
        "cpu" => Box::new(Cpu::new(settings, models)),
        _ => Box::new(Cuda::new(settings, models, precision(name)?)?),
    })
}

fn precision(name: &str) -> Outcome<Precision> {
    match name {
        "bf16" => Ok(Precision::Bf16),
        "tf32" => Ok(Precision::Tf32),
        _ => Err(format!("back end '{name}'; accepted: cpu, tf32, bf16").into()),
    }
}

fn model(seed: u64, square: Operation, entropy: f64) -> ModelSettings {
    let mut model = ModelSettings::new(seed, square);
    model.entropy = entropy;
    model
}

/// Weights with norms that are not all 1.
fn weights(shape: NetworkShape, law: WeightLaw, seed: u64) -> Vec<f32> {
    let mut weights = Weights::draw(shape, law, seed).values;
    for tensor in shape.tensors().iter().filter(|t| t.sizes.len() == 1) {
        (tensor.place.clone()).for_each(|i| weights[i] += ((i * 7 % 11) as f32 - 5.0) / 40.0);
    }
    weights
}
