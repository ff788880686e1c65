//! Forecasts how long a census takes, from some of its parts.

use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use foldglass::support::exact::gcd;
use foldglass::support::watch::{Observer, Progress, Tally};

use super::execute::CensusPlan;
use crate::estimate::{FEW, TimeEstimate};
use crate::plan::Shard;

/// Seconds for which parts are tried, and the most that a few of each layer may take.
const TRIAL: f64 = 2.0;
const LONGEST_TRIAL: f64 = 20.0;

/// How long a census would take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CensusForecast {
    /// The parts.
    pub parts: usize,
    /// The most bytes that all threads take, the traps and their shelves aside.
    pub bytes: u128,
    /// The seconds of all threads together, the barriers of the traps aside.
    pub seconds: f64,
    /// Whether it may well take longer: a part was not finished in the time it was tried for, or not
    /// all layers were tried.
    pub at_least: bool,
}

/// Merges prefixes, and then counts some of the parts for some seconds. It ends as soon as the census is seen to take
/// more than `enough` seconds. None when it was stopped.
pub fn forecast(
    plan: CensusPlan,
    shard: Shard,
    enough: f64,
    observer: &dyn Observer,
) -> Option<CensusForecast> {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let threads = plan.threads.min(cores) as f64;
    let bytes = plan.bytes;
    let share = 1.0 / (shard.of as f64 * threads);
    let clock = Clock::new(observer, enough);
    let merged = plan.merged(&clock);
    let merging = clock.begun.elapsed().as_secs_f64();
    let Some(census) = merged else {
        return (!clock.is_stopped()).then_some(CensusForecast {
            parts: 0,
            bytes,
            seconds: merging,
            at_least: true,
        });
    };
    let left = enough - merging;
    let clock = Clock::new(observer, left.min(LONGEST_TRIAL));
    let tally = Tally::new(&clock, "parts tried for a forecast", None);
    let mut visitor = census.visitor(&tally);
    let trial = Trial::new(census.parts(), (share, left), |part| {
        let begun = Instant::now();
        let finished = visitor.part(part).is_ok();
        (begun.elapsed().as_secs_f64(), finished)
    });
    if clock.is_stopped() {
        return None;
    }
    Some(CensusForecast {
        parts: census.parts(),
        bytes: bytes + census.bytes(),
        seconds: merging + trial.seconds(share),
        at_least: trial.unfinished,
    })
}

/// An observer that ends a trial when its time is over.
struct Clock<'a> {
    observer: &'a dyn Observer,
    begun: Instant,
    seconds: f64,
    /// Whether the observer ended it.
    stopped: AtomicBool,
}

impl<'a> Clock<'a> {
    fn new(observer: &'a dyn Observer, seconds: f64) -> Clock<'a> {
        Clock {
            observer,
            begun: Instant::now(),
            seconds,
            stopped: AtomicBool::new(false),
        }
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

impl Observer for Clock<'_> {
    fn report(&self, progress: Progress<'_>) -> ControlFlow<()> {
        if self.observer.report(progress).is_break() {
            self.stopped.store(true, Ordering::Relaxed);
            return ControlFlow::Break(());
        }
        if self.begun.elapsed().as_secs_f64() >= self.seconds {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

/// Parts that were tried.
///
/// The first parts take longest: behind prefixes that determine little, many actions are as good as others. So parts
/// lie in layers, each as large as all before it, and every layer is tried. Within a layer times fall, because what one
/// part computed is remembered for the others.
struct Trial {
    layers: Vec<Range<usize>>,
    estimate: TimeEstimate,
    longest: f64,
    /// Whether the time was over in the middle of a part, which counts as tried, or before one of each layer.
    unfinished: bool,
}

impl Trial {
    /// Visits a part of each layer, then others of the layers that tell most about the whole, until the time is over,
    /// or until a worker that does this share of the parts is seen to need more than `enough` seconds.
    /// A visit returns its seconds, and whether it was finished.
    fn new(
        parts: usize,
        (share, enough): (f64, f64),
        mut visit: impl FnMut(usize) -> (f64, bool),
    ) -> Trial {
        let layers = layers(parts);
        // A layer without a tried part adds nothing: the forecast is then a lower bound.
        let groups = layers.iter().map(|layer| (layer.len() as f64, 0.0));
        let mut trial = Trial {
            estimate: TimeEstimate::falling(groups),
            layers,
            longest: 0.0,
            unfinished: false,
        };
        while let Some(layer) = trial.choose() {
            let spent = trial.estimate.spent();
            if spent > LONGEST_TRIAL || spent > TRIAL && !trial.is_vague(layer) {
                break;
            }
            let tried = trial.estimate.done(layer) as usize;
            let range = trial.layers[layer].clone();
            let part = spread(range.len()).nth(tried).expect("a part is left");
            let (seconds, finished) = visit(range.start + part);
            trial.estimate.note(layer, 1.0, seconds);
            trial.longest = trial.longest.max(seconds);
            if !finished || spent + seconds > enough || trial.least(share) > enough {
                trial.unfinished = !finished || trial.choose().is_some();
                break;
            }
        }
        let mut layers = 0..trial.layers.len();
        trial.unfinished |= layers.any(|layer| trial.estimate.done(layer) == 0.0);
        trial
    }

    /// The first layer of which no part is tried; else that whose time is the least certain.
    fn choose(&self) -> Option<usize> {
        let uncertainty = |layer: usize| match self.estimate.done(layer) {
            0.0 => f64::INFINITY,
            tried => self.layer_seconds(layer) / tried,
        };
        let left = |&layer: &usize| (self.estimate.done(layer) as usize) < self.layers[layer].len();
        let left = (0..self.layers.len()).filter(left);
        left.reduce(|best, next| {
            if uncertainty(next) > uncertainty(best) {
                next
            } else {
                best
            }
        })
    }

    /// Whether too little is known of a layer that matters.
    fn is_vague(&self, layer: usize) -> bool {
        let tried = self.estimate.done(layer);
        let all = || -> f64 { (0..self.layers.len()).map(|n| self.layer_seconds(n)).sum() };
        tried == 0.0 || tried < FEW && self.layer_seconds(layer) > all() / 4.0
    }

    /// The seconds of a layer on one thread.
    fn layer_seconds(&self, layer: usize) -> f64 {
        self.estimate.share_seconds(layer, 1.0).unwrap_or(0.0)
    }

    /// The seconds of a worker that does this share of the parts, or the least where too few were tried.
    fn seconds(&self, share: f64) -> f64 {
        if self.unfinished {
            return self.least(share);
        }
        let of_layer = |layer| self.estimate.share_seconds(layer, share);
        let layers = (0..self.layers.len()).filter_map(of_layer);
        layers.sum::<f64>().max(self.longest)
    }

    /// The least that they take, by the layers that were tried.
    fn least(&self, share: f64) -> f64 {
        let tried = (0..self.layers.len()).filter(|&layer| self.estimate.done(layer) > 0.0);
        let of_layer = |layer| self.estimate.least_seconds(layer, share);
        tried.filter_map(of_layer).sum::<f64>().max(self.longest)
    }
}

/// The first part, the second, the next two, the next four, and so on.
fn layers(parts: usize) -> Vec<Range<usize>> {
    let starts = std::iter::successors(Some(0), |&start: &usize| Some((start * 2).max(1)));
    let starts = starts.take_while(|&start| start < parts);
    starts
        .map(|start| start..parts.min((start * 2).max(1)))
        .collect()
}

/// All numbers below `all`, each once; those that come first lie evenly among them.
fn spread(all: usize) -> impl Iterator<Item = usize> {
    // Steps of the golden ratio, made prime to the count so that none comes twice.
    let mut step = (all as f64 * 0.618) as usize | 1;
    while gcd(step as u128, all as u128) > 1 {
        step += 1;
    }
    (0..all as u128).map(move |n| (n * step as u128 % all as u128) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::census::CensusOptions;
    use foldglass::{
        Allowance, Class, ClassSpec, InputLaw, Operation, Reward, Shape, Unwatched, support::exact,
    };

    fn correlated_parity(length: usize) -> Class {
        let spec = ClassSpec {
            inputs: InputLaw::Markov(exact::parse("9/10").unwrap()),
            ..ClassSpec::uniform(
                Operation::cyclic(2).unwrap(),
                &[length],
                Shape::untied(0, 0),
            )
        };
        spec.lay_out().unwrap()
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

    /// All parts by one worker, however long it takes.
    const UNLIMITED: (f64, f64) = (1.0, f64::INFINITY);

    #[test]
    fn a_trial_ends_once_more_than_enough_is_certain() {
        // Four parts of 3 s each.
        let tried = |limits| {
            let mut visits = 0;
            let trial = Trial::new(4, limits, |_| {
                visits += 1;
                (3.0, true)
            });
            (visits, trial.unfinished)
        };
        assert_eq!(tried((1.0, 2.0)), (1, true));
        assert_eq!(tried((1.0, 20.0)), (4, false));
        assert_eq!(tried((0.5, 4.0)), (2, true));
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

    #[test]
    fn layers_hold_every_part_once_and_each_is_as_large_as_all_before_it() {
        for all in [0, 1, 2, 3, 10, 4096, 5000] {
            let layers = layers(all);
            let parts: Vec<usize> = layers.iter().cloned().flatten().collect();
            assert!(parts.into_iter().eq(0..all), "{all}");
            for layer in layers.iter().skip(1).rev().skip(1) {
                assert_eq!(layer.len(), layer.start.max(1));
            }
        }
    }

    /// A recorded census: by layer the parts, their seconds together, and those of the first that a trial visits.
    type Recorded = Vec<(usize, f64, Vec<f64>)>;

    fn recorded() -> Vec<(String, f64, Recorded)> {
        let mut list: Vec<(String, f64, Recorded)> = Vec::new();
        let lines = include_str!("part-times.txt").lines();
        for line in lines.filter(|line| !line.starts_with('#')) {
            let words: Vec<&str> = line.split(' ').collect();
            let number = |word: &&str| word.parse::<f64>().expect("a number");
            match &words[..] {
                ["census", name, scale] => {
                    list.push(((*name).to_owned(), number(scale), Vec::new()))
                }
                [parts, all, times @ ..] => {
                    let layers = &mut list.last_mut().expect("a census has a name").2;
                    let times = times.iter().map(number).collect();
                    layers.push((parts.parse().expect("a count"), number(all), times));
                }
                _ => unreachable!("a line has words"),
            }
        }
        list
    }

    #[test]
    fn recorded_censuses_take_about_what_is_forecast_or_at_least_that() {
        for (name, scale, layers) in recorded() {
            let mut visited = vec![0; layers.len()];
            let mut spent = 0.0;
            let parts = layers.iter().map(|layer| layer.0).sum();
            let trial = Trial::new(parts, UNLIMITED, |part| {
                // Layers 0, 1, 2, 3, .. begin at parts 0, 1, 2, 4, ..
                let layer = part.checked_ilog2().map_or(0, |log| log as usize + 1);
                let seconds = scale * layers[layer].2[visited[layer]];
                visited[layer] += 1;
                // A part that passes the longest trial is stopped within it.
                let left: f64 = LONGEST_TRIAL - spent;
                spent += seconds;
                (seconds.min(left), seconds <= left)
            });
            let took = scale * layers.iter().map(|layer| layer.1).sum::<f64>();
            let ratio = trial.seconds(1.0) / took;
            let expected = if trial.unfinished { 0.0..1.0 } else { 0.9..1.1 };
            assert!(expected.contains(&ratio), "{name}: {ratio} of {took} s");
            let tried: usize = visited.iter().sum();
            assert!(tried < 40, "{name}: a trial of {tried} parts is not one");
        }
    }

    #[test]
    fn a_part_that_is_not_finished_makes_a_lower_bound() {
        let trial = Trial::new(64, UNLIMITED, |part| {
            (if part == 0 { 1.0 } else { 20.0 }, part == 0)
        });
        assert!(trial.unfinished);
        assert_eq!(trial.seconds(1.0), 21.0);
        let whole = Trial::new(4, UNLIMITED, |_| (0.5, true));
        assert!(!whole.unfinished);
        assert!(
            (whole.seconds(1.0) - 2.0).abs() < 1e-9,
            "{}",
            whole.seconds(1.0)
        );
    }

    #[test]
    fn a_shard_has_its_share_of_the_parts_and_a_stopped_trial_forecasts_nothing() {
        let half = Shard {
            number: 1,
            of: 1000,
        };
        let whole = forecast(plan(9), Shard::WHOLE, f64::INFINITY, &Unwatched).unwrap();
        assert!(
            forecast(plan(9), half, f64::INFINITY, &Unwatched)
                .unwrap()
                .seconds
                < whole.seconds
        );
        let stop = |_: Progress<'_>| ControlFlow::Break(());
        assert_eq!(forecast(plan(12), Shard::WHOLE, f64::INFINITY, &stop), None);
    }
}
