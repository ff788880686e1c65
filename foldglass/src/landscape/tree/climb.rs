//! Goes from a code to its neighbours, and climbs at random (paper, App. G.6).

use super::levels::Levels;
use super::{Pace, TreeError};
use crate::landscape::packed::relabel;
use crate::quasigroup::Symbol;

/// Stands on a code.
pub(super) struct Walker<'a> {
    levels: &'a Levels,
    actions: Vec<Symbol>,
    changed: Vec<Symbol>,
    room: Vec<Symbol>,
}

impl<'a> Walker<'a> {
    pub fn new(levels: &'a Levels) -> Walker<'a> {
        let cells = levels.numbering.cells;
        Walker {
            levels,
            actions: vec![0; cells],
            changed: vec![0; cells],
            room: Vec::new(),
        }
    }

    /// Hands over the node that each single change leads to, in the order of cells and actions, and
    /// says how many codes the node stands for.
    #[inline]
    pub fn visit(&mut self, node: u32, mut take: impl FnMut(u32)) -> u128 {
        let numbering = &self.levels.numbering;
        let weight = numbering.write(node, &mut self.actions);
        let actions = 0..numbering.q as Symbol;
        for span in &numbering.spans {
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
            let part = numbering.part(span, &self.actions);
            let others = node - part.expect("tokens are named in order");
            for cell in span.cells.clone() {
                let old = self.actions[cell];
                for action in actions.clone().filter(|&action| action != old) {
                    self.actions[cell] = action;
                    take(match numbering.part(span, &self.actions) {
                        Some(part) => others + part,
                        None => self.renamed(),
                    });
                }
                self.actions[cell] = old;
            }
        }
        weight
    }

    /// The node of the code, its tokens not being named in order.
    fn renamed(&mut self) -> u32 {
        let rungs = self
            .levels
            .rungs
            .as_ref()
            .expect("tokens are named in untied classes");
        self.changed.copy_from_slice(&self.actions);
        let memory = self.levels.class.shape().memory;
        relabel(rungs, memory, &mut self.changed, &mut self.room);
        self.levels.numbering.number(&self.changed)
    }
}

/// Where random ascent ends: the codes expected on each leaf, and on none. `ends` is where each node
/// ends that cannot be raised.
pub(super) fn random(
    levels: &Levels,
    ends: &[u32],
    leaves: usize,
    pace: &mut Pace<'_>,
) -> Result<(Vec<f64>, f64), TreeError> {
    let level = &levels.level;
    let mut walker = Walker::new(levels);
    let (mut on_leaves, mut stuck) = (vec![0.0; leaves], 0.0);
    // What came from below.
    let mut mass = vec![0.0; level.len()];
    let mut raises = Vec::new();
    for &node in levels.members(0..levels.rewards.len()).iter().rev() {
        let here = level[node as usize];
        raises.clear();
        let weight = walker.visit(node, |to| {
            if level[to as usize] < here {
                raises.push(to);
            }
        });
        let all = weight as f64 + mass[node as usize];
        if raises.is_empty() {
            *on_leaves
                .get_mut(ends[node as usize] as usize)
                .unwrap_or(&mut stuck) += all;
        }
        let share = all / raises.len() as f64;
        for &to in &raises {
            mass[to as usize] += share;
        }
        pace.visited(1)?;
    }
    Ok((on_leaves, stuck))
}
