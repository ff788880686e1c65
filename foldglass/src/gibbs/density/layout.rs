//! Lays out what the reward of a code depends on after each step (paper, section 2.2).
//!
//! Of a *prefix*, the actions of all cells up to step t, the reward depends only on the joint
//! weights of (fold, symbols kept, tokens remembered) after step t, the last symbol among those kept
//! under correlated inputs, and on what lengths that have ended earned: its *summary*.
//!
//! A summary is a row of numbers: what is earned for certain, then node by node q *columns*, one for
//! each value of the newest token. Renaming that token permutes the columns of a node and nothing
//! else, so the summary with sorted columns stands for all names.
//!
//! **What is certain.** A column has a *run* of q numbers for each (symbols kept, older tokens), one
//! for each fold e of the symbols that left the window. Whatever the later cells do and the later
//! symbols are, the answer is right for exactly one e, because x -> B[x, z] is a bijection. So a
//! weight that all e of a run have in common earns the same with every code: it is moved to what is
//! certain, and the least number of every run is 0. Codes that no longer know the fold become alike.

use crate::model::class::Class;
use crate::reward::count::steps::Steps;
use crate::reward::count::weight::Whole;
use dashu_int::UBig;

/// What one state sends through one cell.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flow<W> {
    /// Its place in the summary before the step.
    pub from: u32,
    /// Where it goes with token 0; with token a it is a columns further.
    pub to: u32,
    /// The token that is the fold.
    pub right: u16,
    pub weight: W,
}

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

/// A node of a step.
#[derive(Debug)]
pub(super) struct Passing<W> {
    pub columns: Columns,
    /// What a weight of 1 at every number of a run earns later.
    pub certain: W,
    /// The weight of a right answer, where a length ends; tokens have names there.
    pub lift: Option<W>,
    /// By cell.
    pub flows: Vec<Vec<Flow<W>>>,
}

/// One step of all lengths.
#[derive(Debug)]
pub(super) struct Stage<W> {
    /// Numbers in a summary after it.
    pub width: usize,
    pub nodes: Vec<Passing<W>>,
}

/// All steps of an untied class.
#[derive(Debug)]
pub(super) struct Layout<W> {
    pub q: usize,
    pub stages: Vec<Stage<W>>,
}

impl<W: Whole> Layout<W> {
    pub fn new(class: &Class) -> Layout<W> {
        let (q, longest) = (class.q(), class.task().longest());
        let steps = Steps::<W>::new(class);
        let nodes = class.nodes();
        let certain = certain::<W>(class, &steps);
        // By node, where its columns stand in the summaries after its step.
        let mut columns = vec![
            Columns {
                start: 0,
                number: q,
                length: 0,
                run: 1,
            };
            nodes.len()
        ];
        let mut stages: Vec<Stage<W>> = Vec::with_capacity(longest);
        for t in 1..=longest {
            let mut stage = Stage {
                width: 1,
                nodes: Vec::new(),
            };
            for n in (0..nodes.len()).filter(|&n| nodes[n].t == t) {
                let message = steps.written(n);
                let length = message.blocks / q * message.width;
                columns[n] = Columns {
                    start: stage.width,
                    number: q,
                    length: if steps.steps[n].is_read { length } else { 0 },
                    run: message.width,
                };
                stage.width += q * columns[n].length;
                let before = nodes[n].parent.map(|parent| columns[parent]);
                let from = Source { before, q };
                let mut passing = passing(class, &steps, n, columns[n], &from);
                passing.certain = certain[n];
                stage.nodes.push(passing);
            }
            stages.push(stage);
        }
        Layout { q, stages }
    }

    /// The summary before the first step: all weight in one place.
    pub fn first(&self) -> Vec<W> {
        vec![W::zero(), W::of(&UBig::ONE)]
    }
}

/// Where the numbers of a message stand in the summary before a step.
struct Source {
    before: Option<Columns>,
    q: usize,
}

impl Source {
    /// The place of number `e` of a block, whose message has rows of `width`.
    fn place(&self, block: usize, e: usize, width: usize) -> usize {
        let Some(columns) = self.before else {
            return 1;
        };
        let (token, rest) = (block % self.q, block / self.q);
        columns.start + token * columns.length + rest * width + e
    }
}

fn passing<W: Whole>(
    class: &Class,
    steps: &Steps<W>,
    n: usize,
    columns: Columns,
    source: &Source,
) -> Passing<W> {
    let (q, step) = (steps.q, &steps.steps[n]);
    let (read, written) = (&steps.messages[step.reads], steps.written(n));
    let right = right_tokens(class, steps, n);
    let group = &class.groups()[class.nodes()[n].group];
    let mut flows: Vec<Vec<Flow<W>>> = vec![Vec::new(); group.cells];
    for passage in step.passages.iter().filter(|p| p.weight != W::zero()) {
        for h in 0..step.histories.0 {
            let block = passage.from as usize + h;
            // The block of token 0: the newest token is a block's lowest digit.
            let rest = step.target(passage, h) / q;
            let cell = passage.cell as usize + h - group.first_cell;
            for (e, &moved) in steps.moves(step, passage).iter().enumerate() {
                let inner = rest * written.width + passage.offset as usize + moved as usize;
                flows[cell].push(Flow {
                    from: source.place(block, e, read.width) as u32,
                    to: (columns.start + inner) as u32,
                    right: right.get(inner).copied().unwrap_or(0),
                    weight: passage.weight,
                });
            }
        }
    }
    Passing {
        columns,
        certain: W::zero(),
        lift: step.lift,
        flows,
    }
}

/// By place in a column of node `n`, the token that is the fold there; empty where no length ends.
fn right_tokens<W: Whole>(class: &Class, steps: &Steps<W>, n: usize) -> Vec<u16> {
    if steps.steps[n].lift.is_none() {
        return Vec::new();
    }
    let (q, message) = (steps.q, steps.written(n));
    let mut right = vec![0; message.blocks / q * message.width];
    for place in steps.right_answers(class, n) {
        let (block, e) = (
            (place - message.start) / message.width,
            (place - message.start) % message.width,
        );
        right[block / q * message.width + e] = (block % q) as u16;
    }
    right
}

/// By node, what a weight of 1 at every number of a run of its message earns later: for each node
/// that reads it, the weight of all symbols drawn there times what is earned from there on.
fn certain<W: Whole>(class: &Class, steps: &Steps<W>) -> Vec<W> {
    let (task, nodes) = (class.task(), class.nodes());
    let mut certain = vec![UBig::ZERO; nodes.len()];
    for (n, node) in nodes.iter().enumerate().rev() {
        let Some(parent) = node.parent else { continue };
        let seen = nodes[parent].t + nodes[parent].after;
        let drawn = (seen + 1..=node.t + node.after)
            .map(|t| UBig::from(task.inputs().denominator(t)))
            .product::<UBig>();
        let answer = steps.steps[n]
            .lift
            .map_or(UBig::ZERO, |lift| lift.to_ubig());
        let more = drawn * (&certain[n] + answer);
        certain[parent] += more;
    }
    certain.iter().map(W::of).collect()
}
