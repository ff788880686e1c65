//! Holds codes and stochastic policies of a class (paper, sections 2.1 and 2.2).
//!
//! A code sigma gives each cell one action; a policy pi gives each cell a distribution.

#[cfg(feature = "serde")]
mod form;
mod initial;

use crate::model::class::{Class, Place, Planes};
use crate::model::quasigroup::Symbol;
use crate::reward::kernels::Aligned;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use thiserror::Error;

#[cfg(feature = "serde")]
pub use form::{CODE_FORMAT, CodeForm, FormError, POLICY_FORMAT, PolicyForm};
pub use initial::{InitialLaw, UnknownLaw};

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

/// A deterministic policy of a class: one action a cell, in the order of the cells.
#[derive(Debug, Clone)]
pub struct Code {
    class: Class,
    actions: Vec<Symbol>,
}

impl PartialEq for Code {
    fn eq(&self, other: &Code) -> bool {
        self.actions == other.actions && self.class == other.class
    }
}

impl Eq for Code {}

impl Hash for Code {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.actions.hash(state);
    }
}

impl Code {
    /// Checks the actions against the class.
    pub fn new<A: Copy + Into<i64>>(class: &Class, actions: &[A]) -> Result<Code, TableError> {
        let (want, q) = (class.cells(), class.q());
        if actions.len() != want {
            return Err(TableError::WrongSize {
                got: actions.len(),
                want,
            });
        }
        let known = |(cell, &action): (usize, &A)| {
            let action: i64 = action.into();
            let symbol = Symbol::try_from(action).ok();
            symbol
                .filter(|&symbol| usize::from(symbol) < q)
                .ok_or(TableError::NoSuchAction { cell, action, q })
        };
        let actions = actions.iter().enumerate().map(known);
        Ok(Code {
            class: class.clone(),
            actions: actions.collect::<Result<_, TableError>>()?,
        })
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
        Code {
            class: class.clone(),
            actions,
        }
    }

    /// The code that folds: it emits x_1 and then B\[y_{t-1}, x_t\], which has reward 1 in every class.
    pub fn fold(class: &Class) -> Code {
        Code::from_fn(class, |cell| {
            let key = class.key(cell);
            let x = key.x[class.shape().window.past].expect("x_t is never SEP");
            let y = key.y.last().copied().flatten();
            y.map_or(x, |y| class.task().square().multiply(y, x))
        })
    }

    /// Every change of a single cell, as the cell and its new action: the neighbours of the code.
    ///
    /// ```
    /// use foldglass::prelude::*;
    /// let class = ClassSpec::uniform(LatinSquare::paper(), &[2], Shape::untied(0, 0)).lay_out()?;
    /// let fold = Code::fold(&class);
    /// let mut counter = Counter::new(fold.clone())?;
    /// let mut rewards = [0; 5];
    /// // Every cell of the fold is consulted on some input, so every change loses.
    /// for (cell, action) in fold.changes() {
    ///     counter.rewards(cell, &mut rewards);
    ///     assert!(rewards[action as usize] < counter.reward());
    /// }
    /// assert_eq!(fold.changes().count(), class.cells() * 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn changes(&self) -> impl Iterator<Item = (usize, Symbol)> + '_ {
        let q = self.class.q() as Symbol;
        let cells = self.actions.iter().enumerate();
        cells.flat_map(move |(cell, &now)| {
            let others = (0..q).filter(move |&action| action != now);
            others.map(move |action| (cell, action))
        })
    }

    /// The class this is a code of.
    pub fn class(&self) -> &Class {
        &self.class
    }

    /// The actions, in the order of the cells.
    pub fn actions(&self) -> &[Symbol] {
        &self.actions
    }

    /// The action of a cell.
    #[inline]
    pub fn action(&self, cell: usize) -> Symbol {
        self.actions[cell]
    }

    /// Gives a cell another action.
    ///
    /// # Panics
    /// If there is no such cell, or the action is not a symbol: tables of policies have the actions of
    /// cells side by side, so that an action beyond q would be one of another cell.
    #[inline]
    pub fn set(&mut self, cell: usize, action: Symbol) {
        let q = self.class.q();
        assert!(
            usize::from(action) < q,
            "action {action} of cell {cell}: actions are 0 to {}",
            q - 1
        );
        self.actions[cell] = action;
    }
}

/// Distributions for each cell of one or several policies side by side, as the kernels read them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Table {
    pub class: Class,
    pub planes: Arc<Planes>,
    pub entries: Aligned,
}

impl Table {
    pub fn zeros(class: &Class, planes: Arc<Planes>) -> Table {
        let entries = Aligned::zeros(planes.entries);
        Table {
            class: class.clone(),
            planes,
            entries,
        }
    }

    pub fn place(&self, cell: usize, replica: usize) -> Place {
        self.planes.place(&self.class, cell, replica)
    }

    pub fn write(&mut self, cell: usize, replica: usize, row: &[f64]) {
        let place = self.place(cell, replica);
        for (action, &p) in row.iter().enumerate() {
            self.entries[place.at(action)] = if p < LEAST_PROBABILITY { 0.0 } else { p };
        }
    }

    pub fn row(&self, cell: usize, replica: usize) -> Vec<f64> {
        let place = self.place(cell, replica);
        (0..self.class.q())
            .map(|action| self.entries[place.at(action)])
            .collect()
    }
}

/// A stochastic policy: a distribution over the q symbols for each cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy(pub(crate) Table);

impl Policy {
    fn from_fn(class: &Class, mut row: impl FnMut(usize, &mut [f64])) -> Policy {
        let mut table = Table::zeros(class, class.planes(1));
        let mut buffer = vec![0.0; class.q()];
        for cell in 0..class.cells() {
            buffer.fill(0.0);
            row(cell, &mut buffer);
            table.write(cell, 0, &buffer);
        }
        Policy(table)
    }

    /// The policy whose rows a function gives, without a check.
    pub(crate) fn from_table_rows(class: &Class, row: impl Fn(usize) -> Vec<f64>) -> Policy {
        Policy::from_fn(class, |cell, to| to.copy_from_slice(&row(cell)))
    }

    /// The policy that draws every token uniformly.
    pub fn uniform(class: &Class) -> Policy {
        Policy::from_fn(class, |_, row| row.fill(1.0 / row.len() as f64))
    }

    /// The policy that follows a code.
    pub fn deterministic(code: &Code) -> Policy {
        Policy::from_fn(code.class(), |cell, row| {
            row[code.action(cell) as usize] = 1.0
        })
    }

    /// Checks rows (in the order of the cells) and makes a policy of them.
    pub fn from_rows<R: AsRef<[f64]>>(class: &Class, rows: &[R]) -> Result<Policy, TableError> {
        if rows.len() != class.cells() {
            return Err(TableError::WrongSize {
                got: rows.len(),
                want: class.cells(),
            });
        }
        for (cell, row) in rows.iter().enumerate() {
            check_row(class.q(), cell, row.as_ref())?;
        }
        Ok(Policy::from_fn(class, |cell, row| {
            row.copy_from_slice(rows[cell].as_ref())
        }))
    }

    /// Checks rows laid one behind the other, q probabilities a cell, and makes a policy of them.
    pub fn from_flat(class: &Class, rows: &[f64]) -> Result<Policy, TableError> {
        let (q, cells) = (class.q(), class.cells());
        if !rows.len().is_multiple_of(q) {
            return Err(TableError::WrongRow {
                cell: rows.len() / q,
                got: rows.len() % q,
                q,
            });
        }
        if rows.len() != cells * q {
            return Err(TableError::WrongSize {
                got: rows.len() / q,
                want: cells,
            });
        }
        let are_good = match q {
            2 => are_distributions::<2>(rows),
            3 => are_distributions::<3>(rows),
            4 => are_distributions::<4>(rows),
            5 => are_distributions::<5>(rows),
            _ => false,
        };
        if !are_good {
            for (cell, row) in rows.chunks_exact(q).enumerate() {
                check_row(q, cell, row)?;
            }
        }
        let mut table = Table::zeros(class, class.planes(1));
        let planes = table.planes.clone();
        planes.write_rows(class, rows, 0, &mut table.entries, LEAST_PROBABILITY);
        Ok(Policy(table))
    }

    /// Writes the distributions one behind the other, q probabilities a cell.
    ///
    /// # Panics
    /// If `rows` does not hold q numbers a cell.
    pub fn rows_into(&self, rows: &mut [f64]) {
        let Table {
            class,
            planes,
            entries,
        } = &self.0;
        planes.read_rows(class, entries, 0, rows);
    }

    /// Replaces the distribution of a cell.
    pub fn set_row(&mut self, cell: usize, row: &[f64]) -> Result<(), TableError> {
        check_row(self.0.class.q(), cell, row)?;
        self.0.write(cell, 0, row);
        Ok(())
    }

    /// The class this is a policy of.
    pub fn class(&self) -> &Class {
        &self.0.class
    }

    /// The distribution of a cell.
    pub fn row(&self, cell: usize) -> Vec<f64> {
        self.0.row(cell, 0)
    }

    /// The sum over the cells of the entropy of their distributions, in nats.
    pub fn entropy(&self) -> f64 {
        let term = |p: f64| if p > 0.0 { -p * p.ln() } else { 0.0 };
        let cells = 0..self.class().cells();
        cells
            .map(|cell| self.row(cell).into_iter().map(term).sum::<f64>())
            .sum()
    }
}

/// What `check_row` asks of all rows of Q entries, without a branch. A probability above 1 has a sum above
/// 1, and one that is no number such a sum.
fn are_distributions<const Q: usize>(rows: &[f64]) -> bool {
    let (rows, _) = rows.as_chunks::<Q>();
    rows.iter().fold(true, |good, row| {
        let least = row
            .iter()
            .fold(0.0, |least, &p| if p < least { p } else { least });
        let sum = row.iter().sum::<f64>();
        good & (least >= 0.0) & ((sum - 1.0).abs() <= ROW_TOLERANCE)
    })
}

fn check_row(q: usize, cell: usize, row: &[f64]) -> Result<(), TableError> {
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
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::class::{ClassSpec, Shape};
    use crate::model::inputs::InputLaw;
    use crate::model::quasigroup::LatinSquare;
    use crate::support::exact::parse;

    use std::collections::HashSet;

    fn class(law: InputLaw, shape: Shape) -> Class {
        let spec = ClassSpec {
            inputs: law,
            ..ClassSpec::uniform(LatinSquare::cyclic(2).unwrap(), &[1], shape)
        };
        spec.lay_out().unwrap()
    }

    #[test]
    fn codes_are_equal_if_actions_and_classes_are() {
        let untied = || class(InputLaw::Uniform, Shape::untied(0, 0));
        let code = |class: &Class| Code::new(class, &[0, 1]).unwrap();
        let first = code(&untied());
        // Laid out once more, it is the same class.
        assert_eq!(first, code(&untied()));
        let markov = InputLaw::Markov(parse("9/10").unwrap());
        let others = [
            Code::new(&untied(), &[1, 1]).unwrap(),
            code(&class(InputLaw::Uniform, Shape::tied(0, 0))),
            code(&class(InputLaw::Uniform, Shape::untied(0, 1))),
            code(&class(markov, Shape::untied(0, 0))),
        ];
        for other in &others {
            assert_ne!(first, *other);
        }
        let mut set: HashSet<Code> = others.into_iter().collect();
        assert!(set.insert(first.clone()) && !set.insert(code(&untied())));
        assert_eq!(set.len(), 5);
    }

    #[test]
    fn actions_of_any_width_are_held_to_the_class() {
        let class = class(InputLaw::Uniform, Shape::untied(0, 0));
        assert_eq!(Code::new(&class, &[0u16, 1]), Code::new(&class, &[0i64, 1]));
        for (cell, action) in [(0, -1), (1, 2), (1, 65_536), (0, i64::MIN)] {
            let mut actions = [0i64; 2];
            actions[cell] = action;
            let error = TableError::NoSuchAction { cell, action, q: 2 };
            assert_eq!(Code::new(&class, &actions), Err(error));
        }
        let error = TableError::WrongSize { got: 3, want: 2 };
        assert_eq!(Code::new(&class, &[0u16; 3]), Err(error));
    }

    #[test]
    #[should_panic(expected = "action 2 of cell 1: actions are 0 to 1")]
    fn an_action_that_is_not_a_symbol_cannot_be_set() {
        let class = class(InputLaw::Uniform, Shape::untied(0, 0));
        Code::new(&class, &[0u16, 1]).unwrap().set(1, 2);
    }
}
