//! Draws a barrier tree as a disconnectivity graph (Becker and Karplus 1997): the reward upwards, a
//! line for each leaf from its reward down to the saddle that joins it to others.

use foldglass::landscape::tree::Tree;
use kuva::prelude::SvgBackend;
use kuva::render::render::{Primitive, Scene, TextAnchor};

use crate::figure::{self, BLACK, LABEL, WIDTH, line};
use crate::table::grouped;

const HEIGHT: f64 = 650.0;

/// The least width: what stands above and below the axes needs it.
const LEAST: f64 = 620.0;

/// Left, right, top and bottom of the axes.
const MARGINS: [f64; 4] = [90.0, 30.0, 95.0, 90.0];

/// The most that two leaves are apart.
const SPACING: f64 = 90.0;

/// Leaves closer than this have no numbers.
const LABELLED: f64 = 22.0;

const SIZE: u32 = figure::TEXT;

const OPTIMUM: &str = figure::BLUE;
const TRAP: &str = figure::VERMILION;
const JOIN: &str = figure::GREY;

/// A tree to draw.
pub struct Drawing<'a> {
    /// The tree.
    pub tree: &'a Tree,
    /// The class in words.
    pub title: String,
    /// Whether orbits were flooded.
    pub orbits: bool,
    /// The most leaves.
    pub max_leaves: usize,
}

/// Where things stand. Numbers are those of the tree: leaves, then saddles.
struct NodePlaces {
    /// By number: whether it is drawn: a leaf, or a saddle that joins drawn ones.
    drawn: Vec<bool>,
    /// By drawn saddle: what it joins, from left to right.
    joined: Vec<Vec<usize>>,
    /// By number: from the left, in leaves.
    x: Vec<f64>,
    leaves: usize,
    /// The lowest drawn.
    root: Option<usize>,
}

impl NodePlaces {
    /// How far leaves are apart, in pixels.
    fn spacing(&self) -> f64 {
        let [left, right, ..] = MARGINS;
        ((WIDTH - left - right) / self.leaves.max(1) as f64).min(SPACING)
    }

    /// The width of the drawing: a small tree needs little.
    fn width(&self) -> f64 {
        let [left, right, ..] = MARGINS;
        (left + right + self.spacing() * self.leaves as f64).clamp(LEAST, WIDTH)
    }
}

/// A drawing that is more than looked at.
pub struct TreeSketch {
    /// As SVG.
    pub svg: String,
    /// Its width and height.
    pub size: [f64; 2],
    /// Its leaves.
    pub leaves: Vec<LeafSpot>,
}

/// The upper end of a leaf's line.
#[derive(Debug, Clone, Copy)]
pub struct LeafSpot {
    /// The leaf's number.
    pub leaf: usize,
    /// From the left.
    pub x: f64,
    /// From the top.
    pub y: f64,
}

/// The rewards that the axis spans.
struct RewardAxis {
    low: f64,
    high: f64,
}

impl Drawing<'_> {
    /// The drawing as SVG.
    pub fn draw(&self) -> String {
        self.sketch().svg
    }

    /// The drawing, and where the leaves are in it.
    pub fn sketch(&self) -> TreeSketch {
        let places = self.places();
        let axis = self.axis(&places);
        let mut scene = Scene::new(places.width(), HEIGHT);
        self.write_head(&mut scene);
        write_axis(&mut scene, &axis);
        self.write_tree(&mut scene, &places, &axis);
        self.write_caption(&mut scene, &places);
        let spot = |leaf: usize| {
            let x = self.x(&places, leaf);
            let y = axis.place(self.reward(leaf));
            LeafSpot { leaf, x, y }
        };
        let name = format!(
            "Barrier tree of {}: {}",
            self.title,
            leaves(self.tree.leaves.len())
        );
        let leaves = (0..self.tree.leaves.len()).filter(|&leaf| places.drawn[leaf]);
        TreeSketch {
            svg: figure::named(&SvgBackend.render_scene(&scene), &name),
            size: [places.width(), HEIGHT],
            leaves: leaves.map(spot).collect(),
        }
    }

    /// From the left, in pixels.
    fn x(&self, places: &NodePlaces, number: usize) -> f64 {
        let [left, right, ..] = MARGINS;
        let (width, spacing) = (places.width() - left - right, places.spacing());
        let start = left + (width - spacing * places.leaves as f64) / 2.0;
        start + spacing * places.x[number]
    }

    fn reward(&self, number: usize) -> f64 {
        let tree = self.tree;
        let reward = match number.checked_sub(tree.leaves.len()) {
            Some(saddle) => tree.saddles[saddle].reward,
            None => tree.leaves[number].reward,
        };
        reward as f64 / self.denominator()
    }

    fn denominator(&self) -> f64 {
        let denominator = self.tree.class().task().denominator();
        denominator.to_f64().value()
    }

    /// An optimum, the traps of the highest barriers, then the other optima.
    fn chosen(&self) -> Vec<usize> {
        let leaves = &self.tree.leaves;
        let mut order: Vec<usize> = (0..leaves.len()).collect();
        order.sort_by_key(|&leaf| {
            let barrier = std::cmp::Reverse(leaves[leaf].barrier);
            (leaf > 0, barrier, leaf)
        });
        order.truncate(self.max_leaves);
        order
    }

    fn places(&self) -> NodePlaces {
        let (leaves, saddles) = (self.tree.leaves.len(), &self.tree.saddles);
        let all = leaves + saddles.len();
        let mut places = NodePlaces {
            drawn: vec![false; all],
            joined: vec![Vec::new(); all],
            x: vec![0.0; all],
            leaves: 0,
            root: None,
        };
        // By number: what stands for it (a saddle with one drawn branch is that branch), the leaves
        // drawn above it, and its highest reward.
        let mut stands: Vec<Option<usize>> = vec![None; all];
        // By saddle: what its own line goes on below, if one branch is higher than all others.
        let mut stem: Vec<usize> = (0..all).collect();
        let (mut above, mut top) = (vec![0usize; all], vec![0u64; all]);
        for leaf in self.chosen() {
            places.drawn[leaf] = true;
            places.leaves += 1;
            (stands[leaf], above[leaf], top[leaf]) = (Some(leaf), 1, self.tree.leaves[leaf].reward);
        }
        for (me, saddle) in (leaves..).zip(saddles) {
            let mut joined: Vec<usize> = saddle
                .children
                .iter()
                .filter_map(|&child| stands[child])
                .collect();
            joined.sort_by_key(|&n| (std::cmp::Reverse((top[n], above[n])), n));
            if let [first, second, ..] = joined[..]
                && top[first] > top[second]
            {
                stem[me] = first;
            }
            above[me] = joined.iter().map(|&n| above[n]).sum();
            top[me] = joined.iter().map(|&n| top[n]).max().unwrap_or(0);
            places.drawn[me] = joined.len() > 1;
            stands[me] = match joined[..] {
                [] => None,
                [one] => Some(one),
                _ => Some(me),
            };
            places.joined[me] = highest_in_the_middle(&joined);
        }
        let root = stands.last().copied().flatten();
        let Some(root) = root.or(places.drawn.iter().position(|&drawn| drawn)) else {
            return places;
        };
        places.root = Some(root);
        // What is right of the leaves before; a saddle comes before all it joins.
        let mut start = vec![0usize; all];
        for me in (leaves..all).rev().filter(|&me| places.drawn[me]) {
            let mut next = start[me];
            for &child in &places.joined[me] {
                start[child] = next;
                next += above[child];
            }
        }
        for me in 0..all {
            places.x[me] = match places.joined[me][..] {
                // A trunk stays straight; branches that are alike meet in their middle.
                [.., _, _] if stem[me] != me => places.x[stem[me]],
                [first, .., last] => (places.x[first] + places.x[last]) / 2.0,
                _ => start[me] as f64 + 0.5,
            };
        }
        places
    }

    fn axis(&self, places: &NodePlaces) -> RewardAxis {
        let drawn = (0..places.drawn.len()).filter(|&number| places.drawn[number]);
        let rewards: Vec<f64> = drawn.map(|number| self.reward(number)).collect();
        let high = rewards.iter().copied().fold(0.0, f64::max);
        let low = rewards.iter().copied().fold(1.0, f64::min).min(high);
        let span = if high > low { high - low } else { 0.1 };
        RewardAxis {
            low: (low - 0.12 * span).max(0.0).min(high - span),
            high: high + 0.05 * span,
        }
    }

    fn write_head(&self, scene: &mut Scene) {
        let [left, ..] = MARGINS;
        text(scene, left, 32.0, TextAnchor::Start, 17, self.title.clone());
        let optima = self
            .tree
            .leaves
            .iter()
            .filter(|leaf| leaf.barrier.is_none());
        let optima = optima.count();
        let traps = self.tree.leaves.len() - optima;
        let chosen = self.chosen();
        let is_optimum = |&&leaf: &&usize| self.tree.leaves[leaf].barrier.is_none();
        let drawn = chosen.iter().filter(is_optimum).count();
        let highest = self.tree.leaves.first().map_or(0, |leaf| leaf.reward);
        let highest = self.tree.reward(highest).to_string();
        let highest = highest.strip_suffix("/1").unwrap_or(&highest);
        let entries = [
            (OPTIMUM, format!("reward {highest}"), drawn, optima),
            (TRAP, "traps".to_owned(), chosen.len() - drawn, traps),
        ];
        let mut x = left;
        for (colour, what, drawn, all) in entries.into_iter().filter(|entry| entry.3 > 0) {
            let entry = match drawn == all {
                true => format!("{what}: {}", leaves(all)),
                false => format!("{what}: {drawn} of {}", leaves(all)),
            };
            line(scene, [x, 56.0], [x + 26.0, 56.0], colour, 3.0);
            text(scene, x + 34.0, 60.5, TextAnchor::Start, SIZE, entry);
            x += 230.0;
        }
    }

    fn write_tree(&self, scene: &mut Scene, places: &NodePlaces, axis: &RewardAxis) {
        let [.., bottom] = MARGINS;
        let spacing = places.spacing();
        let x = |number: usize| self.x(places, number);
        let y = |number: usize| axis.place(self.reward(number));
        let stroke = if spacing < 8.0 { 1.0 } else { 1.6 };
        let mut branch = |from: usize, to: f64| {
            let leaf = self.tree.leaves.get(from);
            let colour = leaf.map_or(JOIN, |leaf| match leaf.barrier {
                None => OPTIMUM,
                Some(_) => TRAP,
            });
            line(scene, [x(from), y(from)], [x(from), to], colour, stroke);
            if let Some(leaf) = leaf.filter(|_| spacing >= LABELLED) {
                let shelf = leaf.shelf.to_string();
                text(
                    scene,
                    x(from),
                    y(from) - 6.0,
                    TextAnchor::Middle,
                    SIZE - 2,
                    shelf,
                );
            }
        };
        if let Some(root) = places.root {
            branch(root, HEIGHT - bottom);
        }
        for (number, joined) in places.joined.iter().enumerate() {
            if places.drawn[number] {
                joined.iter().for_each(|&child| branch(child, y(number)));
            }
        }
        // Over the branches' ends, so that corners are closed.
        for (number, joined) in places.joined.iter().enumerate() {
            if let ([first, .., last], true) = (&joined[..], places.drawn[number]) {
                let half = stroke / 2.0;
                let (from, to) = (x(*first) - half, x(*last) + half);
                line(scene, [from, y(number)], [to, y(number)], JOIN, stroke);
            }
        }
    }

    fn write_caption(&self, scene: &mut Scene, places: &NodePlaces) {
        let (tree, drawn) = (self.tree, places.leaves);
        let codes = grouped(&tree.codes.to_string());
        let what = match self.orbits {
            true => format!(
                "{codes} codes in {} orbits",
                grouped(&tree.nodes.to_string())
            ),
            false => format!("{codes} codes"),
        };
        let shown = match tree.leaves.len() {
            all if all == drawn => String::new(),
            all => {
                format!(", {drawn} of {all} leaves drawn: an optimum, then the highest barriers")
            }
        };
        let read = "Two leaves meet at the reward to which one must fall on the way from one to the other.";
        let mut lines = vec![format!("{what}{shown}"), read.to_owned()];
        if places.spacing() >= LABELLED {
            lines.push("The number on a leaf is how many codes it has.".to_owned());
        }
        let mut y = HEIGHT - 15.0 - 19.0 * (lines.len() - 1) as f64;
        for said in lines {
            text(scene, MARGINS[0], y, TextAnchor::Start, SIZE, said);
            y += 19.0;
        }
    }
}

impl RewardAxis {
    fn place(&self, reward: f64) -> f64 {
        let [_, _, top, bottom] = MARGINS;
        let share = (self.high - reward) / (self.high - self.low);
        top + share * (HEIGHT - top - bottom)
    }
}

fn write_axis(scene: &mut Scene, axis: &RewardAxis) {
    let [left, right, top, bottom] = MARGINS;
    line(scene, [left, top], [left, HEIGHT - bottom], BLACK, 1.0);
    let (ticks, decimals) = figure::ticks([axis.low, axis.high], 8.0);
    for tick in ticks {
        let y = axis.place(tick);
        line(scene, [left - 5.0, y], [left, y], BLACK, 1.0);
        line(scene, [left, y], [scene.width - right, y], "#eeeeee", 1.0);
        let label = format!("{tick:.decimals$}");
        text(scene, left - 9.0, y + 4.5, TextAnchor::End, SIZE, label);
    }
    scene.add(Primitive::Text {
        x: 26.0,
        y: (top + HEIGHT - bottom) / 2.0,
        content: "reward J".to_owned(),
        size: LABEL,
        anchor: TextAnchor::Middle,
        rotate: Some(-90.0),
        bold: false,
        color: None,
    });
}

/// The first in the middle, the next beside it in turns.
fn highest_in_the_middle(sorted: &[usize]) -> Vec<usize> {
    let right = sorted.iter().skip(1).step_by(2);
    let left: Vec<usize> = sorted.iter().step_by(2).copied().collect();
    left.into_iter().rev().chain(right.copied()).collect()
}

fn leaves(count: usize) -> String {
    match count {
        1 => "1 leaf".to_owned(),
        _ => format!("{count} leaves"),
    }
}

fn text(scene: &mut Scene, x: f64, y: f64, anchor: TextAnchor, size: u32, content: String) {
    let style = figure::Style { size, bold: false };
    figure::text(scene, [x, y], anchor, style, content);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_stands_between_the_others() {
        assert_eq!(highest_in_the_middle(&[1, 2, 3, 4, 5]), [5, 3, 1, 2, 4]);
        assert_eq!(highest_in_the_middle(&[7]), [7]);
    }
}
