//! Goes through the codes of a stretch of steps, one for each way to name their tokens.
//!
//! Tokens are named in the order in which the cells of their step first emit them. A code with k
//! names in a step stands for q! / (q - k)! codes: those in which they have other names.
//!
//! Where the window shows that the input ends, no later step reads the token. Unless such a cell takes a best action,
//! given the steps before it, the code can be raised, whatever its other cells do: other actions are left out.

use super::Frame;
use super::seen::SeenLayout;
use crate::model::operation::Symbol;
use crate::reward::count::flow::{FlowTable, StepFlows};
use crate::reward::count::weight::Whole;
use std::ops::ControlFlow;

/// Which steps are gone through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stretch {
    /// The first step.
    pub first: usize,
    /// The step after the last.
    pub end: usize,
    /// Whether it is an ending: the actions of the first step do not depend on the token before, and
    /// those of the others do.
    pub ending: bool,
}

/// The code so far, with alpha.
pub(super) struct Descent<'a, W> {
    flows: &'a FlowTable<W>,
    stretch: Stretch,
    tolerance: W,
    pub alpha: Vec<W>,
    pub actions: Vec<Symbol>,
}

/// Whether the actions of a step do not depend on the token before it.
pub(super) fn forgets<W: Whole>(step: &StepFlows<W>, actions: &[Symbol]) -> bool {
    let mut windows = actions[step.cells.clone()].chunks_exact(step.histories);
    windows.all(|window| window.iter().all(|&action| action == window[0]))
}

/// How many codes differ from the actions of a step in the names of its tokens.
pub(super) fn namings<W: Whole>(step: &StepFlows<W>, actions: &[Symbol], q: usize) -> u128 {
    if !step.relabels {
        return 1;
    }
    let mut known = 0u128;
    let mut ways = 1;
    for &action in &actions[step.cells.clone()] {
        if known >> action & 1 == 0 {
            ways *= (q as u32 - known.count_ones()) as u128;
            known |= 1 << action;
        }
    }
    ways
}

impl<'a, W: Whole> Descent<'a, W> {
    /// Starts where `actions` and their alpha are: what is before the stretch stays as it is.
    pub fn new(
        census: &Frame,
        flows: &'a FlowTable<W>,
        stretch: Stretch,
        actions: &[Symbol],
        alpha: &[W],
    ) -> Descent<'a, W> {
        let mut descent = Descent {
            flows,
            stretch,
            tolerance: census.margin(),
            alpha: alpha.to_vec(),
            actions: actions.to_vec(),
        };
        for step in &flows.steps[stretch.first..] {
            step.clear(&mut descent.alpha, flows.q);
        }
        descent
    }

    /// Starts from other weights at the level before the stretch, when nothing has passed it.
    pub fn start_from(&mut self, layout: &SeenLayout, weights: &[W]) {
        layout.write(weights, &mut self.alpha);
    }

    /// Lets alpha pass the steps of the stretch before `begun`, whose actions are set, and says how
    /// many codes they stand for.
    pub fn begin(&mut self, begun: usize) -> u128 {
        let mut weight = 1;
        for step in &self.flows.steps[self.stretch.first..begun] {
            weight *= namings(step, &self.actions, self.flows.q);
            for cell in step.cells.clone() {
                step.send(&mut self.alpha, cell, self.actions[cell]);
            }
        }
        weight
    }

    /// Visits every code of the steps from `step` on, with the number of codes it stands for, until one
    /// says that it is enough; alpha is as before.
    pub fn descend(
        &mut self,
        step: usize,
        weight: u128,
        visit: &mut impl FnMut(&mut Self, u128) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if step == self.stretch.end {
            visit(self, weight)
        } else {
            let first = self.flows.steps[step].cells.start;
            self.choose(step, first, 0, weight, visit)
        }
    }

    /// Whether the rollouts that consult a cell end with it, and another action earns more.
    fn is_raised_at_the_end(&self, step: &StepFlows<W>, cell: usize, action: Symbol) -> bool {
        let earned = |action| step.earned(&self.alpha, &self.flows.right, cell, action);
        let enough = || earned(action) + self.tolerance;
        step.is_end(cell) && (0..self.flows.q as Symbol).any(|other| earned(other) > enough())
    }

    fn choose(
        &mut self,
        number: usize,
        cell: usize,
        used: usize,
        weight: u128,
        visit: &mut impl FnMut(&mut Self, u128) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let flows = self.flows;
        let step = &flows.steps[number];
        if cell == step.cells.end {
            let skipped = self.stretch.ending && number > self.stretch.first;
            if skipped && forgets(step, &self.actions) {
                return ControlFlow::Continue(());
            }
            return self.descend(number + 1, weight, visit);
        }
        let forgetting = self.stretch.ending && number == self.stretch.first;
        let cells = cell..cell + if forgetting { step.histories } else { 1 };
        let named = if step.relabels { used } else { flows.q };
        for action in 0..(named + 1).min(flows.q) {
            if !forgetting && self.is_raised_at_the_end(step, cell, action as Symbol) {
                continue;
            }
            let (used, weight) = if action == named {
                (used + 1, weight * (flows.q - named) as u128)
            } else {
                (used, weight)
            };
            for cell in cells.clone() {
                self.actions[cell] = action as Symbol;
                step.send(&mut self.alpha, cell, action as Symbol);
            }
            let goes_on = self.choose(number, cells.end, used, weight, visit);
            for cell in cells.clone() {
                step.recall(&mut self.alpha, cell, action as Symbol);
            }
            goes_on?;
        }
        ControlFlow::Continue(())
    }
}
