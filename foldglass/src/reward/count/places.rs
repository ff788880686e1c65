//! Finds where the nodes of a class look for each cell, and which cells a rollout may consult twice
//! (paper, section 2.1: only in a tied class).

use crate::model::class::{Class, Group};
use std::collections::BTreeMap;

/// What a cell is to the nodes of its group.
#[derive(Debug, Clone, Copy)]
pub(super) struct GroupPlace {
    pub group: u32,
    pub window: u32,
    pub history: u32,
    /// So many of the first nodes of the group come before one where a rollout may be here again.
    pub returns: u32,
}

/// Finds the place of every cell.
pub(super) fn places(class: &Class, members: &[Vec<usize>]) -> Vec<GroupPlace> {
    let mut places = Vec::with_capacity(class.cells());
    for (number, (group, members)) in class.groups().iter().zip(members).enumerate() {
        let again = nodes_before_another(class, members);
        for window in (0..group.windows()).map(|rank| group.window(rank)) {
            let distances = again
                .iter()
                .filter(|(distance, _)| repeats(class, group, window, **distance));
            let returns = distances.map(|(_, &nodes)| nodes).max().unwrap_or(0);
            places.extend((0..group.histories as u32).map(|history| GroupPlace {
                group: number as u32,
                window: window as u32,
                history,
                returns,
            }));
        }
    }
    places
}

/// By distance: how many of the first nodes of a group come before one at this distance.
fn nodes_before_another(class: &Class, members: &[usize]) -> BTreeMap<usize, u32> {
    let nodes = class.nodes();
    let mut counts = BTreeMap::new();
    for &n in members {
        let earlier = std::iter::successors(nodes[n].parent, |&parent| nodes[parent].parent);
        for (distance, n) in (1..).zip(earlier) {
            if let Ok(member) = members.binary_search(&n) {
                let count = counts.entry(distance).or_insert(0);
                *count = (member as u32 + 1).max(*count);
            }
        }
    }
    counts
}

/// Whether a window can stand at two nodes at this distance: it has that period, or is shorter.
fn repeats(class: &Class, group: &Group, window: usize, distance: usize) -> bool {
    let symbols = group.before + 1 + group.after;
    let kept = symbols.saturating_sub(distance);
    let count = |digits: usize| class.q().pow(digits as u32);
    window / count(symbols - kept) == window % count(kept)
}
