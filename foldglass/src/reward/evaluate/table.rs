//! Holds policies as the kernels read them.

use crate::model::policy::LEAST_PROBABILITY;
use crate::reward::kernels::Aligned;
use crate::reward::layout::{Layout, Place};
use std::sync::Arc;

/// The distributions of every cell of one or several policies side by side, laid out for the kernels.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PolicyTable {
    pub layout: Arc<Layout>,
    pub entries: Aligned,
}

impl PolicyTable {
    pub fn zeros(layout: Arc<Layout>) -> PolicyTable {
        let entries = Aligned::zeros(layout.sizes.entries);
        PolicyTable { layout, entries }
    }

    pub fn place(&self, cell: usize, replica: usize) -> Place {
        self.layout.place(cell, replica)
    }

    /// Gives a cell a distribution; probabilities below the least become zero.
    pub fn write(&mut self, cell: usize, replica: usize, row: &[f64]) {
        let place = self.place(cell, replica);
        for (action, &p) in row.iter().enumerate() {
            self.entries[place.at(action)] = if p < LEAST_PROBABILITY { 0.0 } else { p };
        }
    }

    pub fn row(&self, cell: usize, replica: usize) -> Vec<f64> {
        let place = self.place(cell, replica);
        let actions = 0..self.layout.class.q();
        actions
            .map(|action| self.entries[place.at(action)])
            .collect()
    }

    /// Replaces a replica by the policy with these rows.
    pub fn set_rows(&mut self, replica: usize, rows: &[f64]) {
        self.layout.scatter_rows(rows, replica, &mut self.entries);
    }

    /// Makes probabilities below the least zero.
    pub fn flush(&mut self) {
        for p in self.entries.iter_mut() {
            *p = if *p < LEAST_PROBABILITY { 0.0 } else { *p };
        }
    }

    /// The rows of a replica, one behind the other.
    pub fn rows(&self, replica: usize) -> Vec<f64> {
        let class = &self.layout.class;
        let mut rows = vec![0.0; class.cells() * class.q()];
        self.layout.gather_rows(&self.entries, replica, &mut rows);
        rows
    }
}
