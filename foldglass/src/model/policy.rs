//! Holds codes and stochastic policies of a class (paper, sections 2.1 and 2.2).
//!
//! A code sigma gives each cell one action; a policy pi gives each cell a distribution.

#[cfg(feature = "serde")]
mod form;
mod initial;

use crate::model::class::Class;
use crate::model::operation::Symbol;
use crate::support::stream::Stream;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;
use thiserror::Error;

#[cfg(feature = "serde")]
pub use form::{CODE_FORMAT, CodeForm, FormError, POLICY_FORMAT, PolicyForm};
pub use initial::{InitialLaw, UnknownLaw};

/// How far from one a row of a policy may sum.
pub const ROW_TOLERANCE: f64 = 1e-9;

/// A sum that misses 1 by at most this is 1 up to rounding: it is above what rounding does to a sum of f64, so that a
/// row that was scaled to the sum 1 is not scaled again.
pub const SUM_ROUNDING: f64 = 1e-12;

/// Probabilities below this are held as zero: they change no reward by more than they are, and
/// their products would be subnormal numbers, on which processors are slow.
pub const LEAST_PROBABILITY: f64 = 1e-150;

/// Probabilities in double or single precision, rows of q one behind the other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Entries<'a> {
    /// In double precision.
    Double(&'a [f64]),
    /// In single precision.
    Single(&'a [f32]),
}

impl<'a> Entries<'a> {
    /// How many there are.
    pub fn count(self) -> usize {
        match self {
            Entries::Double(entries) => entries.len(),
            Entries::Single(entries) => entries.len(),
        }
    }

    /// A part of them.
    ///
    /// # Panics
    /// If it passes the end.
    pub fn part(self, range: Range<usize>) -> Entries<'a> {
        match self {
            Entries::Double(entries) => Entries::Double(&entries[range]),
            Entries::Single(entries) => Entries::Single(&entries[range]),
        }
    }

    pub(crate) fn doubles(self) -> Vec<f64> {
        match self {
            Entries::Double(entries) => entries.to_vec(),
            Entries::Single(entries) => entries.iter().map(|&p| f64::from(p)).collect(),
        }
    }
}

/// A table that is not a code or policy of its class.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum TableError {
    /// A wrong number of entries.
    #[error("the table has {got} entries: this class has {want} cells, and each needs one")]
    WrongSize {
        /// Entries given.
        got: usize,
        /// Cells of the class.
        want: usize,
    },
    /// An action that is not a symbol.
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
    /// A number outside [0, 1].
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
    #[error("the row of cell {cell} sums to {sum}: it must sum to 1 within {tolerance:e}")]
    RowSum {
        /// The cell.
        cell: usize,
        /// What it sums to.
        sum: f64,
        /// How far from 1 it may sum.
        tolerance: f64,
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
    /// If the function returns something that is not a symbol.
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
    /// let class = ClassSpec::uniform(Operation::paper(), &[2], Shape::untied(0, 0)).lay_out()?;
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

    /// The tokens that the code emits on an input, whose length is one of the task's.
    ///
    /// # Panics
    /// If it is not.
    pub fn roll_out(&self, x: &[Symbol]) -> Vec<Symbol> {
        let mut y = Vec::with_capacity(x.len());
        for t in 1..=x.len() {
            y.push(self.action(self.class.route(x, t, &y)));
        }
        y
    }

    /// Gives a cell another action.
    ///
    /// # Panics
    /// If there is no such cell, or the action is not a symbol: tables of policies hold the actions of
    /// several cells side by side, so an action beyond q would be one of another cell.
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

/// A stochastic policy: a distribution over the q symbols for each cell. Cheap to clone.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    class: Class,
    /// Cell by cell, q probabilities each; shared, so that an evaluator knows a policy again that it has
    /// laid out.
    rows: Arc<[f64]>,
}

impl Policy {
    /// The policy with these probabilities, which are checked already; those below the least become zero.
    fn new(class: &Class, rows: &[f64]) -> Policy {
        Policy {
            class: class.clone(),
            rows: rows.iter().map(|&p| flushed(p)).collect(),
        }
    }

    /// The policy with these rows, one behind the other, without a check.
    pub(crate) fn from_unchecked(class: &Class, rows: &[f64]) -> Policy {
        debug_assert_eq!(rows.len(), class.cells() * class.q());
        Policy::new(class, rows)
    }

    /// The policy that draws every token uniformly.
    pub fn uniform(class: &Class) -> Policy {
        let q = class.q();
        Policy::new(class, &vec![1.0 / q as f64; class.cells() * q])
    }

    /// The policy that follows a code.
    pub fn deterministic(code: &Code) -> Policy {
        let (class, q) = (code.class(), code.class().q());
        let mut rows = vec![0.0; class.cells() * q];
        for (row, &action) in rows.chunks_exact_mut(q).zip(code.actions()) {
            row[usize::from(action)] = 1.0;
        }
        Policy::new(class, &rows)
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
            check_row(class.q(), cell, row.as_ref(), ROW_TOLERANCE)?;
        }
        let rows: Vec<&[f64]> = rows.iter().map(R::as_ref).collect();
        Ok(Policy::new(class, &rows.concat()))
    }

    /// Checks rows laid one behind the other, q probabilities a cell, and makes a policy of them.
    pub fn from_flat(class: &Class, rows: &[f64]) -> Result<Policy, TableError> {
        check_flat(class, rows, ROW_TOLERANCE)?;
        Ok(Policy::new(class, rows))
    }

    /// The same for rows of f64 or f32 that sum to 1 within `tolerance`: each is scaled to the sum 1 where its own misses
    /// 1 by more than `SUM_ROUNDING`.
    pub fn normalized(
        class: &Class,
        rows: Entries<'_>,
        tolerance: f64,
    ) -> Result<Policy, TableError> {
        let mut rows = rows.doubles();
        check_flat(class, &rows, tolerance)?;
        for row in rows.chunks_exact_mut(class.q()) {
            let scale = scale(row.iter().sum());
            row.iter_mut().for_each(|p| *p *= scale);
        }
        Ok(Policy::new(class, &rows))
    }

    /// Writes the distributions one behind the other, q probabilities per cell.
    ///
    /// # Panics
    /// If `rows` does not hold q numbers per cell.
    pub fn rows_into(&self, rows: &mut [f64]) {
        rows.copy_from_slice(&self.rows);
    }

    /// Replaces the distribution of a cell.
    ///
    /// # Panics
    /// If there is no such cell.
    pub fn set_row(&mut self, cell: usize, row: &[f64]) -> Result<(), TableError> {
        let q = self.class.q();
        check_row(q, cell, row, ROW_TOLERANCE)?;
        let rows = Arc::make_mut(&mut self.rows);
        for (to, &p) in rows[cell * q..][..q].iter_mut().zip(row) {
            *to = flushed(p);
        }
        Ok(())
    }

    /// The class this is a policy of.
    pub fn class(&self) -> &Class {
        &self.class
    }

    /// The distribution of a cell.
    ///
    /// # Panics
    /// If there is no such cell.
    pub fn row(&self, cell: usize) -> &[f64] {
        let q = self.class.q();
        &self.rows[cell * q..][..q]
    }

    /// The distributions of all cells, one behind the other, q probabilities per cell.
    pub fn rows(&self) -> &[f64] {
        &self.rows
    }

    /// The rows, shared.
    pub(crate) fn shared_rows(&self) -> &Arc<[f64]> {
        &self.rows
    }

    /// A code drawn from the policy, the actions of the cells independently.
    pub fn draw(&self, stream: &mut Stream) -> Code {
        Code::from_fn(self.class(), |cell| {
            let row = self.row(cell);
            let mut left = stream.uniform();
            let drawn = row.iter().position(|p| {
                left -= p;
                left < 0.0
            });
            // Rounding may leave a crumb behind the last probability.
            let last = || row.iter().rposition(|&p| p > 0.0);
            drawn.or_else(last).expect("a row sums to 1") as Symbol
        })
    }

    /// The sum over the cells of the entropy of their distributions, in nats.
    pub fn entropy(&self) -> f64 {
        let term = |p: f64| if p > 0.0 { -p * p.ln() } else { 0.0 };
        let cells = 0..self.class().cells();
        cells
            .map(|cell| self.row(cell).iter().copied().map(term).sum::<f64>())
            .sum()
    }
}

/// A probability, or zero where it is below the least.
#[inline(always)]
pub(crate) fn flushed(p: f64) -> f64 {
    if p < LEAST_PROBABILITY { 0.0 } else { p }
}

/// What the probabilities of a row with this sum are multiplied by. One division for a row costs less than one for each
/// of its entries.
#[inline(always)]
pub(crate) fn scale(sum: f64) -> f64 {
    let is_one = (sum - 1.0).abs() <= SUM_ROUNDING;
    if is_one { 1.0 } else { 1.0 / sum }
}

/// Checks rows laid one behind the other, q probabilities per cell, each of which sums to 1 within `tolerance`.
pub(crate) fn check_flat(class: &Class, rows: &[f64], tolerance: f64) -> Result<(), TableError> {
    check_size(class, rows.len())?;
    let q = class.q();
    let are_good = match q {
        2 => are_distributions::<2>(rows, tolerance),
        3 => are_distributions::<3>(rows, tolerance),
        4 => are_distributions::<4>(rows, tolerance),
        5 => are_distributions::<5>(rows, tolerance),
        _ => false,
    };
    if !are_good {
        for (cell, row) in rows.chunks_exact(q).enumerate() {
            check_row(q, cell, row, tolerance)?;
        }
    }
    Ok(())
}

/// Checks that there are q entries for each cell.
pub(crate) fn check_size(class: &Class, entries: usize) -> Result<(), TableError> {
    let (q, cells) = (class.q(), class.cells());
    if !entries.is_multiple_of(q) {
        return Err(TableError::WrongRow {
            cell: entries / q,
            got: entries % q,
            q,
        });
    }
    if entries != cells * q {
        return Err(TableError::WrongSize {
            got: entries / q,
            want: cells,
        });
    }
    Ok(())
}

/// What `check_row` asks of all rows of Q entries, without a branch. A probability above 1 makes the sum
/// exceed 1 and NaN makes it NaN, so the test of the sum finds both.
fn are_distributions<const Q: usize>(rows: &[f64], tolerance: f64) -> bool {
    let (rows, _) = rows.as_chunks::<Q>();
    rows.iter().fold(true, |good, row| {
        let least = row
            .iter()
            .fold(0.0, |least, &p| if p < least { p } else { least });
        let sum = row.iter().sum::<f64>();
        good & (least >= 0.0) & ((sum - 1.0).abs() <= tolerance)
    })
}

fn check_row(q: usize, cell: usize, row: &[f64], tolerance: f64) -> Result<(), TableError> {
    if row.len() != q {
        return Err(TableError::WrongRow {
            cell,
            got: row.len(),
            q,
        });
    }
    if let Some(action) = row
        .iter()
        .position(|p| !(0.0..=1.0 + tolerance).contains(p))
    {
        return Err(TableError::NoProbability {
            cell,
            action,
            value: row[action],
        });
    }
    let sum: f64 = row.iter().sum();
    if (sum - 1.0).abs() > tolerance {
        return Err(TableError::RowSum {
            cell,
            sum,
            tolerance,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::class::{ClassSpec, Shape};
    use crate::model::inputs::InputLaw;
    use crate::model::operation::Operation;
    use crate::support::exact::parse;

    use std::collections::HashSet;

    fn class(law: InputLaw, shape: Shape) -> Class {
        let spec = ClassSpec {
            inputs: law,
            ..ClassSpec::uniform(Operation::cyclic(2).unwrap(), &[1], shape)
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
