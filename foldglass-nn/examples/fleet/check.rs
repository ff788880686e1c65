//! Compares back ends with the dense reference: gradients, decoding, draws, the same run twice.

use crate::{Outcome, backend, model, precision, weights};
use foldglass::model::operation::Operation;
use foldglass_nn::backend::{Backend, ModelState};
use foldglass_nn::batch::{Batch, BatchLaw};
use foldglass_nn::cpu::Cpu;
use foldglass_nn::cuda::Cuda;
use foldglass_nn::dense::{self, Dense};
use foldglass_nn::fleet::Fleet;
use foldglass_nn::law::{LengthLaw, SymbolLaw};
use foldglass_nn::layout::Layout;
use foldglass_nn::objective::TokenWeight;
use foldglass_nn::philox::{Numbers, Purpose};
use foldglass_nn::reference;
use foldglass_nn::settings::{BatchLengths, FleetSettings, Gate, LengthDraw, ModelSettings};
use foldglass_nn::shape::{NetworkShape, Norm};
use foldglass_nn::weights::WeightLaw;
use std::ops::ControlFlow;

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
    let weights = (0..batch.tokens()).map(|i| TokenWeight {
        policy: ((i * 5 % 7) as f32 - 3.0) / 50.0,
        entropy: (i % 3) as f32 / 60.0,
        divergence: 0.0,
    });
    let weights = weights.collect();
    (batch, weights)
}

fn list(symbols: &[u8]) -> Vec<usize> {
    symbols.iter().map(|&s| s.into()).collect()
}

/// Relative errors of every tensor's gradient.
fn errors(shape: NetworkShape, found: &[f32], expected: &[f64]) -> Vec<f64> {
    (shape.tensors().iter())
        .map(|tensor| {
            let pairs = tensor
                .place
                .clone()
                .map(|i| (f64::from(found[i]), expected[i]));
            let difference: f64 = pairs.clone().map(|(a, b)| (a - b).powi(2)).sum();
            (difference / pairs.map(|(_, b)| b * b).sum::<f64>()).sqrt()
        })
        .collect()
}

pub fn check(only: Option<&str>) -> Outcome<()> {
    let shape = NetworkShape::default();
    let narrow = NetworkShape {
        width: 64,
        mlp: 128,
        ..shape
    };
    let layered = NetworkShape {
        norm: Norm::Layer,
        ..shape
    };
    let with = |vocabulary| NetworkShape {
        vocabulary,
        ..shape
    };
    let wanted = |name: &str| only.is_none_or(|only| only == name);
    let mut failures = 0;
    println!(
        "relative error of the gradient of {} tensors against float64",
        shape.tensors().len()
    );
    for (name, shape, layout, tolerance) in [
        ("cpu", shape, Layout::PrefixFixed, 1e-5),
        ("tf32", narrow, Layout::PrefixFixed, 2e-3),
        ("tf32", narrow, Layout::Interleaved, 2e-3),
        ("tf32", narrow, Layout::Shared, 2e-3),
        ("tf32", shape, Layout::PrefixFixed, 2e-3),
        ("bf16", shape, Layout::PrefixFixed, 1e-2),
        ("bf16", shape, Layout::Prefix, 1e-2),
        ("bf16", shape, Layout::Causal, 1e-2),
        ("bf16", shape, Layout::Interleaved, 1e-2),
        ("bf16", shape, Layout::Shared, 1e-2),
        ("bf16", layered, Layout::PrefixFixed, 1e-2),
        ("tf32", layered, Layout::PrefixFixed, 2e-3),
        ("bf16", with(16), Layout::PrefixFixed, 1e-2),
        ("bf16", with(32), Layout::PrefixFixed, 1e-2),
        ("tf32", with(32), Layout::PrefixFixed, 2e-3),
    ] {
        if !wanted(name) {
            continue;
        }
        let mut settings = FleetSettings::default();
        settings.shape = shape;
        settings.layout = layout;
        settings.cap = 8;
        settings.batch = 64;
        settings.gate = Gate {
            samples: 64,
            ..Gate::default()
        };
        let models = match shape.vocabulary {
            8 => [Operation::paper(), Operation::cyclic(2)?],
            v => [Operation::cyclic(v * 3 / 4)?, Operation::cyclic(v / 2)?],
        };
        let [first, second] = models;
        let models = [model(3, first, 0.3), model(4, second, 0.3)];
        let made = backend(name, &settings, &models);
        let mut made = match made {
            Ok(made) => made,
            Err(error) => {
                println!("{name}: {error}");
                failures += 1;
                continue;
            }
        };
        let (mut batches, mut tokens, mut expected) = (Vec::new(), Vec::new(), Vec::new());
        for (number, model) in models.iter().enumerate() {
            let values = weights(shape, WeightLaw::Pt, model.seed);
            made.restore(number, &ModelState::new(values.clone()))?;
            let (batch, list) = example(&model.square, settings.cap, 40);
            expected.push(reference::gradient(
                &settings,
                &values,
                model.square.q(),
                &batch,
                &list,
                None,
            ));
            batches.push(batch);
            tokens.push(list);
        }
        let found = made.gradients(&batches, &tokens)?;
        for (number, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let errors = errors(shape, found, expected);
            let shown: Vec<String> = errors.iter().map(|e| format!("{e:.1e}")).collect();
            let good = errors.iter().all(|&e| e < tolerance);
            failures += usize::from(!good);
            let verdict = if good { "ok" } else { "FAIL" };
            println!(
                "{name} D={} V={} {layout:?} {:?} model {number}: {} {verdict}",
                shape.width,
                shape.vocabulary,
                shape.norm,
                shown.join(" ")
            );
        }
    }
    for name in ["tf32", "bf16"].into_iter().filter(|name| wanted(name)) {
        failures += check_greedy(name)? + check_draws(name)? + check_twice(name)?;
    }
    println!("{failures} failures");
    if failures > 0 {
        return Err("some checks failed".into());
    }
    Ok(())
}

/// Greedy decoding on all inputs of length 3 against the reference; differences only where two
/// logits are nearly equal.
fn check_greedy(name: &str) -> Outcome<usize> {
    let square = Operation::paper();
    let mut settings = FleetSettings::default();
    settings.cap = 4;
    settings.batch = 128;
    settings.evaluation = foldglass_nn::settings::Evaluation {
        length: 3,
        inputs: 100,
    };
    let own = model(8, square.clone(), 0.0);
    let mut made = backend(name, &settings, std::slice::from_ref(&own))?;
    let values = weights(settings.shape, WeightLaw::Pt, 8);
    made.restore(0, &ModelState::new(values.clone()))?;
    let inputs: Vec<Vec<u8>> = (0..125).map(|i| vec![i % 5, i / 5 % 5, i / 25]).collect();
    let mut batches = [Batch::new(&square, &inputs, 4)];
    made.decode(&mut batches)?;
    let reference = Dense::from_f32(settings.shape, &values);
    let mut different = 0;
    for (sample, input) in inputs.iter().enumerate() {
        let expected = dense::greedy(&reference, settings.layout, &list(input), 5, 4);
        different += usize::from(list(batches[0].y(sample)) != expected);
    }
    // bf16 may turn near ties.
    let allowed = if name == "bf16" { 3 } else { 1 };
    println!("{name}: greedy decoding differs from the reference on {different} of 125 inputs");
    Ok(usize::from(different > allowed))
}

/// First tokens of one input, drawn 512 times at a step, against the reference's softmax.
fn check_draws(name: &str) -> Outcome<usize> {
    let mut settings = FleetSettings::default();
    settings.cap = 1;
    settings.lengths = BatchLengths::Fixed {
        lengths: vec![1],
        weights: Vec::new(),
        drawn: LengthDraw::Sample,
    };
    settings.evaluation = foldglass_nn::settings::Evaluation {
        length: 1,
        inputs: 100,
    };
    let own = model(8, Operation::paper(), 0.0);
    let mut made = backend(name, &settings, std::slice::from_ref(&own))?;
    let values = weights(settings.shape, WeightLaw::Pt, 8);
    made.restore(0, &ModelState::new(values.clone()))?;
    // The chance of being right, averaged over inputs, against the fraction that was.
    let reference = Dense::from_f32(settings.shape, &values);
    let mut chance = 0.0;
    for x in 0..5 {
        let sequence = settings.layout.sequence(&[x], &[0], 1, 7);
        let logits = reference.forward(&sequence).logits;
        let total: f64 = logits.row(0)[..5].iter().map(|l| l.exp()).sum();
        chance += logits.row(0)[x].exp() / total / 5.0;
    }
    let mut right = 0.0;
    for step in 0..200 {
        let test = foldglass_nn::backend::Test {
            purpose: Purpose::Gate,
            step,
            samples: 512,
            decoding: foldglass_nn::settings::Decoding::Sampled,
            lengths: vec![LengthLaw::equal(vec![1])],
        };
        right += f64::from(made.right(&test)?[0]);
    }
    let n = 200.0 * 512.0;
    let z = (right - n * chance) / (n * chance * (1.0 - chance)).sqrt();
    println!(
        "{name}: drawn right {:.4}, softmax says {chance:.4}, {z:.1} deviations",
        right / n
    );
    Ok(usize::from(z.abs() > 5.0))
}

/// The same run twice, to the last bit; and its first steps against the CPU's.
fn check_twice(name: &str) -> Outcome<usize> {
    let mut settings = FleetSettings::default();
    settings.batch = 128;
    settings.steps = 60;
    settings.cap = 8;
    settings.lengths = BatchLengths::Curriculum {
        start: 6,
        drawn: LengthDraw::Sample,
    };
    settings.gate = Gate {
        samples: 128,
        ..Gate::default()
    };
    let models: Vec<ModelSettings> = (0..5)
        .map(|seed| model(seed, Operation::paper(), 0.1))
        .collect();
    let run = |name: &str, steps: u64| -> Outcome<(Vec<Vec<f32>>, String)> {
        let make =
            |s: &FleetSettings, m: &[ModelSettings]| match name {
                "cpu" => Ok(Box::new(Cpu::new(s, m)) as Box<dyn Backend>),
                _ => Ok(Box::new(Cuda::new(s, m, precision(name).expect("a name"))?)
                    as Box<dyn Backend>),
            };
        let mut settings = settings.clone();
        settings.steps = steps;
        let mut fleet = Fleet::new(settings, models.clone(), &make)?;
        let mut last = String::new();
        fleet.run(|points| {
            last = format!("{:?}", points[0].last);
            ControlFlow::Continue(())
        })?;
        let states = (0..5).map(|m| Ok(fleet.backend().state(m)?.weights));
        Ok((states.collect::<Outcome<_>>()?, last))
    };
    let (one, other) = (run(name, 60)?, run(name, 60)?);
    let same = one.0 == other.0;
    println!(
        "{name}: the same run twice is {}",
        if same { "the same" } else { "DIFFERENT" }
    );
    println!(
        "  first step, {name}: {}\n  first step, cpu: {}",
        run(name, 1)?.1,
        run("cpu", 1)?.1
    );
    Ok(usize::from(!same))
}
