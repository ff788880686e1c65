//! Weighs codes over the complete parameterisation, windows and tying as soft penalties
//! (paper, section 2.2, eq:family).
//!
//! A history is the whole input with the tokens emitted so far; a complete code has an action for
//! each. The untied class of a window collects histories in cells, the tied one cells in rows:
//! E_win is the fraction of histories whose action differs from the majority of their cell, E_tie
//! the fraction of cells, by their histories, whose action differs from the majority of their row.
//! Both have fixed, uniform weights, so they are whole numbers over the number of histories.
//!
//! E_tot = -J + g_win E_win + g_tie E_tie; a code has weight exp(-E_tot / tau).
//!
//! **Letters.** h is a history, c a cell, r a row, H the number of histories, n_c that of a cell's.

mod exact;
mod walk;

pub use exact::{Averages, Limit, MOST_CODES, complete_reward};
pub use walk::{FamilySettings, FamilyWalk};

use crate::model::class::{CellKey, Shape};
use crate::model::operation::{Symbol, digits};
use crate::model::task::Task;
use crate::support::memory::{Allowance, TooLarge};
use dashu_int::UBig;
use std::collections::HashMap;
use thiserror::Error;

/// A complete parameterisation that cannot be laid out.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FamilyError {
    /// Several lengths: no history belongs to two of them.
    #[error("{0} lengths: a complete code is one of a single length")]
    SeveralLengths(usize),
    /// A process reward.
    #[error(
        "a complete code is rewarded for its last token: --reward process is not supported here"
    )]
    ProcessReward,
    /// A denominator beyond 52 bits.
    #[error("the rewards' denominator {0} is beyond 2^52")]
    TooFine(UBig),
    /// Too much memory.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
}

/// The complete parameterisation of a task, and the cells and rows of a window in it.
#[derive(Debug, Clone)]
pub struct Family {
    task: Task,
    shape: Shape,
    /// By input: its probability's numerator and its target.
    inputs: Vec<FamilyInput>,
    denominator: u64,
    /// By step: where its histories begin; then their number.
    first: Vec<usize>,
    /// By history: its cell.
    cell: Vec<u32>,
    /// By cell: its histories.
    histories: Vec<Vec<u32>>,
    /// By cell: its row.
    row: Vec<u32>,
    /// By row: its cells.
    cells: Vec<Vec<u32>>,
}

#[derive(Debug, Clone, Copy)]
struct FamilyInput {
    weight: u64,
    target: Symbol,
}

/// The whole input, and the tokens emitted so far.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct History {
    /// x_1 .. x_T.
    pub x: Vec<Symbol>,
    /// y_1 .. y_{t-1}.
    pub y: Vec<Symbol>,
}

/// J and the penalties of a complete code, as whole numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Energy {
    /// The numerator of J, over [`Family::denominator`].
    pub reward: u64,
    /// That of E_win, over [`Family::histories`].
    pub window: u64,
    /// That of E_tie, over the same.
    pub tying: u64,
}

/// How strong the penalties are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Couplings {
    /// g_win.
    pub window: f64,
    /// g_tie.
    pub tying: f64,
}

impl Family {
    /// Lays out the complete codes of a task of one length, with the cells of a shape in them
    /// (whether the shape is tied does not matter).
    ///
    /// ```
    /// use foldglass::gibbs::family::Family;
    /// use foldglass::{InputLaw, Operation, Shape, Task};
    /// let parity = Task::new(Operation::cyclic(2).unwrap(), &InputLaw::Uniform, &[2]).unwrap();
    /// let family = Family::new(parity, Shape::untied(0, 0)).unwrap();
    /// assert_eq!((family.histories(), family.cells()), (12, 6));
    /// ```
    pub fn new(task: Task, shape: Shape) -> Result<Family, FamilyError> {
        Family::within(task, shape, Allowance::default())
    }

    /// Lays them out if they fit into this memory.
    pub fn within(task: Task, shape: Shape, memory: Allowance) -> Result<Family, FamilyError> {
        let &[length] = task.lengths() else {
            return Err(FamilyError::SeveralLengths(task.lengths().len()));
        };
        if !task.reward().is_final() {
            return Err(FamilyError::ProcessReward);
        }
        let q = task.q();
        Family::check(q, length, memory)?;
        let inputs = power(q, length);
        let denominator = u64::try_from(task.denominator())
            .ok()
            .filter(|&denominator| denominator <= 1 << 52)
            .ok_or_else(|| FamilyError::TooFine(task.denominator()))?;
        let inputs = inputs.expect("fewer than histories") as usize;
        let mut first = vec![0];
        for t in 0..length {
            first.push(first[t] + inputs * q.pow(t as u32));
        }
        let mut family = Family {
            inputs: (0..inputs).map(|n| input(&task, length, n)).collect(),
            cell: vec![0; first[length]],
            histories: Vec::new(),
            row: Vec::new(),
            cells: Vec::new(),
            denominator,
            first,
            task,
            shape,
        };
        family.collect();
        Ok(family)
    }

    /// Refuses inputs of q symbols and this length whose complete codes do not fit.
    pub fn check(q: usize, length: usize, memory: Allowance) -> Result<(), TooLarge> {
        let of_step = |t: usize| power(q, length.checked_add(t)?);
        let all = (0..length).try_fold(0u128, |sum, t| sum.checked_add(of_step(t)?));
        let bytes = all.and_then(|all| all.checked_mul(BYTES));
        memory.check("the complete codes of the task", bytes)
    }

    /// Finds the cell of every history and the row of every cell, in the order of the histories.
    fn collect(&mut self) {
        let mut cells: HashMap<CellKey, u32> = HashMap::new();
        let mut rows: HashMap<CellKey, u32> = HashMap::new();
        for history in 0..self.cell.len() {
            let key = self.key(history);
            let cell = *cells.entry(key.clone()).or_insert_with(|| {
                let tied = CellKey { t: None, ..key };
                let row = *rows.entry(tied).or_insert_with(|| {
                    self.cells.push(Vec::new());
                    self.cells.len() as u32 - 1
                });
                self.histories.push(Vec::new());
                self.row.push(row);
                let cell = self.histories.len() as u32 - 1;
                self.cells[row as usize].push(cell);
                cell
            });
            self.cell[history] = cell;
            self.histories[cell as usize].push(history as u32);
        }
    }

    /// The input and tokens of a history.
    ///
    /// # Panics
    /// If there is no such history.
    pub fn history(&self, history: usize) -> History {
        let (t, q) = (self.step(history), self.task.q());
        let tokens = q.pow(t as u32 - 1);
        let inner = history - self.first[t - 1];
        History {
            x: digits(inner / tokens, q, self.length()),
            y: digits(inner % tokens, q, t - 1),
        }
    }

    /// The key of a history's cell in the untied class.
    fn key(&self, history: usize) -> CellKey {
        let History { x, y } = self.history(history);
        let t = y.len() + 1;
        let at = |list: &[Symbol], place: isize| {
            let place = usize::try_from(place - 1).ok();
            place.and_then(|place| list.get(place).copied())
        };
        let Shape { window, memory, .. } = self.shape;
        let (t, past, future) = (t as isize, window.past as isize, window.future as isize);
        CellKey {
            t: Some(t as usize),
            x: (t - past..=t + future).map(|place| at(&x, place)).collect(),
            y: (t - memory as isize..t)
                .map(|place| at(&y, place))
                .collect(),
        }
    }

    /// The step of a history, from 1.
    fn step(&self, history: usize) -> usize {
        self.first.partition_point(|&first| first <= history)
    }

    /// The history of an input after this number of tokens, read as a number in base q.
    fn place(&self, input: usize, t: usize, tokens: usize) -> usize {
        self.first[t - 1] + input * self.task.q().pow(t as u32 - 1) + tokens
    }

    /// T.
    pub fn length(&self) -> usize {
        self.first.len() - 1
    }

    /// The task.
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// The window and memory of the cells.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// H, what penalties are over.
    pub fn histories(&self) -> usize {
        self.cell.len()
    }

    /// The cells of the untied class.
    pub fn cells(&self) -> usize {
        self.histories.len()
    }

    /// The rows: cells of the tied class.
    pub fn rows(&self) -> usize {
        self.cells.len()
    }

    /// The denominator of the rewards.
    pub fn denominator(&self) -> u64 {
        self.denominator
    }

    /// The complete code that does as a code of the untied class, its cells in the order of
    /// [`Family::cell_keys`].
    pub fn lift(&self, actions: &[Symbol]) -> Vec<Symbol> {
        self.cell.iter().map(|&c| actions[c as usize]).collect()
    }

    /// The keys of the cells.
    pub fn cell_keys(&self) -> Vec<CellKey> {
        self.histories
            .iter()
            .map(|h| self.key(h[0] as usize))
            .collect()
    }

    /// The last token of a complete code on an input.
    fn roll_out(&self, code: &[Symbol], input: usize) -> Symbol {
        self.follow(input, |history| code[history])
    }

    /// The last token on an input, by the action of every history.
    fn follow(&self, input: usize, action: impl Fn(usize) -> Symbol) -> Symbol {
        let (mut tokens, mut last) = (0, 0);
        for t in 1..=self.length() {
            last = action(self.place(input, t, tokens));
            tokens = tokens * self.task.q() + last as usize;
        }
        last
    }

    /// J and the penalties of a complete code, from the definitions.
    ///
    /// # Panics
    /// If there is not one action a history, all below q.
    pub fn energy(&self, code: &[Symbol]) -> Energy {
        assert_eq!(code.len(), self.histories(), "an action for each history");
        let solved = (0..self.inputs.len())
            .filter(|&input| self.roll_out(code, input) == self.inputs[input].target);
        let counts: Vec<Vec<u32>> = (0..self.cells()).map(|c| self.counts(code, c)).collect();
        let window = (0..self.cells()).map(|c| u64::from(minority(&counts[c])));
        Energy {
            reward: solved.map(|input| self.inputs[input].weight).sum(),
            window: window.sum(),
            tying: (0..self.rows()).map(|row| self.untied(&counts, row)).sum(),
        }
    }

    /// How many histories of a cell take each action.
    fn counts(&self, code: &[Symbol], cell: usize) -> Vec<u32> {
        let mut counts = vec![0; self.task.q()];
        for &history in &self.histories[cell] {
            counts[code[history as usize] as usize] += 1;
        }
        counts
    }

    /// The histories of the cells of a row whose action is not that of the row's majority. A cell
    /// whose actions tie holds any of those that are most frequent.
    fn untied(&self, counts: &[Vec<u32>], row: usize) -> u64 {
        let cells = &self.cells[row];
        let size = |&cell: &u32| self.histories[cell as usize].len() as u64;
        let all: u64 = cells.iter().map(size).sum();
        let holding = |action: usize| {
            let holds = |cell: &&u32| {
                let counts = &counts[**cell as usize];
                counts.iter().all(|&count| count <= counts[action])
            };
            cells.iter().filter(holds).map(size).sum::<u64>()
        };
        all - (0..self.task.q()).map(holding).max().unwrap_or(0)
    }

    /// E_tot of whole numbers.
    pub fn total(&self, energy: Energy, couplings: Couplings) -> f64 {
        let histories = self.histories() as f64;
        let penalty =
            couplings.window * energy.window as f64 + couplings.tying * energy.tying as f64;
        penalty / histories - energy.reward as f64 / self.denominator as f64
    }
}

/// The bytes that a history takes in the family and a walk on it.
const BYTES: u128 = 24;

fn power(q: usize, exponent: usize) -> Option<u128> {
    (q as u128).checked_pow(u32::try_from(exponent).ok()?)
}

fn input(task: &Task, length: usize, number: usize) -> FamilyInput {
    let x = digits(number, task.q(), length);
    FamilyInput {
        weight: task.inputs().weights(&x).product(),
        target: task.fold(&x),
    }
}

/// How many are not of the most frequent kind.
fn minority(counts: &[u32]) -> u32 {
    counts.iter().sum::<u32>() - counts.iter().max().copied().unwrap_or(0)
}
