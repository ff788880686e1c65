//! Re-verifies how high the way out of a shelf is (paper, App. G.6).
//!
//! - The path: its rewards are what it states, only its last code earns more than the start, and J is
//!   at most, and once exactly, the height below the start's.
//! - An exact one: all codes that can be reached while J is less than the height below the start's are
//!   gone through anew. They are as many as stated, and no change of any leads above the start.

use super::{VerdictError, ratio, reward};
use crate::model::operation::Symbol;
use crate::proof::check::{CheckError, Earnings};
use crate::proof::claim::{Standing, WayOut};
use crate::support::context::Context;
use crate::support::parallel::on_each;
use crate::support::watch::Stopped;
use crate::support::watch::Tally;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// The cells that differ from the start, ascending, with their actions.
type Differences = Arc<[(usize, Symbol)]>;

/// The bytes that a code takes, with a dozen differences and its place in a set.
const BYTES: u128 = 256;

/// Checks a way out of the shelf of the rollouts' code; gives the codes that were gone through.
pub(super) fn check<E: Earnings>(
    start: &E,
    way: &WayOut,
    context: Context<'_>,
) -> Result<usize, VerdictError> {
    let height = follow(&mut start.clone(), way)?;
    let is_level = height == E::Number::default();
    let Standing::Exact { codes } = way.standing else {
        return Ok(0);
    };
    let flood = FloodCheck {
        start,
        top: start.reward(),
        height,
        codes,
    };
    let found = if is_level { 0 } else { flood.run(context)? };
    if found != codes {
        return Err(VerdictError::Flooded {
            claimed: codes,
            found,
        });
    }
    Ok(found)
}

/// Follows the path; gives the height in quanta.
fn follow<E: Earnings>(rollouts: &mut E, way: &WayOut) -> Result<E::Number, VerdictError> {
    let top = rollouts.reward();
    let mut lowest = top.clone();
    let last = way.moves.len();
    if last == 0 {
        return Err(VerdictError::NoPath);
    }
    for (number, m) in (1..).zip(&way.moves) {
        let is = rollouts.code().action(m.cell);
        if is != m.from || m.from == m.to {
            return Err(VerdictError::NoMove {
                number,
                cell: m.cell,
                from: m.from,
                to: m.to,
                is,
            });
        }
        let before = reward(rollouts);
        rollouts.set(m.cell, m.to);
        let place = || format!("the code after move {number} of the way out");
        super::check_reward(rollouts, &m.reward, place)?;
        if (rollouts.reward() > top) != (number == last) {
            return Err(VerdictError::WrongMove {
                number,
                before: before.to_string(),
                after: reward(rollouts).to_string(),
                wanted: "the last move of a way out, and no other, leads above the start",
            });
        }
        lowest = lowest.min(rollouts.reward());
    }
    let quanta = top - lowest;
    let height = ratio(rollouts, quanta.clone());
    if height != way.height {
        return Err(VerdictError::Height {
            claimed: way.height.to_string(),
            found: height.to_string(),
        });
    }
    Ok(quanta)
}

/// A flood to redo.
struct FloodCheck<'a, E: Earnings> {
    start: &'a E,
    top: E::Number,
    /// Codes so far below the top are not gone through.
    height: E::Number,
    /// How many there should be.
    codes: usize,
}

impl<E: Earnings> FloodCheck<'_, E> {
    /// Goes through the codes, those one change further each time; gives their number, or one more
    /// than there should be.
    fn run(&self, context: Context<'_>) -> Result<usize, VerdictError> {
        let what = format!("going through a flood of {} codes again", self.codes);
        let needed = (self.codes as u128).checked_mul(BYTES);
        let allowed = context.each().memory.check(&what, needed);
        allowed.map_err(CheckError::TooLarge)?;
        let none: Differences = Arc::new([]);
        let mut known = HashSet::from([none.clone()]);
        let mut layer = vec![none];
        let tally = Tally::new(
            context.observer,
            "codes of a flood",
            Some(self.codes as u64),
        );
        while !layer.is_empty() {
            let found = self.around(&layer, context.threads, &tally)?;
            layer = Vec::new();
            for differences in found {
                if known.insert(differences.clone()) {
                    layer.push(differences);
                }
            }
            if known.len() > self.codes {
                return Ok(known.len());
            }
        }
        Ok(known.len())
    }

    /// The codes one change away from those of a layer that are to be gone through.
    fn around(
        &self,
        layer: &[Differences],
        threads: usize,
        tally: &Tally<'_>,
    ) -> Result<Vec<Differences>, VerdictError> {
        let next = AtomicUsize::new(0);
        let stopped = AtomicBool::new(false);
        let found = Mutex::new(Ok(Vec::new()));
        let work = || {
            let mut rollouts = self.start.clone();
            while !stopped.load(Ordering::Relaxed) {
                let Some(code) = layer.get(next.fetch_add(1, Ordering::Relaxed)) else {
                    return;
                };
                let own = self.around_one(&mut rollouts, code);
                let own = match tally.add(1).is_break() {
                    true => own.and(Err(Stopped.into())),
                    false => own,
                };
                stopped.fetch_or(own.is_err(), Ordering::Relaxed);
                let mut found = found.lock().expect("no panic");
                match (&mut *found, own) {
                    (Ok(list), Ok(own)) => list.extend(own),
                    (Ok(_), Err(error)) => *found = Err(error),
                    (Err(_), _) => {}
                }
            }
        };
        on_each(vec![(); threads.min(layer.len())], |()| work());
        found.into_inner().expect("no panic")
    }

    fn around_one(
        &self,
        rollouts: &mut E,
        code: &Differences,
    ) -> Result<Vec<Differences>, VerdictError> {
        self.go_to(rollouts, code);
        let start = self.start.code();
        let mut rewards = vec![E::Number::default(); start.class().q()];
        let mut list = Vec::new();
        for cell in 0..start.actions().len() {
            rollouts.rewards(cell, &mut rewards);
            for (action, earned) in rewards.iter().enumerate() {
                let action = action as Symbol;
                if *earned > self.top {
                    return Err(VerdictError::HigherWay {
                        changes: code.len(),
                        cell,
                        action,
                        reward: ratio(rollouts, earned.clone()).to_string(),
                    });
                }
                let drop = self.top.clone() - earned.clone();
                if action != rollouts.code().action(cell) && drop < self.height {
                    let others = code.iter().copied().filter(|&(other, _)| other != cell);
                    let own = (action != start.action(cell)).then_some((cell, action));
                    let mut differences: Vec<(usize, Symbol)> = others.chain(own).collect();
                    differences.sort_unstable();
                    list.push(differences.into());
                }
            }
        }
        Ok(list)
    }

    fn go_to(&self, rollouts: &mut E, code: &Differences) {
        let mut target = self.start.code().clone();
        for &(cell, action) in code.iter() {
            target.set(cell, action);
        }
        for cell in 0..target.actions().len() {
            if rollouts.code().action(cell) != target.action(cell) {
                rollouts.set(cell, target.action(cell));
            }
        }
    }
}
