//! Leads one summary through a step, whatever the actions of its cells.
//!
//! Cells are taken one by one: each adds its flow to one of the q columns. Partial results that
//! agree up to the names of tokens are one from then on, with the sum of their tallies, so no
//! orbit has to be sized: every code is counted, most of them together. What a cell adds to all
//! numbers of a run alike, whatever its action, is certain; a cell that adds nothing else is idle.

use super::layout::{Columns, SummaryLayout, SummaryNode, SummaryStep};
use super::table::{CodeTally, Table};
use crate::reward::count::rows::hash;
use crate::reward::count::weight::Whole;

/// The contribution of a cell, by token alike but for the column.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Push<W> {
    node: usize,
    /// The reward of its rollouts, token by token; empty where tokens are not rewarded.
    earned: Vec<W>,
    /// Places in the summary with token 0, ascending, and what is added there.
    sent: Vec<(u32, W)>,
}

/// Buffers, kept from one summary to the next.
pub(super) struct Expansion<W, C> {
    pushes: Vec<Push<W>>,
    partial: Table<W, C>,
    next: Table<W, C>,
    row: Vec<W>,
}

impl<W: Whole, C: CodeTally> Expansion<W, C> {
    /// Buffers for a step after which a summary has `width` numbers.
    pub fn new(width: usize) -> Expansion<W, C> {
        Expansion {
            pushes: Vec::new(),
            partial: Table::new(width),
            next: Table::new(width),
            row: vec![W::zero(); width],
        }
    }

    /// Hands every summary that `from` can lead to to `take`, with the number of ways.
    pub fn expand(
        &mut self,
        layout: &SummaryLayout<W>,
        step: &SummaryStep<W>,
        from: &[W],
        mut take: impl FnMut(&[W], &C),
    ) {
        let Prepared { idle, certain } = self.prepare(layout, step, from);
        self.partial.clear();
        self.row.fill(W::zero());
        self.row[0] = certain;
        let ways = (0..idle).fold(C::of(1), |ways, _| ways.times(&C::of(layout.q)));
        self.partial.add(&self.row, hash(&self.row), &ways);
        for (i, push) in self.pushes.iter().enumerate() {
            let node = &step.nodes[push.node];
            // Where they are rewarded, tokens have names until all cells of the node are set.
            let named = node.lift.is_some();
            let last = self
                .pushes
                .get(i + 1)
                .is_none_or(|next| next.node != push.node);
            self.next.clear();
            for (row, ways) in self.partial.iter() {
                for token in 0..layout.q {
                    self.row.copy_from_slice(row);
                    push.add_to(&mut self.row, token, node.columns);
                    settle(&mut self.row, token, node);
                    if !named {
                        place(&mut self.row, token, node.columns);
                    } else if last {
                        sort(&mut self.row, node.columns);
                    }
                    self.next.add(&self.row, hash(&self.row), ways);
                }
            }
            std::mem::swap(&mut self.partial, &mut self.next);
        }
        self.partial.iter().for_each(|(row, ways)| take(row, ways));
    }

    /// At most about how many summaries `from` can lead to.
    pub fn bound(&mut self, layout: &SummaryLayout<W>, step: &SummaryStep<W>, from: &[W]) -> f64 {
        self.prepare(layout, step, from);
        let mut bound = 1.0;
        let alike = self.pushes.chunk_by(|a, b| a == b);
        for group in alike {
            // The ways to share alike pushes among q columns: C(m + q - 1, q - 1).
            let m = group.len() as f64;
            bound *= (1..layout.q)
                .map(|i| (m + i as f64) / i as f64)
                .product::<f64>();
        }
        for node in step.nodes.iter().filter(|node| node.lift.is_none()) {
            if node.columns.length > 0 {
                bound /= (1..=layout.q).map(|n| n as f64).product::<f64>();
            }
        }
        bound.max(1.0)
    }

    /// Fills `pushes`, like ones together.
    fn prepare(
        &mut self,
        layout: &SummaryLayout<W>,
        step: &SummaryStep<W>,
        from: &[W],
    ) -> Prepared<W> {
        self.pushes.clear();
        let mut prepared = Prepared {
            idle: 0,
            certain: from[0],
        };
        for (number, node) in step.nodes.iter().enumerate() {
            for cell in node.cells.clone() {
                let mut push = Push::new((number, node), step, cell, from, layout.q);
                prepared.certain += push.settle(node);
                if push.is_idle() {
                    prepared.idle += 1;
                } else {
                    self.pushes.push(push);
                }
            }
        }
        self.pushes.sort_unstable();
        prepared
    }
}

/// The facts about a step that hold before any of its actions are chosen.
struct Prepared<W> {
    /// Cells whose actions change nothing.
    idle: usize,
    /// The reward that every choice earns.
    certain: W,
}

impl<W: Whole> Push<W> {
    fn new(
        (number, node): (usize, &SummaryNode<W>),
        step: &SummaryStep<W>,
        cell: usize,
        from: &[W],
        q: usize,
    ) -> Push<W> {
        let mut push = Push {
            node: number,
            earned: Vec::new(),
            sent: Vec::new(),
        };
        if node.lift.is_some() {
            push.earned.resize(q, W::zero());
        }
        let flows = step.flows.of(cell).iter();
        for (flow, &right) in flows.zip(step.flows.right(cell)) {
            let amount = from[flow.from as usize] * flow.weight;
            if amount == W::zero() {
                continue;
            }
            if let Some(lift) = node.lift {
                push.earned[right as usize] += amount * lift;
            }
            if node.columns.length > 0 {
                push.sent.push((flow.to, amount));
            }
        }
        push.gather();
        push
    }

    /// Adds up what goes to the same place.
    fn gather(&mut self) {
        self.sent.sort_unstable_by_key(|&(place, _)| place);
        self.sent.dedup_by(|from, to| {
            let same = from.0 == to.0;
            if same {
                to.1 += from.1;
            }
            same
        });
    }

    /// Takes out, and returns, what is earned whatever the action.
    fn settle(&mut self, node: &SummaryNode<W>) -> W {
        let mut certain = W::zero();
        if let Some(&least) = self.earned.iter().min() {
            self.earned.iter_mut().for_each(|earned| *earned -= least);
            certain += least;
        }
        let Columns { start, run, .. } = node.columns;
        if let Some(later) = node.certain.filter(|_| run > 1) {
            let of_run = |place: u32| (place as usize - start) / run;
            for sent in self.sent.chunk_by_mut(|a, b| of_run(a.0) == of_run(b.0)) {
                if sent.len() == run {
                    let least = sent.iter().map(|&(_, amount)| amount).min();
                    let least = least.expect("a run has numbers");
                    sent.iter_mut().for_each(|(_, amount)| *amount -= least);
                    certain += least * later;
                }
            }
        }
        self.sent.retain(|&(_, amount)| amount != W::zero());
        certain
    }

    fn is_idle(&self) -> bool {
        self.sent.is_empty() && self.earned.iter().all(|&earned| earned == W::zero())
    }

    #[inline]
    fn add_to(&self, row: &mut [W], token: usize, columns: Columns) {
        if let Some(&earned) = self.earned.get(token) {
            row[0] += earned;
        }
        for &(place, amount) in &self.sent {
            row[place as usize + token * columns.length] += amount;
        }
    }
}

/// Moves what all numbers of a run of a column have in common to what is certain.
#[inline]
fn settle<W: Whole>(row: &mut [W], column: usize, node: &SummaryNode<W>) {
    let Columns {
        start, length, run, ..
    } = node.columns;
    let Some(later) = node.certain.filter(|_| run > 1) else {
        return;
    };
    let mut certain = W::zero();
    for numbers in row[start + column * length..][..length].chunks_exact_mut(run) {
        let least = numbers.iter().copied().min().expect("a run has numbers");
        if least != W::zero() {
            numbers.iter_mut().for_each(|number| *number -= least);
            certain += least;
        }
    }
    row[0] += certain * later;
}

/// Moves a column that has changed to its place among the others, which are sorted.
#[inline]
fn place<W: Whole>(row: &mut [W], column: usize, columns: Columns) {
    let length = columns.length;
    if length == 0 {
        return;
    }
    let mut pair_sorted = |column: usize| {
        let at = columns.start + column * length;
        let (left, right) = row[at..at + 2 * length].split_at_mut(length);
        let sorted = left <= right;
        if !sorted {
            left.swap_with_slice(right);
        }
        sorted
    };
    for c in column..columns.number - 1 {
        if pair_sorted(c) {
            break;
        }
    }
    for c in (0..column).rev() {
        if pair_sorted(c) {
            break;
        }
    }
}

/// Sorts the columns.
fn sort<W: Whole>(row: &mut [W], columns: Columns) {
    // Each column in turn finds its place among those to its left.
    for sorted in 1..columns.number {
        let among = Columns {
            number: sorted + 1,
            ..columns
        };
        place(row, sorted, among);
    }
}
