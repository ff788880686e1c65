//! Holds overlaps of codes to their definition, input by input and code by code.

use crate::common::all::class;
use crate::common::{Problem, Rational, Weighing, exact_inputs, problems};
use foldglass::dynamics::chain::random_code;
use foldglass::gibbs::overlap::{BINS, EveryCode, ExactError, Sampling, sample};
use foldglass::landscape::gauge::{Freedom, Overlap, Overlaps, Part, Relabelling, agreement};
use foldglass::{
    Class, Code, Context, InputLaw, Progress, Shape, Stream, Symbol, reward::count,
    support::watch::Stopped,
};
use proptest::prelude::*;
use std::ops::ControlFlow;
use std::sync::Mutex;

fn tokens(code: &Code, x: &[Symbol]) -> Vec<Symbol> {
    let mut y = Vec::new();
    for t in 1..=x.len() {
        y.push(code.action(code.class().route(x, t, &y)));
    }
    y
}

/// The heaviest way to match tokens, all permutations tried.
fn best(joint: &[Vec<Rational>], row: usize, used: &mut Vec<bool>) -> Rational {
    let mut most = Rational::ZERO;
    if row == joint.len() {
        return most;
    }
    for column in 0..joint.len() {
        if !used[column] {
            used[column] = true;
            let sum = joint[row][column].clone() + best(joint, row + 1, used);
            used[column] = false;
            most = most.max(sum);
        }
    }
    most
}

/// q_t of every step, by the definition. A step where a length ends renames nothing.
fn slow(problem: &Problem, a: &Code, b: &Code) -> Vec<Rational> {
    let (class, q) = (a.class(), problem.q);
    let longest = class.task().longest();
    let mut joint = vec![vec![vec![Rational::ZERO; q]; q]; longest];
    let mut reached = vec![Rational::ZERO; longest];
    for (x, p) in exact_inputs(problem) {
        for (t, (a, b)) in tokens(a, &x).into_iter().zip(tokens(b, &x)).enumerate() {
            joint[t][usize::from(a)][usize::from(b)] += &p;
            reached[t] += &p;
        }
    }
    let renames = |t: usize| renamed_at(class, t);
    (0..longest)
        .map(|t| {
            let same = if renames(t) {
                best(&joint[t], 0, &mut vec![false; q])
            } else {
                (0..q).fold(Rational::ZERO, |sum, y| sum + &joint[t][y][y])
            };
            same / &reached[t]
        })
        .collect()
}

/// Whether some relabelling renames the tokens of a step.
fn renamed_at(class: &Class, t: usize) -> bool {
    let identity: Vec<Symbol> = (0..class.q() as Symbol).collect();
    (0..40).any(|n| Relabelling::random(class, &mut Stream::new(n, 9)).steps()[t] != identity)
}

fn rational(part: Part) -> Rational {
    Rational::from_parts(part.some.into(), part.all.into())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn overlaps_are_those_of_all_inputs(problem in problems(), seed in any::<u32>()) {
        let class = problem.class();
        let mut stream = Stream::new(seed.into(), 0);
        let (a, b) = (random_code(&class, &mut stream), random_code(&class, &mut stream));
        let overlaps = Overlaps::new(&class).unwrap();
        let found = overlaps.of(&a, &b);
        let fast: Vec<Rational> = found.steps.iter().map(|&part| rational(part)).collect();
        prop_assert_eq!(fast, slow(&problem, &a, &b));
        let answers = agreement(&a, &b, Context::default()).unwrap().overall;
        prop_assert_eq!(rational(found.answers), answers);
    }

    #[test]
    fn no_overlap_knows_the_names_of_tokens(problem in problems(), seed in any::<u32>()) {
        let class = problem.class();
        let mut stream = Stream::new(seed.into(), 0);
        let (a, b) = (random_code(&class, &mut stream), random_code(&class, &mut stream));
        let overlaps = Overlaps::new(&class).unwrap();
        let relabelled = Relabelling::random(&class, &mut stream).apply(&a);
        prop_assert_eq!(overlaps.of(&a, &b), overlaps.of(&relabelled, &b));
        let own: Overlap = overlaps.of(&a, &relabelled);
        prop_assert!(own.steps.iter().all(|part| part.some == part.all));
        prop_assert!(Freedom::of(&class).free() < class.task().longest());
    }
}

fn problem(q: usize, lengths: &[usize], shape: Shape, law: InputLaw) -> Problem {
    Problem {
        q,
        table_seed: 1,
        law,
        lengths: lengths.to_vec(),
        shape,
        weighing: Weighing::Equal,
    }
}

fn tiny() -> Vec<Problem> {
    let markov = InputLaw::Markov(foldglass::support::exact::parse("9/10").unwrap());
    let memory = Shape {
        memory: 2,
        ..Shape::tied(0, 0)
    };
    vec![
        problem(2, &[2], Shape::untied(0, 0), InputLaw::Uniform),
        problem(2, &[2], Shape::untied(0, 0), markov.clone()),
        problem(2, &[1, 2], Shape::untied(0, 0), markov),
        problem(2, &[3], Shape::tied(0, 0), InputLaw::Uniform),
        problem(2, &[2, 3], Shape::tied(0, 0), InputLaw::Uniform),
        problem(2, &[2], memory, InputLaw::Uniform),
        problem(3, &[1], Shape::untied(0, 0), InputLaw::Uniform),
    ]
}

/// All pairs of all codes, each weighed by its Gibbs measure.
#[test]
fn the_exact_distribution_is_the_sum_over_all_pairs_of_codes() {
    for problem in tiny() {
        let class = problem.class();
        let (q, cells) = (class.q(), class.cells());
        let code = |n: usize| Code::from_fn(&class, |cell| (n / q.pow(cell as u32) % q) as Symbol);
        let codes: Vec<Code> = (0..q.pow(cells as u32)).map(code).collect();
        let rewards: Vec<f64> = codes
            .iter()
            .map(|code| count::reward(code).to_f64())
            .collect();
        let overlaps = Overlaps::new(&class).unwrap();
        let every = EveryCode::visit(&class, Context::default()).unwrap();
        assert!(every.functions() <= codes.len());
        for tau in [0.02, 0.3, 5.0] {
            let weights: Vec<f64> = rewards.iter().map(|j| (j / tau).exp()).collect();
            let z: f64 = weights.iter().sum();
            let longest = class.task().longest();
            let (mut steps, mut answers) = (vec![0.0; longest], 0.0);
            let mut bins = vec![0.0; BINS];
            for (a, wa) in codes.iter().zip(&weights) {
                for (b, wb) in codes.iter().zip(&weights) {
                    let (found, p) = (overlaps.of(a, b), wa * wb / (z * z));
                    let shares = found.steps.iter().map(Part::share);
                    steps
                        .iter_mut()
                        .zip(shares)
                        .for_each(|(sum, q)| *sum += p * q);
                    answers += p * found.answers.share();
                    bins[((found.answers.share() * BINS as f64) as usize).min(BINS - 1)] += p;
                }
            }
            let alike = every.alike(tau, Context::default()).unwrap();
            let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-10, "{problem:?}: {a} {b}");
            near(alike.answers.mean.mean, answers);
            near(
                alike.all.mean.mean,
                steps.iter().sum::<f64>() / longest as f64,
            );
            let pairs = alike.steps.iter().zip(&steps);
            pairs.for_each(|(fast, slow)| near(fast.mean, *slow));
            let pairs = alike.answers.bins.iter().zip(&bins);
            pairs.for_each(|(fast, slow)| near(fast.mean, *slow));
            let mean: f64 = rewards.iter().zip(&weights).map(|(j, w)| j * w / z).sum();
            near(every.mean_reward(tau), mean);
        }
    }
}

/// Over many seeds the sampled means lie about their exact values as their errors say.
#[test]
fn sampled_overlaps_lie_within_their_errors_of_the_exact_ones() {
    let problem = problem(2, &[3], Shape::untied(0, 0), InputLaw::Uniform);
    let class = problem.class();
    let every = EveryCode::visit(&class, Context::default()).unwrap();
    for tau in [0.15, 1.0] {
        let exact = every.alike(tau, Context::default()).unwrap();
        let (mut squares, mut count) = (0.0, 0);
        for seed in 0..12 {
            let sampling = Sampling {
                tau,
                replicas: 12,
                sweeps: 400,
                seed,
                first: 0,
            };
            let found = sample(&class, sampling, Context::default());
            let found = found.unwrap();
            let mut pulls = vec![
                (found.alike.answers.mean, exact.answers.mean.mean),
                (found.alike.all.mean, exact.all.mean.mean),
                (found.mean_reward, every.mean_reward(tau)),
            ];
            let steps = found.alike.steps.iter().zip(&exact.steps);
            pulls.extend(steps.map(|(value, exact)| (*value, exact.mean)));
            for (value, exact) in pulls {
                let pull = (value.mean - exact) / value.error;
                assert!(pull.abs() < 5.0, "tau {tau}: {value:?} for {exact}");
                squares += pull * pull;
                count += 1;
            }
        }
        let rms = (squares / f64::from(count)).sqrt();
        assert!((0.5..1.5).contains(&rms), "tau {tau}: pulls of {rms}");
    }
}

#[test]
fn what_is_too_much_to_sum_is_said() {
    let problem = problem(5, &[8], Shape::untied(0, 0), InputLaw::Uniform);
    let refused = EveryCode::visit(&problem.class(), Context::default()).err();
    assert_eq!(
        refused,
        Some(ExactError::TooManyCodes {
            cells: 180,
            inputs: 390_625
        })
    );
}

#[test]
fn stopped_it_compares_no_more_pairs() {
    let class = class("parity", &InputLaw::Uniform, &[5], Shape::untied(0, 0));
    let heard = Mutex::new(Vec::new());
    // All codes are visited, and then it is told to stop.
    let stop = |progress: Progress<'_>| {
        let is_last = progress.unit != "codes";
        heard.lock().unwrap().push(is_last);
        match is_last {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    let stopped = EveryCode::visit(&class, Context::default().with_observer(&stop)).err();
    assert_eq!(stopped, Some(ExactError::Stopped(Stopped)));
    let heard = heard.into_inner().unwrap();
    assert_eq!(heard.iter().filter(|&&is_last| is_last).count(), 1);
}
