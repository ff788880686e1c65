//! Says about how long a census takes, from some of its parts.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use foldglass::landscape::census::Demands;
use foldglass::watch::{Observer, Progress, Tally};

use super::execute::CensusPlan;
use crate::plan::Shard;

/// How long sets of endings are tried out, and then other parts.
const TRIAL: Duration = Duration::from_millis(500);

/// How long a census would take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CensusForecast {
    /// The seconds of all threads together, the barriers of the traps aside.
    pub seconds: f64,
    /// Whether it may well take longer: a part was not finished in the time it was tried for, or not
    /// all endings were visited.
    pub at_least: bool,
}

/// Visits some of the endings and some of the parts, evenly spread over all of them, for about a
/// second. None when it was stopped.
///
/// What all endings demand of a beginning is known only when all are visited. Where they are too
/// many for that, a beginning is held against what some demand, and takes longer in truth.
pub fn forecast(plan: CensusPlan, shard: Shard, observer: &dyn Observer) -> Option<CensusForecast> {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let threads = plan.threads.min(cores) as f64;
    let survey = plan.into_survey();
    let mut demands = Demands::default();
    let endings = {
        let clock = Clock::new(observer);
        let tally = Tally::new(&clock, "parts", None);
        let mut visitor = survey.visitor(&tally);
        let mut visit = |number| {
            let (_, demanded) = visitor.ending(number)?;
            demands += demanded;
            Some(())
        };
        Trial::of(survey.endings(), &clock, &mut visit)?
    };
    let census = survey.learned(demands);
    let parts = {
        let clock = Clock::new(observer);
        let tally = Tally::new(&clock, "parts", None);
        let mut visitor = census.visitor(&tally);
        let mut visit = |number| visitor.part(number).map(drop);
        Trial::of(census.parts(), &clock, &mut visit)?
    };
    let seconds = endings.seconds() + parts.seconds() / shard.of as f64;
    let longest = endings.longest.max(parts.longest).as_secs_f64();
    Some(CensusForecast {
        seconds: (seconds / threads).max(longest),
        at_least: endings.tried < endings.all || parts.unfinished,
    })
}

/// An observer that ends a trial when its time is over.
struct Clock<'a> {
    observer: &'a dyn Observer,
    until: Instant,
    /// Whether the observer said so.
    stopped: AtomicBool,
}

impl<'a> Clock<'a> {
    fn new(observer: &'a dyn Observer) -> Clock<'a> {
        Clock {
            observer,
            until: Instant::now() + TRIAL,
            stopped: AtomicBool::new(false),
        }
    }

    fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }
}

impl Observer for Clock<'_> {
    fn hear(&self, progress: Progress<'_>) -> ControlFlow<()> {
        if self.observer.hear(progress).is_break() {
            self.stopped.store(true, Ordering::Relaxed);
            return ControlFlow::Break(());
        }
        if self.is_over() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

/// Parts that were tried out.
#[derive(Default)]
struct Trial {
    all: usize,
    tried: usize,
    time: Duration,
    longest: Duration,
    /// Whether the time was over in the middle of one, which counts as tried.
    unfinished: bool,
}

impl Trial {
    /// Visits parts until all are visited or the time is over. None when it was stopped.
    fn of(
        all: usize,
        clock: &Clock<'_>,
        visit: &mut dyn FnMut(usize) -> Option<()>,
    ) -> Option<Trial> {
        let mut trial = Trial {
            all,
            ..Trial::default()
        };
        for number in spread(all) {
            let begun = Instant::now();
            trial.unfinished = visit(number).is_none();
            let took = begun.elapsed();
            trial.tried += 1;
            trial.time += took;
            trial.longest = trial.longest.max(took);
            if trial.unfinished || clock.is_over() {
                break;
            }
        }
        (!clock.stopped.load(Ordering::Relaxed)).then_some(trial)
    }

    /// The seconds of all on one thread.
    fn seconds(&self) -> f64 {
        self.time.as_secs_f64() / self.tried.max(1) as f64 * self.all as f64
    }
}

/// All numbers below `all`, each once; those that come first lie evenly among them.
fn spread(all: usize) -> impl Iterator<Item = usize> {
    // Steps of the golden ratio, made prime to the count so that none comes twice.
    let mut step = (all as f64 * 0.618) as usize | 1;
    while gcd(step, all) > 1 {
        step += 1;
    }
    (0..all as u128).map(move |n| (n * step as u128 % all as u128) as usize)
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::census::{CensusOptions, Counted, count};
    use foldglass::{
        Allowance, Class, ClassSpec, InputLaw, LatinSquare, Reward, Shape, Unwatched, exact,
    };

    fn correlated_parity(length: usize) -> Class {
        let spec = ClassSpec {
            inputs: InputLaw::Markov(exact::parse("9/10").unwrap()),
            ..ClassSpec::uniform(
                LatinSquare::cyclic(2).unwrap(),
                &[length],
                Shape::untied(0, 0),
            )
        };
        spec.lay_out(Allowance::default()).unwrap()
    }

    fn options() -> CensusOptions {
        CensusOptions {
            out: None,
            shard: Shard::WHOLE,
            threads: 1,
            allowance: Allowance::default(),
            barrier_cap: 1000,
        }
    }

    fn plan(length: usize) -> CensusPlan {
        CensusPlan::new(&correlated_parity(length), &Reward::ZERO, &options()).unwrap()
    }

    #[test]
    fn every_part_comes_once_and_the_first_lie_evenly() {
        for all in [1, 2, 3, 10, 97, 199, 4096] {
            let mut order: Vec<usize> = spread(all).collect();
            if all > 50 {
                let mut tenth = order[..all / 10].to_vec();
                tenth.sort_unstable();
                assert!(tenth.windows(2).all(|pair| pair[1] - pair[0] < 40), "{all}");
            }
            order.sort_unstable();
            assert!(order.into_iter().eq(0..all), "{all}");
        }
        assert_eq!(spread(0).count(), 0);
    }

    /// A census of which all parts are tried takes what they took, give or take the machine's noise.
    #[test]
    fn a_short_census_takes_about_what_is_said() {
        let said = forecast(plan(8), Shard::WHOLE, &Unwatched).unwrap();
        let begun = Instant::now();
        let counted = count(plan(8), &options(), &Unwatched).unwrap();
        let took = begun.elapsed().as_secs_f64();
        assert!(matches!(counted, Counted::Whole(..)));
        let ratio = said.seconds / took;
        assert!(
            (0.1..10.0).contains(&ratio),
            "{said:?}, and it took {took} s"
        );
    }

    #[test]
    fn a_shard_has_its_share_of_the_parts_and_a_stopped_trial_says_nothing() {
        let half = Shard {
            number: 1,
            of: 1000,
        };
        let whole = forecast(plan(9), Shard::WHOLE, &Unwatched).unwrap();
        assert!(forecast(plan(9), half, &Unwatched).unwrap().seconds < whole.seconds);
        let stop = |_: Progress<'_>| ControlFlow::Break(());
        assert_eq!(forecast(plan(12), Shard::WHOLE, &stop), None);
    }
}
