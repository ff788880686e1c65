//! Holds policies as the kernels read them.

use super::take::take_rows;
use crate::model::policy::{Entries, flushed};
use crate::reward::kernels::Aligned;
use crate::reward::layout::{CellPlace, Layout};
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

    pub fn place(&self, cell: usize, replica: usize) -> CellPlace {
        self.layout.place(cell, replica)
    }

    /// Gives a cell a distribution; probabilities below the least become zero.
    pub fn write(&mut self, cell: usize, replica: usize, row: &[f64]) {
        let place = self.place(cell, replica);
        for (action, &p) in row.iter().enumerate() {
            self.entries[place.at(action)] = flushed(p);
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

    /// Replaces the only replica by the policy with these rows, scaled to sums of 1; false where one is not a
    /// distribution within `tolerance`, and the table then holds no policy.
    pub fn take_rows(&mut self, rows: Entries<'_>, tolerance: f64) -> bool {
        match rows {
            Entries::Double(rows) => take_rows(&self.layout, rows, tolerance, &mut self.entries),
            Entries::Single(rows) => take_rows(&self.layout, rows, tolerance, &mut self.entries),
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
