//! The CPU back end against the dense reference, and every option of training at small width.

mod divergence;
mod fleet;
mod optimiser;

use foldglass::model::operation::Operation;
use foldglass::support::watch::Stop;
use foldglass_nn::backend::{Backend, ModelState};
use foldglass_nn::batch::{Batch, BatchLaw};
use foldglass_nn::cpu::Cpu;
use foldglass_nn::dense::{self, Dense};
use foldglass_nn::fleet::{CurvePoint, Fleet};
use foldglass_nn::law::{LengthLaw, SymbolLaw};
use foldglass_nn::layout::{LAYOUTS, Layout};
use foldglass_nn::objective::{Sampler, TokenWeight};
use foldglass_nn::philox::{Numbers, Purpose};
use foldglass_nn::reference;
use foldglass_nn::schedule::{DecayKind, EntropyDecay, RateSchedule};
use foldglass_nn::settings::{
    Adam, Adaptive, Baseline, BatchLengths, Decoding, EntropyForm, Evaluation, FleetSettings, Gate,
    GateLengths, Keep, LengthDraw, ModelSettings, Permutation, Prior, PriorNetwork,
    TokenRelabelling, TrainingMethod,
};
use foldglass_nn::shape::{NetworkShape, Norm};
use foldglass_nn::weights::{WeightLaw, Weights};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn small(norm: Norm) -> NetworkShape {
    NetworkShape {
        width: 24,
        heads: 3,
        mlp: 40,
        vocabulary: 7,
        blocks: 1,
        norm,
    }
}

fn model(seed: u64, square: Operation, entropy: f64) -> ModelSettings {
    let mut model = ModelSettings::new(seed, square);
    model.entropy = entropy;
    model.learning_rate = 1e-3;
    model
}

fn on_cpu(settings: &FleetSettings, models: &[ModelSettings]) -> Box<dyn Backend> {
    Box::new(Cpu::new(settings, models))
}

fn fleet(settings: &FleetSettings, models: &[ModelSettings]) -> Fleet {
    let make = |s: &FleetSettings, m: &[ModelSettings]| Ok(on_cpu(s, m));
    Fleet::new(settings.clone(), models.to_vec(), &make).unwrap()
}

/// A drawn batch whose tokens are drawn too, and weights of both signs.
fn example(square: &Operation, cap: usize, rows: usize) -> (Batch, Vec<TokenWeight>) {
    let law = BatchLaw {
        square,
        inputs: &SymbolLaw::uniform(square.q()),
        lengths: &LengthLaw::equal((1..=cap).collect()),
        drawn: LengthDraw::Sample,
        rows,
        group: 1,
        cap,
    };
    let mut batch = Batch::draw(&law, Numbers::new(5, Purpose::Training, 1));
    for sample in 0..rows {
        for (t, y) in batch.y_mut(sample).iter_mut().enumerate() {
            *y = ((sample * 7 + t * 3) % square.q()) as u8;
        }
    }
    let weights = (0..batch.tokens())
        .map(|i| TokenWeight {
            policy: ((i * 5 % 7) as f32 - 3.0) / 50.0,
            entropy: (i % 3) as f32 / 60.0,
            divergence: (i % 4) as f32 / 40.0,
        })
        .collect();
    (batch, weights)
}

fn compare_gradients(settings: &FleetSettings, square: &Operation, rows: usize, tolerance: f64) {
    let own = model(3, square.clone(), 0.0);
    let mut weights = Weights::draw(settings.shape, settings.initial, 3).values;
    for tensor in settings
        .shape
        .tensors()
        .iter()
        .filter(|t| t.sizes.len() == 1)
    {
        (tensor.place.clone()).for_each(|i| weights[i] += ((i * 7 % 11) as f32 - 5.0) / 40.0);
    }
    let mut cpu = Cpu::new(settings, std::slice::from_ref(&own));
    cpu.restore(0, &ModelState::new(weights.clone())).unwrap();
    let prior = Weights::draw(settings.shape, settings.initial, 4).values;
    cpu.set_prior(0, &prior).unwrap();
    let (batch, tokens) = example(square, settings.cap, rows);
    let found = cpu
        .gradients(std::slice::from_ref(&batch), std::slice::from_ref(&tokens))
        .unwrap();
    let q = square.q();
    let expected = reference::gradient(settings, &weights, q, &batch, &tokens, Some(&prior));
    for tensor in settings.shape.tensors() {
        let pairs = tensor
            .place
            .clone()
            .map(|i| (f64::from(found[0][i]), expected[i]));
        let difference: f64 = pairs.clone().map(|(a, b)| (a - b).powi(2)).sum();
        let size: f64 = pairs.map(|(_, b)| b * b).sum();
        let relative = (difference / size).sqrt();
        let layout = settings.layout;
        assert!(
            size > 0.0 && relative < tolerance,
            "{layout:?} {}: {relative:e}",
            tensor.name
        );
    }
}

#[test]
fn gradients_of_all_tensors_are_those_of_the_dense_reference() {
    for layout in LAYOUTS {
        for norm in [Norm::Rms, Norm::Layer] {
            let mut settings = FleetSettings::default();
            settings.shape = small(norm);
            settings.layout = layout;
            settings.cap = 5;
            compare_gradients(&settings, &Operation::paper(), 30, 1e-5);
        }
    }
}

#[test]
fn gradients_at_the_papers_width_are_those_of_the_dense_reference() {
    let mut settings = FleetSettings::default();
    settings.cap = 4;
    compare_gradients(&settings, &Operation::paper(), 12, 1e-5);
}

#[test]
fn greedy_decoding_is_that_of_the_dense_reference_on_all_inputs() {
    let square = Operation::cyclic(3).unwrap();
    for layout in LAYOUTS {
        let mut settings = FleetSettings::default();
        settings.shape = small(Norm::Rms);
        settings.layout = layout;
        settings.cap = 4;
        let weights = Weights::draw(settings.shape, WeightLaw::Pt, 8).values;
        let own = model(8, square.clone(), 0.0);
        let mut cpu = Cpu::new(&settings, &[own]);
        cpu.restore(0, &ModelState::new(weights.clone())).unwrap();
        let inputs: Vec<Vec<u8>> = (0..27)
            .map(|i| vec![(i % 3) as u8, (i / 3 % 3) as u8, (i / 9) as u8])
            .collect();
        let mut batches = [Batch::new(&square, &inputs, 4)];
        cpu.decode(&mut batches).unwrap();
        let reference = Dense::from_f32(settings.shape, &weights);
        for (sample, input) in inputs.iter().enumerate() {
            let x: Vec<usize> = input.iter().map(|&s| s.into()).collect();
            let expected = dense::greedy(&reference, layout, &x, 3, 4);
            let found: Vec<usize> = batches[0].y(sample).iter().map(|&s| s.into()).collect();
            assert_eq!(found, expected, "{layout:?} {input:?}");
        }
    }
}

#[test]
fn parity_of_two_symbols_is_learned() {
    let mut settings = FleetSettings::default();
    settings.shape = NetworkShape {
        width: 32,
        heads: 2,
        mlp: 64,
        ..NetworkShape::default()
    };
    settings.batch = 128;
    settings.steps = 1500;
    settings.cap = 2;
    settings.evaluation = Evaluation {
        length: 2,
        inputs: 64,
    };
    let models: Vec<ModelSettings> = (0..2)
        .map(|seed| model(seed, Operation::cyclic(2).unwrap(), 0.3))
        .collect();
    let mut fleet = fleet(&settings, &models);
    fleet.run(|_| ControlFlow::Continue(())).unwrap();
    assert_eq!(fleet.accuracies(1, 64).unwrap(), [1.0, 1.0]);
    let best = fleet.accuracies(2, 64).unwrap();
    assert!(best.contains(&1.0), "{best:?}");
}
