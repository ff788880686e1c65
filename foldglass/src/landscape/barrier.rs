//! Floods what lies around a code until a way out of its shelf is found (paper, App. G.6).
//!
//! The *barrier* of a code is how far J must fall below the code's reward, its *top*, before a higher
//! reward can be reached by single-cell changes. The flood goes through the codes that can be reached
//! while J falls by no more than the *water*, which starts at 0 (the shelf) and then falls to the
//! next reward at which anything new is reached. The first code above the top that comes in sight
//! ends it: all ways that stay higher were tried. Drops are integers, in quanta of the task.
//!
//! **A first bound.** Some way out is found beforehand. The flood only asks whether there
//! is a better one, so it keeps no code as low as the bound, and where none is left the bound is exact.
//!
//! **Order.** Codes are looked at in the order in which they are found, or found again as the water
//! falls, their changes by cell, then by action. What is found does not depend on the threads.

mod bound;

use crate::landscape::shelf::Workers;
use crate::landscape::shelf::nodes::ShelfNodes;
use crate::landscape::shelf::workers::{Drop, MOST_LATER, Neighbours, WaterLevel, Wish};
use crate::model::operation::Symbol;
use crate::model::policy::Code;
use crate::proof::claim::{Move, Standing, WayOut};
use crate::reward::count::{CountError, Numerator, RewardCounter};
use crate::support::context::Context;
use crate::support::exact::Reward;
use crate::support::memory::Allowance;
use crate::support::watch::{Observer, Progress, Stopped};
use dashu_int::UBig;

/// A cell and the action it takes.
type Change = (usize, Symbol);

/// Refuses a cap whose codes do not fit.
pub fn check_cap(cap: usize, memory: Allowance) -> Result<(), CountError> {
    let later = size_of::<Spill<u128>>() + MOST_LATER * size_of::<Drop<u128>>();
    let each = ShelfNodes::BYTES + later as u128 + 2 * size_of::<u32>() as u128;
    let needed = (cap as u128).checked_mul(each);
    Ok(memory.check(&format!("a flood of {cap} codes"), needed)?)
}

/// The way out of the shelf of a code, none at an optimal one. It is exact unless more than `cap`
/// codes would have to be kept, or the observer says stop. Where it says so before any way out is
/// known, which in large classes may take seconds, the result is [`Stopped`].
///
/// ```
/// use foldglass::landscape::barrier::way_out;
/// use foldglass::landscape::shelf::Workers;
/// use foldglass::prelude::*;
/// let spec = ClassSpec::uniform(Operation::cyclic(2).unwrap(), &[3], Shape::untied(0, 0));
/// let class = spec.lay_out().unwrap();
/// let copy = Code::from_fn(&class, |cell| class.key(cell).x[0].unwrap());
/// let mut workers = Workers::new(&class, Context::default())?;
/// // An untied class with independent inputs has no barriers.
/// let way = way_out(&mut workers, &copy, 1000, Context::default()).unwrap().unwrap();
/// assert!(way.height.is_zero());
/// # Ok::<(), foldglass::reward::count::CountError>(())
/// ```
///
/// # Panics
/// If the code belongs to another class than the workers, or `cap` is 0 or above 2^32 - 1.
pub fn way_out<C: RewardCounter>(
    workers: &mut Workers<C>,
    start: &Code,
    cap: usize,
    context: Context<'_>,
) -> Result<Option<WayOut>, Stopped> {
    let observer = context.observer;
    let (top, denominator) = workers.begin(start, cap);
    if top == denominator {
        return Ok(None);
    }
    let counter = workers.counter(start);
    let known = bound::find(counter, &top, observer)?;
    let bound = lowest(&known, &top);
    let is_level = bound == C::Numerator::default();
    let mut flood = BarrierFlood {
        nodes: ShelfNodes::new(start.clone()),
        spills: vec![Spill::default()],
        waiting: vec![0],
        cap,
        top: top.clone(),
        bound,
        water: C::Numerator::default(),
        above_water: 0,
    };
    let end = match is_level {
        true => End::Dry,
        false => flood.run(workers, observer),
    };
    let (standing, path) = match end {
        End::Found(changes) => {
            let codes = flood.above_water;
            (
                Standing::Exact { codes },
                walk(workers.counter(start), &changes),
            )
        }
        End::Dry => {
            let codes = if is_level { 0 } else { flood.nodes.len() };
            (Standing::Exact { codes }, known)
        }
        End::Unfinished => (Standing::Bound, known),
    };
    Ok(Some(WayOut {
        height: Reward::new(lowest(&path, &top), denominator.clone()),
        standing,
        moves: moves(start, &path, &denominator.into()),
    }))
}

/// A flood in progress.
struct BarrierFlood<N> {
    nodes: ShelfNodes,
    /// By code.
    spills: Vec<Spill<N>>,
    /// Codes to look at.
    waiting: Vec<u32>,
    cap: usize,
    /// The numerator of J of the start.
    top: N,
    /// The height of a way out that is known.
    bound: N,
    /// The drop below the top up to which codes are kept.
    water: N,
    /// The codes that were found when the water last fell.
    above_water: usize,
}

/// The changes of a code that drop lower than the water, and not as low as the bound.
struct Spill<N> {
    /// Those that drop least, the least last.
    later: Vec<Drop<N>>,
    /// The least drop of the others, for which the code is looked at again.
    next: Option<N>,
}

impl<N> Default for Spill<N> {
    fn default() -> Self {
        Spill {
            later: Vec::new(),
            next: None,
        }
    }
}

impl<N: Numerator> Spill<N> {
    /// The least drop.
    fn least(&self) -> Option<&N> {
        let first = self.later.last().map(|(drop, ..)| drop);
        first.or(self.next.as_ref())
    }

    /// Takes out the changes that the water has fallen to; none where the code has to be looked at.
    fn reached(&mut self, water: &N) -> Vec<(u32, Symbol)> {
        let mut reached = Vec::new();
        while let Some((_, cell, action)) = self.later.pop_if(|(drop, ..)| *drop <= *water) {
            reached.push((cell, action));
        }
        reached
    }
}

/// How a flood ended.
enum End {
    /// At a code above the top, with the changes that lead there.
    Found(Vec<Change>),
    /// No code is left that is less than the bound below the top.
    Dry,
    /// At the cap, or by the observer.
    Unfinished,
}

impl<N: Numerator> BarrierFlood<N> {
    fn run<C: RewardCounter<Numerator = N>>(
        &mut self,
        workers: &mut Workers<C>,
        observer: &dyn Observer,
    ) -> End {
        let mut next = 0;
        loop {
            if next == self.waiting.len() {
                next = 0;
                let Some(water) = self.spills.iter().filter_map(Spill::least).min() else {
                    return End::Dry;
                };
                self.fall(water.clone());
            }
            if observer.report(self.progress()).is_break() {
                return End::Unfinished;
            }
            let end = self.waiting.len().min(next + workers.together());
            let numbers = self.waiting[next..end].to_vec();
            let reached = numbers.iter().map(|&number| {
                let spill = &mut self.spills[number as usize];
                spill.reached(&self.water)
            });
            let reached: Vec<_> = reached.collect();
            let unseen = numbers
                .iter()
                .zip(&reached)
                .filter(|(_, reached)| reached.is_empty());
            let unseen: Vec<u32> = unseen.map(|(&number, _)| number).collect();
            let level = WaterLevel {
                top: self.top.clone(),
                water: self.water.clone(),
                bound: Some(self.bound.clone()),
            };
            let watch = (observer, self.progress());
            let seen = workers.look(&self.nodes, &unseen, &level, Wish::All, watch);
            let Ok(seen) = seen else {
                return End::Unfinished;
            };
            next = end;
            let mut seen = seen.into_iter();
            for (number, reached) in numbers.into_iter().zip(reached) {
                if !reached.is_empty() {
                    if !self.keep(number, &reached) {
                        return End::Unfinished;
                    }
                    continue;
                }
                let seen = seen.next().expect("one for each that is looked at");
                if let Some((cell, action, _)) = seen.raising {
                    let mut way = self.nodes.way(number as usize);
                    way.push((cell, action));
                    return End::Found(way);
                }
                if !self.take(number, seen) {
                    return End::Unfinished;
                }
            }
        }
    }

    /// Lets the water fall to a drop, at which some codes lead on.
    fn fall(&mut self, water: N) {
        self.above_water = self.nodes.len();
        let spilling = self.spills.iter().enumerate();
        let spilling = spilling.filter(|(_, spill)| spill.least() == Some(&water));
        self.waiting = spilling.map(|(number, _)| number as u32).collect();
        self.water = water;
    }

    /// Takes in what was seen at a code; false when the cap does not allow it.
    fn take(&mut self, number: u32, seen: Neighbours<N>) -> bool {
        let Neighbours {
            kept,
            mut later,
            next,
            ..
        } = seen;
        later.reverse();
        self.spills[number as usize] = Spill { later, next };
        self.keep(number, &kept)
    }

    /// Keeps the codes that changes of one lead to; false when the cap does not allow it.
    fn keep(&mut self, number: u32, changes: &[(u32, Symbol)]) -> bool {
        let before = self.nodes.len();
        let beyond = self.nodes.insert_all(number, changes, self.cap);
        let new = before..self.nodes.len();
        self.spills.resize_with(new.end, Spill::default);
        self.waiting.extend(new.map(|number| number as u32));
        beyond.is_none()
    }

    fn progress(&self) -> Progress<'static> {
        Progress {
            unit: "codes of the flood",
            done: self.nodes.len() as u64,
            all: Some(self.cap as u64),
            share: None,
        }
    }
}

/// A change, and the numerator of J after it.
type Stepped<N> = (Change, N);

/// The most by which J falls below the top on a path.
fn lowest<N: Numerator>(path: &[Stepped<N>], top: &N) -> N {
    let drops = path
        .iter()
        .filter_map(|(_, reward)| top.checked_sub(reward));
    drops.max().unwrap_or_default()
}

/// Makes changes from the counter's code, one after the other.
fn walk<C: RewardCounter>(counter: &mut C, changes: &[Change]) -> Vec<Stepped<C::Numerator>> {
    let mut step = |&(cell, to): &Change| {
        counter.set(cell, to);
        ((cell, to), counter.reward())
    };
    changes.iter().map(&mut step).collect()
}

/// The moves of a path.
fn moves<N: Numerator>(start: &Code, path: &[Stepped<N>], denominator: &UBig) -> Vec<Move> {
    let mut code = start.clone();
    let mut step = |((cell, to), reward): &Stepped<N>| {
        let (cell, to) = (*cell, *to);
        let from = code.action(cell);
        code.set(cell, to);
        Move {
            cell,
            from,
            to,
            kind: None,
            reward: Reward::new(reward.clone(), denominator.clone()),
        }
    };
    path.iter().map(&mut step).collect()
}
