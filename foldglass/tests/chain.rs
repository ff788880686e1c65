//! Compares what chains and tempering sample with the Gibbs measure, summed over all codes.

use foldglass::chain::{ChainError, Chains, Kernel, Order, Settings, Tempering, random_code};
use foldglass::class::{Allowance, Class, Shape, Window};
use foldglass::count;
use foldglass::exact::parse;
use foldglass::inputs::InputLaw;
use foldglass::policy::Code;
use foldglass::quasigroup::{LatinSquare, Symbol};
use foldglass::stats::{Autocorrelation, chi_square_tail, integrated_time};
use foldglass::stream::Stream;
use foldglass::task::Task;

const KERNELS: [Kernel; 2] = [Kernel::Metropolis, Kernel::HeatBath];
const ORDERS: [Order; 3] = [Order::Step, Order::Forward, Order::Cell];
/// With fixed seeds, and some 200 histograms.
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

/// Classes of at most 1,024 codes and, on narrow windows, of eight chains side by side.
fn untied() -> Vec<(&'static str, Class)> {
    let holes = product(&[&["1/2", "1/2", "0"], &["0", "1/3", "2/3"]]);
    let few = product(&[&["1/4", "3/4", "0"], &["0", "1", "0"]]);
    let two_tokens = Shape {
        memory: 2,
        ..Shape::untied(0, 0)
    };
    let uniform = &InputLaw::Uniform;
    let shape = Shape::untied(0, 0);
    vec![
        ("parity 2", class("parity", uniform, &[2], shape)),
        ("parity 3", class("parity", uniform, &[3], shape)),
        ("parity 3, markov", class("parity", &markov("9/10"), &[3], shape)),
        ("parity 1,2,3", class("parity", uniform, &[1, 2, 3], shape)),
        ("parity 1,3, markov", class("parity", &markov("1/3"), &[1, 3], shape)),
        ("parity 1,2, (0,1)", class("parity", uniform, &[1, 2], Shape::untied(0, 1))),
        ("parity 2, (1,0)", class("parity", &markov("0.7"), &[2], Shape::untied(1, 0))),
        ("z:3 1", class("z:3", uniform, &[1], shape)),
        ("z:3 2, few inputs", class("z:3", &few, &[2], two_tokens)),
        ("z:3 2, product", class("z:3", &holes, &[2], shape)),
    ]
}

fn tied() -> Vec<(&'static str, Class)> {
    let (law, shape) = (&InputLaw::Uniform, Shape::tied(0, 0));
    vec![
        ("tied parity 3", class("parity", law, &[3], shape)),
        ("tied parity 2,3, markov", class("parity", &markov("9/10"), &[2, 3], shape)),
        ("tied parity 3, (1,0)", class("parity", law, &[3], Shape::tied(1, 0))),
        ("tied z:3 1", class("z:3", law, &[1], shape)),
    ]
}

/// Every class with every kernel and every order that is exact on it.
fn all() -> Vec<(&'static str, Class, Settings)> {
    let untied = untied().into_iter().map(|(name, class)| (name, class, &ORDERS[..]));
    let tied = tied().into_iter().map(|(name, class)| (name, class, &ORDERS[2..]));
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
        let rewards = (0..codes).map(|n| count::reward(class, &code(class, n)).to_f64());
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
    let digit = |cell: usize| number / class.q().pow(cell as u32) % class.q();
    Code::from_fn(class, |cell| digit(cell) as Symbol)
}

/// The probability of counts as far from the law as these, or farther. Codes whose expected count
/// is below 8 share a bin with others of like probability.
fn tail(counts: &[u64], law: &[f64]) -> f64 {
    let n = counts.iter().sum::<u64>() as f64;
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
    chi_square_tail(bins.iter().map(distance).sum(), bins.len() - 1)
}

/// The groups of chains 0..n that may be run together.
fn groups(class: &Class, n: u64) -> impl Iterator<Item = std::ops::Range<u64>> + use<> {
    let together = Chains::side_by_side(class);
    (0..n).step_by(together).map(move |start| start..n.min(start + together as u64))
}

/// How many sweeps a chain takes to forget: four times the longest of the times of J and of the
/// cells' actions, in sweeps of which every `stride`-th is looked at.
fn memory(values: &[Vec<f64>], stride: usize) -> usize {
    let time = |series: &Vec<f64>| match integrated_time(series) {
        Autocorrelation::Time { tau, .. } => tau,
        Autocorrelation::Frozen => 0.5,
        Autocorrelation::TooShort { length } => panic!("{length} sweeps are too short a pilot"),
    };
    let longest = values.iter().map(time).fold(0.5, f64::max);
    (4.0 * longest * stride as f64).ceil() as usize
}

/// Appends a code and its reward to series, one a cell and one for J.
fn observe(series: &mut [Vec<f64>], reward: u128, code: &Code) {
    series[0].push(reward as f64);
    for (list, &action) in series[1..].iter_mut().zip(code.actions()) {
        list.push(f64::from(action));
    }
}

#[test]
fn a_sweep_keeps_the_gibbs_measure() {
    // Codes drawn from the measure itself, so that the counts are exact at every temperature.
    for (name, class, settings) in all() {
        let enumeration = Enumeration::of(&class);
        for tau in [0.02, 0.1, 1.0] {
            let law = enumeration.gibbs(tau);
            let mut counts = vec![0; law.len()];
            let mut draws = Stream::new(1, 0);
            for round in 0..500 {
                for numbers in groups(&class, 16) {
                    let mut draw = |_| code(&class, pick(&law, &mut draws));
                    let codes: Vec<Code> = numbers.clone().map(&mut draw).collect();
                    let taus = vec![tau; codes.len()];
                    let seed = 100 + round;
                    let mut chains =
                        Chains::starting_at(&class, settings, codes, seed, numbers, Allowance::default()).unwrap();
                    (0..6).for_each(|_| chains.sweep(&taus));
                    for chain in 0..taus.len() {
                        counts[enumeration.number(chains.code(chain))] += 1;
                    }
                }
            }
            let tail = tail(&counts, &law);
            println!("{name} {settings:?} {tau} {tail}");
            assert!(tail > LEAST_TAIL, "{name} {settings:?} at {tau}: {tail}");
        }
    }
}

fn pick(law: &[f64], stream: &mut Stream) -> usize {
    let mut left = stream.uniform();
    law.iter().position(|p| { left -= p; left < 0.0 }).unwrap_or(law.len() - 1)
}

#[test]
fn chains_forget_their_start_and_sample_the_gibbs_measure() {
    for (name, class, settings) in all() {
        let enumeration = Enumeration::of(&class);
        for tau in [0.05, 0.2, 1.0] {
            let start = std::time::Instant::now();
            let law = enumeration.gibbs(tau);
            let mut counts = vec![0; law.len()];
            let mut gap = 0;
            for numbers in groups(&class, 8) {
                let codes = numbers.clone().map(|_| code(&class, 0)).collect();
                let taus = vec![tau; numbers.clone().count()];
                let mut chains = Chains::starting_at(&class, settings, codes, 7, numbers, Allowance::default()).unwrap();
                if gap == 0 {
                    let mut series = vec![Vec::new(); class.cells() + 1];
                    for _ in 0..4000 {
                        chains.sweep(&taus);
                        observe(&mut series, chains.reward(0), chains.code(0));
                    }
                    gap = memory(&series, 1);
                }
                for _ in 0..8000 / 8 {
                    (0..gap).for_each(|_| chains.sweep(&taus));
                    for chain in 0..taus.len() {
                        counts[enumeration.number(chains.code(chain))] += 1;
                    }
                }
            }
            let tail = tail(&counts, &law);
            println!("{name} {settings:?} {tau} gap {gap} tail {tail:.3e} {:?}", start.elapsed());
        }
    }
}
