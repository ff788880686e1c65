//! Holds the closed form of parity to plain enumeration, to exact integers and to CAVI.

use crate::common::all::{All, class};
use dashu_int::UBig;
use foldglass::dynamics::cavi::{CaviSettings, CaviState, Rule, Runs};
use foldglass::gibbs::bands::{Bands, log};
use foldglass::gibbs::parity::Parity;
use foldglass::model::class::{Class, Shape};
use foldglass::model::inputs::InputLaw;
use foldglass::model::policy::InitialLaw;
use std::collections::BTreeMap;

fn parity(length: usize) -> Class {
    class("parity", &InputLaw::Uniform, &[length], Shape::untied(0, 0))
}

/// Numbers of codes by numerator, from a visit of every code.
fn visited(length: usize) -> BTreeMap<u64, u64> {
    let mut counts = BTreeMap::new();
    for reward in All::new(&parity(length)).rewards {
        *counts.entry(reward).or_default() += 1;
    }
    counts
}

#[test]
fn the_density_of_states_is_that_of_a_visit_of_every_code() {
    for length in 1..=5 {
        let expected: Vec<(UBig, UBig)> = visited(length)
            .into_iter()
            .map(|(reward, count)| (reward.into(), count.into()))
            .collect();
        let bands = Parity::new(length).density();
        let found: Vec<_> = bands.map(|band| (band.numerator, band.count)).collect();
        assert_eq!(found, expected, "T = {length}");
    }
}

/// Z and its moments as they are written, term by term over all codes.
#[test]
fn sums_over_all_codes_agree_to_the_last_digits() {
    for length in 2..=5 {
        let (counts, whole) = (visited(length), (1u64 << length) as f64);
        let parity = Parity::new(length);
        for beta in [
            1e-6, 0.1, 1.0, 5.0, 12.0, 14.5, 15.3, 16.7, 20.0, 60.0, 400.0,
        ] {
            // Relative to exp(beta), which alone would overflow in the end.
            let mean = |value: &dyn Fn(f64) -> f64| -> f64 {
                let terms = counts.iter().map(|(&reward, &count)| {
                    let j = reward as f64 / whole;
                    count as f64 * (beta * (j - 1.0)).exp() * value(j)
                });
                terms.sum()
            };
            let z = mean(&|_| 1.0);
            let (log_z, reward) = (beta + z.ln(), mean(&|j| j) / z);
            let variance = mean(&|j| (j - reward).powi(2)) / z;
            let third = mean(&|j| (j - reward).powi(3)) / z;
            let point = parity.at(beta);
            let close = |a: f64, b: f64, tolerance: f64| {
                assert!(
                    (a - b).abs() <= tolerance * b.abs().max(1e-3),
                    "T = {length}, beta = {beta}: {a} against {b}"
                );
            };
            close(point.log_z, log_z, 1e-14);
            close(point.mean_reward, reward, 1e-14);
            close(point.free_energy.unwrap(), -log_z / beta, 1e-14);
            close(point.entropy, log_z - beta * reward, 1e-12);
            close(point.variance, variance, 1e-12);
            close(point.third_cumulant, third, 1e-12);
            close(point.heat_capacity, beta * beta * variance, 1e-11);
        }
    }
}

#[test]
fn long_lengths_agree_with_the_logarithms_of_exact_integers() {
    let length = 1500;
    let parity = Parity::new(length);
    let codes: UBig = parity.density().map(|band| band.count).sum();
    assert_eq!(codes, UBig::ONE << (4 * length - 2));
    // The offset of a band from 1/2, computed from its integers.
    let bands = parity.density().map(|band| {
        let half = &band.denominator >> 1usize;
        let (above, distance) = if band.numerator >= half {
            (1.0, &band.numerator - &half)
        } else {
            (-1.0, &half - &band.numerator)
        };
        let offset = foldglass::Reward::new(distance, band.denominator.clone()).to_f64();
        (above * offset, log(&band.count))
    });
    let exact = Bands::new(0.5, bands);
    for beta in [0.0, 1.0, 6000.0, 6230.0, 6237.0, 6300.0, 1e6, 1e15] {
        let (ours, theirs) = (parity.at(beta), exact.at(beta));
        assert!((ours.log_z / theirs.log_z - 1.0).abs() < 1e-14, "{beta}");
        assert!(
            (ours.mean_reward - theirs.mean_reward).abs() < 1e-12,
            "{beta}"
        );
        assert!(
            (ours.entropy / theirs.entropy - 1.0).abs() < 1e-12,
            "{beta}"
        );
    }
}

#[test]
fn nothing_is_lost_at_great_lengths_and_extreme_temperatures() {
    for length in [1000, 10_000] {
        let parity = Parity::new(length);
        let bits = (4 * length - 2) as f64 * 2f64.ln();
        assert!((parity.at(0.0).log_z / bits - 1.0).abs() < 1e-14);
        // Cold: ln Z is beta and what is left is the entropy of the optimal codes.
        let cold = parity.at(1e18);
        let optimal = (length - 1) as f64 * 2f64.ln();
        assert_eq!(cold.mean_reward, 1.0);
        assert!((cold.entropy / optimal - 1.0).abs() < 1e-14);
        assert!((cold.free_energy.unwrap() + 1.0).abs() < 1e-12);
        let transition = parity.transition();
        assert!((transition.crossing / transition.asymptotic - 1.0).abs() < 1e-12);
        assert!((transition.three_quarters - transition.asymptotic).abs() < 1e-6);
    }
}

#[test]
fn the_transition_at_length_four_by_every_definition() {
    let transition = Parity::new(4).transition();
    for (found, expected, digits) in [
        (transition.asymptotic, 15.249, 5e-4),
        (transition.crossing, 14.989, 5e-4),
        (transition.three_quarters, 15.326, 5e-4),
        (transition.variance_peak, 15.4183, 5e-5),
        (transition.heat_peak, 16.720, 5e-4),
    ] {
        assert!((found - expected).abs() < digits, "{found} for {expected}");
    }
}

#[test]
fn peaks_are_higher_than_anything_on_a_fine_grid() {
    for length in [1, 2, 3, 5, 9, 30] {
        let parity = Parity::new(length);
        let transition = parity.transition();
        let variance = parity.at(transition.variance_peak).variance;
        let heat = parity.at(transition.heat_peak).heat_capacity;
        for i in 0..4_000 {
            let point = parity.at(f64::from(i) * 0.1);
            assert!(point.variance <= variance * (1.0 + 1e-12), "{point:?}");
            assert!(point.heat_capacity <= heat * (1.0 + 1e-12), "{point:?}");
        }
    }
}

#[test]
fn at_length_forty_the_reward_climbs_over_five_and_a_half_in_beta() {
    let parity = Parity::new(40);
    let width = parity.climb(0.6, 0.9).width();
    assert!((width - 5.545).abs() < 5e-4, "{width}");
    let beta_c = parity.transition().crossing;
    for beta in [beta_c - 5.0, beta_c, beta_c + 5.0] {
        let two_level = Parity::two_level(beta, beta_c);
        assert!((parity.at(beta).mean_reward - two_level).abs() < 2e-3);
    }
}

/// The code that tracks the fold, mixed with uniform noise, as a policy's rows.
fn near_the_tracker(class: &Class, share: f64) -> Vec<f64> {
    let row = |cell: usize| {
        let key = class.key(cell);
        let x = key.x[0].unwrap();
        let s = key.y[0].map_or(x, |y| y ^ x);
        [0, 1].map(|a| share / 2.0 + (1.0 - share) * f64::from(a == s))
    };
    (0..class.cells()).flat_map(row).collect()
}

/// The least L of CAVI from many starts: random policies, sharp and flat, and some near the tracker.
fn least_loss(class: &Class, beta: f64) -> f64 {
    let tau = 1.0 / beta;
    let mut least = f64::INFINITY;
    let mut follow = |mut runs: Runs| {
        runs.advance(usize::MAX);
        for outcome in runs.outcomes() {
            least = least.min(-outcome.expected_reward - tau * outcome.entropy);
        }
    };
    for initial in [
        InitialLaw::UNorm,
        "logit_normal:2".parse().unwrap(),
        "logit_normal:6".parse().unwrap(),
    ] {
        let settings = CaviSettings::plain(tau, 4000)
            .with_initial(initial)
            .with_rule(Rule::Cavi {
                damping: 0.5,
                share: 0.5,
            });
        for group in 0..4 {
            let numbers = 8 * group..8 * group + 8;
            follow(
                Runs::builder(class, settings)
                    .seed(5)
                    .numbers(numbers)
                    .start()
                    .unwrap(),
            );
        }
        let shares = [0.001, 0.01, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8];
        let state = CaviState {
            done: 0,
            rows: shares.map(|share| near_the_tracker(class, share)).to_vec(),
            logits: None,
            positions: vec![0; 8],
        };
        follow(
            Runs::builder(class, settings)
                .seed(5)
                .numbers(0..8)
                .resume(&state)
                .unwrap(),
        );
    }
    least
}

#[test]
fn no_start_of_cavi_beats_the_exact_minimum_and_some_reach_it() {
    for length in [1, 2, 3, 4] {
        let (class, parity) = (parity(length), Parity::new(length));
        let melting = parity.melting();
        // The longest is the slowest: there the two nearest to the melting point stand for all.
        let factors = [0.97, 1.03, 0.8, 1.3, 2.0].into_iter();
        for factor in factors.take(if length == 4 { 2 } else { 5 }) {
            let beta = factor * melting.beta.max(1.0);
            let (exact, found) = (parity.mean_field(beta), least_loss(&class, beta));
            assert!(
                (found - exact.loss).abs() < 1e-9,
                "T = {length}, {factor} of the melting point: {found} against {exact:?}"
            );
            // The least loss is never below F, and the uniform policy is best on the warm side only.
            assert!(exact.loss >= parity.at(beta).free_energy.unwrap() - 1e-14);
            assert_eq!(exact.reward > 0.5, factor > 1.0 || length == 1);
        }
    }
}

#[test]
fn at_the_melting_point_the_uniform_policy_ties() {
    for length in [3, 4, 8, 40, 1000] {
        let parity = Parity::new(length);
        let melting = parity.melting();
        let uniform = |beta: f64| -0.5 - (4 * length - 2) as f64 * 2f64.ln() / beta;
        let colder = parity.mean_field(melting.beta * (1.0 + 1e-6));
        assert!(colder.loss < uniform(colder.beta));
        assert!((colder.reward - melting.reward).abs() < 1e-3);
        let warmer = parity.mean_field(melting.beta * (1.0 - 1e-6));
        assert_eq!(warmer.loss, uniform(warmer.beta));
        assert!(melting.beta > parity.transition().three_quarters);
    }
}
