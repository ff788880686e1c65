//! Leads random codes and policies to reward 1, and has the paths checked (paper, thm. 4.1, App. B, E).

use foldglass::anatomy::defence;
use foldglass::chain::random_code;
use foldglass::check::path::verify;
use foldglass::claim::{Kind, Path};
use foldglass::count::Counter;
use foldglass::escape::{Standing, collapse, escape, most_moves};
use foldglass::exact::parse;
use foldglass::policy::InitialLaw;
use foldglass::{
    Allowance, Class, Code, InputLaw, LatinSquare, Policy, Shape, Stream, Symbol, Task, count,
};
use serde::{Deserialize, Serialize};

use super::class;
use crate::claims::Bench;
use crate::error::Error;

fn path_of(code: &Code) -> Result<Path, Error> {
    escape(code, Allowance::default()).map_err(|error| Error::Failed(error.to_string()))
}

fn is_good(path: &Path) -> bool {
    path.reward.is_one() && verify(path, Allowance::default()).is_ok()
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
    /// Paths on which one step reroutes states to two tokens or more.
    pub several_unused: u64,
    /// Paths that finish within q^2 moves.
    pub finishes_within: u64,
    /// Codes of parity at T = 3 whose path leads to 1 and was checked.
    pub small: u64,
    /// Of all.
    pub small_of: u64,
}

/// Random codes of several tasks, and every code of parity at T = 3.
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
            within += u64::from(path.moves.len() as u128 <= most_moves(class.q(), length));
            // States rerouted at one step are one fewer than those that shared a token: more than one
            // reroute there means that more than one token was unused.
            unused_more += u64::from(has_two_targets(&class, &path));
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
    let is_finish = |m: &&foldglass::claim::Move| m.kind == Some(Kind::Finish);
    path.moves.iter().filter(is_finish).count()
}

/// Whether states are rerouted to two tokens at one step.
fn has_two_targets(class: &Class, path: &Path) -> bool {
    let mut targets: std::collections::BTreeSet<(Option<usize>, Symbol)> = Default::default();
    for m in path.moves.iter().filter(|m| m.kind == Some(Kind::Reroute)) {
        targets.insert((class.key(m.cell).t, m.to));
    }
    let mut steps: Vec<Option<usize>> = targets.iter().map(|&(t, _)| t).collect();
    let all = steps.len();
    steps.dedup();
    steps.len() < all
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
    let task = Task::new(LatinSquare::paper(), &law, &[length]).expect("a task");
    Class::new(task, Shape::untied(0, 0), Allowance::default()).expect("a small class")
}

/// What [`policies`] finds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Collapsed {
    /// Random policies.
    pub policies: u64,
    /// Those that are led to 1.
    pub arrived: u64,
    /// The most that J falls on the way to a code.
    pub drop: f64,
    /// Local maxima that are not codes, of as many.
    pub maxima: u64,
    /// The most that J moves while one of them collapses.
    pub deviation: f64,
    /// Whether the uniform policy is stationary and not a maximum.
    pub uniform_is_saddle: bool,
}

/// Policies led to codes along segments: local maxima at constant J, others without loss.
pub fn policies(bench: &Bench) -> Result<Option<Collapsed>, Error> {
    let mut stream = Stream::new(bench.seed, 8);
    let class = class("quasigroup", &InputLaw::Uniform, &[4], Shape::untied(0, 0));
    let runs = bench.scaled(60, 6);
    let refuse = |error: foldglass::escape::EscapeError| Error::Failed(error.to_string());
    let (mut drop, mut deviation, mut arrived) = (0f64, 0f64, 0u64);
    let mut maxima = 0u64;
    for _ in 0..runs {
        bench.go_on()?;
        let mut policy = Policy::uniform(&class);
        let mut row = vec![0.0; 5];
        for cell in 0..class.cells() {
            InitialLaw::UNorm.draw(&mut stream, &mut row);
            policy.set_row(cell, &row).expect("a row of probabilities");
        }
        let found = collapse(&policy, 1e-12, Allowance::default()).map_err(refuse)?;
        drop = drop.max(found.drop);
        arrived += u64::from(is_good(&path_of(&found.code)?));
        // A local maximum that is no code: an optimum, its unconsulted cells spread.
        let mut best = random_code(&class, &mut stream);
        let path = path_of(&best)?;
        for m in &path.moves {
            best.set(m.cell, m.to);
        }
        let consulted = foldglass::anatomy::consulted(&best);
        let mut spread = Policy::deterministic(&best);
        for cell in (0..class.cells()).filter(|&cell| !consulted[cell]) {
            InitialLaw::UNorm.draw(&mut stream, &mut row);
            spread.set_row(cell, &row).expect("a row of probabilities");
        }
        let found = collapse(&spread, 1e-12, Allowance::default()).map_err(refuse)?;
        maxima += u64::from(count::reward(&found.code).is_one());
        deviation = deviation.max(found.deviation);
    }
    let uniform =
        collapse(&Policy::uniform(&class), 1e-12, Allowance::default()).map_err(refuse)?;
    Ok(Some(Collapsed {
        policies: runs,
        arrived,
        drop,
        maxima,
        deviation,
        uniform_is_saddle: matches!(uniform.standing, Standing::Saddle(_)),
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
        let found = defence(&code, Allowance::default())?;
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
    let mut counter = Counter::new(code, Allowance::default())?;
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
