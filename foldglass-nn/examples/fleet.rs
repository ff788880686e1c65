//! Checks, measures and trains fleets from a command line, on a CPU or a GPU:
//!
//! ```text
//! fleet check                      every tensor's gradient and more against the reference
//! fleet bench cpu|tf32|bf16 R L SECONDS [BATCH]
//! fleet profile tf32|bf16 R L      the time of every kernel
//! fleet export FOLDER              weights, tokens and logits, for another program to compare
//! fleet containment BACKEND OUT.jsonl SECONDS STEPS SEEDS    random codes of eight classes, distilled
//! fleet paths LENGTH CODES FILE    three classes' escape paths, three stretches of each
//! fleet escape BACKEND PATHS OUT.jsonl SECONDS POINTS        escape paths, followed
//! fleet train BACKEND SETTINGS.toml OUT.jsonl SECONDS TASK:C:SEEDS ..
//! ```

use foldglass::chain::random_code;
use foldglass::class::{Class, Shape as Window};
use foldglass::inputs::InputLaw;
use foldglass::memory::Allowance;
use foldglass::policy::Code;
use foldglass::quasigroup::LatinSquare;
use foldglass::stream::Stream;
use foldglass::task::Task;
use foldglass_nn::backend::{Backend, BackendError, ModelState};
use foldglass_nn::barrier::{Lines, follow};
use foldglass_nn::batch::{Batch, BatchLaw};
use foldglass_nn::cpu::Cpu;
use foldglass_nn::cuda::{Cuda, Precision};
use foldglass_nn::dense::{self, Dense, Matrix};
use foldglass_nn::distill::{Distillation, Pupil};
use foldglass_nn::fleet::Fleet;
use foldglass_nn::layout::Layout;
use foldglass_nn::lesson::Lesson;
use foldglass_nn::objective::{TokenWeight, logit_gradient};
use foldglass_nn::path::EscapePath;
use foldglass_nn::philox::{Numbers, Purpose};
use foldglass_nn::settings::{Drawn, Gate, Lengths, ModelSettings, Settings};
use foldglass_nn::shape::{Norm, Shape};
use foldglass_nn::weights::{InitialLaw, Weights};
use std::error::Error;
use std::io::Write;
use std::ops::ControlFlow;
use std::time::Instant;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["check"] => check(),
        ["bench", backend, r, l, seconds] => {
            bench(backend, r.parse()?, l.parse()?, seconds.parse()?, 512)
        }
        ["bench", backend, r, l, seconds, batch] => {
            let batch = batch.parse()?;
            bench(backend, r.parse()?, l.parse()?, seconds.parse()?, batch)
        }
        ["profile", precision, r, l] => profile(precision, r.parse()?, l.parse()?),
        ["export", folder] => export(folder),
        ["containment", backend, out, seconds, steps, seeds] => containment(
            backend,
            out,
            seconds.parse()?,
            steps.parse()?,
            seeds.parse()?,
        ),
        ["paths", length, codes, file] => paths(length.parse()?, codes.parse()?, file),
        ["escape", backend, paths, out, seconds, points] => {
            escape(backend, paths, out, seconds.parse()?, points.parse()?)
        }
        ["train", backend, settings, out, seconds, models @ ..] => {
            train(backend, settings, out, seconds.parse()?, models)
        }
        _ => {
            Err("usage: check | bench | profile | export | containment | escape | train; see the top of the source".into())
        }
    }
}

fn backend(name: &str, settings: &Settings, models: &[ModelSettings]) -> Outcome<Box<dyn Backend>> {
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

fn model(seed: u64, square: LatinSquare, entropy: f64) -> ModelSettings {
    ModelSettings {
        seed,
        square,
        entropy,
        learning_rate: 3e-4,
    }
}

/// Weights with norms that are not all 1.
fn weights(shape: Shape, law: InitialLaw, seed: u64) -> Vec<f32> {
    let mut weights = Weights::draw(shape, law, seed).values;
    for tensor in shape.tensors().iter().filter(|t| t.sizes.len() == 1) {
        (tensor.place.clone()).for_each(|i| weights[i] += ((i * 7 % 11) as f32 - 5.0) / 40.0);
    }
    weights
}

fn example(square: &LatinSquare, cap: usize, rows: usize) -> (Batch, Vec<TokenWeight>) {
    let law = BatchLaw {
        square,
        lengths: &(1..=cap).collect::<Vec<_>>(),
        drawn: Drawn::Sample,
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
    });
    let weights = weights.collect();
    (batch, weights)
}

fn list(symbols: &[u8]) -> Vec<usize> {
    symbols.iter().map(|&s| s.into()).collect()
}

/// The gradient of weighed tokens by the dense reference.
fn reference(
    settings: &Settings,
    weights: &[f32],
    q: usize,
    batch: &Batch,
    tokens: &[TokenWeight],
) -> Vec<f64> {
    let shape = settings.shape;
    let model = Dense::from_f32(shape, weights);
    let mut sum = vec![0.0; weights.len()];
    for sample in 0..batch.samples() {
        let (x, y) = (list(batch.x(sample)), list(batch.y(sample)));
        let sequence = settings
            .layout
            .sequence(&x, &y, settings.cap, shape.separator());
        let trace = model.forward(&sequence);
        let mut d_logits = Matrix {
            rows: x.len(),
            columns: shape.vocabulary,
            values: vec![0.0; x.len() * shape.vocabulary],
        };
        for t in 1..=x.len() {
            let logits = &trace.logits.row(t - 1)[..q];
            let total: f64 = logits.iter().map(|l| l.exp()).sum();
            let policy: Vec<f32> = logits.iter().map(|l| (l.exp() / total) as f32).collect();
            let mut d = vec![0.0; q];
            logit_gradient(
                &policy,
                y[t - 1] as u8,
                tokens[batch.start(t) + sample],
                &mut d,
            );
            let row = &mut d_logits.values[(t - 1) * shape.vocabulary..][..q];
            row.iter_mut().zip(d).for_each(|(to, d)| *to = d.into());
        }
        let gradient = model.backward(&trace, &sequence, &d_logits);
        sum.iter_mut().zip(gradient).for_each(|(sum, g)| *sum += g);
    }
    sum
}

/// Relative errors of every tensor's gradient.
fn errors(shape: Shape, found: &[f32], expected: &[f64]) -> Vec<f64> {
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

fn check() -> Outcome<()> {
    let shape = Shape::default();
    let narrow = Shape {
        width: 64,
        mlp: 128,
        ..shape
    };
    let layered = Shape {
        norm: Norm::Layer,
        ..shape
    };
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
    ] {
        let settings = Settings {
            shape,
            layout,
            cap: 8,
            batch: 64,
            gate: Gate {
                samples: 64,
                ..Gate::default()
            },
            ..Settings::default()
        };
        let models = [
            model(3, LatinSquare::paper(), 0.3),
            model(4, LatinSquare::cyclic(2)?, 0.3),
        ];
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
            let values = weights(shape, InitialLaw::Pt, model.seed);
            made.restore(number, &ModelState::new(values.clone()))?;
            let (batch, list) = example(&model.square, settings.cap, 40);
            expected.push(reference(
                &settings,
                &values,
                model.square.q(),
                &batch,
                &list,
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
                "{name} D={} {layout:?} {:?} model {number}: {} {verdict}",
                shape.width,
                shape.norm,
                shown.join(" ")
            );
        }
    }
    for name in ["tf32", "bf16"] {
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
    let square = LatinSquare::paper();
    let settings = Settings {
        cap: 4,
        batch: 128,
        evaluation: foldglass_nn::settings::Evaluation {
            length: 3,
            inputs: 100,
        },
        ..Settings::default()
    };
    let own = model(8, square.clone(), 0.0);
    let mut made = backend(name, &settings, std::slice::from_ref(&own))?;
    let values = weights(settings.shape, InitialLaw::Pt, 8);
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
    let settings = Settings {
        cap: 1,
        lengths: Lengths::Fixed {
            lengths: vec![1],
            drawn: Drawn::Sample,
        },
        evaluation: foldglass_nn::settings::Evaluation {
            length: 1,
            inputs: 100,
        },
        ..Settings::default()
    };
    let own = model(8, LatinSquare::paper(), 0.0);
    let mut made = backend(name, &settings, std::slice::from_ref(&own))?;
    let values = weights(settings.shape, InitialLaw::Pt, 8);
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
            lengths: vec![vec![1]],
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
    let settings = Settings {
        batch: 128,
        steps: 60,
        cap: 8,
        lengths: Lengths::Curriculum {
            start: 6,
            drawn: Drawn::Sample,
        },
        gate: Gate {
            samples: 128,
            ..Gate::default()
        },
        ..Settings::default()
    };
    let models: Vec<ModelSettings> = (0..5)
        .map(|seed| model(seed, LatinSquare::paper(), 0.1))
        .collect();
    let run = |name: &str, steps: u64| -> Outcome<(Vec<Vec<f32>>, String)> {
        let make =
            |s: &Settings, m: &[ModelSettings]| match name {
                "cpu" => Ok(Box::new(Cpu::new(s, m)) as Box<dyn Backend>),
                _ => Ok(Box::new(Cuda::new(s, m, precision(name).expect("a name"))?)
                    as Box<dyn Backend>),
            };
        let settings = Settings {
            steps,
            ..settings.clone()
        };
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

fn bench_fleet(name: &str, r: usize, l: usize, batch: usize) -> Outcome<Box<dyn Backend>> {
    let settings = Settings {
        batch,
        cap: 21.max(l),
        ..Settings::default()
    };
    let models: Vec<ModelSettings> = (0..r)
        .map(|seed| Ok(model(seed as u64, LatinSquare::cyclic(5)?, 0.01)))
        .collect::<Outcome<_>>()?;
    let mut made = backend(name, &settings, &models)?;
    for (number, model) in models.iter().enumerate() {
        let weights = Weights::draw(settings.shape, settings.initial, model.seed).values;
        made.restore(number, &ModelState::new(weights))?;
    }
    Ok(made)
}

fn bench(name: &str, r: usize, l: usize, seconds: f64, batch: usize) -> Outcome<()> {
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
    let shape = Shape::default();
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

fn profile(name: &str, r: usize, l: usize) -> Outcome<()> {
    let settings = Settings {
        cap: 21.max(l),
        ..Settings::default()
    };
    let models: Vec<ModelSettings> = (0..r)
        .map(|seed| Ok(model(seed as u64, LatinSquare::cyclic(5)?, 0.01)))
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

/// What the exported gradient weighs logits with: ((5 i mod 7) - 3) / 10 for the i-th number.
fn coefficients(rows: usize, shape: Shape) -> Matrix {
    let columns = shape.vocabulary;
    Matrix {
        rows,
        columns,
        values: (0..rows * columns)
            .map(|i| ((i * 5 % 7) as f64 - 3.0) / 10.0)
            .collect(),
    }
}

/// Weights, token lists with positions, the reference's logits, and the gradient of a weighted sum
/// of the first list's.
fn export(folder: &str) -> Outcome<()> {
    std::fs::create_dir_all(folder)?;
    let shape = Shape::default();
    let values = weights(shape, InitialLaw::Pt, 6);
    let model = Dense::from_f32(shape, &values);
    std::fs::write(
        format!("{folder}/model.safetensors"),
        Weights { shape, values }.to_safetensors(),
    )?;
    let mut lines = Vec::new();
    for (x, y) in [
        (vec![1, 4, 2], vec![3, 0, 1]),
        (vec![0, 0, 3, 2, 1], vec![1, 2, 3, 4, 0]),
    ] {
        for layout in [Layout::Prefix, Layout::PrefixFixed] {
            let sequence = layout.sequence(&x, &y, 8, shape.separator());
            let trace = model.forward(&sequence);
            let tokens: Vec<usize> = sequence.slots.iter().map(|s| s.token).collect();
            let positions: Vec<i32> = sequence.slots.iter().map(|s| s.position).collect();
            let logits: Vec<&[f64]> = (0..x.len()).map(|t| trace.logits.row(t)).collect();
            if lines.is_empty() {
                let gradient = model.backward(&trace, &sequence, &coefficients(x.len(), shape));
                let values = gradient.iter().map(|&g| g as f32).collect();
                let file = format!("{folder}/gradient.safetensors");
                std::fs::write(file, Weights { shape, values }.to_safetensors())?;
            }
            lines.push(serde_json::json!({"tokens": tokens, "positions": positions, "steps": x.len(), "logits": logits}).to_string());
        }
    }
    std::fs::write(format!("{folder}/logits.jsonl"), lines.join("\n"))?;
    Ok(())
}

/// What a line of the command asks for: models of one task and coefficient, seeds from 0.
struct Group {
    task: String,
    c: String,
    seeds: u64,
}

impl Group {
    fn parse(words: &str) -> Outcome<Group> {
        let parts: Vec<&str> = words.rsplitn(3, ':').collect();
        let [seeds, c, task] = parts.as_slice() else {
            return Err(format!("'{words}': TASK:C:SEEDS is needed").into());
        };
        Ok(Group {
            task: task.to_string(),
            c: c.to_string(),
            seeds: seeds.parse()?,
        })
    }
}

/// Trains every TASK:C:SEEDS until the end or the time is over. A line of JSON for every model at
/// every thousandth step, and one with the accuracies at all lengths at the end.
fn train(name: &str, settings: &str, out: &str, seconds: f64, words: &[&str]) -> Outcome<()> {
    let settings: Settings = toml::from_str(&std::fs::read_to_string(settings)?)?;
    let groups: Vec<Group> = words
        .iter()
        .map(|w| Group::parse(w))
        .collect::<Outcome<_>>()?;
    let mut list = Vec::new();
    let mut names = Vec::new();
    for group in &groups {
        for seed in 0..group.seeds {
            let square = LatinSquare::named(&group.task, 0)?;
            list.push(model(seed, square, group.c.parse()?));
            names.push((group, seed));
        }
    }
    let make = maker(name);
    let started = Instant::now();
    let mut fleet = Fleet::new(settings, list, &make)?;
    let mut file = std::fs::File::create(out)?;
    writeln!(
        file,
        "{}",
        serde_json::json!({"settings": fleet.settings(), "back_end": fleet.backend().name(), "precision": name})
    )?;
    let mut failed = None;
    fleet.run(|points| {
        let step = points[0].step;
        if step % 1000 == 0 {
            let mut lines = String::new();
            for point in points {
                let (group, seed) = names[point.model];
                lines += &serde_json::json!({"task": group.task, "c": group.c, "seed": seed,
                    "point": point})
                .to_string();
                lines.push('\n');
            }
            if let Err(error) = file.write_all(lines.as_bytes()) {
                failed = Some(error);
                return ControlFlow::Break(());
            }
            let longest = points.iter().map(|p| p.length).max().unwrap_or(0);
            let mean = points.iter().map(|p| p.length).sum::<usize>() as f64 / points.len() as f64;
            if step % 5000 == 0 {
                eprintln!(
                    "step {step}, {:.1} s, lengths to {longest}, {mean:.2} on average",
                    started.elapsed().as_secs_f64()
                );
            }
        }
        until(started, seconds)
    })?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    let trained = started.elapsed().as_secs_f64();
    let test = fleet.settings().evaluation;
    let accuracies = (1..=fleet.settings().cap)
        .map(|length| fleet.accuracies(length, test.inputs))
        .collect::<Result<Vec<_>, _>>()?;
    let lengths = fleet.lengths().to_vec();
    for (model, (group, seed)) in names.iter().enumerate() {
        let own: Vec<f64> = accuracies.iter().map(|all| all[model]).collect();
        let line = serde_json::json!({"task": group.task, "c": group.c, "seed": seed,
            "step": fleet.step(), "accuracies": own, "length": lengths[model]});
        writeln!(file, "{line}")?;
    }
    let mut model = 0;
    for group in &groups {
        let own = model..model + group.seeds as usize;
        model = own.end;
        let shown: Vec<String> = own
            .map(|m| format!("{:.3}/{}", accuracies[test.length - 1][m], lengths[m]))
            .collect();
        println!("{} at {}: {}", group.task, group.c, shown.join(" "));
    }
    println!("{} steps in {trained:.1} s", fleet.step());
    Ok(())
}

fn class(window: Window, length: usize) -> Outcome<Class> {
    let task = Task::new(LatinSquare::paper(), &InputLaw::Uniform, &[length])?;
    Ok(Class::new(task, window, Allowance::default())?)
}

/// The paper's eight classes, a random code for every seed; all networks at once.
fn containment(name: &str, out: &str, seconds: f64, steps: u64, seeds: u64) -> Outcome<()> {
    let classes = [
        ("(0,0) T=4", Window::untied(0, 0), 4),
        ("(0,0) T=6", Window::untied(0, 0), 6),
        ("(0,0) T=7", Window::untied(0, 0), 7),
        ("(0,0) T=8", Window::untied(0, 0), 8),
        ("(1,1) T=7", Window::untied(1, 1), 7),
        ("(0,3) tied T=7", Window::tied(0, 3), 7),
        ("(0,3) T=7", Window::untied(0, 3), 7),
        ("(2,1) T=7", Window::untied(2, 1), 7),
    ];
    let mut pupils = Vec::new();
    for (_, window, length) in classes {
        let class = class(window, length)?;
        for seed in 0..seeds {
            let code = random_code(&class, &mut Stream::new(seed, 1));
            pupils.push(Pupil {
                lesson: Lesson::new(&code)?,
                square: LatinSquare::paper(),
                seed,
            });
        }
    }
    let distillation = Distillation {
        steps,
        ..Distillation::default()
    };
    let make = maker(name);
    let started = Instant::now();
    let mut file = std::fs::File::create(out)?;
    let mut failed = None;
    let (progress, _) = distillation.run(&pupils, &make, |points| {
        if points[0].steps.is_multiple_of(5000)
            || points.iter().any(|p| p.steps.is_multiple_of(5000))
        {
            let left = points.iter().filter(|p| !p.done).count();
            eprintln!("{:.1} s, {left} left", started.elapsed().as_secs_f64());
        }
        for point in points {
            let class = classes[point.pupil / seeds as usize].0;
            if let Err(error) = writeln!(
                file,
                "{}",
                serde_json::json!({"class": class, "point": point})
            ) {
                failed = Some(error);
                return ControlFlow::Break(());
            }
        }
        until(started, seconds)
    })?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    for (points, (class, ..)) in progress.chunks(seeds as usize).zip(classes) {
        let shown: Vec<String> = points
            .iter()
            .map(|p| {
                format!(
                    "{}{} ({:.5})",
                    if p.done { "" } else { ">" },
                    p.steps,
                    p.agreement
                )
            })
            .collect();
        println!("{class}: {}", shown.join(", "));
    }
    println!("{:.1} s", started.elapsed().as_secs_f64());
    Ok(())
}

/// Goes on for so many seconds.
fn until(started: Instant, seconds: f64) -> ControlFlow<()> {
    if started.elapsed().as_secs_f64() > seconds {
        ControlFlow::Break(())
    } else {
        ControlFlow::Continue(())
    }
}

/// Consecutive codes of an escape path, as a file has them.
#[derive(serde::Serialize, serde::Deserialize)]
struct Stretch {
    class: String,
    place: String,
    /// p and f of the window.
    window: [usize; 2],
    length: usize,
    /// The codes of the whole path.
    of: u64,
    codes: Vec<Vec<u16>>,
}

impl Stretch {
    fn lessons(&self) -> Outcome<Vec<Lesson>> {
        let class = class(Window::untied(self.window[0], self.window[1]), self.length)?;
        (self.codes.iter())
            .map(|actions| Ok(Lesson::new(&Code::new(&class, actions)?)?))
            .collect()
    }
}

/// Chains of three classes to reward 1: their first, middle and last codes, a line a stretch.
fn paths(length: usize, codes: u64, file: &str) -> Outcome<()> {
    let started = Instant::now();
    let mut file = std::fs::File::create(file)?;
    for window in [[0, 0], [1, 1], [0, 3]] {
        let class = class(Window::untied(window[0], window[1]), length)?;
        let path = (0..)
            .find_map(|seed| {
                let path = EscapePath::new(&class, 1e-6, seed, 40_000 * class.cells() as u64);
                path.map_err(|error| eprintln!("{error}")).ok()
            })
            .expect("seeds do not end");
        let name = format!("({},{})", window[0], window[1]);
        let parts = path
            .three_stretches(codes)
            .ok_or("the chain is shorter than a stretch")?;
        eprintln!(
            "{name}: {} cells, {} codes, {:.1} s",
            class.cells(),
            path.codes(),
            started.elapsed().as_secs_f64()
        );
        for (place, part) in ["first", "middle", "last"].iter().zip(parts) {
            let stretch = Stretch {
                class: name.clone(),
                place: place.to_string(),
                window,
                length,
                of: path.codes(),
                codes: part.iter().map(|code| code.actions().to_vec()).collect(),
            };
            writeln!(file, "{}", serde_json::to_string(&stretch)?)?;
        }
    }
    Ok(())
}

/// Escape paths followed by networks, and the barriers on the lines between them; what is not
/// exact in time ends its stretch.
fn escape(name: &str, paths: &str, out: &str, seconds: f64, points: usize) -> Outcome<()> {
    let square = LatinSquare::paper();
    let started = Instant::now();
    let stretches = (std::fs::read_to_string(paths)?.lines())
        .map(|line| Ok(serde_json::from_str(line)?))
        .collect::<Outcome<Vec<Stretch>>>()?;
    let length = stretches.first().ok_or("no stretch")?.length;
    let lessons = (stretches.iter())
        .map(Stretch::lessons)
        .collect::<Outcome<Vec<_>>>()?;
    let make = maker(name);
    let distillation = Distillation {
        every: 100,
        steps: 200_000,
        ..Distillation::default()
    };
    let mut kept = 0;
    let trail = follow(&distillation, &square, &lessons, 0, &make, |trail| {
        let now: Vec<usize> = trail.weights.iter().map(Vec::len).collect();
        if now.iter().sum::<usize>() >= kept + 10 {
            kept = now.iter().sum();
            eprintln!("{:.1} s: {now:?} networks", started.elapsed().as_secs_f64());
        }
        until(started, seconds)
    })?;
    eprintln!("networks: {:.1} s", started.elapsed().as_secs_f64());
    let mut file = std::fs::File::create(out)?;
    let mut lines = Lines::new(&distillation, &square, length, points, &make)?;
    for ((stretch, kept), steps) in stretches.iter().zip(&trail.weights).zip(&trail.steps) {
        let name = format!("{} {}", stretch.class, stretch.place);
        let mut barriers = Vec::new();
        for pair in kept.windows(2) {
            let line = lines.line(&pair[0], &pair[1])?;
            barriers.push(line.barrier);
            writeln!(
                file,
                "{}",
                serde_json::json!({"stretch": name, "line": line})
            )?;
        }
        writeln!(
            file,
            "{}",
            serde_json::json!({"stretch": name, "networks": kept.len(), "updates": steps})
        )?;
        let none = barriers.iter().filter(|&&b| b == 0).count();
        println!(
            "{name}: {} networks, barrier 0 on {none} of {}, largest {:?}, updates {steps:?}",
            kept.len(),
            barriers.len(),
            barriers.iter().max()
        );
    }
    println!("{:.1} s", started.elapsed().as_secs_f64());
    Ok(())
}

type Made = Result<Box<dyn Backend>, BackendError>;

fn maker(name: &str) -> impl Fn(&Settings, &[ModelSettings]) -> Made {
    let precision = precision(name).ok();
    move |settings, models| match precision {
        Some(precision) => Ok(Box::new(Cuda::new(settings, models, precision)?)),
        None => Ok(Box::new(Cpu::new(settings, models))),
    }
}
