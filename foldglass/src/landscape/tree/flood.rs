//! Lets the water fall, level by level, and joins what comes up (paper, App. G.6).

use super::climb::Walker;
use super::joins::{Joins, NEW};
use super::levels::Levels;
use super::{Leaf, Pace, Stuck, Tree, TreeError};
use crate::policy::Code;

/// Where a node ends that is on no leaf.
const NOWHERE: u32 = u32::MAX;

/// Components of the nodes above the water.
struct Components {
    parent: Vec<u32>,
    /// By root: its branch of the tree.
    branch: Vec<u32>,
}

impl Components {
    fn new(nodes: u32) -> Components {
        Components {
            parent: (0..nodes).collect(),
            branch: vec![NEW; nodes as usize],
        }
    }

    #[inline]
    fn root(&mut self, mut node: u32) -> u32 {
        while self.parent[node as usize] != node {
            let above = self.parent[self.parent[node as usize] as usize];
            self.parent[node as usize] = above;
            node = above;
        }
        node
    }

    /// Joins `node` to the component of `root`; gives the root of both.
    #[inline]
    fn join(&mut self, root: u32, node: u32, level: u32, joins: &mut Joins) -> u32 {
        let other = self.root(node);
        if other == root {
            return root;
        }
        let (a, b) = (self.branch[root as usize], self.branch[other as usize]);
        let branch = if a == b { a } else { joins.meet(a, b, level) };
        // What has been up for long is large: it stays the root.
        let (into, from) = if a == NEW {
            (other, root)
        } else {
            (root, other)
        };
        self.parent[from as usize] = into;
        self.branch[into as usize] = branch;
        into
    }
}

pub(super) struct Flood {
    pub joins: Joins,
    /// By node: the leaf on which it ends under steepest ascent, or [`NOWHERE`].
    pub ends: Vec<u32>,
    leaves: Vec<Leaf>,
    stuck: Stuck,
}

pub(super) fn flood(levels: &Levels, pace: &mut Pace<'_>) -> Result<Flood, TreeError> {
    let level = &levels.level;
    let mut walker = Walker::new(levels);
    let mut components = Components::new(levels.nodes());
    let mut flood = Flood {
        joins: Joins::default(),
        ends: vec![NOWHERE; level.len()],
        leaves: Vec::new(),
        stuck: Stuck::default(),
    };
    // Nodes of a level that no change raises, with the codes they stand for.
    let mut maxima: Vec<(u32, u128)> = Vec::new();
    for here in 0..levels.rewards.len() as u32 {
        maxima.clear();
        for &node in levels.members(here as usize..here as usize + 1) {
            let mut root = components.root(node);
            let (mut best, mut best_level) = (node, here);
            let weight = walker.visit(node, |to| {
                let there = level[to as usize];
                if there > here {
                    return;
                }
                if there < best_level {
                    (best, best_level) = (to, there);
                }
                root = components.join(root, to, here, &mut flood.joins);
            });
            if best == node {
                maxima.push((node, weight));
            } else {
                let end = flood.ends[best as usize];
                flood.ends[node as usize] = end;
                flood.came_to(end, weight);
            }
            pace.visited(1)?;
        }
        let first = flood.leaves.len();
        for &(node, weight) in &maxima {
            let root = components.root(node);
            let branch = &mut components.branch[root as usize];
            if *branch == NEW {
                *branch = flood.appear(levels, here, node);
            }
            let end = flood
                .joins
                .leaf(*branch)
                .filter(|&leaf| leaf as usize >= first);
            match end {
                Some(leaf) => flood.leaves[leaf as usize].shelf += weight,
                None => flood.stuck.maxima += weight,
            }
            let end = end.unwrap_or(NOWHERE);
            flood.ends[node as usize] = end;
            flood.came_to(end, weight);
        }
    }
    Ok(flood)
}

impl Flood {
    /// A new leaf with its least node; gives its branch.
    fn appear(&mut self, levels: &Levels, level: u32, node: u32) -> u32 {
        let mut actions = vec![0; levels.numbering.cells];
        levels.numbering.write(node, &mut actions);
        self.leaves.push(Leaf {
            reward: levels.rewards[level as usize],
            shelf: 0,
            code: Code::from_fn(&levels.class, |cell| actions[cell]),
            barrier: None,
            steepest: 0,
            random: 0.0,
            parent: None,
        });
        self.joins.appear()
    }

    fn came_to(&mut self, end: u32, weight: u128) {
        match self.leaves.get_mut(end as usize) {
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
