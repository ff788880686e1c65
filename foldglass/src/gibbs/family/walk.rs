//! Samples complete codes with penalties by Metropolis: single flips, cells and rows as a whole
//! (paper, eq:family).

use super::exact::RunningMeans;
use super::{Averages, Couplings, Energy, Family, minority};
use crate::model::operation::Symbol;
use crate::support::stream::Stream;

/// The settings of a walk's sweep.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct FamilySettings {
    /// g_win and g_tie.
    pub couplings: Couplings,
    /// The temperature, above 0.
    pub tau: f64,
}

impl FamilySettings {
    /// A walk at these couplings and this temperature, which is above 0.
    pub fn new(couplings: Couplings, tau: f64) -> FamilySettings {
        FamilySettings { couplings, tau }
    }
}

/// A complete code on its way.
///
/// A sweep offers every history a random action, then every cell and every row a shift: one number,
/// 0 to q - 1, added modulo q to the actions of all its histories. Strong penalties freeze single
/// histories; where those of a cell agree, its shift is the move of the windowed class. A shift of 0
/// matters: without it every shift that costs nothing would be made in every sweep, and of two
/// actions the walk would go back and forth in step.
#[derive(Debug, Clone)]
pub struct FamilyWalk<'a> {
    family: &'a Family,
    code: Vec<Symbol>,
    /// By cell: how many of its histories take each action.
    counts: Vec<Vec<u32>>,
    /// By input: whether it is solved.
    solved: Vec<bool>,
    energy: Energy,
    stream: Stream,
}

impl<'a> FamilyWalk<'a> {
    /// Starts at a random code of the complete parameterisation.
    pub fn new(family: &'a Family, mut stream: Stream) -> FamilyWalk<'a> {
        let q = family.task.q() as u32;
        let code = (0..family.histories()).map(|_| stream.below(q) as Symbol);
        FamilyWalk::starting_at(family, code.collect(), stream)
    }

    /// Starts at a given one.
    ///
    /// # Panics
    /// If it is none of the family.
    pub fn starting_at(family: &'a Family, code: Vec<Symbol>, stream: Stream) -> FamilyWalk<'a> {
        let is_solved = |input: usize| family.roll_out(&code, input) == family.inputs[input].target;
        FamilyWalk {
            energy: family.energy(&code),
            counts: (0..family.cells())
                .map(|c| family.counts(&code, c))
                .collect(),
            solved: (0..family.inputs.len()).map(is_solved).collect(),
            code,
            family,
            stream,
        }
    }

    /// The code it is at.
    pub fn code(&self) -> &[Symbol] {
        &self.code
    }

    /// The energies of the present code.
    pub fn energy(&self) -> Energy {
        self.energy
    }

    /// Offers every history a flip, then every cell and row a shift, each in its turn.
    pub fn sweep(&mut self, settings: &FamilySettings) {
        let q = self.family.task.q() as u32;
        for history in 0..self.code.len() {
            let action = self.stream.below(q) as Symbol;
            if action != self.code[history] {
                self.offer(&[(history, action)], settings);
            }
        }
        for cell in 0..self.family.cells() {
            let by = self.stream.below(q) as usize;
            if by > 0 {
                let moves = self.shift(&[cell as u32], by);
                self.offer(&moves, settings);
            }
        }
        for row in 0..self.family.rows() {
            let by = self.stream.below(q) as usize;
            let cells = self.family.cells[row].clone();
            // A row of one cell has been offered its shift.
            if by > 0 && cells.len() > 1 {
                let moves = self.shift(&cells, by);
                self.offer(&moves, settings);
            }
        }
    }

    /// Averages over `sweeps` sweeps, after others that are not counted.
    pub fn averages(&mut self, settings: &FamilySettings, before: u64, sweeps: u64) -> Averages {
        (0..before).for_each(|_| self.sweep(settings));
        let mut sum = RunningMeans::default();
        for _ in 0..sweeps {
            self.sweep(settings);
            sum.add(self.family, self.energy, 1.0);
        }
        sum.averages()
    }

    /// The new actions of all histories of some cells.
    fn shift(&self, cells: &[u32], by: usize) -> Vec<(usize, Symbol)> {
        let q = self.family.task.q();
        let histories = cells
            .iter()
            .flat_map(|&c| &self.family.histories[c as usize]);
        let moved = |&history: &u32| {
            let action = self.code[history as usize] as usize + by;
            (history as usize, (action % q) as Symbol)
        };
        histories.map(moved).collect()
    }

    /// Makes changes, and takes them back unless Metropolis accepts them.
    fn offer(&mut self, moves: &[(usize, Symbol)], settings: &FamilySettings) {
        let before = self.energy;
        let old: Vec<(usize, Symbol)> = moves
            .iter()
            .map(|&(history, _)| (history, self.code[history]))
            .collect();
        self.make(moves);
        let total = |energy| self.family.total(energy, settings.couplings);
        let change = total(self.energy) - total(before);
        let accepted = change <= 0.0 || self.stream.uniform() < (-change / settings.tau).exp();
        if !accepted {
            self.make(&old);
        }
    }

    /// Changes actions and what is kept of them.
    fn make(&mut self, moves: &[(usize, Symbol)]) {
        let family = self.family;
        let mut rows: Vec<u32> = Vec::new();
        let mut inputs: Vec<usize> = Vec::new();
        for &(history, action) in moves {
            let cell = family.cell[history];
            let row = family.row[cell as usize];
            if !rows.contains(&row) {
                self.energy.tying -= family.untied(&self.counts, row as usize);
                rows.push(row);
            }
            let counts = &mut self.counts[cell as usize];
            self.energy.window -= u64::from(minority(counts));
            counts[self.code[history] as usize] -= 1;
            counts[action as usize] += 1;
            self.energy.window += u64::from(minority(counts));
            self.code[history] = action;
            let t = family.step(history);
            let input = (history - family.first[t - 1]) / family.task.q().pow(t as u32 - 1);
            if inputs.last() != Some(&input) {
                inputs.push(input);
            }
        }
        for row in rows {
            self.energy.tying += family.untied(&self.counts, row as usize);
        }
        for input in inputs {
            self.roll_out_again(input);
        }
    }

    fn roll_out_again(&mut self, input: usize) {
        let (weight, target) = (
            self.family.inputs[input].weight,
            self.family.inputs[input].target,
        );
        let is_solved = self.family.roll_out(&self.code, input) == target;
        if is_solved != self.solved[input] {
            self.solved[input] = is_solved;
            if is_solved {
                self.energy.reward += weight;
            } else {
                self.energy.reward -= weight;
            }
        }
    }
}
