//! Computes the rewards of all codes, in the order of their numbers (paper, section 2.2 and App. A).

use super::numbering::Numbering;
use super::{Pace, TreeError};
use crate::class::Class;
use crate::count::Counter;
use crate::landscape::rungs::Rungs;
use crate::memory::Allowance;
use crate::policy::Code;
use crate::quasigroup::Symbol;

/// Of an untied class: alpha is carried from cell to cell, and what the cells of the last step earn
/// is added up.
pub(super) fn untied(
    rungs: &Rungs<i64>,
    numbering: &Numbering,
    rewards: &mut Vec<u64>,
    pace: &mut Pace<'_>,
) -> Result<(), TreeError> {
    let last = rungs.rungs.last().map_or(0, |rung| rung.cells.len());
    let mut descent = Descent {
        rungs,
        numbering,
        alpha: rungs.alpha(),
        earned: vec![0; last * rungs.q],
        rewards,
        pace,
    };
    descent.descend(0)
}

struct Descent<'a, 'b> {
    rungs: &'a Rungs<i64>,
    numbering: &'a Numbering,
    alpha: Vec<i64>,
    /// By cell of the last rung and action.
    earned: Vec<i64>,
    rewards: &'a mut Vec<u64>,
    pace: &'a mut Pace<'b>,
}

impl Descent<'_, '_> {
    fn descend(&mut self, number: usize) -> Result<(), TreeError> {
        let rungs = self.rungs;
        let rung = &rungs.rungs[number];
        if number + 1 < rungs.rungs.len() {
            let used = if self.numbering.spans[number].named {
                0
            } else {
                rungs.q
            };
            return self.choose(number, rung.cells.start, used);
        }
        let cells = rung.cells.clone();
        for (cell, earned) in cells.zip(self.earned.chunks_exact_mut(rungs.q)) {
            for (action, earned) in earned.iter_mut().enumerate() {
                *earned = rung.earned(&self.alpha, &rungs.right, cell, action as Symbol);
            }
        }
        let before = self.rewards.len();
        add_up(
            &self.earned,
            rungs.q,
            rung.settled(&self.alpha),
            self.rewards,
        );
        self.pace.visited((self.rewards.len() - before) as u64)
    }

    fn choose(&mut self, number: usize, cell: usize, used: usize) -> Result<(), TreeError> {
        let rungs = self.rungs;
        let rung = &rungs.rungs[number];
        if cell == rung.cells.end {
            return self.descend(number + 1);
        }
        for action in 0..(used + 1).min(rungs.q) {
            rung.send(&mut self.alpha, cell, action as Symbol);
            let went = self.choose(number, cell + 1, used + usize::from(action == used));
            rung.recall(&mut self.alpha, cell, action as Symbol);
            went?;
        }
        Ok(())
    }
}

/// All sums of one number for each cell.
fn add_up(earned: &[i64], q: usize, sum: i64, sums: &mut Vec<u64>) {
    if earned.is_empty() {
        sums.push(u64::try_from(sum).expect("a reward is not negative"));
        return;
    }
    for action in 0..q {
        add_up(&earned[q..], q, sum + earned[action], sums);
    }
}

/// Of any class, all codes: a counter goes from each to the next.
pub(super) fn any(
    class: &Class,
    rewards: &mut Vec<u64>,
    allowance: Allowance,
    pace: &mut Pace<'_>,
) -> Result<(), TreeError> {
    let (q, last) = (class.q(), class.cells() - 1);
    let mut counter = Counter::new(Code::from_fn(class, |_| 0), allowance)?;
    let mut row = vec![0; q];
    loop {
        counter.rewards(last, &mut row);
        let fits = |&reward: &u128| u64::try_from(reward).expect("the denominator has 62 bits");
        rewards.extend(row.iter().map(fits));
        pace.visited(q as u64)?;
        let action = |cell| counter.code().action(cell) as usize;
        let Some(cell) = (0..last).rev().find(|&cell| action(cell) + 1 < q) else {
            return Ok(());
        };
        let next = action(cell) + 1;
        counter.set(cell, next as Symbol);
        (cell + 1..last).for_each(|cell| counter.set(cell, 0));
    }
}
