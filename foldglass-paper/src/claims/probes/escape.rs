//! Leads random codes and policies to reward 1, and has the paths checked (paper, thm. 4.1, App. B, E).

use std::collections::{BTreeMap, BTreeSet};

use foldglass::Context;
use foldglass::dynamics::chain::{self, Chains, random_code};
use foldglass::landscape::anatomy::{aliasing, defence};
use foldglass::landscape::escape::{PolicyStanding, collapse, escape, most_moves};
use foldglass::model::policy::InitialLaw;
use foldglass::proof::check::path::verify;
use foldglass::proof::claim::{MoveKind, Path};
use foldglass::reward::count::Counter;
use foldglass::support::exact::parse;
use foldglass::{
    Class, Code, Evaluator, InputLaw, Operation, Policy, Shape, Stream, Symbol, Task, reward::count,
};
use serde::{Deserialize, Serialize};

use super::class;
use crate::claims::Bench;
use crate::error::Error;

fn path_of(code: &Code) -> Result<Path, Error> {
    escape(code, Context::default()).map_err(|error| Error::Failed(error.to_string()))
}

fn is_good(path: &Path) -> bool {
    path.reward.is_one() && verify(path, Context::default()).is_ok()
}

/// What [`codes`] finds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Escapes {
    /// Random codes.
    pub tried: u64,
    /// Those whose path leads to 1 and was checked.
    pub arrived: u64,
    /// Paths within the bound of the proof.
    pub within: u64,
    /// Paths on which one step reroutes states to two tokens or more that no input emitted there before.
    pub several_unused: u64,
    /// Paths that finish within q^2 moves.
    pub finishes_within: u64,
    /// Codes of parity at T = 3 whose path leads to 1 and was checked.
    pub small: u64,
    /// Of all.
    pub small_of: u64,
}

/// Random codes of several tasks, and every code of parity at T = 3.
///
/// It catches a construction that gets stuck below 1 or whose changes lower J: a checker that shares no code with it
/// evaluates every path.
pub fn codes(bench: &Bench) -> Result<Option<Escapes>, Error> {
    let mut stream = Stream::new(bench.seed, 6);
    let (mut tried, mut arrived, mut within) = (0u64, 0u64, 0u64);
    let (mut unused_more, mut last_only) = (0u64, 0u64);
    for (task, length) in [("z:5", 5), ("quasigroup", 5), ("s:3", 4), ("parity", 9)] {
        let class = class(task, &InputLaw::Uniform, &[length], Shape::untied(0, 0));
        for _ in 0..bench.scaled(100, 10) {
            bench.go_on()?;
            let code = random_code(&class, &mut stream);
            let path = path_of(&code)?;
            tried += 1;
            arrived += u64::from(is_good(&path));
            within += u64::from(path.moves.len() as u128 <= most_moves(&class));
            unused_more += u64::from(has_two_unused_targets(&code, &path));
            last_only += u64::from(finishes(&path) <= class.q() * class.q());
        }
    }
    let small = class("parity", &InputLaw::Uniform, &[3], Shape::untied(0, 0));
    let mut all = 0u64;
    for n in 0..1usize << small.cells() {
        let code = Code::from_fn(&small, |cell| (n >> cell & 1) as Symbol);
        all += u64::from(is_good(&path_of(&code)?));
    }
    Ok(Some(Escapes {
        tried,
        arrived,
        within,
        several_unused: unused_more,
        finishes_within: last_only,
        small: all,
        small_of: 1 << small.cells(),
    }))
}

fn finishes(path: &Path) -> usize {
    let is_finish = |m: &&foldglass::proof::claim::Move| m.kind == Some(MoveKind::Finish);
    path.moves.iter().filter(is_finish).count()
}

/// Whether states are rerouted at one step to two tokens that no input emitted there before.
fn has_two_unused_targets(code: &Code, path: &Path) -> bool {
    let mut code = code.clone();
    // By step: the tokens that were emitted before the first reroute there, and the others that states go to.
    let mut steps: BTreeMap<usize, (BTreeSet<Symbol>, BTreeSet<Symbol>)> = BTreeMap::new();
    for m in &path.moves {
        let step = code.class().key(m.cell).t;
        if let Some(t) = step.filter(|_| m.kind == Some(MoveKind::Reroute)) {
            let (emitted, targets) = steps
                .entry(t)
                .or_insert_with(|| (emitted(&code, t), BTreeSet::new()));
            if !emitted.contains(&m.to) {
                targets.insert(m.to);
            }
        }
        code.set(m.cell, m.to);
    }
    steps.values().any(|(_, targets)| targets.len() > 1)
}

/// The tokens that some input emits at a step.
fn emitted(code: &Code, t: usize) -> BTreeSet<Symbol> {
    let steps = aliasing(code).into_iter().filter(|step| step.t == t);
    steps.flat_map(|step| step.states.into_keys()).collect()
}

/// What [`product_laws`] finds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Products {
    /// Random codes, each under random marginals.
    pub runs: u64,
    /// Those whose path leads to 1 and was checked.
    pub arrived: u64,
}

/// Random codes under random marginals of full support.
///
/// It catches a construction that takes all inputs to be equally likely: its choice of tokens lowers J under other weights.
pub fn product_laws(bench: &Bench) -> Result<Option<Products>, Error> {
    let mut stream = Stream::new(bench.seed, 7);
    let (length, q) = (4, 5);
    let runs = bench.scaled(12, 4);
    let mut arrived = 0;
    for _ in 0..runs {
        let class = random_product(&mut stream, q, length);
        let code = random_code(&class, &mut stream);
        arrived += u64::from(is_good(&path_of(&code)?));
    }
    Ok(Some(Products { runs, arrived }))
}

/// The paper's square under marginals drawn from Dirichlet(1), of full support.
fn random_product(stream: &mut Stream, q: usize, length: usize) -> Class {
    let mut row = vec![0.0; q];
    let law = (0..length).map(|_| {
        InitialLaw::Dirichlet(1.0).draw(stream, &mut row);
        let parts: Vec<u32> = row.iter().map(|p| 1 + (p * 200.0) as u32).collect();
        let sum: u32 = parts.iter().sum();
        let ratio = |part: &u32| parse(&format!("{part}/{sum}")).expect("a fraction");
        parts.iter().map(ratio).collect()
    });
    let law = InputLaw::Product(law.collect());
    let task = Task::new(Operation::paper(), &law, &[length]).expect("a task");
    Class::new(task, Shape::untied(0, 0)).expect("a small class")
}

/// What [`policies`] finds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CollapsedPolicies {
    /// Random policies.
    pub policies: u64,
    /// Those that are led to 1.
    pub arrived: u64,
    /// The most that J falls on the way to a code.
    pub drop: f64,
    /// Local maxima that are not codes.
    pub maxima: u64,
    /// Cells of the steps that they mix, each of which rollouts consult: the fewest of one.
    pub mixed: u64,
    /// The most that J moves while one of them collapses, step by step.
    pub deviation: f64,
    /// The most that J moves while its cells take compatible actions in a random order, at the ends and the
    /// middle of every segment.
    pub any_order: f64,
    /// Codes drawn from them.
    pub compatible: u64,
    /// Those whose reward is exactly theirs.
    pub compatible_same: u64,
    /// The least that J moves where the same cells are mixed and later steps do read the tokens.
    pub read_deviation: f64,
    /// Whether the uniform policy is stationary and not a maximum.
    pub uniform_is_saddle: bool,
    /// The most that J of the uniform policy rises by a change of one row.
    pub uniform_row_gain: f64,
    /// J along the line from the uniform policy to a code that folds, in tenths.
    pub uniform_line: Vec<f64>,
}

impl CollapsedPolicies {
    /// Whether a move of J would have been seen: cells that rollouts consult are mixed, and where their tokens are read
    /// they do move it.
    pub fn is_told(&self) -> bool {
        self.mixed > 0 && self.read_deviation > 1e-3
    }
}

/// Policies led to codes along segments: local maxima at constant J, others without loss.
///
/// The local maxima mix cells that rollouts consult: with window (2,0) step 3 sees x_1, x_2, x_3, and where it
/// ignores y_2, all rows of steps 1 and 2 are free. It catches an evaluation in which tokens that nobody reads
/// change J, a collapse that leaves the support of a row, and one that lowers J; where step 3 reads y_2, the
/// same rows do change J.
pub fn policies(bench: &Bench) -> Result<Option<CollapsedPolicies>, Error> {
    let mut stream = Stream::new(bench.seed, 8);
    let class = class("quasigroup", &InputLaw::Uniform, &[4], Shape::untied(0, 0));
    let runs = bench.scaled(60, 6);
    let refuse =
        |error: foldglass::landscape::escape::EscapeError| Error::Failed(error.to_string());
    let (mut drop, mut arrived) = (0f64, 0u64);
    for _ in 0..runs {
        bench.go_on()?;
        let mut policy = Policy::uniform(&class);
        let mut row = vec![0.0; 5];
        for cell in 0..class.cells() {
            InitialLaw::UNorm.draw(&mut stream, &mut row);
            policy.set_row(cell, &row).expect("a row of probabilities");
        }
        let found = collapse(&policy, 1e-12, Context::default()).map_err(refuse)?;
        drop = drop.max(found.drop);
        arrived += u64::from(is_good(&path_of(&found.code)?));
    }
    let uniform = Policy::uniform(&class);
    let found = collapse(&uniform, 1e-12, Context::default()).map_err(refuse)?;
    let mut evaluator = Evaluator::new(&class)?;
    let reward = evaluator.evaluate(&uniform);
    let gains = (0..class.cells()).map(|cell| {
        let values = evaluator.values(cell);
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        values.into_iter().fold(0.0, f64::max) - mean
    });
    let uniform_row_gain = gains.fold(0.0, f64::max);
    let mut fold = random_code(&class, &mut stream);
    for m in &path_of(&fold)?.moves {
        fold.set(m.cell, m.to);
    }
    let along = |tenths: u32| {
        let share = f64::from(tenths) / 10.0;
        let mut policy = uniform.clone();
        for cell in 0..class.cells() {
            let mut row = vec![(1.0 - share) / 5.0; 5];
            row[fold.action(cell) as usize] += share;
            policy.set_row(cell, &row).expect("a row of probabilities");
        }
        policy
    };
    let line = (1..=10).map(|tenths| evaluator.evaluate(&along(tenths)));
    let uniform_line = std::iter::once(reward).chain(line).collect();
    let spread = spread_maxima(bench, &mut stream, runs)?;
    Ok(Some(CollapsedPolicies {
        policies: runs,
        arrived,
        drop,
        maxima: spread.maxima,
        mixed: spread.mixed,
        deviation: spread.deviation,
        any_order: spread.any_order,
        compatible: spread.compatible,
        compatible_same: spread.compatible_same,
        read_deviation: spread.read_deviation,
        uniform_is_saddle: matches!(found.standing, PolicyStanding::Saddle(_)),
        uniform_row_gain,
        uniform_line,
    }))
}

/// What [`spread_maxima`] finds; its fields are those of [`CollapsedPolicies`].
struct Spread {
    maxima: u64,
    mixed: u64,
    deviation: f64,
    any_order: f64,
    compatible: u64,
    compatible_same: u64,
    read_deviation: f64,
}

/// Codes drawn from a local maximum.
const DRAWN: u64 = 20;

/// Optimal policies of window (2,0) whose first two steps are mixed: as local maxima, cell by cell.
fn spread_maxima(bench: &Bench, stream: &mut Stream, runs: u64) -> Result<Spread, Error> {
    let class = class("quasigroup", &InputLaw::Uniform, &[4], Shape::untied(2, 0));
    let refuse =
        |error: foldglass::landscape::escape::EscapeError| Error::Failed(error.to_string());
    let mut evaluator = Evaluator::new(&class)?;
    let mut spread = Spread {
        maxima: 0,
        mixed: u64::MAX,
        deviation: 0.0,
        any_order: 0.0,
        compatible: 0,
        compatible_same: 0,
        read_deviation: f64::INFINITY,
    };
    for _ in 0..runs {
        bench.go_on()?;
        let names = shuffled(5, stream);
        let policy = with_first_steps_mixed(&class, &names, false, stream);
        let start = evaluator.evaluate(&policy);
        let visited = |cell: &usize| evaluator.visits(*cell) > 0.0;
        let mixed: Vec<usize> = (0..class.cells())
            .filter(|&cell| !policy.row(cell).contains(&1.0))
            .filter(visited)
            .collect();
        let found = collapse(&policy, 1e-12, Context::default()).map_err(refuse)?;
        spread.maxima += u64::from(start > 1.0 - 1e-12 && found.standing == PolicyStanding::Level);
        spread.mixed = spread.mixed.min(mixed.len() as u64);
        spread.deviation = spread.deviation.max(found.deviation);
        // Every cell onto a compatible action, in a random order.
        let mut moving = policy.clone();
        let order = shuffled(mixed.len(), stream);
        for cell in order.into_iter().map(|n| mixed[n]) {
            let (row, mut point) = (policy.row(cell), vec![0.0; 5]);
            point[compatible(row, stream)] = 1.0;
            let middle: Vec<f64> = row.iter().zip(&point).map(|(a, b)| (a + b) / 2.0).collect();
            for row in [middle, point] {
                moving.set_row(cell, &row).expect("a row of probabilities");
                let moved = (evaluator.evaluate(&moving) - start).abs();
                spread.any_order = spread.any_order.max(moved);
            }
        }
        for _ in 0..DRAWN {
            let code = Code::from_fn(&class, |cell| {
                compatible(policy.row(cell), stream) as Symbol
            });
            spread.compatible += 1;
            spread.compatible_same += u64::from(count::reward(&code).is_one());
        }
        let read = with_first_steps_mixed(&class, &names, true, stream);
        let found = collapse(&read, 1e-12, Context::default()).map_err(refuse)?;
        spread.read_deviation = spread.read_deviation.min(found.deviation);
    }
    Ok(spread)
}

/// An action of positive probability, all alike.
fn compatible(row: &[f64], stream: &mut Stream) -> usize {
    let actions: Vec<usize> = (0..row.len()).filter(|&a| row[a] > 0.0).collect();
    actions[stream.below(actions.len() as u32) as usize]
}

/// The numbers below `n` in a random order.
fn shuffled(n: usize, stream: &mut Stream) -> Vec<usize> {
    let mut all: Vec<usize> = (0..n).collect();
    for i in (1..n).rev() {
        all.swap(i, stream.below(i as u32 + 1) as usize);
    }
    all
}

/// Steps 1 and 2 mixed, each row without one action or with all; step 3 emits a name of the fold of the three
/// symbols that it sees, or of what it makes of y_2 where `reads`; step 4 answers.
fn with_first_steps_mixed(
    class: &Class,
    names: &[usize],
    reads: bool,
    stream: &mut Stream,
) -> Policy {
    let square = class.task().square().clone();
    let code = Code::from_fn(class, |cell| {
        let key = class.key(cell);
        let x = |back: usize| key.x[2 - back].expect("a symbol of the input");
        let y = key.y.last().copied().flatten();
        match (key.t, y) {
            (Some(3), Some(y)) => {
                let before = if reads {
                    y
                } else {
                    square.multiply(x(2), x(1))
                };
                names[square.multiply(before, x(0)) as usize] as Symbol
            }
            (Some(4), Some(y)) => {
                let state = names.iter().position(|&name| name == y as usize);
                square.multiply(state.expect("a name") as Symbol, x(0))
            }
            _ => 0,
        }
    });
    let mut policy = Policy::deterministic(&code);
    let mut row = vec![0.0; class.q()];
    for cell in 0..class.cells() {
        if class.key(cell).t.is_some_and(|t| t <= 2) {
            InitialLaw::UNorm.draw(stream, &mut row);
            if stream.below(2) == 0 {
                row[stream.below(class.q() as u32) as usize] = 0.0;
                let sum: f64 = row.iter().sum();
                row.iter_mut().for_each(|p| *p /= sum);
            }
            policy.set_row(cell, &row).expect("a row of probabilities");
        }
    }
    policy
}

/// What [`printed_window`] finds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Printed {
    /// Chains.
    pub chains: u64,
    /// Those that arrive at reward exactly 1.
    pub at_one: u64,
    /// The sweeps after which all had, or at which they were stopped.
    pub sweeps: u64,
}

/// Cold chains of the paper's square with window (3,0), T = 5. It catches a kernel that is stuck on shelves.
pub fn printed_window(bench: &Bench) -> Result<Option<Printed>, Error> {
    let class = class("quasigroup", &InputLaw::Uniform, &[5], Shape::untied(3, 0));
    let settings = chain::ChainSettings::new(chain::Kernel::Metropolis, chain::Order::of(&class));
    let number = 12;
    let refuse = |error: chain::ChainError| Error::Failed(error.to_string());
    let (mut at_one, mut sweeps) = (0, 0);
    for run in 0..number {
        let chains = Chains::builder(&class, settings)
            .seed(bench.seed)
            .numbers(run..run + 1)
            .within(bench.allowance)
            .start();
        let mut chains = chains.map_err(refuse)?;
        let arrived = (1..=5_000).find(|_| {
            chains.sweep(&[1e-13]);
            chains.reward(0) == chains.denominator()
        });
        bench.go_on()?;
        at_one += u64::from(arrived.is_some());
        sweeps = sweeps.max(arrived.unwrap_or(5_000));
    }
    Ok(Some(Printed {
        chains: number,
        at_one,
        sweeps,
    }))
}

/// What [`defended`] finds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Defended {
    /// Random codes from which ascent begins.
    pub tried: u64,
    /// Ends below 1.
    pub codes: u64,
    /// Ends none of whose changes is neutral.
    pub strict: u64,
    /// Ends all of whose cells are consulted.
    pub all_consulted: u64,
    /// Ends whose escape begins at a cell that nobody consults.
    pub unconsulted_first: u64,
}

/// Codes below 1 at which random ascent ends: whether their consulted cells are strictly defended, and
/// how they escape first.
///
/// It catches rewards of single changes that are off by rounding, which make neutral changes strict, and visits that count
/// cells which no input consults.
pub fn defended(bench: &Bench) -> Result<Option<Defended>, Error> {
    let class = class("quasigroup", &InputLaw::Uniform, &[3], Shape::untied(0, 0));
    let mut stream = Stream::new(bench.seed, 9);
    let tried = bench.scaled(2_000, 200);
    let (mut codes, mut strict, mut all_consulted) = (0u64, 0u64, 0u64);
    let mut unconsulted_first = 0u64;
    for n in 0..tried {
        if n % 64 == 0 {
            bench.go_on()?;
        }
        let code = ascend(random_code(&class, &mut stream))?;
        if count::reward(&code).is_one() {
            continue;
        }
        let found = defence(&code, Context::default())?;
        codes += 1;
        strict += u64::from(found.neutral.is_empty());
        all_consulted += u64::from(found.unconsulted.is_empty());
        let path = path_of(&code)?;
        let first = path.moves.first();
        unconsulted_first += u64::from(first.is_some_and(|m| found.unconsulted.contains(&m.cell)));
    }
    Ok(Some(Defended {
        tried,
        codes,
        strict,
        all_consulted,
        unconsulted_first,
    }))
}

/// Raises J by single changes, cell after cell, as long as one does.
fn ascend(code: Code) -> Result<Code, Error> {
    let cells = code.class().cells();
    let mut rewards = vec![0; code.class().q()];
    let mut counter = Counter::new(code)?;
    let (mut cell, mut unchanged) = (0, 0);
    while unchanged < cells {
        counter.rewards(cell, &mut rewards);
        let best = (0..rewards.len())
            .max_by_key(|&action| rewards[action])
            .unwrap_or(0);
        unchanged += 1;
        if rewards[best] > counter.reward() {
            counter.set(cell, best as Symbol);
            unchanged = 0;
        }
        cell = (cell + 1) % cells;
    }
    Ok(counter.code().clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The local maxima are not codes: rollouts consult mixed cells, and where their tokens are read the same
    /// cells matter.
    #[test]
    fn spread_maxima_mix_cells_that_are_consulted() {
        let class = class("quasigroup", &InputLaw::Uniform, &[4], Shape::untied(2, 0));
        let mut stream = Stream::new(0, 0);
        let names = shuffled(5, &mut stream);
        let mut evaluator = Evaluator::new(&class).unwrap();
        for (reads, level) in [(false, true), (true, false)] {
            let policy = with_first_steps_mixed(&class, &names, reads, &mut stream);
            let reward = evaluator.evaluate(&policy);
            let mixed = (0..class.cells()).filter(|&cell| !policy.row(cell).contains(&1.0));
            let mut consulted = mixed.filter(|&cell| evaluator.visits(cell) > 0.0);
            assert!(consulted.next().is_some());
            let found = collapse(&policy, 1e-12, Context::default()).unwrap();
            assert_eq!((reward - 1.0).abs() < 1e-12, level);
            assert_eq!(found.standing == PolicyStanding::Level, level);
            assert_eq!(found.deviation < 1e-12, level);
        }
    }
}
