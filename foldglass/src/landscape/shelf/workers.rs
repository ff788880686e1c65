//! Looks at the single-cell changes of many codes at once.

use super::nodes::ShelfNodes;
use crate::model::class::Class;
use crate::model::operation::Symbol;
use crate::model::policy::Code;
use crate::reward::count::{CountError, Counter, Numerator, RewardCounter};
use crate::support::context::Context;
use crate::support::parallel::in_order;
use crate::support::watch::{Asking, Observer, Progress, Stopped};

/// Rewards to ask for between two reports, about a tenth of a second.
const TOGETHER: usize = 1 << 22;

/// The most codes between two reports.
const MOST_TOGETHER: usize = 4096;

/// Fewer rewards than these are not worth a thread.
const WORTH_THREADS: usize = 1 << 16;

/// The most changes of a code that are kept for when the water falls to them. A code that has more is looked at again.
pub(in crate::landscape) const MOST_LATER: usize = 8;

/// Counters that go from code to code, one a thread: `Workers<WideCounter>` where the rewards of the class
/// pass the integers of a [`Counter`].
pub struct Workers<C = Counter> {
    class: Class,
    counters: Vec<C>,
}

/// What is wanted of the changes of a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::landscape) enum Wish {
    /// Everything.
    All,
    /// The first that raises J above the top.
    Raising,
}

/// How far below the top changes may lead, as numerators of J.
#[derive(Debug, Clone)]
pub(in crate::landscape) struct WaterLevel<N> {
    /// The reward that a raise must exceed.
    pub top: N,
    /// The drop below the top up to which codes are kept: 0 on a shelf.
    pub water: N,
    /// Drops from this one on are of no interest; none where all below the water are.
    pub bound: Option<N>,
}

/// How far a change drops, its cell and its action.
pub(in crate::landscape) type Drop<N> = (N, u32, Symbol);

/// What was seen at a code, by cell, then by action.
#[derive(Debug)]
pub(in crate::landscape) struct Neighbours<N> {
    /// Cells and actions that drop no further than the water.
    pub kept: Vec<(u32, Symbol)>,
    /// The others below the bound that drop least: the drop, cell and action, ascending, at most [`MOST_LATER`]. All of
    /// one drop are there or none.
    pub later: Vec<Drop<N>>,
    /// The least drop below the bound of those that are left out.
    pub next: Option<N>,
    /// The first cell and action that lead above the top, and J's numerator then.
    pub raising: Option<(usize, Symbol, N)>,
}

impl Workers {
    /// A counter for each thread of a context.
    pub fn new(class: &Class, context: Context<'_>) -> Result<Workers, CountError> {
        Workers::of(class, context)
    }
}

impl<C: RewardCounter> Workers<C> {
    /// A counter of this kind for each thread of a context.
    pub fn of(class: &Class, context: Context<'_>) -> Result<Workers<C>, CountError> {
        let each = context.each().memory;
        let counter = |_| C::within(Code::from_fn(class, |_| 0), each);
        Ok(Workers {
            class: class.clone(),
            counters: (0..context.threads)
                .map(counter)
                .collect::<Result<_, _>>()?,
        })
    }

    /// The class of the codes.
    pub fn class(&self) -> &Class {
        &self.class
    }

    /// J of the code that a search of at most `cap` codes begins at, as numerator and denominator.
    ///
    /// # Panics
    /// If the code belongs to another class, or `cap` is 0 or above 2^32 - 1.
    pub(in crate::landscape) fn begin(
        &mut self,
        start: &Code,
        cap: usize,
    ) -> (C::Numerator, C::Numerator) {
        assert!(
            (1..=u32::MAX as usize).contains(&cap),
            "a cap from 1 to 2^32 - 1"
        );
        assert!(
            self.class() == start.class(),
            "a code of the workers' class"
        );
        let counter = self.counter(start);
        (counter.reward(), counter.denominator())
    }

    /// A counter at this code.
    pub(in crate::landscape) fn counter(&mut self, code: &Code) -> &mut C {
        let counter = &mut self.counters[0];
        go_to(counter, code);
        counter
    }

    /// The most codes to look at in one go. In a tied class a reward may need a pass over all steps.
    pub(in crate::landscape) fn together(&self) -> usize {
        let class = &self.class;
        let passes = if class.shape().tied {
            class.task().longest()
        } else {
            1
        };
        let rewards = class.cells() * class.q() * passes;
        (TOGETHER / rewards).clamp(self.counters.len(), MOST_TOGETHER)
    }

    /// Looks at the changes of the codes of these numbers, in their order, by counters that are
    /// there; at none where it is stopped meanwhile. A single code may take long, so the observer is
    /// asked at its cells, too.
    pub(in crate::landscape) fn look(
        &mut self,
        nodes: &ShelfNodes,
        numbers: &[u32],
        level: &WaterLevel<C::Numerator>,
        wish: Wish,
        (observer, progress): (&dyn Observer, Progress<'_>),
    ) -> Result<Vec<Neighbours<C::Numerator>>, Stopped> {
        let question = || observer.report(progress);
        let see_at = |counter: &mut C, number: u32, asking: &mut Asking<'_>| {
            let code = nodes.code(number as usize);
            go_to(counter, &code);
            look_at(counter, &code, level, wish, asking)
        };
        let rewards = numbers.len() * self.class.cells() * self.class.q();
        let threads = if rewards < WORTH_THREADS {
            1
        } else {
            self.counters.len()
        };
        let mut seen = Vec::with_capacity(numbers.len());
        let see_at = &see_at;
        in_order(
            self.counters.iter_mut().take(threads),
            numbers.len(),
            |counter| {
                let mut asking = Asking::new(&question);
                move |place| see_at(&mut *counter, numbers[place], &mut asking).map(Some)
            },
            |sight| {
                seen.push(sight);
                Ok(())
            },
        )?;
        Ok(seen)
    }
}

/// Gives the counter this code.
fn go_to(counter: &mut impl RewardCounter, code: &Code) {
    let now = counter.code().actions().iter();
    let pairs = now.zip(code.actions()).enumerate();
    let differ: Vec<usize> = pairs
        .filter_map(|(cell, (now, then))| (now != then).then_some(cell))
        .collect();
    for cell in differ {
        counter.set(cell, code.action(cell));
    }
}

fn look_at<C: RewardCounter>(
    counter: &mut C,
    code: &Code,
    level: &WaterLevel<C::Numerator>,
    wish: Wish,
    asking: &mut Asking<'_>,
) -> Result<Neighbours<C::Numerator>, Stopped> {
    let WaterLevel { top, water, bound } = level;
    let drop = top.checked_sub(&counter.reward());
    assert!(
        drop.is_some_and(|drop| drop <= *water),
        "a code that is kept"
    );
    let mut rewards = vec![C::Numerator::default(); counter.class().q()];
    let mut seen = Neighbours {
        kept: Vec::new(),
        later: Vec::new(),
        next: None,
        raising: None,
    };
    for cell in 0..code.actions().len() {
        asking.go_on()?;
        counter.rewards(cell, &mut rewards);
        for (action, reward) in rewards.iter().enumerate() {
            let action = action as Symbol;
            let Some(drop) = top.checked_sub(reward) else {
                seen.raising
                    .get_or_insert_with(|| (cell, action, reward.clone()));
                continue;
            };
            if wish == Wish::Raising || action == code.action(cell) {
                continue;
            }
            if drop <= *water {
                seen.kept.push((cell as u32, action));
            } else if bound.as_ref().is_some_and(|bound| drop < *bound) {
                seen.later.push((drop, cell as u32, action));
            }
        }
        if seen.raising.is_some() && wish == Wish::Raising {
            break;
        }
    }
    (seen.later, seen.next) = least(seen.later);
    Ok(seen)
}

/// The changes that drop least, and the least drop of the others.
fn least<N: Numerator>(mut changes: Vec<Drop<N>>) -> (Vec<Drop<N>>, Option<N>) {
    changes.sort_unstable();
    let next = changes.get(MOST_LATER).map(|(drop, ..)| drop.clone());
    if let Some(next) = &next {
        changes.truncate(changes.partition_point(|(drop, ..)| drop < next));
        changes.shrink_to_fit();
    }
    (changes, next)
}
