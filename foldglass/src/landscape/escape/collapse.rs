//! Moves the cells of a policy onto single actions, one at a time, until it is a code (paper, App.
//! B at a local maximum, cor. 4.3 elsewhere).
//!
//! In an untied class J is linear in each row pi_c: along a segment from pi_c to a point mass on an
//! action a it changes steadily by d(c)Q(c,a) - sum_b pi_c(b) d(c)Q(c,b), whatever the other rows
//! of the same step do.

use super::{EscapeError, Hypothesis};
use crate::model::operation::Symbol;
use crate::model::policy::{Code, Policy};
use crate::reward::count;
use crate::reward::evaluate::Evaluator;
use crate::support::context::Context;
use crate::support::stream::Stream;

/// A direction in which J rises.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ascent {
    /// The cell.
    pub cell: usize,
    /// The action whose probability is to grow.
    pub action: Symbol,
    /// The gain of J when the cell alone takes this action.
    pub gain: f64,
}

/// A straight line from one policy to the next: one cell's row becomes a point mass.
#[derive(Debug, Clone, PartialEq)]
pub struct Segment {
    /// The cell.
    pub cell: usize,
    /// The row before.
    pub from: Vec<f64>,
    /// The action after.
    pub to: Symbol,
    /// J after it.
    pub reward: f64,
}

/// The nature of a policy, as its way to a code shows it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PolicyStanding {
    /// Not a local maximum: J rises at once, most of all here.
    Ascends(Ascent),
    /// Not a local maximum, though no cell alone raises J: it mixes codes of other rewards, such
    /// as this one. At a local maximum all codes that a policy mixes earn the same.
    Saddle(f64),
    /// All codes that were tried earn what it earns, as they do at a local maximum.
    Level,
}

/// A policy's way to a code.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Collapse {
    /// J of the policy.
    pub start: f64,
    /// The nature of the policy.
    pub standing: PolicyStanding,
    /// The segments, in their order.
    pub segments: Vec<Segment>,
    /// How far J was from `start` at most, above or below, at the end of a segment.
    pub deviation: f64,
    /// The largest drop of J along a segment: never more than the tolerance.
    pub drop: f64,
    /// The code it ends at.
    pub code: Code,
}

/// Leads a policy of an untied class to a code.
///
/// At a local maximum all actions that a visited cell may take are equally good and none is better
/// (differences up to `tolerance` count as none): every cell collapses onto its most probable
/// action, and J stays what it is. Elsewhere the best action of every visited cell is taken, step by
/// step, and J rises. A policy that passes this first-order test may still be a saddle, where only
/// several cells together raise J: the uniform policy is one. Codes drawn from it tell.
///
/// ```
/// use foldglass::landscape::escape::{PolicyStanding, collapse};
/// use foldglass::{ClassSpec, Context, Operation, Policy, Shape};
/// let spec = ClassSpec::uniform(Operation::cyclic(2).unwrap(), &[2], Shape::untied(0, 0));
/// let class = spec.lay_out().unwrap();
/// let found = collapse(&Policy::uniform(&class), 1e-12, Context::default()).unwrap();
/// assert_eq!(found.segments.len(), class.cells());
/// assert!(matches!(found.standing, PolicyStanding::Saddle(_)));
/// ```
pub fn collapse(
    policy: &Policy,
    tolerance: f64,
    context: Context<'_>,
) -> Result<Collapse, EscapeError> {
    let class = policy.class();
    if class.shape().tied {
        return Err(EscapeError::Unmet(vec![Hypothesis::Untied]));
    }
    let mut evaluator = Evaluator::within(class, context.memory)?;
    let mut policy = policy.clone();
    let start = evaluator.evaluate(&policy);
    let standing = standing(&evaluator, &policy, start, tolerance);
    let mut found = Collapse {
        start,
        standing,
        segments: Vec::new(),
        deviation: 0.0,
        drop: 0.0,
        code: Code::from_fn(class, |_| 0),
    };
    let mut groups = class.groups().chunk_by(|a, b| a.t == b.t);
    while let Some([first, .., last] | [first @ last]) = groups.next() {
        let mut reward = evaluator.evaluate(&policy);
        for cell in first.first_cell..last.first_cell + last.cells {
            let (row, values) = (policy.row(cell).to_vec(), evaluator.values(cell));
            let to = choose(&row, &values, evaluator.visits(cell), tolerance);
            found.code.set(cell, to as Symbol);
            if row[to] == 1.0 {
                continue;
            }
            let gain = gain(&row, &values, to);
            reward += gain;
            found.drop = found.drop.max(-gain);
            found.deviation = found.deviation.max((reward - start).abs());
            let mut point = vec![0.0; row.len()];
            point[to] = 1.0;
            policy.set_row(cell, &point).expect("a point mass is a row");
            found.segments.push(Segment {
                cell,
                from: row,
                to: to as Symbol,
                reward,
            });
        }
    }
    Ok(found)
}

/// Codes drawn from a policy that no cell raises.
const DRAWN: u64 = 64;

/// How far the rewards of a policy and of a code it mixes may be apart by rounding.
const ROUNDING: f64 = 1e-9;

/// Tries a policy for a local maximum, cell by cell and then by codes that it mixes.
fn standing(evaluator: &Evaluator, policy: &Policy, reward: f64, tolerance: f64) -> PolicyStanding {
    if let Some(ascent) = steepest(evaluator, policy, tolerance) {
        return PolicyStanding::Ascends(ascent);
    }
    let class = policy.class();
    let mixed = |&cell: &usize| evaluator.visits(cell) > 0.0 && !policy.row(cell).contains(&1.0);
    if !(0..class.cells()).any(|cell| mixed(&cell)) {
        return PolicyStanding::Level;
    }
    let rewards = (0..DRAWN).map(|number| {
        let code = policy.draw(&mut Stream::new(0, number));
        count::reward(&code).to_f64()
    });
    let differs = |other: &f64| (other - reward).abs() > tolerance.max(ROUNDING);
    rewards
        .filter(differs)
        .max_by(f64::total_cmp)
        .map_or(PolicyStanding::Level, PolicyStanding::Saddle)
}

/// The gain of J when a row becomes a point mass.
fn gain(row: &[f64], values: &[f64], to: usize) -> f64 {
    let terms = row.iter().zip(values);
    terms.map(|(p, value)| p * (values[to] - value)).sum()
}

/// The action with the largest value; the most probable of those within the tolerance of it.
fn choose(row: &[f64], values: &[f64], visits: f64, tolerance: f64) -> usize {
    let best = values.iter().copied().fold(0.0, f64::max);
    let good = |&a: &usize| visits == 0.0 || values[a] >= best - tolerance;
    let choice = (0..row.len()).rev().filter(good);
    let choice = choice.max_by(|&a, &b| row[a].total_cmp(&row[b]));
    choice.expect("the best is good")
}

/// The visited cell where taking the best action gains most, if its supported actions are not all
/// as good as the best.
fn steepest(evaluator: &Evaluator, policy: &Policy, tolerance: f64) -> Option<Ascent> {
    let mut steepest: Option<Ascent> = None;
    for cell in 0..policy.class().cells() {
        let (row, values) = (policy.row(cell), evaluator.values(cell));
        let best = values.iter().copied().fold(0.0, f64::max);
        let mut supported = row.iter().zip(&values).filter(|(p, _)| **p > 0.0);
        if supported.all(|(_, value)| *value >= best - tolerance) {
            continue;
        }
        let action = values.iter().position(|&value| value == best);
        let action = action.expect("a largest among q");
        let gain = gain(row, &values, action);
        if steepest.is_none_or(|ascent| gain > ascent.gain) {
            steepest = Some(Ascent {
                cell,
                action: action as Symbol,
                gain,
            });
        }
    }
    steepest
}
