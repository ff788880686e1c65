//! Computes the rewards of all codes, in the order of their numbers (paper, section 2.2 and App. A).

use super::numbering::Numbering;
use super::{Pace, TreeError};
use crate::model::class::Class;
use crate::model::operation::Symbol;
use crate::model::policy::Code;
use crate::reward::count::Counter;
use crate::reward::count::flow::FlowTable;
use crate::support::memory::Allowance;
use crate::support::parallel::in_order;

/// About how many nodes a job has.
const JOB: usize = 32_768;

/// Of an untied class: alpha is carried from cell to cell, and what the cells of the last step earn
/// is added up. Codes that begin with the same steps are one job.
pub(super) fn untied(
    flows: &FlowTable<i64>,
    numbering: &Numbering,
    threads: usize,
    rewards: &mut Vec<u64>,
    pace: &mut Pace<'_>,
) -> Result<(), TreeError> {
    let last = flows.steps.len() - 1;
    let nodes = numbering.after(0);
    // The steps that the codes of a job have in common.
    let common = (0..last)
        .find(|&n| numbering.after(n) <= JOB)
        .unwrap_or(last);
    let each = numbering.after(common);
    let worker = |()| {
        let mut descent = RewardDescent::new(flows, numbering);
        move |number: usize| {
            descent.rewards.clear();
            descent.begin(common, (number * each) as u32);
            Ok(Some(std::mem::take(&mut descent.rewards)))
        }
    };
    in_order(vec![(); threads], nodes / each, worker, |some: Vec<u64>| {
        rewards.extend_from_slice(&some);
        pace.visited(some.len() as u64)
    })
}

struct RewardDescent<'a> {
    flows: &'a FlowTable<i64>,
    numbering: &'a Numbering,
    alpha: Vec<i64>,
    actions: Vec<Symbol>,
    /// By cell of the last step and action.
    earned: Vec<i64>,
    rewards: Vec<u64>,
}

impl<'a> RewardDescent<'a> {
    fn new(flows: &'a FlowTable<i64>, numbering: &'a Numbering) -> RewardDescent<'a> {
        let last = flows.steps.last().map_or(0, |step| step.cells.len());
        RewardDescent {
            flows,
            numbering,
            alpha: flows.alpha(),
            actions: vec![0; numbering.cells],
            earned: vec![0; last * flows.q],
            rewards: Vec::new(),
        }
    }

    /// Adds the rewards of all codes that have the first steps in common with a node.
    fn begin(&mut self, common: usize, node: u32) {
        self.numbering.write(node, &mut self.actions);
        self.alpha = self.flows.alpha();
        for step in &self.flows.steps[..common] {
            for cell in step.cells.clone() {
                step.send(&mut self.alpha, cell, self.actions[cell]);
            }
        }
        self.descend(common);
    }

    fn descend(&mut self, number: usize) {
        let flows = self.flows;
        let step = &flows.steps[number];
        if number + 1 < flows.steps.len() {
            let used = if self.numbering.spans[number].named {
                0
            } else {
                flows.q
            };
            return self.choose(number, step.cells.start, used);
        }
        let cells = step.cells.clone();
        for (cell, earned) in cells.zip(self.earned.chunks_exact_mut(flows.q)) {
            for (action, earned) in earned.iter_mut().enumerate() {
                *earned = step.earned(&self.alpha, &flows.right, cell, action as Symbol);
            }
        }
        let settled = step.settled(&self.alpha);
        add_up(&self.earned, flows.q, settled, &mut self.rewards);
    }

    fn choose(&mut self, number: usize, cell: usize, used: usize) {
        let flows = self.flows;
        let step = &flows.steps[number];
        if cell == step.cells.end {
            return self.descend(number + 1);
        }
        for action in 0..(used + 1).min(flows.q) {
            step.send(&mut self.alpha, cell, action as Symbol);
            self.choose(number, cell + 1, used + usize::from(action == used));
            step.recall(&mut self.alpha, cell, action as Symbol);
        }
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

/// Of any class, all codes: a counter goes from each to the next. Codes that begin with the same
/// actions are one job.
pub(super) fn any(
    class: &Class,
    threads: usize,
    rewards: &mut Vec<u64>,
    memory: Allowance,
    pace: &mut Pace<'_>,
) -> Result<(), TreeError> {
    let (q, cells) = (class.q(), class.cells());
    // The cells that differ within a job, one of them at least.
    let mut left = 1;
    while left < cells && q.pow(left as u32 + 1) <= JOB {
        left += 1;
    }
    let each = q.pow(left as u32);
    let nodes = q.pow(cells as u32);
    let memory = memory.shared(threads);
    let job = |number: usize| {
        let digit = |cell: usize| number / q.pow((cells - left - 1 - cell) as u32) % q;
        let action = |cell| if cell < cells - left { digit(cell) } else { 0 };
        let code = Code::from_fn(class, |cell| action(cell) as Symbol);
        let counter = Counter::within(code, memory)?;
        Ok(Some(some(counter, cells - left, each)))
    };
    let take = |some: Vec<u64>| {
        rewards.extend_from_slice(&some);
        pace.visited(some.len() as u64)
    };
    in_order(vec![(); threads], nodes / each, |()| job, take)
}

/// The rewards of all codes that differ from that of a counter in the cells from `first` on.
fn some(mut counter: Counter, first: usize, codes: usize) -> Vec<u64> {
    let (q, last) = (
        counter.code().class().q(),
        counter.code().class().cells() - 1,
    );
    let mut rewards = Vec::with_capacity(codes);
    let mut row = vec![0; q];
    loop {
        counter.rewards(last, &mut row);
        let fits = |&reward: &u128| u64::try_from(reward).expect("the denominator has 62 bits");
        rewards.extend(row.iter().map(fits));
        let action = |cell| counter.code().action(cell) as usize;
        let Some(cell) = (first..last).rev().find(|&cell| action(cell) + 1 < q) else {
            return rewards;
        };
        let next = action(cell) + 1;
        counter.set(cell, next as Symbol);
        (cell + 1..last).for_each(|cell| counter.set(cell, 0));
    }
}
