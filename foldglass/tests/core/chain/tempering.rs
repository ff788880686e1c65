//! Holds tempering to its laws: swaps, round trips, cold ends, what is taken up again.

use super::*;

#[test]
fn swaps_between_equal_temperatures_are_always_made() {
    let parity = class("parity", &InputLaw::Uniform, &[4], Shape::untied(0, 0));
    for tau in [0.0, 0.05, f64::INFINITY] {
        let mut tempering = temper(&parity, HEAT_BATH, &[tau; 5], 1, 0);
        (0..100).for_each(|_| tempering.sweep());
        for pair in tempering.swaps() {
            assert_eq!((pair.successes, pair.trials), (50, 50));
        }
        // Even and odd pairs in turn carry each replica up and down the five rungs in ten sweeps.
        assert!(
            tempering
                .trips()
                .iter()
                .all(|&trips| (9..=10).contains(&trips)),
            "{:?}",
            tempering.trips()
        );
    }
}

#[test]
fn swap_rates_are_those_of_the_gibbs_measures() {
    let parity = class("parity", &InputLaw::Uniform, &[2], Shape::untied(0, 0));
    let (enumeration, ladder) = (Enumeration::of(&parity), [0.1, 0.2, 1.0]);
    let mut tempering = temper(&parity, HEAT_BATH, &ladder, 4, 0);
    (0..40_000).for_each(|_| tempering.sweep());
    for (pair, tau) in tempering.swaps().iter().zip(ladder.windows(2)) {
        let (cold, hot) = (enumeration.gibbs(tau[0]), enumeration.gibbs(tau[1]));
        let mut rate = 0.0;
        for (p, j) in cold.iter().zip(&enumeration.rewards) {
            for (p_hot, j_hot) in hot.iter().zip(&enumeration.rewards) {
                let weight = |cold: f64, hot: f64| (cold / tau[0] + hot / tau[1]).exp();
                rate += p * p_hot * (weight(*j_hot, *j) / weight(*j, *j_hot)).min(1.0);
            }
        }
        assert!(
            (pair.rate().unwrap() - rate).abs() < 0.02,
            "{pair:?}, expected {rate}"
        );
    }
}

#[test]
fn round_trips_are_those_of_the_replicas() {
    let parity = class("parity", &InputLaw::Uniform, &[5], Shape::untied(0, 0));
    let ladder = [0.02, 0.03, 0.05, 0.1];
    let mut tempering = temper(&parity, HEAT_BATH, &ladder, 2, 0);
    let mut visits = vec![vec![]; ladder.len()];
    visits[0].push('c');
    for _ in 0..3000 {
        tempering.sweep();
        visits[tempering.replica(0)].push('c');
        visits[tempering.replica(3)].push('h');
    }
    for (visits, &trips) in visits.iter_mut().zip(tempering.trips()) {
        visits.dedup();
        let text: String = visits.iter().collect();
        assert_eq!(
            text.trim_start_matches('h').matches('h').count() - usize::from(text.ends_with('h')),
            trips as usize
        );
        assert!(trips > 10, "{text}");
    }
}

#[test]
fn the_cold_end_at_zero_never_loses_reward() {
    let quasigroup = class("quasigroup", &InputLaw::Uniform, &[4], Shape::untied(0, 0));
    let mut tempering = temper(&quasigroup, HEAT_BATH, &[0.0, 2e-3, 4e-3, 8e-3], 1, 0);
    let mut last = 0;
    for _ in 0..300 {
        tempering.sweep();
        assert!(tempering.reward(0) >= last);
        last = tempering.reward(0);
    }
    assert!(tempering.swaps()[0].successes > 0);
}

#[test]
fn tempering_taken_up_again_goes_on_as_before() {
    let (law, ladder) = (
        &InputLaw::Uniform,
        [0.0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.1, 0.2],
    );
    let narrow = class("z:3", law, &[4], Shape::untied(0, 0));
    let wide = class("z:3", law, &[3], Shape::untied(1, 1));
    for (class, order) in [
        (&narrow, Order::Step),
        (&narrow, Order::Cell),
        (&wide, Order::Step),
    ] {
        let settings = ChainSettings::new(Kernel::Metropolis, order);
        let mut through = temper(class, settings, &ladder, 6, 3);
        (0..31).for_each(|_| through.sweep());
        let state = through.state();
        let mut again = Tempering::builder(class, settings, &ladder)
            .seed(6)
            .number(3)
            .resume(&state)
            .unwrap();
        assert_eq!(again.state(), state);
        (0..40).for_each(|_| through.sweep());
        (0..40).for_each(|_| again.sweep());
        assert_eq!(again.state(), through.state());
        assert_eq!(again.sweeps(), 71);
        assert!((0..10).all(|rung| again.code(rung) == through.code(rung)
            && again.reward(rung) == through.reward(rung)));
    }
}

#[test]
fn a_ladder_of_one_rung_is_a_chain() {
    let class = class("z:3", &InputLaw::Uniform, &[4], Shape::untied(0, 0));
    let mut tempering = temper(&class, HEAT_BATH, &[0.01], 8, 2);
    let mut chains = Chains::builder(&class, HEAT_BATH)
        .seed(8)
        .numbers(16..17)
        .start()
        .unwrap();
    for _ in 0..50 {
        tempering.sweep();
        chains.sweep(&[0.01]);
        assert_eq!(tempering.code(0), chains.code(0));
    }
    assert_eq!((tempering.swaps().len(), tempering.trips()), (0, &[0][..]));
}
