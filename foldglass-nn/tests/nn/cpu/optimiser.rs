//! Holds the options of the optimiser to a training of the dense reference.

use super::*;

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
