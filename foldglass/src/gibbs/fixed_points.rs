//! Compares the marginals of a pure state with the fixed point of tabular RLVR seeded at them
//! (paper, section 3.3 and G.2).
//!
//! CAVI runs from pi^MC, the product of the marginals, at the same tau. Its endpoint is compared with
//! histograms of random halves of the draws by the Bhattacharyya coefficient, over the active cells:
//! on all others both are the same point mass. The null is the same coefficient between the halves.

use super::marginals::PureState;
use crate::model::policy::Policy;
use crate::reward::evaluate::Evaluator;

/// Distributions at least this far apart count as different.
pub const TOLD_APART: f64 = 1e-3;

/// When the chain alone makes a cell active.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// It changes the cell's action (the paper's tied traps).
    Changed,
    /// The cell's marginal is mixed by more than [`TOLD_APART`] (its correlated traps).
    Mixed,
}

crate::named_enum!(Activity { "changed" => Changed, "mixed" => Mixed });

#[cfg(feature = "serde")]
crate::serde_as_text!(Activity);

/// How alike an endpoint and the draws are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Likeness {
    /// Active cells.
    pub active: usize,
    /// The Bhattacharyya coefficient between the endpoint and halves of the draws; 1 where no cell is
    /// active.
    pub coefficient: f64,
    /// The coefficient between two halves of the draws.
    pub null: f64,
}

/// The cells on which the chain or CAVI gives more than one action a positive probability.
pub fn active(
    state: &PureState,
    seed: &Policy,
    endpoint: &Policy,
    activity: Activity,
) -> Vec<usize> {
    let is_active = |cell: &usize| {
        let (before, after) = (seed.row(*cell), endpoint.row(*cell));
        let by_chain = match activity {
            Activity::Changed => state.moving[*cell],
            Activity::Mixed => mixture(before) > TOLD_APART,
        };
        let moves = before.iter().zip(after).map(|(a, b)| (a - b).abs());
        by_chain || mixture(after) > TOLD_APART || moves.fold(0.0, f64::max) > TOLD_APART
    };
    (0..state.moving.len()).filter(is_active).collect()
}

/// How far a distribution is from a point mass.
fn mixture(row: &[f64]) -> f64 {
    1.0 - row.iter().copied().fold(0.0, f64::max)
}

/// Compares where CAVI ended, seeded at `seed`, with the draws of a state.
pub fn likeness(
    state: &PureState,
    seed: &Policy,
    endpoint: &Policy,
    activity: Activity,
) -> Likeness {
    let cells = active(state, seed, endpoint, activity);
    Likeness {
        active: cells.len(),
        coefficient: state.draws.likeness(endpoint, &state.halves, &cells),
        null: state.draws.likeness_of_halves(&state.halves, &cells),
    }
}

/// By cell: the largest |target - pi|, with target = softmax(dQ / tau), tau > 0: 0 at a fixed point.
///
/// # Panics
/// If the evaluator is of another class.
pub fn residuals(evaluator: &mut Evaluator, policy: &Policy, tau: f64) -> Vec<f64> {
    evaluator.evaluate(policy);
    let of = |cell: usize| {
        let terms = policy
            .row(cell)
            .iter()
            .zip(softmax(&evaluator.values(cell), tau));
        terms.fold(0.0, |most: f64, (p, target)| most.max((p - target).abs()))
    };
    (0..policy.class().cells()).map(of).collect()
}

fn softmax(values: &[f64], tau: f64) -> Vec<f64> {
    let best = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights = values.iter().map(|value| ((value - best) / tau).exp());
    let weights: Vec<f64> = weights.collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / sum).collect()
}
