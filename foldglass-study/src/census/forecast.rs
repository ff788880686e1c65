//! Says about how long a census takes, from some of its parts.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use foldglass::support::exact::gcd;
use foldglass::support::watch::{Observer, Progress, Tally};

use super::execute::CensusPlan;
use crate::plan::Shard;

/// How long parts are tried out, and the most that a few of each layer may take.
const TRIAL: Duration = Duration::from_secs(2);
const LONGEST_TRIAL: Duration = Duration::from_secs(20);

/// Parts of a layer that show how its times fall.
const FEW: usize = 3;

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

/// Merges prefixes, and then counts some of the parts for some seconds. None when it was stopped.
///
/// The first parts take longest: behind prefixes that know little, many actions are as good as
/// others. So parts lie in layers, each as large as all before it, and every layer is tried.
pub fn forecast(plan: CensusPlan, shard: Shard, observer: &dyn Observer) -> Option<CensusForecast> {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let threads = plan.threads.min(cores) as f64;
    let bytes = plan.bytes;
    let begun = Instant::now();
    let census = plan.merged(observer)?;
    let merging = begun.elapsed().as_secs_f64();
    let clock = Clock::new(observer);
    let tally = Tally::new(&clock, "parts", None);
    let mut visitor = census.visitor(&tally);
    let mut visit = |number| visitor.part(number).map(drop);
    let trial = Trial::of(census.parts(), &clock, &mut visit)?;
    let counting = trial.said_seconds(1.0 / (shard.of as f64 * threads));
    Some(CensusForecast {
        parts: census.parts(),
        bytes: bytes + census.bytes(),
        seconds: merging + counting.max(trial.longest.as_secs_f64()),
        at_least: trial.unfinished,
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
            until: Instant::now() + LONGEST_TRIAL,
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

/// Parts of one layer, and what those of them took that were tried out.
struct Layer {
    parts: std::ops::Range<usize>,
    tried: Vec<f64>,
}

impl Layer {
    /// The seconds of all on one thread. What the first ones learned is remembered for the others: those that
    /// are not tried take what the later half of the tried ones took, and where few were tried, less and less.
    fn seconds(&self) -> f64 {
        self.share_seconds(1.0, self.fall())
    }

    /// The least that the share of one worker takes: where few were tried, times may fall as far as any do.
    fn least_seconds(&self, share: f64) -> f64 {
        let few = self.tried.len() < FEW;
        self.share_seconds(share, if few { 1.0 } else { self.fall() })
    }

    /// The seconds that a share of the parts takes a worker, who remembers what he has learned himself.
    fn share_seconds(&self, share: f64, fall: f64) -> f64 {
        let (tried, all) = (self.tried.len(), share * self.parts.len() as f64);
        if all <= tried as f64 {
            return self.tried.iter().sum::<f64>() * all / tried.max(1) as f64;
        }
        let later = &self.tried[tried / 2..];
        let each = later.iter().sum::<f64>() / later.len().max(1) as f64;
        let middle = (tried + tried / 2 + 1) as f64 / 2.0;
        self.tried.iter().sum::<f64>() + each * left(tried, all, middle, fall)
    }

    /// The power of n with which the time of the n-th part falls, from 0 to 1: a third or more of the parts
    /// says how it is, and so do more than a few that did not change.
    fn fall(&self) -> f64 {
        let tried = self.tried.len();
        if !(FEW..4 * FEW).contains(&tried) || 3 * tried >= self.parts.len() {
            return 0.0;
        }
        let points = self.tried.iter().enumerate();
        let points = points.map(|(n, took)| ((n as f64 + 1.0).ln(), took.max(1e-9).ln()));
        let mean = |of: fn((f64, f64)) -> f64| points.clone().map(of).sum::<f64>() / tried as f64;
        let (x, y) = (mean(|point| point.0), mean(|point| point.1));
        let slope = points.clone().map(|(a, b)| (a - x) * (b - y)).sum::<f64>()
            / points.map(|(a, _)| (a - x) * (a - x)).sum::<f64>();
        (-slope).clamp(0.0, 1.0)
    }

    /// The part to try next.
    fn next(&self) -> Option<usize> {
        let number = spread(self.parts.len()).nth(self.tried.len());
        number.map(|number| self.parts.start + number)
    }
}

/// Parts that were tried out.
struct Trial {
    layers: Vec<Layer>,
    longest: Duration,
    /// Whether the time was over in the middle of one, which counts as tried, or before one of each
    /// layer.
    unfinished: bool,
}

impl Trial {
    /// Visits a part of each layer, then others of the layers that say most about the whole, until
    /// the time is over. None when it was stopped.
    fn of(
        all: usize,
        clock: &Clock<'_>,
        visit: &mut dyn FnMut(usize) -> Option<()>,
    ) -> Option<Trial> {
        let begun = Instant::now();
        let mut trial = Trial {
            layers: layers(all),
            longest: Duration::ZERO,
            unfinished: false,
        };
        while let Some((layer, number)) = trial.choose() {
            if begun.elapsed() > TRIAL && !trial.is_vague(layer) {
                break;
            }
            let start = Instant::now();
            trial.unfinished = visit(number).is_none();
            let took = start.elapsed();
            trial.layers[layer].tried.push(took.as_secs_f64());
            trial.longest = trial.longest.max(took);
            if trial.unfinished || clock.is_over() {
                break;
            }
        }
        trial.unfinished |= trial.layers.iter().any(|layer| layer.tried.is_empty());
        (!clock.stopped.load(Ordering::Relaxed)).then_some(trial)
    }

    /// The first layer of which nothing is known; else that whose time is the least certain.
    fn choose(&self) -> Option<(usize, usize)> {
        let unsure = |layer: &Layer| match layer.tried.len() {
            0 => f64::INFINITY,
            tried => layer.seconds() / tried as f64,
        };
        let left = self.layers.iter().enumerate();
        let left = left.filter_map(|(n, layer)| Some((n, layer.next()?, unsure(layer))));
        let best = left.reduce(|best, next| if next.2 > best.2 { next } else { best });
        best.map(|(layer, number, _)| (layer, number))
    }

    /// Whether too little is known of a layer that matters.
    fn is_vague(&self, layer: usize) -> bool {
        let layer = &self.layers[layer];
        let tried = layer.tried.len();
        tried == 0 || tried < FEW && layer.seconds() > self.seconds() / 4.0
    }

    /// The seconds of all on one thread.
    fn seconds(&self) -> f64 {
        self.layers.iter().map(Layer::seconds).sum()
    }

    /// Those of a share of the parts, or the least where they were not tried enough.
    fn said_seconds(&self, share: f64) -> f64 {
        let said = |layer: &Layer| match self.unfinished {
            true => layer.least_seconds(share),
            false => layer.share_seconds(share, layer.fall()),
        };
        self.layers.iter().map(said).sum()
    }
}

/// What the parts after the first `tried` of `all` take, where those around the `middle`-th of the tried take
/// 1 and the time of the n-th falls as n to the power of -`fall`.
fn left(tried: usize, all: f64, middle: f64, fall: f64) -> f64 {
    let until = |n: f64| {
        let n = n + 0.5;
        if 1.0 - fall < 1e-6 {
            n.ln()
        } else {
            n.powf(1.0 - fall) / (1.0 - fall)
        }
    };
    middle.powf(fall) * (until(all) - until(tried as f64))
}

/// The first part, the second, the next two, the next four, and so on.
fn layers(all: usize) -> Vec<Layer> {
    let mut layers = Vec::new();
    let mut start = 0;
    while start < all {
        let end = all.min((start * 2).max(start + 1));
        layers.push(Layer {
            parts: start..end,
            tried: Vec::new(),
        });
        start = end;
    }
    layers
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
    use crate::census::{CensusOptions, Counted, count};
    use foldglass::{
        Allowance, Class, ClassSpec, InputLaw, LatinSquare, Reward, Shape, Unwatched,
        support::exact,
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
    fn times_that_fall_go_on_falling_and_others_stay() {
        let layer = |tried: &[f64]| Layer {
            parts: 0..256,
            tried: tried.to_vec(),
        };
        assert_eq!(layer(&[2.0; 5]).seconds(), 2.0 * 256.0);
        // 8 / n: the sum of 256 of them.
        let all: f64 = (1..=256).map(|n| 8.0 / f64::from(n)).sum();
        let said = layer(&[8.0, 4.0, 8.0 / 3.0]).seconds();
        assert!((said / all - 1.0).abs() < 0.1, "{said} for {all}");
        // Half of the parts take half the time where times stay, and more where each worker has to learn.
        assert_eq!(layer(&[2.0; 5]).share_seconds(0.5, 0.0), 256.0);
        assert!(layer(&[8.0, 4.0, 8.0 / 3.0]).share_seconds(0.5, 1.0) > 0.8 * said);
        // Two may be two by chance, but no more than the least is sure then; of many the later half is believed.
        assert_eq!(layer(&[3.0, 1.0]).seconds(), 3.0 + 255.0);
        assert!(layer(&[8.0]).least_seconds(1.0) < 1.2 * all);
        assert_eq!(layer(&[2.0; 5]).least_seconds(1.0), 2.0 * 256.0);
        let many: Vec<f64> = (1..=12).map(|n| 8.0 / f64::from(n)).collect();
        assert!(layer(&many).seconds() > 200.0);
    }

    #[test]
    fn layers_hold_every_part_once_and_each_is_as_large_as_all_before_it() {
        for all in [0, 1, 2, 3, 10, 4096, 5000] {
            let layers = layers(all);
            let parts: Vec<usize> = layers.iter().flat_map(|l| l.parts.clone()).collect();
            assert!(parts.into_iter().eq(0..all), "{all}");
            for layer in layers.iter().skip(1).rev().skip(1) {
                assert_eq!(layer.parts.len(), layer.parts.start.max(1));
            }
        }
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
