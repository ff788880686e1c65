//! Finds out what the steps after a prefix can tell of it, and the steps before a suffix of that
//! (paper, App. A).
//!
//! The weights alpha that a prefix sends on matter to a change of a later step only by what two
//! suffixes earn differently: by alpha * (beta - beta'). The differences of all suffixes span a
//! space, and two prefixes whose weights have the same product with a basis of it cannot be distinguished
//! apart by any change after them. The same holds of suffixes, with the differences of the weights
//! of prefixes.
//!
//! Both spaces are found step by step. If V is that of the suffixes after a step and b the weights of
//! one of them, then the suffixes that have this step too differ by what the step gives back of V and
//! of b: for one choice of all its actions, and for each that differs from it in one cell.
//!
//! Parity with Markov inputs has 8 states (x, s, y), and suffixes differ by multiples of 4 vectors
//! only: where the bit s is 0, a token earns what it does not earn where s is 1, so a prefix is seen
//! by alpha(x, 0, y) - alpha(x, 1, y).

use crate::model::operation::Symbol;
use crate::reward::count::flow::{FlowTable, StepFlows};
use crate::reward::count::weight::Whole;
use dashu_ratio::RBig;

/// A linear function of the weights at the places of a level.
pub(super) type Sight<W> = Vec<W>;

/// The places after a number of steps.
#[derive(Debug, Clone)]
pub(super) struct SeenLayout {
    /// Those of one state together, by its newest token.
    pub places: Vec<u32>,
}

/// By level, the number of steps done: where it is, and what is seen there.
pub(super) struct Seen<W> {
    pub layouts: Vec<SeenLayout>,
    /// Of prefixes, by later steps: first what the suffix of actions 0 earns.
    pub prefixes: Vec<Vec<Sight<W>>>,
    /// Of suffixes, by earlier steps.
    pub suffixes: Vec<Vec<Sight<W>>>,
}

/// The most places whose spaces are worth finding: each is seen by itself where there are more.
const MOST_PLACES: usize = 64;

impl<W: Whole> Seen<W> {
    pub fn new(flows: &FlowTable<W>) -> Seen<W> {
        let start = SeenLayout { places: vec![0] };
        let after = flows.steps.iter().map(|step| SeenLayout {
            places: step.places(flows.q),
        });
        let layouts: Vec<SeenLayout> = [start].into_iter().chain(after).collect();
        Seen {
            prefixes: prefixes(flows, &layouts),
            suffixes: suffixes(flows, &layouts),
            layouts,
        }
    }
}

impl SeenLayout {
    pub fn read<W: Whole>(&self, all: &[W]) -> Vec<W> {
        self.places.iter().map(|&p| all[p as usize]).collect()
    }

    #[inline]
    pub fn write<W: Whole>(&self, values: &[W], all: &mut [W]) {
        for (&place, &value) in self.places.iter().zip(values) {
            all[place as usize] = value;
        }
    }

    /// The product of a sight and the weights at the places.
    #[inline]
    pub fn product<W: Whole>(&self, sight: &Sight<W>, all: &[W]) -> W {
        let mut sum = W::zero();
        for (&place, &factor) in self.places.iter().zip(sight) {
            sum += all[place as usize] * factor;
        }
        sum
    }

    /// A sight of each place alone.
    fn each<W: Whole>(&self) -> Vec<Sight<W>> {
        let size = self.places.len();
        let unit = |n: usize| {
            let mut sight = vec![W::zero(); size];
            sight[n] = W::of_i128(1);
            sight
        };
        (0..size).map(unit).collect()
    }
}

/// The actions 0 of all cells, then every choice that differs from it in one cell of a step.
fn single_changes<W: Whole>(step: &StepFlows<W>, q: usize, mut take: impl FnMut(&[Symbol])) {
    let mut actions = vec![0; step.cells.end];
    take(&actions);
    for cell in step.cells.clone() {
        for action in 1..q as Symbol {
            actions[cell] = action;
            take(&actions);
        }
        actions[cell] = 0;
    }
}

/// What later steps see of prefixes.
fn prefixes<W: Whole>(flows: &FlowTable<W>, layouts: &[SeenLayout]) -> Vec<Vec<Sight<W>>> {
    let nowhere = vec![W::zero(); flows.right.len()];
    // What the suffix of actions 0 earns, at every level.
    let zeros = vec![0; flows.steps.last().map_or(0, |step| step.cells.end)];
    let mut plain = flows.beta();
    for step in flows.steps.iter().rev() {
        step.give_back(&mut plain, &flows.right, &zeros);
    }
    let mut basis: Vec<Sight<W>> = Vec::new();
    let mut all: Vec<Vec<Sight<W>>> = vec![Vec::new()];
    for (level, step) in flows.steps.iter().enumerate().rev() {
        let (before, after) = (&layouts[level], &layouts[level + 1]);
        let mut span = LinearSpan::new(before);
        single_changes(step, flows.q, |actions| {
            let mut beta = plain.clone();
            step.give_back(&mut beta, &flows.right, actions);
            let changed = before.read(&beta).into_iter().zip(before.read(&plain));
            span.add(changed.map(|(changed, plain)| changed - plain).collect());
            for sight in &basis {
                let mut beta = nowhere.clone();
                after.write(sight, &mut beta);
                step.give_back(&mut beta, &nowhere, actions);
                span.add(before.read(&beta));
            }
        });
        basis = span.basis;
        let earned = before.read(&plain);
        all.push([vec![earned], basis.clone()].concat());
    }
    all.reverse();
    all
}

/// What earlier steps see of suffixes.
fn suffixes<W: Whole>(flows: &FlowTable<W>, layouts: &[SeenLayout]) -> Vec<Vec<Sight<W>>> {
    let nowhere = vec![W::zero(); flows.right.len()];
    let zeros = vec![0; flows.steps.last().map_or(0, |step| step.cells.end)];
    let mut plain = flows.alpha();
    flows.pass_forward(&mut plain, &zeros, 0);
    let mut basis: Vec<Sight<W>> = Vec::new();
    let mut all = vec![Vec::new()];
    for (level, step) in flows.steps.iter().enumerate() {
        let (before, after) = (&layouts[level], &layouts[level + 1]);
        let mut span = LinearSpan::new(after);
        let pass = |weights: &[W], actions: &[Symbol]| {
            let mut alpha = nowhere.clone();
            before.write(weights, &mut alpha);
            for cell in step.cells.clone() {
                step.send(&mut alpha, cell, actions[cell]);
            }
            after.read(&alpha)
        };
        let start = before.read(&plain);
        let unchanged = after.read(&plain);
        single_changes(step, flows.q, |actions| {
            let changed = pass(&start, actions).into_iter().zip(&unchanged);
            span.add(changed.map(|(changed, &plain)| changed - plain).collect());
            for sight in &basis {
                span.add(pass(sight, actions));
            }
        });
        basis = span.basis;
        all.push(basis.clone());
    }
    all
}

/// Vectors that are independent, and all that they span.
struct LinearSpan<W> {
    basis: Vec<Sight<W>>,
    /// The same space in rows that are zero at the pivots of those before, with their pivots.
    rows: Vec<(usize, Vec<RBig>)>,
    /// Whether nothing is left out of it.
    whole: bool,
}

impl<W: Whole> LinearSpan<W> {
    /// Nothing; or everything, where there are too many places.
    fn new(layout: &SeenLayout) -> LinearSpan<W> {
        let whole = layout.places.len() > MOST_PLACES;
        LinearSpan {
            basis: if whole { layout.each() } else { Vec::new() },
            rows: Vec::new(),
            whole,
        }
    }

    /// Adds a vector, unless it is in the span.
    fn add(&mut self, vector: Sight<W>) {
        if self.whole || vector.iter().all(|number| *number == W::zero()) {
            return;
        }
        let number = |number: &W| RBig::from(number.to_i128());
        let mut rest: Vec<RBig> = vector.iter().map(number).collect();
        for (pivot, row) in &self.rows {
            if rest[*pivot].is_zero() {
                continue;
            }
            let factor = rest[*pivot].clone() / row[*pivot].clone();
            for (rest, row) in rest.iter_mut().zip(row) {
                if !row.is_zero() {
                    *rest -= factor.clone() * row.clone();
                }
            }
        }
        let Some(pivot) = rest.iter().position(|number| !number.is_zero()) else {
            return;
        };
        self.rows.push((pivot, rest));
        self.basis.push(vector);
        self.whole = self.basis.len() == self.basis[0].len();
    }
}
