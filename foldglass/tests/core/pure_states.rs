//! Pure states against their definitions: memory, equilibration, agreement, marginals, correlations.

use foldglass::dynamics::cavi::{CaviSettings, Runs};
use foldglass::dynamics::chain::{ChainSettings, Chains, Kernel, Order, random_code};
use foldglass::gibbs::fixed_points::{Activity, active, likeness, residuals};
use foldglass::gibbs::marginals::{
    PureState, Rules, Trajectories, TrapStanding, equilibration, one_hot_time,
};
use foldglass::support::exact::parse;
use foldglass::support::stats::{Autocorrelation, integrated_time};
use foldglass::{Class, Code, Evaluator, InputLaw, Operation, Policy, Shape, Stream, Symbol, Task};

fn parity(length: usize, law: &InputLaw) -> Class {
    let task = Task::new(Operation::cyclic(2).unwrap(), law, &[length]).unwrap();
    Class::new(task, Shape::untied(0, 0)).unwrap()
}

fn correlated() -> InputLaw {
    InputLaw::Markov(parse("9/10").unwrap())
}

/// A series that keeps its action with probability `stay`, else draws a new one.
fn lazy(q: u32, length: usize, stay: f64, stream: &mut Stream) -> Vec<u8> {
    let mut action = stream.below(q) as u8;
    let mut next = || {
        if stream.uniform() > stay {
            action = stream.below(q) as u8;
        }
        action
    };
    (0..length).map(|_| next()).collect()
}

#[test]
fn of_two_actions_the_time_is_that_of_either() {
    let mut stream = Stream::new(1, 0);
    for stay in [0.0, 0.5, 0.9] {
        let series = lazy(2, 3000, stay, &mut stream);
        let values: Vec<f64> = series.iter().map(|&a| f64::from(a)).collect();
        let Autocorrelation::Time { tau, window, .. } = one_hot_time(&[series], 2) else {
            panic!("it forgets");
        };
        let Autocorrelation::Time {
            tau: other,
            window: m,
            ..
        } = integrated_time(&values)
        else {
            panic!("it forgets");
        };
        assert!((tau - other).abs() < 1e-9 && window == m, "{tau} {other}");
    }
}

/// The sum over actions of the covariances over that of the variances, lag by lag.
#[test]
fn of_several_actions_and_replicas_the_time_is_that_of_the_definition() {
    let mut stream = Stream::new(2, 0);
    let q = 5;
    let replicas: Vec<Vec<u8>> = (0..3).map(|_| lazy(q, 800, 0.8, &mut stream)).collect();
    let Autocorrelation::Time { tau, window, .. } = one_hot_time(&replicas, q as usize) else {
        panic!("it forgets");
    };
    let hot = |x: u8, a: u8| f64::from(u8::from(x == a));
    let mut rho = vec![0.0; window + 1];
    for a in 0..q as u8 {
        let all = replicas.iter().flatten();
        let mean = all.map(|&x| hot(x, a)).sum::<f64>() / 2400.0;
        for (lag, rho) in rho.iter_mut().enumerate() {
            let mut sum = 0.0;
            for series in &replicas {
                for i in 0..series.len() - lag {
                    sum += (hot(series[i], a) - mean) * (hot(series[i + lag], a) - mean);
                }
            }
            *rho += sum / (3 * (800 - lag)) as f64;
        }
    }
    let slow = 0.5 + rho[1..].iter().map(|r| r / rho[0]).sum::<f64>();
    assert!((tau - slow).abs() < 1e-9, "{tau} {slow}");
    // An action kept with probability 0.8 has rho(t) = 0.8^t, tau = 1/2 + 4.
    assert!((tau - 4.5).abs() < 1.5, "{tau}");
}

#[test]
fn a_cell_that_changes_once_remembers_too_long() {
    let step = [vec![0; 300], vec![1; 300]].concat();
    let time = one_hot_time(&[step], 2);
    assert_eq!(time, Autocorrelation::TooShort { length: 600 });
    assert_eq!(one_hot_time(&[vec![3; 60]], 4), Autocorrelation::Frozen);
}

#[test]
fn equilibrium_begins_where_the_rest_is_like_the_last_quarter() {
    let frozen = equilibration(&[0.7; 400]);
    assert_eq!((frozen.time, frozen.mean), (0, 0.7));
    // A drop, then a constant: what is left of the drop must be gone entirely.
    let series = [vec![1.0; 37], vec![0.5; 963]].concat();
    assert_eq!(equilibration(&series).time, 37);
    let mut stream = Stream::new(5, 0);
    let noisy: Vec<f64> = (0..4000)
        .map(|i| 0.5 + (-f64::from(i) / 50.0).exp() + 0.1 * stream.uniform())
        .collect();
    let time = equilibration(&noisy).time;
    assert!((20..400).contains(&time), "{time}");
}

/// Replicas whose codes and rewards are made up.
fn made_up(
    class: &Class,
    replicas: usize,
    sweeps: usize,
    mut step: impl FnMut(usize, usize) -> (f64, Code),
) -> PureState {
    let mut trajectories = Trajectories::new(class.q(), class.cells(), replicas);
    for sweep in 0..sweeps {
        for replica in 0..replicas {
            let (reward, code) = step(replica, sweep);
            trajectories.push(replica, reward, &code);
        }
    }
    PureState::of(&trajectories, &Rules::PAPER, &mut Stream::new(9, 9))
}

#[test]
fn independent_draws_are_a_state_of_uniform_marginals() {
    let class = parity(3, &InputLaw::Uniform);
    let mut stream = Stream::new(3, 0);
    let state = made_up(&class, 4, 1000, |_, _| {
        (0.5, random_code(&class, &mut stream))
    });
    assert_eq!(state.standing, TrapStanding::Trap);
    assert!(state.thinning <= 2 && state.unresolved == 0);
    assert!(state.moving.iter().all(|moving| *moving));
    let policy = state.draws.policy(&class);
    let uniform = class.cells() as f64 * 2f64.ln();
    assert!((policy.entropy() / uniform - 1.0).abs() < 0.01);
    // The uniform policy is as like the halves as sampling allows, and no less than they are.
    let found = likeness(&state, &policy, &Policy::uniform(&class), Activity::Mixed);
    assert_eq!(found.active, class.cells());
    assert!(
        found.coefficient > found.null && found.null > 0.99,
        "{found:?}"
    );
    let correlations = state.draws.correlations(1000, &mut stream).unwrap();
    let n = state.draws.len() as f64;
    assert_eq!(correlations.pairs, class.cells() * (class.cells() - 1) / 2);
    for noise in [correlations.root_mean_square, correlations.noise] {
        assert!(
            (noise * n.sqrt() - 1.0).abs() < 0.4,
            "{correlations:?} of {n}"
        );
    }
}

#[test]
fn replicas_that_escape_are_discarded() {
    let class = parity(2, &InputLaw::Uniform);
    let code = Code::from_fn(&class, |_| 0);
    let standing = |rewards: [f64; 3]| {
        let state = made_up(&class, 3, 100, |replica, _| {
            (rewards[replica], code.clone())
        });
        (state.standing, state.kept)
    };
    assert_eq!(
        standing([0.5, 0.6, 0.7]),
        (TrapStanding::Trap, vec![0, 1, 2])
    );
    assert_eq!(standing([0.5, 0.99, 0.7]), (TrapStanding::Trap, vec![0, 2]));
    assert_eq!(standing([1.0, 1.0, 0.98]), (TrapStanding::Alone, vec![2]));
    assert_eq!(standing([1.0, 1.0, 0.99]), (TrapStanding::Escaped, vec![]));
}

#[test]
fn replicas_in_two_states_disagree() {
    let class = parity(2, &InputLaw::Uniform);
    let mut stream = Stream::new(4, 0);
    // One cell moves alike in all replicas; another has one action in half of them. With one moving
    // cell, halves of 40,000 draws differ by 0.003, well within the 0.02 that is allowed.
    let mut code = |replica: usize, apart: bool| {
        let moving = stream.below(2) as Symbol;
        let other = Symbol::from(apart && replica >= 2);
        (
            0.5,
            Code::from_fn(&class, |cell| {
                [moving, other].get(cell).copied().unwrap_or(0)
            }),
        )
    };
    assert_eq!(
        made_up(&class, 4, 20_000, |r, _| code(r, false)).standing,
        TrapStanding::Trap
    );
    assert_eq!(
        made_up(&class, 4, 20_000, |r, _| code(r, true)).standing,
        TrapStanding::Disagree
    );
}

#[test]
fn a_reward_that_is_not_held_is_no_trap() {
    let class = parity(2, &InputLaw::Uniform);
    let code = Code::from_fn(&class, |_| 0);
    let state = |change: usize| {
        made_up(&class, 2, 400, |_, sweep| {
            (if sweep < change { 0.9 } else { 0.5 }, code.clone())
        })
    };
    // 3 t_eq further sweeps: t_eq may be 100 of 400.
    assert_eq!(state(100).standing, TrapStanding::Trap);
    assert_eq!(state(101).standing, TrapStanding::Unsettled);
}

#[test]
fn cells_that_determine_each_other_have_correlation_one() {
    let class = parity(2, &InputLaw::Uniform);
    let mut stream = Stream::new(6, 0);
    let state = made_up(&class, 2, 500, |_, _| {
        let action = stream.below(2) as Symbol;
        (
            0.5,
            Code::from_fn(
                &class,
                |cell| if cell < 2 { action ^ cell as Symbol } else { 0 },
            ),
        )
    });
    let found = state
        .draws
        .correlations(10, &mut Stream::new(1, 1))
        .unwrap();
    assert_eq!(found.pairs, 1);
    assert!(
        (found.largest - 1.0).abs() < 1e-12 && found.noise < 0.2,
        "{found:?}"
    );
}

/// The specification's exact check: over all codes the mean reward at tau = 0.3 is 0.6146 at T = 6.
#[test]
fn chains_from_a_code_have_the_exact_mean_reward() {
    let class = parity(6, &correlated());
    let settings = ChainSettings::new(Kernel::Metropolis, Order::Step);
    let codes = vec![Code::from_fn(&class, |_| 0); 8];
    let mut chains = Chains::builder(&class, settings)
        .seed(3)
        .numbers(0..8)
        .start_at(codes)
        .unwrap();
    let mut trajectories = Trajectories::new(2, class.cells(), 8);
    for _ in 0..10_000 {
        chains.sweep(&[0.3; 8]);
        for chain in 0..8 {
            let reward = chains.reward(chain) as f64 / chains.denominator() as f64;
            trajectories.push(chain, reward, chains.code(chain));
        }
    }
    let state = PureState::of(&trajectories, &Rules::PAPER, &mut Stream::new(3, 99));
    assert_eq!(state.standing, TrapStanding::Trap);
    let mean = state.rewards.iter().sum::<f64>() / 8.0;
    assert!((mean - 0.6146).abs() < 0.003, "{mean}");
}

#[test]
fn a_converged_run_has_no_residual_and_its_active_cells_are_those_that_are_mixed() {
    let class = parity(3, &correlated());
    let state = made_up(&class, 2, 50, |_, _| (0.5, Code::from_fn(&class, |_| 0)));
    let seed = state.draws.policy(&class);
    let (tau, iterations) = (0.05, 4000);
    let settings = CaviSettings::plain(tau, iterations);
    let mut runs = Runs::builder(seed.class(), settings)
        .seed(1)
        .start_at(&seed)
        .unwrap();
    let mut evaluator = Evaluator::new(&class).unwrap();
    let mut most = |policy: &Policy| {
        let residuals = residuals(&mut evaluator, policy, tau);
        residuals.into_iter().fold(0.0, f64::max)
    };
    runs.measure();
    assert!((most(&seed) - runs.residual(0)).abs() < 1e-9);
    runs.advance(iterations);
    let endpoint = runs.policy(0);
    assert!(most(&endpoint) < 1e-12);
    let cells = active(&state, &seed, &endpoint, Activity::Changed);
    let differs = |cell: &usize| endpoint.row(*cell)[0] < 1.0 - 1e-3;
    let expected: Vec<usize> = (0..class.cells()).filter(differs).collect();
    assert_eq!(cells, expected);
    assert!(!cells.is_empty());
}
