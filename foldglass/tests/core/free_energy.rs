//! Holds estimates of free energies to closed forms and brute force, and the RLVR loss to its bound.

use crate::common::all::{All, class, markov};
use foldglass::dynamics::cavi;
use foldglass::dynamics::chain::{CellChain, Chains, Gibbs, Kernel, Order, random_code};
use foldglass::gibbs::bands::Bands;
use foldglass::gibbs::density::DensityPlan;
use foldglass::gibbs::free_energy::{
    EstimateError, FreeEnergyPoint, FreeEnergyRefusal, FreeEnergySettings, MIN_TRIPS, estimate,
};
use foldglass::gibbs::parity::Parity;
use foldglass::gibbs::variational::{
    Annealed, LossError, Reached, annealed, loss_from, lowest_loss,
};
use foldglass::model::class::{Class, Shape};
use foldglass::model::inputs::InputLaw;
use foldglass::model::policy::{Code, Policy};
use foldglass::reward::evaluate::Evaluator;
use foldglass::support::context::Context;
use foldglass::support::memory::Allowance;
use foldglass::support::stream::Stream;
use foldglass::support::watch::{Progress, Stopped};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn parity(length: usize) -> Class {
    class("parity", &InputLaw::Uniform, &[length], Shape::untied(0, 0))
}

fn points(
    class: &Class,
    taus: &[f64],
    settings: &FreeEnergySettings,
    threads: usize,
) -> Vec<FreeEnergyPoint> {
    let points = estimate(
        class,
        taus,
        settings,
        Context::default().with_threads(threads),
    );
    points.unwrap()
}

/// The bands of a class, from a visit of every code.
fn brute_force(class: &Class) -> Bands {
    let all = All::new(class);
    let mut counts: BTreeMap<u64, f64> = BTreeMap::new();
    for reward in all.rewards {
        *counts.entry(reward).or_default() += 1.0;
    }
    let whole = all.whole as f64;
    Bands::new(
        0.0,
        counts
            .into_iter()
            .map(|(reward, count)| (reward as f64 / whole, count.ln())),
    )
}

/// Seeds that bars are tried with.
const SEEDS: u64 = 24;

/// Bars of 95 % hold at least this often: three standard errors of independent seeds below. Bars of half the width
/// hold in two of three cases.
fn least_coverage() -> f64 {
    0.95 - 3.0 * (0.95 * 0.05 / SEEDS as f64).sqrt()
}

/// How often the bars hold, of all temperatures and seeds: of ln Z and of the mean reward.
fn coverage(
    class: &Class,
    exact: impl Fn(f64) -> (f64, f64),
    taus: &[f64],
    short: FreeEnergySettings,
) -> [f64; 2] {
    let (mut held, mut tried) = ([0.0; 2], 0.0);
    for seed in 0..SEEDS {
        for point in points(class, taus, &short.with_seed(seed), 2) {
            let numbers = point
                .outcome
                .unwrap_or_else(|refusal| panic!("seed {seed}: {refusal}"));
            let (log_z, mean_reward) = exact(1.0 / point.tau);
            held[0] += f64::from(numbers.log_z.covers(log_z));
            held[1] += f64::from(numbers.mean_reward.covers(mean_reward));
            tried += 1.0;
        }
    }
    held.map(|held| held / tried)
}

#[test]
fn bars_hold_at_parity_on_both_sides_of_the_transition() {
    let exact = Parity::new(4);
    let beta_c = exact.transition().crossing;
    let taus = [0.6, 0.9, 1.0, 1.1, 1.5].map(|ratio| 1.0 / (ratio * beta_c));
    let short = FreeEnergySettings::default()
        .with_learning(1000)
        .with_sweeps(2000);
    let truth = |beta: f64| (exact.at(beta).log_z, exact.at(beta).mean_reward);
    let held = coverage(&parity(4), truth, &taus, short);
    assert!(
        held.iter().all(|&held| held >= least_coverage()),
        "{held:?}"
    );
}

/// The states of `max:2` are not equally likely: the reward of a code drawn at random is not 1/q.
#[test]
fn bars_hold_over_a_table_that_is_not_a_latin_square() {
    let class = class("max:2", &InputLaw::Uniform, &[3], Shape::untied(0, 0));
    let exact = brute_force(&class);
    let short = FreeEnergySettings::default()
        .with_learning(1000)
        .with_sweeps(2000);
    let truth = |beta: f64| (exact.at(beta).log_z, exact.at(beta).mean_reward);
    let held = coverage(&class, truth, &[0.03, 0.1, 0.5], short);
    assert!(
        held.iter().all(|&held| held >= least_coverage()),
        "{held:?}"
    );
}

#[test]
fn threads_change_nothing_and_a_seed_everything() {
    let short = FreeEnergySettings::default()
        .with_replicas(5)
        .with_learning(300)
        .with_sweeps(1000);
    let (class, taus) = (parity(4), [0.05, 0.1]);
    let one = points(&class, &taus, &short, 1);
    assert_eq!(points(&class, &taus, &short, 3), one);
    let other = short.with_seed(1);
    assert_ne!(points(&class, &taus, &other, 2), one);
}

/// At T = 12 a few sweeps find no optimal code, and the cold end hardly melts.
#[test]
fn what_the_replicas_did_not_see_is_refused() {
    let short = FreeEnergySettings::default()
        .with_learning(200)
        .with_sweeps(300);
    let beta_c = Parity::new(12).transition().crossing;
    for point in points(&parity(12), &[0.8 / beta_c, 1.0 / beta_c], &short, 2) {
        let refusal = point.outcome.unwrap_err();
        let few = matches!(refusal, FreeEnergyRefusal::FewTrips { trips } if trips < MIN_TRIPS);
        let apart = matches!(
            refusal,
            FreeEnergyRefusal::EndsDisagree { .. } | FreeEnergyRefusal::ReplicasDisagree { .. }
        );
        assert!(few || apart, "{refusal}");
    }
}

#[test]
fn it_stops_when_told() {
    let stop = |_: foldglass::Progress<'_>| ControlFlow::Break(());
    let settings = FreeEnergySettings::default();
    let stopped = estimate(
        &parity(4),
        &[0.1],
        &settings,
        Context::default().with_threads(2).with_observer(&stop),
    );
    assert_eq!(stopped, Err(EstimateError::Stopped(Stopped)));
}

/// Chains at a temperature are the walk of a cell chain with the Gibbs target, to the last bit.
#[test]
fn a_gibbs_target_is_the_chain_at_a_temperature() {
    let class = class("quasigroup", &InputLaw::Uniform, &[3], Shape::tied(0, 1));
    for kernel in [Kernel::Metropolis, Kernel::HeatBath] {
        let settings = foldglass::dynamics::chain::ChainSettings::new(kernel, Order::Cell);
        let allowance = Allowance::default();
        let mut chains = Chains::builder(&class, settings)
            .seed(9)
            .within(allowance)
            .start()
            .unwrap();
        let mut stream = Stream::new(9, 0);
        let code = random_code(&class, &mut stream);
        let mut chain = CellChain::within(kernel, code, allowance).unwrap();
        for tau in [0.0, 1e-3, 0.02, 0.3] {
            let target = Gibbs::new(tau, chain.denominator());
            for _ in 0..5 {
                chains.sweep(&[tau]);
                chain.sweep(&target, &mut stream);
                assert_eq!(chains.code(0), chain.code());
            }
        }
    }
}

fn reached(class: &Class, tau: f64, iterations: usize) -> Reached {
    let settings = cavi::CaviSettings::plain(tau, iterations);
    let reached = lowest_loss(class, settings, 3, 16, Context::default());
    reached.unwrap()
}

fn density(class: &Class) -> Bands {
    let plan = DensityPlan::new(class).unwrap();
    let density = plan.count(Context::default().with_threads(2)).unwrap();
    density.thermodynamics()
}

#[test]
fn no_fixed_point_of_an_untied_class_is_below_the_free_energy() {
    for class in [
        parity(3),
        parity(6),
        class("parity", &markov("9/10"), &[5], Shape::untied(0, 0)),
        class("z:3", &InputLaw::Uniform, &[3], Shape::untied(0, 0)),
        class("max:2", &InputLaw::Uniform, &[4], Shape::untied(0, 0)),
        class("parity", &InputLaw::Uniform, &[2, 3], Shape::untied(0, 1)),
    ] {
        let exact = density(&class);
        for tau in [1e-6, 1e-3, 0.01, 0.03, 0.1, 1.0] {
            let free_energy = exact.at(1.0 / tau).free_energy.unwrap();
            let reached = reached(&class, tau, 1500);
            assert_eq!(reached.losses.len(), 16);
            let fold = Policy::deterministic(&Code::fold(&class));
            let settings = cavi::CaviSettings::plain(tau, 1500);
            let seeded = loss_from(&fold, settings, 3, Context::default()).unwrap();
            for loss in reached.losses.into_iter().chain(seeded.losses) {
                assert!(
                    loss >= free_energy - 1e-12,
                    "tau = {tau}: {loss}, {free_energy}"
                );
            }
        }
    }
}

#[test]
fn a_run_by_the_gradient_rule_starts_at_the_policy_given() {
    let class = parity(4);
    let mut stream = Stream::new(8, 0);
    let rows: Vec<Vec<f64>> = (0..class.cells())
        .map(|_| {
            let p = 0.1 + 0.8 * stream.uniform();
            vec![p, 1.0 - p]
        })
        .collect();
    let policy = Policy::from_rows(&class, &rows).unwrap();
    // One step so short that the run ends where it began.
    let settings =
        cavi::CaviSettings::plain(1e-3, 1).with_rule(cavi::Rule::Gradient { step: 1e-9 });
    let end = loss_from(&policy, settings, 3, Context::default());
    let end = end.unwrap();
    for (cell, row) in rows.iter().enumerate() {
        for (found, given) in end.policy.row(cell).iter().zip(row) {
            assert!(
                (found - given).abs() < 1e-6,
                "cell {cell}: {found}, {given}"
            );
        }
    }
}

/// A code of reward 1 has (q!)^(T-1) names, and a policy knows one of them.
#[test]
fn a_cold_optimal_policy_lacks_the_entropy_of_its_names() {
    for (name, length, names) in [("parity", 4, 2f64), ("parity", 5, 2.0), ("z:3", 3, 6.0)] {
        let class = class(name, &InputLaw::Uniform, &[length], Shape::untied(0, 0));
        let exact = density(&class);
        let limit = (length - 1) as f64 * names.ln();
        let gap = |tau: f64| {
            let reached = reached(&class, tau, 3000);
            assert!(
                (reached.reward - 1.0).abs() < 1e-6,
                "{name}: {}",
                reached.reward
            );
            let free_energy = exact.at(1.0 / tau).free_energy.unwrap();
            ((reached.loss - free_energy) / tau - limit).abs()
        };
        let (warmer, colder) = (gap(1e-5), gap(1e-6));
        assert!(warmer < 1e-6 && colder < 1e-6, "{name}: {warmer}, {colder}");
    }
}

#[test]
fn j_tilde_differs_from_j_where_cells_are_shared_and_bounds_the_free_energy() {
    let tied = class("parity", &InputLaw::Uniform, &[4], Shape::tied(0, 0));
    let (tau, exact) = (0.3, brute_force(&tied));
    let policy = reached(&tied, tau, 500).policy;
    // The code that tracks the fold, with noise.
    let row = |cell: usize| {
        let key = tied.key(cell);
        let x = key.x[0].unwrap();
        let s = key.y[0].map_or(x, |y| y ^ x);
        [0, 1].map(|a| if a == s { 0.85 } else { 0.15 })
    };
    let rows: Vec<[f64; 2]> = (0..tied.cells()).map(row).collect();
    let uneven = Policy::from_rows(&tied, &rows).unwrap();
    let mut evaluator = Evaluator::new(&tied).unwrap();
    for policy in [policy, uneven] {
        let Ok(Annealed::Exact(j_tilde)) =
            annealed(&policy, 0, &mut Stream::new(1, 0), Context::default())
        else {
            panic!("a class of 64 codes is summed over")
        };
        let bound = -j_tilde - tau * policy.entropy();
        assert!(bound >= exact.at(1.0 / tau).free_energy.unwrap() - 1e-12);
    }
    let policy = Policy::from_rows(&tied, &rows).unwrap();
    let Ok(Annealed::Exact(j_tilde)) =
        annealed(&policy, 0, &mut Stream::new(1, 0), Context::default())
    else {
        panic!("a class of 64 codes is summed over")
    };
    assert!((j_tilde - evaluator.evaluate(&policy)).abs() > 1e-3);
}

/// Says stop from a number of hearings on, and counts those after it.
fn stop_after(
    most: usize,
) -> (
    impl Fn(Progress<'_>) -> ControlFlow<()> + Sync,
    Arc<AtomicUsize>,
) {
    let heard = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&heard);
    let stop = move |_: Progress<'_>| match count.fetch_add(1, Ordering::Relaxed) + 1 < most {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(()),
    };
    (stop, heard)
}

#[test]
fn stopped_it_begins_no_other_replica_and_ends_no_run() {
    let class = parity(3);
    let settings = FreeEnergySettings::default()
        .with_replicas(10_000_000)
        .with_learning(10)
        .with_sweeps(100);
    let (stop, heard) = stop_after(40);
    let found = estimate(
        &class,
        &[0.1],
        &settings,
        Context::default().with_threads(2).with_observer(&stop),
    );
    assert_eq!(found, Err(EstimateError::Stopped(Stopped)));
    // A replica that was under way on the other thread may ask once more.
    let heard = heard.load(Ordering::Relaxed);
    assert!(heard <= 42, "{heard}");
    // Runs of CAVI that would take days.
    let forever = cavi::CaviSettings::plain(0.01, usize::MAX);
    let allowance = Allowance::default();
    let (stop, _) = stop_after(3);
    assert_eq!(
        lowest_loss(
            &class,
            forever,
            1,
            16,
            Context::default()
                .with_memory(allowance)
                .with_observer(&stop)
        ),
        Err(LossError::Stopped(Stopped))
    );
    let fold = Policy::deterministic(&Code::fold(&class));
    let (stop, _) = stop_after(2);
    assert_eq!(
        loss_from(
            &fold,
            forever,
            1,
            Context::default()
                .with_memory(allowance)
                .with_observer(&stop)
        ),
        Err(LossError::Stopped(Stopped))
    );
    let tied = class_of_many_codes();
    let (stop, _) = stop_after(2);
    let samples = annealed(
        &Policy::uniform(&tied),
        usize::MAX / 16,
        &mut Stream::new(1, 0),
        Context::default().with_observer(&stop),
    );
    assert_eq!(samples, Err(Stopped));
    let many = settings.with_replicas(usize::MAX);
    assert!(
        estimate(
            &class,
            &[0.1],
            &many,
            Context::default().with_threads(2).with_memory(allowance)
        )
        .is_err()
    );
}

/// A tied class with too many codes to sum over.
fn class_of_many_codes() -> Class {
    class("z:3", &InputLaw::Uniform, &[3], Shape::tied(0, 1))
}

#[test]
fn j_tilde_by_samples_is_that_of_all_codes() {
    // 3^12 codes are too many to be summed by `annealed`, and few enough to be summed here.
    let tied = class("z:3", &InputLaw::Uniform, &[3], Shape::tied(0, 0));
    let row = |cell: usize| [0.6 - 0.03 * cell as f64, 0.3, 0.1 + 0.03 * cell as f64];
    let rows: Vec<[f64; 3]> = (0..tied.cells()).map(row).collect();
    let policy = Policy::from_rows(&tied, &rows).unwrap();
    let all = All::new(&tied);
    let weight = |code: usize| -> f64 {
        let action = |cell: usize| code / 3usize.pow(cell as u32) % 3;
        (0..all.cells)
            .map(|cell| rows[cell][action(cell)])
            .product()
    };
    let rewards = all.rewards.iter().enumerate();
    let exact: f64 = rewards
        .map(|(code, &reward)| weight(code) * reward as f64 / all.whole as f64)
        .sum();
    let Ok(Annealed::Sampled { mean, error }) =
        annealed(&policy, 20_000, &mut Stream::new(1, 0), Context::default())
    else {
        panic!("it is sampled")
    };
    assert!(
        (mean - exact).abs() < 4.0 * error,
        "{mean} +- {error} for {exact}"
    );
    let untied = annealed(
        &Policy::uniform(&parity(3)),
        0,
        &mut Stream::new(1, 0),
        Context::default(),
    );
    assert_eq!(untied, Ok(Annealed::Same));
}

/// Half a minute of a processor: shorter runs are refused.
mod full {
    use super::*;

    #[test]
    fn bars_hold_in_a_tied_class() {
        let class = class("z:3", &markov("1/2"), &[3], Shape::tied(0, 0));
        let exact = brute_force(&class);
        let short = FreeEnergySettings::default()
            .with_learning(5000)
            .with_sweeps(8000);
        let truth = |beta: f64| (exact.at(beta).log_z, exact.at(beta).mean_reward);
        let held = coverage(&class, truth, &[0.02, 0.1, 0.5], short);
        assert!(
            held.iter().all(|&held| held >= least_coverage()),
            "{held:?}"
        );
    }
}
