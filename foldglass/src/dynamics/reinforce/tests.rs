//! Holds sampled training to exact moments, to the exact gradient, and to an update written out token by token.

use super::*;
use crate::dynamics::cavi::{CaviSettings, Convention, Rule, Runs};
use crate::model::class::{CellKey, ClassSpec, Shape};
use crate::model::inputs::InputLaw;
use crate::model::operation::Operation;
use crate::model::policy::InitialLaw;
use crate::reward::estimators::{Estimator, moments};
use crate::reward::objectives::Utility;
use crate::reward::per_input;
use crate::support::exact::parse;
use std::collections::HashMap;

fn class(name: &str, law: InputLaw, lengths: &[usize], shape: Shape) -> Class {
    let spec = ClassSpec {
        inputs: law,
        ..ClassSpec::uniform(Operation::named(name).unwrap(), lengths, shape)
    };
    spec.lay_out().unwrap()
}

fn plain(name: &str, lengths: &[usize]) -> Class {
    class(name, InputLaw::Uniform, lengths, Shape::untied(0, 0))
}

fn begin(class: &Class, settings: ReinforceSettings, number: u64) -> SampledTraining {
    let stream = Stream::new(11, number);
    SampledTraining::new(class, settings, stream, None, Allowance::default()).unwrap()
}

/// Updates from one policy: their mean within 5 standard errors of the exact mean, component by component, and their
/// total variance within 5 standard errors of the exact trace.
fn assert_updates_have_the_exact_moments(mut run: SampledTraining, updates: usize) {
    let settings = run.settings;
    let (estimator, batch) = (settings.estimator, settings.batch as u32);
    let exact = moments(&run.policy(), estimator, batch, 0, Context::default()).unwrap();
    let start = run.logits.clone();
    let mut estimates = Vec::with_capacity(updates);
    for _ in 0..updates {
        run.logits.clone_from(&start);
        run.soften_all();
        run.update();
        let change = run.logits.iter().zip(&start).map(|(now, then)| now - then);
        estimates.push(change.collect::<Vec<f64>>());
    }
    let n = updates as f64;
    let mean = exact.mean();
    for (i, (mean, variance)) in mean.iter().zip(&exact.variance).enumerate() {
        let found = estimates.iter().map(|e| e[i]).sum::<f64>() / n;
        let error = (variance / n).sqrt();
        assert!(
            (found - mean).abs() <= 5.0 * error + 1e-12,
            "{estimator}, component {i}: {found} against {mean} +- {error}"
        );
    }
    let square = |e: &Vec<f64>| {
        let pairs = e.iter().zip(&mean);
        pairs.map(|(e, m)| (e - m).powi(2)).sum()
    };
    let norms: Vec<f64> = estimates.iter().map(square).collect();
    let found = norms.iter().sum::<f64>() / n;
    let spread = norms.iter().map(|norm| (norm - found).powi(2)).sum::<f64>() / n;
    let error = (spread / n).sqrt();
    assert!(
        (found - exact.trace()).abs() <= 5.0 * error,
        "{estimator}: variance {found} +- {error} against {}",
        exact.trace()
    );
}

#[test]
fn gradient_estimates_have_the_exact_mean_and_variance() {
    let markov = InputLaw::Markov(parse("7/10").unwrap());
    let classes = [
        plain("z:3", &[2]),
        class("parity", markov, &[1, 3], Shape::untied(1, 0)),
    ];
    for class in &classes {
        for name in [
            "reinforce",
            "batch-mean",
            "rloo:2",
            "rloo:4",
            "grpo:3",
            "grpo:4",
            "grpo:8",
            "dr-grpo:4",
        ] {
            let settings = ReinforceSettings::new(name.parse().unwrap(), 8, 1.0);
            assert_updates_have_the_exact_moments(begin(class, settings, 0), 4000);
        }
    }
}

/// Seconds of a processor: the same moments for classes of the paper.
mod full {
    use super::*;

    /// 1,024,000 rollouts each, from a policy that solves about half of the inputs: there groups of GRPO weigh inputs by
    /// their success.
    #[test]
    fn a_million_rollouts_of_the_paper_s_classes_have_the_exact_mean_and_variance() {
        for task in ["z:5", "quasigroup"] {
            let class = plain(task, &[8]);
            let q = class.q();
            let mut rows = Policy::deterministic(&Code::fold(&class)).rows().to_vec();
            let mut stream = Stream::new(5, 0);
            for row in rows.chunks_exact_mut(q) {
                let mut other = vec![0.0; q];
                InitialLaw::Dirichlet(1.0).draw(&mut stream, &mut other);
                let mixed = row.iter_mut().zip(&other);
                mixed.for_each(|(p, other)| *p = 0.9 * *p + 0.1 * other);
            }
            let start = Policy::from_flat(&class, &rows).unwrap();
            for (name, batch) in [("batch-mean", 512), ("rloo:4", 128), ("grpo:8", 64)] {
                let settings = ReinforceSettings::new(name.parse().unwrap(), batch, 1.0);
                let stream = Stream::new(13, 0);
                let run = SampledTraining::new(
                    &class,
                    settings,
                    stream,
                    Some(&start),
                    Allowance::default(),
                );
                assert_updates_have_the_exact_moments(run.unwrap(), 2000);
            }
        }
    }
}

/// The root mean square distance of 12 sampled runs from the exact one, for batches of 2^8 to 2^16. Its logarithm has a
/// standard error of about 0.1 (48 squares: 12 runs, about 4 directions each), so the slope over five points has one of
/// 0.023; within 3.5 of them it is -1/2.
#[test]
fn the_distance_from_the_exact_gradient_falls_as_one_over_the_root_of_the_batch() {
    const RUNS: u64 = 12;
    let class = plain("z:3", &[2]);
    let (rate, updates) = (2.0, 4);
    let start = begin(
        &class,
        ReinforceSettings::new(Estimator::Reinforce, 1, rate),
        0,
    )
    .policy();
    let rule = Rule::Gradient { step: rate };
    let settings = CaviSettings::plain(0.0, updates as usize).with_rule(rule);
    let mut exact = Runs::builder(&class, settings).start_at(&start).unwrap();
    exact.advance(updates as usize);
    let exact = exact.policy(0);
    for estimator in [Estimator::Reinforce, Estimator::Rloo(2)] {
        let distance = |power: u32| {
            let mut squares = 0.0;
            for number in 0..RUNS {
                let settings = ReinforceSettings::new(estimator, 1 << power, rate);
                let stream = Stream::new(5, number);
                let memory = Allowance::default();
                let run = SampledTraining::new(&class, settings, stream, Some(&start), memory);
                let mut run = run.unwrap();
                run.advance(updates);
                let policy = run.policy();
                let pairs = policy.rows().iter().zip(exact.rows());
                squares += pairs.map(|(a, b)| (a - b).powi(2)).sum::<f64>();
            }
            (squares / RUNS as f64).sqrt()
        };
        let points: Vec<(f64, f64)> = [8, 10, 12, 14, 16]
            .map(|power| (f64::from(power) * 2f64.ln(), distance(power).ln()))
            .to_vec();
        let n = points.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
        let (x, y) = (mean(|p| p.0), mean(|p| p.1));
        let across: f64 = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
        let slope = across / points.iter().map(|p| (p.0 - x).powi(2)).sum::<f64>();
        assert!((slope + 0.5).abs() < 0.08, "{estimator}: slope {slope}");
    }
}

/// What one update makes of the logits, from the rollouts of the batch, token by token and action by action.
fn written_out(run: &SampledTraining, before: &SampledTraining) -> Vec<f64> {
    let (q, settings) = (run.class.q(), run.settings);
    let group = settings.estimator.group() as usize;
    let mut advantages = Vec::new();
    let weighing = Advantages::new(settings.estimator, settings.objective).unwrap();
    weighing.find(run.batch.rewards(), &mut advantages);
    let old = before.policy();
    let mut logits = before.logits.clone();
    let mut moments = before.moments.clone();
    for epoch in 0..settings.epochs {
        let pi: Vec<Vec<f64>> = logits
            .chunks(q)
            .map(|row| {
                let sum: f64 = row.iter().map(|l| l.exp()).sum();
                row.iter().map(|l| l.exp() / sum).collect()
            })
            .collect();
        let mut gradient = vec![0.0; logits.len()];
        let mut tokens_at = vec![0.0; run.class.cells()];
        for segment in run.batch.segments() {
            let (tokens, cells) = run.batch.tokens_of(segment);
            let lanes = segment.inputs * group;
            for (place, (&token, &cell)) in tokens.iter().zip(cells).enumerate() {
                let (token, cell) = (usize::from(token), cell as usize);
                tokens_at[cell] += 1.0;
                let advantage = advantages[segment.first * group + place % lanes];
                let ratio = pi[cell][token] / old.row(cell)[token];
                let clip = settings.clip.unwrap_or(f64::INFINITY);
                let counts = match advantage > 0.0 {
                    true => ratio <= 1.0 + clip,
                    false => ratio >= 1.0 - clip,
                };
                if counts {
                    for a in 0..q {
                        let score = f64::from(u8::from(a == token)) - pi[cell][a];
                        gradient[cell * q + a] +=
                            advantage * ratio * score / advantages.len() as f64;
                    }
                }
            }
        }
        let all: f64 = tokens_at.iter().sum();
        for (cell, row) in pi.iter().enumerate() {
            let weight = match settings.convention {
                Convention::Uniform => settings.tau,
                Convention::Occupancy => settings.tau * tokens_at[cell] / all,
            };
            let prior = |a: usize| run.log_prior.get(cell * q + a).copied().unwrap_or(0.0);
            // d/d theta_a of -sum_b pi_b (ln pi_b - ln prior_b), with d pi_b / d theta_a = pi_b (1{a=b} - pi_a).
            for a in 0..q {
                let slope = |b: usize| {
                    let moved = row[b] * (f64::from(u8::from(a == b)) - row[a]);
                    -moved * (row[b].ln() - prior(b) + 1.0)
                };
                gradient[cell * q + a] += weight * (0..q).map(slope).sum::<f64>();
            }
        }
        let step = before.done as i32 * settings.epochs as i32 + epoch as i32 + 1;
        for (i, slope) in gradient.iter().enumerate() {
            logits[i] += settings.learning_rate
                * match settings.optimizer {
                    Optimizer::Sgd => *slope,
                    Optimizer::Adam => {
                        let [mean, square] = &mut moments;
                        mean[i] = 0.9 * mean[i] + 0.1 * slope;
                        square[i] = 0.999 * square[i] + 0.001 * slope * slope;
                        let (mean, square) = (
                            mean[i] / (1.0 - 0.9f64.powi(step)),
                            square[i] / (1.0 - 0.999f64.powi(step)),
                        );
                        mean / (square.sqrt() + 1e-8)
                    }
                };
        }
    }
    logits
}

#[test]
fn an_update_is_the_one_written_out_token_by_token() {
    let markov = InputLaw::Markov(parse("9/10").unwrap());
    let classes = [
        plain("quasigroup", &[2, 3]),
        class("parity", markov, &[4], Shape::tied(0, 1)),
    ];
    for class in &classes {
        let base = |name: &str| ReinforceSettings::new(name.parse().unwrap(), 40, 0.5);
        let several = |name: &str, clip, epochs| {
            let mut settings = base(name);
            (settings.clip, settings.epochs) = (clip, epochs);
            settings
        };
        let regulated = |name: &str, tau, convention| {
            let mut settings = base(name);
            (settings.tau, settings.convention) = (tau, convention);
            settings
        };
        let adam = ReinforceSettings {
            optimizer: Optimizer::Adam,
            ..several("grpo:4", Some(0.05), 3)
        };
        let prior = {
            let mut stream = Stream::new(3, 1);
            let mut rows = vec![0.0; class.cells() * class.q()];
            let each = rows.chunks_exact_mut(class.q());
            each.for_each(|row| InitialLaw::UNorm.draw(&mut stream, row));
            Policy::from_unchecked(class, &rows)
        };
        for settings in [
            base("reinforce"),
            base("batch-mean"),
            several("rloo:3", None, 2),
            several("dr-grpo:2", Some(0.02), 4),
            adam,
            regulated("batch-mean", 0.3, Convention::Uniform),
            regulated("rloo:2", 0.3, Convention::Occupancy),
        ] {
            for with_prior in [false, true] {
                let new = || match with_prior {
                    false => begin(class, settings, 2),
                    true => begin(class, settings, 2).with_prior(&prior).unwrap(),
                };
                let (mut run, mut before) = (new(), new());
                for _ in 0..3 {
                    run.advance(1);
                    let expected = written_out(&run, &before);
                    for (found, expected) in run.logits.iter().zip(expected) {
                        assert!(
                            (found - expected).abs() < 1e-9,
                            "{settings:?}: {found} {expected}"
                        );
                    }
                    before.advance(1);
                    assert_eq!(run.state(), before.state());
                }
            }
        }
    }
}

/// In a class of window (0,0), by component, the mean of (1/G) sum_i A_i S_i over every input and every group of rollouts on it.
fn mean_over_groups(policy: &Policy, weighing: &Advantages, group: usize) -> Vec<f64> {
    let (class, q) = (policy.class(), policy.class().q());
    let number: HashMap<CellKey, usize> = (0..class.cells()).map(|c| (class.key(c), c)).collect();
    let mut mean = vec![0.0; policy.rows().len()];
    per_input::for_each(policy, |x, chance, _| {
        // Every rollout: its chance, its reward and its score.
        let mut rollouts = vec![(1.0, Vec::new(), vec![0.0; mean.len()])];
        for t in 0..x.len() {
            let step = |(chance, y, score): &(f64, Vec<Symbol>, Vec<f64>)| {
                let cell = number[&CellKey {
                    t: (!class.shape().tied).then_some(t + 1),
                    x: vec![Some(x[t])],
                    y: vec![y.last().copied()],
                }];
                let row = policy.row(cell);
                let next = |token: usize| {
                    let (mut y, mut score) = (y.clone(), score.clone());
                    y.push(token as Symbol);
                    for a in 0..q {
                        score[cell * q + a] += f64::from(u8::from(a == token)) - row[a];
                    }
                    (chance * row[token], y, score)
                };
                (0..q).map(next).collect::<Vec<_>>()
            };
            rollouts = rollouts.iter().flat_map(step).collect();
        }
        let target = class.task().fold(x);
        for number in 0..rollouts.len().pow(group as u32) {
            let place = |i: usize| number / rollouts.len().pow(i as u32) % rollouts.len();
            let tuple: Vec<_> = (0..group).map(|i| &rollouts[place(i)]).collect();
            let reward = |y: &[Symbol]| f64::from(u8::from(y.last() == Some(&target)));
            let rewards: Vec<f64> = tuple.iter().map(|(_, y, _)| reward(y)).collect();
            let mut advantages = Vec::new();
            weighing.find(&rewards, &mut advantages);
            let chance = chance * tuple.iter().map(|(chance, ..)| chance).product::<f64>();
            for ((_, _, score), advantage) in tuple.iter().zip(&advantages) {
                let terms = mean.iter_mut().zip(score);
                terms.for_each(|(m, s)| *m += chance * advantage * s / group as f64);
            }
        }
    });
    mean
}

/// Against sums over all inputs and all groups: the estimate of every accepted pair is unbiased, that of Dr. GRPO up to
/// 1 - 1/G. A weight by all successes of the group, or one of another order, would not be.
#[test]
fn group_estimates_of_objectives_have_their_exact_gradients_as_means() {
    let markov = InputLaw::Markov(parse("7/10").unwrap());
    let classes = [
        plain("parity", &[2]),
        plain("z:3", &[1]),
        class("parity", markov, &[1, 2], Shape::tied(0, 0)),
    ];
    for class in &classes {
        let start = ReinforceSettings::new(Estimator::Reinforce, 1, 1.0);
        let policy = begin(class, start, 3).policy();
        let q = class.q();
        for (name, utility, shrink) in [
            ("rloo:2", Utility::PassAt(2), 1.0),
            ("rloo:4", Utility::PassAt(2), 1.0),
            ("rloo:3", Utility::PassAt(3), 1.0),
            ("rloo:3", Utility::MaxRl(3), 1.0),
            ("rloo:4", Utility::MaxRl(3), 1.0),
            ("dr-grpo:4", Utility::MaxRl(2), 0.75),
            ("reinforce", Utility::PassAt(1), 1.0),
        ] {
            let estimator: Estimator = name.parse().unwrap();
            let weighing = Advantages::new(estimator, Some(utility)).unwrap();
            let found = mean_over_groups(&policy, &weighing, estimator.group() as usize);
            let exact = objectives::objective(&policy, utility, 0, Context::default()).unwrap();
            for (cell, values) in exact.values.chunks(q).enumerate() {
                let row = policy.row(cell);
                let mean: f64 = row.iter().zip(values).map(|(p, v)| p * v).sum();
                for a in 0..q {
                    let (found, right) = (found[cell * q + a], row[a] * (values[a] - mean));
                    assert!(
                        (found - shrink * right).abs() < 1e-13,
                        "{name} {utility}: {found} {right}"
                    );
                }
            }
        }
    }
}

#[test]
fn objectives_that_rollouts_do_not_estimate_are_refused() {
    let refused = |name: &str, utility: Utility| {
        let mut settings = ReinforceSettings::new(name.parse().unwrap(), 4, 1.0);
        settings.objective = Some(utility);
        settings.check().err()
    };
    for name in ["reinforce", "batch-mean", "rloo:3"] {
        assert!(matches!(
            refused(name, Utility::PassAt(4)),
            Some(ObjectiveError::SmallGroup { order: 4, .. })
        ));
        assert!(matches!(
            refused(name, Utility::GrpoStd),
            Some(ObjectiveError::NotAPolynomial { .. })
        ));
    }
    assert!(matches!(
        refused("grpo:8", Utility::MaxRl(2)),
        Some(ObjectiveError::OwnObjective { .. })
    ));
    for (name, utility) in [
        ("grpo:2", Utility::GrpoStd),
        ("grpo:2", Utility::PassAt(1)),
        ("batch-mean", Utility::MaxRl(1)),
        ("dr-grpo:8", Utility::MaxRl(8)),
        ("rloo:512", Utility::PassAt(3)),
    ] {
        assert_eq!(refused(name, utility), None);
    }
}

/// With 16,384 inputs an update, ten updates on maxrl:3 and on J each end close to where exact ascent does, and far from one
/// another. A weight left out, or of another order, would lead elsewhere.
#[test]
fn a_run_ascends_its_objective_and_reports_its_value() {
    let class = plain("parity", &[2]);
    let utility = Utility::MaxRl(3);
    let plain = ReinforceSettings::new(Estimator::Rloo(4), 1 << 14, 2.0);
    let start = begin(&class, plain, 1).policy();
    let exact = |objective: Option<Utility>| {
        let rule = Rule::Gradient { step: 2.0 };
        let settings = CaviSettings::plain(0.0, 10).with_rule(rule);
        let runs = Runs::builder(&class, settings.with_objective(objective));
        let mut runs = runs.start_at(&start).unwrap();
        runs.advance(10);
        runs.policy(0)
    };
    let sampled = |objective: Option<Utility>| {
        let settings = ReinforceSettings { objective, ..plain };
        let (stream, memory) = (Stream::new(7, 0), Allowance::default());
        let run = SampledTraining::new(&class, settings, stream, Some(&start), memory);
        let mut run = run.unwrap();
        run.advance(10);
        let reached = run.policy();
        let value = objectives::objective(&reached, utility, 0, Context::default());
        let value = value.unwrap().value;
        assert_eq!(run.outcome().objective, objective.map(|_| value));
        reached
    };
    let distance = |a: &Policy, b: &Policy| {
        let pairs = a.rows().iter().zip(b.rows());
        pairs.map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    };
    let (of_objective, of_reward) = (exact(Some(utility)), exact(None));
    let apart = distance(&of_objective, &of_reward);
    for (objective, right) in [(Some(utility), of_objective), (None, of_reward)] {
        let off = distance(&sampled(objective), &right);
        assert!(10.0 * off < apart, "{off} {apart}");
    }
}

/// In the occupancy convention and the uniform one a large coefficient leads to the prior, or to equal rows.
#[test]
fn a_large_coefficient_leads_to_the_prior() {
    let class = plain("parity", &[2]);
    let prior = Policy::from_rows(&class, &vec![vec![0.8, 0.2]; class.cells()]).unwrap();
    for convention in [Convention::Uniform, Convention::Occupancy] {
        let mut settings = ReinforceSettings::new(Estimator::BatchMean, 64, 0.1);
        (settings.tau, settings.convention) = (30.0, convention);
        let mut run = begin(&class, settings, 0).with_prior(&prior).unwrap();
        run.advance(300);
        let off = run
            .rows
            .iter()
            .zip(prior.rows())
            .map(|(a, b)| (a - b).abs());
        assert!(
            off.fold(0.0, f64::max) < 0.03,
            "{convention}: {:?}",
            run.rows
        );
    }
    let forbids = Policy::deterministic(&Code::fold(&class));
    let run = begin(
        &class,
        ReinforceSettings::new(Estimator::BatchMean, 4, 0.1),
        0,
    );
    assert!(matches!(
        run.with_prior(&forbids),
        Err(PriorError::Forbids { cell: 0, .. })
    ));
}

#[test]
fn a_run_resumed_ends_as_if_never_interrupted() {
    let class = class("parity", InputLaw::Uniform, &[1, 2, 3], Shape::tied(0, 0));
    let mut settings = ReinforceSettings::new("rloo:2".parse().unwrap(), 30, 0.3);
    settings.optimizer = Optimizer::Adam;
    settings.curriculum = Some(LengthGate {
        gate: 0.8,
        every: 5,
    });
    let mut whole = begin(&class, settings, 4);
    whole.advance(60);
    let mut first = begin(&class, settings, 4);
    first.advance(23);
    // A look at the outcome draws nothing.
    first.outcome();
    let mut second = begin(&class, settings, 4).resume(&first.state());
    second.advance(37);
    assert_eq!(second.state(), whole.state());
    assert_eq!(second.outcome(), whole.outcome());
    assert_ne!(
        begin(&class, settings, 5).logits,
        begin(&class, settings, 4).logits
    );
}

#[test]
fn a_curriculum_begins_with_the_shortest_length_and_adds_others_behind_its_gate() {
    let class = plain("parity", &[1, 2, 3]);
    let curriculum = |gate: f64, every: u64| {
        let mut settings = ReinforceSettings::new(Estimator::BatchMean, 128, 3.0);
        settings.curriculum = Some(LengthGate { gate, every });
        settings
    };
    let mut open = begin(&class, curriculum(0.9, 10), 0);
    let mut lengths = vec![open.lengths];
    for _ in 0..40 {
        open.advance(10);
        lengths.push(open.lengths);
    }
    assert!(lengths.is_sorted() && lengths[..2] == [1, 1], "{lengths:?}");
    assert!(lengths.windows(2).all(|pair| pair[1] - pair[0] <= 1));
    assert_eq!((lengths.last(), open.outcome().lengths), (Some(&3), 3));
    // Behind a gate that stays shut only the first step is trained: every greedy action is 1, right on half the inputs.
    let start = Policy::from_rows(&class, &vec![vec![0.4, 0.6]; class.cells()]).unwrap();
    let mut settings = curriculum(0.99, 1);
    settings.learning_rate = 1e-9;
    let (stream, memory) = (Stream::new(0, 0), Allowance::default());
    let shut = SampledTraining::new(&class, settings, stream, Some(&start), memory);
    let mut shut = shut.unwrap();
    let before = shut.logits.clone();
    shut.advance(50);
    assert_eq!(shut.lengths, 1);
    assert_eq!(shut.logits[4..], before[4..]);
    assert_ne!(shut.logits[..4], before[..4]);
}

#[test]
fn steps_of_any_size_leave_distributions() {
    let class = plain("z:3", &[2]);
    for optimizer in [Optimizer::Sgd, Optimizer::Adam] {
        let mut settings = ReinforceSettings::new("grpo:4".parse().unwrap(), 16, 1e308);
        settings.optimizer = optimizer;
        let mut run = begin(&class, settings, 0);
        run.advance(50);
        for row in run.rows.chunks(3) {
            assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{row:?}");
        }
    }
}

#[test]
fn the_weight_of_a_clipped_token_is_the_slope_of_the_clipped_objective() {
    for advantage in [-1.5, 0.0, 0.7] {
        for ratio in [0.5, 0.75, 0.95, 1.0, 1.1, 1.5] {
            let objective = |r: f64| (r * advantage).min(r.clamp(0.8, 1.2) * advantage);
            let h = 1e-6;
            let slope = (objective(ratio + h) - objective(ratio - h)) / (2.0 * h);
            let found = clipped(advantage, ratio, Some(0.2));
            assert!((found - ratio * slope).abs() < 1e-6, "{advantage} {ratio}");
        }
    }
    assert_eq!(clipped(2.0, 3.0, None), 6.0);
}

/// The runs of a seed, so that a change of the draws is seen; the command line has the same numbers.
#[test]
fn a_seed_gives_the_numbers_it_gave() {
    let class = plain("z:3", &[3]);
    let settings = ReinforceSettings::new(Estimator::Rloo(3), 20, 1.0);
    let reached = |number: u64| {
        let (stream, memory) = (Stream::new(0, number), Allowance::default());
        let run = SampledTraining::new(&class, settings, stream, None, memory);
        let mut run = run.unwrap();
        run.advance(30);
        format!("{:.9}", run.expected_reward())
    };
    let rewards: Vec<String> = (0..5).map(reached).collect();
    assert_eq!(rewards, GOLDEN);
}

const GOLDEN: [&str; 5] = [
    "0.334054753",
    "0.327959662",
    "0.337771510",
    "0.332740359",
    "0.334721481",
];
