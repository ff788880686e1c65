//! Holds the dynamics to their definitions, bit by bit where they promise it.

use super::outcome::target;
use super::*;
use crate::model::class::Shape;
use crate::model::inputs::InputLaw;
use crate::model::operation::Operation;
use crate::model::task::Task;

fn class(name: &str, lengths: &[usize], shape: Shape) -> Class {
    let square = Operation::named(name).unwrap();
    let task = Task::new(square, &InputLaw::Uniform, lengths).unwrap();
    Class::new(task, shape).unwrap()
}

fn start(class: &Class, settings: CaviSettings, numbers: std::ops::Range<u64>) -> Runs {
    Runs::builder(class, settings)
        .seed(3)
        .numbers(numbers)
        .start()
        .unwrap()
}

#[test]
fn a_run_does_not_depend_on_its_neighbours() {
    let class = class("z:3", &[4], Shape::untied(0, 0));
    let resets = Resets {
        share: 0.1,
        every: 7,
        cycles: 5,
    };
    let settings = CaviSettings {
        resets: Some(resets),
        ..CaviSettings::plain(1e-5, 60)
    };
    let mut together = start(&class, settings, 0..8);
    together.advance(60);
    let (state, outcomes) = (together.state(), together.outcomes());
    for number in [0, 3, 7] {
        let mut alone = start(&class, settings, number..number + 1);
        alone.advance(60);
        assert_eq!(alone.state().rows[0], state.rows[number as usize]);
        assert_eq!(alone.outcomes()[0], outcomes[number as usize]);
    }
}

#[test]
fn runs_taken_up_again_end_as_if_never_interrupted() {
    for rule in [Rule::PAPER, Rule::Gradient { step: 2.0 }] {
        for (shape, numbers) in [(Shape::untied(0, 0), 8..11), (Shape::tied(1, 1), 0..1)] {
            let class = class("z:3", &[2, 3], shape);
            let quench = Some(Quench {
                iterations: 10,
                tau: 1e-9,
            });
            let settings = CaviSettings {
                rule,
                quench,
                ..CaviSettings::plain(1e-3, 30)
            };
            let mut whole = start(&class, settings, numbers.clone());
            assert!(whole.advance(1000));
            let mut first = start(&class, settings, numbers.clone());
            assert!(!first.advance(17));
            let state = first.state();
            let allowance = Allowance::default();
            let mut second = Runs::builder(&class, settings)
                .seed(3)
                .numbers(numbers)
                .within(allowance)
                .resume(&state)
                .unwrap();
            assert!(second.advance(1000));
            assert_eq!(second.state(), whole.state());
            assert_eq!(second.outcomes(), whole.outcomes());
        }
    }
}

/// One iteration, cell by cell, as the specification writes it.
#[test]
fn an_iteration_moves_masked_cells_part_of_the_way_to_the_softmax() {
    for tau in [0.0, 1e-4, 0.3] {
        for shape in [Shape::untied(0, 0), Shape::untied(1, 1), Shape::tied(0, 1)] {
            let class = class("quasigroup", &[2, 3], shape);
            let mut runs = start(&class, CaviSettings::plain(tau, 10), 5..6);
            for _ in 0..3 {
                let before = runs.policy(0);
                let mut evaluator = crate::reward::evaluate::Evaluator::new(&class).unwrap();
                evaluator.evaluate(&before);
                runs.advance(1);
                let after = runs.policy(0);
                let mut moved = 0;
                for cell in 0..class.cells() {
                    let (old, new) = (before.row(cell), after.row(cell));
                    if old == new {
                        continue;
                    }
                    moved += 1;
                    for ((old, new), target) in old
                        .iter()
                        .zip(new)
                        .zip(target(&evaluator.values(cell), tau))
                    {
                        assert!((new - (old + 0.3 * (target - old))).abs() < 1e-12);
                    }
                }
                let share = moved as f64 / class.cells() as f64;
                let sd = (0.21 / class.cells() as f64).sqrt();
                assert!((share - 0.3).abs() < 5.0 * sd, "{share} of the cells moved");
            }
        }
    }
}

#[test]
fn a_run_started_at_a_policy_moves_from_there() {
    let class = class("z:3", &[3], Shape::untied(0, 0));
    let policy = start(&class, CaviSettings::plain(0.1, 1), 0..1).policy(0);
    for rule in [Rule::PAPER, Rule::Gradient { step: 0.5 }] {
        let settings = CaviSettings {
            rule,
            ..CaviSettings::plain(0.1, 10)
        };
        let new = |numbers| {
            Runs::builder(policy.class(), settings)
                .seed(3)
                .numbers(numbers)
                .start_at(&policy)
                .unwrap()
        };
        let mut runs = new(0..3);
        assert!((0..3).all(|run| runs.policy(run) == policy), "{rule:?}");
        // Streams differ from the first draw on, and a logit that is left alone stays put.
        runs.advance(1);
        let mut alone = new(1..2);
        alone.advance(1);
        assert_eq!(runs.policy(1), alone.policy(0));
        let random = matches!(rule, Rule::Cavi { .. });
        assert_eq!(runs.policy(0) != runs.policy(1), random, "{rule:?}");
    }
}

#[test]
fn a_residual_is_measured_without_a_draw() {
    let class = class("z:3", &[3], Shape::tied(0, 1));
    let mut runs = start(&class, CaviSettings::plain(0.01, 50), 0..1);
    for _ in 0..3 {
        let before = runs.state();
        runs.measure();
        let residual = runs.residual(0);
        assert_eq!(runs.state(), before);
        let mut evaluator = crate::reward::evaluate::Evaluator::new(&class).unwrap();
        let policy = runs.policy(0);
        evaluator.evaluate(&policy);
        let distance = |cell: usize| {
            let target = target(&evaluator.values(cell), 0.01);
            let row = policy.row(cell);
            let terms = row.iter().zip(target).map(|(p, t)| (p - t).abs());
            terms.fold(0.0, f64::max)
        };
        let slow = (0..class.cells()).map(distance).fold(0.0, f64::max);
        assert!((residual - slow).abs() < 1e-9, "{residual} {slow}");
        assert_eq!(runs.outcome(0).residual, residual);
        runs.advance(10);
    }
}

#[test]
fn steps_and_temperatures_of_any_size_leave_distributions() {
    let class = class("z:3", &[3], Shape::untied(0, 0));
    for (tau, step) in [
        (0.0, 1e308),
        (HOTTEST, 1e308),
        (HOTTEST, 1.0),
        (1e-13, 1e300),
    ] {
        let gradient = CaviSettings {
            rule: Rule::Gradient { step },
            ..CaviSettings::plain(tau, 100)
        };
        for settings in [gradient, CaviSettings::plain(tau, 100)] {
            let mut runs = start(&class, settings, 0..2);
            runs.advance(100);
            for run in 0..2 {
                let policy = runs.policy(run);
                for cell in 0..class.cells() {
                    let row = policy.row(cell);
                    let sum: f64 = row.iter().sum();
                    assert!((sum - 1.0).abs() < 1e-9, "{settings:?}: {row:?}");
                }
            }
        }
    }
}

#[test]
fn runs_take_the_memory_they_state() {
    for shape in [Shape::untied(0, 0), Shape::tied(1, 1)] {
        let class = class("z:3", &[2, 3], shape);
        let settings = CaviSettings::plain(0.1, 1);
        let bytes = Runs::bytes(&class, settings.rule).unwrap();
        let new = |bytes| {
            Runs::builder(&class, settings)
                .seed(3)
                .within(Allowance(bytes))
                .start()
                .is_ok()
        };
        assert!(new(bytes) && !new(bytes - 1));
        let gradient = Runs::bytes(&class, Rule::Gradient { step: 1.0 }).unwrap();
        assert!(gradient > bytes, "logits are kept beside the policies");
    }
}

#[test]
fn quenches_and_resets_are_read_or_refused_by_name() {
    let quench = Quench {
        iterations: 50,
        tau: 1e-13,
    };
    assert_eq!("50,1e-13".parse(), Ok(quench));
    let resets = Resets {
        share: 0.02,
        every: 10,
        cycles: 100,
    };
    assert_eq!("0.02, 10, 100".parse(), Ok(resets));
    for bad in [
        "", "50", "50,-1", "-50,0", "50,nan", "50,inf", "50,1e301", "5e1,0", "1,2,3",
    ] {
        let error = UnknownSetting::Quench(bad.to_owned());
        assert_eq!(bad.parse::<Quench>(), Err(error));
    }
    for bad in [
        "",
        "0.5,10",
        "1.5,10,1",
        "-0.1,10,1",
        "nan,10,1",
        "0.5,0,1",
        "0.5,1,1,1",
    ] {
        let error = UnknownSetting::Resets(bad.to_owned());
        assert_eq!(bad.parse::<Resets>(), Err(error));
    }
}

#[test]
fn a_fixed_point_has_no_residual_and_satisfies_the_mean_field_equation() {
    let class = class("parity", &[3], Shape::untied(0, 0));
    let mut runs = start(&class, CaviSettings::plain(0.05, 4000), 0..1);
    runs.advance(4000);
    assert!(runs.outcomes()[0].residual < 1e-12);
}

#[test]
fn the_gradient_rule_and_coordinate_ascent_share_their_fixed_points() {
    let class = class("parity", &[3], Shape::untied(0, 0));
    let rule = Rule::Gradient { step: 5.0 };
    let mut runs = start(
        &class,
        CaviSettings {
            rule,
            ..CaviSettings::plain(0.05, 20_000)
        },
        0..1,
    );
    runs.advance(20_000);
    assert!(
        runs.outcomes()[0].residual < 1e-6,
        "{}",
        runs.outcomes()[0].residual
    );
}
