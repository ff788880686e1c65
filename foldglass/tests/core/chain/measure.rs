//! Compares what chains and tempering sample with the Gibbs measure, summed over all codes.

use super::*;
use foldglass::support::stats::{Autocorrelation, chi_square_tail, integrated_time};

/// The samples of a histogram.
const SAMPLES: u64 = 2400;
/// Of 400 histograms, all with fixed seeds, none from the right law is expected beyond this tail.
const LEAST_TAIL: f64 = 1e-6;

/// The probability of counts as far from the law as these, or farther. Codes whose expected count
/// is below 8 share a bin with others of like probability.
fn tail(counts: &[u64], law: &[f64]) -> f64 {
    let n = counts.iter().sum::<u64>() as f64;
    if law
        .iter()
        .zip(counts)
        .any(|(&p, &seen)| p == 0.0 && seen > 0)
    {
        return 0.0;
    }
    let mut order: Vec<usize> = (0..law.len()).collect();
    order.sort_by(|&a, &b| law[b].total_cmp(&law[a]));
    let mut bins: Vec<(f64, f64)> = Vec::new();
    for code in order {
        let (seen, expected) = (counts[code] as f64, n * law[code]);
        match bins.last_mut() {
            Some(last) if last.1 < 8.0 => *last = (last.0 + seen, last.1 + expected),
            _ => bins.push((seen, expected)),
        }
    }
    // The last bin may have stayed small.
    if let Some((seen, expected)) = bins.pop_if(|last| last.1 < 8.0) {
        let last = bins.last_mut().expect("a bin that is filled");
        *last = (last.0 + seen, last.1 + expected);
    }
    let distance = |&(seen, expected): &(f64, f64)| (seen - expected).powi(2) / expected;
    assert!(
        bins.len() > 1,
        "a law that is frozen says nothing about a sampler"
    );
    chi_square_tail(bins.iter().map(distance).sum(), bins.len() - 1)
}

fn check_law(what: &str, counts: &[u64], law: &[f64]) {
    let tail = tail(counts, law);
    assert!(tail > LEAST_TAIL, "{what}: the tail is {tail}");
}

/// A code by its probability.
fn draw(law: &[f64], stream: &mut Stream) -> usize {
    let mut left = stream.uniform();
    let falls = |p: &f64| {
        left -= p;
        left < 0.0
    };
    law.iter().position(falls).unwrap_or(law.len() - 1)
}

/// After how many sweeps a sample is nearly independent of the last: four times the longest of the
/// integrated times of J and of every cell's action.
fn memory(series: &[Vec<f64>]) -> usize {
    let time = |series: &Vec<f64>| match integrated_time(series) {
        Autocorrelation::Time { tau, .. } => tau,
        Autocorrelation::Frozen => 0.5,
        Autocorrelation::TooShort { length } => panic!("{length} sweeps are too few to tell"),
    };
    (4.0 * series.iter().map(time).fold(0.5, f64::max)).ceil() as usize
}

/// Appends J and every cell's action to their series.
fn observe(series: &mut [Vec<f64>], reward: u128, code: &Code) {
    let actions = code.actions().iter().map(|&action| f64::from(action));
    let values = std::iter::once(reward as f64).chain(actions);
    series
        .iter_mut()
        .zip(values)
        .for_each(|(list, value)| list.push(value));
}

/// Codes drawn from the measure itself are independent at any temperature, and stay in it.
fn sweeps_keep_the_measure(tau: f64) {
    for (name, class, settings) in all() {
        let enumeration = Enumeration::of(&class);
        let law = enumeration.gibbs(tau);
        let mut counts = vec![0; law.len()];
        let mut draws = Stream::new(1, 0);
        for round in 0..SAMPLES / 8 {
            for numbers in groups(&class, 8) {
                let drawn = numbers
                    .clone()
                    .map(|_| code(&class, draw(&law, &mut draws)));
                let codes: Vec<Code> = drawn.collect();
                let taus = vec![tau; codes.len()];
                let mut chains = start(settings, codes, 100 + round, numbers);
                (0..5).for_each(|_| chains.sweep(&taus));
                for chain in 0..taus.len() {
                    counts[enumeration.number(chains.code(chain))] += 1;
                }
            }
        }
        check_law(&format!("{name}, {settings:?}, tau = {tau}"), &counts, &law);
    }
}

#[test]
fn sweeps_keep_the_gibbs_measure_when_it_is_cold() {
    sweeps_keep_the_measure(0.05);
}

#[test]
fn sweeps_keep_the_gibbs_measure_when_it_is_warm() {
    sweeps_keep_the_measure(0.3);
}

/// Rows without a zero, unlike from cell to cell.
fn prior_of(class: &Class) -> Policy {
    let row = |cell: usize| -> Vec<f64> {
        let weights = (0..class.q()).map(|a| 1.0 + ((3 * cell + 2 * a) % 5) as f64);
        let weights: Vec<f64> = weights.collect();
        let sum: f64 = weights.iter().sum();
        weights.iter().map(|w| w / sum).collect()
    };
    let rows: Vec<Vec<f64>> = (0..class.cells()).map(row).collect();
    Policy::from_rows(class, &rows).unwrap()
}

#[test]
fn with_a_prior_a_code_weighs_its_probability_more() {
    let tau = 0.2;
    let classes = [
        "parity 3, markov",
        "z:3 2, few inputs",
        "tied parity 2,3, markov",
    ];
    for (name, class, settings) in all() {
        if !classes.contains(&name) {
            continue;
        }
        let (enumeration, prior) = (Enumeration::of(&class), prior_of(&class));
        let weigh = |(number, weight): (usize, f64)| {
            let code = code(&class, number);
            let chances = code.actions().iter().enumerate();
            weight
                * chances
                    .map(|(cell, &a)| prior.row(cell)[a as usize])
                    .product::<f64>()
        };
        let weights = enumeration.gibbs(tau).into_iter().enumerate().map(weigh);
        let weights: Vec<f64> = weights.collect();
        let sum: f64 = weights.iter().sum();
        let law: Vec<f64> = weights.iter().map(|w| w / sum).collect();
        let mut counts = vec![0; law.len()];
        let mut draws = Stream::new(2, 0);
        for round in 0..SAMPLES / 8 {
            for numbers in groups(&class, 8) {
                let drawn = numbers
                    .clone()
                    .map(|_| code(&class, draw(&law, &mut draws)));
                let codes: Vec<Code> = drawn.collect();
                let taus = vec![tau; codes.len()];
                let chains = Chains::builder(&class, settings).seed(300 + round);
                let chains = chains.numbers(numbers).prior(&prior).unwrap();
                let mut chains = chains.start_at(codes).unwrap();
                (0..5).for_each(|_| chains.sweep(&taus));
                for chain in 0..taus.len() {
                    counts[enumeration.number(chains.code(chain))] += 1;
                }
            }
        }
        check_law(
            &format!("{name}, {settings:?}, with a prior"),
            &counts,
            &law,
        );
    }
}

#[test]
fn a_ladder_of_one_temperature_has_the_prior_of_its_chain() {
    let class = class("quasigroup", &InputLaw::Uniform, &[4], Shape::untied(0, 0));
    let (prior, tau) = (prior_of(&class), 0.01);
    let chains = Chains::builder(&class, HEAT_BATH).seed(5);
    let mut chain = chains.prior(&prior).unwrap().start().unwrap();
    let taus = [tau];
    let ladder = Tempering::builder(&class, HEAT_BATH, &taus).seed(5);
    let mut ladder = ladder.prior(&prior).unwrap().start().unwrap();
    let mut without = temper(&class, HEAT_BATH, &[tau], 5, 0);
    for _ in 0..20 {
        chain.sweep(&taus);
        ladder.sweep();
        without.sweep();
    }
    assert_eq!(ladder.code(0), chain.code(0));
    assert_ne!(ladder.code(0), without.code(0));
}

#[test]
fn a_prior_that_forbids_an_action_is_refused() {
    let class = class("parity", &InputLaw::Uniform, &[2], Shape::untied(0, 0));
    let prior = Policy::deterministic(&code(&class, 0));
    let refused = Chains::builder(&class, HEAT_BATH).prior(&prior).err();
    assert!(refused.unwrap().to_string().contains("action 1 of cell 0"));
}

#[test]
fn heat_bath_draws_from_the_conditional_among_many_actions() {
    // At T = 1 the cells are independent: only the action equal to x_1 earns anything, 1 / q.
    let (q, tau) = (40, 0.01);
    let class = class("z:40", &InputLaw::Uniform, &[1], Shape::untied(0, 0));
    let favoured = (1.0 / q as f64 / tau).exp();
    let other = 1.0 / (favoured + q as f64 - 1.0);
    // Action a where it is x_1, and action a elsewhere, over all x_1.
    let shares = [favoured * other, (q as f64 - 1.0) * other].map(|share| share / q as f64);
    let law = [vec![shares[0]; q], vec![shares[1]; q]].concat();
    for settings in ORDERS.map(|order| HEAT_BATH.with_order(order)) {
        let mut chains = start(settings, vec![code(&class, 0)], 9, 0..1);
        let mut counts = vec![0; 2 * q];
        for _ in 0..500 {
            chains.sweep(&[tau]);
            for (x, &action) in chains.code(0).actions().iter().enumerate() {
                let elsewhere = usize::from(action as usize != x);
                counts[action as usize + q * elsewhere] += 1;
            }
        }
        check_law(&format!("z:40, {settings:?}"), &counts, &law);
    }
}

/// One code for all chains, so that a kernel that does not reach every code shows.
fn chains_reach_the_measure(tau: f64) {
    for (name, class, settings) in all() {
        let enumeration = Enumeration::of(&class);
        let law = enumeration.gibbs(tau);
        let mut counts = vec![0; law.len()];
        let mut gap = None;
        for numbers in groups(&class, 8) {
            let codes: Vec<Code> = numbers.clone().map(|_| code(&class, 0)).collect();
            let taus = vec![tau; codes.len()];
            let mut chains = start(settings, codes, 7, numbers);
            let gap = *gap.get_or_insert_with(|| {
                let mut series = vec![Vec::new(); 1 + class.cells()];
                for _ in 0..2000 {
                    chains.sweep(&taus);
                    observe(&mut series, chains.reward(0), chains.code(0));
                }
                memory(&series)
            });
            (0..3 * gap).for_each(|_| chains.sweep(&taus));
            for _ in 0..SAMPLES / 8 {
                (0..gap).for_each(|_| chains.sweep(&taus));
                for chain in 0..taus.len() {
                    counts[enumeration.number(chains.code(chain))] += 1;
                }
            }
        }
        check_law(&format!("{name}, {settings:?}, tau = {tau}"), &counts, &law);
    }
}

/// Ten seconds of a processor: where it is cool, chains remember for long.
mod full {
    use super::*;

    #[test]
    fn chains_started_at_one_code_reach_the_gibbs_measure_when_it_is_cool() {
        chains_reach_the_measure(0.1);
    }
}

#[test]
fn chains_started_at_one_code_reach_the_gibbs_measure_when_it_is_warm() {
    chains_reach_the_measure(0.25);
}

#[test]
fn chains_started_at_one_code_reach_the_gibbs_measure_when_it_is_hot() {
    chains_reach_the_measure(1.0);
}

#[test]
fn every_temperature_of_a_ladder_samples_its_gibbs_measure() {
    let long = [
        0.0,
        0.05,
        0.06,
        0.08,
        0.1,
        0.15,
        0.2,
        0.4,
        1.0,
        f64::INFINITY,
    ];
    let short = [0.06, 0.1, 0.2, 1.0];
    let (law, shape) = (&InputLaw::Uniform, Shape::untied(0, 0));
    let parity = class("parity", law, &[2], shape);
    let longer = class("parity", &markov("9/10"), &[3], shape);
    let wide = class("parity", law, &[1, 2], Shape::untied(0, 1));
    let tied = class("parity", law, &[3], Shape::tied(0, 0));
    let z3 = class("z:3", &few(), &[2], shape);
    let cases = [
        (
            "parity 2",
            &parity,
            Kernel::HeatBath,
            Order::Step,
            &long[..],
        ),
        ("parity 2", &parity, Kernel::Metropolis, Order::Step, &long),
        (
            "parity 3, markov",
            &longer,
            Kernel::Metropolis,
            Order::Forward,
            &short,
        ),
        (
            "parity 1,2, (0,1)",
            &wide,
            Kernel::HeatBath,
            Order::Step,
            &short,
        ),
        ("tied parity 3", &tied, Kernel::HeatBath, Order::Cell, &long),
        ("z:3 2", &z3, Kernel::Metropolis, Order::Cell, &short),
    ];
    for (name, class, kernel, order, ladder) in cases {
        let settings = ChainSettings::new(kernel, order);
        let enumeration = Enumeration::of(class);
        let mut counts = vec![vec![0; enumeration.rewards.len()]; ladder.len()];
        let mut gap = None;
        for number in 0..4 {
            let mut tempering = temper(class, settings, ladder, 3, number);
            let gap = *gap.get_or_insert_with(|| {
                let mut series = vec![vec![Vec::new(); 1 + class.cells()]; ladder.len()];
                for _ in 0..4000 {
                    tempering.sweep();
                    for (rung, series) in series.iter_mut().enumerate() {
                        observe(series, tempering.reward(rung), tempering.code(rung));
                    }
                }
                memory(&series.concat())
            });
            (0..3 * gap).for_each(|_| tempering.sweep());
            for _ in 0..SAMPLES / 2 {
                (0..gap).for_each(|_| tempering.sweep());
                for (rung, counts) in counts.iter_mut().enumerate() {
                    counts[enumeration.number(tempering.code(rung))] += 1;
                }
            }
        }
        for (counts, &tau) in counts.iter().zip(ladder) {
            let what = format!("{name}, {settings:?}, tau = {tau} of a ladder");
            check_law(&what, counts, &enumeration.gibbs(tau));
        }
    }
}

#[test]
fn a_histogram_tells_neighbouring_temperatures_apart() {
    let parity = class("parity", &InputLaw::Uniform, &[2], Shape::untied(0, 0));
    let enumeration = Enumeration::of(&parity);
    let law = enumeration.gibbs(0.1);
    let mut stream = Stream::new(5, 0);
    let mut counts = vec![0; law.len()];
    (0..SAMPLES).for_each(|_| counts[draw(&law, &mut stream)] += 1);
    assert!(tail(&counts, &law) > LEAST_TAIL);
    assert!(tail(&counts, &enumeration.gibbs(0.11)) < LEAST_TAIL);
    assert!(tail(&counts, &enumeration.gibbs(0.09)) < LEAST_TAIL);
}
