//! Codes distilled into networks, networks joined by lines and read back as codes.

use foldglass::dynamics::chain::random_code;
use foldglass::model::class::{Class, Shape};
use foldglass::model::inputs::InputLaw;
use foldglass::model::operation::Operation;
use foldglass::model::task::Task;
use foldglass::reward::count;
use foldglass::support::exact::RBig;
use foldglass::support::exact::parse;
use foldglass::support::stream::Stream;
use foldglass::support::watch::Unwatched;
use foldglass_nn::backend::{Backend, BackendError, ModelState};
use foldglass_nn::barrier::{Following, LineScan};
use foldglass_nn::batch::Batch;
use foldglass_nn::bridge::read_back;
use foldglass_nn::cpu::Cpu;
use foldglass_nn::distill::{Distillation, Distilling, Pupil};
use foldglass_nn::lesson::{Lesson, all_inputs};
use foldglass_nn::path::EscapePath;
use foldglass_nn::settings::{FleetSettings, ModelSettings};
use foldglass_nn::shape::NetworkShape;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn class(window: Shape, length: usize) -> Class {
    let square = Operation::cyclic(2).unwrap();
    let task = Task::new(square, &InputLaw::Uniform, &[length]).unwrap();
    Class::new(task, window).unwrap()
}

fn small() -> Distillation {
    let mut distillation = Distillation::default();
    distillation.shape = NetworkShape {
        width: 64,
        heads: 4,
        mlp: 128,
        vocabulary: 4,
        ..NetworkShape::default()
    };
    distillation.batch = 64;
    distillation.learning_rate = 1e-3;
    distillation.steps = 3000;
    distillation.every = 20;
    distillation.held_out = 100;
    distillation
}

fn on_cpu(
    settings: &FleetSettings,
    models: &[ModelSettings],
) -> Result<Box<dyn Backend>, BackendError> {
    Ok(Box::new(Cpu::new(settings, models)))
}

#[test]
fn random_codes_are_learned_and_read_back() {
    let class = class(Shape::untied(0, 0), 3);
    let pupils: Vec<Pupil> = (0..2)
        .map(|seed| {
            let code = random_code(&class, &mut Stream::new(seed, 5));
            Pupil {
                lesson: Lesson::new(&code).unwrap(),
                square: class.task().square().clone(),
                seed,
            }
        })
        .collect();
    let mut distillation = small();
    distillation.target = 1.0;
    let mut measured = 0;
    let (progress, weights) = distillation
        .run(&pupils, &on_cpu, |points| {
            measured += 1;
            assert_eq!(points.len(), 2);
            ControlFlow::Continue(())
        })
        .unwrap();
    assert!(
        progress.iter().all(|p| p.done && p.agreement == 1.0),
        "{progress:?}"
    );
    assert!(measured as u64 * 20 >= progress.iter().map(|p| p.steps).max().unwrap());
    // Stopped between two measurements, saved, and taken up: the same to the last bit.
    let begin = || Distilling::new(distillation.clone(), pupils.clone(), &on_cpu).unwrap();
    let mut stopped = begin();
    assert!(stopped.advance_by(30).unwrap().is_some());
    assert!(stopped.advance_by(8).unwrap().is_none());
    assert_eq!(stopped.step(), 28);
    let bytes = stopped.save().unwrap();
    let mut resumed = begin();
    resumed.take_up(&bytes).unwrap();
    while !resumed.is_finished() {
        resumed.advance_by(u64::MAX).unwrap();
    }
    assert_eq!(resumed.progress(), progress);
    for (number, weights) in weights.iter().enumerate() {
        assert_eq!(&resumed.weights(number).unwrap(), weights);
        assert_eq!(resumed.curve(number).last().unwrap().agreement, 1.0);
    }
    // Read back on its own windows, a network is its code wherever it goes, and earns its reward.
    let settings = distillation.settings(3);
    let own = ModelSettings::new(0, class.task().square().clone());
    let mut backend = Cpu::new(&settings, &[own]);
    for (pupil, weights) in pupils.iter().zip(&weights) {
        backend
            .restore(0, &ModelState::new(weights.values.clone()))
            .unwrap();
        let found = read_back(&mut backend, 0, &class, 3).unwrap();
        assert_eq!(found.inputs, 8);
        assert!(found.agreement.is_one());
        assert_eq!(found.consulted, found.decided);
        let mut taught = found.code.clone();
        for cell in 0..class.cells() {
            taught.set(cell, pupil.lesson.actions()[cell].into());
        }
        assert_eq!(found.reward.to_string(), count::reward(&taught).to_string());
        assert_eq!(found.network_reward, found.reward);
        // A table that does not see the tokens before explains less or as much.
        let narrow = self::class(Shape::tied(0, 0), 3);
        let less = read_back(&mut backend, 0, &narrow, 3).unwrap();
        assert!(less.agreement <= foldglass::Reward::ONE);
        assert_read_back_as_weighed(&mut backend, &class);
    }
}

/// Under other laws and lengths: by the definition, from the decoded tokens of every input.
fn assert_read_back_as_weighed(backend: &mut Cpu, class: &Class) {
    let square = class.task().square().clone();
    let rational = |text: &str| parse(text).unwrap();
    let row = |p: &str| vec![rational(p), RBig::ONE - rational(p)];
    let product = InputLaw::Product(vec![row("1/5"), row("1/2"), row("2/3")]);
    for (law, lengths) in [
        (InputLaw::Markov(rational("9/10")), vec![3]),
        (InputLaw::Markov(rational("0")), vec![3]),
        (product, vec![2, 3]),
        (InputLaw::Uniform, vec![1, 3]),
    ] {
        let task = Task::new(square.clone(), &law, &lengths).unwrap();
        let class = Class::new(task, Shape::tied(0, 0)).unwrap();
        let found = read_back(backend, 0, &class, 3).unwrap();
        let inputs = class.task().inputs();
        let mut taken = vec![RBig::ZERO; class.cells() * 2];
        let (mut right, mut steps) = (RBig::ZERO, RBig::ZERO);
        for &length in &lengths {
            for x in all_inputs(2, length) {
                let chance = (0..length).fold(RBig::ONE / RBig::from(lengths.len()), |p, i| {
                    let weight = inputs.weight(i + 1, x[i.max(1) - 1].into(), x[i].into());
                    p * RBig::from(weight) / RBig::from(inputs.denominator(i + 1))
                });
                let mut batches = [Batch::new(&square, std::slice::from_ref(&x), 3)];
                backend.decode(&mut batches).unwrap();
                let wide = |s: &[u8]| s.iter().map(|&s| s.into()).collect::<Vec<u16>>();
                let (x, y) = (wide(&x), wide(batches[0].y(0)));
                for t in 1..=length {
                    taken[class.route(&x, t, &y) * 2 + usize::from(y[t - 1])] += &chance;
                    steps += &chance;
                }
                if y[length - 1] == class.task().fold(&x) {
                    right += chance;
                }
            }
        }
        let explained = taken.chunks(2).map(|row| row.iter().max().unwrap().clone());
        let explained = explained.fold(RBig::ZERO, |sum, weight| sum + weight);
        assert_eq!(found.agreement.ratio(), &(explained / steps), "{law:?}");
        assert_eq!(found.network_reward.ratio(), &right, "{law:?}");
        for (cell, row) in taken.chunks(2).enumerate() {
            assert_eq!(
                found.code.action(cell),
                u16::from(row[1] > row[0]),
                "{law:?}"
            );
        }
    }
}

#[test]
fn a_path_of_codes_is_followed_and_its_lines_are_counted() {
    let class = class(Shape::untied(0, 0), 3);
    let path = EscapePath::new(&class, 1e-6, 2, 1_000_000, &Unwatched).unwrap();
    let parts = path
        .three_stretches(3, &Unwatched)
        .unwrap()
        .expect("at least three codes");
    let lessons: Vec<Vec<Lesson>> = parts
        .iter()
        .map(|part| part.iter().map(|code| Lesson::new(code).unwrap()).collect())
        .collect();
    let square = class.task().square().clone();
    let begin = || Following::new(small(), &square, lessons.clone(), 7, &on_cpu).unwrap();
    let mut following = begin();
    let (mut asked, mut saved) = (0, None);
    while !following.is_finished() {
        // Stopped between two questions once, and saved there.
        asked += 1;
        if asked == 3 {
            assert!(following.advance_by(7).unwrap().is_none());
            saved = Some(following.save().unwrap());
        }
        following.advance_by(u64::MAX).unwrap();
    }
    let trail = following.trail().clone();
    let mut resumed = begin();
    resumed.take_up(&saved.unwrap()).unwrap();
    while !resumed.is_finished() {
        resumed.advance_by(3).unwrap();
    }
    assert_eq!(resumed.trail(), &trail);
    assert!(begin().take_up(b"nothing").is_err());
    assert!(
        trail.weights.iter().all(|kept| kept.len() == 3),
        "{:?}",
        trail.steps
    );
    let mut lines = LineScan::new(&small(), &square, 3, 9, &on_cpu).unwrap();
    for (kept, part) in trail.weights.iter().zip(&parts) {
        for (pair, codes) in kept.windows(2).zip(part.windows(2)) {
            let line = lines.line(&pair[0], &pair[1]).unwrap();
            assert_eq!(line.right.len(), 9);
            // At its ends a line earns what the codes do: the networks are exact.
            let quanta = |code| (8.0 * count::reward(code).to_f64()) as u64;
            assert_eq!(line.right[0], quanta(&codes[0]));
            assert_eq!(line.right[8], quanta(&codes[1]));
        }
    }
}

#[test]
fn an_update_or_a_measurement_that_is_stopped_is_left_undone() {
    let class = class(Shape::untied(0, 0), 3);
    let pupils = [1, 2].map(|seed| {
        let code = random_code(&class, &mut Stream::new(seed, 1));
        Pupil {
            lesson: Lesson::new(&code).unwrap(),
            square: class.task().square().clone(),
            seed,
        }
    });
    let mut distillation = small();
    distillation.every = 3;
    distillation.steps = 6;
    distillation.target = 1.0;
    distillation.held_out = 20;
    let asked = Arc::new(AtomicUsize::new(0));
    let begin = |stop_at: usize| {
        asked.store(0, Ordering::Relaxed);
        let asked = Arc::clone(&asked);
        let make = move |settings: &FleetSettings, models: &[ModelSettings]| {
            let mut cpu = Cpu::new(settings, models);
            let asked = Arc::clone(&asked);
            let stop = move || asked.fetch_add(1, Ordering::Relaxed) + 1 == stop_at;
            cpu.heed(Arc::new(stop));
            Ok(Box::new(cpu) as Box<dyn Backend>)
        };
        Distilling::new(distillation.clone(), pupils.to_vec(), &make).unwrap()
    };
    // To the next measurement in pieces of two updates; false where it was stopped.
    let advance = |run: &mut Distilling| loop {
        let before = run.step();
        if run.advance_by(2).unwrap().is_some() {
            return true;
        }
        if run.step() == before {
            return false;
        }
    };
    let mut whole = begin(usize::MAX);
    assert!(advance(&mut whole));
    let questions = asked.load(Ordering::Relaxed);
    assert!(questions > 10, "{questions}");
    assert!(advance(&mut whole) && whole.is_finished());
    for number in 1..=questions {
        let mut run = begin(number);
        assert!(!advance(&mut run), "question {number}");
        assert!(run.step() < 3, "question {number}: {}", run.step());
        while !run.is_finished() {
            advance(&mut run);
        }
        assert_eq!(run.save().unwrap(), whole.save().unwrap());
    }
}
