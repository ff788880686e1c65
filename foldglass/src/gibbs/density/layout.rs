//! Lays out what the reward of a code depends on after each step (paper, section 2.2).
//!
//! Of a *prefix*, the actions of all cells up to step t, the reward depends only on the joint
//! weights of (fold, symbols kept, tokens remembered) after step t, the last symbol among those kept
//! under correlated inputs, and on what rewarded steps have earned: its *summary*.
//!
//! A summary is a row of numbers: what is earned for certain, then node by node q *columns*, one for
//! each value of the newest token. Renaming that token permutes the columns of a node and nothing
//! else, so the summary with sorted columns stands for all names.
//!
//! **What is certain.** A column has a *run* of q numbers for each (symbols kept, older tokens), one
//! for each fold e of the symbols that left the window. Where e -> B[e, z] is a bijection for every z,
//! a rewarded token is right for exactly one e, whatever the later cells do and the later symbols are. So a
//! weight that all e of a run have in common earns the same with every code: it is moved to what is
//! certain, and the least number of every run is 0. Codes that no longer know the fold become alike.
//! Over other tables a token can be right for several e or for none, and nothing is certain.

use crate::model::class::Class;
use crate::reward::count::flow::{CellFlows, FlowTable, NodeFlows};
use crate::reward::count::weight::Whole;
use dashu_int::UBig;
use std::ops::Range;

/// The columns of a node in a summary.
#[derive(Debug, Clone, Copy)]
pub(super) struct Columns {
    pub start: usize,
    /// q.
    pub number: usize,
    /// Numbers in a column; 0 where no step reads the node.
    pub length: usize,
    /// Numbers in a run: q, or 1 while no symbol has left the window.
    pub run: usize,
}

impl Columns {
    /// The place in the summary of the number `at` of the node's states.
    fn place(&self, at: usize) -> usize {
        // The newest token is the lowest digit of a block.
        let (block, e) = (at / self.run, at % self.run);
        let (token, rest) = (block % self.number, block / self.number);
        self.start + token * self.length + rest * self.run + e
    }
}

/// A node of a step.
#[derive(Debug)]
pub(super) struct SummaryNode<W> {
    pub cells: Range<usize>,
    pub columns: Columns,
    /// The later reward of a weight of 1 at every number of a run; none where that depends on the code.
    pub certain: Option<W>,
    /// The weight of a right token, where it is compared with the state; tokens have names there.
    pub lift: Option<W>,
}

/// One step of all lengths.
#[derive(Debug)]
pub(super) struct SummaryStep<W> {
    pub cells: Range<usize>,
    /// Numbers in a summary after it.
    pub width: usize,
    pub nodes: Vec<SummaryNode<W>>,
    /// From places in the summary before it to those with token 0 after it; with token a they are a
    /// columns further. Where no step reads the node they lead nowhere.
    pub flows: CellFlows<W>,
}

/// All steps of an untied class.
#[derive(Debug)]
pub(super) struct SummaryLayout<W> {
    pub q: usize,
    pub steps: Vec<SummaryStep<W>>,
}

impl<W: Whole> SummaryLayout<W> {
    pub fn new(class: &Class) -> SummaryLayout<W> {
        let table = FlowTable::<W>::new(class);
        let q = table.q;
        let settles = class.task().square().permutes_states();
        let mut certain = certain::<W>(class)
            .into_iter()
            .map(|w| settles.then_some(w));
        // By place in the table of flows: its place in a summary. The first is the start.
        let mut numbers = vec![1; table.right.len()];
        let mut steps = Vec::with_capacity(table.steps.len());
        for step in table.steps {
            let mut width = 1;
            let mut node = |node: &NodeFlows<W>| {
                let length = node.places.len() / q;
                let columns = Columns {
                    start: width,
                    number: q,
                    length: if node.is_read { length } else { 0 },
                    run: node.width,
                };
                width += q * columns.length;
                for (at, place) in node.places.clone().enumerate() {
                    numbers[place] = columns.place(at) as u32;
                }
                SummaryNode {
                    cells: node.cells.clone(),
                    columns,
                    certain: certain.next().expect("a number for each node"),
                    lift: node.lift,
                }
            };
            let nodes = step.nodes.iter().map(&mut node).collect();
            steps.push(SummaryStep {
                cells: step.cells,
                width,
                nodes,
                flows: step.flows.renumbered(&numbers),
            });
        }
        SummaryLayout { q, steps }
    }

    /// The summary before the first step: all weight in one place.
    pub fn first(&self) -> Vec<W> {
        vec![W::zero(), W::of(&UBig::ONE)]
    }
}

/// By step and node, what a weight of 1 at every number of a run of its message earns later: for each
/// node that reads it, the weight of all symbols drawn there times what is earned from there on.
fn certain<W: Whole>(class: &Class) -> Vec<W> {
    let (task, nodes) = (class.task(), class.nodes());
    let mut certain = vec![UBig::ZERO; nodes.len()];
    for (n, node) in nodes.iter().enumerate().rev() {
        let Some(parent) = node.parent else { continue };
        let seen = nodes[parent].t + nodes[parent].after;
        let drawn = (seen + 1..=node.t + node.after)
            .map(|t| UBig::from(task.inputs().denominator(t)))
            .product::<UBig>();
        let answer = class.lift(node).unwrap_or(UBig::ZERO);
        let more = drawn * (&certain[n] + answer);
        certain[parent] += more;
    }
    let by_step = (1..=task.longest()).flat_map(|t| class.step_nodes(t));
    by_step.map(|&n| W::of(&certain[n])).collect()
}
