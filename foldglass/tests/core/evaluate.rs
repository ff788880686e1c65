//! Compares the evaluation of policies with sums over every input and token sequence.

use crate::common::{brute_force, final_problems, problems, rows_from};
use foldglass::{Class, Evaluator, Policy};
use proptest::prelude::*;
use std::collections::HashMap;

fn evaluator(class: &Class) -> Evaluator {
    Evaluator::new(class).unwrap()
}

fn close(a: f64, b: f64) -> Result<(), TestCaseError> {
    prop_assert!((a - b).abs() <= 1e-12, "{a} against {b}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn reward_visits_and_values_are_those_of_the_definition(problem in problems(), seed: u64) {
        let class = problem.class();
        let rows = rows_from(&class, seed);
        let policy = Policy::from_rows(&class, &rows).unwrap();
        let mut evaluator = evaluator(&class);
        // A second call must not remember the first.
        evaluator.evaluate(&Policy::uniform(&class));
        let reward = evaluator.evaluate(&policy);
        let slow = brute_force(&problem, &class, &rows);
        close(reward, slow.reward)?;
        for cell in 0..class.cells() {
            close(evaluator.visits(cell), slow.visits[cell])?;
            for a in 0..class.q() {
                close(evaluator.value(cell, a), slow.values[cell][a])?;
            }
        }
    }

    #[test]
    fn alpha_times_beta_is_the_reward_at_every_step(problem in final_problems(), seed: u64) {
        let class = problem.class();
        let policy = Policy::from_rows(&class, &rows_from(&class, seed)).unwrap();
        let mut evaluator = evaluator(&class);
        let reward = evaluator.evaluate(&policy);
        // The nodes of step t carry the lengths still running; those that ended earlier have
        // left their share at the nodes where they ended.
        let mut alone = Vec::new();
        for (which, &length) in problem.lengths.iter().enumerate() {
            let single = crate::common::Problem { lengths: vec![length], ..problem.clone() };
            let mut law = single.clone();
            if let foldglass::model::inputs::InputLaw::Product(rows) = &mut law.law {
                rows.truncate(length);
            }
            let (small, big) = (law.class(), &class);
            let places: HashMap<_, _> = (0..big.cells()).map(|cell| (big.key(cell), cell)).collect();
            let rows: Vec<_> = (0..small.cells())
                .map(|cell| policy.row(places[&small.key(cell)]))
                .collect();
            let mut one = self::evaluator(&small);
            let j = one.evaluate(&Policy::from_rows(&small, &rows).unwrap());
            let policy = Policy::from_rows(&small, &rows).unwrap();
            one.carried(&policy).iter().try_for_each(|&carried| close(carried, j))?;
            alone.push((length, j * problem.length_share(which).to_f64().value()));
        }
        let mean = alone.iter().map(|(_, j)| j).sum::<f64>();
        close(reward, mean)?;
        let carried = evaluator.carried(&policy);
        for t in 1..=class.task().longest() {
            let here = (0..class.nodes().len()).filter(|&n| class.nodes()[n].t == t);
            let running: f64 = here.map(|n| carried[n]).sum();
            let ended: f64 = alone.iter().filter(|(n, _)| *n < t).map(|(_, j)| j).sum();
            close(running + ended, reward)?;
        }
    }

    #[test]
    fn values_are_the_derivative_of_the_reward(problem in problems(), seed: u64, pick: prop::sample::Index) {
        let class = problem.class();
        let rows = rows_from(&class, seed);
        let policy = Policy::from_rows(&class, &rows).unwrap();
        let mut evaluator = evaluator(&class);
        evaluator.evaluate(&policy);
        let cell = pick.index(class.cells());
        let values = evaluator.values(cell);
        // Along the direction from the row to an action; J is a polynomial of degree at most T in
        // it, so five points give the derivative to rounding.
        for a in 0..class.q() {
            let mut along = |step: f64| {
                let mut moved = policy.clone();
                let row: Vec<f64> = (0..class.q())
                    .map(|b| (1.0 - step) * rows[cell][b] + step * f64::from(a == b))
                    .collect();
                moved.set_row(cell, &row).unwrap();
                evaluator.evaluate(&moved)
            };
            let h = 1e-3;
            let points: Vec<f64> = (0..5).map(|i| along(i as f64 * h)).collect();
            let slope = (-25.0 * points[0] + 48.0 * points[1] - 36.0 * points[2] + 16.0 * points[3] - 3.0 * points[4]) / (12.0 * h);
            let expected: f64 = (0..class.q())
                .map(|b| values[b] * (f64::from(a == b) - rows[cell][b]))
                .sum();
            prop_assert!((slope - expected).abs() < 1e-8, "{slope} against {expected}");
            if !class.shape().tied {
                close(points[4] - points[0], 4.0 * (points[1] - points[0]))?;
                close(along(1.0) - points[0], expected)?;
            }
        }
    }
}
