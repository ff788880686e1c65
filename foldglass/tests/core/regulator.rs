//! Holds the regulators of RLVR to their objective, summed input by input and token by token.

use crate::common::{Problem, Weighing, brute_force, problems, rows_from};
use foldglass::dynamics::cavi::{CaviSettings, Convention, PriorError, Quench, Rule, Runs};
use foldglass::dynamics::schedule::Schedule;
use foldglass::{Allowance, Class, InputLaw, Policy, Shape};
use proptest::prelude::*;

type Rows = Vec<Vec<f64>>;

/// What is trained on, by the definition: J - tau sum w_c KL(pi_c || p_c), or J + tau sum w_c H(pi_c).
struct Objective<'a> {
    problem: &'a Problem,
    class: &'a Class,
    convention: Convention,
    prior: Option<&'a Rows>,
    tau: f64,
}

impl Objective<'_> {
    fn of(&self, rows: &Rows) -> f64 {
        let slow = brute_force(self.problem, self.class, rows);
        let tokens: f64 = slow.visits.iter().sum();
        let lengths = &self.problem.lengths;
        let share = |which: usize| self.problem.length_share(which).to_f64().value();
        let mean: f64 = (0..lengths.len())
            .map(|which| share(which) * lengths[which] as f64)
            .sum();
        assert!((tokens - mean).abs() < 1e-9, "a token a step");
        let term = |cell: usize| -> f64 {
            let terms = rows[cell].iter().enumerate().filter(|(_, p)| **p > 0.0);
            let log = |a: usize| self.prior.map_or(0.0, |prior| prior[cell][a].ln());
            let sum: f64 = terms.map(|(a, p)| p * (log(a) - p.ln())).sum();
            match self.convention {
                Convention::Uniform => sum,
                Convention::Occupancy => sum * slow.visits[cell] / tokens,
            }
        };
        slow.reward + self.tau * (0..rows.len()).map(term).sum::<f64>()
    }

    fn settings(&self, rule: Rule) -> CaviSettings {
        CaviSettings::plain(self.tau, 1_000_000)
            .with_rule(rule)
            .with_convention(self.convention)
    }

    /// A run from these rows.
    fn run(&self, rows: &Rows, rule: Rule) -> Runs {
        let start = Policy::from_rows(self.class, rows).unwrap();
        let settings = self.settings(rule);
        let runs = Runs::builder(start.class(), settings)
            .seed(1)
            .start_at(&start)
            .unwrap();
        match self.prior {
            None => runs,
            Some(prior) => {
                let prior = Policy::from_rows(self.class, prior).unwrap();
                runs.with_prior(&prior).unwrap()
            }
        }
    }
}

/// Moves every cell all the way.
const WHOLE: Rule = Rule::Cavi {
    damping: 1.0,
    share: 1.0,
};

/// Rows without zeros.
fn interior(class: &Class, seed: u64) -> Rows {
    let mix = |row: Vec<f64>| {
        let q = row.len() as f64;
        row.iter().map(|p| 0.7 * p + 0.3 / q).collect()
    };
    rows_from(class, seed).into_iter().map(mix).collect()
}

fn softmax(logits: &[f64]) -> Vec<f64> {
    let weights: Vec<f64> = logits.iter().map(|l| l.exp()).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|w| w / sum).collect()
}

/// The cells that finite differences are taken at: all would take too long.
fn some_cells(class: &Class, seed: u64) -> impl Iterator<Item = usize> {
    let (cells, start) = (class.cells(), seed as usize);
    (0..4).map(move |i| (start + i * 7919) % cells)
}

const CONVENTIONS: [Convention; 2] = [Convention::Uniform, Convention::Occupancy];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Tied and untied, one and several lengths, every law: the step of the gradient rule is the
    /// derivative of the objective by the logits.
    #[test]
    fn a_gradient_is_the_finite_difference_of_the_objective(
        problem in problems(), seed in any::<u32>(), with_prior in any::<bool>(), hot in any::<bool>(),
    ) {
        let class = problem.class();
        prop_assume!(class.cells() < 400);
        let seed = u64::from(seed);
        let (rows, prior) = (interior(&class, seed), interior(&class, seed + 1));
        for convention in CONVENTIONS {
            let objective = Objective {
                problem: &problem,
                class: &class,
                convention,
                prior: with_prior.then_some(&prior),
                tau: if hot { 2.0 } else { 0.05 },
            };
            let step = 1e-3;
            let mut run = objective.run(&rows, Rule::Gradient { step });
            run.advance(1);
            for cell in some_cells(&class, seed) {
                let moved = run.policy(0).row(cell).to_vec();
                let logs: Vec<f64> =
                    moved.iter().zip(&rows[cell]).map(|(new, old)| (new / old).ln()).collect();
                // The components of the gradient sum to zero, which the softmax does not show.
                let mean = logs.iter().sum::<f64>() / logs.len() as f64;
                for a in 0..class.q() {
                    let bent = |by: f64| {
                        let mut logits: Vec<f64> = rows[cell].iter().map(|p| p.ln()).collect();
                        logits[a] += by;
                        let mut bent = rows.clone();
                        bent[cell] = softmax(&logits);
                        objective.of(&bent)
                    };
                    let h = 1e-4;
                    let slow = (bent(h) - bent(-h)) / (2.0 * h);
                    let fast = (logs[a] - mean) / step;
                    prop_assert!(
                        (slow - fast).abs() < 1e-6,
                        "{convention}, cell {cell}, action {a}: {fast} against {slow}"
                    );
                }
            }
        }
    }

    /// The outcome states the objective.
    #[test]
    fn an_outcome_states_what_is_trained_on(
        problem in problems(), seed in any::<u32>(), with_prior in any::<bool>(),
    ) {
        let class = problem.class();
        prop_assume!(class.cells() < 400);
        let seed = u64::from(seed);
        let (rows, prior) = (rows_from(&class, seed), interior(&class, seed + 1));
        for convention in CONVENTIONS {
            let prior = with_prior.then_some(&prior);
            let objective = Objective { problem: &problem, class: &class, convention, prior, tau: 0.3 };
            let outcome = objective.run(&rows, WHOLE).outcomes().swap_remove(0);
            let fast = outcome.expected_reward + 0.3 * outcome.regulator;
            let slow = objective.of(&rows);
            prop_assert!((fast - slow).abs() < 1e-9, "{convention}: {fast} against {slow}");
            let reward = brute_force(&problem, &class, &rows).reward;
            prop_assert!((outcome.expected_reward - reward).abs() < 1e-12);
            if convention == Convention::Uniform && prior.is_none() {
                prop_assert!((outcome.regulator - outcome.entropy).abs() < 1e-9);
            }
        }
    }
}

fn parity(length: usize) -> Problem {
    Problem {
        q: 2,
        table_seed: 0,
        law: InputLaw::Uniform,
        lengths: vec![length],
        shape: Shape::untied(0, 0),
        weighing: Weighing::Equal,
    }
}

/// With all other cells held, no row of a fine grid beats the target.
#[test]
fn a_target_is_the_best_row_given_all_others() {
    let problems = [
        parity(2),
        parity(3),
        Problem {
            lengths: vec![1, 2],
            shape: Shape::untied(1, 0),
            ..parity(2)
        },
    ];
    for problem in problems {
        let class = problem.class();
        let (rows, prior) = (interior(&class, 5), interior(&class, 6));
        for (convention, prior) in [
            (Convention::Uniform, None),
            (Convention::Uniform, Some(&prior)),
            (Convention::Occupancy, None),
            (Convention::Occupancy, Some(&prior)),
        ] {
            let objective = Objective {
                problem: &problem,
                class: &class,
                convention,
                prior,
                tau: 0.2,
            };
            let mut run = objective.run(&rows, WHOLE);
            run.advance(1);
            for cell in 0..class.cells() {
                let with = |row: Vec<f64>| {
                    let mut changed = rows.clone();
                    changed[cell] = row;
                    objective.of(&changed)
                };
                let target = run.policy(0).row(cell).to_vec();
                let best = with(target.clone());
                let grid = 400;
                let values = (0..=grid).map(|n| {
                    let p = n as f64 / grid as f64;
                    with(vec![p, 1.0 - p])
                });
                let values: Vec<f64> = values.collect();
                let highest = (0..=grid).max_by(|&a, &b| values[a].total_cmp(&values[b]));
                assert!(values.iter().all(|value| *value <= best + 1e-12));
                let place = highest.unwrap() as f64 / grid as f64;
                assert!((place - target[0]).abs() <= 1.0 / grid as f64, "{cell}");
            }
        }
    }
}

/// The best of many ascents of a tiny class is the best that a search without gradients finds.
#[test]
fn the_best_fixed_point_is_the_maximum_of_the_objective() {
    let problem = parity(2);
    let class = problem.class();
    for (convention, tau) in [
        (Convention::Uniform, 0.05),
        (Convention::Uniform, 0.15),
        (Convention::Occupancy, 0.1),
        (Convention::Occupancy, 0.6),
    ] {
        let objective = Objective {
            problem: &problem,
            class: &class,
            convention,
            prior: None,
            tau,
        };
        let ascents = (0..12).map(|seed| {
            let mut run = objective.run(&interior(&class, seed), Rule::PAPER);
            run.advance(3000);
            let outcome = run.outcomes().swap_remove(0);
            assert!(
                outcome.residual < 1e-9,
                "{convention}: {}",
                outcome.residual
            );
            outcome.expected_reward + tau * outcome.regulator
        });
        let found = ascents.fold(f64::NEG_INFINITY, f64::max);
        let searched = (0..12).map(|seed| search(&objective, interior(&class, seed)));
        let searched = searched.fold(f64::NEG_INFINITY, f64::max);
        assert!(
            (found - searched).abs() < 1e-6,
            "{convention}: {found} {searched}"
        );
    }
}

/// Climbs the objective itself, a row at a time, by trying ever smaller changes.
fn search(objective: &Objective<'_>, mut rows: Rows) -> f64 {
    let (mut value, mut by) = (objective.of(&rows), 0.25);
    while by > 1e-5 {
        let before = value;
        for cell in 0..rows.len() {
            for sign in [by, -by] {
                let old = rows[cell].clone();
                let p = (old[0] + sign).clamp(0.0, 1.0);
                rows[cell] = vec![p, 1.0 - p];
                let new = objective.of(&rows);
                if new > value {
                    value = new;
                } else {
                    rows[cell] = old;
                }
            }
        }
        if value == before {
            by /= 2.0;
        }
    }
    value
}

fn states(
    settings: CaviSettings,
    class: &Class,
    prior: Option<&Policy>,
    iterations: usize,
) -> Vec<f64> {
    let runs = Runs::builder(class, settings).seed(3).start().unwrap();
    let mut runs = match prior {
        None => runs,
        Some(prior) => runs.with_prior(prior).unwrap(),
    };
    runs.advance(iterations);
    runs.state().rows.concat()
}

#[test]
fn at_zero_temperature_nothing_is_regulated() {
    let class = parity(4).class();
    let prior = Policy::from_rows(&class, &interior(&class, 9)).unwrap();
    let plain = states(CaviSettings::plain(0.0, 60), &class, None, 60);
    let occupancy = CaviSettings::plain(0.0, 60).with_convention(Convention::Occupancy);
    assert_eq!(states(occupancy, &class, None, 60), plain);
    assert_eq!(
        states(CaviSettings::plain(0.0, 60), &class, Some(&prior), 60),
        plain
    );
}

#[test]
fn a_uniform_prior_is_the_entropy() {
    let class = parity(4).class();
    for convention in CONVENTIONS {
        let settings = CaviSettings::plain(0.03, 200).with_convention(convention);
        let uniform = Policy::uniform(&class);
        let with = states(settings, &class, Some(&uniform), 200);
        let without = states(settings, &class, None, 200);
        let apart = with.iter().zip(&without).map(|(a, b)| (a - b).abs());
        assert!(apart.fold(0.0, f64::max) < 1e-9, "{convention}");
    }
}

#[test]
fn a_hot_policy_is_its_prior() {
    let class = parity(4).class();
    let rows = interior(&class, 2);
    let prior = Policy::from_rows(&class, &rows).unwrap();
    for convention in CONVENTIONS {
        let settings = CaviSettings::plain(1e8, 300).with_convention(convention);
        let found = states(settings, &class, Some(&prior), 300);
        let apart = found.iter().zip(rows.concat()).map(|(a, b)| (a - b).abs());
        assert!(apart.fold(0.0, f64::max) < 1e-6, "{convention}");
    }
}

#[test]
fn a_prior_that_forbids_an_action_is_refused() {
    let class = parity(2).class();
    let mut rows = interior(&class, 2);
    rows[3] = vec![1.0, 0.0];
    let prior = Policy::from_rows(&class, &rows).unwrap();
    let runs = Runs::builder(&class, CaviSettings::plain(0.1, 5))
        .seed(3)
        .start()
        .unwrap();
    let refused = runs.with_prior(&prior).err().unwrap();
    assert_eq!(refused, PriorError::Forbids { cell: 3, action: 1 });
    assert!(refused.to_string().contains("cell 3"), "{refused}");
}

/// A schedule does what the same iterations do one by one, each at its own temperature.
#[test]
fn a_schedule_gives_each_iteration_its_temperature() {
    let class = parity(3).class();
    let schedule: Schedule = "geometric:0.5,1e-4,20".parse().unwrap();
    for convention in CONVENTIONS {
        let quench = Some(Quench {
            iterations: 5,
            tau: 0.0,
        });
        let annealed = CaviSettings::plain(0.0, 30)
            .with_tau(schedule)
            .with_convention(convention)
            .with_quench(quench);
        let whole = states(annealed, &class, None, 100);
        let at = |tau: f64| CaviSettings::plain(tau, 1000).with_convention(convention);
        let allowance = Allowance::default();
        let mut runs = Runs::builder(&class, at(0.5))
            .seed(3)
            .within(allowance)
            .start()
            .unwrap();
        for iteration in 0..35 {
            let tau = if iteration < 30 {
                schedule.tau(iteration)
            } else {
                0.0
            };
            let state = runs.state();
            runs = Runs::builder(&class, at(tau))
                .seed(3)
                .within(allowance)
                .resume(&state)
                .unwrap();
            runs.advance(1);
        }
        assert_eq!(runs.state().rows.concat(), whole, "{convention}");
    }
}

/// Runs side by side and taken up again end as each alone and never interrupted.
#[test]
fn regulated_runs_depend_neither_on_neighbours_nor_on_interruptions() {
    let class = parity(4).class();
    let prior = Policy::from_rows(&class, &interior(&class, 4)).unwrap();
    let settings = CaviSettings::plain(0.05, 50).with_convention(Convention::Occupancy);
    let allowance = Allowance::default();
    let with_prior = |runs: Runs| runs.with_prior(&prior).unwrap();
    let new = |numbers| {
        with_prior(
            Runs::builder(&class, settings)
                .seed(3)
                .numbers(numbers)
                .within(allowance)
                .start()
                .unwrap(),
        )
    };
    let mut together = new(0..8);
    together.advance(50);
    let mut first = new(5..6);
    first.advance(21);
    let resumed = Runs::builder(&class, settings)
        .seed(3)
        .numbers(5..6)
        .within(allowance)
        .resume(&first.state());
    let mut second = with_prior(resumed.unwrap());
    second.advance(50);
    assert_eq!(second.state().rows[0], together.state().rows[5]);
    assert_eq!(second.outcomes()[0], together.outcomes()[5]);
}
