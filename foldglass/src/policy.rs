//! Holds codes and stochastic policies of a class (paper, sections 2.1 and 2.2).
//!
//! A code sigma gives each cell one action; a policy pi gives each cell a distribution.

use crate::aligned::Aligned;
use crate::class::Class;
use crate::quasigroup::Symbol;
use thiserror::Error;

/// How far from one a row of a policy may sum.
pub const ROW_TOLERANCE: f64 = 1e-9;

/// Probabilities below this are held as zero: they change no reward by more than they are, and
/// their products would be subnormal numbers, on which processors are slow.
pub const LEAST_PROBABILITY: f64 = 1e-150;

/// A table that is not a code or policy of its class.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum TableError {
    /// A wrong number of entries.
    #[error("the table has {got} entries: this class has {want} cells")]
    WrongSize {
        /// Entries given.
        got: usize,
        /// Cells of the class.
        want: usize,
    },
    /// An action that is no symbol.
    #[error("cell {cell} has the action {action}: actions are 0 to {}", .q - 1)]
    NoSuchAction {
        /// The cell.
        cell: usize,
        /// What was given.
        action: i64,
        /// The number of symbols.
        q: usize,
    },
    /// A row with a wrong number of probabilities.
    #[error("the row of cell {cell} has {got} probabilities: it needs q = {q}")]
    WrongRow {
        /// The cell.
        cell: usize,
        /// Probabilities given.
        got: usize,
        /// The number of symbols.
        q: usize,
    },
    /// A probability that is none.
    #[error("cell {cell} gives action {action} the probability {value}: it must lie in [0, 1]")]
    NoProbability {
        /// The cell.
        cell: usize,
        /// The action.
        action: usize,
        /// What was given.
        value: f64,
    },
    /// A row that does not sum to one.
    #[error("the row of cell {cell} sums to {sum}: it must sum to 1 within {ROW_TOLERANCE:e}")]
    RowSum {
        /// The cell.
        cell: usize,
        /// What it sums to.
        sum: f64,
    },
}

/// A deterministic policy: one action a cell, in the order of the cells.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Code(Vec<Symbol>);

impl Code {
    /// Checks the actions against the class.
    pub fn new(class: &Class, actions: &[i64]) -> Result<Code, TableError> {
        let (want, q) = (class.cells(), class.q());
        if actions.len() != want {
            return Err(TableError::WrongSize {
                got: actions.len(),
                want,
            });
        }
        match actions.iter().position(|&a| !(0..q as i64).contains(&a)) {
            Some(cell) => Err(TableError::NoSuchAction {
                cell,
                action: actions[cell],
                q,
            }),
            None => Ok(Code(actions.iter().map(|&a| a as Symbol).collect())),
        }
    }

    /// The code whose action at each cell is given by a function.
    ///
    /// # Panics
    /// If the function returns something that is no symbol.
    pub fn from_fn(class: &Class, mut action: impl FnMut(usize) -> Symbol) -> Code {
        let actions: Vec<Symbol> = (0..class.cells()).map(&mut action).collect();
        assert!(
            actions.iter().all(|&a| (a as usize) < class.q()),
            "actions are symbols"
        );
        Code(actions)
    }

    /// The actions, in the order of the cells.
    pub fn actions(&self) -> &[Symbol] {
        &self.0
    }

    /// The action of a cell.
    #[inline]
    pub fn action(&self, cell: usize) -> Symbol {
        self.0[cell]
    }

    /// Gives a cell another action.
    ///
    /// # Panics
    /// If there is no such cell.
    #[inline]
    pub fn set(&mut self, cell: usize, action: Symbol) {
        self.0[cell] = action;
    }
}

/// A stochastic policy: a distribution over the q symbols for each cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    class: Class,
    entries: Aligned,
}

impl Policy {
    fn empty(class: &Class) -> Policy {
        Policy {
            class: class.clone(),
            entries: Aligned::zeros(class.planes().entries),
        }
    }

    /// The policy that draws every token uniformly.
    pub fn uniform(class: &Class) -> Policy {
        let mut policy = Policy::empty(class);
        let row = vec![1.0 / class.q() as f64; class.q()];
        (0..class.cells()).for_each(|cell| policy.write(cell, &row));
        policy
    }

    /// The policy that follows a code.
    pub fn deterministic(class: &Class, code: &Code) -> Policy {
        let mut policy = Policy::empty(class);
        for (cell, &action) in code.actions().iter().enumerate() {
            let place = class.planes().place(class, cell);
            policy.entries[place.at(action as usize)] = 1.0;
        }
        policy
    }

    /// Checks rows (in the order of the cells) and makes a policy of them.
    pub fn from_rows<R: AsRef<[f64]>>(class: &Class, rows: &[R]) -> Result<Policy, TableError> {
        if rows.len() != class.cells() {
            return Err(TableError::WrongSize {
                got: rows.len(),
                want: class.cells(),
            });
        }
        let mut policy = Policy::empty(class);
        for (cell, row) in rows.iter().enumerate() {
            policy.set_row(cell, row.as_ref())?;
        }
        Ok(policy)
    }

    /// Replaces the distribution of a cell.
    pub fn set_row(&mut self, cell: usize, row: &[f64]) -> Result<(), TableError> {
        let q = self.class.q();
        if row.len() != q {
            return Err(TableError::WrongRow {
                cell,
                got: row.len(),
                q,
            });
        }
        if let Some(action) = row
            .iter()
            .position(|p| !(0.0..=1.0 + ROW_TOLERANCE).contains(p))
        {
            return Err(TableError::NoProbability {
                cell,
                action,
                value: row[action],
            });
        }
        let sum: f64 = row.iter().sum();
        if (sum - 1.0).abs() > ROW_TOLERANCE {
            return Err(TableError::RowSum { cell, sum });
        }
        self.write(cell, row);
        Ok(())
    }

    fn write(&mut self, cell: usize, row: &[f64]) {
        let place = self.class.planes().place(&self.class, cell);
        for (action, &p) in row.iter().enumerate() {
            self.entries[place.at(action)] = if p < LEAST_PROBABILITY { 0.0 } else { p };
        }
    }

    /// The class this is a policy of.
    pub fn class(&self) -> &Class {
        &self.class
    }

    /// The distribution of a cell.
    pub fn row(&self, cell: usize) -> Vec<f64> {
        let place = self.class.planes().place(&self.class, cell);
        (0..self.class.q())
            .map(|action| self.entries[place.at(action)])
            .collect()
    }

    /// The whole table as the kernels read it.
    pub(crate) fn entries(&self) -> &[f64] {
        &self.entries
    }
}
