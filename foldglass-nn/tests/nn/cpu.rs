//! The CPU back end against the dense reference, and every option of training at small width.

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

/// What training by a dense transformer in float64 makes of weights, every formula written out; batches
/// and the numbers that tokens are drawn by are those of a back end. `prior` is used where the settings have one.
fn reference_training(
    settings: &FleetSettings,
    own: &ModelSettings,
    start: &[f32],
    prior: &[f32],
) -> Vec<f64> {
    let q = own.square.q();
    let mut weights: Vec<f64> = start.iter().map(|&w| w.into()).collect();
    let (mut m, mut v) = (vec![0.0; weights.len()], vec![0.0; weights.len()]);
    for step in 1..=settings.steps {
        let numbers = Numbers::new(own.seed, Purpose::Training, step);
        let law = BatchLaw {
            square: &own.square,
            inputs: &settings.symbol_law(q).unwrap(),
            lengths: &settings.lengths.law(settings.cap),
            drawn: LengthDraw::Sample,
            rows: settings.batch,
            group: 1,
            cap: settings.cap,
        };
        let mut batch = Batch::draw(&law, numbers);
        draw_tokens(settings, &weights, q, numbers, &mut batch);
        // Returns, their means and the deviation of what is left.
        let (rows, tokens) = (settings.batch, batch.tokens());
        let right: Vec<f64> = (0..rows)
            .map(|b| f64::from(u8::from(batch.right(b))))
            .collect();
        let mut advantages = Vec::new();
        for b in 0..rows {
            let same = |other: &usize| match settings.baseline {
                Baseline::Batch => true,
                Baseline::Length => batch.lengths()[*other] == batch.lengths()[b],
            };
            let peers: Vec<usize> = (0..rows).filter(same).collect();
            let mean = peers.iter().map(|&p| right[p]).sum::<f64>() / peers.len() as f64;
            advantages.push(right[b] - mean);
        }
        if settings.standardise {
            let mean = advantages.iter().sum::<f64>() / rows as f64;
            let variance = advantages.iter().map(|a| (a - mean).powi(2)).sum::<f64>() / rows as f64;
            advantages
                .iter_mut()
                .for_each(|a| *a /= variance.sqrt() + 1e-6);
        }
        let share = (step as f64 / 3.0).min(1.0);
        let coefficient = match settings.entropy_decay {
            None => own.entropy,
            Some(EntropyDecay {
                kind: DecayKind::Linear,
                to,
                ..
            }) => own.entropy + share * (to - own.entropy),
            Some(EntropyDecay { to, .. }) => own.entropy * (to / own.entropy).powf(share),
        };
        let held = settings.prior.as_ref().map_or(0.0, |own| own.coefficient);
        let prior = settings.prior.as_ref().map(|_| prior);
        let mut weighed = vec![TokenWeight::default(); tokens];
        for b in 0..rows {
            for t in 1..=batch.lengths()[b] {
                weighed[batch.start(t) + b] = TokenWeight {
                    policy: (advantages[b] / rows as f64) as f32,
                    entropy: (coefficient / tokens as f64) as f32,
                    divergence: (held / tokens as f64) as f32,
                };
            }
        }
        let single: Vec<f32> = weights.iter().map(|&w| w as f32).collect();
        let mut gradient = reference::gradient(settings, &single, q, &batch, &weighed, prior);
        let norm = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
        if let Some(most) = settings.clip_norm {
            assert!(norm > most, "the gradient is clipped: {norm}");
            gradient.iter_mut().for_each(|g| *g *= most / norm);
        }
        // The only schedule that is tested: half the rate at step 1, then half a cosine from the full
        // rate at step 2 to a tenth of it at step 5.
        let rate = match settings.schedule.warm_up {
            0 => own.learning_rate,
            _ if step == 1 => 0.5 * own.learning_rate,
            _ => {
                let turn = std::f64::consts::PI * (step as f64 - 2.0) / 3.0;
                own.learning_rate * (0.55 + 0.45 * turn.cos())
            }
        };
        let n = step as i32;
        for (i, g) in gradient.iter().enumerate() {
            m[i] = 0.9 * m[i] + 0.1 * g;
            v[i] = 0.999 * v[i] + 0.001 * g * g;
            let mean = m[i] / (1.0 - 0.9f64.powi(n));
            let root = (v[i] / (1.0 - 0.999f64.powi(n))).sqrt();
            weights[i] -= rate * settings.weight_decay * weights[i];
            weights[i] -= rate * mean / (root + settings.adam.epsilon);
        }
    }
    weights
}

/// Draws the tokens of a batch from a dense transformer.
fn draw_tokens(
    settings: &FleetSettings,
    weights: &[f64],
    q: usize,
    numbers: Numbers,
    batch: &mut Batch,
) {
    let model = Dense::new(settings.shape, weights.to_vec());
    let sampler = Sampler {
        numbers,
        q,
        exploration: 0.0,
        relabelling: None,
    };
    for sample in 0..batch.samples() {
        let x: Vec<usize> = batch.x(sample).iter().map(|&s| s.into()).collect();
        let mut y = vec![0; x.len()];
        for t in 1..=x.len() {
            let separator = settings.shape.separator();
            let sequence = settings.layout.sequence(&x, &y, settings.cap, separator);
            let logits = model.forward(&sequence).logits;
            let powers: Vec<f64> = logits.row(t - 1)[..q].iter().map(|l| l.exp()).collect();
            let total: f64 = powers.iter().sum();
            let policy: Vec<f32> = powers.iter().map(|p| (p / total) as f32).collect();
            y[t - 1] = sampler.token(&policy, sample, t).into();
            batch.y_mut(sample)[t - 1] = y[t - 1] as u8;
        }
    }
}

/// The distance of two moves, over the length of the second.
fn relative(one: &[f64], other: &[f64]) -> f64 {
    let square = |of: &mut dyn Iterator<Item = f64>| of.map(|d| d * d).sum::<f64>();
    let apart = square(&mut one.iter().zip(other).map(|(a, b)| a - b));
    (apart / square(&mut other.iter().copied())).sqrt()
}

#[test]
fn options_of_the_optimiser_make_the_steps_of_the_dense_reference() {
    let mut plain = FleetSettings::default();
    plain.shape = small(Norm::Rms);
    plain.batch = 24;
    plain.steps = 5;
    plain.cap = 3;
    plain.lengths = BatchLengths::Fixed {
        lengths: vec![1, 2, 3],
        weights: Vec::new(),
        drawn: LengthDraw::Sample,
    };
    // So large that the length of a gradient shows in the step, which Adam else divides out.
    plain.adam = Adam {
        epsilon: 1e-2,
        ..Adam::default()
    };
    plain.evaluation = Evaluation {
        length: 3,
        inputs: 1,
    };
    let own = model(3, Operation::paper(), 0.3);
    let start = Weights::draw(plain.shape, plain.initial, own.seed).values;
    let prior = Weights::draw(plain.shape, plain.initial, own.seed + 1).values;
    let moves = |settings: &FleetSettings| {
        settings.check(std::slice::from_ref(&own)).unwrap();
        let mut cpu = Cpu::new(settings, std::slice::from_ref(&own));
        cpu.restore(0, &ModelState::new(start.clone())).unwrap();
        if settings.prior.is_some() {
            cpu.set_prior(0, &prior).unwrap();
        }
        cpu.train(0, settings.steps, &[3]).unwrap();
        let from_start = |(w, s): (f64, &f32)| w - f64::from(*s);
        let found = cpu.weights(0).unwrap().into_iter().map(f64::from);
        let expected = reference_training(settings, &own, &start, &prior).into_iter();
        let found: Vec<f64> = found.zip(&start).map(from_start).collect();
        let expected: Vec<f64> = expected.zip(&start).map(from_start).collect();
        (found, expected)
    };
    let (found, without) = moves(&plain);
    let apart = relative(&found, &without);
    assert!(apart < 1e-4, "plain: {apart:e}");
    let decay = |kind| EntropyDecay {
        kind,
        to: 0.01,
        steps: 3,
    };
    type Change = Box<dyn Fn(&mut FleetSettings)>;
    let changes: Vec<(&str, Change)> = vec![
        ("clip", Box::new(|s| s.clip_norm = Some(0.05))),
        ("decay", Box::new(|s| s.weight_decay = 0.5)),
        (
            "schedule",
            Box::new(|s| {
                s.schedule = RateSchedule {
                    warm_up: 2,
                    floor: 0.1,
                };
            }),
        ),
        (
            "linear",
            Box::new(move |s| s.entropy_decay = Some(decay(DecayKind::Linear))),
        ),
        (
            "geometric",
            Box::new(move |s| s.entropy_decay = Some(decay(DecayKind::Geometric))),
        ),
        ("baseline", Box::new(|s| s.baseline = Baseline::Length)),
        ("standardise", Box::new(|s| s.standardise = true)),
        ("prior", Box::new(|s| s.prior = Some(Prior::initial(0.4)))),
    ];
    let mut all = plain.clone();
    for (name, change) in &changes {
        let mut settings = plain.clone();
        change(&mut settings);
        change(&mut all);
        let (found, expected) = moves(&settings);
        let apart = relative(&found, &expected);
        assert!(apart < 1e-4, "{name}: {apart:e}");
        let effect = relative(&expected, &without);
        assert!(effect > 1e-2, "{name} changes the steps: {effect:e}");
    }
    let (found, expected) = moves(&all);
    let apart = relative(&found, &expected);
    assert!(apart < 1e-4, "all together: {apart:e}");
}

/// The sum of KL(pi || prior) over all tokens of a batch, by dense transformers.
fn divergence(settings: &FleetSettings, q: usize, batch: &Batch, own: Dense, prior: &Dense) -> f64 {
    let list = |symbols: &[u8]| symbols.iter().map(|&s| s.into()).collect::<Vec<usize>>();
    let logs = |logits: &[f64]| {
        let total: f64 = logits.iter().map(|l| l.exp()).sum();
        logits.iter().map(|l| l - total.ln()).collect::<Vec<f64>>()
    };
    let of_sample = |sample: usize| {
        let (x, y) = (list(batch.x(sample)), list(batch.y(sample)));
        let separator = settings.shape.separator();
        let sequence = settings.layout.sequence(&x, &y, settings.cap, separator);
        let [own, prior] = [&own, prior].map(|model| model.forward(&sequence).logits);
        let of_token = |t: usize| {
            let [own, prior] = [&own, &prior].map(|logits| logs(&logits.row(t)[..q]));
            let term = |(p, r): (&f64, &f64)| p.exp() * (p - r);
            own.iter().zip(&prior).map(term).sum::<f64>()
        };
        (0..x.len()).map(of_token).sum::<f64>()
    };
    (0..batch.samples()).map(of_sample).sum()
}

#[test]
fn the_gradient_of_the_divergence_is_that_of_finite_differences() {
    let square = Operation::cyclic(3).unwrap();
    let mut settings = FleetSettings::default();
    settings.shape = small(Norm::Rms);
    settings.cap = 3;
    let [weights, prior] = [3, 4].map(|seed| Weights::draw(settings.shape, WeightLaw::Pt, seed));
    let (batch, _) = example(&square, settings.cap, 12);
    let mut cpu = Cpu::new(&settings, &[model(3, square, 0.0)]);
    cpu.restore(0, &ModelState::new(weights.values.clone()))
        .unwrap();
    cpu.set_prior(0, &prior.values).unwrap();
    let weight = TokenWeight {
        divergence: 1.0,
        ..TokenWeight::default()
    };
    let tokens = vec![vec![weight; batch.tokens()]];
    let found = cpu
        .gradients(std::slice::from_ref(&batch), &tokens)
        .unwrap();
    let reference = Dense::from_f32(settings.shape, &prior.values);
    for place in settings
        .shape
        .tensors()
        .into_iter()
        .map(|tensor| tensor.place)
    {
        // Along the gradient of one tensor: there a wrong length shows as well as a wrong direction.
        let length: f64 = (found[0][place.clone()].iter())
            .map(|&g| f64::from(g).powi(2))
            .sum();
        let moved = |by: f64| {
            let mut all: Vec<f64> = weights.values.iter().map(|&w| w.into()).collect();
            for i in place.clone() {
                all[i] += by * f64::from(found[0][i]) / length.sqrt();
            }
            let own = Dense::new(settings.shape, all);
            divergence(&settings, 3, &batch, own, &reference)
        };
        let slope = (moved(1e-4) - moved(-1e-4)) / 2e-4;
        let apart = (slope / length.sqrt() - 1.0).abs();
        assert!(apart < 1e-4, "{place:?}: {slope} {}", length.sqrt());
    }
}

#[test]
fn networks_are_held_to_their_first_weights_or_to_given_ones() {
    let square = Operation::cyclic(2).unwrap();
    let mut settings = FleetSettings::default();
    settings.shape = small(Norm::Rms);
    settings.batch = 64;
    settings.steps = 40;
    settings.cap = 2;
    settings.evaluation = Evaluation {
        length: 2,
        inputs: 1,
    };
    let models = [model(1, square, 0.0)];
    let make = |s: &FleetSettings, m: &[ModelSettings]| Ok(on_cpu(s, m));
    let last = |mut fleet: Fleet| {
        let mut divergence = None;
        fleet
            .run(|points| {
                divergence = points[0].last.kl;
                ControlFlow::Continue(())
            })
            .unwrap();
        divergence
    };
    let begin = |settings: &FleetSettings| Fleet::new(settings.clone(), models.to_vec(), &make);
    assert_eq!(last(begin(&settings).unwrap()), None);
    let held = |coefficient| {
        let mut held = settings.clone();
        held.prior = Some(Prior::initial(coefficient));
        last(begin(&held).unwrap()).unwrap()
    };
    let (loose, tight) = (held(1e-9), held(10.0));
    assert!(0.0 < tight && tight < 0.1 * loose, "{tight} {loose}");
    // Given weights are needed where the settings name them, of the right shape, and refused elsewhere.
    let mut given = settings.clone();
    given.prior = Some(Prior {
        coefficient: 10.0,
        network: PriorNetwork::Given("other".to_owned()),
    });
    let other = Weights::draw(settings.shape, WeightLaw::Pt, 9);
    let with = |settings: &FleetSettings, weights: &Weights| {
        Fleet::with_prior(settings.clone(), models.to_vec(), weights, &make)
    };
    let wide = Weights::draw(small(Norm::Layer), WeightLaw::Pt, 9);
    for refused in [begin(&given), with(&settings, &other), with(&given, &wide)] {
        let problem = refused.err().unwrap().to_string();
        assert!(problem.starts_with("prior is "), "{problem}");
    }
    let started = Weights::draw(settings.shape, settings.initial, 1);
    let mut short = given.clone();
    short.steps = 1;
    let apart = last(with(&short, &other).unwrap()).unwrap();
    let same = last(with(&short, &started).unwrap()).unwrap();
    assert!(apart > 0.01 && same.abs() < 1e-6, "{apart} {same}");
    // A back end that was given no weights says so.
    let mut bare = Cpu::new(&given, &models);
    let refused = bare.train(0, 1, &[2]).unwrap_err().to_string();
    assert!(refused.contains("no weights of it"), "{refused}");
}

/// A run of the test fleet; `change` makes it the variant under test.
fn run(
    change: impl FnOnce(&mut FleetSettings),
) -> (FleetSettings, Vec<Vec<CurvePoint>>, Vec<ModelState>) {
    let mut settings = FleetSettings::default();
    settings.shape = small(Norm::Rms);
    settings.batch = 32;
    settings.steps = 12;
    settings.cap = 3;
    settings.lengths = BatchLengths::Curriculum {
        start: 2,
        drawn: LengthDraw::Sample,
    };
    settings.gate = Gate {
        period: 4,
        samples: 32,
        ..Gate::default()
    };
    settings.evaluation = Evaluation {
        length: 2,
        inputs: 50,
    };
    change(&mut settings);
    let models = [
        model(1, Operation::paper(), 0.3),
        model(2, Operation::cyclic(2).unwrap(), 0.1),
    ];
    let mut fleet = fleet(&settings, &models);
    let mut points = Vec::new();
    fleet
        .run(|p| {
            points.push(p.to_vec());
            ControlFlow::Continue(())
        })
        .unwrap();
    let states = (0..2).map(|m| fleet.backend().state(m).unwrap()).collect();
    (settings, points, states)
}

#[test]
fn every_option_trains_and_changes_the_run() {
    let plain = run(|_| ()).2;
    let check = |name: &str, change: &dyn Fn(&mut FleetSettings)| {
        let (settings, points, states) = run(change);
        assert_eq!(
            points.len() as u64,
            settings.steps.div_ceil(settings.gate.period)
        );
        for point in points.iter().flatten() {
            let last = &point.last;
            assert!(last.loss.is_finite() && last.gradient_norm > 0.0, "{name}");
            assert!((0.0..=1.0).contains(&point.gate) && (0.0..=1.0).contains(&last.sampled));
            assert!(
                last.entropy > 0.0 && last.entropy <= 5f64.ln() + 1e-6,
                "{name}"
            );
        }
        assert_ne!(states[0].weights, plain[0].weights, "{name}");
        states
    };
    for layout in LAYOUTS {
        if layout != Layout::default() {
            check("layout", &|s| s.layout = layout);
        }
    }
    for form in [
        EntropyForm::SequenceMean,
        EntropyForm::Summed,
        EntropyForm::Return,
    ] {
        check("entropy", &|s| s.entropy = form);
    }
    for initial in [WeightLaw::Small, WeightLaw::Fan] {
        check("initial", &|s| s.initial = initial);
    }
    check("norm", &|s| s.shape.norm = Norm::Layer);
    check("expert", &|s| s.method = TrainingMethod::Expert {});
    check("exploration", &|s| s.exploration = 0.2);
    let grpo = |epochs| TrainingMethod::Grpo {
        group: 8,
        clip: 0.2,
        epochs,
    };
    let once = check("grpo", &|s| s.method = grpo(1));
    let twice = check("grpo", &|s| s.method = grpo(2));
    assert_eq!((once[0].updates, twice[0].updates), (12, 24));
    for kind in [Permutation::Transposition, Permutation::Full] {
        check("relabelling", &|s| {
            s.relabelling = Some(TokenRelabelling {
                kind,
                fraction: 0.5,
                period: 3,
            });
        });
    }
    let gathered = check("adaptive", &|s| {
        s.adaptive = Some(Adaptive {
            right: u32::MAX,
            most: 5,
        });
    });
    assert_eq!((gathered[0].updates, gathered[0].gathered_batches), (2, 2));
    check("fixed lengths", &|s| {
        s.lengths = BatchLengths::Fixed {
            lengths: vec![1, 3],
            weights: Vec::new(),
            drawn: LengthDraw::Batch,
        };
    });
    // The gate's own options change what it sees, not the steps before it opens.
    let (_, points, _) = run(|s| {
        s.gate.decoding = Decoding::Sampled;
        s.gate.lengths = GateLengths::Current;
        s.gate.above = 0.0;
    });
    assert!(
        points.last().unwrap().iter().all(|p| p.length == 3),
        "an open gate"
    );
    let (_, points, _) = run(|s| s.gate.above = 1.0);
    assert!(
        points.last().unwrap().iter().all(|p| p.length == 2),
        "a closed gate"
    );
}

#[test]
fn a_fleet_taken_up_again_goes_on_to_the_last_bit() {
    let mut settings = FleetSettings::default();
    settings.shape = small(Norm::Rms);
    settings.batch = 16;
    settings.steps = 30;
    settings.cap = 3;
    settings.gate = Gate {
        period: 7,
        samples: 16,
        above: 0.3,
        ..Gate::default()
    };
    settings.adaptive = Some(Adaptive { right: 9, most: 3 });
    settings.evaluation = Evaluation {
        length: 2,
        inputs: 9,
    };
    let models: Vec<ModelSettings> = (0..3)
        .map(|seed| model(seed, Operation::paper(), 0.1 * seed as f64))
        .collect();
    let mut whole = fleet(&settings, &models);
    let mut curve = Vec::new();
    whole
        .run(|points| {
            curve.push(points.to_vec());
            ControlFlow::Continue(())
        })
        .unwrap();
    let mut begun = fleet(&settings, &models);
    begun.advance().unwrap();
    begun.advance().unwrap();
    let kept = begun.save().unwrap();
    let mut taken = fleet(&settings, &models);
    taken.take_up(&kept).unwrap();
    assert_eq!(taken.step(), 14);
    let mut rest = Vec::new();
    // On another number of threads: the result does not depend on it.
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(3)
        .build()
        .unwrap();
    pool.install(|| {
        taken
            .run(|points| {
                rest.push(points.to_vec());
                ControlFlow::Continue(())
            })
            .unwrap();
    });
    assert_eq!(curve[2..], rest);
    for model in 0..3 {
        let (one, other) = (whole.backend().state(model), taken.backend().state(model));
        assert_eq!(one.unwrap(), other.unwrap());
    }
    assert_eq!(
        whole.accuracies(2, 150).unwrap(),
        taken.accuracies(2, 150).unwrap()
    );
    assert!(taken.take_up(&kept[..kept.len() / 2]).is_err());
    let mut other = fleet(&settings, &models[..2]);
    let refused = other.take_up(&kept).unwrap_err().to_string();
    assert!(refused.contains("other networks"), "{refused}");
}

#[test]
fn the_best_gate_is_kept_through_a_checkpoint() {
    let mut settings = FleetSettings::default();
    settings.shape = small(Norm::Rms);
    settings.batch = 16;
    settings.steps = 40;
    settings.cap = 3;
    settings.gate = Gate {
        period: 4,
        samples: 16,
        above: 0.3,
        ..Gate::default()
    };
    settings.evaluation = Evaluation {
        length: 2,
        inputs: 9,
    };
    settings.keep = Keep::Best;
    let models: Vec<ModelSettings> = (0..3)
        .map(|seed| model(seed, Operation::paper(), 0.1))
        .collect();
    let mut whole = fleet(&settings, &models);
    let (mut points, mut weights) = (Vec::new(), Vec::new());
    while whole.step() < settings.steps {
        points.push(whole.advance().unwrap());
        weights.push([0, 1, 2].map(|m| whole.weights(m).unwrap().values));
    }
    for (m, best) in whole.best().iter().enumerate() {
        // The first of the gates that no other passes: longer, or as long and more accurate.
        let rank = |at: &usize| (points[*at][m].length, points[*at][m].gate);
        let all = 0..points.len();
        let first = (all.clone())
            .find(|at| all.clone().all(|other| rank(&other) <= rank(at)))
            .unwrap();
        let point = &points[first][m];
        assert_eq!(
            (best.step, best.length, best.gate, best.last),
            (point.step, point.length, point.gate, point.last)
        );
        assert_eq!(best.weights, weights[first][m]);
    }
    let steps: Vec<u64> = whole.best().iter().map(|best| best.step).collect();
    assert!(steps.iter().any(|&step| step < 40), "{steps:?}");
    // Stopped between two gates, after the best one of some model.
    let mut begun = fleet(&settings, &models);
    while begun.step() < 26 {
        begun.advance_by(2).unwrap();
    }
    assert_eq!(begun.step(), 26);
    let mut taken = fleet(&settings, &models);
    taken.take_up(&begun.save().unwrap()).unwrap();
    taken.run(|_| ControlFlow::Continue(())).unwrap();
    assert_eq!(taken.best(), whole.best());
    assert_eq!(taken.save().unwrap(), whole.save().unwrap());
    // A look at the best leaves the last as they were.
    let last = whole.save().unwrap();
    let seen = whole.look_at_best(|fleet| [0, 1, 2].map(|m| fleet.weights(m).unwrap().values));
    let kept: Vec<Vec<f32>> = whole.best().iter().map(|b| b.weights.clone()).collect();
    assert_eq!(seen.unwrap().to_vec(), kept);
    assert_eq!(whole.save().unwrap(), last);
    // Without it nothing else changes.
    let mut plain = settings.clone();
    plain.keep = Keep::Last;
    let mut plain = fleet(&plain, &models);
    plain.run(|_| ControlFlow::Continue(())).unwrap();
    assert!(plain.best().is_empty());
    assert_eq!(plain.weights(1).unwrap(), whole.weights(1).unwrap());
    let refused = plain.take_up(&last).unwrap_err().to_string();
    assert!(refused.contains("other networks"), "{refused}");
}

#[test]
fn pieces_do_not_show_in_what_is_trained() {
    let mut settings = FleetSettings::default();
    settings.shape = small(Norm::Rms);
    settings.batch = 16;
    settings.steps = 50;
    settings.cap = 2;
    settings.evaluation = Evaluation {
        length: 2,
        inputs: 10,
    };
    let models = [model(1, Operation::cyclic(2).unwrap(), 0.1)];
    let mut whole = fleet(&settings, &models);
    let mut pieces = fleet(&settings, &models);
    let mut asked = 0;
    while whole.step() < 50 {
        let expected = whole.advance().unwrap();
        let found = loop {
            asked += 1;
            if let Some(found) = pieces.advance_by(3).unwrap() {
                break found;
            }
        };
        assert_eq!(found, expected);
    }
    assert!(asked > 15, "{asked}");
    let weights = |fleet: &mut Fleet| fleet.weights(0).unwrap();
    assert_eq!(weights(&mut pieces), weights(&mut whole));
}

/// Says stop at one question, as they are counted.
fn stop_at(number: usize) -> (Stop, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let stop = move || counted.fetch_add(1, Ordering::Relaxed) + 1 == number;
    (Arc::new(stop), asked)
}

#[test]
fn a_step_or_gate_that_is_stopped_anywhere_is_left_undone() {
    let mut settings = FleetSettings::default();
    settings.shape = small(Norm::Rms);
    settings.batch = 16;
    settings.steps = 9;
    settings.cap = 3;
    settings.gate = Gate {
        period: 3,
        samples: 16,
        ..Gate::default()
    };
    settings.adaptive = Some(Adaptive { right: 9, most: 3 });
    settings.evaluation = Evaluation {
        length: 3,
        inputs: 10,
    };
    let models = [1, 2].map(|seed| model(seed, Operation::cyclic(2).unwrap(), 0.1));
    let mut whole = fleet(&settings, &models);
    let expected: Vec<_> = (0..3).map(|_| whole.advance().unwrap()).collect();
    let states = |fleet: &mut Fleet| [0, 1].map(|m| fleet.backend().state(m).unwrap());
    let (never, asked) = stop_at(usize::MAX);
    let mut counting = fleet(&settings, &models);
    counting.heed(never);
    counting.advance().unwrap();
    let questions = asked.load(Ordering::Relaxed);
    // Two models make three steps, asked on the way forth and back, and answer a gate.
    assert_eq!(questions, 2 * (3 * 2 + 1));
    for number in 1..=questions {
        let mut stopped = fleet(&settings, &models);
        stopped.heed(stop_at(number).0);
        let mut made = Vec::new();
        // To the next gate in pieces of two steps; none where it was stopped.
        let pieces = |fleet: &mut Fleet| loop {
            let before = fleet.step();
            let points = fleet.advance_by(2).unwrap();
            if points.is_some() || fleet.step() == before {
                return points;
            }
        };
        assert_eq!(pieces(&mut stopped), None, "question {number}");
        // At most the last piece is missing, and the gate at step 3 was not passed.
        assert!(stopped.step() < 3, "question {number}");
        // Stopped in the gate, the step before it is taken back.
        assert!(number <= 12 || stopped.step() == 2, "question {number}");
        // What was saved then goes on, in another process.
        let kept = stopped.save().unwrap();
        let mut taken = fleet(&settings, &models);
        taken.take_up(&kept).unwrap();
        while taken.step() < 9 {
            made.extend(pieces(&mut taken));
        }
        assert_eq!(made, expected, "question {number}");
        assert_eq!(states(&mut taken), states(&mut whole));
        // So does the fleet itself.
        while stopped.step() < 9 {
            pieces(&mut stopped);
        }
        assert_eq!(states(&mut stopped), states(&mut whole));
    }
    let mut tested = fleet(&settings, &models);
    tested.heed(Arc::new(|| true));
    assert!(tested.accuracies(2, 10).is_err());
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
