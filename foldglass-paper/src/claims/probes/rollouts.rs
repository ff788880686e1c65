//! Counts what rollouts consult: single changes, cells, states (paper, section 2, App. A, B, E).

use foldglass::dynamics::chain::random_code;
use foldglass::reward::count::Counter;
use foldglass::{
    Code, Evaluator, InputLaw, Operation, Policy, Shape, Stream, Symbol, reward::count,
};
use serde::{Deserialize, Serialize};

use super::class;
use crate::claims::Bench;
use crate::error::Error;

/// What [`moves`] finds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moves {
    /// Single changes of untied codes whose gain is the difference of dQ.
    pub untied: u64,
    /// Of so many.
    pub untied_of: u64,
    /// The same of tied codes.
    pub tied: u64,
    /// Of so many.
    pub tied_of: u64,
    /// Changes of cells that no input consults.
    pub unconsulted: u64,
    /// Those of them that move J.
    pub unconsulted_moved: u64,
}

/// Single changes of codes: J as it becomes against dQ, untied and tied, and at cells nobody consults.
///
/// It catches a dQ of another cell or action, an evaluation that treats tied cells as untied, and visits that leave out a
/// cell which an input consults: J is evaluated anew after each change.
pub fn moves(bench: &Bench) -> Result<Option<Moves>, Error> {
    let mut stream = Stream::new(bench.seed, 3);
    let mut found = [(0u64, 0u64); 2];
    let (mut unconsulted, mut unconsulted_moved) = (0u64, 0u64);
    for _ in 0..bench.scaled(200, 20) {
        for (n, shape) in [Shape::untied(0, 0), Shape::tied(0, 0)]
            .into_iter()
            .enumerate()
        {
            let class = class("quasigroup", &InputLaw::Uniform, &[4], shape);
            let code = random_code(&class, &mut stream);
            let mut counter = Counter::new(code.clone())?;
            let mut evaluator = Evaluator::new(&class)?;
            evaluator.evaluate(&Policy::deterministic(&code));
            let mut rewards = [0; 5];
            for cell in 0..class.cells() {
                counter.rewards(cell, &mut rewards);
                let values = evaluator.values(cell);
                let now = code.action(cell) as usize;
                for action in (0..5).filter(|&action| action != now) {
                    let exact = rewards[action] as f64 - rewards[now] as f64;
                    let exact = exact / counter.denominator() as f64;
                    let is_same = (exact - (values[action] - values[now])).abs() < 1e-12;
                    found[n].0 += u64::from(is_same);
                    found[n].1 += 1;
                    if n == 0 && evaluator.visits(cell) == 0.0 {
                        unconsulted += 1;
                        unconsulted_moved += u64::from(exact != 0.0);
                    }
                }
            }
        }
    }
    let [(untied, untied_of), (tied, tied_of)] = found;
    Ok(Some(Moves {
        untied,
        untied_of,
        tied,
        tied_of,
        unconsulted,
        unconsulted_moved,
    }))
}

/// What [`visits`] finds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Visits {
    /// Random rollouts of untied policies.
    pub rollouts: u64,
    /// Those that consult a cell twice.
    pub twice: u64,
    /// The same of tied policies.
    pub tied_twice: u64,
    /// Classes whose folding code has reward 1.
    pub folds: u64,
    /// Of so many.
    pub folds_of: u64,
    /// The cells of the classes of tab:containment.
    pub cells: Vec<usize>,
    /// The steps of a pass at T = 10, 20, 40.
    pub steps: Vec<usize>,
    /// The most states (s, window, y) that a step of it has, at the same lengths.
    pub states: Vec<usize>,
    /// The order of the group that the columns of the paper's square generate.
    pub columns_generate: String,
}

/// Whether a rollout consults a cell twice, the code that folds, and the counts of cells.
///
/// It catches cells that leave out the step, the last token or the step's own symbol, and passes that grow faster
/// than the length.
pub fn visits(bench: &Bench) -> Result<Option<Visits>, Error> {
    let mut stream = Stream::new(bench.seed, 4);
    let (mut rollouts, mut twice, mut tied_twice) = (0u64, 0u64, 0u64);
    let (mut folds, mut folds_of) = (0u64, 0u64);
    let shapes = [
        Shape::untied(0, 0),
        Shape::untied(2, 1),
        Shape::untied(1, 1),
        Shape::untied(0, 3),
        Shape::tied(0, 0),
        Shape::tied(0, 3),
    ];
    for shape in shapes {
        let class = class("quasigroup", &InputLaw::Uniform, &[3, 4, 5], shape);
        for _ in 0..bench.scaled(2000, 100) {
            let x: Vec<Symbol> = (0..5).map(|_| stream.below(5) as Symbol).collect();
            let y: Vec<Symbol> = (0..5).map(|_| stream.below(5) as Symbol).collect();
            let cells: std::collections::BTreeSet<usize> =
                (1..=5).map(|t| class.route(&x, t, &y[..t - 1])).collect();
            let again = u64::from(cells.len() < 5);
            rollouts += u64::from(!shape.tied);
            *(if shape.tied {
                &mut tied_twice
            } else {
                &mut twice
            }) += again;
        }
        let fold = Code::fold(&class);
        folds += u64::from(count::reward(&fold).is_one());
        folds_of += 1;
    }
    let cells =
        |lengths: &[usize], shape| class("quasigroup", &InputLaw::Uniform, lengths, shape).cells();
    let passes = [10, 20, 40].map(|length| {
        let class = class(
            "quasigroup",
            &InputLaw::Uniform,
            &[length],
            Shape::untied(1, 1),
        );
        // A cell is a window and a token; the fold beside it has q values.
        let states = class.groups().iter().map(|group| group.cells * class.q());
        (class.nodes().len(), states.max().unwrap_or(0))
    });
    Ok(Some(Visits {
        rollouts,
        twice,
        tied_twice,
        folds,
        folds_of,
        cells: vec![
            cells(&[4], Shape::untied(0, 0)),
            cells(&[6], Shape::untied(0, 0)),
            cells(&[7], Shape::untied(0, 0)),
            cells(&[8], Shape::untied(0, 0)),
            cells(&[7], Shape::untied(1, 1)),
            cells(&[7], Shape::tied(0, 3)),
            cells(&[7], Shape::untied(0, 3)),
            cells(&[7], Shape::untied(2, 1)),
        ],
        steps: passes.map(|(steps, _)| steps).to_vec(),
        states: passes.map(|(_, states)| states).to_vec(),
        columns_generate: (Operation::paper().facts().column_group_order)
            .map_or("unknown".to_owned(), |order| order.to_string()),
    }))
}

/// What [`states`] finds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct States {
    /// Steps of all classes, those whose window is inside the input and that have a symbol before it.
    pub steps: u64,
    /// Those with q^(p+f+3) states.
    pub states_right: u64,
    /// Those with q^(p+f+5) transitions to the next.
    pub transitions_right: u64,
    /// The windows.
    pub windows: Vec<[usize; 2]>,
}

/// Counts the states (s, window, y) that inputs and tokens reach at a step, and the transitions between them.
///
/// It catches a state that leaves out, or repeats, part of what later rewards depend on.
pub fn states(bench: &Bench) -> Result<Option<States>, Error> {
    let windows: &[[usize; 2]] = bench.scaled(
        &[[0, 0], [1, 0], [0, 1], [1, 1], [2, 0], [0, 2], [2, 1]],
        &[[0, 0], [1, 0], [0, 1], [1, 1]],
    );
    let (mut steps, mut states_right, mut transitions_right) = (0, 0, 0);
    for (task, q) in [("parity", 2usize), ("z:3", 3)] {
        for &[past, future] in windows {
            bench.go_on()?;
            let square = Operation::named(task).expect("a named task");
            // Two steps of the kind that is counted, and one more.
            let length = past + future + 4;
            let power = |n: usize| q.pow(n as u32);
            for t in past + 2..length - future {
                let mut reached = std::collections::BTreeSet::new();
                let mut transitions = std::collections::BTreeSet::new();
                for n in 0..power(length) {
                    let x: Vec<Symbol> =
                        (0..length).map(|i| (n / power(i) % q) as Symbol).collect();
                    let folds = x.iter().scan(None, |s: &mut Option<Symbol>, &x| {
                        *s = Some(s.map_or(x, |s| square.multiply(s, x)));
                        *s
                    });
                    let folds: Vec<Symbol> = folds.collect();
                    // Step t, counted from 1: the fold before it, what its window shows, the last token.
                    let state = |t: usize, y: usize| {
                        let window = x[t - 1 - past..t + future].to_vec();
                        (folds[t - 2], window, y)
                    };
                    for y in 0..q {
                        reached.insert(state(t, y));
                        for next in 0..q {
                            transitions.insert((state(t, y), state(t + 1, next)));
                        }
                    }
                }
                steps += 1;
                states_right += u64::from(reached.len() == power(past + future + 3));
                transitions_right += u64::from(transitions.len() == power(past + future + 5));
            }
        }
    }
    Ok(Some(States {
        steps,
        states_right,
        transitions_right,
        windows: windows.to_vec(),
    }))
}
