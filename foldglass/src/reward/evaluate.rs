//! Evaluates stochastic policies exactly, by forward and backward passes (paper, App. A).
//!
//! A rollout is a Markov chain on (s_{t-1}, window, y): alpha_t is its law under the policy, beta_t
//! the reward still to come. They give J, the visits d(c) and the values d(c)Q(c,a) at a cost
//! linear in T, for tied classes and several lengths alike: a cell collects every consultation.

mod passes;
mod plan;
mod table;
mod take;
#[cfg(test)]
mod tests;

use crate::model::class::Class;
use crate::model::policy::{Entries, Policy, TableError, check_flat, check_size};
use crate::reward::layout::{CellWork, EvaluatedTables};
use crate::support::memory::{Allowance, TooLarge};
pub(crate) use passes::{Passes, Wants};
pub(crate) use plan::Scale;
use std::sync::Arc;
pub(crate) use table::PolicyTable;

/// What a policy does, over all inputs.
///
/// ```
/// use foldglass::{ClassSpec, Evaluator, Operation, Policy, Shape};
/// let spec = ClassSpec::uniform(Operation::paper(), &[4], Shape::untied(0, 0));
/// let class = spec.lay_out().unwrap();
/// let mut evaluator = Evaluator::new(&class).unwrap();
/// let reward = evaluator.evaluate(&Policy::uniform(&class));
/// assert!((reward - 0.2).abs() < 1e-15);
/// ```
pub struct Evaluator {
    passes: Passes,
    table: PolicyTable,
    /// The rows that the table holds, of the policy evaluated last.
    rows: Option<Arc<[f64]>>,
}

impl Evaluator {
    /// Takes the memory that evaluating policies of `class` needs, once.
    pub fn new(class: &Class) -> Result<Evaluator, TooLarge> {
        Evaluator::within(class, Allowance::default())
    }

    /// Takes that memory if it is within this.
    pub fn within(class: &Class, memory: Allowance) -> Result<Evaluator, TooLarge> {
        let passes = Passes::new(class, 1, Scale::Probability, memory)?;
        Ok(Evaluator {
            table: PolicyTable::zeros(passes.layout.clone()),
            rows: None,
            passes,
        })
    }

    /// The class it evaluates policies of.
    pub fn class(&self) -> &Class {
        &self.passes.layout.class
    }

    /// Whether the class is so wide that an evaluation uses all threads of the rayon pool it is called
    /// in; outside of a pool, and where it is not, the caller's alone. The bits are the same.
    pub fn uses_threads(&self) -> bool {
        self.passes.is_wide()
    }

    /// Computes J, d and dQ of a policy and returns J. Allocates nothing. A policy that is evaluated
    /// again at once, unchanged, is not laid out again.
    ///
    /// # Panics
    /// If the policy belongs to another class.
    pub fn evaluate(&mut self, policy: &Policy) -> f64 {
        assert!(policy.class() == self.class(), "a policy of another class");
        let rows = policy.shared_rows();
        if !self
            .rows
            .as_ref()
            .is_some_and(|last| Arc::ptr_eq(last, rows))
        {
            self.table.set_rows(0, rows);
            self.rows = Some(rows.clone());
        }
        self.passes.run(&self.table.entries, Wants::ALL);
        self.passes.reward(0)
    }

    /// Evaluates a table that is used once: rows in the order of the cells, q probabilities per cell, of f64 or
    /// f32. Each sums to 1 within `tolerance`, and is scaled to the sum 1 where its own misses 1 by more than rounding
    /// (`SUM_ROUNDING`). No policy is made of them. After an error the evaluator holds no policy, and J, d and dQ of the
    /// one before.
    ///
    /// ```
    /// use foldglass::model::policy::Entries;
    /// use foldglass::{ClassSpec, Evaluator, Operation, Shape};
    /// let spec = ClassSpec::uniform(Operation::cyclic(2).unwrap(), &[3], Shape::untied(0, 0));
    /// let class = spec.lay_out().unwrap();
    /// let mut evaluator = Evaluator::new(&class).unwrap();
    /// let rows = vec![0.5; 2 * class.cells()];
    /// assert_eq!(evaluator.evaluate_rows(Entries::Double(&rows), 1e-9), Ok(0.5));
    /// ```
    pub fn evaluate_rows(&mut self, rows: Entries<'_>, tolerance: f64) -> Result<f64, TableError> {
        check_size(self.class(), rows.count())?;
        self.rows = None;
        if !self.table.take_rows(rows, tolerance) {
            let refused = check_flat(self.class(), &rows.doubles(), tolerance);
            return Err(refused.expect_err("a row that was refused"));
        }
        self.passes.run(&self.table.entries, Wants::ALL);
        Ok(self.passes.reward(0))
    }

    /// Writes the rows of the policy evaluated last, q probabilities per cell in the order of the cells.
    ///
    /// # Panics
    /// If `rows` does not hold q numbers per cell.
    pub fn rows_into(&self, rows: &mut [f64]) {
        let layout = &self.passes.layout;
        layout.gather_rows(&self.table.entries, 0, rows);
    }

    /// The expected number of times a rollout consults a cell, d(c).
    pub fn visits(&self, cell: usize) -> f64 {
        self.passes.visits[self.table.place(cell, 0).cell]
    }

    /// d(c)Q(c,a), the derivative of J by pi_c(a).
    pub fn value(&self, cell: usize, action: usize) -> f64 {
        self.passes.values[self.table.place(cell, 0).at(action)]
    }

    /// d(c)Q(c,a) for every action of a cell, in a list of its own; [`values_into`](Evaluator::values_into) allocates nothing.
    pub fn values(&self, cell: usize) -> Vec<f64> {
        let place = self.table.place(cell, 0);
        (0..self.class().q())
            .map(|action| self.passes.values[place.at(action)])
            .collect()
    }

    /// Writes d(c) of every cell, in the order of the cells; far faster than one by one.
    ///
    /// # Panics
    /// If `visits` does not hold one number a cell.
    pub fn visits_into(&self, visits: &mut [f64]) {
        let layout = &self.passes.layout;
        layout.gather_cells(&self.passes.visits, 0, visits);
    }

    /// Writes d(c)Q(c,a) of every cell and action, q numbers a cell in the order of the cells; far
    /// faster than one by one.
    ///
    /// # Panics
    /// If `values` does not hold q numbers a cell.
    pub fn values_into(&self, values: &mut [f64]) {
        let layout = &self.passes.layout;
        layout.gather_rows(&self.passes.values, 0, values);
    }

    /// Finds two numbers for every cell and action from the rows, visits and values of the policy evaluated last, and
    /// writes them in the order of the cells.
    pub(crate) fn gather_with(&self, work: &impl CellWork, found: [&mut [f64]; 2]) {
        let given = EvaluatedTables {
            rows: &self.table.entries,
            values: &self.passes.values,
            visits: &self.passes.visits,
        };
        self.passes.layout.gather_with(given, work, found);
    }

    /// The sum of alpha times beta over the states of each node: what the lengths that pass the
    /// node contribute to J. With one length it is J at every step.
    pub fn carried(&mut self, policy: &Policy) -> &[f64] {
        self.passes.carry_all = true;
        self.evaluate(policy);
        self.passes.carry_all = false;
        &self.passes.carried
    }
}
