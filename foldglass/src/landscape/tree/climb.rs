//! Goes from a code to its neighbours, and climbs at random (paper, App. G.6).

use super::joins::LeafNumber;
use super::levels::Levels;
use super::{Pace, TreeError};
use crate::landscape::packed::{name_in_order, read_renamed};
use crate::model::operation::Symbol;
use crate::support::parallel::in_order;
use std::ops::Range;

/// Stands on a code.
pub(super) struct Climber<'a> {
    levels: &'a Levels,
    actions: Vec<Symbol>,
    /// By span: what it adds to the number of the code.
    parts: Vec<u32>,
    /// The code that a change leads to, from the step of the change on.
    changed: Vec<Symbol>,
    buffer: Vec<Symbol>,
    names: Vec<Symbol>,
}

impl<'a> Climber<'a> {
    pub fn new(levels: &'a Levels) -> Climber<'a> {
        let cells = levels.numbering.cells;
        Climber {
            levels,
            actions: vec![0; cells],
            parts: vec![0; levels.numbering.spans.len()],
            changed: vec![0; cells],
            buffer: Vec::new(),
            names: vec![0; levels.numbering.q],
        }
    }

    /// Hands over the node that each single change leads to, in the order of cells and actions, and
    /// says how many codes the node stands for.
    #[inline]
    pub fn visit(&mut self, node: u32, mut take: impl FnMut(u32)) -> u128 {
        let numbering = &self.levels.numbering;
        let weight = numbering.write(node, &mut self.actions);
        for (span, part) in numbering.spans.iter().zip(&mut self.parts) {
            *part = numbering.part(span, &self.actions).unwrap_or(0);
        }
        let actions = 0..numbering.q as Symbol;
        for (number, span) in numbering.spans.iter().enumerate() {
            if !span.named {
                for cell in span.cells.clone() {
                    let (old, unit) = (self.actions[cell], numbering.unit(cell, numbering.q));
                    let zero = node - u32::from(old) * unit;
                    for action in actions.clone().filter(|&action| action != old) {
                        take(zero + u32::from(action) * unit);
                    }
                }
                continue;
            }
            let others = node - self.parts[number];
            for cell in span.cells.clone() {
                let old = self.actions[cell];
                for action in actions.clone().filter(|&action| action != old) {
                    self.actions[cell] = action;
                    take(match numbering.part(span, &self.actions) {
                        Some(part) => others + part,
                        None => self.renamed(node, number),
                    });
                }
                self.actions[cell] = old;
            }
        }
        weight
    }

    /// The node of the code, the tokens of a span not being named in order. Spans before it keep
    /// their names, and so do those behind it from where no names have changed.
    fn renamed(&mut self, node: u32, changed: usize) -> u32 {
        let levels = self.levels;
        let (numbering, q) = (&levels.numbering, levels.numbering.q);
        let flows = levels
            .flows
            .as_ref()
            .expect("tokens are named in untied classes");
        let cells = numbering.spans[changed].cells.clone();
        self.changed[cells.clone()].copy_from_slice(&self.actions[cells]);
        let mut number = node - self.parts[changed];
        // Spans from the changed one up to here may have other actions now.
        let mut end = changed + 1;
        let mut next = changed;
        while next < end {
            let span = &numbering.spans[next];
            let actions = &mut self.changed[span.cells.clone()];
            if span.named && !name_in_order(actions, &mut self.names) {
                let mut unit = 1;
                let readers = next + 1..numbering.spans.len();
                for reader in readers.take(levels.class.shape().memory) {
                    let cells = numbering.spans[reader].cells.clone();
                    if reader >= end {
                        self.changed[cells.clone()].copy_from_slice(&self.actions[cells.clone()]);
                        number -= self.parts[reader];
                        end = reader + 1;
                    }
                    let histories = flows.steps[reader].histories;
                    let (actions, names) = (&mut self.changed[cells], &self.names);
                    read_renamed(actions, histories, unit, names, &mut self.buffer);
                    unit *= q;
                }
            }
            let part = numbering.part(span, &self.changed);
            number += part.expect("tokens are named in order");
            next += 1;
        }
        number
    }
}

/// Nodes that are gone through in one job.
pub(super) const NODES: usize = 4096;

/// What random ascent does with some nodes.
struct Raises {
    nodes: Range<usize>,
    weights: Vec<u128>,
    /// By node: where its raises end; the first begin at 0.
    ends: Vec<u32>,
    /// The nodes that changes lead to which raise the reward.
    to: Vec<u32>,
}

/// Where random ascent ends: the codes expected on each leaf, and on none. `ends` is where each node
/// ends that cannot be raised.
pub(super) fn random(
    levels: &Levels,
    ends: &[LeafNumber],
    leaves: usize,
    pace: &mut Pace<'_>,
) -> Result<(Vec<f64>, f64), TreeError> {
    let level = &levels.level;
    let order = levels.members(0..levels.rewards.len());
    let (mut on_leaves, mut stuck) = (vec![0.0; leaves], 0.0);
    // What came from below.
    let mut mass = vec![0.0; level.len()];
    let jobs = order.len().div_ceil(NODES);
    let worker = |()| {
        let mut walker = Climber::new(levels);
        move |number: usize| {
            // The lowest reward first.
            let end = order.len() - number * NODES;
            let nodes = end.saturating_sub(NODES)..end;
            Ok(Some(raises(levels, &mut walker, nodes)))
        }
    };
    in_order(vec![(); levels.threads], jobs, worker, |raises: Raises| {
        let mut start = 0;
        let nodes = order[raises.nodes.clone()].iter().rev();
        for (n, &node) in nodes.enumerate() {
            let end = raises.ends[n] as usize;
            let to = &raises.to[start..end];
            start = end;
            let all = raises.weights[n] as f64 + mass[node as usize];
            if to.is_empty() {
                *on_leaves
                    .get_mut(ends[node as usize].index())
                    .unwrap_or(&mut stuck) += all;
            }
            let share = all / to.len() as f64;
            for &to in to {
                mass[to as usize] += share;
            }
        }
        pace.visited(raises.nodes.len() as u64)
    })?;
    Ok((on_leaves, stuck))
}

/// The raises of some nodes, the last first.
fn raises(levels: &Levels, walker: &mut Climber<'_>, nodes: Range<usize>) -> Raises {
    let level = &levels.level;
    let order = &levels.members(0..levels.rewards.len())[nodes.clone()];
    let (mut weights, mut ends, mut to) = (Vec::new(), Vec::new(), Vec::new());
    for &node in order.iter().rev() {
        let here = level[node as usize];
        weights.push(walker.visit(node, |next| {
            if level[next as usize] < here {
                to.push(next);
            }
        }));
        ends.push(to.len() as u32);
    }
    Raises {
        nodes,
        weights,
        ends,
        to,
    }
}
