//! Re-verifies what is said of the shelf of a code (paper, App. G.6).
//!
//! - Optimal: J is 1.
//! - Escapes: the moves leave J as it is, but for the last, which raises it.
//! - Certified: the codes listed have the reward of the start and differ from each other; every
//!   single-cell change of each lowers J or leads to another of them.
//! - Bounded: the codes listed, as many as the cap, have the reward of the start and differ from
//!   each other, and so does one more; no single-cell change raises J, which is looked at for all
//!   of them or for a sample.
//!
//! Where a verdict says how high the way out is, that is checked too.
//!
//! Codes are listed as a breadth-first search finds them, changes taken by cell, then by action. A
//! shelf has one such list, so that nothing in it can be changed; this is checked for the codes
//! whose changes are looked at.

mod codes;
mod error;
mod way_out;

use super::forward::Forward;
use super::{CheckError, Earnings, Rollouts, are_listed};
use crate::model::class::Class;
use crate::model::operation::Symbol;
use crate::proof::claim::{CodeNode, Finding, Move, MoveKind, Verdict};
use crate::support::context::Context;
use crate::support::exact::Reward;
use crate::support::parallel::on_each;
use crate::support::watch::Stopped;
use crate::support::watch::Tally;
use codes::Codes;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

pub use error::VerdictError;

/// Rollouts of more steps than this, all together, are passed forward together.
pub(super) const MOST_STEPS: u128 = 1 << 30;

/// How many codes of a bounded shelf have all their single-cell changes looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// At most this number, evenly spaced, the first and the last among them.
    Sample(usize),
    /// Every one.
    All,
}

/// What a check went through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checked {
    /// Codes whose rewards were compared with the start's.
    pub codes: usize,
    /// Codes of which every single-cell change was looked at.
    pub looked_at: usize,
    /// Codes that were flooded again for an exact barrier.
    pub flooded: usize,
}

/// Checks a verdict; the observer receives the number of codes checked, and of how many. Each thread takes its
/// share of the memory.
///
/// ```
/// use foldglass::prelude::*;
/// use foldglass::proof::check::verdict::{Effort, check};
/// use foldglass::proof::claim::{Finding, Verdict};
/// let spec = ClassSpec::uniform(Operation::cyclic(2).unwrap(), &[1], Shape::untied(0, 0));
/// let class = spec.lay_out().unwrap();
/// let mut verdict = Verdict {
///     start: Code::new(&class, &[0, 1]).unwrap(),
///     reward: Reward::ONE,
///     finding: Finding::Optimal,
///     way_out: None,
/// };
/// assert!(check(&verdict, Effort::All, Context::default()).is_ok());
/// verdict.start = Code::new(&class, &[1, 1]).unwrap();
/// let error = check(&verdict, Effort::All, Context::default()).unwrap_err();
/// assert_eq!(error.to_string(), "J of the code is 1/2, not 1/1");
/// ```
///
/// # Panics
/// If a cell or action of a move is none of the class.
pub fn check(
    verdict: &Verdict,
    effort: Effort,
    context: Context<'_>,
) -> Result<Checked, VerdictError> {
    let start = verdict.start.clone();
    if are_listed(start.class(), MOST_STEPS) {
        let rollouts = Rollouts::within(start, context.each().memory)?;
        return check_by(rollouts, verdict, effort, context);
    }
    let (what, needed) = (
        "passing all inputs through a code",
        super::bytes(start.class()),
    );
    let allowed = context.each().memory.check(what, needed);
    allowed.map_err(CheckError::TooLarge)?;
    check_by(Forward::new(start), verdict, effort, context)
}

/// Checks a verdict by what its start earns.
fn check_by<E: Earnings>(
    start: E,
    verdict: &Verdict,
    effort: Effort,
    context: Context<'_>,
) -> Result<Checked, VerdictError> {
    check_reward(&start, &verdict.reward, || "the code".to_owned())?;
    let checked = check_finding(verdict, &start, effort, context)?;
    let flooded = match &verdict.way_out {
        Some(_) if verdict.finding == Finding::Optimal => return Err(VerdictError::Optimal),
        Some(way) => way_out::check(&start, way, context)?,
        None => 0,
    };
    Ok(Checked { flooded, ..checked })
}

/// Checks what is said of the shelf.
fn check_finding<E: Earnings>(
    verdict: &Verdict,
    rollouts: &E,
    effort: Effort,
    context: Context<'_>,
) -> Result<Checked, VerdictError> {
    let class = verdict.start.class();
    let is_one = rollouts.reward() == rollouts.denominator();
    let (nodes, beyond) = match &verdict.finding {
        Finding::Optimal if is_one => {
            return Ok(Checked {
                codes: 1,
                looked_at: 0,
                flooded: 0,
            });
        }
        Finding::Optimal => return Err(VerdictError::NotOptimal(reward(rollouts).to_string())),
        _ if is_one => return Err(VerdictError::Optimal),
        Finding::Escapes { moves } => return check_path(&mut rollouts.clone(), moves),
        Finding::Certified { nodes } => (nodes, None),
        Finding::Bounded { cap, nodes, beyond } => {
            let codes = nodes.len() + 1;
            if *cap != codes {
                return Err(VerdictError::Cap { cap: *cap, codes });
            }
            (nodes, Some(*beyond))
        }
    };
    let codes = Codes::new(class, &verdict.start, nodes, beyond)?;
    let looked_at = match (beyond, effort) {
        (Some(_), Effort::Sample(most)) => most.min(nodes.len() + 1),
        _ => nodes.len() + 1,
    };
    let shelf = CheckedShelf {
        class,
        level: rollouts.reward(),
        end: beyond,
        listed: nodes.len() + 1,
        looked_at,
        codes,
    };
    shelf.check(rollouts, context)?;
    Ok(Checked {
        codes: shelf.codes.len(),
        looked_at,
        flooded: 0,
    })
}

fn check_path(rollouts: &mut impl Earnings, moves: &[Move]) -> Result<Checked, VerdictError> {
    if moves.is_empty() {
        return Err(VerdictError::NoPath);
    }
    for (number, m) in (1..).zip(moves) {
        check_move(rollouts, number, m, number == moves.len())?;
    }
    Ok(Checked {
        codes: moves.len() + 1,
        looked_at: 0,
        flooded: 0,
    })
}

/// Makes a move if it is what it states; the last one alone raises J.
fn check_move(
    rollouts: &mut impl Earnings,
    number: usize,
    m: &Move,
    last: bool,
) -> Result<(), VerdictError> {
    let &Move { cell, from, to, .. } = m;
    let is = rollouts.code().action(cell);
    if is != from || from == to {
        return Err(VerdictError::NoMove {
            number,
            cell,
            from,
            to,
            is,
        });
    }
    let before = reward(rollouts);
    rollouts.set(cell, to);
    let after = reward(rollouts);
    let wanted = if last && after <= before {
        Some("the last move must raise J")
    } else if !last && after != before {
        Some("only the last move may change J")
    } else if m.kind.is_some_and(|kind| {
        kind != if last {
            MoveKind::Raise
        } else {
            MoveKind::Neutral
        }
    }) {
        Some("the last move is a raise, the others are neutral")
    } else {
        None
    };
    if let Some(wanted) = wanted {
        return Err(VerdictError::WrongMove {
            number,
            before: before.to_string(),
            after: after.to_string(),
            wanted,
        });
    }
    check_reward(rollouts, &m.reward, || {
        format!("the code after move {number}")
    })
}

fn ratio<E: Earnings>(rollouts: &E, numerator: E::Number) -> Reward {
    Reward::new(numerator, rollouts.denominator())
}

fn reward(rollouts: &impl Earnings) -> Reward {
    ratio(rollouts, rollouts.reward())
}

fn check_reward(
    rollouts: &impl Earnings,
    claimed: &Reward,
    place: impl Fn() -> String,
) -> Result<(), VerdictError> {
    let found = reward(rollouts);
    if found == *claimed {
        return Ok(());
    }
    Err(VerdictError::Reward {
        place: place(),
        found: found.to_string(),
        claimed: claimed.to_string(),
    })
}

/// A shelf to check, code by code.
struct CheckedShelf<'a, N> {
    class: &'a Class,
    level: N,
    /// Where the list ends; none when it is the whole shelf.
    end: Option<CodeNode>,
    /// Codes listed, the start included: all but the one beyond.
    listed: usize,
    /// How many of them have all their changes looked at, evenly spaced.
    looked_at: usize,
    codes: Codes,
}

impl<N: Clone + Default + Ord + Send + Sync> CheckedShelf<'_, N> {
    /// Checks all codes; of several that fail the first is reported.
    fn check<E: Earnings<Number = N>>(
        &self,
        rollouts: &E,
        context: Context<'_>,
    ) -> Result<(), VerdictError> {
        let tally = Tally::new(context.observer, "codes", Some(self.codes.len() as u64));
        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let stopped = AtomicBool::new(false);
        let failed: Mutex<Option<(usize, VerdictError)>> = Mutex::new(None);
        let work = || {
            let mut rollouts = rollouts.clone();
            while !stopped.load(Ordering::Relaxed) {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= self.codes.len() {
                    return;
                }
                if let Err(error) = self.check_code(&mut rollouts, number) {
                    // Codes of smaller numbers were begun before, and are finished.
                    stopped.store(true, Ordering::Relaxed);
                    let mut first = failed.lock().expect("no panic");
                    if first.as_ref().is_none_or(|(other, _)| number < *other) {
                        *first = Some((number, error));
                    }
                }
                done.fetch_add(1, Ordering::Relaxed);
                if tally.add(1).is_break() {
                    stopped.store(true, Ordering::Relaxed);
                }
            }
        };
        on_each(vec![(); context.threads], |()| work());
        match failed.into_inner().expect("no panic") {
            Some((_, error)) => Err(error),
            None if done.into_inner() < self.codes.len() => Err(Stopped.into()),
            None => Ok(()),
        }
    }

    /// Whether all changes of a code are looked at: this number, evenly spaced, the first and the last
    /// among them.
    fn is_looked_at(&self, number: usize) -> bool {
        if self.looked_at <= 1 {
            return number < self.looked_at;
        }
        // The n-th of them is code n (listed - 1) / (looked_at - 1), rounded down.
        let (gaps, last) = (self.looked_at - 1, self.listed - 1);
        let nearest = (number * gaps).div_ceil(last);
        number < self.listed && nearest * last / gaps == number
    }

    fn check_code<E: Earnings<Number = N>>(
        &self,
        rollouts: &mut E,
        number: usize,
    ) -> Result<(), VerdictError> {
        self.codes.go_to(rollouts, number);
        let level = ratio(rollouts, self.level.clone());
        check_reward(rollouts, &level, || format!("code {number}"))?;
        if !self.is_looked_at(number) {
            return Ok(());
        }
        let mut rewards = vec![N::default(); self.class.q()];
        for cell in 0..self.class.cells() {
            rollouts.rewards(cell, &mut rewards);
            for (action, reward) in rewards.iter().enumerate() {
                let action = action as Symbol;
                if *reward > self.level {
                    return Err(VerdictError::Exit {
                        number,
                        cell,
                        action,
                        reward: ratio(rollouts, reward.clone()).to_string(),
                    });
                }
                if *reward == self.level && action != rollouts.code().action(cell) {
                    self.check_listed(number, cell, action)?;
                }
            }
        }
        Ok(())
    }

    /// Checks that a code of the shelf, another one with one cell changed, is listed there or
    /// before, if the list goes as far.
    fn check_listed(&self, number: usize, cell: usize, action: Symbol) -> Result<(), VerdictError> {
        let here = CodeNode {
            parent: number as u32,
            cell: cell as u32,
            action,
        };
        match self.codes.find(here) {
            Some((listed, Some(node))) if here < node => Err(VerdictError::NotFirst {
                number,
                cell,
                action,
                listed,
            }),
            None if self.end.is_none_or(|end| here < end) => Err(VerdictError::NotClosed {
                number,
                cell,
                action,
            }),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::class::{ClassSpec, Shape};
    use crate::model::operation::Operation;
    use crate::model::policy::Code;

    #[test]
    fn a_sample_is_evenly_spaced_from_the_first_to_the_last_code_listed() {
        let spec = ClassSpec::uniform(Operation::cyclic(2).unwrap(), &[1], Shape::untied(0, 0));
        let class = spec.lay_out().unwrap();
        let start = Code::from_fn(&class, |_| 0);
        let codes = || Codes::new(&class, &start, &[], None).unwrap();
        for listed in 1..=40 {
            for looked_at in 0..=listed {
                let shelf = CheckedShelf {
                    class: &class,
                    level: 0u128,
                    end: None,
                    listed,
                    looked_at,
                    codes: codes(),
                };
                let seen: Vec<usize> = (0..=listed).filter(|&n| shelf.is_looked_at(n)).collect();
                assert_eq!(seen.len(), looked_at, "of {listed}: {seen:?}");
                assert!(looked_at == 0 || seen[0] == 0);
                assert!(looked_at < 2 || seen[looked_at - 1] == listed - 1);
                let gaps: Vec<usize> = seen.windows(2).map(|pair| pair[1] - pair[0]).collect();
                let (least, most) = (gaps.iter().min(), gaps.iter().max());
                assert!(most.unwrap_or(&0) - least.unwrap_or(&0) <= 1, "{seen:?}");
            }
        }
    }
}
