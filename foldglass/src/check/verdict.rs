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
//! Codes are listed as a breadth-first search finds them, changes taken by cell, then by action. A
//! shelf has one such list, so that nothing in it can be changed; this is checked for the codes
//! whose changes are looked at.

mod codes;
mod error;

use super::Rollouts;
use crate::class::{Allowance, Class};
use crate::exact::lowest_terms;
use crate::policy::Code;
use crate::quasigroup::Symbol;
use codes::Codes;
use dashu_ratio::RBig;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

pub use error::VerdictError;

/// A code, as another one with one cell changed. Codes are numbered; number 0 is the start. They
/// are listed in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node {
    /// The number of the other code, which is smaller.
    pub parent: usize,
    /// The cell that differs.
    pub cell: usize,
    /// Its action here.
    pub action: Symbol,
}

/// One change of one cell on a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move {
    /// The cell.
    pub cell: usize,
    /// Its action before.
    pub from: Symbol,
    /// Its action after.
    pub to: Symbol,
    /// J after it.
    pub reward: RBig,
}

/// What is said of a code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// J is 1.
    Optimal,
    /// These and the start are the whole shelf, and it has no exit.
    Certified {
        /// Code i is `nodes[i - 1]`.
        nodes: Vec<Node>,
    },
    /// These and the start are on the shelf and have no exit, but the shelf is larger.
    Bounded {
        /// Their number, the start included.
        cap: usize,
        /// Code i is `nodes[i - 1]`.
        nodes: Vec<Node>,
        /// One more code of the shelf.
        beyond: Node,
    },
    /// There is a path to a higher reward that never lowers J.
    Escapes {
        /// Its moves, of which the last alone raises J.
        moves: Vec<Move>,
    },
}

/// A code, its reward and what is said of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The code.
    pub start: Code,
    /// Its reward.
    pub reward: RBig,
    /// What is said of it.
    pub claim: Claim,
}

/// How many codes of a bounded shelf have all their single-cell changes looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// At most so many, evenly spaced, the first among them.
    Sample(usize),
    /// Every one.
    All,
}

/// How a check is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// How much of a bounded shelf is looked at.
    pub effort: Effort,
    /// Threads, at least 1.
    pub threads: usize,
    /// The memory that each may take.
    pub each: Allowance,
}

/// What a check went through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checked {
    /// Codes whose rewards were compared with the start's.
    pub codes: usize,
    /// Codes of which every single-cell change was looked at.
    pub looked_at: usize,
}

/// Checks a verdict; `go_on` hears how many codes were gone through, of how many.
///
/// ```
/// use foldglass::check::verdict::{Claim, Effort, Settings, Verdict, check};
/// use foldglass::class::{Allowance, Class, Shape};
/// use foldglass::policy::Code;
/// use foldglass::{inputs::InputLaw, quasigroup::LatinSquare, task::Task};
/// use std::ops::ControlFlow;
/// let task = Task::new(LatinSquare::cyclic(2).unwrap(), &InputLaw::Uniform, &[1]).unwrap();
/// let class = Class::new(task, Shape::untied(0, 0), Allowance::default()).unwrap();
/// let (effort, threads, each) = (Effort::All, 1, Allowance::default());
/// let settings = Settings { effort, threads, each };
/// let mut verdict = Verdict {
///     start: Code::new(&class, &[0, 1]).unwrap(),
///     reward: 1.into(),
///     claim: Claim::Optimal,
/// };
/// assert!(check(&class, &verdict, settings, |_, _| ControlFlow::Continue(())).is_ok());
/// verdict.start = Code::new(&class, &[1, 1]).unwrap();
/// let error = check(&class, &verdict, settings, |_, _| ControlFlow::Continue(())).unwrap_err();
/// assert_eq!(error.to_string(), "J of the code is 1/2, not 1/1");
/// ```
///
/// # Panics
/// If the code belongs to another class, a cell or action of a move is none of the class, or there
/// are no threads.
pub fn check(
    class: &Class,
    verdict: &Verdict,
    settings: Settings,
    go_on: impl Fn(usize, usize) -> ControlFlow<()> + Sync,
) -> Result<Checked, VerdictError> {
    let mut rollouts = Rollouts::new(class, verdict.start.clone(), settings.each)?;
    check_reward(&rollouts, &verdict.reward, || "the code".to_owned())?;
    let is_one = rollouts.reward() == rollouts.denominator();
    let (nodes, beyond) = match &verdict.claim {
        Claim::Optimal if is_one => {
            return Ok(Checked {
                codes: 1,
                looked_at: 0,
            });
        }
        Claim::Optimal => return Err(VerdictError::NotOptimal(reward(&rollouts))),
        _ if is_one => return Err(VerdictError::Optimal),
        Claim::Escapes { moves } => return check_path(&mut rollouts, moves),
        Claim::Certified { nodes } => (nodes, None),
        Claim::Bounded { cap, nodes, beyond } => {
            let codes = nodes.len() + 1;
            if *cap != codes {
                return Err(VerdictError::Cap { cap: *cap, codes });
            }
            (nodes, Some(*beyond))
        }
    };
    let codes = Codes::new(class, &verdict.start, nodes, beyond)?;
    let looked_at = match (beyond, settings.effort) {
        (Some(_), Effort::Sample(most)) => most.min(nodes.len() + 1),
        _ => nodes.len() + 1,
    };
    let shelf = Shelf {
        class,
        level: rollouts.reward(),
        end: beyond,
        listed: nodes.len() + 1,
        looked_at,
        codes,
    };
    shelf.check(&rollouts, settings.threads, go_on)?;
    Ok(Checked {
        codes: shelf.codes.len(),
        looked_at,
    })
}

fn check_path(rollouts: &mut Rollouts, moves: &[Move]) -> Result<Checked, VerdictError> {
    if moves.is_empty() {
        return Err(VerdictError::NoPath);
    }
    for (number, m) in (1..).zip(moves) {
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
        let (before, said) = (rollouts.reward(), reward(rollouts));
        rollouts.set(cell, to);
        let after = rollouts.reward();
        let wanted = match number == moves.len() {
            true if after <= before => "the last move must raise J",
            false if after != before => "only the last move may change J",
            _ => {
                check_reward(rollouts, &m.reward, || {
                    format!("the code after move {number}")
                })?;
                continue;
            }
        };
        return Err(VerdictError::WrongMove {
            number,
            before: said,
            after: reward(rollouts),
            wanted,
        });
    }
    Ok(Checked {
        codes: moves.len() + 1,
        looked_at: 0,
    })
}

fn ratio(rollouts: &Rollouts, numerator: u128) -> RBig {
    RBig::from_parts(numerator.into(), rollouts.denominator().into())
}

/// J in lowest terms.
fn reward(rollouts: &Rollouts) -> String {
    lowest_terms(&ratio(rollouts, rollouts.reward()))
}

fn check_reward(
    rollouts: &Rollouts,
    claimed: &RBig,
    place: impl Fn() -> String,
) -> Result<(), VerdictError> {
    match ratio(rollouts, rollouts.reward()) == *claimed {
        true => Ok(()),
        false => Err(VerdictError::Reward {
            place: place(),
            found: reward(rollouts),
            claimed: lowest_terms(claimed),
        }),
    }
}

/// A shelf to check, code by code.
struct Shelf<'a> {
    class: &'a Class,
    level: u128,
    /// Where the list ends; none when it is the whole shelf.
    end: Option<Node>,
    /// Codes listed, the start included: all but the one beyond.
    listed: usize,
    /// How many of them have all their changes looked at, evenly spaced.
    looked_at: usize,
    codes: Codes,
}

impl Shelf<'_> {
    /// Checks all codes; of several that fail the first is reported.
    fn check(
        &self,
        rollouts: &Rollouts,
        threads: usize,
        go_on: impl Fn(usize, usize) -> ControlFlow<()> + Sync,
    ) -> Result<(), VerdictError> {
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
                let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                if go_on(done, self.codes.len()).is_break() {
                    stopped.store(true, Ordering::Relaxed);
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(work);
            }
        });
        match failed.into_inner().expect("no panic") {
            Some((_, error)) => Err(error),
            None if done.into_inner() < self.codes.len() => Err(VerdictError::Stopped),
            None => Ok(()),
        }
    }

    /// Whether all changes of a code are looked at.
    fn is_looked_at(&self, number: usize) -> bool {
        let before = |number: usize| (number * self.looked_at).div_ceil(self.listed);
        number < self.listed && before(number) < before(number + 1)
    }

    fn check_code(&self, rollouts: &mut Rollouts, number: usize) -> Result<(), VerdictError> {
        self.codes.go_to(rollouts, number);
        let level = ratio(rollouts, self.level);
        check_reward(rollouts, &level, || format!("code {number}"))?;
        if !self.is_looked_at(number) {
            return Ok(());
        }
        let mut rewards = vec![0; self.class.q()];
        for cell in 0..self.class.cells() {
            rollouts.rewards(cell, &mut rewards);
            for (action, &reward) in rewards.iter().enumerate() {
                let action = action as Symbol;
                if reward > self.level {
                    return Err(VerdictError::Exit {
                        number,
                        cell,
                        action,
                        reward: lowest_terms(&ratio(rollouts, reward)),
                    });
                }
                if reward == self.level && action != rollouts.code().action(cell) {
                    self.check_listed(number, cell, action)?;
                }
            }
        }
        Ok(())
    }

    /// Checks that a code of the shelf, another one with one cell changed, is listed there or
    /// before, if the list goes as far.
    fn check_listed(&self, number: usize, cell: usize, action: Symbol) -> Result<(), VerdictError> {
        let here = Node {
            parent: number,
            cell,
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
