//! Holds the gradient of the divergence from a reference network to finite differences.

use super::*;

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
