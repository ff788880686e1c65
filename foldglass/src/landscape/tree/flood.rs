//! Lets the water fall, level by level, and joins what comes up (paper, App. G.6).

use super::climb::{Climber, NODES};
use super::joins::{BranchNumber, Joins, LeafNumber, NEW};
use super::levels::{LevelNumber, Levels};
use super::{Leaf, Pace, Stuck, Tree, TreeError};
use crate::model::policy::Code;
use crate::support::parallel::in_order;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

/// Where a node ends that is on no leaf.
const NOWHERE: LeafNumber = LeafNumber(u32::MAX);

/// Components of the nodes above the water. Any thread may ask for a root while one joins: a node
/// that was in the component of another stays in it, and what is found is at least on the way up.
struct Components {
    parent: Vec<AtomicU32>,
}

impl Components {
    fn new(nodes: u32) -> Components {
        Components {
            parent: (0..nodes).map(AtomicU32::new).collect(),
        }
    }

    #[inline]
    fn root(&self, mut node: u32) -> u32 {
        loop {
            let parent = self.parent[node as usize].load(Ordering::Relaxed);
            if parent == node {
                return node;
            }
            let above = self.parent[parent as usize].load(Ordering::Relaxed);
            if above != parent {
                self.parent[node as usize].store(above, Ordering::Relaxed);
            }
            node = above;
        }
    }

    fn hang(&self, root: u32, into: u32) {
        self.parent[root as usize].store(into, Ordering::Relaxed);
    }
}

pub(super) struct Flood {
    pub joins: Joins,
    /// By node: the leaf on which it ends under steepest ascent, or [`NOWHERE`].
    pub ends: Vec<LeafNumber>,
    leaves: Vec<Leaf>,
    stuck: Stuck,
}

/// What the neighbours of some nodes are.
struct NodeNeighbours {
    nodes: Range<usize>,
    /// By node.
    found: Vec<Found>,
    /// The components, by a member of each, that the nodes touch.
    touched: Vec<u32>,
}

struct Found {
    /// The codes it stands for.
    weight: u128,
    /// The neighbour of the highest reward, the first of several; itself if none is higher.
    best: u32,
    /// Where its components end; those of the first node begin at 0.
    end: u32,
}

/// Goes through the neighbours of some nodes.
fn look(
    levels: &Levels,
    components: &Components,
    walker: &mut Climber<'_>,
    nodes: Range<usize>,
) -> NodeNeighbours {
    let level = &levels.level;
    let order = &levels.members(0..levels.rewards.len())[nodes.clone()];
    let mut found = Vec::with_capacity(order.len());
    let mut touched: Vec<u32> = Vec::new();
    for &node in order {
        let here = level[node as usize];
        let (mut best, mut best_level) = (node, here);
        let first = touched.len();
        let weight = walker.visit(node, |to| {
            let there = level[to as usize];
            if there > here {
                return;
            }
            if there < best_level {
                (best, best_level) = (to, there);
            }
            // Of one component one member is enough.
            let root = components.root(to);
            if !touched[first..].contains(&root) {
                touched.push(root);
            }
        });
        let end = touched.len() as u32;
        found.push(Found { weight, best, end });
    }
    NodeNeighbours {
        nodes,
        found,
        touched,
    }
}

pub(super) fn flood(levels: &Levels, pace: &mut Pace<'_>) -> Result<Flood, TreeError> {
    let components = Components::new(levels.nodes());
    let mut water = Water {
        levels,
        components: &components,
        branch: vec![NEW; levels.level.len()],
        flood: Flood {
            joins: Joins::default(),
            ends: vec![NOWHERE; levels.level.len()],
            leaves: Vec::new(),
            stuck: Stuck::default(),
        },
        here: LevelNumber(0),
        maxima: Vec::new(),
    };
    let nodes = levels.level.len();
    let worker = |()| {
        let (mut walker, components) = (Climber::new(levels), &components);
        move |number: usize| {
            let start = number * NODES;
            let end = nodes.min(start + NODES);
            Ok(Some(look(levels, components, &mut walker, start..end)))
        }
    };
    let jobs = nodes.div_ceil(NODES);
    in_order(
        vec![(); levels.threads],
        jobs,
        worker,
        |next: NodeNeighbours| {
            water.fall(&next);
            pace.visited(next.nodes.len() as u64)
        },
    )?;
    water.settle();
    Ok(water.flood)
}

/// The water as it falls: joins nodes in their order.
struct Water<'a> {
    levels: &'a Levels,
    components: &'a Components,
    /// By root: the branch of the tree.
    branch: Vec<BranchNumber>,
    flood: Flood,
    /// The level it is at.
    here: LevelNumber,
    /// Nodes of the level that no change raises, with the codes they stand for.
    maxima: Vec<(u32, u128)>,
}

impl Water<'_> {
    fn fall(&mut self, next: &NodeNeighbours) {
        let all = 0..self.levels.rewards.len();
        let nodes = &self.levels.members(all)[next.nodes.clone()];
        let mut start = 0;
        for (&node, found) in nodes.iter().zip(&next.found) {
            let here = self.levels.level[node as usize];
            if here > self.here {
                self.settle();
                self.here = here;
            }
            let end = found.end as usize;
            let mut root = self.components.root(node);
            for &touched in &next.touched[start..end] {
                root = self.join(root, touched);
            }
            start = end;
            if found.best == node {
                self.maxima.push((node, found.weight));
            } else {
                let end = self.flood.ends[found.best as usize];
                self.flood.ends[node as usize] = end;
                self.flood.came_to(end, found.weight);
            }
        }
    }

    /// Joins `node` to the component of `root`; gives the root of both.
    #[inline]
    fn join(&mut self, root: u32, node: u32) -> u32 {
        let other = self.components.root(node);
        if other == root {
            return root;
        }
        let (a, b) = (self.branch[root as usize], self.branch[other as usize]);
        let joins = &mut self.flood.joins;
        let branch = if a == b {
            a
        } else {
            joins.meet(a, b, self.here)
        };
        // What has been up for long is large: it stays the root.
        let (into, from) = if a == NEW {
            (other, root)
        } else {
            (root, other)
        };
        self.components.hang(from, into);
        self.branch[into as usize] = branch;
        into
    }

    /// All nodes of the level are joined: its maxima are on leaves or stuck.
    fn settle(&mut self) {
        let first = self.flood.leaves.len();
        for (node, weight) in std::mem::take(&mut self.maxima) {
            let root = self.components.root(node);
            let branch = &mut self.branch[root as usize];
            if *branch == NEW {
                *branch = self.flood.appear(self.levels, self.here, node);
            }
            let end = self
                .flood
                .joins
                .leaf(*branch)
                .filter(|leaf| leaf.index() >= first);
            match end {
                Some(leaf) => self.flood.leaves[leaf.index()].shelf += weight,
                None => self.flood.stuck.maxima += weight,
            }
            let end = end.unwrap_or(NOWHERE);
            self.flood.ends[node as usize] = end;
            self.flood.came_to(end, weight);
        }
    }
}

impl Flood {
    /// A new leaf with its least node; gives its branch.
    fn appear(&mut self, levels: &Levels, level: LevelNumber, node: u32) -> BranchNumber {
        let mut actions = vec![0; levels.numbering.cells];
        levels.numbering.write(node, &mut actions);
        self.leaves.push(Leaf {
            reward: levels.rewards[level.index()],
            shelf: 0,
            code: Code::from_fn(&levels.class, |cell| actions[cell]),
            barrier: None,
            steepest: 0,
            random: 0.0,
            parent: None,
        });
        self.joins.appear()
    }

    fn came_to(&mut self, end: LeafNumber, weight: u128) {
        match self.leaves.get_mut(end.index()) {
            Some(leaf) => leaf.steepest += weight,
            None => self.stuck.steepest += weight,
        }
    }

    /// The tree, with where random ascent ends: on each leaf, and on none.
    pub fn tree(self, levels: &Levels, (random, nowhere): (Vec<f64>, f64)) -> Tree {
        let Flood {
            joins,
            mut leaves,
            mut stuck,
            ..
        } = self;
        for (leaf, random) in leaves.iter_mut().zip(random) {
            leaf.random = random;
        }
        stuck.random = nowhere;
        let saddles = joins.finish(&levels.rewards, &mut leaves);
        let codes = leaves.iter().map(|leaf| leaf.steepest).sum::<u128>() + stuck.steepest;
        Tree {
            class: levels.class.clone(),
            codes,
            nodes: levels.nodes(),
            leaves,
            saddles,
            stuck,
        }
    }
}
