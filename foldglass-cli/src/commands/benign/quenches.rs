//! Walks at zero temperature from random codes, and certifies where they end.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use foldglass::dynamics::chain::{ChainError, ChainSettings, Chains, Kernel, Order};
use foldglass::landscape::shelf::{Search, Workers};
use foldglass::proof::claim::Finding;
use foldglass::reward::count as counts;
use foldglass::support::parallel::in_order;
use foldglass::support::watch::{Observer, Progress};
use foldglass::{Allowance, Class, Code, Context};
use foldglass_study::StudyError;
use foldglass_study::parallel::{fitting, threads};

use crate::cli::GlobalArgs;
use crate::error::Error;
use crate::progress::{Terminal, interrupted};

/// Quenches, their sweeps, and the codes of a shelf that are searched, at most.
const QUENCHES: usize = 500;
const SWEEPS: usize = 200;
const SHELF: usize = 2000;

/// The changes of single cells that all quenches together try: some ten seconds of one processor core. It bounds them
/// by what they do and not by a clock, so that one seed gives one answer.
const CHANGES: u64 = 150_000_000;

/// How many quenches a class gets at least: each may use this part of the changes for its sweeps, and for its shelf.
const FEWEST: u64 = 8;

/// How quenches ended.
#[derive(Debug, Default, PartialEq)]
pub struct QuenchEnds {
    /// At reward 1.
    pub optimal: usize,
    /// In a trap.
    pub certified: usize,
    /// Elsewhere: a raise was left, or the shelf has more codes than were searched.
    pub undecided: usize,
    /// The first trap.
    pub code: Option<Code>,
    /// The most sweeps of each.
    pub sweeps: usize,
    /// The most codes of a shelf.
    pub shelf: usize,
}

enum End {
    Optimal,
    Certified(Code),
    Undecided,
}

/// How much is done, of all that may be.
struct Budget {
    /// The changes tried in a sweep, and for a code of a shelf. In a tied class each is followed through all steps.
    each: u64,
    all: u64,
    spent: AtomicU64,
}

impl Budget {
    fn of(class: &Class, all: u64) -> Budget {
        let steps = match class.shape().tied {
            true => class.task().longest(),
            false => 1,
        };
        Budget {
            each: (class.cells() * (class.q() - 1) * steps) as u64,
            all,
            spent: AtomicU64::new(0),
        }
    }

    /// At most so many sweeps of a quench, or codes of a shelf.
    fn most(&self, wanted: usize) -> usize {
        let affordable = self.all / self.each / (2 * FEWEST);
        usize::try_from(affordable)
            .unwrap_or(usize::MAX)
            .clamp(1, wanted)
    }

    /// Adds what a quench did.
    fn spend(&self, looks: usize) -> ControlFlow<()> {
        let looks = looks as u64 * self.each;
        match self.spent.fetch_add(looks, Ordering::Relaxed) + looks < self.all {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    }

    fn share(&self) -> f64 {
        self.spent.load(Ordering::Relaxed) as f64 / self.all as f64
    }
}

/// Shows the work as quenches done.
struct Quenching<'a> {
    terminal: &'a dyn Observer,
    budget: &'a Budget,
    done: u64,
}

impl Quenching<'_> {
    fn go_on(&self) -> ControlFlow<()> {
        let share = (self.done as f64 / QUENCHES as f64).max(self.budget.share());
        self.terminal.report(Progress {
            unit: "quenches",
            done: self.done,
            all: Some(QUENCHES as u64),
            share: Some(share.min(1.0)),
        })
    }
}

impl Observer for Quenching<'_> {
    fn report(&self, _: Progress<'_>) -> ControlFlow<()> {
        self.go_on()
    }
}

fn refuse(error: ChainError) -> StudyError {
    match error {
        ChainError::TooLarge(error) => error.into(),
        ChainError::Count(error) => StudyError::Count(error),
        other => StudyError::Failed(other.to_string()),
    }
}

/// Makes up to 500 quenches. None when it was stopped.
pub fn quench(
    class: &Class,
    settings: &GlobalArgs,
    allowance: Allowance,
) -> Result<Option<QuenchEnds>, Error> {
    let what = format!("a quench of {} cells", class.cells());
    let asked = threads(settings.threads, QUENCHES);
    let threads = fitting(asked, &what, counts::bytes(class), allowance)?;
    let context = Context::default()
        .with_threads(threads)
        .with_memory(allowance);
    Ok(within(
        class,
        settings.seed,
        CHANGES,
        context.with_observer(&Terminal::new()),
    )?)
}

/// The same with this number of changes, more or less: what begins within it is finished.
fn within(
    class: &Class,
    seed: u64,
    changes: u64,
    context: Context<'_>,
) -> Result<Option<QuenchEnds>, StudyError> {
    let each = context.memory.shared(context.threads);
    let budget = Budget::of(class, changes);
    let (sweeps, shelf) = (budget.most(SWEEPS), budget.most(SHELF));
    let dynamics = ChainSettings::of(class)
        .with_kernel(Kernel::Metropolis)
        .with_order(Order::Cell);
    let enough = AtomicBool::new(false);
    let job = |number: usize| -> Result<Option<(End, usize)>, StudyError> {
        let watch = Quenching {
            terminal: context.observer,
            budget: &budget,
            done: number as u64,
        };
        if enough.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let chain = number as u64..number as u64 + 1;
        let mut walk = Chains::builder(class, dynamics)
            .seed(seed)
            .numbers(chain)
            .within(each)
            .start()
            .map_err(refuse)?;
        for sweep in 1..=sweeps {
            if watch.go_on().is_break() {
                return Ok(None);
            }
            walk.sweep(&[0.0]);
            if walk.reward(0) == walk.denominator() {
                return Ok(Some((End::Optimal, sweep)));
            }
        }
        let context = Context::default().with_threads(1).with_memory(each);
        let mut workers = Workers::new(class, context)?;
        let mut search = Search::new(&mut workers, walk.code(0).clone(), shelf);
        search.explore(&mut workers, context.with_observer(&watch));
        if interrupted() || !search.is_over() {
            return Ok(None);
        }
        let Some(found) = search.finish() else {
            return Ok(None);
        };
        let end = match found.verdict.finding {
            Finding::Certified { .. } => End::Certified(found.verdict.start),
            _ => End::Undecided,
        };
        Ok(Some((end, sweeps + found.explored)))
    };
    let mut ends = QuenchEnds {
        sweeps,
        shelf,
        ..QuenchEnds::default()
    };
    let take = |(end, looks): (End, usize)| {
        // A quench that another thread made after the last one is not counted.
        if enough.load(Ordering::Relaxed) {
            return Ok(());
        }
        match end {
            End::Optimal => ends.optimal += 1,
            End::Undecided => ends.undecided += 1,
            End::Certified(code) => {
                ends.certified += 1;
                ends.code.get_or_insert(code);
            }
        }
        if budget.spend(looks).is_break() {
            enough.store(true, Ordering::Relaxed);
        }
        Ok(())
    };
    in_order(0..context.threads, QUENCHES, |_| &job, take)?;
    let all = ends.optimal + ends.certified + ends.undecided == QUENCHES;
    Ok((all || enough.into_inner()).then_some(ends))
}

#[cfg(test)]
mod tests {
    use super::*;
    use foldglass::{ClassSpec, Operation, Shape};

    #[test]
    fn quenches_end_when_their_changes_are_spent_the_same_on_any_number_of_threads() {
        let shape = Shape {
            memory: 2,
            ..Shape::untied(0, 0)
        };
        let spec = ClassSpec::uniform(Operation::cyclic(3).unwrap(), &[4], shape);
        let class = spec.lay_out().unwrap();
        let made = |changes: u64, threads: usize| {
            let context = Context::default().with_threads(threads);
            within(&class, 5, changes, context).unwrap().unwrap()
        };
        let number = |ends: &QuenchEnds| ends.optimal + ends.certified + ends.undecided;
        let each = (class.cells() * 2) as u64;
        let few = made(1000 * each, 1);
        // The least part of it is for the sweeps of a quench.
        assert_eq!((few.sweeps, few.shelf), (62, 62));
        assert!((8..100).contains(&number(&few)), "{few:?}");
        assert_eq!(few, made(1000 * each, 3));
        // Changes for one sweep: one quench.
        let one = made(1, 2);
        assert_eq!((number(&one), one.sweeps, one.shelf), (1, 1, 1));
        assert_eq!(number(&made(4000 * 500 * each, 2)), 500);
    }

    #[test]
    fn a_change_of_a_tied_class_is_followed_through_all_steps() {
        let each = |tied: bool| {
            let shape = Shape {
                tied,
                ..Shape::untied(0, 0)
            };
            let spec = ClassSpec::uniform(Operation::cyclic(3).unwrap(), &[4], shape);
            Budget::of(&spec.lay_out().unwrap(), 1).each
        };
        assert_eq!((each(false), each(true)), (30 * 2, 12 * 2 * 4));
    }
}
