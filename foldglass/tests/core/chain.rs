//! Compares what chains and tempering sample with the Gibbs measure, summed over all codes.

use foldglass::chain::{ChainError, Chains, Kernel, Order, Settings, Tempering};
use foldglass::exact::parse;
use foldglass::stats::{Autocorrelation, chi_square_tail, integrated_time};
use foldglass::{
    Allowance, Class, Code, InputLaw, LatinSquare, Reward, Shape, Stream, Symbol, Task, count,
};
use std::collections::HashSet;
use std::ops::Range;

const KERNELS: [Kernel; 2] = [Kernel::Metropolis, Kernel::HeatBath];
const ORDERS: [Order; 3] = [Order::Step, Order::Forward, Order::Cell];
const HEAT_BATH: Settings = Settings {
    kernel: Kernel::HeatBath,
    order: Order::Step,
};
/// The samples of a histogram.
const SAMPLES: u64 = 4800;
/// Of 400 histograms, all with fixed seeds, none from the right law is expected beyond this tail.
const LEAST_TAIL: f64 = 1e-6;

fn class(square: &str, law: &InputLaw, lengths: &[usize], shape: Shape) -> Class {
    let square = LatinSquare::named(square, 0).unwrap();
    let task = Task::new(square, law, lengths).unwrap();
    Class::new(task, shape, Allowance::default()).unwrap()
}

fn markov(repeat: &str) -> InputLaw {
    InputLaw::Markov(parse(repeat).unwrap())
}

fn product(rows: &[&[&str]]) -> InputLaw {
    let row = |row: &&[&str]| row.iter().map(|p| parse(p).unwrap()).collect();
    InputLaw::Product(rows.iter().map(row).collect())
}

/// Inputs so few that z:3 at T = 2 has 5 cells.
fn few() -> InputLaw {
    product(&[&["1/4", "3/4", "0"], &["0", "1", "0"]])
}

fn start(settings: Settings, codes: Vec<Code>, seed: u64, numbers: Range<u64>) -> Chains {
    Chains::starting_at(settings, codes, seed, numbers, Allowance::default()).unwrap()
}

fn temper(class: &Class, settings: Settings, ladder: &[f64], seed: u64, number: u64) -> Tempering {
    Tempering::new(class, settings, ladder, seed, number, Allowance::default()).unwrap()
}

/// Classes of at most 6,561 codes.
fn untied() -> Vec<(&'static str, Class)> {
    let holes = product(&[&["1/2", "1/2", "0"], &["0", "1/3", "2/3"]]);
    let two_tokens = Shape {
        memory: 2,
        ..Shape::untied(0, 0)
    };
    let uniform = &InputLaw::Uniform;
    let shape = Shape::untied(0, 0);
    vec![
        ("parity 2", class("parity", uniform, &[2], shape)),
        ("parity 3", class("parity", uniform, &[3], shape)),
        (
            "parity 3, markov",
            class("parity", &markov("9/10"), &[3], shape),
        ),
        ("parity 1,2,3", class("parity", uniform, &[1, 2, 3], shape)),
        (
            "parity 1,3, markov",
            class("parity", &markov("1/3"), &[1, 3], shape),
        ),
        (
            "parity 1,2, (0,1)",
            class("parity", uniform, &[1, 2], Shape::untied(0, 1)),
        ),
        (
            "parity 2, (1,0)",
            class("parity", &markov("0.7"), &[2], Shape::untied(1, 0)),
        ),
        ("z:3 1", class("z:3", uniform, &[1], shape)),
        ("z:3 2, few inputs", class("z:3", &few(), &[2], two_tokens)),
        ("z:3 2, product", class("z:3", &holes, &[2], shape)),
    ]
}

fn tied() -> Vec<(&'static str, Class)> {
    let (law, shape) = (&InputLaw::Uniform, Shape::tied(0, 0));
    vec![
        ("tied parity 3", class("parity", law, &[3], shape)),
        (
            "tied parity 2,3, markov",
            class("parity", &markov("9/10"), &[2, 3], shape),
        ),
        (
            "tied parity 3, (1,0)",
            class("parity", law, &[3], Shape::tied(1, 0)),
        ),
        ("tied z:3 1", class("z:3", law, &[1], shape)),
    ]
}

/// Every class with every kernel and every order that is exact on it.
fn all() -> Vec<(&'static str, Class, Settings)> {
    let untied = untied()
        .into_iter()
        .map(|(name, class)| (name, class, &ORDERS[..]));
    let tied = tied()
        .into_iter()
        .map(|(name, class)| (name, class, &ORDERS[2..]));
    let mut list = Vec::new();
    for (name, class, orders) in untied.chain(tied) {
        for &order in orders {
            let settings = KERNELS.map(|kernel| Settings { kernel, order });
            list.extend(settings.map(|settings| (name, class.clone(), settings)));
        }
    }
    list
}

/// All codes of a class by number, the first cell the last digit, with their rewards.
struct Enumeration {
    class: Class,
    rewards: Vec<f64>,
}

impl Enumeration {
    fn of(class: &Class) -> Enumeration {
        let codes = class.q().pow(class.cells() as u32);
        let rewards = (0..codes).map(|n| count::reward(&code(class, n)).to_f64());
        Enumeration {
            rewards: rewards.collect(),
            class: class.clone(),
        }
    }

    /// exp(J / tau) over its sum; at tau = 0 uniform over the optimal codes.
    fn gibbs(&self, tau: f64) -> Vec<f64> {
        let best = self.rewards.iter().copied().fold(0.0, f64::max);
        let weigh = |&reward: &f64| match tau {
            0.0 => f64::from(reward == best),
            tau => ((reward - best) / tau).exp(),
        };
        let weights: Vec<f64> = self.rewards.iter().map(weigh).collect();
        let total: f64 = weights.iter().sum();
        weights.iter().map(|weight| weight / total).collect()
    }

    fn number(&self, code: &Code) -> usize {
        let digits = code.actions().iter().rev();
        digits.fold(0, |n, &action| n * self.class.q() + action as usize)
    }
}

fn code(class: &Class, number: usize) -> Code {
    let mut left = number;
    Code::from_fn(class, |_| {
        let digit = left % class.q();
        left /= class.q();
        digit as Symbol
    })
}

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

/// Chains 0..n in groups that may be run together.
fn groups(class: &Class, n: u64) -> Vec<Range<u64>> {
    let together = Chains::side_by_side(class);
    let starts = (0..n).step_by(together);
    starts
        .map(|start| start..n.min(start + together as u64))
        .collect()
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
    for settings in ORDERS.map(|order| Settings { order, ..HEAT_BATH }) {
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

#[test]
fn chains_started_at_one_code_reach_the_gibbs_measure_when_it_is_cool() {
    chains_reach_the_measure(0.1);
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
        let settings = Settings { kernel, order };
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

/// Larger classes, on which nothing can be enumerated.
fn larger() -> Vec<(&'static str, Class, Vec<Order>)> {
    let (uniform, markov) = (&InputLaw::Uniform, &markov("9/10"));
    let [step, forward, cell] = ORDERS;
    let two_tokens = Shape {
        memory: 2,
        ..Shape::untied(0, 0)
    };
    vec![
        (
            "parity 8",
            class("parity", markov, &[8], Shape::untied(0, 0)),
            vec![step, forward, cell],
        ),
        (
            "quasigroup 5",
            class("quasigroup", uniform, &[5], Shape::untied(0, 0)),
            vec![step, forward, cell],
        ),
        (
            "quasigroup 2,3,4, (1,1)",
            class("quasigroup", markov, &[2, 3, 4], Shape::untied(1, 1)),
            vec![step, cell],
        ),
        (
            "z:3 3,5, two tokens",
            class("z:3", uniform, &[3, 5], two_tokens),
            vec![forward, cell],
        ),
        (
            "tied z:3 2,4, (0,1)",
            class("z:3", markov, &[2, 4], Shape::tied(0, 1)),
            vec![cell],
        ),
    ]
}

fn larger_with_settings() -> Vec<(&'static str, Class, Settings)> {
    let mut list = Vec::new();
    for (name, class, orders) in larger() {
        for order in orders {
            let settings = KERNELS.map(|kernel| Settings { kernel, order });
            list.extend(settings.map(|settings| (name, class.clone(), settings)));
        }
    }
    list
}

#[test]
fn the_reward_a_chain_keeps_is_that_of_its_code() {
    for (name, class, settings) in larger_with_settings() {
        let numbers = groups(&class, 8).remove(0);
        let taus: Vec<f64> = numbers
            .clone()
            .map(|n| [0.0, 1e-3, 1e-2, 1.0][n as usize % 4])
            .collect();
        let mut chains = Chains::new(&class, settings, 3, numbers, Allowance::default()).unwrap();
        for sweep in 0..150 {
            chains.sweep(&taus);
            for chain in 0..taus.len() {
                if sweep % 30 == 29 {
                    let exact = count::reward(chains.code(chain));
                    let kept = Reward::new(chains.reward(chain), chains.denominator());
                    assert_eq!(exact, kept, "{name}, {settings:?}, chain {chain}");
                    assert_eq!(class.task().denominator(), chains.denominator().into());
                }
            }
        }
    }
}

#[test]
fn a_chain_takes_the_same_path_alone_and_beside_others() {
    for (name, class, settings) in larger_with_settings() {
        let numbers = match Chains::side_by_side(&class) {
            1 => continue,
            together => together as u64..2 * together as u64,
        };
        let taus = [1e-2, 0.0, 0.1, 1e-3, 0.5, 1e-2, 2e-3, 0.2];
        let new =
            |numbers| Chains::new(&class, settings, 11, numbers, Allowance::default()).unwrap();
        let mut group = new(numbers.clone());
        let mut alone: Vec<Chains> = numbers.clone().map(|n| new(n..n + 1)).collect();
        let mut some = new(numbers.start + 2..numbers.start + 5);
        for _ in 0..30 {
            group.sweep(&taus);
            some.sweep(&taus[2..5]);
            for (chain, single) in alone.iter_mut().enumerate() {
                single.sweep(&taus[chain..=chain]);
                assert_eq!(
                    single.reward(0),
                    group.reward(chain),
                    "{name}, {settings:?}"
                );
                assert_eq!(single.code(0), group.code(chain), "{name}, {settings:?}");
            }
            assert!((0..3).all(|chain| some.code(chain) == group.code(chain + 2)));
        }
    }
}

#[test]
fn chains_of_other_numbers_or_seeds_take_other_paths() {
    let parity = class("parity", &InputLaw::Uniform, &[8], Shape::untied(0, 0));
    for settings in [Order::Step, Order::Cell].map(|order| Settings {
        kernel: Kernel::HeatBath,
        order,
    }) {
        let new = |seed| Chains::new(&parity, settings, seed, 0..8, Allowance::default()).unwrap();
        let (mut chains, mut others) = (new(1), new(2));
        (0..20).for_each(|_| chains.sweep(&[1.0; 8]));
        (0..20).for_each(|_| others.sweep(&[1.0; 8]));
        let codes: HashSet<&Code> = (0..8)
            .flat_map(|c| [chains.code(c), others.code(c)])
            .collect();
        assert_eq!(codes.len(), 16);
    }
}

#[test]
fn at_temperature_zero_rewards_never_fall() {
    for (name, class, settings) in larger_with_settings() {
        let numbers = groups(&class, 8).remove(0);
        let taus = vec![0.0; numbers.clone().count()];
        let mut chains = Chains::new(&class, settings, 5, numbers, Allowance::default()).unwrap();
        let mut last = vec![0; taus.len()];
        for _ in 0..60 {
            chains.sweep(&taus);
            for (chain, last) in last.iter_mut().enumerate() {
                assert!(chains.reward(chain) >= *last, "{name}, {settings:?}");
                *last = chains.reward(chain);
            }
        }
    }
}

#[test]
fn at_temperature_zero_neutral_changes_are_still_made() {
    let parity = class("parity", &InputLaw::Uniform, &[6], Shape::untied(0, 0));
    for (kernel, order) in KERNELS
        .into_iter()
        .flat_map(|kernel| ORDERS.map(|order| (kernel, order)))
    {
        let settings = Settings { kernel, order };
        // Where the copy code stands, half of the changes of the first cells change nothing.
        let copy = Code::from_fn(&parity, |cell| parity.key(cell).x[0].unwrap());
        let mut chains = start(settings, vec![copy.clone()], 5, 0..1);
        (0..5).for_each(|_| chains.sweep(&[0.0]));
        assert_ne!(*chains.code(0), copy, "{settings:?}");
    }
}

#[test]
fn step_blocks_are_refused_under_tying() {
    for (_, class) in tied() {
        for settings in KERNELS.map(|kernel| Settings {
            kernel,
            order: Order::Step,
        }) {
            let refused = Chains::new(&class, settings, 1, 0..1, Allowance::default()).err();
            assert_eq!(refused, Some(ChainError::BlocksUnderTying));
            let refused =
                Tempering::new(&class, settings, &[0.1], 1, 0, Allowance::default()).err();
            assert_eq!(
                refused.unwrap().to_string(),
                ChainError::BlocksUnderTying.to_string()
            );
        }
    }
}

#[test]
fn rewards_too_fine_for_step_blocks_are_refused_there_and_sampled_cell_by_cell() {
    let parity = |length| class("parity", &InputLaw::Uniform, &[length], Shape::untied(0, 0));
    for kernel in KERNELS {
        for order in [Order::Step, Order::Forward] {
            let settings = Settings { kernel, order };
            let new =
                |length| Chains::new(&parity(length), settings, 1, 0..1, Allowance::default());
            assert!(new(51).is_ok());
            assert_eq!(new(60).err(), Some(ChainError::TooFine { bits: 61 }));
        }
        let (class, order) = (parity(60), Order::Cell);
        let mut chains = Chains::new(
            &class,
            Settings { kernel, order },
            1,
            0..2,
            Allowance::default(),
        )
        .unwrap();
        (0..20).for_each(|_| chains.sweep(&[1e-6, 1.0]));
        for chain in 0..2 {
            let exact = count::reward(chains.code(chain));
            let kept = Reward::new(chains.reward(chain), chains.denominator());
            assert_eq!(exact, kept);
            assert_eq!(class.task().denominator(), chains.denominator().into());
        }
    }
}

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
        let settings = Settings {
            kernel: Kernel::Metropolis,
            order,
        };
        let mut through = temper(class, settings, &ladder, 6, 3);
        (0..31).for_each(|_| through.sweep());
        let state = through.state();
        let mut again =
            Tempering::resume(class, settings, &ladder, 6, 3, &state, Allowance::default())
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
    let mut chains = Chains::new(&class, HEAT_BATH, 8, 16..17, Allowance::default()).unwrap();
    for _ in 0..50 {
        tempering.sweep();
        chains.sweep(&[0.01]);
        assert_eq!(tempering.code(0), chains.code(0));
    }
    assert_eq!((tempering.swaps().len(), tempering.trips()), (0, &[0][..]));
}

#[test]
#[should_panic(expected = "codes of one class")]
fn chains_of_one_group_are_of_one_class() {
    let [a, b] = [InputLaw::Uniform, markov("9/10")]
        .map(|law| class("parity", &law, &[4], Shape::untied(0, 0)));
    let codes = vec![code(&a, 0), code(&b, 0)];
    start(HEAT_BATH, codes, 1, 0..2);
}

#[test]
fn the_order_that_suits_a_class_is_one_that_it_takes() {
    let shape = Shape::untied(0, 0);
    let uniform = &InputLaw::Uniform;
    let mut classes = larger().into_iter().map(|(_, class, _)| class);
    assert!(classes.all(|class| (Order::of(&class) == Order::Cell) == class.shape().tied));
    // The finest rewards that step blocks take, and finer ones.
    for (length, order) in [(51, Order::Step), (52, Order::Cell), (60, Order::Cell)] {
        let class = class("parity", uniform, &[length], shape);
        assert_eq!(Order::of(&class), order, "T = {length}");
        let step = Settings {
            order: Order::Step,
            ..HEAT_BATH
        };
        let blocks = Chains::new(&class, step, 1, 0..1, Allowance::default());
        assert_eq!(blocks.is_ok(), order == Order::Step, "T = {length}");
    }
}

#[test]
fn chains_take_the_memory_they_state() {
    for (name, class, settings) in larger_with_settings() {
        let (together, bytes) = Chains::needs(&class, settings.order);
        let bytes = bytes.unwrap();
        let new = |bytes| Chains::new(&class, settings, 1, 0..1, Allowance(bytes));
        assert!(new(bytes).is_ok(), "{name}, {settings:?}");
        assert!(
            matches!(new(bytes - 1).err(), Some(ChainError::TooLarge(_))),
            "{name}, {settings:?}"
        );
        for rungs in [1, together, together + 1, 3 * together] {
            let groups = rungs.div_ceil(together) as u128;
            let ladder = Tempering::bytes(&class, settings.order, rungs);
            assert_eq!(ladder, Some(groups * bytes), "{name}, {settings:?}");
        }
    }
}

#[test]
fn kernels_and_orders_are_read_back_as_they_are_written() {
    for (name, kernel) in Kernel::NAMES {
        assert_eq!(
            (kernel.to_string(), name.parse()),
            (name.to_owned(), Ok(kernel))
        );
    }
    for (name, order) in Order::NAMES {
        assert_eq!(
            (order.to_string(), name.parse()),
            (name.to_owned(), Ok(order))
        );
    }
    let error = "heat".parse::<Kernel>().unwrap_err().to_string();
    for (name, _) in Kernel::NAMES {
        assert!(error.contains(name) && error.contains("`heat`"), "{error}");
    }
}
