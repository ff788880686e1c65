//! Holds fleets to what their options, checkpoints, pieces and stops promise.

use super::*;

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
