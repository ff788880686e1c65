//! Compares densities of states with a visit of every code, with parity's closed form and with the
//! census.

use crate::common::all::{All, class, markov, product, with_a_hole};
use crate::common::{Problem, problems};
use dashu_int::UBig;
use foldglass::Context;
use foldglass::gibbs::density::{DensityError, DensityOfStates, DensityPlan};
use foldglass::gibbs::parity::Parity;
use foldglass::landscape::census::{Count, Survey};
use foldglass::model::class::{Class, Shape, Window};
use foldglass::model::inputs::InputLaw;
use foldglass::support::memory::Allowance;
use foldglass::support::watch::Stopped;
use foldglass::support::watch::Tally;
use foldglass::{Reward, Unwatched};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Mutex;

fn density(class: &Class, threads: usize) -> DensityOfStates {
    let plan = DensityPlan::new(class).unwrap();
    plan.count(Context::default().with_threads(threads))
        .unwrap()
}

fn bands(density: &DensityOfStates) -> Vec<(u128, UBig)> {
    let bands = density.bands().iter();
    bands
        .map(|band| (band.reward, band.count.clone()))
        .collect()
}

fn codes(class: &Class) -> UBig {
    UBig::from(class.q()).pow(class.cells())
}

/// What a visit of every code finds.
fn visited(class: &Class) -> Vec<(u128, UBig)> {
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    for reward in All::new(class).rewards {
        *counts.entry(reward).or_default() += 1;
    }
    let counts = counts.into_iter();
    counts
        .map(|(reward, count)| (reward.into(), count.into()))
        .collect()
}

/// Untied problems of at most 2^17 codes: lengths are shortened until they are.
fn small(mut problem: Problem) -> Option<Problem> {
    problem.shape.tied = false;
    loop {
        let class = problem.class();
        if class.cells() as f64 * (problem.q as f64).log2() <= 17.0 {
            return Some(problem);
        }
        let longest = *problem.lengths.iter().max()?;
        let window = &mut problem.shape.window;
        if longest <= 2 && window.past + window.future > 0 {
            *window = Window { past: 0, future: 0 };
        } else if longest <= 2 && problem.q > 3 {
            return None;
        } else {
            problem.lengths = shorter(&problem.lengths, longest);
            if let InputLaw::Product(rows) = &mut problem.law {
                rows.truncate(*problem.lengths.iter().max()?);
            }
        }
    }
}

/// The longest length made shorter by one, or left out.
fn shorter(lengths: &[usize], longest: usize) -> Vec<usize> {
    let mut lengths: Vec<usize> = lengths
        .iter()
        .map(|&length| {
            if length == longest {
                length - 1
            } else {
                length
            }
        })
        .collect();
    lengths.sort_unstable();
    lengths.dedup();
    lengths
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Random tables, laws, windows, memories and lengths.
    #[test]
    fn a_density_is_that_of_a_visit_of_every_code(
        problem in problems().prop_filter_map("too many codes", small)
    ) {
        let class = problem.class();
        prop_assert_eq!(bands(&density(&class, 1)), visited(&class));
    }
}

#[test]
fn classes_of_every_kind_agree_with_a_visit_of_every_code() {
    let memory = |past, future, memory| Shape {
        window: Window { past, future },
        memory,
        tied: false,
    };
    let law = product(&[&["1/2", "1/2"], &["1/5", "4/5"], &["1/3", "2/3"]]);
    for class in [
        class("parity", &markov("9/10"), &[5], Shape::untied(0, 0)),
        class("parity", &markov("2/3"), &[2, 3, 4], Shape::untied(0, 0)),
        class("parity", &InputLaw::Uniform, &[1, 3], Shape::untied(0, 1)),
        class("parity", &law, &[3], Shape::untied(1, 0)),
        class("parity", &with_a_hole(), &[4], Shape::untied(0, 0)),
        class("parity", &markov("1/3"), &[4], memory(0, 0, 2)),
        class("z:3", &markov("1/2"), &[2], Shape::untied(0, 0)),
        class("z:3", &InputLaw::Uniform, &[1, 2], Shape::untied(0, 0)),
        class("z:4", &InputLaw::Uniform, &[1], Shape::untied(0, 0)),
        class("max:2", &InputLaw::Uniform, &[4], Shape::untied(0, 0)),
        class("copy:2", &law, &[2, 3], Shape::untied(0, 0)),
        class("flipflop", &markov("1/2"), &[2], Shape::untied(0, 0)),
    ] {
        assert_eq!(bands(&density(&class, 1)), visited(&class), "{class:?}");
    }
}

/// More codes than 128 bits count.
#[test]
fn parity_has_its_closed_form() {
    for length in [2, 7, 12, 40] {
        let law = InputLaw::Uniform;
        let class = class("parity", &law, &[length], Shape::untied(0, 0));
        let closed = Parity::new(length).density();
        let closed: Vec<_> = closed
            .map(|band| (u128::try_from(band.numerator).unwrap(), band.count))
            .collect();
        assert_eq!(bands(&density(&class, 2)), closed, "T = {length}");
    }
}

fn census_optimal(class: &Class) -> UBig {
    let survey = Survey::new(class, &Reward::ZERO).unwrap();
    let tally = Tally::new(&Unwatched, "parts", None);
    let census = survey.merged(Allowance::default(), &tally).unwrap();
    let mut all = Count::default();
    let mut visitor = census.visitor(&tally);
    (0..census.parts()).for_each(|part| all += visitor.part(part).unwrap());
    all.optimal.into()
}

#[test]
fn the_census_finds_as_many_optimal_codes() {
    for class in [
        class("parity", &markov("9/10"), &[7], Shape::untied(0, 0)),
        class("parity", &InputLaw::Uniform, &[2], Shape::untied(1, 1)),
        class("z:3", &InputLaw::Uniform, &[2], Shape::untied(0, 0)),
        class("parity", &InputLaw::Uniform, &[2, 3], Shape::untied(0, 0)),
    ] {
        let density = density(&class, 2);
        assert_eq!(density.optimal(), census_optimal(&class), "{class:?}");
        let sum: UBig = density.bands().iter().map(|band| &band.count).sum();
        assert_eq!(sum, codes(&class));
    }
}

#[test]
fn threads_change_nothing() {
    for class in [
        class("parity", &markov("9/10"), &[9], Shape::untied(0, 0)),
        class("z:3", &InputLaw::Uniform, &[3], Shape::untied(0, 0)),
    ] {
        let one = density(&class, 1);
        assert_eq!(density(&class, 3), one);
        let sum: UBig = one.bands().iter().map(|band| &band.count).sum();
        assert_eq!(sum, codes(&class));
    }
}

#[test]
fn what_does_not_fit_is_refused_before_it_starts() {
    let untied = Shape::untied(0, 0);
    let long = class("parity", &markov("9/10"), &[16], untied);
    let refused = DensityPlan::within(&long, Allowance(6 << 30))
        .err()
        .unwrap();
    let DensityError::TooLarge(error) = refused else {
        panic!("{refused}")
    };
    assert!(error.to_string().contains("prefix classes"), "{error}");
    let wide = class("z:5", &InputLaw::Uniform, &[4], untied);
    assert!(DensityPlan::within(&wide, Allowance(6 << 30)).is_err());
    let tied = class("parity", &InputLaw::Uniform, &[3], Shape::tied(0, 0));
    assert_eq!(DensityPlan::new(&tied).err(), Some(DensityError::Tied));
}

/// The forecast beside what is then counted, step by step.
#[test]
fn a_forecast_is_near_the_count() {
    let class = class("parity", &markov("9/10"), &[11], Shape::untied(0, 0));
    let plan = DensityPlan::new(&class).unwrap();
    let forecast = plan.forecast().clone();
    assert!(forecast.counted < 10, "{forecast:?}");
    let counted = Mutex::new(BTreeMap::new());
    let note = |progress: foldglass::Progress<'_>| {
        let step: usize = progress.unit.rsplit(' ').next().unwrap().parse().unwrap();
        let of = progress.all.unwrap() as f64;
        counted.lock().unwrap().insert(step - 1, of);
        ControlFlow::Continue(())
    };
    let context = Context::default().with_threads(2).with_observer(&note);
    plan.count(context).unwrap();
    for (t, counted) in counted.into_inner().unwrap() {
        let ratio = forecast.prefix_classes[t - 1] / counted;
        assert!(
            (0.5..2.0).contains(&ratio),
            "step {t}: {counted}, {forecast:?}"
        );
    }
}

#[test]
fn it_stops_when_told() {
    let class = class("parity", &markov("9/10"), &[10], Shape::untied(0, 0));
    let plan = DensityPlan::new(&class).unwrap();
    let stop = |_: foldglass::Progress<'_>| ControlFlow::Break(());
    let stopped = plan.count(Context::default().with_threads(2).with_observer(&stop));
    assert_eq!(stopped, Err(DensityError::Stopped(Stopped)));
}
