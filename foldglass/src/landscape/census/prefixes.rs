//! Merges prefixes that no later step can tell apart into one with a multiplicity (paper, App. D).
//!
//! A level is a number of steps done. Its classes are the prefixes up to names, those together that
//! have the same products with all that later steps see ([`super::seen`]) under some names of their
//! last tokens. Whether a change of a later step raises the reward is the same for all prefixes of a
//! class, and one of them, the first that was met, shows it by its weights.
//!
//! What a change of an earlier step does is not the same: it depends on how the prefix came to its
//! class. So every way to come to a class is kept, as a link to the class before and the actions
//! between, named so that they lead to the weights that stand for the class.

use super::Frame;
use super::descent::{Descent, Stretch, forgets};
use super::seen::{Seen, SeenLayout, Sight};
use crate::model::operation::Symbol;
use crate::reward::count::flow::{FlowTable, StepFlows};
use crate::reward::count::rows::{RowTable, hash};
use crate::reward::count::weight::Whole;
use crate::support::watch::Tally;
use std::ops::ControlFlow;

/// How a class is come to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    /// A class of the level before.
    pub from: u32,
    /// The actions of the step between, packed.
    pub action: u32,
}

/// Actions that do not depend on the token before: they lead to one class from wherever they start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Forgetting {
    pub class: u32,
    /// The actions of the step, packed.
    pub action: u32,
}

/// The classes of prefixes of some length.
pub(super) struct PrefixLevel<W> {
    pub layout: SeenLayout,
    /// What earlier steps see of suffixes from here.
    pub sights: Vec<Sight<W>>,
    /// By class and place: alpha.
    weights: Vec<W>,
    /// By class: what rollouts that ended at earlier levels have earned.
    earned: Vec<W>,
    /// By class: the number of prefixes, by all names of their tokens.
    pub multiplicities: Vec<u128>,
    /// By class: where its links begin; one more entry ends the last.
    starts: Vec<u32>,
    links: Vec<Link>,
    /// Few; their links are not kept.
    pub forgetting: Vec<Forgetting>,
}

/// All levels whose prefixes are merged.
pub(super) struct Prefixes<W> {
    pub levels: Vec<PrefixLevel<W>>,
    /// What they took at most while they were made, and had every link led to a class of its own.
    pub most_bytes: f64,
}

/// What merging may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct MergeBudget {
    /// The most bytes of all levels.
    pub bytes: f64,
    /// The most links of a level: beyond it, visiting the later steps is as fast.
    pub links: f64,
    /// The most steps.
    pub steps: usize,
}

/// How many classes are gone on from between two questions whether to stop.
const STOP_EVERY: usize = 16;

/// How many codes of a step are come to from a class between them.
const COME_EVERY: usize = 1 << 14;

/// The most tokens of which all names are tried.
const MOST_NAMED: usize = 6;

impl<W: Whole> PrefixLevel<W> {
    pub fn classes(&self) -> usize {
        self.multiplicities.len()
    }

    /// The weights of a class.
    #[inline]
    pub fn weights(&self, class: u32) -> &[W] {
        let width = self.layout.places.len();
        &self.weights[class as usize * width..(class as usize + 1) * width]
    }

    /// What rollouts that ended at earlier levels have earned.
    pub fn earned(&self, class: u32) -> W {
        self.earned[class as usize]
    }

    /// The ways to come to a class, but for those that forget.
    #[inline]
    pub fn links(&self, class: u32) -> &[Link] {
        let [start, end] = [0, 1].map(|n| self.starts[class as usize + n] as usize);
        &self.links[start..end]
    }

    /// The one prefix of no steps.
    fn start(seen: &Seen<W>) -> PrefixLevel<W> {
        PrefixLevel {
            layout: seen.layouts[0].clone(),
            sights: Vec::new(),
            weights: vec![W::of_i128(1)],
            earned: vec![W::zero()],
            multiplicities: vec![1],
            starts: vec![0, 0],
            links: Vec::new(),
            forgetting: Vec::new(),
        }
    }

    /// The bytes that it takes.
    pub fn bytes(&self) -> u128 {
        let numbers = self.weights.len() + self.earned.len();
        let classes = self.classes() * (size_of::<u128>() + size_of::<u32>());
        (numbers * size_of::<W>() + classes + self.links.len() * size_of::<Link>()) as u128
    }
}

impl<W: Whole> Prefixes<W> {
    /// Merges as many steps as fit the budget; none when it was stopped. The last step but one is
    /// not merged: the visit of the last needs its actions.
    pub fn new(
        census: &Frame,
        flows: &FlowTable<W>,
        budget: MergeBudget,
        tally: &Tally<'_>,
    ) -> Option<Prefixes<W>> {
        let seen = Seen::new(flows);
        let mut levels = vec![PrefixLevel::start(&seen)];
        let mut most_bytes = 0.0f64;
        for t in 0..flows.steps.len().saturating_sub(2).min(budget.steps) {
            let step = &flows.steps[t];
            let links = levels[t].classes() as f64 * step.codes(flows.q);
            let kept: f64 = levels.iter().map(|level| level.bytes() as f64).sum();
            let bytes = kept + links * Merge::bytes_each(&seen, t + 1);
            let packs = census.packing.bits(step.cells.len()) <= u32::BITS;
            if !packs || links > budget.links || bytes > budget.bytes {
                break;
            }
            most_bytes = most_bytes.max(bytes);
            let merge = Merge::new(census, flows, &seen, t);
            levels.push(merge.go_on(&levels[t], tally)?);
        }
        Some(Prefixes { levels, most_bytes })
    }

    /// The number of steps that are merged.
    pub fn steps(&self) -> usize {
        self.levels.len() - 1
    }

    /// The last level.
    pub fn last(&self) -> &PrefixLevel<W> {
        self.levels.last().expect("there is the level of no steps")
    }
}

/// The next level, as it is made.
struct Merge<'a, W> {
    census: &'a Frame,
    flows: &'a FlowTable<W>,
    step: &'a StepFlows<W>,
    number: usize,
    before: &'a SeenLayout,
    layout: &'a SeenLayout,
    sights: &'a [Sight<W>],
    names: Vec<Vec<Symbol>>,
    table: RowTable<W>,
    level: PrefixLevel<W>,
    /// The class and the link.
    found: Vec<(u32, Link)>,
    row: Vec<W>,
    best_row: Vec<W>,
    renamed: Vec<W>,
}

impl<'a, W: Whole> Merge<'a, W> {
    /// The most bytes that a link takes while its level is made, its class included.
    fn bytes_each(seen: &Seen<W>, level: usize) -> f64 {
        let (places, row) = (seen.layouts[level].places.len(), seen.prefixes[level].len());
        let class = (places + 1) * size_of::<W>() + size_of::<u128>() + 4;
        let links = size_of::<(u32, Link)>() + size_of::<Link>();
        // A row has at most 16 bytes of slots, and lists that grow have half as much again.
        let row = 16.0 + 1.5 * (row * size_of::<W>()) as f64;
        row + 1.5 * (class + links) as f64
    }

    fn new(census: &'a Frame, flows: &'a FlowTable<W>, seen: &'a Seen<W>, number: usize) -> Self {
        let (step, layout) = (&flows.steps[number], &seen.layouts[number + 1]);
        let sights = &seen.prefixes[number + 1];
        let tried = step.relabels && flows.q <= MOST_NAMED;
        let level = PrefixLevel {
            layout: layout.clone(),
            sights: seen.suffixes[number + 1].clone(),
            weights: Vec::new(),
            earned: Vec::new(),
            multiplicities: Vec::new(),
            starts: Vec::new(),
            links: Vec::new(),
            forgetting: Vec::new(),
        };
        Merge {
            census,
            flows,
            step,
            number,
            before: &seen.layouts[number],
            layout,
            sights,
            names: orders(flows.q, tried),
            table: RowTable::new(sights.len()),
            level,
            found: Vec::new(),
            row: Vec::new(),
            best_row: Vec::new(),
            renamed: vec![W::zero(); layout.places.len()],
        }
    }

    fn go_on(mut self, from: &PrefixLevel<W>, tally: &Tally<'_>) -> Option<PrefixLevel<W>> {
        let stretch = Stretch {
            first: self.number,
            end: self.number + 1,
            ending: false,
        };
        let cells = self.flows.steps.last().map_or(0, |step| step.cells.end);
        let nothing = vec![W::zero(); self.flows.right.len()];
        let zeros = vec![0; cells];
        let mut descent = Descent::new(self.census, self.flows, stretch, &zeros, &nothing);
        for class in 0..from.classes() as u32 {
            if (class as usize).is_multiple_of(STOP_EVERY) && tally.add(0).is_break() {
                return None;
            }
            descent.start_from(self.before, from.weights(class));
            let mut earned = from.earned(class);
            for &place in &self.before.places {
                earned += descent.alpha[place as usize] * self.flows.right[place as usize];
            }
            let multiplicity = from.multiplicities[class as usize];
            let mut came = 0usize;
            let all = descent.descend(self.number, multiplicity, &mut |descent, weight| {
                self.come(descent, earned, weight, class);
                came += 1;
                if came.is_multiple_of(COME_EVERY) {
                    tally.add(0)
                } else {
                    ControlFlow::Continue(())
                }
            });
            if all.is_break() {
                return None;
            }
        }
        Some(self.finish())
    }

    /// Comes to a class.
    fn come(&mut self, descent: &Descent<'_, W>, earned: W, weight: u128, from: u32) {
        let naming = self.name(&descent.alpha, earned);
        let (class, new) = self.table.number(&self.best_row, hash(&self.best_row));
        if new {
            rename(
                self.layout,
                &descent.alpha,
                &self.names[naming],
                &mut self.renamed,
            );
            self.level.weights.extend_from_slice(&self.renamed);
            self.level.earned.push(earned);
            self.level.multiplicities.push(0);
        }
        self.level.multiplicities[class as usize] += weight;
        let actions = &descent.actions[self.step.cells.clone()];
        let forgetting =
            self.census.splits && self.number > 0 && forgets(self.step, &descent.actions);
        let names = &self.names[naming];
        let packing = self.census.packing;
        let action = packing.pack_all(actions.iter().map(|&a| names[a as usize])) as u32;
        if forgetting {
            let forgetting = Forgetting { class, action };
            if !self.level.forgetting.contains(&forgetting) {
                self.level.forgetting.push(forgetting);
            }
        } else {
            self.found.push((class, Link { from, action }));
        }
    }

    /// Finds the names of the last tokens under which the row of what is seen is the least.
    fn name(&mut self, alpha: &[W], earned: W) -> usize {
        let mut best = 0;
        for (number, names) in self.names.iter().enumerate() {
            rename(self.layout, alpha, names, &mut self.renamed);
            self.row.clear();
            for sight in self.sights {
                let products = sight.iter().zip(&self.renamed);
                let mut sum = W::zero();
                products.for_each(|(&factor, &weight)| sum += factor * weight);
                self.row.push(sum);
            }
            // What has ended is settled, and is part of what the suffix of actions 0 earns in all.
            self.row[0] += earned;
            if number == 0 || self.row < self.best_row {
                std::mem::swap(&mut self.row, &mut self.best_row);
                best = number;
            }
        }
        best
    }

    /// Sorts the links by class.
    fn finish(self) -> PrefixLevel<W> {
        let mut level = self.level;
        let mut starts = vec![0u32; level.classes() + 1];
        for (class, _) in &self.found {
            starts[*class as usize + 1] += 1;
        }
        for class in 0..level.classes() {
            starts[class + 1] += starts[class];
        }
        let mut next = starts.clone();
        let mut links = vec![Link { from: 0, action: 0 }; self.found.len()];
        for (class, link) in &self.found {
            let place = &mut next[*class as usize];
            links[*place as usize] = *link;
            *place += 1;
        }
        level.weights.shrink_to_fit();
        level.earned.shrink_to_fit();
        level.multiplicities.shrink_to_fit();
        (level.starts, level.links) = (starts, links);
        level
    }
}

/// The weights at the places of a level when its newest tokens have other names.
fn rename<W: Whole>(layout: &SeenLayout, alpha: &[W], names: &[Symbol], renamed: &mut [W]) {
    let q = names.len();
    for (places, renamed) in layout
        .places
        .chunks_exact(q)
        .zip(renamed.chunks_exact_mut(q))
    {
        for (&place, &name) in places.iter().zip(names) {
            renamed[name as usize] = alpha[place as usize];
        }
    }
}

/// All orders of q tokens, their own first; only that one where they are not all tried.
fn orders(q: usize, all: bool) -> Vec<Vec<Symbol>> {
    let mut order: Vec<Symbol> = (0..q as Symbol).collect();
    let mut orders = vec![order.clone()];
    if !all {
        return orders;
    }
    // From each to the next in the dictionary.
    while let Some(i) = (1..q).rev().find(|&i| order[i - 1] < order[i]) {
        let larger = (i..q).rev().find(|&j| order[j] > order[i - 1]);
        order.swap(i - 1, larger.expect("that at i is"));
        order[i..].reverse();
        orders.push(order.clone());
    }
    orders
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::landscape::census::Survey;
    use crate::{Class, InputLaw, Operation, Reward, Shape, Task, Unwatched};

    /// The worked example of docs/landscape.md.
    #[test]
    fn two_steps_of_parity_have_three_classes_of_4_16_and_44_prefixes() {
        let square = Operation::cyclic(2).unwrap();
        let task = Task::new(square, &InputLaw::Uniform, &[4]).unwrap();
        let class = Class::new(task, Shape::untied(0, 0)).unwrap();
        let flows = FlowTable::<i64>::new(&class);
        let frame = Survey::new(&class, &Reward::ZERO).unwrap().frame;
        let tally = Tally::new(&Unwatched, "parts", None);
        let budget = MergeBudget {
            bytes: f64::INFINITY,
            links: f64::INFINITY,
            steps: usize::MAX,
        };
        let prefixes = Prefixes::new(&frame, &flows, budget, &tally).unwrap();
        let of = |level: usize| {
            let mut counts = prefixes.levels[level].multiplicities.clone();
            counts.sort_unstable();
            counts
        };
        assert_eq!((of(1), of(2)), (vec![2, 2], vec![4, 16, 44]));
        assert_eq!(prefixes.steps(), 2);
        // The constant prefix leads nowhere else, and links that forget are kept by their actions.
        let level = &prefixes.levels[2];
        let links: usize = (0..3).map(|class| level.links(class).len()).sum();
        assert_eq!((links, level.forgetting.len()), (12, 2));
    }
}
