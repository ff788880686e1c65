//! Tests chains and tempering: the classes they run on, and what holds whatever they sample.

mod measure;
mod tempering;

use crate::common::all::reweighed;
use foldglass::dynamics::chain::{ChainError, ChainSettings, Chains, Kernel, Order, Tempering};
use foldglass::support::exact::parse;
use foldglass::{
    Allowance, Class, Code, InputLaw, Operation, Policy, Reward, Shape, Stream, Symbol, Task,
    reward::count,
};
use std::collections::HashSet;
use std::ops::Range;

const KERNELS: [Kernel; 2] = [Kernel::Metropolis, Kernel::HeatBath];
const ORDERS: [Order; 3] = [Order::Step, Order::Forward, Order::Cell];
const HEAT_BATH: ChainSettings = ChainSettings::new(Kernel::HeatBath, Order::Step);

fn class(square: &str, law: &InputLaw, lengths: &[usize], shape: Shape) -> Class {
    let square = Operation::named(square).unwrap();
    let task = Task::new(square, law, lengths).unwrap();
    Class::new(task, shape).unwrap()
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

fn start(settings: ChainSettings, codes: Vec<Code>, seed: u64, numbers: Range<u64>) -> Chains {
    let class = codes[0].class().clone();
    Chains::builder(&class, settings)
        .seed(seed)
        .numbers(numbers)
        .start_at(codes)
        .unwrap()
}

fn temper(
    class: &Class,
    settings: ChainSettings,
    ladder: &[f64],
    seed: u64,
    number: u64,
) -> Tempering {
    Tempering::builder(class, settings, ladder)
        .seed(seed)
        .number(number)
        .start()
        .unwrap()
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
        (
            "parity 1,2,3, weights 1,2,4",
            reweighed(
                &class("parity", uniform, &[1, 2, 3], shape),
                Some("1,2,4"),
                "final",
            ),
        ),
        (
            "parity 3, process",
            reweighed(
                &class("parity", &markov("9/10"), &[3], shape),
                None,
                "process",
            ),
        ),
        (
            "parity 2, (0,1), process",
            reweighed(
                &class("parity", uniform, &[2], Shape::untied(0, 1)),
                None,
                "process:1,2",
            ),
        ),
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
        (
            "tied parity 3, process",
            reweighed(
                &class("parity", law, &[3], Shape::tied(0, 1)),
                None,
                "process:3,2,2",
            ),
        ),
    ]
}

/// Every class with every kernel and every order that is exact on it.
fn all() -> Vec<(&'static str, Class, ChainSettings)> {
    let untied = untied()
        .into_iter()
        .map(|(name, class)| (name, class, &ORDERS[..]));
    let tied = tied()
        .into_iter()
        .map(|(name, class)| (name, class, &ORDERS[2..]));
    let mut list = Vec::new();
    for (name, class, orders) in untied.chain(tied) {
        for &order in orders {
            let settings = KERNELS.map(|kernel| ChainSettings::new(kernel, order));
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

/// Chains 0..n in groups that may be run together.
fn groups(class: &Class, n: u64) -> Vec<Range<u64>> {
    let together = Chains::side_by_side(class);
    let starts = (0..n).step_by(together);
    starts
        .map(|start| start..n.min(start + together as u64))
        .collect()
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

fn larger_with_settings() -> Vec<(&'static str, Class, ChainSettings)> {
    let mut list = Vec::new();
    for (name, class, orders) in larger() {
        for order in orders {
            let settings = KERNELS.map(|kernel| ChainSettings::new(kernel, order));
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
        let mut chains = Chains::builder(&class, settings)
            .seed(3)
            .numbers(numbers)
            .start()
            .unwrap();
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
        let new = |numbers| {
            Chains::builder(&class, settings)
                .seed(11)
                .numbers(numbers)
                .start()
                .unwrap()
        };
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
    for settings in
        [Order::Step, Order::Cell].map(|order| ChainSettings::new(Kernel::HeatBath, order))
    {
        let new = |seed| {
            Chains::builder(&parity, settings)
                .seed(seed)
                .numbers(0..8)
                .start()
                .unwrap()
        };
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
        let mut chains = Chains::builder(&class, settings)
            .seed(5)
            .numbers(numbers)
            .start()
            .unwrap();
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
        let settings = ChainSettings::new(kernel, order);
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
        for settings in KERNELS.map(|kernel| ChainSettings::new(kernel, Order::Step)) {
            let refused = Chains::builder(&class, settings).seed(1).start().err();
            assert_eq!(refused, Some(ChainError::BlocksUnderTying));
            let refused = Tempering::builder(&class, settings, &[0.1])
                .seed(1)
                .start()
                .err();
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
            let settings = ChainSettings::new(kernel, order);
            let new = |length| Chains::builder(&parity(length), settings).seed(1).start();
            assert!(new(51).is_ok());
            assert_eq!(new(60).err(), Some(ChainError::TooFine { bits: 61 }));
        }
        let (class, order) = (parity(60), Order::Cell);
        let mut chains = Chains::builder(&class, ChainSettings::new(kernel, order))
            .seed(1)
            .numbers(0..2)
            .start()
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
        let step = HEAT_BATH.with_order(Order::Step);
        let blocks = Chains::builder(&class, step).seed(1).start();
        assert_eq!(blocks.is_ok(), order == Order::Step, "T = {length}");
    }
}

#[test]
fn chains_take_the_memory_they_state() {
    for (name, class, settings) in larger_with_settings() {
        let (together, bytes) = Chains::needs(&class, settings.order);
        let bytes = bytes.unwrap();
        let new = |bytes| {
            Chains::builder(&class, settings)
                .seed(1)
                .within(Allowance(bytes))
                .start()
        };
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
